/* SPDX-License-Identifier: MIT
 *
 * Every kind of wgmma through the emulator: types, swizzling, both majors, A in
 * registers, signs and scale-d, against a plain product.  The PTX is generated:
 * tiles arrive as bytes that the test laid out through the descriptor's layout,
 * whose addresses an H200 confirmed one by one.
 */
#include "emu_tools.h"

#include <math.h>
#include <stddef.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/tensor/emu_matrix.h"

enum { A_AT = 0, B_AT = 16384, TILES = 32768, N_MAX = 256 };

struct kind {
	const char *d, *a, *b;
	unsigned n, k;
	unsigned swizzle_a, swizzle_b;
	int a_in_registers, a_transposed, b_transposed, a_sign, b_sign, adds;
	const char *target_suffix; /* .satfinite */
};

static const struct kind kinds[] = {
	{ "f32", "f16", "f16", 64, 16, 128, 128, 0, 0, 0, 1, 1, 1, "" },
	{ "f32", "f16", "f16", 8, 16, 0, 0, 0, 0, 0, 1, -1, 1, "" },
	{ "f32", "f16", "f16", 256, 16, 64, 32, 0, 1, 1, -1, 1, 0, "" },
	{ "f32", "bf16", "bf16", 24, 16, 32, 64, 1, 0, 0, 1, 1, 1, "" },
	{ "f32", "bf16", "bf16", 128, 16, 128, 128, 0, 1, 0, 1, 1, 1, "" },
	{ "f32", "bf16", "bf16", 64, 16, 0, 0, 1, 0, 1, -1, -1, 1, "" },
	{ "f16", "f16", "f16", 40, 16, 0, 0, 0, 1, 1, 1, 1, 1, "" },
	{ "f16", "f16", "f16", 64, 16, 128, 128, 1, 0, 1, 1, 1, 0, "" },
	{ "f32", "tf32", "tf32", 16, 8, 128, 32, 0, 0, 0, 1, 1, 1, "" },
	{ "f32", "tf32", "tf32", 96, 8, 64, 0, 1, 0, 0, 1, -1, 1, "" },
	{ "f32", "e4m3", "e5m2", 32, 32, 128, 64, 0, 0, 0, 1, 1, 1, "" },
	{ "f16", "e5m2", "e4m3", 32, 32, 32, 0, 1, 0, 0, 1, 1, 1, "" },
	{ "s32", "s8", "u8", 32, 32, 128, 64, 0, 0, 0, 1, 1, 1, "" },
	{ "s32", "u8", "s8", 16, 32, 0, 128, 1, 0, 0, 1, 1, 1, ".satfinite" },
};

static enum tcb_ptx_word word(const char *text)
{
	return tcb_ptx_word_find(text, strlen(text));
}

/* Strides under which tiles of up to 256 by 32 bytes do not overlap. */
static struct tcb_ptx_matrix_descriptor layout(unsigned start, unsigned swizzle, int k_major, unsigned rows)
{
	struct tcb_ptx_matrix_descriptor d = { .start = start, .swizzle = swizzle };

	if (!swizzle) { /* cores of 128 bytes: two along k, then the rows; or the rows, then two along k */
		d.leading = k_major ? 128 : rows / 8 * 128;
		d.stride = k_major ? 256 : 128;
	} else if (k_major) {
		d.leading = 16;
		d.stride = 8 * swizzle;
	} else { /* 8 of k by SWIZZLE bytes of rows; two of those along k */
		d.stride = 8 * swizzle;
		d.leading = 16 * swizzle;
	}
	return d;
}

/* By Box and Muller's method, as the record of an H200 was drawn; 1 - u keeps the logarithm finite. */
static float normal(struct tcb_rng *rng)
{
	const double radius = sqrt(-2.0 * log(1.0 - tcb_rng_unit(rng)));
	return (float)(radius * cos(6.283185307179586 * tcb_rng_unit(rng)));
}

/* A random element: its bits, and its value. */
static uint32_t random_element(struct tcb_rng *rng, enum tcb_ptx_word type, double *value)
{
	uint32_t bits;

	if (type == TCB_PTX_S8 || type == TCB_PTX_U8) {
		bits = (uint32_t)tcb_rng_below(rng, 256);
		*value = type == TCB_PTX_S8 ? (double)(int8_t)bits : (double)bits;
		return bits;
	}
	bits = (uint32_t)tcb_ptx_float_narrow(type, (double)normal(rng), TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE);
	*value = tcb_ptx_float_widen(type, bits);
	return bits;
}

