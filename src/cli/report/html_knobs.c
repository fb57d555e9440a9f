/* SPDX-License-Identifier: MIT
 *
 * What the parts of a geometry are worth in one space.  The main effect of a
 * value: the median time of all candidates that have it.  A slice: the candidates
 * that differ from the winner in that part alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/report/html_plots.h"

enum {
	PARTS_MAX = 8,   /* shown, those that matter most */
	VALUES_MAX = 12, /* of a part with more: the fastest */
	LINES_MAX = 60,  /* of the tie set */
	ROW = 15,        /* height of a value */
	LABELS = 150,    /* width of the names */
};

struct value {
	size_t example; /* the first candidate that has it */
	double number;
	size_t count;
	double least, low, median, high, slice; /* ns; quartiles; slice NaN: there is none */
};

struct part {
	size_t field;
	struct value *values;
	size_t count;
	double effect; /* the slowest median over the fastest */
};

static int by_median(const void *a, const void *b)
{
	return tcb_ascending(&((const struct value *)a)->median, &((const struct value *)b)->median);
}

static int by_number(const void *a, const void *b)
{
	return tcb_ascending(&((const struct value *)a)->number, &((const struct value *)b)->number);
}

static int by_effect(const void *a, const void *b)
{
	return tcb_ascending(&((const struct part *)b)->effect, &((const struct part *)a)->effect);
}

static double quantile(const double *sorted, size_t count, double share)
{
	return sorted[(size_t)(share * (double)(count - 1) + 0.5)];
}

/* TIMES: room for all candidates. */
static void judge(const struct cli_html_space *space, size_t field, struct value *value, double *times)
{
	const struct cli_html_candidate *best = space->best == TCB_ASK_NONE ? NULL : &space->list[space->best];

	value->count = 0;
	value->slice = NAN;
	for (size_t i = 0; i < space->count; i++) {
		const struct cli_html_candidate *one = &space->list[i];
		if (!(one->ns < INFINITY) || cli_html_field(&one->geometry, field) != value->number)
			continue;
		times[value->count++] = one->ns;
		if (best && (one == best || cli_html_only_difference(&one->geometry, &best->geometry) == field))
			value->slice = one->ns;
	}
	qsort(times, value->count, sizeof *times, tcb_ascending);
	value->least = times[0];
	value->low = quantile(times, value->count, 0.25);
	value->median = quantile(times, value->count, 0.5);
	value->high = quantile(times, value->count, 0.75);
}

/* The values of a part among the candidates that did not fail; -1: out of memory. */
static int find_values(const struct cli_html_space *space, struct part *part, double *times)
{
	for (size_t i = 0; i < space->count; i++) {
		const double number = cli_html_field(&space->list[i].geometry, part->field);
		size_t v = 0;
		if (!(space->list[i].ns < INFINITY))
			continue;
		while (v < part->count && part->values[v].number != number)
			v++;
		if (v < part->count)
			continue;
		struct value *values = realloc(part->values, (part->count + 1) * sizeof *values);
		if (!values)
			return -1;
		part->values = values;
		part->values[part->count++] = (struct value){ .example = i, .number = number };
	}
	for (size_t v = 0; v < part->count; v++)
		judge(space, part->field, &part->values[v], times);
	if (part->count > 1) {
		qsort(part->values, part->count, sizeof *part->values, by_median);
		part->effect = part->values[part->count - 1].median / part->values[0].median;
		qsort(part->values, part->count < VALUES_MAX ? part->count : VALUES_MAX, sizeof *part->values,
		      by_number);
	}
	return 0;
}

static size_t shown(const struct part *part)
{
	return part->count < VALUES_MAX ? part->count : VALUES_MAX;
}

