/* SPDX-License-Identifier: MIT
 *
 * What control groups grant, from made trees of files: both versions, alone and
 * beside each other, every level, and mounts as containers have them.
 */
#include "base/cgroup.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_all.h"

#define V1 "/sys/fs/cgroup"
#define MIB(n) ((size_t)(n) << 20)
static const size_t NONE = SIZE_MAX;

static char root[] = "/tmp/tcb_cgroup_XXXXXX";

/* NAME below the root gets TEXT; its folders are made. */
static void put(const char *name, const char *text)
{
	char path[512];
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
}

/* An empty tree whose process has MEMBERSHIP and sees the mounts of MOUNTINFO. */
static void begin(const char *membership, const char *mountinfo)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
	put("/proc/self/cgroup", membership);
	put("/proc/self/mountinfo", mountinfo);
}

static struct tcb_cgroup granted(void)
{
	struct tcb_cgroup got;
	tcb_cgroup_read(root, &got);
	return got;
}

/* As a machine with both versions has them; version 1's controllers are mounted apart or together. */
#define MOUNTS_V1                                                                              \
	"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"                                      \
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"                  \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" \
	"33 31 0:30 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"          \
	"35 31 0:32 / /sys/fs/cgroup/memory rw shared:11 master:2 - cgroup cgroup rw,memory\n" \
	"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNTS_V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_nothing(void **state)
{
	(void)state;
	begin("", "");
	assert_int_equal(granted().processors, 0);
	assert_int_equal(granted().memory_left, NONE);
	begin("0::/a\n", MOUNTS_V2); /* no file in it */
	assert_int_equal(granted().processors, 0);
	assert_int_equal(granted().memory_bytes, NONE);
	assert_string_equal(granted().processors_group, "");
	begin("garbage\n7\n8:\n9:cpu\n:::\n", "garbage - cgroup\n - cgroup2 x rw\n\n");
	assert_int_equal(granted().processors, 0);
}

static void test_quota_v2(void **state)
{
	(void)state;
	begin("0::/a/b\n", MOUNTS_V2);
	put(V1 "/a/b/cpu.max", "max 100000\n");
	assert_int_equal(granted().processors, 0);
	put(V1 "/a/b/cpu.max", "200000 100000\n");
	assert_int_equal(granted().processors, 2);
	put(V1 "/a/b/cpu.max", "250000 100000\n");
	assert_int_equal(granted().processors, 3); /* rounded up */
	put(V1 "/a/b/cpu.max", "50000 100000\n");
	assert_int_equal(granted().processors, 1);
	assert_string_equal(granted().processors_group, "/a/b");
	put(V1 "/a/b/cpu.max", "800000 100000\n");
	put(V1 "/a/cpu.max", "400000 100000\n");
	assert_int_equal(granted().processors, 4); /* the parent is stricter */
	assert_string_equal(granted().processors_group, "/a");
	put(V1 "/cpu.max", "100000 100000\n"); /* the root as a container sees it */
	assert_int_equal(granted().processors, 1);
	assert_string_equal(granted().processors_group, "/");
	put(V1 "/cpu.max", "garbage\n");
	put(V1 "/a/cpu.max", "100000 0\n");
	assert_int_equal(granted().processors, 8);
}

