/* SPDX-License-Identifier: MIT
 *
 * The cache of a place, from the database, or measured once.
 */
#ifndef TCB_CLI_MEASURED_CACHE_H
#define TCB_CLI_MEASURED_CACHE_H

#include "db/db.h"
#include "device/device.h"

/* Fills PLACE->cache_bytes with what DB (may be NULL) knows; 0 of a GPU, or where it was not measured.  *IS_SURE_OUT
 * (may be NULL): it need not be measured again. */
enum tcb_status cli_cache_recall(struct tcb_db *db, struct tcb_place *place, int *is_sure_out, struct tcb_error *err);
/* The same of the database that the option --db names, if there is one. */
enum tcb_status cli_cache_recall_from(const char *option, struct tcb_place *place, struct tcb_error *err);
/* The same, but measures what is unknown or not sure, for a small part of a budget of BUDGET_S (0: none), and stores
 * it in DB, which is open for writing. */
enum tcb_status cli_cache_know(struct tcb_db *db, double budget_s, struct tcb_place *place, struct tcb_error *err);
/* The same for a command that otherwise writes nothing: with the database that the option --db names.  What is measured
 * is stored there if that can be done without more: none is made, none of an older schema is migrated, and one that
 * cannot be written is no error. */
enum tcb_status cli_cache_know_from(const char *option, double budget_s, struct tcb_place *place,
				    struct tcb_error *err);

#endif
