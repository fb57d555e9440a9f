/* SPDX-License-Identifier: MIT
 *
 * The GPU kernels of row ops and of reductions: rules and spaces; kernels drawn from them in the
 * emulator at odd shapes, right and without findings; rows with NaN, infinities
 * and denormals; mutants, caught.
 */
#include "bulk_order.h"
#include "gpu_bench.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instrumented.h"

static const char *const op_names[] = { "softmax",      "rmsnorm",      "layernorm",
					"reduce2d_sum", "reduce2d_max", "reduce2d_min" };
enum { OPS = sizeof op_names / sizeof *op_names };

static const struct tcb_op *op_at(size_t i)
{
	const struct tcb_op *op = tcb_op_find(op_names[i]);
	assert_non_null(op);
	return op;
}

static struct tcb_problem problem_of(const struct tcb_op *op, size_t m, size_t n)
{
	return gpu_problem(op, TCB_CONTRACT_F32, (struct tcb_shape){ m, n, 0 });
}

/* --- spaces and rules --- */

static void defaults_are_legal_and_in_the_space(void **state)
{
	static const size_t rows[] = { 1, 2, 3, 33, 4096 };
	static const size_t columns[] = { 1,    2,    3,     4,     31,     32,     33,     127,    128,     1025,
					  4096, 6007, 16384, 32000, 100000, 128256, 151936, 262144, 1000000, 1000003 };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++)
			for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
				for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) {
					struct tcb_problem p = problem_of(op_at(o), rows[r], columns[n]);
					gpu_check_default(&p, gpu_capabilities[c]);
					p.shape.words.add = 1;
					if (strstr(op_names[o], "norm"))
						gpu_check_default(&p, gpu_capabilities[c]);
				}
}

static void spaces_are_of_a_size_to_search(void **state)
{
	static const size_t shapes[][2] = { { 1, 32000 }, { 512, 4096 }, { 4096, 4096 }, { 1, 4096 }, { 77, 6007 } };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c += 4) /* sm_75 and sm_90 */
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
				if (test_leaves_out((o * GPU_CAPABILITIES + c) * 5 + s))
					continue;
				const struct tcb_problem p = problem_of(op_at(o), shapes[s][0], shapes[s][1]);
				const struct tcb_target target = gpu_target(gpu_capabilities[c], 0);
				struct tcb_space *space = gpu_space(&p, &target, 0);
				assert_in_range(space->count, 20, 8000);
				tcb_space_destroy(space);
			}
}

/* --- kernels --- */

static const struct tcb_shape odd_shapes[] = { { 1, 1, 0 },    { 2, 2, 0 },    { 3, 31, 0 },   { 5, 32, 0 },
					       { 7, 33, 0 },   { 3, 509, 0 },  { 2, 514, 0 },  { 9, 1024, 0 },
					       { 3, 1025, 0 }, { 2, 4100, 0 }, { 17, 260, 0 }, { 1, 3000, 0 },
					       { 1, 8192, 0 }, { 33, 68, 0 } };
enum { ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

/* A geometry of the whole product, policies lifted, as many kinds as there are: the knobs that make kernels differ are
 * drawn first, so that rare kinds come as often as others.  VEC: 0 for any. */
static struct tcb_geometry draw_vec(const struct tcb_problem *p, const struct tcb_target *target, int32_t vec,
				    struct tcb_rng *rng)
{
	struct tcb_space *space = gpu_space(p, target, 1);
	const int32_t join = (int32_t)tcb_rng_below(rng, 4), copy = (int32_t)tcb_rng_below(rng, 3);
	const int32_t keep = (int32_t)tcb_rng_below(rng, 3);
	struct tcb_geometry best = space->geometries[tcb_rng_below(rng, space->count)];
	int best_match = -1;
	for (int i = 0; i < 400; i++) {
		const struct tcb_geometry *g = &space->geometries[tcb_rng_below(rng, space->count)];
		const int match = 4 * (!vec || g->knob[TCB_KNOB_VEC] == vec) + 2 * (g->knob[TCB_KNOB_JOIN] == join) +
				  (g->knob[TCB_KNOB_COPY] == copy) + (g->knob[TCB_KNOB_XIN] == keep);
		if (match > best_match) {
			best_match = match;
			best = *g;
		}
	}
	tcb_space_destroy(space);
	return best;
}

static struct tcb_geometry draw(const struct tcb_problem *p, const struct tcb_target *target, struct tcb_rng *rng)
{
	return draw_vec(p, target, 0, rng);
}

/* Barriers, exchanges of lanes, alignment, races in shared memory: nothing to say, without running them; and the text
 * is read back alike. */
static void nothing_is_found_in_the_text(void **state)
{
	static const struct tcb_shape shapes[] = { { 3, 1300, 0 }, { 1, 9000, 0 }, { 40, 515, 0 } };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < 12 * OPS; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = op_at(i % OPS);
		const struct tcb_shape *s = &shapes[i / OPS % 3];
		const struct tcb_problem p = problem_of(op, s->m, s->n);
		const struct tcb_target target = gpu_target(gpu_capabilities[(i + i / OPS) % GPU_CAPABILITIES], 2);
		const struct tcb_geometry g = draw(&p, &target, &rng);
		gpu_check_emitted(&p, &target, &g);
	}
}

