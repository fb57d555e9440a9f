/* SPDX-License-Identifier: MIT
 *
 * attention_prefill's GPU kernels in the emulator: exponentials as polynomials, by
 * themselves at what they are asked for, and in kernels; blocks that stay, their tiles
 * by number or drawn; with every mask, pages, and lengths 0 and 1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_case.h"
#include "base/gpu_table.h"
#include "instrumented.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/constraint.h"
#include "kernels/emulation.h"
#include "kernels/timing.h"

enum { THREADS = 1024 };

static const char *const op_names[] = { "attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80" };
enum { OPS = sizeof(op_names) / sizeof(*op_names) };

/* --- the exponential --- */

/* y[i] = 2^x[i] of THREADS floats. */
static void run_exp(float *x, float *y)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	const struct tcb_ptx_target target = { 80, 0 };
	struct tcb_ptx_launch launch = { .grid = { 1, 1, 1 }, .block = { THREADS, 1, 1 } };
	struct tcb_ptx_emulation counts;
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_ptx_build b;
	struct tcb_error err;
	uint64_t params[2];
	assert_int_equal(tcb_ptx_build_init(&b, &target, &err), TCB_OK);
	struct tcb_ptx_function *function = tcb_ptx_kernel_begin(&b, "exponentials", NULL);
	const kit_op from = tcb_ptx_param_pointer(&b, "x", 16), to = tcb_ptx_param_pointer(&b, "y", 16);
	const kit_op tid = tcb_ptx_special(&b, "tid.x");
	kit_op value = tcb_kit_get(&b, TCB_KIT_GLOBAL, "f32", tcb_kit_element(&b, from, tid, 4));
	value = prefill_write_exp(&b, value);
	tcb_kit_put(&b, TCB_KIT_GLOBAL, "f32", tcb_kit_element(&b, to, tid, 4), value);
	tcb_ptx_kernel_end(&b);
	if (tcb_ptx_build_finish(&b, &module, &err) != TCB_OK ||
	    tcb_ptx_program_create(function, &program, &err) != TCB_OK ||
	    tcb_ptx_memory_create(&memory, &err) != TCB_OK ||
	    tcb_ptx_memory_add(memory, "x", x, THREADS * sizeof(*x), 128, TCB_PTX_READ_ONLY, &params[0], &err) !=
		    TCB_OK ||
	    tcb_ptx_memory_add(memory, "y", y, THREADS * sizeof(*y), 128, TCB_PTX_MAY_WRITE, &params[1], &err) !=
		    TCB_OK)
		fail_msg("%s", err.message);
	launch.params = params;
	launch.param_bytes = sizeof(params);
	if (tcb_ptx_emulate(program, &launch, memory, &sink, &counts, &err) != TCB_OK || counts.findings)
		fail_msg("%s", err.message);
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
	tcb_ptx_module_destroy(module);
}

/* Against exp2 in double: from -126 up within what is said of it and nearly as far off somewhere, below 0. */
static void polynomials_are_within_their_bound(void **state)
{
	static const float special[] = { 0, -0.0f, 1, -1, -126, -125.99999f, 1e-10f, -1e-10f, -0x1p-149f, 0.99999994f };
	static const float nothing[] = { -126.00001f, -126.5f, -127, -127.5f, -150, -1e30f, -INFINITY };
	enum { SPECIAL = sizeof(special) / sizeof(*special), NOTHING = sizeof(nothing) / sizeof(*nothing) };
	float x[THREADS], y[THREADS];
	double worst = 0;
	(void)state;
	for (size_t i = 0; i < THREADS; i++) {
		const double at = (double)i / (THREADS - 1);
		x[i] = (float)(i % 2 ? 1 - at * 2.5 : 0.5 - at * 126); /* densely near 0, and all there is */
	}
	memcpy(x, special, sizeof(special));
	memcpy(x + SPECIAL, nothing, sizeof(nothing));
	x[SPECIAL + NOTHING] = NAN;
	run_exp(x, y);
	for (size_t i = 0; i < THREADS; i++) {
		const double want = exp2((double)x[i]), off = fabs((double)y[i] - want) / want;
		if (i == SPECIAL + NOTHING) {
			assert_true(isnan(y[i]));
		} else if (i >= SPECIAL && i < SPECIAL + NOTHING) {
			assert_true(y[i] == 0);
		} else {
			if (!(off <= PREFILL_EXP_OFF))
				fail_msg("2^%.9g is %.9g, off by %g", (double)x[i], (double)y[i], off);
			worst = off > worst ? off : worst;
		}
	}
	assert_true(y[0] == 1 && y[1] == 1);
	assert_true(worst > 0.9 * PREFILL_EXP_OFF);
}

