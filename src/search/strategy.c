/* SPDX-License-Identifier: MIT
 *
 * The table of strategies.
 */
#include "search/strategy.h"

#include <string.h>

static const struct tcb_strategy *const STRATEGIES[] = {
#define STRATEGY_ROW(name) &tcb_strategy_##name,
	TCB_STRATEGY_LIST(STRATEGY_ROW)
#undef STRATEGY_ROW
};
enum { STRATEGY_COUNT = sizeof STRATEGIES / sizeof *STRATEGIES };

const struct tcb_strategy *tcb_strategy_find(const char *name)
{
	if (!name)
		return STRATEGIES[0];
	for (size_t i = 0; i < STRATEGY_COUNT; i++)
		if (!strcmp(STRATEGIES[i]->name, name))
			return STRATEGIES[i];
	return NULL;
}

size_t tcb_strategy_list(const char *names[], const char *summaries[], size_t capacity)
{
	for (size_t i = 0; i < STRATEGY_COUNT && i < capacity; i++) {
		names[i] = STRATEGIES[i]->name;
		summaries[i] = STRATEGIES[i]->summary;
	}
	return STRATEGY_COUNT;
}
