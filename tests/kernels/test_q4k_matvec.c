/* SPDX-License-Identifier: MIT
 *
 * The op q4k_matvec beyond what test_variants.c asks of every op: each variant
 * with every way of walking the problem (k-blocks, schedules, shares, prefetch
 * across the end of the rows) at tails shorter than the micro tile, on guarded
 * buffers; what NaN and infinity do; what shapes and geometries are refused and
 * with which words; the size of the space and the legality of the default.
 */
#include "kernels/quant_matvec/quant_matvec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/space.h"

enum { WEIGHTS, X, Y, OPERANDS };

static const struct tcb_op *const op = &tcb_op_q4k_matvec;
static struct tcb_target host;
static struct tcb_pool *pool;

static void alloc(size_t bytes, struct tcb_buffer *out)
{
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, NULL), TCB_OK);
}

/* A problem with its data and reference. */
struct subject {
	struct tcb_problem problem;
	struct tcb_buffer buffer[OPERANDS];
	void *data[OPERANDS];
	size_t outputs;
	struct tcb_reference reference;
};

static void subject_init(struct subject *s, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	assert_int_equal(tcb_problem_init(op, contract, &shape, &s->problem, NULL), TCB_OK);
	assert_int_equal(op->operands(&s->problem, operands), OPERANDS);
	for (int i = 0; i < OPERANDS; i++) {
		alloc(operands[i].bytes, &s->buffer[i]);
		s->data[i] = s->buffer[i].data;
	}
	s->outputs = shape.m * shape.n;
	op->fill(&s->problem, 7 + shape.n, s->data);
	s->reference = (struct tcb_reference){ .grid = NULL };
	s->reference.y = malloc(s->outputs * sizeof(double));
	s->reference.magnitude = malloc(s->outputs * sizeof(double));
	s->reference.extra = malloc(s->outputs * sizeof(double));
	assert_true(s->reference.y && s->reference.magnitude && s->reference.extra);
	op->reference(&s->problem, s->data, &s->reference);
}

static void subject_fini(struct subject *s)
{
	for (int i = 0; i < OPERANDS; i++)
		tcb_buffer_free(&s->buffer[i]);
	free(s->reference.y);
	free(s->reference.magnitude);
	free(s->reference.extra);
}

