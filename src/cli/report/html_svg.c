/* SPDX-License-Identifier: MIT
 *
 * In: values and their limits.  Out: SVG whose colours and strokes are classes
 * of the page's style sheet, so that one drawing serves light, dark and paper.
 */
#include "cli/report/html_svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"

enum { TICKS_MAX = 40, TICKS_WANTED = 5 };
static const double FAR = 4; /* ends that are so many times apart get a logarithmic scale */

void cli_html_text(struct tcb_str *out, const char *text)
{
	struct tcb_str shown = { 0 };

	cli_add_shown(&shown, text);
	for (const char *c = shown.data ? shown.data : ""; *c; c++) {
		const char *reference = *c == '&'    ? "&amp;"
					: *c == '<'  ? "&lt;"
					: *c == '>'  ? "&gt;"
					: *c == '"'  ? "&quot;"
					: *c == '\'' ? "&#39;"
						     : NULL;
		if (reference)
			tcb_str_add(out, reference);
		else
			tcb_str_add_bytes(out, c, 1);
	}
	out->failed |= shown.failed;
	tcb_str_fini(&shown);
}

static void add_list(struct tcb_str *out, const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0) {
		out->failed = 1;
		return;
	}
	cli_html_text(out, text);
	free(text);
}

void cli_html_textf(struct tcb_str *out, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add_list(out, format, list);
	va_end(list);
}

void cli_html_key(struct tcb_str *out, const char *class, const char *format, ...)
{
	va_list list;

	tcb_str_addf(out, "<li class=\"%s\">", class);
	va_start(list, format);
	add_list(out, format, list);
	va_end(list);
	tcb_str_add(out, "</li>");
}

/* --- scales --- */

void cli_html_hold(struct cli_html_scale *scale, double value)
{
	if (!(value > 0) || !isfinite(value))
		return;
	if (!(scale->lo > 0) || value < scale->lo)
		scale->lo = value;
	if (value > scale->hi)
		scale->hi = value;
}

void cli_html_settle(struct cli_html_scale *scale)
{
	if (!(scale->lo > 0))
		scale->lo = scale->hi = 1;
	scale->is_log = scale->hi >= FAR * scale->lo;
	if (scale->is_log) {
		const double room = pow(scale->hi / scale->lo, 0.04);
		scale->lo /= room;
		scale->hi *= room;
		return;
	}
	const double room = fmax(0.06 * (scale->hi - scale->lo), 0.01 * scale->hi);
	scale->lo = fmax(0, scale->lo - room);
	scale->hi += room;
}

static double place(const struct cli_html_scale *scale, double value)
{
	const double inside = fmin(fmax(value, scale->lo), scale->hi);

	if (scale->is_log)
		return log(inside / scale->lo) / log(scale->hi / scale->lo);
	return (inside - scale->lo) / (scale->hi - scale->lo);
}

double cli_html_x(const struct cli_html_plot *plot, double value)
{
	return plot->left + (plot->right - plot->left) * place(&plot->x, value);
}

double cli_html_y(const struct cli_html_plot *plot, double value)
{
	return plot->bottom - (plot->bottom - plot->top) * place(&plot->y, value);
}

/* 1, 2 or 5 times a power of ten. */
static size_t even_ticks(const struct cli_html_scale *scale, double out[TICKS_MAX])
{
	const double raw = (scale->hi - scale->lo) / TICKS_WANTED, power = pow(10, floor(log10(raw)));
	const double part = raw / power, step = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
	size_t count = 0;

	for (double at = ceil(scale->lo / step) * step; at <= scale->hi && count < TICKS_MAX; at += step)
		out[count++] = at;
	return count;
}

static size_t log_ticks(const struct cli_html_scale *scale, double out[TICKS_MAX])
{
	static const double parts[] = { 1, 2, 5 };
	const double decades = log10(scale->hi / scale->lo), stride = fmax(1, ceil(decades / 8));
	size_t count = 0;

	for (double d = floor(log10(scale->lo)); d <= log10(scale->hi); d += decades > 2.5 ? stride : 1)
		for (size_t i = 0; i < (decades > 2.5 ? 1 : 3) && count < TICKS_MAX; i++) {
			const double at = parts[i] * pow(10, d);
			if (at >= scale->lo && at <= scale->hi)
				out[count++] = at;
		}
	return count;
}

static size_t ticks(const struct cli_html_scale *scale, double out[TICKS_MAX])
{
	return scale->is_log ? log_ticks(scale, out) : even_ticks(scale, out);
}