/* With two SMs, so that blocks that stay have several rounds. */
static void samples_are_right(void **state)
{
	const size_t count = gpu_sample_size(126);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 20);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_shape *s = &odd_shapes[i / OPS % ODD_SHAPES];
		const struct tcb_problem p = problem_of(op_at(i % OPS), s->m, s->n);
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const struct tcb_geometry g = draw(&p, &target, &rng);
		gpu_check_run(&p, &target, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

/* Rows of vectors that they do not begin at multiples of: every shift, with and without an edge on either side. */
static void shifted_rows_are_right(void **state)
{
	static const size_t columns[] = { 129, 130, 131, 255, 514, 1021, 1283, 2046, 4097 };
	enum { COLUMNS = sizeof columns / sizeof *columns, ROW_OPS = 3 };
	const size_t count = gpu_sample_size(54);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 21);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const size_t n = columns[i / ROW_OPS % COLUMNS];
		const struct tcb_problem p = problem_of(op_at(i % ROW_OPS), n < 1000 ? 9 : 5, n);
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const struct tcb_geometry g = draw_vec(&p, &target, 16, &rng);
		assert_int_equal(g.knob[TCB_KNOB_VEC], 16);
		gpu_check_run(&p, &target, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

/* The shortest rows that vectors are taken of so. */
static void short_shifted_rows_are_right(void **state)
{
	static const struct {
		size_t n;
		const char *geometry;
	} cases[] = {
		{ 8, "macro=8x8x1,midi=2x8x1,micro=1x2x1,vec=8,warps=2,ksplit=1" },
		{ 9, "macro=8x16x1,midi=2x16x1,micro=1x2x1,vec=8,warps=2,ksplit=1" },
		{ 17, "macro=8x32x1,midi=2x32x1,micro=1x4x1,vec=16,warps=2,ksplit=1" },
		{ 18, "macro=8x32x1,midi=1x32x1,micro=1x4x1,vec=16,warps=1,ksplit=1" },
		{ 19, "macro=8x32x1,midi=4x32x1,micro=1x4x1,vec=16,warps=4,ksplit=1" },
	};
	static const char *const ways[] = { "copy=ldg,xin=regs", "copy=ldg,xin=l2", "copy=async,xin=shared" };
	const struct tcb_target target = gpu_target(80, 2);
	(void)state;
	for (size_t i = 0; i < 9 * sizeof cases / sizeof *cases; i++) {
		const struct tcb_problem p = problem_of(op_at(i % 3), 7, cases[i / 9].n);
		char text[300];
		snprintf(text, sizeof text,
			 "%s,%s%s,isa=fma,unroll=1,stages=1,splitk=1,stream=1,blocks=0,pdl=0,occ=1,join=none",
			 cases[i / 9].geometry, ways[i / 3 % 3], i % 3 ? ",lead=0" : "");
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, 80, &g, 1, NULL);
		gpu_check_run(&p, &target, &g, i, NULL);
	}
}

/* Rows of which each begins elsewhere in a vector: read ahead in registers, where the next may lack what this one has;
 * side by side in a ring, where slots end as nothing but a row's number tells. */
static void shifted_rows_ahead_are_right(void **state)
{
	static const struct {
		size_t n;
		const char *geometry;
	} cases[] = {
		{ 129, "macro=16x256x1,midi=2x256x1,warps=2,ksplit=1,copy=ldg,xin=regs,stages=2,blocks=1" },
		{ 4097, "macro=16x8192x1,midi=1x8192x1,warps=8,ksplit=8,copy=ldg,xin=regs,stages=2,blocks=1" },
		{ 1283, "macro=16x2048x1,midi=4x2048x1,warps=8,ksplit=2,copy=async,xin=regs,stages=1,blocks=0" },
		{ 1283, "macro=16x2048x1,midi=2x2048x1,warps=8,ksplit=4,copy=async,xin=shared,stages=2,blocks=1" },
		{ 1283, "macro=16x2048x1,midi=2x1024x1,warps=4,ksplit=2,copy=async,xin=shared,stages=3,blocks=1" },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = problem_of(op_at(i % 3), 13, cases[i / 3].n);
		const int is_split = strstr(cases[i / 3].geometry, "midi=2x1024") != NULL;
		char text[300];
		snprintf(text, sizeof text, "%s,%s%s,vec=16,micro=1x4x1,isa=fma,unroll=1,stream=0,pdl=0,occ=1",
			 cases[i / 3].geometry, is_split ? "splitk=2,join=cluster" : "splitk=1,join=none",
			 i % 3 ? ",lead=0" : "");
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, NULL);
	}
}

