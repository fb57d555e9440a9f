/* SPDX-License-Identifier: MIT
 *
 * Occupancy: values from NVIDIA's published calculator by hand, and our
 * calculation against the toolkit's header where the build had one.
 */
#include "cmocka_all.h"

#include <string.h>

#include "ptx/model/occupancy.h"

static const unsigned capabilities[] = { 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121 };
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities };

static struct tcb_occupancy of(unsigned sm, unsigned registers, unsigned shared, unsigned threads)
{
	const struct tcb_ptx_resources resources = { .registers = registers, .shared_bytes = shared };
	struct tcb_occupancy out;

	assert_int_equal(tcb_occupancy(sm, &resources, threads, 0, &out, NULL), TCB_OK);
	return out;
}

static void by_hand(void **state)
{
	(void)state;
	/* 1,536 threads per SM on sm_89, 6 blocks of 256. */
	assert_int_equal(of(89, 32, 0, 256).blocks, 6);
	assert_string_equal(of(89, 32, 0, 256).limiter, "warps");
	assert_int_equal(of(89, 32, 0, 256).warps_max, 48);
	/* 128 registers x 256 threads: half the register file. */
	assert_int_equal(of(80, 128, 0, 256).blocks, 2);
	assert_string_equal(of(80, 128, 0, 256).limiter, "registers");
	assert_int_equal(of(80, 128, 0, 256).warps, 16);
	/* 33 registers are allocated as 40: 1,280 per warp, 12 warps per quarter, 48 in all. */
	assert_int_equal(of(80, 33, 0, 64).blocks, 24);
	/* 48 KiB + 1 KiB reserved: two in 100 KiB, four in 228. */
	assert_int_equal(of(86, 16, 48 * 1024, 64).blocks, 2);
	assert_string_equal(of(86, 16, 48 * 1024, 64).limiter, "shared memory");
	assert_int_equal(of(90, 16, 48 * 1024, 64).blocks, 4);
	/* Without the kibibyte on sm_75. */
	assert_int_equal(of(75, 16, 32 * 1024, 64).blocks, 2);
	/* One warp each: the number of blocks. */
	assert_int_equal(of(86, 16, 0, 32).blocks, 16);
	assert_string_equal(of(86, 16, 0, 32).limiter, "blocks");
	/* What cannot be launched. */
	assert_int_equal(of(89, 255, 0, 1024).blocks, 0);
	assert_int_equal(of(89, 16, 100 * 1024, 32).blocks, 0);
	assert_int_equal(of(89, 16, 99 * 1024, 32).blocks, 1);
	assert_int_equal(of(89, 16, UINT32_MAX, 32).blocks, 0);
}

static void barriers_limit_from_sm_90(void **state)
{
	const struct tcb_ptx_resources resources = { .registers = 16, .barriers = 16 };
	struct tcb_occupancy out;

	(void)state;
	assert_int_equal(tcb_occupancy(90, &resources, 32, 0, &out, NULL), TCB_OK);
	assert_int_equal(out.blocks, 4);
	assert_string_equal(out.limiter, "barriers");
	assert_int_equal(tcb_occupancy(80, &resources, 32, 0, &out, NULL), TCB_OK);
	assert_int_equal(out.blocks, 32);
}

static void refuses(void **state)
{
	const struct tcb_ptx_resources resources = { .registers = 16 };
	struct tcb_occupancy out;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_occupancy(70, &resources, 32, 0, &out, &err), TCB_E_UNSUPPORTED);
	assert_int_equal(tcb_occupancy(89, &resources, 0, 0, &out, &err), TCB_E_USAGE);
	assert_int_equal(tcb_occupancy(89, &resources, 1025, 0, &out, &err), TCB_E_USAGE);
}

/* Every capability x registers x threads x shared memory x barriers. */
static void as_the_toolkit_says(void **state)
{
	static const size_t shared[] = { 0,     1,     1024,  4000,   8192,   16384,  20000,  32768,  40000,
					 49152, 49153, 65536, 101376, 101377, 166912, 200000, 232448, 232449 };
	unsigned long compared = 0;

	(void)state;
	for (int c = 0; c < CAPABILITIES; c++) {
		const struct tcb_sm_limits *sm = tcb_sm_limits_find(capabilities[c]);
		assert_non_null(sm);
		for (unsigned registers = 0; registers <= 257; registers++) {
			for (unsigned threads = 1; threads <= 1024; threads += threads % 32 == 1 ? 31 : 1) {
				size_t i = (registers * 7 + threads) % (sizeof shared / sizeof *shared);
				const struct tcb_ptx_resources r = {
					.registers = registers,
					.shared_bytes = (unsigned)(threads % 2 ? shared[i] : shared[i] / 2),
					.barriers = (registers + threads) % 17
				};
				struct tcb_occupancy own, toolkit;
				tcb_occupancy_own(sm, &r, threads, threads % 2 ? 0 : shared[i] / 2, &own);
				if (!tcb_occupancy_toolkit(sm, &r, threads, threads % 2 ? 0 : shared[i] / 2, &toolkit))
					skip_because("no cuda_occupancy.h when this was built");
				if (own.blocks != toolkit.blocks || strcmp(own.limiter, toolkit.limiter) != 0)
					fail_msg("sm_%u, %u registers, %u threads, %zu bytes, %u barriers: %u (%s), "
						 "the toolkit says %u (%s)",
						 capabilities[c], registers, threads, shared[i], r.barriers, own.blocks,
						 own.limiter, toolkit.blocks, toolkit.limiter);
				assert_int_equal(own.warps, toolkit.warps);
				compared++;
			}
		}
	}
	print_message("%lu cases agree with cuda_occupancy.h\n", compared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(barriers_limit_from_sm_90),
		cmocka_unit_test(refuses),
		cmocka_unit_test(as_the_toolkit_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
