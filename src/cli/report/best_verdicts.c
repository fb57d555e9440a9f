/* SPDX-License-Identifier: MIT
 *
 * In: best rows.  Out: of each verdict that is not "tuned" how many have it,
 * why the first of them do, and the commands that would mend them, one for the
 * shapes of an op.
 */
#include <string.h>

#include "cli/report/best_table.h"
#include "kernels/op.h"

enum { NAMED = 3, COMMANDS = 3, SHAPES = 8 };

static int has_devices(const struct cli_best_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (!cli_is_one_device(&rows->rows[0].best, &rows->rows[i].best))
			return 1;
	return 0;
}

static void add_problem(struct tcb_str *out, const struct cli_best_row *row, int has_device)
{
	const struct tcb_best *best = &row->best;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&best->problem.shape, shape);
	tcb_str_addf(out, "%s %s %s %s", best->problem.op_name, tcb_contract_text(best->problem.contract), shape,
		     tcb_state_text(best->state));
	if (has_device)
		tcb_str_addf(out, " on %s", row->device_label);
}

/* Whether one command may sweep both. */
static int is_one_command(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->problem.op_name, b->problem.op_name) == 0 && a->problem.contract == b->problem.contract &&
	       cli_is_one_device(a, b) && a->threads == b->threads;
}

static int is_of_command(const struct cli_best_row *row, const struct cli_best_row *first)
{
	return row->verdict == first->verdict && is_one_command(&row->best, &first->best);
}

/* Whether a row before row I, of the same command, has its shape. */
static int is_shape_repeated(const struct cli_best_rows *rows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_of_command(&rows->rows[k], &rows->rows[i]) &&
		    tcb_shape_equal(&rows->rows[k].best.problem.shape, &rows->rows[i].best.problem.shape))
			return 1;
	return 0;
}

/* For row FIRST and those after it that the same command mends; how many shapes are left out. */
static size_t add_command(const struct cli_best_rows *rows, size_t first, const char *db, struct tcb_str *out)
{
	const struct tcb_best *best = &rows->rows[first].best;
	char shape[TCB_SHAPE_TEXT_MAX];
	size_t shapes = 0;

	tcb_str_add(out, "tcbtune sweep");
	if (best->problem.op && best->problem.op->path) {
		tcb_str_add(out, " --kernel ");
		cli_add_word(out, best->problem.op->path);
	}
	tcb_str_add(out, " --op ");
	cli_add_word(out, best->problem.op_name);
	tcb_str_addf(out, " --contract %s", tcb_contract_text(best->problem.contract));
	for (size_t i = first; i < rows->count; i++)
		if (is_of_command(&rows->rows[i], &rows->rows[first]) && !is_shape_repeated(rows, i) &&
		    shapes++ < SHAPES) {
			tcb_shape_print(&rows->rows[i].best.problem.shape, shape);
			tcb_str_add(out, " --shape ");
			cli_add_word(out, shape);
		}
	if (strcmp(best->device_name, "cpu") != 0) {
		tcb_str_add(out, " --device ");
		cli_add_word(out, best->device_name);
	}
	if (best->threads)
		tcb_str_addf(out, " --threads %u", best->threads);
	if (rows->rows[first].verdict == TCB_VERDICT_THIN)
		tcb_str_add(out, " --effort thorough");
	if (rows->rows[first].verdict == TCB_VERDICT_NOISY &&
	    best->threads) /* a GPU's clocks know no quiet processors */
		tcb_str_add(out, " --wait-quiet 10m");
	if (db) {
		tcb_str_add(out, " --db ");
		cli_add_word(out, db);
	}
	return shapes > SHAPES ? shapes - SHAPES : 0;
}

static const char *mends(enum tcb_verdict verdict)
{
	static const char *const texts[TCB_VERDICT_COUNT] = {
		[TCB_VERDICT_STALE] = "measure again",
		[TCB_VERDICT_MODELLED] = "measure where that device is attached",
		[TCB_VERDICT_PROVISIONAL] = "hold the finals (after a merge with --finals-only)",
		[TCB_VERDICT_THIN] = "go on",
		[TCB_VERDICT_NOISY] = "wait for a quiet machine",
		[TCB_VERDICT_TUNED] = "",
	};

	return texts[verdict];
}

/* Whether the reasons differ from result to result. */
static int is_telling(enum tcb_verdict verdict)
{
	return verdict == TCB_VERDICT_THIN || verdict == TCB_VERDICT_NOISY;
}

