/* SPDX-License-Identifier: MIT
 *
 * The order in which threads take processors, on machines that are not this
 * one: synthetic ones, and one recorded by hwloc (topologies/).
 */
#include "device/cpu_topology.h"

#include <stdint.h>
#include <string.h>

#include "cmocka_all.h"

static hwloc_topology_t synthetic(const char *description)
{
	hwloc_topology_t topology;
	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_synthetic(topology, description), 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	return topology;
}

/* Checks the order over ALLOWED (a list like "0-3,8"; NULL: all) against EXPECTED, COUNT processors. */
static struct tcb_cpu_order expect_order(hwloc_topology_t topology, const char *allowed, const int *expected,
					 size_t count)
{
	struct tcb_cpu_order order;
	hwloc_bitmap_t set = hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology));
	assert_non_null(set);
	if (allowed)
		hwloc_bitmap_list_sscanf(set, allowed);
	tcb_cpu_order(topology, set, &order);
	hwloc_bitmap_free(set);
	assert_int_equal(order.cpu_count, count);
	for (size_t i = 0; i < count; i++)
		if (order.cpus[i] != expected[i])
			fail_msg("place %zu: processor %d, expected %d", i, order.cpus[i], expected[i]);
	return order;
}
#define EXPECT_ORDER(topology, allowed, ...)                          \
	expect_order(topology, allowed, (const int[]){ __VA_ARGS__ }, \
		     sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* Two packages of four cores; Linux numbers the second hardware threads after all first ones. */
static void test_two_packages_smt(void **state)
{
	(void)state;
	hwloc_topology_t topology =
		synthetic("pack:2 numa:1 l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=32768) core:1 "
			  "pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)");
	struct tcb_cpu_order order = EXPECT_ORDER(topology, NULL, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	assert_int_equal(order.core_count, 8);
	assert_int_equal(order.allowed_core_count, 8);
	assert_int_equal(order.l1d_bytes, 32768);
	assert_int_equal(order.l2_bytes, 1048576);
	assert_int_equal(order.llc_bytes, 33554432);

	/* taskset: part of a core counts as a core, and its other thread is not touched */
	order = EXPECT_ORDER(topology, "2,8,9,1,12", 8, 1, 2, 12, 9);
	assert_int_equal(order.core_count, 8);
	assert_int_equal(order.allowed_core_count, 4);
	/* only second hardware threads */
	EXPECT_ORDER(topology, "8-11", 8, 9, 10, 11);
	/* one package after the other, although the numbers alternate */
	hwloc_topology_destroy(topology);
	topology = synthetic("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)");
	order = EXPECT_ORDER(topology, NULL, 0, 2, 1, 3, 4, 6, 5, 7);
	assert_int_equal(order.llc_bytes, 0); /* no cache told: unknown, not invented */
	assert_int_equal(order.line_bytes, 0);
	hwloc_topology_destroy(topology);
}

static void register_kind(hwloc_topology_t topology, const char *list, int efficiency)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	assert_non_null(set);
	hwloc_bitmap_list_sscanf(set, list);
	assert_int_equal(hwloc_cpukinds_register(topology, set, efficiency, 0, NULL, 0), 0);
	hwloc_bitmap_free(set);
}

/* Four powerful cores of two threads (0 to 7) and four small cores of one (8 to 11), as on desktop processors. */
static void test_hybrid_powerful_first(void **state)
{
	(void)state;
	hwloc_topology_t topology = synthetic("pack:1 l3:1 core:8 pu:2(indexes=0,1,2,3,4,5,6,7,8,20,9,21,10,22,11,23)");
	hwloc_bitmap_t real = hwloc_bitmap_alloc();
	hwloc_bitmap_list_sscanf(real, "0-11");
	assert_int_equal(hwloc_topology_restrict(topology, real, 0), 0);
	hwloc_bitmap_free(real);
	register_kind(topology, "8-11", 0);
	register_kind(topology, "0-7", 1);
	struct tcb_cpu_order order = EXPECT_ORDER(topology, NULL, 0, 2, 4, 6, 8, 9, 10, 11, 1, 3, 5, 7);
	assert_int_equal(order.core_count, 8);
	EXPECT_ORDER(topology, "9-11", 9, 10, 11);
	hwloc_topology_destroy(topology);
}

/* Small cores are numbered first on many ARM machines; threads take the others first, and the caches are theirs. */
static void test_hybrid_small_numbered_first(void **state)
{
	(void)state;
	hwloc_topology_t topology = synthetic("pack:1 l2:2(size=524288) core:2 pu:1");
	register_kind(topology, "0-1", 0);
	register_kind(topology, "2-3", 5);
	EXPECT_ORDER(topology, NULL, 2, 3, 0, 1);
	hwloc_topology_destroy(topology);
}

static void test_recorded_vm(void **state)
{
	(void)state;
	hwloc_topology_t topology;
	assert_int_equal(hwloc_topology_init(&topology), 0);
	assert_int_equal(
		hwloc_topology_set_xml(topology, TCB_SOURCE_DIR "/tests/device/topologies/vm_emerald_rapids_2cpu.xml"),
		0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	struct tcb_cpu_order order = EXPECT_ORDER(topology, NULL, 0, 1);
	assert_int_equal(order.core_count, 2);
	assert_int_equal(order.line_bytes, 64);
	assert_int_equal(order.l1d_bytes, 48 << 10);
	assert_int_equal(order.l2_bytes, 2 << 20);
	assert_int_equal(order.llc_bytes, 260 << 20);
	hwloc_topology_destroy(topology);
}

static void test_no_cores_told(void **state)
{
	(void)state;
	hwloc_topology_t topology = synthetic("pu:3");
	struct tcb_cpu_order order = EXPECT_ORDER(topology, NULL, 0, 1, 2);
	assert_int_equal(order.core_count, 3);
	order = expect_order(topology, "7", NULL, 0); /* nothing in common */
	assert_int_equal(order.allowed_core_count, 0);
	hwloc_topology_destroy(topology);
}

static void test_more_processors_than_places(void **state)
{
	(void)state;
	hwloc_topology_t topology = synthetic("pack:16 core:96 pu:2");
	struct tcb_cpu_order order;
	tcb_cpu_order(topology, hwloc_topology_get_topology_cpuset(topology), &order);
	assert_int_equal(order.core_count, 16 * 96);
	assert_int_equal(order.cpu_count, TCB_CPUS_MAX);
	assert_int_equal(order.cpus[TCB_CPUS_MAX - 1], 2 * (TCB_CPUS_MAX - 1));
	hwloc_topology_destroy(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_packages_smt),
		cmocka_unit_test(test_hybrid_powerful_first),
		cmocka_unit_test(test_hybrid_small_numbered_first),
		cmocka_unit_test(test_recorded_vm),
		cmocka_unit_test(test_no_cores_told),
		cmocka_unit_test(test_more_processors_than_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
