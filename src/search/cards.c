/* SPDX-License-Identifier: MIT
 *
 * Are the GPUs of a sweep interchangeable?  In: a decision, whose finals one of
 * them held.  Out: the winner and the default measured on each, so that what
 * one of them says can be believed of the others, or not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "search/team.h"

enum { ROUNDS = 21 };

enum tcb_status tcb_cards_begin(const struct tcb_team *team, const struct tcb_place *place,
				const struct tcb_sweep_options *options, struct tcb_sweep_result *result,
				struct tcb_error *err)
{
	size_t count = tcb_team_size(team);
	if (count < 2)
		return TCB_OK;
	result->cards = calloc(count, sizeof *result->cards);
	if (!result->cards)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu devices", count);
	result->card_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct tcb_place *card = i == 0 ? place : &options->others[i - 1];
		memcpy(result->cards[i].address, card->address, sizeof card->address);
		memcpy(result->cards[i].uuid, card->uuid, sizeof card->uuid);
	}
	return TCB_OK;
}

void tcb_cards_end(const struct tcb_team *team, struct tcb_sweep_result *result)
{
	for (size_t i = 0; i < result->card_count; i++) {
		const char *lost = tcb_team_lost(team, i);
		if (lost)
			snprintf(result->cards[i].lost, sizeof result->cards[i].lost, "%.250s", lost);
	}
}

void tcb_cards_fini(struct tcb_sweep_result *result)
{
	free(result->cards);
	result->cards = NULL;
	result->card_count = 0;
}

enum tcb_status tcb_cards_compare(struct tcb_team *team, const struct tcb_decision *decision, uint64_t seed,
				  struct tcb_sweep_result *result, struct tcb_error *err)
{
	if (!decision->valid || result->card_count < 2)
		return TCB_OK;
	const struct tcb_geometry both[] = { decision->fallback.geometry, decision->finalists[0].geometry };
	double *ns = malloc(result->card_count * 2 * ROUNDS * sizeof *ns);
	if (!ns)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for comparing %zu GPUs", result->card_count);
	enum tcb_status status = tcb_team_interleave_each(team, both, 2, decision->state, ROUNDS, seed, ns, err);
	for (size_t i = 0; i < result->card_count && status == TCB_OK; i++) {
		const double *fallback = ns + 2 * ROUNDS * i, *winner = fallback + ROUNDS;
		result->cards[i].winner_ns[decision->state] = tcb_median_interval(winner, ROUNDS);
		result->cards[i].speedup[decision->state] = tcb_ratio_interval(fallback, winner, ROUNDS);
	}
	free(ns);
	return status;
}

static void widen(double value, double *least, double *most, size_t *count)
{
	if (!(value > 0))
		return;
	*least = *count ? fmin(*least, value) : value;
	*most = *count ? fmax(*most, value) : value;
	(*count)++;
}

void tcb_cards_differ(const struct tcb_sweep_result *result, enum tcb_state state, double *time_out,
		      double *speedup_out)
{
	double least[2] = { 0, 0 }, most[2] = { 0, 0 };
	size_t count[2] = { 0, 0 };
	for (size_t i = 0; i < result->card_count; i++) {
		widen(result->cards[i].winner_ns[state].median, &least[0], &most[0], &count[0]);
		widen(result->cards[i].speedup[state].median, &least[1], &most[1], &count[1]);
	}
	*time_out = count[0] > 1 ? most[0] / least[0] - 1 : NAN;
	*speedup_out = count[1] > 1 ? most[1] / least[1] - 1 : NAN;
}
