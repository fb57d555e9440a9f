/* SPDX-License-Identifier: MIT
 *
 * Enumerates a search space: the op's axes come in, the legal geometries in
 * axis order go out.
 *
 * Depth first, one axis a level.  A constraint that reads only some fields is
 * checked as soon as the last of its fields is set, so that nesting and missing
 * variants cut whole subtrees; the others are checked at the leaves.  Fields
 * without an axis keep the value of the op's own default geometry.
 */
#include "kernels/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/util.h"
#include "kernels/default_rules.h"

enum { FIRST_CAPACITY = 1024, CONSTRAINTS_MAX = 32, RULES_MAX = 32 };
#define RAW_MAX (UINT64_C(1) << 40)

/* Raw points that one constraint excludes, as the first that does. */
struct excluded {
	const struct tcb_constraint *row;
	uint64_t points;
};

struct walk {
	struct tcb_candidate candidate;
	struct tcb_geometry geometry;
	struct tcb_space *space;
	size_t capacity;
	/* Constraints to check once axis I is set. */
	struct {
		size_t count;
		struct placed {
			const struct tcb_constraint *row;
			int dim; /* -1: all */
		} placed[CONSTRAINTS_MAX];
		size_t rule_count;
		const struct tcb_rule *rule[RULES_MAX];
	} at[TCB_AXES_MAX];
	const struct tcb_constraint *of_rules; /* the row of those rules */
	uint64_t below[TCB_AXES_MAX + 1];      /* points of the product of the axes from this depth on */
	size_t excluded_count;
	struct excluded excluded[CONSTRAINTS_MAX + 1];
};

static struct tcb_field axis_field(const struct tcb_axis *axis)
{
	return (struct tcb_field){ axis->kind, axis->which };
}

/* Keeps the first of equal values. */
static void drop_repeated_values(struct tcb_axis *axis)
{
	size_t kept = 0;
	for (size_t i = 0; i < axis->count; i++) {
		size_t j = 0;
		while (j < kept && axis->values[j] != axis->values[i])
			j++;
		if (j == kept)
			axis->values[kept++] = axis->values[i];
	}
	axis->count = kept;
}

/* Keeps of a knob's values those that it has (H1), so that the walk need not look; a parameter has what its op says.
 */
static void drop_illegal_values(struct tcb_axis *axis, const struct tcb_target *target)
{
	size_t kept = 0;
	for (size_t i = 0; i < axis->count; i++)
		if (axis->kind != TCB_AXIS_KNOB || axis->which >= TCB_KNOB_COUNT ||
		    !tcb_constraint_knob(target, (enum tcb_knob)axis->which, (int32_t)axis->values[i], NULL))
			axis->values[kept++] = axis->values[i];
	axis->count = kept;
}

static enum tcb_status take_axes(struct tcb_space *space, const struct tcb_op *op, const struct tcb_problem *problem,
				 const struct tcb_target *target, struct tcb_error *err)
{
	uint64_t raw = 1;
	tcb_fields seen = 0;
	space->axis_count = tcb_space_of(problem, target, NULL)->axes(problem, target, space->axes);
	assert(space->axis_count <= TCB_AXES_MAX);
	for (size_t i = 0; i < space->axis_count; i++) {
		struct tcb_axis *axis = &space->axes[i];
		const tcb_fields bit = tcb_field_bit(axis_field(axis));
		assert(axis->count && axis->count <= TCB_AXIS_VALUES_MAX && !(seen & bit));
		seen |= bit;
		drop_repeated_values(axis);
		raw *= axis->count;
		drop_illegal_values(axis, target);
		if (raw > RAW_MAX)
			return tcb_fail(err, TCB_E_OVERFLOW,
					"the space of op %s has more than 2^40 raw points; give its axes fewer values",
					op->name);
	}
	(void)seen;
	space->raw_count = (size_t)raw;
	return TCB_OK;
}

