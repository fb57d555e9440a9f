/* SPDX-License-Identifier: MIT
 *
 * In: the ops, their defaults and spaces.  Out: counts of geometries that were
 * judged otherwise than they should be.
 */
#include "verify/measure_geometry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/kind.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/simd/isas.h"
#include "kernels/space.h"

enum { CHANGES = 12, STEPS = 400 };

static int is_asked(const struct tcb_claim_lab *lab, const struct tcb_op *op)
{
	return !lab->op || lab->op == op;
}

/* One number of GEOMETRY becomes another, which may or may not be legal. */
static void change(struct tcb_rng *rng, struct tcb_geometry *geometry)
{
	static const int64_t values[] = { 1, 2, 3, 5, 8, 16, 24, 48, 64, 96, 256, 1000, 4096, 1 << 20 };
	const size_t count = sizeof values / sizeof *values;
	struct tcb_field field;
	do
		field = tcb_field_at((unsigned)tcb_rng_below(rng, TCB_FIELD_COUNT));
	while (field.kind == TCB_AXIS_KNOB && geometry->knob[field.which] == TCB_KNOB_UNSET);
	if (field.kind == TCB_AXIS_KNOB && tcb_knob_word((enum tcb_knob)field.which, 0)) {
		int32_t words = 0;
		while (tcb_knob_word((enum tcb_knob)field.which, words))
			words++;
		tcb_field_set(field, (int64_t)tcb_rng_below(rng, (uint64_t)words), geometry);
	} else {
		tcb_field_set(field, values[tcb_rng_below(rng, count)], geometry);
	}
}

/* The default of OP's first shape on TARGET; 0 where there is none. */
static int take_default(const struct tcb_op *op, const struct tcb_target *target, struct tcb_problem *problem,
			struct tcb_geometry *geometry)
{
	if (tcb_problem_init(op, op->default_contract, &op->default_shapes[0], problem, NULL) != TCB_OK)
		return 0;
	(void)tcb_default_geometry(problem, target, geometry);
	return 1;
}

void tcb_claim_refused_before_code(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count, asked = 0, emitted = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_gpu gpu;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	if (tcb_gpu_table(90, &gpu, NULL) != TCB_OK) {
		tcb_found_nothing(out, "no GPU in the table");
		return;
	}
	const struct tcb_target *target = &gpu.device.target;
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_geometry standard, changed;
		struct tcb_problem problem;
		if (!tcb_op_gpu(ops[i]) || !is_asked(lab, ops[i]) || !take_default(ops[i], target, &problem, &standard))
			continue;
		for (int c = 0; c < CHANGES; c++) {
			struct tcb_kernel kernel = { 0 };
			changed = standard;
			change(&rng, &changed);
			if (tcb_constraint_require(&problem, target, &changed, NULL) == TCB_OK)
				continue;
			if (plant == TCB_PLANT_DEFECT)
				changed = standard;
			asked++;
			emitted += tcb_kernel_emit(&problem, target, &changed, &kernel, NULL) == TCB_OK;
			tcb_kernel_fini(&kernel);
		}
	}
	tcb_found(out, emitted == 0 && asked > 0, "%zu of %zu illegal geometries of sm_90 became code%s", emitted,
		  asked, plant == TCB_PLANT_DEFECT ? " (the default was emitted in their place)" : "");
}

struct legality {
	size_t asked, illegal;
	char first[128];
};

static void judge_default(const struct tcb_op *op, const struct tcb_target *target, const char *where,
			  const struct tcb_geometry *other, struct legality *found)
{
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_space *space = NULL;
	/* bf16 needs sm_80: where an op has no space at all, nothing is its default */
	if (!take_default(op, target, &problem, &geometry))
		return;
	if (!tcb_constraint_violated(op, &problem, target, other ? other : &geometry, 0, NULL)) {
		found->asked++;
		return;
	}
	const int is_served = other || tcb_space_create(op, &problem, target, 0, &space, NULL) == TCB_OK;
	tcb_space_destroy(space);
	if (!is_served)
		return;
	found->asked++;
	if (!found->illegal++)
		(void)snprintf(found->first, sizeof found->first, ", the first %.40s on %.40s", op->name, where);
}

