/* SPDX-License-Identifier: MIT
 *
 * In: the rows of a report.  Out: what a reader wants to know first: how many
 * results may be relied on, what tuning gained, which are farthest from their
 * limit, where programs get the default; then all rows as a table, which a
 * narrow window shows as a list of cards.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/core/figures.h"
#include "cli/report/html_plots.h"

enum { WORST = 3, NAMED = 6 };

/* --- in words --- */

static void add_link(const struct cli_html_source *source, size_t i, struct tcb_str *out)
{
	const struct cli_best_row *row = &source->rows->rows[i];
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&row->best.problem.shape, shape);
	tcb_str_addf(out, "<a href=\"#r%zu\">", i);
	cli_html_textf(out, "%s %s, %s", row->best.problem.op_name, shape, tcb_state_text(row->best.state));
	tcb_str_add(out, "</a>");
}

static void add_verdicts(const struct cli_best_rows *rows, struct tcb_str *out)
{
	size_t counts[TCB_VERDICT_COUNT] = { 0 };

	for (size_t i = 0; i < rows->count; i++)
		counts[rows->rows[i].verdict]++;
	tcb_str_addf(out, "<li><strong>%zu of %zu tuned</strong>", counts[TCB_VERDICT_TUNED], rows->count);
	for (int v = TCB_VERDICT_TUNED - 1; v >= 0; v--)
		if (counts[v])
			tcb_str_addf(out, ", %zu <span class=\"v-%s\">%s</span>", counts[v],
				     tcb_verdict_text((enum tcb_verdict)v), tcb_verdict_text((enum tcb_verdict)v));
	tcb_str_add(out, ".</li>\n");
}

/* Of the rows whose kernels were timed beside the default's. */
static void add_gain(const struct cli_best_rows *rows, struct tcb_str *out)
{
	double *gains = calloc(rows->count + 1, sizeof *gains);
	char median[CLI_NUMBER_MAX], least[CLI_NUMBER_MAX], most[CLI_NUMBER_MAX];
	size_t count = 0;

	for (size_t i = 0; gains && i < rows->count; i++)
		if (!rows->rows[i].best.modelled && rows->rows[i].best.speedup.median > 0)
			gains[count++] = rows->rows[i].best.speedup.median;
	out->failed |= !gains;
	if (count) {
		qsort(gains, count, sizeof *gains, tcb_ascending);
		cli_text_ratio(tcb_median(gains, count), median);
		cli_text_ratio(gains[0], least);
		cli_text_ratio(gains[count - 1], most);
		tcb_str_addf(
			out,
			"<li>The median of %zu winner%s is <strong>%s &times; as fast as the default</strong> (from "
			"%s to %s).</li>\n",
			count, count == 1 ? "" : "s", median, least, most);
	}
	free(gains);
}

static double share_of(const struct cli_best_row *row)
{
	const struct cli_limit limit = cli_limit_of(&row->best);

	return cli_limit_is_known(&limit) && limit.use == TCB_LIMIT_HOLDS && !row->best.modelled ? limit.of_limit.median
												 : INFINITY;
}

static void add_worst(const struct cli_html_source *source, struct tcb_str *out)
{
	const struct cli_best_rows *rows = source->rows;
	size_t worst[WORST], count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const double share = share_of(&rows->rows[i]);
		size_t at = count < WORST ? count : WORST;

		if (!isfinite(share))
			continue;
		for (; at > 0 && share < share_of(&rows->rows[worst[at - 1]]); at--)
			if (at < WORST)
				worst[at] = worst[at - 1];
		if (at < WORST) {
			worst[at] = i;
			count += count < WORST;
		}
	}
	for (size_t i = 0; i < count; i++) {
		tcb_str_add(out, i ? "; " : "<li>Farthest from their limit: ");
		add_link(source, worst[i], out);
		tcb_str_addf(out, " (%.1f&nbsp;%%)", 100 * share_of(&rows->rows[worst[i]]));
	}
	if (count)
		tcb_str_add(out, ".</li>\n");
}

/* The rows whose stored winner programs do not get, and WHY. */
static void add_unserved(const struct cli_html_source *source, enum cli_served served, const char *why,
			 struct tcb_str *out)
{
	size_t count = 0;

	for (size_t i = 0; i < source->rows->count; i++) {
		if (source->rows->rows[i].served != served || count++ >= NAMED)
			continue;
		tcb_str_add(out, count == 1 ? why : "; ");
		add_link(source, i, out);
	}
	if (count > NAMED)
		tcb_str_addf(out, "; and %zu more", count - NAMED);
	if (count)
		tcb_str_add(out, ".</li>\n");
}

/* --- as a table --- */

/* One cell: what is sorted by, what it shows, and below that, smaller, its interval or note; on a card an
 * interval has a line of its own. */
