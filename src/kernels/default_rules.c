/* SPDX-License-Identifier: MIT
 *
 * A problem and a target to the default geometry: finds the rule, the row, and
 * puts the shape's numbers in the place of the row's letters.  A rule that was
 * measured with one thread serves other numbers of them, too: the op's own
 * default says how the work is dealt, the row how each does its part.  An op may
 * take the rules of another (struct tcb_op, rules_of), and a CPU those of the
 * families that its own one contains.
 */
#include "kernels/default_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu_isas.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "kernels/constraint.h"

static const struct tcb_default_rule *const tables[] = { tcb_defaults_sm_90, tcb_defaults_x86_64_avx512vnni,
							 tcb_defaults_x86_64_amx };

const struct tcb_default_rule *tcb_default_rule_at(size_t index)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct tcb_default_rule *rule = tables[t]; rule->op; rule++)
			if (index-- == 0)
				return rule;
	return NULL;
}

void tcb_target_arch(const struct tcb_target *target, char out[TCB_ARCH_TEXT_MAX])
{
	tcb_kind_of(target)->name_arch(target, out, TCB_ARCH_TEXT_MAX);
}

/* Takes the widest family away from a CPU, and those that contain it; 0 where only one is left. */
static int narrow(struct tcb_target *target)
{
	const enum tcb_isa widest = tcb_cpu_isa_widest(target->isa_mask);
	if (tcb_kind_of(target)->is_emitted || widest == TCB_ISA_SCALAR)
		return 0;
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_cpu_isa_within((enum tcb_isa)isa) >> widest & 1)
			target->isa_mask &= ~(1u << isa);
	return 1;
}

static int is_near(const struct tcb_default_rule *rule, const struct tcb_shape *shape)
{
	return shape->m >= rule->least.m && shape->m <= rule->most.m && shape->n >= rule->least.n &&
	       shape->n <= rule->most.n && shape->k >= rule->least.k && shape->k <= rule->most.k;
}

/* The rule of the op NAME. */
static const struct tcb_default_rule *find(const char *name, const struct tcb_problem *problem,
					   const struct tcb_target *target)
{
	char arch[TCB_ARCH_TEXT_MAX];
	const struct tcb_default_rule *rule;
	const struct tcb_default_rule *found = NULL;
	tcb_target_arch(target, arch);
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++) {
		const int is_exact = !tcb_kind_of(target)->has_threads || rule->threads == target->threads;
		if (!strcmp(rule->op, name) && rule->contract == problem->contract && !strcmp(rule->arch, arch) &&
		    (is_exact || (!found && rule->threads == 1)))
			found = rule;
		if (found == rule && is_exact)
			break;
	}
	return found && is_near(found, &problem->shape) ? found : NULL;
}

const struct tcb_default_rule *tcb_default_rule_find(const struct tcb_problem *problem, const struct tcb_target *target,
						     struct tcb_target *within)
{
	const struct tcb_side *side = tcb_op_side(problem->op, target);
	const struct tcb_default_rule *rule;
	*within = *target;
	if (side && tcb_space_of(problem, target, NULL) != side->space)
		return find(problem->op->other, problem, target);
	do {
		rule = find(problem->op_name, problem, within);
		if (!rule && problem->op->rules_of)
			rule = find(problem->op->rules_of, problem, within);
	} while (!rule && narrow(within));
	return rule;
}

int tcb_default_row_holds(const struct tcb_default_row *row, const struct tcb_shape *shape)
{
	return (!row->m || shape->m <= row->m) && (!row->n || shape->n <= row->n) && (!row->k || shape->k <= row->k) &&
	       (!row->mn || shape->m * shape->n <= row->mn);
}

/* The default space that a row's geometry is to be an element of. */
struct place {
	const struct tcb_problem *problem;
	struct tcb_axis axes[TCB_AXES_MAX];
	size_t axis_count;
	struct tcb_geometry standard; /* the op's own default: what has no axis is as there */
};

static void place_init(struct place *place, const struct tcb_problem *problem, const struct tcb_target *target)
{
	place->problem = problem;
	place->axis_count = tcb_space_of(problem, target, NULL)->axes(problem, target, place->axes);
	tcb_geometry_init(&place->standard);
	tcb_op_standard(problem, target, &place->standard);
}