/* "12.3", "45k", "2.5M" */
static void print_number(double value, char out[CLI_HTML_LABEL_MAX])
{
	static const char units[] = " kMG";
	int unit = 0;

	/* Four digits need no unit. */
	while (fabs(value) >= (unit ? 1e3 : 1e4) && unit < 3) {
		value /= 1e3;
		unit++;
	}
	snprintf(out, CLI_HTML_LABEL_MAX, unit ? "%.4g%c" : "%.4g", value, units[unit]);
}

/* A tick: "12.3", "45k", "20 ms". */
static void tick_text(const struct cli_html_scale *scale, double value, char out[CLI_HTML_LABEL_MAX])
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };
	size_t unit = 0;

	if (!scale->is_time) {
		print_number(value, out);
		return;
	}
	/* A tenth above what rounding may have left below a thousand. */
	for (; value >= 999.9 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1e3;
	snprintf(out, CLI_HTML_LABEL_MAX, "%.4g %s", value, units[unit]);
}

/* --- drawing --- */

void cli_html_figure(struct cli_html_plot *plot, const char *kind, const char *title, const char *description,
		     double left, double height)
{
	plot->left = left;
	plot->top = 10;
	plot->right = CLI_HTML_WIDTH - 14;
	plot->bottom = height - 40;
	tcb_str_addf(plot->out, "<figure class=\"plot %s\"><figcaption>", kind);
	cli_html_text(plot->out, title);
	tcb_str_addf(plot->out, "</figcaption>\n<svg viewBox=\"0 0 %d %.0f\" role=\"img\"><title>", CLI_HTML_WIDTH,
		     height);
	cli_html_text(plot->out, title);
	tcb_str_add(plot->out, "</title><desc>");
	cli_html_text(plot->out, description);
	tcb_str_add(plot->out, "</desc>");
}

/* A line of the grid and its label at LABEL_X, LABEL_Y. */
static void add_grid(const struct cli_html_plot *plot, const double line[4], double label_x, double label_y,
		     const char *class, const char *label)
{
	tcb_str_addf(plot->out,
		     "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
		     "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>",
		     line[0], line[1], line[2], line[3], label_x, label_y, class, label);
}

void cli_html_axes(struct cli_html_plot *plot, const char *x, const char *y)
{
	struct tcb_str *out = plot->out;
	double at[TICKS_MAX];
	const size_t columns = ticks(&plot->x, at);
	char label[CLI_HTML_LABEL_MAX];

	tcb_str_add(out, "<g class=\"axes\">");
	for (size_t i = 0; i < columns; i++) {
		const double px = cli_html_x(plot, at[i]);
		tick_text(&plot->x, at[i], label);
		add_grid(plot, (const double[]){ px, plot->top, px, plot->bottom }, px, plot->bottom + 15, "mid",
			 label);
	}
	const size_t rows = y ? ticks(&plot->y, at) : 0;
	for (size_t i = 0; i < rows; i++) {
		const double py = cli_html_y(plot, at[i]);
		tick_text(&plot->y, at[i], label);
		add_grid(plot, (const double[]){ plot->left, py, plot->right, py }, plot->left - 5, py + 4, "end",
			 label);
	}
	tcb_str_addf(out, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>",
		     plot->left, plot->top, plot->right - plot->left, plot->bottom - plot->top);
	tcb_str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"mid name\">", (plot->left + plot->right) / 2,
		     plot->bottom + 32);
	cli_html_text(out, x);
	tcb_str_add(out, "</text>");
	if (y) {
		const double middle = (plot->top + plot->bottom) / 2;
		tcb_str_addf(out, "<text x=\"11\" y=\"%.1f\" class=\"mid name\" transform=\"rotate(-90 11 %.1f)\">",
			     middle, middle);
		cli_html_text(out, y);
		tcb_str_add(out, "</text>");
	}
	tcb_str_addf(out,
		     "<g class=\"data\" data-area=\"%.1f %.1f %.1f %.1f\" data-x=\"%.9g %.9g %d %d\" data-y=\"%.9g "
		     "%.9g %d %d\">",
		     plot->left, plot->top, plot->right, plot->bottom, plot->x.lo, plot->x.hi, plot->x.is_log,
		     plot->x.is_time, plot->y.lo, plot->y.hi, plot->y.is_log, y ? plot->y.is_time : -1);
}

void cli_html_drawn(struct cli_html_plot *plot)
{
	tcb_str_add(plot->out, "</g></svg>\n");
}

void cli_html_vertical(const struct cli_html_plot *plot, const char *class, double value)
{
	const double x = cli_html_x(plot, value);

	tcb_str_addf(plot->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", class, x,
		     plot->top, x, plot->bottom);
}

void cli_html_horizontal(const struct cli_html_plot *plot, const char *class, double value)
{
	const double y = cli_html_y(plot, value);

	tcb_str_addf(plot->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", class,
		     plot->left, y, plot->right, y);
}