static void draw_value(struct cli_html_plot *plot, const struct cli_html_space *space, const struct part *part,
		       const struct value *value, double y)
{
	char name[CLI_HTML_FIELD_MAX], text[CLI_HTML_FIELD_MAX], median[CLI_NUMBER_MAX], least[CLI_NUMBER_MAX];

	cli_text_time(value->median, median);
	cli_text_time(value->least, least);
	cli_html_field_name(&space->list->geometry, part->field, name);
	cli_html_field_value(&space->list[value->example].geometry, part->field, text);
	tcb_str_addf(plot->out, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s (%zu)</text>", plot->left - 6, y + 4,
		     text, value->count);
	tcb_str_addf(plot->out,
		     "<g class=\"value\"><title>%s = %s: median %s of %zu candidates, fastest %s</title><line "
		     "class=\"quartiles\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><circle class=\"median\" "
		     "cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/><path class=\"least\" d=\"M%.1f %.1fv8\"/>",
		     name, text, median, value->count, least, cli_html_x(plot, value->low), y,
		     cli_html_x(plot, value->high), y, cli_html_x(plot, value->median), y,
		     cli_html_x(plot, value->least), y - 4);
	if (value->slice > 0) {
		const double x = cli_html_x(plot, value->slice);
		tcb_str_addf(plot->out, "<path class=\"slice\" d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>", x, y - 5);
	}
	tcb_str_add(plot->out, "</g>");
}

static void draw_parts(struct cli_html_plot *plot, const struct cli_html_space *space, const struct part *parts,
		       size_t count)
{
	double y = plot->top + 2;

	for (size_t p = 0; p < count; p++) {
		char name[CLI_HTML_FIELD_MAX];
		cli_html_field_name(&space->list->geometry, parts[p].field, name);
		tcb_str_addf(plot->out, "<text class=\"part\" x=\"2\" y=\"%.1f\">%s</text>", y + 12, name);
		for (size_t v = 0; v < shown(&parts[p]); v++, y += ROW)
			draw_value(plot, space, &parts[p], &parts[p].values[v], y + 8);
		y += 6;
		if (p + 1 < count)
			tcb_str_addf(plot->out, "<line class=\"grid\" x1=\"2\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
				     y - 3, plot->right, y - 3);
	}
}

static void add_effect_numbers(const struct cli_html_space *space, const struct part *parts, size_t count,
			       struct tcb_str *out)
{
	tcb_str_add(out, "<details><summary>Numbers</summary><div "
			 "class=\"scroll\"><table><tr><th>part</th><th>value</th><th>candidates</th><th>fastest</"
			 "th><th>median</th><th>slice</th></tr>");
	for (size_t p = 0; p < count; p++)
		for (size_t v = 0; v < shown(&parts[p]); v++) {
			const struct value *value = &parts[p].values[v];
			char name[CLI_HTML_FIELD_MAX], text[CLI_HTML_FIELD_MAX], least[CLI_NUMBER_MAX];
			char median[CLI_NUMBER_MAX], slice[CLI_NUMBER_MAX];
			cli_html_field_name(&space->list->geometry, parts[p].field, name);
			cli_html_field_value(&space->list[value->example].geometry, parts[p].field, text);
			cli_text_time(value->least, least);
			cli_text_time(value->median, median);
			cli_text_time(value->slice, slice);
			tcb_str_addf(out,
				     "<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%zu</td><td "
				     "class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>",
				     name, text, value->count, least, median, slice);
		}
	tcb_str_add(out, "</table></div></details>");
}

static void add_effects(const struct cli_html_space *space, const struct part *parts, size_t count, struct tcb_str *out)
{
	const size_t kept = count < PARTS_MAX ? count : PARTS_MAX;
	struct cli_html_plot plot = { .out = out, .x.is_time = 1 };
	double height = 56;
	int is_cut = 0;

	for (size_t p = 0; p < kept; p++) {
		height += 6 + ROW * (double)shown(&parts[p]);
		is_cut |= shown(&parts[p]) < parts[p].count;
		for (size_t v = 0; v < shown(&parts[p]); v++) {
			cli_html_hold(&plot.x, parts[p].values[v].least);
			cli_html_hold(&plot.x, parts[p].values[v].high);
			cli_html_hold(&plot.x, parts[p].values[v].slice);
		}
	}
	cli_html_settle(&plot.x);
	cli_html_figure(&plot, "effects", "Main effects and slices",
			"For each value of a part of the geometry the median time of the candidates that have it.",
			LABELS, height);
	cli_html_axes(&plot, "time per call", NULL);
	draw_parts(&plot, space, parts, kept);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "k-dot median", "median of all candidates with the value (how many), with quartiles");
	cli_html_key(out, "least", "the fastest of them");
	cli_html_key(out, "k-open slice", "slice: the winner with this value alone changed, where it was tried");
	if (count > kept)
		cli_html_key(out, "note", "the %zu parts with the largest effect, of %zu", kept, count);
	if (is_cut)
		cli_html_key(out, "note", "of a part with more than %d values: the fastest", VALUES_MAX);
	tcb_str_add(out, "</ul>");
	add_effect_numbers(space, parts, kept, out);
	tcb_str_add(out, "</figure>\n");
}

