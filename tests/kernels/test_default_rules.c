/* SPDX-License-Identifier: MIT
 *
 * The tables of default rules against the ops of this build: whatever the
 * shape, the default is legal and can be planned or emitted.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/gpu_table.h"
#include "base/sizes.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/matmul/matmul.h"
#include "kernels/space.h"

enum { ROWS_MOST = 8, SHAPES_PER_RULE = 24, EMITTED_PER_RULE = 4 };

static struct tcb_target target_of(const struct tcb_default_rule *rule)
{
	struct tcb_target target = { .kind = TCB_TARGET_CPU, .threads = rule->threads, .line_bytes = 64 };
	const char *family = strrchr(rule->arch, '-');
	enum tcb_isa isa;
	unsigned capability;
	struct tcb_gpu gpu;
	if (sscanf(rule->arch, "sm_%u", &capability) == 1) {
		assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
		return gpu.device.target;
	}
	assert_non_null(family);
	assert_int_equal(tcb_isa_parse(family + 1, &isa, NULL), TCB_OK);
	target.isa_mask = isa == TCB_ISA_NEON ? 1u << isa | 1u : (2u << isa) - 1;
	return target;
}

static struct tcb_problem problem_of(const struct tcb_default_rule *rule, const struct tcb_shape *shape)
{
	struct tcb_problem problem;
	struct tcb_error err = { .message = "" };
	const struct tcb_op *op = tcb_op_find(rule->op);
	if (!op || tcb_problem_init(op, rule->contract, shape, &problem, &err) != TCB_OK)
		fail_msg("%s: %s", rule->op, op ? err.message : "no such op");
	return problem;
}

/* A size from LEAST to MOST, often the smallest or the largest that was measured, as often round as not. */
static size_t draw(struct tcb_rng *rng, size_t least, size_t most, size_t multiple)
{
	size_t size = least ? least : 1;
	const uint64_t measured = tcb_rng_below(rng, 4);
	if (measured < 2)
		return measured ? (most >= 4 ? most / 4 : 1)
				: tcb_round_up(4 * size > most ? most : 4 * size, multiple);
	while (size < most && tcb_rng_below(rng, 3))
		size *= 2;
	if (tcb_rng_below(rng, 2))
		size += tcb_rng_below(rng, size);
	size = size > most ? most : size;
	return size < multiple ? multiple : size / multiple * multiple;
}

static struct tcb_shape draw_shape(struct tcb_rng *rng, const struct tcb_default_rule *rule)
{
	const struct tcb_op *op = tcb_op_find(rule->op);
	struct tcb_shape shape = { draw(rng, rule->least.m, rule->most.m, 1), draw(rng, rule->least.n, rule->most.n, 1),
				   0 };
	if (rule->most.k)
		shape.k = draw(rng, rule->least.k, rule->most.k, op->format ? 256 : 1);
	if (op->default_shapes[0].m == 1 && op->format)
		shape.m = 1; /* a MatVec */
	return shape;
}

static void check_usable(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, int is_emitted)
{
	char why[TCB_WHY_MAX], text[TCB_GEOMETRY_TEXT_MAX], shape[TCB_SHAPE_TEXT_MAX];
	struct tcb_error err = { .message = "" };
	struct tcb_kernel kernel;
	struct tcb_plan plan;
	enum tcb_status status = TCB_OK;
	tcb_geometry_print(geometry, text);
	tcb_shape_print(&problem->shape, shape);
	if (tcb_constraint_violated(problem->op, problem, target, geometry, 0, why))
		fail_msg("%s %s %s: %s", problem->op_name, shape, text, why);
	assert_non_null(tcb_variant_find(problem->op, problem->contract, geometry));
	if (target->kind == TCB_TARGET_CPU) {
		status = tcb_op_cpu(problem->op)->plan(problem, geometry, &plan, &err);
	} else if (is_emitted) {
		status = tcb_kernel_emit(problem, target, geometry, &kernel, &err);
		if (status == TCB_OK)
			tcb_kernel_fini(&kernel);
	}
	if (status != TCB_OK)
		fail_msg("%s %s %s: %s", problem->op_name, shape, text, err.message);
}

