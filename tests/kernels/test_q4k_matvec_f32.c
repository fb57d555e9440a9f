/* SPDX-License-Identifier: MIT
 *
 * The f32 micro-kernels of q4k_matvec, called directly: every count of blocks
 * around the unrolling, every count of rows up to the micro tile, written and
 * accumulated, the weights ending at an inaccessible page; bit-equal to the
 * order-matched reference.  That the comparison can fail: another order gives
 * other bits.  And the prepared activations, the same bits from each family.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "cmocka_all.h"
#include "kernels/formats.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec.h"

enum { WEIGHTS, X, Y, OPERANDS, ROWS_MAX = 16, BLOCKS_MAX = 9, COMBINATIONS = 4 };

static const struct tcb_op *const op = &tcb_op_q4k_matvec;
static struct tcb_target host;

static const struct tcb_variant *find(enum tcb_isa isa, enum tcb_layout layout)
{
	const struct tcb_variant *v;
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++)
		if (v->contract == TCB_CONTRACT_F32 && v->isa == isa && v->layout == layout)
			return v;
	fail_msg("no f32 variant of %s with this layout", tcb_isa_text(isa));
	return NULL;
}

/* A plan as far as q4k_exact() looks: contract, shape, k-step and variant. */
static struct tcb_plan plan_of(const struct tcb_variant *variant, struct tcb_shape shape, size_t step)
{
	struct tcb_plan plan;
	memset(&plan, 0, sizeof(plan));
	plan.problem.op = op;
	plan.problem.contract = TCB_CONTRACT_F32;
	plan.problem.shape = shape;
	plan.geometry.tile[TCB_MIDI].k = step;
	plan.variant = variant;
	return plan;
}

struct data {
	struct tcb_shape shape;
	struct tcb_buffer buffer[OPERANDS];
	void *operand[OPERANDS];
};

static void data_init(struct data *d, struct tcb_shape shape)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &shape, &problem, NULL), TCB_OK);
	op->operands(&problem, operands);
	d->shape = shape;
	for (int i = 0; i < OPERANDS; i++) {
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, operands[i].bytes, &d->buffer[i], NULL), TCB_OK);
		d->operand[i] = d->buffer[i].data;
	}
	op->fill(&problem, shape.n * 100 + shape.k, d->operand);
}

static void data_fini(struct data *d)
{
	for (int i = 0; i < OPERANDS; i++)
		tcb_buffer_free(&d->buffer[i]);
}

/* ROWS rows of BLOCKS blocks by VARIANT, as one micro-kernel call, against the reference. */
static void try_call(const struct tcb_variant *variant, size_t rows, size_t blocks, unsigned combination)
{
	static const size_t prefetch[COMBINATIONS] = { 0, 64, 5000, 40000 };
	struct tcb_buffer packed = { 0 }, prepared, y;
	struct data d;
	float exact[ROWS_MAX], before[ROWS_MAX];
	data_init(&d, (struct tcb_shape){ 1, rows, blocks * 256 });
	const struct tcb_plan plan = plan_of(variant, d.shape, d.shape.k);
	const uint8_t *weights = d.operand[WEIGHTS];
	if (variant->layout != TCB_LAYOUT_NATIVE) {
		size_t bytes = q4k_packed_bytes(variant->layout, rows, d.shape.k);
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &packed, NULL), TCB_OK);
		plan.problem.op->pack(&plan.problem, 0, variant->layout, weights, packed.data);
		weights = packed.data;
	}
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, blocks * sizeof(struct q4k_x32), &prepared, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, rows * sizeof(float), &y, NULL), TCB_OK);
	q4k_prepare_scalar(d.operand[X], blocks, prepared.data);
	q4k_exact(&plan, d.operand, exact);
	const struct qmv_call call = {
		.weights = weights,
		.row_bytes = blocks * q4k_layout_block_bytes(variant->layout),
		.x = prepared.data,
		.blocks = blocks,
		.rows = rows,
		.y = y.data,
		.accumulate = combination % 2,
		.prefetch = variant->isa == TCB_ISA_SCALAR ? 0 : prefetch[combination],
		.hint = (enum tcb_hint)((combination + blocks) % TCB_HINT_COUNT),
	};
	if (call.accumulate) {
		for (size_t r = 0; r < rows; r++) {
			before[r] = (float)r - 3.7f;
			exact[r] = before[r] + exact[r];
		}
		memcpy(y.data, before, rows * sizeof(float));
	}
	((qmv_micro_fn *)variant->entry)(&call);
	if (memcmp(y.data, exact, rows * sizeof(float)) != 0)
		fail_msg("%s: %zu rows of %zu blocks are not what the reference gives", variant->name, rows, blocks);
	assert_int_equal(tcb_buffer_check(&y), 0);
	tcb_buffer_free(&packed);
	tcb_buffer_free(&prepared);
	tcb_buffer_free(&y);
	data_fini(&d);
}

static void test_calls(void **state)
{
	const enum tcb_isa isa = *(const enum tcb_isa *)*state;
	const struct tcb_variant *v;
	size_t calls = 0;
	if (!tcb_target_has(&host, isa))
		skip_because("this machine has no %s", tcb_isa_text(isa));
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		if (v->contract != TCB_CONTRACT_F32 || v->isa != isa)
			continue;
		assert_int_equal(v->class, TCB_CLASS_EXACT);
		for (size_t rows = 1; rows <= v->micro.n; rows++)
			for (size_t blocks = 1; blocks <= BLOCKS_MAX; blocks++)
				for (unsigned c = 0; c < COMBINATIONS; c++, calls++)
					try_call(v, rows, blocks, c);
	}
	print_message("%zu calls\n", calls);
	assert_true(calls > 0);
}

