/* SPDX-License-Identifier: MIT
 *
 * What rope_append is: the reference against plain loops, where attention looks for K and
 * V, what it leaves alone; blocks of q8_0 byte by byte; GPU kernels drawn from the whole
 * product in the emulator, right and without findings; mutants, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/attention/attention.h"
#include "kernels/rope/rope.h"

static const char *const op_names[] = { "rope_append_f16", "rope_append_bf16", "rope_append_q80" };
static const enum tcb_contract contracts[] = { TCB_CONTRACT_F16, TCB_CONTRACT_F32 };
enum { OPS = 3, BLOCKS = 2 /* which of them has blocks */, CONTRACTS = 2, BLOCK = 32, BLOCK_BYTES = 34 };

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
	"5x9x160,h3/1,b2,ragged",
	"3x6x224,h2/2,p4",
	"5x33x128,h8/2,b3,ragged,rot64", /* GLM-4, MiniMax-M2 */
	"3x9x256,h5/1,b2,p4,rot64",
	"5x33x128,h7/1,b5,p16,ragged,pairs,rot72",
	"4x20x128,h8/2,b2,qknorm6", /* Qwen3 */
	"3x50x96,h2/1,b6,p7,ragged,qknorm5",
	"5x9x64,h3/1,b2,qknorm3,pairs",
	"4x24x128,h4/2,b3,mrope", /* Qwen2-VL */
	"3x17x256,h4/1,b4,p5,ragged,rot64,qknorm6,mrope",
	"3x17x96,h9/3,b4,ragged,pairs,rot40,qknorm6,mrope",
	"5x33x128,h7/1,b3,p16,ragged,qknorm6,apart",
	"4x20x96,h6/2,b2,ragged,rot32,pairs,mrope,apart",
	"7x33x128,h8/2,pairs,apart",
	"1x20x32,h3/1,b3,p4,ragged,apart",
	/* Heads that are no whole number of blocks. */
	"3x9x72,h5/1,b2,ragged",
	"5x33x80,h7/1,b5,rot32",
	"4x8x88,h3/1,b2,pairs,rot24,qknorm6",
	"2x8x576,h2/1,p3,rot64,mrope",
	"3x8x8,h4/2,qknorm6",
	"5x12x40,h5/1,rot16,qknorm2,mrope",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Caches of Q4_0, of FP8, and of two kinds. */
#define NAME(kv, ...) "rope_append_" #kv,
static const char *const other_names[] = { TCB_KV_CPU_LIST(NAME, ) };
#undef NAME
enum { OTHERS = sizeof other_names / sizeof *other_names };

static struct tcb_problem problem_of(size_t op, size_t contract, const char *text)
{
	struct tcb_shape shape;
	assert_int_equal(tcb_shape_parse(text, &shape, NULL), TCB_OK);
	if (op == BLOCKS && shape.k % BLOCK)
		op = 0;
	return gpu_problem(tcb_op_find(op_names[op]), contracts[contract], shape);
}

/* The same, perhaps with strides. */
static struct tcb_problem strided_problem(size_t op, size_t contract, const char *text, size_t i)
{
	struct tcb_problem p = problem_of(op, contract, text);
	gpu_problem_rows(&p, i);
	return p;
}

static int has_blocks(const struct gpu_bench *b)
{
	return tcb_kv_has_blocks(rope_kv(&b->problem));
}

static size_t elements(const struct gpu_bench *b, size_t output)
{
	return b->operand[ROPE_Q + output].rows * b->operand[ROPE_Q + output].cols;
}

static double value_at(enum tcb_type type, const void *values, size_t index)
{
	float value;
	tcb_type_to_f32(type, (const char *)values + index * tcb_type_bytes(type), 1, &value);
	return (double)value;
}

/* --- what it is --- */

