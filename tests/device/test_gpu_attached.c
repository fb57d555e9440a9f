/* SPDX-License-Identifier: MIT
 *
 * The GPUs that are attached, as the driver tells them.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"

static void attached_ones_are_complete(void **state)
{
	struct tcb_gpu *gpus = calloc(TCB_GPUS_MAX, sizeof *gpus), again;
	struct tcb_error err;
	size_t count;
	(void)state;
	assert_non_null(gpus);
	if (tcb_gpu_list(gpus, &count, &err) != TCB_OK) {
		assert_int_equal(err.status, TCB_E_UNSUPPORTED);
		free(gpus);
		skip_because("%s", err.message);
	}
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_target *target = &gpus[i].device.target;
		assert_true(target->cuda.sm_count > 0 && target->cuda.capability >= 50 && target->l2_bytes > 0);
		assert_true(gpus[i].read_bytes_s > 1e10 && gpus[i].device.memory_bytes > 1u << 30);
		printf("cuda:%zu %s %s key %s, %u SMs, %.0f GB/s, driver %s\n", i, gpus[i].device.name,
		       gpus[i].device.model, gpus[i].device.key, target->cuda.sm_count, gpus[i].read_bytes_s / 1e9,
		       gpus[i].device.driver);
	}
	assert_int_equal(tcb_gpu_open(gpus[0].device.name, 1, &again, &err), TCB_OK);
	assert_int_equal(again.ordinal, 0);
	free(gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attached_ones_are_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
