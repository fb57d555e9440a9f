/* SPDX-License-Identifier: MIT
 *
 * Matrix instructions through the emulator: a small product that nvcc compiled,
 * and instructions one by one in PTX written here.
 */
#include "emu_tools.h"

#include <math.h>

#include "ptx/emulate/emu_float.h"

static void random_halves(struct tcb_rng *rng, uint16_t *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (uint16_t)tcb_ptx_f32_to_f16(tcb_rng_normal(rng));
}

/* Largest |got - want| over what 25 bits below the largest product allow. */
static double worst(const uint16_t *a, const uint16_t *b, const float *c, int m, int n, int k)
{
	double worst = 0;

	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0, size = 0, miss;

			for (int l = 0; l < k; l++) {
				double product = (double)tcb_ptx_f16_to_f32(a[i * k + l]) *
						 (double)tcb_ptx_f16_to_f32(b[j * k + l]);

				sum += product;
				size += fabs(product);
			}
			/* each step of 16 cuts 17 terms at 2^-25 of the largest, and the sum at 2^-23 */
			miss = fabs((double)c[i * n + j] - sum) / (size * (k / 16) * 0x1p-22);
			if (!(miss <= worst))
				worst = miss;
		}
	return worst;
}

struct gemm {
	enum { M = 64, N = 48, K = 96 } unused;
	uint16_t a[M * K], b[N * K];
	float c[M * N];
};

