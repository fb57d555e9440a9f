/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops: what they are; every f16 and floats of all sizes, NaNs, infinities
 * and zeros with their signs, on every CPU variant and in the emulator; every count of
 * elements; GPU geometries drawn from the whole product, right and without findings;
 * mutants, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/elementwise/elementwise.h"

#define NAME(f, KIND, CLASS, type, ...) "elementwise_" #f "_" #type,
static const char *const op_names[] = { ELEMENTWISE_LIST(NAME, ) };
enum { OPS = sizeof op_names / sizeof *op_names, ALL_ROWS = 256, ALL = ALL_ROWS * ALL_ROWS };

static struct tcb_target target;
static struct tcb_pool *pool;

static struct tcb_problem problem_of(size_t op, size_t m, size_t n)
{
	const struct tcb_op *found = tcb_op_find(op_names[op]);
	assert_non_null(found);
	return gpu_problem(found, found->default_contract, (struct tcb_shape){ m, n, 0 });
}

static double value_at(const struct gpu_bench *b, const void *values, size_t index)
{
	float value;
	tcb_type_to_f32(b->op->type, (const char *)values + index * tcb_type_bytes(b->op->type), 1, &value);
	return (double)value;
}

/* --- what they are --- */

static double plain(enum elementwise_kind kind, double x, double b)
{
	const double silu = x / (1 + exp(-x));
	switch (kind) {
	case ELEMENTWISE_RELU:
		return x > 0 ? x : 0;
	case ELEMENTWISE_GELU:
	case ELEMENTWISE_GELU_MUL:
		return (kind == ELEMENTWISE_GELU ? 0.5 : 0.5 * b) * x *
		       (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
	case ELEMENTWISE_SILU:
		return silu;
	case ELEMENTWISE_ADD:
		return x + b;
	case ELEMENTWISE_MUL:
		return x * b;
	case ELEMENTWISE_SIGMOID_MUL:
		return b / (1 + exp(-x));
	case ELEMENTWISE_SOFTPLUS_MUL:
		return log(1 + exp(x)) * b;
	default:
		return silu * b;
	}
}

static void references_are_the_formulas(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++) {
		const struct tcb_problem p = problem_of(o, 7, 601);
		struct gpu_bench b;
		gpu_bench_open(&b, &p, 4);
		for (size_t i = 0; i < b.outputs; i++) {
			const double x = value_at(&b, b.data[0], i);
			const double other = value_at(&b, b.data[b.operand_count - 2], i);
			const double want = plain(elementwise_kind(&p), x, other);
			const double least = p.op->type == TCB_TYPE_F16 ? 0x1p-11 : 0x1p-24;
			/* tanh's formula cancels for negative x, and 1 + exp(x) rounds. */
			const double size = elementwise_kind(&p) >= ELEMENTWISE_SIGMOID_MUL ? 1 + fabs(x) : fabs(x);
			const double allowed = elementwise_is_exact(elementwise_kind(&p))
						       ? least * (fabs(want) + 0x1p-14)
						       : 1e-14 * size * fabs(other) + 1e-15 * fabs(x);
			if (!(fabs(b.reference[0].y[i] - want) <= allowed))
				fail_msg("%s of %g, %g is %g, not %g", p.op_name, x, other, b.reference[0].y[i], want);
		}
		gpu_bench_close(&b);
	}
}

/* --- all values --- */

/* Bit patterns of all f16, or of as many floats spread over all of them; b's in another order.  An infinity times what
 * is too small for f32 may be a NaN. */
