/* SPDX-License-Identifier: MIT
 *
 * What q4k_matvec is judged by, judged itself: the reference against the
 * double results that came with a file written by ggml; every variant of this
 * machine, both contracts, against those same results; the bounds where they
 * are hardest to keep (weights that cancel to 0, activations half a step off)
 * and how near real errors come to them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "cmocka_all.h"
#include "gguf/gguf.h"
#include "kernels/quant.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec.h"

enum { WEIGHTS, X, Y, OPERANDS };

static const struct tcb_op *const op = &tcb_op_q4k_matvec;
static struct tcb_target host;
static struct tcb_pool *pool;

static void *allocate(size_t bytes)
{
	void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
	assert_non_null(data);
	return data;
}

static struct tcb_reference reference_alloc(size_t outputs)
{
	return (struct tcb_reference){ allocate(outputs * sizeof(double)), allocate(outputs * sizeof(double)),
				       allocate(outputs * sizeof(double)), NULL };
}

static void reference_free(struct tcb_reference *reference)
{
	free(reference->y);
	free(reference->magnitude);
	free(reference->extra);
}

/* COUNT elements of SIZE bytes from a fixture, which must hold just as many. */
static void *load(const char *name, size_t count, size_t size)
{
	char path[512];
	void *data = allocate(count * size + size);
	snprintf(path, sizeof(path), "%s/%s", TCB_FIXTURES, name);
	FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot open %s", path);
	assert_int_equal(fread(data, size, count + 1, file), count);
	fclose(file);
	return data;
}

/* VARIANT over PROBLEM, as one thread walks it with k-steps of STEP. */
static struct tcb_plan run(const struct tcb_variant *v, const struct tcb_problem *problem, size_t step,
			   void *const operand[OPERANDS])
{
	struct tcb_geometry g;
	struct tcb_plan plan;
	struct tcb_error err;
	void *data[OPERANDS] = { operand[WEIGHTS], operand[X], operand[Y] }, *packed = NULL;
	size_t whole = v->micro.n;
	while (whole < problem->shape.n)
		whole *= 2;
	tcb_geometry_init(&g);
	const size_t tokens = qmv_tile_tokens(v->micro.m, problem->shape.m);
	g.tile[TCB_MACRO] = (struct tcb_tile){ tokens, whole, problem->shape.k };
	g.tile[TCB_MIDI] = (struct tcb_tile){ tokens, whole, tokens > 1 ? problem->shape.k : step };
	g.tile[TCB_MICRO] = v->micro;
	g.knob[TCB_KNOB_ISA] = (int32_t)v->isa;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)v->layout;
	g.knob[TCB_KNOB_UNROLL] = v->unroll;
	g.knob[TCB_KNOB_THREADS] = 1;
	g.knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	g.knob[TCB_KNOB_PREFETCH] = 0;
	g.knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	if (tcb_op_cpu(op)->plan(problem, &g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (plan.packed_bytes[WEIGHTS]) {
		data[WEIGHTS] = packed = allocate(plan.packed_bytes[WEIGHTS]);
		op->pack(&plan.problem, WEIGHTS, plan.variant->layout, operand[WEIGHTS], packed);
	}
	void *workspace = allocate(plan.workspace_bytes);
	tcb_op_cpu(op)->run(&plan, data, workspace, pool);
	free(workspace);
	free(packed);
	return plan;
}

/* Each variant of this machine under the problem's contract, with one k-step and with steps of a block. */
static double try_variants(const struct tcb_problem *problem, void *const operand[OPERANDS],
			   const struct tcb_reference *judge)
{
	const struct tcb_variant *v;
	const size_t outputs = problem->shape.m * problem->shape.n;
	double largest = 0;
	size_t tried = 0;
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		if (v->contract != problem->contract || !tcb_target_has(&host, v->isa))
			continue;
		for (int steps = 0; steps < 2; steps++, tried++) {
			const struct tcb_plan plan = run(v, problem, steps ? 256 : problem->shape.k, operand);
			const double ratio = tcb_error_ratio(&plan, judge, operand[Y], outputs, NULL);
			if (!(ratio <= 1))
				fail_msg("%s: %g of what is allowed", v->name, ratio);
			assert_true(plan.chain >= 1 && plan.chain <= tcb_quant_chain_max(problem->shape.k));
			largest = ratio > largest ? ratio : largest;
		}
	}
	/* Contract f16 is for GPUs. */
	assert_true(problem->contract == TCB_CONTRACT_F16 ? tried == 0 : tried >= 2);
	return largest;
}