/* Rows that a cluster, or a block, keeps in pieces: shares of all lengths, the last one short or none at all, rings
 * that go round within a row and not before the third, values per column kept or read again, one round of rows or
 * several. */
#define PIECES "isa=fma,vec=16,micro=1x4x1,stages=1,copy=bulk,xin=shared,stream=1,pdl=1"
static void rows_in_pieces_are_right(void **state)
{
	static const struct {
		struct tcb_shape shape;
		const char *geometry;
	} cases[] = {
		{ { 9, 1284, 0 }, "macro=16x2048x1,midi=1x1024x1,warps=2,ksplit=2,splitk=2,unroll=1,join=cluster" },
		{ { 9, 1284, 0 }, "macro=16x2048x1,midi=1x1024x1,warps=2,ksplit=2,splitk=2,unroll=2,join=cluster" },
		{ { 5, 1280, 0 }, "macro=8x2048x1,midi=1x2048x1,warps=4,ksplit=4,splitk=1,unroll=3,join=none" },
		{ { 4, 516, 0 }, "macro=4x1024x1,midi=1x1024x1,warps=1,ksplit=1,splitk=1,unroll=5,join=none" },
		{ { 3, 8192, 0 }, "macro=4x8192x1,midi=1x1024x1,warps=4,ksplit=4,splitk=8,unroll=2,join=cluster" },
		{ { 1, 8004, 0 }, "macro=1x8192x1,midi=1x512x1,warps=4,ksplit=4,splitk=16,unroll=1,join=cluster" },
		{ { 2, 5004, 0 }, "macro=2x8192x1,midi=1x512x1,warps=1,ksplit=1,splitk=16,unroll=2,join=cluster" },
		{ { 6, 2308, 0 }, "macro=8x4096x1,midi=1x1024x1,warps=8,ksplit=8,splitk=4,unroll=1,join=cluster" },
	};
	enum { SMALL = 20 << 10 };
	static const unsigned capabilities[] = { 90, 100, 120 };
	(void)state;
	for (size_t i = 0; i < 12 * sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = problem_of(op_at(i % 3), cases[i / 12].shape.m, cases[i / 12].shape.n);
		const int blocks = i / 3 % 2 + 1, lead = i / 6 % 2;
		const unsigned capability = capabilities[strstr(cases[i / 12].geometry, "splitk=16") ? i % 2 : i % 3];
		struct tcb_target target = gpu_target(capability, 2);
		char text[300];
		if (i % 3 == 0 && lead)
			continue;
		snprintf(text, sizeof text, "%s," PIECES "%s,blocks=%d,occ=%d", cases[i / 12].geometry,
			 i % 3 == 0 ? ""
			 : lead     ? ",lead=1"
				    : ",lead=0",
			 blocks, blocks);
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, capability, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, NULL);
		/* A ring that has room for little more than a row. */
		target.cuda.shared_optin_bytes = SMALL;
		gpu_check_run(&p, &target, &g, i, NULL);
	}
}

/* No slot is asked for again before what was read from it is there: of rows in pieces, and of rows that a warp has for
 * itself, kept in the slot or in registers. */
