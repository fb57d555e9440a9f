/* SPDX-License-Identifier: MIT
 *
 * What is asynchronous, without running it: each case is a kernel that goes
 * wrong in one way, with the line that mends it.
 */
#include "ptx_tools.h"

#include "ptx/analyse/async/async.h"
#include "ptx/analyse/flow/webs.h"
#include "ptx/text/text.h"

struct async_case {
	const char *name;
	enum tcb_ptx_rule rule;
	enum tcb_ptx_severity severity;
	uint32_t block;
	const char *wrong, *right; /* bodies */
};

#define IN "\tld.param.u64 %d1, [in];\n\tcvta.to.global.u64 %d1, %d1;\n\tmad.wide.u32 %d2, %r0, 4, %d1;\n"
#define SECOND "\tld.param.u64 %d3, [other];\n\tld.global.u32 %r3, [%d3];\n"
#define LOAD "\tld.global.u32 %r1, [%d2];\n"
#define WAIT "\tgriddepcontrol.wait;\n"
#define OUT "\tst.global.u32 [%d2], %r1;\n"
/* %p0: the first warp group; %p1: the first warp */
#define ROLES "\tsetp.lt.u32 %p0, %r0, 128;\n\tsetp.lt.u32 %p1, %r0, 32;\n"
#define GIVE(n) "\tsetmaxnreg.dec.sync.aligned.u32 " #n ";\n"
#define TAKE(n) "\tsetmaxnreg.inc.sync.aligned.u32 " #n ";\n"
/* %p0: the upper half of a warp */
#define UPPER "\tsetp.ge.u32 %p0, %r0, 16;\n"
#define LANE_MASK(width) "\tand.b32 %r2, %r0, " #width ";\n\tshl.b32 %r3, 255, %r2;\n"

#define TILE                                                                                                      \
	"\t.shared .align 16 .b8 tile[2048];\n\tmov.u32 %r4, tile;\n\tshl.b32 %r5, %r0, 2;\n\tadd.u32 %r4, %r4, " \
	"%r5;\n"
#define COPY(at) "\tcp.async.ca.shared.global [%r4+" #at "], [%d2], 4;\n"
#define COMMIT "\tcp.async.commit_group;\n"
#define COPIED(n) "\tcp.async.wait_group " #n ";\n"
#define BARRIER "\tbar.sync 0;\n"
#define READ(at) "\tld.shared.u32 %r6, [tile+" #at "];\n"
/* a ring: whether stage %r7 is the one that was copied nobody knows */
#define RING(wait)                                                                                               \
	IN TILE COPY(0) COMMIT COPY(512) COMMIT                                                                  \
		"\tcvt.u32.u64 %r8, %d1;\nLOOP:\n" wait BARRIER                                                  \
		"\tand.b32 %r7, %r8, 1536;\n\tadd.u32 %r9, %r4, %r7;\n\tld.shared.u32 %r6, [%r9];\n"             \
		"\txor.b32 %r7, %r7, 512;\n\tadd.u32 %r9, %r4, %r7;\n\tcp.async.ca.shared.global [%r9], [%d2], " \
		"4;\n" COMMIT "\tsub.u32 %r8, %r8, 1;\n\tsetp.ne.u32 %p0, %r8, 0;\n\t@%p0 bra LOOP;\n"
#define STORE(at) "\tcp.async.bulk.global.shared::cta.bulk_group [%d1], [tile+" #at "], 256;\n"
#define STORED "\tcp.async.bulk.commit_group;\n"
#define ALONE "\tsetp.ne.u32 %p0, %r0, 0;\n\t@%p0 bra END;\n"
#define SUMS                                                                                                        \
	"\t.reg .f32 %f<8>;\n\tmov.f32 %f0, 0f00000000;\n\tmov.f32 %f1, %f0;\n\tmov.f32 %f2, %f0;\n\tmov.f32 %f3, " \
	"%f0;\n"
#define FENCE "\twgmma.fence.sync.aligned;\n"
#define PRODUCT "\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d3, %d4, 1, 1, 1, 0, 0;\n"
/* A in registers */
#define PRODUCT_OF_FOUR                                                                                             \
	"\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, %d4, " \
	"1, 1, 1, 0;\n"
