/* SPDX-License-Identifier: MIT
 *
 * What attention is: the reference against three plain loops, and what it says of
 * sequences without tokens, tokens that none sees, -inf and NaN; then this processor's
 * kernels at data that have all of these.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention_amx_in_c.h"
#include "attention_case.h"
#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/cpu_isas.h"
#include "base/tiles.h"
#include "instrumented.h"
#include "kernels/default_rules.h"

#define NAME(kv, ID, K, V, IO, text, op) op #kv,
static const char *const op_names[] = { TCB_KV_LIST(NAME, "attention_decode_")
						TCB_KV_LIST(NAME, "attention_prefill_") };
#undef NAME
enum { OPS = sizeof(op_names) / sizeof(*op_names) };

/* FP8 has no infinities. */
static int has_infinite_scores(const char *name)
{
	return tcb_kv_row(((const struct attention_op *)tcb_op_find(name)->member)->kv)->k != TCB_KV_KIND_FP8;
}

struct data {
	size_t count, outputs;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *operand[TCB_OPERANDS_MAX];
	struct tcb_reference reference;
};

static void data_init(const struct tcb_problem *problem, struct data *out)
{
	out->count = problem->op->operands(problem, out->operands);
	for (size_t i = 0; i < out->count; i++)
		assert_non_null(out->operand[i] = calloc(1, out->operands[i].bytes));
	problem->op->fill(problem, ATTENTION_SEED, out->operand);
	const struct tcb_operand *output = &out->operands[attention_at(&problem->shape.words, ATTENTION_OUT)];
	out->outputs = output->rows * output->cols;
	double *values = calloc(3 * out->outputs, sizeof(double));
	assert_non_null(values);
	out->reference = (struct tcb_reference){ values, values + out->outputs, values + 2 * out->outputs, NULL };
	problem->op->reference(problem, out->operand, &out->reference);
}

static void data_fini(struct data *data)
{
	for (size_t i = 0; i < data->count; i++)
		free(data->operand[i]);
	free(data->reference.y);
}

static double value_at(const struct data *data, size_t operand, size_t index)
{
	const struct tcb_operand *of = &data->operands[operand];
	const char *at = data->operand[operand];
	float values[ATTENTION_BLOCK];
	if (!of->format) {
		tcb_type_to_f32(of->type, at + index * tcb_type_bytes(of->type), 1, values);
		return (double)values[0];
	}
	tcb_dequantize(of->format, at + index / ATTENTION_BLOCK * of->format->block_bytes, 1, values);
	return (double)values[index % ATTENTION_BLOCK];
}

/* One query head of one token, by the definition, to OUT of v values. */
static void plain(const struct tcb_shape *s, const struct data *data, size_t b, size_t i, size_t h, double *out)
{
	const struct tcb_words *words = &s->words;
	const size_t kv = h / (s->words.query / s->words.kv), width = words->values ? words->values : s->k;
	const size_t v_operand = words->view ? ATTENTION_K : ATTENTION_V, v_apart = words->view ? s->k : width;
	const int32_t *table = attention_data(words, data->operand, ATTENTION_TABLE);
	const int32_t *prefix = attention_data(words, data->operand, ATTENTION_PREFIX);
	const float *sinks = attention_data(words, data->operand, ATTENTION_SINKS);
	const float *slopes = attention_data(words, data->operand, ATTENTION_SLOPES);
	const long length = ((const int32_t *)attention_data(words, data->operand, ATTENTION_LENGTHS))[b];
	const long position = length - (long)s->m + (long)i;
	double scores[512], max = sinks ? (double)sinks[h] : -INFINITY, sum = 0;
	for (long t = 0; t < length; t++) {
		const size_t at = (tcb_kv_token(s, table, b, (size_t)t) * s->words.kv + kv) * s->k;
		double score = 0;
		for (size_t d = 0; d < s->k; d++)
			score += value_at(data, ATTENTION_Q, ((b * s->m + i) * s->words.query + h) * s->k + d) *
				 value_at(data, ATTENTION_K, at + d);
		score /= sqrt((double)s->k);
		if (s->words.cap)
			score = s->words.cap * tanh(score / s->words.cap);
		if (slopes)
			score -= (double)slopes[h] * fabs((double)(position - t));
		if (((s->words.causal || s->words.window) && t > position && !(prefix && t < prefix[b])) ||
		    (s->words.window && t <= position - (long)s->words.window))
			score = -INFINITY;
		scores[t] = score;
		max = score > max ? score : max;
	}
	memset(out, 0, width * sizeof(*out));
	if (sinks)
		sum = exp((double)sinks[h] - max);
	for (long t = 0; t < length && max > -INFINITY; t++) {
		const size_t at = (tcb_kv_token(s, table, b, (size_t)t) * s->words.kv + kv) * v_apart;
		const double p = scores[t] > -INFINITY ? exp(scores[t] - max) : 0;
		sum += p;
		for (size_t d = 0; d < width && p > 0; d++)
			out[d] += p * value_at(data, v_operand, at + d);
	}
	for (size_t d = 0; d < width && sum > 0; d++)
		out[d] /= sum;
}

