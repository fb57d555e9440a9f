/* SPDX-License-Identifier: MIT
 *
 * The GPU's vocabulary, as simd.h is the CPU's: a word appends one instruction, and
 * gives its result in a new register.  Here is the one place that spells them; a row
 * of a list is a word and its PTX, beside which another language's text can stand.
 *
 *   WORD(b, x, y)          the result; WORD_to(b, d, x, y) has it in register D
 *
 * The first letters say of what:
 *   u s f d    .u32, .s32, .f32, .f64;   l  .u64
 *   h          two .f16 in a word, each by itself;  f16, bf16, tf32: one value, or x2
 *   b          32 bits of whatever type;  lb  64 of them
 *   p          predicates, as comparisons give them
 *
 *   _set(x)                 X in a register, where the assembler keeps it; b_set: the same bits
 *   u_mul s_mul l_mul       the lower half of the product;  l_mul_wide  all of two .u32's
 *   _mad(x, y, z)  f_fma    x y + z, once rounded;  l_mad_wide  of two .u32 and a .u64
 *   u_and u_or u_xor u_not u_shl u_shr    bits;  u_and_or: x & y | z, u_and_xor: (x & y) ^ z
 *   u_permute(x, y, s)      four of eight bytes, by the four nibbles S
 *   u_funnel(x, y, n)       word of the bits from N on of the two;  u_rotate: N modulo 32
 *   s_dot(x, y, z)          four products of signed bytes, and Z;  s_dot_unsigned: those of X have no sign
 *   _eq _ne _lt _le _gt _ge    comparisons;  _and(x, y, p) _or: and P, or P
 *   f_not_le d_not_lt f_unordered    true also where one is NaN;  f_unordered only there
 *   _select(x, y, p)        X where P, else Y
 *   f_min f_max             the number where one is NaN;  f_min_nan f_max_nan: NaN
 *   f_power2  _near         2^x and the like to about 2^-22;  f_power2, f_reciprocal_near: subnormal numbers as 0
 *   f_add_down              rounded down;  h_sub_loose: or fused with a product
 *   A_from_B                to the nearest, of two the even;  f16x2_from_f(high, low);  tf32_from_f: away from 0;
 *                           h_from_e4m3: of two bytes (.b16), from sm_89 on
 *   u_lane(x, n) u_lane_before(x, n)    X of lane N; of the lane N before;  p_any: whether P in a lane of the warp
 *   u_lanes_where(p) u_lanes_alike(x)   a bit for each lane in which P is; that has the same X
 *   u_lanes_below u_lanes_up_to         a bit for each lane before this one; and for this one
 *   u_bits(x) u_highest(x)              how many bits are set; the number of the highest one
 *   u_atomic_add b_atomic_swap    of global memory; what was there.  u_atomic_count(at, y): 1 more, behind Y 0.
 *                           u_shared_add: of shared memory.
 *                           u_atomic_or, _max, _add_relaxed, d_atomic_add: without that
 *   u_thread u_block_x u_blocks_x    the thread's number in its block, the block's in the grid, how many there are
 *
 * Of NVIDIA's hardware alone:
 *   copies_commit copies_wait(n)    copies to shared memory: a group ends; until all but N groups are there
 *   stores_commit stores_wait_read(n)    the same of bulk copies out of it
 *   wgmma_begin wgmma_commit wgmma_wait(n)    products of warpgroups
 *   fence_async_shared fence_async fence_gpu fence_barriers    before what copies; other blocks; clusters see
 *   barrier_named(id, threads) barrier_named_arrive    of some of the block's threads, meeting or passing by
 *   barrier_arrive(at) _far _release    at a barrier in shared memory; of another block; also of what was written
 *   barrier_end  cluster_arrive cluster_wait  cluster_arrive_relaxed: with nothing to see
 *   store_matrices(at, words)  store_box(tile, at)  f_store_counted(to, pair, barrier)    to shared memory; out of it;
 *                           to another block's, whose barrier counts it
 *   registers_fewer registers_more    how many a thread of this warpgroup has
 *   u_in_rank(at, rank)     where that address of shared memory is in another block of the cluster
 */
