/* SPDX-License-Identifier: MIT
 *
 * In: best rows.  Out: of each verdict that is not "tuned" how many have it,
 * why the first of them do, and the command that would mend the first.
 */
#include <string.h>

#include "cli/best_table.h"

enum { NAMED = 3 };

static void add_problem(struct tcb_str *out, const struct tcb_best *best)
{
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&best->problem.shape, shape);
	tcb_str_addf(out, "%s %s %s %s", best->problem.op_name, tcb_contract_text(best->problem.contract), shape,
		     tcb_state_text(best->state));
}

static void add_command(struct tcb_str *out, const struct tcb_best *best, enum tcb_verdict verdict, const char *db)
{
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&best->problem.shape, shape);
	tcb_str_addf(out, "tcbtune sweep --op %s --contract %s --shape %s", best->problem.op_name,
		     tcb_contract_text(best->problem.contract), shape);
	if (strcmp(best->device_name, "cpu") != 0)
		tcb_str_addf(out, " --device %s", best->device_name);
	if (best->threads)
		tcb_str_addf(out, " --threads %u", best->threads);
	if (verdict == TCB_VERDICT_THIN)
		tcb_str_add(out, " --effort thorough");
	if (db)
		tcb_str_addf(out, " --db %s", db);
}

static const char *mends(enum tcb_verdict verdict)
{
	static const char *const texts[TCB_VERDICT_COUNT] = {
		[TCB_VERDICT_STALE] = "measure again",
		[TCB_VERDICT_MODELLED] = "measure where that device is attached",
		[TCB_VERDICT_PROVISIONAL] = "hold the finals (after a merge with --finals-only)",
		[TCB_VERDICT_THIN] = "go on",
		[TCB_VERDICT_NOISY] = "measure again on a quiet machine",
		[TCB_VERDICT_TUNED] = "",
	};

	return texts[verdict];
}

/* Whether the reasons differ from result to result. */
static int is_telling(enum tcb_verdict verdict)
{
	return verdict == TCB_VERDICT_THIN || verdict == TCB_VERDICT_NOISY;
}

static void add_one(const struct cli_best_rows *rows, enum tcb_verdict verdict, const char *db, const char *bullet,
		    struct tcb_str *out)
{
	const struct tcb_best *first = NULL;
	struct tcb_str names = { 0 }, command = { 0 };
	char reason[TCB_VERDICT_REASON_MAX];
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct tcb_best *best = &rows->rows[i].best;
		struct tcb_str problem = { 0 };

		if (rows->rows[i].verdict != verdict)
			continue;
		first = first ? first : best;
		if (count++ >= NAMED || !is_telling(verdict))
			continue;
		tcb_verdict_reason(best, verdict, reason);
		add_problem(&problem, best);
		cli_add_wrapped(&names, 8, "    %s: %s", problem.data ? problem.data : "", reason);
		names.failed |= problem.failed;
		tcb_str_fini(&problem);
	}
	if (count) {
		add_command(&command, first, verdict, db);
		cli_add_line(out, "%s%s: %zu of %zu result%s", bullet, tcb_verdict_text(verdict), count, rows->count,
			     rows->count == 1 ? "" : "s");
		tcb_str_add(out, names.data ? names.data : "");
		if (count > NAMED && is_telling(verdict))
			tcb_str_addf(out, "    and %zu more\n", count - NAMED);
		cli_add_line(out, "    %s: %s", mends(verdict), command.data ? command.data : "");
	}
	out->failed |= names.failed | command.failed;
	tcb_str_fini(&names);
	tcb_str_fini(&command);
}

void cli_best_verdicts(const struct cli_best_rows *rows, const char *db, const char *bullet, struct tcb_str *out)
{
	for (int v = 0; v < TCB_VERDICT_TUNED; v++)
		add_one(rows, (enum tcb_verdict)v, db, bullet, out);
}