static void the_reference_is_the_definition(void **state)
{
	static const char *const shapes[] = { "1x1x32,h1/1",
					      "1x200x64,h4/1",
					      "3x70x96,h6/3,causal",
					      "9x40x32,h4/2,b5,causal,ragged",
					      "5x130x64,h7/1,w9,b4,ragged",
					      "20x100x32,h2/2,p7,w30,c2,b5,causal,ragged",
					      "2x300x256,h8/1,p64,b2,ragged",
					      "3x50x64,h6/2,v32,sinks,b2,ragged",
					      "2x60x96,h4/1,v64,vk,causal,p8,b2",
					      "9x70x64,h4/2,v128,alibi,causal,b4,ragged",
					      "40x60x32,h3/3,sinks,alibi,causal,prefix,w9,c5,b5,ragged",
					      "5x20x576,h2/1,v512,vk,sinks,prefix,causal,p4,b2,ragged",
					      "2x30x72,h4/2,b2,ragged",
					      "30x30x8,h4/2,v24,prefix,causal",
					      "2x30x88,h6/3,vk,v40,sinks" };
	(void)state;
	for (size_t n = 0; n < sizeof(shapes) / sizeof(*shapes) * OPS; n++) {
		const char *text = shapes[n / OPS];
		if (test_leaves_out(n) || !attention_takes(op_names[n % OPS], text))
			continue;
		struct tcb_problem problem;
		struct data data;
		double y[ATTENTION_HEAD_MAX];
		attention_problem(tcb_op_find(op_names[n % OPS]), TCB_CONTRACT_F32, text, &problem);
		data_init(&problem, &data);
		const struct tcb_shape *s = &problem.shape;
		for (size_t row = 0; row < s->words.sequences * s->m * s->words.query; row++) {
			plain(s, &data, row / s->words.query / s->m, row / s->words.query % s->m, row % s->words.query,
			      y);
			const double *got = data.reference.y + row * attention_v(s);
			for (size_t d = 0; d < attention_v(s); d++)
				if (!(fabs(y[d] - got[d]) < 1e-12))
					fail_msg("%s: row %zu, value %zu is %.17g, not %.17g", text, row, d, got[d],
						 y[d]);
		}
		data_fini(&data);
	}
}

/* --- data with everything --- */

static void odd_data_is_as_specified(void **state)
{
	struct tcb_problem problem;
	struct tcb_op op;
	struct data data;
	(void)state;
	for (size_t n = 0; n < OPS; n++) {
		if (!has_infinite_scores(op_names[n]))
			continue;
		attention_odd_problem(op_names[n], TCB_CONTRACT_F32, &op, &problem);
		data_init(&problem, &data);
		const struct tcb_shape *s = &problem.shape;
		for (size_t row = 0; row < s->words.sequences * s->m * s->words.query; row++) {
			const size_t h = row % s->words.query, i = row / s->words.query % s->m;
			const size_t b = row / s->words.query / s->m;
			const double y = data.reference.y[row * s->k];
			assert_int_equal(y == 0, b == 4 || (b == 3 && i == 0) || (b == 0 && h < 2));
			assert_int_equal(isnan(y) != 0, b == 1 && h >= 2);
		}
		data_fini(&data);
	}
}

/* Runs GEOMETRY, if it is one, over poisoned outputs, and judges them; by VARIANT instead of its own if that is not
 * NULL.
 */
