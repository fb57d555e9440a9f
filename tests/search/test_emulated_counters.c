/* SPDX-License-Identifier: MIT
 *
 * Counters in the profiler's terms, where they can be told by arithmetic: the
 * kernel that reads all weights once touches each sector once, in full
 * requests; and where the emulator has sums to compare with.
 */
#include "cmocka_all.h"

#include "device/gpu.h"
#include "emulated_counters.h"
#include "kernels/emulation.h"

enum { N = 64, K = 1024 };

static struct tcb_problem problem_of(enum tcb_contract contract)
{
	return (struct tcb_problem){
		.op = tcb_op_find("q4k_matvec"), .op_name = "q4k_matvec", .contract = contract, .shape = { 1, N, K }
	};
}

static void of_default(const struct tcb_problem *problem, struct tcb_kernel *kernel, struct tcb_instance **instance)
{
	const struct tcb_op *op = problem->op;
	struct tcb_geometry geometry;
	struct tcb_error err;
	struct tcb_gpu gpu;

	assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
	tcb_op_standard(problem, &gpu.device.target, &geometry);
	if (tcb_kernel_emit(problem, &gpu.device.target, &geometry, kernel, &err) != TCB_OK ||
	    tcb_instance_create(op, problem, 1, NULL, instance, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

/* Of the default geometry, whose weights stay as they are stored and which has no other shared memory than its image of
 * the activations. */
static void as_the_emulator_sums(void **state)
{
	static const enum tcb_contract contracts[] = { TCB_CONTRACT_Q8, TCB_CONTRACT_F32 };

	(void)state;
	for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++) {
		struct tcb_problem problem = problem_of(contracts[i]);
		struct tcb_kernel kernel = { .code = NULL };
		struct tcb_instance *instance;
		struct emulated_counters counters;
		struct tcb_kernel_emulation sums;
		struct tcb_error err;

		of_default(&problem, &kernel, &instance);
		assert_int_equal(emulated_counters(&kernel, instance, &counters, &err), TCB_OK);
		assert_int_equal(tcb_kernel_emulate(instance->op, &kernel, NULL, 1, NULL, &sums, &err), TCB_OK);
		assert_int_equal(counters.findings, 0);
		assert_true(counters.shared_wavefronts > 0);
		assert_true(counters.shared_wavefronts == (double)sums.total.wavefronts);
		assert_true(counters.shared_conflicts == (double)(sums.total.wavefronts - sums.total.wavefronts_ideal));
		assert_true(counters.warps == (double)sums.total.warps);
		/* Stores are no loads: there is one sector at least for every eight results. */
		assert_true(counters.load_sectors > 0);
		assert_true(counters.load_sectors <= (double)sums.total.sectors - N / 8);
		/* All warps are whole; guards make the emulator's own count smaller. */
		assert_true(counters.active <= 32 * counters.warps);
		assert_true(counters.active >= (double)sums.total.threads);
		tcb_instance_destroy(instance);
		tcb_kernel_fini(&kernel);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_emulator_sums),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
