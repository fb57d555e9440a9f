/* SPDX-License-Identifier: MIT
 *
 * A space as programs outside see it, JSON in which a candidate is what its
 * parameters are called and have; and what they answer.
 */
#ifndef TCB_SEARCH_OUTSIDE_H
#define TCB_SEARCH_OUTSIDE_H

#include <jansson.h>

#include "search/strategy.h"

struct tcb_outside_parameter {
	char *name;
	json_t *values; /* that occur in the space: numbers in ascending order, then words, then null */
};
struct tcb_outside {
	size_t count, fields; /* parameters that never vary are left out */
	struct tcb_outside_parameter *parameters;
	uint32_t *rank; /* [index * fields + field]: the place of its value among the parameter's */
};
enum tcb_status tcb_outside_init(struct tcb_outside *outside, const struct tcb_named_space *space,
				 struct tcb_error *err);
void tcb_outside_fini(struct tcb_outside *outside);
/* {"block": 128, "unroll": "none"}; NULL without memory. */
json_t *tcb_outside_configuration(const struct tcb_outside *outside, size_t index);
/* [{"name": "block", "values": [64, 128]}, ...], and the candidates as lists of ranks. */
json_t *tcb_outside_parameters(const struct tcb_outside *outside);
json_t *tcb_outside_candidates(const struct tcb_outside *outside);
/* The candidate that LINE names by "index" or by all its "parameters"; TCB_ASK_NONE for {"end": true}.  TCB_E_FORMAT
 * with what is wrong in it, TCB_E_USAGE for what is outside the space. */
enum tcb_status tcb_outside_answer(const struct tcb_outside *outside, const char *line, size_t bytes, size_t *index_out,
				   struct tcb_error *err);

#endif