static void check_variant(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			  const struct tcb_variant *variant, struct data *data, struct tcb_pool *pool)
{
	struct tcb_plan plan;
	struct tcb_error err;
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t bad = 0;
	tcb_geometry_print(geometry, text);
	if (tcb_op_cpu(problem->op)->plan(problem, geometry, &plan, &err) != TCB_OK)
		fail_msg("%s %s: %s", problem->op_name, text, err.message);
	if (variant)
		plan.variant = variant;
	const size_t output = attention_at(&problem->shape.words, ATTENTION_OUT);
	const struct tcb_operand *out = &data->operands[output];
	void *workspace = aligned_alloc(64, (plan.workspace_bytes + 63) / 64 * 64);
	float *got = calloc(data->outputs, sizeof(*got));
	assert_true(workspace && got);
	memset(workspace, TCB_POISON, plan.workspace_bytes);
	memset(data->operand[output], TCB_POISON, out->bytes);
	tcb_op_cpu(problem->op)->run(&plan, data->operand, workspace, pool);
	tcb_operand_to_f32(out, data->operand[output], 0, data->outputs, got);
	assert_true(tcb_operand_gaps_are(out, data->operand[output], TCB_POISON));
	const double ratio = tcb_error_ratio(&plan, &data->reference, got, data->outputs, &bad);
	if (!(ratio <= 1))
		fail_msg("%s of %s with %s: output %zu is %g, not %g", text, problem->op_name, plan.variant->name, bad,
			 (double)got[bad], data->reference.y[bad]);
	free(got);
	free(workspace);
}

static void check_kernel(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct data *data,
			 struct tcb_pool *pool)
{
	check_variant(problem, geometry, NULL, data, pool);
}

static void kernels_of_this_processor(void **state)
{
	struct tcb_device device;
	struct tcb_error err;
	struct tcb_pool *pool;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 2, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, &err), TCB_OK);
	for (size_t n = 0; n < 2 * OPS * TCB_ISA_COUNT; n++) {
		const enum tcb_isa isa = (enum tcb_isa)(n / OPS / 2);
		struct tcb_target target = device.target;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_op op;
		struct data data;
		if (!tcb_target_has(&device.target, isa) || !tcb_isa_is_of_cpu(isa) ||
		    !has_infinite_scores(op_names[n % OPS]))
			continue;
		target.isa_mask = 1u << isa | 1u << TCB_ISA_SCALAR;
		attention_odd_problem(op_names[n % OPS], n / OPS % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, &op,
				      &problem);
		data_init(&problem, &data);
		tcb_op_standard(&problem, &target, &geometry);
		if (geometry.knob[TCB_KNOB_ISA] == (int32_t)isa) /* the op has kernels of this family */
			check_kernel(&problem, &geometry, &data, pool);
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
}

/* Scores of KV head 0 are near the largest float, products of its q and K past it.  Of KV head 1 every second token has
 * a weight below the normal floats and a V that makes much of it. */
static void fill_extremes(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < s->m * s->words.query * s->k; i++) {
		const size_t d = i % s->k, h = i / s->k % s->words.query;
		if (h < 2 && d < 2)
			attention_put(problem, operand, ATTENTION_Q, i, 1.5f);
		else if (h >= 2)
			attention_put(problem, operand, ATTENTION_Q, i, d ? 0 : 8);
	}
	for (size_t t = 0; t < s->n; t++) {
		const size_t at = t * s->words.kv * s->k, next = at + s->k;
		attention_put(problem, operand, ATTENTION_K, next, t % 2 ? -89 : 0);
		for (size_t d = 0; d < s->k; d++)
			attention_put(problem, operand, ATTENTION_V, next + d, t % 2 ? 0x1p120f : 0x1p-20f);
	}
	attention_put(problem, operand, ATTENTION_K, 0, 0x1p127f);
	attention_put(problem, operand, ATTENTION_K, 1, 0x1p127f);
}