static void every_rule_is_of_this_build(void **state)
{
	const struct tcb_default_rule *rule, *other;
	size_t i;
	(void)state;
	for (i = 0; (rule = tcb_default_rule_at(i)); i++) {
		const struct tcb_op *op = tcb_op_find(rule->op);
		const struct tcb_target target = target_of(rule);
		char arch[TCB_ARCH_TEXT_MAX];
		assert_non_null(op);
		assert_true(op->contracts >> rule->contract & 1u);
		tcb_target_arch(&target, arch);
		assert_string_equal(arch, rule->arch);
		assert_in_range(rule->row_count, 1, ROWS_MOST);
		/* The last row holds every shape. */
		const struct tcb_default_row *last = &rule->rows[rule->row_count - 1];
		assert_int_equal(last->m | last->n | last->k, 0);
		for (size_t j = 0; j < i; j++) {
			other = tcb_default_rule_at(j);
			assert_false(!strcmp(other->op, rule->op) && other->contract == rule->contract &&
				     !strcmp(other->arch, rule->arch) && other->threads == rule->threads);
		}
	}
	assert_true(i > 0);
}

/* Each row is the default of some shape: its text parses, and its words are of the op's space. */
static void every_row_is_used(void **state)
{
	const struct tcb_default_rule *rule;
	(void)state;
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++) {
		const struct tcb_target target = target_of(rule);
		for (size_t r = 0; r < rule->row_count; r++) {
			struct tcb_rng rng;
			int legal = !rule->rows[r].geometry;
			tcb_rng_init(&rng, 7);
			for (int draws = 0; draws < 4000 && !legal; draws++) {
				const struct tcb_shape shape = draw_shape(&rng, rule);
				const struct tcb_problem problem = problem_of(rule, &shape);
				struct tcb_geometry geometry;
				legal = tcb_default_row_holds(&rule->rows[r], &shape) &&
					tcb_default_apply(rule->rows[r].geometry, &problem, &target, &geometry);
			}
			if (!legal)
				fail_msg("%s %s: row %zu, %s, is of no use", rule->op, rule->arch, r + 1,
					 rule->rows[r].geometry);
		}
	}
}

static void defaults_are_legal_whatever_the_shape(void **state)
{
	static const unsigned more_threads[] = { 0, 1, 2, 15 };
	const struct tcb_default_rule *rule;
	size_t by_rule = 0, dealt = 0;
	(void)state;
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++) {
		struct tcb_target target = target_of(rule);
		struct tcb_rng rng;
		tcb_rng_init(&rng, i);
		for (size_t s = 0; s < SHAPES_PER_RULE; s++) {
			const struct tcb_shape shape = draw_shape(&rng, rule);
			const struct tcb_problem problem = problem_of(rule, &shape);
			struct tcb_geometry geometry;
			if (target.kind == TCB_TARGET_CPU)
				target.threads = rule->threads + more_threads[s % 4];
			const int is_by_rule = tcb_default_by_rule(&problem, &target, &geometry) != NULL;
			by_rule += (size_t)is_by_rule;
			dealt += is_by_rule && geometry.knob[TCB_KNOB_THREADS] > 1;
			check_usable(&problem, &target, &geometry, s < EMITTED_PER_RULE);
		}
	}
	assert_true(by_rule > 0);
	assert_true(dealt > 0);
}

