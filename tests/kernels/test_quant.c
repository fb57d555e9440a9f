/* SPDX-License-Identifier: MIT
 *
 * What the ops with quantised weights share: the reference against the products
 * that ggml's values give and against plain loops, what the contracts allow,
 * shapes that are refused, activations to codes.  Each op's default geometry is
 * held against ggml's products too; all others draw test_variants.c and the
 * tests of the ops.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "cmocka_all.h"
#include "gguf/gguf.h"
#include "kernels/quant.h"

static struct tcb_target host;
static struct tcb_pool *pool;

static const struct {
	const char *type, *tensor;
} tensors[] = {
	{ "Q4_0", "blk.0.attn_output.weight" },
	{ "Q8_0", "blk.0.attn_k.weight" },
	{ "Q4_K", "blk.0.ffn_down.weight" },
	{ "Q4_K", "blk.1.ffn_up.weight" },
	{ "Q5_K", "blk.0.attn_q.weight" },
	{ "Q6_K", "blk.0.attn_v.weight" },
	{ "MXFP4", "blk.0.mxfp4" },
	{ "IQ4_XS", "blk.0.iq4xs" },
	{ "IQ4_NL", "blk.0.iq4_nl" },
	{ "Q5_0", "blk.0.q5_0" },
	{ "Q5_1", "blk.0.q5_1" },
	{ "Q4_1", "blk.0.q4_1" },
	{ "Q3_K", "blk.0.q3_k" },
	{ "Q2_K", "blk.0.q2_k" },
	{ "IQ3_S", "blk.0.iq3_s" },
	{ "IQ3_XXS", "blk.0.iq3_xxs" },
	{ "IQ2_S", "blk.0.iq2_s" },
	{ "IQ2_XS", "blk.0.iq2_xs" },
	{ "IQ2_XXS", "blk.0.iq2_xxs" },
	{ "IQ1_S", "blk.0.iq1_s" },
	{ "IQ1_M", "blk.0.iq1_m" },
	{ "NVFP4", "blk.0.nvfp4" },
	{ "F16", "blk.0.f16" },
	{ "BF16", "blk.0.bf16" },
	{ "F32", "blk.0.f32" },
};
enum { TENSORS = sizeof(tensors) / sizeof(tensors[0]) };

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

/* Those that are a product and nothing else; test_quant_matvec_fused.c has the others. */
static int is_product(const struct tcb_op *op)
{
	const char *tail = strchr(op->name, '_');
	return op->format && tail && (strcmp(tail, "_matvec") == 0 || strcmp(tail, "_matmul") == 0);
}

