/* SPDX-License-Identifier: MIT
 *
 * Written by `tcbtune defaults --format table --worst 10 --least 50` on 2026-11-23, from
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
 *     h200_2026-11-23_defaults_filled.db
 *     h200_2026-11-23_defaults_filled2.db
 *     h200_2026-11-23_defaults_train.db
 *     h200_2026-11-23_defaults_train2.db
 *     h200_2026-11-23_recorded_recorded.db
 *     h200_counters.db
 *     h200_tuning.db
 * Not edited by hand: measure more (--fill) and write it again.  But for this: the rules of layernorm, rmsnorm,
 * softmax and reduce2d_sum are their own defaults, as --own writes it: figures above them are the older rules'.
 */
#include "kernels/default_rules.h"

/* clang-format off */

/* iq4xs_matmul f16 sm_90
 *   the rule, where it was made      median   3.4 %, worst    4.4 %, 3 shapes
 *   rules without these shapes       3 not measured
 *   the op's own default there       median 105.4 %, worst  201.8 %, 3 shapes
 */
static const struct tcb_default_row rows_1[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x32xK,micro=*x*x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* iq4xs_matmul q8 sm_90
 *   the rule, where it was made      median   4.2 %, worst    4.5 %, 2 shapes
 *   rules without these shapes       median 163.9 %, worst  249.0 %, 2 shapes
 *   the op's own default there       median 163.9 %, worst  249.0 %, 2 shapes
 */
static const struct tcb_default_row rows_2[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x32xK,micro=*x*x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* iq4xs_matvec f16 sm_90
 *   the rule, where it was made      median   0.4 %, worst    0.4 %, 2 shapes
 *   rules without these shapes       median  36.6 %, worst   36.6 %, 1 shapes, 1 not measured
 *   the op's own default there       median  28.6 %, worst   30.0 %, 2 shapes
 */
static const struct tcb_default_row rows_3[] = {
	{ 0, 7662, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=8,vec=16,stages=1,splitk=1,ksplit=8,copy=ldg,xin=shared,group=256,prep=block,lead=1,blocks=0,pdl=1,occ=2" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=2,warps=8,vec=16,stages=2,splitk=1,ksplit=8,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=2,pdl=1,occ=2" },
};

/* iq4xs_matvec q8 sm_90
 *   the rule, where it was made      median   8.8 %, worst    9.4 %, 2 shapes
 *   rules without these shapes       median  20.1 %, worst   27.3 %, 2 shapes
 *   the op's own default there       median  21.1 %, worst   22.9 %, 2 shapes
 */
static const struct tcb_default_row rows_4[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=p,unroll=2,warps=16,vec=16,stages=1,splitk=1,ksplit=2,copy=ldg,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* layernorm f32 sm_90
 *   the rule, where it was made      median   4.4 %, worst    7.5 %, 4 shapes
 *   rules without these shapes       median   7.5 %, worst  301.3 %, 3 shapes, 1 not measured
 *   the op's own default there       median  30.6 %, worst  301.3 %, 4 shapes
 */
static const struct tcb_default_row rows_5[] = {
	{ 0, 0, 0, 0, NULL },
};

/* matmul_f16 f16 sm_90
 *   the rule, where it was made      median   3.6 %, worst   10.4 %, 10 shapes
 *   rules without these shapes       median  10.4 %, worst   67.2 %, 7 shapes, 3 not measured
 *   the op's own default there       median  31.8 %, worst  145.0 %, 10 shapes
 */
static const struct tcb_default_row rows_6[] = {
	{ 0, 0, 0, 1482910, "macro=MxNxK,midi=64x64x128,micro=*x*x128,isa=wgmma,vec=16,stages=6,splitk=1,copy=bulk,blocks=0,pdl=1,occ=1,cluster=1" },
	{ 0, 0, 0, 2224365, "macro=MxNxK,midi=128x128x64,micro=64x128x64,isa=wgmma,vec=16,stages=5,splitk=1,copy=bulk,blocks=0,pdl=0,occ=1,cluster=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=256x128x64,micro=128x128x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=0,pdl=1,occ=1,cluster=1" },
};

/* mxfp4_matmul f16 sm_90
 *   the rule, where it was made      median   1.7 %, worst    2.4 %, 3 shapes
 *   rules without these shapes       3 not measured
 *   the op's own default there       median  94.9 %, worst  195.0 %, 3 shapes
 */
static const struct tcb_default_row rows_7[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x32xK,micro=*x*x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 64, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x256xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=1,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* mxfp4_matmul q8 sm_90
 *   the rule, where it was made      median   3.6 %, worst    6.6 %, 2 shapes
 *   rules without these shapes       median  44.5 %, worst   72.0 %, 2 shapes
 *   the op's own default there       median 156.5 %, worst  241.0 %, 2 shapes
 */
static const struct tcb_default_row rows_8[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x32xK,micro=*x*x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=4,ksplit=4,copy=bulk,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x32xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=2,splitk=2,ksplit=2,copy=bulk,group=32,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* mxfp4_matvec f16 sm_90
 *   the rule, where it was made      median   4.4 %, worst    7.9 %, 2 shapes
 *   rules without these shapes       median  32.2 %, worst   32.2 %, 1 shapes, 1 not measured
 *   the op's own default there       median  22.5 %, worst   23.4 %, 2 shapes
 */
static const struct tcb_default_row rows_9[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x32xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=8,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* mxfp4_matvec q8 sm_90
 *   the rule, where it was made      median   5.1 %, worst    9.6 %, 2 shapes
 *   rules without these shapes       median  19.6 %, worst   29.6 %, 2 shapes
 *   the op's own default there       median  21.2 %, worst   25.4 %, 2 shapes
 */
static const struct tcb_default_row rows_10[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=p,unroll=2,warps=16,vec=16,stages=1,splitk=1,ksplit=2,copy=ldg,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* q40_matmul f16 sm_90
 *   the rule, where it was made      median   1.0 %, worst    2.0 %, 2 shapes
 *   rules without these shapes       median  55.1 %, worst   55.1 %, 1 shapes, 1 not measured
 *   the op's own default there       median 138.7 %, worst  180.7 %, 2 shapes
 */
static const struct tcb_default_row rows_11[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* q40_matvec q8 sm_90
 *   the rule, where it was made      median   6.1 %, worst    7.0 %, 2 shapes
 *   rules without these shapes       median   6.1 %, worst    7.0 %, 2 shapes
 *   the op's own default there       median  42.6 %, worst   44.3 %, 2 shapes
 */
static const struct tcb_default_row rows_12[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x2x256,isa=dp4a,layout=p,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* q4k_matmul f16 sm_90
 *   the rule, where it was made      median   1.7 %, worst    8.2 %, 14 shapes
 *   rules without these shapes       median  18.1 %, worst  365.0 %, 11 shapes, 3 not measured
 *   the op's own default there       median 110.6 %, worst  365.0 %, 11 shapes, 3 not measured
 *   the rule on shapes to judge      median   2.1 %, worst    4.3 %, 3 shapes, 1 not measured
 *   the op's own default there       median 167.4 %, worst  296.5 %, 2 shapes, 2 not measured
 */
static const struct tcb_default_row rows_13[] = {
	{ 22, 4579, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=*x*x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 22, 0, 0, 0, "macro=MxNxK,midi=8x128xK,micro=*x*x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 39, 5792, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 39, 0, 0, 0, "macro=MxNxK,midi=Mx64x2048,micro=Mx64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8" },
	{ 55, 0, 0, 0, "macro=MxNxK,midi=16x256xK,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=16,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 90, 0, 0, 0, "macro=MxNxK,midi=32x128xK,micro=*x*x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 1482910, "macro=MxNxK,midi=Mx64x2048,micro=Mx64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=4,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=4,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=Mx64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4" },
};

/* q4k_matmul q8 sm_90
 *   the rule, where it was made      median   3.0 %, worst    8.9 %, 9 shapes
 *   rules without these shapes       median  15.2 %, worst   55.6 %, 6 shapes, 3 not measured
 *   the op's own default there       median 143.5 %, worst  278.1 %, 7 shapes, 2 not measured
 *   the rule on shapes to judge      median   2.5 %, worst    2.5 %, 1 shapes, 1 not measured
 *   the op's own default there       median 179.5 %, worst  179.5 %, 1 shapes, 1 not measured
 */
static const struct tcb_default_row rows_14[] = {
	{ 19, 4579, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=4,ksplit=2,copy=bulk,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 19, 0, 0, 0, "macro=MxNxK,midi=8x128xK,micro=*x*x256,isa=mma,layout=g,unroll=1,warps=8,stages=3,splitk=4,ksplit=1,copy=bulk,group=256,prep=block,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 45, 4579, 0, 0, "macro=MxNxK,midi=16x64xK,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 4579, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=4,splitk=1,ksplit=1,copy=async,group=256,prep=launch,lead=4,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* q4k_matvec f32 sm_90
 *   the rule, where it was made      median   4.8 %, worst    7.6 %, 3 shapes
 *   rules without these shapes       median   8.0 %, worst   11.2 %, 3 shapes
 *   the op's own default there       median  67.7 %, worst   91.4 %, 3 shapes
 */
static const struct tcb_default_row rows_15[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x16x256,isa=mma,layout=f,unroll=1,warps=14,vec=16,stages=3,splitk=1,ksplit=14,copy=bulk,xin=shared,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* q4k_matvec q8 sm_90
 *   the rule, where it was made      median   6.5 %, worst    9.4 %, 10 shapes
 *   rules without these shapes       median   9.6 %, worst   52.1 %, 10 shapes
 *   the op's own default there       median  41.9 %, worst   77.9 %, 10 shapes
 *   the rule on shapes to judge      median   5.7 %, worst    6.2 %, 2 shapes
 *   the op's own default there       median  48.3 %, worst   49.3 %, 2 shapes
 */
static const struct tcb_default_row rows_16[] = {
	{ 0, 2896, 0, 0, "macro=MxNxK,midi=1x8xK,micro=*x*x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=256,prep=block,lead=2,blocks=1,pdl=1,occ=1" },
	{ 0, 4579, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=*x*x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=2,splitk=1,ksplit=2,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* q5k_matmul f16 sm_90
 *   the rule, where it was made      median   3.2 %, worst    6.4 %, 2 shapes
 *   rules without these shapes       median  77.2 %, worst  119.9 %, 2 shapes
 *   the op's own default there       median 142.2 %, worst  164.6 %, 2 shapes
 */
static const struct tcb_default_row rows_17[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x32xK,micro=*x*x256,isa=mma,layout=f,unroll=2,warps=8,stages=2,splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=2,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* q5k_matvec q8 sm_90
 *   the rule, where it was made      median   4.9 %, worst    8.0 %, 2 shapes
 *   rules without these shapes       median  14.5 %, worst   21.0 %, 2 shapes
 *   the op's own default there       median  57.4 %, worst   68.3 %, 2 shapes
 */
static const struct tcb_default_row rows_18[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=s,unroll=1,warps=16,vec=16,stages=2,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=2,blocks=1,pdl=1,occ=1" },
};

/* q6k_matmul f16 sm_90
 *   the rule, where it was made      median   0.8 %, worst    1.0 %, 2 shapes
 *   rules without these shapes       median  20.0 %, worst   20.0 %, 1 shapes, 1 not measured
 *   the op's own default there       median 162.2 %, worst  211.8 %, 2 shapes
 */
static const struct tcb_default_row rows_19[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x64xK,micro=8x16x256,isa=mma,layout=f,unroll=2,warps=8,stages=2,splitk=4,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=32x64xK,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* q6k_matvec q8 sm_90
 *   the rule, where it was made      median   6.2 %, worst    9.7 %, 2 shapes
 *   rules without these shapes       median   9.8 %, worst    9.9 %, 2 shapes
 *   the op's own default there       median  59.7 %, worst   60.5 %, 2 shapes
 */
static const struct tcb_default_row rows_20[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x8xK,micro=1x1x256,isa=dp4a,layout=s,unroll=2,warps=16,vec=16,stages=3,splitk=1,ksplit=2,copy=bulk,xin=regs,group=256,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* q80_matmul f16 sm_90
 *   the rule, where it was made      median   3.1 %, worst    3.8 %, 2 shapes
 *   rules without these shapes       median  55.2 %, worst   86.7 %, 2 shapes
 *   the op's own default there       median 119.7 %, worst  152.7 %, 2 shapes
 */
static const struct tcb_default_row rows_21[] = {
	{ 16, 0, 0, 0, "macro=MxNxK,midi=8x64xK,micro=*x*x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ 0, 0, 0, 0, "macro=MxNxK,midi=16x128xK,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
};

/* q80_matvec q8 sm_90
 *   the rule, where it was made      median   6.1 %, worst    7.6 %, 2 shapes
 *   rules without these shapes       median  37.6 %, worst   37.6 %, 1 shapes, 1 not measured
 *   the op's own default there       median  30.5 %, worst   41.4 %, 2 shapes
 */
static const struct tcb_default_row rows_22[] = {
	{ 0, 0, 0, 0, "macro=MxNxK,midi=1x16xK,micro=1x4x256,isa=dp4a,layout=p,unroll=2,warps=16,vec=16,stages=3,splitk=1,ksplit=4,copy=bulk,xin=regs,group=32,prep=block,lead=1,blocks=1,pdl=1,occ=1" },
};

/* reduce2d_sum f32 sm_90
 *   the rule, where it was made      median   1.9 %, worst    2.2 %, 2 shapes
 *   rules without these shapes       median  16.2 %, worst   22.4 %, 2 shapes
 *   the op's own default there       median  16.2 %, worst   22.4 %, 2 shapes
 */
static const struct tcb_default_row rows_23[] = {
	{ 0, 0, 0, 0, NULL },
};

/* rmsnorm f32 sm_90
 *   the rule, where it was made      median   3.3 %, worst    6.0 %, 10 shapes
 *   rules without these shapes       median   6.4 %, worst   46.1 %, 8 shapes, 2 not measured
 *   the op's own default there       median  21.9 %, worst  290.5 %, 9 shapes, 1 not measured
 *   the rule on shapes to judge      1 not measured
 *   the op's own default there       median  17.8 %, worst   17.8 %, 1 shapes
 */
static const struct tcb_default_row rows_24[] = {
	{ 0, 0, 0, 0, NULL },
};

/* softmax f32 sm_90
 *   the rule, where it was made      median   0.8 %, worst    8.1 %, 11 shapes
 *   rules without these shapes       median   6.1 %, worst   26.4 %, 9 shapes, 2 not measured
 *   the op's own default there       median  33.6 %, worst  266.4 %, 10 shapes, 1 not measured
 *   the rule on shapes to judge      median   6.5 %, worst   12.7 %, 2 shapes, 1 not measured
 *   the op's own default there       median  22.0 %, worst   22.0 %, 1 shapes, 2 not measured
 */
static const struct tcb_default_row rows_25[] = {
	{ 0, 0, 0, 0, NULL },
};

const struct tcb_default_rule tcb_defaults_sm_90[] = {
	{ "iq4xs_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 512, 16384, 16384 },
	  "3 shapes on NVIDIA H200, worst loss 4 %",
	  sizeof rows_1 / sizeof *rows_1, rows_1 },
	{ "iq4xs_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 5 %",
	  sizeof rows_2 / sizeof *rows_2, rows_2 },
	{ "iq4xs_matvec", TCB_CONTRACT_F16, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 0 %",
	  sizeof rows_3 / sizeof *rows_3, rows_3 },
	{ "iq4xs_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_4 / sizeof *rows_4, rows_4 },
	{ "layernorm", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 0 }, { 16384, 128000, 0 },
	  "its own default is newer than what was measured",
	  sizeof rows_5 / sizeof *rows_5, rows_5 },
	{ "matmul_f16", TCB_CONTRACT_F16, "sm_90", 0,
	  { 32, 128, 256 }, { 16384, 32768, 16384 },
	  "10 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_6 / sizeof *rows_6, rows_6 },
	{ "mxfp4_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 512, 16384, 16384 },
	  "3 shapes on NVIDIA H200, worst loss 2 %",
	  sizeof rows_7 / sizeof *rows_7, rows_7 },
	{ "mxfp4_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 7 %",
	  sizeof rows_8 / sizeof *rows_8, rows_8 },
	{ "mxfp4_matvec", TCB_CONTRACT_F16, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_9 / sizeof *rows_9, rows_9 },
	{ "mxfp4_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_10 / sizeof *rows_10, rows_10 },
	{ "q40_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 2 %",
	  sizeof rows_11 / sizeof *rows_11, rows_11 },
	{ "q40_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 7 %",
	  sizeof rows_12 / sizeof *rows_12, rows_12 },
	{ "q4k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 256, 512 }, { 4096, 57344, 20480 },
	  "14 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_13 / sizeof *rows_13, rows_13 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 2, 256, 1024 }, { 512, 32768, 44032 },
	  "9 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_14 / sizeof *rows_14, rows_14 },
	{ "q4k_matvec", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 57344 },
	  "3 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_15 / sizeof *rows_15, rows_15 },
	{ "q4k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 256, 512 }, { 4, 128000, 57344 },
	  "10 shapes on NVIDIA H200, worst loss 9 %",
	  sizeof rows_16 / sizeof *rows_16, rows_16 },
	{ "q5k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 6 %",
	  sizeof rows_17 / sizeof *rows_17, rows_17 },
	{ "q5k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_18 / sizeof *rows_18, rows_18 },
	{ "q6k_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 1 %",
	  sizeof rows_19 / sizeof *rows_19, rows_19 },
	{ "q6k_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 10 %",
	  sizeof rows_20 / sizeof *rows_20, rows_20 },
	{ "q80_matmul", TCB_CONTRACT_F16, "sm_90", 0,
	  { 2, 1024, 1024 }, { 128, 16384, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 4 %",
	  sizeof rows_21 / sizeof *rows_21, rows_21 },
	{ "q80_matvec", TCB_CONTRACT_Q8, "sm_90", 0,
	  { 0, 1024, 1024 }, { 4, 57344, 16384 },
	  "2 shapes on NVIDIA H200, worst loss 8 %",
	  sizeof rows_22 / sizeof *rows_22, rows_22 },
	{ "reduce2d_sum", TCB_CONTRACT_F32, "sm_90", 0,
	  { 128, 1024, 0 }, { 16384, 16384, 0 },
	  "its own default is newer than what was measured",
	  sizeof rows_23 / sizeof *rows_23, rows_23 },
	{ "rmsnorm", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 256, 0 }, { 16384, 128000, 0 },
	  "its own default is newer than what was measured",
	  sizeof rows_24 / sizeof *rows_24, rows_24 },
	{ "softmax", TCB_CONTRACT_F32, "sm_90", 0,
	  { 0, 256, 0 }, { 16384, 128000, 0 },
	  "its own default is newer than what was measured",
	  sizeof rows_25 / sizeof *rows_25, rows_25 },
	{ .op = NULL },
};
