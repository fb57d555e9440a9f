/* SPDX-License-Identifier: MIT
 *
 * For tests: kernels that between them hold every kind of instruction that the
 * project emits, each with the least target that it is for.
 */
#ifndef TCB_TESTS_BUILD_KINDS_H
#define TCB_TESTS_BUILD_KINDS_H

#include "build_case.h"

/* Stores VALUE of 32 bits to Y[tid], so that nothing before it is dead. */
static inline void keep32(struct tcb_ptx_build *b, operand y, operand value)
{
	operand at = op3(b, "mad.wide.u32", tcb_ptx_special(b, "tid.x"), I(4), y);

	tcb_ptx_store(b, "st.global.b32", tcb_ptx_at(at, 0), &value, 1);
}

static inline void kind_integers(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), n = tcb_ptx_param(b, "u32", "n"),
		wide = tcb_ptx_param(b, "s64", "wide"), small = tcb_ptx_param(b, "u8", "small");
	operand tid = tcb_ptx_special(b, "tid.x"), x = op2(b, "add.s32", tid, n);
	operand half = op1(b, "cvt.u16.u32", x), sum;

	x = op3(b, "mad.lo.s32", x, I(3), tid);
	x = op2(b, "sub.u32", x, op2(b, "mul.hi.u32", x, n));
	x = op2(b, "min.s32", x, op2(b, "max.u32", x, I(7)));
	x = op2(b, "div.u32", x, I(10));
	x = op2(b, "rem.s32", x, I(1000));
	x = op1(b, "abs.s32", op1(b, "neg.s32", x));
	x = op3(b, "bfe.u32", x, I(4), I(8));
	x = op4(b, "bfi.b32", x, tid, I(8), I(4));
	x = op2(b, "and.b32", x, I(0x0f0f0f0f));
	x = op2(b, "or.b32", x, op2(b, "xor.b32", x, tid));
	x = op1(b, "not.b32", op2(b, "shl.b32", x, I(2)));
	x = op2(b, "shr.u32", x, op2(b, "shr.s32", x, I(31)));
	x = op4(b, "lop3.b32", x, tid, n, I(0x96));
	x = op3(b, "prmt.b32", x, tid, I(0x5410));
	x = op3(b, "shf.l.wrap.b32", x, tid, I(8));
	x = op3(b, "dp4a.s32.u32", x, tid, n);
	x = op3(b, "dp2a.lo.s32.s32", x, tid, x);
	x = op2(b, "add.u32", op1(b, "popc.b32", x), op1(b, "clz.b32", x));
	x = op2(b, "add.u32", op1(b, "bfind.u32", x), op1(b, "brev.b32", x));
	x = op3(b, "sad.u32", x, n, tid);
	sum = op2(b, "mul.wide.s32", x, n);
	sum = op2(b, "add.s64", sum, wide);
	sum = op2(b, "mul.lo.u64", sum, op1(b, "cvt.u64.u16", op1(b, "cvt.u16.u8", small)));
	half = op2(b, "mul.lo.u16", half, op1(b, "cvt.u16.u32", tid));
	x = op2(b, "add.u32", op1(b, "cvt.u32.u64", sum), op1(b, "cvt.u32.u16", half));
	x = op2(b, "add.cc.u32", x, n);
	x = op2(b, "addc.u32", x, I(0));
	keep32(b, y, x);
}