struct operands {
	uint8_t tiles[TILES];         /* shared memory */
	uint32_t a_registers[4][128]; /* by thread */
	uint32_t c[128][N_MAX / 2];   /* accumulators by thread */
	uint32_t d[128][N_MAX / 2];
	double a[64][32], b[32][N_MAX];
};

static void make_operands(const struct kind *kind, struct operands *o, struct tcb_rng *rng)
{
	enum tcb_ptx_word ta = word(kind->a), tb = word(kind->b), td = word(kind->d);
	unsigned bytes = tcb_ptx_type_bits(ta) / 8, each = 4 / bytes;
	struct tcb_ptx_matrix_descriptor a = layout(A_AT, kind->swizzle_a, !kind->a_transposed, 64);
	struct tcb_ptx_matrix_descriptor b = layout(B_AT, kind->swizzle_b, !kind->b_transposed, kind->n);

	memset(o, 0, sizeof *o);
	for (unsigned i = 0; i < 64; i++)
		for (unsigned l = 0; l < kind->k; l++) {
			uint32_t bits = random_element(rng, ta, &o->a[i][l]);
			/* the layout of mma's A: 16 rows per warp */
			unsigned reg = i % 16 / 8 + l / (4 * each) * 2;
			unsigned thread = i / 16 * 32 + i % 8 * 4 + l % (4 * each) / each;

			memcpy(o->tiles + tcb_ptx_matrix_address(&a, !kind->a_transposed, bytes, i, l), &bits, bytes);
			o->a_registers[reg][thread] |= bits << l % each * 8 * bytes;
		}
	for (unsigned j = 0; j < kind->n; j++)
		for (unsigned l = 0; l < kind->k; l++) {
			uint32_t bits = random_element(rng, tb, &o->b[l][j]);

			memcpy(o->tiles + tcb_ptx_matrix_address(&b, !kind->b_transposed, bytes, j, l), &bits, bytes);
		}
	for (unsigned t = 0; t < 128; t++)
		for (unsigned i = 0; i < kind->n / 2; i++) {
			double value;

			if (td == TCB_PTX_S32)
				o->c[t][i] = (uint32_t)tcb_rng_next(rng);
			else if (td == TCB_PTX_F32)
				o->c[t][i] = tcb_ptx_float_bits(normal(rng));
			else
				o->c[t][i / 2] |= random_element(rng, td, &value) << i % 2 * 16;
		}
}

static void list(struct tcb_str *text, const char *prefix, unsigned count)
{
	tcb_str_add(text, "{");
	for (unsigned i = 0; i < count; i++)
		tcb_str_addf(text, "%s%s%u", i ? ", " : "", prefix, i);
	tcb_str_add(text, "}");
}