#ifndef TCB_KERNELS_GPU_VOCABULARY_H
#define TCB_KERNELS_GPU_VOCABULARY_H

#include "ptx/build/build.h"

/* What an instruction takes or gives: a register, a constant, an address. */
typedef struct tcb_ptx_operand kit_op;
/* Words of two and of three. */
typedef kit_op kit_word(struct tcb_ptx_build *b, kit_op x, kit_op y);
typedef kit_op kit_word3(struct tcb_ptx_build *b, kit_op x, kit_op y, kit_op z);

#define I tcb_ptx_int
#define F tcb_ptx_f32

#define TCB_GPU_WORDS_0(X)                   \
	X(u_thread, "tid.x")                 \
	X(u_block_x, "ctaid.x")              \
	X(u_block_y, "ctaid.y")              \
	X(u_block_z, "ctaid.z")              \
	X(u_blocks_x, "nctaid.x")            \
	X(u_blocks_y, "nctaid.y")            \
	X(u_blocks_z, "nctaid.z")            \
	X(u_cluster_rank, "cluster_ctarank") \
	X(u_lanes_below, "lanemask_lt")      \
	X(u_lanes_up_to, "lanemask_le")

#define TCB_GPU_WORDS_1(X)                                                               \
	X(u_set, "mov.u32")                                                              \
	X(s_set, "mov.s32")                                                              \
	X(f_set, "mov.f32")                                                              \
	X(d_set, "mov.f64")                                                              \
	X(b_set, "mov.b32")                                                              \
	X(l_set, "mov.u64")                                                              \
	X(lb_set, "mov.b64")                                                             \
	X(u16_set, "mov.u16")                                                            \
	X(b16_set, "mov.b16")                                                            \
	X(u_not, "not.b32")                                                              \
	X(u_bits, "popc.b32")                                                            \
	X(u_highest, "bfind.u32")                                                        \
	X(f_abs, "abs.f32")                                                              \
	X(f_neg, "neg.f32")                                                              \
	X(d_abs, "abs.f64")                                                              \
	X(f_power2, "ex2.approx.ftz.f32")                                                \
	X(f_reciprocal, "rcp.rn.f32")                                                    \
	X(f_reciprocal_near, "rcp.approx.ftz.f32")                                       \
	X(f_rsqrt_near, "rsqrt.approx.f32")                                              \
	X(l_from_u, "cvt.u64.u32")                                                       \
	X(u_from_l, "cvt.u32.u64")                                                       \
	X(u_from_u16, "cvt.u32.u16")                                                     \
	X(u16_from_u, "cvt.u16.u32")                                                     \
	X(f_from_s, "cvt.rn.f32.s32")                                                    \
	X(s_from_f, "cvt.rni.s32.f32")                                                   \
	X(f_from_f16, "cvt.f32.f16")                                                     \
	X(f16_from_f, "cvt.rn.f16.f32")                                                  \
	X(bf16_from_f, "cvt.rn.bf16.f32")                                                \
	X(h_from_e4m3, "cvt.rn.f16x2.e4m3x2")                                            \
	X(f16_from_s, "cvt.rn.f16.s32")                                                  \
	X(tf32_from_f, "cvt.rna.tf32.f32")                                               \
	X(d_from_f, "cvt.f64.f32")                                                       \
	X(f_from_d, "cvt.rn.f32.f64")                                                    \
	X(barrier_arrive, "mbarrier.arrive.shared::cta.b64")                             \
	X(barrier_arrive_far, "mbarrier.arrive.shared::cluster.b64")                     \
	X(barrier_arrive_release, "mbarrier.arrive.release.cluster.shared::cluster.b64") \
	X(wgmma_wait, "wgmma.wait_group.sync.aligned")                                   \
	X(copies_wait, "cp.async.wait_group")                                            \
	X(stores_wait_read, "cp.async.bulk.wait_group.read")                             \
	X(registers_fewer, "setmaxnreg.dec.sync.aligned.u32")                            \
	X(registers_more, "setmaxnreg.inc.sync.aligned.u32")                             \
	X(barrier_end, "mbarrier.inval.shared::cta.b64")

