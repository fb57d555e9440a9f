/* SPDX-License-Identifier: MIT
 *
 * In: a tuning database.  Out: its GPU problems and their candidates in order.
 */
#include "stored.h"
#include "base/kind.h"
#include "kernels/signature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum tcb_status stored_gpu(const struct stored_problem *problem, struct tcb_gpu *out, struct tcb_error *err)
{
	unsigned capability = 0;
	struct tcb_gpu row;

	const enum tcb_status status = tcb_gpu_open(problem->device_name, 0, out, err);
	(void)tcb_gpu_parse(problem->device_name, &capability, NULL);
	if (status == TCB_OK && strcmp(out->device.model, problem->model) == 0)
		return TCB_OK;
	for (size_t i = 0; tcb_gpu_table_row(i, &row); i++) {
		if (strcmp(row.device.model, problem->model) != 0)
			continue;
		*out = row;
		return TCB_OK;
	}
	return capability ? tcb_gpu_table(capability, out, err) : status;
}

struct collecting {
	const struct stored_filter *filter;
	struct stored_problem *out;
	size_t count;
};

static int is_wanted(const struct stored_filter *filter, const struct tcb_best *best)
{
	const struct tcb_shape *shape = filter->shape;

	return tcb_kind_of(&best->target)->is_emitted && !best->modelled &&
	       (!filter->contract || strcmp(filter->contract, tcb_contract_text(best->problem.contract)) == 0) &&
	       (!shape || (shape->m == best->problem.shape.m && shape->n == best->problem.shape.n &&
			   shape->k == best->problem.shape.k));
}

static int is_same(const struct stored_problem *known, const struct tcb_best *best)
{
	const struct tcb_problem *a = &known->problem, *b = &best->problem;

	return strcmp(known->device_key, best->device_key) == 0 && strcmp(known->device_name, best->device_name) == 0 &&
	       known->threads == best->threads && strcmp(a->op_name, b->op_name) == 0 && a->contract == b->contract &&
	       a->shape.m == b->shape.m && a->shape.n == b->shape.n && a->shape.k == b->shape.k;
}

/* There is a row for each cache state. */
static int collect(void *ctx, const struct tcb_best *best)
{
	struct collecting *collecting = ctx;
	struct stored_problem *next = &collecting->out[collecting->count];
	const struct tcb_op *op = tcb_op_find(best->problem.op_name);

	if (!op || !tcb_op_gpu(op) || !is_wanted(collecting->filter, best))
		return 0;
	for (size_t i = 0; i < collecting->count; i++)
		if (is_same(&collecting->out[i], best))
			return 0;
	memset(next, 0, sizeof *next);
	next->op = op;
	next->problem = best->problem;
	next->problem.op = op;
	next->threads = best->threads;
	memcpy(next->device_name, best->device_name, sizeof next->device_name);
	memcpy(next->device_key, best->device_key, sizeof next->device_key);
	memcpy(next->model, best->model, sizeof next->model);
	return ++collecting->count == STORED_PROBLEMS_MAX;
}

enum tcb_status stored_problems(struct tcb_db *db, const struct stored_filter *filter,
				struct stored_problem out[STORED_PROBLEMS_MAX], size_t *count_out,
				struct tcb_error *err)
{
	struct collecting collecting = { .filter = filter, .out = out };
	struct tcb_best_filter rows = { filter->op, filter->device_name };

	TCB_TRY(tcb_db_best_each(db, &rows, collect, &collecting, err));
	*count_out = collecting.count;
	return TCB_OK;
}

/* The cold time of the finals, else of the screening; NAN if there is none. */
static double time_of(const struct tcb_trial *trial, int *is_final)
{
	double ns = NAN;

	*is_final = 0;
	for (size_t i = 0; i < trial->measurement_count; i++) {
		const struct tcb_measurement *measurement = &trial->measurements[i];
		int final = measurement->stage == TCB_STAGE_FINAL;
		if (measurement->state != TCB_COLD || (*is_final && !final))
			continue;
		*is_final = final;
		ns = measurement->ns.median;
	}
	return ns;
}

static int compare(const void *a, const void *b)
{
	const struct stored_candidate *x = a, *y = b;

	if (x->is_final != y->is_final)
		return y->is_final - x->is_final;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

enum tcb_status stored_candidates(struct tcb_db *db, const struct stored_problem *problem, enum stored_stale stale,
				  struct stored_list *out, struct tcb_error *err)
{
	struct tcb_device device = { .target.threads = problem->threads };
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_gpu gpu;

	memset(out, 0, sizeof *out);
	TCB_TRY(stored_gpu(problem, &gpu, err));
	memcpy(device.name, problem->device_name, sizeof device.name);
	memcpy(device.key, problem->device_key, sizeof device.key);
	TCB_TRY(tcb_db_trials(db, &device, &problem->problem, 0, &out->trials, &out->trial_count, err));
	out->candidates = calloc(out->trial_count + 1, sizeof *out->candidates);
	if (!out->candidates) {
		stored_list_fini(out);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for candidates");
	}
	for (size_t i = 0; i < out->trial_count; i++) {
		const struct tcb_trial *trial = &out->trials[i];
		struct stored_candidate *candidate = &out->candidates[out->count];
		const struct tcb_variant *variant =
			tcb_variant_find(problem->op, problem->problem.contract, &trial->geometry);
		candidate->trial = trial;
		candidate->ns = time_of(trial, &candidate->is_final);
		if (trial->outcome != TCB_OUTCOME_OK || isnan(candidate->ns))
			continue;
		const int is_stale = !tcb_candidate_is_current(&problem->problem, &gpu.device.target, &trial->geometry,
							       trial->signature, &packings);
		out->stale += is_stale != 0;
		out->count += variant && (!is_stale || stale == STORED_TAKE_STALE);
	}
	qsort(out->candidates, out->count, sizeof *out->candidates, compare);
	return TCB_OK;
}

void stored_list_fini(struct stored_list *list)
{
	free(list->candidates);
	tcb_db_trials_free(list->trials, list->trial_count);
	memset(list, 0, sizeof *list);
}

double stored_counter(const struct tcb_trial *trial, enum tcb_state state, const char *source, const char *name)
{
	for (size_t i = 0; i < trial->counter_count; i++) {
		const struct tcb_counter *counter = &trial->counters[i];
		if (counter->state == state && strcmp(counter->source, source) == 0 && strcmp(counter->name, name) == 0)
			return counter->value;
	}
	return NAN;
}