static const struct tcb_axis *axis_of(const struct place *place, struct tcb_field field)
{
	for (size_t a = 0; a < place->axis_count; a++)
		if (place->axes[a].kind == field.kind && place->axes[a].which == field.which)
			return &place->axes[a];
	return NULL;
}

/* Numbers may be moved to the nearest of their axis; a word is one of it or not. */
static int is_number(const struct place *place, struct tcb_field field)
{
	return field.kind != TCB_AXIS_KNOB || !tcb_geometry_word(&place->standard, field.which, 0);
}

/* How far VALUE is from WANTED; of a tile that is to be as large as the shape those that are not are farther. */
static double distance(int64_t value, int64_t wanted, int is_whole)
{
	const double doublings = log2((double)value + 1) - log2((double)wanted + 1);
	return is_whole && doublings < 0 ? 64 - doublings : fabs(doublings);
}

/* The value of AXIS nearest to WANTED among the multiples of BELOW; WANTED if there is none. */
static int64_t nearest(const struct tcb_axis *axis, int64_t wanted, int is_whole, int64_t below)
{
	int64_t best = wanted;
	double least = INFINITY;
	for (size_t v = 0; v < axis->count; v++) {
		const double far = distance(axis->values[v], wanted, is_whole);
		if (far < least && axis->values[v] % below == 0) {
			best = axis->values[v];
			least = far;
		}
	}
	return best;
}

/* Moves the field into the space; 0 where that is a word. */
static int move_in(const struct place *place, struct tcb_field field, int is_whole, struct tcb_geometry *geometry)
{
	const struct tcb_axis *axis = axis_of(place, field);
	const int64_t value = tcb_field_get(field, geometry);
	struct tcb_field below = { field.kind, field.which + 1 };
	int64_t wanted = axis ? value : tcb_field_get(field, &place->standard);
	if (axis && value != TCB_KNOB_UNSET)
		wanted = nearest(axis, value, is_whole,
				 field.kind != TCB_AXIS_KNOB && field.which < TCB_MICRO ? tcb_field_get(below, geometry)
											: 1);
	tcb_field_set(field, wanted, geometry);
	return wanted == value || is_number(place, field);
}

/* Tiles from the smallest, since each is to be a multiple of the one below. */
static int move_all_in(const struct place *place, tcb_fields whole, struct tcb_geometry *geometry)
{
	for (int level = TCB_LEVEL_COUNT - 1; level >= 0; level--)
		for (int kind = TCB_AXIS_TILE_M; kind <= TCB_AXIS_TILE_K; kind++) {
			const struct tcb_field field = { (enum tcb_axis_kind)kind, level };
			if (!move_in(place, field, (whole & tcb_field_bit(field)) != 0, geometry))
				return 0;
		}
	for (int knob = 0; knob < tcb_geometry_knobs(&place->standard); knob++)
		if (!move_in(place, (struct tcb_field){ TCB_AXIS_KNOB, knob }, 0, geometry))
			return 0;
	return 1;
}

/* What LETTER stands for in a tile: M, N and K for the shape's size, * for what the op's own default has. */
static size_t number_of(const struct place *place, char letter, struct tcb_field field)
{
	const struct tcb_shape *shape = &place->problem->shape;
	if (letter == '*')
		return (size_t)tcb_field_get(field, &place->standard);
	return letter == 'M' ? shape->m : letter == 'N' ? shape->n : shape->k;
}

/* FORM with numbers for its letters; WHOLE_OUT: the fields that are to be as large as the shape. */
static int fill_in(const char *form, const struct place *place, struct tcb_geometry *out, tcb_fields *whole_out)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t used = 0;
	int level = -1, dim = 0; /* tiles come first, the largest before the others */
	*whole_out = 0;
	for (; *form && used + 24 < sizeof text; form++) {
		level += *form == '=';
		dim = *form == '=' ? 0 : dim + (*form == 'x');
		if (!strchr("MNK*", *form)) {
			text[used++] = *form;
			continue;
		}
		if (level < 0 || level >= TCB_LEVEL_COUNT || dim > 2)
			return 0;
		const struct tcb_field field = { (enum tcb_axis_kind)(TCB_AXIS_TILE_M + dim), level };
		if (*form != '*')
			*whole_out |= tcb_field_bit(field);
		used += (size_t)snprintf(text + used, sizeof text - used, "%zu", number_of(place, *form, field));
	}
	text[used] = '\0';
	return !*form && tcb_geometry_parse_of(text, place->problem->op->parameters, out, NULL) == TCB_OK;
}

