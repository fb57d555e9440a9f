/* SPDX-License-Identifier: MIT
 *
 * What 'tcbtune model' prints: the plan before, the times and what follows for
 * the whole model after, and all of it as JSON.
 */
#ifndef TCB_CLI_MODEL_REPORT_H
#define TCB_CLI_MODEL_REPORT_H

#include "cli/core/emit.h"
#include "cli/model/model_plan.h"

/* What is told of a run; all lent. */
struct cli_model_told {
	const char *source; /* the first file, or the preset */
	const struct cli_model_plan *plan;
	const struct tcb_device *device;
	const char *db_path;
	double budget_s; /* of all that is to be swept; 0: none */
	int is_modelled, is_plan, is_retuned, is_interrupted;
};

/* The problems that are to be swept. */
size_t cli_model_open_count(const struct cli_model_told *told);
enum tcb_status cli_model_add_plan(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err);
enum tcb_status cli_model_add_results(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err);
json_t *cli_model_json(const struct cli_model_told *told, int *failed); /* schemas/model.schema.json */

#endif