/* Where a row was measured with one thread, two have the same kernels and a part each, as the op's own default has. */
static void a_row_is_dealt_to_more_threads(void **state)
{
	struct tcb_target target = {
		.kind = TCB_TARGET_CPU, .isa_mask = (2u << TCB_ISA_AVX512VNNI) - 1, .threads = 1, .line_bytes = 64
	};
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	struct tcb_problem problem;
	struct tcb_geometry one, two, own;
	(void)state;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &(struct tcb_shape){ 1, 4096, 4096 }, &problem, NULL),
			 TCB_OK);
	assert_non_null(tcb_default_geometry(&problem, &target, &one).rule);
	target.threads = 2;
	assert_non_null(tcb_default_geometry(&problem, &target, &two).rule);
	tcb_geometry_init(&own);
	tcb_op_standard(&problem, &target, &own);
	assert_int_equal(two.knob[TCB_KNOB_THREADS], 2);
	assert_int_equal(two.tile[TCB_MACRO].n, own.tile[TCB_MACRO].n);
	assert_int_equal(two.tile[TCB_MICRO].n, one.tile[TCB_MICRO].n);
	assert_int_equal(two.knob[TCB_KNOB_LAYOUT], one.knob[TCB_KNOB_LAYOUT]);
	assert_int_equal(two.knob[TCB_KNOB_PREFETCH], one.knob[TCB_KNOB_PREFETCH]);
}

/* An op that names another takes its rules: usable, and by a rule at most of the shapes that it was made with. */
static void others_rules_are_usable(void **state)
{
	const struct tcb_default_rule *rule;
	const struct tcb_op *const *ops;
	size_t op_count, by_rule = 0, tried = 0;
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 11);
	ops = tcb_ops(&op_count);
	for (size_t o = 0; o < op_count; o++)
		for (size_t i = 0; ops[o]->rules_of && (rule = tcb_default_rule_at(i)); i++) {
			const struct tcb_target target = target_of(rule);
			struct tcb_target within;
			if (strcmp(rule->op, ops[o]->rules_of) != 0)
				continue;
			for (int draws = 0; draws < 4; draws++, tried++) {
				const struct tcb_shape shape = draw_shape(&rng, rule);
				struct tcb_problem problem;
				struct tcb_geometry geometry;
				assert_int_equal(tcb_problem_init(ops[o], rule->contract, &shape, &problem, NULL),
						 TCB_OK);
				assert_ptr_equal(tcb_default_rule_find(&problem, &target, &within), rule);
				by_rule += tcb_default_by_rule(&problem, &target, &geometry) == rule;
				check_usable(&problem, &target, &geometry, draws == 0);
			}
		}
	print_message("%zu of %zu defaults are by another op's rule\n", by_rule, tried);
	assert_true(tried > 0 && 2 * by_rule > tried);
}

/* Another family, a shape far away: not by that rule, but by one of a family that it contains, or the op's own. */
static void others_have_the_own_default(void **state)
{
	const struct tcb_default_rule *rule;
	(void)state;
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++) {
		struct tcb_target target = target_of(rule), within;
		const struct tcb_shape far = { rule->least.m ? rule->least.m : 1, 8 * rule->most.n, rule->most.k };
		struct tcb_problem problem = problem_of(rule, &far);
		struct tcb_geometry geometry, own;
		tcb_geometry_init(&own);
		tcb_op_standard(&problem, &target, &own);
		const struct tcb_default_source source = tcb_default_geometry(&problem, &target, &geometry);
		const struct tcb_default_rule *by = source.rule;
		if (!source.learned) /* of more columns than rules know */
			assert_true(by ? strcmp(by->arch, rule->arch) != 0 && target.kind == TCB_TARGET_CPU
				       : tcb_geometry_equal(&geometry, &own));
		problem.shape.n = rule->most.n;
		assert_ptr_equal(tcb_default_rule_find(&problem, &target, &within), rule);
		if (target.kind == TCB_TARGET_CPU)
			target.isa_mask = 1u;
		else
			target.cuda.capability = 75;
		assert_null(tcb_default_rule_find(&problem, &target, &within));
	}
}

/* --- any shape --- */

enum { DRAWN_DEFAULTS = 6000 };

