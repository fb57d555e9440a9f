/* SPDX-License-Identifier: MIT
 *
 * What is remembered of results' kernels: by whom it is believed, what makes it
 * forgotten, and that an answer is not asked for twice.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/gpu_table.h"
#include "cmocka_all.h"
#include "kernels/default_rules.h"
#include "kernels/judged.h"
#include "kernels/signature.h"

static char folder[] = "/tmp/tcb_judged_XXXXXX", path[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "%s/kernels.judged", folder);
	tcb_judged_end();
	return unlink(path) == 0 || access(path, F_OK) ? 0 : -1;
}

static void write_file(uint64_t code)
{
	tcb_judged_begin(code);
	for (uint64_t claim = 0; claim < 2000; claim += 2)
		tcb_judged_add(claim << 40, claim % 4 == 0);
	tcb_judged_write(path);
	tcb_judged_end();
}

static void test_nothing_before(void **state)
{
	(void)state;
	tcb_judged_add(8, 1);
	assert_int_equal(tcb_judged_find(8), TCB_JUDGED_NOT);
	tcb_judged_write(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_kept(void **state)
{
	(void)state;
	write_file(7);
	tcb_judged_begin(7);
	assert_int_equal(tcb_judged_find(4ull << 40), TCB_JUDGED_NOT);
	tcb_judged_read(path);
	for (uint64_t claim = 0; claim < 2000; claim += 2)
		assert_int_equal(tcb_judged_find(claim << 40), claim % 4 == 0 ? TCB_JUDGED_CURRENT : TCB_JUDGED_OTHER);
	assert_int_equal(tcb_judged_find(3ull << 40), TCB_JUDGED_NOT);
	/* nothing new: the file stays as it is */
	assert_int_equal(unlink(path), 0);
	tcb_judged_write(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_other_code(void **state)
{
	(void)state;
	write_file(7);
	tcb_judged_begin(8);
	tcb_judged_read(path);
	assert_int_equal(tcb_judged_find(4ull << 40), TCB_JUDGED_NOT);
	tcb_judged_add(2, 1);
	tcb_judged_begin(8);
	assert_int_equal(tcb_judged_find(2), TCB_JUDGED_CURRENT);
	tcb_judged_begin(9);
	assert_int_equal(tcb_judged_find(2), TCB_JUDGED_NOT);
}

/* Any bit that is another, a file that is cut short, one that others may write to. */
static void test_damaged(void **state)
{
	struct stat info;

	(void)state;
	write_file(7);
	assert_int_equal(stat(path, &info), 0);
	for (off_t at = 0; at < info.st_size; at += at < 40 ? 1 : 997) {
		unsigned char byte;
		int fd = open(path, O_RDWR);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		tcb_judged_begin(7);
		tcb_judged_read(path);
		assert_int_equal(tcb_judged_find(4ull << 40), TCB_JUDGED_NOT);
		byte ^= 4;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		tcb_judged_end();
	}
	assert_int_equal(chmod(path, 0666), 0);
	tcb_judged_begin(7);
	tcb_judged_read(path);
	assert_int_equal(tcb_judged_find(4ull << 40), TCB_JUDGED_NOT);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, info.st_size - 8), 0);
	tcb_judged_read(path);
	assert_int_equal(tcb_judged_find(4ull << 40), TCB_JUDGED_NOT);
}

/* A GPU's candidate is judged by its kernel once; then by what is remembered, which a test can tell by planting it. */
static void test_candidates(void **state)
{
	const struct tcb_op *op = tcb_op_find("softmax");
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	char name[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX];
	struct tcb_gpu gpu;
	size_t row = 0;

	(void)state;
	while (tcb_gpu_table_row(row, &gpu) && gpu.device.target.cuda.capability != 90)
		row++;
	const struct tcb_target *target = &gpu.device.target;
	assert_int_equal(tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, NULL), TCB_OK);
	(void)tcb_default_geometry(&problem, target, &geometry);
	assert_int_equal(tcb_candidate_identify(&problem, target, &geometry, &packings, name, signature, NULL), TCB_OK);
	const uint64_t claim = tcb_judged_claim(&problem, target, &geometry, signature);
	const uint64_t other = tcb_judged_claim(&problem, target, &geometry, "0123");

	assert_true(tcb_candidate_is_current(&problem, target, &geometry, signature, &packings));
	assert_int_equal(tcb_judged_find(claim), TCB_JUDGED_NOT);
	tcb_judged_begin(7);
	assert_true(tcb_candidate_is_current(&problem, target, &geometry, signature, &packings));
	assert_false(tcb_candidate_is_current(&problem, target, &geometry, "0123", &packings));
	assert_int_equal(tcb_judged_find(claim), TCB_JUDGED_CURRENT);
	assert_int_equal(tcb_judged_find(other), TCB_JUDGED_OTHER);
	tcb_judged_begin(8);
	tcb_judged_add(claim, 0);
	assert_false(tcb_candidate_is_current(&problem, target, &geometry, signature, &packings));
	/* of what else makes a kernel another each is another claim */
	struct tcb_problem larger = problem;
	struct tcb_target smaller = *target;
	larger.shape.m++;
	smaller.cuda.sm_count--;
	assert_int_not_equal(tcb_judged_claim(&larger, target, &geometry, signature) | 1, claim | 1);
	assert_int_not_equal(tcb_judged_claim(&problem, &smaller, &geometry, signature) | 1, claim | 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_before, set_up), cmocka_unit_test_setup(test_kept, set_up),
		cmocka_unit_test_setup(test_other_code, set_up),     cmocka_unit_test_setup(test_damaged, set_up),
		cmocka_unit_test_setup(test_candidates, set_up),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
