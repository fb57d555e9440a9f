/* SPDX-License-Identifier: MIT
 *
 * What a search saw of one problem: its best so far over time beside what
 * random search would have had, all times, and the intervals of the finals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/core/figures.h"
#include "cli/report/html_plots.h"

enum { MOMENTS = 48, BINS = 40, FINALISTS_MAX = 8 };
static const double LOW = 0.1, HALF = 0.5, HIGH = 0.9; /* of random searches, the band's edges and its middle */

/* A limit that is farther from the winner is left out of the plots: it would flatten them. */
static const double LIMIT_NEAR = 0.4;

/* 0: there is none, or not near. */
static double near_limit(const struct tcb_best *best)
{
	return best->limit_ns.median >= LIMIT_NEAR * best->ns.median ? best->limit_ns.median : 0;
}

/* Lines of the default, the winner and the limit, as far as they were measured. */
static void mark(const struct cli_html_plot *plot, const struct tcb_best *best, int is_vertical)
{
	const struct {
		const char *class;
		double ns;
	} marks[] = { { "limit", near_limit(best) },
		      { "default", best->default_ns.median },
		      { "best", best->ns.median } };

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (marks[i].ns > 0)
			(is_vertical ? cli_html_vertical : cli_html_horizontal)(plot, marks[i].class, marks[i].ns);
}

static void key(struct tcb_str *out, const struct tcb_best *best)
{
	char text[CLI_NUMBER_MAX];

	cli_text_time(best->ns.median, text);
	cli_html_key(out, "best", "best: %s", text);
	cli_text_time(best->default_ns.median, text);
	if (best->default_ns.median > 0)
		cli_html_key(out, "default", "default: %s", text);
	else
		cli_html_key(out, "default", "the default was not in the finals");
	cli_text_time(best->limit_ns.median, text);
	if (best->limit_ns.median > 0)
		cli_html_key(out, "limit", "%s: %s%s", cli_limit_name(best->limit_method), text,
			     near_limit(best) > 0 ? "" : " (beyond the plot)");
	else
		cli_html_key(out, "limit", "no limit was timed");
}

static void hold_marks(struct cli_html_scale *scale, const struct tcb_best *best)
{
	cli_html_hold(scale, best->ns.median);
	cli_html_hold(scale, best->default_ns.median);
	cli_html_hold(scale, near_limit(best));
}

/* --- best so far --- */

static double clock_at(const struct cli_html_plot *plot, size_t moment)
{
	const double part = (double)moment / (MOMENTS - 1);

	return plot->x.is_log ? plot->x.lo * pow(plot->x.hi / plot->x.lo, part)
			      : plot->x.lo + (plot->x.hi - plot->x.lo) * part;
}

static void draw_random(const struct cli_html_plot *plot, const struct tcb_replay *replay)
{
	tcb_str_add(plot->out, "<path class=\"band\" d=\"");
	for (size_t i = 0; i < 2 * MOMENTS; i++) {
		const double at = clock_at(plot, i < MOMENTS ? i : 2 * MOMENTS - 1 - i);
		const double value = tcb_replay_random(replay, at * 1e9, i < MOMENTS ? HIGH : LOW);
		tcb_str_addf(plot->out, "%c%.1f %.1f", i ? 'L' : 'M', cli_html_x(plot, at), cli_html_y(plot, value));
	}
	tcb_str_add(plot->out, "Z\"/><path class=\"random\" d=\"");
	for (size_t i = 0; i < MOMENTS; i++) {
		const double at = clock_at(plot, i), value = tcb_replay_random(replay, at * 1e9, HALF);
		tcb_str_addf(plot->out, "%c%.1f %.1f", i ? 'L' : 'M', cli_html_x(plot, at), cli_html_y(plot, value));
	}
	tcb_str_add(plot->out, "\"/>");
}

