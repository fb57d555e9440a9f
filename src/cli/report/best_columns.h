/* SPDX-License-Identifier: MIT
 *
 * What is shown of a result, a row per column: beside the stored ones
 * (db/columns.h) those that the CLI derives (% LIMIT, verdict, what binds it).
 * From this table come the columns of tables, of CSV and the plain members of
 * JSON.  A new derived one is a row here and a property in the schemas.
 */
#ifndef TCB_CLI_BEST_COLUMNS_H
#define TCB_CLI_BEST_COLUMNS_H

#include "cli/report/best_rows.h"
#include "db/columns.h"

enum { CLI_CELL_MAX = CLI_NUMBER_MAX + TCB_SHAPE_TEXT_MAX }; /* room for either */

/* What member of struct cli_best_row a column is. */
enum cli_member { CLI_MEMBER_NONE, CLI_MEMBER_TEXT, CLI_MEMBER_INT, CLI_MEMBER_SIZE, CLI_MEMBER_REAL };

/* A row that has `from` stands for the stored ones from there on up to before `end` (names of JSON; NULL: all of them),
 * in CSV and JSON. */
struct cli_derived {
	const char *asked, *title; /* what --columns calls it, and the table's head; NULL: not in tables */
	const char *csv, *json;    /* NULL: not there */
	enum cli_member member;    /* its value; of one with words, only what rows are ordered by */
	size_t offset;
	const char *(*word)(const struct cli_best_row *row); /* NULL returned: unknown */
	double (*number)(const struct cli_best_row *row);
	void (*print)(const struct cli_best_row *row, char out[CLI_CELL_MAX]); /* into a table; NULL: as it is */
	const char *(*color)(const struct cli_best_row *row);
	int is_left; /* flush left although it is ordered by a number */
	/* Whether it is said once where all rows have the same; NULL: it is a column even then. */
	int (*is_same)(const struct tcb_best *a, const struct tcb_best *b);
	const char *from, *end;
};
extern const struct cli_derived cli_derived[];
extern const size_t cli_derived_count;

/* In TEXT or lent; "" of what is unknown; NULL: it is a number. */
const char *cli_derived_text(const struct cli_derived *derived, const struct cli_best_row *row,
			     char text[CLI_CELL_MAX]);
double cli_derived_number(const struct cli_derived *derived, const struct cli_best_row *row);

/* A column of the table: one of both. */
struct cli_best_column {
	const struct cli_derived *derived;
	const struct tcb_column *stored;
};
/* Column NUMBER of all, derived ones first; 0: there are not so many. */
int cli_best_column_at(size_t number, struct cli_best_column *out);
int cli_best_column_find(const char *name, size_t length, struct cli_best_column *out); /* 0: unknown */
const char *cli_best_column_name(const struct cli_best_column *column);
struct cli_column cli_best_column_head(const struct cli_best_column *column);
void cli_best_column_cell(const struct cli_best_column *column, const struct cli_best_row *row,
			  struct cli_table *table);
/* What orders rows: negative where A comes before B; unknown numbers come last whatever SIGN (1 or -1) says. */
int cli_best_column_order(const struct cli_best_column *column, const struct cli_best_row *a,
			  const struct cli_best_row *b, int sign);

#endif
