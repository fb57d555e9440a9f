/* SPDX-License-Identifier: MIT
 *
 * Times one plan on the CPU as a program runs it: calls one after another, each
 * on other copies of the weights, or where there are none of all operands (cold),
 * or all on one (hot).  One line of JSON.
 *
 *     measure OP MxNxK THREADS cold|hot [DATABASE [MEGABYTES [SECONDS]]]
 *
 * THREADS: 0 for the fastest number; MEGABYTES: how much memory cold calls go through (512); SECONDS: how long (2).
 */
#define _GNU_SOURCE /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tcbrt.h>

#include "measure.h"

enum { SAMPLES_MAX = 20000, COPIES_MAX = 4096, SAMPLE_NS = 200000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* In large pages, as engines have their weights: what a page costs is not the kernel's. */
static char *memory(size_t bytes)
{
	struct tcbrt_error err;
	void *at;

	if (tcbrt_weights_alloc(bytes, &at, NULL, &err) != TCBRT_OK) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	return at;
}

struct job {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcbrt_pool *pool;
	size_t copies;
	void *operand[COPIES_MAX][TCBRT_OPERANDS_MAX];
	void *workspace;
};

/* As many copies of what streams as fill BYTES, each operand of each on cache lines of its own. */
static void make_copies(struct job *job, size_t bytes)
{
	struct tcbrt_operand operand;
	size_t each = 0;

	/* Activations come from the product before and are in the caches. */
	for (size_t i = 0; i < job->info.operand_count; i++)
		if (tcbrt_plan_operand(job->plan, i, &operand) == TCBRT_OK && is_streamed(&job->info, i))
			each += operand.bytes;
	job->copies = bytes / each + 1 < COPIES_MAX ? bytes / each + 1 : COPIES_MAX;
	for (size_t i = 0; i < job->info.operand_count; i++) {
		tcbrt_plan_operand(job->plan, i, &operand);
		const int is_packed = operand.packed_bytes != 0;
		const size_t size = is_packed ? operand.packed_bytes : operand.bytes;
		const size_t stride = (size + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;
		const size_t copies = is_streamed(&job->info, i) ? job->copies : 1;
		char *all = memory(stride * copies), *stored = is_packed ? memory(operand.bytes) : all;

		fill(stored, operand.bytes, operand.type);
		if (is_packed)
			tcbrt_pack_operand(job->plan, i, stored, all);
		for (size_t c = 0; c < job->copies; c++) {
			job->operand[c][i] = all + c % copies * stride;
			if (c && c < copies)
				memcpy(all + c * stride, all, size);
		}
		if (is_packed)
			tcbrt_weights_free(stored);
	}
}

static double median_ns(struct job *job, double seconds)
{
	static double samples[SAMPLES_MAX];
	const double begin = now_ns();
	size_t count = 0, calls = 1, next = 0;

	do {
		const double from = now_ns();

		for (size_t i = 0; i < calls; i++, next = next + 1 < job->copies ? next + 1 : 0)
			tcbrt_execute(job->plan, job->operand[next], job->workspace, job->pool);
		const double ns = now_ns() - from;
		if (ns < SAMPLE_NS) /* too short for the clock */
			calls = (size_t)((double)calls * 1.5 * SAMPLE_NS / ns) + 1;
		else if (now_ns() - begin > 0.2e9 * seconds) /* the first fifth warms up */
			samples[count++] = ns / (double)calls;
	} while (count < SAMPLES_MAX && (count < 3 || now_ns() - begin < 1e9 * seconds));
	qsort(samples, count, sizeof(*samples), ascending);
	return samples[count / 2];
}

static int fail(const struct tcbrt_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	return 1;
}

int main(int argc, char **argv)
{
	static struct job job;
	struct tcbrt_query query = { 0 };
	struct tcbrt_error err;
	struct tcbrt *rt;

	if (argc < 5 || sscanf(argv[2], "%zux%zux%zu", &query.m, &query.n, &query.k) < 2) {
		fprintf(stderr, "usage: measure OP MxNxK THREADS cold|hot [DATABASE [MEGABYTES [SECONDS]]]\n");
		return 2;
	}
	query.op = argv[1];
	query.threads = (unsigned)strtoul(argv[3], NULL, 10);
	query.state = strcmp(argv[4], "hot") == 0 ? TCBRT_HOT : TCBRT_COLD;
	if (tcbrt_open(argc > 5 ? argv[5] : NULL, &rt, &err) != TCBRT_OK ||
	    tcbrt_plan_create(rt, &query, &job.plan, &err) != TCBRT_OK)
		return fail(&err);
	tcbrt_plan_info(job.plan, &job.info);
	if (tcbrt_pool_create(job.info.threads, &job.pool, &err) != TCBRT_OK)
		return fail(&err);
	make_copies(&job, query.state == TCBRT_HOT ? 0 : (argc > 6 ? strtoul(argv[6], NULL, 10) : 512) << 20);
	job.workspace = memory(job.info.workspace_bytes);
	tcbrt_workspace_init(job.plan, job.workspace);
	printf("{\"op\": \"%s\", \"shape\": \"%s\", \"state\": \"%s\", \"threads\": %u, \"ns\": %.1f, \"source\": "
	       "\"%s\", "
	       "\"geometry\": \"%s\"}\n",
	       query.op, argv[2], argv[4], job.info.threads, median_ns(&job, argc > 7 ? strtod(argv[7], NULL) : 2),
	       tcbrt_source_text(job.info.tuning.source), job.info.tuning.geometry);
	tcbrt_pool_destroy(job.pool);
	tcbrt_plan_destroy(job.plan);
	tcbrt_close(rt);
	return 0;
}
