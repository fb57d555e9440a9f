/* SPDX-License-Identifier: MIT
 *
 * The cache that a process really has: the knee on curves of machines that are
 * not here, and what this one says.
 */
#include <stddef.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "device/cache.h"
#include "device/cpu_device.h"
#include "device/device.h"

enum { MIB = 1 << 20, POINTS = 24 };

/* A machine with up to two levels: a line survives while fewer bytes than a level has were read since. */
struct machine {
	size_t first, second; /* bytes; 0: none */
	double first_ns, second_ns, memory_ns;
	double noise;    /* relative, of each time */
	double tail;     /* how far beyond a level some lines survive, as a share of it */
	double flush_ns; /* what a flushed line takes; 0: as memory */
};

static double survival(size_t level, size_t bytes, double tail)
{
	const double over = ((double)bytes - (double)level) / (double)level;
	return level == 0 ? 0 : over <= 0 ? 1 : over >= tail ? 0 : 1 - over / tail;
}

static size_t curve(const struct machine *machine, uint64_t seed, struct tcb_cache_point out[POINTS])
{
	struct tcb_rng rng;
	size_t bytes = MIB;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < POINTS; i++) {
		const double in_first = survival(machine->first, bytes, machine->tail);
		const double in_second = (1 - in_first) * survival(machine->second, bytes, machine->tail);
		const double warm = in_first * machine->first_ns + in_second * machine->second_ns +
				    (1 - in_first - in_second) * machine->memory_ns;
		const double cold = machine->flush_ns > 0 ? machine->flush_ns : machine->memory_ns;
		out[i] = (struct tcb_cache_point){
			bytes,
			warm * (1 + machine->noise * (2 * tcb_rng_unit(&rng) - 1)),
			cold * (1 + machine->noise * (2 * tcb_rng_unit(&rng) - 1)),
		};
		bytes = (bytes & (bytes - 1)) == 0 ? bytes / 2 * 3 : bytes / 3 * 4;
	}
	return POINTS;
}

static size_t knee_of(const struct machine *machine, uint64_t seed)
{
	struct tcb_cache_point points[POINTS];
	return tcb_cache_knee(points, curve(machine, seed, points));
}

static void one_level(void **state)
{
	(void)state;
	const struct machine sharp = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100 };
	assert_int_equal(knee_of(&sharp, 1), 48 * MIB); /* the first footprint beyond it */
}

/* Some lines live longer than the cache is large: what is not cold to a fifth is not cold. */
static void slow_decay(void **state)
{
	(void)state;
	const struct machine slow = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100, .tail = 2 };
	assert_int_equal(knee_of(&slow, 1), 96 * MIB); /* 0.8 of two caches beyond the first */
}

/* A long plateau of the second level is no memory, flat as it is. */
static void two_knees(void **state)
{
	(void)state;
	const struct machine two = { 2 * MIB, 480u * MIB, 4, 45, 110, .noise = 0.02 };
	for (uint64_t seed = 1; seed <= 50; seed++)
		assert_int_equal(knee_of(&two, seed), 512u * MIB);
}

/* A guest that is told of 480 MiB and has 24: nothing of what is reported gets here. */
static void slice_of_a_large_cache(void **state)
{
	(void)state;
	const struct machine slice = { 1 * MIB, 24 * MIB, 4, 30, 130, .noise = 0.03 };
	struct tcb_place place = { .device.target.llc_bytes = 480u * MIB };
	for (uint64_t seed = 1; seed <= 50; seed++)
		assert_in_range(knee_of(&slice, seed), 24 * MIB, 32 * MIB);
	assert_int_equal(tcb_cache_bytes(&place), 480u * MIB);
	assert_int_equal(tcb_rotation_size(&place).bytes, 960u * MIB);
	place.cache_bytes = 32 * MIB; /* a busy machine may have hidden some: 64 MiB of what is reported are believed */
	assert_int_equal(tcb_cache_bytes(&place), 64 * MIB);
	assert_int_equal(tcb_rotation_size(&place).bytes, 128 * MIB);
	place.cache_bytes = 96 * MIB;
	assert_int_equal(tcb_rotation_size(&place).bytes, 192 * MIB);
	assert_true(tcb_rotation_size(&place).enough >= 2 * place.cache_bytes);
}

