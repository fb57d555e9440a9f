/* SPDX-License-Identifier: MIT
 *
 * The table of strategies.
 */
#include "search/strategy.h"

#include <string.h>

#include "base/util.h"

static const struct tcb_strategy *const STRATEGIES[] = {
#define STRATEGY_ROW(name) &tcb_strategy_##name,
	TCB_STRATEGY_LIST(STRATEGY_ROW)
#undef STRATEGY_ROW
};
enum { STRATEGY_COUNT = sizeof STRATEGIES / sizeof *STRATEGIES };

static const char EXEC[] = "exec:";

const char *tcb_strategy_program(const char *name)
{
	return name && strncmp(name, EXEC, strlen(EXEC)) == 0 && name[strlen(EXEC)] ? name + strlen(EXEC) : NULL;
}

const struct tcb_strategy *tcb_strategy_find(const char *name)
{
	if (!name)
		return STRATEGIES[0];
	if (tcb_strategy_program(name))
		return &tcb_strategy_exec;
	for (size_t i = 0; i < STRATEGY_COUNT; i++)
		if (!strcmp(STRATEGIES[i]->name, name))
			return STRATEGIES[i];
	return NULL;
}

enum tcb_status tcb_strategy_get(const char *name, const struct tcb_place *modelled, struct tcb_strategy *out,
				 struct tcb_error *err)
{
	struct tcb_str known = { 0 };
	const struct tcb_strategy *found = tcb_strategy_find(name);
	if (found && found->needs_model && !modelled)
		return tcb_fail(err, TCB_E_USAGE, "strategy %s is for GPUs that the model knows", found->name);
	if (found) {
		*out = *found;
		out->program = tcb_strategy_program(name);
		out->name = out->program ? name : found->name;
		return TCB_OK;
	}
	for (size_t i = 0; i < STRATEGY_COUNT; i++)
		tcb_str_addf(&known, "%s%s", i ? ", " : "", STRATEGIES[i]->name);
	enum tcb_status status = tcb_fail(err, TCB_E_USAGE, "unknown strategy '%s'; there are %s, and exec:PROGRAM",
					  name, known.data ? known.data : "none");
	tcb_str_fini(&known);
	return status;
}

size_t tcb_strategy_list(const char *names[], const char *summaries[], size_t capacity)
{
	for (size_t i = 0; i < STRATEGY_COUNT && i < capacity; i++) {
		names[i] = STRATEGIES[i]->name;
		summaries[i] = STRATEGIES[i]->summary;
	}
	return STRATEGY_COUNT;
}