static void judge_cpu(const struct tcb_op *op, const struct tcb_target *whole, struct legality *found)
{
	judge_default(op, whole, "the CPU", NULL, found);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		struct tcb_target one = *whole;
		one.isa_mask &= 1u << isa | 1u << TCB_ISA_SCALAR;
		if (tcb_target_has(whole, (enum tcb_isa)isa) && tcb_float_lanes(isa))
			judge_default(op, &one, tcb_knob_word(TCB_KNOB_ISA, isa), NULL, found);
	}
}

void tcb_claim_agnostic(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct legality found = { 0 };
	struct tcb_gpu gpu;
	for (size_t i = 0; i < op_count; i++) {
		if (!is_asked(lab, ops[i]))
			continue;
		if (!tcb_kind_of(&lab->place->device.target)->is_emitted)
			judge_cpu(ops[i], &lab->place->device.target, &found);
		for (size_t row = 0; tcb_op_gpu(ops[i]) && tcb_gpu_table_row(row, &gpu); row++) {
			struct tcb_geometry cpus;
			struct tcb_problem problem;
			struct tcb_target host = { .kind = TCB_TARGET_CPU,
						   .isa_mask = 1u << TCB_ISA_SCALAR,
						   .threads = 1 };
			const int is_planted =
				plant == TCB_PLANT_DEFECT && take_default(ops[i], &host, &problem, &cpus);
			judge_default(ops[i], &gpu.device.target, gpu.device.name, is_planted ? &cpus : NULL, &found);
		}
	}
	tcb_found(out, found.illegal == 0 && found.asked > 0,
		  "%zu of %zu defaults break a constraint of their device%s%s", found.illegal, found.asked, found.first,
		  plant == TCB_PLANT_DEFECT ? " (GPUs were given the CPU's)" : "");
}

void tcb_claim_half_types(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const names[] = { "matmul_f32", "matmul_f16", "matmul_bf16" };
	size_t wrong = 0, asked = 0, geometries = 0;
	struct tcb_gpu gpu;
	if (tcb_gpu_table(90, &gpu, NULL) != TCB_OK) {
		tcb_found_nothing(out, "no GPU in the table");
		return;
	}
	const struct tcb_target *const targets[] = { &lab->place->device.target, &gpu.device.target };
	for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
		const struct tcb_target *target = targets[i % 2];
		const struct tcb_op *op = tcb_op_find(names[i / 2]);
		struct tcb_space *space = NULL;
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		if (!op || !take_default(op, target, &problem, &geometry))
			continue;
		if (plant == TCB_PLANT_DEFECT)
			geometry.tile[TCB_MIDI].n++;
		asked++;
		const int is_legal = !tcb_constraint_violated(op, &problem, target, &geometry, 0, NULL);
		const int has_space = tcb_space_create(op, &problem, target, 0, &space, NULL) == TCB_OK;
		wrong += !is_legal || !has_space;
		geometries += has_space ? space->count : 0;
		tcb_space_destroy(space);
	}
	tcb_found(out, wrong == 0 && asked > 0,
		  "%zu of %zu spaces of f32, f16 and bf16 products (%zu geometries) lack a legal default%s", wrong,
		  asked, geometries, plant == TCB_PLANT_DEFECT ? " (midi.n is one too large)" : "");
}

/* --- suggestions --- */

static int set_word(struct tcb_field field, const char *value, struct tcb_geometry *geometry)
{
	int64_t number = strtoll(value, NULL, 10);
	if (field.kind == TCB_AXIS_KNOB && tcb_knob_word((enum tcb_knob)field.which, 0)) {
		const char *word;
		for (number = 0; (word = tcb_knob_word((enum tcb_knob)field.which, (int32_t)number)); number++)
			if (!strcmp(word, value))
				break;
		if (!word)
			return 0;
	}
	tcb_field_set(field, number, geometry);
	return 1;
}

