/* SPDX-License-Identifier: MIT
 *
 * The quantised matvecs' GPU kernels: layouts, rules and spaces; kernels drawn from them
 * in the emulator at odd shapes, right and without findings; mutants of them,
 * caught.
 */
#include "matvec_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instrumented.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_plan.h"

static struct matvec_ops ops;

static int find_ops(void **state)
{
	static const char *const kinds[] = { "matvec", NULL };
	(void)state;
	matvec_find(kinds, &ops);
	return ops.count == TCB_FORMAT_COUNT ? 0 : -1;
}

static const struct tcb_op *op_at(size_t i)
{
	return ops.op[i % ops.count];
}

static const struct tcb_op *the_op(void)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	assert_non_null(op);
	return op;
}

/* Formats whose codes are expanded, and rows of values, have kernels with fma alone, and fewer of them. */
static int has_mma(const struct tcb_op *op)
{
	return !tcb_is_expanded(op->format->id) && !tcb_is_float(op->format->id);
}

static struct tcb_problem problem_of(enum tcb_contract contract, size_t m, size_t n, size_t k)
{
	return matvec_problem(the_op(), contract, m, n, k);
}

/* --- layouts --- */

static void planes_round_trip(void **state)
{
	static const size_t shapes[][2] = { { 1, 256 }, { 3, 512 }, { 17, 768 } };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < ops.count * sizeof shapes / sizeof *shapes; i++) {
		const struct tcb_op *op = op_at(i);
		const size_t n = shapes[i / ops.count][0], k = matvec_k(op, shapes[i / ops.count][1], i / ops.count);
		const struct tcb_problem problem = matvec_problem(op, TCB_CONTRACT_Q8, 1, n, k);
		const size_t bytes = n * tcb_quant_row_bytes(problem.op->format, k);
		const size_t planes =
			qmv_packed_bytes(&problem, TCB_LAYOUT_F) + qmv_packed_bytes(&problem, TCB_LAYOUT_P);
		uint8_t *stored = test_malloc(bytes), *packed = test_malloc(planes), *back = test_malloc(bytes);
		for (size_t b = 0; b < bytes; b++) /* any bytes are blocks, as far as packing goes */
			stored[b] = (uint8_t)tcb_rng_next(&rng);
		for (int layout = TCB_LAYOUT_P; layout <= TCB_LAYOUT_S; layout++) {
			memset(packed, 0xaa, planes);
			memset(back, 0x55, bytes);
			op->pack(&problem, TCB_QUANT_WEIGHTS, (enum tcb_layout)layout, stored, packed);
			op->unpack(&problem, TCB_QUANT_WEIGHTS, (enum tcb_layout)layout, packed, back);
			assert_memory_equal(stored, back, bytes);
		}
		test_free(stored);
		test_free(packed);
		test_free(back);
	}
}

/* --- spaces and rules --- */

static void spaces_have_thousands_and_the_default(void **state)
{
	(void)state;
	/* Every fourth; which divides none of the counts, so that each op meets each capability or contract. */
	for (size_t i = 0; i < ops.count * GPU_CAPABILITIES * TCB_CONTRACT_COUNT; i += 4) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = op_at(i);
		const unsigned capability = gpu_capabilities[i / ops.count % GPU_CAPABILITIES];
		const struct tcb_shape *s = &op->default_shapes[i / 2 % op->default_shape_count];
		const struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / ops.count / GPU_CAPABILITIES), s->m, s->n, s->k);
		const struct tcb_target target = gpu_target(capability, 0);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		/* Rows of values have one vec, so that few ways of cutting 56 superblocks are left. */
		const size_t least = has_mma(op) ? 50 : tcb_is_float(op->format->id) ? 3 : 20;
		if (space->count < least || space->count > 8000)
			fail_msg("%s sm_%u %zux%zux%zu: %zu geometries", op->name, capability, s->m, s->n, s->k,
				 space->count);
		tcb_space_destroy(space);
	}
}

