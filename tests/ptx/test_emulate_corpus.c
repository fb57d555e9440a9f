/* SPDX-License-Identifier: MIT
 *
 * What nvcc made of corpus/NAME.cu, emulated, against the same computation in C.
 */
#include "emu_bench.h"

#include <math.h>

#include "ptx/emulate/emu_float.h"
#include "ptx_tools.h"

static void open_corpus(struct emu_bench *bench, const char *file, const char *entry, unsigned threads)
{
	char path[512], *text;

	snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, file);
	text = ptx_read(path);
	assert_non_null(text);
	emu_open(bench, text, entry, threads);
	free(text);
}

static void reduce(void **state)
{
	enum { ROWS = 3, LENGTH = 1001 };
	static float in[ROWS][LENGTH], out[ROWS];
	struct emu_bench b;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 1);
	for (int i = 0; i < ROWS * LENGTH; i++)
		((float *)in)[i] = (float)(tcb_rng_below(&rng, 2001)) - 1000;
	open_corpus(&b, "reduce", "reduce_rows", 256);
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, LENGTH);
	b.launch.grid[0] = ROWS;
	emu_run_clean(&b);
	for (int r = 0; r < ROWS; r++) {
		float sum = 0;

		for (int i = 0; i < LENGTH; i++)
			sum += in[r][i]; /* integers: exact in any order */
		assert_true(out[r] == sum);
	}
	assert_true(b.out.total.divergent > 0);
	emu_close(&b);
}

static void transpose(void **state)
{
	enum { ROWS = 45, COLUMNS = 70 };
	static float in[ROWS][COLUMNS], out[COLUMNS][ROWS];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < ROWS * COLUMNS; i++)
		((float *)in)[i] = (float)i;
	open_corpus(&b, "transpose", "transpose", 32);
	b.launch.block[1] = 8;
	b.launch.grid[0] = 3;
	b.launch.grid[1] = 2;
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, ROWS);
	emu_param_u32(&b, COLUMNS);
	emu_run_clean(&b);
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLUMNS; c++)
			assert_true(out[c][r] == in[r][c]);
	emu_close(&b);
}

static void copy_vectors(void **state)
{
	enum { COUNT = 256 };
	static float in[COUNT][4], out[COUNT][4];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < COUNT * 4; i++)
		((float *)in)[i] = (float)i;
	open_corpus(&b, "transpose", "copy_vectors", 64);
	b.launch.grid[0] = COUNT / 64;
	b.launch.dynamic_shared = 64 * 16;
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, COUNT);
	emu_run_clean(&b);
	for (int i = 0; i < COUNT; i++)
		assert_memory_equal(out[i], in[i / 64 * 64 + 63 - i % 64], 16);
	emu_close(&b);
}

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void calls(void **state)
{
	enum { N = 6 };
	static float out[65];
	struct emu_bench b;

	(void)state;
	open_corpus(&b, "calls", "calls", 32);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, N);
	for (int i = 0; i < 65; i++)
		out[i] = (float)(i + 1);
	emu_run(&b);
	/* thread i reads what thread i + 1 writes: that is a race, and must be found */
	assert_true(b.found[TCB_PTX_RULE_RACE] > 0);
	assert_int_equal(b.errors, b.found[TCB_PTX_RULE_RACE]);
	for (int i = 0; i < 32; i++) {
		float x = (float)(i + 1), y = (float)(i + 2), a = y * N, c = x, a2 = c * (float)i, b2 = a;

		a = (i & 1 ? a2 * 0.5f : a2 * 2.0f) + (float)fibonacci(N) + b2;
		assert_true(out[i] == a);
	}
	emu_close(&b);
}

static void switches(void **state)
{
	static int in[32];
	static float out[64], want[64];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < 32; i++)
		in[i] = i % 11;
	for (int i = 0; i < 64; i++)
		out[i] = want[i] = (float)(i + 1);
	open_corpus(&b, "switch", "choose", 32);
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, 0);
	emu_run(&b);
	for (int i = 0; i < 32; i++) {
		float x = (float)in[i], w;
		switch (in[i]) {
		case 0:
			w = 3;
			break;
		case 1:
			w = sinf(x) + 1;
			break;
		case 2:
			w = x / 2;
			break;
		case 3:
			w = sqrtf(x) - 3;
			break;
		case 4:
			w = 0.5f;
			break;
		case 5:
			w = log2f(x) + 6;
			break;
		case 6:
			w = exp2f(x);
			break;
		case 7:
			w = tanhf(x);
			break;
		case 8:
			w = x + 9;
			break;
		case 9:
			w = 10;
			break;
		default:
			w = x;
		}
		assert_true(fabsf(out[i] - w) <= 1e-5f * (1 + fabsf(w)));
	}
	emu_close(&b);
}