/* Value I of head HEAD of token TOKEN's row of qkv, under its norm if it has one. */
static double plain_input(const struct gpu_bench *b, size_t token, size_t head, size_t i)
{
	const struct tcb_shape *s = &b->problem.shape;
	const struct tcb_words *words = &s->words;
	const size_t kv = words->kv, last = b->operand_count - 1;
	const enum tcb_type type = b->operand[ROPE_QKV].type;
	const void *input = b->data[ROPE_QKV];
	size_t row = token * rope_new_apart(&b->problem, rope_first_heads(s)) + head * s->k;
	if (words->apart && head >= words->query) {
		input = b->data[head < words->query + kv ? last - 1 : last];
		row = token * rope_new_apart(&b->problem, kv) + (head - words->query) % kv * s->k;
	}
	const float *norms = b->data[ROPE_MORE + (words->page != 0) + (head >= words->query)];
	double sum = 0;
	if (!words->qknorm || head >= words->query + words->kv)
		return value_at(type, input, row + i);
	for (size_t j = 0; j < s->k; j++)
		sum += pow(value_at(type, input, row + j), 2);
	return value_at(type, input, row + i) / sqrt(sum / (double)s->k + pow(10, -words->qknorm)) * (double)norms[i];
}

/* Result I of head HEAD of token TOKEN's row of qkv at position P, by the definition. */
static double plain(const struct gpu_bench *b, size_t token, size_t head, size_t p, size_t i)
{
	const struct tcb_shape *s = &b->problem.shape;
	const struct tcb_words *words = &s->words;
	const size_t rotated = words->rotated ? words->rotated : s->k, half = rotated / 2;
	const float *rotation = b->data[ROPE_ROTATION];
	const double x = plain_input(b, token, head, i);
	const size_t angle = words->pairs ? i / 2 : i % half;
	if (head >= words->query + words->kv || i >= rotated)
		return x;
	if (words->mrope) {
		const size_t at = ROPE_MORE + (words->page != 0) + 2 * (size_t)(words->qknorm != 0);
		const int32_t *positions = b->data[at], *sections = b->data[at + 1];
		p = (size_t)positions[(size_t)sections[angle] * words->sequences * s->m + token];
	}
	const double cosine = (double)rotation[p * rotated + angle],
		     sine = (double)rotation[p * rotated + half + angle];
	if (words->pairs)
		return i % 2 ? x * cosine + plain_input(b, token, head, i - 1) * sine
			     : x * cosine - plain_input(b, token, head, i + 1) * sine;
	return i < half ? x * cosine - plain_input(b, token, head, i + half) * sine
			: x * cosine + plain_input(b, token, head, i - half) * sine;
}

/* Where ATTENTION looks for head HEAD of position P, in K and in V. */
static size_t attention_head(const struct gpu_bench *b, size_t sequence, size_t head, size_t p)
{
	const struct tcb_shape *s = &b->problem.shape;
	const int32_t *table = s->words.page ? b->data[ROPE_MORE] : NULL;
	return tcb_kv_token(s, table, sequence, p) * s->words.kv + head;
}

/* Which output head HEAD of a row of qkv goes to: 0, q; 1, K; 2, V. */
static size_t output_of(const struct gpu_bench *b, size_t head)
{
	const struct tcb_words *words = &b->problem.shape.words;
	return head < words->query ? 0 : head < (size_t)words->query + words->kv ? 1 : 2;
}

/* What a code may be off, which a norm in f32 adds to. */
static double code_off(const struct gpu_bench *b)
{
	return b->problem.shape.words.qknorm ? 5e-3 : 1e-3;
}

/* VALUES of a block as its codes and scale read, by plain loops; *IS_TIE: one is within OFF as near to two codes. */
static void quantise(double *values, double off, int *is_tie)
{
	double largest = 0;
	*is_tie = 0;
	for (size_t i = 0; i < BLOCK; i++)
		largest = fabs(values[i]) > largest ? fabs(values[i]) : largest;
	for (size_t i = 0; i < BLOCK && largest > 0; i++) {
		const double steps = values[i] * 127 / largest, code = floor(steps + 0.5);
		*is_tie |= fabs(fabs(steps - code) - 0.5) < off;
		values[i] = code * (largest / 127);
	}
}

