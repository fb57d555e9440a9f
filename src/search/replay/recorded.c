/* SPDX-License-Identifier: MIT
 *
 * Our own trials as a recorded space.  Screening is what a strategy is told in
 * a sweep, so its median is the value, and that of the finals only where there
 * is no other.
 */
#include "search/replay/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a trial, beside its timed calls: compiling, verifying and warming up.  What version 3 of the database stores of it
 * counts where it is known; before, a sweep of 4,985 candidates of a matmul on an H200 took 200 s. */
static const double TRIAL_NS = 40e6;

enum tcb_status tcb_recorded_alloc(struct tcb_recorded *recorded, size_t count, const char *name, struct tcb_error *err)
{
	*recorded = (struct tcb_recorded){ .start = TCB_ASK_NONE };
	(void)snprintf(recorded->name, sizeof recorded->name, "%s", name);
	recorded->value = calloc(count + 1, sizeof *recorded->value);
	recorded->price = calloc(count + 1, sizeof *recorded->price);
	if (recorded->value && recorded->price)
		return TCB_OK;
	tcb_recorded_fini(recorded);
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu recorded candidates", count);
}

void tcb_recorded_fini(struct tcb_recorded *recorded)
{
	free(recorded->value);
	free(recorded->price);
	free(recorded->geometries);
	for (size_t i = 0; recorded->names.parameter && i < recorded->names.fields; i++)
		free(recorded->names.parameter[i]);
	for (size_t i = 0; i < recorded->names.word_count; i++)
		free(recorded->names.word[i]);
	free(recorded->names.parameter);
	free(recorded->names.value);
	free(recorded->names.is_word);
	free(recorded->names.word);
	tcb_lattice_fini(&recorded->lattice);
	*recorded = (struct tcb_recorded){ 0 };
}

static const char *recorded_name(const void *ctx, size_t field, char room[TCB_NAMED_ROOM])
{
	(void)room;
	return ((const struct tcb_recorded_names *)ctx)->parameter[field];
}

static struct tcb_named_value recorded_value(const void *ctx, size_t index, size_t field)
{
	const struct tcb_recorded_names *names = ctx;
	const size_t at = index * names->fields + field;
	return (struct tcb_named_value){ .number = names->value[at],
					 .word = names->is_word[at] ? names->word[(size_t)names->value[at]] : NULL };
}

struct tcb_named_space tcb_recorded_named(const struct tcb_recorded *recorded)
{
	const size_t count = recorded->lattice.count;
	if (recorded->geometries)
		return tcb_named_geometries(recorded->geometries, count);
	return (struct tcb_named_space){ count, recorded->names.fields, recorded_name, recorded_value,
					 &recorded->names };
}

static double value_of(const struct tcb_trial *trial, enum tcb_state state)
{
	double value[TCB_STAGE_COUNT] = { INFINITY, INFINITY };
	for (size_t i = 0; i < trial->measurement_count; i++) {
		const struct tcb_measurement *m = &trial->measurements[i];
		if (m->state == state && m->ns.median > 0)
			value[m->stage] = m->ns.median;
	}
	if (trial->outcome != TCB_OUTCOME_OK)
		return INFINITY;
	return value[TCB_STAGE_SCREEN] < INFINITY ? value[TCB_STAGE_SCREEN] : value[TCB_STAGE_FINAL];
}

static double price_of(const struct tcb_trial *trial)
{
	const int is_known = trial->prepare_ns > 0 || trial->verify_ns > 0;
	double price = is_known ? fmax(trial->prepare_ns, 0) + fmax(trial->verify_ns, 0) : TRIAL_NS;
	for (size_t i = 0; i < trial->measurement_count; i++)
		if (trial->measurements[i].stage == TCB_STAGE_SCREEN)
			for (size_t k = 0; k < trial->measurements[i].sample_count; k++)
				price += isfinite(trial->measurements[i].samples[k]) ? trial->measurements[i].samples[k]
										     : 0;
	return price;
}

static enum tcb_status make_lattice(struct tcb_recorded *out, const struct tcb_trial *trials, size_t count,
				    struct tcb_error *err)
{
	out->geometries = malloc(count * sizeof *out->geometries + 1);
	if (!out->geometries)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu geometries", count);
	for (size_t i = 0; i < count; i++)
		out->geometries[i] = trials[i].geometry;
	return tcb_lattice_of_geometries(&out->lattice, out->geometries, count, err);
}

enum tcb_status tcb_recorded_trials(const struct tcb_trial *trials, size_t count, enum tcb_state state,
				    const char *name, struct tcb_recorded *out, struct tcb_error *err)
{
	TCB_TRY(tcb_recorded_alloc(out, count, name, err));
	for (size_t i = 0; i < count; i++) {
		out->value[i] = value_of(&trials[i], state);
		out->price[i] = price_of(&trials[i]);
		out->valid += out->value[i] < INFINITY;
	}
	enum tcb_status status = make_lattice(out, trials, count, err);
	if (status != TCB_OK)
		tcb_recorded_fini(out);
	return status;
}
