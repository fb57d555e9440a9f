/* SPDX-License-Identifier: MIT
 *
 * CPU quotas from a made control group tree.
 */
#include "base/cgroup.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

static char root[] = "/tmp/tcb_cgroup_XXXXXX";

static char *at(const char *name)
{
	static char path[2][256];
	static int turn;
	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
	return path[turn];
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static unsigned limit_of(const char *membership)
{
	write_file("membership", membership);
	return tcb_cgroup_cpu_limit(at("membership"), root);
}

static void test_limit(void **state)
{
	(void)state;
	assert_int_equal(mkdir(at("a"), 0700), 0);
	assert_int_equal(mkdir(at("a/b"), 0700), 0);
	assert_int_equal(limit_of("0::/a/b\n"), 0); /* no file anywhere */
	write_file("a/b/cpu.max", "max 100000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 0);
	write_file("a/b/cpu.max", "200000 100000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 2);
	write_file("a/b/cpu.max", "250000 100000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 3); /* rounded up */
	write_file("a/b/cpu.max", "50000 100000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 1);
	write_file("a/b/cpu.max", "800000 100000\n");
	write_file("a/cpu.max", "400000 100000\n");
	assert_int_equal(limit_of("0::/a/b\n"), 4); /* the parent is stricter */
	assert_int_equal(limit_of("0::/a\n"), 4);
	assert_int_equal(limit_of("0::/\n"), 0);
	write_file("cpu.max", "100000 100000\n"); /* the root as a container sees it */
	assert_int_equal(limit_of("0::/\n"), 1);
	assert_int_equal(limit_of("12:cpu:/x\n1:name=systemd:/\n0::/a/b\n"), 1);
	assert_int_equal(limit_of("4:cpu,cpuacct:/a/b\n"), 0); /* version 1 only */
	write_file("cpu.max", "garbage\n");
	write_file("a/cpu.max", "100000 0\n");
	assert_int_equal(limit_of("0::/a\n"), 0);
	assert_int_equal(tcb_cgroup_cpu_limit(at("nothing"), root), 0);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	static const char *const files[] = { "a/b/cpu.max", "a/cpu.max", "cpu.max", "membership" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(at(files[i]));
	rmdir(at("a/b"));
	rmdir(at("a"));
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_limit) };
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
