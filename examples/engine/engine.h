/* SPDX-License-Identifier: MIT
 *
 * A decoder: tokens come in, the logits of the next one go out.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>
#include <stdio.h>

#include <tcbrt_chain.h>

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

/* ---- device.c: where the model lies and runs, this host's processors or its first GPU.  An address is a pointer of
 * this process or one of the GPU's memory.  What fails ends the program with a line that says why. ---- */
typedef unsigned long long address;

struct device {
	char name[TCBRT_GPU_NAME_MAX]; /* for struct tcbrt_query */
	unsigned threads;              /* 0 of a GPU */
	struct tcbrt_pool *pool;       /* NULL of a GPU */
	void *stream;                  /* of a GPU */
};

/* Ends with what ERR says unless CODE is TCBRT_OK. */
void must(int code, const struct tcbrt_error *err);
double now(void);

void device_open(struct device *device, size_t is_gpu, unsigned threads);
/* Zeros, in pages of 2 MiB as far as the host has them. */
address device_alloc(const struct device *device, size_t bytes);
/* From host memory, which may be written again at once. */
void device_write(const struct device *device, address to, const void *from, size_t bytes);
void device_read(const struct device *device, void *to, address from, size_t bytes);
/* Until all that was written or queued is done: behind device_write, before device_run; behind that, before
 * device_read. */
void device_wait(const struct device *device);
/* Calls as one, and what they need; then running them.  SECONDS, or NULL: one by one, and what each took is added. */
struct tcbrt_chain *device_chain(const struct device *device, const struct tcbrt_call *calls, size_t count,
				 address *workspace);
void device_run(const struct device *device, const struct tcbrt_chain *chain, address workspace, double *seconds);

#endif