/* Plans GEOMETRY and runs it into s->data[Y]; inputs are read-only meanwhile, the output starts as NaN. */
static void run(struct subject *s, const struct tcb_geometry *geometry, struct tcb_plan *plan)
{
	struct tcb_buffer packed = { 0 }, workspace;
	struct tcb_error err;
	void *data[OPERANDS] = { s->data[WEIGHTS], s->data[X], s->data[Y] };
	if (tcb_op_cpu(op)->plan(&s->problem, geometry, plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (plan->packed_bytes[WEIGHTS]) {
		alloc(plan->packed_bytes[WEIGHTS], &packed);
		op->pack(&plan->problem, WEIGHTS, plan->variant->layout, s->data[WEIGHTS], packed.data);
		assert_int_equal(tcb_buffer_protect(&packed, 1, NULL), TCB_OK);
		data[WEIGHTS] = packed.data;
	}
	alloc(plan->workspace_bytes, &workspace);
	memset(data[Y], TCB_POISON, s->outputs * sizeof(float));
	tcb_buffer_protect(&s->buffer[WEIGHTS], 1, NULL);
	tcb_buffer_protect(&s->buffer[X], 1, NULL);
	tcb_op_cpu(op)->run(plan, data, workspace.data, pool);
	tcb_buffer_protect(&s->buffer[WEIGHTS], 0, NULL);
	tcb_buffer_protect(&s->buffer[X], 0, NULL);
	assert_int_equal(tcb_buffer_check(&s->buffer[Y]), 0);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	tcb_buffer_free(&workspace);
	tcb_buffer_free(&packed);
}

static void judge(const struct subject *s, const struct tcb_plan *plan)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t bad = 0;
	if (plan->variant->class == TCB_CLASS_EXACT) {
		float *exact = malloc(s->outputs * sizeof(float));
		assert_non_null(exact);
		op->exact(plan, s->data, exact);
		assert_memory_equal(exact, s->data[Y], s->outputs * sizeof(float));
		free(exact);
	}
	const double ratio = tcb_error_ratio(plan, &s->reference, s->data[Y], s->outputs, &bad);
	tcb_geometry_print(&plan->geometry, text);
	if (!(ratio <= 1))
		fail_msg("%s %s: output %zu is %g, not %g: %g of what is allowed", plan->variant->name, text, bad,
			 (double)((const float *)s->data[Y])[bad], s->reference.y[bad], ratio);
}

/* WALK selects k-blocks, the schedule, the share and prefetching. */
static struct tcb_geometry geometry_of(const struct tcb_variant *v, const struct tcb_shape *shape, unsigned walk)
{
	static const int32_t prefetch[] = { 0, 64, 3000, 100000 };
	struct tcb_geometry g;
	const size_t midi = v->micro.n * (walk & 1 ? 1 : 2);
	const int dynamic = walk >> 1 & 1;
	tcb_geometry_init(&g);
	size_t macro = midi;
	while (dynamic && macro < shape->n)
		macro *= 2;
	const size_t tokens = qmv_tile_tokens(v->micro.m, shape->m);
	g.tile[TCB_MACRO] = (struct tcb_tile){ tokens, macro, shape->k };
	g.tile[TCB_MIDI] = (struct tcb_tile){ tokens, midi, walk >> 2 & 1 && tokens == 1 ? 256 : shape->k };
	g.tile[TCB_MICRO] = v->micro;
	g.knob[TCB_KNOB_ISA] = (int32_t)v->isa;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)v->layout;
	g.knob[TCB_KNOB_UNROLL] = v->unroll;
	const size_t shares = tcb_div_up(shape->n, macro) * tcb_div_up(shape->m, tokens);
	g.knob[TCB_KNOB_THREADS] = dynamic || shares > 1 ? 2 : 1;
	g.knob[TCB_KNOB_SCHED] = dynamic;
	g.knob[TCB_KNOB_PREFETCH] = v->isa == TCB_ISA_SCALAR ? 0 : prefetch[walk / 3 % 4];
	g.knob[TCB_KNOB_HINT] = g.knob[TCB_KNOB_PREFETCH] ? (int32_t)(walk % 3) : 0;
	return g;
}

/* Every variant of this machine under CONTRACT: N leaves each possible remainder of 16, blocks are odd and even. */
static void try_all(enum tcb_contract contract)
{
	const struct tcb_variant *v;
	size_t tried = 0;
	for (size_t n = 33; n < 49; n++) {
		struct subject s;
		subject_init(&s, contract, (struct tcb_shape){ 1 + n % 3, n, 256 * (1 + n % 4) });
		for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
			if (v->contract != contract || !tcb_target_has(&host, v->isa))
				continue;
			for (unsigned walk = (unsigned)(n + i) % 3; walk < 12; walk += 3) {
				const struct tcb_geometry g = geometry_of(v, &s.problem.shape, walk);
				struct tcb_plan plan;
				run(&s, &g, &plan);
				judge(&s, &plan);
				tried++;
			}
		}
		subject_fini(&s);
	}
	print_message("%zu runs\n", tried);
	assert_true(tried > 0);
}

static void test_q8(void **state)
{
	(void)state;
	try_all(TCB_CONTRACT_Q8);
}

static void test_f32(void **state)
{
	(void)state;
	try_all(TCB_CONTRACT_F32);
}

