/* SPDX-License-Identifier: MIT
 *
 * This host, opened: consistent with what the OS says whatever machine the
 * test runs on.
 */
#include "device/device.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "cmocka_all.h"
#include "device/cpu_device.h"

static void test_default(void **state)
{
	(void)state;
	struct tcb_place cpu;
	struct tcb_error err;
	cpu_set_t affinity;
	assert_int_equal(tcb_cpu_open("cpu", 0, &cpu, &err), TCB_OK);
	assert_int_equal(sched_getaffinity(0, sizeof affinity, &affinity), 0);
	assert_in_range(tcb_cpus_of(&cpu)->count, 1, CPU_COUNT(&affinity));
	assert_int_equal(cpu.device.target.threads, tcb_cpus_of(&cpu)->count);
	assert_in_range(cpu.device.cores, 1, 1 << 20);
	assert_true(cpu.device.target.line_bytes >= 16);
	assert_true(cpu.device.target.l1d_bytes > 0);
	for (unsigned i = 0; i < tcb_cpus_of(&cpu)->count; i++) {
		assert_true(CPU_ISSET(tcb_cpus_of(&cpu)->list[i], &affinity));
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(tcb_cpus_of(&cpu)->list[i], tcb_cpus_of(&cpu)->list[j]);
	}

	/* the key is the one that the library computes without hwloc */
	struct tcb_device device;
	assert_int_equal(tcb_cpu_identify("cpu", tcb_cpus_of(&cpu)->count, &device, &err), TCB_OK);
	assert_string_equal(cpu.device.key, device.key);
}

static void test_affinity_is_respected(void **state)
{
	(void)state;
	struct tcb_place cpu;
	struct tcb_error err;
	cpu_set_t all, one;
	int last = -1;
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	enum tcb_status status = tcb_cpu_open("cpu:scalar", 0, &cpu, &err);
	enum tcb_status two = tcb_cpu_open("cpu", 2, &cpu, &err);
	char message[sizeof err.message];
	memcpy(message, err.message, sizeof message);
	enum tcb_status again = tcb_cpu_open("cpu:scalar", 1, &cpu, &err);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
	assert_int_equal(status, TCB_OK);
	assert_int_equal(two, TCB_E_USAGE);
	assert_string_equal(message, "2 threads asked for, but this process may use 1 processors (1 cores); "
				     "use --threads 1 or fewer");
	assert_int_equal(again, TCB_OK);
	assert_int_equal(tcb_cpus_of(&cpu)->count, 1);
	assert_int_equal(tcb_cpus_of(&cpu)->list[0], last);
	assert_string_equal(cpu.device.name, "cpu:scalar");
	assert_int_equal(cpu.device.target.isa_mask, 1u << TCB_ISA_SCALAR);
}

static void test_refused(void **state)
{
	(void)state;
	struct tcb_place cpu;
	struct tcb_error err;
	assert_int_equal(tcb_cpu_open("gpu", 0, &cpu, &err), TCB_E_USAGE);
	assert_int_equal(tcb_cpu_open("cpu:mmx", 0, &cpu, &err), TCB_E_USAGE);
	assert_int_equal(tcb_cpu_open("cpu", 100000, &cpu, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "100000 threads asked for"));

	setenv("HWLOC_SYNTHETIC", "pack:1 core:4 pu:1", 1);
	enum tcb_status status = tcb_cpu_open("cpu", 0, &cpu, &err);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(status, TCB_E_USAGE);
	assert_non_null(strstr(err.message, "unset HWLOC_XMLFILE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_affinity_is_respected),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