/* The default geometry on PROBLEM: its error as a share of what is allowed. */
static double run_default(const struct tcb_op *op, const struct tcb_problem *problem, void *const operand[],
			  const struct tcb_reference *judge)
{
	struct tcb_geometry g;
	struct tcb_plan plan;
	struct tcb_error err;
	void *data[TCB_OPERANDS_MAX] = { operand[0], operand[1], operand[2] }, *packed = NULL, *workspace = NULL;
	tcb_op_standard(problem, &host, &g);
	if (tcb_op_cpu(op)->plan(problem, &g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (plan.packed_bytes[TCB_QUANT_WEIGHTS]) {
		data[TCB_QUANT_WEIGHTS] = packed = allocate(plan.packed_bytes[TCB_QUANT_WEIGHTS]);
		op->pack(&plan.problem, TCB_QUANT_WEIGHTS, plan.variant->layout, operand[TCB_QUANT_WEIGHTS], packed);
	}
	if (plan.workspace_bytes)
		workspace = allocate(plan.workspace_bytes);
	tcb_op_cpu(op)->run(&plan, data, workspace, pool);
	free(workspace);
	free(packed);
	return tcb_error_ratio(&plan, judge, operand[TCB_QUANT_Y], problem->shape.m * problem->shape.n, NULL);
}

/* The values beside the sample of PATH. */
static void *load(const char *path_of_sample, const char *stem, size_t tokens, const char *suffix, size_t count,
		  size_t size)
{
	char path[512];
	void *data = allocate(count * size + size);
	snprintf(path, sizeof(path), "%.*s/%s_m%zu.%s", (int)(strrchr(path_of_sample, '/') - path_of_sample),
		 path_of_sample, stem, tokens, suffix);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(data, size, count + 1, file), count);
	fclose(file);
	return data;
}

/* TOKENS tokens, of which there are files, of TENSOR of the sample PATH under OP and CONTRACT. */
static void try_fixture(const struct tcb_op *op, enum tcb_contract contract, const char *path,
			const struct tcb_gguf_tensor *tensor, const char *stem, size_t tokens)
{
	const struct tcb_shape shape = { tokens, tensor->dims[1], tensor->dims[0] };
	const size_t outputs = shape.m * shape.n;
	struct tcb_problem problem;
	if (tcb_problem_init(op, contract, &shape, &problem, NULL) != TCB_OK)
		return;
	void *weights = allocate(tensor->bytes);
	memcpy(weights, tensor->data, tensor->bytes);
	float *x = load(path, stem, tokens, "x.f32", shape.m * shape.k, sizeof(float)),
	      *y = allocate(outputs * sizeof(float));
	double *ggml_y = load(path, stem, tokens, "y.f64", outputs, sizeof(double));
	double *ggml_magnitude = load(path, stem, tokens, "abs.f64", outputs, sizeof(double));
	void *const operand[] = { weights, x, y };
	struct tcb_reference reference = reference_alloc(outputs);
	/* Codes of tables lie far apart, and so do the sample's powers: a few large values make a product. */
	const double most = tcb_has_table(op->format->id) ? 0.05 : 0.02;
	op->reference(&problem, operand, &reference);
	for (size_t i = 0; i < outputs; i++) {
		const double slack = (double)shape.k * 0x1p-52 * ggml_magnitude[i];
		assert_true(fabs(reference.y[i] - ggml_y[i]) <= slack);
		assert_true(fabs(reference.magnitude[i] - ggml_magnitude[i]) <= slack);
		assert_true(reference.extra[i] >= 0 && reference.extra[i] < most * ggml_magnitude[i]);
		reference.y[i] = ggml_y[i];
		reference.magnitude[i] = ggml_magnitude[i];
	}
	if (contract != TCB_CONTRACT_F16) {
		const double share = run_default(op, &problem, operand, &reference);
		print_message("%s %s %s: %.3g of what is allowed\n", op->name, stem, tcb_contract_text(contract),
			      share);
		assert_true(share <= 1);
	}
	reference_free(&reference);
	free(weights);
	free(x);
	free(y);
	free(ggml_y);
	free(ggml_magnitude);
}

/* The tensors that PATH has; returns how often ops were tried. */
static size_t try_file(const char *path)
{
	struct tcb_gguf *gguf = NULL;
	struct tcb_error err;
	size_t count, tried = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	if (tcb_gguf_open(path, &gguf, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t t = 0; t < TENSORS; t++)
		for (size_t o = 0; o < count; o++) {
			const struct tcb_gguf_tensor *tensor = tcb_gguf_find(gguf, tensors[t].tensor);
			if (!tensor || !is_product(ops[o]) || strcmp(ops[o]->format->gguf_name, tensors[t].type) != 0)
				continue;
			assert_string_equal(tensor->type_name, tensors[t].type);
			for (int c = 0; c < TCB_CONTRACT_COUNT; c++, tried++) {
				const char *stem = strchr(tensors[t].tensor + 4, '.') + 1;
				try_fixture(ops[o], (enum tcb_contract)c, path, tensor, stem, 1);
				try_fixture(ops[o], (enum tcb_contract)c, path, tensor, stem, 5);
			}
		}
	tcb_gguf_close(gguf);
	return tried;
}

static void test_fixtures(void **state)
{
	(void)state;
	assert_int_equal(try_file(TCB_FIXTURES "/ggml_sample.gguf"), 6 * 2 * TCB_CONTRACT_COUNT);
	assert_int_equal(try_file(TCB_FIXTURES "/sample_mxfp4_iq4xs.gguf"), 2 * 2 * TCB_CONTRACT_COUNT);
	assert_int_equal(try_file(TCB_FIXTURES "/formats/formats.gguf"), 17 * 2 * TCB_CONTRACT_COUNT);
}

/* Plain loops over FORMAT's values give the same y and magnitude, whatever the shape; and extra is what its parts are.
 */
static void try_reference(const struct tcb_op *op, enum tcb_contract contract, struct tcb_shape shape)
{
	const struct tcb_format *format = op->format;
	struct tcb_problem problem;
	struct tcb_operand described[TCB_OPERANDS_MAX];
	shape.k = shape.k * format->block_values;
	assert_int_equal(tcb_problem_init(op, contract, &shape, &problem, NULL), TCB_OK);
	assert_int_equal(tcb_quant_operands(&problem, described), TCB_QUANT_OPERANDS);
	uint8_t *weights = allocate(described[TCB_QUANT_WEIGHTS].bytes);
	float *x = allocate(described[TCB_QUANT_X].bytes), *row = allocate(shape.k * sizeof(float));
	void *const operand[] = { weights, x, NULL };
	struct tcb_reference reference = reference_alloc(shape.m * shape.n);
	tcb_quant_fill(&problem, 1, operand);
	tcb_quant_reference(&problem, operand, &reference);
	for (size_t n = 0; n < shape.n; n++) {
		double absolute = 0;
		tcb_dequantize(format, weights + n * tcb_quant_row_bytes(format, shape.k),
			       shape.k / format->block_values, row);
		for (size_t k = 0; k < shape.k; k++)
			absolute += fabs((double)row[k]);
		for (size_t m = 0; m < shape.m; m++) {
			const float *xm = x + m * shape.k;
			double y = 0, magnitude = 0, largest = 0, sum = 0;
			for (size_t k = 0; k < shape.k; k++) {
				y += (double)row[k] * (double)xm[k];
				magnitude += fabs((double)row[k] * (double)xm[k]);
				largest = fmax(largest, fabs((double)xm[k]));
				sum += fabs((double)xm[k]);
			}
			const size_t at = m * shape.n + n;
			assert_true(fabs(reference.y[at] - y) <= 1e-12 * magnitude);
			assert_true(fabs(reference.magnitude[at] - magnitude) <= 1e-12 * magnitude);
			const double most = contract == TCB_CONTRACT_Q8 ? 0.52 / 127 * largest * absolute
					    : contract == TCB_CONTRACT_F16
						    ? 0x1p-11 * 40 * (magnitude + absolute * largest) +
							      130 * 0x1p-25 * sum /* scales below halves */
						    : 1e-4 * absolute * largest;
			assert_true(reference.extra[at] <= most + 1e-30);
			if (contract != TCB_CONTRACT_F32 && magnitude > 0)
				assert_true(reference.extra[at] >= 0x1p-11 * magnitude);
		}
	}
	reference_free(&reference);
	free(weights);
	free(x);
	free(row);
}

static void test_reference(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 }, { 3, 5, 9 }, { 33, 2, 3 }, { 70, 3, 17 }, { 4, 3, 8 } };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	(void)state;
	for (size_t o = 0; o < count; o++)
		for (int c = 0; is_product(ops[o]) && c < TCB_CONTRACT_COUNT; c++)
			for (size_t s = 0; ops[o]->contracts >> c & 1 && s < sizeof(shapes) / sizeof(shapes[0]); s++)
				try_reference(ops[o], (enum tcb_contract)c, shapes[s]);
}

