/* SPDX-License-Identifier: MIT
 *
 * A family of problems has the same weights, or the same rows to reduce, and some of the rows, or sequences, of the
 * largest one.  That one's default geometry says what the results are; geometries drawn from the spaces of all of them
 * must have the same bits.
 */
#include "verify/measure_bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/formats.h"
#include "kernels/space.h"

enum { ALIGNMENT = 4096, THREADS = 2, POISON = 0xff };

/* What a problem's rows are counted in, and are some of the largest problem's. */
enum counted { BY_ROWS, BY_SEQUENCES };

/* One problem of a family: COUNT rows, or sequences, from FIRST on. */
struct member {
	struct tcb_problem problem;
	size_t first;
	enum counted by;
};

struct family {
	struct tcb_claim_lab *lab;
	struct tcb_target target;
	struct tcb_pool *pool;
	struct tcb_rng rng;
	struct member largest;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *data[TCB_OPERANDS_MAX]; /* the largest problem's; outputs: what its default computed */
	struct tcb_bits_sum *sum;
};

static void *take(size_t bytes)
{
	return aligned_alloc(ALIGNMENT, tcb_round_up(bytes + 1, ALIGNMENT));
}

static void free_all(void *data[TCB_OPERANDS_MAX])
{
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		free(data[i]);
}

/* Bytes of operand I of PROBLEM that belong to one row, or sequence; 0: all have the same. */
static size_t each_bytes(const struct tcb_problem *problem, enum counted by, size_t i)
{
	struct tcb_problem more = *problem;
	struct tcb_operand of[TCB_OPERANDS_MAX], of_more[TCB_OPERANDS_MAX];
	if (by == BY_ROWS)
		more.shape.m++;
	else
		more.shape.words.sequences++;
	problem->op->operands(problem, of);
	problem->op->operands(&more, of_more);
	return of_more[i].bytes - of[i].bytes;
}

/* --- one run --- */

/* Operands of MEMBER: parts of the family's; whole numbers that are not by rows, such as lengths, are its own, and so
 * are results, in OWN. */
static int take_operands(struct family *family, const struct member *member, void *operand[], void *own[])
{
	struct tcb_operand of[TCB_OPERANDS_MAX];
	void *filled[TCB_OPERANDS_MAX] = { NULL };
	const struct tcb_op *op = member->problem.op;
	const size_t count = op->operands(&member->problem, of);
	int is_taken = 1;
	for (size_t i = 0; i < count; i++) {
		const size_t each = each_bytes(&family->largest.problem, member->by, i);
		const int is_own = of[i].role == TCB_ROLE_OUTPUT || (of[i].type == TCB_TYPE_I32 && !each);
		operand[i] = (char *)family->data[i] + member->first * each;
		filled[i] = take(of[i].bytes);
		if (is_own)
			operand[i] = own[i] = take(of[i].bytes);
		is_taken = is_taken && filled[i] && operand[i];
	}
	if (is_taken)
		tcb_op_fill(&member->problem, family->lab->seed, filled, NULL);
	for (size_t i = 0; is_taken && i < count; i++)
		if (own[i])
			memcpy(own[i], filled[i], of[i].bytes);
	free_all(filled);
	return is_taken;
}

static int run_plan(struct family *family, const struct tcb_plan *plan, void *operand[])
{
	const struct tcb_problem *problem = &plan->problem;
	struct tcb_operand of[TCB_OPERANDS_MAX];
	void *packed[TCB_OPERANDS_MAX] = { NULL }, *given[TCB_OPERANDS_MAX], *workspace = take(plan->workspace_bytes);
	const size_t count = problem->op->operands(problem, of);
	int is_run = workspace != NULL;
	for (size_t i = 0; is_run && i < count; i++) {
		given[i] = operand[i];
		if (of[i].role == TCB_ROLE_OUTPUT)
			memset(operand[i], POISON, of[i].bytes);
		if (!plan->packed_bytes[i])
			continue;
		given[i] = packed[i] = take(plan->packed_bytes[i]);
		is_run = packed[i] != NULL;
		if (is_run)
			problem->op->pack(problem, i, plan->variant->layout, operand[i], packed[i]);
	}
	if (is_run)
		tcb_op_cpu(problem->op)->run(plan, given, workspace, family->pool);
	free_all(packed);
	free(workspace);
	return is_run;
}

/* How many elements of the outputs of MEMBER are not those of the largest problem. */
static void compare(struct family *family, const struct member *member, const struct tcb_geometry *geometry,
		    void *operand[])
{
	struct tcb_operand of[TCB_OPERANDS_MAX];
	const size_t count = member->problem.op->operands(&member->problem, of);
	char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX];
	uint64_t differing = 0;
	for (size_t i = 0; i < count; i++) {
		const size_t each = tcb_element_bytes(of[i].type);
		const char *is = operand[i], *was = (const char *)family->data[i] +
						    member->first * each_bytes(&family->largest.problem, member->by, i);
		for (size_t at = 0; of[i].role == TCB_ROLE_OUTPUT && at < of[i].bytes; at += each) {
			family->sum->values++;
			differing += memcmp(is + at, was + at, each) != 0;
		}
	}
	family->sum->runs++;
	family->sum->differing += differing;
	if (!differing || family->sum->first[0])
		return;
	tcb_shape_print(&member->problem.shape, shape);
	tcb_geometry_print(geometry, text);
	(void)snprintf(family->sum->first, sizeof family->sum->first, "%.32s %.60s %.200s", member->problem.op_name,
		       shape, text);
}