static void extremes_of_bf16(void **state)
{
	struct tcb_device device;
	struct tcb_error err;
	struct tcb_pool *pool;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 2, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, &err), TCB_OK);
	for (size_t n = 0; n < 2 * OPS * TCB_ISA_COUNT; n++) {
		const enum tcb_isa isa = (enum tcb_isa)(n / OPS / 2);
		struct tcb_target target = device.target;
		struct tcb_op op = *tcb_op_find(op_names[n % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct data data;
		if (((const struct attention_op *)op.member)->kv != TCB_KV_BF16 ||
		    !tcb_target_has(&device.target, isa) || !tcb_isa_is_of_cpu(isa))
			continue;
		op.fill = fill_extremes;
		target.isa_mask = 1u << isa | 1u << TCB_ISA_SCALAR;
		attention_problem(&op, n / OPS % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, "2x41x64,h4/2", &problem);
		data_init(&problem, &data);
		tcb_op_standard(&problem, &target, &geometry);
		if (geometry.knob[TCB_KNOB_ISA] == (int32_t)isa) /* the op has kernels of this family */
			check_kernel(&problem, &geometry, &data, pool);
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
}

/* Products of tiles of bf16 are the default of prefill, else those of pairs; pairs are that of decode from seven query
 * rows of a KV head on; a target that has nothing else but scalar code takes them always. */
static void defaults_with_pairs_of_bf16(void **state)
{
	enum {
		BF16 = 1u << TCB_ISA_AVX512BF16 | 1u << TCB_ISA_SCALAR,
		ALL = BF16 | 1u << TCB_ISA_AVX512,
		TILES = ALL | 1u << TCB_ISA_AMX
	};
	static const struct {
		const char *op, *shape;
		enum tcb_contract contract;
		uint32_t isa_mask;
		enum tcb_isa isa;
	} rows[] = {
#if defined(__x86_64__)
		{ "attention_decode_bf16", "1x512x64,h24/4", TCB_CONTRACT_F16, ALL, TCB_ISA_AVX512 },
		{ "attention_decode_bf16", "1x512x64,h28/4", TCB_CONTRACT_F16, ALL, TCB_ISA_AVX512BF16 },
		{ "attention_decode_bf16", "4x512x64,h4/2", TCB_CONTRACT_F16, ALL, TCB_ISA_AVX512BF16 },
		{ "attention_decode_bf16", "4x512x64,h4/2", TCB_CONTRACT_F32, ALL, TCB_ISA_AVX512 },
		{ "attention_decode_bf16", "1x512x64,h1/1", TCB_CONTRACT_F16, BF16, TCB_ISA_AVX512BF16 },
		{ "attention_decode_f16", "4x512x64,h4/2", TCB_CONTRACT_F16, ALL, TCB_ISA_AVX512 },
		{ "attention_prefill_bf16", "64x64x64,h1/1", TCB_CONTRACT_F16, ALL, TCB_ISA_AVX512BF16 },
		{ "attention_prefill_bf16", "64x64x64,h1/1", TCB_CONTRACT_F32, ALL, TCB_ISA_AVX512 },
		{ "attention_prefill_bf16", "64x64x64,h1/1", TCB_CONTRACT_F16, TILES, TCB_ISA_AMX },
		{ "attention_prefill_bf16", "1x9x8,h1/1", TCB_CONTRACT_F16, TILES, TCB_ISA_AMX },
		{ "attention_prefill_bf16", "64x64x64,h1/1", TCB_CONTRACT_F32, TILES, TCB_ISA_AVX512 },
		{ "attention_decode_bf16", "4x512x64,h4/2", TCB_CONTRACT_F16, TILES, TCB_ISA_AVX512BF16 },
#endif
		{ "attention_prefill_bf16", "64x64x64,h1/1", TCB_CONTRACT_F16, 1u << TCB_ISA_SCALAR, TCB_ISA_SCALAR },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct tcb_target target = { .kind = TCB_TARGET_CPU, .threads = 2, .isa_mask = rows[i].isa_mask };
		const struct tcb_op *op = tcb_op_find(rows[i].op);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		attention_problem(op, rows[i].contract, rows[i].shape, &problem);
		tcb_op_standard(&problem, &target, &geometry);
		assert_int_equal(geometry.knob[TCB_KNOB_ISA], (int32_t)rows[i].isa);
	}
}

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Tiles of VARIANT that end within the query tokens and the KV, parts of KV, and with both all of it. */
static void check_tiles(const struct tcb_problem *problem, const struct tcb_variant *variant, struct data *data,
			struct tcb_pool *pool)
{
	static const struct {
		size_t rows, tile, parts; /* of query tokens: register tiles, 0: all; KV tokens, at least; of KV */
	} rows[] = { { 1, 16, 1 }, { 4, 64, 1 }, { 0, 128, 1 }, { 2, 16, 4 }, { 1, 64, 3 } };
	static const int32_t steps[] = { 0, 16, 5, 0, 64 };
	const int is_decode = attention_of(problem)->tokens_max != 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const size_t tile = most(rows[i].tile, variant->micro.n), part = tile * (512 / tile);
		const size_t all = most(128, variant->micro.m);
		struct tcb_geometry geometry;
		tcb_geometry_init(&geometry);
		geometry.tile[TCB_MICRO] = (struct tcb_tile){ variant->micro.m, variant->micro.n, problem->shape.k };
		geometry.tile[TCB_MIDI] =
			(struct tcb_tile){ rows[i].rows && !is_decode ? rows[i].rows * variant->micro.m : all, tile,
					   problem->shape.k };
		geometry.tile[TCB_MACRO] =
			(struct tcb_tile){ all, rows[i].parts > 1 ? most(tile, 64) : part, problem->shape.k };
		geometry.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
		const int is_shared = geometry.tile[TCB_MACRO].n < problem->shape.n;
		geometry.knob[TCB_KNOB_THREADS] = rows[i].parts > 1 && is_shared ? 2 : 1;
		geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
		if (is_decode) {
			geometry.knob[TCB_KNOB_PREFETCH] = (int32_t)(i * 5000);
			geometry.knob[TCB_KNOB_STEP] = steps[i];
		}
		check_kernel(problem, &geometry, data, pool);
	}
}

static const char *const prefills[] = {
	"70x200x96,h6/2,b3,p16,w40,causal,ragged",
	"33x300x64,h4/4,causal,c20",
	"40x90x256,h8/1,b2,ragged",
	"40x200x64,h4/2,v128,sinks,alibi,c9,causal,p8,b3,ragged",
	"20x100x576,h4/1,v512,vk,sinks,causal",
	"50x50x72,h3/3",
	"40x120x88,h4/2,v24,causal,prefix,b4,p16,ragged",
	"30x40x8,h4/4,v16,sinks",
	"40x80x192,h2/1,v128,alibi",
};

static void tiles_of_kernels(void **state)
{
	static const char *const decodes[] = {
		"7x200x96,h6/2,b5,p24,w90,causal,ragged",
		"1x300x128,h14/2",
		"3x90x32,h3/1,b2,c5,ragged",
		"2x300x64,h4/2,v128,sinks,alibi,c9,p8,b3,ragged",
		"3x200x576,h16/1,v512,vk,sinks",
		"1x200x80,h5/5,alibi",
		"2x200x72,h8/2,v104,causal,prefix,b4,p16,ragged",
		"1x90x8,h12/4,v16,sinks",
		"3x200x160,h4/2,vk,v96,w70",
	};
	enum { SHAPES = sizeof(decodes) / sizeof(*decodes) };
	_Static_assert(sizeof(prefills) == sizeof(decodes), "as many of each");
	struct tcb_device device;
	struct tcb_error err;
	struct tcb_pool *pool;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 2, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, &err), TCB_OK);
	for (size_t n = 0; n < 2 * OPS * SHAPES; n++) {
		const struct tcb_op *op = tcb_op_find(op_names[n % OPS]);
		const struct attention_op *attention = op->member;
		const char *text = (attention->tokens_max ? decodes : prefills)[n / OPS / 2];
		const enum tcb_contract contract = n / OPS % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16;
		const struct tcb_variant *variant;
		struct tcb_problem problem;
		struct data data;
		if (test_leaves_out(n) || !attention_takes(op->name, text))
			continue;
		attention_strided(op, contract, text, n / OPS, &problem);
		data_init(&problem, &data);
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(op), v)); v++)
			if (variant->contract == contract && tcb_target_has(&device.target, variant->isa))
				check_tiles(&problem, variant, &data, pool);
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
}

