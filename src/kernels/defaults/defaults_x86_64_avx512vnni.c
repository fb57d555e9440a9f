/* SPDX-License-Identifier: MIT
 *
 * Written by `tcbtune defaults --format table --worst 10 --least 50` on 2026-11-22, from
 *     cpu-emerald-rapids-vm_first.db
 *     cpu-emerald-rapids-vm_second.db
 *     cpu-xeon-amx_tuning.db
 *     cpu-zen4_matmul_matmul.db
 *     cpu-zen4_ops_tuning.db
 *     cpu-zen4_rows-and-matvec-quiet_tuning.db
 *     cpu-zen4_rows-and-matvec_tuning.db
 *     cpu-zen5_recorded_recorded.db
 *     cpu-zen5_shapes_shapes.db
 *     cpu-zen5_table-formats_mxfp4.db
 *     cpu-zen5_table-formats_others.db
 *     h200-rows_norms.db
 *     h200-rows_reductions.db
 *     h200-rows_softmax.db
 *     h200_2026-11-21_other_matvec_tuning.db
 *     h200_2026-11-21_q4k_matvec_tuning.db
 *     h200_2026-11-21_rows_tuning.db
 *     h200_2026-11-22_formats_tuning.db
 *     h200_2026-11-22_products_tuning.db
 *     h200_2026-11-22_random_random.db
 *     h200_2026-11-22_recorded_recorded.db
 *     h200_2026-11-22_table-formats_formats.db
 *     h200_2026-11-22_table-matmuls_tuning.db
 *     h200_counters.db
 *     h200_tuning.db
 * Not edited by hand: measure more (--fill) and write it again.
 */
#include "kernels/default_rules.h"

/* clang-format off */

/*
 * iq4xs_matvec q8 x86_64-avx512vnni, threads=1
 *   1. n <= 7662: macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0
 *   2. otherwise: macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 1f1a       613    1     1.9   15.7   5.2      15.9         88.2
 *   1x14336x4096  AMD EPYC 1f1a       105    2     1.9    0.0   1.9         ?         85.9
 *   the rule, where it was made      median   3.6 %, worst    5.2 %, 2 shapes
 *   rules without these shapes       median  15.9 %, worst   15.9 %, 1 shapes, 1 not measured
 *   the op's own default there       median  87.1 %, worst   88.2 %, 2 shapes
 */
