/* SPDX-License-Identifier: MIT
 *
 * Products of experts: what tuning draws, the reference against sums written
 * out, and that any routing is right: nobody, everybody, twice, and ids that
 * are no expert's, with every family of the machine, on guarded buffers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/cpu_isas.h"
#include "base/sizes.h"
#include "base/tiles.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "expert_routings.h"
#include "kernels/quant_experts/quant_experts.h"
#include "kernels/space.h"

enum { THREADS = 2, EXPERTS_MAX = 64 };

static struct tcb_target target;
static struct tcb_pool *pool;

static struct tcb_shape shape_of(const char *text)
{
	struct tcb_shape shape;
	struct tcb_error err;
	if (tcb_shape_parse(text, &shape, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return shape;
}

/* ---- what tuning draws ---- */

static size_t count_touched(const struct tcb_shape *shape, const int32_t *ids, unsigned char is_touched[EXPERTS_MAX])
{
	size_t count = 0;
	memset(is_touched, 0, EXPERTS_MAX);
	for (size_t i = 0; i < qex_pairs(shape); i++) {
		assert_in_range(ids[i], 0, qex_experts(shape) - 1);
		for (size_t j = i - i % qex_used(shape); j < i; j++)
			assert_int_not_equal(ids[i], ids[j]); /* a token uses none twice */
		count += !is_touched[ids[i]];
		is_touched[ids[i]] = 1;
	}
	return count;
}

static void test_drawn(void **state)
{
	static const char *const shapes[] = { "1x1x256,e64/8",         "4x1x256,e64/8,even",
					      "300x1x256,e64/8",       "300x1x256,e64/8,one",
					      "9x1x256,e8/8",          "50x1x256,e8/7,zipf9.9",
					      "7x1x256,e60/6,shared2", "9x1x256,e40/4,one,shared1" };
	int32_t ids[300 * 8];
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct tcb_shape shape = shape_of(shapes[i]);
		const size_t touched = qex_touched(&shape), experts = qex_experts(&shape);
		unsigned char before[EXPERTS_MAX], now[EXPERTS_MAX];
		for (uint64_t seed = 0; seed < 9; seed++) {
			size_t both = 0;
			qex_draw(&shape, seed, ids);
			assert_int_equal(count_touched(&shape, ids, now), touched);
			for (size_t j = 0; j < qex_pairs(&shape); j++) /* a shared one is all tokens' */
				if (j % qex_used(&shape) >= shape.words.used)
					assert_int_equal(ids[j], ids[j % qex_used(&shape)]);
			for (size_t e = 0; seed > 0 && e < experts; e++)
				both += before[e] && now[e];
			/* Seeds in turn share only what there is no other expert for. */
			assert_int_equal(both, seed > 0 && 2 * touched > experts ? 2 * touched - experts : 0);
			memcpy(before, now, sizeof(before));
		}
	}
	const struct tcb_shape one = shape_of("300x1x256,e64/8,one"), even = shape_of("300x1x256,e64/8,even"),
			       skewed = shape_of("20x1x256,e64/8,zipf2.0"), flat = shape_of("20x1x256,e64/8,even");
	assert_int_equal(qex_touched(&one), 8);
	assert_int_equal(qex_touched(&even), 64);
	assert_true(qex_touched(&skewed) < qex_touched(&flat));
}

