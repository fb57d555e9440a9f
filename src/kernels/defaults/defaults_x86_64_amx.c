/* SPDX-License-Identifier: MIT
 *
 * Written by `tcbtune defaults --format table --worst 30 --least 20` on 2026-11-26, from
 *     cpu-xeon-amx_defaults_filled.db
 *     cpu-xeon-amx_defaults_train.db
 * Not edited by hand: measure more (--fill) and write it again.  But for this: the rules of matmul_bf16 and
 * matmul_f16 were taken out, because they are older than these ops' kernels on tiles, and those
 * of matmul_f32, iq4xs_matvec and mxfp4_matvec are their own defaults, as --own writes it: figures above them are the
 * older rules'.
 */
#include "kernels/default_rules.h"

/* clang-format off */

/* iq4xs_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  12.7 %, worst   30.1 %, 12 shapes
 *   rules without these shapes       median  40.5 %, worst  135.1 %, 11 shapes, 1 not measured
 *   the op's own default there       median  83.8 %, worst  307.0 %, 12 shapes
 */
static const struct tcb_default_row rows_1[] = {
	{ 19, 1354, 0, 0, "macro=MxNxK,midi=Mx256x2048,micro=*x*x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 19, 7662, 0, 0, "macro=MxNxK,midi=Mx256xK,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 19, 0, 0, 0, "macro=MxNxK,midi=8x256xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 0, 0, 0, 0, NULL },
};

/* iq4xs_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  10.3 %, worst   23.8 %, 12 shapes
 *   rules without these shapes       median  22.7 %, worst   47.4 %, 12 shapes
 *   the op's own default there       median 124.3 %, worst  200.9 %, 12 shapes
 */
static const struct tcb_default_row rows_2[] = {
	{ 9, 0, 0, 0, "macro=Mx256xK,midi=Mx256x4864,micro=Mx32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 38858, "macro=Mx128xK,midi=Mx64x8960,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, "macro=Mx256xK,midi=16x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=panel" },
};

/* iq4xs_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  12.6 %, worst   26.4 %, 4 shapes
 *   rules without these shapes       median  19.9 %, worst   29.1 %, 4 shapes
 *   the op's own default there       median  19.6 %, worst   29.1 %, 4 shapes
 */
static const struct tcb_default_row rows_3[] = {
	{ 0, 0, 0, 0, NULL },
};

/* iq4xs_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   7.9 %, worst   17.5 %, 5 shapes
 *   rules without these shapes       median  29.7 %, worst   38.3 %, 4 shapes, 1 not measured
 *   the op's own default there       median   5.3 %, worst   31.7 %, 3 shapes, 2 not measured
 */
static const struct tcb_default_row rows_4[] = {
	{ 0, 0, 0, 0, NULL },
};

/* matmul_f32 f32 x86_64-amx, threads=1
 *   the rule, where it was made      median   5.1 %, worst   30.0 %, 14 shapes
 *   rules without these shapes       median  29.3 %, worst  118.7 %, 14 shapes
 *   the op's own default there       median  37.4 %, worst   90.0 %, 12 shapes, 2 not measured
 *   the rule on shapes to judge      median  22.1 %, worst   66.7 %, 5 shapes, 1 not measured
 *   the op's own default there       median  22.6 %, worst   25.6 %, 5 shapes, 1 not measured
 */
static const struct tcb_default_row rows_9[] = {
	{ 0, 0, 0, 0, NULL },
};

/* matmul_f32 f32 x86_64-amx, threads=2
 *   the rule, where it was made      median   4.4 %, worst   27.5 %, 17 shapes
 *   rules without these shapes       median  19.7 %, worst  284.2 %, 16 shapes, 1 not measured
 *   the op's own default there       median  27.5 %, worst  123.7 %, 13 shapes, 4 not measured
 *   the rule on shapes to judge      median  25.5 %, worst  224.4 %, 6 shapes
 *   the op's own default there       median  25.7 %, worst  133.4 %, 6 shapes
 */
static const struct tcb_default_row rows_10[] = {
	{ 0, 0, 0, 0, NULL },
};

/* mxfp4_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  10.6 %, worst   29.4 %, 14 shapes
 *   rules without these shapes       median  33.8 %, worst   84.6 %, 14 shapes
 *   the op's own default there       median  52.7 %, worst  225.7 %, 14 shapes
 *   the rule on shapes to judge      median  59.2 %, worst  100.8 %, 4 shapes
 *   the op's own default there       median  57.8 %, worst  163.3 %, 4 shapes
 */
static const struct tcb_default_row rows_11[] = {
	{ 3, 0, 0, 0, "macro=MxNxK,midi=4x256xK,micro=4x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 78, 4990, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 78, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, NULL },
};

/* mxfp4_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   2.5 %, worst   13.2 %, 11 shapes
 *   rules without these shapes       median  11.0 %, worst   98.9 %, 11 shapes
 *   the op's own default there       median 101.3 %, worst  257.4 %, 11 shapes
 *   the rule on shapes to judge      median  55.4 %, worst  107.3 %, 2 shapes
 *   the op's own default there       median 153.5 %, worst  302.9 %, 2 shapes
 */
static const struct tcb_default_row rows_12[] = {
	{ 9, 0, 0, 0, "macro=Mx64xK,midi=Mx64x4096,micro=Mx32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 13, 0, 0, 0, "macro=Mx256xK,midi=Mx64xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 27, 0, 0, 0, "macro=Mx2048xK,midi=Mx256x4096,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 0, 0, 0, 0, "macro=32x4096xK,midi=16x64xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=panel" },
};

/* mxfp4_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   2.8 %, worst   27.9 %, 3 shapes
 *   rules without these shapes       median  33.4 %, worst   90.8 %, 3 shapes
 *   the op's own default there       median  23.2 %, worst   66.1 %, 3 shapes
 */
static const struct tcb_default_row rows_13[] = {
	{ 0, 0, 0, 0, NULL },
};

/* mxfp4_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  11.8 %, worst   20.8 %, 6 shapes
 *   rules without these shapes       median  60.9 %, worst  104.9 %, 3 shapes, 3 not measured
 *   the op's own default there       median  20.8 %, worst   77.3 %, 5 shapes, 1 not measured
 */
static const struct tcb_default_row rows_14[] = {
	{ 0, 0, 0, 0, NULL },
};

/* q40_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   6.6 %, worst   29.3 %, 13 shapes
 *   rules without these shapes       median  23.4 %, worst  103.4 %, 13 shapes
 *   the op's own default there       median 117.2 %, worst  267.2 %, 13 shapes
 */
static const struct tcb_default_row rows_15[] = {
	{ 4, 0, 0, 0, "macro=MxNxK,midi=Mx64x1024,micro=Mx32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 110, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=8x256xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
};

/* q40_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   6.1 %, worst   25.6 %, 13 shapes
 *   rules without these shapes       median  33.1 %, worst  129.4 %, 13 shapes
 *   the op's own default there       median 117.5 %, worst  251.3 %, 13 shapes
 */
static const struct tcb_default_row rows_16[] = {
	{ 2, 0, 0, 0, "macro=Mx256xK,midi=2x64xK,micro=2x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 6, 0, 0, 0, "macro=Mx128xK,midi=4x64x1024,micro=4x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 3865, 0, 0, "macro=16x64xK,midi=16x64xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, "macro=Mx1024xK,midi=8x64xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
};

/* q40_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   5.5 %, worst    9.9 %, 4 shapes
 *   rules without these shapes       median  50.3 %, worst   61.1 %, 4 shapes
 *   the op's own default there       median  47.9 %, worst   61.1 %, 4 shapes
 */
static const struct tcb_default_row rows_17[] = {
	{ 0, 724, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x32,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=4096,hint=t1" },
	{ 0, 2896, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=4096,hint=t0" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x32,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1" },
};

/* q40_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   9.6 %, worst   21.4 %, 6 shapes
 *   rules without these shapes       median  21.4 %, worst   78.1 %, 3 shapes, 3 not measured
 *   the op's own default there       median  23.5 %, worst   78.1 %, 6 shapes
 */
static const struct tcb_default_row rows_18[] = {
	{ 0, 2896, 0, 0, NULL },
	{ 0, 4579, 7662, 0, "macro=Mx2048xK,midi=1x1024xK,micro=1x16x32,isa=avx512,layout=r16,threads=2,sched=static,unroll=1,prefetch=0,hint=t0" },
	{ 0, 4579, 0, 0, NULL },
	{ 0, 0, 0, 0, "macro=Mx128xK,midi=1x64xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=2,sched=static,unroll=1,prefetch=16384,hint=t0" },
};

/* q4k_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  11.1 %, worst   29.7 %, 26 shapes
 *   rules without these shapes       median  30.5 %, worst  200.5 %, 20 shapes, 6 not measured
 *   the op's own default there       median  79.8 %, worst  234.0 %, 20 shapes, 6 not measured
 *   the rule on shapes to judge      median  65.5 %, worst  386.3 %, 8 shapes, 2 not measured
 *   the op's own default there       median  62.8 %, worst  270.0 %, 9 shapes, 1 not measured
 */
static const struct tcb_default_row rows_19[] = {
	{ 4, 2172, 0, 0, "macro=MxNxK,midi=Mx256x256,micro=Mx32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 4, 0, 0, 0, "macro=MxNxK,midi=4x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 13, 0, 0, 0, "macro=MxNxK,midi=8x64xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 0, 2508, 0, 0, "macro=MxNxK,midi=8x256xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 27, 0, 0, 0, "macro=MxNxK,midi=8x16xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs" },
	{ 0, 3865, 0, 0, "macro=MxNxK,midi=8x64xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=16x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=panel" },
};

/* q4k_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  13.5 %, worst   29.5 %, 23 shapes
 *   rules without these shapes       median  34.3 %, worst  127.6 %, 23 shapes
 *   the op's own default there       median 132.3 %, worst  558.0 %, 20 shapes, 3 not measured
 *   the rule on shapes to judge      median  27.4 %, worst  101.2 %, 6 shapes, 2 not measured
 *   the op's own default there       median 219.5 %, worst  427.3 %, 8 shapes
 */
static const struct tcb_default_row rows_20[] = {
	{ 9, 7317, 0, 34755, "macro=Mx64xK,midi=Mx64xK,micro=Mx32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 19, 7317, 0, 34755, "macro=Mx512xK,midi=Mx64x8192,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 19, 7317, 0, 0, "macro=Mx2048xK,midi=Mx256x8192,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 19, 0, 0, 0, "macro=Mx4096xK,midi=Mx256x4096,micro=Mx32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 0, 677, 0, 0, "macro=128x64xK,midi=64x64xK,micro=16x16x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=0,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, "macro=32x256xK,midi=16x64xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=0,hint=t0,decode=regs" },
};

/* q4k_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   9.7 %, worst   23.4 %, 11 shapes
 *   rules without these shapes       median  27.8 %, worst   76.2 %, 11 shapes
 *   the op's own default there       median  54.3 %, worst  109.3 %, 11 shapes
 *   the rule on shapes to judge      median  31.7 %, worst   97.0 %, 7 shapes
 *   the op's own default there       median  51.6 %, worst   82.6 %, 7 shapes
 */
static const struct tcb_default_row rows_21[] = {
	{ 0, 1173, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=4096,hint=t1" },
	{ 0, 3156, 2896, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=4096,hint=t1" },
	{ 0, 0, 2896, 0, "macro=MxNxK,midi=1x64xK,micro=1x8x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=4096,hint=t1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x4x256,isa=avx512,layout=native,threads=1,sched=static,unroll=1,prefetch=4096,hint=t1" },
};

/* q4k_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  20.1 %, worst   29.6 %, 11 shapes
 *   rules without these shapes       median  27.3 %, worst   73.9 %, 10 shapes, 1 not measured
 *   the op's own default there       median  42.7 %, worst  107.1 %, 11 shapes
 *   the rule on shapes to judge      median  22.9 %, worst  161.6 %, 7 shapes
 *   the op's own default there       median  24.1 %, worst   71.9 %, 7 shapes
 */
static const struct tcb_default_row rows_22[] = {
	{ 0, 4463, 0, 0, "macro=Mx64xK,midi=1x64xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=2,sched=static,unroll=2,prefetch=2048,hint=t1" },
	{ 0, 7507, 0, 0, "macro=Mx256xK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=2,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 0, 0, 0, "macro=Mx1024xK,midi=1x256xK,micro=1x4x256,isa=avx512,layout=native,threads=2,sched=static,unroll=2,prefetch=1024,hint=t1" },
};

/* q5k_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   4.5 %, worst   26.9 %, 13 shapes
 *   rules without these shapes       median  33.3 %, worst   68.3 %, 12 shapes, 1 not measured
 *   the op's own default there       median  52.0 %, worst  150.9 %, 13 shapes
 *   the rule on shapes to judge      median  29.2 %, worst   68.6 %, 4 shapes, 1 not measured
 *   the op's own default there       median  39.6 %, worst  115.3 %, 5 shapes
 */
static const struct tcb_default_row rows_23[] = {
	{ 3, 0, 0, 0, "macro=MxNxK,midi=4x16xK,micro=4x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 33, 2804, 0, 0, "macro=MxNxK,midi=Mx64xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 33, 0, 0, 0, "macro=MxNxK,midi=Mx64x8192,micro=8x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 78, 0, 0, 0, "macro=MxNxK,midi=Mx16x8960,micro=16x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=64x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=panel" },
};

/* q5k_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   5.9 %, worst   17.2 %, 12 shapes
 *   rules without these shapes       median  30.2 %, worst  135.9 %, 12 shapes
 *   the op's own default there       median 117.6 %, worst  337.0 %, 12 shapes
 *   the rule on shapes to judge      median  39.7 %, worst   46.1 %, 3 shapes
 *   the op's own default there       median 106.2 %, worst  223.4 %, 3 shapes
 */
static const struct tcb_default_row rows_24[] = {
	{ 13, 0, 6476, 0, "macro=Mx128xK,midi=Mx64x2048,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 55, 0, 6476, 0, "macro=Mx512xK,midi=Mx256xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 55, 2804, 0, 0, "macro=Mx128xK,midi=4x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 55, 0, 0, 0, "macro=Mx512xK,midi=8x64xK,micro=8x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 0, 0, 0, 0, "macro=Mx64xK,midi=Mx16xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=0,hint=t0,decode=panel" },
};

/* q5k_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   7.9 %, worst   14.9 %, 6 shapes
 *   rules without these shapes       median   5.8 %, worst   62.2 %, 3 shapes, 3 not measured
 *   the op's own default there       median  36.1 %, worst   74.2 %, 6 shapes
 */
static const struct tcb_default_row rows_25[] = {
	{ 0, 677, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t1" },
	{ 0, 0, 8927, 0, "macro=MxNxK,midi=1x256x512,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=2048,hint=t1" },
};

/* q5k_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  13.7 %, worst   27.2 %, 6 shapes
 *   rules without these shapes       median  17.8 %, worst   27.9 %, 6 shapes
 *   the op's own default there       median  25.1 %, worst   38.8 %, 6 shapes
 */
static const struct tcb_default_row rows_26[] = {
	{ 0, 0, 0, 0, "macro=Mx128xK,midi=1x64xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=2,sched=static,unroll=1,prefetch=2048,hint=t0" },
};

/* q6k_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  16.9 %, worst   29.9 %, 24 shapes
 *   rules without these shapes       median  20.4 %, worst   80.6 %, 23 shapes, 1 not measured
 *   the op's own default there       median  49.7 %, worst  117.2 %, 24 shapes
 *   the rule on shapes to judge      median  20.4 %, worst   46.0 %, 7 shapes
 *   the op's own default there       median  20.4 %, worst   44.3 %, 7 shapes
 */
static const struct tcb_default_row rows_27[] = {
	{ 6, 0, 0, 0, "macro=MxNxK,midi=Mx256xK,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 1773, 0, 0, "macro=MxNxK,midi=16x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 0, 1448, 0, "macro=MxNxK,midi=Mx64x4864,micro=4x32x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, NULL },
};

/* q6k_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   4.4 %, worst   27.5 %, 26 shapes
 *   rules without these shapes       median  10.9 %, worst  101.0 %, 26 shapes
 *   the op's own default there       median  57.7 %, worst  247.1 %, 26 shapes
 *   the rule on shapes to judge      median   7.6 %, worst   24.4 %, 4 shapes, 1 not measured
 *   the op's own default there       median  57.8 %, worst   71.3 %, 5 shapes
 */
static const struct tcb_default_row rows_28[] = {
	{ 3, 0, 0, 0, "macro=Mx128xK,midi=Mx64xK,micro=Mx32x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 9, 0, 0, 0, "macro=Mx128xK,midi=Mx64xK,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 160, 0, 0, 89738, "macro=Mx128xK,midi=8x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 160, 0, 0, 0, "macro=Mx128xK,midi=16x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, "macro=128x64xK,midi=16x64xK,micro=4x32x256,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t1,decode=panel" },
};

/* q6k_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  12.1 %, worst   30.2 %, 10 shapes
 *   rules without these shapes       median  21.0 %, worst  235.5 %, 10 shapes
 *   the op's own default there       median  28.8 %, worst   87.7 %, 10 shapes
 *   the rule on shapes to judge      median  26.7 %, worst   34.9 %, 5 shapes
 *   the op's own default there       median  34.8 %, worst   48.8 %, 5 shapes
 */
static const struct tcb_default_row rows_29[] = {
	{ 0, 1254, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x64xK,micro=1x8x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1" },
};

/* q6k_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median   9.2 %, worst   27.7 %, 10 shapes
 *   rules without these shapes       median  40.2 %, worst  138.4 %, 10 shapes
 *   the op's own default there       median  38.9 %, worst   87.3 %, 10 shapes
 *   the rule on shapes to judge      median  22.5 %, worst   90.9 %, 5 shapes
 *   the op's own default there       median  41.3 %, worst   73.3 %, 5 shapes
 */
static const struct tcb_default_row rows_30[] = {
	{ 0, 3547, 0, 0, "macro=Mx256xK,midi=1x64xK,micro=1x8x256,isa=avx512vnni,layout=native,threads=2,sched=static,unroll=1,prefetch=2048,hint=t1" },
	{ 0, 7507, 2289, 0, "macro=Mx4096xK,midi=1x1024xK,micro=1x16x256,isa=avx512,layout=r16,threads=2,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 7507, 0, 0, "macro=Mx2048xK,midi=1x64xK,micro=1x8x256,isa=avx512vnni,layout=native,threads=2,sched=static,unroll=1,prefetch=8192,hint=t1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x8x256,isa=avx512vnni,layout=native,threads=2,sched=dynamic,unroll=1,prefetch=2048,hint=t1" },
};

/* q80_matmul q8 x86_64-amx, threads=1
 *   the rule, where it was made      median   8.7 %, worst   28.8 %, 25 shapes
 *   rules without these shapes       median  28.8 %, worst   92.6 %, 17 shapes, 8 not measured
 *   the op's own default there       median  57.8 %, worst  193.6 %, 25 shapes
 *   the rule on shapes to judge      median  43.1 %, worst   69.0 %, 5 shapes, 1 not measured
 *   the op's own default there       median  82.6 %, worst  111.8 %, 6 shapes
 */
static const struct tcb_default_row rows_31[] = {
	{ 6, 1982, 0, 0, "macro=MxNxK,midi=Mx64x256,micro=Mx32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 6, 0, 0, 0, "macro=MxNxK,midi=4x256xK,micro=4x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 1254, 0, 11494, "macro=MxNxK,midi=Mx64x4864,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 0, 1254, 4463, 0, "macro=MxNxK,midi=32x64xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 1254, 0, 0, "macro=MxNxK,midi=Mx256x8960,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 55, 7507, 0, 0, "macro=MxNxK,midi=Mx256x9728,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 0, 7507, 0, 0, "macro=MxNxK,midi=16x64x1024,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=0,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=Mx64x9728,micro=8x32x32,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=regs" },
};

/* q80_matmul q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  13.9 %, worst   29.7 %, 20 shapes
 *   rules without these shapes       median  26.3 %, worst  114.9 %, 20 shapes
 *   the op's own default there       median 145.4 %, worst  298.2 %, 20 shapes
 *   the rule on shapes to judge      median  10.0 %, worst   28.1 %, 6 shapes
 *   the op's own default there       median 158.1 %, worst  342.7 %, 6 shapes
 */
static const struct tcb_default_row rows_32[] = {
	{ 6, 1173, 0, 0, "macro=Mx256xK,midi=4x16x256,micro=4x16x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=4096,hint=t0,decode=regs" },
	{ 6, 0, 0, 6869, "macro=Mx128xK,midi=4x64x256,micro=4x32x32,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 6, 0, 0, 0, "macro=Mx256xK,midi=Mx256x9728,micro=Mx32x32,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 55, 0, 0, 0, "macro=Mx128xK,midi=Mx64x4864,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=dynamic,prefetch=4096,hint=t0,decode=regs" },
	{ 0, 0, 0, 0, "macro=Mx256xK,midi=8x256xK,micro=8x32x32,isa=avx512vnni,layout=r16,threads=2,sched=static,prefetch=0,hint=t0,decode=regs" },
};

/* q80_matvec q8 x86_64-amx, threads=1
 *   the rule, where it was made      median  10.9 %, worst   21.5 %, 9 shapes
 *   rules without these shapes       median  21.5 %, worst  120.4 %, 9 shapes
 *   the op's own default there       median  31.9 %, worst   78.9 %, 9 shapes
 *   the rule on shapes to judge      median  45.6 %, worst   91.6 %, 5 shapes
 *   the op's own default there       median  45.2 %, worst   45.6 %, 5 shapes
 */
static const struct tcb_default_row rows_33[] = {
	{ 0, 1448, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1" },
	{ 0, 2508, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=4096,hint=t0" },
	{ 0, 0, 2048, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x32,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x64xK,micro=1x8x32,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
};

/* q80_matvec q8 x86_64-amx, threads=2
 *   the rule, where it was made      median  10.9 %, worst   29.4 %, 10 shapes
 *   rules without these shapes       median  30.5 %, worst  307.8 %, 10 shapes
 *   the op's own default there       median  30.6 %, worst  102.9 %, 10 shapes
 *   the rule on shapes to judge      median  32.3 %, worst   59.0 %, 5 shapes
 *   the op's own default there       median  42.3 %, worst   70.8 %, 5 shapes
 */
static const struct tcb_default_row rows_34[] = {
	{ 0, 1448, 0, 0, "macro=Mx128xK,midi=1x64xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=2,sched=static,unroll=1,prefetch=8192,hint=t1" },
	{ 0, 2508, 0, 0, "macro=Mx1024xK,midi=1x256xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=2,sched=static,unroll=1,prefetch=4096,hint=t0" },
	{ 0, 4463, 0, 0, "macro=Mx2048xK,midi=1x64xK,micro=1x8x32,isa=avx512vnni,layout=native,threads=2,sched=static,unroll=1,prefetch=4096,hint=t0" },
	{ 0, 0, 0, 0, "macro=Mx4096xK,midi=1x64xK,micro=1x16x32,isa=avx512,layout=r16,threads=2,sched=static,unroll=1,prefetch=8192,hint=t1" },
};

/* rmsnorm f32 x86_64-amx, threads=1
 *   the rule, where it was made      median  22.6 %, worst   28.1 %, 11 shapes
 *   rules without these shapes       median  22.6 %, worst   28.1 %, 11 shapes
 *   the op's own default there       median  42.2 %, worst  100.3 %, 11 shapes
 */
static const struct tcb_default_row rows_35[] = {
	{ 11, 0, 0, 0, "macro=MxNx1,midi=MxNx1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=MxNx1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=onepass,asks=1" },
};

/* rmsnorm f32 x86_64-amx, threads=2
 *   the rule, where it was made      median  19.6 %, worst   29.4 %, 11 shapes
 *   rules without these shapes       median  29.4 %, worst  119.9 %, 11 shapes
 *   the op's own default there       median  56.0 %, worst  146.1 %, 11 shapes
 */
static const struct tcb_default_row rows_36[] = {
	{ 11, 7010, 0, 11585, "macro=MxNx1,midi=MxNx1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1" },
	{ 11, 0, 0, 11585, "macro=Mx4096x1,midi=1x4096x1,micro=1x32x1,isa=avx512,threads=2,sched=dynamic,prefetch=0,hint=t0,stages=1,stream=0,form=onepass,asks=1" },
	{ 11, 0, 0, 0, "macro=Mx32768x1,midi=1x32768x1,micro=1x64x1,isa=avx512,threads=2,sched=dynamic,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1" },
	{ 0, 1095, 0, 0, NULL },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=8xNx1,micro=1x64x1,isa=avx512,threads=2,sched=dynamic,prefetch=4032,hint=t1,stages=3,stream=1,form=onepass,asks=1" },
};

/* softmax f32 x86_64-amx, threads=1
 *   the rule, where it was made      median   9.5 %, worst   23.7 %, 12 shapes
 *   rules without these shapes       median  36.6 %, worst  230.8 %, 11 shapes, 1 not measured
 *   the op's own default there       median  32.2 %, worst  164.1 %, 11 shapes, 1 not measured
 *   the rule on shapes to judge      median  21.8 %, worst   66.0 %, 5 shapes
 *   the op's own default there       median  34.1 %, worst  155.9 %, 5 shapes
 */
static const struct tcb_default_row rows_37[] = {
	{ 2, 32414, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t0,stages=1,stream=0,form=running,asks=1" },
	{ 2, 0, 0, 0, "macro=MxNx1,midi=Mx1024x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=16384,hint=t0,stages=1,stream=0,form=running,asks=1" },
	{ 39, 0, 0, 0, "macro=MxNx1,midi=Mx1024x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=running,asks=2" },
	{ 0, 0, 0, 103923, "macro=MxNx1,midi=Mx1024x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=16384,hint=t0,stages=1,stream=1,form=running,asks=1" },
	{ 0, 0, 0, 500879, "macro=MxNx1,midi=Mx512x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t1,stages=3,stream=1,form=running,asks=2" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=running,asks=4" },
};

/* softmax f32 x86_64-amx, threads=2
 *   the rule, where it was made      median  23.4 %, worst   29.8 %, 11 shapes
 *   rules without these shapes       median  27.5 %, worst   86.7 %, 10 shapes, 1 not measured
 *   the op's own default there       median  26.7 %, worst  156.6 %, 10 shapes, 1 not measured
 *   the rule on shapes to judge      median  15.7 %, worst   90.0 %, 5 shapes
 *   the op's own default there       median  15.7 %, worst   90.0 %, 5 shapes
 */
static const struct tcb_default_row rows_38[] = {
	{ 11, 0, 0, 0, NULL },
	{ 423, 0, 0, 0, "macro=MxNx1,midi=8x512x1,micro=1x64x1,isa=avx512,threads=2,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=running,asks=4" },
	{ 0, 0, 0, 0, NULL },
};

const struct tcb_default_rule tcb_defaults_x86_64_amx[] = {
	{ "iq4xs_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 128, 512 }, { 512, 57344, 38912 },
	  "12 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_1 / sizeof *rows_1, rows_1 },
	{ "iq4xs_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 128, 256 }, { 800, 57344, 38912 },
	  "12 shapes on Intel(R) Xeon(R) Processor, worst loss 24 %",
	  sizeof rows_2 / sizeof *rows_2, rows_2 },
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 128, 512 }, { 4, 20480, 20480 },
	  "its own default is newer than what was measured",
	  sizeof rows_3 / sizeof *rows_3, rows_3 },
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 128, 512 }, { 4, 44032, 20480 },
	  "its own default is newer than what was measured",
	  sizeof rows_4 / sizeof *rows_4, rows_4 },
	{ "matmul_f32", TCB_CONTRACT_F32, "x86_64-amx", 1,
	  { 0, 32, 128 }, { 4096, 12288, 12288 },
	  "its own default is newer than what was measured",
	  sizeof rows_9 / sizeof *rows_9, rows_9 },
	{ "matmul_f32", TCB_CONTRACT_F32, "x86_64-amx", 2,
	  { 0, 32, 128 }, { 4096, 16384, 16384 },
	  "its own default is newer than what was measured",
	  sizeof rows_10 / sizeof *rows_10, rows_10 },
	{ "mxfp4_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 224, 256 }, { 800, 44032, 57344 },
	  "14 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_11 / sizeof *rows_11, rows_11 },
	{ "mxfp4_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 224, 256 }, { 800, 44032, 38912 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 13 %",
	  sizeof rows_12 / sizeof *rows_12, rows_12 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 4, 4096, 16384 },
	  "its own default is newer than what was measured",
	  sizeof rows_13 / sizeof *rows_13, rows_13 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 4, 57344, 57344 },
	  "its own default is newer than what was measured",
	  sizeof rows_14 / sizeof *rows_14, rows_14 },
	{ "q40_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 800, 57344, 35840 },
	  "13 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_15 / sizeof *rows_15, rows_15 },
	{ "q40_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 800, 57344, 35840 },
	  "13 shapes on Intel(R) Xeon(R) Processor, worst loss 26 %",
	  sizeof rows_16 / sizeof *rows_16, rows_16 },
	{ "q40_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 4, 20480, 20480 },
	  "4 shapes on Intel(R) Xeon(R) Processor, worst loss 10 %",
	  sizeof rows_17 / sizeof *rows_17, rows_17 },
	{ "q40_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 4, 44032, 57344 },
	  "6 shapes on Intel(R) Xeon(R) Processor, worst loss 21 %",
	  sizeof rows_18 / sizeof *rows_18, rows_18 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 2048, 57344, 35840 },
	  "26 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_19 / sizeof *rows_19, rows_19 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 1284, 57344, 38912 },
	  "23 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_20 / sizeof *rows_20, rows_20 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 128, 256 }, { 4, 57344, 57344 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 23 %",
	  sizeof rows_21 / sizeof *rows_21, rows_21 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 128, 256 }, { 4, 57344, 57344 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_22 / sizeof *rows_22, rows_22 },
	{ "q5k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 128, 256 }, { 2048, 19456, 38912 },
	  "13 shapes on Intel(R) Xeon(R) Processor, worst loss 27 %",
	  sizeof rows_23 / sizeof *rows_23, rows_23 },
	{ "q5k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 128, 256 }, { 2048, 20480, 57344 },
	  "12 shapes on Intel(R) Xeon(R) Processor, worst loss 17 %",
	  sizeof rows_24 / sizeof *rows_24, rows_24 },
	{ "q5k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 4, 20480, 38912 },
	  "6 shapes on Intel(R) Xeon(R) Processor, worst loss 15 %",
	  sizeof rows_25 / sizeof *rows_25, rows_25 },
	{ "q5k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 4, 20480, 38912 },
	  "6 shapes on Intel(R) Xeon(R) Processor, worst loss 27 %",
	  sizeof rows_26 / sizeof *rows_26, rows_26 },
	{ "q6k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 2048, 57344, 38912 },
	  "24 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_27 / sizeof *rows_27, rows_27 },
	{ "q6k_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 2048, 57344, 38912 },
	  "26 shapes on Intel(R) Xeon(R) Processor, worst loss 28 %",
	  sizeof rows_28 / sizeof *rows_28, rows_28 },
	{ "q6k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 128, 256 }, { 4, 57344, 57344 },
	  "10 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_29 / sizeof *rows_29, rows_29 },
	{ "q6k_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 128, 256 }, { 4, 57344, 57344 },
	  "10 shapes on Intel(R) Xeon(R) Processor, worst loss 28 %",
	  sizeof rows_30 / sizeof *rows_30, rows_30 },
	{ "q80_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 2048, 57344, 57344 },
	  "25 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_31 / sizeof *rows_31, rows_31 },
	{ "q80_matmul", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 800, 44032, 38912 },
	  "20 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_32 / sizeof *rows_32, rows_32 },
	{ "q80_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 1,
	  { 0, 64, 128 }, { 4, 44032, 57344 },
	  "9 shapes on Intel(R) Xeon(R) Processor, worst loss 22 %",
	  sizeof rows_33 / sizeof *rows_33, rows_33 },
	{ "q80_matvec", TCB_CONTRACT_Q8, "x86_64-amx", 2,
	  { 0, 64, 128 }, { 4, 57344, 57344 },
	  "10 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_34 / sizeof *rows_34, rows_34 },
	{ "rmsnorm", TCB_CONTRACT_F32, "x86_64-amx", 1,
	  { 0, 128, 0 }, { 4000, 513024, 0 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 28 %",
	  sizeof rows_35 / sizeof *rows_35, rows_35 },
	{ "rmsnorm", TCB_CONTRACT_F32, "x86_64-amx", 2,
	  { 0, 128, 0 }, { 4000, 513024, 0 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 29 %",
	  sizeof rows_36 / sizeof *rows_36, rows_36 },
	{ "softmax", TCB_CONTRACT_F32, "x86_64-amx", 1,
	  { 0, 128, 0 }, { 8192, 513024, 0 },
	  "12 shapes on Intel(R) Xeon(R) Processor, worst loss 24 %",
	  sizeof rows_37 / sizeof *rows_37, rows_37 },
	{ "softmax", TCB_CONTRACT_F32, "x86_64-amx", 2,
	  { 0, 128, 0 }, { 4000, 513024, 0 },
	  "11 shapes on Intel(R) Xeon(R) Processor, worst loss 30 %",
	  sizeof rows_38 / sizeof *rows_38, rows_38 },
	{ .op = NULL },
};
