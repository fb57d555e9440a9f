/* SPDX-License-Identifier: MIT
 *
 * Paired times of two functions, and whether a function allocates.
 */
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/stats.h"
#include "base/util.h"
#include "base/view.h"
#include "verify/measure_time.h"

static double time_of(tcb_timed_fn *fn, void *ctx)
{
	const uint64_t start = tcb_clock_ns();
	fn(ctx);
	return (double)(tcb_clock_ns() - start);
}

struct tcb_interval tcb_pair_time_of(tcb_timed_fn *a, void *a_ctx, tcb_timed_fn *b, void *b_ctx, size_t pairs)
{
	double first[TCB_PAIRS_MAX], second[TCB_PAIRS_MAX];
	pairs = pairs < TCB_PAIRS_MAX ? pairs : TCB_PAIRS_MAX;
	(void)time_of(a, a_ctx);
	(void)time_of(b, b_ctx);
	for (size_t i = 0; i < pairs; i++) {
		if (i % 2)
			second[i] = time_of(b, b_ctx);
		first[i] = time_of(a, a_ctx);
		if (i % 2 == 0)
			second[i] = time_of(b, b_ctx);
	}
	return tcb_ratio_interval(first, second, pairs);
}

struct tcb_interval tcb_pair_time(tcb_timed_fn *a, tcb_timed_fn *b, void *ctx, size_t pairs)
{
	return tcb_pair_time_of(a, ctx, b, ctx, pairs);
}

static void found_side(struct tcb_finding *out, const struct tcb_interval *ratio, double limit, const char *what,
		       int is_below)
{
	const int under = ratio->hi < limit, over = ratio->lo >= limit;
	if (!under && !over)
		tcb_found_nothing(out, "undecided: %s %.3f [%.3f, %.3f], and the threshold %.2f lies inside", what,
				  ratio->median, ratio->lo, ratio->hi, limit);
	else
		tcb_found(out, is_below ? under : over, "%s: %.3f [%.3f, %.3f]", what, ratio->median, ratio->lo,
			  ratio->hi);
}

void tcb_found_below(struct tcb_finding *out, const struct tcb_interval *ratio, double limit, const char *what)
{
	found_side(out, ratio, limit, what, 1);
}

void tcb_found_above(struct tcb_finding *out, const struct tcb_interval *ratio, double limit, const char *what)
{
	found_side(out, ratio, limit, what, 0);
}

/* --- allocations --- */

/* Bytes that are allocated now; 0 where the C library does not tell. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

void tcb_claim_view_allocations(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { ROUNDS = 1000, PLANTED = 48 };
	void *volatile planted[ROUNDS] = { NULL };
	const size_t start = allocated();
	size_t sum = 0;
	(void)lab;
	for (size_t i = 1; i <= ROUNDS; i++) {
		struct tcb_view view, slice, turned;
		struct tcb_partition tiles;
		struct tcb_tile_info info;
		if (plant == TCB_PLANT_DEFECT)
			planted[i - 1] = malloc(PLANTED);
		(void)tcb_view_init(&view, 2, (size_t[]){ i, 16 }, NULL);
		(void)tcb_view_slice(&view, 1, 2, 8, &slice, NULL);
		(void)tcb_view_transpose(&slice, 0, 1, &turned, NULL);
		(void)tcb_partition_init(&tiles, &turned, (size_t[]){ 3, 5 }, NULL);
		tcb_partition_tile(&tiles, tiles.total - 1, &info);
		sum += info.offset;
	}
	const size_t grown = allocated() - start;
	for (size_t i = 0; i < ROUNDS; i++)
		free(planted[i]);
	if (start == 0)
		tcb_found_nothing(out, "this C library (or a sanitizer in its place) does not tell what is allocated");
	else
		tcb_found(out, grown == 0 && sum > 0,
			  "%zu bytes more allocated after %d views were made, cut, turned and partitioned%s", grown,
			  ROUNDS, plant == TCB_PLANT_DEFECT ? " (each with a planted allocation)" : "");
}