static void add_cell(struct tcb_str *out, const char *label, double order, const char *text, const char *below)
{
	tcb_str_addf(out, "<td class=\"n%s\" data-label=\"%s\"", below[0] == '[' ? " wide" : "", label);
	if (order > 0 && isfinite(order))
		tcb_str_addf(out, " data-v=\"%.9g\"", order);
	tcb_str_add(out, ">");
	cli_html_text(out, text);
	if (below[0]) {
		tcb_str_add(out, " <small>");
		cli_html_text(out, below);
		tcb_str_add(out, "</small>");
	}
	tcb_str_add(out, "</td>");
}

/* TEXT is "12.3 [12.1, 12.6] µs": the interval goes below; none is shown of what was never measured. */
static void add_interval(struct tcb_str *out, const char *label, double order, const char *text)
{
	const char *from = strchr(text, '['), *to = strchr(text, ']');
	char above[2 * CLI_NUMBER_MAX] = "", below[CLI_NUMBER_MAX] = "";

	if (from && to) {
		(void)snprintf(above, sizeof above, "%.*s%s", (int)(from - text - 1), text, to + 1);
		(void)snprintf(below, sizeof below, "%.*s", (int)(to - from + 1), from);
	}
	add_cell(out, label, order, from && to ? above : text, below);
}

static void add_figures(struct tcb_str *out, const struct tcb_best *best)
{
	const struct cli_limit limit = cli_limit_of(best);
	char text[CLI_NUMBER_MAX];

	if (best->modelled)
		cli_text_time(best->ns.median, text);
	else
		cli_text_time_interval(&best->ns, text);
	add_interval(out, "time", best->ns.median, text);
	(void)snprintf(text, sizeof text, "%.4g", cli_best_gbs(best));
	add_cell(out, "GB/s", cli_best_gbs(best), text, "");
	cli_limit_text(&limit, text);
	add_cell(out, "% of limit", limit.of_limit.median, text, "");
	cli_speedup_interval_text(best, text);
	add_interval(out, "&times; default", best->speedup.median, text);
}

static const char *served_note(enum cli_served served)
{
	return served == CLI_SERVED_DEFAULT ? ", default served" : served == CLI_SERVED_EARLIER ? ", still served" : "";
}

static void add_row(const struct cli_html_source *source, size_t i, struct tcb_str *out)
{
	const struct cli_best_row *row = &source->rows->rows[i];
	const struct tcb_best *best = &row->best;
	const char *verdict = tcb_verdict_text(row->verdict);
	struct tcb_bottleneck found;
	char text[CLI_NUMBER_MAX], of[CLI_NUMBER_MAX], shape[TCB_SHAPE_TEXT_MAX];

	cli_bounds_of(source->bounds, row, &found);
	tcb_shape_print(&best->problem.shape, shape);
	tcb_str_addf(out, "<tr data-row=\"%zu\"><td><a href=\"#r%zu\">", i, i);
	cli_html_textf(out, "%s %s", best->problem.op_name, tcb_contract_text(best->problem.contract));
	tcb_str_add(out, "</a></td><td data-label=\"shape\">");
	cli_html_text(out, shape);
	tcb_str_add(out, "</td><td data-label=\"device\">");
	cli_html_text(out, row->device_label);
	cli_html_threads(best, out);
	tcb_str_addf(out, "</td><td data-label=\"state\">%s</td>", tcb_state_text(best->state));
	add_figures(out, best);
	(void)snprintf(text, sizeof text, "%zu", best->tried);
	(void)snprintf(of, sizeof of, "of %zu", best->space_count);
	add_cell(out, "tried", (double)best->tried, text, of);
	tcb_str_addf(out,
		     "<td data-label=\"verdict\" class=\"v-%s\">%s%s</td><td data-label=\"bound by\">%s</td></tr>\n",
		     verdict, verdict, served_note(row->served), tcb_bottleneck_text(found.kind));
}

void cli_html_summary(const struct cli_html_source *source, struct tcb_str *out)
{
	tcb_str_add(out, "<section id=\"summary\"><ul class=\"facts\">\n");
	add_verdicts(source->rows, out);
	add_gain(source->rows, out);
	add_worst(source, out);
	add_unserved(source, CLI_SERVED_DEFAULT,
		     "<li>Programs get the <strong>default</strong>, since the best is not surely as fast, for ", out);
	add_unserved(source, CLI_SERVED_REFUSED,
		     "<li>Programs do not get these, whose kernels have changed since they were measured: ", out);
	tcb_str_add(
		out,
		"</ul></section>\n<h2 id=\"results\">Results</h2>\n<div id=\"tools\" class=\"tools\"></div>\n"
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table class=\"summary\">"
		"<thead><tr><th>op</th><th>shape</th><th>device</th><th>state</th>"
		"<th class=\"n\">time, 95&nbsp;%</th><th class=\"n\">GB/s</th><th class=\"n\">% of limit</th>"
		"<th class=\"n\">&times; default, 95&nbsp;%</th><th class=\"n\">tried</th><th>verdict</th>"
		"<th>bound by</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < source->rows->count; i++)
		add_row(source, i, out);
	tcb_str_add(out, "</tbody></table></div>\n");
}