/* --- kernels --- */

static void emulate(const struct tcb_op *op, unsigned capability, unsigned sms, const char *shape_text,
		    const char *text)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	struct tcb_kernel_emulation emulation;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_kernel kernel;
	struct tcb_shape shape;
	struct tcb_error err;
	struct tcb_gpu gpu;
	assert_int_equal(tcb_shape_parse(shape_text, &shape, &err), TCB_OK);
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F16, &shape, &problem, &err), TCB_OK);
	if (op->fill == tcb_op_find(op->name)->fill)
		attention_stride(&problem, strlen(text));
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	gpu.device.target.cuda.sm_count = sms;
	if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK ||
	    tcb_constraint_require(&problem, &gpu.device.target, &geometry, &err) != TCB_OK ||
	    tcb_op_side(op, &gpu.device.target)->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) !=
		    TCB_OK ||
	    tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s %s %s: %s", op->name, shape_text, text, err.message);
	if (emulation.findings || emulation.calls_differ || !(emulation.error_ratio <= 1))
		fail_msg("%s %s %s: %g of what is allowed, %s", op->name, shape_text, text, emulation.error_ratio,
			 emulation.calls_differ ? "and not the same the second time" : "the same each time");
	/* What the simulation would not follow has no time. */
	assert_int_equal(kernel.not_simulated != NULL, geometry.knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC);
	if (kernel.not_simulated)
		assert_int_equal(tcb_kernel_time(op, &kernel, NULL, 0, NULL, &err), TCB_E_UNSUPPORTED);
	tcb_kernel_fini(&kernel);
}

struct row {
	unsigned capability, sms; /* fewer than there are, so that blocks have several tiles */
	const char *shape, *tiles, *knobs;
};

/* Every row with KV of each type; with prep=warps of blocks alone. */
static void check_rows(const struct row *rows, size_t count, const char *more)
{
	for (size_t n = 0; n < OPS * count; n++) {
		const struct row *row = &rows[n / OPS];
		const struct tcb_op *op = tcb_op_find(op_names[n % OPS]);
		const int is_blocks = tcb_kv_has_blocks(((const struct attention_op *)op->member)->kv);
		const int has_prep = strstr(row->knobs, "prep=") != NULL;
		char text[300];
		if (test_leaves_out(n) || (has_prep && !is_blocks))
			continue;
		snprintf(text, sizeof(text), "%s,%s%s%s", row->tiles, row->knobs, more,
			 is_blocks && !has_prep ? ",prep=launch" : "");
		emulate(op, row->capability, row->sms, row->shape, text);
	}
}

#define TILES(macro, midi, micro) "macro=" macro ",midi=" midi ",micro=" micro