/* MEMBER's default and GEOMETRIES others, drawn. */
static int run_member(struct family *family, const struct member *member, unsigned geometries, struct tcb_finding *out)
{
	struct tcb_space *space = NULL;
	struct tcb_error err;
	void *operand[TCB_OPERANDS_MAX], *own[TCB_OPERANDS_MAX] = { NULL };
	enum tcb_status status =
		tcb_space_create(member->problem.op, &member->problem, &family->target, 0, &space, &err);
	if (status == TCB_OK && !take_operands(family, member, operand, own))
		status = tcb_fail(&err, TCB_E_NOMEM, "out of memory");
	for (unsigned g = 0; status == TCB_OK && g <= geometries; g++) {
		const size_t at = g ? tcb_rng_below(&family->rng, space->count) : space->default_index;
		struct tcb_plan plan;
		status = tcb_plan_make(&member->problem, &space->geometries[at], &plan, &err);
		if (status == TCB_OK && !run_plan(family, &plan, operand))
			status = tcb_fail(&err, TCB_E_NOMEM, "out of memory");
		if (status == TCB_OK)
			compare(family, member, &space->geometries[at], operand);
	}
	free_all(own);
	tcb_space_destroy(space);
	if (status != TCB_OK)
		tcb_found_nothing(out, "%.40s: %.200s", member->problem.op_name, err.message);
	return status == TCB_OK;
}

/* What the others are held against: the default of the largest problem, for one thread. */
static int run_largest(struct family *family, struct tcb_finding *out)
{
	struct tcb_problem *problem = &family->largest.problem;
	struct tcb_target one = family->target;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	const size_t count = problem->op->operands(problem, family->operands);
	int is_taken = 1;
	one.threads = 1;
	for (size_t i = 0; i < count; i++)
		is_taken = (family->data[i] = take(family->operands[i].bytes)) && is_taken;
	if (!is_taken) {
		tcb_found_nothing(out, "out of memory");
		return 0;
	}
	tcb_op_fill(problem, family->lab->seed, family->data, NULL);
	(void)tcb_default_geometry(problem, &one, &geometry);
	if (tcb_plan_make(problem, &geometry, &plan, &err) != TCB_OK || !run_plan(family, &plan, family->data)) {
		tcb_found_nothing(out, "%.40s: %.200s", problem->op_name, err.message);
		return 0;
	}
	return 1;
}

/* --- families --- */

static size_t up_to(struct family *family, size_t most)
{
	return 1 + (size_t)tcb_rng_below(&family->rng, most);
}

static uint64_t one_of(struct family *family, uint64_t count)
{
	return tcb_rng_below(&family->rng, count);
}

/* Is attention's query the first of its keys, so that a prompt's rows are those of a longer one? */
static int is_prompt(const struct tcb_problem *problem)
{
	return problem->shape.words.query && !strncmp(problem->op_name, "attention_prefill", 17);
}

/* The largest problem of a family of OP. */
static struct tcb_shape draw_shape(struct family *family, const struct tcb_op *op, const struct tcb_bits_draw *draw)
{
	static const char *const prompts[] = { "h4/2,causal", "h6/2,causal,w40", "h4/4,causal,c30" };
	static const char *const caches[] = { "h8/2,b3", "h4/1,b4,ragged", "h6/3,b2,w300", "h4/2,b3,ragged,sinks" };
	static const char *const experts[] = { "e4/2", "e8/3,even", "e5/2,shared1", "e3/2,each" };
	struct tcb_shape shape = { .m = draw->m_most / 2 + up_to(family, draw->m_most - draw->m_most / 2) };
	const size_t block = op->format ? op->format->block_values : 1;
	const char *words = "";
	shape.n = op->format ? 16 + up_to(family, 120) : up_to(family, 150);
	shape.k = block * up_to(family, 1200 / block);
	if (op->words >> TCB_WORD_EXPERTS & 1u)
		words = experts[one_of(family, op->words >> TCB_WORD_EACH & 1u ? 4 : 3)];
	if (op->words >> TCB_WORD_QUERY & 1u) {
		const int is_prefill = !strncmp(op->name, "attention_prefill", 17);
		shape.k = 32 * up_to(family, 4);
		shape.n = is_prefill ? 150 + up_to(family, 250) : 300 + up_to(family, 1500);
		shape.m = is_prefill ? shape.n : 1 + one_of(family, 2);
		words = is_prefill ? prompts[one_of(family, 3)] : caches[one_of(family, 4)];
	} else if (!strcmp(op->shape_form, "MxN")) {
		shape.n = up_to(family, one_of(family, 2) ? 12000 : 300);
		shape.k = 0;
	}
	(void)tcb_words_parse(words, &shape.words, NULL);
	shape.words.bits = !draw->is_free;
	return shape;
}

