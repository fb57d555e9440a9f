/* SPDX-License-Identifier: MIT
 *
 * attention_decode's GPU kernels in the emulator: each type of K and V under each
 * contract, by each way to copy and to merge, at shapes with everything that a shape
 * may have; and data with -inf and NaN.
 */
#include <math.h>
#include <string.h>

#include "attention_case.h"
#include "base/gpu_table.h"
#include "base/sizes.h"
#include "instrumented.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/constraint.h"
#include "kernels/emulation.h"

static const char *const op_names[] = { "attention_decode_f16", "attention_decode_bf16", "attention_decode_q80" };
static const enum tcb_contract contracts[] = { TCB_CONTRACT_F16, TCB_CONTRACT_F32 };
enum { OPS = sizeof(op_names) / sizeof(*op_names), CONTRACTS = 2 };

/* What differs from the default geometry.  Zeros: as it is. */
struct way {
	unsigned tokens, kv, heads, warps, splitk, cluster;
	enum tcb_join join;
	int stages; /* of copy=async; 0: copy=ldg */
	int vec, group;
	unsigned row_warps; /* 0: 1 */
	int is_bulk;
	int blocks;      /* sched=streamk; 0: neither */
	unsigned values; /* warps that share a row's values; 0: 1 */
	int lead;        /* 0: left out */
};
static const struct way ways[] = {
	{ .stages = 2, .warps = 2, .kv = 8, .splitk = 1, .vec = 4 },
	{ .stages = 3, .warps = 2, .kv = 16, .splitk = 1, .vec = 16, .group = 256 },
	{ .stages = 2, .warps = 2, .kv = 8, .splitk = 1, .group = 256, .tokens = 4 },
	{ .stages = 3, .warps = 1, .kv = 32, .splitk = 3, .join = TCB_JOIN_LAST, .group = 256, .heads = 1 },
	{ .stages = 3, .warps = 2, .kv = 16, .splitk = 1, .vec = 8 },
	{ .stages = 3, .warps = 1, .kv = 32, .splitk = 3, .join = TCB_JOIN_LAST },
	{ .stages = 4, .warps = 4, .kv = 16, .splitk = 2, .join = TCB_JOIN_LAUNCH, .tokens = 2, .vec = 16 },
	{ .stages = 2,
	  .warps = 2,
	  .kv = 16,
	  .splitk = 4,
	  .cluster = 2,
	  .join = TCB_JOIN_LAST,
	  .tokens = 4,
	  .heads = 4 },
	{ .stages = 6, .warps = 1, .kv = 8, .splitk = 2, .cluster = 2, .join = TCB_JOIN_CLUSTER, .heads = 1 },
	{ .stages = 2, .warps = 4, .kv = 16, .splitk = 2, .join = TCB_JOIN_LAUNCH, .tokens = 4, .row_warps = 2 },
	{ .stages = 3, .warps = 4, .kv = 8, .splitk = 1, .row_warps = 4, .group = 256, .vec = 16 },
	{ .stages = 3, .warps = 2, .kv = 16, .splitk = 1, .vec = 16, .is_bulk = 1 },
	{ .stages = 2,
	  .warps = 4,
	  .kv = 32,
	  .splitk = 2,
	  .join = TCB_JOIN_LAST,
	  .vec = 16,
	  .row_warps = 2,
	  .group = 256,
	  .is_bulk = 1 },
	{ .warps = 2, .kv = 8, .splitk = 3, .join = TCB_JOIN_LAST, .tokens = 4, .heads = 4 },
	{ .warps = 1, .kv = 32, .splitk = 2, .join = TCB_JOIN_LAUNCH, .tokens = 2 },
	{ .warps = 2, .kv = 64, .splitk = 1, .heads = 3 },
	{ .warps = 2, .kv = 8, .splitk = 1, .join = TCB_JOIN_LAST, .blocks = 1 },
	{ .stages = 2, .warps = 2, .kv = 16, .splitk = 1, .join = TCB_JOIN_LAST, .blocks = 2 },
	{ .stages = 3,
	  .warps = 4,
	  .kv = 8,
	  .splitk = 1,
	  .join = TCB_JOIN_LAST,
	  .row_warps = 2,
	  .blocks = 1,
	  .vec = 16 },
	{ .stages = 2, .warps = 1, .kv = 32, .splitk = 1, .join = TCB_JOIN_LAST, .group = 256, .blocks = 1 },
	{ .stages = 3, .warps = 2, .kv = 16, .splitk = 1, .join = TCB_JOIN_LAST, .vec = 16, .is_bulk = 1, .blocks = 1 },
	{ .stages = 2, .warps = 2, .kv = 8, .splitk = 1, .values = 2, .tokens = 1, .heads = 3 },
	{ .stages = 2,
	  .warps = 4,
	  .kv = 16,
	  .splitk = 2,
	  .join = TCB_JOIN_LAST,
	  .values = 4,
	  .tokens = 2,
	  .group = 256 },
	{ .stages = 2,
	  .warps = 4,
	  .kv = 8,
	  .splitk = 1,
	  .row_warps = 2,
	  .values = 2,
	  .join = TCB_JOIN_LAST,
	  .blocks = 1 },
	{ .warps = 2, .kv = 8, .splitk = 3, .join = TCB_JOIN_LAUNCH, .lead = 2, .vec = 16 },
	{ .stages = 2, .warps = 2, .kv = 8, .splitk = 2, .join = TCB_JOIN_LAUNCH, .lead = 1 },
	{ .stages = 3, .warps = 2, .kv = 8, .splitk = 3, .join = TCB_JOIN_LAUNCH, .lead = 3, .vec = 16, .is_bulk = 1 },
	{ .stages = 2,
	  .warps = 4,
	  .kv = 16,
	  .splitk = 1,
	  .vec = 16,
	  .row_warps = 2,
	  .values = 2,
	  .tokens = 1,
	  .heads = 2,
	  .is_bulk = 1 },
};
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static const char *const shapes[] = {
	"1x77x32,h4/1",
	"1x300x128,h8/2",
	"1x129x64,h7/1,p5",
	"3x70x96,h6/3,causal",
	"4x90x128,h12/3,b5,p3,w20,c4,causal,ragged",
	"9x150x160,h4/2,b2,p7,w33,causal,ragged",
	"2x65x192,h2/2,c2,causal",
	"2x99x224,h3/3,b3,p16,ragged",
	"5x40x256,h4/1,b4,w9,ragged",
	"32x50x64,h2/1,causal",
	"2x77x96,h16/8,b2,p6,causal,ragged", /* rows that begin anywhere in 16 bytes, in all tokens alike */
	"1x90x128,h8/4,b3,c5",
	"1x61x224,h8/8,w40",
	"2x77x72,h8/2,b2,p7,causal,ragged,sinks",
	"1x90x40,v16,h6/2,b3,sinks,alibi,ragged",
	"3x70x192,v128,h4/1,w20,causal,alibi,c5",
	"2x60x64,v96,h8/2,b3,causal,prefix,ragged,sinks",
	"2x66x96,v32,h4/4,b2,p5",
	"3x70x160,v64,vk,h8/1,b2,causal,prefix,w30",
	"2x50x96,v72,vk,h8/2,b3,p6,ragged,causal,sinks,alibi,prefix",
	"1x80x88,v200,h2/2,b2",
	"2x40x576,v512,vk,h6/1,b2,p6,causal,ragged",
	"2x40x512,h4/1,b2,causal,sinks",
	"1x50x328,v320,h3/1,b2,alibi",
	"1x40x128,v288,h4/1,b2",
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

static void apply(const struct way *way, const struct tcb_shape *shape, struct tcb_geometry *out)
{
	const unsigned heads = way->heads ? way->heads : (unsigned)out->knob[TCB_KNOB_HEADS];
	out->tile[TCB_MICRO].m = way->tokens ? way->tokens : way->row_warps ? 1 : out->tile[TCB_MICRO].m;
	out->tile[TCB_MIDI].m = out->tile[TCB_MICRO].m * tcb_most(way->row_warps, 1);
	out->tile[TCB_MICRO].n = way->kv;
	out->tile[TCB_MICRO].k = out->tile[TCB_MIDI].k / tcb_most(way->values, 1);
	out->tile[TCB_MIDI].n = (size_t)way->kv * way->warps / tcb_most(way->row_warps, 1) / tcb_most(way->values, 1);
	out->tile[TCB_MACRO].m = tcb_most(out->tile[TCB_MIDI].m, tcb_power_of_two_up(shape->m));
	out->tile[TCB_MACRO].n = tcb_most(out->tile[TCB_MIDI].n, tcb_power_of_two_up(shape->n));
	out->knob[TCB_KNOB_HEADS] = (int32_t)tcb_least(heads, attention_group(shape));
	out->knob[TCB_KNOB_WARPS] = (int32_t)way->warps;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)way->splitk;
	out->knob[TCB_KNOB_CLUSTER] = way->cluster ? (int32_t)way->cluster : 1;
	out->knob[TCB_KNOB_JOIN] = way->splitk == 1 && !way->blocks ? TCB_JOIN_NONE : (int32_t)way->join;
	out->knob[TCB_KNOB_OCC] = way->blocks ? way->blocks : 1;
	out->knob[TCB_KNOB_SCHED] = way->blocks ? TCB_SCHED_STREAMK : TCB_KNOB_UNSET;
	out->knob[TCB_KNOB_BLOCKS] = way->blocks ? way->blocks : TCB_KNOB_UNSET;
	out->knob[TCB_KNOB_COPY] = way->is_bulk ? TCB_COPY_BULK : way->stages ? TCB_COPY_ASYNC : TCB_COPY_LDG;
	out->knob[TCB_KNOB_STAGES] = way->stages ? way->stages : 1;
	out->knob[TCB_KNOB_LEAD] = way->lead ? way->lead : TCB_KNOB_UNSET;
	out->knob[TCB_KNOB_PDL] = way->lead ? 1 : out->knob[TCB_KNOB_PDL];
	out->knob[TCB_KNOB_VEC] = way->vec ? way->vec : out->knob[TCB_KNOB_VEC];
	if (out->knob[TCB_KNOB_GROUP] != TCB_KNOB_UNSET)
		out->knob[TCB_KNOB_GROUP] = way->group;
}

