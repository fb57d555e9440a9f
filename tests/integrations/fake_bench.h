/* SPDX-License-Identifier: MIT
 *
 * The plug-in in a host of our own (fake_ggml.h), as tests call it, and products to
 * call it with: tensors made by hand, and what the reference says of them.
 */
#ifndef TCB_TESTS_FAKE_BENCH_H
#define TCB_TESTS_FAKE_BENCH_H

#include "fake_ggml.h"
#include "kernels/op.h"

enum { K = 256 };

/* Parallel regions that the host's OpenMP runtime had (fake_openmp.c). */
extern unsigned fake_omp_regions;

extern struct plugin {
	int (*score)(void);
	struct ggml_backend_reg *(*init)(void);
	unsigned long long (*counter)(const char *name);
} plugin;

int plugin_load(void **state); /* a group's set-up */
struct ggml_backend_device *plugin_device(void);
/* NODE, after one that computes nothing, with THREADS: a status. */
int plugin_compute(struct ggml_tensor *node, int threads);

/* Dense, of elements of ELEMENT bytes: a format's row is its caller's to say. */
struct ggml_tensor tensor_of(int type, size_t element, size_t columns, size_t rows);

/* A product of M x N x K in a format, its operands as they are stored, and the reference's result. */
struct bench {
	struct tcb_problem problem;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t count;
	int w, out; /* which operand is which */
	void *stored[TCB_OPERANDS_MAX];
	struct ggml_tensor weights, x, y;
	struct ggml_backend_buffer *buffer;
	size_t results;
	double *reference;
};

/* The weights are in a buffer of the plug-in's, which has nothing of them yet (bench_set). */
void bench_init(struct bench *b, const char *op, int type, size_t m, size_t n);
/* As the host has a mixture's: tokens are the third dimension. */
void bench_init_experts(struct bench *b, const char *op, int type, size_t m, size_t n, unsigned experts, unsigned used,
			int has_rows_each);
void bench_fini(struct bench *b);
/* Gives the plug-in SIZE bytes of the weights, from OFFSET on. */
void bench_set(struct bench *b, size_t offset, size_t size);
int bench_compute(struct bench *b, int threads); /* a status */
void bench_check(struct bench *b);
/* SIZE bytes from OFFSET of the tensor OF are those of STORED, and no byte more is written. */
void bench_expect_given_back(struct bench *b, const struct ggml_tensor *of, size_t offset, size_t size,
			     const char *stored);

#endif
