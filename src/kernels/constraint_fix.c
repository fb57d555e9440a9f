/* SPDX-License-Identifier: MIT
 *
 * What a geometry violates, and the nearest legal change: an illegal candidate
 * comes in; the geometry with one number changed, or with the tile and knobs of
 * another compiled variant, that satisfies every constraint and is closest goes
 * out.  By trial: values worth trying are few, and every suggestion has been
 * checked.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/constraint.h"

enum { VALUES_MAX = 192 };

struct values {
	size_t count;
	int64_t value[VALUES_MAX];
};

static void add_value(struct values *values, int64_t value)
{
	if (values->count < VALUES_MAX)
		values->value[values->count++] = value;
}

static void add_tile_values(struct values *values, const struct tcb_candidate *c, struct tcb_field field)
{
	const struct tcb_shape *shape = &c->problem->shape;
	const size_t dims[3] = { shape->m, shape->n, shape->k ? shape->k : 1 };
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		add_value(values, tcb_field_get((struct tcb_field){ field.kind, level }, c->geometry));
	add_value(values, (int64_t)dims[field.kind]);
	for (int64_t power = 1; power < INT64_MAX / 2; power *= 2)
		add_value(values, power);
}

static void add_knob_values(struct values *values, const struct tcb_candidate *c, int knob)
{
	if (tcb_geometry_word(c->geometry, knob, 0)) {
		for (int32_t word = 0; tcb_geometry_word(c->geometry, knob, word); word++)
			add_value(values, word);
		return;
	}
	for (int64_t power = 1; power <= 1 << 20; power *= 2)
		add_value(values, power);
	add_value(values, 0);
	if (knob == TCB_KNOB_THREADS)
		add_value(values, c->target->threads);
}

static int is_legal(const struct tcb_candidate *c, const struct tcb_geometry *geometry)
{
	struct tcb_candidate other = { c->op, c->problem, c->target, geometry, { 0 }, c->any_size, 0, 0, 0 };
	return !tcb_constraint_first(&other, NULL);
}

/* Doublings between two numbers; words are all one step apart. */
static double distance(const struct tcb_candidate *c, struct tcb_field field, int64_t from, int64_t to)
{
	if (field.kind == TCB_AXIS_KNOB && tcb_geometry_word(c->geometry, field.which, 0))
		return 1;
	return fabs(log2((double)(from < 1 ? 0.5 : (double)from)) - log2((double)(to < 1 ? 0.5 : (double)to)));
}

static void print_change(const struct tcb_geometry *from, const struct tcb_geometry *to, char text[TCB_WHY_MAX])
{
	static const char dims[3] = { 'm', 'n', 'k' };
	size_t used = 0;
	text[0] = '\0';
	for (unsigned bit = 0; bit < TCB_FIELDS_MAX; bit++) {
		struct tcb_field field = tcb_field_at(bit);
		int64_t value = tcb_field_get(field, to);
		if (value == tcb_field_get(field, from))
			continue;
		const char *comma = used ? "," : "";
		const char *word =
			field.kind == TCB_AXIS_KNOB ? tcb_geometry_word(to, field.which, (int32_t)value) : NULL;
		int length;
		if (word)
			length = snprintf(text + used, TCB_WHY_MAX - used, "%s%s=%s", comma,
					  tcb_geometry_key(to, field.which), word);
		else if (field.kind == TCB_AXIS_KNOB)
			length = snprintf(text + used, TCB_WHY_MAX - used, "%s%s=%lld", comma,
					  tcb_geometry_key(to, field.which), (long long)value);
		else
			length = snprintf(text + used, TCB_WHY_MAX - used, "%s%s.%c=%lld", comma,
					  tcb_level_text((enum tcb_level)field.which), dims[field.kind],
					  (long long)value);
		used += (size_t)length;
	}
}

