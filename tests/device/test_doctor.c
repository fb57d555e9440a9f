/* SPDX-License-Identifier: MIT
 *
 * The doctor on this machine, and on file trees that say what other machines
 * would.
 */
#include "device/doctor_private.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { ROWS_MAX = 32 };

static char root[] = "/tmp/tcb_doctor_XXXXXX";

static void put_file(const char *name, const char *text, mode_t mode)
{
	char path[256];
	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *slash = strchr(path + sizeof root, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static struct tcb_doctor_row row_of(const char *what)
{
	static struct tcb_doctor_row rows[ROWS_MAX];
	size_t count = tcb_doctor_in(root, rows, ROWS_MAX);
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].what, what) == 0)
			return rows[i];
	fail_msg("no row %s", what);
	return rows[0];
}

/* Whatever the machine: every row says what was found, and what to do unless all is well. */
static void test_this_machine(void **state)
{
	(void)state;
	struct tcb_doctor_row rows[ROWS_MAX];
	size_t count = tcb_doctor(rows, ROWS_MAX);
	assert_int_equal(count, 16);
	for (size_t i = 0; i < count; i++) {
		print_message("%-18s %d %s | %s\n", rows[i].what, (int)rows[i].state, rows[i].found, rows[i].advice);
		assert_true(rows[i].found[0] != '\0');
		assert_int_equal(rows[i].advice[0] == '\0', rows[i].state == TCB_DOCTOR_OK);
		assert_null(strchr(rows[i].found, '\n'));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rows[i].what, rows[j].what);
	}
	assert_int_equal(tcb_doctor(rows, 3), 3);
}

static void test_huge_pages(void **state)
{
	(void)state;
	struct tcb_doctor_row row = row_of("huge pages");
	assert_int_equal(row.state, TCB_DOCTOR_MISSING);
	put_file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n", 0600);
	row = row_of("huge pages");
	assert_int_equal(row.state, TCB_DOCTOR_LIMITED);
	assert_string_equal(row.found, "transparent huge pages: never");
	assert_non_null(strstr(row.advice, "echo madvise > "));
	put_file("/sys/kernel/mm/transparent_hugepage/enabled", "garbage\n", 0600);
	assert_int_equal(row_of("huge pages").state, TCB_DOCTOR_MISSING);
	put_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n", 0600);
	assert_non_null(strstr(row_of("huge pages").found, "transparent huge pages: madvise; "));
}

static void test_clock(void **state)
{
	(void)state;
	struct tcb_doctor_row row = row_of("clock");
	assert_int_equal(row.state, TCB_DOCTOR_LIMITED);
	assert_string_equal(row.found, "the clock cannot be seen or set here");
	put_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n", 0600);
	row = row_of("clock");
	assert_int_equal(row.state, TCB_DOCTOR_LIMITED);
	assert_string_equal(row.found, "governor powersave");
	assert_non_null(strstr(row.advice, "cpupower frequency-set -g performance"));
	put_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n", 0600);
	put_file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n", 0600);
	row = row_of("clock");
	assert_int_equal(row.state, TCB_DOCTOR_OK);
	assert_string_equal(row.found, "governor performance, turbo off");
	put_file("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", 0600);
	assert_string_equal(row_of("clock").found, "governor performance, turbo on");
}

/* Of both versions, from the process's own group up. */
static void test_control_groups(void **state)
{
	(void)state;
	assert_string_equal(row_of("control groups").found, "no quota of processors, no limit of memory");
	assert_int_equal(row_of("control groups").state, TCB_DOCTOR_OK);
	put_file("/proc/self/cgroup", "2:memory:/job/step\n1:cpu:/job\n0::/\n", 0600);
	put_file("/proc/self/mountinfo",
		 "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu\n33 31 0:30 / /memory rw - cgroup cgroup rw,memory\n",
		 0600);
	put_file("/cpu/job/cpu.cfs_quota_us", "100000\n", 0600);
	put_file("/cpu/job/cpu.cfs_period_us", "100000\n", 0600);
	put_file("/memory/job/memory.limit_in_bytes", "943718400\n", 0600);
	put_file("/memory/job/memory.usage_in_bytes", "1048576\n", 0600);
	struct tcb_doctor_row row = row_of("control groups");
	assert_string_equal(row.found, "time of 1 processor (/job), 899 of 900 MiB of memory left (/job)");
	assert_int_equal(row.state, TCB_DOCTOR_LIMITED);
	assert_non_null(strstr(row.advice, "keep to it"));
}

static void test_ptxas(void **state)
{
	(void)state;
	char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), expected[256];
	setenv("PATH", "::/nonexistent", 1);
	assert_int_equal(row_of("ptxas").state, TCB_DOCTOR_MISSING);
	put_file("/usr/local/cuda-12.4/bin/ptxas", "", 0600); /* not executable */
	assert_int_equal(row_of("ptxas").state, TCB_DOCTOR_MISSING);
	put_file("/usr/local/cuda-11.8/bin/ptxas", "", 0700);
	snprintf(expected, sizeof expected, "%s/usr/local/cuda-11.8/bin/ptxas", root);
	assert_string_equal(row_of("ptxas").found, expected);
	put_file("/usr/local/cuda-13.0/bin/ptxas", "", 0700);
	snprintf(expected, sizeof expected, "%s/usr/local/cuda-13.0/bin/ptxas", root);
	assert_string_equal(row_of("ptxas").found, expected);
	put_file("/bin/ptxas", "", 0700); /* PATH goes first */
	snprintf(expected, sizeof expected, "/nonexistent:%s/bin", root);
	setenv("PATH", expected, 1);
	struct tcb_doctor_row row = row_of("ptxas");
	assert_int_equal(row.state, TCB_DOCTOR_OK);
	snprintf(expected, sizeof expected, "%s/bin/ptxas", root);
	assert_string_equal(row.found, expected);
	setenv("PATH", path, 1);
	free(path);
}

/* A file that is no library is not taken for one. */
static void test_broken_library(void **state)
{
	(void)state;
	struct tcb_doctor_row before = row_of("CUPTI");
	put_file("/usr/local/cuda-13.0/lib64/libcupti.so.13", "not a library", 0600);
	assert_int_equal(row_of("CUPTI").state, before.state);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_machine), cmocka_unit_test(test_huge_pages),
		cmocka_unit_test(test_clock),        cmocka_unit_test(test_control_groups),
		cmocka_unit_test(test_ptxas),        cmocka_unit_test(test_broken_library),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
