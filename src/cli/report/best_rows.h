/* SPDX-License-Identifier: MIT
 *
 * Best rows as they are shown: by the report, which reads them from the
 * database, and by the sweep, which has just made them.
 */
#ifndef TCB_CLI_BEST_ROWS_H
#define TCB_CLI_BEST_ROWS_H

#include "cli/core/device_names.h"
#include "cli/core/figures.h"
#include "db/db.h"
#include "db/verdict.h"
#include "search/bottleneck.h"

struct cli_best_row {
	struct tcb_best best;
	char device_label[CLI_DEVICE_LABEL_MAX]; /* its name until cli_best_rows_label */
	char **ties;                             /* canonical geometry texts, the winner first */
	size_t tie_count;
	struct tcb_counter *counters;
	size_t counter_count;
	struct tcb_energy_row *energies; /* of candidates of its space, the fastest first (energy_front.h); owned */
	size_t energy_count;
	int is_stale; /* cli_best_is_stale */
	enum tcb_verdict verdict;
	enum cli_served served;
	enum tcb_bottleneck_kind bound; /* unknown until somebody asks (bound_facts.h) */
};

struct cli_best_rows {
	struct cli_best_row *rows;
	size_t count, capacity;
};

/* The row is a copy of BEST without ties and counters; NULL: out of memory. */
struct cli_best_row *cli_best_rows_add(struct cli_best_rows *rows, const struct tcb_best *best);
/* Calls devices so that those of all rows are told apart. */
void cli_best_rows_label(struct cli_best_rows *rows);
int cli_best_row_add_tie(struct cli_best_row *row, const char *geometry); /* 0, or -1: out of memory */
int cli_best_row_add_counter(struct cli_best_row *row, const struct tcb_counter *counter);
void cli_best_rows_fini(struct cli_best_rows *rows);

/* As strcmp: by name, key and threads of the device; by op, contract and shape. */
int cli_best_order_device(const struct tcb_best *a, const struct tcb_best *b);
int cli_best_order_problem(const struct tcb_best *a, const struct tcb_best *b);
/* The row of DEVICE's very problem and state; *FOUND_OUT is 0 where there is none. */
enum tcb_status cli_best_find(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
			      enum tcb_state state, struct tcb_best *out, int *found_out, struct tcb_error *err);
/* Whether the kernel that BEST names is no longer the one that was measured: lookups refuse it, a sweep replaces it. */
int cli_best_is_stale(const struct tcb_best *best);
/* Whether some counter of ROW was counted by hardware. */
int cli_best_row_has_hardware_counters(const struct cli_best_row *row);

#endif