static void run_gemm(const char *text, struct gemm *g, struct emu_job *job)
{
	struct {
		uint64_t a, b, c;
		int32_t n, k;
	} params = { .n = N, .k = K };
	struct tcb_ptx_launch launch = { .grid = { N / 16, M / 32, 1 },
					 .block = { 64, 1, 1 },
					 .params = &params,
					 .param_bytes = sizeof params,
					 .seed = 3 };
	struct tcb_rng rng;

	tcb_rng_init(&rng, 1);
	random_halves(&rng, g->a, M * K);
	random_halves(&rng, g->b, N * K);
	memset(g->c, 0xff, sizeof g->c);
	emu_start(job, text);
	params.a = emu_add(job, "a", g->a, sizeof g->a, TCB_PTX_READ_ONLY);
	params.b = emu_add(job, "b", g->b, sizeof g->b, TCB_PTX_READ_ONLY);
	params.c = emu_add(job, "c", g->c, sizeof g->c, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

static void product_by_nvcc(void **state)
{
	char *text = emu_read("gemm_mma.ptx"), *edited;
	static struct gemm g;
	struct emu_job job;

	(void)state;
	run_gemm(text, &g, &job);
	emu_expect_none(&job);
	assert_true(worst(g.a, g.b, g.c, M, N, K) < 1);
	/* ldmatrix.x4: four wavefronts each, without conflicts, for 2 x 6 steps, 2 warps and 6 blocks */
	assert_true(job.out.by_class[TCB_PTX_COUNT_MATRIX] == 2 * 6 * 2 * 6);
	emu_end(&job);

	/* controls: a transposed tile is another product; without the barrier it is a race */
	edited = emu_edit(text, "ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared");
	run_gemm(edited, &g, &job);
	emu_expect_none(&job);
	assert_true(worst(g.a, g.b, g.c, M, N, K) > 1000);
	emu_end(&job);
	free(edited);
	edited = emu_edit(text, "bar.sync \t0;", "");
	run_gemm(edited, &g, &job);
	emu_expect(&job, TCB_PTX_RULE_RACE);
	emu_end(&job);
	free(edited);
	free(text);
}

/* One warp: each lane reads words [lane * 8 ...) of IN, executes BODY on %r0 to %r7, and writes %r8 to %r11. */
static void run_warp(struct emu_job *job, const char *target, const char *body, uint32_t in[32][8], uint32_t out[32][4],
		     unsigned threads)
{
	struct {
		uint64_t in, out;
	} params;
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { threads, 1, 1 }, .params = &params, .param_bytes = sizeof params
	};
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     ".version 8.7\n.target %s\n.address_size 64\n"
		     ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		     "\t.reg .b32 %%r<20>;\n\t.reg .b64 %%rd<8>;\n\t.reg .f32 %%f<8>;\n\t.reg .pred %%p<2>;\n"
		     "\t.shared .align 128 .b8 tile[1024];\n"
		     "\tld.param.u64 %%rd0, [in];\n\tld.param.u64 %%rd1, [out];\n\tmov.u32 %%r16, %%tid.x;\n"
		     "\tmul.wide.u32 %%rd2, %%r16, 32;\n\tadd.s64 %%rd0, %%rd0, %%rd2;\n"
		     "\tmul.wide.u32 %%rd2, %%r16, 16;\n\tadd.s64 %%rd1, %%rd1, %%rd2;\n"
		     "\tld.global.v4.u32 {%%r0, %%r1, %%r2, %%r3}, [%%rd0];\n"
		     "\tld.global.v4.u32 {%%r4, %%r5, %%r6, %%r7}, [%%rd0+16];\n"
		     "\tmov.u32 %%r8, 0;\n\tmov.u32 %%r9, 0;\n\tmov.u32 %%r10, 0;\n\tmov.u32 %%r11, 0;\n"
		     "%s\n\tst.global.v4.u32 [%%rd1], {%%r8, %%r9, %%r10, %%r11};\n\tret;\n}\n",
		     target, body);
	emu_start(job, text.data);
	params.in = emu_add(job, "in", in, 32 * 8 * 4, TCB_PTX_READ_ONLY);
	params.out = emu_add(job, "out", out, 32 * 4 * 4, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
	tcb_str_fini(&text);
}

static void integers(void **state)
{
	static const char body[] =
		"\tmma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r8, %r9}, {%r0}, {%r1}, {%r2, %r3};";
	uint32_t in[32][8], out[32][4];
	struct emu_job job;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 9);
	for (int i = 0; i < 32 * 8; i++)
		in[i / 8][i % 8] = (uint32_t)tcb_rng_next(&rng);
	run_warp(&job, "sm_75", body, in, out, 32);
	emu_expect_none(&job);
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 2; i++) {
			int row = lane / 4, column = lane % 4 * 2 + i;
			uint32_t sum = in[lane][2 + i];

			for (int k = 0; k < 16; k++) {
				int8_t x = (int8_t)(in[row * 4 + k / 4][0] >> k % 4 * 8);
				uint8_t y = (uint8_t)(in[column * 4 + k / 4][1] >> k % 4 * 8);

				sum += (uint32_t)(x * y);
			}
			assert_int_equal(out[lane][i], sum);
		}
	emu_end(&job);
	/* control: half a warp cannot */
	run_warp(&job, "sm_75", body, in, out, 16);
	emu_expect(&job, TCB_PTX_RULE_SHUFFLE_DIVERGENT);
	emu_end(&job);
}