static void compare(const struct gpu_bench *b, size_t token, size_t head, size_t p, size_t to, unsigned char *seen[])
{
	const size_t output = output_of(b, head);
	const struct tcb_reference *reference = &b->reference[output];
	const int is_block = has_blocks(b) && head >= b->problem.shape.words.query;
	const size_t k = b->problem.shape.k, unit = is_block ? BLOCK : k;
	double want[ROPE_HEAD_MAX];
	for (size_t i = 0; i < k; i++)
		want[i] = plain(b, token, head, p, i);
	for (size_t first = 0; first < k; first += unit) {
		int is_tie = 0;
		if (is_block)
			quantise(want + first, code_off(b), &is_tie);
		for (size_t i = first; i < first + unit; i++) {
			const double got = reference->y[to * k + i], off = fabs(want[i] - got);
			if (!(off <= (is_tie ? reference->extra[to * k + i] : 1e-13 * (1 + fabs(want[i])))))
				fail_msg("%s: token %zu, head %zu, value %zu is %g, not %g", b->problem.op_name, token,
					 head, i, got, want[i]);
			seen[output][to * k + i] = 1;
		}
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
		unsigned char *seen[3];
		for (size_t o = 0; o < 3; o++)
			seen[o] = test_calloc(elements(&b, o), 1);
		for (size_t token = 0; token < s->words.sequences * s->m; token++) {
			const size_t sequence = token / s->m, q = s->words.query, kv = s->words.kv;
			const ptrdiff_t at = lengths[sequence] - (ptrdiff_t)s->m + (ptrdiff_t)(token % s->m);
			for (size_t h = 0; at >= 0 && h < q; h++)
				compare(&b, token, h, (size_t)at, token * q + h, seen);
			for (size_t h = 0; at >= 0 && h < 2 * kv; h++)
				compare(&b, token, q + h, (size_t)at, attention_head(&b, sequence, h % kv, (size_t)at),
					seen);
		}
		for (size_t o = 0; o < 3; o++) {
			for (size_t e = 0; e < elements(&b, o); e++)
				if (!seen[o][e] && !isnan(b.reference[o].y[e]))
					fail_msg("%s %s: %s %zu is written", p.op_name, shapes[i / OPS / CONTRACTS],
						 b.operand[ROPE_Q + o].name, e);
			test_free(seen[o]);
		}
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
	tcb_op_standard(&p, &target, &g);
	gpu_emit(&p, &target, &g, &kernel);
	gpu_bench_open(&b, &p, 1);
	const struct tcb_plan bound = { .chain = kernel.chain, .ulps = kernel.ulps };
	for (size_t o = 0; o < 3; o++) {
		const struct tcb_reference *reference = &b.reference[o];
		const size_t count = elements(&b, o);
		float *got = test_malloc(count * sizeof *got);
		size_t untouched = count;
		for (size_t i = 0; i < count; i++) { /* as exact as the cache's type */
			const float y = (float)reference->y[i];
			got[i] = isnan(y) ? y : (float)(_Float16)y;
			untouched = isnan(y) ? i : untouched;
		}
		assert_true(untouched < count);
		assert_true(tcb_error_ratio(&bound, reference, got, count, NULL) <= 1);
		got[untouched] = 0;
		assert_true(tcb_error_ratio(&bound, reference, got, count, NULL) > 1);
		test_free(got);
	}
	gpu_bench_close(&b);
	tcb_kernel_fini(&kernel);
}

/* --- blocks --- */

/* The block of values X as it is to be: the largest magnitude over 127, which as an f16 may be one off, and codes to
 * the nearest, of which one that is within OFF as near to two may be either. */
static const char *wrong_block(const double *x, double off, const unsigned char *block)
{
	double largest = 0;
	uint16_t scale;
	memcpy(&scale, block, sizeof scale);
	for (size_t i = 0; i < BLOCK; i++)
		largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
	if (abs(scale - tcb_f32_to_f16((float)(largest / 127))) > 1)
		return "scale";
	for (size_t i = 0; i < BLOCK; i++)
		if (!(fabs((int8_t)block[2 + i] - x[i] * 127 / largest) <= 0.5 + off))
			return "code";
	return NULL;
}

/* OUT, K and V, is what a kernel made of poison: blocks of the new tokens, and of all else the poison. */
static void check_cache(const struct gpu_bench *b, unsigned char *const out[], const char *what)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t q = s->words.query, kv = s->words.kv, head_bytes = s->k / BLOCK * BLOCK_BYTES;
	const size_t heads = tcb_kv_tokens(s) * kv;
	const int32_t *lengths = b->data[ROPE_LENGTHS];
	for (size_t which = 0; which < 2; which++) {
		const unsigned char *cache = out[1 + which];
		unsigned char *seen = test_calloc(heads, 1);
		assert_int_equal(b->operand[ROPE_K + which].bytes, heads * head_bytes);
		for (size_t token = 0; token < s->words.sequences * s->m; token++)
			for (size_t h = 0; h < kv; h++) {
				const size_t sequence = token / s->m;
				const ptrdiff_t p = lengths[sequence] - (ptrdiff_t)s->m + (ptrdiff_t)(token % s->m);
				double x[ROPE_HEAD_MAX];
				if (p < 0)
					continue;
				const size_t at = attention_head(b, sequence, h, (size_t)p);
				for (size_t i = 0; i < s->k; i++)
					x[i] = plain(b, token, q + which * kv + h, (size_t)p, i);
				for (size_t i = 0; i < s->k / BLOCK; i++) {
					const char *wrong = wrong_block(x + i * BLOCK, code_off(b),
									cache + at * head_bytes + i * BLOCK_BYTES);
					if (wrong)
						fail_msg("%s: head %zu of token %zu, block %zu: a wrong %s", what, h,
							 token, i, wrong);
				}
				seen[at] = 1;
			}
		for (size_t i = 0; i < heads * head_bytes; i++)
			if (!seen[i / head_bytes] && cache[i] != TCB_POISON)
				fail_msg("%s: byte %zu of the cache was written", what, i);
		test_free(seen);
	}
}