/* The first depth at which all fields READS are set. */
static size_t depth_of(const struct tcb_space *space, tcb_fields reads)
{
	size_t depth = 0;
	for (size_t a = 0; a < space->axis_count; a++) {
		if (reads & tcb_field_bit(axis_field(&space->axes[a])))
			depth = a;
	}
	return depth;
}

static void place(struct walk *walk, const struct tcb_constraint *row, int dim)
{
	tcb_fields reads = dim < 0 ? row->reads : 0;
	for (int level = 0; dim >= 0 && level < TCB_LEVEL_COUNT; level++)
		reads |= tcb_field_bit((struct tcb_field){ (enum tcb_axis_kind)dim, level });
	const size_t depth = depth_of(walk->space, reads);
	assert(walk->at[depth].count < CONSTRAINTS_MAX);
	walk->at[depth].placed[walk->at[depth].count++] = (struct placed){ row, dim };
}

static void place_constraints(struct walk *walk)
{
	size_t count;
	const struct tcb_constraint *rows = tcb_constraints(&count);
	assert(count <= CONSTRAINTS_MAX);
	walk->candidate.is_walk = walk->space->axis_count > 0;
	for (size_t i = 0; i < count && walk->space->axis_count; i++) {
		for (int dim = 0; rows[i].check_dim && dim < 3; dim++)
			place(walk, &rows[i], dim);
		if (rows[i].reads && !rows[i].check_dim)
			place(walk, &rows[i], -1);
		if (strcmp(rows[i].id, "V4") == 0)
			walk->of_rules = &rows[i];
	}
	const struct tcb_rule *rule = tcb_space_of(walk->candidate.problem, walk->candidate.target, NULL)->rules;
	for (; !tcb_rule_is_end(rule) && walk->space->axis_count; rule++) {
		size_t depth = depth_of(walk->space, rule->reads);
		if (!rule->reads || (rule->kind == TCB_RULE_POLICY && walk->candidate.any_size))
			continue;
		assert(walk->at[depth].rule_count < RULES_MAX);
		walk->at[depth].rule[walk->at[depth].rule_count++] = rule;
	}
}

static enum tcb_status append(struct walk *walk, const struct tcb_geometry *geometry, struct tcb_error *err)
{
	struct tcb_space *space = walk->space;
	struct tcb_geometry *geometries =
		tcb_grow(space->geometries, space->count, &walk->capacity, FIRST_CAPACITY, sizeof *geometries);
	if (!geometries)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for a space of more than %zu geometries", walk->capacity);
	space->geometries = geometries;
	space->geometries[space->count++] = *geometry;
	return TCB_OK;
}

static void exclude(struct walk *walk, const struct tcb_constraint *row, uint64_t points)
{
	size_t i = 0;
	while (i < walk->excluded_count && walk->excluded[i].row != row)
		i++;
	if (i == walk->excluded_count) {
		assert(i < sizeof walk->excluded / sizeof *walk->excluded);
		walk->excluded[walk->excluded_count++] = (struct excluded){ row, 0 };
	}
	walk->excluded[i].points += points;
}

static int is_pruned(struct walk *walk, size_t depth)
{
	const uint64_t points = walk->below[depth + 1];
	for (size_t i = 0; i < walk->at[depth].count; i++) {
		const struct tcb_constraint *row = walk->at[depth].placed[i].row;
		const int dim = walk->at[depth].placed[i].dim;
		if (dim < 0 ? row->check(&walk->candidate, NULL) : row->check_dim(&walk->candidate, dim, NULL)) {
			exclude(walk, row, points);
			return 1;
		}
	}
	for (size_t i = 0; i < walk->at[depth].rule_count; i++) {
		const struct tcb_candidate *c = &walk->candidate;
		if (tcb_rule_broken(walk->at[depth].rule[i], c->problem, c->target, c->geometry)) {
			exclude(walk, walk->of_rules, points);
			return 1;
		}
	}
	return 0;
}

