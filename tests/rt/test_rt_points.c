/* SPDX-License-Identifier: MIT
 *
 * The tree of near shapes gives what a scan over all points gives.
 */
#include <math.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "rt/image.h"

enum { POINTS = 600, KEPT = 8 };

static struct rt_point points[POINTS];

struct kept {
	float distance[KEPT], far;
	size_t count, seen;
};

static void keep(void *ctx, const struct rt_point *point, float distance)
{
	struct kept *kept = ctx;
	size_t at = kept->count;

	(void)point;
	kept->seen++;
	while (at > 0 && kept->distance[at - 1] > distance)
		at--;
	if (at == KEPT)
		return;
	kept->count += kept->count < KEPT;
	for (size_t i = kept->count - 1; i > at; i--)
		kept->distance[i] = kept->distance[i - 1];
	kept->distance[at] = distance;
	if (kept->count == KEPT)
		kept->far = kept->distance[KEPT - 1];
}

static void scan(const float at[RT_AXES], size_t count, struct kept *kept)
{
	for (size_t i = 0; i < count; i++) {
		float sum = 0, most = 0;

		for (int a = 0; a < RT_AXES; a++) {
			const float apart = fabsf(points[i].at[a] - at[a]);

			most = fmaxf(most, apart);
			sum += apart * apart;
		}
		if (most <= RT_NEAR_LOG2)
			keep(kept, &points[i], sqrtf(sum));
	}
}

/* SPREAD: of each axis; 0 makes all points alike there. */
static void check(uint64_t seed, size_t count, const float spread[RT_AXES])
{
	const struct rt_image image = { .points = points };
	const struct rt_group group = { .end = (uint32_t)count };
	struct tcb_rng rng;

	tcb_rng_init(&rng, seed);
	for (uint32_t i = 0; i < count; i++) {
		points[i].entry = i;
		for (int a = 0; a < RT_AXES; a++) /* steps, so that many are equal */
			points[i].at[a] = floorf((float)tcb_rng_unit(&rng) * spread[a] * 8) / 8;
	}
	rt_points_build(points, (uint32_t)count);
	for (int query = 0; query < 50; query++) {
		struct kept want = { .far = INFINITY }, got = { .far = INFINITY };
		float at[RT_AXES];

		for (int a = 0; a < RT_AXES; a++)
			at[a] = (float)tcb_rng_unit(&rng) * (spread[a] + 4) - 2;
		scan(at, count, &want);
		rt_points_near(&image, &group, at, &got.far, keep, &got);
		assert_int_equal(got.count, want.count);
		assert_true(got.seen <= want.seen);
		for (size_t i = 0; i < want.count; i++)
			assert_true(got.distance[i] == want.distance[i]);
	}
}

static void test_like_a_scan(void **state)
{
	static const float spreads[][RT_AXES] = {
		{ 8, 8, 8 }, { 0, 12, 0 }, { 0, 0, 0 }, { 1, 30, 3 }, { 1, 6, 2, 6 }
	};

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++)
		for (size_t s = 0; s < sizeof(spreads) / sizeof(spreads[0]); s++)
			for (size_t count = 0; count <= POINTS; count = 3 * count + 1)
				check(seed, count, spreads[s]);
	check(99, POINTS, spreads[0]);
}

/* Of many points few are looked at. */
static void test_is_no_scan(void **state)
{
	static struct rt_point many[100000];
	const struct rt_image image = { .points = many };
	const struct rt_group group = { .end = 100000 };
	const float at[RT_AXES] = { 0, 8, 12 };
	struct kept got = { .far = INFINITY };

	(void)state;
	for (uint32_t i = 0; i < group.end; i++)
		many[i] = (struct rt_point){ .at = { 0, log2f((float)(i + 1)), 12 }, .entry = i };
	rt_points_build(many, group.end);
	rt_points_near(&image, &group, at, &got.far, keep, &got);
	assert_int_equal(got.count, KEPT);
	assert_true(got.distance[0] == 0 && got.seen < 100);
}

/* A damaged tree ends, whatever is in it. */
static void test_damaged(void **state)
{
	const struct rt_image image = { .points = points };
	const struct rt_group group = { .end = POINTS };
	const float at[RT_AXES] = { 0, 0, 0 };
	struct kept got = { .far = INFINITY };

	(void)state;
	for (uint32_t i = 0; i < POINTS; i++)
		points[i] = (struct rt_point){ .at = { NAN, i % 2 ? INFINITY : 0, NAN }, .axis = i * 0x01010101u };
	rt_points_near(&image, &group, at, &got.far, keep, &got);
	assert_int_equal(got.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_a_scan),
		cmocka_unit_test(test_is_no_scan),
		cmocka_unit_test(test_damaged),
	};
	return cmocka_run_group_tests_name("rt.rt_points", tests, NULL, NULL);
}