/* KEY=VALUE,... as a message has it; 0: it is none. */
static int apply(char *text, struct tcb_geometry *geometry)
{
	char *rest = text;
	for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(part, '='), key[32] = "";
		unsigned bit = 0;
		if (!value)
			return 0;
		*value++ = '\0';
		for (; bit < TCB_FIELD_COUNT; bit++) {
			const struct tcb_field field = tcb_field_at(bit);
			if (field.kind == TCB_AXIS_KNOB)
				(void)snprintf(key, sizeof key, "%s", tcb_knob_key((enum tcb_knob)field.which));
			else
				(void)snprintf(key, sizeof key, "%s.%c", tcb_level_text((enum tcb_level)field.which),
					       "mnk"[field.kind]);
			if (!strcmp(key, part))
				break;
		}
		if (bit == TCB_FIELD_COUNT || !set_word(tcb_field_at(bit), value, geometry))
			return 0;
	}
	return 1;
}

void tcb_claim_suggestions(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char mark[] = "nearest legal: ";
	size_t op_count, refused = 0, suggested = 0, useless = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	const struct tcb_target *target = &lab->place->device.target;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int step = 0; step < STEPS; step++) {
		const struct tcb_op *op = ops[(size_t)step % op_count];
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		char why[TCB_WHY_MAX];
		if (!is_asked(lab, op) || tcb_op_require(op, target, NULL) != TCB_OK ||
		    !take_default(op, target, &problem, &geometry))
			continue;
		change(&rng, &geometry);
		if (!tcb_constraint_violated(op, &problem, target, &geometry, 0, why))
			continue;
		refused++;
		char *fix = strstr(why, mark);
		if (!fix)
			continue;
		suggested++;
		const int is_applied = plant == TCB_PLANT_DEFECT || apply(fix + strlen(mark), &geometry);
		useless += !is_applied || tcb_constraint_violated(op, &problem, target, &geometry, 0, NULL);
	}
	tcb_found(out, useless == 0 && suggested > refused / 2,
		  "%zu refusals, %zu with a change to make, %zu of which left the geometry illegal%s", refused,
		  suggested, useless, plant == TCB_PLANT_DEFECT ? " (it was not made)" : "");
}

/* --- many tokens --- */

void tcb_claim_batches_fit(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const names[] = { "q4k_matmul", "matmul_f16", "matmul_bf16" };
	static const size_t tokens[] = { 1, 8, 64, 500 };
	const size_t cases = sizeof names / sizeof *names * (sizeof tokens / sizeof *tokens);
	size_t seen = 0, over = 0;
	struct tcb_gpu gpu;
	(void)lab;
	for (size_t i = 0; i < cases; i++) {
		const struct tcb_op *op = tcb_op_find(names[i / 4]);
		const struct tcb_shape shape = { tokens[i % 4], 1024, 1024 };
		struct tcb_space *space;
		struct tcb_problem problem;
		if (!op || tcb_gpu_table(80, &gpu, NULL) != TCB_OK ||
		    tcb_problem_init(op, op->default_contract, &shape, &problem, NULL) != TCB_OK ||
		    tcb_space_create(op, &problem, &gpu.device.target, 0, &space, NULL) != TCB_OK)
			continue;
		const size_t limit = tcb_shared_limit(&gpu.device.target) / (plant == TCB_PLANT_DEFECT ? 16 : 1);
		for (size_t g = 0; g < space->count; g += 1 + space->count / 200) {
			struct tcb_footprint footprint;
			tcb_space_of(&problem, &gpu.device.target, &space->geometries[g])
				->footprint(&problem, &gpu.device.target, &space->geometries[g], &footprint);
			over += footprint.shared_bytes > limit || footprint.block_threads > 1024;
			seen++;
		}
		tcb_space_destroy(space);
	}
	tcb_found(out, over == 0 && seen > 0,
		  "%zu of %zu geometries for 1 to 500 tokens on sm_80 go beyond the memory or threads of a block%s",
		  over, seen, plant == TCB_PLANT_DEFECT ? " (a sixteenth of it)" : "");
}