#define TCB_GPU_WORDS_2(X)                                            \
	X(u_add, "add.u32")                                           \
	X(u_sub, "sub.u32")                                           \
	X(u_mul, "mul.lo.u32")                                        \
	X(u_div, "div.u32")                                           \
	X(u_rem, "rem.u32")                                           \
	X(u_min, "min.u32")                                           \
	X(u_max, "max.u32")                                           \
	X(u_and, "and.b32")                                           \
	X(u_or, "or.b32")                                             \
	X(u_xor, "xor.b32")                                           \
	X(u_shl, "shl.b32")                                           \
	X(u_shr, "shr.u32")                                           \
	X(s_add, "add.s32")                                           \
	X(s_sub, "sub.s32")                                           \
	X(s_mul, "mul.lo.s32")                                        \
	X(s_min, "min.s32")                                           \
	X(s_max, "max.s32")                                           \
	X(s_shr, "shr.s32")                                           \
	X(l_add, "add.u64")                                           \
	X(l_sub, "sub.u64")                                           \
	X(l_mul, "mul.lo.u64")                                        \
	X(l_and, "and.b64")                                           \
	X(l_or, "or.b64")                                             \
	X(l_xor, "xor.b64")                                           \
	X(l_mul_wide, "mul.wide.u32")                                 \
	X(l_max, "max.u64")                                           \
	X(f_add, "add.rn.f32")                                        \
	X(f_sub, "sub.rn.f32")                                        \
	X(f_mul, "mul.rn.f32")                                        \
	X(f_min, "min.f32")                                           \
	X(f_max, "max.f32")                                           \
	X(f_min_nan, "min.NaN.f32")                                   \
	X(f_max_nan, "max.NaN.f32")                                   \
	X(f_add_down, "add.rm.f32")                                   \
	X(d_add, "add.rn.f64")                                        \
	X(h_sub_loose, "sub.f16x2")                                   \
	X(d_sub, "sub.rn.f64")                                        \
	X(h_add, "add.rn.f16x2")                                      \
	X(h_sub, "sub.rn.f16x2")                                      \
	X(h_mul, "mul.rn.f16x2")                                      \
	X(f16x2_from_f, "cvt.rn.f16x2.f32")                           \
	X(bf16x2_from_f, "cvt.rn.bf16x2.f32")                         \
	X(u_eq, "setp.eq.u32")                                        \
	X(u_ne, "setp.ne.u32")                                        \
	X(u_lt, "setp.lt.u32")                                        \
	X(u_le, "setp.le.u32")                                        \
	X(u_gt, "setp.gt.u32")                                        \
	X(u_ge, "setp.ge.u32")                                        \
	X(s_lt, "setp.lt.s32")                                        \
	X(s_gt, "setp.gt.s32")                                        \
	X(l_ne, "setp.ne.u64")                                        \
	X(l_gt, "setp.gt.u64")                                        \
	X(l_ge, "setp.ge.u64")                                        \
	X(f_eq, "setp.eq.f32")                                        \
	X(f_lt, "setp.lt.f32")                                        \
	X(f_gt, "setp.gt.f32")                                        \
	X(f_not_le, "setp.gtu.f32")                                   \
	X(f_unordered, "setp.nan.f32")                                \
	X(d_not_lt, "setp.geu.f64")                                   \
	X(p_and, "and.pred")                                          \
	X(p_or, "or.pred")                                            \
	X(u_in_rank, "mapa.shared::cluster.u32")                      \
	X(u_atomic_add, "atom.global.add.u32")                        \
	X(u_shared_add, "atom.shared.add.u32")                        \
	X(u_atomic_count, "atom.global.inc.u32")                      \
	X(b_atomic_swap, "atom.global.exch.b32")                      \
	X(lb_atomic_swap, "atom.global.exch.b64")                     \
	X(barrier_named, "bar.sync")                                  \
	X(barrier_named_arrive, "bar.arrive")                         \
	X(u_atomic_or, "red.global.or.b32")                           \
	X(u_atomic_max, "red.global.max.u32")                         \
	X(d_atomic_add, "red.global.add.f64")                         \
	X(u_atomic_add_relaxed, "red.relaxed.gpu.global.add.u32")     \
	X(store_matrices, "stmatrix.sync.aligned.m8n8.x4.shared.b16") \
	X(store_box, "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group")