static void test_shapes(void **state)
{
	static const struct {
		const char *op, *shape, *part;
	} bad[] = {
		{ "q4k_experts_matmul", "1x16x256", "for example 32x768x2048,e128/8" },
		{ "q4k_experts_matmul", "1x16x100,e4/2", "a multiple of 256" },
		{ "q4k_experts_matmul", "1x16x256,e4/2,even,one", "one of even, one and zipf" },
		{ "q4k_experts_matmul", "1x16x256,e4/2,even,zipf2.0", "one of even, one and zipf" },
		{ "q4k_experts_matmul", "1x16x256,h4/2", "does not take words of a shape such as h32/8" },
		{ "q4k_experts_sum_matmul", "1x16x256,e4/2,each", "such as each" },
		{ "q4k_experts_sum_matmul", "1x16x256,e4/2,oai", "such as oai" },
		{ "q4k_experts_matmul", "1x16x256,e4096/2,shared1", "at most 4096 experts" },
		{ "q4k_experts_matmul", "1x16x256,e512/256,shared1", "and 256 of a token" },
		{ "q4k_matmul", "1x16x256,e4/2", "does not take words" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct tcb_shape shape = shape_of(bad[i].shape);
		struct tcb_error err;
		assert_int_equal(tcb_op_check_shape(tcb_op_find(bad[i].op), &shape, &err), TCB_E_USAGE);
		if (!strstr(err.message, bad[i].part))
			fail_msg("%s %s: %s", bad[i].op, bad[i].shape, err.message);
	}
}

/* Only the experts that are used count as read. */
static void test_touched_bytes(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_experts_swiglu_matmul");
	const struct tcb_shape shape = shape_of("1x32x256,e16/2");
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_problem problem;
	(void)state;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &shape, &problem, NULL), TCB_OK);
	assert_int_equal(op->operands(&problem, operands), 5);
	assert_int_equal(operands[TCB_QUANT_WEIGHTS].bytes, 16 * 32 * 144);
	assert_int_equal(operands[TCB_QUANT_WEIGHTS].touched, 2 * 32 * 144);
	assert_int_equal(operands[QEX_UP].touched, 2 * 32 * 144);
	assert_true(op->traffic(&problem) == 2 * 2 * 32 * 144 + 4 * (256 + 2 * 32 + 2));
	assert_true(op->flops(&problem) == 2 * 32 * (4 * 256 + 5));

	/* A shared expert is one more of both; biases are read of those that are used. */
	const struct tcb_shape more = shape_of("1x32x256,e16/2,shared1,bias,oai");
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &more, &problem, NULL), TCB_OK);
	assert_int_equal(op->operands(&problem, operands), 7);
	assert_int_equal(operands[QEX_UP].bytes, 17 * 32 * 144);
	assert_int_equal(operands[QEX_IDS].cols, 3);
	assert_string_equal(operands[qex_bias(&problem)].name, "gate_bias");
	assert_int_equal(operands[qex_bias(&problem) + 1].bytes, 17 * 32 * 4);
	assert_int_equal(operands[qex_bias(&problem) + 1].touched, 3 * 32 * 4);
	assert_true(op->traffic(&problem) == 3 * 2 * 32 * (144 + 4) + 4 * (256 + 3 * 32 + 3));
}

/* ---- one problem ---- */

struct bench {
	struct tcb_problem problem;
	size_t operand_count, outputs;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_buffer buffers[TCB_OPERANDS_MAX];
	struct tcb_reference reference;
};