/* Rows of 43, 54 and 74 superblocks, as Llama 2 and Qwen 2.5 have: what is left when nothing divides them. */
static void odd_rows_have_a_space(void **state)
{
	static const size_t ks[] = { 11008, 13824, 18944 };
	const struct tcb_target target = gpu_target(90, 0);
	(void)state;
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
		const struct tcb_problem p = matvec_problem(tcb_op_find("q4k_matvec"), TCB_CONTRACT_Q8, 1, 4096, ks[i]);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		assert_in_range(space->count, 100, 8000);
		tcb_space_destroy(space);
	}
}

/* The default is legal whatever the shape, primes of superblocks and more activations than fit included. */
static void defaults_are_legal(void **state)
{
	static const size_t rows[] = { 1, 2, 3, 7, 8, 9, 1023, 4096, 128256 };
	static const size_t blocks[] = { 1, 2, 3, 4, 5, 7, 16, 17, 43, 56, 61, 112, 211, 256 };
	enum { ROWS = sizeof rows / sizeof *rows, BLOCKS = sizeof blocks / sizeof *blocks };
	(void)state;
	for (size_t i = 0; i < ops.count * GPU_CAPABILITIES * ROWS * BLOCKS; i++) {
		const struct tcb_op *op = op_at(i);
		const unsigned capability = gpu_capabilities[i / ops.count % GPU_CAPABILITIES];
		const size_t n = rows[i / ops.count / GPU_CAPABILITIES % ROWS],
			     b = blocks[i / ops.count / GPU_CAPABILITIES / ROWS];
		const struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / 7), 1, n, matvec_k(op, 256 * b, i / 3));
		gpu_check_default(&p, capability);
	}
}

#define STANDARD                                                                                                 \
	"macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=dp4a,layout=native,unroll=4,warps=8,vec=16,stages=1," \
	"splitk=1,ksplit=1,copy=ldg,xin=shared,group=32,prep=block,lead=1,blocks=0,pdl=1,occ=2"

static void rules_name_what_is_wrong(void **state)
{
	static const struct {
		const char *changes, *says;
		unsigned capability;
	} cases[] = {
		{ "isa=fma", "isa must be dp4a", 90 },
		{ "layout=r8", "layout must be", 90 },
		{ "micro=1x16x256,midi=1x128x4096", "micro.n must be 1, 2, 4 or 8", 90 },
		{ "macro=1x2048x4096", "macro.n must be", 90 },
		{ "midi=1x4x4096", "midi.n must be micro.n times", 90 },
		{ "ksplit=3", "ksplit must divide warps", 90 },
		{ "vec=32", "vec must be", 90 },
		{ "splitk=3", "splitk must divide", 90 },
		{ "ksplit=8,midi=1x1x4096", "leaves half of its lanes idle", 90 },
		{ "unroll=3", "unroll must divide", 90 },
		{ "unroll=5", "unroll must be at most", 90 },
		{ "stages=2", "stages must be 1", 90 },
		{ "copy=bulk", "stages must be 2 to 8", 90 },
		{ "lead=2", "lead must be at most", 90 },
		{ "copy=async,stages=2,pdl=0", "needs sm_80", 75 },
		{ "copy=bulk,stages=2,pdl=0", "needs sm_90", 89 },
		{ "copy=bulk,stages=2", "blocks must be 1 or more", 90 },
		{ "blocks=1,splitk=2,occ=1,unroll=2", "join must be cluster with splitk above 1", 90 },
		{ "join=cluster", "and only then", 90 },
		{ "blocks=1,splitk=2,occ=1,unroll=2,xin=regs,join=last", "join must be cluster", 90 },
		{ "pdl=4", "pdl must be 0 to 3", 90 },
		{ "pdl=2,prep=launch", "prep must be block", 90 },
		{ "blocks=1,occ=2", "occ must be as many as blocks", 90 },
		{ "occ=9", "more warps than an SM holds", 90 },
		{ "xin=regs", "xin must be shared", 90 },
		{ "group=64", "group must be", 90 },
		{ "prep=launch,splitk=2,unroll=2", "splitk must be 1 with prep=launch", 90 },
		{ "pdl=1", "pdl=1 needs sm_90", 80 },
		{ "blocks=8,occ=8", "blocks=0 does the same", 90 },
		{ "group=256,splitk=2,unroll=2", "more than one knob", 90 },
	};
	const struct tcb_problem p = problem_of(TCB_CONTRACT_Q8, 1, 4096, 4096);
	const struct tcb_geometry standard = gpu_geometry(STANDARD);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_geometry g = gpu_geometry_changed(STANDARD, cases[i].changes);
		gpu_check_rule(&p, cases[i].capability, &g, 0, cases[i].says);
	}
	gpu_check_rule(&p, 90, &standard, 0, NULL);
}