/* The best change of a single number: fewest doublings, fields of PREFERRED first. */
static double fix_one_field(const struct tcb_candidate *c, tcb_fields preferred, struct tcb_geometry *fixed_out)
{
	const double elsewhere = 64; /* more than any distance */
	double best = INFINITY;
	struct tcb_axis axes[TCB_AXES_MAX];
	size_t axis_count = tcb_space_of(c->problem, c->target, c->geometry)->axes(c->problem, c->target, axes);
	for (unsigned bit = 0; bit < TCB_FIELDS_MAX; bit++) {
		struct tcb_field field = tcb_field_at(bit);
		int64_t old = tcb_field_get(field, c->geometry);
		if (field.kind == TCB_AXIS_KNOB && old == TCB_KNOB_UNSET)
			continue;
		struct values values = { 0 };
		for (size_t a = 0; a < axis_count; a++) {
			for (size_t v = 0;
			     axes[a].kind == field.kind && axes[a].which == field.which && v < axes[a].count; v++)
				add_value(&values, axes[a].values[v]);
		}
		if (field.kind == TCB_AXIS_KNOB)
			add_knob_values(&values, c, field.which);
		else
			add_tile_values(&values, c, field);
		for (size_t v = 0; v < values.count; v++) {
			double cost = distance(c, field, old, values.value[v]) +
				      ((preferred >> bit) & 1u || !preferred ? 0 : elsewhere);
			if (values.value[v] == old || cost >= best)
				continue;
			struct tcb_geometry trial = *c->geometry;
			tcb_field_set(field, values.value[v], &trial);
			if (!is_legal(c, &trial))
				continue;
			best = cost;
			*fixed_out = trial;
		}
	}
	return best;
}

/* The nearest compiled variant: isa, layout, unroll and micro tile together. */
static double fix_variant(const struct tcb_candidate *c, struct tcb_geometry *fixed_out)
{
	double best = INFINITY;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(c->op), i)) != NULL; i++) {
		struct tcb_geometry trial = *c->geometry;
		trial.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
		if (trial.knob[TCB_KNOB_LAYOUT] != TCB_KNOB_UNSET || variant->layout != TCB_LAYOUT_NATIVE)
			trial.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
		if (trial.knob[TCB_KNOB_UNROLL] != TCB_KNOB_UNSET || variant->unroll != 1)
			trial.knob[TCB_KNOB_UNROLL] = variant->unroll;
		trial.tile[TCB_MICRO].m = variant->micro.m;
		trial.tile[TCB_MICRO].n = variant->micro.n;
		double cost = 0;
		for (unsigned bit = 0; bit < TCB_FIELDS_MAX; bit++) {
			struct tcb_field field = tcb_field_at(bit);
			int64_t from = tcb_field_get(field, c->geometry), to = tcb_field_get(field, &trial);
			if (from != to)
				cost += 1 + distance(c, field, from, to);
		}
		if (cost >= best || !is_legal(c, &trial))
			continue;
		best = cost;
		*fixed_out = trial;
	}
	return best;
}

/* The smallest change of the candidate that is legal: FIXED and its text ("midi.n=64"), or -1.  The fields of PREFERRED
 * are changed rather than others. */
static int find_fix(const struct tcb_candidate *candidate, tcb_fields preferred, struct tcb_geometry *fixed_out,
		    char text[TCB_WHY_MAX])
{
	if (isinf(fix_one_field(candidate, preferred, fixed_out)) && isinf(fix_variant(candidate, fixed_out)))
		return -1;
	print_change(candidate->geometry, fixed_out, text);
	return 0;
}

static int default_is_legal(const struct tcb_candidate *c)
{
	struct tcb_geometry standard;
	tcb_geometry_init(&standard);
	tcb_op_standard(c->problem, c->target, &standard);
	return is_legal(c, &standard);
}

const struct tcb_constraint *tcb_constraint_violated(const struct tcb_op *op, const struct tcb_problem *problem,
						     const struct tcb_target *target,
						     const struct tcb_geometry *geometry, int any_size,
						     char why[TCB_WHY_MAX])
{
	struct tcb_candidate candidate = { op, problem, target, geometry, { 0 }, any_size, 0, 0, 0 };
	char reason[TCB_WHY_MAX], fix[TCB_WHY_MAX];
	struct tcb_geometry fixed;
	const struct tcb_constraint *broken = tcb_constraint_first(&candidate, why ? reason : NULL);
	if (!broken || !why)
		return broken;
	int length = snprintf(why, TCB_WHY_MAX, "%s %s: %.180s", broken->id, broken->title, reason);
	if (!tcb_op_side(op, target))
		return broken;
	if (find_fix(&candidate, broken->reads, &fixed, fix) == 0)
		snprintf(why + length, TCB_WHY_MAX - (size_t)length, "; nearest legal: %s", fix);
	else
		snprintf(why + length, TCB_WHY_MAX - (size_t)length, "; no small change is legal%s",
			 default_is_legal(&candidate) ? ", start from the default geometry" : "");
	return broken;
}
