/* SPDX-License-Identifier: MIT
 *
 * In: the rows of a report.  Out: one page.  First what was found, as a
 * summary and a table (html_summary.c); then each device with its roofline; then each problem; then loss maps.  The
 * page forbids itself to fetch anything (its content security policy).
 */
#include <string.h>

#include "base/build_info.h"
#include "cli/core/figures.h"
#include "cli/report/energy_front.h"
#include "cli/report/html_plots.h"

static void add_head(const struct cli_html_source *source, struct tcb_str *out)
{
	char now[CLI_DATE_MAX];

	cli_text_now(now);
	tcb_str_add(out,
		    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<title>tcbtune report</title>\n<style>\n");
	tcb_str_add(out, cli_html_style());
	tcb_str_add(out, "</style></head>\n<body><header><h1>tcbtune report</h1>\n<p class=\"soft\">");
	cli_html_textf(out, "%zu result%s of %s; written %s by tcbtune %s (%s).", source->rows->count,
		       source->rows->count == 1 ? "" : "s", source->path, now, tcb_build_info()->version,
		       tcb_build_info()->commit);
	tcb_str_add(out,
		    " What the words mean: docs/measuring.md and docs/glossary.md of tcbtune.</p></header>\n<main>\n");
}

static void add_devices(const struct cli_html_source *source, struct tcb_str *out)
{
	const struct cli_best_row *rows = source->rows->rows;

	tcb_str_add(out, "<h2 id=\"devices\">Devices</h2>\n<div class=\"plots\">\n");
	for (size_t i = 0; i < source->rows->count; i++) {
		const struct tcb_best *best = &rows[i].best;
		size_t earlier = 0;
		while (earlier < i && !cli_html_same_machine(&rows[earlier].best, best))
			earlier++;
		if (earlier < i)
			continue;
		tcb_str_add(out, "<div><h3>");
		cli_html_text(out, rows[i].device_label);
		cli_html_threads(best, out);
		cli_html_textf(out, ": %s, key %s", best->model, best->device_key);
		tcb_str_add(out, "</h3>\n");
		cli_html_roofline(source, i, out);
		tcb_str_add(out, "</div>\n");
	}
	tcb_str_add(out, "</div>\n");
}

/* Results that were measured elsewhere. */
static void add_recordings(const struct cli_recordings *recordings, struct tcb_str *out)
{
	char text[640];

	if (!recordings->count)
		return;
	tcb_str_add(out, "<h2 id=\"imported\">Imported</h2>\n<ul>\n");
	for (size_t i = 0; i < recordings->count; i++) {
		cli_recording_text(&recordings->list[i], text, sizeof text);
		tcb_str_add(out, "<li>");
		cli_html_text(out, text);
		tcb_str_add(out, "</li>\n");
	}
	tcb_str_add(out, "</ul>\n");
}

/* A line may end after each comma. */
static void add_geometry(const char *text, struct tcb_str *out)
{
	while (*text) {
		const size_t length = strcspn(text, ",") + (strchr(text, ',') ? 1 : 0);

		cli_html_textf(out, "%.*s", (int)length, text);
		tcb_str_add(out, "<wbr>");
		text += length;
	}
}

/* What is said of a result before its plots. */
static void add_words(const struct cli_html_source *source, const struct cli_best_row *row, struct tcb_str *out)
{
	char reason[TCB_VERDICT_REASON_MAX];
	struct tcb_bottleneck found;

	cli_bounds_of(source->bounds, row, &found);
	tcb_verdict_reason(&row->best, row->verdict, reason);
	tcb_str_addf(out, "<p><strong class=\"v-%s\">%s</strong>", tcb_verdict_text(row->verdict),
		     tcb_verdict_text(row->verdict));
	cli_html_textf(out, "%s%s. ", reason[0] ? ": " : "", reason);
	if (row->served == CLI_SERVED_DEFAULT)
		tcb_str_add(out, "Programs get the default, since the best is not surely as fast. ");
	if (row->served == CLI_SERVED_EARLIER)
		tcb_str_add(out, "Programs get the best all the same, as source earlier: it surely gained so much that "
				 "it is believed of today's kernel. ");
	cli_html_textf(out, "Bound by: %s (%s); %s: %s.", tcb_bottleneck_text(found.kind), found.evidence,
		       found.kind == TCB_BOTTLENECK_UNKNOWN ? "what would tell" : "to go faster", found.advice);
	tcb_str_add(out, "</p>\n<p>Best: <code>");
	add_geometry(row->best.geometry, out);
	tcb_str_add(out, "</code><br>Default: <code>");
	add_geometry(row->best.default_geometry, out);
	tcb_str_add(out, "</code></p>\n");
}

static void add_problem(const struct cli_html_source *source, const struct cli_html_space *space, size_t i,
			struct tcb_str *out)
{
	const struct tcb_best *best = &space->row->best;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&best->problem.shape, shape);
	tcb_str_addf(out, "<section id=\"r%zu\" data-row=\"%zu\"><h3>", i, i);
	cli_html_textf(out, "%s %s %s on %s", best->problem.op_name, tcb_contract_text(best->problem.contract), shape,
		       space->row->device_label);
	cli_html_threads(best, out);
	cli_html_textf(out, ", %s", tcb_state_text(best->state));
	tcb_str_add(out, "</h3>\n");
	add_words(source, space->row, out);
	if (!space->valid) {
		tcb_str_add(out,
			    "<p class=\"none\">No plots: none of its trials is stored with a time.</p></section>\n");
		return;
	}
	if (i >= CLI_HTML_PLOTTED_MAX) {
		tcb_str_addf(out,
			     "<p class=\"none\">No plots: the page has those of its first %d results; --op, --shape, "
			     "--state or --device choose others.</p></section>\n",
			     CLI_HTML_PLOTTED_MAX);
		return;
	}
	tcb_str_add(out, "<div class=\"plots\">\n");
	cli_html_progress(space, out);
	cli_html_distribution(space, out);
	cli_html_intervals(space, out);
	cli_html_effects(space, out);
	cli_html_ties(space, out);
	cli_html_energy(space->row, out);
	tcb_str_add(out, "</div></section>\n");
}