#if defined(__x86_64__)
/* All of VARIANTS, whose tiles are plain C's, with ROWS query tokens of a task and tiles of TILE KV tokens. */
static void check_in_c(const struct tcb_problem *problem, const struct tcb_variant *variants, size_t rows, size_t tile,
		       struct data *data, struct tcb_pool *pool)
{
	for (; variants->name; variants++) {
		struct tcb_geometry geometry;
		tcb_geometry_init(&geometry);
		geometry.tile[TCB_MICRO] = (struct tcb_tile){ variants->micro.m, variants->micro.n, problem->shape.k };
		geometry.tile[TCB_MIDI] = (struct tcb_tile){ rows, most(tile, variants->micro.n), problem->shape.k };
		geometry.tile[TCB_MACRO] = (struct tcb_tile){ 128, 512, problem->shape.k };
		geometry.knob[TCB_KNOB_ISA] = TCB_ISA_AMX;
		geometry.knob[TCB_KNOB_THREADS] = 1;
		geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
		check_variant(problem, &geometry, variants, data, pool);
	}
}

static void amx_in_plain_c(void **state)
{
	static const char *const name = "attention_prefill_bf16";
	enum { SHAPES = sizeof(prefills) / sizeof(*prefills) };
	struct tcb_device device;
	struct tcb_error err;
	struct tcb_pool *pool;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(1, NULL, &pool, &err), TCB_OK);
	for (size_t n = 0; n <= SHAPES; n++) {
		struct tcb_problem problem;
		struct tcb_op op;
		struct data data;
		if (test_leaves_out(n))
			continue;
		if (n == SHAPES)
			attention_odd_problem(name, TCB_CONTRACT_F16, &op, &problem);
		else
			attention_strided(tcb_op_find(name), TCB_CONTRACT_F16, prefills[n], n, &problem);
		data_init(&problem, &data);
		check_in_c(&problem, attention_amx_in_c_any, n % 2 ? 32 : 64, n % 3 ? 64 : 512, &data, pool);
		if (tcb_target_has(&device.target, TCB_ISA_AVX512BF16))
			check_in_c(&problem, attention_amx_in_c_vectors, n % 2 ? 64 : 32, n % 3 ? 512 : 64, &data,
				   pool);
		else
			print_message("no AVX-512 BF16: tiles with its vectors are not tested\n");
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
}
#endif

