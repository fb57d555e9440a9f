/* SPDX-License-Identifier: MIT
 *
 * Time and energy of a result's candidates: those of which none is both faster and more frugal are its front.
 */
#ifndef TCB_CLI_ENERGY_FRONT_H
#define TCB_CLI_ENERGY_FRONT_H

#include "cli/core/emit.h"
#include "cli/report/best_rows.h"

/* Fills ROW's energies, sorted by time. */
enum tcb_status cli_energy_load(struct tcb_db *db, struct cli_best_row *row, struct tcb_error *err);
/* Is energy INDEX of ROW on the front? */
int cli_energy_is_front(const struct cli_best_row *row, size_t index);
void cli_text_joules(double joules, char out[CLI_NUMBER_MAX]);
/* The front of each of ROWS that has energies, below a table. */
void cli_energy_add(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out);
/* Null where ROW has none. */
json_t *cli_energy_json(const struct cli_best_row *row, int *failed);
/* A figure; nothing where ROW has none. */
void cli_html_energy(const struct cli_best_row *row, struct tcb_str *out);

#endif
