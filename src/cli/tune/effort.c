/* SPDX-License-Identifier: MIT
 *
 * The one table of what an effort means; docs/search.md shows it as it is
 * printed (FFTW has such words: ESTIMATE, MEASURE, PATIENT, EXHAUSTIVE).
 */
#include "cli/tune/effort.h"

#include <math.h>
#include <stdio.h>

#include "cli/core/emit.h"

static const struct cli_effort_row rows[CLI_EFFORT_COUNT] = {
	[CLI_EFFORT_ESTIMATE] = { "estimate", 10, 0, 0, NULL,
				  "nothing is measured: stored results, else a GPU's model" },
	[CLI_EFFORT_QUICK] = { "quick", 10, 0.02, 8, NULL, "a first answer" },
	[CLI_EFFORT_NORMAL] = { "normal", 45, 0.01, 12, NULL, "what a program is served with" },
	[CLI_EFFORT_THOROUGH] = { "thorough", 300, 0.001, 24, NULL, "for shapes that matter" },
	[CLI_EFFORT_EXHAUSTIVE] = { "exhaustive", 0, 0, 48, "exhaustive", "every candidate, however long it takes" },
};

/* An option's value before the effort's; "none" is 0. */
static double given_or(double given, double otherwise)
{
	return given > 0 ? (isinf(given) ? 0 : given) : otherwise;
}

struct cli_effort_row cli_effort_limits(enum cli_effort effort, double budget_s, double until_stable,
					unsigned finalists, const char *strategy)
{
	struct cli_effort_row limits = rows[effort];

	limits.budget_s = given_or(budget_s, limits.budget_s);
	limits.until_stable = given_or(until_stable / 100, limits.until_stable);
	limits.finalists = finalists ? finalists : limits.finalists;
	limits.strategy = strategy ? strategy : limits.strategy;
	return limits;
}

void cli_effort_say_late(const struct cli_effort_row *limits, const char *label, const struct tcb_sweep_result *result)
{
	static const double LATE = 1.1;

	if (limits->budget_s > 0 && result->took_s > LATE * limits->budget_s)
		cli_say("%s: took %.1f s, %.1f s more than the budget of %.3g s, of which preparing and the default "
			"geometry took %.1f s: %s",
			label, result->took_s, result->took_s - limits->budget_s, limits->budget_s, result->prepare_s,
			result->tried > 1 ? "the budget is short for this problem on this machine now"
					  : "the budget is too small to try anything else of this problem here");
}

void cli_effort_add_table(struct tcb_str *out)
{
	cli_add_line(out, "  %-10s  %-6s  %-12s  %-9s  %-11s  %s", "effort", "budget", "until-stable", "finalists",
		     "strategy", "what for");
	for (int i = 0; i < CLI_EFFORT_COUNT; i++) {
		const struct cli_effort_row *row = &rows[i];
		const char *strategy = row->strategy ? row->strategy : row->finalists ? "the default" : "none";
		char budget[CLI_NUMBER_MAX], stable[CLI_NUMBER_MAX], finalists[CLI_NUMBER_MAX];

		(void)snprintf(budget, sizeof budget, row->budget_s > 0 ? "%.0fs" : "none", row->budget_s);
		(void)snprintf(stable, sizeof stable, row->until_stable > 0 ? "%g" : "none", 100 * row->until_stable);
		(void)snprintf(finalists, sizeof finalists, row->finalists ? "%u" : "none", row->finalists);
		cli_add_line(out, "  %-10s  %-6s  %-12s  %-9s  %-11s  %s", row->name, budget, stable, finalists,
			     strategy, row->what);
	}
}