static void add_commands(const struct cli_best_rows *rows, enum tcb_verdict verdict, const char *db,
			 struct tcb_str *out)
{
	size_t commands = 0, left = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct tcb_str command = { 0 };
		size_t earlier = 0;

		while (earlier < i && !is_of_command(&rows->rows[earlier], &rows->rows[i]))
			earlier++;
		if (rows->rows[i].verdict != verdict || earlier < i)
			continue;
		if (commands++ < COMMANDS) {
			const size_t more = add_command(rows, i, db, &command);
			cli_add_line(out, "    %s: %s", commands == 1 ? mends(verdict) : "and",
				     command.data ? command.data : "");
			if (more)
				tcb_str_addf(out, "    and %zu more of its shapes\n", more);
		} else {
			left++;
		}
		out->failed |= command.failed;
		tcb_str_fini(&command);
	}
	if (left)
		tcb_str_addf(out, "    and the same for %zu more op%s (--verdict %s lists them)\n", left,
			     left == 1 ? "" : "s", tcb_verdict_text(verdict));
}

static void add_one(const struct cli_best_rows *rows, enum tcb_verdict verdict, const char *db, const char *bullet,
		    struct tcb_str *out)
{
	struct tcb_str names = { 0 };
	char reason[TCB_VERDICT_REASON_MAX];
	const int is_many = has_devices(rows);
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct tcb_best *best = &rows->rows[i].best;
		struct tcb_str problem = { 0 };

		if (rows->rows[i].verdict != verdict)
			continue;
		if (count++ >= NAMED || !is_telling(verdict))
			continue;
		tcb_verdict_reason(best, verdict, reason);
		add_problem(&problem, &rows->rows[i], is_many);
		cli_add_wrapped(&names, 8, "    %s: %s", problem.data ? problem.data : "", reason);
		names.failed |= problem.failed;
		tcb_str_fini(&problem);
	}
	if (count) {
		cli_add_line(out, "%s%s: %zu of %zu result%s", bullet, tcb_verdict_text(verdict), count, rows->count,
			     rows->count == 1 ? "" : "s");
		tcb_str_add(out, names.data ? names.data : "");
		if (count > NAMED && is_telling(verdict))
			tcb_str_addf(out, "    and %zu more\n", count - NAMED);
		add_commands(rows, verdict, db, out);
	}
	out->failed |= names.failed;
	tcb_str_fini(&names);
}

static size_t count_served(const struct cli_best_rows *rows, enum cli_served served)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += rows->rows[i].served == served;
	return count;
}

void cli_best_unserved(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out)
{
	static const char lists[] = "(--columns op,shape,state,speedups,served lists them)";
	const char *plural = rows->count == 1 ? "" : "s";
	const size_t defaults = count_served(rows, CLI_SERVED_DEFAULT),
		     earlier = count_served(rows, CLI_SERVED_EARLIER);

	if (defaults)
		cli_add_wrapped(out, 4,
				"%sserved: programs get the default for %zu of %zu result%s, since the best is not "
				"surely as fast %s",
				bullet, defaults, rows->count, plural, lists);
	if (earlier)
		cli_add_wrapped(out, 4,
				"%sserved: programs get the best of %zu of %zu result%s as source 'earlier': stale, "
				"but it surely gained so much that it is believed of today's kernel %s",
				bullet, earlier, rows->count, plural, lists);
}

void cli_best_unknown(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out)
{
	struct tcb_str names = { 0 };
	size_t count = 0, named = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct tcb_problem *problem = &rows->rows[i].best.problem;
		size_t first = 0;

		if (problem->op)
			continue;
		count++;
		while (strcmp(rows->rows[first].best.problem.op_name, problem->op_name) != 0)
			first++;
		if (first == i && named < NAMED)
			tcb_str_addf(&names, "%s%s", named++ ? ", " : "", problem->op_name);
	}
	if (count)
		cli_add_wrapped(out, 4,
				"%sunknown: %zu of %zu result%s of ops that this command does not know, and may be of "
				"other kernels than today's: %s; '--kernel FILE' names a kernel file's op",
				bullet, count, rows->count, rows->count == 1 ? " is" : "s are",
				names.data ? names.data : "");
	out->failed |= names.failed;
	tcb_str_fini(&names);
}

void cli_best_verdicts(const struct cli_best_rows *rows, const char *db, const char *bullet, struct tcb_str *out)
{
	for (int v = 0; v < TCB_VERDICT_TUNED; v++)
		add_one(rows, (enum tcb_verdict)v, db, bullet, out);
}