/* A NaN spoils its own token and no other; denormal activations count as zeros or are small; f16 has its infinity. */
static void test_odd_activations(void **state)
{
	const struct tcb_shape shape = { 4, 7, 512 };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	(void)state;
	for (size_t o = 0; o < count; o++)
		for (int c = 0; is_product(ops[o]) && c < TCB_CONTRACT_COUNT; c++) {
			struct tcb_problem problem;
			if (tcb_problem_init(ops[o], (enum tcb_contract)c, &shape, &problem, NULL) != TCB_OK)
				continue;
			struct tcb_operand described[TCB_OPERANDS_MAX];
			struct tcb_reference reference = reference_alloc(shape.m * shape.n);
			ops[o]->operands(&problem, described);
			uint8_t *weights = allocate(described[TCB_QUANT_WEIGHTS].bytes);
			float *x = allocate(described[TCB_QUANT_X].bytes), *y = allocate(described[TCB_QUANT_Y].bytes);
			void *const operand[] = { weights, x, y };
			ops[o]->fill(&problem, 3, operand);
			x[shape.k + 300] = NAN;
			for (size_t i = 0; i < shape.k; i++)
				x[2 * shape.k + i] *= 0x1p-140f;
			x[3 * shape.k + 5] = 70000;
			ops[o]->reference(&problem, operand, &reference);
			for (size_t i = 0; i < shape.n; i++) {
				assert_true(isnan(reference.y[shape.n + i]) && isfinite(reference.y[i]));
				assert_true(isfinite(reference.y[3 * shape.n + i]) == (c != TCB_CONTRACT_F16));
			}
			if (c != TCB_CONTRACT_F16)
				assert_true(run_default(ops[o], &problem, operand, &reference) <= 1);
			free(weights);
			free(x);
			free(y);
			reference_free(&reference);
		}
}

