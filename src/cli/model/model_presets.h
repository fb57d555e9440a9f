/* SPDX-License-Identifier: MIT
 *
 * Shapes of well-known models, for those who have no file at hand.
 */
#ifndef TCB_CLI_MODEL_PRESETS_H
#define TCB_CLI_MODEL_PRESETS_H

#include "cli/model/model_shapes.h"

/* Names in the order of the table, as many as there are up to CAPACITY; returns how many there are. */
size_t cli_preset_names(const char *names[], size_t capacity);
/* The model of that NAME in the formats that its usual GGUF file has; *FOUND_OUT is 0 where there is none. */
enum tcb_status cli_preset_model(const char *name, int is_joined, struct cli_model *out, int *found_out,
				 struct tcb_error *err);
/* "32 layers, 4096 wide, " and the mixture of formats; "" where there is no such name. */
enum { CLI_PRESET_TEXT_MAX = 96 };
void cli_preset_text(const char *name, char out[CLI_PRESET_TEXT_MAX]);

#endif
