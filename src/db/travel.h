/* SPDX-License-Identifier: MIT
 *
 * Databases that travel: winners with all that a stranger needs to judge them,
 * one record each, out of a database and into one; and what is taken out of a
 * database because nobody wants or needs it.
 */
#ifndef TCB_DB_TRAVEL_H
#define TCB_DB_TRAVEL_H

#include "db/columns.h"

/* What a command is about. */
struct tcb_db_selection {
	const char *op, *device;       /* DEVICE: a name or a key; NULL: any */
	const struct tcb_shape *shape; /* NULL: any */
	const char *state;             /* "cold", "hot"; NULL: both */
};

/* --- winners.c: a winner as a list of values, one per row of tcb_columns that is not local --- */

struct tcb_value {
	int is_null;
	int64_t integer;
	double real;
	const char *text; /* lent */
};
struct tcb_winner {
	struct tcb_value values[TCB_COLUMNS_MAX]; /* in the order of tcb_columns */
	const char *const *ties, *const *known;   /* geometries, the winner's first; sweeps that its own knew */
	size_t tie_count, known_count;
};
const struct tcb_value *tcb_winner_value(const struct tcb_winner *winner, const char *group, const char *name);
/*
 * Calls EACH for the winners of SELECTION that were measured and are proven, in an order that only they decide; a
 * nonzero return stops.  *OTHERS_OUT: how many others there are, modelled or provisional.
 */
enum tcb_status tcb_db_winner_each(struct tcb_db *db, const struct tcb_db_selection *selection,
				   int (*each)(void *ctx, const struct tcb_winner *winner), void *ctx,
				   size_t *others_out, struct tcb_error *err);
/* Into a database that holds nothing but such winners. */
enum tcb_status tcb_db_winner_put(struct tcb_db *db, const struct tcb_winner *winner, struct tcb_error *err);

/* --- import.c --- */

/* An empty database in memory; NAME stands for its path in messages.  Close it with tcb_db_close. */
enum tcb_status tcb_db_memory(const char *name, struct tcb_db **out, struct tcb_error *err);
/* A copy of DB in memory that may be written. */
enum tcb_status tcb_db_copy(struct tcb_db *db, struct tcb_db **out, struct tcb_error *err);
/* The bytes of a database in memory as those of a file that holds nothing but its rows; free(*OUT). */
enum tcb_status tcb_db_bytes(struct tcb_db *memory, void **out, size_t *count_out, struct tcb_error *err);
/* Every sweep of WINNERS, a database in memory, was imported from FROM, now.  TCB_E_FORMAT if it is not sound. */
enum tcb_status tcb_db_mark_imported(struct tcb_db *winners, const char *from, struct tcb_error *err);
/* Adds WINNERS, so marked, to DB by the rules of tcb_db_merge: all of it, or nothing. */
enum tcb_status tcb_db_import(struct tcb_db *db, struct tcb_db *winners, struct tcb_db_merged *out,
			      struct tcb_error *err);

/* --- forget.c --- */

/* Sorts the COUNT trials of one problem, of which geometry, variant and signature are set, so that those of kernels
 * that have changed come last: from *STALE_OUT on. */
typedef enum tcb_status (*tcb_db_judge)(void *ctx, const struct tcb_tried *of, struct tcb_trial *trials, size_t count,
					size_t *stale_out, struct tcb_error *err);
/* Has JUDGE look at every kernel with trials in SELECTION (state ignored) and notes in DB's connection which have
 * changed, for the two below.  It may take minutes; nobody is kept out meanwhile. */
enum tcb_status tcb_db_judge_kernels(struct tcb_db *db, const struct tcb_db_selection *selection, tcb_db_judge judge,
				     void *ctx, struct tcb_error *err);

struct tcb_db_removed {
	size_t winners, trials, samples, sweeps, devices, problems, recordings;
};
/*
 * Takes the winners and trials of SELECTION out of DB, of STALE ones only those noted before; with a state only
 * winners, since trials are of both.  All of it, or nothing.
 */
enum tcb_status tcb_db_forget(struct tcb_db *db, const struct tcb_db_selection *selection, int is_stale,
			      struct tcb_db_removed *out, struct tcb_error *err);

/* --- prune.c --- */

/*
 * Takes out what no lookup and no resumed sweep can use: trials of kernels noted as changed, and those that later ones
 * have taken the place of; samples of sweeps that decided no winner, unless KEEP_SAMPLES; sweeps, devices, problems,
 * ops and builds to which nothing belongs.  What a winner says, and its trial, stays.  All of it, or nothing.
 */
enum tcb_status tcb_db_prune(struct tcb_db *db, int keep_samples, struct tcb_db_removed *out, struct tcb_error *err);
/* Gives the file's free pages back.  *BYTES_OUT: its size now, also after a failure. */
enum tcb_status tcb_db_shrink(struct tcb_db *db, uint64_t *bytes_out, struct tcb_error *err);
uint64_t tcb_db_size(struct tcb_db *db);

#endif
