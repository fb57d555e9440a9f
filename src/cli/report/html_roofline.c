/* SPDX-License-Identifier: MIT
 *
 * A roofline: operations per byte against operations per second (Williams,
 * Waterman and Patterson, "Roofline", CACM 52(4), 2009).  The limits are those
 * that were timed in the same finals, of bytes, and the device's, of arithmetic:
 * a flat line for each kind of it.  The slope is the fastest limit of bytes but for
 * those that are far from all others, which would leave no room for the rest.  From
 * each point a line goes up to its own problem's limit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/html_plots.h"

int cli_html_same_machine(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->device_key, b->device_key) == 0 && strcmp(a->device_name, b->device_name) == 0 &&
	       a->threads == b->threads && a->state == b->state;
}

struct point {
	const struct cli_best_row *row;
	size_t number; /* of the row */
	struct tcb_bottleneck found;
};

/* A limit of bytes that is so many times the median one is an outlier. */
static const double FAR = 8;
/* Limits of arithmetic that differ by less are one. */
static const double ALIKE = 1.02;
enum { FLATS_MAX = 4 };

struct roof {
	double byte_limit; /* the largest measured that is no outlier; 0: none */
	size_t outliers;
	double flats[FLATS_MAX]; /* limits of arithmetic */
	size_t flat_count;
	struct cli_html_scale x, y;
	struct point *points; /* the rows of one machine and cache state */
	size_t count, drawn;  /* drawn: that have a place */
};

static int is_drawn(const struct point *point)
{
	const struct tcb_roofline *line = &point->found.roofline;

	return !point->row->best.modelled && line->intensity > 0 && line->operation_rate > 0;
}

static void find_points(const struct cli_html_source *source, const struct tcb_best *machine, struct roof *out)
{
	for (size_t i = 0; i < source->rows->count; i++) {
		struct point *point = &out->points[out->count];
		*point = (struct point){ .row = &source->rows->rows[i], .number = i };
		if (!cli_html_same_machine(machine, &point->row->best))
			continue;
		cli_bounds_of(source->bounds, point->row, &point->found);
		out->count++;
		out->drawn += (size_t)is_drawn(point);
	}
}

static int by_size(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The limits of bytes: the slope, and how many are too far from the others to be it. */
static void find_slope(struct roof *roof)
{
	double *limits = malloc((roof->count + 1) * sizeof *limits);
	size_t count = 0;

	for (size_t i = 0; limits && i < roof->count; i++)
		if (is_drawn(&roof->points[i]) && roof->points[i].found.roofline.byte_limit > 0)
			limits[count++] = roof->points[i].found.roofline.byte_limit;
	if (count) {
		qsort(limits, count, sizeof *limits, by_size);
		const double most = FAR * limits[(count - 1) / 2];
		while (limits[count - 1] > most) {
			count--;
			roof->outliers++;
		}
		roof->byte_limit = limits[count - 1];
	}
	free(limits);
}

static void add_flat(struct roof *roof, double limit)
{
	for (size_t i = 0; i < roof->flat_count; i++)
		if (limit <= ALIKE * roof->flats[i] && ALIKE * limit >= roof->flats[i])
			return;
	if (limit > 0 && roof->flat_count < FLATS_MAX)
		roof->flats[roof->flat_count++] = limit;
}

static void find_limits(struct roof *roof)
{
	find_slope(roof);
	for (size_t i = 0; i < roof->count; i++) {
		const struct tcb_roofline *line = &roof->points[i].found.roofline;
		if (!is_drawn(&roof->points[i]))
			continue;
		cli_html_hold(&roof->x, line->intensity);
		cli_html_hold(&roof->y, line->operation_rate);
		cli_html_hold(&roof->y, line->intensity * fmin(line->byte_limit, roof->byte_limit));
		add_flat(roof, line->operation_limit);
	}
	for (size_t i = 0; i < roof->flat_count; i++) {
		cli_html_hold(&roof->y, roof->flats[i]);
		if (roof->byte_limit > 0) /* where the roofs meet */
			cli_html_hold(&roof->x, roof->flats[i] / roof->byte_limit);
	}
	/* Always logarithmic, with half a decade to each side. */
	roof->x = (struct cli_html_scale){ roof->x.lo / 3, roof->x.hi * 3, 1 };
	roof->y = (struct cli_html_scale){ roof->y.lo / 2, roof->y.hi * 2, 1 };
}

static double highest(const struct roof *roof)
{
	double most = 0;

	for (size_t i = 0; i < roof->flat_count; i++)
		most = fmax(most, roof->flats[i]);
	return most;
}

/* The slope as far as it is below the flat line and inside the area. */
static void draw_limits(const struct cli_html_plot *plot, const struct roof *roof)
{
	if (roof->byte_limit > 0) {
		const double top = roof->flat_count ? highest(roof) : plot->y.hi;
		const double from = fmax(plot->x.lo, plot->y.lo / roof->byte_limit);
		const double to = fmin(plot->x.hi, fmin(top, plot->y.hi) / roof->byte_limit);
		if (from < to)
			tcb_str_addf(plot->out,
				     "<line class=\"limit\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
				     cli_html_x(plot, from), cli_html_y(plot, from * roof->byte_limit),
				     cli_html_x(plot, to), cli_html_y(plot, to * roof->byte_limit));
	}
	for (size_t i = 0; i < roof->flat_count; i++)
		cli_html_horizontal(plot, "compute", roof->flats[i]);
}

/* What the problem's own limits allow, inside the area. */
static double reach(const struct cli_html_plot *plot, const struct tcb_roofline *line)
{
	double most = line->intensity * line->byte_limit;

	if (line->operation_limit > 0)
		most = fmin(most, line->operation_limit);
	return fmin(most, plot->y.hi);
}

static void draw_point(const struct cli_html_plot *plot, const struct point *point)
{
	const struct tcb_roofline *line = &point->found.roofline;
	const struct tcb_problem *problem = &point->row->best.problem;
	const double x = cli_html_x(plot, line->intensity), y = cli_html_y(plot, line->operation_rate);
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&problem->shape, shape);
	if (line->byte_limit > 0) {
		const double top = cli_html_y(plot, reach(plot, line));
		tcb_str_addf(plot->out, "<path class=\"reach\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh8\"/>", x, y, top, x - 4,
			     top);
	}
	tcb_str_addf(plot->out, "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\" data-row=\"%zu\"><title>", x, y,
		     point->number);
	cli_html_textf(plot->out, "%s %s %s: %.4g Gop/s at %.3g operations per byte, %.4g GB/s; bound by: %s",
		       problem->op_name, tcb_contract_text(problem->contract), shape, line->operation_rate,
		       line->intensity, line->byte_rate, tcb_bottleneck_text(point->found.kind));
	tcb_str_add(plot->out, "</title></circle>");
}