static void guarded(size_t bytes, struct tcb_buffer *out)
{
	struct tcb_error err;
	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void bench_init(struct bench *b, const char *op, enum tcb_contract contract, const char *text)
{
	const struct tcb_shape shape = shape_of(text);
	void *data[TCB_OPERANDS_MAX];
	struct tcb_error err;
	memset(b, 0, sizeof(*b));
	if (tcb_problem_init(tcb_op_find(op), contract, &shape, &b->problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	b->operand_count = b->problem.op->operands(&b->problem, b->operands);
	for (size_t i = 0; i < b->operand_count; i++) {
		guarded(b->operands[i].bytes, &b->buffers[i]);
		data[i] = b->buffers[i].data;
	}
	b->problem.op->fill(&b->problem, 5, data);
	b->outputs = b->operands[TCB_QUANT_Y].rows * b->operands[TCB_QUANT_Y].cols;
	double *doubles = malloc(3 * b->outputs * sizeof(double));
	assert_non_null(doubles);
	b->reference = (struct tcb_reference){ doubles, doubles + b->outputs, doubles + 2 * b->outputs };
}

static void bench_fini(struct bench *b)
{
	for (size_t i = 0; i < b->operand_count; i++)
		tcb_buffer_free(&b->buffers[i]);
	free(b->reference.y);
}

static int32_t *ids_of(const struct bench *b)
{
	return b->buffers[QEX_IDS].data;
}

static void refer(struct bench *b)
{
	void *data[TCB_OPERANDS_MAX];
	for (size_t i = 0; i < b->operand_count; i++)
		data[i] = b->buffers[i].data;
	b->problem.op->reference(&b->problem, data, &b->reference);
}

/* Runs GEOMETRY on packed weights where it wants them, everything between guards, outputs and workspace poisoned. */
static void run(struct bench *b, const struct tcb_geometry *geometry, struct tcb_plan *plan)
{
	const struct tcb_op *op = b->problem.op;
	struct tcb_buffer packed[TCB_OPERANDS_MAX] = { { 0 } }, workspace;
	void *data[TCB_OPERANDS_MAX];
	struct tcb_error err;
	if (tcb_op_cpu(op)->plan(&b->problem, geometry, plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	guarded(plan->workspace_bytes, &workspace);
	memset(workspace.data, 0xff, plan->workspace_bytes);
	for (size_t i = 0; i < b->operand_count; i++) {
		data[i] = b->buffers[i].data;
		if (!plan->packed_bytes[i])
			continue;
		guarded(plan->packed_bytes[i], &packed[i]);
		op->pack(&b->problem, i, plan->variant->layout, b->buffers[i].data, packed[i].data);
		data[i] = packed[i].data;
	}
	memset(data[TCB_QUANT_Y], TCB_POISON, b->operands[TCB_QUANT_Y].bytes);
	tcb_op_cpu(op)->run(plan, data, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&b->buffers[TCB_QUANT_Y]), 0);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	for (size_t i = 0; i < b->operand_count; i++)
		if (plan->packed_bytes[i])
			tcb_buffer_free(&packed[i]);
	tcb_buffer_free(&workspace);
}

static void run_and_judge(struct bench *b, const struct tcb_geometry *geometry, const char *what)
{
	struct tcb_plan plan;
	size_t bad = 0;
	run(b, geometry, &plan);
	const double ratio = tcb_error_ratio(&plan, &b->reference, b->buffers[TCB_QUANT_Y].data, b->outputs, &bad);
	if (!(ratio <= 1))
		fail_msg("%s, %s, %s: value %zu is %g, not %g", b->problem.op_name, plan.variant->name, what, bad,
			 (double)((const float *)b->buffers[TCB_QUANT_Y].data)[bad], b->reference.y[bad]);
}

/* ---- the reference ---- */

static double dot(const struct bench *b, size_t which, size_t expert, size_t row, size_t x_row)
{
	const struct tcb_format *format = b->problem.op->format;
	const size_t n = b->problem.shape.n, k = b->problem.shape.k, bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *blocks = (const uint8_t *)b->buffers[which].data + (expert * n + row) * bytes;
	const float *x = (const float *)b->buffers[TCB_QUANT_X].data + x_row * k;
	float w[1024];
	double sum = 0;
	assert_true(k <= 1024);
	tcb_dequantize(format, blocks, k / format->block_values, w);
	for (size_t i = 0; i < k; i++)
		sum += (double)w[i] * (double)x[i];
	return sum;
}

/* As gpt-oss's reference has it. */
static double oai(double gate, double up)
{
	const double g = gate > 7 ? 7 : gate, u = up > 7 ? 7 : up < -7 ? -7 : up;
	return g / (1 + exp(-(double)1.702f * g)) * (u + 1);
}

static double gelu(double gate, double up)
{
	const double z1 = (double)(float)TCB_GELU_Z1, z3 = (double)(float)TCB_GELU_Z3; /* as the kernels have them */
	return gate / (1 + exp(-gate * (z1 + z3 * gate * gate))) * up;
}

static double bias_of(const struct bench *b, size_t which, size_t expert, size_t row)
{
	return b->problem.shape.words.bias
		       ? (double)((const float *)b->buffers[which].data)[expert * b->problem.shape.n + row]
		       : 0;
}

static double written_out(const struct bench *b, size_t y_row, size_t n)
{
	const struct qex_kind *kind = qex_kind(&b->problem);
	const size_t used = qex_used(&b->problem.shape), first = kind->is_summed ? y_row * used : y_row;
	const size_t bias = qex_bias(&b->problem);
	double sum = 0;
	for (size_t pair = first; pair < first + (kind->is_summed ? used : 1); pair++) {
		const size_t expert = (uint32_t)ids_of(b)[pair];
		const size_t x_row = qex_has_rows_each(&b->problem) ? pair : pair / used;
		if (expert >= qex_experts(&b->problem.shape))
			continue;
		double value = dot(b, TCB_QUANT_WEIGHTS, expert, n, x_row) + bias_of(b, bias, expert, n);
		if (kind->is_gated) {
			const double up = dot(b, QEX_UP, expert, n, x_row) + bias_of(b, bias + 1, expert, n);
			value = b->problem.shape.words.oai    ? oai(value, up)
				: b->problem.shape.words.gelu ? gelu(value, up)
							      : value / (1 + exp(-value)) * up;
		}
		if (kind->is_summed)
			value *= (double)((const float *)b->buffers[QEX_FACTORS].data)[pair];
		sum += value;
	}
	return sum;
}

static const struct {
	const char *op, *shape;
} cases[] = {
	{ "q4k_experts_matmul", "13x37x512,e5/3" },
	{ "q80_experts_matmul", "13x37x96,e5/3,each" },
	{ "q4k_experts_swiglu_matmul", "13x37x512,e5/3" },
	{ "q4k_experts_sum_matmul", "13x37x512,e5/3" },
	{ "q51_experts_matmul", "13x37x96,e5/3,each" },
	{ "q2k_experts_swiglu_matmul", "13x37x512,e5/3" },
	{ "iq2xs_experts_sum_matmul", "13x37x512,e5/3" },
	{ "mxfp4_experts_swiglu_matmul", "13x37x96,e5/3,bias,oai" },
	{ "mxfp4_experts_sum_matmul", "13x37x96,e5/3,bias" },
	{ "q6k_experts_matmul", "13x37x512,e4/2,shared1,bias" },
	{ "iq3s_experts_swiglu_matmul", "13x37x512,e3/1,shared2,bias" },
	{ "q4k_experts_swiglu_matmul", "13x37x256,e3/2,bias,gelu" },
	{ "q5k_experts_sum_matmul", "13x37x512,e4/2,shared1" },
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void test_reference(void **state)
{
	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		struct bench b;
		bench_init(&b, cases[c].op, TCB_CONTRACT_F32, cases[c].shape);
		ids_of(&b)[4] = -7;
		ids_of(&b)[8] = ids_of(&b)[7];
		refer(&b);
		for (size_t i = 0; i < b.outputs; i++) {
			const double y = written_out(&b, i / b.problem.shape.n, i % b.problem.shape.n);
			if (!(fabs(b.reference.y[i] - y) <= 1e-12 * (b.reference.magnitude[i] + 1e-30)))
				fail_msg("%s: value %zu is %g, not %g", cases[c].op, i, b.reference.y[i], y);
		}
		/* A part of it is the same. */
		double part[3][6];
		struct tcb_grid grid = { (const uint32_t[]){ 12, 3 }, (const uint32_t[]){ 36, 0, 5 }, 2, 3 };
		struct tcb_reference drawn = { part[0], part[1], part[2], .grid = &grid };
		void *data[TCB_OPERANDS_MAX];
		for (size_t i = 0; i < b.operand_count; i++)
			data[i] = b.buffers[i].data;
		b.problem.op->reference(&b.problem, data, &drawn);
		for (size_t i = 0; i < 6; i++) {
			const size_t at = grid.rows[i / 3] * b.problem.shape.n + grid.columns[i % 3];
			assert_true(part[0][i] == b.reference.y[at] && part[1][i] == b.reference.magnitude[at] &&
				    part[2][i] == b.reference.extra[at]);
		}
		bench_fini(&b);
	}
}

/* ---- any routing ---- */

/* Of VARIANT, whose tiles the tokens fill, do not fill, or need several of. */
static struct tcb_geometry geometry_of(const struct bench *b, const struct tcb_variant *variant, unsigned threads,
				       int decode)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t n = tcb_round_up(16, variant->micro.n), m = variant->micro.m;
	struct tcb_geometry g;
	tcb_geometry_init(&g);
	g.tile[TCB_MICRO] = variant->micro;
	g.tile[TCB_MIDI] = (struct tcb_tile){ m, n, s->k % 256 ? s->k : 256 };
	g.tile[TCB_MACRO] = threads > 1 ? (struct tcb_tile){ m, n, s->k }
					: (struct tcb_tile){ tcb_round_up(s->m, m), tcb_round_up(s->n, n), s->k };
	g.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
	g.knob[TCB_KNOB_DECODE] = decode;
	g.knob[TCB_KNOB_SCHED] = threads > 1 ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	g.knob[TCB_KNOB_PREFETCH] = decode == TCB_DECODE_REGS ? 512 : 0;
	g.knob[TCB_KNOB_THREADS] = (int32_t)threads;
	return g;
}

static int takes_lines(const struct tcb_variant *variant)
{
	return variant->contract == TCB_CONTRACT_Q8 && variant->layout == TCB_LAYOUT_R16 &&
	       variant->isa != TCB_ISA_SCALAR && !tcb_cpu_isa((int32_t)variant->isa)->has_tiles;
}

static void test_any_routing(void **state)
{
	(void)state;
	for (size_t c = 0; c < CASES; c++)
		for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++) {
			const struct tcb_op *op = tcb_op_find(cases[c].op);
			const struct tcb_variant *variant;
			struct bench b;
			if (!(op->contracts >> contract & 1u))
				continue;
			bench_init(&b, cases[c].op, (enum tcb_contract)contract, cases[c].shape);
			for (int r = 0; r < ROUTINGS; r++) {
				route(&b.problem.shape, (enum routing)r, ids_of(&b));
				refer(&b);
				for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(op), v)); v++) {
					if (variant->contract != (enum tcb_contract)contract ||
					    !tcb_target_has(&target, variant->isa))
						continue;
					struct tcb_geometry g = geometry_of(&b, variant, 1 + v % 2, TCB_DECODE_PANEL);
					run_and_judge(&b, &g, routing_names[r]);
					if (!takes_lines(variant))
						continue;
					g = geometry_of(&b, variant, 2 - v % 2, TCB_DECODE_REGS);
					run_and_judge(&b, &g, routing_names[r]);
				}
			}
			bench_fini(&b);
		}
}