/* Of several tokens together. */
static void rules_of_tokens(void **state)
{
#define FOUR "macro=4x4096x4096,midi=4x8x4096,micro=4x1x256,occ=2"
	static const struct {
		const char *changes, *says;
	} cases[] = {
		{ FOUR, NULL },
		{ "micro=1x1x256", "one knob" },
		{ "macro=4x4096x4096", "must be 1 with micro.m=1" },
		{ FOUR ",micro=2x1x256", "midi.m must be micro.m" },
		{ "macro=8x4096x4096,midi=8x8x4096,micro=8x1x256", "more tokens than there are" },
		{ "macro=16x4096x4096,midi=16x8x4096,micro=16x1x256", "micro.m must be 1, 2, 4 or 8" },
		{ FOUR ",micro=4x8x256,midi=4x64x4096", "at most 8, or 16" },
		{ FOUR ",blocks=1,xin=regs,occ=1", "xin must be shared" },
		{ FOUR ",splitk=2,unroll=2", "splitk 1 with micro.m" },
		{ FOUR ",prep=launch", "prep must be block" },
	};
	const struct tcb_problem p = problem_of(TCB_CONTRACT_Q8, 3, 4096, 4096);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_geometry g = gpu_geometry_changed(STANDARD, cases[i].changes);
		gpu_check_rule(&p, 90, &g, 0, cases[i].says);
	}
}

/* --- kernels --- */

/* One PTX serves all numbers of rows and of SMs, which are in arguments and grid. */
static void ptx_knows_neither_rows_nor_sms(void **state)
{
	(void)state;
	const struct tcb_geometry g =
		gpu_geometry_changed(STANDARD, "copy=bulk,stages=3,lead=2,blocks=2,occ=2,xin=regs");
	struct tcb_str text[3] = { { 0 }, { 0 }, { 0 } };
	for (int i = 0; i < 3; i++) {
		const struct tcb_problem p = problem_of(TCB_CONTRACT_Q8, 1, i == 1 ? 333 : 4096, i == 2 ? 8192 : 4096);
		const struct tcb_target target = gpu_target(90, i == 1 ? 7 : 132);
		struct tcb_kernel kernel;
		struct tcb_geometry own = g;
		own.knob[TCB_KNOB_UNROLL] = i == 2 ? 8 : 4;
		gpu_emit(&p, &target, &own, &kernel);
		tcb_kernel_print(&kernel, &text[i]);
		tcb_kernel_fini(&kernel);
	}
	assert_string_equal(text[0].data, text[1].data);
	assert_string_not_equal(text[0].data, text[2].data);
	for (int i = 0; i < 3; i++)
		tcb_str_fini(&text[i]);
}