static void add_problems(const struct cli_html_source *source, const struct cli_html_spaces *spaces,
			 struct tcb_str *out)
{
	tcb_str_addf(
		out,
		"<h2 id=\"problems\">Problems</h2>\n<p class=\"soft\">Times of candidates are those of screening, in "
		"the order of their trials; best, default and limit are those of the finals. Kernels of other "
		"programs are not in the database. Single trials that the script shows are thinned to about %d per "
		"result; drawings and numbers are of all, except where they say otherwise.</p>\n",
		CLI_HTML_POINTS_MAX);
	for (size_t i = 0; i < spaces->count; i++)
		add_problem(source, &spaces->items[i], i, out);
	tcb_str_add(
		out,
		"<h2 id=\"losses\">What was best at one shape, used at another</h2>\n<p class=\"soft\">How much slower "
		"than that shape's own best, where it was measured there; tiles that were as large as the shape are "
		"made as large as the other one. Below zero: it was faster there in screening than the winner, which "
		"the finals put first.</p>\n<div "
		"class=\"plots\">");
	cli_html_losses(spaces, out);
	tcb_str_add(out, "</div>\n");
}

static enum tcb_status add_scripts(const struct cli_html_source *source, const struct cli_html_spaces *spaces,
				   struct tcb_str *out, struct tcb_error *err)
{
	enum tcb_status status;

	tcb_str_add(out,
		    "</main>\n<footer><p class=\"none\">With scripts, plots are zoomed with the buttons, with + "
		    "&minus; 0 and "
		    "arrows, or with Ctrl and the wheel.</p></footer>\n<script type=\"application/json\" id=\"data\">");
	status = cli_html_json(source, spaces, out, err);
	tcb_str_add(out, "</script>\n<script>");
	tcb_str_add(out, cli_html_script());
	tcb_str_add(out, "</script>\n</body></html>\n");
	return status;
}

enum tcb_status cli_html_report(const struct cli_html_source *source, struct tcb_str *out, struct tcb_error *err)
{
	struct cli_html_spaces spaces = { 0 };
	enum tcb_status status = cli_html_load(source, &spaces, err);

	if (status == TCB_OK) {
		add_head(source, out);
		cli_html_summary(source, out);
		add_devices(source, out);
		add_recordings(source->recordings, out);
		add_problems(source, &spaces, out);
		status = add_scripts(source, &spaces, out, err);
	}
	cli_html_unload(&spaces);
	return status;
}
