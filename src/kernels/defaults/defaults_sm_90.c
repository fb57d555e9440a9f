/* SPDX-License-Identifier: MIT
 *
 * Written by `tcbtune defaults --format table --worst 10 --least 50` on 2026-11-22, from
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
 * iq4xs_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. m <= 64: macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   3. otherwise: macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape          device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096    NVIDIA H200 4f75       245    1     4.7    7.4   4.7         ?        200.5
 *   32x4096x4096   NVIDIA H200 4f75       129    2     1.9    1.8   1.9     105.4        105.4
 *   128x4096x4096  NVIDIA H200 4f75        83    3     0.7    1.3   0.7         ?         67.8
 *   the rule, where it was made      median   1.9 %, worst    4.7 %, 3 shapes
 *   rules without these shapes       median 105.4 %, worst  105.4 %, 1 shapes, 2 not measured
 *   the op's own default there       median 105.4 %, worst  200.5 %, 3 shapes
 */
static const struct tcb_default_row rows_1[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * iq4xs_matmul q8 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       209    1     5.7    6.6   5.7     249.0        249.0
 *   32x4096x4096  NVIDIA H200 4f75       125    2     5.8    4.7   5.8      78.7         78.7
 *   the rule, where it was made      median   5.7 %, worst    5.8 %, 2 shapes
 *   rules without these shapes       median 163.9 %, worst  249.0 %, 2 shapes
 *   the op's own default there       median 163.9 %, worst  249.0 %, 2 shapes
 */
static const struct tcb_default_row rows_2[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * iq4xs_matvec f16 sm_90
 *   1. n <= 7662: macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=8,vec=16,stages=1,splitk=1,ksplit=8,copy=ldg,xin=shared,group=256,prep=block,lead=1,blocks=0,pdl=1,occ=2
 *   2. otherwise: macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=4,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=2,pdl=1,occ=2
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       320    1     0.0    1.2   0.4      27.1         27.1
 *   1x14336x4096  NVIDIA H200 4f75       111    2     1.2    3.9   1.3         ?         30.0
 *   the rule, where it was made      median   0.8 %, worst    1.3 %, 2 shapes
 *   rules without these shapes       median  27.1 %, worst   27.1 %, 1 shapes, 1 not measured
 *   the op's own default there       median  28.6 %, worst   30.0 %, 2 shapes
 */
static const struct tcb_default_row rows_3[] = {
	{ 0, 7662, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=8,vec=16,stages=1,splitk=1,ksplit=8,copy=ldg,xin=shared,group=256,prep=block,lead=1,blocks=0,pdl=1,occ=2" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=4,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=2,pdl=1,occ=2" },
};

/*
 * iq4xs_matvec q8 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=p,unroll=4,warps=8,vec=16,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=2,pdl=1,occ=2
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       536    1     9.5   27.2   9.5      12.8         19.3
 *   1x14336x4096  NVIDIA H200 4f75       322    1     2.6   15.3   5.1         ?         22.9
 *   the rule, where it was made      median   7.3 %, worst    9.5 %, 2 shapes
 *   rules without these shapes       median  12.8 %, worst   12.8 %, 1 shapes, 1 not measured
 *   the op's own default there       median  21.1 %, worst   22.9 %, 2 shapes
 */
static const struct tcb_default_row rows_4[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=p,unroll=4,warps=8,vec=16,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=2,pdl=1,occ=2" },
};

/*
 * layernorm f32 sm_90
 *   1. n <= 11448: macro=MxNx1,midi=1xNx1,micro=1x2x1,isa=fma,unroll=1,warps=8,vec=8,stages=1,splitk=1,stream=0,ksplit=8,copy=ldg,xin=regs,lead=1,blocks=0,pdl=1,occ=1,join=none
 *   2. otherwise: macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=2,vec=16,stages=1,splitk=32,stream=1,ksplit=2,copy=ldg,xin=regs,lead=0,blocks=0,pdl=1,occ=8,join=launch
 *   shape      device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096     NVIDIA H200 4f75       279    1     8.9   11.1   8.9         ?         44.4
 *   1x32000    NVIDIA H200 4f75       107    2     0.0    0.0   0.0     301.3        301.3
 *   512x4096   NVIDIA H200 4f75       150    1     7.1   11.3   7.1       7.1         16.8
 *   4096x4096  NVIDIA H200 4f75        91    1     3.1    3.1   3.1       7.5          7.5
 *   the rule, where it was made      median   5.1 %, worst    8.9 %, 4 shapes
 *   rules without these shapes       median   7.5 %, worst  301.3 %, 3 shapes, 1 not measured
 *   the op's own default there       median  30.6 %, worst  301.3 %, 4 shapes
 */
static const struct tcb_default_row rows_5[] = {
	{ 0, 11448, 0, 0, "macro=MxNx1,midi=1xNx1,micro=1x2x1,isa=fma,unroll=1,warps=8,vec=8,stages=1,splitk=1,stream=0,ksplit=8,copy=ldg,xin=regs,lead=1,blocks=0,pdl=1,occ=1,join=none" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=2,vec=16,stages=1,splitk=32,stream=1,ksplit=2,copy=ldg,xin=regs,lead=0,blocks=0,pdl=1,occ=8,join=launch" },
};

/*
 * mxfp4_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. m <= 64: macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   3. otherwise: macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape          device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096    NVIDIA H200 4f75       145    1     3.7    8.2   3.7         ?        195.0
 *   32x4096x4096   NVIDIA H200 4f75       134    2     5.1    6.1   5.1      94.9         94.9
 *   128x4096x4096  NVIDIA H200 4f75        79    3     0.0    0.3   0.1         ?         62.3
 *   the rule, where it was made      median   3.7 %, worst    5.1 %, 3 shapes
 *   rules without these shapes       median  94.9 %, worst   94.9 %, 1 shapes, 2 not measured
 *   the op's own default there       median  94.9 %, worst  195.0 %, 3 shapes
 */
static const struct tcb_default_row rows_6[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * mxfp4_matmul q8 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=3,splitk=2,ksplit=4,copy=bulk,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=32x32xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=2,splitk=2,ksplit=2,copy=bulk,group=32,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       241    1     9.6   10.7   9.6     241.0        241.0
 *   32x4096x4096  NVIDIA H200 4f75       154    2     1.2    2.6   1.2      72.0         72.0
 *   the rule, where it was made      median   5.4 %, worst    9.6 %, 2 shapes
 *   rules without these shapes       median 156.5 %, worst  241.0 %, 2 shapes
 *   the op's own default there       median 156.5 %, worst  241.0 %, 2 shapes
 */
static const struct tcb_default_row rows_7[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=3,splitk=2,ksplit=4,copy=bulk,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x32xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=2,splitk=2,ksplit=2,copy=bulk,group=32,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * mxfp4_matvec f16 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=8,vec=16,stages=2,splitk=1,ksplit=8,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       342    1     7.9   15.2   7.9      21.6         21.6
 *   1x14336x4096  NVIDIA H200 4f75       147    1     4.9    7.0   4.9         ?         23.4
 *   the rule, where it was made      median   6.4 %, worst    7.9 %, 2 shapes
 *   rules without these shapes       median  21.6 %, worst   21.6 %, 1 shapes, 1 not measured
 *   the op's own default there       median  22.5 %, worst   23.4 %, 2 shapes
 */
static const struct tcb_default_row rows_8[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=8,vec=16,stages=2,splitk=1,ksplit=8,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * mxfp4_matvec q8 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=p,unroll=4,warps=16,vec=16,stages=1,splitk=1,ksplit=1,copy=ldg,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       485    1     8.5   17.6   8.5       8.5         17.0
 *   1x14336x4096  NVIDIA H200 4f75       308    1     0.0    0.0   0.0      29.6         25.4
 *   the rule, where it was made      median   4.3 %, worst    8.5 %, 2 shapes
 *   rules without these shapes       median  19.1 %, worst   29.6 %, 2 shapes
 *   the op's own default there       median  21.2 %, worst   25.4 %, 2 shapes
 */
static const struct tcb_default_row rows_9[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=p,unroll=4,warps=16,vec=16,stages=1,splitk=1,ksplit=1,copy=ldg,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q40_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       301    1     1.5    7.3   2.4     180.7        180.7
 *   32x4096x4096  NVIDIA H200 4f75       172    2     0.0    0.0   0.0      95.0         95.0
 *   the rule, where it was made      median   1.2 %, worst    2.4 %, 2 shapes
 *   rules without these shapes       median 137.9 %, worst  180.7 %, 2 shapes
 *   the op's own default there       median 137.9 %, worst  180.7 %, 2 shapes
 */
static const struct tcb_default_row rows_10[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * q40_matvec q8 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=p,unroll=8,warps=16,vec=8,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       262    1     3.9   31.0  10.3      44.3         44.3
 *   1x14336x4096  NVIDIA H200 4f75       178    1     6.0    9.7   6.0         ?         40.8
 *   the rule, where it was made      median   8.2 %, worst   10.3 %, 2 shapes
 *   rules without these shapes       median  44.3 %, worst   44.3 %, 1 shapes, 1 not measured
 *   the op's own default there       median  42.6 %, worst   44.3 %, 2 shapes
 */
static const struct tcb_default_row rows_11[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=p,unroll=8,warps=16,vec=8,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q4k_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=2,warps=8,stages=3,splitk=4,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. m <= 64, n <= 7662: macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   3. m <= 64: macro=MxNxK,midi=Mx64x4096,micro=Mx64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=4
 *   4. m <= 256: macro=MxNxK,midi=64x64xK,micro=64x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=4
 *   5. otherwise: macro=MxNxK,midi=128x64xK,micro=128x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4
 *   shape          device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096    NVIDIA H200 4f75       467    1     3.2    4.3   3.2         ?        149.1
 *   8x14336x4096   NVIDIA H200 4f75       339    1     9.6   10.9   9.6         ?         30.2
 *   32x4096x4096   NVIDIA H200 4f75      4991    2     5.8    3.7   5.8      26.2        103.3
 *   32x14336x4096  NVIDIA H200 4f75       178    3     0.7    2.8   0.9         ?         84.1
 *   128x4096x4096  NVIDIA H200 4f75       718    4     7.9    5.5   7.9     117.6        118.2
 *   512x4096x4096  NVIDIA H200 4f75       417    5     5.7    4.3   5.7      99.3        291.1
 *   the rule, where it was made      median   5.8 %, worst    9.6 %, 6 shapes
 *   rules without these shapes       median  99.3 %, worst  117.6 %, 3 shapes, 3 not measured
 *   the op's own default there       median 110.8 %, worst  291.1 %, 6 shapes
 */
static const struct tcb_default_row rows_12[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=2,warps=8,stages=3,splitk=4,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 7662, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=4" },
	{ 256, 0, 0, 0, "macro=MxNxK,midi=64x64xK,micro=64x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=4" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=128x64xK,micro=128x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4" },
};

/*
 * q4k_matmul q8 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=4,ksplit=2,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. m <= 64: macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   3. otherwise: macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=async,group=256,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=3
 *   shape          device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096    NVIDIA H200 4f75      1143    1     8.4   12.5   8.4     183.6        183.6
 *   32x4096x4096   NVIDIA H200 4f75       154    2     0.0    3.8   1.3         ?        102.3
 *   128x4096x4096  NVIDIA H200 4f75        82    3     0.0    0.0   0.0         ?        140.8
 *   the rule, where it was made      median   1.3 %, worst    8.4 %, 3 shapes
 *   rules without these shapes       median 183.6 %, worst  183.6 %, 1 shapes, 2 not measured
 *   the op's own default there       median 140.8 %, worst  183.6 %, 3 shapes
 */
static const struct tcb_default_row rows_13[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=4,ksplit=2,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=async,group=256,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=3" },
};

/*
 * q4k_matvec f32 sm_90
 *   1. n <= 7662: macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=14,vec=16,stages=2,splitk=1,ksplit=14,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   2. otherwise: macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=16,vec=16,stages=3,splitk=1,ksplit=4,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75      2457    1     5.8   22.8   7.6      64.3         64.3
 *   1x4096x14336  NVIDIA H200 4f75      1325    1     0.0    0.0   0.0      11.2         67.7
 *   1x14336x4096  NVIDIA H200 4f75      1510    2     0.0    3.6   1.2         ?         91.4
 *   the rule, where it was made      median   1.2 %, worst    7.6 %, 3 shapes
 *   rules without these shapes       median  37.7 %, worst   64.3 %, 2 shapes, 1 not measured
 *   the op's own default there       median  67.7 %, worst   91.4 %, 3 shapes
 */
static const struct tcb_default_row rows_14[] = {
	{ 0, 7662, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=14,vec=16,stages=2,splitk=1,ksplit=14,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x64xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=16,vec=16,stages=3,splitk=1,ksplit=4,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q4k_matvec q8 sm_90
 *   1. n <= 7662, k <= 7662: macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1
 *   2. n <= 7662: macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=s,unroll=7,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   3. otherwise: macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75      5062    1     5.4    7.2   5.4      77.9         77.9
 *   1x4096x14336  NVIDIA H200 4f75      1931    2     1.3    6.5   2.2      68.4         68.4
 *   1x14336x4096  NVIDIA H200 4f75      2031    3     5.7   13.3   5.7       5.7         40.8
 *   1x32000x4096  NVIDIA H200 4f75      1037    3     4.9    5.5   4.9       6.0         33.4
 *   the rule, where it was made      median   5.2 %, worst    5.7 %, 4 shapes
 *   rules without these shapes       median  37.2 %, worst   77.9 %, 4 shapes
 *   the op's own default there       median  54.6 %, worst   77.9 %, 4 shapes
 */
static const struct tcb_default_row rows_15[] = {
	{ 0, 7662, 7662, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1" },
	{ 0, 7662, 0, 0, "macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=s,unroll=7,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q5k_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       320    1     1.3    2.8   1.3     164.6        164.6
 *   32x4096x4096  NVIDIA H200 4f75       172    2     4.4    4.9   4.4     119.9        119.9
 *   the rule, where it was made      median   2.8 %, worst    4.4 %, 2 shapes
 *   rules without these shapes       median 142.2 %, worst  164.6 %, 2 shapes
 *   the op's own default there       median 142.2 %, worst  164.6 %, 2 shapes
 */
static const struct tcb_default_row rows_16[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * q5k_matvec q8 sm_90
 *   1. n <= 7662: macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1
 *   2. otherwise: macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=2,warps=8,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       208    1     0.0    0.0   0.0      65.0         65.0
 *   1x14336x4096  NVIDIA H200 4f75        87    2     3.5   21.2   7.1         ?         46.6
 *   the rule, where it was made      median   3.5 %, worst    7.1 %, 2 shapes
 *   rules without these shapes       median  65.0 %, worst   65.0 %, 1 shapes, 1 not measured
 *   the op's own default there       median  55.8 %, worst   65.0 %, 2 shapes
 */
static const struct tcb_default_row rows_17[] = {
	{ 0, 7662, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=2,warps=8,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q6k_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       297    1     0.3    2.9   1.0     210.5        210.5
 *   32x4096x4096  NVIDIA H200 4f75       130    2     0.0    3.0   1.0     112.5        112.5
 *   the rule, where it was made      median   1.0 %, worst    1.0 %, 2 shapes
 *   rules without these shapes       median 161.5 %, worst  210.5 %, 2 shapes
 *   the op's own default there       median 161.5 %, worst  210.5 %, 2 shapes
 */
static const struct tcb_default_row rows_18[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx32x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * q6k_matvec q8 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=s,unroll=4,warps=16,vec=16,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       237    1     1.7   13.5   4.5      58.8         58.8
 *   1x14336x4096  NVIDIA H200 4f75        84    1     7.1   21.1   7.1         ?         60.5
 *   the rule, where it was made      median   5.8 %, worst    7.1 %, 2 shapes
 *   rules without these shapes       median  58.8 %, worst   58.8 %, 1 shapes, 1 not measured
 *   the op's own default there       median  59.7 %, worst   60.5 %, 2 shapes
 */
static const struct tcb_default_row rows_19[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x1x256,isa=dp4a,layout=s,unroll=4,warps=16,vec=16,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * q80_matmul f16 sm_90
 *   1. m <= 16: macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=4,ksplit=1,copy=bulk,prep=block,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   2. otherwise: macro=MxNxK,midi=16x64xK,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   8x4096x4096   NVIDIA H200 4f75       357    1     5.7    7.0   5.7         ?        152.7
 *   32x4096x4096  NVIDIA H200 4f75       182    2     7.3   11.3   7.3         ?         86.7
 *   the rule, where it was made      median   6.5 %, worst    7.3 %, 2 shapes
 *   rules without these shapes       2 not measured
 *   the op's own default there       median 119.7 %, worst  152.7 %, 2 shapes
 */
static const struct tcb_default_row rows_20[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=Mx16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=4,ksplit=1,copy=bulk,prep=block,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/*
 * q80_matvec q8 sm_90
 *   1. otherwise: macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=p,unroll=16,warps=8,vec=8,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1
 *   shape         device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096x4096   NVIDIA H200 4f75       243    1     8.4   17.1   8.4      41.4         41.4
 *   1x14336x4096  NVIDIA H200 4f75       111    1     5.1    4.6   5.1         ?         19.6
 *   the rule, where it was made      median   6.7 %, worst    8.4 %, 2 shapes
 *   rules without these shapes       median  41.4 %, worst   41.4 %, 1 shapes, 1 not measured
 *   the op's own default there       median  30.5 %, worst   41.4 %, 2 shapes
 */
static const struct tcb_default_row rows_21[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=p,unroll=16,warps=8,vec=8,stages=2,splitk=1,ksplit=1,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/*
 * reduce2d_sum f32 sm_90
 *   1. otherwise: macro=MxNx1,midi=1x4096x1,micro=1x2x1,isa=fma,unroll=8,warps=8,vec=8,stages=1,blocks=0,pdl=1,occ=1,join=launch,form=pairwise
 *   shape      device            measured  row  cold %  hot %  loss  left out  own default
 *   512x4096   NVIDIA H200 4f75       325    1     1.8    2.7   1.8      22.4         22.4
 *   4096x4096  NVIDIA H200 4f75       326    1     4.8    5.1   4.8       9.9          9.9
 *   the rule, where it was made      median   3.3 %, worst    4.8 %, 2 shapes
 *   rules without these shapes       median  16.2 %, worst   22.4 %, 2 shapes
 *   the op's own default there       median  16.2 %, worst   22.4 %, 2 shapes
 */
static const struct tcb_default_row rows_22[] = {
	{ 0, 0, 0, 0, "macro=MxNx1,midi=1x4096x1,micro=1x2x1,isa=fma,unroll=8,warps=8,vec=8,stages=1,blocks=0,pdl=1,occ=1,join=launch,form=pairwise" },
};

/*
 * rmsnorm f32 sm_90
 *   1. m <= 22, n <= 11448: macro=MxNx1,midi=1xNx1,micro=1x4x1,isa=fma,unroll=1,warps=4,vec=16,stages=1,splitk=1,stream=1,ksplit=4,copy=ldg,xin=regs,lead=1,blocks=0,pdl=1,occ=2,join=none
 *   2. m <= 22: macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=1,vec=16,stages=1,splitk=32,stream=0,ksplit=1,copy=ldg,xin=regs,lead=0,blocks=0,pdl=1,occ=1,join=launch
 *   3. otherwise: macro=MxNx1,midi=1xNx1,micro=1x2x1,isa=fma,unroll=2,warps=16,vec=8,stages=1,splitk=1,stream=0,ksplit=16,copy=ldg,xin=l2,lead=0,blocks=0,pdl=1,occ=2,join=none
 *   shape      device            measured  row  cold %  hot %  loss  left out  own default
 *   1x4096     NVIDIA H200 4f75       297    1     4.5    4.4   4.5         ?         42.4
 *   1x32000    NVIDIA H200 4f75       112    2     0.0    1.5   0.5     290.5        290.5
 *   512x4096   NVIDIA H200 4f75       154    3     1.1    7.1   2.4       2.4         16.7
 *   4096x4096  NVIDIA H200 4f75        90    3     1.2    0.6   1.2       6.8          6.8
 *   the rule, where it was made      median   1.8 %, worst    4.5 %, 4 shapes
 *   rules without these shapes       median   6.8 %, worst  290.5 %, 3 shapes, 1 not measured
 *   the op's own default there       median  29.6 %, worst  290.5 %, 4 shapes
 */
static const struct tcb_default_row rows_23[] = {
	{ 22, 11448, 0, 0, "macro=MxNx1,midi=1xNx1,micro=1x4x1,isa=fma,unroll=1,warps=4,vec=16,stages=1,splitk=1,stream=1,ksplit=4,copy=ldg,xin=regs,lead=1,blocks=0,pdl=1,occ=2,join=none" },
	{ 22, 0, 0, 0, "macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=1,vec=16,stages=1,splitk=32,stream=0,ksplit=1,copy=ldg,xin=regs,lead=0,blocks=0,pdl=1,occ=1,join=launch" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=1xNx1,micro=1x2x1,isa=fma,unroll=2,warps=16,vec=8,stages=1,splitk=1,stream=0,ksplit=16,copy=ldg,xin=l2,lead=0,blocks=0,pdl=1,occ=2,join=none" },
};

/*
 * softmax f32 sm_90
 *   1. m <= 22: macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=2,vec=16,stages=1,splitk=32,stream=0,ksplit=2,copy=ldg,xin=regs,blocks=0,pdl=1,occ=2,join=launch
 *   2. otherwise: macro=MxNx1,midi=1xNx1,micro=1x4x1,isa=fma,unroll=1,warps=16,vec=16,stages=1,splitk=1,stream=0,ksplit=16,copy=ldg,xin=regs,blocks=0,pdl=1,occ=1,join=none
 *   shape      device            measured  row  cold %  hot %  loss  left out  own default
 *   1x32000    NVIDIA H200 4f75       273    1     0.7    0.0   0.7     266.4        266.4
 *   512x4096   NVIDIA H200 4f75       254    2     0.0    1.4   0.5         ?         18.3
 *   4096x4096  NVIDIA H200 4f75       369    2     5.0    4.6   5.0       7.2          7.2
 *   the rule, where it was made      median   0.7 %, worst    5.0 %, 3 shapes
 *   rules without these shapes       median 136.8 %, worst  266.4 %, 2 shapes, 1 not measured
 *   the op's own default there       median  18.3 %, worst  266.4 %, 3 shapes
 */
static const struct tcb_default_row rows_24[] = {
	{ 22, 0, 0, 0, "macro=MxNx1,midi=1x1024x1,micro=1x4x1,isa=fma,unroll=1,warps=2,vec=16,stages=1,splitk=32,stream=0,ksplit=2,copy=ldg,xin=regs,blocks=0,pdl=1,occ=2,join=launch" },
	{ 0, 0, 0, 0, "macro=MxNx1,midi=1xNx1,micro=1x4x1,isa=fma,unroll=1,warps=16,vec=16,stages=1,splitk=1,stream=0,ksplit=16,copy=ldg,xin=regs,blocks=0,pdl=1,occ=1,join=none" },
};

const struct tcb_default_rule tcb_defaults_sm_90[] = {
	{ "iq4xs_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 512, 16384, 16384 },
	  "3 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_1 / sizeof *rows_1, rows_1 },
	{ "iq4xs_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 6 %",
	  sizeof rows_2 / sizeof *rows_2, rows_2 },
	{ "iq4xs_matvec", TCB_CONTRACT_F16, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 1 %",
	  sizeof rows_3 / sizeof *rows_3, rows_3 },
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_4 / sizeof *rows_4, rows_4 },
	{ "layernorm", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "4 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_5 / sizeof *rows_5, rows_5 },
	{ "mxfp4_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 512, 16384, 16384 },
	  "3 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_6 / sizeof *rows_6, rows_6 },
	{ "mxfp4_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_7 / sizeof *rows_7, rows_7 },
	{ "mxfp4_matvec", TCB_CONTRACT_F16, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_8 / sizeof *rows_8, rows_8 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_9 / sizeof *rows_9, rows_9 },
	{ "q40_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 2 %",
	  sizeof rows_10 / sizeof *rows_10, rows_10 },
	{ "q40_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_11 / sizeof *rows_11, rows_11 },
	{ "q4k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 2048, 57344, 16384 },
	  "6 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_12 / sizeof *rows_12, rows_12 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 1024, 1024 }, { 512, 16384, 16384 },
	  "3 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_13 / sizeof *rows_13, rows_13 },
	{ "q4k_matvec", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 57344 },
	  "3 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_14 / sizeof *rows_14, rows_14 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 128000, 57344 },
	  "4 shapes on NVIDIA H200, worst loss 6 %",
	  sizeof rows_15 / sizeof *rows_15, rows_15 },
	{ "q5k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 4 %",
	  sizeof rows_16 / sizeof *rows_16, rows_16 },
	{ "q5k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 7 %",
	  sizeof rows_17 / sizeof *rows_17, rows_17 },
	{ "q6k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 1 %",
	  sizeof rows_18 / sizeof *rows_18, rows_18 },
	{ "q6k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 7 %",
	  sizeof rows_19 / sizeof *rows_19, rows_19 },
	{ "q80_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 7 %",
	  sizeof rows_20 / sizeof *rows_20, rows_20 },
	{ "q80_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_21 / sizeof *rows_21, rows_21 },
	{ "reduce2d_sum", TCB_CONTRACT_F32, "sm_90", 0,
	  { 128, 1024, 0 }, { 16384, 16384, 0 },
	  "2 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_22 / sizeof *rows_22, rows_22 },
	{ "rmsnorm", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "4 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_23 / sizeof *rows_23, rows_23 },
	{ "softmax", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "3 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_24 / sizeof *rows_24, rows_24 },
	{ .op = NULL },
};
