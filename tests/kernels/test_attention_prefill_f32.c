/* SPDX-License-Identifier: MIT
 *
 * attention_prefill's GPU kernels of contract f32 in the emulator: each type of K and V
 * by each kind of tile, at shapes with everything that a shape may have; how exact they
 * are, beyond what the bound asks for; default geometries; and data with infinities and
 * NaN.
 */
#include <math.h>
#include <string.h>

#include "attention_case.h"
#include "base/gpu_table.h"
#include "base/sizes.h"
#include "instrumented.h"
#include "kernels/constraint.h"
#include "kernels/emulation.h"

enum { OPS = 3 };

static const char *const op_names[OPS] = { "attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80" };

/* What the largest error is of what is allowed; IS_STRICT: of what the reference allows alone. */
static double emulate(const struct tcb_op *op, const struct tcb_problem *problem, unsigned capability,
		      const struct tcb_geometry *geometry, int is_strict)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	struct tcb_kernel_emulation emulation;
	struct tcb_kernel kernel;
	struct tcb_error err;
	struct tcb_gpu gpu;
	char text[TCB_GEOMETRY_TEXT_MAX], shape[TCB_SHAPE_TEXT_MAX];
	tcb_geometry_print(geometry, text);
	tcb_shape_print(&problem->shape, shape);
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	if (geometry->knob[TCB_KNOB_BLOCKS] > 0)
		gpu.device.target.cuda.sm_count = 2; /* more tiles than blocks */
	if (tcb_kernel_emit(problem, &gpu.device.target, geometry, &kernel, &err) != TCB_OK)
		fail_msg("%s %s sm_%u %s: %s", op->name, shape, capability, text, err.message);
	if (is_strict)
		kernel.chain = 0;
	if (tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s %s sm_%u %s: %s", op->name, shape, capability, text, err.message);
	if (emulation.findings || !(emulation.error_ratio <= 1))
		fail_msg("%s %s sm_%u %s: output %zu is off by %g of what is allowed", op->name, shape, capability,
			 text, emulation.first_bad, emulation.error_ratio);
	tcb_kernel_fini(&kernel);
	return emulation.error_ratio;
}

/* --- tiles --- */

/* rows: of a warp, 16 or 32; blocks: that stay, and draw their tiles. */
static const struct {
	unsigned rows, warps, kv, stages, heads, blocks;
} tiles[] = { { 16, 1, 16, 2, 1, 0 }, { 16, 2, 48, 3, 2, 0 }, { 32, 1, 16, 2, 4, 0 },
	      { 32, 2, 32, 2, 1, 0 }, { 16, 8, 64, 2, 1, 0 }, { 16, 1, 32, 2, 1, 1 } };
enum { TILES = sizeof(tiles) / sizeof(*tiles) };

static const char *const shapes[] = {
	"17x60x32,h4/1,causal",
	"5x77x64,h8/2,b3,ragged",
	"33x40x96,h4/4,p5,b2,causal,ragged",
	"9x70x128,h4/1,w20,causal,c5",
	"2x99x160,h2/2,p16,w33,b2,ragged,c30",
	"20x50x192,h4/1,causal",
	"3x33x224,h2/1,w9",
	"18x65x256,h4/1,b2,p3,causal,ragged",
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* Each op meets each tile at every other shape. */
static void every_tile_is_right(void **state)
{
	static const unsigned capabilities[] = { 80, 90, 120, 86 };
	unsigned legal[OPS][TILES] = { 0 };
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * TILES * SHAPES; i++) {
		const size_t at_op = i % OPS, at = i / OPS % TILES;
		const struct tcb_op *op = tcb_op_find(op_names[at_op]);
		const unsigned capability = capabilities[(i + i / OPS) % 4];
		const size_t rows = tiles[at].rows * tiles[at].warps;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err;
		if ((at_op + at + i / OPS / TILES) % 2)
			continue;
		attention_strided(op, TCB_CONTRACT_F32, shapes[i / OPS / TILES], i / OPS, &problem);
		const size_t k = problem.shape.k, kv = tiles[at].kv, m = rows / tiles[at].heads;
		assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		geometry.tile[TCB_MICRO] = (struct tcb_tile){ tiles[at].rows / tiles[at].heads, kv, k };
		geometry.tile[TCB_MIDI] = (struct tcb_tile){ m, kv, k };
		geometry.tile[TCB_MACRO] =
			(struct tcb_tile){ m * tcb_power_of_two_up(tcb_div_up(problem.shape.m, m)),
					   kv * tcb_power_of_two_up(tcb_div_up(problem.shape.n, kv)), k };
		geometry.knob[TCB_KNOB_HEADS] = (int32_t)tiles[at].heads;
		geometry.knob[TCB_KNOB_STAGES] = (int32_t)tiles[at].stages;
		geometry.knob[TCB_KNOB_BLOCKS] = (int32_t)tiles[at].blocks;
		if (tiles[at].blocks)
			geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
		if (tcb_constraint_require(&problem, &gpu.device.target, &geometry, NULL) != TCB_OK)
			continue; /* fewer query heads for each KV head, too little shared memory */
		legal[at_op][at]++;
		if (!test_leaves_out(i / 2))
			emulate(op, &problem, capability, &geometry, 0);
	}
	for (size_t i = 0; i < (size_t)OPS * TILES; i++)
		assert_true(legal[i / TILES][i % TILES] > 0);
}