static void copies_come_after_loads(void **state)
{
	static const struct {
		struct tcb_shape shape;
		const char *geometry;
	} cases[] = {
		{ { 64, 100000, 0 },
		  "macro=64x131072x1,midi=1x16384x1,micro=1x4x1,unroll=4,warps=16,stages=1,splitk=8,ksplit=16,"
		  "xin=shared,join=cluster" },
		{ { 5, 1280, 0 },
		  "macro=8x2048x1,midi=1x2048x1,micro=1x4x1,unroll=3,warps=4,stages=1,splitk=1,ksplit=4,xin=shared,"
		  "join=none" },
		{ { 64, 512, 0 },
		  "macro=64x512x1,midi=4x512x1,micro=1x4x1,unroll=1,warps=4,stages=2,splitk=1,ksplit=1,xin=regs,"
		  "join=none" },
		{ { 64, 516, 0 },
		  "macro=64x1024x1,midi=4x1024x1,micro=1x4x1,unroll=2,warps=4,stages=3,splitk=1,ksplit=1,xin=shared,"
		  "join=none" },
	};
	enum { OPS_HERE = 3 };
	const struct tcb_target target = gpu_target(90, 0);
	(void)state;
	for (size_t i = 0; i < OPS_HERE * sizeof cases / sizeof *cases; i++) {
		const struct tcb_shape *s = &cases[i / OPS_HERE].shape;
		const struct tcb_problem p = problem_of(op_at(i % OPS_HERE), s->m, s->n);
		struct tcb_kernel kernel;
		char text[300];
		snprintf(text, sizeof text, "%s,isa=fma,vec=16,copy=bulk,stream=1,blocks=1,pdl=1,occ=1%s",
			 cases[i / OPS_HERE].geometry, i % OPS_HERE ? ",lead=0" : "");
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_emit(&p, &target, &g, &kernel);
		assert_int_equal(bulk_order_early(&kernel), 0);
		bulk_order_break(&kernel);
		assert_int_not_equal(bulk_order_early(&kernel), 0);
		tcb_kernel_fini(&kernel);
	}
}

/* Rows whose blocks have as many columns each, where whole passes would leave the last one none. */
static void even_slices_are_right(void **state)
{
	static const struct {
		struct tcb_shape shape;
		const char *geometry;
	} cases[] = {
		{ { 3, 2308, 0 }, "macro=4x4096x1,midi=1x512x1,micro=1x4x1,vec=16,warps=4,ksplit=4,splitk=8" },
		{ { 5, 2310, 0 }, "macro=8x4096x1,midi=2x512x1,micro=1x2x1,vec=8,warps=8,ksplit=4,splitk=8" },
		{ { 1, 4500, 0 }, "macro=1x8192x1,midi=1x512x1,micro=1x4x1,vec=16,warps=4,ksplit=4,splitk=16" },
	};
	static const char *const ways[] = { "copy=ldg,xin=regs,join=cluster",    "copy=ldg,xin=l2,join=launch",
					    "copy=bulk,xin=shared,join=cluster", "copy=async,xin=regs,join=cluster",
					    "copy=ldg,xin=regs,join=launch",     "copy=ldg,xin=l2,join=whole" };
	enum { WAYS = sizeof ways / sizeof *ways, OPS_HERE = 3 };
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < OPS_HERE * WAYS * sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const size_t which = i / OPS_HERE / WAYS;
		const char *way = ways[i / OPS_HERE % WAYS];
		const struct tcb_problem p =
			problem_of(op_at(i % OPS_HERE), cases[which].shape.m, cases[which].shape.n);
		char text[300];
		if (strstr(way, "bulk") && which == 1)
			continue;
		snprintf(text, sizeof text, "%s,%s%s,isa=fma,unroll=1,stages=1,stream=1,blocks=0,pdl=1,occ=1",
			 cases[which].geometry, way, i % OPS_HERE ? ",lead=0" : "");
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, NULL);
	}
}