/* More than is reported, or nothing reported at all: what was measured holds. */
static void hidden_cache(void **state)
{
	(void)state;
	struct tcb_place place = { .cache_bytes = 256 * MIB, .device.target.llc_bytes = 1 * MIB };
	assert_int_equal(tcb_rotation_size(&place).bytes, 512 * MIB);
	place.device.target.llc_bytes = 0;
	assert_int_equal(tcb_rotation_size(&place).bytes, 512 * MIB);
	place.cache_bytes = 0;
	assert_int_equal(tcb_rotation_size(&place).bytes, 512 * MIB); /* nothing is known */
}

static void noise(void **state)
{
	(void)state;
	const struct machine noisy = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100, .noise = 0.04 };
	for (uint64_t seed = 1; seed <= 200; seed++) {
		const size_t knee = knee_of(&noisy, seed);
		assert_true(knee >= 48 * MIB); /* never below what is cold */
	}
}

/* A sample that somebody else's program made cold, in the midst of what is in the cache. */
static void a_hole(void **state)
{
	(void)state;
	const struct machine sharp = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100 };
	struct tcb_cache_point points[POINTS];
	const size_t count = curve(&sharp, 1, points);
	points[4].warm_ns = points[5].warm_ns = points[4].cold_ns;
	assert_int_equal(tcb_cache_knee(points, count), 48 * MIB);
}

static void unknown(void **state)
{
	(void)state;
	const struct machine flat = { .memory_ns = 100, .noise = 0.03 }, /* no cache, or nothing that tells */
		huge = { .first = 3000u * (size_t)MIB, .first_ns = 12, .memory_ns = 100 },
			     no_flush = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100, .flush_ns = 12 };
	struct tcb_cache_point points[POINTS];
	assert_int_equal(knee_of(&flat, 1), 0);
	assert_int_equal(knee_of(&huge, 1), 0);
	assert_int_equal(knee_of(&no_flush, 1), 0);
	assert_int_equal(tcb_cache_knee(points, 0), 0);
	/* One cold footprint at the end may be chance. */
	const struct machine sharp = { .first = 32 * MIB, .first_ns = 12, .memory_ns = 100 };
	(void)curve(&sharp, 1, points);
	size_t count = 0;
	while (points[count].bytes <= 48 * MIB)
		count++;
	assert_int_equal(tcb_cache_knee(points, count), 0);
	assert_int_equal(tcb_cache_knee(points, count + 1), 48 * MIB);
}

static void tiny_cache(void **state)
{
	(void)state;
	const struct machine tiny = { .first = 1 * MIB, .first_ns = 12, .memory_ns = 100 };
	assert_int_equal(knee_of(&tiny, 1), 3 * MIB / 2);
}

static void this_machine(void **state)
{
	(void)state;
	static struct tcb_place place;
	struct tcb_cache cache;
	assert_int_equal(tcb_cpu_open("cpu", 0, &place, NULL), TCB_OK);
	const uint64_t start = tcb_clock_ns();
	assert_int_equal(tcb_cache_measure(&place, tcb_deadline_in(20), &cache, NULL), TCB_OK);
	print_message("%zu MiB (reported: %zu), %s, in %.2f s\n", cache.bytes >> 20,
		      place.device.target.llc_bytes >> 20, cache.is_sure ? "sure" : "not sure",
		      1e-9 * (double)(tcb_clock_ns() - start));
	assert_true(cache.count > 0 && cache.points[0].warm_ns > 0 && cache.points[0].cold_ns > 0);
	for (size_t i = 0; i < cache.count; i++)
		print_message("  %5.1f MiB: %5.1f ns, %5.1f flushed\n", (double)cache.points[i].bytes / MIB,
			      cache.points[i].warm_ns, cache.points[i].cold_ns);
	/* No time: it is unknown, and nobody waits. */
	assert_int_equal(tcb_cache_measure(&place, tcb_deadline_in(0), &cache, NULL), TCB_OK);
	assert_int_equal(cache.bytes, 0);
	assert_false(cache.is_sure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_level),    cmocka_unit_test(slow_decay),
		cmocka_unit_test(two_knees),    cmocka_unit_test(slice_of_a_large_cache),
		cmocka_unit_test(hidden_cache), cmocka_unit_test(noise),
		cmocka_unit_test(a_hole),       cmocka_unit_test(unknown),
		cmocka_unit_test(tiny_cache),   cmocka_unit_test(this_machine),
	};
	return cmocka_run_group_tests_name("device.cache", tests, NULL, NULL);
}
