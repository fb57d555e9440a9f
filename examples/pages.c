/* SPDX-License-Identifier: MIT
 *
 * What pages of 2 MiB are worth here: the products of a token through a layer of
 * an 8 B model, with weights in pages of 4 KiB and in memory of
 * tcbrt_weights_alloc, by turns.  A line per product and one for all.
 *
 *     pages [THREADS [LAYERS [ROUNDS [DATABASE]]]]        (1, 2, 15, none)
 *
 * Ratios are of one round's times, so that a busy machine widens them and does not shift them: the median, and in
 * brackets the quarters below and above it.  One thread is timed by the processor's time that it got, more by the
 * clock.
 */
#define _GNU_SOURCE /* madvise, clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <tcbrt.h>

#include "measure.h"

enum { PRODUCTS = 5, LAYERS_MAX = 64, ROUNDS_MAX = 1000, SMALL = 0, HUGE = 1 };

static const struct tcbrt_query layer[PRODUCTS] = {
	{ .op = "q4k_matvec", .m = 1, .n = 6144, .k = 4096 },  /* q, k and v */
	{ .op = "q4k_matvec", .m = 1, .n = 4096, .k = 4096 },  /* o */
	{ .op = "q4k_matvec", .m = 1, .n = 14336, .k = 4096 }, /* gate */
	{ .op = "q4k_matvec", .m = 1, .n = 14336, .k = 4096 }, /* up */
	{ .op = "q6k_matvec", .m = 1, .n = 4096, .k = 14336 }, /* down */
};

struct product {
	struct tcbrt_plan *plan;
	void *weights[2][LAYERS_MAX]; /* SMALL and HUGE */
	void *x, *y;
	double ns[2]; /* of this round */
	double ratio[ROUNDS_MAX];
};

static struct product products[PRODUCTS];
static double ratio_of_all[ROUNDS_MAX];
static size_t bytes_of_all, huge_of_all;

static clockid_t timer;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(timer, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void require(int is_fine, const char *message)
{
	if (is_fine)
		return;
	fprintf(stderr, "%s\n", message);
	exit(1);
}

static void *in_huge_pages(size_t bytes)
{
	struct tcbrt_error err;
	size_t huge;
	void *at;

	require(tcbrt_weights_alloc(bytes, &at, &huge, &err) == TCBRT_OK, err.message);
	bytes_of_all += bytes;
	huge_of_all += huge;
	return at;
}

static void *in_small_pages(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(at != MAP_FAILED, "out of memory");
	madvise(at, bytes, MADV_NOHUGEPAGE); /* whatever the system's default */
	return at;
}

static void product_init(struct product *product, const struct tcbrt *rt, struct tcbrt_query query, unsigned threads,
			 size_t layers, size_t *workspace_bytes)
{
	struct tcbrt_plan_info info;
	struct tcbrt_error err;

	query.threads = threads;
	require(tcbrt_plan_create(rt, &query, &product->plan, &err) == TCBRT_OK, err.message);
	tcbrt_plan_info(product->plan, &info);
	const size_t stored_bytes = info.operand[info.weights].bytes;
	const size_t bytes = info.packed_bytes ? info.packed_bytes : stored_bytes;
	char *stored = malloc(stored_bytes);

	require(stored != NULL, "out of memory");
	fill(stored, stored_bytes, "blocks");
	for (size_t l = 0; l < layers; l++) {
		product->weights[SMALL][l] = in_small_pages(bytes);
		product->weights[HUGE][l] = in_huge_pages(bytes);
		for (int kind = SMALL; kind <= HUGE; kind++)
			if (info.packed_bytes)
				tcbrt_pack(product->plan, stored, product->weights[kind][l]);
			else
				memcpy(product->weights[kind][l], stored, bytes);
	}
	free(stored);
	product->x = calloc(query.k, sizeof(float));
	product->y = calloc(query.n, sizeof(float));
	require(product->x && product->y, "out of memory");
	fill(product->x, query.k * sizeof(float), "f32");
	if (info.workspace_bytes > *workspace_bytes)
		*workspace_bytes = info.workspace_bytes;
}

/* A token through all layers. */
static double pass(int kind, size_t layers, void *workspace, struct tcbrt_pool *pool)
{
	double all = 0;

	for (size_t p = 0; p < PRODUCTS; p++)
		products[p].ns[kind] = 0;
	for (size_t l = 0; l < layers; l++)
		for (size_t p = 0; p < PRODUCTS; p++) {
			void *const operand[] = { products[p].weights[kind][l], products[p].x, products[p].y };
			const double from = now_ns();

			tcbrt_execute(products[p].plan, operand, workspace, pool);
			products[p].ns[kind] += now_ns() - from;
		}
	for (size_t p = 0; p < PRODUCTS; p++)
		all += products[p].ns[kind];
	return all;
}

static void print(const char *name, double *ratios, size_t rounds)
{
	qsort(ratios, rounds, sizeof(*ratios), ascending);
	printf("%-24s %.2f [%.2f, %.2f]\n", name, ratios[rounds / 2], ratios[rounds / 4],
	       ratios[rounds - 1 - rounds / 4]);
}

static size_t argument(int argc, char **argv, int at, size_t otherwise, size_t most)
{
	const size_t value = argc > at ? strtoul(argv[at], NULL, 10) : otherwise;

	return value < 1 ? 1 : value > most ? most : value;
}

int main(int argc, char **argv)
{
	const unsigned threads = (unsigned)argument(argc, argv, 1, 1, 1024);
	const size_t layers = argument(argc, argv, 2, 2, LAYERS_MAX), rounds = argument(argc, argv, 3, 15, ROUNDS_MAX);
	size_t workspace_bytes = 0;
	struct tcbrt_pool *pool;
	struct tcbrt_error err;
	struct tcbrt *rt;
	void *workspace;

	timer = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	require((argc > 4 ? tcbrt_open(argv[4], &rt, &err) : tcbrt_open_empty(&rt, &err)) == TCBRT_OK, err.message);
	require(tcbrt_pool_create(threads, &pool, &err) == TCBRT_OK, err.message);
	for (size_t p = 0; p < PRODUCTS; p++)
		product_init(&products[p], rt, layer[p], threads, layers, &workspace_bytes);
	workspace = aligned_alloc(TCBRT_ALIGNMENT, (workspace_bytes / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT);
	require(workspace != NULL, "out of memory");
	for (size_t p = 0; p < PRODUCTS; p++)
		tcbrt_workspace_init(products[p].plan, workspace);
	for (size_t r = 0; r < rounds; r++) {
		double ns[2];

		for (int turn = 0; turn < 2; turn++) {
			const int kind = turn ^ (int)(r & 1);

			ns[kind] = pass(kind, layers, workspace, pool);
		}
		for (size_t p = 0; p < PRODUCTS; p++)
			products[p].ratio[r] = products[p].ns[SMALL] / products[p].ns[HUGE];
		ratio_of_all[r] = ns[SMALL] / ns[HUGE];
	}
	printf("%zu of %zu MiB in pages of 2 MiB; time with 4 KiB over that with 2 MiB, %u thread%s, %zu rounds\n",
	       huge_of_all >> 20, bytes_of_all >> 20, threads, threads == 1 ? "" : "s", rounds);
	for (size_t p = 0; p < PRODUCTS; p++) {
		char name[64];

		snprintf(name, sizeof(name), "%s 1x%zux%zu", layer[p].op, layer[p].n, layer[p].k);
		print(name, products[p].ratio, rounds);
	}
	print("all", ratio_of_all, rounds);
	tcbrt_pool_destroy(pool);
	tcbrt_close(rt);
	return 0;
}
