/* SPDX-License-Identifier: MIT
 *
 * The embedding look-up of every weight format: bits as tcb_dequantize has them, on every
 * CPU variant, from tables as stored and as the MatVec packs them; ids that repeat and ids
 * that no row has; halves; what it refuses.  GPU kernels drawn from the whole product in
 * the emulator, right and without findings.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/get_rows/get_rows.h"

#define NAME(id, name, op, ...) #op "_get_rows",
static const char *const op_names[] = { TCB_FORMAT_LIST(NAME) };
enum { OPS = sizeof op_names / sizeof *op_names, THREADS = 2, TOKENS = 9, ROWS = 37, COLUMNS = 1280 };

static const int32_t ids[TOKENS] = { 36, 0, 17, 17, -1, 16, 37, INT32_MIN, INT32_MAX };

static struct tcb_target target;
static struct tcb_pool *pool;

static struct tcb_problem problem_of(size_t op, enum tcb_contract contract)
{
	const struct tcb_shape shape = { TOKENS, ROWS, COLUMNS, { 0 } };
	struct tcb_problem problem;
	struct tcb_error err;
	const struct tcb_op *found = tcb_op_find(op_names[op]);
	assert_non_null(found);
	if (tcb_problem_init(found, contract, &shape, &problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return problem;
}

static void *guarded(size_t bytes, struct tcb_buffer *out)
{
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, NULL), TCB_OK);
	return out->data;
}

/* Token's row of Y is the table's, or NaNs. */
static void check_row(const struct tcb_problem *p, const void *table, const void *y, size_t token, const char *name)
{
	const struct tcb_format *format = p->op->format;
	const int32_t id = ids[token];
	float row[COLUMNS];
	uint16_t halves[COLUMNS];
	if (id < 0 || id >= ROWS) {
		for (size_t i = 0; i < COLUMNS; i++)
			assert_true(p->contract == TCB_CONTRACT_F16
					    ? isnan(tcb_f16_to_f32(((const uint16_t *)y)[token * COLUMNS + i]))
					    : isnan(((const float *)y)[token * COLUMNS + i]));
		return;
	}
	tcb_dequantize(format, (const char *)table + (size_t)id * tcb_quant_row_bytes(format, COLUMNS),
		       COLUMNS / format->block_values, row);
	for (size_t i = 0; i < COLUMNS; i++)
		halves[i] = tcb_f32_to_f16(row[i]);
	const size_t bytes = COLUMNS * tcb_type_bytes(get_rows_type(p));
	if (memcmp((const char *)y + token * bytes, p->contract == TCB_CONTRACT_F16 ? (void *)halves : (void *)row,
		   bytes) != 0)
		fail_msg("%s: token %zu, row %d, has other bits", name, token, (int)id);
}

