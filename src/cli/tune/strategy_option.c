/* SPDX-License-Identifier: MIT
 *
 * --strategy: the names that there are, and the default one's.
 */
#include "cli/tune/strategy_option.h"

#include "base/util.h"
#include "cli/core/cli.h"
#include "search/search.h"

const char *cli_strategy_name(const char *given)
{
	const char *names[1], *summaries[1];

	return given ? given : tcb_strategy_list(names, summaries, 1) ? names[0] : "default";
}

enum tcb_status cli_strategy_check(const char *name, struct tcb_error *err)
{
	const char *names[32], *summaries[32];
	char suggestion[96];
	struct tcb_str list = { 0 };
	size_t count = tcb_strategy_list(names, summaries, 32);

	if (!name || tcb_strategy_find(name))
		return TCB_OK;
	for (size_t i = 0; i < count && i < 32; i++)
		tcb_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
	cli_suggestion(name, names, count, suggestion, sizeof suggestion);
	tcb_fail(err, TCB_E_USAGE, "unknown strategy '%s'%s; strategies: %s, exec:PROGRAM", name, suggestion,
		 list.data ? list.data : "");
	tcb_str_fini(&list);
	return TCB_E_USAGE;
}
