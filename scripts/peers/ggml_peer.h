/* SPDX-License-Identifier: MIT
 *
 * What the programs that time ggml on a CPU share: graphs of copies of the same
 * data come in, medians of what they take come out.  For one source file each.
 */
#ifndef GGML_PEER_H
#define GGML_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

enum { COPIES_MAX = 512, SAMPLES_MAX = 20000, ROTATION = 600 << 20, WARM = 2, SAMPLES_LEAST = 5 };

/* A graph for each copy. */
struct graphs {
	ggml_backend_t cpu;
	struct ggml_cgraph *graph[COPIES_MAX];
	size_t count;
};

/* As many copies of BYTES bytes as no cache holds. */
static inline struct graphs graphs_of(ggml_backend_t cpu, size_t bytes)
{
	struct graphs g = { .cpu = cpu, .count = ROTATION / bytes + 1 };
	if (g.count > COPIES_MAX)
		g.count = COPIES_MAX;
	return g;
}

static inline double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static inline int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline double median_us(const struct graphs *g, size_t copies, double seconds)
{
	static double sample[SAMPLES_MAX];
	size_t n = 0;
	for (size_t i = 0; i < copies && i < WARM; i++)
		ggml_backend_graph_compute(g->cpu, g->graph[copies - 1 - i]);
	const double end = now_us() + 1e6 * seconds;
	while (n < SAMPLES_MAX && (n < SAMPLES_LEAST || now_us() < end)) {
		const double start = now_us();
		ggml_backend_graph_compute(g->cpu, g->graph[n % copies]);
		sample[n++] = now_us() - start;
	}
	qsort(sample, n, sizeof(*sample), by_size);
	return sample[n / 2];
}

/* All copies in turn (cold), then the first again and again (hot): "WAY cold hot", in microseconds. */
static inline void print_times(const char *way, const struct graphs *g, double seconds)
{
	const double cold = median_us(g, g->count, seconds), hot = median_us(g, 1, seconds);
	printf("%s %.2f %.2f\n", way, cold, hot);
}

static inline void *memory(size_t bytes)
{
	void *out = malloc(bytes);
	if (!out) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return out;
}

static inline enum ggml_type type_named(const char *name)
{
	for (int t = 0; t < GGML_TYPE_COUNT; t++)
		if (ggml_type_name((enum ggml_type)t) && strcmp(ggml_type_name((enum ggml_type)t), name) == 0)
			return (enum ggml_type)t;
	fprintf(stderr, "ggml has no type '%s'\n", name);
	exit(2);
}

/* Up to NULL: where weights are stored otherwise than as they are; NULL: nowhere. */
static inline ggml_backend_buffer_type_t *repacking_types(ggml_backend_t cpu)
{
	ggml_backend_dev_t device = ggml_backend_get_device(cpu);
	ggml_backend_dev_get_extra_bufts_t get = (ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(
		ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts");
	return get ? get(device) : NULL;
}

/* The same random values in each of COUNT tensors of one type and size. */
static inline void fill(struct ggml_tensor **tensors, size_t count)
{
	const struct ggml_tensor *first = tensors[0];
	const int64_t values = ggml_nelements(first);
	const size_t bytes = (size_t)(values / first->ne[0]) * ggml_row_size(first->type, first->ne[0]);
	float *random = memory((size_t)values * sizeof(float));
	void *packed = memory(bytes);
	for (int64_t i = 0; i < values; i++)
		random[i] = 2 * ((float)rand() / (float)RAND_MAX - 0.5f);
	ggml_quantize_chunk(first->type, random, packed, 0, values / first->ne[0], first->ne[0], NULL);
	for (size_t i = 0; i < count; i++)
		ggml_backend_tensor_set(tensors[i], packed, 0, bytes);
	free(random);
	free(packed);
}

#endif
