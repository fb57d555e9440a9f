/* SPDX-License-Identifier: MIT
 *
 * A decoder: tokens come in, the logits of the next one go out.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>
#include <stdio.h>

#include "device.h"

struct options {
	size_t threads, context, batch; /* context: tokens in the cache; batch: of a prompt at once */
	size_t is_gpu, times;           /* times: tell how long each op took, one by one */
	size_t top_k;
	FILE *logits;   /* takes those of each token, or NULL */
	const char *kv; /* what the cache holds: f16, q80 */
};

/* The options' top_k likeliest tokens to follow, the largest score first. */
enum { TOP_MAX = 64 };
struct best {
	float scores[TOP_MAX];
	int32_t tokens[TOP_MAX];
};

struct engine;

struct engine *engine_open(const char *model, const struct options *options);
/* COUNT tokens more, a batch at a time. */
void engine_run(struct engine *engine, const int32_t *tokens, size_t count, struct best *best);
void engine_close(struct engine *engine);

#endif