/* gpt-oss's gate where it is not smooth, at its limits and beyond what floats have: NaNs stay NaNs. */
static void test_limits(void **state)
{
	static const float values[] = { 0,     -0.0f,  6.99f,    7,         7.01f, -7, -7.01f,
					1e30f, -1e30f, INFINITY, -INFINITY, NAN,   -60 };
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	const struct tcb_variant *variant;
	struct tcb_plan plan;
	struct bench b;
	(void)state;
	bench_init(&b, "q80_experts_swiglu_matmul", TCB_CONTRACT_F32, "1x169x32,e1/1,bias,oai");
	assert_int_equal(COUNT * COUNT, 169);
	memset(b.buffers[TCB_QUANT_X].data, 0, b.operands[TCB_QUANT_X].bytes); /* the biases are all there is */
	float *gate = b.buffers[qex_bias(&b.problem)].data, *up = b.buffers[qex_bias(&b.problem) + 1].data;
	for (size_t i = 0; i < COUNT * COUNT; i++) {
		gate[i] = values[i / COUNT];
		up[i] = values[i % COUNT];
	}
	for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(b.problem.op), v)); v++) {
		if (variant->contract != TCB_CONTRACT_F32 || !tcb_target_has(&target, variant->isa))
			continue;
		const struct tcb_geometry g = geometry_of(&b, variant, 1, TCB_DECODE_PANEL);
		run(&b, &g, &plan);
		for (size_t i = 0; i < COUNT * COUNT; i++) {
			const double y = (double)((const float *)b.buffers[TCB_QUANT_Y].data)[i];
			const double wanted = oai((double)gate[i], (double)up[i]);
			if (isnan(wanted) ? !isnan(y) : !(fabs(y - wanted) <= 1e-6 * fabs(wanted) + 1e-30))
				fail_msg("%s: %g and %g give %g, not %g", variant->name, (double)gate[i], (double)up[i],
					 y, wanted);
		}
	}
	bench_fini(&b);
}