/* A step for each improvement; the last one goes on to the end. */
static void draw_steps(const struct cli_html_plot *plot, const struct cli_html_space *space)
{
	double best = INFINITY;

	tcb_str_add(plot->out, "<path class=\"steps\" d=\"");
	for (size_t i = 0; i < space->count; i++) {
		const struct cli_html_candidate *one = &space->list[i];
		if (!(one->ns < best))
			continue;
		const double x = cli_html_x(plot, one->elapsed_s), y = cli_html_y(plot, one->ns);
		if (best < INFINITY)
			tcb_str_addf(plot->out, "H%.1fV%.1f", x, y);
		else
			tcb_str_addf(plot->out, "M%.1f %.1f", x, y);
		best = one->ns;
	}
	tcb_str_addf(plot->out, "H%.1f\"/>", plot->right);
}

static void add_improvements(const struct cli_html_space *space, struct tcb_str *out)
{
	double best = INFINITY;

	tcb_str_add(out,
		    "<details><summary>Numbers</summary><div class=\"scroll\"><table><tr><th>trial</th><th>seconds</th>"
		    "<th>best so far</th><th>geometry</th></tr>");
	for (size_t i = 0; i < space->count; i++) {
		const struct cli_html_candidate *one = &space->list[i];
		char geometry[TCB_GEOMETRY_TEXT_MAX], time[CLI_NUMBER_MAX];
		if (!(one->ns < best))
			continue;
		best = one->ns;
		cli_text_time(best, time);
		tcb_geometry_print(&one->geometry, geometry);
		tcb_str_addf(out,
			     "<tr><td class=\"n\">%zu</td><td class=\"n\">%.2f</td><td class=\"n\">%s</td>"
			     "<td class=\"g\">%s</td></tr>",
			     i + 1, one->elapsed_s, time, geometry);
	}
	tcb_str_add(out, "</table></div></details>");
}

void cli_html_progress(const struct cli_html_space *space, struct tcb_str *out)
{
	const struct tcb_best *best = &space->row->best;
	struct cli_html_plot plot = { .out = out, .y.is_time = 1 };
	const int is_all = space->count >= best->space_count;
	double so_far = INFINITY;
	char text[160];

	for (size_t i = 0; i < space->count; i++) {
		if (!(space->list[i].ns < INFINITY))
			continue;
		cli_html_hold(&plot.x, space->list[i].elapsed_s);
		if (space->list[i].ns < so_far)
			cli_html_hold(&plot.y, space->list[i].ns);
		so_far = fmin(so_far, space->list[i].ns);
	}
	if (space->is_searchable) {
		cli_html_hold(&plot.x, space->replay.trial / 1e9);
		cli_html_hold(&plot.y, space->replay.median);
	}
	hold_marks(&plot.y, best);
	cli_html_settle(&plot.x);
	cli_html_settle(&plot.y);
	snprintf(text, sizeof text, "The best time found so far over %zu trials, in their order, beside random search.",
		 space->count);
	cli_html_figure(&plot, "progress", "Best so far", text, 56, CLI_HTML_HEIGHT);
	cli_html_axes(&plot, "seconds that the trials took", "time per call");
	if (space->is_searchable)
		draw_random(&plot, &space->replay);
	mark(&plot, best, 0);
	draw_steps(&plot, space);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "steps", "best so far, as screened");
	if (space->is_searchable)
		cli_html_key(out, "band", "random search of %s: 10th to 90th percentile, median dashed%s",
			     is_all ? "the space" : "these trials",
			     is_all ? "" : " (a search chose them: random search of the whole space would be slower)");
	else
		cli_html_key(out, "band", "too few different times for a band of random search");
	key(out, best);
	tcb_str_add(out, "</ul>");
	add_improvements(space, out);
	tcb_str_add(out, "</figure>\n");
}

/* --- all times --- */

