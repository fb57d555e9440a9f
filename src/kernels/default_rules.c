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
#include <string.h>

#include "base/cpu_isas.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "kernels/defaults/default_place.h"
#include "kernels/defaults/learned.h"

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

static int apply(const char *form, const struct tcb_problem *problem, const struct tcb_target *target, int mends,
		 struct tcb_geometry *out)
{
	struct tcb_default_place place;
	tcb_fields whole;
	tcb_default_place_init(&place, problem, target);
	return tcb_default_fill_in(form, &place, out, &whole) && tcb_default_settle(&place, target, whole, mends, out);
}

int tcb_default_apply(const char *form, const struct tcb_problem *problem, const struct tcb_target *target,
		      struct tcb_geometry *out)
{
	return apply(form, problem, target, 1, out);
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
static int settle_dealt(const struct tcb_default_place *place, const struct tcb_target *target, tcb_fields whole,
			const struct tcb_geometry *dealt, struct tcb_geometry *out)
{
	const struct tcb_tile *midi = &dealt->tile[TCB_MIDI], *micro = &dealt->tile[TCB_MICRO];
	double least = INFINITY;
	for (unsigned halvings = 0; halvings <= HALVINGS; halvings++)
		for (unsigned of_n = 0; of_n <= halvings; of_n++) {
			struct tcb_geometry trial = *dealt;
			trial.tile[TCB_MIDI].m = tcb_most(midi->m >> (halvings - of_n), micro->m);
			trial.tile[TCB_MIDI].n = tcb_most(midi->n >> of_n, micro->n);
			if (!tcb_default_settle(place, target, whole, 1, &trial))
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
	struct tcb_default_place place;
	struct tcb_geometry dealt;
	tcb_fields whole;
	tcb_default_place_init(&place, problem, target);
	if (!tcb_default_fill_in(form, &place, &dealt, &whole))
		return 0;
	const struct tcb_tile *standard = &place.standard.tile[TCB_MACRO], *micro = &dealt.tile[TCB_MICRO];
	struct tcb_tile *macro = &dealt.tile[TCB_MACRO], *midi = &dealt.tile[TCB_MIDI];
	cut(problem->shape.m, standard->m, micro->m, &macro->m, &midi->m);
	cut(problem->shape.n, standard->n, micro->n, &macro->n, &midi->n);
	dealt.knob[TCB_KNOB_THREADS] = place.standard.knob[TCB_KNOB_THREADS];
	dealt.knob[TCB_KNOB_SCHED] = place.standard.knob[TCB_KNOB_SCHED];
	return settle_dealt(&place, target, whole & ~of_midi, &dealt, out);
}

/* Where it does not MEND, rows that are not legal as they are do not hold. */
static const struct tcb_default_rule *by_rule(const struct tcb_problem *problem, const struct tcb_target *target,
					      int mends, struct tcb_geometry *out)
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
			    ? apply(row->geometry, problem, &within, mends, out)
			    : apply_dealt(row->geometry, problem, &within, out))
			return rule;
	}
	tcb_geometry_init(out);
	tcb_op_standard(problem, target, out);
	return NULL;
}

const struct tcb_default_rule *tcb_default_by_rule(const struct tcb_problem *problem, const struct tcb_target *target,
						   struct tcb_geometry *out)
{
	return by_rule(problem, target, 1, out);
}

struct tcb_default_source tcb_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
					       struct tcb_geometry *out)
{
	struct tcb_default_source source = { 0 };
	struct tcb_geometry other;
	if (tcb_learned_has(problem, target)) {
		(void)by_rule(problem, target, 0, &other);
		source.learned = tcb_learned_geometry(problem, target, &other, out);
	}
	if (!source.learned)
		source.rule = tcb_default_by_rule(problem, target, out);
	return source;
}