/* Lengths of 0 and 1 are among those of four ragged sequences. */
static const struct row staying[] = {
	{ 80, 3, "40x70x64,h4/2,causal,b4,ragged", TILES("64x128x64", "32x32x64", "16x32x64"),
	  "isa=mma,stages=2,blocks=1,pdl=0,occ=1,heads=1,turns=0" },
	{ 86, 2, "20x75x96,h3/1,b4,p5,ragged", TILES("32x128x96", "16x16x96", "16x16x96"),
	  "isa=mma,stages=3,blocks=2,pdl=0,occ=2,heads=1,turns=0" },
	{ 120, 1, "19x60x256,h4/2,w20,c9,b2,ragged", TILES("32x64x256", "16x16x256", "8x16x256"),
	  "isa=mma,stages=4,blocks=1,pdl=1,occ=1,heads=2,turns=0" },
	{ 90, 2, "150x150x64,h2/1,causal,b4,ragged", TILES("256x192x64", "128x48x64", "64x48x64"),
	  "isa=wgmma,stages=2,blocks=1,pdl=0,occ=1,heads=1,turns=1" },
	{ 90, 3, "40x140x128,h2/1,p16,b4,ragged,c7", TILES("64x256x128", "64x64x128", "64x64x128"),
	  "isa=wgmma,stages=2,blocks=1,pdl=1,occ=1,heads=1,turns=0" },
	{ 90, 2, "70x150x128,h4/2,causal,b4,w60,ragged", TILES("128x256x128", "128x64x128", "64x64x128"),
	  "isa=wgmma,stages=2,prep=warps,blocks=1,pdl=0,occ=1,heads=1,turns=1" },
};

static void blocks_that_stay_have_all_tiles(void **state)
{
	(void)state;
	check_rows(staying, sizeof(staying) / sizeof(*staying), "");
}

static void tiles_that_are_drawn_are_all_tiles(void **state)
{
	(void)state;
	check_rows(staying, sizeof(staying) / sizeof(*staying), ",sched=dynamic");
}

static void polynomials_in_kernels(void **state)
{
	static const struct row rows[] = {
		{ 80, 2, "40x70x64,h4/2,causal,b4,ragged", TILES("64x128x64", "32x32x64", "16x32x64"),
		  "isa=mma,stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=0" },
		{ 90, 2, "100x130x64,h2/1,w50,c9", TILES("128x192x64", "128x48x64", "64x48x64"),
		  "isa=wgmma,stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=1" },
		{ 90, 2, "70x90x128,h2/2,causal,b4,ragged", TILES("128x128x128", "128x64x128", "64x64x128"),
		  "isa=wgmma,stages=2,prep=warps,blocks=1,sched=dynamic,pdl=0,occ=1,heads=1,turns=1" },
	};
	static const char *const counts[] = { ",exp=1", ",exp=3", ",exp=8" };
	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		check_rows(rows, sizeof(rows) / sizeof(*rows), counts[i]);
}

/* --- data with -inf and NaN, scores far above what exp has --- */

/* Of sequence 0 K of token 3 has a NaN in KV head 1, V of token 2 in KV head 0.  Of sequence 1 K is -inf in value 0 at
 * every third token where it may be, and q above 0 there; in query head 1 scores are far apart. */
static void fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = (size_t)s->words.kv * s->k, queries = (size_t)s->words.query * s->k;
	const int is_blocks = attention_has_blocks(problem);
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	attention_put(problem, operand, ATTENTION_K, 3 * row + s->k + 3, NAN);
	attention_put(problem, operand, ATTENTION_V, 2 * row + 3, NAN);
	for (size_t t = 0; t < s->n && !is_blocks; t += 3)
		attention_put(problem, operand, ATTENTION_K, (s->n + t) * row, -INFINITY);
	for (size_t i = 0; i < s->m; i++) {
		attention_put(problem, operand, ATTENTION_Q, (s->m + i) * queries, 1);
		for (size_t d = 0; d < s->k; d++)
			attention_put(problem, operand, ATTENTION_Q, (s->m + i) * queries + s->k + d, d ? 300 : 1);
	}
}