static enum tcb_status descend(struct walk *walk, size_t depth, struct tcb_error *err)
{
	if (depth == walk->space->axis_count) {
		const struct tcb_constraint *left = tcb_constraint_left(&walk->candidate);
		if (!left)
			return append(walk, &walk->geometry, err);
		exclude(walk, left, 1);
		return TCB_OK;
	}
	const struct tcb_axis *axis = &walk->space->axes[depth];
	for (size_t i = 0; i < axis->count; i++) {
		tcb_field_set(axis_field(axis), axis->values[i], &walk->geometry);
		if (!is_pruned(walk, depth))
			TCB_TRY(descend(walk, depth + 1, err));
	}
	return TCB_OK;
}

/* Contracts of the op with which its default geometry is legal, into OUT: "q8, f32". */
static void legal_contracts(const struct tcb_candidate *c, struct tcb_str *out)
{
	for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++) {
		struct tcb_problem problem = *c->problem;
		struct tcb_geometry fallback;
		if (!(c->op->contracts >> contract & 1u) || contract == (int)c->problem->contract)
			continue;
		problem.contract = (enum tcb_contract)contract;
		tcb_default_geometry(&problem, c->target, &fallback);
		if (!tcb_constraint_violated(c->op, &problem, c->target, &fallback, c->any_size, NULL))
			tcb_str_addf(out, "%s%s", out->length ? ", " : "", tcb_contract_text(problem.contract));
	}
}

/* What excluded how much, and what to do; WHY is of the default. */
static enum tcb_status refuse_empty(const struct walk *walk, const char *why, struct tcb_error *err)
{
	const struct tcb_candidate *c = &walk->candidate;
	struct tcb_str counts = { 0 }, contracts = { 0 };
	char shape[TCB_SHAPE_TEXT_MAX];
	for (size_t i = 0; i < walk->excluded_count; i++)
		tcb_str_addf(&counts, "%s%s %s excludes %llu", i ? ", " : "", walk->excluded[i].row->id,
			     walk->excluded[i].row->title, (unsigned long long)walk->excluded[i].points);
	legal_contracts(c, &contracts);
	tcb_shape_print(&c->problem->shape, shape);
	const enum tcb_status status = tcb_fail(
		err, TCB_E_NOT_FOUND,
		"op %s has no legal geometry with contract %s at %s here; of %llu geometries %.200s; %s%s; its "
		"default: %s",
		c->op->name, tcb_contract_text(c->problem->contract), shape, (unsigned long long)walk->below[0],
		counts.length && !counts.failed ? counts.data : "none is left",
		contracts.length ? "take --contract " : "choose another shape or device",
		contracts.length && !contracts.failed ? contracts.data : "", why);
	tcb_str_fini(&counts);
	tcb_str_fini(&contracts);
	return status;
}

/* The default is an element even where the axes do not reach it: it is the last one then. */
static enum tcb_status include_default(struct walk *walk, const struct tcb_geometry *fallback, struct tcb_error *err)
{
	struct tcb_space *space = walk->space;
	const struct tcb_candidate *c = &walk->candidate;
	char why[TCB_WHY_MAX];
	space->ordered = space->count;
	space->default_index = tcb_space_find(space, fallback);
	if (space->default_index != SIZE_MAX)
		return TCB_OK;
	if (tcb_constraint_violated(c->op, c->problem, c->target, fallback, c->any_size, why)) {
		if (!space->count)
			return refuse_empty(walk, why, err);
		return tcb_fail(err, TCB_E_ILLEGAL, "the default geometry of op %s is illegal: %s", c->op->name, why);
	}
	TCB_TRY(tcb_space_add(space, fallback, err));
	space->default_index = space->count - 1;
	return TCB_OK;
}

/* The op's own default, too, where a rule has another one: what the rule is worth is asked against it. */
static enum tcb_status include_own(const struct walk *walk, const struct tcb_geometry *own, struct tcb_error *err)
{
	const struct tcb_candidate *c = &walk->candidate;
	if (tcb_space_find(walk->space, own) != SIZE_MAX ||
	    tcb_constraint_violated(c->op, c->problem, c->target, own, c->any_size, NULL))
		return TCB_OK;
	return tcb_space_add(walk->space, own, err);
}