static void staged(void **state)
{
	enum { STEPS = 5 };
	static float in[STEPS * 128][4], out[128];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < STEPS * 128 * 4; i++)
		((float *)in)[i] = (float)(i % 17);
	open_corpus(&b, "cp_async", "staged_sum", 128);
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, STEPS);
	emu_run_clean(&b);
	for (int i = 0; i < 128; i++) {
		float sum = 0;

		for (int k = 0; k < STEPS; k++) {
			const float *v = in[k * 128 + 127 - i];

			sum += v[0] + v[1] * v[2] - v[3];
		}
		assert_true(out[i] == sum);
	}
	emu_close(&b);
}

/* --- integers --- */

static int dp4a(int a, int b, int c)
{
	for (int k = 0; k < 32; k += 8)
		c += (int8_t)(a >> k) * (int8_t)(b >> k);
	return c;
}

static int64_t integers_want(const int *a, const unsigned *b, int i, int n)
{
	int v = a[i];
	unsigned u = b[i], t;
	uint64_t both;
	int64_t out;

	v = dp4a(v, (int)u, v) + 5 + (int16_t)v * (int8_t)u + (int16_t)(v >> 16) * (int8_t)(u >> 8);
	both = (uint64_t)(unsigned)v << 32 | u;
	t = (unsigned)(both & 0xff) | (unsigned)(both >> 32 & 0xff) << 8 | (unsigned)(both >> 8 & 0xff) << 16 |
	    (unsigned)(both >> 40 & 0xff) << 24;
	u = t ^ (unsigned)(both << 7 >> 32);
	u = (u & 0x0f0f0f0fu) | (~u & (unsigned)v);
	t = 0;
	for (int k = 0; k < 32; k++)
		t |= (u >> k & 1) << (31 - k);
	v = (int)((unsigned)v + (unsigned)__builtin_popcount(u) + (unsigned)(v ? __builtin_clz((unsigned)v) : 32) +
		  (unsigned)__builtin_ffs((int)u) + t + (unsigned)((int64_t)v * n >> 32) +
		  (unsigned)llabs((int64_t)v - n) + u);
	v = (int)((unsigned)(v / n) + u % 10u + (unsigned)(v > n ? v : n) - (unsigned)(v < 3 ? v : 3) +
		  (unsigned)(v < 0 ? -(unsigned)v : (unsigned)v));
	out = (int64_t)v * n + (int64_t)((unsigned __int128)u * 77 >> 64) + ((int64_t)((uint64_t)u << 35) >> 3) +
	      (v >> 31);
	return out + (int8_t)a[i] + (uint16_t)b[i] + ((const int8_t *)a)[i];
}

static void integers(void **state)
{
	static int a[128];
	static unsigned u[128];
	static int64_t out[128];
	struct emu_bench b;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 3);
	for (int i = 0; i < 128; i++) {
		a[i] = (int)tcb_rng_next(&rng);
		u[i] = (unsigned)tcb_rng_next(&rng);
	}
	open_corpus(&b, "integer", "integers", 64);
	b.launch.grid[0] = 2;
	emu_buffer(&b, "a", a, sizeof a, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "b", u, sizeof u, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, 12345);
	emu_run_clean(&b);
	for (int i = 0; i < 128; i++)
		assert_int_equal(out[i], integers_want(a, u, i, 12345));
	emu_close(&b);
}

/* --- shuffles --- */

