/* SPDX-License-Identifier: MIT
 *
 * What a database's winners and the rules of defaults look like to a program
 * that has neither SQLite nor libtcbrt.
 */
#ifndef TCB_CLI_DB_EXPORT_H
#define TCB_CLI_DB_EXPORT_H

#include "cli/core/setup.h"

/* A C header to PATH (NULL: stdout): winners of DB that were proven and are of today's kernels, all rules, and a
 * function that looks one up.  OP NULL: of all ops. */
enum tcb_status cli_export_header(struct tcb_db *db, const char *op, const char *path, struct tcb_error *err);

#endif