enum tcb_status tcb_space_create(const struct tcb_op *op, const struct tcb_problem *problem,
				 const struct tcb_target *target, int any_size, struct tcb_space **out,
				 struct tcb_error *err)
{
	struct tcb_geometry own, fallback;
	*out = NULL;
	TCB_TRY(tcb_op_require(op, target, err));
	struct walk *walk = calloc(1, sizeof(*walk));
	struct tcb_space *space = calloc(1, sizeof(*space));
	enum tcb_status status;
	if (!walk || !space) {
		status = tcb_fail(err, TCB_E_NOMEM, "no memory for a search space");
		goto done;
	}
	walk->space = space;
	tcb_geometry_init(&own);
	tcb_op_standard(problem, target, &own);
	walk->geometry = own;
	walk->candidate = (struct tcb_candidate){ op, problem, target, &walk->geometry, { 0 }, any_size, 0, 0, 0 };
	status = take_axes(space, op, problem, target, err);
	if (status != TCB_OK)
		goto done;
	place_constraints(walk);
	walk->below[space->axis_count] = 1;
	for (size_t a = space->axis_count; a-- > 0;)
		walk->below[a] = walk->below[a + 1] * space->axes[a].count;
	status = descend(walk, 0, err);
	if (status == TCB_OK) {
		tcb_default_geometry(problem, target, &fallback);
		status = include_default(walk, &fallback, err);
	}
	if (status == TCB_OK)
		status = include_own(walk, &own, err);
done:
	free(walk);
	if (status == TCB_OK)
		*out = space;
	else
		tcb_space_destroy(space);
	return status;
}

void tcb_space_destroy(struct tcb_space *space)
{
	if (!space)
		return;
	free(space->geometries);
	free(space);
}

enum tcb_status tcb_space_add(struct tcb_space *space, const struct tcb_geometry *geometry, struct tcb_error *err)
{
	struct tcb_geometry *grown = realloc(space->geometries, (space->count + 1) * sizeof(*grown));
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for a space of more than %zu geometries", space->count);
	space->geometries = grown;
	space->geometries[space->count++] = *geometry;
	return TCB_OK;
}

/* Position of GEOMETRY in the raw product, or UINT64_MAX if the axes do not reach it. */
static uint64_t rank_of(const struct tcb_space *space, const struct tcb_geometry *geometry)
{
	uint64_t rank = 0;
	for (size_t a = 0; a < space->axis_count; a++) {
		const struct tcb_axis *axis = &space->axes[a];
		int64_t value = tcb_field_get(axis_field(axis), geometry);
		size_t position = 0;
		while (position < axis->count && axis->values[position] != value)
			position++;
		if (position == axis->count)
			return UINT64_MAX;
		rank = rank * axis->count + position;
	}
	return rank;
}

size_t tcb_space_find(const struct tcb_space *space, const struct tcb_geometry *geometry)
{
	const uint64_t rank = rank_of(space, geometry);
	size_t low = 0, high = rank == UINT64_MAX ? 0 : space->ordered;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rank_of(space, &space->geometries[middle]) < rank)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < space->ordered && tcb_geometry_equal(&space->geometries[low], geometry))
		return low;
	for (size_t i = space->ordered; i < space->count; i++)
		if (tcb_geometry_equal(&space->geometries[i], geometry))
			return i;
	return SIZE_MAX;
}

static int is_among(const struct tcb_geometry *geometry, const struct tcb_geometry *only, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tcb_geometry_equal(geometry, &only[i]))
			return 1;
	return 0;
}

void tcb_space_keep(struct tcb_space *space, const struct tcb_geometry *only, size_t count)
{
	size_t kept = 0, ordered = 0, default_index = 0;
	for (size_t i = 0; i < space->count; i++) {
		if (i != space->default_index && !is_among(&space->geometries[i], only, count))
			continue;
		ordered += i < space->ordered;
		if (i == space->default_index)
			default_index = kept;
		space->geometries[kept++] = space->geometries[i];
	}
	space->count = kept;
	space->ordered = ordered;
	space->default_index = default_index;
}