static void fill_patterns(struct gpu_bench *b)
{
	const int is_half = b->op->type == TCB_TYPE_F16;
	for (size_t o = 0; o + 1 < b->operand_count; o++)
		for (uint32_t i = 0; i < ALL; i++) {
			const uint32_t bits = o ? i * 40503u + 77u : i;
			if (is_half)
				((uint16_t *)b->data[o])[i] = (uint16_t)bits;
			else
				((uint32_t *)b->data[o])[i] = (bits & 0xffff) * 65537u;
		}
	for (size_t i = 0; elementwise_is_gated(elementwise_kind(&b->problem)) && i < ALL; i++)
		if (value_at(b, b->data[0], i) < (elementwise_is_gelu(elementwise_kind(&b->problem)) ? -9 : -80) &&
		    isinf(value_at(b, b->data[1], i)))
			memset((char *)b->data[1] + i * tcb_type_bytes(b->op->type), 0, tcb_type_bytes(b->op->type));
	/* floats that the pattern has not */
	static const float special[] = {
		INFINITY, -INFINITY, -0.0f, 0x1p-149f, -0x1p-149f, -87.5f, -88.5f, -104, 88.8f
	};
	for (size_t i = 0; !is_half && i < sizeof special / sizeof *special; i++)
		((float *)b->data[0])[3 * i] = special[i];
	gpu_bench_refer(b);
}

/* Zeros that are exact have their sign. */
static void check_zeros(const struct gpu_bench *b, const void *y, const char *how)
{
	for (size_t i = 0; i < b->outputs; i++) {
		const double x = value_at(b, b->data[0], i), want = b->reference[0].y[i];
		if (want != 0 || (!elementwise_is_exact(elementwise_kind(&b->problem)) && x != 0))
			continue;
		if (!signbit(value_at(b, y, i)) != !signbit(want))
			fail_msg("%s %s: of %a it is %a, not %a", b->problem.op_name, how, x, value_at(b, y, i), want);
	}
}

/* B's op by G with guards around all it has; the largest error over what is allowed. */
static double run_cpu(const struct gpu_bench *b, const struct tcb_geometry *g)
{
	struct tcb_buffer buffer[TCB_OPERANDS_MAX];
	void *data[TCB_OPERANDS_MAX];
	char text[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_plan plan;
	struct tcb_error err;
	tcb_geometry_print(g, text);
	if (tcb_op_cpu(b->op)->plan(&b->problem, g, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", text, err.message);
	for (size_t o = 0; o < b->operand_count; o++) {
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, b->operand[o].bytes, &buffer[o], NULL), TCB_OK);
		data[o] = buffer[o].data;
		if (o == (size_t)b->output)
			memset(data[o], TCB_POISON, b->operand[o].bytes);
		else
			memcpy(data[o], b->data[o], b->operand[o].bytes);
	}
	tcb_op_cpu(b->op)->run(&plan, data, NULL, pool);
	const double ratio =
		tcb_outputs_error_ratio(&plan, b->operand, b->operand_count, b->reference, data, NULL, NULL);
	size_t bad = 0;
	tcb_outputs_error_ratio(&plan, b->operand, b->operand_count, b->reference, data, NULL, &bad);
	if (!(ratio <= 1))
		fail_msg("%s %s: of %a, %a it is %a, not %a: %g", b->problem.op_name, text,
			 value_at(b, b->data[0], bad), value_at(b, b->data[b->output - 1], bad),
			 value_at(b, data[b->output], bad), b->reference[0].y[bad], ratio);
	check_zeros(b, data[b->output], text);
	for (size_t o = 0; o < b->operand_count; o++) {
		assert_int_equal(tcb_buffer_check(&buffer[o]), 0);
		tcb_buffer_free(&buffer[o]);
	}
	return ratio;
}

static void all_values_on_cpus(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++) {
		const struct tcb_problem p = problem_of(o, ALL_ROWS, ALL_ROWS);
		const struct tcb_variant *variant;
		struct gpu_bench b;
		double worst = 0;
		gpu_bench_open(&b, &p, 1);
		fill_patterns(&b);
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(p.op), v)) != NULL; v++) {
			struct tcb_geometry g;
			tcb_op_standard(&p, &target, &g);
			if (!tcb_target_has(&target, variant->isa))
				continue;
			elementwise_set_tiles(&p, 4096, variant->micro.n, &g);
			g.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
			g.knob[TCB_KNOB_STREAM] = tcb_cpu_isa((int32_t)variant->isa)->has_stream && v % 2;
			worst = fmax(worst, run_cpu(&b, &g));
		}
		print_message("%s: %.3f of what is allowed\n", p.op_name, worst);
		gpu_bench_close(&b);
	}
}

