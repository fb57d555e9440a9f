/* SPDX-License-Identifier: MIT
 *
 * A decision holds if the next one names the same winner or one that cannot be
 * told from it: the new one is in the former tie set, or the former one in the
 * new.
 */
#include "cli/tune/former.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a machine may drift without a word: times move with others' load, paired ratios much less. */
static const double TIME_DRIFT = 1.25, SPEEDUP_DRIFT = 1.05;

static int add_tie(void *ctx, const char *geometry)
{
	return cli_best_row_add_tie(ctx, geometry) != 0;
}

enum tcb_status cli_former_load(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
				struct cli_former *out, struct tcb_error *err)
{
	memset(out, 0, sizeof *out);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		struct tcb_best *best = &out->row[s].best;
		int is_found;

		TCB_TRY(cli_best_find(db, device, problem, (enum tcb_state)s, best, &is_found, err));
		out->is_stale[s] = is_found && !best->modelled && cli_best_is_stale(best);
		if (!is_found || best->modelled || best->provisional || out->is_stale[s])
			continue;
		TCB_TRY(tcb_geometry_parse_of(best->geometry, problem->op->parameters, &out->asked[s].geometry, err));
		TCB_TRY(tcb_db_ties_each(db, best, add_tie, &out->row[s], err));
		out->asked[s].valid = 1;
	}
	return TCB_OK;
}

void cli_former_fini(struct cli_former *former)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		for (size_t t = 0; t < former->row[s].tie_count; t++)
			free(former->row[s].ties[t]);
		free(former->row[s].ties);
	}
}

static int is_changed(const struct tcb_best *best, const struct tcb_recheck *now)
{
	return fabs(log(now->ns.median / best->ns.median)) > log(TIME_DRIFT) ||
	       now->speedup.hi * SPEEDUP_DRIFT < best->speedup.lo || now->speedup.lo > best->speedup.hi * SPEEDUP_DRIFT;
}

void cli_former_say(const struct cli_former *former, const char *label, const struct tcb_sweep_result *result)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const struct tcb_best *best = &former->row[s].best;
		const struct tcb_recheck *now = &result->recheck[s];

		if (former->asked[s].valid && now->valid && is_changed(best, now))
			cli_say("%s: %s: the best of %.10s took %.2f times as long as then before this sweep, and was "
				"%.2f x the default, then %.2f: the machine or its load has changed; 'tcbtune sweep "
				"--again' repeats the decision",
				label, tcb_state_text((enum tcb_state)s), best->measured_at,
				now->ns.median / best->ns.median, now->speedup.median, best->speedup.median);
	}
}

enum again { AGAIN_SAME, AGAIN_TIED, AGAIN_REFUTED };

static enum again judge(const struct cli_best_row *former, const struct tcb_geometry *geometry,
			const struct tcb_decision *decision)
{
	const struct tcb_geometry *winner = &decision->finalists[0].geometry;
	char text[TCB_GEOMETRY_TEXT_MAX];

	if (tcb_geometry_equal(winner, geometry))
		return AGAIN_SAME;
	tcb_geometry_print(winner, text);
	for (size_t t = 0; t < former->tie_count; t++)
		if (strcmp(former->ties[t], text) == 0)
			return AGAIN_TIED;
	for (size_t t = 0; t < decision->tie_count; t++)
		if (tcb_geometry_equal(&decision->tie_set[t], geometry))
			return AGAIN_TIED;
	return AGAIN_REFUTED;
}

size_t cli_former_say_again(const struct cli_former *former, const char *label, const struct tcb_sweep_result *result)
{
	static const char *const texts[] = {
		[AGAIN_SAME] = "holds: the same winner",
		[AGAIN_TIED] = "holds: another winner, which cannot be told from the former one",
		[AGAIN_REFUTED] = "does NOT hold: another winner is surely faster, and is stored now",
	};
	size_t refuted = 0;

	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const struct tcb_decision *decision = &result->decision[s];
		enum again again;

		if (!decision->valid)
			continue;
		if (!former->asked[s].valid) {
			cli_say("%s: %s: there was no decision of these kernels to repeat; this is the first", label,
				tcb_state_text(decision->state));
			continue;
		}
		again = judge(&former->row[s], &former->asked[s].geometry, decision);
		refuted += again == AGAIN_REFUTED;
		cli_say("%s: %s: the decision of %.10s %.5s %s", label, tcb_state_text(decision->state),
			former->row[s].best.measured_at, former->row[s].best.measured_at + 11, texts[again]);
	}
	return refuted;
}

json_t *cli_former_json(const struct cli_former *former, const struct tcb_sweep_result *result, int is_again,
			int *failed)
{
	json_t *list = json_array();

	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const struct tcb_best *best = &former->row[s].best;
		const struct tcb_recheck *now = &result->recheck[s];
		json_t *object;

		if (!former->asked[s].valid)
			continue;
		object = json_pack("{s:s, s:s, s:s, s:o, s:o}", "state", tcb_state_text((enum tcb_state)s), "geometry",
				   best->geometry, "measured_at", best->measured_at, "ns", cli_json_interval(&best->ns),
				   "speedup", cli_json_interval(&best->speedup));
		cli_json_set(object, "now_ns", now->valid ? cli_json_interval(&now->ns) : json_null(), failed);
		cli_json_set(object, "now_speedup", now->valid ? cli_json_interval(&now->speedup) : json_null(),
			     failed);
		if (is_again && result->decision[s].valid)
			cli_json_set(object, "holds",
				     json_boolean(judge(&former->row[s], &former->asked[s].geometry,
							&result->decision[s]) != AGAIN_REFUTED),
				     failed);
		cli_json_add(list, object, failed);
	}
	return list;
}
