/* SPDX-License-Identifier: MIT
 *
 * A decoder: tokens come in, the logits of the next one go out.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

struct options {
	size_t threads, context, batch; /* context: tokens in the cache; batch: of a prompt at once */
	size_t is_gpu, times;           /* times: tell how long each kind of op took, 2: all as one chain */
	size_t all_logits;              /* of each token of a batch, not of its last one alone */
	const char *kv;                 /* what the cache holds: f16, q80 */
};

struct engine;

struct engine *engine_open(const char *model, const struct options *options, size_t *vocabulary);
/* COUNT tokens more, a batch at most.  Returns the logits of the last one, or of all. */
float *engine_run(struct engine *engine, const int32_t *tokens, size_t count);
/* The TOP likeliest of COUNT and their shares, the largest first; their scores become -inf. */
void engine_choose(float *scores, size_t count, size_t top, int32_t *chosen, float *shares);
void engine_close(struct engine *engine);

#endif
