/* SPDX-License-Identifier: MIT
 *
 * What attention is: the reference against three plain loops, and what it says of
 * sequences without tokens, tokens that none sees, -inf and NaN; then kernels, on this
 * processor and in the emulator of GPUs, at data that have all of these.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/gpu_table.h"
#include "cmocka_all.h"
#include "instrumented.h"
#include "kernels/attention/attention.h"
#include "kernels/default_rules.h"
#include "kernels/emulation.h"

enum { SEED = 5, BLOCK = 32 /* of q8_0 */ };

static const char *const op_names[] = { "attention_decode_f16",  "attention_decode_bf16",  "attention_decode_q80",
					"attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80" };
enum { OPS = sizeof(op_names) / sizeof(*op_names) };

static void make_problem(const struct tcb_op *op, enum tcb_contract contract, const char *text, struct tcb_problem *out)
{
	struct tcb_shape shape;
	struct tcb_error err;
	if (tcb_shape_parse(text, &shape, &err) != TCB_OK ||
	    tcb_problem_init(op, contract, &shape, out, &err) != TCB_OK)
		fail_msg("%s %s: %s", op->name, text, err.message);
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
	problem->op->fill(problem, SEED, out->operand);
	const struct tcb_operand *output = &out->operands[ATTENTION_OUT];
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
	const enum tcb_type type = data->operands[operand].type;
	const size_t unit = type == TCB_TYPE_BLOCKS ? BLOCK : 1;
	float values[BLOCK];
	tcb_kv_to_f32(type, (const char *)data->operand[operand] + tcb_kv_bytes(type, index / unit * unit), unit,
		      values);
	return (double)values[index % unit];
}

/* One query head of one token, by the definition, to OUT of k values. */
static void plain(const struct tcb_shape *s, const struct data *data, size_t b, size_t i, size_t h, double *out)
{
	const size_t kv = h / (s->heads.query / s->heads.kv);
	const int32_t *table = s->heads.page ? data->operand[ATTENTION_TABLE] : NULL;
	const long length = ((const int32_t *)data->operand[ATTENTION_LENGTHS])[b];
	const long position = length - (long)s->m + (long)i;
	double scores[512], max = -INFINITY, sum = 0;
	for (long t = 0; t < length; t++) {
		const size_t at = (tcb_kv_token(s, table, b, (size_t)t) * s->heads.kv + kv) * s->k;
		double score = 0;
		for (size_t d = 0; d < s->k; d++)
			score += value_at(data, ATTENTION_Q, ((b * s->m + i) * s->heads.query + h) * s->k + d) *
				 value_at(data, ATTENTION_K, at + d);
		score /= sqrt((double)s->k);
		if (s->heads.cap)
			score = s->heads.cap * tanh(score / s->heads.cap);
		if ((s->heads.causal && t > position) || (s->heads.window && t <= position - (long)s->heads.window))
			score = -INFINITY;
		scores[t] = score;
		max = score > max ? score : max;
	}
	memset(out, 0, s->k * sizeof(*out));
	for (long t = 0; t < length && max > -INFINITY; t++) {
		const size_t at = (tcb_kv_token(s, table, b, (size_t)t) * s->heads.kv + kv) * s->k;
		const double p = scores[t] > -INFINITY ? exp(scores[t] - max) : 0;
		sum += p;
		for (size_t d = 0; d < s->k && p > 0; d++)
			out[d] += p * value_at(data, ATTENTION_V, at + d);
	}
	for (size_t d = 0; d < s->k && sum > 0; d++)
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
					      "2x300x256,h8/1,p64,b2,ragged" };
	(void)state;
	for (size_t n = 0; n < sizeof(shapes) / sizeof(*shapes) * OPS; n++) {
		const char *text = shapes[n / OPS];
		if (test_leaves_out(n))
			continue;
		struct tcb_problem problem;
		struct data data;
		double y[ATTENTION_HEAD_MAX];
		make_problem(tcb_op_find(op_names[n % OPS]), TCB_CONTRACT_F32, text, &problem);
		data_init(&problem, &data);
		const struct tcb_shape *s = &problem.shape;
		for (size_t row = 0; row < s->heads.sequences * s->m * s->heads.query; row++) {
			plain(s, &data, row / s->heads.query / s->m, row / s->heads.query % s->m, row % s->heads.query,
			      y);
			for (size_t d = 0; d < s->k; d++)
				if (!(fabs(y[d] - data.reference.y[row * s->k + d]) < 1e-12))
					fail_msg("%s: row %zu, value %zu is %.17g, not %.17g", text, row, d,
						 data.reference.y[row * s->k + d], y[d]);
		}
		data_fini(&data);
	}
}

