/* SPDX-License-Identifier: MIT
 *
 * A hearing comes in, a verdict or none yet goes out.  A row of the table is a way in
 * which the next call differs from the one before it.
 */
#include "judge/checks.h"

#include <math.h>
#include <stdio.h>

#include "base/sizes.h"

enum { CHECK_SLOTS = 6, SLOW_SLOTS = 2, CHANGES = 4 };
/* The most that may be allowed where an answer without inputs would pass: as a share of how values vary, and as many of
 * the type's smallest differences. */
static const double OF_DEVIATION = 0.01, OF_EPSILON = 8;

static size_t slots_of(const struct tcb_hearing *hearing, uint32_t slots[CHECK_SLOTS])
{
	const size_t count = tcb_least(hearing->slots.count, CHECK_SLOTS);

	for (size_t i = 0; i < count; i++)
		slots[i] = (uint32_t)i;
	return count;
}

static void shuffle(struct tcb_rng *rng, uint32_t *slots, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		const size_t other = tcb_rng_below(rng, i);
		const uint32_t kept = slots[i - 1];

		slots[i - 1] = slots[other];
		slots[other] = kept;
	}
}

static enum tcb_status draw_all(struct tcb_hearing *hearing, enum tcb_values_kind kind, const uint32_t *slots,
				size_t count, struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++)
		TCB_TRY(tcb_hearing_draw(hearing, kind, slots[i], err));
	return TCB_OK;
}

/* The judged kernel beside the standard, on inputs that are there. */
static void try_calls(struct tcb_hearing *hearing, const uint32_t *slots, size_t count, const struct tcb_charge *charge)
{
	double ns;

	if (tcb_hearing_run(hearing, hearing->standard, slots, count, &ns) == 0 &&
	    tcb_hearing_run(hearing, TCB_SEAT_JUDGED, slots, count, &ns) == 0)
		(void)tcb_hearing_compare(hearing, TCB_SEAT_JUDGED, slots, count, charge);
}

/* --- what answers could be without inputs --- */

/* Would output I of each slot pass that is 0, the mean of them, or that of the slot before? */
static int is_guessed(const struct tcb_hearing *hearing, size_t i, const void *const *values, size_t count, double mean)
{
	const struct tcb_file_argument *argument = hearing->argument[i];
	const struct tcb_values_bound *bound = &hearing->tolerance[i];
	int zeros = 1, means = 1, others = 1;

	for (size_t s = 0; s < count; s++) {
		struct tcb_values_miss miss;

		zeros &= tcb_values_passes(argument, bound, 0, values[s], hearing->elements[i]);
		means &= tcb_values_passes(argument, bound, mean, values[s], hearing->elements[i]);
		tcb_values_compare(argument, bound, values[(s + 1) % count], values[s], hearing->elements[i], &miss);
		others &= miss.wrong == 0;
	}
	return zeros || means || others;
}

/* -1: output I hardly depends on the inputs; else 0, and its tolerance is narrow enough. */
static int survey_output(struct tcb_hearing *hearing, size_t i, const uint32_t *slots, size_t count)
{
	const struct tcb_file_argument *argument = hearing->argument[i];
	const void *values[CHECK_SLOTS];
	struct tcb_values_spread spread;

	for (size_t s = 0; s < count; s++)
		values[s] = tcb_hearing_output(hearing, TCB_SEAT_RIGHT, slots[s], i);
	tcb_values_spread(argument, values, count, hearing->elements[i], &spread);
	if (spread.not_finite)
		tcb_ruling_find(hearing->verdict, TCB_RULING_UNDECIDED, "reference",
				"the reference has %zu values in output %s that are not finite", spread.not_finite,
				hearing->operand[i].name);
	if (!is_guessed(hearing, i, values, count, spread.mean))
		return 0;
	hearing->tolerance[i].most =
		fmax(OF_DEVIATION * spread.deviation, OF_EPSILON * tcb_values_epsilon(argument) * spread.rms);
	if (is_guessed(hearing, i, values, count, spread.mean))
		return -1;
	tcb_ruling_note(hearing->verdict,
			"the tolerance of output %s would let an answer pass that does not depend on the inputs; %.3g "
			"is allowed instead",
			hearing->operand[i].name, hearing->tolerance[i].most);
	return 0;
}

static int has_random_input(const struct tcb_hearing *hearing)
{
	for (size_t i = 0; i < hearing->operand_count; i++)
		if (hearing->operand[i].role != TCB_ROLE_OUTPUT && hearing->argument[i]->fill == TCB_FILE_RANDOM)
			return 1;
	return 0;
}

