/* SPDX-License-Identifier: MIT
 *
 * The rules of legality (finding.h, its first two groups) held against ptxas
 * both ways: what we refuse ptxas refuses, or it is known to fault, hang or
 * compute nonsense though ptxas takes it; what we accept it accepts.
 */
#include "ptx_tools.h"

#include "ptx/analyse/legality.h"
#include "ptx/ir/finding.h"
#include "ptx/text/text.h"

enum verdict {
	LEGAL,   /* ours and theirs */
	ILLEGAL, /* ours, with the rule's name, and theirs */
	HARMFUL  /* ours; ptxas accepts it, and `why` says what happens on the device */
};

struct row {
	const char *rule;
	enum verdict verdict;
	const char *body;   /* ".version...": a whole text; ".anything": what follows the header */
	const char *target; /* NULL: sm_80 */
	const char *why;
};

#define SM90 "sm_90"
#define SM90A "sm_90a"
#define SM100 "sm_100"

/* Registers: %c b8, %cu u8, %h b16, %hu u16, %hs s16, %r b32, %u u32, %s s32, %rd b64, %ud u64, %f, %fd, %p, %q b128.
 * Variables: g16 and g4 in global, c16 in const, s16 and s4 in shared, l16 in local memory (aligned to 16 or 4; 256
 * bytes); parameters px (u64), pn (u32), pb (128 bytes). */
