/* SPDX-License-Identifier: MIT
 *
 * What a sweep on several GPUs (--device cuda:all) says of them.
 */
#ifndef TCB_CLI_SWEEP_CARDS_H
#define TCB_CLI_SWEEP_CARDS_H

#include "cli/core/emit.h"
#include "device/device.h"
#include "search/search.h"

/* The cards beside the first one, when NAME is "cuda:all"; NULL and 0 otherwise.  The caller frees. */
enum tcb_status cli_cards_open(const char *name, struct tcb_place **others_out, size_t *count_out,
			       struct tcb_error *err);
/* A line for the talk on stderr: who tried how many, who was lost, how far they differ.  Nothing on one device. */
void cli_cards_say(const char *label, const struct tcb_sweep_result *result);
json_t *cli_cards_json(const struct tcb_sweep_result *result, int *failed);

#endif
