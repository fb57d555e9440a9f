/* SPDX-License-Identifier: MIT
 *
 * Pools of adjacent points: each new point is a pool of its own, and takes in the
 * pool before it as long as that one's mean is less.  Linear in the points, after a sort.
 */
#include "search/isotonic.h"

#include <stdlib.h>

/* By x, and by y among equals, so that sums do not depend on the order in which points came. */
static int by_x(const void *a, const void *b)
{
	const struct tcb_isotonic_point *p = a, *q = b;
	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return (p->y > q->y) - (p->y < q->y);
}

static void take_in(struct tcb_isotonic_point *pool, const struct tcb_isotonic_point *other)
{
	const double weight = pool->weight + other->weight;
	pool->y = (pool->y * pool->weight + other->y * other->weight) / weight;
	pool->weight = weight;
}

/* Of sorted POINTS, those of equal x become one.  How many are left. */
static size_t make_unique(struct tcb_isotonic_point *points, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (kept && points[kept - 1].x == points[i].x)
			take_in(&points[kept - 1], &points[i]);
		else
			points[kept++] = points[i];
	return kept;
}

enum tcb_status tcb_isotonic_fit(struct tcb_isotonic_point *points, size_t *count, struct tcb_error *err)
{
	struct tcb_isotonic_point *pools = malloc(*count * sizeof *pools + 1); /* x: that of the last point */
	size_t used = 0;
	if (!pools)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a curve of %zu points", *count);
	qsort(points, *count, sizeof *points, by_x);
	*count = make_unique(points, *count);
	for (size_t i = 0; i < *count; i++) {
		struct tcb_isotonic_point pool = points[i];
		while (used && pools[used - 1].y < pool.y)
			take_in(&pool, &pools[--used]);
		pools[used++] = pool;
	}
	for (size_t i = 0, p = 0; i < *count; i++) {
		points[i].y = pools[p].y;
		p += pools[p].x == points[i].x;
	}
	free(pools);
	return TCB_OK;
}

double tcb_isotonic_at(const struct tcb_isotonic_point *points, size_t count, double x)
{
	size_t after = 0, end = count; /* the first point at X or behind it */
	while (after < end) {
		const size_t middle = after + (end - after) / 2;
		if (points[middle].x < x)
			after = middle + 1;
		else
			end = middle;
	}
	if (after == 0 || after == count)
		return points[after ? count - 1 : 0].y;
	const struct tcb_isotonic_point *a = &points[after - 1], *b = &points[after];
	return a->y + (b->y - a->y) * (x - a->x) / (b->x - a->x);
}