/* Codes are nearest, within 127, and zero where the group counts as zeros; what is not finite makes d a NaN. */
static void test_codes(void **state)
{
	struct tcb_rng rng;
	float x[256], d;
	int8_t code[256];
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t count = 32; count <= 256; count *= 8)
		for (int exponent = -126; exponent < 126; exponent += 3) {
			float largest = 0;
			for (size_t i = 0; i < count; i++) {
				x[i] = ldexpf(tcb_rng_normal(&rng), exponent);
				largest = fmaxf(largest, fabsf(x[i]));
			}
			tcb_quant_codes(x, count, code, &d);
			if (largest < 127 * 0x1p-126f) {
				assert_true(d == 0 && code[0] == 0 && code[count - 1] == 0);
				continue;
			}
			assert_true(d == largest / 127);
			for (size_t i = 0; i < count; i++)
				assert_true(code[i] >= -127 && fabsf(x[i] - d * code[i]) <= 0.5001f * d);
			x[count / 2] = exponent % 2 ? NAN : -INFINITY;
			tcb_quant_codes(x, count, code, &d);
			assert_true(isnan(d) && code[0] == 0 && code[count / 2] == 0);
		}
}

static void test_shapes(void **state)
{
	static const struct {
		const char *op;
		struct tcb_shape shape;
		enum tcb_status status;
		const char *part;
	} rows[] = {
		{ "q4k_matvec", { 512, 4096, 4096 }, TCB_OK, "" },
		{ "q40_matmul", { 7, 1, 32 }, TCB_OK, "" },
		{ "q80_matmul", { 1, 64, 300 }, TCB_E_USAGE, "multiple of 32, such as 320" },
		{ "q5k_matmul", { 1, 64, 300 }, TCB_E_USAGE, "multiple of 256, such as 512" },
		{ "q6k_matmul", { 1, 64, 0 }, TCB_E_USAGE, "K a multiple of 256" },
		{ "q6k_matmul", { 0, 64, 256 }, TCB_E_USAGE, "1 or more" },
		{ "q40_matmul", { 1, SIZE_MAX / 64, 1024 }, TCB_E_OVERFLOW, "too large" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tcb_op *op = tcb_op_find(rows[i].op);
		struct tcb_error err = { TCB_OK, "" };
		assert_int_equal(op->check_shape(op, &rows[i].shape, &err), rows[i].status);
		assert_non_null(strstr(err.message, rows[i].part));
	}
}

/* "q4k_matvec" is of format "q4_k", whose blocks its weights are in: the names are the same but for underscores. */
static void test_formats_of_ops(void **state)
{
	(void)state;
	size_t quantised = 0, count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_format *format = ops[i]->format;
		const struct tcb_shape *shape = &ops[i]->default_shapes[0];
		struct tcb_operand described[TCB_OPERANDS_MAX];
		struct tcb_problem problem;
		if (!format)
			continue;
		const char *at = ops[i]->name;
		for (const char *c = format->name; *c; c++)
			if (*c != '_')
				assert_int_equal(*at++, *c);
		assert_true(*at == '_' && strlen(at) >= strlen("_matvec"));
		if (strcmp(at, "_get_rows") != 0)
			assert_string_equal(at + strlen(at) - strlen("_matvec"), strstr(at, "_mat"));
		assert_int_equal(tcb_problem_init(ops[i], ops[i]->default_contract, shape, &problem, NULL), TCB_OK);
		assert_ptr_equal(problem.op, ops[i]);
		ops[i]->operands(&problem, described);
		assert_int_equal(described[TCB_QUANT_WEIGHTS].type, TCB_TYPE_BLOCKS);
		assert_int_equal(described[TCB_QUANT_WEIGHTS].bytes,
				 described[TCB_QUANT_WEIGHTS].rows * tcb_quant_row_bytes(format, shape->k));
		quantised += (size_t)is_product(ops[i]);
		assert_true(!is_product(ops[i]) || described[TCB_QUANT_WEIGHTS].rows == shape->n);
	}
	assert_int_equal(quantised, 2 * TCB_FORMAT_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixtures),        cmocka_unit_test(test_reference),
		cmocka_unit_test(test_odd_activations), cmocka_unit_test(test_codes),
		cmocka_unit_test(test_shapes),          cmocka_unit_test(test_formats_of_ops),
	};
	static struct tcb_device device;
	if (tcb_cpu_identify("cpu", 2, &device, NULL) != TCB_OK || tcb_pool_create(2, NULL, &pool, NULL) != TCB_OK)
		return 1;
	host = device.target;
	const int failures = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failures;
}