static void all_values_on_gpus(void **state)
{
	static const unsigned capabilities[] = { 75, 90 };
	(void)state;
	for (size_t i = 0; i < (size_t)2 * OPS; i++) {
		const struct tcb_target gpu = gpu_target(capabilities[i / OPS], 0);
		const struct tcb_problem p = problem_of(i % OPS, ALL_ROWS, ALL_ROWS);
		struct tcb_geometry g;
		struct gpu_bench b;
		if (test_leaves_out(i))
			continue;
		tcb_op_standard(&p, &gpu, &g);
		gpu_bench_open(&b, &p, 1);
		b.output_align = 16;
		fill_patterns(&b);
		snprintf(b.what, sizeof b.what, "all values");
		gpu_bench_check(&b, &gpu, &g, i, NULL);
		gpu_bench_close(&b);
	}
}

/* -0 and +0, of which the emulator's run shows the first element. */
static void zeros_on_gpus(void **state)
{
	(void)state;
	for (size_t i = 0; i < (size_t)4 * OPS; i++) {
		const struct tcb_target gpu = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 0);
		const struct tcb_problem p = problem_of(i / 4, 1, i % 4 < 2 ? 9 : 1);
		struct tcb_geometry g;
		struct gpu_bench b;
		tcb_op_standard(&p, &gpu, &g);
		gpu_bench_open(&b, &p, 1);
		b.output_align = 16;
		for (size_t o = 0; o + 1 < b.operand_count; o++)
			tcb_type_from_f32(p.op->type, (const float[]){ i % 2 ? -0.0f : 0 }, 1, b.data[o]);
		gpu_bench_refer(&b);
		gpu_bench_check(&b, &gpu, &g, i, NULL);
		if (!signbit(b.first) != !signbit(b.reference[0].y[0]))
			fail_msg("%s of %s0 is %a", p.op_name, i % 2 ? "-" : "+", (double)b.first);
		gpu_bench_close(&b);
	}
}

static void every_count(void **state)
{
	(void)state;
	for (size_t count = 1; count <= 150; count++)
		for (size_t o = 0; o < OPS; o++) {
			const struct tcb_problem p = problem_of(o, count % 2 ? 1 : count, count % 2 ? count : 1);
			const struct tcb_variant *variant;
			struct gpu_bench b;
			gpu_bench_open(&b, &p, count);
			for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(p.op), v)) != NULL; v++) {
				struct tcb_geometry g;
				if (!tcb_target_has(&target, variant->isa) || (v + count) % 3)
					continue;
				tcb_op_standard(&p, &target, &g);
				elementwise_set_tiles(&p, count % 5 ? 4096 : 64, variant->micro.n, &g);
				g.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
				g.knob[TCB_KNOB_STREAM] = tcb_cpu_isa((int32_t)variant->isa)->has_stream && count % 2;
				run_cpu(&b, &g);
			}
			gpu_bench_close(&b);
		}
}

/* --- CPUs' rules --- */

static void refusals(void **state)
{
	const struct tcb_problem p = problem_of(0, 64, 64);
	struct tcb_geometry g;
	struct tcb_plan plan;
	struct tcb_error err;
	(void)state;
	assert_int_equal(p.op->check_shape(p.op, &(struct tcb_shape){ 4, 4, 4 }, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, p.op->name));
	assert_int_equal(p.op->check_shape(p.op, &(struct tcb_shape){ 0, 4, 0 }, &err), TCB_E_USAGE);
	assert_int_equal(p.op->check_shape(p.op, &(struct tcb_shape){ SIZE_MAX / 2, 4, 0 }, &err), TCB_E_OVERFLOW);
	tcb_op_standard(&p, &target, &g);
	g.knob[TCB_KNOB_THREADS] = 99;
	assert_int_equal(tcb_op_cpu(p.op)->plan(&p, &g, &plan, &err), TCB_E_ILLEGAL);
	assert_non_null(strstr(err.message, "tasks"));
	tcb_op_standard(&p, &target, &g);
	g.knob[TCB_KNOB_STREAM] = 2;
	assert_int_equal(tcb_op_cpu(p.op)->plan(&p, &g, &plan, &err), TCB_E_ILLEGAL);
	g = gpu_geometry("macro=64x64x1,midi=64x64x1,micro=1x4x1,isa=scalar,threads=1,sched=static,prefetch=0,hint=t0,"
			 "stream=1");
	assert_int_equal(tcb_op_cpu(p.op)->plan(&p, &g, &plan, &err), TCB_E_ILLEGAL);
	assert_non_null(strstr(err.message, "past the caches"));
}

