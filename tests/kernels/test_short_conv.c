/* SPDX-License-Identifier: MIT
 *
 * The short convolution before recurrent layers: the reference against the definition; on CPUs one pool that is both
 * operands, tokens one by one as all together; what is refused.  GPU kernels drawn from the whole product in the
 * emulator, right and without findings; mutants, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/delta/short_conv.h"

static const char *const op_names[] = { "short_conv_decode_f32", "short_conv_prefill_f32" };
enum { OPS = 2 };
/* The stores of y of two tokens come first. */
enum { MUTANT_STATE = 2 };

/* Rows of 4 n, 2 n and odd channels; sequences with none, one and all tokens. */
static const char *const shapes[] = {
	"1x16x16,h4/2",  "1x40x64,h6/3,b3", "3x33x96,h7/1,b5,ragged", "4x64x16,h2/2,b4,ragged",
	"8x5x3,h8/4,b2", "2x1x1,h1/1",      "5x3x5,h5/1,b5,ragged",   "16x300x64,h4/2",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct tcb_problem problem_of(size_t op, const char *text)
{
	struct tcb_shape shape;
	assert_int_equal(tcb_shape_parse(text, &shape, NULL), TCB_OK);
	if (shape.m > 2 && op)
		shape.m = 6 * shape.m + 1; /* tiles of tokens, and some */
	return gpu_problem(tcb_op_find(op_names[op]), TCB_CONTRACT_F32, shape);
}

static size_t kept(const struct tcb_problem *p)
{
	return strstr(p->op_name, "prefill") ? 1 : p->shape.m;
}

/* --- what it is --- */

/* Channel C of SEQUENCE by the definition: its tokens behind three of before in one row. */
static void plain(const struct gpu_bench *b, size_t sequence, size_t c, double *y, double *states)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t row = b->operand[CONV_X].cols, count = (size_t)((const int32_t *)b->data[CONV_COUNTS])[sequence];
	const int32_t *slots = (const int32_t *)b->data[CONV_SLOTS] + sequence * (1 + kept(&b->problem));
	const float *weights = b->data[CONV_WEIGHTS];
	double *x = test_calloc(3 + s->m, sizeof *x);
	for (size_t i = 0; i < 3 && slots[0] >= 0; i++)
		x[i] = (double)((const float *)b->data[CONV_STATES])[((size_t)slots[0] * 3 + i) * row + c];
	for (size_t t = 0; t < count; t++)
		x[3 + t] = (double)((const float *)b->data[CONV_X])[(sequence * s->m + t) * row + c];
	for (size_t t = 0; t < count; t++) {
		double sum = (double)((const float *)b->data[CONV_BIAS])[c];
		for (size_t i = 0; i < 4; i++)
			sum += (double)weights[i * row + c] * x[t + i];
		y[(sequence * s->m + t) * row + c] = sum / (1 + exp(-sum));
		const int32_t slot = kept(&b->problem) == s->m ? slots[1 + t] : t + 1 == count ? slots[1] : -1;
		for (size_t i = 0; i < 3 && slot >= 0; i++)
			states[((size_t)slot * 3 + i) * row + c] = x[t + 1 + i];
	}
	test_free(x);
}

static void compare(const struct gpu_bench *b, size_t output, const double *want)
{
	const struct tcb_operand *o = &b->operand[CONV_Y + output];
	const struct tcb_reference *reference = &b->reference[output];
	for (size_t i = 0; i < o->rows * o->cols; i++) {
		const int is_written = !isnan(want[i]);
		if (isnan(reference->y[i]) == is_written ||
		    (is_written && !(fabs(reference->y[i] - want[i]) <= 1e-12 * reference->magnitude[i])))
			fail_msg("%s: %s %zu is %g, not %g", b->problem.op_name, o->name, i, reference->y[i], want[i]);
	}
}

static double *nothing(const struct tcb_operand *o)
{
	double *out = test_malloc(o->rows * o->cols * sizeof *out);
	for (size_t i = 0; i < o->rows * o->cols; i++)
		out[i] = (double)NAN;
	return out;
}