static int is_legal(const struct place *place, const struct tcb_target *target, const struct tcb_geometry *geometry)
{
	struct tcb_candidate candidate = {
		.op = place->problem->op, .problem = place->problem, .target = target, .geometry = geometry
	};
	return !tcb_constraint_first(&candidate, NULL);
}

/* --- numbers that do not go with each other at another shape --- */

/* A number of an axis other than the geometry's, or another join. */
struct change {
	struct tcb_field field;
	int64_t value;
	double far;
};

enum { CHANGES_MAX = TCB_AXES_MAX * TCB_AXIS_VALUES_MAX };

static size_t list_changes(const struct place *place, const struct tcb_geometry *geometry,
			   struct change changes[CHANGES_MAX])
{
	size_t count = 0;
	for (size_t a = 0; a < place->axis_count; a++) {
		const struct tcb_axis *axis = &place->axes[a];
		const struct tcb_field field = { axis->kind, axis->which };
		const int64_t value = tcb_field_get(field, geometry);
		const int is_join = field.kind == TCB_AXIS_KNOB && field.which == TCB_KNOB_JOIN; /* goes with splitk */
		for (size_t v = 0; v < axis->count && (is_join || is_number(place, field)) && value != TCB_KNOB_UNSET;
		     v++)
			if (axis->values[v] != value && axis->values[v] != TCB_KNOB_UNSET)
				changes[count++] =
					(struct change){ field, axis->values[v], distance(axis->values[v], value, 0) };
	}
	return count;
}

/* GEOMETRY with the change of one number, or else of two, that makes it legal and is the smallest; 0: there is none.
 * So a split of k goes on to serve a k of which it is no divisor. */
static int mend(const struct place *place, const struct tcb_target *target, struct tcb_geometry *geometry)
{
	struct change changes[CHANGES_MAX];
	const size_t count = list_changes(place, geometry, changes);
	const struct tcb_geometry from = *geometry;
	double least = INFINITY;
	for (int two = 0; two < 2 && least == INFINITY; two++)
		for (size_t i = 0; i < count; i++)
			for (size_t j = two ? i + 1 : count; j <= count; j++) {
				struct tcb_geometry to = from;
				const double far = changes[i].far + (j < count ? changes[j].far : 0);
				if (far >= least || two != (j < count))
					continue;
				tcb_field_set(changes[i].field, changes[i].value, &to);
				if (j < count)
					tcb_field_set(changes[j].field, changes[j].value, &to);
				if (!is_legal(place, target, &to))
					continue;
				least = far;
				*geometry = to;
			}
	return least < INFINITY;
}

/* GEOMETRY moved into the space.  Rows that are not whole lines cannot be streamed; all else holds for them, too. */
static int settle(const struct place *place, const struct tcb_target *target, tcb_fields whole,
		  struct tcb_geometry *geometry)
{
	if (!move_all_in(place, whole, geometry))
		return 0;
	if (is_legal(place, target, geometry))
		return 1;
	if (geometry->knob[TCB_KNOB_STREAM] == 1) {
		geometry->knob[TCB_KNOB_STREAM] = 0;
		if (is_legal(place, target, geometry))
			return 1;
		geometry->knob[TCB_KNOB_STREAM] = 1;
	}
	return tcb_kind_of(target)->is_emitted && mend(place, target, geometry);
}

int tcb_default_apply(const char *form, const struct tcb_problem *problem, const struct tcb_target *target,
		      struct tcb_geometry *out)
{
	struct place place;
	tcb_fields whole;
	place_init(&place, problem, target);
	return fill_in(form, &place, out, &whole) && settle(&place, target, whole, out);
}