/* --- data with everything --- */

/* In blocks: VALUE as their scale, and 1 as all of their codes. */
static void put(const struct tcb_problem *problem, void *const operand[], size_t which, size_t index, float value)
{
	const enum tcb_type type = which == ATTENTION_Q ? attention_io_type(problem) : attention_of(problem)->kv;
	char *to = (char *)operand[which] + tcb_kv_bytes(type, index / BLOCK * BLOCK);
	if (type == TCB_TYPE_BLOCKS) {
		memset(to, 1, tcb_kv_bytes(type, BLOCK));
		tcb_f16_store(value, to);
	} else
		tcb_type_from_f32(type, &value, 1, to + index % BLOCK * tcb_type_bytes(type));
}

/* Of sequence 0 all scores of KV head 0 are -inf, and of KV head 1 one is; of sequence 1 K of token 1 has a NaN in KV
 * head 1. */
static void fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = s->heads.kv * s->k;
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < s->m * s->heads.query * BLOCK; i++)
		put(problem, operand, ATTENTION_Q, i / BLOCK * s->k + i % BLOCK, 1);
	for (size_t t = 0; t < s->n; t++)
		put(problem, operand, ATTENTION_K, t * row, -INFINITY);
	put(problem, operand, ATTENTION_K, 2 * row + s->k, -INFINITY);
	put(problem, operand, ATTENTION_K, (s->n + 1) * row + s->k + 3, NAN);
}

static const char odd_shape[] = "2x77x64,h4/2,b5,causal,ragged";

static void odd_problem(const char *name, enum tcb_contract contract, struct tcb_op *op, struct tcb_problem *out)
{
	*op = *tcb_op_find(name);
	op->fill = fill_odd;
	make_problem(op, contract, odd_shape, out);
}

static void odd_data_is_as_specified(void **state)
{
	struct tcb_problem problem;
	struct tcb_op op;
	struct data data;
	(void)state;
	for (size_t n = 0; n < OPS; n++) {
		odd_problem(op_names[n], TCB_CONTRACT_F32, &op, &problem);
		data_init(&problem, &data);
		const struct tcb_shape *s = &problem.shape;
		for (size_t row = 0; row < s->heads.sequences * s->m * s->heads.query; row++) {
			const size_t h = row % s->heads.query, i = row / s->heads.query % s->m;
			const size_t b = row / s->heads.query / s->m;
			const double y = data.reference.y[row * s->k];
			assert_int_equal(y == 0, b == 4 || (b == 3 && i == 0) || (b == 0 && h < 2));
			assert_int_equal(isnan(y) != 0, b == 1 && h >= 2);
		}
		data_fini(&data);
	}
}

/* Runs GEOMETRY, if it is one, over poisoned outputs, and judges them. */
static void check_kernel(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct data *data,
			 struct tcb_pool *pool)
{
	struct tcb_plan plan;
	struct tcb_error err;
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t bad = 0;
	tcb_geometry_print(geometry, text);
	if (problem->op->plan(problem, geometry, &plan, &err) != TCB_OK)
		fail_msg("%s %s: %s", problem->op_name, text, err.message);
	const struct tcb_operand *out = &data->operands[ATTENTION_OUT];
	void *workspace = aligned_alloc(64, (plan.workspace_bytes + 63) / 64 * 64);
	float *got = calloc(data->outputs, sizeof(*got));
	assert_true(workspace && got);
	memset(workspace, TCB_POISON, plan.workspace_bytes);
	memset(data->operand[ATTENTION_OUT], TCB_POISON, out->bytes);
	problem->op->run(&plan, data->operand, workspace, pool);
	tcb_type_to_f32(out->type, data->operand[ATTENTION_OUT], data->outputs, got);
	const double ratio = tcb_error_ratio(&plan, &data->reference, got, data->outputs, &bad);
	if (!(ratio <= 1))
		fail_msg("%s of %s with %s: output %zu is %g, not %g", text, problem->op_name, plan.variant->name, bad,
			 (double)got[bad], data->reference.y[bad]);
	free(got);
	free(workspace);
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
		if (!tcb_target_has(&device.target, isa) || !tcb_isa_is_of_cpu(isa))
			continue;
		target.isa_mask &= (2u << isa) - 1;
		odd_problem(op_names[n % OPS], n / OPS % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, &op, &problem);
		data_init(&problem, &data);
		op.default_geometry(&problem, &target, &geometry);
		check_kernel(&problem, &geometry, &data, pool);
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
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
	const int is_prefill = attention_of(problem)->is_prefill;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const size_t tile = most(rows[i].tile, variant->micro.n), part = tile * (512 / tile);
		const size_t all = most(128, variant->micro.m);
		struct tcb_geometry geometry;
		tcb_geometry_init(&geometry);
		geometry.tile[TCB_MICRO] = (struct tcb_tile){ variant->micro.m, variant->micro.n, problem->shape.k };
		geometry.tile[TCB_MIDI] =
			(struct tcb_tile){ rows[i].rows && is_prefill ? rows[i].rows * variant->micro.m : all, tile,
					   problem->shape.k };
		geometry.tile[TCB_MACRO] =
			(struct tcb_tile){ all, rows[i].parts > 1 ? most(tile, 64) : part, problem->shape.k };
		geometry.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
		geometry.knob[TCB_KNOB_THREADS] = rows[i].parts > 1 ? 2 : 1;
		geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
		if (!is_prefill)
			geometry.knob[TCB_KNOB_PREFETCH] = (int32_t)(i * 5000);
		check_kernel(problem, &geometry, data, pool);
	}
}