/* Sizes of layers that models have, and others: an even number of superblocks along k, an odd one, a prime one. */
static struct tcb_shape draw_layer(struct tcb_rng *rng, const struct tcb_op *op)
{
	static const size_t tokens[] = { 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 64, 65, 128, 200, 512, 2048 };
	static const size_t rows[] = { 1024, 1408, 2048, 2880, 4096, 11008, 14336 };
	static const size_t ks[] = { 256,  512,  768,  1024, 1280, 1536, 1792,  2048,  2304,  2560,
				     3072, 3584, 4096, 5120, 5376, 8192, 11008, 14336, 18432, 28672 };
	struct tcb_shape shape = { tokens[tcb_rng_below(rng, sizeof tokens / sizeof *tokens)],
				   rows[tcb_rng_below(rng, sizeof rows / sizeof *rows)],
				   ks[tcb_rng_below(rng, sizeof ks / sizeof *ks)] };
	if (!tcb_rng_below(rng, 3))
		shape.n = 1 + tcb_rng_below(rng, 9000);
	if (op->words >> TCB_WORD_EXPERTS & 1) {
		shape.words.experts = (uint16_t)(4u << tcb_rng_below(rng, 7));
		shape.words.used = (uint16_t)(1u << tcb_rng_below(rng, 3));
	}
	return shape;
}

static int gpus_have(const struct tcb_op *op, enum tcb_contract contract)
{
	const struct tcb_variant *row;
	for (size_t i = 0; tcb_op_gpu(op) && (row = tcb_variant_at(tcb_op_gpu(op), i)); i++)
		if (row->contract == contract)
			return 1;
	return 0;
}

/* Of weights in blocks, on any GPU that is known: a query that nobody measured anything for gets a kernel, but for
 * products of bf16 where there are none. */
static void any_layer_has_a_default(void **state)
{
	size_t op_count, seen = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 2026);
	for (size_t i = 0; i < DRAWN_DEFAULTS; i++) {
		const struct tcb_op *op = ops[i % op_count];
		const enum tcb_contract contract = (enum tcb_contract)tcb_rng_below(&rng, TCB_CONTRACT_COUNT);
		const struct tcb_shape shape = draw_layer(&rng, op);
		char why[TCB_WHY_MAX], text[TCB_SHAPE_TEXT_MAX];
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		size_t row = tcb_rng_below(&rng, 8);
		while (row && !tcb_gpu_table_row(row, &gpu))
			row--;
		if (!op->format || !gpus_have(op, contract) || !tcb_gpu_table_row(row, &gpu) ||
		    tcb_problem_init(op, contract, &shape, &problem, NULL) != TCB_OK)
			continue;
		tcb_default_geometry(&problem, &gpu.device.target, &geometry);
		seen++;
		if (!tcb_constraint_violated(op, &problem, &gpu.device.target, &geometry, 0, why) ||
		    strstr(why, "needs sm_80"))
			continue;
		tcb_shape_print(&shape, text);
		fail_msg("%s %s %s, sm_%u: %s", op->name, tcb_contract_text(contract), text,
			 gpu.device.target.cuda.capability, why);
	}
	print_message("%zu defaults are legal\n", seen);
	assert_true(seen > DRAWN_DEFAULTS / 8);
}

/* --- families that contain others --- */

/* One thread of the Xeon of results/cpu-xeon-amx, with ISA_MASK. */
static struct tcb_target xeon(uint32_t isa_mask)
{
	return (struct tcb_target){ .kind = TCB_TARGET_CPU,
				    .isa_mask = isa_mask,
				    .threads = 1,
				    .line_bytes = 64,
				    .l1d_bytes = 48 << 10,
				    .l2_bytes = 2 << 20,
				    .llc_bytes = 300 << 20 };
}

static const uint32_t up_to_vnni = (2u << TCB_ISA_AVX512VNNI) - 1, up_to_amx = (2u << TCB_ISA_AMX) - 1;

