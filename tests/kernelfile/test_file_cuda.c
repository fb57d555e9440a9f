/* SPDX-License-Identifier: MIT
 *
 * CUDA C++ is compiled in processes, several at a time; what fails there fails there alone.  The compiler is
 * fake_nvrtc.c.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/util.h"
#include "kernelfile/file_cuda.h"
#include "kernelfile/nvrtc.h"

static char path[] = "folder/k.cu", name[] = "k<what>";
static struct tcb_kernel_file file = { .kernel = { TCB_FILE_CUDA, name, path }, .names = { "what" }, .name_count = 1 };
static char text[] = "source";
static const struct tcb_str source = { .data = text, .length = sizeof text - 1 };

static struct tcb_file_cuda *make(void)
{
	struct tcb_file_cuda *cuda;

	assert_int_equal(tcb_file_cuda_create(&file, &source, &cuda, NULL), TCB_OK);
	return cuda;
}

static void expect_ptx(struct tcb_file_cuda *cuda, int64_t what, const char *part)
{
	const struct tcb_value bound = { .whole = what };
	struct tcb_str ptx = { 0 }, entry = { 0 };
	struct tcb_error err;

	assert_int_equal(tcb_file_cuda_take(cuda, &bound, 90, &ptx, &entry, &err), TCB_OK);
	if (!strstr(ptx.data, part))
		fail_msg("'%s' is not in '%s'", part, ptx.data);
	assert_string_equal(entry.data, "_Z1k");
	tcb_str_fini(&ptx);
	tcb_str_fini(&entry);
}

static void expect_failure(struct tcb_file_cuda *cuda, int64_t what, const char *part)
{
	const struct tcb_value bound = { .whole = what };
	struct tcb_str ptx = { 0 }, entry = { 0 };
	struct tcb_error err = { TCB_OK, "" };

	assert_int_equal(tcb_file_cuda_take(cuda, &bound, 90, &ptx, &entry, &err), TCB_E_FORMAT);
	if (!strstr(err.message, part))
		fail_msg("'%s' is not in '%s'", part, err.message);
	assert_null(ptx.data);
	tcb_str_fini(&entry);
}

static void options_name_what_is_bound(void **state)
{
	struct tcb_file_cuda *cuda = make();
	(void)state;

	assert_string_equal(tcb_nvrtc_name(), "NVRTC 99.7");
	expect_ptx(cuda, 3, "--gpu-architecture=compute_90a\n-Ifolder\n");
	expect_ptx(cuda, 4, "\n-Dwhat=4\n");
	expect_ptx(cuda, 3, "\n-Dwhat=3\n");
	tcb_file_cuda_destroy(cuda);
}

static void several_are_under_way(void **state)
{
	const unsigned processors = tcb_granted_processors();
	struct tcb_file_cuda *cuda = make();
	struct tcb_value bound = { .whole = 100 };
	(void)state;

	/* A tenth of a second each: none can have ended. */
	for (unsigned i = 0; i < processors; i++, bound.whole++)
		assert_int_equal(tcb_file_cuda_begin(cuda, &bound, 90), 0);
	expect_ptx(cuda, 100, "-Dwhat=100\n"); /* waits */
	bound.whole = 100;
	assert_int_equal(tcb_file_cuda_begin(cuda, &bound, 90), 1);
	expect_ptx(cuda, 99 + (int64_t)processors, "-Dwhat=");
	bound.whole = 555;
	assert_int_equal(tcb_file_cuda_begin(cuda, &bound, 90), 0); /* begun, and stopped with the rest */
	tcb_file_cuda_destroy(cuda);
}

static void failures_stay_there(void **state)
{
	struct tcb_file_cuda *cuda = make();
	(void)state;

	expect_failure(cuda, 7, "NVRTC's process was killed by signal 11");
	expect_failure(cuda, 8, "it does not compile: k.cu(3): error: no such thing");
	expect_failure(cuda, 8, "it does not compile: k.cu(3): error: no such thing");
	expect_ptx(cuda, 9, "-Dwhat=9\n");
	tcb_file_cuda_destroy(cuda);
}

int main(void)
{
	setenv("TCBTUNE_NVRTC", FAKE_NVRTC, 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_name_what_is_bound),
		cmocka_unit_test(several_are_under_way),
		cmocka_unit_test(failures_stay_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