/* Some geometries of each default space: written and read, and looked at. */
static void spaces_are_written_and_clean(void **state)
{
	size_t checked = 0;
	(void)state;
	for (size_t c = 0; c < GPU_CAPABILITIES * ops.count; c++) {
		if (test_leaves_out(c))
			continue;
		const struct tcb_op *op = op_at(c);
		const struct tcb_problem p = matvec_problem(op, matvec_contract(c / 2), 1, 4096, c % 2 ? 4096 : 14336);
		const struct tcb_target target = gpu_target(gpu_capabilities[c / ops.count], 0);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		struct tcb_kernel kernel;
		for (size_t i = c; i < space->count; i += 150) {
			gpu_emit(&p, &target, &space->geometries[i], &kernel);
			gpu_check_text(&kernel);
			tcb_kernel_fini(&kernel);
		}
		for (size_t i = 3 * c; i < space->count; i += space->count / 2, checked++) {
			gpu_emit(&p, &target, &space->geometries[i], &kernel);
			gpu_check_clean(&kernel);
			tcb_kernel_fini(&kernel);
		}
		tcb_space_destroy(space);
	}
	assert_true(checked >= test_least_of(GPU_CAPABILITIES * ops.count));
}

static void samples_are_right(void **state)
{
	(void)state;
	matvec_check_samples(&ops, gpu_sample_size(120), 20);
}

/* Weights are read, and taken apart, once for several tokens. */
static void tokens_share_weights(void **state)
{
	(void)state;
	matvec_check_tiles(&ops, 3, 21);
}

/* Under contract q8 the matmul's kernels have them, of codes that are expanded from 5 on; emulated as those of a
 * matvec. */