static inline void kind_floats(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), a = tcb_ptx_param(b, "f32", "a"),
		d = tcb_ptx_param(b, "f64", "d"), x = op1(b, "cvt.rn.f32.u32", tcb_ptx_special(b, "tid.x"));
	operand p = op2(b, "setp.lt.f32", x, a), q = op3(b, "setp.gt.and.f32", x, tcb_ptx_f32(1), p);

	x = op2(b, "add.rn.f32", x, a);
	x = op3(b, "fma.rn.ftz.f32", x, a, tcb_ptx_f32(0.5f));
	x = op2(b, "mul.sat.f32", op2(b, "sub.f32", x, a), a);
	x = op2(b, "min.f32", x, op2(b, "max.f32", a, tcb_ptx_f32(-1)));
	x = op2(b, "div.approx.f32", x, op2(b, "div.rn.f32", a, x));
	x = op1(b, "rcp.approx.ftz.f32", op1(b, "sqrt.rn.f32", x));
	x = op1(b, "rsqrt.approx.f32", op1(b, "abs.f32", op1(b, "neg.f32", x)));
	x = op1(b, "ex2.approx.ftz.f32", op1(b, "lg2.approx.f32", x));
	x = op1(b, "sin.approx.f32", op1(b, "cos.approx.f32", x));
	x = op1(b, "tanh.approx.f32", op2(b, "copysign.f32", x, a));
	x = op3(b, "selp.f32", x, a, tcb_ptx_not(q));
	x = op3(b, "selp.f32", x, a, op1(b, "testp.finite.f32", x));
	x = op3(b, "selp.f32", x, a, op2(b, "xor.pred", p, q));
	d = op3(b, "fma.rn.f64", d, op1(b, "cvt.f64.f32", x), d);
	x = op2(b, "add.f32", x, op1(b, "cvt.rn.f32.f64", d));
	x = op1(b, "cvt.rni.f32.f32", x);
	keep32(b, y,
	       op2(b, "add.s32", op1(b, "cvt.rzi.s32.f32", x), op1(b, "cvt.s32.u8", op1(b, "cvt.rni.sat.u8.f32", x))));
}

static inline void kind_halves(struct tcb_ptx_build *b)
{
	operand x = tcb_ptx_param_pointer(b, "x", 8), y = tcb_ptx_param_pointer(b, "y", 4), q[2], h, pair;

	tcb_ptx_load(b, "ld.global.nc.v2.b32", tcb_ptx_at(x, 0), q, 2);
	pair = op3(b, "fma.rn.f16x2", q[0], q[1], q[0]);
	pair = op2(b, "add.f16x2", pair, op2(b, "mul.rn.f16x2", q[0], q[1]));
	h = tcb_ptx_reg(b, "b16");
	q[0] = tcb_ptx_reg(b, "b16");
	tcb_ptx_into1(b, "mov.b32", tcb_ptx_vector(b, (operand[]){ h, q[0] }, 2), pair);
	h = op3(b, "fma.rn.f16", h, q[0], h);
	h = op2(b, "sub.f16", h, op1(b, "cvt.rn.f16.s32", op1(b, "cvt.rni.s32.f16", h)));
	pair = op1(b, "mov.b32", tcb_ptx_vector(b, (operand[]){ h, op1(b, "cvt.rn.f16.f32", tcb_ptx_f32(2)) }, 2));
	keep32(b, y, op2(b, "add.f32", op1(b, "cvt.f32.f16", h), pair));
}

/* A thread's share of a loop with a carried pointer, an if, an early exit and a vote. */
static inline void kind_control(struct tcb_ptx_build *b)
{
	operand x = tcb_ptx_param_pointer(b, "x", 16), y = tcb_ptx_param_pointer(b, "y", 4),
		n = tcb_ptx_param(b, "u32", "n"), tid = tcb_ptx_special(b, "tid.x"), p, at, q[4], sum;

	tcb_ptx_guard(b, op2(b, "setp.ge.u32", tid, n));
	tcb_ptx_op0(b, "exit");
	tcb_ptx_unguard(b);
	sum = tcb_ptx_reg(b, "f32");
	tcb_ptx_into1(b, "mov.f32", sum, tcb_ptx_f32(0));
	at = op3(b, "mad.wide.u32", tid, I(16), x);
	tcb_ptx_for_begin(b, tid, n, I(128), 0);
	tcb_ptx_for_begin(b, I(0), I(4), I(1), 0);
	tcb_ptx_load(b, "ld.global.v4.f32", tcb_ptx_at(at, 32), q, 4);
	tcb_ptx_into3(b, "fma.rn.f32", sum, q[0], q[3], sum);
	tcb_ptx_into2(b, "add.s64", at, at, I(2048));
	tcb_ptx_for_end(b);
	p = op2(b, "setp.lt.f32", sum, tcb_ptx_f32(0));
	tcb_ptx_if_begin(b, p);
	tcb_ptx_into1(b, "neg.f32", sum, sum);
	tcb_ptx_if_else(b);
	tcb_ptx_into2(b, "add.f32", sum, sum, q[1]);
	tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
	tcb_ptx_if_begin(b, tcb_ptx_not(op2(b, "setp.num.f32", sum, sum)));
	tcb_ptx_op0(b, "trap");
	tcb_ptx_if_end(b);
	tcb_ptx_repeat_begin(b);
	tcb_ptx_op1(b, "nanosleep.u32", I(20));
	tcb_ptx_load(b, "ld.acquire.gpu.global.u32", tcb_ptx_at(y, 0), q, 1);
	tcb_ptx_repeat_end(b, op2(b, "setp.ne.u32", q[0], I(1)));
	keep32(b, y, sum);
}

