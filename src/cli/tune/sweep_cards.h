/* SPDX-License-Identifier: MIT
 *
 * What a sweep on several GPUs (--device cuda:all) says of them.
 */
#ifndef TCB_CLI_SWEEP_CARDS_H
#define TCB_CLI_SWEEP_CARDS_H

#include "cli/core/emit.h"
#include "device/device.h"
#include "search/search.h"

/* A line for the talk on stderr: who tried how many, who was lost, how far they differ.  Nothing on one device. */
void cli_cards_say(const char *label, const struct tcb_sweep_result *result);
json_t *cli_cards_json(const struct tcb_sweep_result *result, int *failed);

#endif