static void add_number(struct tcb_str *out, double value)
{
	if (isfinite(value) && value > 0)
		tcb_str_addf(out, "<td class=\"n\">%.4g</td>", value);
	else
		tcb_str_add(out, "<td class=\"n\">unknown</td>");
}

static void add_numbers(const struct roof *roof, struct tcb_str *out)
{
	tcb_str_add(out, "<details><summary>Numbers</summary><div class=\"scroll\"><table><tr><th>problem</th>"
			 "<th>operations per byte</th><th>Gop/s</th><th>its limit</th><th>GB/s</th><th>its limit</th>"
			 "<th>bound by</th></tr>");
	for (size_t i = 0; i < roof->count; i++) {
		const struct tcb_problem *problem = &roof->points[i].row->best.problem;
		const struct tcb_roofline *line = &roof->points[i].found.roofline;
		char shape[TCB_SHAPE_TEXT_MAX];
		tcb_shape_print(&problem->shape, shape);
		tcb_str_addf(out, "<tr><td><a href=\"#r%zu\">", roof->points[i].number);
		cli_html_textf(out, "%s %s %s", problem->op_name, tcb_contract_text(problem->contract), shape);
		tcb_str_add(out, "</a></td>");
		add_number(out, line->intensity);
		add_number(out, line->operation_rate);
		add_number(out, line->operation_limit);
		add_number(out, line->byte_rate);
		add_number(out, line->byte_limit);
		tcb_str_addf(out, "<td>%s</td></tr>", tcb_bottleneck_text(roof->points[i].found.kind));
	}
	tcb_str_add(out, "</table></div></details>");
}

static void add_key(const struct roof *roof, struct tcb_str *out)
{
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "k-dot best", "winners, each below its own problem's limit (short bar)");
	if (roof->byte_limit > 0)
		cli_html_key(
			out, "limit", "highest bandwidth that was timed in these finals: %.4g GB/s%s", roof->byte_limit,
			roof->outliers ? ", but for some of over 8 times the median, which the axes leave out" : "");
	else
		cli_html_key(out, "limit", "no bandwidth limit was timed");
	for (size_t i = 0; i < roof->flat_count; i++)
		cli_html_key(out, "compute", "arithmetic limit: %.4g Gop/s", roof->flats[i]);
	if (!roof->flat_count)
		cli_html_key(out, "compute", "no arithmetic limit was measured");
	tcb_str_add(out, "</ul>");
}

static void add_roofline(struct roof *roof, enum tcb_state state, struct tcb_str *out)
{
	struct cli_html_plot plot = { .out = out };
	char title[160], text[160];

	find_limits(roof);
	plot.x = roof->x;
	plot.y = roof->y;
	snprintf(title, sizeof title, "Roofline, %s", tcb_state_text(state));
	snprintf(text, sizeof text,
		 "%zu winners by operations per byte and operations per second, below the measured limits.",
		 roof->drawn);
	cli_html_figure(&plot, "roofline", title, text, 56, CLI_HTML_HEIGHT + 20);
	cli_html_axes(&plot, "operations per byte", "Gop/s");
	draw_limits(&plot, roof);
	for (size_t i = 0; i < roof->count; i++)
		if (is_drawn(&roof->points[i]))
			draw_point(&plot, &roof->points[i]);
	cli_html_drawn(&plot);
	add_key(roof, out);
	add_numbers(roof, out);
	tcb_str_add(out, "</figure>\n");
}

void cli_html_roofline(const struct cli_html_source *source, size_t first, struct tcb_str *out)
{
	const struct tcb_best *machine = &source->rows->rows[first].best;
	struct roof roof = { .points = calloc(source->rows->count + 1, sizeof *roof.points) };

	if (roof.points)
		find_points(source, machine, &roof);
	else
		out->failed = 1;
	if (roof.drawn)
		add_roofline(&roof, machine->state, out);
	else
		tcb_str_add(out, "<p class=\"none\">No roofline: nothing was measured in this cache state.</p>\n");
	free(roof.points);
}