static void try_fixture(const struct tcb_gguf *gguf, const char *tensor_name, const char *stem, size_t m)
{
	char name[128];
	const struct tcb_gguf_tensor *tensor = tcb_gguf_find(gguf, tensor_name);
	assert_non_null(tensor);
	assert_string_equal(tensor->type_name, "Q4_K");
	const struct tcb_shape shape = { m, tensor->dims[1], tensor->dims[0] };
	const size_t outputs = m * shape.n;
	snprintf(name, sizeof(name), "%s_m%zu.x.f32", stem, m);
	float *x = load(name, m * shape.k, sizeof(float)), *y = allocate(outputs * sizeof(float));
	snprintf(name, sizeof(name), "%s_m%zu.y.f64", stem, m);
	double *ggml_y = load(name, outputs, sizeof(double));
	snprintf(name, sizeof(name), "%s_m%zu.abs.f64", stem, m);
	double *ggml_magnitude = load(name, outputs, sizeof(double));
	void *weights = allocate(tensor->bytes);
	memcpy(weights, tensor->data, tensor->bytes);
	void *const operand[OPERANDS] = { weights, x, y };
	for (int c = 0; c < TCB_CONTRACT_COUNT; c++) {
		struct tcb_problem problem;
		if (!(op->contracts >> c & 1))
			continue;
		struct tcb_reference reference = reference_alloc(outputs);
		assert_int_equal(tcb_problem_init(op, (enum tcb_contract)c, &shape, &problem, NULL), TCB_OK);
		op->reference(&problem, operand, &reference);
		for (size_t i = 0; i < outputs; i++) {
			/* Both sum the same terms in double, in orders of their own. */
			const double slack = (double)shape.k * 0x1p-52 * ggml_magnitude[i];
			assert_true(fabs(reference.y[i] - ggml_y[i]) <= slack);
			assert_true(fabs(reference.magnitude[i] - ggml_magnitude[i]) <= slack);
			assert_true(reference.extra[i] >= 0 && reference.extra[i] < 0.02 * ggml_magnitude[i]);
			reference.y[i] = ggml_y[i];
			reference.magnitude[i] = ggml_magnitude[i];
		}
		const double largest = try_variants(&problem, operand, &reference);
		print_message("%s M=%zu %s: %.3g of what is allowed\n", stem, m, tcb_contract_text(problem.contract),
			      largest);
		reference_free(&reference);
	}
	free(weights);
	free(x);
	free(y);
	free(ggml_y);
	free(ggml_magnitude);
}

