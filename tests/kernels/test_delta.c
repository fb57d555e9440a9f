/* SPDX-License-Identifier: MIT
 *
 * What the recurrent ops are: the reference against plain loops over the definition; a pool that
 * is both operands; tokens one by one; what they refuse.  GPU kernels drawn from the whole
 * product in the emulator, right and without findings; mutants, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "instrumented.h"
#include "kernels/delta/delta.h"

static const char *const op_names[] = {
	"delta_decode_f32",  "delta_decode_bf16",  "ssd_decode_f32",  "ssd_decode_bf16",
	"delta_prefill_f32", "delta_prefill_bf16", "ssd_prefill_f32", "ssd_prefill_bf16"
};
enum { OPS = sizeof op_names / sizeof *op_names };

static const char *const shapes[] = {
	"1x16x128,h4/2",           "1x40x64,h6/3,b3", "3x33x96,h7/1,b5,ragged",
	"4x64x128,h2/2,b4,ragged", "8x5x48,h8/4,b2",  "2x1x16,h1/1",
	"5x24x240,h2/1,b5,ragged", "1x9x256,h3/3,b2", "16x12x32,h4/2",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct tcb_shape shape_of(const char *text)
{
	struct tcb_shape shape;
	assert_int_equal(tcb_shape_parse(text, &shape, NULL), TCB_OK);
	return shape;
}

static struct tcb_problem problem_of(size_t op, const char *text)
{
	struct tcb_shape shape = shape_of(text);
	if (shape.m > 2 && strstr(op_names[op], "prefill"))
		shape.m = 6 * shape.m + 1; /* blocks of tokens, and some */
	return gpu_problem(tcb_op_find(op_names[op]), TCB_CONTRACT_F32, shape);
}

/* --- what it is --- */

static size_t kept(const struct tcb_problem *p)
{
	return strstr(p->op_name, "prefill") ? 1 : p->shape.m;
}

static double state_value(const struct gpu_bench *b, const void *states, size_t at)
{
	const enum tcb_type type = b->operand[DELTA_STATES].type;
	float value;
	tcb_type_to_f32(type, (const char *)states + at * tcb_type_bytes(type), 1, &value);
	return (double)value;
}

/* Head HEAD of SEQUENCE by the definition, a matrix of keys by values; its y and its states into Y and STATES. */
static void plain(const struct gpu_bench *b, size_t sequence, size_t head, double *y, double *states)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t k = s->k, n = s->n, heads = s->words.query, keys = s->words.kv;
	const int is_delta = strncmp(b->problem.op_name, "delta", 5) == 0;
	const size_t row = 2 * keys * k + heads * n;
	const size_t key_head = (size_t)((const int32_t *)b->data[DELTA_KEY_HEADS])[head];
	const int32_t *slots = (const int32_t *)b->data[DELTA_SLOTS] + sequence * (1 + kept(&b->problem));
	const size_t count = (size_t)((const int32_t *)b->data[DELTA_COUNTS])[sequence];
	double *state = test_calloc(k * n, sizeof *state), key[256], query[256];
	for (size_t i = 0; slots[0] >= 0 && i < k; i++)
		for (size_t j = 0; j < n; j++)
			state[i * n + j] = state_value(b, b->data[DELTA_STATES],
						       (((size_t)slots[0] * heads + head) * n + j) * k + i);
	for (size_t t = 0; t < count; t++) {
		const size_t token = sequence * s->m + t;
		const float *x = (const float *)b->data[DELTA_QKV] + token * row;
		const double a = exp((double)((const float *)b->data[DELTA_G])[token * heads + head]);
		const double beta = (double)((const float *)b->data[DELTA_BETA])[token * heads + head];
		double key_norm = 1, query_norm = 1;
		for (int pass = 0; pass < 2; pass++) {
			double key_squares = 1e-6, query_squares = 1e-6;
			for (size_t i = 0; i < k; i++) {
				query[i] = (double)x[key_head * k + i] / query_norm;
				key[i] = (double)x[(keys + key_head) * k + i] / key_norm;
				query_squares += query[i] * query[i];
				key_squares += key[i] * key[i];
			}
			if (pass || !is_delta)
				break;
			query_norm = sqrt(query_squares);
			key_norm = sqrt(key_squares);
		}
		for (size_t j = 0; j < n; j++) {
			const double v = (double)x[2 * keys * k + head * n + j];
			double *out = &y[(token * heads + head) * n + j], old = 0;
			for (size_t i = 0; i < k; i++) {
				state[i * n + j] *= a;
				old += is_delta ? state[i * n + j] * key[i] : 0;
			}
			*out = is_delta ? 0 : v * (double)((const float *)b->data[DELTA_SKIP])[head];
			for (size_t i = 0; i < k; i++) {
				state[i * n + j] += key[i] * beta * (v - old);
				*out += state[i * n + j] * query[i] / (is_delta ? sqrt((double)k) : 1);
			}
		}
		const int32_t slot = kept(&b->problem) == s->m ? slots[1 + t] : t + 1 == count ? slots[1] : -1;
		for (size_t i = 0; slot >= 0 && i < k; i++)
			for (size_t j = 0; j < n; j++)
				states[(((size_t)slot * heads + head) * n + j) * k + i] = state[i * n + j];
	}
	test_free(state);
}