/* A NaN or, under q8, an infinity makes every output of its token NaN, and none of another token. */
static void test_not_a_number(void **state)
{
	const struct tcb_variant *v;
	struct subject s;
	(void)state;
	subject_init(&s, TCB_CONTRACT_Q8, (struct tcb_shape){ 2, 19, 512 });
	for (int infinite = 0; infinite < 2; infinite++) {
		((float *)s.data[X])[300] = infinite ? -INFINITY : NAN;
		for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
			struct tcb_plan plan;
			if (v->contract != TCB_CONTRACT_Q8 || !tcb_target_has(&host, v->isa))
				continue;
			const struct tcb_geometry g = geometry_of(v, &s.problem.shape, 0);
			run(&s, &g, &plan);
			for (size_t o = 0; o < s.outputs; o++)
				assert_int_equal(isnan(((float *)s.data[Y])[o]) != 0, o < 19);
		}
	}
	subject_fini(&s);
}

/* Activations too small for codes count as zeros, and the bound knows it. */
static void test_tiny_activations(void **state)
{
	const struct tcb_variant *v;
	struct subject s;
	(void)state;
	subject_init(&s, TCB_CONTRACT_Q8, (struct tcb_shape){ 1, 33, 512 });
	for (size_t i = 0; i < 256; i++)
		((float *)s.data[X])[i] *= 1e-37f;
	for (size_t i = 256; i < 512; i++)
		((float *)s.data[X])[i] = 0;
	op->reference(&s.problem, s.data, &s.reference);
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		struct tcb_plan plan;
		if (v->contract != TCB_CONTRACT_Q8 || !tcb_target_has(&host, v->isa))
			continue;
		const struct tcb_geometry g = geometry_of(v, &s.problem.shape, 0);
		run(&s, &g, &plan);
		judge(&s, &plan);
		for (size_t o = 0; o < s.outputs; o++)
			assert_true(((float *)s.data[Y])[o] == 0);
	}
	subject_fini(&s);
}

static void test_shapes(void **state)
{
	static const struct {
		struct tcb_shape shape;
		enum tcb_status status;
		const char *part;
	} rows[] = {
		{ { 1, 4096, 4096 }, TCB_OK, "" },
		{ { 7, 1, 256 }, TCB_OK, "" },
		{ { 1, 64, 300 }, TCB_E_USAGE, "multiple of 256, such as 512" },
		{ { 1, 64, 0 }, TCB_E_USAGE, "K a multiple of 256" },
		{ { 0, 64, 256 }, TCB_E_USAGE, "1 or more" },
		{ { 1, 0, 256 }, TCB_E_USAGE, "1 or more" },
		{ { 1, SIZE_MAX / 256, 1024 }, TCB_E_OVERFLOW, "too large" },
		{ { SIZE_MAX / 256, 1, 1024 }, TCB_E_OVERFLOW, "too large" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcb_error err = { TCB_OK, "" };
		assert_int_equal(op->check_shape(op, &rows[i].shape, &err), rows[i].status);
		assert_non_null(strstr(err.message, rows[i].part));
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *geometry, *part;
	} rows[] = {
		{ "macro=1x64x512,midi=1x64x512,micro=1x1x256,isa=scalar,threads=1", NULL },
		{ "macro=1x64x512,midi=1x64x512,micro=1x3x256,isa=scalar,threads=1", "no q8 variant" },
		{ "macro=2x64x512,midi=1x64x512,micro=1x1x256,isa=scalar,threads=1", "macro.m" },
		{ "macro=1x64x256,midi=1x64x256,micro=1x1x256,isa=scalar,threads=1", "macro.k" },
		{ "macro=1x64x512,midi=1x64x384,micro=1x1x256,isa=scalar,threads=1", "midi.k" },
		{ "macro=1x64x512,midi=1x64x512,micro=1x1x512,isa=scalar,threads=1", "micro.k" },
		{ "macro=1x64x512,midi=1x48x512,micro=1x1x256,isa=scalar,threads=1", "midi.n must divide" },
		{ "macro=1x64x512,midi=1x2x512,micro=1x4x256,isa=scalar,threads=1", "micro.n must divide" },
		{ "macro=1x32x512,midi=1x32x512,micro=1x1x256,isa=scalar,threads=1", "all rows" },
		{ "macro=1x64x512,midi=1x32x512,micro=1x1x256,isa=scalar,threads=2", "macro tile for each thread" },
		{ "macro=1x32x512,midi=1x32x512,micro=1x1x256,isa=scalar,threads=2", NULL },
		{ "macro=1x32x512,midi=1x32x512,micro=1x1x256,isa=scalar,threads=2,sched=dynamic", "deals midi tiles" },
		{ "macro=1x64x512,midi=1x32x512,micro=1x1x256,isa=scalar,threads=2,sched=dynamic", NULL },
		{ "macro=1x64x512,midi=1x64x512,micro=1x1x256,isa=scalar,threads=1,prefetch=512",
		  "prefetch must be 0" },
	};
	const struct tcb_problem problem = { op, "q4k_matvec", TCB_CONTRACT_Q8, { 1, 64, 512 } };
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		struct tcb_error err = { TCB_OK, "" };
		assert_int_equal(tcb_geometry_parse(rows[i].geometry, &geometry, NULL), TCB_OK);
		const enum tcb_status status = tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err);
		assert_int_equal(status, rows[i].part ? TCB_E_ILLEGAL : TCB_OK);
		if (rows[i].part && !strstr(err.message, rows[i].part))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].geometry, err.message, rows[i].part);
	}
}