static void test_fixtures(void **state)
{
	struct tcb_gguf *gguf;
	struct tcb_error err;
	(void)state;
	if (tcb_gguf_open(TCB_FIXTURES "/ggml_sample.gguf", &gguf, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t m = 1; m <= 5; m += 4) {
		try_fixture(gguf, "blk.0.ffn_down.weight", "ffn_down.weight", m);
		try_fixture(gguf, "blk.1.ffn_up.weight", "ffn_up.weight", m);
	}
	tcb_gguf_close(gguf);
}

/* N rows of blocks with all scales SCALE, all mins MIN, d = DMIN = VALUE and codes from CODE. */
static uint8_t *uniform_weights(size_t n, size_t k, float value, unsigned scale, unsigned min,
				unsigned (*code)(struct tcb_rng *rng))
{
	const uint16_t half = tcb_f32_to_f16(value);
	const size_t blocks = n * (k / 256);
	uint8_t *weights = allocate(blocks * Q4K_BLOCK_BYTES);
	struct tcb_rng rng;
	tcb_rng_init(&rng, 11);
	for (size_t b = 0; b < blocks; b++) {
		uint8_t *block = weights + b * Q4K_BLOCK_BYTES;
		assert_true(scale < 64 && min < 64);
		memcpy(block, &half, 2);
		memcpy(block + 2, &half, 2);
		for (int j = 0; j < 4; j++) {
			block[4 + j] = (uint8_t)(scale | scale >> 4 << 6);
			block[8 + j] = (uint8_t)(min | min >> 4 << 6);
			block[12 + j] = (uint8_t)((scale & 15) | (min & 15) << 4);
		}
		for (int i = 16; i < Q4K_BLOCK_BYTES; i++)
			block[i] = (uint8_t)(code(&rng) | code(&rng) << 4);
	}
	return weights;
}

static unsigned code_seven(struct tcb_rng *rng)
{
	(void)rng;
	return 7;
}

static unsigned code_extreme(struct tcb_rng *rng)
{
	return tcb_rng_below(rng, 2) ? 15 : 1;
}

/* 7 * 9 d - 63 d: all weights are 0, and what a kernel leaves is its own rounding of two equal sums. */
static void test_weights_that_cancel(void **state)
{
	const struct tcb_shape shape = { 1, 19, 2048 };
	uint8_t *weights = uniform_weights(shape.n, shape.k, 0.0123f, 9, 63, code_seven);
	float *x = allocate(shape.k * sizeof(float)), *y = allocate(shape.n * sizeof(float));
	void *const operand[OPERANDS] = { weights, x, y };
	struct tcb_reference reference = reference_alloc(shape.n);
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < shape.k; i++)
		x[i] = tcb_rng_normal(&rng);
	for (int c = 0; c < TCB_CONTRACT_COUNT; c++) {
		struct tcb_problem problem;
		if (!(op->contracts >> c & 1))
			continue;
		assert_int_equal(tcb_problem_init(op, (enum tcb_contract)c, &shape, &problem, NULL), TCB_OK);
		op->reference(&problem, operand, &reference);
		for (size_t n = 0; n < shape.n; n++) {
			assert_true(reference.y[n] == 0 && reference.magnitude[n] == 0 && reference.extra[n] > 0);
			/* 63 d times the sum of 2048 |x|, twice: about 2500; a millionth of it at most */
			assert_true(c == TCB_CONTRACT_F16 || reference.extra[n] < 0.05);
		}
		const double largest = try_variants(&problem, operand, &reference);
		/* Contract f32 does leave something: without extra no variant would pass. */
		if (c == TCB_CONTRACT_F32)
			assert_true(largest > 0);
	}
	reference_free(&reference);
	free(weights);
	free(x);
	free(y);
}

/* Every activation just short of half a step away from its code, in the direction of its weight's sign. */
static void test_worst_activations(void **state)
{
	const struct tcb_shape shape = { 1, 1, 512 };
	uint8_t *weights = uniform_weights(1, shape.k, 0.01f, 5, 40, code_extreme);
	float *x = allocate(shape.k * sizeof(float)), *y = allocate(sizeof(float));
	float weight[512];
	void *const operand[OPERANDS] = { weights, x, y };
	struct tcb_reference reference = reference_alloc(1);
	struct tcb_problem problem;
	(void)state;
	tcb_dequantize(tcb_format(TCB_FORMAT_Q4_K), weights, 2, weight);
	for (size_t i = 0; i < shape.k; i++)
		x[i] = i % 256 ? (float)(i % 100) + (weight[i] > 0 ? 0.499f : -0.499f) : 127;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &shape, &problem, NULL), TCB_OK);
	op->reference(&problem, operand, &reference);
	const double largest = try_variants(&problem, operand, &reference);
	print_message("worst activations: %.4f of what is allowed\n", largest);
	assert_true(largest > 0.98);
	reference_free(&reference);
	free(weights);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_weights_that_cancel),
		cmocka_unit_test(test_worst_activations),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", 1, &device, &err) != TCB_OK || tcb_pool_create(1, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	host = device.target;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