static const struct tcb_default_rule *default_at(const char *op, const struct tcb_shape *shape,
						 const struct tcb_target *target, struct tcb_geometry *out)
{
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(tcb_op_find(op), TCB_CONTRACT_Q8, shape, &problem, NULL), TCB_OK);
	const struct tcb_default_rule *rule = tcb_default_geometry(&problem, target, out).rule;
	check_usable(&problem, target, out, 0);
	return rule;
}

/* Where AMX has no rule of its own, here for a shape outside its measured sizes, it has that of what it contains. */
static void a_family_has_the_rules_of_what_it_contains(void **state)
{
	const struct tcb_target amx = xeon(up_to_amx), vnni = xeon(up_to_vnni);
	struct tcb_geometry with, without;
	(void)state;
	for (size_t m = 2; m <= 8; m++) {
		const struct tcb_default_rule *rule =
			default_at("q4k_matmul", &(struct tcb_shape){ m, 4096, 4096 }, &amx, &with);
		assert_non_null(rule);
		assert_string_equal(rule->arch, "x86_64-amx");
		assert_int_equal(with.knob[TCB_KNOB_ISA], TCB_ISA_AVX512VNNI);
		assert_int_equal(with.knob[TCB_KNOB_DECODE], TCB_DECODE_REGS);
	}
	const struct tcb_shape tall = { 1, 32000, 4096 };
	const struct tcb_default_rule *rule = default_at("iq4xs_matvec", &tall, &amx, &with);
	assert_non_null(rule);
	assert_ptr_equal(rule, default_at("iq4xs_matvec", &tall, &vnni, &without));
	assert_true(tcb_geometry_equal(&with, &without));
	/* Where its rule is the op's own default, it is that. */
	const struct tcb_shape measured = { 1, 11008, 4096 };
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(tcb_op_find("iq4xs_matvec"), TCB_CONTRACT_Q8, &measured, &problem, NULL),
			 TCB_OK);
	(void)default_at("iq4xs_matvec", &measured, &amx, &with);
	tcb_op_standard(&problem, &amx, &without);
	assert_true(tcb_geometry_equal(&with, &without));
	/* Not the other way round: no rule of VNNI is one of AVX-512. */
	const struct tcb_target avx512 = xeon((2u << TCB_ISA_AVX512) - 1);
	assert_null(default_at("q4k_matmul", &(struct tcb_shape){ 4, 4096, 4096 }, &avx512, &with));
	assert_int_not_equal(with.knob[TCB_KNOB_ISA], TCB_ISA_AVX512VNNI);
}

/* Little shows AMX to be faster, so it is the default only where there is nothing else but plain C. */
static void amx_is_not_the_default(void **state)
{
	static const size_t tokens[] = { 1, 7, 16, 32, 64, 512 };
	const struct tcb_target amx = xeon(up_to_amx);
	const struct tcb_target alone = xeon(1u << TCB_ISA_AMX | 1u << TCB_ISA_SCALAR);
	struct tcb_geometry with;
	(void)state;
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
		const struct tcb_shape shape = { tokens[i], 4096, 4096 };
		(void)default_at("q6k_matmul", &shape, &amx, &with);
		assert_int_equal(with.knob[TCB_KNOB_ISA], TCB_ISA_AVX512VNNI);
	}
	(void)default_at("q6k_matmul", &(struct tcb_shape){ 32, 4096, 4096 }, &alone, &with);
	assert_int_equal(with.knob[TCB_KNOB_ISA], TCB_ISA_AMX);
}