static void tiles_of_kernels(void **state)
{
	static const char *const shapes[] = {
		"70x200x96,h6/2,b3,p16,w40,causal,ragged", "33x300x64,h4/4,causal,c20", "40x90x256,h8/1,b2,ragged",
		"7x200x96,h6/2,b5,p24,w90,causal,ragged",  "1x300x128,h14/2",           "3x90x32,h3/1,b2,c5,ragged"
	};
	struct tcb_device device;
	struct tcb_error err;
	struct tcb_pool *pool;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 2, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, &err), TCB_OK);
	for (size_t n = 0; n < 2 * OPS * sizeof(shapes) / sizeof(*shapes); n++) {
		const struct tcb_op *op = tcb_op_find(op_names[n % OPS]);
		const struct attention_op *attention = op->member;
		const enum tcb_contract contract = n / OPS % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16;
		const struct tcb_variant *variant;
		struct tcb_problem problem;
		struct data data;
		if (attention->is_prefill != (n / OPS / 2 < 3) || test_leaves_out(n))
			continue;
		make_problem(op, contract, shapes[n / OPS / 2], &problem);
		data_init(&problem, &data);
		for (size_t v = 0; (variant = tcb_variant_at(op, v)); v++)
			if (variant->contract == contract && tcb_target_has(&device.target, variant->isa))
				check_tiles(&problem, variant, &data, pool);
		data_fini(&data);
	}
	tcb_pool_destroy(pool);
}

static void unseen(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx;
	print_message("%s\n", finding->message);
}