static void write_kernel(const struct kind *kind, struct tcb_str *text, const char *fence)
{
	unsigned registers = kind->d[1] == '1' ? kind->n / 4 : kind->n / 2;
	struct tcb_ptx_matrix_descriptor a = layout(A_AT, kind->swizzle_a, !kind->a_transposed, 64);
	struct tcb_ptx_matrix_descriptor b = layout(B_AT, kind->swizzle_b, !kind->b_transposed, kind->n);
	int is_half = strcmp(kind->a, "f16") == 0 || strcmp(kind->a, "bf16") == 0, is_integer = kind->d[0] == 's';

	tcb_str_addf(text,
		     ".version 8.7\n.target sm_90a\n.address_size 64\n"
		     ".visible .entry k(.param .u64 tiles, .param .u64 a, .param .u64 c, .param .u64 d)\n{\n"
		     "\t.reg .b32 %%a<4>;\n\t.reg .%s %%d<%u>;\n\t.reg .b32 %%r<16>;\n\t.reg .b64 %%rd<16>;\n"
		     "\t.reg .b32 %%x<4>;\n\t.reg .pred %%p<2>;\n\t.shared .align 1024 .b8 tile[%u];\n"
		     "\tld.param.u64 %%rd0, [tiles];\n\tld.param.u64 %%rd1, [a];\n\tld.param.u64 %%rd2, [c];\n"
		     "\tld.param.u64 %%rd3, [d];\n\tmov.u32 %%r0, %%tid.x;\n\tmov.u32 %%r1, tile;\n"
		     "\tshl.b32 %%r2, %%r0, 4;\n\tadd.u32 %%r3, %%r1, %%r2;\n\tcvt.u64.u32 %%rd4, %%r2;\n"
		     "\tadd.u64 %%rd4, %%rd0, %%rd4;\n\tmov.u32 %%r4, 0;\n"
		     "fill:\n\tld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%rd4];\n"
		     "\tst.shared.v4.b32 [%%r3], {%%x0, %%x1, %%x2, %%x3};\n\tadd.u64 %%rd4, %%rd4, 2048;\n"
		     "\tadd.u32 %%r3, %%r3, 2048;\n\tadd.u32 %%r4, %%r4, 2048;\n\tsetp.lt.u32 %%p0, %%r4, %u;\n"
		     "\t@%%p0 bra fill;\n\t%s\n\tbar.sync 0;\n"
		     "\tmul.wide.u32 %%rd5, %%r0, 4;\n\tadd.u64 %%rd5, %%rd1, %%rd5;\n",
		     kind->d[1] == '1' ? "b32" : kind->d, registers, TILES, TILES, fence);
	for (unsigned i = 0; i < 4; i++)
		tcb_str_addf(text, "\tld.global.b32 %%a%u, [%%rd5+%u];\n", i, i * 512);
	tcb_str_addf(text, "\tmul.wide.u32 %%rd6, %%r0, %u;\n\tadd.u64 %%rd7, %%rd2, %%rd6;\n", N_MAX * 2);
	tcb_str_add(text, "\tadd.u64 %rd8, %rd3, %rd6;\n");
	for (unsigned i = 0; i < registers; i++)
		tcb_str_addf(text, "\tld.global.%s %%d%u, [%%rd7+%u];\n", kind->d[1] == '1' ? "b32" : kind->d, i,
			     4 * i);
	tcb_str_addf(text,
		     "\tshr.u32 %%r5, %%r1, 4;\n\tcvt.u64.u32 %%rd9, %%r5;\n\tadd.u64 %%rd10, %%rd9, 0x%llx;\n"
		     "\tadd.u64 %%rd11, %%rd9, 0x%llx;\n\tsetp.%s.u32 %%p1, %%r0, 1000;\n"
		     "\twgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n%uk%u%s.%s.%s.%s ",
		     (unsigned long long)tcb_ptx_matrix_descriptor_bits(&a),
		     (unsigned long long)tcb_ptx_matrix_descriptor_bits(&b), kind->adds ? "ne" : "eq", kind->n, kind->k,
		     kind->target_suffix, kind->d, kind->a, kind->b);
	list(text, "%d", registers);
	tcb_str_add(text, ", ");
	if (kind->a_in_registers)
		list(text, "%a", 4);
	else
		tcb_str_add(text, "%rd10");
	tcb_str_add(text, ", %rd11, %p1");
	if (!is_integer)
		tcb_str_addf(text, ", %d, %d", kind->a_sign, kind->b_sign);
	if (is_half && !kind->a_in_registers)
		tcb_str_addf(text, ", %d", kind->a_transposed);
	if (is_half)
		tcb_str_addf(text, ", %d", kind->b_transposed);
	tcb_str_add(text, ";\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n");
	for (unsigned i = 0; i < registers; i++)
		tcb_str_addf(text, "\tst.global.%s [%%rd8+%u], %%d%u;\n", kind->d[1] == '1' ? "b32" : kind->d, 4 * i,
			     i);
	tcb_str_add(text, "\tret;\n}\n");
}

