/* SPDX-License-Identifier: MIT
 *
 * What a run of one candidate takes: it is prepared alone, then the worker calls it again and again beside the
 * meter.  A candidate that fails has no energy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "worker/exchange.h"

static enum tcb_status prepare(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
			       enum tcb_state state, struct tcb_answer *answer, struct tcb_error *err)
{
	struct tcb_prepare_request head;
	struct tcb_request request = { .data = NULL };
	struct tcb_code code;

	memset(&head, 0, sizeof head);
	head.state = state;
	head.limit = TCB_LIMIT_NONE;
	head.count = 1;
	tcb_request_add(&request, &head, sizeof head);
	tcb_request_add(&request, geometry, sizeof *geometry);
	enum tcb_status status = tcb_evaluator_add_code(evaluator, geometry, &request, &code, err);
	tcb_request_code(&request, NULL);
	if (status == TCB_OK && request.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a request to the worker");
	if (status == TCB_OK)
		status = tcb_evaluator_ask(evaluator, TCB_MESSAGE_PREPARE, request.data, request.bytes,
					   TCB_MESSAGE_PREPARED, answer, err);
	free(request.data);
	return status;
}

enum tcb_status tcb_evaluator_meter(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				    enum tcb_state state, double seconds, struct tcb_energy *out, struct tcb_error *err)
{
	struct tcb_answer answer;

	*out = (struct tcb_energy){ .metered = { .joules = NAN } };
	memset(&answer, 0, sizeof answer);
	TCB_TRY(prepare(evaluator, geometry, state, &answer, err));
	if (answer.how != TCB_ANSWERED)
		return TCB_OK;
	tcb_message_fini(&answer.message);
	memset(&answer, 0, sizeof answer);
	TCB_TRY(tcb_evaluator_exchange(evaluator, TCB_MESSAGE_METER, &seconds, sizeof seconds, TCB_MESSAGE_METERED,
				       &answer, err));
	if (answer.how != TCB_ANSWERED)
		return TCB_OK;
	if (answer.message.bytes == sizeof *out) {
		memcpy(out, answer.message.payload, sizeof *out);
		out->source[sizeof out->source - 1] = '\0';
	}
	tcb_message_fini(&answer.message);
	return TCB_OK;
}