static void compare(const struct gpu_bench *b, size_t output, const double *want)
{
	const struct tcb_operand *o = &b->operand[DELTA_Y + output];
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
		double *y = nothing(&b.operand[DELTA_Y]), *states = nothing(&b.operand[DELTA_STATES_OUT]);
		for (size_t sequence = 0; sequence < p.shape.words.sequences; sequence++)
			for (size_t head = 0; head < p.shape.words.query; head++)
				plain(&b, sequence, head, y, states);
		compare(&b, 0, y);
		compare(&b, 1, states);
		test_free(y);
		test_free(states);
		gpu_bench_close(&b);
	}
}

/* --- pools --- */

static void run_on_cpu(const struct gpu_bench *b, const struct tcb_geometry *g, void *const operand[])
{
	struct tcb_pool *pool;
	struct tcb_plan plan;
	struct tcb_error err;
	size_t output, bad = 0;
	if (tcb_op_cpu(b->op)->plan(&b->problem, g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_pool_create(plan.threads, NULL, &pool, NULL), TCB_OK);
	void *workspace = test_malloc(plan.workspace_bytes + 1);
	tcb_op_cpu(b->op)->run(&plan, operand, workspace, pool);
	if (!(tcb_outputs_error_ratio(&plan, b->operand, b->operand_count, b->reference, operand, &output, &bad) <= 1))
		fail_msg("%s: %s %zu is not %g", b->problem.op_name, b->operand[output].name, bad,
			 b->reference[output - DELTA_Y].y[bad]);
	tcb_pool_destroy(pool);
	test_free(workspace);
}

/* A new state in the place of the old one, whether it is stored through the caches or past them. */
static void one_pool_is_both(void **state)
{
	struct tcb_device device;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < 2 * OPS; i++) {
		const struct tcb_problem p = problem_of(i % OPS, "3x24x64,h4/2,b3");
		const struct tcb_words *words = &p.shape.words;
		struct tcb_geometry g;
		struct gpu_bench b;
		void *operand[TCB_OPERANDS_MAX];
		tcb_op_standard(&p, &device.target, &g);
		g.knob[TCB_KNOB_STREAM] = i >= OPS;
		gpu_bench_open(&b, &p, i);
		struct tcb_buffer pool; /* aligned as streamed stores need */
		const size_t bytes = b.operand[DELTA_STATES].bytes / words->sequences;
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, b.operand[DELTA_STATES_OUT].bytes, &pool, NULL),
				 TCB_OK);
		for (size_t sequence = 0; sequence < words->sequences; sequence++) {
			int32_t *slots = (int32_t *)b.data[DELTA_SLOTS] + sequence * (1 + kept(&p));
			memcpy((char *)pool.data + (size_t)slots[kept(&p)] * bytes,
			       (const char *)b.data[DELTA_STATES] + (size_t)slots[0] * bytes, bytes);
			slots[0] = slots[kept(&p)];
		}
		memcpy(operand, b.data, sizeof operand);
		operand[DELTA_STATES] = operand[DELTA_STATES_OUT] = pool.data;
		operand[DELTA_Y] = test_malloc(b.operand[DELTA_Y].bytes);
		run_on_cpu(&b, &g, operand);
		test_free(operand[DELTA_Y]);
		tcb_buffer_free(&pool);
		gpu_bench_close(&b);
	}
}

