/* SPDX-License-Identifier: MIT
 *
 * Where sweeps begin: the winners that the database holds of problems of the
 * same kind, and what is said of the starts that were tried.
 */
#ifndef TCB_CLI_STORED_STARTS_H
#define TCB_CLI_STORED_STARTS_H

#include "cli/core/emit.h"
#include "db/db.h"
#include "search/search.h"

struct cli_winners {
	struct tcb_start_winner *items;
	size_t count;
};

/* Measured winners of PROBLEM's op and of those that have the same kind of space, on devices of DEVICE's kind, and of
 * the nearer ones some that tie with them.  Free with cli_winners_fini in every case. */
enum tcb_status cli_winners_read(struct tcb_db *db, const struct tcb_problem *problem, const struct tcb_device *device,
				 struct cli_winners *out, struct tcb_error *err);
void cli_winners_fini(struct cli_winners *winners);

/* A line: "7 starts from stored winners of 4 problems", and one of those that a model chose; nothing where none was
 * tried. */
void cli_starts_say(const char *label, const struct tcb_sweep_result *result, const struct cli_winners *winners);
/* To SWEEP each of them, and whose geometry it is; and what was modelled. */
void cli_starts_json(json_t *sweep, const struct tcb_sweep_result *result, const struct cli_winners *winners,
		     int *failed);

#endif
