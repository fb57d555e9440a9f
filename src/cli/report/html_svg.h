/* SPDX-License-Identifier: MIT
 *
 * Text and plots of a page: escaping, frames, scales, axes and keys.  Lengths
 * are units of the view box, which the page scales to the width that it has.
 */
#ifndef TCB_CLI_HTML_SVG_H
#define TCB_CLI_HTML_SVG_H

#include "base/util.h"

/* TEXT as it is shown (cli_add_shown), with what HTML would obey as references: for content and quoted attributes. */
void cli_html_text(struct tcb_str *out, const char *text);
void cli_html_textf(struct tcb_str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { CLI_HTML_WIDTH = 460, CLI_HTML_HEIGHT = 290, CLI_HTML_LABEL_MAX = 32 };

struct cli_html_scale {
	double lo, hi; /* of the data */
	int is_log;
	int is_time; /* nanoseconds, shown in the unit that fits */
};
struct cli_html_plot {
	struct tcb_str *out;
	struct cli_html_scale x, y;
	double left, top, right, bottom; /* of the area that data are drawn in */
};

/* Opens a figure; KIND is its class, TITLE its heading, DESCRIPTION what a reader who does not see it is told. */
void cli_html_figure(struct cli_html_plot *plot, const char *kind, const char *title, const char *description,
		     double left, double height);
/* Both axes with their ticks, then the group that data belong to; Y NULL: rows that the caller labels. */
void cli_html_axes(struct cli_html_plot *plot, const char *x, const char *y);
/* Closes group and drawing; the figure is open for a key and numbers. */
void cli_html_drawn(struct cli_html_plot *plot);

double cli_html_x(const struct cli_html_plot *plot, double value);
double cli_html_y(const struct cli_html_plot *plot, double value);
/* A line across the area at X, or at Y. */
void cli_html_vertical(const struct cli_html_plot *plot, const char *class, double value);
void cli_html_horizontal(const struct cli_html_plot *plot, const char *class, double value);
/* One entry of a key between <ul class=key> and </ul>. */
void cli_html_key(struct tcb_str *out, const char *class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Widens SCALE to hold VALUE, if that is a positive number. */
void cli_html_hold(struct cli_html_scale *scale, double value);
/* Logarithmic where the ends are far apart; some room beyond them. */
void cli_html_settle(struct cli_html_scale *scale);

#endif