static inline void kind_shared(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), tid = tcb_ptx_special(b, "tid.x"),
		tile = tcb_ptx_shared(b, "tile", 16, 4096), more = tcb_ptx_shared_dynamic(b, "dynamic", 128), at, q[4],
		x;
	operand other = tcb_ptx_reg(b, "b32"), valid = tcb_ptx_reg(b, "pred");

	at = op3(b, "mad.lo.u32", op2(b, "and.b32", tid, I(31)), I(16), op1(b, "mov.u32", tile));
	tcb_ptx_store(b, "st.shared.v4.b32", tcb_ptx_at(at, 512), (operand[]){ tid, tid, tid, tid }, 4);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_load(b, "ld.shared.v4.u32", tcb_ptx_at(at, 0), q, 4);
	tcb_ptx_store(b, "st.shared.u8", tcb_ptx_at(tile, 3), q, 1);
	tcb_ptx_load(b, "ld.shared.s8", tcb_ptx_at(tile, 3), q + 1, 1);
	tcb_ptx_store(b, "st.shared.b32", tcb_ptx_at(more, 128), q, 1);
	tcb_ptx_op2(b, "barrier.sync.aligned", I(1), I(64));
	x = op2(b, "atom.shared.add.u32", tcb_ptx_at(more, 0), q[0]);
	x = op3(b, "atom.shared.cas.b32", tcb_ptx_at(more, 4), x, q[0]);
	tcb_ptx_op2(b, "red.relaxed.gpu.global.add.f32", tcb_ptx_at(y, 0), tcb_ptx_f32(1));
	tcb_ptx_op0(b, "membar.gl");
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	x = op4(b, "shfl.sync.bfly.b32", x, I(16), I(31), I(-1));
	x = op4(b, "shfl.sync.up.b32", x, I(1), I(0), I(-1));
	tcb_ptx_into(b, "shfl.sync.down.b32", 5,
		     (operand[]){ tcb_ptx_pair(b, other, valid), x, I(1), I(31 | 16 << 8), I(-1) });
	x = op3(b, "selp.b32", x, other, valid);
	x = op2(b, "add.u32", x, op2(b, "vote.sync.ballot.b32", valid, I(-1)));
	x = op2(b, "add.u32", x, op2(b, "match.any.sync.b32", x, I(-1)));
	tcb_ptx_op1(b, "bar.warp.sync", I(-1));
	x = op2(b, "add.u32", x, tcb_ptx_op0(b, "activemask.b32"));
	tcb_ptx_load(b, "ld.volatile.shared.u16", tcb_ptx_at(tile, 2), q, 1);
	keep32(b, y, op2(b, "add.u32", x, op1(b, "cvt.u32.u16", q[0])));
}

/* Loads with every kind of hint. */
static inline void kind_hints(struct tcb_ptx_build *b)
{
	operand x = tcb_ptx_param_pointer(b, "x", 16), y = tcb_ptx_param_pointer(b, "y", 16), q[4];

	tcb_ptx_load(b, "ld.global.nc.L1::no_allocate.L2::128B.v4.b32", tcb_ptx_at(x, 0), q, 4);
	tcb_ptx_store(b, "st.global.cs.v4.b32", tcb_ptx_at(y, 0), q, 4);
	tcb_ptx_load(b, "ld.global.cg.v2.u64", tcb_ptx_at(x, 16), q, 2);
	tcb_ptx_store(b, "st.global.wt.v2.u64", tcb_ptx_at(y, 16), q, 2);
	tcb_ptx_load(b, "ld.relaxed.sys.global.L1::evict_last.b32", tcb_ptx_at(x, 4), q, 1);
	tcb_ptx_store(b, "st.release.cta.global.b32", tcb_ptx_at(y, 4), q, 1);
	tcb_ptx_load(b, "ld.weak.global.v2.b8", tcb_ptx_at(x, 2), q, 2);
	tcb_ptx_store(b, "st.global.v2.b8", tcb_ptx_at(y, 6), q, 2);
	tcb_ptx_op1(b, "prefetch.global.L2", tcb_ptx_at(x, 128));
}