/* Dense products of 16 bits have tiles of bf16 as soon as their rows fill half of one. */
static void amx_multiplies_halves(void **state)
{
	static const struct tcb_op *const halves[] = { &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };
	const struct tcb_target amx = xeon(up_to_amx), alone = xeon(1u << TCB_ISA_AMX | 1u << TCB_ISA_SCALAR);
	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (size_t m = 1; m <= 1024; m *= 2) {
			struct tcb_problem problem;
			struct tcb_geometry with;
			assert_int_equal(tcb_problem_init(halves[i], TCB_CONTRACT_F16,
							  &(struct tcb_shape){ m, 4096, 4096 }, &problem, NULL),
					 TCB_OK);
			(void)tcb_default_geometry(&problem, &amx, &with);
			assert_int_equal(with.knob[TCB_KNOB_ISA] == TCB_ISA_AMX, m >= 8);
			(void)tcb_default_geometry(&problem, &alone, &with);
			assert_int_equal(with.knob[TCB_KNOB_ISA], TCB_ISA_AMX);
		}
}

/* But by its own rules and of those.  Of all ops, with and without the family in bf16, on one thread and on more. */
static void amx_changes_no_other_default(void **state)
{
	size_t op_count, compared = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	(void)state;
	for (size_t o = 0; o < op_count; o++)
		for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
			for (size_t s = 0; s < 4 * ops[o]->default_shape_count; s++) {
				const uint32_t bf16 = s % 2 ? 1u << TCB_ISA_AVX512BF16 : 0;
				struct tcb_target amx = xeon(up_to_amx | bf16), vnni = xeon(up_to_vnni | bf16);
				struct tcb_geometry with, without;
				struct tcb_problem problem;
				if (!(ops[o]->contracts >> contract & 1u))
					continue;
				amx.threads = vnni.threads = s / 2 % 2 ? 2 : 1;
				assert_int_equal(tcb_problem_init(ops[o], (enum tcb_contract)contract,
								  &ops[o]->default_shapes[s / 4], &problem, NULL),
						 TCB_OK);
				struct tcb_target within;
				const struct tcb_default_rule *rule = tcb_default_rule_find(&problem, &amx, &within);
				(void)tcb_default_geometry(&problem, &amx, &with);
				(void)tcb_default_geometry(&problem, &vnni, &without);
				/* All that have AMX look places of grids up in registers and multiply contract f16
				 * as bf16 on tiles, and reductions ask for what they may have to wait for. */
				if (strncmp(ops[o]->name, "reduce2d_", strlen("reduce2d_")) == 0)
					with.knob[TCB_KNOB_PREFETCH] = without.knob[TCB_KNOB_PREFETCH];
				const int is_by_its_rule =
					(rule && strcmp(rule->arch, "x86_64-amx") == 0) ||
					with.knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_R16G ||
					(contract == TCB_CONTRACT_F16 && with.knob[TCB_KNOB_ISA] == TCB_ISA_AMX);
				if (!is_by_its_rule && !tcb_geometry_equal(&with, &without))
					fail_msg("%s: another default with AMX", ops[o]->name);
				compared += (size_t)!is_by_its_rule;
			}
	assert_true(compared > 0);
}

/* The default is an element of the space, and what is swept as such. */
static void a_space_has_it(void **state)
{
	const struct tcb_default_rule *rule;
	size_t checked = 0;
	(void)state;
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++) {
		const struct tcb_target target = target_of(rule);
		const struct tcb_shape shape = { rule->most.m / 4, rule->most.n / 4, rule->most.k / 4 };
		struct tcb_geometry geometry;
		struct tcb_space *space;
		if (target.kind == TCB_TARGET_CUDA)
			continue; /* large */
		const struct tcb_problem problem = problem_of(rule, &shape);
		tcb_default_geometry(&problem, &target, &geometry);
		assert_int_equal(tcb_space_create(problem.op, &problem, &target, 0, &space, NULL), TCB_OK);
		assert_true(tcb_geometry_equal(&space->geometries[space->default_index], &geometry));
		tcb_space_destroy(space);
		checked++;
	}
	assert_true(checked > 0);
}