/* --- other numbers of threads --- */

enum {
	HALVINGS = 8,
	HALVING_COSTS = 10, /* percent of the largest part: smaller tasks are worth it where they make parts even */
};

/* SIZE is cut into as many parts as the standard's tile makes of it: MACRO becomes as large as one, MIDI no larger. */
static void cut(size_t size, size_t standard, size_t micro, size_t *macro, size_t *midi)
{
	const size_t parts = size && standard ? tcb_div_up(size, standard) : 1;
	if (parts < 2)
		return;
	*macro = tcb_round_up(tcb_div_up(size, parts), micro);
	*midi = tcb_least(*midi, *macro);
}

/* Of DEALT with midi tiles halved or not what makes the smallest parts; 0 where nothing is legal. */
static int settle_dealt(const struct place *place, const struct tcb_target *target, tcb_fields whole,
			const struct tcb_geometry *dealt, struct tcb_geometry *out)
{
	const struct tcb_tile *midi = &dealt->tile[TCB_MIDI], *micro = &dealt->tile[TCB_MICRO];
	double least = INFINITY;
	for (unsigned halvings = 0; halvings <= HALVINGS; halvings++)
		for (unsigned of_n = 0; of_n <= halvings; of_n++) {
			struct tcb_geometry trial = *dealt;
			trial.tile[TCB_MIDI].m = tcb_most(midi->m >> (halvings - of_n), micro->m);
			trial.tile[TCB_MIDI].n = tcb_most(midi->n >> of_n, micro->n);
			if (!settle(place, target, whole, &trial))
				continue;
			const double part = (double)trial.tile[TCB_MACRO].m * (double)trial.tile[TCB_MACRO].n;
			const double cost = part * (100 + HALVING_COSTS * halvings);
			if (cost >= least)
				continue;
			least = cost;
			*out = trial;
		}
	return isfinite(least);
}

/* FORM's, with the threads, the schedule and the parts of the op's own default; smaller tasks where they must be. */
static int apply_dealt(const char *form, const struct tcb_problem *problem, const struct tcb_target *target,
		       struct tcb_geometry *out)
{
	const tcb_fields of_midi = tcb_field_bit((struct tcb_field){ TCB_AXIS_TILE_M, TCB_MIDI }) |
				   tcb_field_bit((struct tcb_field){ TCB_AXIS_TILE_N, TCB_MIDI });
	struct place place;
	struct tcb_geometry dealt;
	tcb_fields whole;
	place_init(&place, problem, target);
	if (!fill_in(form, &place, &dealt, &whole))
		return 0;
	const struct tcb_tile *standard = &place.standard.tile[TCB_MACRO], *micro = &dealt.tile[TCB_MICRO];
	struct tcb_tile *macro = &dealt.tile[TCB_MACRO], *midi = &dealt.tile[TCB_MIDI];
	cut(problem->shape.m, standard->m, micro->m, &macro->m, &midi->m);
	cut(problem->shape.n, standard->n, micro->n, &macro->n, &midi->n);
	dealt.knob[TCB_KNOB_THREADS] = place.standard.knob[TCB_KNOB_THREADS];
	dealt.knob[TCB_KNOB_SCHED] = place.standard.knob[TCB_KNOB_SCHED];
	return settle_dealt(&place, target, whole & ~of_midi, &dealt, out);
}

const struct tcb_default_rule *tcb_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
						    struct tcb_geometry *out)
{
	struct tcb_target within;
	const struct tcb_default_rule *rule = tcb_default_rule_find(problem, target, &within);
	for (size_t i = 0; rule && i < rule->row_count; i++) {
		const struct tcb_default_row *row = &rule->rows[i];
		if (!tcb_default_row_holds(row, &problem->shape))
			continue;
		if (!row->geometry)
			break;
		if (!tcb_kind_of(target)->has_threads || rule->threads == target->threads
			    ? tcb_default_apply(row->geometry, problem, &within, out)
			    : apply_dealt(row->geometry, problem, &within, out))
			return rule;
	}
	tcb_geometry_init(out);
	tcb_op_standard(problem, target, out);
	return NULL;
}