/* --- chunks --- */

/* Gates that models do not have but a caller may: a token that forgets all, one that forgets nearly all, none; keys
 * that are one another's. */
static void make_hard(struct gpu_bench *b)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t rows = s->words.sequences * s->m, heads = s->words.query, row = b->operand[DELTA_QKV].cols;
	float *g = b->data[DELTA_G], *beta = b->data[DELTA_BETA], *qkv = b->data[DELTA_QKV];
	for (size_t i = 0; i < rows; i++) {
		for (size_t head = 0; head < heads; head++) {
			g[i * heads + head] = i % 37 == 11 ? -INFINITY : i % 23 == 5 ? -90.0f : i % 3 ? 0 : -0.01f;
			if (i % 5 == 0)
				beta[i * heads + head] = 1;
		}
		if (i % 4 == 3)
			memcpy(qkv + i * row, qkv + (i - 1) * row, 2 * s->words.kv * s->k * sizeof(float));
	}
	gpu_bench_refer(b);
}

/* A NaN among a token's keys is what tokens from it on have, and none before it. */
static void make_nan(struct gpu_bench *b)
{
	const struct tcb_shape *s = &b->problem.shape;
	float *qkv = b->data[DELTA_QKV];
	qkv[6 * b->operand[DELTA_QKV].cols + s->words.kv * s->k] = NAN;
	gpu_bench_refer(b);
}

/* All tiles of this machine's families, all lengths of chunks, prompts that these do not divide. */
static void chunks_are_right(void **state)
{
	static const char *const prompts[] = { "150x40x64,h4/2,b3,ragged", "16x1x16,h1/1", "97x130x128,h2/1",
					       "64x33x240,h2/2,b2" };
	enum { PLAIN, HARD, WITH_NAN, KINDS };
	struct tcb_device device;
	size_t kernels = 0;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < KINDS * OPS * (sizeof prompts / sizeof *prompts); i++) {
		const size_t kind = i / OPS % KINDS;
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		const struct tcb_variant *variant;
		struct tcb_shape shape;
		struct gpu_bench b;
		void *operand[TCB_OPERANDS_MAX];
		if (!strstr(op_names[i % OPS], "prefill"))
			continue;
		assert_int_equal(tcb_shape_parse(prompts[i / OPS / KINDS], &shape, NULL), TCB_OK);
		const struct tcb_problem p = gpu_problem(op, TCB_CONTRACT_F32, shape);
		/* Of ssd a part of a state is NaN alone, and the reference has one bound for all of it. */
		if (kind == WITH_NAN && !delta_of(&p)->has_correction)
			continue;
		gpu_bench_open(&b, &p, i);
		if (kind == HARD)
			make_hard(&b);
		if (kind == WITH_NAN)
			make_nan(&b);
		memcpy(operand, b.data, sizeof operand);
		operand[DELTA_Y] = test_malloc(b.operand[DELTA_Y].bytes);
		operand[DELTA_STATES_OUT] = test_malloc(b.operand[DELTA_STATES_OUT].bytes);
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(op), v)); v++)
			for (size_t chunk = DELTA_CHUNK_LEAST; chunk <= DELTA_CHUNK_MAX; chunk *= 2) {
				struct tcb_geometry g;
				if (variant->micro.m == 1 || !tcb_target_has(&device.target, variant->isa))
					continue;
				tcb_op_standard(&p, &device.target, &g);
				g.tile[TCB_MICRO] = variant->micro;
				g.tile[TCB_MIDI] = (struct tcb_tile){ chunk, 2 * variant->micro.n, shape.k };
				g.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
				g.knob[TCB_KNOB_PREFETCH] = g.knob[TCB_KNOB_STREAM] = 0;
				g.knob[TCB_KNOB_THREADS] = 1;
				memset(operand[DELTA_Y], 0xff, b.operand[DELTA_Y].bytes);
				memset(operand[DELTA_STATES_OUT], 0xff, b.operand[DELTA_STATES_OUT].bytes);
				run_on_cpu(&b, &g, operand);
				kernels++;
			}
		test_free(operand[DELTA_Y]);
		test_free(operand[DELTA_STATES_OUT]);
		gpu_bench_close(&b);
	}
	assert_true(kernels > 0);
}