static void add_quantiles(const struct cli_html_space *space, struct tcb_str *out)
{
	static const double shares[] = { 0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1 };
	double *values = malloc((space->valid + 1) * sizeof *values);
	size_t count = 0;

	if (!values) {
		out->failed = 1;
		return;
	}
	for (size_t i = 0; i < space->count; i++)
		if (space->list[i].ns < INFINITY)
			values[count++] = space->list[i].ns;
	qsort(values, count, sizeof *values, tcb_ascending);
	tcb_str_add(out,
		    "<details><summary>Numbers</summary><table><tr><th>share of candidates</th><th>at most</th></tr>");
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		char time[CLI_NUMBER_MAX];
		cli_text_time(values[(size_t)(shares[i] * (double)(count - 1))], time);
		tcb_str_addf(out, "<tr><td class=\"n\">%s%.0f %%</td><td class=\"n\">%s</td></tr>",
			     i ? "" : "fastest, ", 100 * shares[i], time);
	}
	tcb_str_add(out, "</table></details>");
	free(values);
}

static void draw_bins(struct cli_html_plot *plot, const size_t bins[BINS])
{
	const double width = (plot->right - plot->left) / BINS;

	for (size_t b = 0; b < BINS; b++) {
		if (!bins[b])
			continue;
		const double y = cli_html_y(plot, (double)bins[b]);
		tcb_str_addf(plot->out,
			     "<rect class=\"bin\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%zu "
			     "candidates</title></rect>",
			     plot->left + width * (double)b + 0.5, y, width - 1, plot->bottom - y, bins[b]);
	}
}

void cli_html_distribution(const struct cli_html_space *space, struct tcb_str *out)
{
	const struct tcb_best *best = &space->row->best;
	struct cli_html_plot plot = { .out = out, .x.is_time = 1 };
	size_t bins[BINS] = { 0 }, most = 1;
	char text[160];

	hold_marks(&plot.x, best);
	for (size_t i = 0; i < space->count; i++)
		cli_html_hold(&plot.x, space->list[i].ns);
	cli_html_settle(&plot.x);
	plot.left = 0;
	plot.right = BINS;
	for (size_t i = 0; i < space->count; i++) {
		if (!(space->list[i].ns < INFINITY))
			continue;
		const size_t bin = (size_t)cli_html_x(&plot, space->list[i].ns);
		const size_t count = ++bins[bin < BINS ? bin : BINS - 1];
		most = count > most ? count : most;
	}
	plot.y = (struct cli_html_scale){ .hi = 1.05 * (double)most };
	snprintf(text, sizeof text, "How many of %zu measured candidates take how long; %zu failed.", space->valid,
		 space->count - space->valid);
	cli_html_figure(&plot, "distribution", "All measured candidates", text, 56, CLI_HTML_HEIGHT);
	cli_html_axes(&plot, "time per call", "candidates");
	draw_bins(&plot, bins);
	mark(&plot, best, 1);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "bin", "%zu candidates as screened%s; %zu more failed", space->valid,
		     best->space_count > space->count ? " (not all of the space was tried)" : "",
		     space->count - space->valid);
	key(out, best);
	tcb_str_add(out, "</ul>");
	add_quantiles(space, out);
	tcb_str_add(out, "</figure>\n");
}

/* --- intervals --- */

struct bar {
	const char *class;
	char name[32];
	struct tcb_interval ns;
};

static int by_median(const void *a, const void *b)
{
	return tcb_ascending(&((const struct bar *)a)->ns.median, &((const struct bar *)b)->ns.median);
}

/* The finalists besides winner and default, the fastest first; returns how many there are of them in all. */
static size_t find_finalists(const struct cli_html_space *space, struct bar out[FINALISTS_MAX])
{
	struct bar *all = calloc(space->count + 1, sizeof *all);
	size_t count = 0;

	if (!all)
		return 0;
	for (size_t i = 0; i < space->count; i++)
		if (space->list[i].final.median > 0 && i != space->best && i != space->start) {
			all[count] = (struct bar){ "other", "", space->list[i].final };
			snprintf(all[count++].name, sizeof all->name, "trial %zu", i + 1);
		}
	qsort(all, count, sizeof *all, by_median);
	memcpy(out, all, (count < FINALISTS_MAX ? count : FINALISTS_MAX) * sizeof *all);
	free(all);
	return count;
}