/* What a call moves: one sequence's visible tokens, or all lengths. */
static void the_model_counts_what_is_seen(void **state)
{
	static const struct {
		const char *shape;
		double kv_tokens, pairs;
	} rows[] = {
		{ "1x4096x128,h32/8", 4096, 4096 },
		{ "1x4096x128,h32/8,w1024", 1024, 1024 },
		{ "4x100x128,h32/8,causal", 100, 97 + 98 + 99 + 100 },
		{ "4x100x128,h32/8,causal,w10", 13, 40 },
		{ "4x100x128,h32/8,w10", 13, 40 },
		{ "1x100x128,h32/8,b5,ragged", 100 + 80 + 60 + 1, 100 + 80 + 60 + 1 },
	};
	(void)state;
	for (size_t i = 0; i < OPS * sizeof(rows) / sizeof(*rows); i++) {
		struct tcb_problem problem;
		attention_problem(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F16, rows[i / OPS].shape, &problem);
		const struct tcb_shape *s = &problem.shape;
		const double io = 2.0 * 2 * (double)(s->words.sequences * s->m * 32 * 128) + 4.0 * s->words.sequences;
		const double each = (double)(tcb_kv_kind_bytes(attention_k_kind(&problem), 32) +
					     tcb_kv_kind_bytes(attention_v_kind(&problem), 32)) /
				    64;
		assert_true(problem.op->traffic(&problem) == rows[i / OPS].kv_tokens * 2 * 8 * 128 * each + io);
		assert_true(problem.op->flops(&problem) == rows[i / OPS].pairs * 32 * 4 * 128);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_is_the_definition),
		cmocka_unit_test(odd_data_is_as_specified),
		cmocka_unit_test(kernels_of_this_processor),
		cmocka_unit_test(extremes_of_bf16),
		cmocka_unit_test(defaults_with_pairs_of_bf16),
		cmocka_unit_test(tiles_of_kernels),
		cmocka_unit_test(the_model_counts_what_is_seen),
#if defined(__x86_64__)
		cmocka_unit_test(amx_in_plain_c),
#endif
	};
	(void)tcb_tiles_ask(NULL); /* where there are any */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