/* How many of the outputs of two plans differ in their bits. */
static size_t differing(const struct data *d, const struct tcb_plan *a, const struct tcb_plan *b)
{
	const size_t count = d->shape.m * d->shape.n;
	float *ya = malloc(count * sizeof(float)), *yb = malloc(count * sizeof(float));
	size_t result = 0;
	assert_true(ya && yb);
	q4k_exact(a, d->operand, ya);
	q4k_exact(b, d->operand, yb);
	for (size_t i = 0; i < count; i++)
		result += memcmp(&ya[i], &yb[i], sizeof(float)) != 0;
	free(ya);
	free(yb);
	return result;
}

/* Layouts, k-steps and fusing each leave their mark; the vector families share one order a layout. */
static void test_orders(void **state)
{
	const struct tcb_shape shape = { 2, 65, 2048 };
	struct data d;
	(void)state;
	data_init(&d, shape);
	const struct tcb_plan native = plan_of(find(TCB_ISA_AVX512, TCB_LAYOUT_NATIVE), shape, shape.k);
	const struct tcb_plan steps = plan_of(native.variant, shape, 512);
	const struct tcb_plan narrow = plan_of(find(TCB_ISA_AVX2, TCB_LAYOUT_NATIVE), shape, shape.k);
	const struct tcb_plan scalar = plan_of(find(TCB_ISA_SCALAR, TCB_LAYOUT_NATIVE), shape, shape.k);
	const struct tcb_plan r8 = plan_of(find(TCB_ISA_AVX512, TCB_LAYOUT_R8), shape, shape.k);
	const struct tcb_plan r8_narrow = plan_of(find(TCB_ISA_AVX2, TCB_LAYOUT_R8W), shape, shape.k);
	const struct tcb_plan r16 = plan_of(find(TCB_ISA_AVX512, TCB_LAYOUT_R16), shape, shape.k);
	assert_int_equal(differing(&d, &native, &narrow), 0);
	assert_int_equal(differing(&d, &r8, &r8_narrow), 0);
	assert_true(differing(&d, &native, &steps) > 65);
	assert_true(differing(&d, &native, &scalar) > 65);
	assert_true(differing(&d, &native, &r8) > 65);
	assert_true(differing(&d, &r8, &r16) > 65);
	data_fini(&d);
}

static void test_prepare(void **state)
{
	enum { BLOCKS = 3, VALUES = BLOCKS * 256 };
	static struct q4k_x32 scalar[BLOCKS], other[BLOCKS];
	struct tcb_buffer x;
	struct tcb_rng rng;
	unsigned char seen[256] = { 0 };
	(void)state;
	tcb_rng_init(&rng, 3);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, VALUES * sizeof(float), &x, NULL), TCB_OK);
	float *values = x.data;
	for (int i = 0; i < VALUES; i++)
		values[i] = tcb_rng_normal(&rng) * (i % 7 ? 1 : 1e4f);
	q4k_prepare_scalar(values, BLOCKS, scalar);
	for (unsigned k = 0; k < 256; k++) {
		const unsigned g = k / 128, p = k / 64 % 2, h = k / 32 % 2, w = k / 4 % 8, b = k % 4;
		assert_int_equal(q4k_x32_index(k), 128 * g + 64 * h + 16 * b + 8 * p + w);
		assert_false(seen[q4k_x32_index(k)]++);
	}
	for (unsigned i = 0; i < VALUES; i++)
		assert_memory_equal(&scalar[i / 256].x[q4k_x32_index(i % 256)], &values[i], sizeof(float));
	for (unsigned j = 0; j < BLOCKS * 8; j++) {
		double sum = 0, magnitude = 0;
		for (unsigned i = 0; i < 32; i++) {
			sum += (double)values[32 * j + i];
			magnitude += fabs((double)values[32 * j + i]);
		}
		assert_true(fabs((double)scalar[j / 8].sums[j % 8] - sum) <= tcb_gamma(5) * magnitude);
	}
	if (tcb_target_has(&host, TCB_ISA_AVX2)) {
		q4k_prepare_avx2(values, BLOCKS, other);
		assert_memory_equal(other, scalar, sizeof(scalar));
		memset(other, 0, sizeof(other));
	}
	if (tcb_target_has(&host, TCB_ISA_AVX512)) {
		q4k_prepare_avx512(values, BLOCKS, other);
		assert_memory_equal(other, scalar, sizeof(scalar));
	}
	tcb_buffer_free(&x);
}

int main(void)
{
	static enum tcb_isa isas[] = { TCB_ISA_SCALAR, TCB_ISA_AVX2, TCB_ISA_AVX512 };
	const struct CMUnitTest tests[] = {
		{ "calls, scalar", test_calls, NULL, NULL, &isas[0] },
		{ "calls, avx2", test_calls, NULL, NULL, &isas[1] },
		{ "calls, avx512", test_calls, NULL, NULL, &isas[2] },
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_prepare),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", 1, &device, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	host = device.target;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
