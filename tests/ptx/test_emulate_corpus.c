/* SPDX-License-Identifier: MIT
 *
 * What nvcc made of corpus/NAME.cu, emulated, against the same computation in C.
 */
#include "emu_bench.h"

#include <math.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reduce), cmocka_unit_test(transpose), cmocka_unit_test(copy_vectors),
		cmocka_unit_test(calls),  cmocka_unit_test(switches),  cmocka_unit_test(staged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
