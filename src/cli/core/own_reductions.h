/* SPDX-License-Identifier: MIT
 *
 * Reductions of the user's own: ops that TCBTUNE_REDUCTIONS in the environment describes, so
 * that every command that follows knows them by name.
 */
#ifndef TCB_CLI_OWN_REDUCTIONS_H
#define TCB_CLI_OWN_REDUCTIONS_H

#include "kernels/op_registry.h"

/*
 * Adds the ops of TEXT to REGISTRY: "NAME=IDENTITY:COMBINE;...", each op reduce2d_NAME
 * (reduce2d_program.h has what COMBINE may be).  NULL: none.  They live as long as the program.
 */
enum tcb_status cli_own_reductions(const char *text, struct tcb_registry *registry, struct tcb_error *err);

#endif
