/* SPDX-License-Identifier: MIT
 *
 * Estimates: the stored results of this problem and its neighbours, as a lookup
 * finds them, and printing them.
 */
#include "cli/tune/sweep_estimate.h"

#include <stdlib.h>

#include "cli/core/cli.h"
#include "cli/core/problems.h"

enum tcb_status cli_estimate(struct cli_estimates *estimates, const struct cli_query *query,
			     const struct tcb_problem *problem, int has_model, int *is_known_out, struct tcb_error *err)
{
	struct cli_estimate *items =
		realloc(estimates->items, (estimates->count + TCB_STATE_COUNT) * sizeof *estimates->items);

	*is_known_out = 1;
	if (!items)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	estimates->items = items;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		struct cli_estimate *item = &items[estimates->count];
		struct cli_query of_state = *query;

		of_state.state = item->state = (enum tcb_state)s;
		item->problem = *problem;
		TCB_TRY(cli_tuned_find(&of_state, problem, &item->tuning, err));
		if (has_model && item->tuning.source == TCBRT_SOURCE_DEFAULT)
			*is_known_out = 0;
		else
			estimates->count++;
	}
	return TCB_OK;
}

enum tcb_status cli_estimates_print(const struct cli_estimates *estimates, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	char label[CLI_LABEL_MAX];

	for (size_t i = 0; i < estimates->count; i++) {
		const struct cli_estimate *item = &estimates->items[i];

		cli_problem_label(&item->problem, label);
		cli_add_line(&out, "%s %s: %s", label, tcb_state_text(item->state), item->tuning.geometry);
		cli_add_line(&out, "  %s: %s", tcbrt_source_text(item->tuning.source), item->tuning.reason);
	}
	return cli_emit_text(&out, err);
}

json_t *cli_estimates_json(const struct cli_estimates *estimates, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < estimates->count; i++) {
		const struct cli_estimate *item = &estimates->items[i];
		json_t *object = json_object();

		cli_json_set(object, "op", cli_json_text(item->problem.op_name), failed);
		cli_json_set(object, "contract", json_string(tcb_contract_text(item->problem.contract)), failed);
		cli_json_set(object, "shape", cli_json_shape(&item->problem.shape), failed);
		cli_json_set(object, "state", json_string(tcb_state_text(item->state)), failed);
		cli_json_set(object, "source", cli_json_text(tcbrt_source_text(item->tuning.source)), failed);
		cli_json_set(object, "reason", cli_json_text(item->tuning.reason), failed);
		cli_json_set(object, "geometry", cli_json_text(item->tuning.geometry), failed);
		cli_json_add(list, object, failed);
	}
	return list;
}
