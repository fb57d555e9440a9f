/* SPDX-License-Identifier: MIT
 *
 * A strategy that is somebody else's program: what the driver asks and tells goes to it as lines of JSON
 * (docs/outside-strategies.md).  It can die, hang, talk nonsense or ask for the same again and again; then
 * it is not asked any more, and why is kept for the driver.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/strategies/line_process.h"
#include "search/strategies/outside.h"

enum { PROTOCOL = 1, REPEATS_MOST = 1000 /* in a row; by then a random one has found what is left of most spaces */ };
static const double ANSWER_S = 20;

struct exec {
	const char *program; /* lent */
	unsigned states;
	struct tcb_line_process process;
	struct tcb_outside outside;
	unsigned char *taken; /* [index]: asked for, or told */
	enum tcb_status status;
	struct tcb_error why;
};

static void give_up(struct exec *exec, const struct tcb_error *why)
{
	exec->status = tcb_fail(&exec->why, TCB_E_FAILED, "strategy %.100s: %.350s; what was tried is kept",
				exec->program, why->message);
}

/* MESSAGE, which it takes, as a line. */
static void say(struct exec *exec, json_t *message)
{
	struct tcb_error why = { TCB_OK, "" };
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
	enum tcb_status status = TCB_E_NOMEM;

	json_decref(message);
	if (text) { /* the zero becomes the line's end */
		const size_t length = strlen(text);

		text[length] = '\n';
		status = tcb_line_process_send(&exec->process, text, length + 1, &why);
	} else {
		(void)tcb_fail(&why, TCB_E_NOMEM, "out of memory for a message");
	}
	free(text);
	if (status != TCB_OK)
		give_up(exec, &why);
}

static void exec_destroy(void *self)
{
	struct exec *exec = self;

	if (!exec)
		return;
	if (exec->status == TCB_OK && exec->process.pid)
		say(exec, json_pack("{s:s}", "type", "end"));
	tcb_line_process_fini(&exec->process);
	tcb_outside_fini(&exec->outside);
	free(exec->taken);
	free(exec);
}

static json_t *states_json(unsigned states)
{
	json_t *list = json_array();

	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (states >> s & 1u)
			(void)json_array_append_new(list, json_string(tcb_state_text((enum tcb_state)s)));
	return list;
}

static void describe(struct exec *exec, const struct tcb_strategy_setup *setup)
{
	say(exec, json_pack("{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:o}", "type", "space", "protocol", PROTOCOL, "seed",
			    (json_int_t)setup->seed, "count", (json_int_t)exec->outside.count, "default",
			    setup->start == TCB_ASK_NONE ? json_null() : json_integer((json_int_t)setup->start),
			    "states", states_json(exec->states), "parameters", tcb_outside_parameters(&exec->outside),
			    "candidates", tcb_outside_candidates(&exec->outside)));
}

static enum tcb_status exec_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	const double limit_s = setup->answer_s > 0 ? setup->answer_s : ANSWER_S;
	struct exec *exec = calloc(1, sizeof *exec);

	if (!exec)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	*exec = (struct exec){ .program = setup->program, .states = setup->states, .process.fd = -1 };
	exec->taken = calloc(setup->named->count + 1, 1);
	enum tcb_status status = exec->taken ? tcb_outside_init(&exec->outside, setup->named, err)
					     : tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	if (status == TCB_OK)
		status = tcb_line_process_start(&exec->process, setup->program, limit_s, err);
	if (status == TCB_OK)
		describe(exec, setup);
	if (status != TCB_OK) {
		exec_destroy(exec);
		return status;
	}
	*out = exec;
	return TCB_OK;
}

/* One answer: a candidate, TCB_ASK_NONE once it is done or given up. */
static size_t ask_once(struct exec *exec, double spent)
{
	struct tcb_error why = { TCB_OK, "" };
	size_t index = TCB_ASK_NONE, bytes;
	char *line;

	say(exec, json_pack("{s:s, s:f}", "type", "ask", "spent", spent));
	if (exec->status != TCB_OK)
		return TCB_ASK_NONE;
	enum tcb_status status = tcb_line_process_take(&exec->process, &line, &bytes, &why);
	if (status == TCB_OK)
		status = tcb_outside_answer(&exec->outside, line, bytes, &index, &why);
	if (status == TCB_OK)
		return index;
	give_up(exec, &why);
	return TCB_ASK_NONE;
}

static size_t exec_ask(void *self, double spent)
{
	struct exec *exec = self;
	struct tcb_error why;
	size_t index = TCB_ASK_NONE;

	for (int repeats = 0; repeats < REPEATS_MOST && exec->status == TCB_OK; repeats++) {
		index = ask_once(exec, spent);
		if (index == TCB_ASK_NONE)
			return index;
		if (!exec->taken[index]) {
			exec->taken[index] = 1;
			return index;
		}
		say(exec, json_pack("{s:s, s:I}", "type", "repeat", "index", (json_int_t)index));
	}
	if (exec->status == TCB_OK) {
		(void)tcb_fail(&why, TCB_E_FAILED,
			       "it asked %d times in a row for what it had asked for or was told before, the last time "
			       "for index %zu",
			       REPEATS_MOST, index);
		give_up(exec, &why);
	}
	return TCB_ASK_NONE;
}

static json_t *finite_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static void exec_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct exec *exec = self;
	double sum = 0;
	size_t states = 0;

	exec->taken[index] = 1;
	if (exec->status != TCB_OK)
		return;
	json_t *message =
		json_pack("{s:s, s:I, s:o, s:s}", "type", "tell", "index", (json_int_t)index, "parameters",
			  tcb_outside_configuration(&exec->outside, index), "outcome", tcb_outcome_text(told->outcome));
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (!(exec->states >> s & 1u))
			continue;
		(void)json_object_set_new(message, tcb_state_text((enum tcb_state)s), finite_json(told->cost[s]));
		sum += told->cost[s];
		states++;
	}
	(void)json_object_set_new(message, "time",
				  finite_json(told->outcome == TCB_OUTCOME_OK ? sum / (double)states : INFINITY));
	(void)json_object_set_new(message, "seconds", finite_json(told->seconds));
	say(exec, message);
}

static enum tcb_status exec_failed(const void *self, struct tcb_error *err)
{
	const struct exec *exec = self;

	return exec->status == TCB_OK ? TCB_OK : tcb_fail(err, exec->status, "%s", exec->why.message);
}

const struct tcb_strategy tcb_strategy_exec = {
	.name = "exec",
	.summary = "somebody else's program, over its standard streams",
	.create = exec_create,
	.ask = exec_ask,
	.tell = exec_tell,
	.failed = exec_failed,
	.destroy = exec_destroy,
};
