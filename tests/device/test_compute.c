/* SPDX-License-Identifier: MIT
 *
 * That the compute limit computes: every loop of this host does all of its
 * updates, a call's time is that of the arithmetic, and more threads or wider
 * instructions are never taken for less work.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/pool.h"
#include "base/tiles.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "device/compute_loops.h"

static uint32_t host_mask(void)
{
	struct tcb_device host;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &host, NULL), TCB_OK);
	(void)tcb_tiles_ask(NULL); /* where there are any */
	return host.target.isa_mask;
}

static void test_loops_do_all_updates(void **state)
{
	(void)state;
	const uint32_t mask = host_mask();
	size_t loops = 0;
	for (const struct tcb_compute_loop *const *list = tcb_compute_lists(); *list; list++)
		for (const struct tcb_compute_loop *loop = *list; loop->run; loop++) {
			if (!(mask >> loop->isa & 1u)) {
				print_message("this machine has no %s: '%s' was not run\n", tcb_isa_text(loop->isa),
					      loop->what);
				continue;
			}
			loops++;
			assert_true(loop->operations >= 2);
			for (size_t n = 0; n < 100; n += 7)
				assert_true(loop->run(n) == loop->result * (double)n);
		}
	assert_true(loops >= 2);
}

static void test_calls(void **state)
{
	(void)state;
	const double operations = 1e6;
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct tcb_pool *pool;
		assert_int_equal(tcb_pool_create(threads, NULL, &pool, NULL), TCB_OK);
		for (int kind = 0; kind < 3; kind++) {
			struct tcb_compute *compute;
			struct tcb_error err;
			if (tcb_compute_create(pool, threads, host_mask(), (enum tcb_compute_kind)kind, &compute,
					       &err) != TCB_OK)
				fail_msg("%s", err.message);
			double best = 1e18;
			for (int i = 0; i < 10; i++) {
				const double ns = tcb_compute_call(compute, operations);
				assert_true(ns > 0);
				best = ns < best ? ns : best;
			}
			/* At most 100,000 operations a nanosecond and thread; how few, others' load decides. */
			assert_true(best > 10.0 / threads);
			assert_non_null(strchr(tcb_compute_method(compute), ':'));
			tcb_compute_destroy(compute);
		}
		tcb_pool_destroy(pool);
	}
}

/* Scalar code alone is slower than what the host's vectors give; no family at all is an error. */
static void test_families(void **state)
{
	(void)state;
	struct tcb_pool *pool;
	struct tcb_compute *scalar, *best, *none;
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	assert_int_equal(tcb_compute_create(pool, 1, 0, TCB_COMPUTE_F32, &none, NULL), TCB_E_UNSUPPORTED);
	assert_null(none);
	assert_int_equal(tcb_compute_create(pool, 2, host_mask(), TCB_COMPUTE_F32, &none, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_compute_create(pool, 1, 1u << TCB_ISA_SCALAR, TCB_COMPUTE_INT8, &scalar, NULL), TCB_OK);
	assert_int_equal(tcb_compute_create(pool, 1, host_mask(), TCB_COMPUTE_INT8, &best, NULL), TCB_OK);
	assert_non_null(strstr(tcb_compute_method(scalar), "scalar"));
	/* Four products per instruction against two in two, tiles against vectors: no load hides that. */
	const char *wanted = host_mask() >> TCB_ISA_AMX & 1u          ? "amx"
			     : host_mask() >> TCB_ISA_AVX512VNNI & 1u ? "vnni"
								      : "";
	if (!strstr(tcb_compute_method(best), wanted))
		fail_msg("'%s' is called the fastest, not one of %s", tcb_compute_method(best), wanted);
	if (host_mask() >> TCB_ISA_AVX2 & 1u) {
		double ns[2] = { 1e18, 1e18 };
		for (int i = 0; i < 10; i++) {
			const double a = tcb_compute_call(scalar, 1e6), b = tcb_compute_call(best, 1e6);
			ns[0] = a < ns[0] ? a : ns[0];
			ns[1] = b < ns[1] ? b : ns[1];
		}
		assert_true(ns[1] < ns[0]);
	}
	tcb_compute_destroy(scalar);
	tcb_compute_destroy(best);
	tcb_compute_destroy(NULL);
	tcb_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops_do_all_updates),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
