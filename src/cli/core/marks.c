/* SPDX-License-Identifier: MIT
 *
 * Words of this build in the texts of commands and options: names of ops,
 * instruction families and strategies stand in one table each, not in the texts.
 */
#include <string.h>

#include "base/cpu_identity.h"
#include "cli/core/cli.h"
#include "cli/report/best_table.h"
#include "kernels/op.h"
#include "search/strategy.h"

enum { STRATEGIES_MAX = 32 };

static void add_op(struct tcb_str *out)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	tcb_str_add(out, count ? ops[0]->name : "OP");
}

static void add_families(struct tcb_str *out)
{
	char families[TCB_FAMILIES_TEXT_MAX];

	tcb_cpu_families("cpu:", families);
	tcb_str_add(out, families);
}

static void add_strategies(struct tcb_str *out)
{
	const char *names[STRATEGIES_MAX], *summaries[STRATEGIES_MAX];
	const size_t count = tcb_strategy_list(names, summaries, STRATEGIES_MAX);

	for (size_t i = 0; i < count && i < STRATEGIES_MAX; i++)
		tcb_str_addf(out, "%s%s%s", i ? ", " : "", names[i],
			     tcb_strategy_find(names[i])->needs_model ? " (GPUs only)" : "");
}

static const struct mark {
	const char *text;
	void (*add)(struct tcb_str *out);
} marks[] = {
	{ "@OP", add_op },
	{ "@FAMILIES", add_families },
	{ "@STRATEGIES", add_strategies },
	{ "@COLUMNS", cli_best_columns },
};

/* The mark that TEXT begins with; NULL: none. */
static const struct mark *mark_at(const char *text)
{
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strncmp(text, marks[i].text, strlen(marks[i].text)) == 0)
			return &marks[i];
	return NULL;
}

void cli_add_text(struct tcb_str *out, const char *text)
{
	while (*text) {
		const struct mark *mark = mark_at(text);
		const size_t plain = strcspn(text + 1, "@") + 1;

		if (mark)
			mark->add(out);
		else
			tcb_str_addf(out, "%.*s", (int)plain, text);
		text += mark ? strlen(mark->text) : plain;
	}
}
