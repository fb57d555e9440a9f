/* SPDX-License-Identifier: MIT
 *
 * Best rows for programs.
 */
#ifndef TCB_CLI_BEST_DATA_H
#define TCB_CLI_BEST_DATA_H

#include "cli/report/best_rows.h"

/* Every column; best_table.h is for people. */
enum tcb_status cli_best_rows_csv(const struct cli_best_rows *rows, struct tcb_str *out, struct tcb_error *err);
json_t *cli_best_row_json(const struct cli_best_row *row, int *failed);
/* What tells a result from others: op, contract, shape, device, state. */
json_t *cli_best_json_head(const struct tcb_best *best, int has_arch, int *failed);
/* Into OBJECT the stored members (db/columns.h) NAMES, which NULL ends. */
void cli_best_json_named(json_t *object, const struct tcb_best *best, const char *const *names, int *failed);

#endif
