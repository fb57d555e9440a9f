/* SPDX-License-Identifier: MIT
 *
 * Several GPUs of one sweep.  In: the result's cards.  Out: a line and JSON
 * that say whether they can stand for each other.
 */
#include "cli/tune/sweep_cards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"

/* Beyond this, cards of one kind are not interchangeable: twice what tells two candidates apart. */
static const double DIFFER_MOST = 0.02;

/* The card whose finals the results are. */
static const char *lead_of(const struct tcb_sweep_result *result)
{
	for (size_t i = 0; i < result->card_count; i++)
		if (!result->cards[i].lost[0])
			return result->cards[i].address;
	return result->cards[0].address;
}

void cli_cards_say(const char *label, const struct tcb_sweep_result *result)
{
	struct tcb_str line = { 0 };

	if (result->card_count == 0)
		return;
	for (size_t i = 0; i < result->card_count; i++) {
		const struct tcb_card *card = &result->cards[i];
		tcb_str_addf(&line, "%s%s tried %zu", i ? ", " : "", card->address, card->tried);
		if (card->lost[0])
			cli_say("%s: %s was given up: %s", label, card->address, card->lost);
	}
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		double time, speedup;
		tcb_cards_differ(result, (enum tcb_state)state, &time, &speedup);
		if (isnan(time))
			continue;
		tcb_str_addf(&line,
			     "; %s, the slowest is %.1f %% behind the fastest with the winner and speedups "
			     "differ by %.1f %%",
			     tcb_state_text((enum tcb_state)state), 100 * time, 100 * speedup);
		if (time > DIFFER_MOST || speedup > DIFFER_MOST)
			tcb_str_addf(&line, ", so the cards are NOT interchangeable and the result is %s's",
				     lead_of(result));
	}
	if (!line.failed)
		cli_say("%s: %s", label, line.data);
	tcb_str_fini(&line);
}

static json_t *interval_or_null(const struct tcb_interval *interval)
{
	return interval->median > 0 ? cli_json_interval(interval) : json_null();
}

static json_t *ratio_or_null(double ratio)
{
	return isnan(ratio) ? json_null() : json_real(ratio);
}

json_t *cli_cards_json(const struct tcb_sweep_result *result, int *failed)
{
	json_t *cards = json_array();

	for (size_t i = 0; i < result->card_count; i++) {
		const struct tcb_card *card = &result->cards[i];
		json_t *row = json_object();
		cli_json_set(row, "device", cli_json_text(card->address), failed);
		cli_json_set(row, "uuid", json_string(card->uuid), failed);
		cli_json_set(row, "tried", cli_json_size(card->tried), failed);
		cli_json_set(row, "lost", card->lost[0] ? json_string(card->lost) : json_null(), failed);
		for (int state = 0; state < TCB_STATE_COUNT; state++)
			cli_json_set(row, tcb_state_text((enum tcb_state)state),
				     json_pack("{s:o, s:o}", "winner_ns", interval_or_null(&card->winner_ns[state]),
					       "speedup", interval_or_null(&card->speedup[state])),
				     failed);
		cli_json_add(cards, row, failed);
	}
	json_t *object = json_object();
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		double time, speedup;
		tcb_cards_differ(result, (enum tcb_state)state, &time, &speedup);
		cli_json_set(object, tcb_state_text((enum tcb_state)state),
			     json_pack("{s:o, s:o}", "time", ratio_or_null(time), "speedup", ratio_or_null(speedup)),
			     failed);
	}
	return json_pack("{s:o, s:o}", "list", cards, "differ_by", object);
}