/* Products of the first tensor cores with mma. */
static inline void kind_mma75(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), tile = tcb_ptx_shared(b, "tile", 16, 2048), a[4], c[4], w;
	operand row = op3(b, "mad.lo.u32", tcb_ptx_special(b, "laneid"), I(16), op1(b, "mov.u32", tile));

	tcb_ptx_load(b, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", tcb_ptx_at(row, 0), a, 4);
	tcb_ptx_load(b, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16", tcb_ptx_at(row, 512), &w, 1);
	for (int i = 0; i < 4; i++)
		c[i] = op1(b, "mov.f32", tcb_ptx_f32(0));
	tcb_ptx_into(b, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 4,
		     (operand[]){ tcb_ptx_vector(b, c, 4), tcb_ptx_vector(b, a, 2), tcb_ptx_vector(b, &w, 1),
				  tcb_ptx_vector(b, c, 4) });
	for (int i = 0; i < 2; i++)
		c[2 + i] = op1(b, "mov.b32", I(0));
	tcb_ptx_into(b, "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32", 4,
		     (operand[]){ tcb_ptx_vector(b, c + 2, 2), tcb_ptx_vector(b, a, 1), tcb_ptx_vector(b, &w, 1),
				  tcb_ptx_vector(b, c + 2, 2) });
	keep32(b, y, op2(b, "add.f32", c[0], op1(b, "cvt.rn.f32.s32", c[2])));
}

static inline void mma(struct tcb_ptx_build *b, const char *mnemonic, const operand *d, const operand *a,
		       const operand *w, unsigned nd, unsigned na, unsigned nw)
{
	tcb_ptx_into(b, mnemonic, 4,
		     (operand[]){ tcb_ptx_vector(b, d, nd), tcb_ptx_vector(b, a, na), tcb_ptx_vector(b, w, nw),
				  tcb_ptx_vector(b, d, nd) });
}

static inline void kind_mma80(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), x = tcb_ptx_param_pointer(b, "x", 16), a[4], w[4], f[4], s[4],
		h[2];

	tcb_ptx_load(b, "ld.global.v4.b32", tcb_ptx_at(x, 0), a, 4);
	tcb_ptx_load(b, "ld.global.v4.b32", tcb_ptx_at(x, 16), w, 4);
	for (int i = 0; i < 4; i++) {
		f[i] = op1(b, "mov.f32", tcb_ptx_f32(0));
		s[i] = op1(b, "mov.s32", I(0));
		h[i / 2] = op1(b, "mov.b32", I(0));
	}
	mma(b, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", f, a, w, 4, 4, 2);
	mma(b, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", h, a, w, 2, 4, 2);
	mma(b, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", f, a, w, 4, 4, 2);
	mma(b, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", f, a, w, 4, 4, 2);
	mma(b, "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", s, a, w, 4, 4, 2);
	mma(b, "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32", s, a, w, 4, 4, 2);
	keep32(b, y, op2(b, "add.f32", f[0], op1(b, "cvt.rn.f32.s32", s[0])));
	keep32(b, y, h[0]);
}

static inline void kind_copies80(struct tcb_ptx_build *b)
{
	operand x = tcb_ptx_param_pointer(b, "x", 16), y = tcb_ptx_param_pointer(b, "y", 4),
		tile = tcb_ptx_shared(b, "tile", 16, 2048), ready = tcb_ptx_shared(b, "ready", 8, 8), q;
	operand lane = tcb_ptx_special(b, "laneid"), at = op3(b, "mad.lo.u32", lane, I(16), op1(b, "mov.u32", tile)),
		policy, from, p;

	from = op3(b, "mad.wide.u32", lane, I(16), x);
	policy = tcb_ptx_op0(b, "createpolicy.fractional.L2::evict_first.b64");
	tcb_ptx_op3(b, "cp.async.cg.shared.global", tcb_ptx_at(at, 0), tcb_ptx_at(from, 0), I(16));
	tcb_ptx_op4(b, "cp.async.ca.shared.global", tcb_ptx_at(at, 512), tcb_ptx_at(from, 8), I(8), lane);
	tcb_ptx_op4(b, "cp.async.cg.shared.global.L2::cache_hint.L2::128B", tcb_ptx_at(at, 1024), tcb_ptx_at(from, 0),
		    I(16), policy);
	tcb_ptx_op0(b, "cp.async.commit_group");
	tcb_ptx_op1(b, "cp.async.wait_group", I(1));
	tcb_ptx_op0(b, "cp.async.wait_all");
	tcb_ptx_op2(b, "mbarrier.init.shared.b64", tcb_ptx_at(ready, 0), I(32));
	tcb_ptx_op1(b, "cp.async.mbarrier.arrive.noinc.shared.b64", tcb_ptx_at(ready, 0));
	q = op1(b, "mbarrier.arrive.shared.b64", tcb_ptx_at(ready, 0));
	tcb_ptx_repeat_begin(b);
	p = op2(b, "mbarrier.test_wait.shared.b64", tcb_ptx_at(ready, 0), q);
	tcb_ptx_repeat_end(b, tcb_ptx_not(p));
	keep32(b, y, op2(b, "ld.global.nc.L2::cache_hint.u32", tcb_ptx_at(x, 0), policy));
	keep32(b, y, op2(b, "redux.sync.add.u32", lane, I(-1)));
}

/* Conversions to and from bf16 and tf32, and what else came with sm_80 and sm_86. */
static inline void kind_bf16(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), a = tcb_ptx_param(b, "f32", "a"), x, h;

	h = op1(b, "cvt.rn.bf16.f32", a);
	x = op1(b, "cvt.f32.bf16", h);
	x = op3(b, "fma.rn.bf16x2", op2(b, "cvt.rn.bf16x2.f32", a, x), op1(b, "mov.b32", I(0x3f803f80)),
		op1(b, "mov.b32", I(0)));
	x = op2(b, "max.NaN.bf16x2", x, op2(b, "cvt.rn.relu.f16x2.f32", a, a));
	x = op2(b, "min.f16x2", x, x);
	x = op3(b, "fma.rn.relu.f16x2", x, x, x);
	keep32(b, y, op2(b, "add.f32", x, op1(b, "cvt.rna.tf32.f32", a)));
}

static inline void kind_fp8(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), a = tcb_ptx_param(b, "f32", "a"), x, f[4], q[4];

	x = op1(b, "cvt.rn.f16x2.e4m3x2", op2(b, "cvt.rn.satfinite.e4m3x2.f32", a, a));
	x = op1(b, "cvt.rn.f16x2.e5m2x2", op1(b, "cvt.rn.satfinite.e5m2x2.f16x2", x));
	for (int i = 0; i < 4; i++) {
		f[i] = op1(b, "mov.f32", tcb_ptx_f32(0));
		q[i] = x;
	}
	mma(b, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", f, q, q, 4, 4, 2);
	keep32(b, y, f[0]);
}

/* Bulk copies with their barriers, clusters, dependent launches. */
static inline void kind_hopper(struct tcb_ptx_build *b)
{
	operand map = tcb_ptx_param_bytes(b, "map", 64, 128), x = tcb_ptx_param_pointer(b, "x", 16),
		y = tcb_ptx_param_pointer(b, "y", 4), tile = tcb_ptx_shared_dynamic(b, "tiles", 1024),
		full = tcb_ptx_shared(b, "full", 8, 16), bar = op1(b, "mov.u32", full), base = op1(b, "mov.u32", tile);
	operand at = tcb_ptx_at(bar, 0), box[2] = { tcb_ptx_special(b, "ctaid.x"), I(0) }, leader, rank, q[4];

	tcb_ptx_op0(b, "griddepcontrol.wait");
	map = op1(b, "cvta.param.u64", op1(b, "mov.u64", map));
	leader = op1(b, "elect.sync", I(-1));
	tcb_ptx_op1(b, "prefetch.tensormap", tcb_ptx_at(map, 0));
	tcb_ptx_guard(b, leader);
	tcb_ptx_op2(b, "mbarrier.init.shared::cta.b64", at, I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async");
	tcb_ptx_op2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", at, I(4096));
	tcb_ptx_op3(b, "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
		    tcb_ptx_at(base, 0), tcb_ptx_at_tile(b, map, box, 2), at);
	tcb_ptx_op4(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", tcb_ptx_at(base, 4096),
		    tcb_ptx_at(x, 16), I(1024), at);
	tcb_ptx_unguard(b);
	tcb_ptx_repeat_begin(b);
	q[0] = op2(b, "mbarrier.try_wait.parity.shared::cta.b64", at, I(0));
	tcb_ptx_repeat_end(b, tcb_ptx_not(q[0]));
	tcb_ptx_load(b, "ld.shared.v4.b32", tcb_ptx_at(tile, 16), q, 4);
	tcb_ptx_store(b, "stmatrix.sync.aligned.m8n8.x4.shared.b16", tcb_ptx_at(base, 0), q, 4);
	tcb_ptx_op0(b, "barrier.cluster.arrive.release");
	tcb_ptx_op0(b, "barrier.cluster.wait.acquire");
	rank = op2(b, "mapa.shared::cluster.u32", bar, op2(b, "xor.b32", tcb_ptx_special(b, "cluster_ctarank"), I(1)));
	tcb_ptx_op3(b, "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32", tcb_ptx_at(rank, 8), q[0],
		    tcb_ptx_at(rank, 0));
	tcb_ptx_op2(b, "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group", tcb_ptx_at_tile(b, map, box, 2),
		    tcb_ptx_at(base, 0));
	tcb_ptx_op3(b, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", tcb_ptx_at(x, 64),
		    tcb_ptx_at(base, 0), I(256));
	tcb_ptx_op0(b, "cp.async.bulk.commit_group");
	tcb_ptx_op1(b, "cp.async.bulk.wait_group.read", I(0));
	tcb_ptx_op2(b, "red.global.add.v2.f32", tcb_ptx_at(x, 0), tcb_ptx_vector(b, (operand[]){ q[0], q[1] }, 2));
	tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
	keep32(b, y, q[0]);
}

/* A product of shared tiles by the whole warpgroup: 32 accumulators a thread. */
static inline void kind_wgmma(struct tcb_ptx_build *b)
{
	operand y = tcb_ptx_param_pointer(b, "y", 4), a = tcb_ptx_param(b, "u64", "a"),
		w = tcb_ptx_param(b, "u64", "w"), sum[32], all;

	for (int i = 0; i < 32; i++)
		sum[i] = op1(b, "mov.f32", tcb_ptx_f32(0));
	all = tcb_ptx_vector(b, sum, 32);
	tcb_ptx_op1(b, "setmaxnreg.inc.sync.aligned.u32", I(232));
	tcb_ptx_op0(b, "wgmma.fence.sync.aligned");
	tcb_ptx_into(b, "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", 8,
		     (operand[]){ all, a, w, op2(b, "setp.ne.u32", tcb_ptx_special(b, "tid.x"), I(4096)), I(1), I(1),
				  I(0), I(0) });
	tcb_ptx_op0(b, "wgmma.commit_group.sync.aligned");
	tcb_ptx_op1(b, "wgmma.wait_group.sync.aligned", I(0));
	keep32(b, y, sum[31]);
}

static inline void kind_blackwell(struct tcb_ptx_build *b)
{
	operand x = tcb_ptx_param_pointer(b, "x", 32), y = tcb_ptx_param_pointer(b, "y", 32), q[8], two;

	tcb_ptx_load(b, "ld.global.nc.v8.f32", tcb_ptx_at(x, 64), q, 8);
	tcb_ptx_store(b, "st.global.v8.f32", tcb_ptx_at(y, 32), q, 8);
	two = op1(b, "mov.b64", tcb_ptx_vector(b, q, 2));
	two = op3(b, "fma.rn.f32x2", two, two, op2(b, "add.rn.f32x2", two, two));
	tcb_ptx_into1(b, "mov.b64", tcb_ptx_vector(b, q + 2, 2), two);
	keep32(b, y, op3(b, "max.f32", q[2], q[3], q[4]));
}

/* X(kind, threads per block, least targets) */
#define BUILD_KINDS(X)         \
	X(integers, 128, "75") \
	X(floats, 128, "75")   \
	X(halves, 128, "75")   \
	X(control, 128, "75")  \
	X(shared, 64, "75")    \
	X(hints, 128, "75")    \
	X(mma75, 32, "75")     \
	X(mma80, 32, "80")     \
	X(copies80, 32, "80")  \
	X(bf16, 128, "80")     \
	X(fp8, 32, "89")       \
	X(hopper, 128, "90")   \
	X(wgmma, 128, "90a")   \
	X(blackwell, 128, "100")

#endif