static void shuffles_want(const int *in, int *out)
{
	int v[32], w[32];
	unsigned ballot = 0;
	int any = 0, all = 1, sum = 0, same = 1;
	unsigned x = 0;

	memcpy(w, in, sizeof w);
	for (int i = 0; i < 32; i++)
		v[i] = w[i] + w[3] + w[i % 16 >= 2 ? i - 2 : i] + w[i % 8 < 7 ? i + 1 : i];
	memcpy(w, v, sizeof w);
	for (int i = 0; i < 32; i++)
		v[i] = w[i] ^ w[i ^ 4];
	for (int i = 0; i < 32; i++) {
		ballot |= (unsigned)(v[i] > 7) << i;
		any |= v[i] == 9;
		all &= v[i] < 100;
	}
	for (int i = 0; i < 32; i++)
		v[i] += __builtin_popcount(ballot) + any + all;
	for (int i = 0; i < 32; i++) {
		sum += v[i];
		x ^= (unsigned)v[i];
	}
	for (int i = 0; i < 32; i++)
		w[i] = v[i] + sum + (int)x;
	for (int i = 0; i < 32; i++) {
		unsigned match = 0;

		for (int k = 0; k < 32; k++)
			match |= (unsigned)(w[k] == w[i]) << k;
		v[i] = (int)((unsigned)w[i] + match);
	}
	for (int i = 1; i < 32; i++)
		same &= v[i] == v[0];
	for (int i = 0; i < 32; i++)
		out[i] = (int)((unsigned)v[i] + (same ? UINT32_MAX : 0) + (unsigned)same + UINT32_MAX);
}

static void shuffles(void **state)
{
	static int in[32], out[32], want[32];
	struct emu_bench b;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 32; i++)
			in[i] = round == 0 ? i : round == 1 ? 5 : i / 8 * 3 - 4;
		open_corpus(&b, "shuffles", NULL, 32);
		emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
		emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
		emu_run_clean(&b);
		shuffles_want(in, want);
		assert_memory_equal(out, want, sizeof want);
		emu_close(&b);
	}
}

/* --- variables of a module --- */

static void locals(void **state)
{
	static const double table[4] = { 0.5, 1.0, 2.0, -4.0 };
	static const int offsets[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	static double in[32 * 16], out[32];
	static float there[2] = { 3.5f, -7.25f };
	struct {
		int count;
		double scale[3];
		short code;
	} p = { 9, { 1, 2, 0.5 }, 3 };
	uint64_t address = 0, unused;
	struct tcb_error err;
	struct emu_bench b;
	void *host;

	(void)state;
	for (int i = 0; i < 32 * 16; i++)
		in[i] = i;
	open_corpus(&b, "locals", "gather", 32);
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	b.param_bytes = tcb_ptx_param_offset(b.module->functions, 2);
	memcpy(b.params + b.param_bytes, &p, sizeof p);
	b.param_bytes += sizeof p;
	assert_int_equal(tcb_ptx_param_total(b.module->functions), b.param_bytes);
	emu_run(&b); /* "where" still holds null pointers */
	assert_int_equal(b.found[TCB_PTX_RULE_OUT_OF_BOUNDS], 1);
	assert_int_equal(
		tcb_ptx_memory_add(b.memory, "there", there, sizeof there, 4, TCB_PTX_READ_ONLY, &address, &err),
		TCB_OK);
	assert_int_equal(tcb_ptx_memory_variable(b.memory, b.program, "where", &host, &unused, &err), TCB_OK);
	for (int i = 0; i < 2; i++)
		((uint64_t *)host)[i] = address + 4u * (unsigned)i;
	assert_int_equal(tcb_ptx_memory_variable(b.memory, b.program, "cell", &host, &unused, &err), TCB_OK);
	*(float *)host = 0.125f;
	assert_int_equal(tcb_ptx_memory_variable(b.memory, b.program, "nothing", &host, &unused, &err),
			 TCB_E_NOT_FOUND);
	emu_run_clean(&b);
	for (int i = 0; i < 32; i++) {
		double kept[16];

		for (int k = 0; k < 16; k++)
			kept[k] = in[i * 16 + k] * p.scale[k % 3];
		for (int k = 0; k < p.count; k++)
			kept[(k * i + p.code) & 15] += table[k & 3] + offsets[k & 1][i % 3];
		assert_true(out[i] == kept[i & 15] + (double)there[i & 1] + 0.125);
	}
	emu_close(&b);
}

/* --- atomics --- */

static void atomics(void **state)
{
	enum { N = 64 };
	static unsigned words[N + 1];
	static uint64_t wide;
	static float sum;
	static uint16_t halves[2];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < N; i++)
		words[i] = (unsigned)i / 4 + 3;
	open_corpus(&b, "atomics", NULL, N);
	b.launch.seed = 5;
	emu_buffer(&b, "words", words, sizeof words, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "wide", &wide, sizeof wide, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "sum", &sum, sizeof sum, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "halves", halves, sizeof halves, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, N);
	emu_run_clean(&b);
	assert_true(sum == N * (N - 1) / 2);
	assert_int_equal(halves[0], 0x5400); /* 64 */
	assert_int_equal(halves[1], 0x5400);
	assert_int_equal(wide, 7);
	for (int i = 3; i < N; i++) { /* 4 of each value from 3 to 18; the histogram's bin i has the word's rival */
		unsigned bin = i >= 3 && i < 19 ? 4 : 0, word = (unsigned)i / 4 + 3;

		assert_int_equal(words[i], word > bin ? word : bin);
	}
	assert_int_equal(words[1], 0); /* and with ~0 and ~1, ... of every thread */
	assert_true(words[0] < N);
	emu_close(&b);
}