/* The default is legal everywhere; the spaces of the default shapes hold thousands, of each family and layout. */
static void test_space(void **state)
{
	static const size_t sizes[] = { 1, 2, 5, 16, 33, 63, 64, 65, 513, 1000, 4096, 14336, 32000 };
	(void)state;
	for (unsigned threads = 1; threads <= 6; threads++)
		for (uint32_t mask = 1; mask < 16; mask = 2 * mask + 1)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				for (unsigned c = 0; c < 2; c++) {
					const struct tcb_target target = { .kind = TCB_TARGET_CPU,
									   .isa_mask = mask,
									   .threads = threads };
					const struct tcb_problem problem = { op,
									     "q4k_matvec",
									     c ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32,
									     { 1 + sizes[i] % 2, sizes[i], 512 } };
					struct tcb_geometry geometry;
					char why[TCB_WHY_MAX] = "";
					tcb_op_standard(&problem, &target, &geometry);
					if (tcb_constraint_violated(op, &problem, &target, &geometry, 0, why))
						fail_msg("N=%zu threads=%u: %s", sizes[i], threads, why);
				}
	for (size_t i = 0; i < op->default_shape_count; i++) {
		const struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 15, .threads = 2 };
		struct tcb_problem problem;
		struct tcb_space *space;
		size_t layouts[TCB_LAYOUT_COUNT] = { 0 };
		assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &op->default_shapes[i], &problem, NULL), TCB_OK);
		assert_int_equal(tcb_space_create(op, &problem, &target, 0, &space, NULL), TCB_OK);
		assert_in_range(space->count, 3000, 12000);
		for (size_t g = 0; g < space->count; g++)
			layouts[space->geometries[g].knob[TCB_KNOB_LAYOUT]]++;
		for (int l = TCB_LAYOUT_NATIVE; l <= TCB_LAYOUT_R16W; l++)
			assert_true(layouts[l] > 100);
		tcb_space_destroy(space);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_q8),           cmocka_unit_test(test_f32),
		cmocka_unit_test(test_not_a_number), cmocka_unit_test(test_tiny_activations),
		cmocka_unit_test(test_shapes),       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_space),
	};
	struct tcb_device device;
	if (tcb_cpu_identify("cpu", 2, &device, NULL) != TCB_OK || tcb_pool_create(2, NULL, &pool, NULL) != TCB_OK)
		return 1;
	host = device.target;
	for (int isa = TCB_ISA_SCALAR; isa <= TCB_ISA_AVX512VNNI; isa++)
		if (!tcb_target_has(&host, (enum tcb_isa)isa))
			printf("not run, this processor has no %s\n", tcb_isa_text((enum tcb_isa)isa));
	const int failures = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failures;
}