/* SMS: multiprocessors that the kernel is for; 0: as many as the GPU has. */
static void emulate(const struct tcb_op *op, const struct tcb_problem *problem, unsigned capability, unsigned sms,
		    const struct tcb_geometry *geometry, const char *shape)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	struct tcb_kernel_emulation emulation;
	struct tcb_kernel kernel;
	struct tcb_error err;
	struct tcb_gpu gpu;
	char text[TCB_GEOMETRY_TEXT_MAX];
	tcb_geometry_print(geometry, text);
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	gpu.device.target.cuda.sm_count = sms ? sms : gpu.device.target.cuda.sm_count;
	if (tcb_kernel_emit(problem, &gpu.device.target, geometry, &kernel, &err) != TCB_OK ||
	    tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s %s sm_%u %s: %s", op->name, shape, capability, text, err.message);
	if (emulation.findings || emulation.calls_differ || !(emulation.error_ratio <= 1))
		fail_msg("%s %s %s sm_%u %s: %g of what is allowed", op->name, tcb_contract_text(problem->contract),
			 shape, capability, text, emulation.error_ratio);
	assert_int_equal(kernel.not_simulated != NULL, geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK);
	tcb_kernel_fini(&kernel);
}

/* Each way at each shape under one of the op's contracts, and on one GPU or another. */
static void every_way_is_right(void **state)
{
	static const unsigned capabilities[] = { 80, 90, 120 };
	unsigned legal[OPS][WAYS] = { 0 };
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * WAYS * SHAPES; i++) {
		const size_t at_op = i % OPS, at_way = i / OPS % WAYS, at_shape = i / OPS / WAYS;
		const struct tcb_op *op = tcb_op_find(op_names[at_op]);
		const unsigned all = capabilities[(i + at_shape) % 3];
		const int is_90 = ways[at_way].cluster || ways[at_way].lead || ways[at_way].is_bulk;
		const unsigned capability = is_90 && all < 90 ? 90 : all;
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err;
		if (!attention_takes(op_names[at_op], shapes[at_shape]))
			continue; /* blocks have 32 values */
		assert_int_equal(tcb_shape_parse(shapes[at_shape], &shape, &err), TCB_OK);
		const enum tcb_contract contract = contracts[(at_op + at_way + at_shape) % CONTRACTS];
		assert_int_equal(tcb_problem_init(op, contract, &shape, &problem, &err), TCB_OK);
		attention_stride(&problem, i / OPS);
		assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		apply(&ways[at_way], &shape, &geometry);
		if (tcb_constraint_require(&problem, &gpu.device.target, &geometry, NULL) != TCB_OK)
			continue; /* too many registers, warps without anything to do, blocks by ldg */
		legal[at_op][at_way]++;
		/* Some shapes of each op and way, some ops of each way and shape. */
		const int is_of_part = (at_op + at_way + 2 * at_shape) % 3 == test_part() % 3;
		if (test_leaves_out(i) || !(test_takes_all() || is_of_part))
			continue;
		/* few blocks that stay, so that they have parts of several tiles */
		emulate(op, &problem, capability, ways[at_way].blocks ? 1 + (unsigned)at_shape % 5 : 0, &geometry,
			shapes[at_shape]);
	}
	for (size_t i = 0; i < (size_t)OPS * WAYS; i++)
		if (!legal[i / WAYS][i % WAYS] &&
		    (i / WAYS == OPS - 1
			     ? ways[i % WAYS].stages > 0 && !(ways[i % WAYS].is_bulk && ways[i % WAYS].values)
			     : ways[i % WAYS].vec % 16 == 0))
			fail_msg("way %zu of %s was nowhere legal", i % WAYS, op_names[i / WAYS]);
}