/* The word add: rows of two arrays, their sums beside the results; vectors that rows begin at, and others. */
static void norms_of_sums_are_right(void **state)
{
	static const size_t columns[] = { 129, 514, 1283, 4097 };
	const size_t count = gpu_sample_size(48);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 22);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		struct tcb_shape shape = odd_shapes[i / 4 % ODD_SHAPES];
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		if (i % 4 > 1)
			shape = (struct tcb_shape){ 5, columns[i / 4 % 4], 0, { 0 } };
		shape.words.add = 1;
		const struct tcb_problem p = gpu_problem(op_at(1 + i % 2), TCB_CONTRACT_F32, shape);
		const struct tcb_geometry g = draw_vec(&p, &target, i % 4 > 1 ? 16 : 0, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
		gpu_check_default(&p, target.cuda.capability);
	}
	gpu_tally_print(&tally);
	const struct tcb_problem p =
		gpu_problem(op_at(1), TCB_CONTRACT_F32, (struct tcb_shape){ 512, 4096, 0, { .add = 1 } });
	const struct tcb_target target = gpu_target(90, 0);
	struct tcb_geometry g;
	tcb_op_standard(&p, &target, &g);
	g.knob[TCB_KNOB_COPY] = TCB_COPY_BULK;
	gpu_check_rule(&p, 90, &g, 1, "with the word add");
}

/* Rows of f16 and bf16 in, and out, with and without the word add, shifted or not. */
static void norms_of_halves_are_right(void **state)
{
	static const size_t columns[] = { 129, 514, 1283, 4097, 260, 7 };
	const size_t count = gpu_sample_size(96);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 23);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		struct tcb_shape shape = { 1 + i % 6, columns[i / 5 % 6], 0, { 0 } };
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		shape.words.x_type = (uint32_t)(1 + i / 2 % 3);
		shape.words.y_type = (uint16_t)(1 + i / 6 % 3);
		shape.words.add = i / 4 % 2;
		const struct tcb_problem p = gpu_problem(op_at(1 + i % 2), TCB_CONTRACT_F32, shape);
		const struct tcb_geometry g = draw_vec(&p, &target, i % 4 > 1 && shape.n > 16 ? 16 : 0, &rng);
		gpu_check_emitted(&p, &target, &g);
		gpu_check_run(&p, &target, &g, i, &tally);
		gpu_check_default(&p, target.cuda.capability);
	}
	gpu_tally_print(&tally);
}

/* What is put into some of the elements. */
enum special {
	ONE_NAN,
	ONE_INF,
	ONE_MINUS_INF,
	ALL_MINUS_INF,
	ALL_MINUS_ZERO,
	BOTH_ZEROS,
	DENORMALS,
	HUGE_ONES,
	MAX_ONES,
	SPECIALS
};

static void make_special(struct gpu_bench *bench, enum special what, struct tcb_rng *rng)
{
	const size_t count = bench->problem.shape.m * bench->problem.shape.n;
	float *x = bench->data[0];
	const size_t at = tcb_rng_below(rng, count);
	for (size_t i = 0; i < count; i++) {
		const float sign = i % 3 ? 1 : -1;
		if (what == ALL_MINUS_INF || what == ALL_MINUS_ZERO)
			x[i] = what == ALL_MINUS_INF ? -INFINITY : -0.0f;
		else if (what == BOTH_ZEROS)
			x[i] = i % 2 ? 0.0f : -0.0f;
		else if (what == DENORMALS)
			x[i] *= 1e-39f;
		else if (what == HUGE_ONES)
			x[i] *= 1e37f;
		else if (what == MAX_ONES)
			x[i] = sign * FLT_MAX;
	}
	if (what == ONE_NAN)
		x[at] = (float)NAN;
	if (what == ONE_INF || what == ONE_MINUS_INF)
		x[at] = what == ONE_INF ? INFINITY : -INFINITY;
	snprintf(bench->what, sizeof bench->what, "special kind %d", (int)what);
	gpu_bench_refer(bench);
}

/* Rows and matrices as the references take them. */
static void extreme_values(void **state)
{
	static const struct tcb_shape shapes[] = { { 3, 1300, 0 }, { 1, 517, 0 }, { 2, 5, 0 } };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 77);
	for (size_t o = 0; o < OPS; o++)
		for (int what = 0; what < SPECIALS; what++)
			for (size_t i = 0; i < 3; i++) {
				const struct tcb_problem p = problem_of(op_at(o), shapes[i].m, shapes[i].n);
				const struct tcb_target target =
					gpu_target(gpu_capabilities[(i + o + (size_t)what) % GPU_CAPABILITIES], 2);
				struct gpu_bench bench;
				gpu_bench_open(&bench, &p, i);
				bench.output_align = 16;
				make_special(&bench, (enum special)what, &rng);
				const struct tcb_geometry g = draw(&p, &target, &rng);
				gpu_bench_check(&bench, &target, &g, i, NULL);
				gpu_bench_close(&bench);
			}
}