#define FOUR "\tld.global.v2.u32 {%r10, %r11}, [%d2];\n\tmov.b32 %r12, 0;\n\tmov.b32 %r13, 0;\n" /* of A */
#define AGAIN "\tadd.u32 %r1, %r1, 1;\n\tsetp.lt.u32 %p0, %r1, 9;\n\t@%p0 bra LOOP;\n"
#define GROUP "\twgmma.commit_group.sync.aligned;\n"
#define SUMMED(n) "\twgmma.wait_group.sync.aligned " #n ";\n"
#define OPERANDS "\tld.param.u64 %d3, [in];\n\tmov.u64 %d4, %d3;\n"
#define KEEP "\tst.global.f32 [%d1], %f2;\n"
#define SCALE "\tmul.f32 %f0, %f0, 0f3F000000;\n\tmul.f32 %f1, %f1, 0f3F000000;\n"

/* an mbarrier, full, of COUNT arrivals, and a tile of 256 bytes behind one for copies */
#define FULL(count, shown)                                                                                           \
	"\t.shared .align 8 .b64 full;\n\t.shared .align 128 .b8 row[256];\n\tsetp.ne.u32 %p0, %r0, 0;\n\t@%p0 bra " \
	"BEGUN;\n"                                                                                                   \
	"\tmbarrier.init.shared.b64 [full], " #count ";\n" shown "BEGUN:\n" BARRIER
#define SHOWN "\tfence.mbarrier_init.release.cluster;\n"
#define ARRIVES "\tmbarrier.arrive.shared.b64 _, [full];\n"
#define EXPECTS(n) "\tmbarrier.arrive.expect_tx.shared.b64 _, [full], " #n ";\n"
#define BULK(n) "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [row], [%d1], " #n ", [full];\n"
#define FIRST(body) "\t@%p0 bra AWAIT;\n" body "AWAIT:\n"
#define AWAITS(label, n) \
#label ":\n\tmbarrier.try_wait.parity.shared.b64 %p1, [full], " #n ";\n\t@!%p1 bra " #label ";\n"
/* %r4: the lane's word of a slot; of one of a ring that begins at %r9 */
#define SLOT "\tmov.u32 %r4, row;\n\tshl.b32 %r5, %r0, 2;\n\tadd.u32 %r4, %r4, %r5;\n"
#define RING_SLOT \
	"\tshl.b32 %r5, %r0, 2;\n\tmov.u32 %r9, row;\n\tld.global.u32 %r8, [%d2];\nLOOP:\n\tadd.u32 %r4, %r9, %r5;\n"
#define RING_NEXT \
	"\txor.b32 %r9, %r9, %r8;\n\tsub.u32 %r8, %r8, 16;\n\tsetp.ne.u32 %p0, %r8, 0;\n\t@%p0 bra LOOP;\n" AWAITS(A, 0)
#define BULK_SLOT(n) \
	"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%d1], " #n ", [full];\n"
#define TAKEN "\tld.shared.u32 %r1, [%r4];\n"
#define MORE "\tadd.u32 %r1, %r1, 3;\n"
#define WARP_MEETS "\tbar.warp.sync 0xffffffff;\n"
#define ASYNC_PROXY "\tfence.proxy.async.shared::cta;\n"
#define ROW \
	"\t.shared .align 128 .b8 row[512];\n\tmov.u32 %r4, row;\n\tshl.b32 %r5, %r0, 2;\n\tadd.u32 %r4, %r4, %r5;\n"
#define OWN "\tst.shared.u32 [%r4], %r0;\n"
#define SEND                                                           \
	"\tcp.async.bulk.global.shared::cta.bulk_group [%d1], [row], " \
	"512;\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;\n"
/* %d4: of the tile of eight columns */
#define TILES                                                                                                       \
	"\t.shared .align 128 .b8 b[256];\n\tmov.u32 %r4, b;\n\tshr.u32 %r5, %r4, 4;\n\tcvt.u64.u32 %d4, %r5;\n"    \
	"\tor.b64 %d4, %d4, 68720001024;\n\tld.param.u64 %d3, [in];\n\tand.b32 %r5, %r0, 63;\n\tshl.b32 %r5, %r5, " \
	"2;\n"                                                                                                      \
	"\tadd.u32 %r4, %r4, %r5;\n"
