/* SPDX-License-Identifier: MIT
 *
 * Best rows as a table for people: as many columns as the terminal has room
 * for, or those that were asked for; the geometry below each row.
 */
#ifndef TCB_CLI_BEST_TABLE_H
#define TCB_CLI_BEST_TABLE_H

#include "cli/report/best_rows.h"

enum cli_geometry_view { CLI_GEOMETRY_DIFFERENCE, CLI_GEOMETRY_FULL, CLI_GEOMETRY_NONE };

/* Zeroed: as a sweep shows it at its end. */
struct cli_best_view {
	const char *columns; /* names, divided by commas; NULL: what there is room for */
	const char *sort;    /* a column's name, "-" before it: the largest first; NULL: as the rows come */
	enum cli_geometry_view geometry;
	int is_colored;
	int is_markdown; /* all columns, none below */
};

/* TCB_E_USAGE names an unknown column, and those that there are. */
enum tcb_status cli_best_view_check(const struct cli_best_view *view, struct tcb_error *err);
/* The rows in the order that VIEW wants. */
void cli_best_sort(struct cli_best_rows *rows, const struct cli_best_view *view);
enum tcb_status cli_best_table(const struct cli_best_rows *rows, const struct cli_best_view *view, struct tcb_str *out,
			       struct tcb_error *err);
/* A line for each verdict that is not "tuned", with what it comes from and how to mend it; BULLET goes before it. */
void cli_best_verdicts(const struct cli_best_rows *rows, const char *db, const char *bullet, struct tcb_str *out);
/* A line on the results for which programs get the default, if there are any. */
void cli_best_unserved(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out);
/* A line on the results of ops that are not known here, if there are any. */
void cli_best_unknown(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out);
/* For --help: the names of the columns. */
void cli_best_columns(struct tcb_str *out);

#endif