static void several_tokens_are_products(void **state)
{
	static const struct tcb_shape odd[] = { { 5, 37, 512 }, { 8, 33, 1280 }, { 11, 17, 768 } };
	struct gpu_tally tally = { 0 };
	(void)state;
	for (size_t i = 0; i < ops.count; i++) {
		const struct tcb_op *op = op_at(i);
		const struct tcb_shape *s = &odd[i % (sizeof odd / sizeof *odd)];
		const struct tcb_problem p = matvec_problem(op, TCB_CONTRACT_Q8, s->m, s->n, matvec_k(op, s->k, i));
		const struct tcb_problem two = matvec_problem(op, TCB_CONTRACT_Q8, 2, s->n, matvec_k(op, s->k, i));
		const struct tcb_target target = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 2);
		struct gpu_bench bench;
		struct tcb_geometry g;
		if (!(op->contracts >> TCB_CONTRACT_Q8 & 1))
			continue;
		tcb_op_standard(&two, &target, &g);
		assert_int_equal(g.knob[TCB_KNOB_ISA] == TCB_ISA_MMA, !tcb_is_expanded(op->format->id));
		tcb_op_standard(&p, &target, &g);
		assert_int_equal(g.knob[TCB_KNOB_ISA], TCB_ISA_MMA);
		assert_string_equal(strrchr(tcb_variant_find(op, p.contract, &g)->name, '_'), "_mma");
		if (test_leaves_out(i))
			continue;
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

/* The default has all tokens together, or eight of them, wherever these fit. */
static void defaults_have_tokens_together(void **state)
{
	static const size_t ks[] = { 256, 2048, 4096, 14336, 28672 };
	(void)state;
	for (size_t i = 0; i < ops.count * GPU_CAPABILITIES * 9; i++) {
		const struct tcb_op *op = op_at(i);
		const unsigned capability = gpu_capabilities[i / ops.count % GPU_CAPABILITIES];
		const size_t m = 2 + i / ops.count / GPU_CAPABILITIES, k = ks[i % (sizeof ks / sizeof *ks)];
		const struct tcb_problem p =
			matvec_problem(op, matvec_contract(i / 7), m, i % 2 ? 4096 : 77, matvec_k(op, k, i / 3));
		const struct tcb_target target = gpu_target(capability, 0);
		struct tcb_geometry g;
		gpu_check_default(&p, capability);
		tcb_op_standard(&p, &target, &g);
		/* Fewer where an SM has little shared memory, or codes are floats in registers. */
		if (k <= 2048)
			assert_true(g.tile[TCB_MICRO].m >= (capability < 80 ? 2 : m < 3 ? 2 : 4));
		else if (k == 4096)
			assert_true(g.tile[TCB_MICRO].m > 1);
		if (g.knob[TCB_KNOB_ISA] == TCB_ISA_MMA && p.contract == TCB_CONTRACT_Q8) /* a product */
			assert_in_range(g.tile[TCB_MICRO].m, 8, 16);
		else if (k <= 4096 && p.contract == TCB_CONTRACT_Q8)
			assert_int_equal(g.tile[TCB_MICRO].m, m < 3 ? 2 : m < 5 ? 4 : 8);
	}
}

/* isa=mma, of which the samples above have few: rows that fill no tile, several rounds, parts of superblocks. */
static void products_of_matrices_are_right(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 45, 512 }, { 2, 17, 1024 }, { 1, 81, 1792 } };
	struct tcb_rng rng;
	struct gpu_tally tally = { 0 };
	(void)state;
	tcb_rng_init(&rng, 30);
	for (size_t i = 0; i < 6 * ops.count; i++) {
		const struct tcb_op *op = op_at(i);
		const struct tcb_shape *shape = &shapes[i / ops.count % 3];
		const enum tcb_contract contract = i / ops.count < 3 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16;
		const struct tcb_target target = gpu_target(i % 4 ? 90 : 80, 2);
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (!has_mma(op))
			continue;
		const struct tcb_problem p =
			matvec_problem(op, contract, shape->m, shape->n, matvec_k(op, shape->k, i / ops.count));
		assert_true(matvec_geometry(&p, &target, TCB_KNOB_ISA, TCB_ISA_MMA, &rng, &g));
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

/* Activations as contract q8 must take them: too small to count, NaN, infinite, huge. */
static void extreme_activations(void **state)
{
	static const float values[] = { 0, 1e-38f, 1e-30f, 1e30f, 1e36f, NAN, INFINITY };
	(void)state;
	for (int kind = 0; kind < 3; kind++)
		for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
			const int q8 = kind == 1, mma = kind == 2;
			const enum tcb_contract contract = q8 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32;
			const struct tcb_target target = gpu_target(80, 2);
			struct tcb_geometry g;
			struct gpu_bench bench;
			struct tcb_rng rng;
			tcb_rng_init(&rng, v);
			const struct tcb_problem p = problem_of(contract, 1, mma ? 18 : 5, 512);
			gpu_bench_open(&bench, &p, 3);
			float *x = bench.data[1];
			for (int i = 0; i < 256; i++)
				x[i] *= isfinite(values[v]) ? values[v] : 1;
			if (!isfinite(values[v]))
				x[77] = values[v];
			gpu_bench_refer(&bench);
			if (!isfinite(values[v])) /* no distance judges: every output must be a NaN */
				for (size_t i = 0; i < bench.outputs; i++)
					bench.reference[0].y[i] = NAN;
			tcb_op_standard(&p, &target, &g);
			assert_true(!mma || matvec_geometry(&p, &target, TCB_KNOB_ISA, TCB_ISA_MMA, &rng, &g));
			const double ratio = gpu_bench_run(&bench, &target, &g, NULL, 1);
			/* Runs are compared bit by bit, also where the results are NaN. */
			if (!(ratio <= 1) && !(isinf(values[v]) && !q8))
				fail_msg("%s, activations of %g: ratio %g %s",
					 q8    ? "q8"
					 : mma ? "f32, mma"
					       : "f32",
					 (double)values[v], ratio, bench.message);
			gpu_bench_close(&bench);
		}
}

/*
 * Contract f32 with isa=mma and one activation of a superblock that is 2^38 times the others, but has no weight: their
 * halves leave more out than roundings do.  Within the bound; not within it without the reference's term for halves.
 */