#define MEET "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n"
#define MEET_RELAXED "\tbarrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;\n"
#define PEER(rank) "\tmov.u32 %r6, %cluster_ctarank;\n\t" rank ";\n\tmapa.shared::cluster.u32 %r8, %r4, %r7;\n"
#define OTHER PEER("xor.b32 %r7, %r6, 1")
#define THEIRS "\tld.shared::cluster.u32 %r9, [%r8];\n"
#define GIVEN "\tst.shared::cluster.u32 [%r8], %r0;\n"

static const struct async_case cases[] = {
	{ "a mask without the upper half", TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_ERROR, 32, "\tbar.warp.sync 0xffff;\n",
	  "\tbar.warp.sync 0xffffffff;\n" },
	{ "a mask shifted by the lane", TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_ERROR, 32,
	  LANE_MASK(7) "\tbar.warp.sync %r3;\n", LANE_MASK(24) "\tbar.warp.sync %r3;\n" },
	{ "a vote of the other half", TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_ERROR, 32,
	  "\tsetp.lt.u32 %p0, %r0, 16;\n\t@%p0 bra END;\n\tvote.sync.any.pred %p1, %p0, 0xffff;\n",
	  "\tsetp.lt.u32 %p0, %r0, 16;\n\t@%p0 bra END;\n\tvote.sync.any.pred %p1, %p0, 0xffff0000;\n" },
	{ "a lane that the mask leaves out", TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_WARNING, 32,
	  "\tsetp.ge.u32 %p0, %r0, 16;\n\t@%p0 bra END;\n\tshfl.sync.idx.b32 %r1, %r0, 20, 31, 0xffff;\n",
	  "\tsetp.ge.u32 %p0, %r0, 16;\n\t@%p0 bra END;\n\tshfl.sync.idx.b32 %r1, %r0, 4, 31, 0xffff;\n" },
	{ "a lane that goes another way", TCB_PTX_RULE_SHUFFLE_DIVERGENT, TCB_PTX_ERROR, 32,
	  UPPER "\t@%p0 bra NEXT;\n\tshfl.sync.idx.b32 %r1, %r0, 3, 31, 0x1ffff;\nNEXT:\n\tmov.u32 %r2, %r0;\n",
	  UPPER "\t@%p0 bra NEXT;\n\tshfl.sync.idx.b32 %r1, %r0, 3, 31, 0xffff;\nNEXT:\n\tmov.u32 %r2, %r0;\n" },
	{ "a lane that has ended, and is read", TCB_PTX_RULE_SHUFFLE_EXITED, TCB_PTX_ERROR, 32,
	  UPPER "\t@%p0 bra END;\n\tshfl.sync.down.b32 %r1, %r0, 8, 31, 0xffffff;\n",
	  UPPER "\t@%p0 bra END;\n\tshfl.sync.idx.b32 %r1, %r0, 8, 31, 0xffffff;\n" },
	{ "the active lanes of before the branch", TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_WARNING, 32,
	  UPPER "\tactivemask.b32 %r3;\n\t@%p0 bra NEXT;\n\tbar.warp.sync %r3;\nNEXT:\n\tmov.u32 %r2, %r0;\n",
	  UPPER "\t@%p0 bra NEXT;\n\tactivemask.b32 %r3;\n\tbar.warp.sync %r3;\nNEXT:\n\tmov.u32 %r2, %r0;\n" },
	{ "a ballot of more lanes than come", TCB_PTX_RULE_SHUFFLE_DIVERGENT, TCB_PTX_ERROR, 32,
	  UPPER "\tsetp.lt.u32 %p1, %r0, 20;\n\tvote.sync.ballot.b32 %r3, %p1, 0xffffffff;\n\t@%p0 bra NEXT;\n"
		"\tredux.sync.max.u32 %r1, %r0, %r3;\nNEXT:\n\tmov.u32 %r2, %r0;\n",
	  UPPER "\tvote.sync.ballot.b32 %r3, !%p0, 0xffffffff;\n\t@%p0 bra NEXT;\n"
		"\tredux.sync.max.u32 %r1, %r0, %r3;\nNEXT:\n\tmov.u32 %r2, %r0;\n" },
	{ "a match among lanes that end", TCB_PTX_RULE_SHUFFLE_EXITED, TCB_PTX_WARNING, 32,
	  UPPER "\tmatch.any.sync.b32 %r3, 1, 0xffffffff;\n\t@%p0 bra END;\n\tbfind.u32 %r4, %r3;\n"
		"\tshfl.sync.idx.b32 %r1, %r0, %r4, 31, %r3;\n",
	  UPPER "\tand.b32 %r5, %r0, 16;\n\tmatch.any.sync.b32 %r3, %r5, 0xffffffff;\n\t@%p0 bra END;\n"
		"\tbfind.u32 %r4, %r3;\n\tshfl.sync.idx.b32 %r1, %r0, %r4, 31, %r3;\n" },
	{ "A is loaded again under the product", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, 128,
	  IN OPERANDS SUMS FOUR FENCE PRODUCT_OF_FOUR GROUP FOUR SUMMED(0) KEEP,
	  IN OPERANDS SUMS FOUR FENCE PRODUCT_OF_FOUR GROUP SUMMED(0) FOUR KEEP },
	{ "A is loaded in the next round, under the product", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_WARNING, 128,
	  IN OPERANDS SUMS "\tmov.u32 %r1, 0;\nLOOP:\n" FOUR FENCE PRODUCT_OF_FOUR GROUP SUMMED(1) AGAIN SUMMED(0) KEEP,
	  IN OPERANDS SUMS "\tmov.u32 %r1, 0;\nLOOP:\n" FOUR FENCE PRODUCT_OF_FOUR GROUP SUMMED(0) AGAIN KEEP },
	{ "sums are cleared under the product", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, 128,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP "\tmov.f32 %f1, 0f3F800000;\n" SUMMED(0) KEEP,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP SUMMED(0) "\tmov.f32 %f1, 0f3F800000;\n" KEEP },
	{ "more registers than there are", TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, 384,
	  ROLES "\t@%p0 bra LOW;\n" TAKE(240) "\tbra END;\nLOW:\n" GIVE(40),
	  ROLES "\t@%p0 bra LOW;\n" TAKE(232) "\tbra END;\nLOW:\n" GIVE(40) },
	{ "registers that nobody gave", TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, 384,
	  ROLES "\t@%p0 bra END;\n" TAKE(232), ROLES "\t@%p0 bra END;\n" TAKE(168) },
	{ "one warp of four", TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, 128, ROLES "\t@!%p1 bra END;\n" GIVE(40),
	  ROLES GIVE(40) },
	{ "two numbers in a warp group", TCB_PTX_RULE_SETMAXNREG, TCB_PTX_ERROR, 128,
	  ROLES "\t@%p1 bra LOW;\n" GIVE(40) "\tbra END;\nLOW:\n" GIVE(56),
	  ROLES "\t@%p1 bra LOW;\n" GIVE(40) "\tbra END;\nLOW:\n" GIVE(40) },
	{ "read on both sides of the wait", TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_WARNING, 128,
	  IN LOAD WAIT "\tld.global.u32 %r2, [%d2+512];\n", IN WAIT LOAD "\tld.global.u32 %r2, [%d2+512];\n" },
	{ "read on both sides, but others only behind the wait", TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_ADVICE, 128,
	  IN LOAD WAIT SECOND "\tld.global.u32 %r2, [%d2+512];\n", IN LOAD WAIT SECOND },
	{ "written before the wait", TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_WARNING, 128,
	  IN "\tmov.u32 %r1, 0;\n" OUT WAIT, IN "\tmov.u32 %r1, 0;\n" WAIT OUT },
	{ "copied and read without a wait", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILE COPY(0) COMMIT BARRIER READ(4), IN TILE COPY(0) COMMIT COPIED(0) BARRIER READ(4) },
	{ "copied and not committed", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILE COPY(0) COPIED(0) BARRIER READ(4), IN TILE COPY(0) COMMIT COPIED(0) BARRIER READ(4) },
	{ "the wait leaves the group out", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILE COPY(0) COMMIT COPY(512) COMMIT COPIED(1) BARRIER READ(516),
	  IN TILE COPY(0) COMMIT COPY(512) COMMIT COPIED(1) BARRIER READ(4) },
	{ "a ring whose wait leaves all of its groups out", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  RING(COPIED(2)), RING(COPIED(1)) },
	{ "written under the copy", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILE COPY(0) COMMIT "\tst.shared.u32 [%r4], %r0;\n" COPIED(0),
	  IN TILE COPY(0) COMMIT "\tst.shared.u32 [%r4+512], %r0;\n" COPIED(0) },
	{ "others wait", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_WARNING, 128,
	  IN TILE "\tsetp.ge.u32 %p0, %r0, 32;\n\t@%p0 bra NOT;\n" COPY(0) COMMIT
	  "\tbra.uni READ;\nNOT:\n" COPIED(0) "READ:\n" BARRIER READ(4),
	  IN TILE "\tsetp.ge.u32 %p0, %r0, 32;\n\t@%p0 bra READ;\n" COPY(0)
		  COMMIT COPIED(0) "READ:\n" BARRIER READ(4) },
	{ "ends while the store reads", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_WARNING, 128, IN TILE ALONE STORE(0) STORED,
	  IN TILE ALONE STORE(0) STORED "\tcp.async.bulk.wait_group.read 0;\n" },
	{ "a store in no group", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_WARNING, 128,
	  IN TILE ALONE STORE(0) "\tcp.async.bulk.wait_group 0;\n",
	  IN TILE ALONE STORE(0) STORED "\tcp.async.bulk.wait_group 0;\n" },
	{ "written under the store", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILE ALONE STORE(0) STORED "\tst.shared.u32 [tile+252], %r0;\n\tcp.async.bulk.wait_group 0;\n",
	  IN TILE ALONE STORE(0) STORED "\tst.shared.u32 [tile+256], %r0;\n\tcp.async.bulk.wait_group 0;\n" },
	{ "no fence before the first product", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, 128,
	  IN OPERANDS SUMS PRODUCT GROUP SUMMED(0) KEEP, IN OPERANDS FENCE SUMS PRODUCT GROUP SUMMED(0) KEEP },
	{ "a product in no group", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, 128,
	  IN OPERANDS SUMS FENCE PRODUCT SUMMED(0) KEEP, IN OPERANDS SUMS FENCE PRODUCT GROUP SUMMED(0) KEEP },
	{ "sums that are not there yet", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_ERROR, 128,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP SUMMED(1) KEEP,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP GROUP SUMMED(1) KEEP },
	{ "sums scaled behind the fence", TCB_PTX_RULE_WGMMA_ORDER, TCB_PTX_WARNING, 128,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP SUMMED(0) SCALE PRODUCT GROUP SUMMED(0) KEEP,
	  IN OPERANDS SUMS FENCE PRODUCT GROUP SUMMED(0) SCALE FENCE PRODUCT GROUP SUMMED(0) KEEP },
	{ "an mbarrier that nobody initialised", TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, 128,
	  "\t.shared .align 8 .b64 full;\n" ARRIVES AWAITS(A, 0), FULL(128, SHOWN) ARRIVES AWAITS(A, 0) },
	{ "an mbarrier that counts nobody", TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, 128,
	  FULL(0, SHOWN) AWAITS(A, 1) ARRIVES, FULL(128, SHOWN) AWAITS(A, 1) ARRIVES },
	{ "more arrivals counted than come", TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, 128,
	  FULL(129, SHOWN) ARRIVES AWAITS(A, 0), FULL(128, SHOWN) ARRIVES AWAITS(A, 0) },
	{ "fewer arrivals counted than come", TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, 128,
	  FULL(4, SHOWN) ARRIVES AWAITS(A, 0), FULL(128, SHOWN) ARRIVES AWAITS(A, 0) },
	{ "nobody arrives", TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, 128, FULL(128, SHOWN) AWAITS(A, 0),
	  FULL(128, SHOWN) ARRIVES AWAITS(A, 0) },
	{ "an mbarrier that the copy may not see", TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, 128,
	  IN FULL(1, "") FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0),
	  IN FULL(1, SHOWN) FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0) },
	{ "more bytes expected than come", TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, 128,
	  IN FULL(1, SHOWN) FIRST(EXPECTS(256) BULK(128)) AWAITS(A, 0),
	  IN FULL(1, SHOWN) FIRST(EXPECTS(128) BULK(128)) AWAITS(A, 0) },
	{ "bytes that nobody expects", TCB_PTX_RULE_MBARRIER, TCB_PTX_ERROR, 128,
	  IN FULL(1, SHOWN) FIRST(ARRIVES BULK(128)) AWAITS(A, 0),
	  IN FULL(1, SHOWN) FIRST(EXPECTS(128) BULK(128)) AWAITS(A, 0) },
	{ "the same parity twice", TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, 128,
	  FULL(128, SHOWN) ARRIVES AWAITS(A, 0) ARRIVES AWAITS(B, 0),
	  FULL(128, SHOWN) ARRIVES AWAITS(A, 0) ARRIVES AWAITS(B, 1) },
	{ "the phase before the first", TCB_PTX_RULE_MBARRIER, TCB_PTX_WARNING, 128,
	  FULL(128, SHOWN) ARRIVES AWAITS(A, 1), FULL(128, SHOWN) AWAITS(A, 1) ARRIVES },
	{ "a copy of no multiple of 16", TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, 128,
	  IN FULL(1, SHOWN) FIRST(EXPECTS(120) BULK(120)) AWAITS(A, 0),
	  IN FULL(1, SHOWN) FIRST(EXPECTS(112) BULK(112)) AWAITS(A, 0) },
	{ "a copy over the end", TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, 128,
	  IN FULL(1, SHOWN) FIRST(EXPECTS(272) BULK(272)) AWAITS(A, 0),
	  IN FULL(1, SHOWN) FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0) },
	{ "rows of an odd length", TCB_PTX_RULE_BULK_COPY, TCB_PTX_WARNING, 128,
	  IN "\tmov.u32 %r9, %ctaid.x;\n\tmad.wide.u32 %d1, %r9, 132, %d1;\n" FULL(1, SHOWN)
		  FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0),
	  IN "\tmov.u32 %r9, %ctaid.x;\n\tmad.wide.u32 %d1, %r9, 144, %d1;\n" FULL(1, SHOWN)
		  FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0) },
	{ "a copy over what nobody has used yet", TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, 32,
	  IN FULL(1, SHOWN) SLOT TAKEN WARP_MEETS FIRST(EXPECTS(256) BULK(256)) OUT AWAITS(A, 0),
	  IN FULL(1, SHOWN) SLOT TAKEN OUT WARP_MEETS FIRST(EXPECTS(256) BULK(256)) AWAITS(A, 0) },
	{ "a copy that arithmetic can be moved behind", TCB_PTX_RULE_BULK_COPY, TCB_PTX_ERROR, 32,
	  IN FULL(1, SHOWN) SLOT TAKEN MORE WARP_MEETS FIRST(EXPECTS(256) BULK(256)) OUT AWAITS(A, 0),
	  IN FULL(1, SHOWN) SLOT TAKEN MORE BARRIER FIRST(EXPECTS(256) BULK(256)) OUT AWAITS(A, 0) },
	{ "a slot of a ring, before it was used", TCB_PTX_RULE_BULK_COPY, TCB_PTX_WARNING, 32,
	  IN FULL(1, SHOWN) RING_SLOT TAKEN WARP_MEETS FIRST(EXPECTS(256) BULK_SLOT(256)) OUT RING_NEXT,
	  IN FULL(1, SHOWN) RING_SLOT TAKEN OUT WARP_MEETS FIRST(EXPECTS(256) BULK_SLOT(256)) RING_NEXT },
	{ "a store that the copy may not see", TCB_PTX_RULE_PROXY_FENCE, TCB_PTX_ERROR, 128,
	  IN ROW OWN BARRIER ALONE SEND, IN ROW OWN ASYNC_PROXY BARRIER ALONE SEND },
	{ "a fence of one thread, before the barrier", TCB_PTX_RULE_PROXY_FENCE, TCB_PTX_ERROR, 128,
	  IN ROW OWN "\tsetp.ne.u32 %p0, %r0, 0;\n\t@%p0 bra MEET;\n" ASYNC_PROXY "MEET:\n" BARRIER ALONE SEND,
	  IN ROW OWN BARRIER ALONE ASYNC_PROXY SEND },
	{ "a neighbour that may not have begun", TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, 128,
	  ROW OWN BARRIER OTHER THEIRS MEET, ROW OWN MEET OTHER THEIRS MEET },
	{ "a neighbour that may have ended", TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, 128, ROW OWN MEET OTHER THEIRS,
	  ROW OWN MEET OTHER THEIRS MEET },
	{ "an arrival that releases nothing", TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, 128,
	  ROW OWN MEET_RELAXED OTHER THEIRS MEET, ROW OWN "\tfence.acq_rel.cluster;\n" MEET_RELAXED OTHER THEIRS MEET },
	{ "what the neighbour may not have stored", TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, 128,
	  ROW MEET OTHER GIVEN "\tld.shared.u32 %r9, [%r4];\n" MEET,
	  ROW MEET OTHER GIVEN MEET "\tld.shared.u32 %r9, [%r4];\n" },
	{ "a rank that nobody has", TCB_PTX_RULE_CLUSTER, TCB_PTX_ERROR, 128,
	  ROW OWN MEET PEER("add.u32 %r7, %r6, 1") THEIRS MEET, ROW OWN MEET PEER("sub.u32 %r7, 1, %r6") THEIRS MEET },
	{ "a barrier for some ranks", TCB_PTX_RULE_CLUSTER, TCB_PTX_WARNING, 128,
	  ROW OWN MEET OTHER "\tsetp.ne.u32 %p0, %r6, 0;\n\t@%p0 bra END;\n" THEIRS MEET,
	  ROW OWN MEET OTHER "\tsetp.ne.u32 %p0, %r6, 0;\n\t@%p0 bra LAST;\n" THEIRS "LAST:\n" MEET },
	{ "a tile that the product may not see", TCB_PTX_RULE_PROXY_FENCE, TCB_PTX_ERROR, 128,
	  IN TILES SUMS OWN BARRIER FENCE PRODUCT GROUP SUMMED(0) KEEP,
	  IN TILES SUMS OWN ASYNC_PROXY BARRIER FENCE PRODUCT GROUP SUMMED(0) KEEP },
	{ "a tile that the product may still read", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR, 128,
	  IN TILES SUMS FENCE PRODUCT GROUP BARRIER OWN SUMMED(0) KEEP,
	  IN TILES SUMS FENCE PRODUCT GROUP SUMMED(0) BARRIER OWN KEEP },
	{ "one thread waits", TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_WARNING, 128,
	  IN "\tsetp.ne.u32 %p0, %r0, 0;\n\t@%p0 bra GO;\n" WAIT "GO:\n" LOAD,
	  IN "\tsetp.ne.u32 %p0, %r0, 0;\n\t@%p0 bra GO;\n" WAIT "GO:\n\tbar.sync 0;\n" LOAD },
};