static void shapes_that_it_does_not_take(void **state)
{
	static const struct {
		const char *shape, *says;
	} wrong[] = { { "1x64x128,h8/2,causal", "takes" }, { "1x64x128", "1x128x128,h32/16" },
		      { "1x64x100,h8/2", "steps of 16" },  { "1x64x272,h8/2", "16 to 256" },
		      { "17x64x128,h8/2", "up to 16" },    { "1x2000000x128,h64/2", "2^31" } };
	(void)state;
	for (size_t i = 0; i < OPS * sizeof wrong / sizeof *wrong; i++) {
		if (strstr(wrong[i / OPS].says, "up to") && strstr(op_names[i % OPS], "prefill"))
			continue;
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_error err;
		assert_int_equal(tcb_shape_parse(wrong[i / OPS].shape, &shape, &err), TCB_OK);
		assert_int_not_equal(
			tcb_problem_init(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F32, &shape, &problem, &err),
			TCB_OK);
		if (!strstr(err.message, wrong[i / OPS].says))
			fail_msg("%s: %s", wrong[i / OPS].shape, err.message);
	}
}

/* --- GPU kernels --- */

static int has_kernel(const struct tcb_problem *p, unsigned capability)
{
	return capability >= 80 || !strstr(p->op_name, "bf16");
}

static void defaults_are_legal_and_in_the_space(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * SHAPES; i++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++) {
			const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS]);
			if (has_kernel(&p, gpu_capabilities[c]))
				gpu_check_default(&p, gpu_capabilities[c]);
		}
}