/* --- GPUs: spaces and kernels --- */

static void defaults_and_spaces(void **state)
{
	static const size_t shapes[][2] = { { 1, 1 },    { 3, 5 },    { 1, 31 },      { 33, 127 },
					    { 64, 257 }, { 1, 4096 }, { 4096, 4096 }, { 5000, 6007 } };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++)
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
				const struct tcb_problem p = problem_of(o, shapes[s][0], shapes[s][1]);
				gpu_check_default(&p, gpu_capabilities[c]);
			}
	const struct tcb_problem p = problem_of(0, 4096, 4096);
	const struct tcb_target gpu = gpu_target(90, 0);
	struct tcb_space *space = gpu_space(&p, &gpu, 0);
	assert_in_range(space->count, 100, 2000);
	tcb_space_destroy(space);
}

/* With two SMs, so that blocks that stay have several rounds. */
static void samples_are_right(void **state)
{
	static const size_t shapes[][2] = { { 1, 1 },    { 2, 2 },    { 3, 31 },   { 7, 33 },   { 3, 509 },
					    { 9, 1024 }, { 3, 1025 }, { 2, 4100 }, { 17, 260 }, { 1, 20003 } };
	const size_t count = gpu_sample_size(20 * OPS);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 21);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const size_t *shape = shapes[i / OPS % 10];
		const struct tcb_problem p = problem_of(i % OPS, shape[0], shape[1]);
		const struct tcb_target gpu = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &gpu, &rng);
		if (i % 4 == 0)
			gpu_check_emitted(&p, &gpu, &g);
		gpu_check_run(&p, &gpu, &g, i, &tally);
	}
	gpu_tally_print(&tally);
}

/* Of 5 x 1285, so that one element is left over. */
#define STEPS "macro=8x2048x1,midi=1x512x1,micro=1x4x1,isa=fma,unroll=2,warps=2,vec=16,stream=0,blocks=0,pdl=0,occ=1"
#define STAY "macro=8x2048x1,midi=1x512x1,micro=1x4x1,isa=fma,unroll=2,warps=2,vec=16,stream=0,blocks=1,pdl=0,occ=1"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what, *geometry;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", STEPS, { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "nothing, blocks that stay", STAY, { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "a load past the end", STEPS, { UNGUARD, TCB_PTX_OP_LD, 5 } },
		{ "results past the end", STEPS, { UNGUARD, TCB_PTX_OP_ST, 1 } },
		{ "values of others", STAY, { MOVE, TCB_PTX_OP_LD, 4 } },
		{ "no first results", STAY, { REMOVE, TCB_PTX_OP_ST, 0 } },
		{ "no rest", STEPS, { REMOVE, TCB_PTX_OP_ST, 2 } },
		{ "z without x^3", STEPS, { REMOVE, TCB_PTX_OP_FMA, 0 } },
	};
	const struct tcb_target gpu = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_problem p = problem_of(ELEMENTWISE_GELU, 5, 1285);
		const struct tcb_geometry g = gpu_geometry(cases[i].geometry);
		struct gpu_bench b;
		gpu_bench_open(&b, &p, 9);
		b.output_align = 16;
		snprintf(b.what, sizeof b.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&b, &gpu, &g, &cases[i].mutation);
		gpu_bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_the_formulas),
		cmocka_unit_test(all_values_on_cpus),
		cmocka_unit_test(all_values_on_gpus),
		cmocka_unit_test(zeros_on_gpus),
		cmocka_unit_test(every_count),
		cmocka_unit_test(refusals),
		cmocka_unit_test(defaults_and_spaces),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(mutants_are_caught),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", 2, &device, &err) != TCB_OK || tcb_pool_create(2, NULL, &pool, &err) != TCB_OK)
		return 1;
	target = device.target;
	target.threads = 2;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