static void try_variant(const struct tcb_problem *p, const struct tcb_variant *variant, const void *table)
{
	struct tcb_buffer held[GET_ROWS_OPERANDS] = { 0 };
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *data[GET_ROWS_OPERANDS];
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	tcb_op_standard(p, &target, &geometry);
	geometry.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	geometry.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
	geometry.tile[TCB_MIDI].k = 512;
	geometry.knob[TCB_KNOB_THREADS] = THREADS;
	if (tcb_plan_make(p, &geometry, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", variant->name, err.message);
	assert_int_equal(p->op->operands(p, operands), GET_ROWS_OPERANDS);
	const size_t packed = plan.packed_bytes[GET_ROWS_WEIGHTS], bytes = operands[GET_ROWS_WEIGHTS].bytes;
	data[GET_ROWS_WEIGHTS] = guarded(packed ? packed : bytes, &held[GET_ROWS_WEIGHTS]);
	if (packed) { /* by the product itself */
		const struct tcb_problem product = get_rows_product(p);
		product.op->pack(&product, TCB_QUANT_WEIGHTS, variant->layout, table, data[GET_ROWS_WEIGHTS]);
	} else {
		memcpy(data[GET_ROWS_WEIGHTS], table, bytes);
	}
	data[GET_ROWS_IDS] = guarded(sizeof ids, &held[GET_ROWS_IDS]);
	memcpy(data[GET_ROWS_IDS], ids, sizeof ids);
	data[GET_ROWS_Y] = guarded(operands[GET_ROWS_Y].bytes, &held[GET_ROWS_Y]);
	memset(data[GET_ROWS_Y], TCB_POISON, operands[GET_ROWS_Y].bytes);
	tcb_op_cpu(p->op)->run(&plan, data, NULL, pool);
	for (size_t i = 0; i < GET_ROWS_OPERANDS; i++)
		assert_int_equal(tcb_buffer_check(&held[i]), 0);
	for (size_t token = 0; token < TOKENS; token++)
		check_row(p, table, data[GET_ROWS_Y], token, variant->name);
	for (size_t i = 0; i < GET_ROWS_OPERANDS; i++)
		tcb_buffer_free(&held[i]);
}

static void rows_have_the_bits_of_the_table(void **state)
{
	size_t tried = 0;
	(void)state;
	for (size_t op = 0; op < OPS; op++)
		for (int contract = TCB_CONTRACT_F32; contract <= TCB_CONTRACT_F16; contract++) {
			const struct tcb_problem p = problem_of(op, (enum tcb_contract)contract);
			const struct tcb_format *format = p.op->format;
			const size_t bytes = ROWS * tcb_quant_row_bytes(format, COLUMNS);
			const struct tcb_variant *variant;
			uint8_t *table = malloc(bytes);
			struct tcb_rng rng;
			assert_non_null(table);
			tcb_rng_init(&rng, 5 + op);
			for (size_t at = 0; at < bytes; at += format->block_bytes)
				tcb_block_random(format, &rng, table + at);
			for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(p.op), v)) != NULL; v++)
				if (variant->contract == p.contract && tcb_target_has(&target, variant->isa)) {
					try_variant(&p, variant, table);
					tried++;
				}
			free(table);
		}
	print_message("%zu variants\n", tried);
	assert_true(tried >= 4 * OPS);
}

/* Kernels drawn from the whole product, with contracts and layouts, right and without findings. */
static void gpu_kernels_are_right(void **state)
{
	static const struct tcb_shape gpu_shapes[] = {
		{ 3, 9, 1280, { 0 } }, { 2, 3, 256, { 0 } }, { 1, 5, 9984, { 0 } }, { 5, 4, 512, { 0 } }
	};
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 77);
	for (size_t i = 0; i < gpu_sample_size(2 * OPS); i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		const enum tcb_contract contract = i / OPS % 2 ? TCB_CONTRACT_F16 : TCB_CONTRACT_F32;
		struct tcb_shape shape = gpu_shapes[tcb_rng_below(&rng, 4)];
		struct tcb_problem p;
		struct gpu_bench b;
		shape.k = op->format->block_values == 32 && i % 3 == 0 ? 96 : shape.k; /* less than a superblock */
		shape.k = op->format->block_values == 1 && i % 3 ? 35 + i % 8 : shape.k;
		p = gpu_problem(op, contract, shape);
		const struct tcb_target gpu = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 0);
		const struct tcb_geometry geometry = gpu_geometry_drawn(&p, &gpu, &rng);
		gpu_check_emitted(&p, &gpu, &geometry);
		gpu_bench_open(&b, &p, i);
		b.output_align = 16;
		for (size_t t = 1; t < shape.m; t += 2) /* that no row has */
			((int32_t *)b.data[GET_ROWS_IDS])[t] = t % 4 == 1 ? -1 : (int32_t)shape.n;
		gpu_bench_refer(&b);
		gpu_bench_check(&b, &gpu, &geometry, i, &tally);
		gpu_bench_close(&b);
	}
	gpu_tally_print(&tally);
}

static void refusals_say_why(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_get_rows");
	struct tcb_error err;
	(void)state;
	assert_int_equal(tcb_op_check_shape(op, &(struct tcb_shape){ 1, 8, 100, { 0 } }, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "multiple of 256"));
	assert_int_equal(tcb_op_check_shape(op, &(struct tcb_shape){ 1, (size_t)INT32_MAX + 1, 256, { 0 } }, &err),
			 TCB_E_OVERFLOW);
	assert_non_null(strstr(err.message, "32 bits"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_bits_of_the_table),
		cmocka_unit_test(gpu_kernels_are_right),
		cmocka_unit_test(refusals_say_why),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	target = device.target;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