/* --- how exact --- */

static double exact; /* what strict_reference allows, of the sizes of a result's terms */

static void strict_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	attention_reference(problem, operand, out);
	problem->op->operands(problem, all);
	for (size_t i = 0; i < all[ATTENTION_OUT].rows * all[ATTENTION_OUT].cols; i++)
		out->extra[i] = exact * out->magnitude[i] + 0x1p-126;
}

/* The bound leaves room for what tensor cores cut.  Here nothing is cut, and without any term of q or of the weights,
 * the third of bf16 among them, results are farther off than what these shapes allow. */
static void results_are_exact(void **state)
{
	static const struct {
		const char *shape;
		double exact;
	} rows[] = { { "9x50x64,h2/1,causal", 0x1p-20 },
		     { "4x40x128,h3/1,c20", 0x1p-19 },
		     { "5x30x256,h3/3,w9,b2", 0x1.8p-19 } };
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * 3; i++) {
		struct tcb_op op = *tcb_op_find(op_names[i % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		op.reference = strict_reference;
		exact = rows[i / OPS].exact;
		attention_problem(&op, TCB_CONTRACT_F32, rows[i / OPS].shape, &problem);
		assert_int_equal(tcb_gpu_table(89, &gpu, NULL), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		const double ratio = emulate(&op, &problem, 89, &geometry, 1);
		print_message("%s %s: 2^%.1f of the sizes of its terms\n", op.name, rows[i / OPS].shape,
			      log2(ratio * exact));
		assert_true(ratio > 0x1p-6); /* nothing is as exact as that */
	}
}

/* --- defaults --- */

static void defaults_are_legal(void **state)
{
	static const unsigned capabilities[] = { 80, 86, 89, 90, 100, 120 };
	(void)state;
	for (unsigned i = 0; i < OPS * 6 * 8 * 2 * 2; i++) {
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		const unsigned capability = capabilities[i / OPS % 6], k = ATTENTION_BLOCK * (1 + i / OPS / 6 % 8);
		struct tcb_shape shape = { i / OPS / 48 % 2 ? 3 : 2048, i / OPS / 96 ? 7 : 4096, k };
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		char why[TCB_WHY_MAX];
		shape.words = (struct tcb_words){ .query = 21, .kv = 3, .sequences = 2 };
		assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &shape, &problem, NULL), TCB_OK);
		assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		if (tcb_constraint_violated(op, &problem, &gpu.device.target, &geometry, 0, why))
			fail_msg("%s, heads of %u, on sm_%u: %s", op->name, k, capability, why);
	}
}

/* --- data with infinities and NaN --- */

/*
 * Of sequence 0: q of head 0 is infinite, and its result none; that of head 1 as small as can be; of head 2 has
 * values 2^110 apart.  Of KV head 1 K of token 2 is -inf times any q, with values of q that are exact in one term and
 * such that are not.  Of sequence 1 K of token 1 has a NaN in KV head 1, V of token 2 in KV head 0.
 */
static void fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = (size_t)s->words.kv * s->k, group = attention_group(s);
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t d = 0; d < s->k; d++) {
		if (d % 16 == 3)
			attention_put(problem, operand, ATTENTION_Q, d, INFINITY);
		attention_put(problem, operand, ATTENTION_Q, s->k + d, 0x1p-140f);
		attention_put(problem, operand, ATTENTION_Q, 2 * s->k + d, d % 2 ? 0x1p90f : 0x1p-20f);
	}
	for (size_t i = 0; i < s->m * group; i++)
		for (size_t d = 0; d < ATTENTION_BLOCK; d++)
			attention_put(problem, operand, ATTENTION_Q,
				      ((i / group) * s->words.query + group + i % group) * s->k + d,
				      i % 2 ? 1 : 0x1.234566p0f);
	attention_put(problem, operand, ATTENTION_K, 2 * row + s->k, -INFINITY);
	attention_put(problem, operand, ATTENTION_K, (s->n + 1) * row + s->k + 3, NAN);
	attention_put(problem, operand, ATTENTION_V, (s->n + 2) * row + 3, NAN);
}

static void data_that_are_not_finite(void **state)
{
	static const char *const odd[] = { "3x70x64,h8/2,b3", "20x33x96,h6/2,b2", "2x40x256,h6/2,b2,c9" };
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * 3; i++) {
		struct tcb_op op = *tcb_op_find(op_names[i % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		op.fill = fill_odd;
		attention_problem(&op, TCB_CONTRACT_F32, odd[i / OPS], &problem);
		assert_int_equal(tcb_gpu_table(90, &gpu, NULL), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		emulate(&op, &problem, 90, &geometry, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tile_is_right),
		cmocka_unit_test(results_are_exact),
		cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(data_that_are_not_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