/* More sequences than a warp has lanes, fewer blocks than tiles and more than pieces, tiles whose parts are more than
 * are loaded at once; lengths 0 and 1 among those of all. */
static void lengths_are_dealt(void **state)
{
	static const struct {
		const char *shape;
		unsigned sms;
	} rows[] = {
		{ "1x40x32,h2/1,b70,ragged", 3 },
		{ "1x40x32,h2/1,b70,ragged", 61 },
		{ "3x100x64,h8/2,b5,ragged,causal", 1 },
		{ "3x100x64,h8/2,b5,ragged,causal", 200 },
		{ "2x77x96,h6/2,b9,p6,w30,c3,ragged", 7 },
		{ "17x300x64,h4/1,b3,ragged,causal,w90", 23 },
		{ "1x900x128,h8/1", 29 },
		{ "2x300x128,h8/2,b3,ragged,causal", 5 },
		{ "1x50x64,v32,h4/2,b40,ragged,sinks,causal,prefix", 7 },
		{ "2x90x96,h4/1,b5,p7,w20,causal,prefix,alibi,sinks", 9 },
	};
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * CONTRACTS * sizeof(rows) / sizeof(*rows); i++) {
		static const struct way way = { .warps = 2, .kv = 8, .splitk = 1, .join = TCB_JOIN_LAST, .blocks = 1 };
		const size_t at = i / OPS / CONTRACTS;
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		struct way own = way;
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err;
		if (test_leaves_out(i))
			continue;
		assert_int_equal(tcb_shape_parse(rows[at].shape, &shape, &err), TCB_OK);
		assert_int_equal(tcb_problem_init(op, contracts[i / OPS % CONTRACTS], &shape, &problem, &err), TCB_OK);
		attention_stride(&problem, i / OPS);
		assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		own.is_bulk = at % 2 && attention_gpu_has_bulk(&problem, &gpu.device.target);
		own.stages = own.is_bulk || geometry.knob[TCB_KNOB_COPY] == TCB_COPY_ASYNC ? 2 : 0;
		own.vec = own.is_bulk ? 16 : 0;
		apply(&own, &shape, &geometry);
		if (tcb_constraint_require(&problem, &gpu.device.target, &geometry, &err) != TCB_OK)
			fail_msg("%s %s: %s", op->name, rows[at].shape, err.message);
		emulate(op, &problem, 90, rows[at].sms, &geometry, rows[at].shape);
	}
}