static void kernels_of_gpus(void **state)
{
	(void)state;
	for (size_t n = 0; n < 2 * OPS; n++) {
		const char *name = op_names[n % OPS];
		const int is_f32 = n >= OPS;
		if (is_f32 && !((const struct attention_op *)tcb_op_find(name)->member)->is_prefill)
			continue; /* K's infinities times q's second term */
		const struct tcb_ptx_sink sink = { unseen, NULL };
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_op op;
		struct tcb_gpu gpu;
		assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
		odd_problem(name, is_f32 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, &op, &problem);
		op.default_geometry(&problem, &gpu.device.target, &geometry);
		if (op.emit(&problem, &gpu.device.target, &geometry, &kernel, &err) != TCB_OK ||
		    tcb_kernel_emulate(&op, &kernel, NULL, SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s", err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s: %g of what is allowed", op.name, emulation.error_ratio);
		tcb_kernel_fini(&kernel);
	}
}

/* Tiles of query rows with geometries of their own: more than one warp or warpgroup, heads packed into a tile, blocks
 * that stay, every mask, ends within tiles. */
static void prefill_of_gpus(void **state)
{
#define MMA(midi, micro, more) "midi=" midi ",micro=" micro ",isa=mma,blocks=0,turns=0," more
#define WGMMA(midi, micro, more) "midi=" midi ",micro=" micro ",isa=wgmma," more
	static const struct {
		unsigned capability;
		const char *shape, *geometry;
	} rows[] = {
		{ 80, "45x45x32,h2/1,causal",
		  "macro=64x64x32," MMA("32x32x32", "16x32x32", "stages=2,pdl=0,occ=1,heads=1") },
		{ 86, "19x130x64,h4/1,causal,w40,c9",
		  "macro=32x160x64," MMA("16x80x64", "8x80x64", "stages=3,pdl=0,occ=1,heads=2") },
		{ 89, "70x50x96,h2/2,p5,b2,ragged",
		  "macro=128x64x96," MMA("64x16x96", "32x16x96", "stages=2,pdl=0,occ=1,heads=1") },
		{ 120, "20x75x256,h3/1,b2,ragged,w20",
		  "macro=32x128x256," MMA("16x16x256", "16x16x256", "stages=4,pdl=1,occ=1,heads=1") },
		{ 90, "150x150x64,h1/1,causal",
		  "macro=256x192x64," WGMMA("128x48x64", "64x48x64", "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=1") },
		{ 90, "130x270x64,h4/2,causal,w100",
		  "macro=192x512x64," WGMMA("96x64x64", "32x64x64", "stages=3,blocks=0,pdl=1,occ=1,heads=2,turns=1") },
		{ 90, "40x140x128,h2/1,p16,b2,ragged,c7",
		  "macro=64x256x128," WGMMA("64x64x128", "64x64x128",
					    "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=0") },
		{ 90, "90x60x192,h1/1,b2,ragged,causal",
		  "macro=128x64x192," WGMMA("128x32x192", "64x32x192",
					    "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=0") },
		{ 90, "150x300x128,h4/2,causal,b2,ragged",
		  "macro=256x512x128," WGMMA("128x128x128", "64x128x128",
					     "stages=2,prep=warps,blocks=0,pdl=0,occ=1,heads=1,turns=1") },
		{ 90, "100x130x64,h4/4,w50,c9",
		  "macro=192x192x64," WGMMA("192x64x64", "64x64x64",
					    "stages=3,prep=warps,blocks=0,pdl=1,occ=1,heads=1,turns=0") },
		{ 90, "70x90x256,h2/2,causal,b3,ragged",
		  "macro=128x128x256," WGMMA("128x32x256", "64x32x256",
					     "stages=2,prep=warps,blocks=1,pdl=0,occ=1,heads=1,turns=1") },
		/* three tiles for a block, whose multiprocessors are taken for two */
		{ 90, "300x300x64,h2/1,causal",
		  "macro=512x512x64," WGMMA("128x64x64", "64x64x64", "stages=2,blocks=1,pdl=0,occ=1,heads=1,turns=1") },
	};
	(void)state;
	enum { PREFILLS = 3, FIRST = OPS - PREFILLS };
	for (size_t i = 0; i < 2 * PREFILLS * sizeof(rows) / sizeof(*rows); i++) {
		const struct tcb_ptx_sink sink = { unseen, NULL };
		const size_t n = i / 2;
		const struct tcb_op *op = tcb_op_find(op_names[FIRST + n % PREFILLS]);
		const int is_blocks = ((const struct attention_op *)op->member)->kv == TCB_TYPE_BLOCKS;
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_gpu gpu;
		char text[200];
		const int has_prep = strstr(rows[n / PREFILLS].geometry, "prep=") != NULL;
		if ((has_prep && !is_blocks) || (i % 2 && strstr(rows[n / PREFILLS].geometry, "wgmma")))
			continue;
		snprintf(text, sizeof(text), "%s%s", rows[n / PREFILLS].geometry,
			 is_blocks && !has_prep ? ",prep=launch" : "");
		assert_int_equal(tcb_gpu_table(rows[n / PREFILLS].capability, &gpu, &err), TCB_OK);
		make_problem(op, i % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, rows[n / PREFILLS].shape, &problem);
		if (strstr(text, "blocks=1"))
			gpu.device.target.sm_count = 2;
		if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK ||
		    op->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) != TCB_OK ||
		    tcb_kernel_emulate(op, &kernel, NULL, SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s %s %s: %s", op->name, rows[n / PREFILLS].shape, text, err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s %s %s: %g of what is allowed", op->name, rows[n / PREFILLS].shape, text,
				 emulation.error_ratio);
		tcb_kernel_fini(&kernel);
	}
}

/* Scores far above what exp has, from 2^24 units up to what sums in f32 have, equal ones among them; heads of usual
 * ones; and with the last KV head infinite ones only, as far as K may be infinite. */
