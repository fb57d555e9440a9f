/* SPDX-License-Identifier: MIT
 *
 * In: a sweep's options.  Out: those of them that its evaluators need.
 */
#include "search/search.h"

struct tcb_evaluate_options tcb_sweep_evaluation(const struct tcb_sweep_options *options)
{
	return (struct tcb_evaluate_options){
		.states = options->states,
		.rotation_bytes = options->rotation_bytes,
		.timeout_s = options->timeout_s,
		.budget_s = options->budget_s,
		.deadline = options->budget_s > 0 ? tcb_deadline_in(options->budget_s - options->spent_s)
						  : (struct tcb_deadline){ 0 },
		.seed = options->seed,
		.require = options->require,
		.stop = options->stop,
	};
}