/* G's results of B, q, K and V, which are held against the reference; test_free() each. */
static void run_on_cpu(struct gpu_bench *b, const struct tcb_geometry *g, const char *what, unsigned char *out[3])
{
	void *operand[TCB_OPERANDS_MAX];
	struct tcb_pool *pool;
	struct tcb_plan plan;
	struct tcb_error err;
	size_t output, bad = 0;
	if (tcb_op_cpu(b->op)->plan(&b->problem, g, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", what, err.message);
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	void *workspace = test_malloc(plan.workspace_bytes + 1);
	memcpy(operand, b->data, sizeof operand);
	for (size_t o = 0; o < 3; o++) {
		operand[ROPE_Q + o] = out[o] = test_malloc(b->operand[ROPE_Q + o].bytes);
		memset(out[o], TCB_POISON, b->operand[ROPE_Q + o].bytes);
	}
	tcb_op_cpu(b->op)->run(&plan, operand, workspace, pool);
	if (!(tcb_outputs_error_ratio(&plan, b->operand, b->operand_count, b->reference, operand, &output, &bad) <= 1))
		fail_msg("%s: %s %zu is not %g", what, b->operand[output].name, bad,
			 b->reference[output - ROPE_Q].y[bad]);
	tcb_pool_destroy(pool);
	test_free(workspace);
}

static void free_outputs(unsigned char *out[3])
{
	for (size_t o = 0; o < 3; o++)
		test_free(out[o]);
}

/* By every instruction family that there is here, fused and in parts; those of blocks byte by byte. */
static void cpus_write_what_attention_reads(void **state)
{
	struct tcb_device device;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < OPS * CONTRACTS * SHAPES; i++)
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
			const char *shape = shapes[i / OPS / CONTRACTS];
			const struct tcb_problem p =
				strided_problem(i % OPS, i / OPS % CONTRACTS, shape, i / OPS + (size_t)isa);
			struct tcb_geometry g;
			struct gpu_bench b;
			char what[160];
			tcb_op_standard(&p, &device.target, &g);
			g.knob[TCB_KNOB_ISA] = isa;
			g.knob[TCB_KNOB_PARTS] = (i + (size_t)isa) % 2 ? ROPE_PARTS : ROPE_WHOLE;
			if (!tcb_target_has(&device.target, (enum tcb_isa)isa) ||
			    !tcb_variant_find(p.op, p.contract, &g))
				continue;
			snprintf(what, sizeof what, "%s %s %s by %s, parts=%d", p.op_name,
				 tcb_contract_text(p.contract), shape, tcb_isa_text((enum tcb_isa)isa),
				 (int)g.knob[TCB_KNOB_PARTS]);
			unsigned char *out[3];
			gpu_bench_open(&b, &p, i);
			run_on_cpu(&b, &g, what, out);
			if (has_blocks(&b))
				check_cache(&b, out, what);
			free_outputs(out);
			gpu_bench_close(&b);
		}
}