static const struct row rows[] = {
	/* bytes: registers of 8 bits exist, arithmetic on them does not */
	{ "byte-arithmetic", LEGAL, "ld.global.u8 %cu1, [%ud1]; st.global.u8 [%ud1], %cu1;", NULL, NULL },
	{ "byte-arithmetic", LEGAL, "ld.global.u8 %hu1, [%ud1]; add.u16 %hu2, %hu1, 1;", NULL, NULL },
	{ "byte-arithmetic", LEGAL, "ld.global.s8 %s1, [%ud1]; add.s32 %s2, %s1, 1;", NULL, NULL },
	{ "byte-arithmetic", LEGAL, "ld.global.b8 %c1, [%ud1]; cvt.u32.u8 %u1, %c1;", NULL, NULL },
	{ "byte-arithmetic", ILLEGAL, "add.u8 %cu1, %cu1, %cu1;", NULL, NULL },
	{ "byte-arithmetic", ILLEGAL, "mul.lo.s8 %hs1, %hs1, %hs1;", NULL, NULL },
	{ "byte-arithmetic", ILLEGAL, "and.b8 %c1, %c1, %c1;", NULL, NULL },
	{ "byte-arithmetic", ILLEGAL, "setp.eq.u8 %p1, %cu1, 0;", NULL, NULL },
	{ "operand-type", ILLEGAL, "add.u16 %cu1, %cu1, 1;", NULL, NULL },
	/* halves are moved as bits */
	{ "half-memory", LEGAL, "ld.global.b16 %h1, [%ud1]; st.global.b16 [%ud1], %h1;", NULL, NULL },
	{ "half-memory", LEGAL, "ld.global.v2.b16 {%h1, %h2}, [%ud1]; add.f16 %h1, %h1, %h2;", NULL, NULL },
	{ "half-memory", LEGAL, "ld.shared.b32 %r1, [s16]; add.f16x2 %r1, %r1, %r1;", NULL, NULL },
	{ "half-memory", ILLEGAL, "ld.global.f16 %h1, [%ud1];", NULL, NULL },
	{ "half-memory", ILLEGAL, "st.global.f16 [%ud1], %h1;", NULL, NULL },
	{ "half-memory", ILLEGAL, "ld.global.f16x2 %r1, [%ud1];", NULL, NULL },
	{ "half-memory", ILLEGAL, "ld.global.bf16 %h1, [%ud1];", NULL, NULL },
	{ "half-memory", ILLEGAL, "st.shared.v2.f16 [s16], {%h1, %h1};", NULL, NULL },
	/* conversions: widening never rounds, all else must */
	{ "cvt-rounding", LEGAL, "cvt.f64.f32 %fd1, %f1; cvt.f32.f16 %f1, %h1; cvt.f32.bf16 %f2, %h2;", NULL, NULL },
	{ "cvt-rounding", LEGAL, "cvt.rn.f32.f64 %f1, %fd1; cvt.rz.f16.f32 %h1, %f1; cvt.rn.bf16.f32 %h1, %f1;", NULL,
	  NULL },
	{ "cvt-rounding", LEGAL, "cvt.rn.f32.s32 %f1, %s1; cvt.rp.f64.u64 %fd1, %ud1; cvt.rn.f16.u8 %h1, %cu1;", NULL,
	  NULL },
	{ "cvt-rounding", LEGAL, "cvt.rni.s32.f32 %s1, %f1; cvt.rzi.u64.f64 %ud1, %fd1; cvt.rmi.s16.f16 %hs1, %h1;",
	  NULL, NULL },
	{ "cvt-rounding", LEGAL, "cvt.rni.f32.f32 %f1, %f1; cvt.f32.f32 %f1, %f1; cvt.u64.u32 %ud1, %u1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rn.f64.f32 %fd1, %f1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rn.f32.f16 %f1, %h1;", NULL, NULL },
	{ "cvt-rounding", LEGAL, "cvt.rn.f32.bf16 %f1, %h1;", NULL, NULL }, /* alone among the widening ones */
	{ "cvt-rounding", ILLEGAL, "cvt.f32.f64 %f1, %fd1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.f16.f32 %h1, %f1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.bf16.f32 %h1, %f1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.f32.s32 %f1, %s1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.f64.u32 %fd1, %u1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.s32.f32 %s1, %f1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rn.s32.f32 %s1, %f1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rni.f32.s32 %f1, %s1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rn.u32.u64 %u1, %ud1;", NULL, NULL },
	{ "cvt-rounding", ILLEGAL, "cvt.rn.f32.f32 %f1, %f1;", NULL, NULL },
	{ "cvt-saturation", LEGAL, "cvt.sat.s8.s32 %s1, %s2; cvt.sat.u8.s32 %u1, %s2; cvt.sat.s32.u32 %s1, %u1;", NULL,
	  NULL },
	{ "cvt-saturation", ILLEGAL, "cvt.sat.s32.s16 %s1, %hs1;", NULL, NULL },
	{ "cvt-saturation", ILLEGAL, "cvt.sat.s32.u16 %s1, %hu1;", NULL, NULL },
	/* logic takes bits; shr also knows signs */
	{ "bit-types", LEGAL, "and.b32 %r1, %u1, %s1; or.b64 %rd1, %ud1, %rd2; xor.pred %p1, %p2, %p3;", NULL, NULL },
	{ "bit-types", LEGAL, "not.b16 %h1, %hu1; shl.b32 %r1, %r1, 3; shl.b64 %rd1, %rd1, %u1;", NULL, NULL },
	{ "bit-types", LEGAL, "shr.b32 %r1, %r1, 3; shr.u32 %u1, %r1, 3; shr.s64 %rd1, %rd1, 3;", NULL, NULL },
	{ "bit-types", ILLEGAL, "and.u32 %u1, %u1, 1;", NULL, NULL },
	{ "bit-types", ILLEGAL, "or.s32 %s1, %s1, 1;", NULL, NULL },
	{ "bit-types", ILLEGAL, "xor.u64 %ud1, %ud1, 1;", NULL, NULL },
	{ "bit-types", ILLEGAL, "not.u32 %u1, %u1;", NULL, NULL },
	{ "bit-types", ILLEGAL, "shl.u32 %u1, %u1, 1;", NULL, NULL },
	{ "bit-types", ILLEGAL, "lop3.u32 %u1, %u1, %u1, %u1, 0x80;", NULL, NULL },
	/* the memory model */
	{ "order-scope", LEGAL, "ld.relaxed.cta.global.u32 %u1, [%ud1]; ld.acquire.gpu.global.u32 %u1, [%ud1];", NULL,
	  NULL },
	{ "order-scope", LEGAL, "st.release.sys.global.u32 [%ud1], %u1; st.relaxed.gpu.shared.u32 [s16], %u1;", NULL,
	  NULL },
	{ "order-scope", LEGAL, "ld.weak.global.u32 %u1, [%ud1]; ld.volatile.shared.u32 %u1, [s16];", NULL, NULL },
	{ "order-scope", LEGAL, "ld.acquire.cluster.global.u32 %u1, [%ud1];", SM90, NULL },
	{ "order-scope", ILLEGAL, "ld.relaxed.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "order-scope", ILLEGAL, "ld.acquire.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "order-scope", ILLEGAL, "st.release.global.u32 [%ud1], %u1;", NULL, NULL },
	{ "order-direction", ILLEGAL, "ld.release.gpu.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "order-direction", ILLEGAL, "ld.acq_rel.gpu.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "order-direction", ILLEGAL, "st.acquire.gpu.global.u32 [%ud1], %u1;", NULL, NULL },
	{ "weak-scope", ILLEGAL, "ld.weak.gpu.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "weak-scope", ILLEGAL, "st.weak.cta.global.u32 [%ud1], %u1;", NULL, NULL },
	{ "weak-scope", ILLEGAL, "ld.volatile.gpu.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "weak-scope", ILLEGAL, "ld.gpu.global.u32 %u1, [%ud1];", NULL, NULL },
	{ "order-direction", LEGAL, "fence.acq_rel.gpu; atom.acq_rel.gpu.global.add.u32 %u1, [%ud1], 1;", NULL, NULL },
	{ "weak-scope", LEGAL, "ld.weak.global.u32 %u1, [%ud1]; st.weak.shared.u32 [s16], %u1;", NULL, NULL },
	{ "order-space", LEGAL, "ld.relaxed.cta.shared.u32 %u1, [s16]; ld.local.u32 %u1, [l16];", NULL, NULL },
	{ "order-space", ILLEGAL, "ld.relaxed.gpu.local.u32 %u1, [l16];", NULL, NULL },
	{ "order-space", ILLEGAL, "ld.acquire.gpu.const.u32 %u1, [c16];", NULL, NULL },
	{ "target", ILLEGAL, "ld.acquire.cluster.global.u32 %u1, [%ud1];", NULL, NULL },
	/* operands */
	{ "operand-type", LEGAL, "add.u32 %s1, %u1, %r1; add.f32 %r1, %f1, %r2; mov.b32 %f1, %u1;", NULL, NULL },
	{ "operand-type", LEGAL, "ld.global.u16 %ud1, [%ud1]; st.global.u8 [%ud1], %u1; mul.wide.s32 %rd1, %s1, %r1;",
	  NULL, NULL },
	{ "operand-type", ILLEGAL, "add.f32 %f1, %u1, %f1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "add.u32 %u1, %f1, %u1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "add.u64 %ud1, %u1, %ud1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "mul.wide.u32 %u1, %u1, %u1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "setp.eq.u32 %u1, %u1, %u1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "selp.b32 %r1, %r1, %r1, %r1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.u32 %hu1, [%ud1];", NULL, NULL },
	{ "operand-type", ILLEGAL, "shl.b32 %r1, %r1, %ud1;", NULL, NULL },
	{ "syntax", ILLEGAL, "@%u1 add.u32 %u1, %u1, %u1;", NULL, NULL },
	{ "operand-type", LEGAL, "ld.global.v2.b8 {%hu1, %h2}, [%ud1]; ld.global.v4.b32 {%r1, _, %u1, %s1}, [%ud1];",
	  NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.v2.b8 {%hu1, %r1}, [%ud1];", NULL, NULL },
	{ "operand-type", ILLEGAL, "st.global.v2.b16 [%ud1], {%h1, %r1};", NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.v4.b32 {%r1, _, %u1, %f1}, [%ud1];", NULL, NULL },
	{ "operand-type", LEGAL, "ld.global.v2.f32 {%r1, %u1}, [%ud1];", NULL, NULL },
	{ "operand-type", ILLEGAL, "lop3.or.b32 %r1|_, %r1, %r2, %r3, 8, %p1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.v2.b32 {_, _}, [%ud1];", NULL, NULL },
	{ "operand-type", LEGAL, "cvt.rn.f16.f32 %r1, %f1; cvt.rn.f32.s32 %f1, %ud1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "cvt.rn.bf16.f32 %r1, %f1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.v2.b32 {%u1, %f1}, [%ud1];", NULL, NULL },
	{ "operand-type", ILLEGAL, "cvt.rn.satfinite.e4m3x2.f32 %hu1, %f1, %f1;", "sm_89", NULL },
	{ "operand-type", ILLEGAL, "redux.sync.or.b32 %r1, %f1, -1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "vote.sync.ballot.b32 %r1, %p1, %f1;", NULL, NULL },
	{ "operand-type", ILLEGAL, "ld.global.L2::cache_hint.u32 %u1, [%ud1], %fd1;", NULL, NULL },
	{ "operand-type", LEGAL,
	  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%u1, %r2}, {%r3}, "
	  "{%f0, %f1, %f2, %f3};",
	  NULL, NULL },
	{ "operand-type", ILLEGAL,
	  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%u3}, {%f0, %f1, %f2, "
	  "%f3};",
	  NULL, NULL },
	{ "operand-type", HARMFUL,
	  "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%f0, %r1}, {%r2}, {%r3}, {%r4, %r5};", NULL,
	  "integer sums in a float" },
	{ "operand-type", ILLEGAL, "atom.global.add.noftz.bf16 _, [%ud1], %h1;", SM90, NULL }, /* a crash */
	{ "immediate-type", LEGAL,
	  "add.u32 %u1, %u1, -1; mov.b32 %r1, 0f3f800000; add.f32 %f1, %f1, 0d3ff0000000000000;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "add.u32 %u1, %u1, 0f3f800000;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "add.f32 %f1, %f1, 1;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "fma.rn.f16x2 %r1, %r1, %r1, 0;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "setp.eq.and.bf16 %p1, %h1, %h2, 1;", SM90, NULL },
	{ "immediate-type", ILLEGAL, "movmatrix.sync.aligned.m8n8.trans.b16 %r1, 1;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "bar.warp.sync 0f3f800000;", NULL, NULL },
	{ "immediate-type", ILLEGAL, "cvt.rn.f16x2.e4m3x2 %r1, 1;", "sm_89", NULL },
	{ "immediate-range", LEGAL, "bar.sync 15; bar.sync 1, 64; barrier.arrive 0, 1024;", NULL, NULL },
	{ "immediate-range", LEGAL, "lop3.b32 %r1, %r1, %r2, %r3, 255; cp.async.wait_group 7;", NULL, NULL },
	{ "immediate-range", LEGAL,
	  "cp.async.ca.shared.global [s16], [%ud1], 4; cp.async.cg.shared.global [s16], [%ud1], 16;", NULL, NULL },
	{ "immediate-range", LEGAL, "setmaxnreg.inc.sync.aligned.u32 232;", SM90A, NULL },
	{ "immediate-range", ILLEGAL, "bar.sync 16;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "bar.sync 0, 33;", NULL, NULL },
	{ "immediate-range", HARMFUL, "lop3.b32 %r1, %r1, %r2, %r3, 256;", NULL, "the table becomes 0" },
	{ "immediate-range", ILLEGAL, "cp.async.ca.shared.global [s16], [%ud1], 12;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "cp.async.cg.shared.global [s16], [%ud1], 8;", NULL, NULL },
	{ "immediate-range", HARMFUL, "cp.async.wait_group -1;", NULL, "waits for nothing" },
	{ "immediate-range", ILLEGAL, "setmaxnreg.inc.sync.aligned.u32 100;", SM90A, NULL },
	{ "immediate-range", ILLEGAL, "setmaxnreg.inc.sync.aligned.u32 16;", SM90A, NULL },
	{ "immediate-range", LEGAL, "bfe.u32 %u1, %u2, 255, 32; cp.async.ca.shared.global [s16], [%ud1], 16, 0;", NULL,
	  NULL },
	{ "immediate-range", ILLEGAL, "bfe.u32 %u1, %u2, 256, 8;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "bfi.b32 %r1, %r2, %r3, 0, 300;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "cp.async.ca.shared.global [s16], [%ud1], 8, 16;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "mbarrier.test_wait.parity.shared.b64 %p1, [s16], 2;", NULL, NULL },
	{ "immediate-range", ILLEGAL, "pmevent 16;", NULL, NULL },
	{ "special-type", LEGAL,
	  "mov.u32 %u1, %tid.x; mov.b32 %r1, %laneid; mov.u64 %ud1, %clock64; mov.u16 %hu1, %tid.y;", NULL, NULL },
	{ "special-type", ILLEGAL, "mov.u64 %ud1, %tid.x;", NULL, NULL },
	{ "special-type", ILLEGAL, "mov.u32 %u1, %clock64;", NULL, NULL },
	{ "special-type", ILLEGAL, "mov.f32 %f1, %tid.x;", NULL, NULL },
	{ "special-type", ILLEGAL, "getctarank.u64 %r1, %clock64;", SM90, NULL },
	{ "packing", LEGAL, "mov.b32 %r1, {%h1, %h2}; mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd1, {%h1, %h2, %h1, %h2};",
	  NULL, NULL },
	{ "packing", LEGAL, "mov.b32 {%h1, %h2}, %f1; mov.b64 %fd1, {%f1, %f2};", NULL, NULL },
	{ "packing", ILLEGAL, "mov.b32 %r1, {%r1, %r2};", NULL, NULL },
	{ "packing", ILLEGAL, "mov.b64 {%r1, %r2}, {%r1, %r2};", NULL, NULL },
	{ "packing", ILLEGAL, "mov.b64 %rd1, {%h1, %h2};", NULL, NULL },
	/* addresses */
	{ "address-type", LEGAL, "ld.shared.u32 %u1, [%u2]; ld.shared.u32 %u1, [%ud2]; ld.global.u32 %u1, [%rd1];",
	  NULL, NULL },
	{ "address-type", LEGAL, "mov.u32 %u1, s16; mov.u64 %ud1, s16; mov.u64 %ud1, g16; ld.local.u32 %u1, [%u1];",
	  NULL, NULL },
	{ "address-type", ILLEGAL, "ld.global.u32 %u1, [%u2];", NULL, NULL },
	{ "address-type", ILLEGAL, "ld.u32 %u1, [%u2];", NULL, NULL },
	{ "address-type", ILLEGAL, "ld.global.u32 %u1, [%fd1];", NULL, NULL },
	{ "address-type", HARMFUL, "ld.shared.u32 %u1, [%hu1];", NULL, "ptxas uses all 32 bits of a 16-bit register" },
	{ "address-type", ILLEGAL, "mov.u32 %u1, g16;", NULL, NULL },
	{ "address-space", LEGAL, "ld.global.u32 %u1, [g16]; ld.const.u32 %u1, [c16+4]; ld.param.u32 %u1, [pn];", NULL,
	  NULL },
	{ "address-space", LEGAL, "ld.u32 %u1, [g16]; ld.local.u32 %u1, [l16]; st.local.u32 [l16], %u1;", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.global.u32 %u1, [s16];", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.shared.u32 %u1, [g16];", NULL, NULL },
	{ "address-space", LEGAL, "ld.u32 %u1, [s16]; st.u32 [l16], %u1; atom.add.u32 %u1, [s16+4], 1;", NULL, NULL },
	{ "address-space", LEGAL, "mbarrier.init.b64 [s16], 1; ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [s16];", NULL,
	  NULL },
	{ "address-space", ILLEGAL, "ld.u32 %u1, [c16];", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.u32 %u1, [pn];", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.global.u32 %u1, [pn];", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.global.u32 %u1, [k_unused];", NULL, NULL },
	{ "address-space", ILLEGAL, "ld.global.u32 %u1, [4096];", NULL, NULL },
	{ "address-space", LEGAL, "cvta.shared.u64 %ud1, s16; cvta.global.u64 %ud1, g16; cvta.const.u64 %ud1, c16;",
	  NULL, NULL },
	{ "address-space", ILLEGAL, "cvta.shared.u64 %ud1, g16;", NULL, NULL },
	{ "address-space", ILLEGAL, "mbarrier.arrive.b64 %rd1, [g16];", NULL, NULL },
	{ "address-space", ILLEGAL, "prefetchu.L1 [64];", NULL, NULL },
	{ "shared-symbol", LEGAL, "mov.u32 %u1, s16; ld.shared.u32 %u2, [%u1+4]; ld.shared.u32 %u2, [s16+4];", NULL,
	  NULL },
	{ "shared-symbol", ILLEGAL, "ld.shared.u32 %u1, [0];", NULL, NULL },
	{ "shared-symbol", HARMFUL, "mov.u32 %u1, 0; ld.shared.u32 %u2, [%u1];", NULL,
	  "offset 0 belongs to whatever is there" },
	{ "shared-symbol", HARMFUL, "mov.u32 %u1, 0; cp.async.ca.shared.global [%u1], [%ud1], 4;", NULL, "the same" },
	{ "alignment", LEGAL, "ld.global.v4.u32 {%u1, %u2, %u3, %u4}, [g16+16]; st.shared.v2.u32 [s16+8], {%u1, %u2};",
	  NULL, NULL },
	{ "alignment", HARMFUL, "ld.global.v4.u32 {%u1, %u2, %u3, %u4}, [g4];", NULL, "misaligned address" },
	{ "alignment", HARMFUL, "ld.global.v4.u32 {%u1, %u2, %u3, %u4}, [g16+8];", NULL, "misaligned address" },
	{ "alignment", HARMFUL, "st.shared.v2.f32 [s16+4], {%f1, %f2};", NULL, "misaligned address" },
	{ "alignment", HARMFUL, "ld.global.u32 %u1, [g4+2];", NULL, "misaligned address" },
	{ "alignment", HARMFUL, "cp.async.cg.shared.global [s4], [%ud1], 16;", NULL, "misaligned address" },
	{ "vector-size", LEGAL, "ld.global.v4.u32 {%u1, %u2, %u3, %u4}, [%ud1]; ld.global.v2.u64 {%ud1, %ud2}, [%ud1];",
	  NULL, NULL },
	{ "vector-size", LEGAL, "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%ud1];", SM100, NULL },
	{ "target", ILLEGAL, "ld.global.v4.u64 {%ud1, %ud2, %ud3, %ud4}, [%ud1];", NULL, NULL },
	{ "vector-size", ILLEGAL, "ld.shared.v4.u64 {%ud1, %ud2, %ud3, %ud4}, [s16];", SM100, NULL },
	{ "target", ILLEGAL, "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%ud1];", SM90, NULL },
	{ "param-write", LEGAL, "ld.param.u32 %u1, [pn]; ld.param.v4.u32 {%u1, %u2, %u3, %u4}, [pb+16];", NULL, NULL },
	{ "param-write", ILLEGAL, "st.param.u32 [pn], %u1;", NULL, NULL },
	/* shuffles */
	{ "shfl-clamp", LEGAL,
	  "shfl.sync.bfly.b32 %r1, %r1, 16, 31, -1; shfl.sync.down.b32 %r1|%p1, %r1, 1, 0x181f, -1;", NULL, NULL },
	{ "shfl-clamp", LEGAL, "shfl.sync.up.b32 %r1, %r1, 1, 0, -1; shfl.sync.up.b32 %r1, %r1, 1, 0x1000, -1;", NULL,
	  NULL },
	{ "shfl-clamp", LEGAL, "shfl.sync.idx.b32 %r1, %r1, 0, %r2, -1;", NULL, NULL },
	{ "shfl-clamp", HARMFUL, "shfl.sync.bfly.b32 %r1, %r1, 16, 32, -1;", NULL, "clamps to lane 0" },
	{ "shfl-clamp", HARMFUL, "shfl.sync.down.b32 %r1, %r1, 16, 0, -1;", NULL, "clamps to lane 0" },
	{ "shfl-clamp", HARMFUL, "shfl.sync.up.b32 %r1, %r1, 1, 31, -1;", NULL, "every lane keeps its own value" },
	{ "shfl-clamp", HARMFUL, "shfl.sync.idx.b32 %r1, %r1, 0, 0x40, -1;", NULL, "clamps to lane 0" },
	/* tensor copies, versions, targets */
	{ "coordinates", LEGAL, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%ud1, {%r1, %r2}];", SM90, NULL },
	{ "coordinates", ILLEGAL, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%ud1, {%r1, %r2, %r3}];", SM90,
	  NULL },
	{ "coordinates", ILLEGAL, "cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%ud1, {%r1, %r2}];", SM90, NULL },
	{ "coordinates", ILLEGAL, "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%ud1, {%ud2}];", SM90, NULL },
	{ "coordinates", ILLEGAL, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%ud1, {%r1, %hu1}];", SM90, NULL },
	{ "coordinates", ILLEGAL, "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%ud1, {%r1, _}];", SM90, NULL },
	{ "target", LEGAL, "barrier.cluster.arrive; barrier.cluster.wait; griddepcontrol.wait;", SM90, NULL },
	{ "target", LEGAL, "wgmma.fence.sync.aligned;", SM90A, NULL },
	{ "target", ILLEGAL, "barrier.cluster.arrive;", NULL, NULL },
	{ "target", ILLEGAL, "mov.u32 %u1, %cluster_ctarank;", NULL, NULL },
	{ "target", ILLEGAL, "wgmma.fence.sync.aligned;", SM90, NULL },
	{ "target", ILLEGAL, "cp.async.ca.shared.global [s16], [%ud1], 4;", "sm_75", NULL },
	{ "target", ILLEGAL, "add.bf16 %h1, %h1, %h1;", NULL, NULL },
	{ "syntax", LEGAL, "bar.sync 0; { .reg .u32 %inner; mov.u32 %inner, 1; }", NULL, NULL },
	{ "syntax", ILLEGAL, "add.frob.u32 %u1, %u1, 1;", NULL, NULL },
	{ "syntax", ILLEGAL, "add.u32 %u1, %u1;", NULL, NULL },
	/* functions: whole texts */
	{ "undefined", HARMFUL, ".entry k() { .reg .u32 %u<3>; add.u32 %u1, %u2, 1; ret; }", NULL, "any value" },
	{ "undefined", HARMFUL,
	  ".entry k(.param .u32 n) { .reg .u32 %u<3>; .reg .pred %p; ld.param.u32 %u0, [n]; setp.eq.u32 %p, %u0, 0; "
	  "@%p bra X; mov.u32 %u1, 1; X: add.u32 %u2, %u1, 1; ret; }",
	  NULL, "any value when n is 0" },
	/* what is only handed on may be undefined, as the padding of a structure is; what is computed with may not */
	{ "undefined", LEGAL,
	  ".entry k(.param .u64 p) { .reg .b16 %h<2>; .reg .b64 %d; ld.param.u64 %d, [p]; st.global.u8 [%d], %h0; "
	  "mov.b16 %h1, %h0; ret; }",
	  NULL, NULL },
	{ "undefined", HARMFUL,
	  ".entry k() { .reg .u32 %u<3>; .reg .pred %p; mov.u32 %u0, 0; L: add.u32 %u1, %u1, %u0; "
	  "add.u32 %u0, %u0, 1; setp.lt.u32 %p, %u0, 9; @%p bra L; ret; }",
	  NULL, "the first round adds to any value" },
	{ "undefined", LEGAL,
	  ".entry k(.param .u32 n) { .reg .u32 %u<3>; .reg .pred %p; ld.param.u32 %u0, [n]; setp.eq.u32 %p, %u0, 0; "
	  "@%p bra X; mov.u32 %u1, 1; X: @%p bra Y; add.u32 %u2, %u1, 1; Y: ret; }",
	  NULL, NULL },
	{ "undefined", LEGAL,
	  ".entry k(.param .u32 n) { .reg .u32 %u<3>; .reg .pred %p; ld.param.u32 %u0, [n]; setp.eq.u32 %p, %u0, 0; "
	  "@%p bra X; mov.u32 %u1, 1; bra Y; X: mov.u32 %u1, 2; Y: add.u32 %u2, %u1, 1; ret; }",
	  NULL, NULL },
	{ "terminator", LEGAL, ".entry k() { .reg .pred %p; setp.eq.u32 %p, 1, 1; @%p ret; exit; }", NULL, NULL },
	{ "terminator", LEGAL, ".entry k() { .reg .u32 %u; mov.u32 %u, 1; }", NULL, NULL },
	{ "terminator", LEGAL, ".entry k() { .reg .pred %p; setp.eq.u32 %p, 1, 1; @%p ret; }", NULL, NULL },
	{ "label", LEGAL, ".entry k() { bra Here; Here: bra.uni There; There: ret; }", NULL, NULL },
	{ "syntax", ILLEGAL, ".entry k() { bra Nowhere; }", NULL, NULL },
	{ "call", LEGAL,
	  ".func (.param .b32 r) f(.param .b32 a) { ret; } .entry k() { .param .b32 x; .param .b32 y; "
	  "st.param.b32 [x], 1; call (y), f, (x); ret; }",
	  NULL, NULL },
	{ "call", ILLEGAL,
	  ".func (.param .b32 r) f(.param .b32 a) { ret; } .entry k() { .param .b32 x; .param .b32 y; "
	  "call (y), f, (x, x); ret; }",
	  NULL, NULL },
	{ "call", ILLEGAL,
	  ".func f(.param .b32 a) { ret; } .entry k() { .param .b32 x; .param .b32 y; "
	  "call (y), f, (x); ret; }",
	  NULL, NULL },
	{ "shared-static", LEGAL,
	  ".entry k() { .shared .align 4 .b8 a[49152]; .reg .u32 %u; ld.shared.u32 %u, [a]; ret; }", NULL, NULL },
	{ "shared-static", LEGAL,
	  ".extern .shared .align 16 .b8 d[]; .entry k() { .reg .u32 %u; ld.shared.u32 %u, [d+60000]; ret; }", NULL,
	  NULL },
	{ "shared-static", ILLEGAL,
	  ".entry k() { .shared .align 4 .b8 a[49156]; .reg .u32 %u; ld.shared.u32 %u, [a]; ret; }", NULL, NULL },
	{ "param-size", LEGAL, ".entry k(.param .align 4 .b8 a[32764]) { ret; }", NULL, NULL },
	{ "param-size", ILLEGAL, ".entry k(.param .align 4 .b8 a[32768]) { ret; }", NULL, NULL },
	{ "param-size", ILLEGAL,
	  ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .align 4 .b8 a[4356]) { ret; }", NULL, NULL },
	{ "launch-bounds", LEGAL, ".entry k() .maxntid 32, 32, 1 { ret; }", NULL, NULL },
	{ "launch-bounds", HARMFUL, ".entry k() .maxntid 32, 32, 2 { ret; }", NULL, "no device has such blocks" },
	{ "launch-bounds", HARMFUL, ".entry k() .reqntid 2048, 1, 1 { ret; }", NULL, "it can never be launched" },
	{ "duplicate", LEGAL, ".entry k() { X: bar.sync 0; ret; } .entry l() { X: ret; }", NULL, NULL },
	{ "syntax", ILLEGAL, ".entry k() { .reg .u32 %u; .reg .u32 %u; ret; }", NULL, NULL },
	{ "syntax", ILLEGAL, ".entry k() { X: bar.sync 0; X: ret; }", NULL, NULL },
	{ "duplicate", ILLEGAL, ".entry k() { ret; } .entry k() { ret; }", NULL, NULL },
	{ "duplicate", ILLEGAL, ".global .b32 k; .entry k() { ret; }", NULL, NULL },
	{ "duplicate", ILLEGAL, ".global .b32 g; .global .b32 g; .entry k() { ret; }", NULL, NULL },
	{ "duplicate", LEGAL, ".func f(); .func f() { ret; } .extern .global .b32 g; .global .b32 h;", NULL, NULL },
	{ "version", LEGAL, ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() { cp.async.wait_all; ret; }",
	  NULL, NULL },
	{ "version", ILLEGAL, ".version 6.5\n.target sm_75\n.address_size 64\n.entry k() { cp.async.wait_all; ret; }",
	  "sm_75", NULL },
	{ "version", ILLEGAL,
	  ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) { .reg .u64 %d; "
	  ".reg .u32 %u; ld.param.u64 %d, [p]; ld.global.L1::no_allocate.u32 %u, [%d]; ret; }",
	  NULL, NULL },
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* --- texts --- */

static const char *target_of(const struct row *row)
{
	return row->target ? row->target : "sm_80";
}

static void add_header(struct tcb_str *out, const char *target)
{
	tcb_str_addf(out, ".version 9.0\n.target %s\n.address_size 64\n", target);
}

static const char variables[] =
	".global .align 16 .b8 g16[256];\n.global .align 4 .b8 g4[256];\n.const .align 16 .b8 c16[256];\n"
	".func k_unused() { ret; }\n";

static const char registers[] =
	".reg .b8 %c<4>;\n.reg .u8 %cu<4>;\n.reg .b16 %h<4>;\n.reg .u16 %hu<4>;\n.reg .s16 %hs<4>;\n.reg .b32 %r<8>;\n"
	".reg .u32 %u<8>;\n.reg .s32 %s<8>;\n.reg .b64 %rd<8>;\n.reg .u64 %ud<8>;\n.reg .f32 %f<8>;\n.reg .f64 "
	"%fd<8>;\n"
	".reg .pred %p<4>;\n.shared .align 16 .b8 s16[256];\n.shared .align 4 .b8 s4[256];\n"
	".local .align 16 .b8 l16[256];\n";

static void add_kernel(struct tcb_str *out, const struct row *row, size_t number)
{
	tcb_str_addf(out, ".visible .entry k%zu(.param .u64 px, .param .u32 pn, .param .align 64 .b8 pb[128])\n{\n",
		     number);
	tcb_str_addf(out, "%s%s\nret;\n}\n", registers, row->body);
}

static void add_text(struct tcb_str *out, const struct row *row)
{
	if (strncmp(row->body, ".version", 8) == 0) {
		tcb_str_addf(out, "%s\n", row->body);
		return;
	}
	add_header(out, target_of(row));
	if (row->body[0] == '.') {
		tcb_str_addf(out, "%s\n", row->body);
	} else {
		tcb_str_add(out, variables);
		add_kernel(out, row, 0);
	}
}

struct seen {
	char message[600];
	int skip_undefined;
};

static void keep_first(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	if (!seen->message[0] && !(seen->skip_undefined && finding->rule == TCB_PTX_RULE_UNDEFINED))
		snprintf(seen->message, sizeof seen->message, "%s", finding->message);
}

/* What we say of TEXT: nothing when it is legal. */
static void ask_us(const char *text, int skip_undefined, struct seen *seen)
{
	struct tcb_ptx_sink sink = { keep_first, seen };
	struct tcb_ptx_module *module;
	struct tcb_error err;

	seen->message[0] = 0;
	seen->skip_undefined = skip_undefined;
	if (tcb_ptx_parse("row", text, strlen(text), &module, &err) != TCB_OK) {
		snprintf(seen->message, sizeof seen->message, "%s", err.message);
		return;
	}
	tcb_ptx_verify_each(module, &sink);
	tcb_ptx_module_destroy(module);
}

static unsigned check_ours(const struct row *row, const char *text)
{
	struct seen seen;
	char named[64];

	ask_us(text, strcmp(row->rule, "undefined") != 0, &seen);
	snprintf(named, sizeof named, "%s: ", row->rule);
	if (row->verdict == LEGAL
		    ? !seen.message[0]
		    : strstr(seen.message, named) || (seen.message[0] && strcmp(row->rule, "syntax") == 0))
		return 0;
	print_error("%s: %s\n\twe say: %s\n", row->rule, row->body, seen.message[0] ? seen.message : "(legal)");
	return 1;
}

static unsigned check_theirs(const struct row *row, const char *text, const char *ptxas)
{
	struct tcb_str said = { 0 };
	int refused = ptx_assemble(ptxas, target_of(row), text, &said) != 0;
	int wrong = refused != (row->verdict == ILLEGAL);

	if (wrong)
		print_error("%s: %s\n\tptxas (%s) says: %s\n", row->rule, row->body, target_of(row),
			    refused ? said.data : "(legal)");
	tcb_str_fini(&said);
	return (unsigned)wrong;
}

/* The third kind needs a reason, the first two need ptxas; every rule has both sides. */
static void every_rule_has_its_rows(void **state)
{
	(void)state;
	for (int rule = TCB_PTX_RULE_SYNTAX; rule <= TCB_PTX_RULE_DUPLICATE; rule++) {
		unsigned legal = 0, refused = 0;

		for (size_t i = 0; i < ROW_COUNT; i++)
			if (strcmp(rows[i].rule, tcb_ptx_rule_name((enum tcb_ptx_rule)rule)) == 0)
				*(rows[i].verdict == LEGAL ? &legal : &refused) += 1;
		if (!legal || (!refused && rule != TCB_PTX_RULE_LABEL &&
			       rule != TCB_PTX_RULE_TERMINATOR)) /* the parser leaves neither; see below */
			fail_msg("rule %s has %u legal rows and %u others", tcb_ptx_rule_name((enum tcb_ptx_rule)rule),
				 legal, refused);
	}
	for (size_t i = 0; i < ROW_COUNT; i++)
		assert_int_equal(rows[i].why != NULL, rows[i].verdict == HARMFUL);
}

static void we_judge_as_the_table_says(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct tcb_str text = { 0 };

		add_text(&text, &rows[i]);
		wrong += check_ours(&rows[i], text.data);
		tcb_str_fini(&text);
	}
	assert_int_equal(wrong, 0);
}

static void ptxas_judges_as_the_table_says(void **state)
{
	const char *ptxas = ptx_tool("ptxas");
	unsigned wrong = 0;

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct tcb_str text = { 0 };

		add_text(&text, &rows[i]);
		wrong += check_theirs(&rows[i], text.data, ptxas);
		tcb_str_fini(&text);
	}
	assert_int_equal(wrong, 0);
}

/* --- what no text can say, but passes and the builder could do --- */

static struct tcb_ptx_module *three_blocks(void)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .pred %p;\n"
				   "setp.eq.u32 %p, 1, 1;\n@%p bra A;\nbar.sync 0;\nA:\nbar.sync 1;\nret;\n}\n";
	struct tcb_ptx_module *module;
	struct tcb_error err;

	assert_int_equal(tcb_ptx_parse("three", text, strlen(text), &module, &err), TCB_OK);
	assert_int_equal(tcb_ptx_verify(module, &err), TCB_OK);
	return module;
}

static void broken_structures_are_found(void **state)
{
	static const char *const rules[] = { "terminator: ", "terminator: ", "label: ", "label: ", "duplicate: " };

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct tcb_ptx_module *module = three_blocks(), *other = three_blocks();
		struct tcb_ptx_block *first = module->functions->first, *last = module->functions->last;
		struct tcb_ptx_ins *end = last->last;
		struct tcb_error err;

		if (i == 0)
			tcb_ptx_ins_remove(end);
		if (i == 1)
			tcb_ptx_ins_before(end, tcb_ptx_ins_copy(module, end));
		if (i == 2)
			last->label = NULL;
		if (i == 3)
			first->last->operands[0].block = other->functions->last;
		if (i == 4)
			last->prev->label = last->label;
		tcb_ptx_verify(module, &err);
		if (!strstr(err.message, rules[i]))
			fail_msg("case %d: expected %s in: %s", i, rules[i], err.message);
		tcb_ptx_module_destroy(module);
		tcb_ptx_module_destroy(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_its_rows),
		cmocka_unit_test(we_judge_as_the_table_says),
		cmocka_unit_test(broken_structures_are_found),
		cmocka_unit_test(ptxas_judges_as_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