struct seen {
	enum tcb_ptx_rule rule;
	enum tcb_ptx_severity severity;
	unsigned count;
	char last[480];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	seen->rule = finding->rule;
	seen->severity = finding->severity;
	seen->count++;
	snprintf(seen->last, sizeof seen->last, "line %u: %s", finding->line, finding->message);
}

static struct seen judge(const struct async_case *c, const char *body)
{
	struct seen seen = { .rule = TCB_PTX_RULE_COUNT };
	const struct tcb_ptx_sink sink = { see, &seen };
	const uint32_t block[3] = { c->block, 1, 1 };
	struct tcb_ptx_dominators dominators;
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_module *module;
	struct tcb_error err;
	char text[8192];

	snprintf(text, sizeof text,
		 ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 "
		 "in, .param .u64 other)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n.reqntid %u, 1, "
		 "1\n{\n"
		 "\t.reg .b32 %%r<16>;\n\t.reg .b64 %%d<8>;\n\t.reg .pred %%p<4>;\n\tmov.u32 %%r0, "
		 "%%tid.x;\n%sEND:\n\tret;\n"
		 "}\n",
		 c->block, body);
	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s: %s\n%s", c->name, err.message, text);
	assert_int_equal(tcb_ptx_dominators(module->functions, &dominators, &err), TCB_OK);
	assert_int_equal(tcb_ptx_split_webs(module->functions, &dominators, &err), TCB_OK);
	assert_int_equal(tcb_ptx_affine_create(module->functions, block, &affine, &err), TCB_OK);
	assert_int_equal(tcb_ptx_check_async(affine, module->functions, &sink, &sink, &err), TCB_OK);
	tcb_ptx_affine_destroy(affine);
	tcb_ptx_module_destroy(module);
	return seen;
}

static void test_cases(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct seen wrong = judge(&cases[i], cases[i].wrong), right = judge(&cases[i], cases[i].right);

		if (wrong.count != 1 || wrong.rule != cases[i].rule || wrong.severity != cases[i].severity)
			print_error("%s: %u findings, %s\n", cases[i].name, wrong.count, wrong.last);
		else if (right.count)
			print_error("%s: mended, and yet %s\n", cases[i].name, right.last);
		else
			continue;
		failed++;
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