/* NaN, infinities, zeros, numbers too small for a scale, and numbers too large for one. */
static void blocks_of_odd_values(void **state)
{
	const struct tcb_problem p = problem_of(BLOCKS, 1, "2x8x64,h2/1");
	struct tcb_device device;
	struct tcb_geometry g;
	struct gpu_bench b;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		tcb_op_standard(&p, &device.target, &g);
		g.knob[TCB_KNOB_ISA] = isa;
		if (!tcb_target_has(&device.target, (enum tcb_isa)isa) || !tcb_variant_find(p.op, p.contract, &g))
			continue;
		gpu_bench_open(&b, &p, 3);
		float *k = (float *)b.data[ROPE_QKV] + 2 * 64, *v = k + 64, *next_v = v + 4 * 64;
		k[40] = INFINITY; /* and so the pair, in the other block */
		v[3] = NAN;
		for (size_t i = 32; i < 64; i++)
			v[i] = 0;
		for (size_t i = 0; i < 32; i++)
			next_v[i] *= 1e-9f;
		next_v[40] = 1e10f;
		gpu_bench_refer(&b);
		unsigned char *out[3];
		run_on_cpu(&b, &g, tcb_isa_text((enum tcb_isa)isa), out);
		const unsigned char *at_k = out[1] + (size_t)6 * 2 * BLOCK_BYTES,
				    *at_v = out[2] + (size_t)6 * 2 * BLOCK_BYTES;
		static const unsigned char zeros[BLOCK_BYTES];
		assert_true(isnan(value_at(TCB_TYPE_F16, at_k, 0)));
		assert_true(isnan(value_at(TCB_TYPE_F16, at_k + BLOCK_BYTES, 0)));
		assert_true(isnan(value_at(TCB_TYPE_F16, at_v, 0)));
		assert_memory_equal(at_v + BLOCK_BYTES, zeros, BLOCK_BYTES);
		assert_true(value_at(TCB_TYPE_F16, at_v + (size_t)2 * BLOCK_BYTES, 0) == 0);
		assert_true(isinf(value_at(TCB_TYPE_F16, at_v + (size_t)3 * BLOCK_BYTES, 0)));
		free_outputs(out);
		gpu_bench_close(&b);
	}
}

/* A judge that overlooks a code, a scale or a stray byte is none. */
static void wrong_blocks_are_an_error(void **state)
{
	static const struct {
		const char *what;
		size_t output, at; /* byte of it: tokens 4 to 7 of 8 are new, a head of 64 */
		int more;
		int is_wrong;
	} cases[] = {
		{ "nothing", ROPE_K, 0, 0, 0 },
		{ "the upper byte of a value of q", ROPE_Q, 2 * 64 * 2 + 1, 4, 1 },
		{ "a code one more", ROPE_K, 4 * 68 + 2, 1, 1 },
		{ "a code one less, of V", ROPE_V, 4 * 68 + 40, -1, 1 },
		{ "the upper byte of a scale", ROPE_K, 5 * 68 + 35, 1, 1 },
		{ "a scale two up", ROPE_K, 7 * 68, 2, 1 },
		{ "a scale two down, of V", ROPE_V, 7 * 68 + 34, -2, 1 },
		{ "a code of an old token", ROPE_K, 3 * 68 + 20, 1, 1 },
		{ "a scale of an old token", ROPE_K, 2 * 68 + 1, 1, 1 },
		{ "the last code of an old token's V", ROPE_V, 67, 1, 1 },
	};
	const struct tcb_problem p = problem_of(BLOCKS, 0, "4x8x64,h2/1");
	const struct tcb_plan bound = { .chain = 3 };
	struct tcb_device device;
	struct tcb_geometry g;
	struct gpu_bench b;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	tcb_op_standard(&p, &device.target, &g);
	gpu_bench_open(&b, &p, 5);
	unsigned char *out[3];
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	run_on_cpu(&b, &g, "default", out);
	for (size_t o = 0; o < 3; o++)
		operand[ROPE_Q + o] = out[o];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned char *byte = (unsigned char *)operand[cases[i].output] + cases[i].at;
		size_t output;
		*byte = (unsigned char)(*byte + cases[i].more);
		const double ratio = tcb_outputs_error_ratio(&bound, b.operand, b.operand_count, b.reference, operand,
							     &output, NULL);
		if ((ratio > 1) != cases[i].is_wrong || (cases[i].is_wrong && output != cases[i].output))
			fail_msg("%s: %s", cases[i].what, ratio > 1 ? "an error elsewhere" : "nobody minds");
		*byte = (unsigned char)(*byte - cases[i].more);
	}
	free_outputs(out);
	gpu_bench_close(&b);
}

