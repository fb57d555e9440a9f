/* SPDX-License-Identifier: MIT
 *
 * Saved plans: they come back as they were, and are refused where they are
 * damaged, altered, another machine's or another version's.
 */
#include "cmocka_all.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rt/rt_plan.h"
#include "rt/runtime.h"
#include "saved_plans.h"

static void saved_plans_come_back(void **state)
{
	static const char *const devices[] = { "cpu", "sm_90" };
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t d = 0; d < 2; d++) {
		struct tcbrt_query query = { .op = "q6k_matvec", .device = devices[d], .m = 1, .n = 70, .k = 512 };
		struct tcbrt_plan_info before, after;
		struct tcbrt_plan *plan, *loaded;
		struct tcbrt_error err;
		size_t bytes;

		assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
		struct tcb_buffer blob = save_plan(plan, &bytes);
		if (tcbrt_plan_load(rt, blob.data, bytes, &loaded, &err) != TCBRT_OK)
			fail_msg("%s: %s", devices[d], err.message);
		tcbrt_plan_info(plan, &before);
		tcbrt_plan_info(loaded, &after);
		assert_memory_equal(&before, &after, sizeof(before));
		if (d == 1) {
			struct tcbrt_gpu_code a, b;

			assert_int_equal(tcbrt_gpu_code(plan, &a), TCBRT_OK);
			assert_int_equal(tcbrt_gpu_code(loaded, &b), TCBRT_OK);
			assert_int_equal(a.bytes, b.bytes);
			assert_memory_equal(a.code, b.code, a.bytes);
		}
		/* Damaged anywhere, cut anywhere: refused. */
		struct tcbrt_plan *first = loaded;
		char *byte = blob.data;
		for (size_t i = 0; i < bytes; i += i < 4096 ? 7 : 997) {
			byte[i] ^= 0x20;
			assert_int_not_equal(tcbrt_plan_load(rt, blob.data, bytes, &loaded, &err), TCBRT_OK);
			byte[i] ^= 0x20;
		}
		for (size_t cut = 0; cut < bytes; cut += 131)
			expect_refused(rt, blob.data, cut, TCBRT_E_FORMAT);
		tcb_buffer_free(&blob);
		tcbrt_plan_destroy(first);
		tcbrt_plan_destroy(plan);
	}
	tcbrt_close(rt);
}

/* The checksum of a saved plan, made again by who altered it. */
static void sign_again(char *blob, size_t bytes)
{
	const size_t from = offsetof(struct rt_saved, checksum) + sizeof(uint64_t);
	const uint64_t checksum = tcb_hash64(blob + from, bytes - from, RT_SAVED_FORMAT);

	memcpy(blob + offsetof(struct rt_saved, checksum), &checksum, sizeof(checksum));
}

static int is_shown_safely(const char *text)
{
	while ((unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return !*text;
}

/* Whatever is altered and signed again: refused, or code that this library writes for what info says. */
static void altered_plans_run_our_code(void **state)
{
	struct tcbrt_query query = { .op = "softmax", .device = "sm_90", .m = 3, .n = 70 };
	struct tcbrt_plan *plan, *loaded, *own;
	struct tcbrt_gpu_code a, b;
	struct tcbrt_error err;
	size_t bytes, accepted = 0;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(setenv("TCBTUNE_ASSEMBLER", "none", 1), 0); /* hundreds of them */
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	struct tcb_buffer blob = save_plan(plan, &bytes);
	char *byte = blob.data;
	for (size_t i = offsetof(struct rt_saved, checksum); i < bytes; i += i < 300 ? 1 : 7) {
		byte[i] ^= 0x02;
		sign_again(byte, bytes);
		if (tcbrt_plan_load(rt, blob.data, bytes, &loaded, &err) == TCBRT_OK) {
			accepted++;
			query.m = loaded->problem.shape.m;
			query.n = loaded->problem.shape.n;
			query.contract = (enum tcbrt_contract)(loaded->problem.contract + 1);
			query.geometry = loaded->info.tuning.geometry;
			assert_int_equal(tcbrt_plan_create(rt, &query, &own, &err), TCBRT_OK);
			assert_int_equal(tcbrt_gpu_code(loaded, &a), TCBRT_OK);
			assert_int_equal(tcbrt_gpu_code(own, &b), TCBRT_OK);
			if (a.bytes != b.bytes || memcmp(a.code, b.code, a.bytes) != 0)
				fail_msg("byte %zu of %zu: other code is taken", i, bytes);
			assert_true(is_shown_safely(loaded->info.tuning.reason));
			tcbrt_plan_destroy(own);
		}
		tcbrt_plan_destroy(loaded);
		byte[i] ^= 0x02;
	}
	assert_true(accepted > 0);
	((struct rt_saved *)blob.data)->reason[0] = '\033';
	sign_again(byte, bytes);
	expect_refused(rt, blob.data, bytes, TCBRT_E_FORMAT);
	assert_int_equal(unsetenv("TCBTUNE_ASSEMBLER"), 0);
	tcb_buffer_free(&blob);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

/* What a plan says that was saved elsewhere, or by another version. */
static void foreign_plans_are_refused(void **state)
{
	struct tcbrt_query query = { .op = "softmax", .m = 3, .n = 70 };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct tcbrt *rt;
	size_t bytes;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	const unsigned threads = plan->info.tuning.threads;
	plan->device_key[0] ^= 1;
	struct tcb_buffer elsewhere = save_plan(plan, &bytes);
	expect_refused(rt, elsewhere.data, bytes, TCBRT_E_UNSUPPORTED);
	plan->device_key[0] ^= 1;
	plan->signature[0] ^= 1;
	struct tcb_buffer older = save_plan(plan, &bytes);
	expect_refused(rt, older.data, bytes, TCBRT_E_VERSION);
	plan->signature[0] ^= 1;
	plan->geometry.tile[TCB_MICRO].n = 12345;
	struct tcb_buffer wild = save_plan(plan, &bytes);
	expect_refused(rt, wild.data, bytes, TCBRT_E_VERSION);
	plan->geometry.tile[TCB_MICRO].n = plan->cpu.geometry.tile[TCB_MICRO].n;
	plan->info.tuning.threads = UINT_MAX;
	struct tcb_buffer crowd = save_plan(plan, &bytes);
	expect_refused(rt, crowd.data, bytes, TCBRT_E_VERSION);
	plan->info.tuning.threads = threads;
	plan->info.tuning.source = TCBRT_SOURCE_EARLIER + 1;
	struct tcb_buffer sourceless = save_plan(plan, &bytes);
	expect_refused(rt, sourceless.data, bytes, TCBRT_E_FORMAT);
	/* What is no measured winner stays none. */
	plan->info.tuning.source = TCBRT_SOURCE_PROVISIONAL;
	struct tcb_buffer unproven = save_plan(plan, &bytes);
	struct tcbrt_plan *loaded;
	assert_int_equal(tcbrt_plan_load(rt, unproven.data, bytes, &loaded, NULL), TCBRT_OK);
	assert_int_equal(loaded->info.tuning.provisional, 1);
	assert_int_equal(loaded->info.tuning.modelled, 0);
	tcbrt_plan_destroy(loaded);
	tcb_buffer_free(&crowd);
	tcb_buffer_free(&sourceless);
	tcb_buffer_free(&unproven);
	tcb_buffer_free(&elsewhere);
	tcb_buffer_free(&older);
	tcb_buffer_free(&wild);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_plans_come_back),
		cmocka_unit_test(altered_plans_run_our_code),
		cmocka_unit_test(foreign_plans_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
