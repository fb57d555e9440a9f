/* SPDX-License-Identifier: MIT
 *
 * In: what a sweep found; out: the object of it in the JSON of 'tcbtune sweep'.
 */
#include "cli/tune/sweep_json.h"

#include "cli/report/best_data.h"
#include "cli/tune/sweep_cards.h"

static json_t *finals_json(const struct tcb_sweep_result *result, int *failed)
{
	json_t *finals = json_array();
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		const struct tcb_decision *decision = &result->decision[state];
		char text[TCB_GEOMETRY_TEXT_MAX];
		for (size_t i = 0; decision->valid && i < decision->finalist_count; i++) {
			const struct tcb_finalist *finalist = &decision->finalists[i];
			tcb_geometry_print(&finalist->geometry, text);
			cli_json_add(finals,
				     json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "state",
					       tcb_state_text(decision->state), "geometry", text, "variant",
					       finalist->variant, "ns", cli_json_interval(&finalist->ns), "ratio",
					       cli_json_interval(&finalist->ratio), "tied", finalist->tied),
				     failed);
		}
	}
	return finals;
}

static json_t *best_json(const struct cli_sweep_done *done, int *failed)
{
	json_t *best = json_array();
	for (size_t i = 0; i < done->row_count; i++)
		cli_json_add(best, cli_best_row_json(&done->rows[i], failed), failed);
	return best;
}

json_t *cli_sweep_json(const struct cli_sweep_done *done, int *failed)
{
	const struct tcb_sweep_result *result = done->result;
	const struct tcb_problem *problem = done->problem;
	json_t *object = json_object();

	cli_json_set(object, "op", cli_json_text(problem->op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(problem->contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&problem->shape), failed);
	if (done->shard->count > 1)
		cli_json_set(object, "shard", json_sprintf("%u/%u", done->shard->index, done->shard->count), failed);
	cli_json_set(object, "space_count", cli_json_size(result->space_count), failed);
	cli_json_set(object, "known", cli_json_size(result->known), failed);
	cli_json_set(object, "stale", cli_json_size(done->stale_count), failed);
	cli_json_set(object, "tried", cli_json_size(result->tried), failed);
	cli_json_set(object, "with_passes", cli_json_size(result->with_passes), failed);
	cli_json_set(object, "failed", cli_json_size(result->failed), failed);
	cli_starts_json(object, result, done->winners, failed);
	cli_json_set(object, "too_slow", cli_json_size(result->too_slow), failed);
	cli_json_set(object, "complete", json_boolean(result->complete), failed);
	cli_json_set(object, "ended", json_string(tcb_ended_text(result->ended)), failed);
	cli_json_set(object, "expected_gain", cli_json_real(result->expected_gain), failed);
	cli_json_set(object, "took_s", cli_json_real(result->took_s), failed);
	cli_json_set(object, "prepare_s", cli_json_real(result->prepare_s), failed);
	cli_json_set(object, "finals", finals_json(result, failed), failed);
	cli_json_set(object, "former", cli_former_json(done->former, result, done->is_again, failed), failed);
	cli_json_set(object, "best", best_json(done, failed), failed);
	if (result->card_count)
		cli_json_set(object, "cards", cli_cards_json(result, failed), failed);
	return object;
}