static void run_kind(const char *text, struct operands *o, struct emu_job *job)
{
	struct {
		uint64_t tiles, a, c, d;
	} params;
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { 128, 1, 1 }, .params = &params, .param_bytes = sizeof params
	};

	emu_start(job, text);
	params.tiles = emu_add(job, "tiles", o->tiles, sizeof o->tiles, TCB_PTX_READ_ONLY);
	params.a = emu_add(job, "a", o->a_registers, sizeof o->a_registers, TCB_PTX_READ_ONLY);
	params.c = emu_add(job, "c", o->c, sizeof o->c, TCB_PTX_READ_ONLY);
	params.d = emu_add(job, "d", o->d, sizeof o->d, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

/* How many elements are not what a plain product gives. */
static unsigned wrong(const struct kind *kind, const struct operands *o)
{
	enum tcb_ptx_word td = word(kind->d);
	unsigned per = td == TCB_PTX_F16 ? 2 : 1, count = 0;

	for (unsigned t = 0; t < 128; t++)
		for (unsigned e = 0; e < kind->n / 2; e++) {
			unsigned row = 16 * (t / 32) + t % 32 / 4 + e / 2 % 2 * 8,
				 column = e / 4 * 8 + t % 4 * 2 + e % 2;
			uint32_t mask = per == 2 ? 0xffff : UINT32_MAX;
			uint32_t c = o->c[t][e / per] >> e % per * 16 & mask,
				 d = o->d[t][e / per] >> e % per * 16 & mask;
			double size = 0, sum = 0, want, got, old;

			for (unsigned l = 0; l < kind->k; l++) {
				sum += o->a[row][l] * o->b[l][column];
				size += fabs(o->a[row][l] * o->b[l][column]);
			}
			if (td == TCB_PTX_S32) {
				want = sum + (kind->adds ? (double)(int32_t)c : 0);
				if (kind->target_suffix[0])
					want = fmin(fmax(want, -2147483648.0), 2147483647.0);
				count += (uint32_t)(int64_t)want != d;
				continue;
			}
			old = kind->adds ? tcb_ptx_float_widen(td, c) : 0;
			want = sum * kind->a_sign * kind->b_sign + old;
			got = tcb_ptx_float_widen(td, d);
			/* 25 bits (13 of 8-bit floats) are kept of each of up to 33 terms, then 24, 14 or 11 of the
			 * result */
			count += !(fabs(got - want) <= (size + fabs(old)) * (kind->k == 32 ? 0x1p-8 : 0x1p-20) +
							       fabs(want) * (per == 2 ? 0x1p-11 : 0x1p-22) + 0x1p-24);
		}
	return count;
}

static void every_kind(void **state)
{
	static struct operands o;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 77);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct kind other = kinds[i];
		struct tcb_str text = { 0 };
		struct emu_job job;

		make_operands(&kinds[i], &o, &rng);
		write_kernel(&kinds[i], &text, "fence.proxy.async.shared::cta;");
		run_kind(text.data, &o, &job);
		emu_expect_none(&job);
		if (wrong(&kinds[i], &o))
			fail_msg("kind %zu: %u elements are wrong", i, wrong(&kinds[i], &o));
		emu_end(&job);
		/* control: the check sees a sum without the accumulator, or with it */
		other.adds = !other.adds;
		assert_true(wrong(&other, &o) > kinds[i].n);
		tcb_str_fini(&text);
	}
}

/* XXH3 of the operands that seed 123 gives for each kind, and of what an H200 stored as D for them (the driver of CUDA
 * 13.0 compiled these kernels). */
static const uint64_t hardware_hashes[][2] = {
	{ 0x60d5ff03a9714aad, 0xe522cc116c90a64d }, { 0xac5786ca38a6590c, 0x14c94687d06dbb20 },
	{ 0xa6e656b4cd929273, 0x87277ad48bf5e795 }, { 0x09b115f6a4ca6358, 0x90b44988bd6cc4cd },
	{ 0x612f86b5db8d2a76, 0x7b95f8b22f60eeb3 }, { 0x7e716f218ddb28c5, 0x9f2d470463d5d4b5 },
	{ 0xfba392c92f5bab85, 0xeedbcfc72c5e41b3 }, { 0x688db2138a94084c, 0xabc43287be74a212 },
	{ 0xa3792f5b80c2234f, 0x64d42ea422f19a14 }, { 0xb85a548dd99310cd, 0x444a3d3b7425c7aa },
	{ 0xe78b33af4b20a8ce, 0xd1461567937c7b38 }, { 0x47acf85ce78de57a, 0xea8acf0b63dec1ce },
	{ 0x22af51a2fac94789, 0xdd5550e19fe8005d }, { 0xf9112ec2bc805209, 0x450e4d6f9555a7a6 },
};

