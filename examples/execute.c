/* SPDX-License-Identifier: MIT
 *
 * A quantised matrix-vector product on the CPU: weights are packed once, into
 * pages of 2 MiB where the kernel has them, then the product runs with two
 * threads of this program and with a pool of the library's, and both are held
 * against a plain loop.
 *
 *     execute [DATABASE]        (none, or an empty one: the default database)
 *
 *     cc execute.c $(pkg-config --cflags --libs tcbrt) -lpthread -o execute
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcbrt.h>

enum { N = 1000, K = 1024, BLOCK = 32, THREADS = 2 };

/* Q8_0: a half for the scale and 32 signed bytes.  All scales here are 2^-7, 0x2000 as a half. */
struct block {
	unsigned char scale[2];
	signed char code[BLOCK];
};

struct job {
	const struct tcbrt_plan *plan;
	void *const *operand;
	void *workspace;
	unsigned thread;
};

static void *take_part(void *arg)
{
	const struct job *job = arg;

	tcbrt_execute_thread(job->plan, job->operand, job->workspace, job->thread, THREADS);
	return NULL;
}

/* What an engine does with the threads that it has anyway. */
static void execute_with_threads(const struct tcbrt_plan *plan, void *const operand[], void *workspace)
{
	struct job job[THREADS];
	pthread_t started[THREADS];

	for (unsigned t = 0; t < THREADS; t++) {
		job[t] = (struct job){ plan, operand, workspace, t };
		pthread_create(&started[t], NULL, take_part, &job[t]);
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(started[t], NULL);
}

static void *aligned(size_t bytes)
{
	return aligned_alloc(TCBRT_ALIGNMENT, (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
}

/* Largest difference from the plain product, over the sum of magnitudes. */
static double error_of(const struct block *weights, const float *x, const float *y)
{
	double worst = 0;

	for (size_t n = 0; n < N; n++) {
		double sum = 0, magnitude = 0;

		for (size_t k = 0; k < K; k++) {
			const double product = weights[(n * K + k) / BLOCK].code[k % BLOCK] / 128.0 * (double)x[k];

			sum += product;
			magnitude += fabs(product);
		}
		worst = fmax(worst, fabs((double)y[n] - sum) / magnitude);
	}
	return worst;
}

static int fail(const struct tcbrt_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	return 1;
}

int main(int argc, char **argv)
{
	struct tcbrt_query query = { .op = "q80_matvec", .threads = THREADS, .m = 1, .n = N, .k = K };
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_pool *pool;
	struct tcbrt_error err;
	struct tcbrt *rt;

	if (tcbrt_open(argc > 1 && *argv[1] ? argv[1] : NULL, &rt, &err) != TCBRT_OK &&
	    tcbrt_open_empty(&rt, &err) != TCBRT_OK)
		return fail(&err);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		return fail(&err);
	tcbrt_close(rt); /* the plan does not need it */
	tcbrt_plan_info(plan, &info);
	printf("kernel   %s\nsource   %s (%s)\nlayout   %s, %zu bytes packed of %zu\n", info.tuning.variant,
	       tcbrt_source_text(info.tuning.source), info.tuning.reason, info.layout, info.packed_bytes,
	       info.operand[info.weights].bytes);

	struct block *weights = malloc(N * K / BLOCK * sizeof(*weights));
	float *x = malloc(K * sizeof(*x)), *y = malloc(N * sizeof(*y));
	void *workspace = aligned(info.workspace_bytes), *packed;
	const size_t bytes = info.packed_bytes ? info.packed_bytes : info.operand[info.weights].bytes;
	size_t huge;
	if (tcbrt_weights_alloc(bytes, &packed, &huge, &err) != TCBRT_OK)
		return fail(&err);
	printf("memory   %zu of %zu bytes in pages of 2 MiB\n", huge, bytes);
	/* info.operand says so: weights, activations, result */
	void *const operand[] = { packed, x, y };

	srand(1);
	for (size_t i = 0; i < N * K / BLOCK; i++) {
		weights[i].scale[0] = 0;
		weights[i].scale[1] = 0x20;
		for (size_t k = 0; k < BLOCK; k++)
			weights[i].code[k] = (signed char)(rand() % 255 - 127);
	}
	for (size_t k = 0; k < K; k++)
		x[k] = (float)rand() / (float)RAND_MAX - 0.5f;
	if (info.packed_bytes)
		tcbrt_pack(plan, weights, packed);
	else
		memcpy(packed, weights, bytes); /* this kernel reads them as they are stored */
	tcbrt_workspace_init(plan, workspace);

	execute_with_threads(plan, operand, workspace);
	const double of_threads = error_of(weights, x, y);
	memset(y, 0xff, N * sizeof(*y));
	if (tcbrt_pool_create(THREADS, &pool, &err) != TCBRT_OK)
		return fail(&err);
	tcbrt_execute(plan, operand, workspace, pool);
	const double of_pool = error_of(weights, x, y);
	printf("error    %.2g and %.2g of the sum of magnitudes\n", of_threads, of_pool);

	tcbrt_pool_destroy(pool);
	tcbrt_plan_destroy(plan);
	tcbrt_weights_free(packed);
	free(workspace);
	free(weights);
	free(x);
	free(y);
	/* Activations are quantised to 8 bits (contract q8). */
	return !(of_threads < 0.01 && of_pool < 0.01);
}
