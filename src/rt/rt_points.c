/* SPDX-License-Identifier: MIT
 *
 * Near shapes: a k-d tree (Bentley 1975) over log2 of a shape's numbers that lies
 * in an array without pointers.  The middle point of a range parts it at the axis
 * along which the range is widest.
 */
#include <math.h>

#include "rt/image.h"

static float log2_of(uint64_t value)
{
	return value ? log2f((float)value) : 0;
}

void rt_key_axes(const struct rt_key *key, float at_out[RT_AXES])
{
	const struct tcb_words *words = &key->words;

	at_out[0] = log2_of(key->m);
	at_out[1] = log2_of(key->n);
	at_out[2] = log2_of(key->k);
	at_out[3] = log2_of((uint64_t)words->kv * words->sequences);
}

static int is_before(const struct rt_point *a, const struct rt_point *b, uint32_t axis)
{
	return a->at[axis] != b->at[axis] ? a->at[axis] < b->at[axis] : a->entry < b->entry;
}

/* The smaller ones before points[MIDDLE], the larger behind it: Hoare's selection; the pivot is the middle one of what
 * is left, so that points in order cost no more. */
static void part(struct rt_point *points, uint32_t count, uint32_t middle, uint32_t axis)
{
	uint32_t left = 0, right = count - 1;

	while (left < right) {
		const struct rt_point pivot = points[left + (right - left) / 2];
		uint32_t i = left, j = right;

		for (;;) {
			while (is_before(&points[i], &pivot, axis))
				i++;
			while (is_before(&pivot, &points[j], axis))
				j--;
			if (i >= j)
				break;
			struct rt_point other = points[i];

			points[i] = points[j];
			points[j] = other;
		}
		/* No two are equal: the pivot is at i == j. */
		if (i == middle)
			return;
		if (i < middle)
			left = i + 1;
		else
			right = i - 1;
	}
}

static uint32_t widest(const struct rt_point *points, uint32_t count)
{
	float most = -1;
	uint32_t axis = 0;

	for (uint32_t a = 0; a < RT_AXES; a++) {
		float low = points[0].at[a], high = low;

		for (uint32_t i = 1; i < count; i++) {
			low = fminf(low, points[i].at[a]);
			high = fmaxf(high, points[i].at[a]);
		}
		if (high - low > most) {
			most = high - low;
			axis = a;
		}
	}
	return axis;
}

void rt_points_build(struct rt_point *points, uint32_t count)
{
	while (count > 1) {
		const uint32_t middle = count / 2, axis = widest(points, count);

		part(points, count, middle, axis);
		points[middle].axis = axis;
		rt_points_build(points, middle);
		points += middle + 1;
		count -= middle + 1;
	}
}

struct search {
	const struct rt_point *points;
	const float *at, *far;
	void (*each)(void *ctx, const struct rt_point *point, float distance);
	void *ctx;
};

/* Written so that a NaN is not near. */
static void look_at(const struct search *search, const struct rt_point *point)
{
	float sum = 0;

	for (int a = 0; a < RT_AXES; a++) {
		const float apart = fabsf(point->at[a] - search->at[a]);

		if (!(apart <= RT_NEAR_LOG2))
			return;
		sum += apart * apart;
	}
	sum = sqrtf(sum);
	if (sum <= *search->far)
		search->each(search->ctx, point, sum);
}

static void search_range(const struct search *search, uint32_t begin, uint32_t end)
{
	while (begin < end) {
		const uint32_t middle = begin + (end - begin) / 2;
		const struct rt_point *point = &search->points[middle];
		const uint32_t axis = point->axis < RT_AXES ? point->axis : 0;
		const float apart = search->at[axis] - point->at[axis];

		look_at(search, point);
		search_range(search, apart < 0 ? begin : middle + 1, apart < 0 ? middle : end);
		/* The root of a square may round down. */
		if (fabsf(apart) > fminf(RT_NEAR_LOG2, *search->far * 1.0001f))
			return;
		if (apart < 0)
			begin = middle + 1;
		else
			end = middle;
	}
}

void rt_points_near(const struct rt_image *image, const struct rt_group *group, const float at[RT_AXES],
		    const float *far, void (*each)(void *ctx, const struct rt_point *point, float distance), void *ctx)
{
	const struct search search = { image->points, at, far, each, ctx };

	search_range(&search, group->begin, group->end);
}