static void eight_by_eight(void **state)
{
	/* rows of 16 bytes; stored transposed, read back plainly; and in registers */
	static const char body[] = "\tmov.u32 %r17, tile;\n\tshl.b32 %r18, %r16, 4;\n\tadd.u32 %r18, %r17, %r18;\n"
				   "\tstmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r18], {%r0, %r1, %r2, %r3};\n"
				   "\tbar.warp.sync 0xffffffff;\n"
				   "\tldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r8, %r9}, [%r18];\n"
				   "\tldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r10}, [%r18];\n"
				   "\tmovmatrix.sync.aligned.m8n8.trans.b16 %r11, %r0;";
	uint32_t in[32][8], out[32][4];
	struct emu_job job;
	struct tcb_rng rng;
	unsigned differ = 0;

	(void)state;
	tcb_rng_init(&rng, 10);
	for (int i = 0; i < 32 * 8; i++)
		in[i / 8][i % 8] = (uint32_t)tcb_rng_next(&rng);
	run_warp(&job, "sm_90", body, in, out, 32);
	emu_expect_none(&job);
	for (int lane = 0; lane < 32; lane++) {
		int row = lane / 4, column = lane % 4 * 2;
		/* element (i, j) of a matrix in registers W: half j % 2 of lane 4 i + j / 2 */
		uint32_t low = in[4 * column + row / 2][0] >> row % 2 * 16 & 0xffff;
		uint32_t high = in[4 * (column + 1) + row / 2][0] >> row % 2 * 16 & 0xffff;

		assert_int_equal(out[lane][0], low | high << 16); /* there and not back: transposed */
		assert_int_equal(out[lane][3], low | high << 16);
		assert_int_equal(out[lane][2], in[lane][0]); /* there and back */
		differ += out[lane][0] != in[lane][0];
	}
	assert_true(differ > 20);
	emu_end(&job);
	/* controls: a row that is not aligned, and one outside */
	{
		char *edited = emu_edit(body, "shl.b32 %r18, %r16, 4", "mul.lo.u32 %r18, %r16, 12");

		run_warp(&job, "sm_90", edited, in, out, 32);
		emu_expect(&job, TCB_PTX_RULE_MISALIGNED);
		emu_end(&job);
		free(edited);
		edited = emu_edit(body, "shl.b32 %r18, %r16, 4", "shl.b32 %r18, %r16, 5");
		run_warp(&job, "sm_90", edited, in, out, 32);
		emu_expect_none(&job);
		emu_end(&job);
		free(edited);
		edited = emu_edit(body, "shl.b32 %r18, %r16, 4", "shl.b32 %r18, %r16, 6");
		run_warp(&job, "sm_90", edited, in, out, 32);
		emu_expect(&job, TCB_PTX_RULE_OUT_OF_BOUNDS);
		emu_end(&job);
		free(edited);
	}
}

/* --- block scaling --- */

/* Element (ROW, L) of A, or (L, COLUMN) of B, of 4 bits, by the manual's formulas for m16n8k64. */
static double of_a(uint32_t in[32][8], int row, int l)
{
	int lane = row % 8 * 4 + l % 32 / 8, reg = row / 8 + 2 * (l / 32);

	return tcb_ptx_float_widen(TCB_PTX_E2M1, in[lane][reg] >> l % 8 * 4 & 15);
}

static double of_b(uint32_t in[32][8], int l, int column)
{
	int lane = column * 4 + l % 32 / 8;

	return tcb_ptx_float_widen(TCB_PTX_E2M1, in[lane][4 + l / 32] >> l % 8 * 4 & 15);
}

/* The scale of byte I of WORD. */
static double scale(uint32_t word, int i, int is_e4m3)
{
	uint32_t byte = word >> 8 * i & 0xff;

	return is_e4m3 ? tcb_ptx_float_widen(TCB_PTX_E4M3, byte) : ldexp(1, (int)byte - 127);
}

/* A and B in %r0 to %r5, their scales in %r6 and %r7: threads THREAD_A and THREAD_B of a quad have them, from byte
 * BYTE. */