/* One thread, so that nothing races. */
static void halves(void **state)
{
	enum { N = 4 };
	static uint16_t h[16][2], z[4][2];
	static float x[4] = { 0.5f, 1.25f, 2, 3 }, y[16];
	double low, high, e;
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < 16; i++)
		for (int k = 0; k < 2; k++)
			h[i][k] = (uint16_t)(0x3c00 + 64 * i + 32 * k); /* 1 and a little */
	z[0][0] = 0x3f80;
	z[0][1] = 0x4000;
	low = (1 + 0 / 16.0) * (1 + 1 / 16.0) + (1 + 2 / 16.0) * 0.5;
	e = exp(1 + 4 / 16.0);
	low = low > e ? low : e;
	open_corpus(&b, "half", NULL, 1);
	emu_buffer(&b, "h", h, sizeof h, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "z", z, sizeof z, TCB_PTX_MAY_WRITE);
	emu_buffer(&b, "x", x, sizeof x, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "y", y, sizeof y, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, N);
	emu_run_clean(&b);
	high = 2 + 1.25; /* bfloat16: exact */
	assert_true(fabs(y[0] - (low + high)) < 0.01);
	assert_int_equal(z[0][0], 0x3fc0);
	assert_int_equal(z[0][1], 0x4050);
	emu_close(&b);
}

/* Four warps compute the same 16 x 8 product of small whole numbers, exact in half precision. */
static void matrix(void **state)
{
	static uint16_t a[256], k[256];
	static float c[128][4];
	struct tcb_rng rng;
	struct emu_bench b;

	(void)state;
	tcb_rng_init(&rng, 4);
	for (int i = 0; i < 256; i++) {
		a[i] = (uint16_t)tcb_ptx_f32_to_f16((float)tcb_rng_below(&rng, 9) - 4);
		k[i] = (uint16_t)tcb_ptx_f32_to_f16((float)tcb_rng_below(&rng, 9) - 4);
	}
	open_corpus(&b, "mma", NULL, 128);
	emu_buffer(&b, "a", a, sizeof a, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "b", k, sizeof k, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "c", c, sizeof c, TCB_PTX_MAY_WRITE);
	emu_run_clean(&b);
	for (int thread = 0; thread < 128; thread++)
		for (int e = 0; e < 4; e++) {
			int row = thread % 32 / 4 + e / 2 * 8, column = thread % 4 * 2 + e % 2;
			float sum = 0;

			for (int i = 0; i < 16; i++) { /* four 8 x 8 matrices of A, by columns of matrices */
				int at = (row / 8 + i / 8 * 2) * 64 + row % 8 * 8 + i % 8;

				sum += tcb_ptx_f16_to_f32(a[at]) * tcb_ptx_f16_to_f32(k[i * 8 + column]);
			}
			assert_true(c[thread][e] == sum);
		}
	emu_close(&b);
}

/* A cluster of two blocks, an mbarrier and a bulk copy in each. */
static void bulk(void **state)
{
	static float in[1024] __attribute__((aligned(16))), out[2][256];
	struct emu_bench b;

	(void)state;
	for (int i = 0; i < 1024; i++)
		in[i] = (float)i;
	open_corpus(&b, "hopper", NULL, 256);
	b.launch.grid[0] = 2;
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_param_u32(&b, 4096);
	emu_run_clean(&b);
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < 256; i++)
			assert_true(out[r][i] == in[i] + (float)r);
	emu_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduce),   cmocka_unit_test(transpose), cmocka_unit_test(copy_vectors),
		cmocka_unit_test(calls),    cmocka_unit_test(switches),  cmocka_unit_test(staged),
		cmocka_unit_test(integers), cmocka_unit_test(shuffles),  cmocka_unit_test(locals),
		cmocka_unit_test(atomics),  cmocka_unit_test(halves),    cmocka_unit_test(bulk),
		cmocka_unit_test(matrix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