/* Elements are read one by one as in one go, and a place is where a block begins. */
static void outputs_of_blocks_are_read(void **state)
{
	const struct tcb_problem p = problem_of(BLOCKS, 0, "2x4x96,h3/1");
	struct tcb_device device;
	struct tcb_geometry g;
	struct gpu_bench b;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	tcb_op_standard(&p, &device.target, &g);
	gpu_bench_open(&b, &p, 5);
	unsigned char *out[3];
	run_on_cpu(&b, &g, "default", out);
	for (size_t which = 0; which < 3; which++) {
		const struct tcb_operand *o = &b.operand[ROPE_Q + which];
		const size_t count = elements(&b, which);
		float *all = test_malloc(count * sizeof *all), one;
		size_t bytes;
		assert_int_equal(o->format ? o->format->id : TCB_FORMAT_COUNT,
				 which ? TCB_FORMAT_Q8_0 : TCB_FORMAT_COUNT);
		tcb_operand_to_f32(o, out[which], 0, count, all);
		for (size_t i = 0; i < count; i++) {
			tcb_operand_to_f32(o, out[which], i, 1, &one);
			assert_memory_equal(&one, &all[i], sizeof one);
			assert_int_equal(tcb_operand_place(o, i, &bytes), which ? i / BLOCK * BLOCK_BYTES : 2 * i);
			assert_int_equal(bytes, which ? BLOCK_BYTES : 2);
		}
		test_free(all);
	}
	free_outputs(out);
	gpu_bench_close(&b);
}