void cli_html_effects(const struct cli_html_space *space, struct tcb_str *out)
{
	struct part parts[TCB_FIELDS_MAX] = { 0 };
	double *times = malloc((space->count + 1) * sizeof *times);
	size_t count = 0;

	out->failed |= !times;
	for (size_t f = 0; f < TCB_FIELDS_MAX && times; f++) {
		parts[count] = (struct part){ .field = f };
		out->failed |= find_values(space, &parts[count], times) != 0;
		if (parts[count].count > 1)
			count++;
		else
			free(parts[count].values);
	}
	qsort(parts, count, sizeof *parts, by_effect);
	if (count)
		add_effects(space, parts, count, out);
	else
		tcb_str_add(out, "<figure class=\"plot effects\"><figcaption>Main effects and slices</figcaption><p "
				 "class=\"none\">All candidates have the same geometry.</p></figure>\n");
	for (size_t p = 0; p < count; p++)
		free(parts[p].values);
	free(times);
}

/* --- the tie set --- */

struct axis {
	size_t field;
	double values[VALUES_MAX]; /* tcb_ascending */
	size_t examples[VALUES_MAX], count;
};

/* The parts that differ within the tie set; of one with many values the rest share the last place. */
static size_t find_axes(const struct cli_html_space *space, const size_t *ties, size_t tie_count,
			struct axis out[TCB_FIELDS_MAX])
{
	size_t count = 0;

	for (size_t f = 0; f < TCB_FIELDS_MAX; f++) {
		struct axis *axis = &out[count];
		*axis = (struct axis){ .field = f };
		for (size_t t = 0; t < tie_count; t++) {
			const double value = cli_html_field(&space->list[ties[t]].geometry, f);
			size_t at = 0;
			while (at < axis->count && axis->values[at] < value)
				at++;
			if ((at < axis->count && axis->values[at] == value) || axis->count == VALUES_MAX)
				continue;
			memmove(axis->values + at + 1, axis->values + at, (axis->count - at) * sizeof *axis->values);
			memmove(axis->examples + at + 1, axis->examples + at,
				(axis->count - at) * sizeof *axis->examples);
			axis->values[at] = value;
			axis->examples[at] = ties[t];
			axis->count++;
		}
		count += axis->count > 1;
	}
	return count;
}

static double axis_x(const struct cli_html_plot *plot, const struct axis *axis, size_t at)
{
	return plot->left + 24 + (plot->right - plot->left - 48) * (double)at / (double)(axis->count - 1);
}

static void draw_axes(struct cli_html_plot *plot, const struct cli_html_space *space, const struct axis *axes,
		      size_t count, double step)
{
	for (size_t a = 0; a < count; a++) {
		const double y = plot->top + 16 + step * (double)a;
		char text[CLI_HTML_FIELD_MAX];
		cli_html_field_name(&space->list->geometry, axes[a].field, text);
		tcb_str_addf(
			plot->out,
			"<g class=\"axis\" data-axis=\"%zu\" data-y=\"%.1f\"><text class=\"end part\" x=\"%.1f\" "
			"y=\"%.1f\">%s</text><line class=\"frame\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
			a, y, plot->left - 6, y + 4, text, plot->left, y, plot->right, y);
		for (size_t v = 0; v < axes[a].count; v++) {
			cli_html_field_value(&space->list[axes[a].examples[v]].geometry, axes[a].field, text);
			tcb_str_addf(plot->out, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">%s</text>",
				     axis_x(plot, &axes[a], v), y - 5, text);
		}
		tcb_str_add(plot->out, "</g>");
	}
}