#define TCB_GPU_WORDS_3(X)                   \
	X(u_mad, "mad.lo.u32")               \
	X(s_mad, "mad.lo.s32")               \
	X(l_mad, "mad.lo.u64")               \
	X(l_mad_wide, "mad.wide.u32")        \
	X(f_fma, "fma.rn.f32")               \
	X(h_fma, "fma.rn.f16x2")             \
	X(s_dot, "dp4a.s32.s32")             \
	X(s_dot_unsigned, "dp4a.u32.s32")    \
	X(u_permute, "prmt.b32")             \
	X(u_funnel, "shf.r.clamp.b32")       \
	X(u_rotate, "shf.r.wrap.b32")        \
	X(u_select, "selp.u32")              \
	X(s_select, "selp.s32")              \
	X(f_select, "selp.f32")              \
	X(d_select, "selp.f64")              \
	X(b_select, "selp.b32")              \
	X(l_select, "selp.u64")              \
	X(lb_select, "selp.b64")             \
	X(u_eq_and, "setp.eq.and.u32")       \
	X(u_ne_and, "setp.ne.and.u32")       \
	X(u_lt_and, "setp.lt.and.u32")       \
	X(u_le_and, "setp.le.and.u32")       \
	X(u_ge_and, "setp.ge.and.u32")       \
	X(s_lt_and, "setp.lt.and.s32")       \
	X(s_le_and, "setp.le.and.s32")       \
	X(s_gt_and, "setp.gt.and.s32")       \
	X(s_ge_and, "setp.ge.and.s32")       \
	X(f_gt_or, "setp.gt.or.f32")         \
	X(f_not_le_or, "setp.gtu.or.f32")    \
	X(f_unordered_or, "setp.nan.or.f32") \
	X(f_store_counted, "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32")

#define TCB_GPU_ACTS_0(X)                                           \
	X(wgmma_begin, "wgmma.fence.sync.aligned")                  \
	X(wgmma_commit, "wgmma.commit_group.sync.aligned")          \
	X(copies_commit, "cp.async.commit_group")                   \
	X(copies_wait_all, "cp.async.wait_all")                     \
	X(stores_commit, "cp.async.bulk.commit_group")              \
	X(fence_async_shared, "fence.proxy.async.shared::cta")      \
	X(fence_async, "fence.proxy.async")                         \
	X(fence_gpu, "fence.acq_rel.gpu")                           \
	X(fence_barriers, "fence.mbarrier_init.release.cluster")    \
	X(cluster_arrive, "barrier.cluster.arrive.release.aligned") \
	X(cluster_wait, "barrier.cluster.wait.acquire.aligned")     \
	X(cluster_arrive_relaxed, "barrier.cluster.arrive.relaxed.aligned")

#define WORD_0(word, ptx)                                  \
	static inline kit_op word(struct tcb_ptx_build *b) \
	{                                                  \
		return tcb_ptx_special(b, ptx);            \
	}
