/* SPDX-License-Identifier: MIT
 *
 * The parts of a page: its summary, and the plots, each a figure with a drawing, a key and its numbers as a
 * table.
 */
#ifndef TCB_CLI_HTML_PLOTS_H
#define TCB_CLI_HTML_PLOTS_H

#include "cli/report/html_data.h"
#include "cli/report/html_svg.h"

/* What embed_page.cmake made of html_report.css and html_report.js; none has a NUL inside. */
const char *cli_html_style(void);
const char *cli_html_script(void);

/* html_summary.c: what was found, in words and as a table of all rows. */
void cli_html_summary(const struct cli_html_source *source, struct tcb_str *out);

/* html_roofline.c: the rows of the device and cache state of row FIRST. */
void cli_html_roofline(const struct cli_html_source *source, size_t first, struct tcb_str *out);
/* Whether rows A and B share a roofline. */
int cli_html_same_machine(const struct tcb_best *a, const struct tcb_best *b);

/* html_search.c: best so far over time, the distribution of all times, intervals of those in the finals. */
void cli_html_progress(const struct cli_html_space *space, struct tcb_str *out);
void cli_html_distribution(const struct cli_html_space *space, struct tcb_str *out);
void cli_html_intervals(const struct cli_html_space *space, struct tcb_str *out);

/* html_knobs.c: what each part of the geometry is worth, and the tie set in parallel coordinates. */
void cli_html_effects(const struct cli_html_space *space, struct tcb_str *out);
void cli_html_ties(const struct cli_html_space *space, struct tcb_str *out);

/* html_loss.c: for each op the loss when the best geometry of one shape is used at another. */
void cli_html_losses(const struct cli_html_spaces *spaces, struct tcb_str *out);

#endif
