/* SPDX-License-Identifier: MIT
 *
 * What a result consists of, a row per column of the database: from this table
 * come the statements that store and read best rows (best.c), the records that
 * travel (winners.c), and the members of JSON and columns of tables that show
 * them (src/cli/report/best_data.c).  A new field of a result is a member of
 * struct tcb_best and a row here, a migration, and a property in the schemas.
 */
#ifndef TCB_DB_COLUMNS_H
#define TCB_DB_COLUMNS_H

#include "db/db.h"

enum tcb_column_type { TCB_COLUMN_INTEGER, TCB_COLUMN_REAL, TCB_COLUMN_TEXT, TCB_COLUMN_JSON };

/* What member of struct tcb_best a column is. */
enum tcb_member {
	TCB_MEMBER_NONE,   /* none, or one of a type of its own, which best.c reads by hand */
	TCB_MEMBER_TEXT,   /* char [] */
	TCB_MEMBER_TIME,   /* char []; "" is stored as now */
	TCB_MEMBER_FLAG,   /* int */
	TCB_MEMBER_SIZE,   /* size_t */
	TCB_MEMBER_ROUNDS, /* size_t, unknown where final_rounds is 0 */
	TCB_MEMBER_REAL,   /* double; NaN: unknown */
};

struct tcb_column {
	const char *group, *name;  /* table and column: "device", "model" */
	enum tcb_column_type type; /* JSON: a text that is JSON */
	int is_nullable;
	int is_newer;           /* exports of older versions lack it: it is "" there */
	int is_local;           /* exports do not have it; such rows come last */
	const char *expression; /* NULL: GROUP.NAME; else read only */
	enum tcb_member member;
	size_t offset, capacity;
	/* How it is shown.  NULL: not there, or together with what is derived from it. */
	const char *json; /* the member's name; of an interval, its median's row has it */
	int is_interval;
	const char *csv;
	const char *asked, *title; /* what --columns calls it; and the table's head */
	int digits;                /* of a share in percent */
};
enum { TCB_COLUMNS_MAX = 112 };
extern const struct tcb_column tcb_columns[];
extern const size_t tcb_column_count;
size_t tcb_column_travelling(void); /* those of an export, the first */

/* Of BEST; the type is that of the column's member. */
const char *tcb_column_text(const struct tcb_column *column, const struct tcb_best *best);
double tcb_column_number(const struct tcb_column *column, const struct tcb_best *best); /* NaN: unknown */
const struct tcb_interval *tcb_column_interval(const struct tcb_column *column, const struct tcb_best *best);

#endif
