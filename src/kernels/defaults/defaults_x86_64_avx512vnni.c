/* SPDX-License-Identifier: MIT
 *
 * Written by `tcbtune defaults --format table --worst 30 --least 20` on 2026-11-23, from
 *     cpu-zen4_defaults_filled.db
 *     cpu-zen4_defaults_train.db
 *     cpu-zen5_defaults_filled.db
 *     cpu-zen5_defaults_train.db
 *     cpu-zen5_recorded_recorded.db
 *     cpu-zen5_table-formats_mxfp4.db
 *     cpu-zen5_table-formats_others.db
 * Not edited by hand: measure more (--fill) and write it again.
 */
#include "kernels/default_rules.h"

/* clang-format off */

/* iq4xs_matvec q8 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median   8.9 %, worst   15.9 %, 2 shapes
 *   rules without these shapes       median  15.9 %, worst   15.9 %, 1 shapes, 1 not measured
 *   the op's own default there       median  87.1 %, worst   88.2 %, 2 shapes
 */
static const struct tcb_default_row rows_1[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0" },
};

/* matmul_f32 f32 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median   8.1 %, worst   28.5 %, 29 shapes
 *   rules without these shapes       median  14.9 %, worst   36.6 %, 26 shapes, 3 not measured
 *   the op's own default there       median  12.0 %, worst   61.1 %, 28 shapes, 1 not measured
 *   the rule on shapes to judge      median  13.8 %, worst   52.4 %, 9 shapes, 6 not measured
 *   the op's own default there       median  21.3 %, worst   79.2 %, 11 shapes, 4 not measured
 */
static const struct tcb_default_row rows_2[] = {
	{ 78, 0, 0, 0, "macro=MxNxK,midi=MxNx512,micro=*x*x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs" },
	{ 0, 151, 0, 0, "macro=MxNxK,midi=MxNx64,micro=14x32x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=192x256x256,micro=6x64x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs" },
};

/* mxfp4_matvec q8 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median   1.3 %, worst    2.0 %, 2 shapes
 *   rules without these shapes       median   9.9 %, worst   17.8 %, 2 shapes
 *   the op's own default there       median 114.2 %, worst  120.7 %, 2 shapes
 */
static const struct tcb_default_row rows_3[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0" },
};

/* q4k_matmul q8 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median   5.2 %, worst   27.9 %, 38 shapes
 *   rules without these shapes       median  17.6 %, worst   59.2 %, 32 shapes, 6 not measured
 *   the op's own default there       median 132.5 %, worst  497.6 %, 37 shapes, 1 not measured
 *   the rule on shapes to judge      median   4.6 %, worst   45.6 %, 15 shapes
 *   the op's own default there       median 146.0 %, worst  362.4 %, 11 shapes, 4 not measured
 */
static const struct tcb_default_row rows_4[] = {
	{ 8, 0, 3547, 0, "macro=MxNxK,midi=Mx256xK,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 8, 0, 0, 0, "macro=MxNxK,midi=2x64xK,micro=*x*x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 13, 0, 0, 0, "macro=MxNxK,midi=4x16x1024,micro=4x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t1,decode=regs" },
	{ 110, 0, 0, 0, "macro=MxNxK,midi=2x256xK,micro=*x*x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs" },
	{ 320, 0, 0, 0, "macro=MxNxK,midi=64x16xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t0,decode=panel" },
	{ 0, 0, 0, 0, NULL },
};

/* q4k_matvec q8 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median  14.4 %, worst   29.4 %, 30 shapes
 *   rules without these shapes       median  20.5 %, worst  116.4 %, 26 shapes, 4 not measured
 *   the op's own default there       median 191.6 %, worst  476.6 %, 28 shapes, 2 not measured
 *   the rule on shapes to judge      median  17.5 %, worst   55.7 %, 10 shapes, 5 not measured
 *   the op's own default there       median  85.3 %, worst  198.4 %, 10 shapes, 5 not measured
 */
static const struct tcb_default_row rows_5[] = {
	{ 0, 7094, 1254, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 7094, 1773, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=4096,hint=nta" },
	{ 0, 7094, 5948, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 0, 5948, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=nta" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
};

/* softmax f32 x86_64-avx512vnni, threads=1
 *   the rule, where it was made      median  10.0 %, worst   28.6 %, 50 shapes
 *   rules without these shapes       median  16.8 %, worst  187.3 %, 46 shapes, 4 not measured
 *   the op's own default there       median  24.2 %, worst  176.9 %, 49 shapes, 1 not measured
 *   the rule on shapes to judge      median  13.4 %, worst   39.8 %, 13 shapes, 5 not measured
 *   the op's own default there       median  24.4 %, worst  111.2 %, 16 shapes, 2 not measured
 */
static const struct tcb_default_row rows_6[] = {
	{ 5, 4957, 0, 0, NULL },
	{ 5, 0, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=12032,hint=t1,stages=1,stream=0,form=running,asks=1" },
	{ 0, 1011, 0, 0, "macro=MxNx1,midi=1024xNx1,micro=*x*x1,isa=avx512,threads=1,sched=static,prefetch=2048,hint=t0,stages=1,stream=1,form=twopass,asks=1" },
	{ 94, 2478, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=8192,hint=t1,stages=3,stream=1,form=running,asks=4" },
	{ 94, 3035, 0, 0, "macro=MxNx1,midi=MxNx1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=8192,hint=t0,stages=1,stream=0,form=twopass,asks=1" },
	{ 94, 0, 0, 0, "macro=MxNx1,midi=Mx4096x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=16384,hint=t1,stages=3,stream=1,form=twopass,asks=2" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=8192,hint=t1,stages=3,stream=1,form=running,asks=4" },
};

const struct tcb_default_rule tcb_defaults_x86_64_avx512vnni[] = {
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 16 %",
	  sizeof rows_1 / sizeof *rows_1, rows_1 },
	{ "matmul_f32", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 8, 16, 16 }, { 4096, 8192, 4096 },
	  "29 shapes on AMD EPYC, worst loss 28 %",
	  sizeof rows_2 / sizeof *rows_2, rows_2 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 2 %",
	  sizeof rows_3 / sizeof *rows_3, rows_3 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 256, 256 }, { 2048, 16384, 16384 },
	  "38 shapes on AMD EPYC, worst loss 28 %",
	  sizeof rows_4 / sizeof *rows_4, rows_4 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 256, 256 }, { 4, 57344, 57344 },
	  "30 shapes on AMD EPYC, worst loss 29 %",
	  sizeof rows_5 / sizeof *rows_5, rows_5 },
	{ "softmax", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 0, 64, 0 }, { 16384, 128000, 0 },
	  "50 shapes on AMD EPYC, worst loss 29 %",
	  sizeof rows_6 / sizeof *rows_6, rows_6 },
	{ .op = NULL },
};