/* Some rows, or a sequence, of the largest problem. */
static struct member draw_member(struct family *family, unsigned which)
{
	struct member member = family->largest;
	struct tcb_shape *s = &member.problem.shape;
	const size_t all = s->m;
	if (which == 0)
		return member;
	if (s->words.query && !is_prompt(&member.problem)) {
		const int32_t *lengths = NULL;
		member.by = BY_SEQUENCES;
		member.first = one_of(family, s->words.sequences);
		for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
			if (family->operands[i].type == TCB_TYPE_I32 && !lengths)
				lengths = family->data[i];
		if (lengths && s->words.ragged && lengths[member.first] >= (int32_t)s->m)
			s->n = (size_t)lengths[member.first]; /* alone, with no room for more */
		s->words.sequences = 1;
		s->words.ragged = 0;
		return member;
	}
	s->m = which == 1 ? 1 : up_to(family, all);
	member.first = one_of(family, all - s->m + 1);
	if (is_prompt(&member.problem))
		s->n = member.first + s->m;
	return member;
}

static int run_family(struct family *family, const struct tcb_bits_draw *draw, struct tcb_finding *out)
{
	int is_run = run_largest(family, out);
	for (unsigned p = 0; is_run && p < draw->problems; p++) {
		const struct member member = draw_member(family, p);
		struct tcb_target *target = &family->target;
		target->threads = 1 + p % THREADS;
		is_run = run_member(family, &member, draw->geometries, out);
	}
	free_all(family->data);
	memset(family->data, 0, sizeof family->data);
	return is_run;
}

int tcb_bits_are_promised(const struct tcb_claim_lab *lab, const struct tcb_op *op, enum tcb_contract contract)
{
	const struct tcb_target *target = &lab->place->device.target;
	const struct tcb_side *side = tcb_op_side(op, target);
	const struct tcb_variant *variant;
	if (!(op->words >> TCB_WORD_BITS & 1u) || !side || !side->space->reorders)
		return 0;
	for (size_t i = 0; (variant = tcb_variant_at(side, i)); i++)
		if (variant->contract == contract && tcb_target_has(target, variant->isa))
			return 1;
	return 0;
}

int tcb_bits_measure(struct tcb_claim_lab *lab, const struct tcb_op *op, enum tcb_contract contract,
		     const struct tcb_bits_draw *draw, struct tcb_bits_sum *sum, struct tcb_finding *out)
{
	struct family family = { .lab = lab, .target = lab->place->device.target, .sum = sum };
	struct tcb_error err;
	int is_run = 1;
	if (tcb_pool_create(THREADS, NULL, &family.pool, &err) != TCB_OK) {
		tcb_found_nothing(out, "%.200s", err.message);
		return 0;
	}
	tcb_rng_init(&family.rng, lab->seed + tcb_hash64(op->name, strlen(op->name), 0));
	sum->ops++;
	for (unsigned s = 0; is_run && s < draw->shapes; s++) {
		const struct tcb_shape shape = draw_shape(&family, op, draw);
		family.largest = (struct member){ .by = BY_ROWS };
		if (tcb_problem_init(op, contract, &shape, &family.largest.problem, &err) != TCB_OK) {
			tcb_found_nothing(out, "%.40s: %.200s", op->name, err.message);
			is_run = 0;
			break;
		}
		sum->shapes++;
		is_run = run_family(&family, draw, out);
	}
	tcb_pool_destroy(family.pool);
	return is_run;
}

void tcb_claim_same_bits(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_bits_draw draw = {
		.shapes = 1, .problems = 4, .geometries = 3, .m_most = 24, .is_free = plant == TCB_PLANT_DEFECT
	};
	struct tcb_bits_sum sum = { 0 };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	if (!tcb_found_on_cpu(lab, out))
		return;
	for (size_t i = 0; i < count; i++)
		for (int c = 0; c < TCB_CONTRACT_COUNT; c++) {
			if ((lab->op && lab->op != ops[i]) || !tcb_bits_are_promised(lab, ops[i], (enum tcb_contract)c))
				continue;
			if (!tcb_bits_measure(lab, ops[i], (enum tcb_contract)c, &draw, &sum, out))
				return;
		}
	if (!sum.runs)
		tcb_found_nothing(out, "no op that takes the word bits was asked for");
	else
		tcb_found(
			out, sum.differing == 0,
			"%llu of %llu results differ, of %u geometries of %u families, %u ops and contracts%s%.120s%s",
			(unsigned long long)sum.differing, (unsigned long long)sum.values, sum.runs, sum.shapes,
			sum.ops, sum.first[0] ? ", the first of " : "", sum.first,
			draw.is_free ? " (the word was left out)" : "");
}
