/* SPDX-License-Identifier: MIT
 *
 * --shard I/N|auto|auto/N: which part of the space this process has, also where a queue says it.
 */
#ifndef TCB_CLI_SHARD_OPTION_H
#define TCB_CLI_SHARD_OPTION_H

#include "search/shard.h"

/* " shard 3/4" after what is in LABEL, which has room for it. */
void cli_shard_label(const struct tcb_shard *shard, char *label);
/* TEXT NULL: the whole space. */
enum tcb_status cli_shard_find(const char *text, struct tcb_shard *out, struct tcb_error *err);

#endif