static void draw_tie(struct cli_html_plot *plot, const struct cli_html_space *space, size_t candidate,
		     const struct axis *axes, size_t count, double step)
{
	const struct cli_html_candidate *one = &space->list[candidate];
	char geometry[TCB_GEOMETRY_TEXT_MAX], time[CLI_NUMBER_MAX];
	struct tcb_str at = { 0 };

	tcb_geometry_print(&one->geometry, geometry);
	tcb_str_addf(plot->out, "<path class=\"tie%s\" d=\"", candidate == space->best ? " best" : "");
	for (size_t a = 0; a < count; a++) {
		size_t v = 0;
		while (v + 1 < axes[a].count && axes[a].values[v] < cli_html_field(&one->geometry, axes[a].field))
			v++;
		const double x = axis_x(plot, &axes[a], v);
		tcb_str_addf(plot->out, "%c%.1f %.1f", a ? 'L' : 'M', x, plot->top + 16 + step * (double)a);
		tcb_str_addf(&at, "%s%.1f", a ? " " : "", x);
	}
	/* Two axes at least, so that a line is seen. */
	if (count == 1)
		tcb_str_add(plot->out, "v8");
	cli_text_time(one->ns, time);
	tcb_str_addf(plot->out, "\" data-at=\"%s\"><title>%s: %s</title></path>", at.data ? at.data : "", time,
		     geometry);
	plot->out->failed |= at.failed;
	tcb_str_fini(&at);
}

static void add_tie_numbers(const struct cli_html_space *space, const size_t *ties, size_t count, struct tcb_str *out)
{
	tcb_str_add(out, "<details><summary>Numbers</summary><div "
			 "class=\"scroll\"><table><tr><th>screened</th><th>finals</th><th>geometry</th></tr>");
	for (size_t t = 0; t < count; t++) {
		const struct cli_html_candidate *one = &space->list[ties[t]];
		char geometry[TCB_GEOMETRY_TEXT_MAX], screened[CLI_NUMBER_MAX], final[CLI_NUMBER_MAX];
		tcb_geometry_print(&one->geometry, geometry);
		cli_text_time(one->ns, screened);
		cli_text_time(one->final.median, final);
		tcb_str_addf(out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"g\">%s</td></tr>",
			     screened, final, geometry);
	}
	tcb_str_add(out, "</table></div></details>");
}

static void add_ties(const struct cli_html_space *space, const size_t *ties, size_t tie_count, size_t all,
		     struct tcb_str *out)
{
	static const double STEP = 38;
	struct axis axes[TCB_FIELDS_MAX];
	const size_t count = find_axes(space, ties, tie_count, axes);
	struct cli_html_plot plot = { .out = out };

	cli_html_figure(&plot, "ties", "Candidates that reach the best",
			"Each line is a candidate whose interval reaches the best's; each axis a part of the geometry.",
			92, 48 + STEP * (double)count);
	tcb_str_add(out, "<g class=\"lines\">");
	for (size_t t = 0; t < tie_count; t++)
		if (ties[t] != space->best)
			draw_tie(&plot, space, ties[t], axes, count, STEP);
	draw_tie(&plot, space, space->best, axes, count, STEP); /* above the others */
	draw_axes(&plot, space, axes, count, STEP);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "best", "best");
	if (all > tie_count)
		cli_html_key(out, "tie", "the first %zu of %zu candidates whose intervals reach it", tie_count, all);
	else
		cli_html_key(out, "tie", "%zu candidates whose intervals reach it", tie_count - 1);
	if (!count)
		cli_html_key(out, "note", "none besides itself");
	tcb_str_add(out, "</ul>");
	add_tie_numbers(space, ties, tie_count, out);
	tcb_str_add(out, "</figure>\n");
}

void cli_html_ties(const struct cli_html_space *space, struct tcb_str *out)
{
	size_t ties[LINES_MAX], count = 0, all = 0;

	if (space->best == TCB_ASK_NONE) {
		tcb_str_add(out,
			    "<figure class=\"plot ties\"><figcaption>Candidates that reach the best</figcaption><p "
			    "class=\"none\">The winner's own trial is not stored.</p></figure>\n");
		return;
	}
	ties[count++] = space->best;
	for (size_t i = 0; i < space->count; i++) {
		if (!space->list[i].is_tie)
			continue;
		all++;
		if (i != space->best && count < LINES_MAX)
			ties[count++] = i;
	}
	add_ties(space, ties, count, all, out);
}