static void reference_is_the_definition(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * SHAPES; i++) {
		const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS]);
		struct gpu_bench b;
		gpu_bench_open(&b, &p, 3 + i);
		double *y = nothing(&b.operand[CONV_Y]), *states = nothing(&b.operand[CONV_STATES_OUT]);
		for (size_t sequence = 0; sequence < p.shape.words.sequences; sequence++)
			for (size_t c = 0; c < b.operand[CONV_X].cols; c++)
				plain(&b, sequence, c, y, states);
		compare(&b, 0, y);
		compare(&b, 1, states);
		test_free(y);
		test_free(states);
		gpu_bench_close(&b);
	}
}

/* --- on CPUs --- */

static void run_on_cpu(const struct tcb_problem *p, const struct tcb_geometry *g, void *const operand[])
{
	struct tcb_pool *pool;
	struct tcb_plan plan;
	struct tcb_error err;
	if (tcb_op_cpu(p->op)->plan(p, g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_pool_create(plan.threads, NULL, &pool, NULL), TCB_OK);
	tcb_op_cpu(p->op)->run(&plan, operand, NULL, pool);
	tcb_pool_destroy(pool);
}

/* A new state in the place of the old one, by several threads, of which one has the first tokens. */
static void one_pool_is_both(void **state)
{
	struct tcb_device device;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 2, &device, NULL), TCB_OK);
	for (size_t i = 0; i < OPS * SHAPES; i++) {
		const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS]);
		struct tcb_geometry g;
		struct gpu_bench b;
		struct tcb_plan plan;
		void *operand[TCB_OPERANDS_MAX];
		size_t bad = 0;
		tcb_op_standard(&p, &device.target, &g);
		if (i % OPS && p.shape.m >= 16)
			g.tile[TCB_MIDI].m = 16;
		gpu_bench_open(&b, &p, i);
		char *pool = test_malloc(b.operand[CONV_STATES_OUT].bytes + b.operand[CONV_STATES].bytes);
		const size_t bytes = b.operand[CONV_STATES].bytes / p.shape.words.sequences;
		memset(pool, 0xff, b.operand[CONV_STATES_OUT].bytes);
		for (size_t sequence = 0; sequence < p.shape.words.sequences; sequence++) {
			int32_t *slots = (int32_t *)b.data[CONV_SLOTS] + sequence * (1 + kept(&p));
			const size_t count = (size_t)((const int32_t *)b.data[CONV_COUNTS])[sequence];
			const int32_t last = slots[kept(&p) == 1 ? 1 : count];
			if (slots[0] < 0 || !count || last < 0)
				continue;
			memcpy(pool + (size_t)last * bytes,
			       (const char *)b.data[CONV_STATES] + (size_t)slots[0] * bytes, bytes);
			slots[0] = last;
		}
		memcpy(operand, b.data, sizeof operand);
		operand[CONV_STATES] = operand[CONV_STATES_OUT] = pool;
		operand[CONV_Y] = test_malloc(b.operand[CONV_Y].bytes);
		memset(operand[CONV_Y], 0xff, b.operand[CONV_Y].bytes);
		run_on_cpu(&p, &g, operand);
		assert_int_equal(tcb_op_cpu(b.op)->plan(&p, &g, &plan, NULL), TCB_OK);
		if (!(tcb_output_error_ratio(&plan, &b.operand[CONV_Y], &b.reference[0], operand[CONV_Y], 0,
					     b.operand[CONV_Y].rows * b.operand[CONV_Y].cols, &bad) <= 1))
			fail_msg("%s %s: y %zu is not %g", p.op_name, shapes[i / OPS], bad, b.reference[0].y[bad]);
		test_free(operand[CONV_Y]);
		test_free(pool);
		gpu_bench_close(&b);
	}
}