static void tiny_beside_large_activations(void **state)
{
	static const struct tcb_shape shape = { 1, 33, 1024 };
	const struct tcb_target target = gpu_target(80, 2);
	const struct tcb_format *format = tcb_format_find("Q4_K");
	const size_t blocks = shape.k / format->block_values;
	struct tcb_geometry g;
	struct gpu_bench bench;
	struct tcb_rng rng;
	double without = 0;
	(void)state;
	tcb_rng_init(&rng, 40);
	const struct tcb_problem p = problem_of(TCB_CONTRACT_F32, shape.m, shape.n, shape.k);
	gpu_bench_open(&bench, &p, 3);
	uint8_t *block = bench.data[TCB_QUANT_WEIGHTS];
	float *x = bench.data[TCB_QUANT_X], *w = test_malloc(shape.k * sizeof(*w));
	for (size_t i = 0; i < shape.n * blocks; i++, block += format->block_bytes) {
		block[2] = block[3] = 0; /* dmin */
		block[16] &= 0xf0;       /* the first code */
	}
	for (size_t i = 0; i < shape.k; i++)
		x[i] = i % format->block_values ? ldexpf(x[i], -38) : 1;
	gpu_bench_refer(&bench);
	assert_true(matvec_geometry(&p, &target, TCB_KNOB_ISA, TCB_ISA_MMA, &rng, &g));
	const double ratio = gpu_bench_run(&bench, &target, &g, NULL, 1);
	block = bench.data[TCB_QUANT_WEIGHTS];
	for (size_t n = 0; n < shape.n; n++, block += blocks * format->block_bytes) {
		double sum = 0;
		tcb_dequantize(format, block, blocks, w);
		for (size_t k = 0; k < shape.k; k++)
			sum += fabs((double)w[k]);
		bench.reference[0].extra[n] = fmax(0, bench.reference[0].extra[n] - 0x1p-51 * sum);
	}
	without = gpu_bench_run(&bench, &target, &g, NULL, 1);
	print_message("largest error %.3f of what is allowed, %.1f without the term\n", ratio, without);
	assert_true(ratio <= 1 && without > 1);
	test_free(w);
	gpu_bench_close(&bench);
}

/* MXFP4: powers from the two that are below the normal floats on, in rows of their own so that none hides another. */
static void powers_of_all_sizes(void **state)
{
	enum { ROWS = 24, K = 512, POWER_MOST = 200 };
	const struct tcb_op *op = tcb_op_find("mxfp4_matvec");
	const struct tcb_target target = gpu_target(80, 2);
	(void)state;
	assert_non_null(op);
	for (int kind = 0; kind < 3; kind++) { /* dp4a, fma, mma */
		const enum tcb_contract contract = kind ? TCB_CONTRACT_F32 : TCB_CONTRACT_Q8;
		const struct tcb_problem p = matvec_problem(op, contract, 1, ROWS, K);
		const size_t blocks = K / op->format->block_values;
		struct tcb_geometry g;
		struct gpu_bench bench;
		struct tcb_rng rng;
		tcb_rng_init(&rng, 50);
		gpu_bench_open(&bench, &p, 3);
		uint8_t *block = bench.data[TCB_QUANT_WEIGHTS];
		float *x = bench.data[TCB_QUANT_X];
		for (size_t i = 0; i < ROWS * blocks; i++, block += op->format->block_bytes)
			block[0] = (uint8_t)(i / blocks * POWER_MOST / (ROWS - 1) + i % 2);
		for (size_t i = 0; i < K; i++) /* sums are normal */
			x[i] *= 0x1p20f;
		gpu_bench_refer(&bench);
		tcb_op_standard(&p, &target, &g);
		assert_true(kind != 2 || matvec_geometry(&p, &target, TCB_KNOB_ISA, TCB_ISA_MMA, &rng, &g));
		snprintf(bench.what, sizeof bench.what, "powers, kind %d", kind);
		gpu_bench_check(&bench, &target, &g, 1, NULL);
		gpu_bench_close(&bench);
	}
}

/* --- mutants --- */