/* Bits that no distance tells apart: of zeros, and of NaN. */
static void reductions_have_the_right_bits(void **state)
{
	static const struct {
		const char *op;
		enum special what;
		uint32_t bits;
	} cases[] = {
		{ "reduce2d_sum", ALL_MINUS_ZERO, 0x80000000 }, { "reduce2d_sum", BOTH_ZEROS, 0 },
		{ "reduce2d_max", ALL_MINUS_ZERO, 0x80000000 }, { "reduce2d_max", BOTH_ZEROS, 0 },
		{ "reduce2d_min", ALL_MINUS_ZERO, 0x80000000 }, { "reduce2d_min", BOTH_ZEROS, 0x80000000 },
		{ "reduce2d_max", ONE_NAN, 0x7fc00000 },        { "reduce2d_min", ONE_NAN, 0x7fc00000 },
	};
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < 10 * sizeof cases / sizeof *cases; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_problem p = problem_of(tcb_op_find(cases[i / 10].op), 1 + i % 3, i % 2 ? 1300 : 77);
		const struct tcb_target target = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 2);
		struct gpu_bench bench;
		uint32_t bits;
		gpu_bench_open(&bench, &p, i);
		make_special(&bench, cases[i / 10].what, &rng);
		const struct tcb_geometry g = draw(&p, &target, &rng);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		memcpy(&bits, &bench.first, sizeof bits);
		if (bits != cases[i / 10].bits)
			fail_msg("%s of %s, sm_%u: 0x%08x", p.op_name, bench.what, target.cuda.capability, bits);
		gpu_bench_close(&bench);
	}
}

/* --- mutants --- */

/* Of 5 x 1284. */
#define ROW "macro=8x2048x1,isa=fma,vec=16,micro=1x4x1,stream=0,pdl=0,occ=1,"
#define BLOCK ROW "midi=1x2048x1,warps=4,ksplit=4,unroll=1,copy=ldg,xin=regs,stages=1,blocks=0,splitk=1,join=none"
#define RING ROW "midi=1x2048x1,warps=4,ksplit=4,unroll=1,copy=bulk,xin=regs,stages=2,blocks=1,splitk=1,join=none"
#define KEPT ROW "midi=1x2048x1,warps=4,ksplit=4,unroll=1,copy=bulk,xin=shared,stages=2,blocks=1,splitk=1,join=none"
#define CLUSTER ROW "midi=1x1024x1,warps=2,ksplit=2,unroll=1,copy=ldg,xin=regs,stages=1,blocks=0,splitk=2,join=cluster"
#define SHARES \
	ROW "midi=1x1024x1,warps=2,ksplit=2,unroll=1,copy=bulk,xin=shared,stages=1,blocks=1,splitk=2,join=cluster"