static void samples_are_right(void **state)
{
	const size_t count = gpu_sample_size(144);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_problem p = problem_of(i % OPS, shapes[i / OPS % SHAPES]);
		const unsigned capability = gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)];
		const struct tcb_target target = gpu_target(has_kernel(&p, capability) ? capability : 90, 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

/* Chunks on tensor cores: all lengths, prompts that these do not divide, gates as above; rows of qkv that are aligned
 * to 16, 8 and 4 bytes; values that fill no block; warps that have no keys of their own; many heads of one. */
static void chunks_are_right_on_gpus(void **state)
{
	static const struct {
		const char *shape;
		unsigned chunk, values, warp_values, stages, heads, cluster;
		enum tcb_copy copy;
	} cases[] = {
		{ "70x40x32,h2/1,b2,ragged", 32, 32, 32, 2, 2, 2, TCB_COPY_BULK },
		{ "33x5x48,h3/1", 16, 16, 16, 3, 1, 1, TCB_COPY_ASYNC },
		{ "64x34x16,h1/1", 64, 32, 16, 2, 1, 1, TCB_COPY_ASYNC },
		{ "40x70x64,h2/2,b3,ragged", 16, 64, 16, 2, 1, 1, TCB_COPY_BULK },
		{ "50x16x256,h1/1", 32, 16, 16, 2, 1, 1, TCB_COPY_BULK },
		{ "140x17x128,h2/1", 64, 16, 16, 2, 2, 2, TCB_COPY_BULK },
		{ "100x48x112,h5/1,b2,ragged", 64, 32, 32, 2, 2, 1, TCB_COPY_ASYNC },
		{ "20x64x32,h70/2", 16, 16, 16, 4, 16, 4, TCB_COPY_BULK },
	};
	struct gpu_tally tally = { 0 };
	(void)state;
	for (size_t i = 0; i < OPS * (sizeof cases / sizeof *cases); i++) {
		if (test_defers(i))
			continue;
		const unsigned chunk = cases[i / OPS].chunk, values = cases[i / OPS].values;
		struct tcb_shape shape;
		struct tcb_geometry g;
		struct gpu_bench b;
		if (!strstr(op_names[i % OPS], "prefill"))
			continue;
		const struct tcb_target target = gpu_target(90, 2);
		assert_int_equal(tcb_shape_parse(cases[i / OPS].shape, &shape, NULL), TCB_OK);
		const struct tcb_problem p = gpu_problem(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F32, shape);
		tcb_op_standard(&p, &target, &g);
		assert_int_equal(g.knob[TCB_KNOB_ISA], shape.m >= 24 ? TCB_ISA_MMA : TCB_ISA_FMA);
		tcb_geometry_init(&g);
		g.tile[TCB_MACRO].m = tcb_power_of_two_up(shape.m);
		g.tile[TCB_MACRO].n = tcb_most(tcb_power_of_two_up(shape.n), values);
		g.tile[TCB_MACRO].k = tcb_power_of_two_up(shape.k);
		g.tile[TCB_MIDI] = (struct tcb_tile){ chunk, values, g.tile[TCB_MACRO].k };
		g.tile[TCB_MICRO] = (struct tcb_tile){ 16, cases[i / OPS].warp_values, 16 };
		g.knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
		g.knob[TCB_KNOB_WARPS] = (int32_t)(chunk / 16 * (values / cases[i / OPS].warp_values));
		g.knob[TCB_KNOB_VEC] = 16;
		g.knob[TCB_KNOB_STAGES] = (int32_t)cases[i / OPS].stages;
		g.knob[TCB_KNOB_COPY] = (int32_t)cases[i / OPS].copy;
		g.knob[TCB_KNOB_CLUSTER] = (int32_t)cases[i / OPS].cluster;
		g.knob[TCB_KNOB_HEADS] = (int32_t)cases[i / OPS].heads;
		g.knob[TCB_KNOB_STREAM] = i / OPS % 2;
		g.knob[TCB_KNOB_PDL] = i / OPS / 2 % 2;
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		gpu_bench_open(&b, &p, i);
		if (i / 4 % 2)
			make_hard(&b);
		b.output_align = 16;
		gpu_bench_check(&b, &target, &g, i, &tally);
		gpu_bench_close(&b);
	}
	gpu_tally_print(&tally);
}

/* As GGUF files have them: any head of keys for any head. */
static void any_head_of_keys(void **state)
{
	struct tcb_device device;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < OPS; i++) {
		const struct tcb_problem p = problem_of(i, "2x24x64,h6/3,b2");
		const struct tcb_target target = gpu_target(90, 2);
		struct tcb_geometry g;
		struct gpu_bench b;
		void *operand[TCB_OPERANDS_MAX];
		gpu_bench_open(&b, &p, i);
		for (size_t head = 0; head < 6; head++)
			((int32_t *)b.data[DELTA_KEY_HEADS])[head] = (int32_t)(head % 3);
		gpu_bench_refer(&b);
		b.output_align = 16;
		tcb_op_standard(&p, &target, &g);
		gpu_bench_check(&b, &target, &g, i, NULL);
		memcpy(operand, b.data, sizeof operand);
		operand[DELTA_Y] = test_malloc(b.operand[DELTA_Y].bytes);
		operand[DELTA_STATES_OUT] = test_malloc(b.operand[DELTA_STATES_OUT].bytes);
		tcb_op_standard(&p, &device.target, &g);
		run_on_cpu(&b, &g, operand);
		test_free(operand[DELTA_Y]);
		test_free(operand[DELTA_STATES_OUT]);
		gpu_bench_close(&b);
	}
}