static void data_that_are_not_finite(void **state)
{
	static const unsigned capabilities[] = { 80, 90 };
	static const char *const shape_text = "33x70x64,h4/2,b2,causal";
	(void)state;
	for (size_t i = 0; i < (size_t)OPS * 2 * 3; i++) {
		struct tcb_op op = *tcb_op_find(op_names[i % OPS]);
		const unsigned capability = capabilities[i / OPS % 2];
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_error err;
		struct tcb_gpu gpu;
		char text[TCB_GEOMETRY_TEXT_MAX];
		op.fill = fill_odd;
		assert_int_equal(tcb_shape_parse(shape_text, &shape, &err), TCB_OK);
		assert_int_equal(tcb_problem_init(&op, TCB_CONTRACT_F16, &shape, &problem, &err), TCB_OK);
		assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		if (i / OPS / 2)
			geometry.knob[TCB_KNOB_EXP] = i / OPS / 2 == 1 ? 2 : 8;
		tcb_geometry_print(&geometry, text);
		emulate(&op, capability, gpu.device.target.cuda.sm_count, shape_text, text);
	}
}

/* --- rules --- */

static void knobs_are_refused(void **state)
{
	static const struct {
		const char *op, *shape, *geometry, *why;
	} rows[] = {
#define PREFILL "attention_prefill_f16", "512x512x128,h32/8,causal"
#define WGMMA TILES("512x512x128", "128x128x128", "64x128x128") ",isa=wgmma,stages=2,pdl=0,occ=1,heads=1,turns=1"
		{ PREFILL, WGMMA ",blocks=0,exp=8", NULL },
		{ PREFILL, WGMMA ",blocks=0,exp=9", "exp must be 1 to 8" },
		{ PREFILL, WGMMA ",blocks=0,exp=0", "exp must be 1 to 8" },
		{ PREFILL, WGMMA ",blocks=0,sched=dynamic", "sched must be dynamic, with blocks that stay" },
		{ PREFILL, WGMMA ",blocks=1,sched=streamk", "sched must be dynamic, with blocks that stay" },
#define DECODE "attention_decode_f16", "1x4096x128,h32/8,b4,ragged"
#define MMA \
	TILES("1x4096x128", "1x64x128", "1x16x128") ",isa=mma,warps=4,vec=16,stages=1,copy=ldg,pdl=0,heads=4,splitk=1"
		{ DECODE, MMA ",cluster=1,join=last,sched=streamk,blocks=2,occ=2", NULL },
		{ DECODE, MMA ",cluster=1,join=last,sched=streamk,occ=2", "with blocks=1 to 4" },
		{ DECODE, MMA ",cluster=1,join=none,blocks=2,occ=2", "blocks needs sched=streamk" },
		{ DECODE, MMA ",cluster=1,join=none,sched=streamk,blocks=2,occ=2",
		  "splitk=1, cluster=1 and join=last" },
		{ DECODE, MMA ",cluster=1,join=last,sched=streamk,blocks=2,occ=1", "occ must be as many as blocks" },
		{ DECODE, MMA ",cluster=1,join=last,sched=dynamic,blocks=2,occ=2", "sched must be streamk" },
		{ DECODE, MMA ",cluster=1,join=none,occ=2,exp=2", "no other knob" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tcb_shape shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err = { .message = "" };
		assert_int_equal(tcb_shape_parse(rows[i].shape, &shape, &err), TCB_OK);
		assert_int_equal(tcb_problem_init(tcb_op_find(rows[i].op), TCB_CONTRACT_F16, &shape, &problem, &err),
				 TCB_OK);
		assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
		if (tcb_geometry_parse(rows[i].geometry, &geometry, &err) != TCB_OK)
			fail_msg("%s: %s", rows[i].geometry, err.message);
		const int is_legal = tcb_constraint_require(&problem, &gpu.device.target, &geometry, &err) == TCB_OK;
		if (is_legal != (rows[i].why == NULL) || (rows[i].why && !strstr(err.message, rows[i].why)))
			fail_msg("%s: %s", rows[i].geometry, is_legal ? "legal" : err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polynomials_are_within_their_bound), cmocka_unit_test(blocks_that_stay_have_all_tiles),
		cmocka_unit_test(tiles_that_are_drawn_are_all_tiles), cmocka_unit_test(polynomials_in_kernels),
		cmocka_unit_test(data_that_are_not_finite),           cmocka_unit_test(knobs_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