static void scaled(const char *kind, int scales, int is_e4m3, int byte, int thread_a, int thread_b)
{
	uint32_t in[32][8], out[32][4];
	struct emu_job job;
	struct tcb_rng rng;
	char body[400];

	tcb_rng_init(&rng, (uint64_t)(scales * 100 + byte * 10 + thread_b));
	for (int i = 0; i < 32 * 8; i++)
		in[i / 8][i % 8] = (uint32_t)tcb_rng_next(&rng);
	for (int lane = 0; lane < 32; lane++)
		for (int r = 6; r < 8; r++)
			in[lane][r] = (in[lane][r] & 0x07070707) + (is_e4m3 ? 0x34343434 : 0x7c7c7c7c);
	snprintf(body, sizeof body,
		 "\tmma.sync.aligned.m16n8k64.row.col.%s.f32 {%%r8, %%r9, %%r10, %%r11}, {%%r0, %%r1, %%r2, %%r3}, "
		 "{%%r4, %%r5}, {%%r8, %%r9, %%r10, %%r11}, %%r6, {%d, %d}, %%r7, {%d, %d};",
		 kind, byte, thread_a, byte, thread_b);
	run_warp(&job, "sm_120a", body, in, out, 32);
	emu_expect_none(&job);
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 4; i++) {
			int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
			float sum;
			double exact = 0;

			for (int l = 0; l < 64; l++) {
				int part = byte + l / (64 / scales);

				exact += of_a(in, row, l) * of_b(in, l, column) *
					 scale(in[row % 8 * 4 + 2 * thread_a + row / 8][6], part, is_e4m3) *
					 scale(in[column * 4 + thread_b][7], part, is_e4m3);
			}
			sum = (float)exact;
			assert_memory_equal(&out[lane][i], &sum, sizeof sum);
		}
	emu_end(&job);
}

static void block_scales(void **state)
{
	static const char plain[] =
		"\tmma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3."
		"e4m3.f32.ue8m0 {%r8, %r9, %r10, %r11}, {%r0, %r0, %r0, %r0}, {%r0, %r0}, {%r8, %r9, "
		"%r10, %r11}, %r1, {3, 1}, %r2, {2, 3};";
	uint32_t in[32][8] = { 0 }, out[32][4];
	struct emu_job job;
	char *edited;

	(void)state;
	for (int t = 0; t < 4; t++) {
		scaled("ue8m0.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1", 2, 0, t % 2 * 2, t / 2, t);
		scaled("ue4m3.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1", 4, 1, 0, t / 2, t);
	}
	scaled("ue8m0.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1", 2, 0, 2, 1, 3);
	/* ones, and scales 2 and 1/4 where the selectors point */
	for (int lane = 0; lane < 32; lane++) {
		in[lane][0] = 0x38383838;
		in[lane][1] = lane % 4 / 2 == 1 ? 0x80000000 : 0;
		in[lane][2] = lane % 4 == 3 ? 0x007d0000 : 0;
	}
	run_warp(&job, "sm_120a", plain, in, out, 32);
	emu_expect_none(&job);
	for (int i = 0; i < 32 * 4; i++)
		assert_int_equal(out[i / 4][i % 4], 0x41800000); /* 16 */
	emu_end(&job);
	/* control: a pair of threads that a quad does not have */
	edited = emu_edit(plain, "{3, 1}", "{3, 2}");
	run_warp(&job, "sm_120a", edited, in, out, 32);
	emu_expect(&job, TCB_PTX_RULE_OUT_OF_BOUNDS);
	emu_end(&job);
	free(edited);
}

/* tests/ptx/emulated/fp4.ptx: all values are 64. */
static void codes_of_one(void **state)
{
	float d[256] = { 0 };
	uint8_t q[64];
	struct {
		uint64_t d, q;
	} params;
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .params = &params, .param_bytes = sizeof params
	};
	char *text = emu_read("fp4.ptx");
	struct emu_job job;

	(void)state;
	emu_start(&job, text);
	params.d = emu_add(&job, "d", d, sizeof d, TCB_PTX_MAY_WRITE);
	params.q = emu_add(&job, "q", q, sizeof q, TCB_PTX_MAY_WRITE);
	emu_run(&job, &launch);
	emu_expect_none(&job);
	for (int i = 0; i < 256; i++)
		assert_true(d[i] == 64);
	for (int i = 0; i < 64; i += 2)
		assert_int_equal(q[i], 0x51); /* 3 above 0.5 */
	emu_end(&job);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(product_by_nvcc), cmocka_unit_test(integers),     cmocka_unit_test(eight_by_eight),
		cmocka_unit_test(block_scales),    cmocka_unit_test(codes_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