#define TWO_LANES "macro=2x8x16,midi=2x8x16,micro=1x8x4,isa=fma,warps=1,vec=16,stream=0,pdl=0"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ "no y", { REMOVE, TCB_PTX_OP_ST, 0 } },
		{ "no state", { REMOVE, TCB_PTX_OP_ST, 1 } },
		{ "a state elsewhere", { MOVE, TCB_PTX_OP_ST, 1 } },
		{ "y elsewhere", { MOVE, TCB_PTX_OP_ST, 0 } },
		{ "another head's keys", { MOVE, TCB_PTX_OP_LD, 9 } },
		{ "as many tokens as another sequence", { MOVE, TCB_PTX_OP_LD, 10 } },
		{ "another slot", { MOVE, TCB_PTX_OP_LD, 11 } },
		{ "zeros are read", { UNGUARD, TCB_PTX_OP_LD, 12 } },
		{ "other keys", { MOVE, TCB_PTX_OP_LD, 13 } },
		{ "another decay", { MOVE, TCB_PTX_OP_LD, 18 } },
		{ "another beta of the next token", { MOVE, TCB_PTX_OP_LD, 26 } },
		{ "another slot to go to", { MOVE, TCB_PTX_OP_LD, 27 } },
		{ "sums over other lanes", { CONSTANT, TCB_PTX_OP_SHFL, 1 } },
		{ "the next token's value is this one's", { REMOVE, TCB_PTX_OP_MOV, 22 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = problem_of(0, "2x7x16,h2/1,b3,ragged");
		gpu_check_mutant(&p, &target, TWO_LANES, cases[i].what, &cases[i].mutation);
	}
}

#define CHUNKS                                                                                                        \
	"macro=64x16x16,midi=32x16x16,micro=16x16x16,isa=mma,warps=2,vec=16,stages=2,stream=0,pdl=0,heads=1,cluster=" \
	"1,copy="

/* Of the second launch. */
static void mutants_of_chunks_are_caught(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ "no terms of the first state", { REMOVE, TCB_PTX_OP_ST, 0 } },
		{ "no small term of a state", { REMOVE, TCB_PTX_OP_ST, 1 } },
		{ "no rest of the values", { REMOVE, TCB_PTX_OP_ST, 8 } },
		{ "another chunk's state", { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no small term of keys", { REMOVE, TCB_PTX_OP_MMA, 0 } },
		{ "no small term of queries", { REMOVE, TCB_PTX_OP_MMA, 1 } },
		{ "no small term of the state", { REMOVE, TCB_PTX_OP_MMA, 4 } },
		{ "no product of keys", { REMOVE, TCB_PTX_OP_MMA, 8 } },
		{ "no product of queries", { REMOVE, TCB_PTX_OP_MMA, 9 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = gpu_problem(tcb_op_find("delta_prefill_f32"), TCB_CONTRACT_F32,
							 shape_of("40x7x16,h2/1,b3,ragged"));
		gpu_check_mutant(&p, &target, i % 2 ? CHUNKS "async" : CHUNKS "bulk", cases[i / 2].what,
				 &cases[i / 2].mutation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_definition),
		cmocka_unit_test(one_pool_is_both),
		cmocka_unit_test(chunks_are_right),
		cmocka_unit_test(shapes_that_it_does_not_take),
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(chunks_are_right_on_gpus),
		cmocka_unit_test(any_head_of_keys),
		cmocka_unit_test(mutants_are_caught),
		cmocka_unit_test(mutants_of_chunks_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