/* The default geometry of OP for a shape on a GPU is legal. */
static void require_default(const struct tcb_op *op, enum tcb_contract contract, unsigned capability,
			    const struct tcb_shape *shape)
{
	char text[TCB_SHAPE_TEXT_MAX];
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_gpu gpu;
	struct tcb_error err;
	tcb_shape_print(shape, text);
	assert_int_equal(tcb_problem_init(op, contract, shape, &problem, &err), TCB_OK);
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	tcb_op_standard(&problem, &gpu.device.target, &geometry);
	if (tcb_constraint_require(&problem, &gpu.device.target, &geometry, &err) != TCB_OK)
		fail_msg("%s %s %s on sm_%u: %s", op->name, tcb_contract_text(contract), text, capability, err.message);
}

static const unsigned all_capabilities[] = { 80, 86, 89, 90, 100, 103, 120 };
enum { CAPABILITIES = sizeof(all_capabilities) / sizeof(*all_capabilities) };

static void defaults_are_legal(void **state)
{
	static const unsigned groups[] = { 1, 4, 5, 7, 8, 16, 32, 64 };
	(void)state;
	for (unsigned i = 0; i < OPS * CONTRACTS * 6 * 8 * 8 * 4; i++) {
		const unsigned capability = all_capabilities[i / OPS / CONTRACTS % 6 + (i / OPS / CONTRACTS % 6 == 5)];
		const unsigned group = groups[i / OPS / CONTRACTS / 6 % 8], k = 32 * (1 + i / OPS / CONTRACTS / 48 % 8);
		struct tcb_shape shape = { i / OPS / CONTRACTS / 384 % 2 ? 1 : 9, i & 1 ? 7 : 4096, k };
		shape.words = (struct tcb_words){ .query = 3 * group, .kv = 3, .sequences = 2 };
		require_default(tcb_op_find(op_names[i % OPS]), contracts[i / OPS % CONTRACTS], capability, &shape);
	}
}