/* The rival on inputs that who says what is right has answered, RIGHT_NS a call; where that is long, the rival is the
 * standard from now on. */
static void check_rival(struct tcb_hearing *hearing, const uint32_t *slots, size_t count, double right_ns)
{
	static const struct tcb_charge charge = { TCB_RULING_UNDECIDED, "reference", "" };
	double ns;

	if (tcb_ruling_stands(hearing->verdict) && tcb_hearing_rival(hearing) == TCB_SEAT_RIVAL &&
	    tcb_hearing_run(hearing, TCB_SEAT_RIVAL, slots, count, &ns) == 0 &&
	    tcb_hearing_compare(hearing, TCB_SEAT_RIVAL, slots, count, &charge) == 0)
		tcb_hearing_hurry(hearing, right_ns);
}

enum tcb_status tcb_checks_survey(struct tcb_hearing *hearing, struct tcb_error *err)
{
	uint32_t slots[CHECK_SLOTS];
	size_t count = slots_of(hearing, slots), outputs = 0, constant = 0;
	double ns, right_ns;

	if (!has_random_input(hearing))
		tcb_ruling_find(hearing->verdict, TCB_RULING_UNDECIDED, "constant",
				"no input is random (FillType Random): a stored answer cannot be told from a computed "
				"one");
	if (!tcb_ruling_stands(hearing->verdict))
		return TCB_OK;
	TCB_TRY(draw_all(hearing, TCB_VALUES_ANY, slots, count, err));
	if (tcb_hearing_run(hearing, TCB_SEAT_RIGHT, slots, 1, &right_ns) != 0)
		return TCB_OK;
	if (tcb_hearing_is_slow(right_ns))
		count = SLOW_SLOTS;
	if (tcb_hearing_run(hearing, TCB_SEAT_RIGHT, slots + 1, count - 1, &ns) != 0)
		return TCB_OK;
	for (size_t i = 0; i < hearing->operand_count; i++) {
		if (hearing->operand[i].role != TCB_ROLE_OUTPUT)
			continue;
		outputs++;
		if (survey_output(hearing, i, slots, count) != 0) {
			constant++;
			tcb_ruling_note(hearing->verdict,
					"the reference's output %s hardly depends on the inputs: whether it is "
					"computed cannot be told",
					hearing->operand[i].name);
		}
	}
	if (constant == outputs)
		tcb_ruling_find(hearing->verdict, TCB_RULING_UNDECIDED, "constant",
				"the reference's outputs hardly depend on the inputs: whether they are computed cannot "
				"be told");
	check_rival(hearing, slots, count, right_ns);
	return TCB_OK;
}

/* --- the table --- */

static enum tcb_status try_new_values(struct tcb_hearing *hearing, const struct tcb_charge *charge,
				      struct tcb_error *err)
{
	TCB_TRY(tcb_hearing_draw(hearing, TCB_VALUES_ANY, 0, err));
	try_calls(hearing, (uint32_t[]){ 0 }, 1, charge);
	return TCB_OK;
}

static enum tcb_status try_other_place(struct tcb_hearing *hearing, const struct tcb_charge *charge,
				       struct tcb_error *err)
{
	(void)err;
	tcb_hearing_copy(hearing, 0, 1);
	try_calls(hearing, (uint32_t[]){ 1 }, 1, charge);
	return TCB_OK;
}

static enum tcb_status try_again(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err)
{
	(void)err;
	try_calls(hearing, (uint32_t[]){ 1 }, 1, charge);
	return TCB_OK;
}

static enum tcb_status try_changes(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err)
{
	(void)err;
	for (int i = 0; i < CHANGES && tcb_ruling_stands(hearing->verdict); i++) {
		tcb_hearing_change(hearing, 1);
		try_calls(hearing, (uint32_t[]){ 1 }, 1, charge);
	}
	return TCB_OK;
}

/* Some calls one after the other in any order; slots without a call stay as they are. */
static enum tcb_status try_batch(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err)
{
	uint32_t slots[CHECK_SLOTS];
	const size_t count = slots_of(hearing, slots), half = (count + 1) / 2;
	double ns;