#define LAUNCHES ROW "midi=1x1024x1,warps=2,ksplit=2,unroll=1,copy=ldg,xin=l2,stages=1,blocks=0,splitk=2,join=launch"
#define MATRIX "macro=8x2048x1,isa=fma,vec=16,micro=1x4x1,pdl=0,occ=1,midi=1x512x1,warps=2,unroll=2,stages=1,blocks=0,"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what, *op, *geometry;
		struct gpu_mutation mutation;
		size_t columns; /* 0: 1284 */
	} cases[] = {
		{ "nothing, shifted", "softmax", BLOCK, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 }, 1283 },
		{ "edge past the row's end, stored", "softmax", BLOCK, { UNGUARD, TCB_PTX_OP_ST, 4 }, 1283 },
		{ "edge past the row's end, loaded", "softmax", BLOCK, { UNGUARD, TCB_PTX_OP_LD, 6 }, 1283 },
		{ "no edge", "softmax", BLOCK, { REMOVE, TCB_PTX_OP_ST, 4 }, 1283 },
		{ "an edge that is read elsewhere", "softmax", BLOCK, { MOVE, TCB_PTX_OP_LD, 6 }, 1283 },
		{ "nothing, shifted weights", "rmsnorm", BLOCK ",lead=1", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 }, 1283 },
		{ "weights that are not shifted", "rmsnorm", BLOCK ",lead=1", { REMOVE, TCB_PTX_OP_SELP, 9 }, 1283 },
		{ "nothing", "softmax", BLOCK, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, ring", "softmax", RING, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, kept ring", "softmax", KEPT, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, cluster", "softmax", CLUSTER, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, shares", "softmax", SHARES, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no wait for a piece", "softmax", SHARES, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "no wait for the last piece", "softmax", SHARES, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 1 } },
		{ "a piece's parity that stays", "softmax", SHARES, { REMOVE, TCB_PTX_OP_XOR, 2 } },
		{ "one set of parts of a cluster", "softmax", SHARES, { REMOVE, TCB_PTX_OP_XOR, 3 } },
		{ "no barrier before a piece's slot is filled",
		  "softmax",
		  SHARES,
		  { REMOVE, TCB_PTX_OP_BAR_WARP_SYNC, 1 } },
		{ "results past the share's end", "softmax", SHARES, { UNGUARD, TCB_PTX_OP_ST, 2 } },
		{ "no wait for a cluster's parts", "softmax", SHARES, { REMOVE, TCB_PTX_OP_BARRIER_CLUSTER_WAIT, 1 } },
		{ "nothing, launches", "softmax", LAUNCHES, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier before parts are joined", "softmax", BLOCK, { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "results past the row's end", "softmax", BLOCK, { UNGUARD, TCB_PTX_OP_ST, 3 } },
		{ "values past the row's end", "softmax", BLOCK, { UNGUARD, TCB_PTX_OP_LD, 5 } },
		{ "values from the wrong place", "softmax", BLOCK, { MOVE, TCB_PTX_OP_LD, 3 } },
		{ "a wrong exchange of lanes", "softmax", BLOCK, { CONSTANT, TCB_PTX_OP_SHFL, 9 } },
		{ "no correction of the exponential", "softmax", BLOCK, { REMOVE, TCB_PTX_OP_FMA, 2 } },
		{ "no wait for the copy", "softmax", RING, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "too few bytes waited for", "softmax", RING, { CONSTANT, TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX, 0 } },
		{ "a parity that stays", "softmax", RING, { REMOVE, TCB_PTX_OP_XOR, 1 } },
		{ "one set of parts", "softmax", RING, { REMOVE, TCB_PTX_OP_XOR, 0 } },
		{ "no barrier before a slot is filled again", "softmax", KEPT, { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "no wait for the cluster", "softmax", CLUSTER, { REMOVE, TCB_PTX_OP_BARRIER_CLUSTER_WAIT, 1 } },
		{ "parts from the wrong place", "softmax", LAUNCHES, { MOVE, TCB_PTX_OP_LD, 0 } },
		{ "nothing, last", "reduce2d_sum", MATRIX "form=lanes,join=last", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, atomic", "reduce2d_max", MATRIX "join=atomic", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier behind the warps",
		  "reduce2d_sum",
		  MATRIX "form=lanes,join=last",
		  { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "a counter that goes on",
		  "reduce2d_sum",
		  MATRIX "form=pairwise,join=last",
		  { REMOVE, TCB_PTX_OP_ATOM, 0 } },
		{ "elements past the end",
		  "reduce2d_sum",
		  MATRIX "form=kahan,join=launch",
		  { MOVE, TCB_PTX_OP_LD, 0 } },
		{ "a total that stays", "reduce2d_max", MATRIX "join=atomic", { REMOVE, TCB_PTX_OP_RED, 0 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p =
			problem_of(tcb_op_find(cases[i].op), 5, cases[i].columns ? cases[i].columns : 1284);
		gpu_check_mutant(&p, &target, cases[i].geometry, cases[i].what, &cases[i].mutation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(spaces_are_of_a_size_to_search),
		cmocka_unit_test(nothing_is_found_in_the_text),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(shifted_rows_are_right),
		cmocka_unit_test(short_shifted_rows_are_right),
		cmocka_unit_test(shifted_rows_ahead_are_right),
		cmocka_unit_test(rows_in_pieces_are_right),
		cmocka_unit_test(copies_come_after_loads),
		cmocka_unit_test(even_slices_are_right),
		cmocka_unit_test(norms_of_sums_are_right),
		cmocka_unit_test(norms_of_halves_are_right),
		cmocka_unit_test(extreme_values),
		cmocka_unit_test(reductions_have_the_right_bits),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