#define RING "copy=bulk,stages=2,lead=1,blocks=1,occ=1,xin=regs,ksplit=2,midi=1x4x1024,unroll=1"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what, *changes;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", "unroll=1", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, ring", RING, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier behind the activations", "unroll=1", { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier before parts are added", RING, { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "results past the last row", "unroll=1", { UNGUARD, TCB_PTX_OP_ST, 3 } },
		{ "codes from the wrong place", "unroll=1", { MOVE, TCB_PTX_OP_LD, 8 } },
		{ "a wrong exchange of lanes", "unroll=1", { CONSTANT, TCB_PTX_OP_SHFL, 8 } },
		{ "a wrong code", "unroll=1", { CONSTANT, TCB_PTX_OP_PRMT, 0 } },
		{ "no wait for the copy", RING, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "too few bytes waited for", RING, { CONSTANT, TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX, 0 } },
		{ "a parity that stays", RING, { REMOVE, TCB_PTX_OP_XOR, 0 } },
	};
	const struct tcb_problem p = problem_of(TCB_CONTRACT_Q8, 1, 45, 1024);
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		struct tcb_geometry g = gpu_geometry_changed(STANDARD, cases[i].changes);
		struct gpu_bench bench;
		for (int level = 0; level < TCB_LEVEL_COUNT - 1; level++)
			g.tile[level].k = 1024;
		gpu_bench_open(&bench, &p, 9);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

/* As large as contract f32 takes them, for weights as they come and for zeros: right, and finite. */
static void activations_at_the_end_of_their_range(void **state)
{
	static const enum tcb_isa isas[] = { TCB_ISA_FMA, TCB_ISA_MMA };
	const struct tcb_target target = gpu_target(90, 2);
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < 4 * ops.count; i++) {
		const struct tcb_op *op = op_at(i);
		const int has_zeros = i / ops.count % 2;
		const struct tcb_problem p = matvec_problem(op, TCB_CONTRACT_F32, 1, 18, matvec_k(op, 512, 0));
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (test_leaves_out(i) || (i / ops.count / 2 && !has_mma(op)))
			continue;
		assert_true(matvec_geometry(&p, &target, TCB_KNOB_ISA, isas[i / ops.count / 2], &rng, &g));
		gpu_bench_open(&bench, &p, i);
		float *x = bench.data[TCB_QUANT_X];
		for (size_t k = 0; k < p.shape.k; k++)
			x[k] = k % 3 ? QMV_X_MOST : i % 2 ? -QMV_X_MOST : 1;
		if (has_zeros)
			memset(bench.data[TCB_QUANT_WEIGHTS], 0, bench.operand[TCB_QUANT_WEIGHTS].bytes);
		gpu_bench_refer(&bench);
		for (size_t n = 0; n < p.shape.n; n++)
			assert_true(isfinite(bench.reference[0].y[n]) && (!has_zeros || bench.reference[0].y[n] == 0));
		gpu_bench_check(&bench, &target, &g, i, NULL);
		assert_true(isfinite(bench.first));
		gpu_bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planes_round_trip),
		cmocka_unit_test(spaces_have_thousands_and_the_default),
		cmocka_unit_test(odd_rows_have_a_space),
		cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(rules_name_what_is_wrong),
		cmocka_unit_test(several_tokens_are_products),
		cmocka_unit_test(rules_of_tokens),
		cmocka_unit_test(ptx_knows_neither_rows_nor_sms),
		cmocka_unit_test(spaces_are_written_and_clean),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(tokens_share_weights),
		cmocka_unit_test(defaults_have_tokens_together),
		cmocka_unit_test(products_of_matrices_are_right),
		cmocka_unit_test(extreme_activations),
		cmocka_unit_test(tiny_beside_large_activations),
		cmocka_unit_test(powers_of_all_sizes),
		cmocka_unit_test(activations_at_the_end_of_their_range),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, find_ops, NULL);
}