	shuffle(&hearing->rng, slots, count);
	TCB_TRY(draw_all(hearing, TCB_VALUES_ANY, slots, count, err));
	if (tcb_hearing_run(hearing, hearing->standard, slots, half, &ns) != 0)
		return TCB_OK;
	tcb_hearing_poison(hearing, TCB_SEAT_JUDGED, slots, count);
	if (tcb_hearing_call(hearing, TCB_SEAT_JUDGED, slots, half, &ns) != 0 ||
	    tcb_hearing_compare(hearing, TCB_SEAT_JUDGED, slots, half, charge) != 0)
		return TCB_OK;
	for (size_t s = half; s < count; s++)
		for (size_t i = 0; i < hearing->operand_count; i++)
			if (hearing->operand[i].role == TCB_ROLE_OUTPUT &&
			    tcb_values_left(hearing->poison[i],
					    tcb_hearing_output(hearing, TCB_SEAT_JUDGED, slots[s], i),
					    hearing->operand[i].bytes) != hearing->operand[i].bytes)
				tcb_ruling_find(hearing->verdict, TCB_RULING_CHEATS, "ahead",
						"it writes to output %s of a call that was not asked for",
						hearing->operand[i].name);
	return TCB_OK;
}

static enum tcb_status try_kind(struct tcb_hearing *hearing, enum tcb_values_kind kind, const struct tcb_charge *charge,
				struct tcb_error *err)
{
	TCB_TRY(tcb_hearing_draw(hearing, kind, 0, err));
	try_calls(hearing, (uint32_t[]){ 0 }, 1, charge);
	return TCB_OK;
}

static enum tcb_status try_sparse(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err)
{
	return try_kind(hearing, TCB_VALUES_SPARSE, charge, err);
}

static enum tcb_status try_positive(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err)
{
	return try_kind(hearing, TCB_VALUES_POSITIVE, charge, err);
}

/* In this order: each begins with what the one before has left. */
static const struct check {
	const char *name, *text;
	enum tcb_status (*run)(struct tcb_hearing *hearing, const struct tcb_charge *charge, struct tcb_error *err);
	struct tcb_charge charge;
} checks[] = {
	{ "values",
	  "values that it has not seen",
	  try_new_values,
	  { TCB_RULING_WRONG, "values", "at its first call" } },
	{ "same-place",
	  "other values in the same place",
	  try_new_values,
	  { TCB_RULING_CHEATS, "cached", "when other values stand in the same place" } },
	{ "other-place",
	  "the same values in another place",
	  try_other_place,
	  { TCB_RULING_CHEATS, "cached", "when the same values stand in another place" } },
	{ "again",
	  "the same call once more, its output poisoned",
	  try_again,
	  { TCB_RULING_CHEATS, "cached", "when the same call is made again" } },
	{ "one-element",
	  "one element of each input changed",
	  try_changes,
	  { TCB_RULING_CHEATS, "cached", "when one element of each input has changed" } },
	{ "batch",
	  "some of several calls in any order",
	  try_batch,
	  { TCB_RULING_CHEATS, "cached", "in calls one after the other" } },
	{ "sparse",
	  "inputs most of which are small",
	  try_sparse,
	  { TCB_RULING_WRONG, "values", "when most of the inputs are small" } },
	{ "positive",
	  "inputs none of which is negative",
	  try_positive,
	  { TCB_RULING_WRONG, "values", "when no input is negative" } },
};

static void size_text(const struct tcb_hearing *hearing, char *out, size_t capacity)
{
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&hearing->problem.shape, shape);
	snprintf(out, capacity, "at size %s", shape);
}

enum tcb_status tcb_checks_run(struct tcb_hearing *hearing, int is_main, struct tcb_error *err)
{
	char where[TCB_SHAPE_TEXT_MAX + 16];
	const struct tcb_charge elsewhere = { TCB_RULING_WRONG, "size", where };

	size_text(hearing, where, sizeof where);
	if (!is_main) {
		double ns;

		TCB_TRY(tcb_hearing_draw(hearing, TCB_VALUES_ANY, 0, err));
		if (tcb_hearing_run(hearing, TCB_SEAT_RIGHT, (uint32_t[]){ 0 }, 1, &ns) == 0)
			check_rival(hearing, (uint32_t[]){ 0 }, 1, ns);
	}
	hearing->verdict->sizes++;
	for (size_t i = 0; i < sizeof checks / sizeof *checks && tcb_ruling_stands(hearing->verdict); i++) {
		TCB_TRY(checks[i].run(hearing, is_main || i ? &checks[i].charge : &elsewhere, err));
		if (is_main)
			tcb_ruling_tried(hearing->verdict, checks[i].name, "%s", checks[i].text);
	}
	if (!is_main)
		tcb_ruling_tried(hearing->verdict, "size", "all of it at another size, %s", where + 8);
	return TCB_OK;
}