static void hardware(void **state)
{
	static struct operands o;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 123);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct tcb_str text = { 0 };
		struct emu_job job;

		make_operands(&kinds[i], &o, &rng);
		if (tcb_hash64(&o, offsetof(struct operands, d), 0) != hardware_hashes[i][0])
			skip_because("this C library's logarithm draws other operands than those of the record");
		write_kernel(&kinds[i], &text, "fence.proxy.async.shared::cta;");
		run_kind(text.data, &o, &job);
		if (tcb_hash64(o.d, sizeof o.d, 0) != hardware_hashes[i][1])
			fail_msg("kind %zu differs from what an H200 computed", i);
		emu_end(&job);
		tcb_str_fini(&text);
	}
}

static void kinds_assemble(void **state)
{
	const char *ptxas = ptx_tool("ptxas");

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i += 3) {
		struct tcb_str text = { 0 }, output = { 0 };

		write_kernel(&kinds[i], &text, "fence.proxy.async.shared::cta;");
		if (ptx_assemble(ptxas, "sm_90a", text.data, &output) != 0)
			fail_msg("kind %zu: %s", i, output.data);
		tcb_str_fini(&text);
		tcb_str_fini(&output);
	}
}

static void mistakes(void **state)
{
	struct tcb_str text = { 0 }, bare = { 0 };
	static struct operands o;
	struct tcb_rng rng;
	struct emu_job job;
	char *edited;

	(void)state;
	tcb_rng_init(&rng, 5);
	make_operands(&kinds[3], &o, &rng);
	write_kernel(&kinds[3], &text, "fence.proxy.async.shared::cta;");
	write_kernel(&kinds[3], &bare, "");
	/* ordinary stores, and no fence to the other proxy */
	run_kind(bare.data, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_PROXY_FENCE);
	emu_end(&job);
	/* no barrier: the others' part of the tile */
	edited = emu_edit(text.data, "bar.sync 0;", "");
	run_kind(edited, &o, &job);
	assert_true(job.found[TCB_PTX_RULE_RACE] || job.found[TCB_PTX_RULE_UNWRITTEN_SHARED]);
	emu_end(&job);
	free(edited);
	/* a register of A, and an accumulator, written after the fence */
	edited = emu_edit(text.data, "wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned;\n\txor.b32 %a2, %a2, 1;");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_WGMMA_ORDER);
	emu_end(&job);
	free(edited);
	edited = emu_edit(text.data, "wgmma.fence.sync.aligned;",
			  "wgmma.fence.sync.aligned;\n\tadd.rn.f32 %d3, %d3, %d3;");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_WGMMA_ORDER);
	emu_end(&job);
	free(edited);
	/* a register of A overwritten while it is in flight */
	edited = emu_edit(text.data, "wgmma.commit_group.sync.aligned;",
			  "wgmma.commit_group.sync.aligned;\n\txor.b32 %a2, %a2, 1;");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_WGMMA_ORDER);
	emu_end(&job);
	free(edited);
	/* an accumulator written while it is in flight */
	edited = emu_edit(text.data, "wgmma.commit_group.sync.aligned;",
			  "wgmma.commit_group.sync.aligned;\n\tmov.f32 %d3, 0f3f800000;");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_WGMMA_ORDER);
	emu_end(&job);
	free(edited);
	/* never committed: the wait does not cover it */
	edited = emu_edit(text.data, "wgmma.commit_group.sync.aligned;", "");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_ASYNC_PENDING);
	emu_end(&job);
	free(edited);
	/* half of the lanes */
	edited = emu_edit(text.data, "wgmma.commit_group.sync.aligned;",
			  "and.b32 %r6, %r0, 1;\n\tsetp.eq.u32 %p0, %r6, 0;\n\t@%p0 wgmma.commit_group.sync.aligned;");
	run_kind(edited, &o, &job);
	emu_expect(&job, TCB_PTX_RULE_SHUFFLE_DIVERGENT);
	emu_end(&job);
	free(edited);
	tcb_str_fini(&text);
	tcb_str_fini(&bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind),
		cmocka_unit_test(hardware),
		cmocka_unit_test(kinds_assemble),
		cmocka_unit_test(mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
