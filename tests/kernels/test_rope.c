/* SPDX-License-Identifier: MIT
 *
 * What rope_append is: the reference against plain loops, where attention looks for K and
 * V, what it leaves alone; GPU kernels drawn from the whole product in the emulator, right
 * and without findings; mutants, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/rope/rope.h"

static const char *const op_names[] = { "rope_append_f16", "rope_append_bf16" };
static const enum tcb_contract contracts[] = { TCB_CONTRACT_F16, TCB_CONTRACT_F32 };
enum { OPS = 2, CONTRACTS = 2 };

static const char *const shapes[] = {
	"1x1x128,h4/1",
	"1x40x64,h32/8,b3",
	"5x33x96,h7/1,b5,ragged",
	"4x64x128,h8/2,b4,p16,ragged",
	"16x16x32,h4/4,b2",
	"3x50x256,h2/1,b6,p7,ragged",
	"9x5x128,h6/2,b5,ragged",
	"33x70x64,h9/3",
	"1x40x128,h32/8,b3,pairs",
	"5x33x96,h7/1,b5,p16,ragged,pairs",
	"16x16x32,h4/4,b2,pairs",
	"3x50x256,h2/1,pairs",
	"4x64x64,h8/2,b4,ragged,pairs",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct tcb_problem problem_of(size_t op, size_t contract, const char *text)
{
	struct tcb_shape shape;
	assert_int_equal(tcb_shape_parse(text, &shape, NULL), TCB_OK);
	return gpu_problem(tcb_op_find(op_names[op]), contracts[contract], shape);
}

static double value_at(enum tcb_type type, const void *values, size_t index)
{
	float value;
	tcb_type_to_f32(type, (const char *)values + index * tcb_type_bytes(type), 1, &value);
	return (double)value;
}

/* --- what it is --- */

/* Result I of head HEAD of token TOKEN's row of qkv at position P, by the definition. */
static double plain(const struct gpu_bench *b, size_t token, size_t head, size_t p, size_t i)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t heads = (size_t)s->heads.query + 2 * s->heads.kv, half = s->k / 2;
	const enum tcb_type type = b->operand[ROPE_QKV].type;
	const size_t row = (token * heads + head) * s->k;
	const float *rotation = b->data[ROPE_ROTATION];
	const double x = value_at(type, b->data[ROPE_QKV], row + i);
	if (head >= s->heads.query + s->heads.kv)
		return x;
	const double cosine = (double)rotation[p * s->k + i % half],
		     sine = (double)rotation[p * s->k + half + i % half];
	if (s->heads.pairs) {
		const double c = (double)rotation[p * s->k + i / 2], d = (double)rotation[p * s->k + half + i / 2];
		return i % 2 ? x * c + value_at(type, b->data[ROPE_QKV], row + i - 1) * d
			     : x * c - value_at(type, b->data[ROPE_QKV], row + i + 1) * d;
	}
	return i < half ? x * cosine - value_at(type, b->data[ROPE_QKV], row + i + half) * sine
			: x * cosine + value_at(type, b->data[ROPE_QKV], row + i - half) * sine;
}

/* Where ATTENTION looks for head HEAD of K (WHICH 0) or V of position P, in the output. */
static size_t attention_head(const struct gpu_bench *b, size_t which, size_t sequence, size_t head, size_t p)
{
	const struct tcb_shape *s = &b->problem.shape;
	const int32_t *table = s->heads.page ? b->data[ROPE_TABLE] : NULL;
	const size_t q_heads = s->heads.sequences * s->m * s->heads.query;
	const size_t token = tcb_kv_token(s, table, sequence, p) + which * tcb_kv_tokens(s);
	return q_heads + token * s->heads.kv + head;
}

static void compare(const struct gpu_bench *b, size_t token, size_t head, size_t p, size_t to, unsigned char *seen)
{
	const size_t k = b->problem.shape.k;
	for (size_t i = 0; i < k; i++) {
		const double want = plain(b, token, head, p, i), got = b->reference.y[to * k + i];
		if (!(fabs(want - got) <= 1e-13 * (1 + fabs(want))))
			fail_msg("%s: token %zu, head %zu, value %zu is %g, not %g", b->problem.op_name, token, head, i,
				 got, want);
		seen[to * k + i] = 1;
	}
}

static void reference_is_the_definition(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * CONTRACTS * SHAPES; i++) {
		const struct tcb_problem p = problem_of(i % OPS, i / OPS % CONTRACTS, shapes[i / OPS / CONTRACTS]);
		const struct tcb_shape *s = &p.shape;
		struct gpu_bench b;
		gpu_bench_open(&b, &p, 3 + i);
		const int32_t *lengths = b.data[ROPE_LENGTHS];
		unsigned char *seen = test_calloc(b.outputs, 1);
		for (size_t token = 0; token < s->heads.sequences * s->m; token++) {
			const size_t sequence = token / s->m, q = s->heads.query, kv = s->heads.kv;
			const ptrdiff_t at = lengths[sequence] - (ptrdiff_t)s->m + (ptrdiff_t)(token % s->m);
			for (size_t h = 0; at >= 0 && h < q; h++)
				compare(&b, token, h, (size_t)at, token * q + h, seen);
			for (size_t h = 0; at >= 0 && h < 2 * kv; h++)
				compare(&b, token, q + h, (size_t)at,
					attention_head(&b, h / kv, sequence, h % kv, (size_t)at), seen);
		}
		for (size_t o = 0; o < b.outputs; o++)
			if (!seen[o] && !isnan(b.reference.y[o]))
				fail_msg("%s %s: %zu is written", p.op_name, shapes[i / OPS / CONTRACTS], o);
		test_free(seen);
		gpu_bench_close(&b);
	}
}