static void test_quota_v1(void **state)
{
	(void)state;
	begin("9:name=systemd:/\n2:cpuset:/\n1:cpu,cpuacct:/x/y\n0::/\n", MOUNTS_V1);
	put(V1 "/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
	put(V1 "/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
	assert_int_equal(granted().processors, 0);
	put(V1 "/cpu,cpuacct/x/y/cpu.cfs_quota_us", "150000\n");
	assert_int_equal(granted().processors, 2);
	put(V1 "/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
	put(V1 "/cpu,cpuacct/x/cpu.cfs_period_us", "50000\n");
	assert_int_equal(granted().processors, 1);
	assert_string_equal(granted().processors_group, "/x");
}

static void test_memory_v1(void **state)
{
	(void)state;
	begin("4:memory:/slurm/job\n1:cpu:/\n0::/\n", MOUNTS_V1);
	put(V1 "/memory/slurm/job/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	put(V1 "/memory/slurm/job/memory.usage_in_bytes", "1048576\n");
	assert_int_equal(granted().memory_left, NONE);
	put(V1 "/memory/slurm/job/memory.limit_in_bytes", "943718400\n");
	assert_int_equal(granted().memory_bytes, MIB(900));
	assert_int_equal(granted().memory_left, MIB(899));
	assert_string_equal(granted().memory_group, "/slurm/job");
	/* Copies of files are given back. */
	put(V1 "/memory/slurm/job/memory.usage_in_bytes", "838860800\n");
	put(V1 "/memory/slurm/job/memory.stat",
	    "cache 1\ninactive_file 7\nactive_file 7\ntotal_inactive_file 209715200\ntotal_active_file 104857600\n");
	assert_int_equal(granted().memory_left, MIB(400));
	/* A level above with a larger limit may leave less, since others use it, too. */
	put(V1 "/memory/slurm/memory.limit_in_bytes", "1048576000\n");
	put(V1 "/memory/slurm/memory.usage_in_bytes", "943718400\n");
	assert_int_equal(granted().memory_left, MIB(100));
	assert_int_equal(granted().memory_bytes, MIB(1000));
	put(V1 "/memory/slurm/memory.usage_in_bytes", "2000000000\n"); /* a limit that was lowered */
	assert_int_equal(granted().memory_left, 0);
}

static void test_memory_v2(void **state)
{
	(void)state;
	begin("0::/system.slice/job.scope\n", MOUNTS_V2);
	put(V1 "/system.slice/job.scope/memory.max", "max\n");
	put(V1 "/system.slice/job.scope/memory.current", "104857600\n");
	assert_int_equal(granted().memory_left, NONE);
	put(V1 "/system.slice/memory.max", "943718400\n");
	put(V1 "/system.slice/memory.current", "209715200\n");
	put(V1 "/system.slice/memory.stat", "anon 5\nfile 9\nactive_file 52428800\ninactive_file 52428800\n");
	assert_int_equal(granted().memory_left, MIB(800));
	assert_string_equal(granted().memory_group, "/system.slice");
	put(V1 "/system.slice/job.scope/memory.high", "314572800\n"); /* slowed down beyond it */
	assert_int_equal(granted().memory_left, MIB(200));
	assert_int_equal(granted().memory_bytes, MIB(300));
}

/* Processors by version 1, memory by version 2, and limits of both at once. */
static void test_hybrid(void **state)
{
	(void)state;
	begin("2:cpu,cpuacct:/a\n0::/b\n", MOUNTS_V1);
	put(V1 "/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
	put(V1 "/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
	put(V1 "/unified/b/memory.max", "104857600\n");
	put(V1 "/unified/b/cpu.max", "300000 100000\n");
	assert_int_equal(granted().processors, 3);
	assert_int_equal(granted().memory_left, MIB(100));
}

/* A container without a namespace of its own sees its part of the tree at the mount point, and the whole path. */
static void test_container(void **state)
{
	(void)state;
	begin("4:memory:/docker/abc/inner\n3:cpu:/docker/abc\n",
	      "50 49 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
	      "51 49 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	put(V1 "/cpu/cpu.cfs_quota_us", "200000\n");
	put(V1 "/cpu/cpu.cfs_period_us", "100000\n");
	put(V1 "/memory/memory.limit_in_bytes", "209715200\n");
	put(V1 "/memory/inner/memory.limit_in_bytes", "104857600\n");
	assert_int_equal(granted().processors, 2);
	assert_int_equal(granted().memory_left, MIB(100));
	assert_string_equal(granted().memory_group, "/inner");
	/* "/docker/abcd" is not below "/docker/abc", nor is what came from outside: the container's limits count. */
	put("/proc/self/cgroup", "4:memory:/docker/abcd\n3:cpu:/../../elsewhere\n");
	assert_int_equal(granted().processors, 2);
	assert_int_equal(granted().memory_left, MIB(200));
}

/* The tree is mounted twice: where more levels are seen counts, whichever comes first. */
static void test_mounted_twice(void **state)
{
	(void)state;
	static const char *const orders[] = {
		"50 49 0:29 /a /part rw - cgroup2 cgroup2 rw\n51 49 0:29 / /whole rw - cgroup2 cgroup2 rw\n",
		"51 49 0:29 / /whole rw - cgroup2 cgroup2 rw\n50 49 0:29 /a /part rw - cgroup2 cgroup2 rw\n",
		"51 49 0:29 / /whole rw - cgroup2 cgroup2 rw\n50 49 0:29 /other /part rw - cgroup2 cgroup2 rw\n",
	};
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		begin("0::/a/b\n", orders[i]);
		put("/whole/cpu.max", "100000 100000\n");
		put("/part/b/cpu.max", "900000 100000\n");
		put("/part/cpu.max", "900000 100000\n");
		assert_int_equal(granted().processors, 1);
	}
}

/* Blanks in mount points are escaped; options of other mounts are long; no line is cut. */
static void test_mount_text(void **state)
{
	(void)state;
	char mounts[16384];
	memset(mounts, 'x', sizeof mounts);
	memcpy(mounts, "20 1 0:9 / / rw - overlay overlay rw,lowerdir=", 46);
	strcpy(mounts + 9000, "\n21 1 0:9 /a\\040b\\134c /my\\040groups\\011x rw a:1 b:2 - cgroup2 none rw\n");
	begin("0::/a b\\c/d\n", mounts);
	put("/my groups\tx/d/cpu.max", "500000 100000\n");
	assert_int_equal(granted().processors, 5);
	assert_string_equal(granted().processors_group, "/d");
}

static void test_available(void **state)
{
	(void)state;
	begin("0::/a\n", MOUNTS_V2);
	put("/proc/meminfo", "MemTotal: 4096000 kB\nMemAvailable: 2048 kB\n");
	assert_int_equal(tcb_available_bytes(root), MIB(2));
	put("/proc/meminfo", "MemTotal: 4096000 kB\nMemAvailable: 3145728 kB\n");
	assert_int_equal(tcb_available_bytes(root), MIB(3072));
	put(V1 "/a/memory.max", "943718400\n");
	put(V1 "/a/memory.current", "524288000\n");
	assert_int_equal(tcb_available_bytes(root), MIB(400));
	assert_true(tcb_available_bytes("") > 0);
	assert_true(tcb_granted_processors() > 0);
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
		cmocka_unit_test(test_nothing),    cmocka_unit_test(test_quota_v2),
		cmocka_unit_test(test_quota_v1),   cmocka_unit_test(test_memory_v1),
		cmocka_unit_test(test_memory_v2),  cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_container),  cmocka_unit_test(test_mounted_twice),
		cmocka_unit_test(test_mount_text), cmocka_unit_test(test_available),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
