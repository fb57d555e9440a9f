/* SPDX-License-Identifier: MIT
 *
 * GPUs by name and by table.
 */
#include "cmocka_all.h"

#include <string.h>

#include "base/kind.h"
#include "device/gpu.h"

static void names_are_told_from_others(void **state)
{
	static const char *const good[] = {
		"cuda:0", "cuda:17", "cuda:all", "sm_75", "sm_75:0123456789abcdef", "sm_120"
	};
	static const char *const bad[] = { "cpu",
					   "cuda",
					   "cuda:",
					   "cuda:x",
					   "cuda:-1",
					   "cuda:99999999999",
					   "sm_",
					   "sm_9x",
					   "sm_90a",
					   "",
					   "sm_90:",
					   "sm_90:0123456789ABCDEF",
					   "sm_90:0123456789abcde",
					   "sm_90:0123456789abcdef0" };
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(tcb_kind_cuda.is_asked(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(tcb_kind_cuda.is_asked(bad[i]));
}

static void the_table_is_plausible(void **state)
{
	struct tcb_gpu gpu;
	size_t count = 0;
	(void)state;
	for (unsigned last = 0; tcb_gpu_table_row(count, &gpu); count++) {
		const struct tcb_target *target = &gpu.device.target;
		assert_true(target->cuda.capability >= last); /* in order */
		last = target->cuda.capability;
		assert_int_equal(target->kind, TCB_TARGET_CUDA);
		assert_int_equal(gpu.ordinal, -1);
		assert_true(target->cuda.shared_optin_bytes <= gpu.shared_max);
		assert_true(gpu.threads_max % 32 == 0 && gpu.threads_max >= 1024);
		assert_true(strlen(gpu.source) > 4 && strlen(gpu.device.key) == 16);
		/* The stated bandwidth is what clock and bus give, within what papers round. */
		double from_clock = 2e3 * gpu.memory_khz * gpu.bus_bits / 8;
		assert_true(from_clock > 0.95 * gpu.read_bytes_s && from_clock < 1.05 * gpu.read_bytes_s);
	}
	assert_true(count >= 7);
}

/* SPEC H5: the opt-in limits. */
static void shared_limits_are_those_of_the_specification(void **state)
{
	static const unsigned limit[][2] = {
		{ 75, 64 }, { 80, 163 }, { 86, 99 }, { 89, 99 }, { 90, 227 }, { 100, 227 }
	};
	struct tcb_gpu gpu;
	(void)state;
	for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
		assert_int_equal(tcb_gpu_table(limit[i][0], &gpu, NULL), TCB_OK);
		assert_int_equal(gpu.device.target.cuda.shared_optin_bytes, limit[i][1] * 1024);
	}
}

/* A kind that is not recorded is the nearest one, and says so. */
static void others_have_the_nearest(void **state)
{
	static const struct {
		unsigned capability, nearest, shared_kib;
	} kinds[] = {
		{ 70, 75, 96 },    { 72, 75, 96 },    { 87, 86, 163 },  { 88, 86, 99 },   { 101, 100, 227 },
		{ 103, 100, 227 }, { 110, 100, 227 }, { 121, 120, 99 }, { 130, 120, 99 },
	};
	struct tcb_gpu gpu, known;
	char text[64];
	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		assert_int_equal(tcb_gpu_table(kinds[i].capability, &gpu, NULL), TCB_OK);
		assert_int_equal(tcb_gpu_table(kinds[i].nearest, &known, NULL), TCB_OK);
		assert_int_equal(known.nearest, 0);
		assert_int_equal(gpu.nearest, kinds[i].nearest);
		assert_int_equal(gpu.device.target.cuda.capability, kinds[i].capability);
		assert_int_equal(gpu.device.target.cuda.shared_optin_bytes, kinds[i].shared_kib * 1024);
		assert_int_equal(gpu.device.target.cuda.sm_count, known.device.target.cuda.sm_count);
		assert_true(gpu.read_bytes_s == known.read_bytes_s);
		snprintf(text, sizeof text, "(sm_%u, the nearest recorded)", kinds[i].nearest);
		assert_non_null(strstr(gpu.device.model, text));
		snprintf(text, sizeof text, "sm_%u", kinds[i].capability);
		assert_string_equal(gpu.device.name, text);
		assert_string_not_equal(gpu.device.key, known.device.key);
		assert_true(tcb_gpu_operations_a_cycle(kinds[i].capability, TCB_COMPUTE_F32) ==
			    tcb_gpu_operations_a_cycle(kinds[i].nearest, TCB_COMPUTE_F32));
	}
	for (size_t i = 0; tcb_gpu_kind(i, &gpu); i++)
		assert_int_equal(tcb_gpu_open(gpu.device.name, 0, &gpu, NULL), TCB_OK);
}

static void keys_tell_cards_apart(void **state)
{
	struct tcb_gpu a, b;
	(void)state;
	assert_int_equal(tcb_gpu_table(90, &a, NULL), TCB_OK);
	b = a;
	b.ordinal = 3;
	strcpy(b.uuid, "GPU-other");
	tcb_gpu_complete(&b);
	assert_string_equal(a.device.key, b.device.key); /* another card of the same kind */
	b.device.has_ecc = !b.device.has_ecc;
	tcb_gpu_complete(&b);
	assert_string_not_equal(a.device.key, b.device.key);
}

static void what_is_absent_is_said(void **state)
{
	struct tcb_gpu gpu;
	struct tcb_error err;
	(void)state;
	assert_int_equal(tcb_gpu_table(42, &gpu, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "sm_89"));
	assert_int_equal(tcb_gpu_open("tpu", 0, &gpu, &err), TCB_E_USAGE);
	assert_int_equal(tcb_gpu_open("cuda:63", 0, &gpu, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "cuda:63 is not attached"));
	/* The table is of kinds. */
	assert_int_equal(tcb_gpu_open("sm_90:0123456789abcdef", 0, &gpu, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "sm_90:0123456789abcdef is not attached"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_told_from_others),
		cmocka_unit_test(the_table_is_plausible),
		cmocka_unit_test(shared_limits_are_those_of_the_specification),
		cmocka_unit_test(others_have_the_nearest),
		cmocka_unit_test(keys_tell_cards_apart),
		cmocka_unit_test(what_is_absent_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
