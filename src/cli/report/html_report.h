/* SPDX-License-Identifier: MIT
 *
 * A report as one HTML file: tables, plots as SVG that need no script, the same
 * data as JSON, and, where a library for it is installed, a script that adds
 * zooming, brushing and filtering.  Nothing in it is fetched.
 */
#ifndef TCB_CLI_HTML_REPORT_H
#define TCB_CLI_HTML_REPORT_H

#include "cli/report/bound_facts.h"
#include "cli/report/report_recordings.h"

struct cli_html_source {
	struct tcb_db *db;
	const char *path; /* of the database, to be shown */
	const struct cli_best_rows *rows;
	const struct cli_recordings *recordings;
	const struct cli_bounds *bounds;
};
/* html_page.c: the whole page. */
enum tcb_status cli_html_report(const struct cli_html_source *source, struct tcb_str *out, struct tcb_error *err);

#endif
