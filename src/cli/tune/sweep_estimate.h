/* SPDX-License-Identifier: MIT
 *
 * tcbtune sweep --effort estimate: what is known of a problem without measuring.
 */
#ifndef TCB_CLI_SWEEP_ESTIMATE_H
#define TCB_CLI_SWEEP_ESTIMATE_H

#include "cli/core/emit.h"
#include "cli/core/tuned.h"

struct cli_estimate {
	struct tcb_problem problem;
	enum tcb_state state;
	struct tcbrt_tuning tuning;
};
/* Zeroed: none.  Free the items. */
struct cli_estimates {
	struct cli_estimate *items;
	size_t count;
};

/* Adds what libtcbrt answers for PROBLEM in each cache state.  With a MODEL at hand defaults are not added:
 * *IS_KNOWN_OUT is 0 if there was one. */
enum tcb_status cli_estimate(struct cli_estimates *estimates, const struct cli_query *query,
			     const struct tcb_problem *problem, int has_model, int *is_known_out,
			     struct tcb_error *err);
enum tcb_status cli_estimates_print(const struct cli_estimates *estimates, struct tcb_error *err);
json_t *cli_estimates_json(const struct cli_estimates *estimates, int *failed);

#endif