/* Of a modelled time, which was never measured, nothing is known but the median. */
static int has_interval(const struct bar *bar)
{
	return bar->ns.hi > bar->ns.lo;
}

static void draw_bar(const struct cli_html_plot *plot, const struct bar *bar, double y)
{
	const double from = cli_html_x(plot, bar->ns.lo), to = cli_html_x(plot, bar->ns.hi);
	char time[CLI_NUMBER_MAX];

	tcb_str_addf(plot->out, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text><g class=\"bar %s\">",
		     plot->left - 6, y + 4, bar->name, bar->class);
	if (has_interval(bar))
		tcb_str_addf(plot->out, "<path d=\"M%.1f %.1fV%.1fM%.1f %.1fH%.1fM%.1f %.1fV%.1f\"/>", from, y - 4,
			     y + 4, from, y, to, to, y - 4, y + 4);
	if (has_interval(bar))
		cli_text_time_interval(&bar->ns, time);
	else
		cli_text_time(bar->ns.median, time);
	tcb_str_addf(plot->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><title>%s</title></g>",
		     cli_html_x(plot, bar->ns.median), y, time);
}

static void draw_bars(struct cli_html_plot *plot, const struct bar *bars, size_t count)
{
	for (size_t i = 0; i < count; i++)
		draw_bar(plot, &bars[i], plot->top + 18 + 22 * (double)i);
}

static void add_bar_numbers(const struct bar *bars, size_t count, struct tcb_str *out)
{
	tcb_str_add(
		out,
		"<details><summary>Numbers</summary><table><tr><th></th><th>time</th><th>from</th><th>to</th></tr>");
	for (size_t i = 0; i < count; i++) {
		char median[CLI_NUMBER_MAX], lo[CLI_NUMBER_MAX] = "-", hi[CLI_NUMBER_MAX] = "-";
		cli_text_time(bars[i].ns.median, median);
		if (has_interval(&bars[i])) {
			cli_text_time(bars[i].ns.lo, lo);
			cli_text_time(bars[i].ns.hi, hi);
		}
		tcb_str_addf(out,
			     "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
			     "class=\"n\">%s</td></tr>",
			     bars[i].name, median, lo, hi);
	}
	tcb_str_add(out, "</table></details>");
}

void cli_html_intervals(const struct cli_html_space *space, struct tcb_str *out)
{
	const struct tcb_best *best = &space->row->best;
	const struct bar known[] = { { "limit", "limit", best->limit_ns },
				     { "best", "best", best->ns },
				     { "default", "default", best->default_ns } };
	struct bar bars[3 + FINALISTS_MAX];
	struct cli_html_plot plot = { .out = out, .x.is_time = 1 };
	size_t count = 0;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].ns.median > 0)
			bars[count++] = known[i];
	const size_t others = find_finalists(space, bars + count);
	count += others < FINALISTS_MAX ? others : FINALISTS_MAX;
	for (size_t i = 0; i < count; i++) {
		cli_html_hold(&plot.x, bars[i].ns.lo);
		cli_html_hold(&plot.x, bars[i].ns.hi);
	}
	cli_html_settle(&plot.x);
	cli_html_figure(&plot, "intervals", "Limit, best, default and finalists",
			"Medians and 95 % intervals of those that were timed in the finals.", 78,
			64 + 22 * (double)count);
	cli_html_axes(&plot, "time per call, 95 % interval", NULL);
	draw_bars(&plot, bars, count);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	if (others > FINALISTS_MAX)
		cli_html_key(out, "other", "the fastest %d of %zu other finalists", FINALISTS_MAX, others);
	else
		cli_html_key(out, "other", "%zu other finalists", others);
	tcb_str_add(out, "</ul>");
	add_bar_numbers(bars, count, out);
	tcb_str_add(out, "</figure>\n");
}