static void fill_huge(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const float spread[4] = { 3e4f, 1, 200, 4e3f };
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type kv = attention_of(problem)->kv, io = attention_io_type(problem);
	const float most = kv == TCB_TYPE_BF16 ? 1e16f : 3e4f;
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < s->heads.sequences * s->m * s->heads.query * s->k; i++) {
		const size_t h = i / s->k % s->heads.query;
		const float value = spread[h % 4] / spread[0] * most * (i % 3 ? 1 : -0.75f);
		tcb_type_from_f32(io, &value, 1, (char *)operand[ATTENTION_Q] + i * tcb_type_bytes(io));
	}
	for (size_t i = 0; i < tcb_kv_tokens(s) * s->heads.kv * s->k; i += BLOCK) {
		const size_t h = i / s->k % s->heads.kv, t = i / s->k / s->heads.kv;
		float values[BLOCK];
		for (size_t d = 0; d < BLOCK; d++)
			values[d] = (h ? 1 : most) * ((float)((t % 5 * 7 + d * 3) % 11) - 5) / 8;
		if (h == s->heads.kv - 1 && t < s->n && kv != TCB_TYPE_BLOCKS)
			values[1] = -INFINITY; /* q is above or below 0 there */
		tcb_kv_from_f32(kv, values, BLOCK, (char *)operand[ATTENTION_K] + tcb_kv_bytes(kv, i));
	}
}

static void huge_scores_on_gpus(void **state)
{
	static const char *const shapes[] = { "70x70x64,h8/4,causal,b2", "33x90x128,h8/2,w20,causal",
					      "3x60x64,h8/4,b2,causal", "20x75x256,h2/1" };
	static const unsigned capabilities[] = { 80, 90 };
	unsigned checked = 0;
	(void)state;
	for (size_t n = 0; n < OPS * 4 * 2 * 3; n++) { /* once more with group=256; prefill once more of contract f32 */
		const struct tcb_ptx_sink sink = { unseen, NULL };
		struct tcb_op op = *tcb_op_find(op_names[n % OPS]);
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_shape shape;
		struct tcb_gpu gpu;
		const char *text = shapes[n / OPS % 4];
		op.fill = fill_huge;
		assert_int_equal(tcb_shape_parse(text, &shape, &err), TCB_OK);
		if (shape.m > ATTENTION_DECODE_TOKENS_MAX && !((const struct attention_op *)op.member)->is_prefill)
			continue;
		assert_int_equal(tcb_gpu_table(capabilities[n / OPS / 4 % 2], &gpu, &err), TCB_OK);
		const int is_f32 = n / OPS / 8 == 2;
		make_problem(&op, is_f32 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, text, &problem);
		op.default_geometry(&problem, &gpu.device.target, &geometry);
		if (n / OPS / 8 == 1 && geometry.knob[TCB_KNOB_GROUP] == 0)
			geometry.knob[TCB_KNOB_GROUP] = ATTENTION_HEAD_MAX;
		else if (n / OPS / 8 == 1 || (is_f32 && !((const struct attention_op *)op.member)->is_prefill))
			continue;
		if (op.emit(&problem, &gpu.device.target, &geometry, &kernel, &err) != TCB_OK ||
		    tcb_kernel_emulate(&op, &kernel, NULL, SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s %s: %s", op.name, text, err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s %s sm_%u: %g of what is allowed", op.name, text, capabilities[n / OPS / 4 % 2],
				 emulation.error_ratio);
		tcb_kernel_fini(&kernel);
		checked++;
	}
	assert_in_range(checked, 64, 84);
}

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
		{ "1x100x128,h32/8,b5,ragged", 100 + 80 + 60 + 1, 100 + 80 + 60 + 1 },
	};
	(void)state;
	for (size_t i = 0; i < OPS * sizeof(rows) / sizeof(*rows); i++) {
		struct tcb_problem problem;
		make_problem(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F16, rows[i / OPS].shape, &problem);
		const struct tcb_shape *s = &problem.shape;
		const double io = 2.0 * 2 * (double)(s->heads.sequences * s->m * 32 * 128) + 4.0 * s->heads.sequences;
		const double each = attention_of(&problem)->kv == TCB_TYPE_BLOCKS ? 34.0 / 32 : 2;
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
		cmocka_unit_test(tiles_of_kernels),
		cmocka_unit_test(kernels_of_gpus),
		cmocka_unit_test(prefill_of_gpus),
		cmocka_unit_test(huge_scores_on_gpus),
		cmocka_unit_test(the_model_counts_what_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
