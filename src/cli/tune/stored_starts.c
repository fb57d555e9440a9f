/* SPDX-License-Identifier: MIT
 *
 * Stored winners as a sweep's starts.  They are proposals only, so that stale
 * ones serve, too; what a sweep without its GPU modelled does not.
 */
#include "cli/tune/stored_starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "kernels/op.h"

enum { RANKS = 4 };                  /* the winner and three that tie with it */
static const double TIES_WITHIN = 4; /* of farther winners no others are asked for */

struct reading {
	struct tcb_db *db;
	const struct tcb_problem *problem;
	const struct tcb_device *device;
	struct cli_winners *out;
	struct tcb_start_winner now; /* whose tie set is read */
	int is_full;                 /* out of memory */
};

static int add(struct reading *reading, const struct tcb_start_winner *winner)
{
	struct cli_winners *out = reading->out;
	struct tcb_start_winner *items = realloc(out->items, (out->count + 1) * sizeof *items);
	reading->is_full = !items;
	if (!items)
		return -1;
	out->items = items;
	out->items[out->count++] = *winner;
	return 0;
}

/* The first of a tie set is the winner itself. */
static int add_tie(void *ctx, const char *text)
{
	struct reading *reading = ctx;
	struct tcb_start_winner *now = &reading->now;
	if (tcb_geometry_parse_of(text, now->problem.op->parameters, &now->geometry, NULL) == TCB_OK && now->rank > 0 &&
	    add(reading, now) != 0)
		return 1;
	return ++now->rank == RANKS;
}

static int add_best(void *ctx, const struct tcb_best *best)
{
	struct reading *reading = ctx;
	struct tcb_start_winner winner = { .problem = best->problem, .threads = best->threads, .tried = best->tried };
	if (!winner.problem.op || best->modelled || best->target.kind != reading->device->target.kind ||
	    tcb_geometry_parse_of(best->geometry, winner.problem.op->parameters, &winner.geometry, NULL) != TCB_OK)
		return 0;
	winner.device = strcmp(best->device_key, reading->device->key) == 0 ? TCB_START_OWN
			: strcmp(best->arch, reading->device->arch) == 0    ? TCB_START_SAME_ARCH
									    : TCB_START_OTHER_ARCH;
	const double far = tcb_start_distance(&winner, reading->problem, reading->device->target.threads);
	if (far == INFINITY)
		return 0;
	if (add(reading, &winner) != 0)
		return 1;
	reading->now = winner;
	if (far <= TIES_WITHIN)
		(void)tcb_db_ties_each(reading->db, best, add_tie, reading, NULL);
	return reading->is_full;
}

enum tcb_status cli_winners_read(struct tcb_db *db, const struct tcb_problem *problem, const struct tcb_device *device,
				 struct cli_winners *out, struct tcb_error *err)
{
	struct reading reading = { .db = db, .problem = problem, .device = device, .out = out };
	*out = (struct cli_winners){ 0 };
	TCB_TRY(tcb_db_best_each(db, NULL, add_best, &reading, err));
	return reading.is_full ? tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu stored winners", out->count)
			       : TCB_OK;
}

void cli_winners_fini(struct cli_winners *winners)
{
	free(winners->items);
	*winners = (struct cli_winners){ 0 };
}

static int same_problem(const struct tcb_problem *a, const struct tcb_problem *b)
{
	return a->op == b->op && a->contract == b->contract && tcb_shape_equal(&a->shape, &b->shape);
}

static int is_winner(const struct tcb_sweep_start *start)
{
	return !start->is_modelled && !start->is_learned;
}

void cli_starts_say(const char *label, const struct tcb_sweep_result *result, const struct cli_winners *winners)
{
	size_t problems = 0, first = 0, imported = 0; /* what is nobody's winner comes last */
	for (; first < result->start_count && is_winner(&result->starts[first]); first++) {
		const struct tcb_start_winner *winner = &winners->items[result->starts[first].winner];
		size_t seen = 0;
		while (seen < first &&
		       (winners->items[result->starts[seen].winner].is_imported ||
			!same_problem(&winner->problem, &winners->items[result->starts[seen].winner].problem)))
			seen++;
		imported += (size_t)winner->is_imported;
		problems += seen == first && !winner->is_imported;
	}
	const size_t others = result->start_count - first, stored = first - imported;
	const size_t learned = others && result->starts[first].is_learned ? others : 0, modelled = others - learned;
	if (imported)
		cli_say("%s: %zu start%s from imported results", label, imported, imported == 1 ? "" : "s");
	if (stored)
		cli_say("%s: %zu start%s from stored winners of %zu problem%s", label, stored, stored == 1 ? "" : "s",
			problems, problems == 1 ? "" : "s");
	if (learned)
		cli_say("%s: %zu start%s predicted by what was learned of other problems", label, learned,
			learned == 1 ? "" : "s");
	if (modelled)
		cli_say("%s: %zu start%s from the model of %zu candidates in %.1f s", label, modelled,
			modelled == 1 ? "" : "s", result->modelled, result->modelled_s);
}

static void describe_winner(json_t *object, const struct tcb_start_winner *winner, int is_carried, int *failed)
{
	static const char *const DEVICES[] = { "own", "same architecture", "other architecture" };
	cli_json_set(object, "carried", json_boolean(is_carried), failed);
	cli_json_set(object, "op", cli_json_text(winner->problem.op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(winner->problem.contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&winner->problem.shape), failed);
	cli_json_set(object, "device", json_string(DEVICES[winner->device]), failed);
	cli_json_set(object, "threads", cli_json_size(winner->threads), failed);
	cli_json_set(object, "rank", cli_json_size(winner->rank), failed);
}

void cli_starts_json(json_t *sweep, const struct tcb_sweep_result *result, const struct cli_winners *winners,
		     int *failed)
{
	json_t *list = json_array(), *modelled = json_object();
	for (size_t i = 0; i < result->start_count; i++) {
		const struct tcb_sweep_start *start = &result->starts[i];
		char text[TCB_GEOMETRY_TEXT_MAX];
		json_t *object = json_object();
		tcb_geometry_print(&start->geometry, text);
		cli_json_set(object, "geometry", json_string(text), failed);
		const int is_imported = is_winner(start) && winners->items[start->winner].is_imported;
		cli_json_set(object, "from",
			     json_string(start->is_modelled  ? "model"
					 : start->is_learned ? "learned"
					 : is_imported       ? "imported"
							     : "stored"),
			     failed);
		if (is_winner(start))
			describe_winner(object, &winners->items[start->winner], start->is_carried, failed);
		cli_json_add(list, object, failed);
	}
	cli_json_set(sweep, "starts", list, failed);
	cli_json_set(modelled, "candidates", cli_json_size(result->modelled), failed);
	cli_json_set(modelled, "seconds", cli_json_real(result->modelled_s), failed);
	cli_json_set(sweep, "modelled", modelled, failed);
}
