/* SPDX-License-Identifier: MIT
 *
 * Attention of a token after the other, as an engine decodes: two sequences with
 * bf16 KV caches in pages, which grow by a token a step.  One plan serves all
 * lengths up to the one that it was made for: lengths and page table are operands.
 * Each step is held against plain loops.
 *
 *     attention [DATABASE]      (none, or an empty one: the default database)
 *
 *     cc attention.c $(pkg-config --cflags --libs tcbrt) -lm -o attention
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcbrt.h>

enum { SEQUENCES = 2, QUERY_HEADS = 8, KV_HEADS = 2, HEAD = 64, TOKENS = 100, PAGE = 16, THREADS = 2 };
enum { GROUP = QUERY_HEADS / KV_HEADS, ROW = KV_HEADS * HEAD, PAGES = (TOKENS + PAGE - 1) / PAGE };

static uint16_t k[SEQUENCES * PAGES * PAGE][ROW], v[SEQUENCES * PAGES * PAGE][ROW];
static float q[SEQUENCES][QUERY_HEADS][HEAD], out[SEQUENCES][QUERY_HEADS][HEAD];
static int32_t lengths[SEQUENCES], table[SEQUENCES][PAGES];

static float random_value(void)
{
	return 2 * (float)rand() / (float)RAND_MAX - 1;
}

/* bf16 is the upper half of a float. */
static uint16_t to_bf16(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

static double from_bf16(uint16_t half)
{
	const uint32_t bits = (uint32_t)half << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return (double)x;
}

/* What a model does before it attends: K and V of the new token go into the cache, its queries into q. */
static void append_token(int sequence)
{
	const int t = lengths[sequence]++;
	const size_t row = (size_t)table[sequence][t / PAGE] * PAGE + (size_t)t % PAGE;

	for (int i = 0; i < ROW; i++) {
		k[row][i] = to_bf16(random_value());
		v[row][i] = to_bf16(random_value());
	}
	for (int h = 0; h < QUERY_HEADS; h++)
		for (int i = 0; i < HEAD; i++)
			q[sequence][h][i] = random_value();
}

/* Largest difference from plain loops of one query head. */
static double error_of(int sequence, int head)
{
	double y[HEAD] = { 0 }, sum = 0, worst = 0;

	for (int t = 0; t < lengths[sequence]; t++) {
		const size_t row = (size_t)table[sequence][t / PAGE] * PAGE + (size_t)t % PAGE;
		const size_t at = (size_t)(head / GROUP) * HEAD;
		double score = 0;

		for (size_t i = 0; i < HEAD; i++)
			score += (double)q[sequence][head][i] * from_bf16(k[row][at + i]);
		const double weight = exp(score / sqrt(HEAD)); /* scores are small here */
		sum += weight;
		for (size_t i = 0; i < HEAD; i++)
			y[i] += weight * from_bf16(v[row][at + i]);
	}
	for (int i = 0; i < HEAD; i++)
		worst = fmax(worst, fabs((double)out[sequence][head][i] - y[i] / sum));
	return worst;
}

static int fail(const struct tcbrt_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	return 1;
}

int main(int argc, char **argv)
{
	struct tcbrt_query query = { .op = "attention_decode_bf16",
				     .threads = THREADS,
				     .contract = TCBRT_CONTRACT_F32, /* q and out are f32 */
				     .m = 1,
				     .n = TOKENS,
				     .k = HEAD,
				     .words = "h8/2,b2,p16" };
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_pool *pool;
	struct tcbrt_error err;
	struct tcbrt *rt;
	double worst = 0;

	if (tcbrt_open(argc > 1 && *argv[1] ? argv[1] : NULL, &rt, &err) != TCBRT_OK &&
	    tcbrt_open_empty(&rt, &err) != TCBRT_OK)
		return fail(&err);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		return fail(&err);
	tcbrt_close(rt);
	tcbrt_plan_info(plan, &info);
	printf("kernel   %s\nsource   %s (%s)\n", info.tuning.variant, tcbrt_source_text(info.tuning.source),
	       info.tuning.reason);
	if (tcbrt_pool_create(THREADS, &pool, &err) != TCBRT_OK)
		return fail(&err);
	void *workspace = aligned_alloc(TCBRT_ALIGNMENT,
					info.workspace_bytes / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT + TCBRT_ALIGNMENT);
	tcbrt_workspace_init(plan, workspace);

	/* The sequences' pages lie in turn. */
	for (int page = 0; page < SEQUENCES * PAGES; page++)
		table[page % SEQUENCES][page / SEQUENCES] = page;
	void *const operand[] = { q, k, v, lengths, out, table }; /* info.operand says so */
	for (int step = 0; step < TOKENS; step++) {
		append_token(0);
		if (step >= TOKENS / 2)
			append_token(1); /* until then it has no token, and gets zeros */
		tcbrt_execute(plan, operand, workspace, pool);
		for (int s = 0; s < SEQUENCES; s++)
			for (int h = 0; h < QUERY_HEADS && lengths[s]; h++)
				worst = fmax(worst, error_of(s, h));
	}
	printf("error    %.2g in %d steps\n", worst, TOKENS);

	tcbrt_pool_destroy(pool);
	tcbrt_plan_destroy(plan);
	free(workspace);
	return !(worst < 1e-5);
}