/* Heads of every width, V's drawn, with and without all that a shape may have. */
static void defaults_of_all_heads_are_legal(void **state)
{
	static const unsigned groups[] = { 1, 5, 8, 16, 24, 128 };
	(void)state;
	for (unsigned i = 0; i < OPS * CONTRACTS * CAPABILITIES * 72; i++) {
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		const unsigned group = groups[i / 7 % 6],
			       k = ATTENTION_HEAD_UNIT * (1 + i / OPS / CONTRACTS / CAPABILITIES);
		const int is_view = i % 5 == 0, has_all = i % 2;
		const unsigned unit = i % OPS == OPS - 1 ? ATTENTION_BLOCK : ATTENTION_HEAD_UNIT;
		const unsigned drawn = unit * (1 + i * 29 % (ATTENTION_HEAD_MAX / unit));
		struct tcb_shape shape = { i % 11 ? 1 : 9, i % 13 ? 4096 : 7, k };
		shape.words = (struct tcb_words){ .query = group, .kv = 1, .sequences = 2 };
		shape.words.values = is_view && drawn > k ? k : drawn;
		shape.words.view = (uint32_t)is_view;
		shape.words.causal = shape.words.sinks = shape.words.alibi = shape.words.prefix = (uint32_t)has_all;
		if (k % unit == 0)
			require_default(op, contracts[i / OPS % CONTRACTS],
					all_capabilities[i / OPS / CONTRACTS % CAPABILITIES], &shape);
	}
}

/* --- data with -inf and NaN --- */

/*
 * Of sequence 1 K of token 1 has a NaN in KV head 1, V of token 2 in KV head 0; q of sequence 0 is infinite in two
 * heads, whose results are NaN, and as small as can be in the next.  Of its KV head 1 K of token 2 is -inf, times
 * values of q that are exact in one term and such that are not; with a cap that is as small as scores get.
 */
static void fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = (size_t)s->words.kv * s->k, group = attention_group(s);
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	attention_put(problem, operand, ATTENTION_K, (s->n + 1) * row + s->k + 3, NAN);
	attention_put(problem, operand, ATTENTION_V, (s->n + 2) * row + 3, NAN);
	for (size_t d = 0; d < 2 * s->k; d += s->k / 2)
		attention_put(problem, operand, ATTENTION_Q, d, INFINITY);
	for (size_t d = 2 * s->k; d < 3 * s->k; d++)
		attention_put(problem, operand, ATTENTION_Q, d,
			      problem->contract == TCB_CONTRACT_F32 ? 0x1p-140f : 0x1p-24f);
	for (size_t d = 3 * s->k; d < 4 * s->k; d++)
		attention_put(problem, operand, ATTENTION_Q, d, d % 2 ? 0x1p90f : 0x1p-20f);
	for (size_t i = 0; i < s->m * group * ATTENTION_BLOCK; i++) {
		const size_t q = i / ATTENTION_BLOCK;
		attention_put(problem, operand, ATTENTION_Q,
			      (q / group * s->words.query + group + q % group) * s->k + i % ATTENTION_BLOCK,
			      q % 2 ? 1 : 0x1.234566p0f);
	}
	attention_put(problem, operand, ATTENTION_K, 2 * row + s->k, -INFINITY);
}

static void data_that_are_not_finite(void **state)
{
	static const char *const odd[] = { "2x77x64,h8/2,b5,causal,ragged", "1x77x96,h8/2,b2", "3x50x128,h8/2,b3",
					   "2x40x256,h8/2,b2,c9" };
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * CONTRACTS * 4; i++) {
		struct tcb_op op = *tcb_op_find(op_names[i % OPS]);
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err;
		assert_int_equal(tcb_shape_parse(odd[i / OPS / CONTRACTS], &shape, &err), TCB_OK);
		op.fill = fill_odd;
		assert_int_equal(tcb_problem_init(&op, contracts[i / OPS % CONTRACTS], &shape, &problem, &err), TCB_OK);
		assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		emulate(&op, &problem, 90, 0, &geometry, odd[i / OPS / CONTRACTS]);
		if (geometry.knob[TCB_KNOB_GROUP] == TCB_KNOB_UNSET)
			continue;
		geometry.knob[TCB_KNOB_GROUP] = geometry.knob[TCB_KNOB_GROUP] ? 0 : 256;
		emulate(&op, &problem, 90, 0, &geometry, odd[i / OPS / CONTRACTS]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_is_right),       cmocka_unit_test(lengths_are_dealt),
		cmocka_unit_test(defaults_are_legal),       cmocka_unit_test(defaults_of_all_heads_are_legal),
		cmocka_unit_test(data_that_are_not_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