/* What a call may not touch: a judge that overlooks it is none. */
static void writing_elsewhere_is_an_error(void **state)
{
	const struct tcb_problem p = problem_of(0, 0, "4x64x128,h8/2,b4,p16,ragged");
	const struct tcb_target target = gpu_target(90, 2);
	struct tcb_geometry g;
	struct tcb_kernel kernel;
	struct gpu_bench b;
	(void)state;
	p.op->default_geometry(&p, &target, &g);
	gpu_emit(&p, &target, &g, &kernel);
	gpu_bench_open(&b, &p, 1);
	float *got = test_malloc(b.outputs * sizeof *got);
	size_t untouched = b.outputs;
	for (size_t i = 0; i < b.outputs; i++) {
		got[i] = (float)b.reference.y[i];
		untouched = isnan(b.reference.y[i]) ? i : untouched;
	}
	assert_true(untouched < b.outputs);
	for (size_t i = 0; i < b.outputs; i++) /* as exact as the cache's type */
		got[i] = isnan(got[i]) ? got[i] : (float)(_Float16)got[i];
	assert_true(tcb_kernel_error_ratio(&kernel, &b.reference, got, b.outputs, NULL) <= 1);
	got[untouched] = 0;
	assert_true(tcb_kernel_error_ratio(&kernel, &b.reference, got, b.outputs, NULL) > 1);
	test_free(got);
	gpu_bench_close(&b);
	tcb_kernel_fini(&kernel);
}

static void shapes_that_it_does_not_take(void **state)
{
	static const char *const wrong[] = { "1x64x128,h8/2,causal", "1x64x128,h8/2,w16", "1x64x128,h8/2,c30",
					     "1x64x100,h8/2", "1x64x288,h8/2" };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_error err;
		assert_int_equal(tcb_shape_parse(wrong[i], &shape, &err), TCB_OK);
		assert_int_equal(tcb_problem_init(tcb_op_find(op_names[0]), TCB_CONTRACT_F16, &shape, &problem, &err),
				 TCB_E_USAGE);
	}
}

/* --- GPU kernels --- */

static int has_kernel(const struct tcb_problem *p, unsigned capability)
{
	return capability >= 80 || strcmp(p->op_name, "rope_append_bf16") != 0;
}

static void defaults_are_legal_and_in_the_space(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * CONTRACTS * SHAPES; i++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++) {
			const struct tcb_problem p =
				problem_of(i % OPS, i / OPS % CONTRACTS, shapes[i / OPS / CONTRACTS]);
			if (has_kernel(&p, gpu_capabilities[c]))
				gpu_check_default(&p, gpu_capabilities[c]);
		}
}

static void samples_are_right(void **state)
{
	const size_t count = gpu_sample_size(156);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_problem p =
			problem_of(i % OPS, i / OPS % CONTRACTS, shapes[i / OPS / CONTRACTS % SHAPES]);
		const unsigned capability = gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)];
		const struct tcb_target target = gpu_target(has_kernel(&p, capability) ? capability : 90, 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		struct tcb_kernel kernel;
		struct gpu_bench bench;
		gpu_emit(&p, &target, &g, &kernel);
		gpu_check_clean(&kernel);
		gpu_check_text(&kernel);
		tcb_kernel_fini(&kernel);
		gpu_bench_open(&bench, &p, i);
		bench.output_align = 16;
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

/* Values that arithmetic would change: of V none is, of q and k the pair. */
static void odd_values_stay_where_they_are(void **state)
{
	const struct tcb_target target = gpu_target(90, 2);
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 4);
	for (size_t i = 0; i < 8; i++) {
		const struct tcb_problem p = problem_of(i % OPS, 1, "4x64x128,h8/2,b4,p16,ragged");
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		const size_t row = 12 * p.shape.k;
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, i);
		float *x = bench.data[ROPE_QKV];
		x[3] = NAN;
		x[row + 8 * p.shape.k + 70] = INFINITY;
		x[2 * row + 10 * p.shape.k + 5] = NAN;
		x[2 * row + 11 * p.shape.k + 6] = -INFINITY;
		x[3 * row + 11 * p.shape.k + 7] = 1e-6f; /* below the normal numbers of f16 */
		snprintf(bench.what, sizeof bench.what, "odd values");
		gpu_bench_refer(&bench);
		bench.output_align = 16;
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

#define WHOLE "macro=4x1x128,midi=1x1x128,micro=1x1x4,isa=fma,unroll=5,warps=2,vec=8,stream=0,pdl=0,parts=1"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ "heads past the last", { UNGUARD, TCB_PTX_OP_ST, 9 } },
		{ "half a head is left out", { REMOVE, TCB_PTX_OP_ST, 1 } },
		{ "values from the wrong place", { MOVE, TCB_PTX_OP_LD, 11 } },
		{ "a position from the wrong place", { MOVE, TCB_PTX_OP_LD, 20 } },
		{ "cos from the wrong place", { MOVE, TCB_PTX_OP_LD, 21 } },
		{ "a page from the wrong place", { MOVE, TCB_PTX_OP_LD, 23 } },
		{ "no rotation", { REMOVE, TCB_PTX_OP_MUL, 20 } },
		{ "V rotated", { REMOVE, TCB_PTX_OP_SELP, 40 } },
	};
	const struct tcb_problem p = problem_of(0, 0, "4x64x128,h8/2,b4,p16,ragged");
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_geometry g = gpu_geometry(WHOLE);
		struct gpu_bench bench;
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_bench_open(&bench, &p, 9);
		bench.output_align = 16;
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_definition),
		cmocka_unit_test(writing_elsewhere_is_an_error),
		cmocka_unit_test(shapes_that_it_does_not_take),
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(odd_values_stay_where_they_are),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