static void shapes_that_it_does_not_take(void **state)
{
	static const char *const wrong[] = { "1x64x128,h8/2,causal", "1x64x128,h8/2,w16",
					     "1x64x128,h8/2,c30",    "1x64x100,h8/2",
					     "1x64x584,h8/2",        "1x64x128,h8/2,rot128",
					     "1x64x128,h8/2,rot20",  "1x64x128,h8/2,p16,qknorm6,mrope,apart",
					     "1x64x128,h8/2,rot136" };
	(void)state;
	for (size_t i = 0; i < OPS * sizeof wrong / sizeof *wrong; i++) {
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_error err;
		assert_int_equal(tcb_shape_parse(wrong[i / OPS], &shape, &err), TCB_OK);
		assert_int_equal(
			tcb_problem_init(tcb_op_find(op_names[i % OPS]), TCB_CONTRACT_F16, &shape, &problem, &err),
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
	const size_t count = gpu_sample_size(234);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_problem p =
			strided_problem(i % OPS, i / OPS % CONTRACTS, shapes[i / OPS / CONTRACTS % SHAPES], i / OPS);
		const unsigned capability = gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)];
		const struct tcb_target target = gpu_target(has_kernel(&p, capability) ? capability : 90, 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

static void samples_of_other_caches_are_right(void **state)
{
	const size_t count = gpu_sample_size(6 * OTHERS * 10);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 9);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = tcb_op_find(other_names[i % OTHERS]);
		const unsigned capability = gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)];
		const struct tcb_target target = gpu_target(capability, 2);
		struct tcb_shape shape;
		assert_int_equal(tcb_shape_parse(shapes[(i / OTHERS * 5 + i) % SHAPES], &shape, NULL), TCB_OK);
		if (op->check_shape(op, &shape, NULL) != TCB_OK)
			continue; /* blocks are of 32 values */
		struct tcb_problem p = gpu_problem(op, contracts[i / OTHERS % CONTRACTS], shape);
		gpu_problem_rows(&p, i);
		gpu_check_default(&p, capability);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
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
	for (size_t i = 0; i < 12; i++) {
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

#define WHOLE(unroll) \
	"macro=4x1x128,midi=1x1x128,micro=1x1x4,isa=fma,unroll=" unroll ",warps=2,vec=8,stream=0,pdl=0,parts=1"

#define WORDS "macro=4x1x128,midi=1x1x128,micro=1x1x4,isa=fma,unroll=1,warps=2,vec=8,stream=0,pdl=1,parts=1"

static void mutants_are_caught(void **state)
{
	static const struct {
		size_t op;
		const char *geometry, *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ 0, WHOLE("5"), "nothing", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ 0, WHOLE("5"), "heads past the last", { UNGUARD, TCB_PTX_OP_ST, 9 } },
		{ 0, WHOLE("5"), "half a head is left out", { REMOVE, TCB_PTX_OP_ST, 1 } },
		{ 0, WHOLE("5"), "values from the wrong place", { MOVE, TCB_PTX_OP_LD, 11 } },
		{ 0, WHOLE("5"), "a position from the wrong place", { MOVE, TCB_PTX_OP_LD, 20 } },
		{ 0, WHOLE("5"), "cos from the wrong place", { MOVE, TCB_PTX_OP_LD, 21 } },
		{ 0, WHOLE("5"), "a page from the wrong place", { MOVE, TCB_PTX_OP_LD, 23 } },
		{ 0, WHOLE("5"), "no rotation", { REMOVE, TCB_PTX_OP_MUL, 20 } },
		{ 0, WHOLE("5"), "V rotated", { REMOVE, TCB_PTX_OP_SELP, 40 } },
		{ BLOCKS, WHOLE("3"), "nothing, blocks", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ BLOCKS, WHOLE("3"), "magnitudes of other lanes", { CONSTANT, TCB_PTX_OP_SHFL, 0 } },
		{ BLOCKS, WHOLE("3"), "codes of the lane before that", { CONSTANT, TCB_PTX_OP_SHFL, 6 } },
		{ BLOCKS, WHOLE("3"), "codes in another order", { CONSTANT, TCB_PTX_OP_PRMT, 2 } },
		{ BLOCKS, WHOLE("3"), "codes to the wrong place", { MOVE, TCB_PTX_OP_ST, 6 } },
		{ BLOCKS, WHOLE("3"), "two bytes of each block left out", { REMOVE, TCB_PTX_OP_ST, 7 } },
		{ BLOCKS, WHOLE("3"), "a page that is none", { UNGUARD, TCB_PTX_OP_LD, 29 } },
		{ BLOCKS, WHOLE("3"), "the first token's angle is the next one's", { CONSTANT, TCB_PTX_OP_MAX, 0 } },
		{ 0, WORDS, "nothing, words", { NOTHING, TCB_PTX_OP_ST, 0 } },
		{ 0, WORDS, "squares of some lanes", { REMOVE, TCB_PTX_OP_SHFL, 1 } },
		{ 0, WORDS, "no root", { REMOVE, TCB_PTX_OP_RSQRT, 0 } },
		{ 0, WORDS, "weights of the other half", { MOVE, TCB_PTX_OP_LD, 5 } },
		{ 0, WORDS, "q's weights for K", { REMOVE, TCB_PTX_OP_SELP, 0 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = problem_of(cases[i].op, 0,
							strcmp(cases[i].geometry, WORDS) == 0
								? "4x64x128,h8/2,b4,p16,ragged,rot64,qknorm6,mrope"
								: "4x64x128,h8/2,b4,p16,ragged");
		gpu_check_mutant(&p, &target, cases[i].geometry, cases[i].what, &cases[i].mutation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_definition),
		cmocka_unit_test(writing_elsewhere_is_an_error),
		cmocka_unit_test(cpus_write_what_attention_reads),
		cmocka_unit_test(blocks_of_odd_values),
		cmocka_unit_test(wrong_blocks_are_an_error),
		cmocka_unit_test(outputs_of_blocks_are_read),
		cmocka_unit_test(shapes_that_it_does_not_take),
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(samples_of_other_caches_are_right),
		cmocka_unit_test(odd_values_stay_where_they_are),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