#define WORD_1(word, ptx)                                                         \
	static inline kit_op word(struct tcb_ptx_build *b, kit_op x)              \
	{                                                                         \
		return tcb_ptx_op1(b, ptx, x);                                    \
	}                                                                         \
	static inline void word##_to(struct tcb_ptx_build *b, kit_op d, kit_op x) \
	{                                                                         \
		tcb_ptx_into1(b, ptx, d, x);                                      \
	}
#define WORD_2(word, ptx)                                                                   \
	static inline kit_op word(struct tcb_ptx_build *b, kit_op x, kit_op y)              \
	{                                                                                   \
		return tcb_ptx_op2(b, ptx, x, y);                                           \
	}                                                                                   \
	static inline void word##_to(struct tcb_ptx_build *b, kit_op d, kit_op x, kit_op y) \
	{                                                                                   \
		tcb_ptx_into2(b, ptx, d, x, y);                                             \
	}
#define WORD_3(word, ptx)                                                                             \
	static inline kit_op word(struct tcb_ptx_build *b, kit_op x, kit_op y, kit_op z)              \
	{                                                                                             \
		return tcb_ptx_op3(b, ptx, x, y, z);                                                  \
	}                                                                                             \
	static inline void word##_to(struct tcb_ptx_build *b, kit_op d, kit_op x, kit_op y, kit_op z) \
	{                                                                                             \
		tcb_ptx_into3(b, ptx, d, x, y, z);                                                    \
	}
#define ACT_0(word, ptx)                                 \
	static inline void word(struct tcb_ptx_build *b) \
	{                                                \
		tcb_ptx_op0(b, ptx);                     \
	}
TCB_GPU_WORDS_0(WORD_0)
TCB_GPU_WORDS_1(WORD_1)
TCB_GPU_WORDS_2(WORD_2)
TCB_GPU_WORDS_3(WORD_3)
TCB_GPU_ACTS_0(ACT_0)
#undef WORD_0
#undef WORD_1
#undef WORD_2
#undef WORD_3
#undef ACT_0

/* BYTES, a multiple of 16, from ADDRESS on, as aligned, on their way to the L2; from sm_90 on. */
static inline void ahead_global(struct tcb_ptx_build *b, kit_op address, kit_op bytes)
{
	tcb_ptx_op2(b, "cp.async.bulk.prefetch.L2.global", tcb_ptx_at(address, 0), bytes);
}

static inline kit_op u_and_or(struct tcb_ptx_build *b, kit_op x, kit_op y, kit_op z)
{
	return tcb_ptx_op4(b, "lop3.b32", x, y, z, I(0xea));
}

static inline kit_op u_and_xor(struct tcb_ptx_build *b, kit_op x, kit_op y, kit_op z)
{
	return tcb_ptx_op4(b, "lop3.b32", x, y, z, I(0x6a));
}

static inline kit_op u_lane(struct tcb_ptx_build *b, kit_op x, kit_op lane)
{
	return tcb_ptx_op4(b, "shfl.sync.idx.b32", x, lane, I(31), I(-1));
}

static inline kit_op u_lane_before(struct tcb_ptx_build *b, kit_op x, kit_op count)
{
	return tcb_ptx_op4(b, "shfl.sync.up.b32", x, count, I(0), I(-1));
}

static inline kit_op u_lanes_where(struct tcb_ptx_build *b, kit_op p)
{
	return tcb_ptx_op2(b, "vote.sync.ballot.b32", p, I(-1));
}

static inline kit_op u_lanes_alike(struct tcb_ptx_build *b, kit_op x)
{
	return tcb_ptx_op2(b, "match.any.sync.b32", x, I(-1));
}

static inline kit_op p_any(struct tcb_ptx_build *b, kit_op p)
{
	return tcb_ptx_op2(b, "vote.sync.any.pred", p, I(-1));
}

#endif