/* Letters and numbers that are not of the space. */
static void forms_move_into_the_space(void **state)
{
	const struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 1u, .threads = 1, .line_bytes = 64 };
	static const char form[] = "macro=MxNxK,midi=1x1000xK,micro=1x1x256,isa=scalar,layout=native,threads=1,"
				   "sched=static,unroll=1,prefetch=0,hint=t0";
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	(void)state;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ 1, 3000, 512 }, &problem, NULL),
			 TCB_OK);
	assert_true(tcb_default_apply(form, &problem, &target, &geometry));
	assert_int_equal(geometry.tile[TCB_MACRO].n, 4096);
	assert_int_equal(geometry.tile[TCB_MACRO].k, 512);
	assert_int_equal(geometry.tile[TCB_MIDI].n, 1024);
	assert_false(tcb_default_apply("macro=MxNxK,midi=1x64xK,micro=1x1x256,isa=avx2,layout=native,threads=1,"
				       "sched=static,unroll=1,prefetch=0,hint=t0",
				       &problem, &target, &geometry));
	assert_false(tcb_default_apply("macro=MxN", &problem, &target, &geometry));
	assert_false(tcb_default_apply("M", &problem, &target, &geometry));
}

/* Rows of 1000 values are no whole lines; the register tile of the op's own default. */
static void forms_give_way(void **state)
{
	struct tcb_target target = {
		.kind = TCB_TARGET_CPU, .isa_mask = (2u << TCB_ISA_AVX512) - 1, .threads = 1, .line_bytes = 64
	};
	static const char rows[] =
		"macro=MxNx1,midi=MxNx1,micro=1x32x1,isa=avx512,threads=1,sched=static,prefetch=1024,"
		"hint=t0,stages=1,stream=1,form=twopass,asks=1";
	static const char product[] = "macro=MxNxK,midi=Mx256x1024,micro=*x*x1,isa=avx512,threads=1,sched=static,"
				      "prefetch=512,decode=regs";
	struct tcb_problem problem;
	struct tcb_geometry geometry, own;
	(void)state;
	for (size_t n = 1000; n <= 1024; n += 24) {
		const struct tcb_shape shape = { 128, n, 0 };
		assert_int_equal(tcb_problem_init(tcb_op_find("softmax"), TCB_CONTRACT_F32, &shape, &problem, NULL),
				 TCB_OK);
		assert_true(tcb_default_apply(rows, &problem, &target, &geometry));
		assert_int_equal(geometry.knob[TCB_KNOB_STREAM], n == 1024);
	}
	for (size_t m = 32; m <= 42; m += 10) { /* whole tiles of 8, and of 14 */
		const struct tcb_shape shape = { m, 2048, 512 };
		assert_int_equal(tcb_problem_init(tcb_op_find("matmul_f32"), TCB_CONTRACT_F32, &shape, &problem, NULL),
				 TCB_OK);
		tcb_geometry_init(&own);
		tcb_op_standard(&problem, &target, &own);
		assert_true(tcb_default_apply(product, &problem, &target, &geometry));
		assert_int_equal(geometry.tile[TCB_MICRO].m, own.tile[TCB_MICRO].m);
		assert_int_equal(geometry.tile[TCB_MICRO].n, own.tile[TCB_MICRO].n);
		assert_int_equal(m % geometry.tile[TCB_MICRO].m, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_of_this_build),
		cmocka_unit_test(every_row_is_used),
		cmocka_unit_test(defaults_are_legal_whatever_the_shape),
		cmocka_unit_test(others_rules_are_usable),
		cmocka_unit_test(others_have_the_own_default),
		cmocka_unit_test(any_layer_has_a_default),
		cmocka_unit_test(a_family_has_the_rules_of_what_it_contains),
		cmocka_unit_test(amx_is_not_the_default),
		cmocka_unit_test(amx_multiplies_halves),
		cmocka_unit_test(amx_changes_no_other_default),
		cmocka_unit_test(a_space_has_it),
		cmocka_unit_test(forms_move_into_the_space),
		cmocka_unit_test(forms_give_way),
		cmocka_unit_test(a_row_is_dealt_to_more_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