/* A prompt, and the same tokens in calls of 1 to 5, each from the slot where the one before it ended: bit for bit. */
static void tokens_one_by_one(void **state)
{
	enum { TOKENS = 23, ROW = 2 * 2 * 3 + 4 * 9, STATE = 3 * ROW };
	struct tcb_device device;
	struct tcb_shape shape;
	struct gpu_bench b;
	struct tcb_geometry g;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	assert_int_equal(tcb_shape_parse("23x9x3,h4/2", &shape, NULL), TCB_OK);
	const struct tcb_problem whole = gpu_problem(tcb_op_find(op_names[1]), TCB_CONTRACT_F32, shape);
	gpu_bench_open(&b, &whole, 7);
	assert_int_equal(b.operand[CONV_X].cols, ROW);
	float *y = test_malloc(TOKENS * ROW * sizeof(float)), *part = test_malloc(TOKENS * ROW * sizeof(float));
	float *end = test_malloc(STATE * sizeof(float)), *pool = test_malloc(5 * STATE * sizeof(float));
	void *operand[TCB_OPERANDS_MAX];
	memcpy(operand, b.data, sizeof operand);
	operand[CONV_Y] = y;
	operand[CONV_STATES_OUT] = end;
	tcb_op_standard(&whole, &device.target, &g);
	run_on_cpu(&whole, &g, operand);
	memcpy(pool, (const float *)b.data[CONV_STATES], STATE * sizeof(float));
	int32_t slots[6] = { 0, 0, 1, 2, 3, 4 };
	for (size_t t = 0, m = 1; t < TOKENS; t += m) {
		m = t % 5 + 1 < TOKENS - t ? t % 5 + 1 : TOKENS - t;
		shape.m = m;
		const struct tcb_problem p = gpu_problem(tcb_op_find(op_names[0]), TCB_CONTRACT_F32, shape);
		const int32_t count = (int32_t)m;
		operand[CONV_X] = (float *)b.data[CONV_X] + t * ROW;
		operand[CONV_Y] = part + t * ROW;
		operand[CONV_STATES] = operand[CONV_STATES_OUT] = pool;
		operand[CONV_COUNTS] = (void *)(uintptr_t)&count;
		operand[CONV_SLOTS] = slots;
		tcb_op_standard(&p, &device.target, &g);
		run_on_cpu(&p, &g, operand);
		slots[0] = slots[m];
	}
	assert_memory_equal(part, y, TOKENS * ROW * sizeof(float));
	assert_memory_equal(pool + (size_t)slots[0] * STATE, end, STATE * sizeof(float));
	test_free(y);
	test_free(part);
	test_free(end);
	test_free(pool);
	gpu_bench_close(&b);
}

static void shapes_that_it_does_not_take(void **state)
{
	static const struct {
		const char *shape, *says;
	} wrong[] = { { "1x64x128,h8/2,causal", "takes" },
		      { "1x64x128", "1x128x128,h32/16" },
		      { "17x64x128,h8/2", "up to 16" },
		      { "1x2000000x128,h2048/2", "2^31" } };
	(void)state;
	for (size_t i = 0; i < OPS * sizeof wrong / sizeof *wrong; i++) {
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_error err;
		if (strstr(wrong[i / OPS].says, "up to") && i % OPS)
			continue;
		assert_int_equal(tcb_shape_parse(wrong[i / OPS].shape, &shape, &err), TCB_OK);
		assert_int_not_equal(
			tcb_problem_init(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F32, &shape, &problem, &err),
			TCB_OK);
		if (!strstr(err.message, wrong[i / OPS].says))
			fail_msg("%s: %s", wrong[i / OPS].shape, err.message);
	}
}

/* --- GPU kernels --- */

static void defaults_are_legal_and_in_the_space(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * SHAPES; i++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++) {
			const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS]);
			gpu_check_default(&p, gpu_capabilities[c]);
		}
}

static void samples_are_right(void **state)
{
	const size_t count = gpu_sample_size(96);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS % SHAPES]);
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ "no y", { REMOVE, TCB_PTX_OP_ST, 0 } },
		{ "y elsewhere", { MOVE, TCB_PTX_OP_ST, 0 } },
		{ "no state", { REMOVE, TCB_PTX_OP_ST, MUTANT_STATE } },
		{ "a state elsewhere", { MOVE, TCB_PTX_OP_ST, MUTANT_STATE + 2 } },
		{ "no product", { REMOVE, TCB_PTX_OP_FMA, 0 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_problem p = problem_of(0, "2x7x16,h2/1,b3,ragged");
		gpu_check_mutant(&p, &target, "macro=2x1x1,midi=2x1x1,micro=1x1x1,isa=fma,warps=1,vec=8,pdl=0",
				 cases[i].what, &cases[i].mutation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_definition),
		cmocka_unit_test(one_pool_is_both),
		cmocka_unit_test(tokens_one_by_one),
		cmocka_unit_test(shapes_that_it_does_not_take),
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