/* A token's result does not depend on who else is there, nor on the threads, and is the plain matmul's. */
static void test_bits(void **state)
{
	struct bench b, plain;
	struct tcb_plan plan;
	(void)state;
	bench_init(&b, "q4k_experts_matmul", TCB_CONTRACT_Q8, "13x37x512,e5/3");
	bench_init(&plain, "q4k_matmul", TCB_CONTRACT_Q8, "13x37x512");
	const size_t y_bytes = b.operands[TCB_QUANT_Y].bytes, matrix = plain.operands[TCB_QUANT_WEIGHTS].bytes;
	float *first = malloc(y_bytes);
	assert_non_null(first);
	memcpy(plain.buffers[TCB_QUANT_X].data, b.buffers[TCB_QUANT_X].data, b.operands[TCB_QUANT_X].bytes);
	const struct tcb_variant *variant, *best = NULL;
	for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(b.problem.op), v)); v++)
		if (variant->contract == TCB_CONTRACT_Q8 && tcb_target_has(&target, variant->isa) &&
		    !tcb_cpu_isa((int32_t)variant->isa)->has_tiles && variant->micro.m > 1)
			best = variant;
	for (unsigned threads = 1; threads <= THREADS; threads++) {
		struct tcb_geometry g = geometry_of(&b, best, threads, TCB_DECODE_PANEL);
		run(&b, &g, &plan);
		if (threads > 1)
			assert_memory_equal(b.buffers[TCB_QUANT_Y].data, first, y_bytes);
		memcpy(first, b.buffers[TCB_QUANT_Y].data, y_bytes);
	}
	for (size_t e = 0; e < 5; e++) {
		memcpy(plain.buffers[TCB_QUANT_WEIGHTS].data,
		       (const char *)b.buffers[TCB_QUANT_WEIGHTS].data + e * matrix, matrix);
		struct tcb_geometry g = geometry_of(&plain, best, 1, TCB_DECODE_PANEL);
		run(&plain, &g, &plan);
		for (size_t pair = 0; pair < 13 * 3; pair++)
			if (ids_of(&b)[pair] == (int32_t)e)
				assert_memory_equal((const float *)plain.buffers[TCB_QUANT_Y].data + pair / 3 * 37,
						    first + pair * 37, 37 * sizeof(float));
	}
	free(first);
	bench_fini(&b);
	bench_fini(&plain);
}

static int set_up(void **state)
{
	static struct tcb_device device;
	(void)state;
	if (tcb_cpu_identify("cpu", THREADS, &device, NULL) != TCB_OK)
		return -1;
	(void)tcb_tiles_ask(NULL); /* where there are any */
	target = device.target;
	return tcb_pool_create(THREADS, NULL, &pool, NULL) == TCB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_pool_destroy(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),       cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_reference),   cmocka_unit_test(test_touched_bytes),
		cmocka_unit_test(test_any_routing), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_bits),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