static const struct tcb_default_row rows_1[] = {
	{ 0, 7662, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=t0" },
	{ 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0" },
};

/*
 * layernorm f32 x86_64-avx512vnni, threads=1
 *   1. m <= 22: macro=MxNx1,midi=Mx32768x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1
 *   2. otherwise: macro=MxNx1,midi=4x512x1,micro=1x32x1,isa=avx2,threads=1,sched=static,prefetch=65536,hint=t1,stages=4,stream=1,form=onepass,asks=2
 *   shape      device         measured  row  cold %  hot %  loss  left out  own default
 *   1x32000    AMD EPYC 3614       168    1     0.0    0.7   0.2      88.7         88.7
 *   512x4096   AMD EPYC 3614       527    2     0.0    7.0   2.3      10.6         10.6
 *   4096x4096  AMD EPYC 3614        70    2     0.0    1.3   0.4       3.8          3.8
 *   the rule, where it was made      median   0.4 %, worst    2.3 %, 3 shapes
 *   rules without these shapes       median  10.6 %, worst   88.7 %, 3 shapes
 *   the op's own default there       median  10.6 %, worst   88.7 %, 3 shapes
 */
static const struct tcb_default_row rows_2[] = {
	{ 22, 0, 0, "macro=MxNx1,midi=Mx32768x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1" },
	{ 0, 0, 0, "macro=MxNx1,midi=4x512x1,micro=1x32x1,isa=avx2,threads=1,sched=static,prefetch=65536,hint=t1,stages=4,stream=1,form=onepass,asks=2" },
};

/*
 * matmul_f32 f32 x86_64-avx512vnni, threads=1
 *   1. m <= 181: macro=MxNxK,midi=MxNx512,micro=8x32x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs
 *   2. n <= 715: macro=MxNxK,midi=112x256xK,micro=14x32x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs
 *   3. otherwise: macro=MxNxK,midi=MxNxK,micro=6x64x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=panel
 *   shape          device         measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096    AMD EPYC 3614        97    1     0.9    4.5   1.5       0.3          0.3
 *   64x1024x1024   AMD EPYC 1f1a       384    1     3.3    6.5   3.3      30.8         38.7
 *   128x128x128    AMD EPYC 1f1a        96    1     0.3    3.0   1.0       5.2         25.2
 *   256x256x256    AMD EPYC 1f1a       160    2     7.1    2.3   7.1       7.1         23.2
 *   384x1024x64    AMD EPYC 1f1a       448    3     5.6    2.5   5.6      21.9         22.3
 *   512x512x512    AMD EPYC 1f1a       401    2     0.9    0.1   0.9      25.3         25.3
 *   512x512x512    AMD EPYC 3614       151    2     1.4    0.2   1.4       0.1          0.1
 *   1000x1000x100  AMD EPYC 1f1a       288    3     4.3    5.7   4.3       4.3         19.9
 *   1024x1024x256  AMD EPYC 1f1a       288    3     1.2    1.9   1.2      11.4          2.1
 *   the rule, where it was made      median   1.5 %, worst    7.1 %, 9 shapes
 *   rules without these shapes       median   7.1 %, worst   30.8 %, 9 shapes
 *   the op's own default there       median  22.3 %, worst   38.7 %, 9 shapes
 */
static const struct tcb_default_row rows_3[] = {
	{ 181, 0, 0, "macro=MxNxK,midi=MxNx512,micro=8x32x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs" },
	{ 0, 715, 0, "macro=MxNxK,midi=112x256xK,micro=14x32x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=regs" },
	{ 0, 0, 0, "macro=MxNxK,midi=MxNxK,micro=6x64x1,isa=avx512,threads=1,sched=static,prefetch=512,decode=panel" },
};

/*
 * mxfp4_matvec q8 x86_64-avx512vnni, threads=1
 *   1. otherwise: macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 1f1a       449    1     2.0    2.1   2.0       2.0        107.8
 *   1x14336x4096  AMD EPYC 1f1a       138    1     0.5    0.0   0.5      17.8        120.7
 *   the rule, where it was made      median   1.3 %, worst    2.0 %, 2 shapes
 *   rules without these shapes       median   9.9 %, worst   17.8 %, 2 shapes
 *   the op's own default there       median 114.2 %, worst  120.7 %, 2 shapes
 */
static const struct tcb_default_row rows_4[] = {
	{ 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t0" },
};

/*
 * q40_matvec q8 x86_64-avx512vnni, threads=1
 *   1. otherwise: macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 3614       726    1     0.0    0.0   0.0       7.2        304.6
 *   1x14336x4096  AMD EPYC 3614       217    1     3.3   26.9   9.0       9.0        276.8
 *   the rule, where it was made      median   4.5 %, worst    9.0 %, 2 shapes
 *   rules without these shapes       median   8.1 %, worst    9.0 %, 2 shapes
 *   the op's own default there       median 290.7 %, worst  304.6 %, 2 shapes
 */
static const struct tcb_default_row rows_5[] = {
	{ 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0" },
};

/*
 * q4k_matmul q8 x86_64-avx512vnni, threads=1
 *   1. m <= 11: macro=MxNxK,midi=Mx16x1024,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs
 *   2. m <= 256, n <= 1448: macro=MxNxK,midi=64x64xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs
 *   3. m <= 256: macro=MxNxK,midi=8x256xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs
 *   4. otherwise: the op's own default
 *   shape          device         measured  row  cold %  hot %  loss  left out  own default
 *   2x1024x2048    AMD EPYC 1f1a      2106    1     1.8   26.3   8.8      76.1        415.0
 *   4x2048x1024    AMD EPYC 1f1a      1404    1     2.3   18.5   6.2       6.2        371.1
 *   8x1024x2048    AMD EPYC 1f1a      2106    1     3.6   11.4   3.8       3.8        201.6
 *   16x1024x2048   AMD EPYC 1f1a      1840    2    10.4   18.8  10.4     111.6        100.6
 *   32x2048x2048   AMD EPYC 1f1a       649    3     0.0   13.9   4.6         ?         19.8
 *   64x1024x2048   AMD EPYC 1f1a       749    2     8.8    0.5   8.8       8.8         37.6
 *   128x1024x1024  AMD EPYC 1f1a       377    2     2.7    6.0   2.7         ?         45.4
 *   512x4096x4096  AMD EPYC 1f1a        69    4     4.9    6.6   4.9         ?          4.9
 *   the rule, where it was made      median   5.5 %, worst   10.4 %, 8 shapes
 *   rules without these shapes       median   8.8 %, worst  111.6 %, 5 shapes, 3 not measured
 *   the op's own default there       median  73.0 %, worst  415.0 %, 8 shapes
 */
static const struct tcb_default_row rows_6[] = {
	{ 11, 0, 0, "macro=MxNxK,midi=Mx16x1024,micro=Mx16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs" },
	{ 256, 1448, 0, "macro=MxNxK,midi=64x64xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=4096,hint=t1,decode=regs" },
	{ 256, 0, 0, "macro=MxNxK,midi=8x256xK,micro=8x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,prefetch=16384,hint=t0,decode=regs" },
	{ 0, 0, 0, NULL },
};

/*
 * q4k_matvec q8 x86_64-avx512vnni, threads=1
 *   1. k <= 2896: macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=nta
 *   2. k <= 4579: macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512,layout=native,threads=1,sched=static,unroll=2,prefetch=8192,hint=t1
 *   3. otherwise: macro=MxNxK,midi=1x1024xK,micro=1x8x256,isa=avx512vnni,layout=r8,threads=1,sched=static,unroll=1,prefetch=8192,hint=nta
 *   shape         device                           measured  row  cold %  hot %  loss  left out  own default
 *   1x1024x1024   AMD EPYC 1f1a                        1686    1     6.1    3.1   6.1      14.9         45.9
 *   1x1024x4096   AMD EPYC 1f1a                        1686    2    30.1  121.2  40.4      40.4         34.9
 *   1x2048x2048   AMD EPYC 1f1a                        1686    1     3.1   22.4   7.5       7.5         67.3
 *   1x4096x1024   AMD EPYC 1f1a                        1686    1     4.4   36.8  12.3      81.3         77.2
 *   1x4096x4096   AMD EPYC 1f1a                        1686    2    18.1  123.5  41.2      15.7         53.7
 *   1x4096x4096   Intel(R) Xeon(R) Processor 33d9      1686    2    39.2   31.6  39.2     162.3        183.1
 *   1x4096x4096   AMD EPYC 3614                         198    2    26.5  123.1  41.0         ?        229.2
 *   1x4096x11008  AMD EPYC 1f1a                        1331    3    13.0   35.3  13.0      14.9        162.5
 *   1x5120x5120   AMD EPYC 1f1a                        1351    3    13.8   24.2  13.8      54.6        103.0
 *   1x11008x4096  AMD EPYC 1f1a                         827    2    19.7   64.1  21.4      21.4         58.6
 *   1x14336x4096  AMD EPYC 1f1a                        1009    2    15.9   42.6  15.9      55.0         49.3
 *   1x14336x4096  Intel(R) Xeon(R) Processor 33d9      1686    2     2.5   24.8   8.3      23.1        124.4
 *   1x14336x4096  AMD EPYC 3614                          76    2    27.9   67.4  27.9         ?        228.1
 *   the rule, where it was made      median  15.9 %, worst   41.2 %, 13 shapes
 *   rules without these shapes       median  23.1 %, worst  162.3 %, 11 shapes, 2 not measured
 *   the op's own default there       median  77.2 %, worst  229.2 %, 13 shapes
 */
static const struct tcb_default_row rows_7[] = {
	{ 0, 0, 2896, "macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=8192,hint=nta" },
	{ 0, 0, 4579, "macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512,layout=native,threads=1,sched=static,unroll=2,prefetch=8192,hint=t1" },
	{ 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x8x256,isa=avx512vnni,layout=r8,threads=1,sched=static,unroll=1,prefetch=8192,hint=nta" },
};

/*
 * q4k_matvec q8 x86_64-avx512vnni, threads=2
 *   1. n <= 7662: macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=2,sched=dynamic,unroll=1,prefetch=1024,hint=t0
 *   2. otherwise: macro=Mx1024xK,midi=1x256xK,micro=1x4x256,isa=avx512,layout=native,threads=2,sched=static,unroll=1,prefetch=2048,hint=t1
 *   shape         device                           measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   Intel(R) Xeon(R) Processor 33d9      5058    1     4.4   15.3   5.1      60.1        216.5
 *   1x14336x4096  Intel(R) Xeon(R) Processor 33d9      3817    2     0.0   16.1   5.4         ?        177.8
 *   the rule, where it was made      median   5.2 %, worst    5.4 %, 2 shapes
 *   rules without these shapes       median  60.1 %, worst   60.1 %, 1 shapes, 1 not measured
 *   the op's own default there       median 197.2 %, worst  216.5 %, 2 shapes
 */
static const struct tcb_default_row rows_8[] = {
	{ 0, 7662, 0, "macro=MxNxK,midi=1x256xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=2,sched=dynamic,unroll=1,prefetch=1024,hint=t0" },
	{ 0, 0, 0, "macro=Mx1024xK,midi=1x256xK,micro=1x4x256,isa=avx512,layout=native,threads=2,sched=static,unroll=1,prefetch=2048,hint=t1" },
};

/*
 * q5k_matvec q8 x86_64-avx512vnni, threads=1
 *   1. n <= 7662: macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0
 *   2. otherwise: macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t1
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 3614       421    1     0.0    0.7   0.2      11.7        234.8
 *   1x14336x4096  AMD EPYC 3614       154    2     0.0   11.4   3.8         ?        230.6
 *   the rule, where it was made      median   2.0 %, worst    3.8 %, 2 shapes
 *   rules without these shapes       median  11.7 %, worst   11.7 %, 1 shapes, 1 not measured
 *   the op's own default there       median 232.7 %, worst  234.8 %, 2 shapes
 */
static const struct tcb_default_row rows_9[] = {
	{ 0, 7662, 0, "macro=MxNxK,midi=1x1024xK,micro=1x16x256,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0" },
	{ 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=16384,hint=t1" },
};

/*
 * q6k_matvec q8 x86_64-avx512vnni, threads=1
 *   1. n <= 7662: macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0
 *   2. otherwise: macro=MxNxK,midi=1x1024xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=16384,hint=t1
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 3614       275    1     3.0   28.7   9.6      22.8        314.8
 *   1x14336x4096  AMD EPYC 3614       119    2     4.1   21.1   7.0         ?        308.0
 *   the rule, where it was made      median   8.3 %, worst    9.6 %, 2 shapes
 *   rules without these shapes       median  22.8 %, worst   22.8 %, 1 shapes, 1 not measured
 *   the op's own default there       median 311.4 %, worst  314.8 %, 2 shapes
 */
static const struct tcb_default_row rows_10[] = {
	{ 0, 7662, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=avx512,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0" },
	{ 0, 0, 0, "macro=MxNxK,midi=1x1024xK,micro=1x4x256,isa=avx512vnni,layout=native,threads=1,sched=static,unroll=1,prefetch=16384,hint=t1" },
};

/*
 * q80_matvec q8 x86_64-avx512vnni, threads=1
 *   1. n <= 7662: macro=MxNxK,midi=1x64xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0
 *   2. otherwise: macro=MxNxK,midi=1x256xK,micro=1x4x32,isa=avx512,layout=native,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1
 *   shape         device         measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   AMD EPYC 3614       582    1     0.0    0.0   0.0      38.4        147.0
 *   1x14336x4096  AMD EPYC 3614        98    2     0.0    7.3   2.4         ?        130.4
 *   the rule, where it was made      median   1.2 %, worst    2.4 %, 2 shapes
 *   rules without these shapes       median  38.4 %, worst   38.4 %, 1 shapes, 1 not measured
 *   the op's own default there       median 138.7 %, worst  147.0 %, 2 shapes
 */
static const struct tcb_default_row rows_11[] = {
	{ 0, 7662, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x32,isa=avx512vnni,layout=r16,threads=1,sched=static,unroll=1,prefetch=0,hint=t0" },
	{ 0, 0, 0, "macro=MxNxK,midi=1x256xK,micro=1x4x32,isa=avx512,layout=native,threads=1,sched=static,unroll=1,prefetch=8192,hint=t1" },
};

/*
 * reduce2d_sum f32 x86_64-avx512vnni, threads=1
 *   1. m <= 22: macro=MxNx1,midi=Mx32768x1,micro=2x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,form=lanes
 *   2. otherwise: macro=MxNx1,midi=8x4096x1,micro=1x32x1,isa=avx2,threads=1,sched=static,prefetch=1024,hint=t1,form=pairwise
 *   shape      device         measured  row  cold %  hot %  loss  left out  own default
 *   1x32000    AMD EPYC 3614       400    1     3.7    0.3   3.7      34.3         34.3
 *   512x4096   AMD EPYC 3614       468    2     6.2   23.4   7.8       7.8          5.5
 *   4096x4096  AMD EPYC 3614        72    2     0.0   12.7   4.2      16.6         16.6
 *   the rule, where it was made      median   4.2 %, worst    7.8 %, 3 shapes
 *   rules without these shapes       median  16.6 %, worst   34.3 %, 3 shapes
 *   the op's own default there       median  16.6 %, worst   34.3 %, 3 shapes
 */
static const struct tcb_default_row rows_12[] = {
	{ 22, 0, 0, "macro=MxNx1,midi=Mx32768x1,micro=2x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,form=lanes" },
	{ 0, 0, 0, "macro=MxNx1,midi=8x4096x1,micro=1x32x1,isa=avx2,threads=1,sched=static,prefetch=1024,hint=t1,form=pairwise" },
};

/*
 * rmsnorm f32 x86_64-avx512vnni, threads=1
 *   1. m <= 22: macro=MxNx1,midi=Mx32768x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1
 *   2. otherwise: the op's own default
 *   shape      device         measured  row  cold %  hot %  loss  left out  own default
 *   1x32000    AMD EPYC 3614        56    1     4.0   32.9  11.0      48.1         48.1
 *   512x4096   AMD EPYC 3614       390    2     0.0   13.8   4.6       4.6          4.6
 *   4096x4096  AMD EPYC 3614        81    2     0.0    4.6   1.5       1.5          1.5
 *   the rule, where it was made      median   4.6 %, worst   11.0 %, 3 shapes
 *   rules without these shapes       median   4.6 %, worst   48.1 %, 3 shapes
 *   the op's own default there       median   4.6 %, worst   48.1 %, 3 shapes
 */
static const struct tcb_default_row rows_13[] = {
	{ 22, 0, 0, "macro=MxNx1,midi=Mx32768x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=0,hint=t0,stages=1,stream=1,form=onepass,asks=1" },
	{ 0, 0, 0, NULL },
};

/*
 * softmax f32 x86_64-avx512vnni, threads=1
 *   1. m <= 4: macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t1,stages=1,stream=0,form=running,asks=1
 *   2. m <= 181: macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=running,asks=4
 *   3. n <= 724: macro=MxNx1,midi=4096xNx1,micro=1xNx1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t0,stages=1,stream=1,form=twopass,asks=1
 *   4. otherwise: macro=MxNx1,midi=Mx1024x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=16384,hint=t1,stages=3,stream=1,form=running,asks=2
 *   shape      device         measured  row  cold %  hot %  loss  left out  own default
 *   1x32000    AMD EPYC 1f1a       280    1     8.1   16.2   8.1      28.5         28.5
 *   1x32000    AMD EPYC 3614       280    1     0.2    1.1   0.4       5.7          5.7
 *   16x4096    AMD EPYC 1f1a       640    2     0.0   18.4   6.1      10.6         34.5
 *   64x1024    AMD EPYC 1f1a       736    2     9.5   12.6   9.5      85.6        110.4
 *   128x8192   AMD EPYC 1f1a      1000    2    10.2   10.6  10.2      10.2         12.7
 *   256x4096   AMD EPYC 1f1a       640    4     4.9   10.1   4.9      12.6          7.6
 *   512x2048   AMD EPYC 1f1a       896    4     9.2   11.2   9.2      26.4         26.4
 *   512x4096   AMD EPYC 3614       489    4     2.5    3.0   2.5       2.5          1.7
 *   4096x256   AMD EPYC 1f1a       638    3     0.0    0.0   0.0      69.0        143.7
 *   4096x4096  AMD EPYC 3614        69    4     5.2    7.7   5.2       1.4          1.4
 *   the rule, where it was made      median   5.7 %, worst   10.2 %, 10 shapes
 *   rules without these shapes       median  11.6 %, worst   85.6 %, 10 shapes
 *   the op's own default there       median  19.5 %, worst  143.7 %, 10 shapes
 */
static const struct tcb_default_row rows_14[] = {
	{ 4, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t1,stages=1,stream=0,form=running,asks=1" },
	{ 181, 0, 0, "macro=MxNx1,midi=Mx512x1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=1024,hint=t1,stages=3,stream=1,form=running,asks=4" },
	{ 0, 724, 0, "macro=MxNx1,midi=4096xNx1,micro=1xNx1,isa=avx512,threads=1,sched=static,prefetch=4096,hint=t0,stages=1,stream=1,form=twopass,asks=1" },
	{ 0, 0, 0, "macro=MxNx1,midi=Mx1024x1,micro=1x64x1,isa=avx512,threads=1,sched=static,prefetch=16384,hint=t1,stages=3,stream=1,form=running,asks=2" },
};

const struct tcb_default_rule tcb_defaults_x86_64_avx512vnni[] = {
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 5 %",
	  sizeof rows_1 / sizeof *rows_1, rows_1 },
	{ "layernorm", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "3 shapes on AMD EPYC, worst loss 2 %",
	  sizeof rows_2 / sizeof *rows_2, rows_2 },
	{ "matmul_f32", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 2, 32, 16 }, { 4096, 16384, 16384 },
	  "9 shapes on AMD EPYC, worst loss 7 %",
	  sizeof rows_3 / sizeof *rows_3, rows_3 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 2 %",
	  sizeof rows_4 / sizeof *rows_4, rows_4 },
	{ "q40_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 9 %",
	  sizeof rows_5 / sizeof *rows_5, rows_5 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 256, 256 }, { 2048, 16384, 16384 },
	  "8 shapes on AMD EPYC, worst loss 10 %",
	  sizeof rows_6 / sizeof *rows_6, rows_6 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 256, 256 }, { 4, 57344, 44032 },
	  "13 shapes on AMD EPYC, worst loss 41 %",
	  sizeof rows_7 / sizeof *rows_7, rows_7 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 2,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on Intel(R) Xeon(R) Processor, worst loss 5 %",
	  sizeof rows_8 / sizeof *rows_8, rows_8 },
	{ "q5k_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 4 %",
	  sizeof rows_9 / sizeof *rows_9, rows_9 },
	{ "q6k_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 10 %",
	  sizeof rows_10 / sizeof *rows_10, rows_10 },
	{ "q80_matvec", TCB_CONTRACT_Q8, "x86_64-avx512vnni", 1,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on AMD EPYC, worst loss 2 %",
	  sizeof rows_11 / sizeof *rows_11, rows_11 },
	{ "reduce2d_sum", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "3 shapes on AMD EPYC, worst loss 8 %",
	  sizeof rows_12 / sizeof *rows_12, rows_12 },
	{ "rmsnorm", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "3 shapes on AMD EPYC, worst loss 11 %",
	  sizeof rows_13 / sizeof *rows_13, rows_13 },
	{ "softmax", TCB_CONTRACT_F32, "x86_64-avx512vnni", 1,
	  { 0, 64, 0 }, { 16384, 128000, 0 },
	  "10 shapes on AMD EPYC, worst loss 10 %",
	  sizeof rows_14 / sizeof *rows_14, rows_14 },
	{ .op = NULL },
};
