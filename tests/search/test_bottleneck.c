/* SPDX-License-Identifier: MIT
 *
 * What binds a kernel, from constructed facts: each kind by the facts that alone
 * make it so, unknown where one of them is missing or its interval goes both
 * ways, and a roofline of numbers that are worked out by hand.
 */
#include <math.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "search/bottleneck.h"

/* 1,000 bytes and 4,000 operations in 100 ns: 10 bytes and 40 operations a nanosecond. */
static struct tcb_bottleneck_facts measured(int is_gpu)
{
	return (struct tcb_bottleneck_facts){ .device = is_gpu ? &tcb_kind_cuda : &tcb_kind_cpu,
					      .state = TCB_COLD,
					      .bytes = 1000,
					      .operations = 4000,
					      .ns = { 100, 99, 101 },
					      .fixed_ns = NAN,
					      .core = NAN,
					      .issue = NAN,
					      .memory = NAN,
					      .warps = NAN,
					      .registers = NAN };
}

static struct tcb_interval around(double share)
{
	return (struct tcb_interval){ share, share - 0.02, share + 0.02 };
}

static struct tcb_bottleneck found(const struct tcb_bottleneck_facts *facts)
{
	struct tcb_bottleneck out;

	tcb_bottleneck_find(facts, &out);
	assert_true(out.evidence[0] && out.advice[0]);
	return out;
}

static void expect(const struct tcb_bottleneck_facts *facts, const char *kind, const char *word)
{
	const struct tcb_bottleneck out = found(facts);

	assert_string_equal(tcb_bottleneck_text(out.kind), kind);
	if (!strstr(out.evidence, word) && !strstr(out.advice, word))
		fail_msg("neither '%s' nor '%s' has '%s'", out.evidence, out.advice, word);
}

static void test_nothing_known(void **state)
{
	struct tcb_bottleneck_facts facts = measured(0);

	(void)state;
	expect(&facts, "unknown", "measures the read limit");
	facts.ns = (struct tcb_interval){ 0 };
	expect(&facts, "unknown", "nothing but the time was measured");
}

static void test_bandwidth(void **state)
{
	struct tcb_bottleneck_facts facts = measured(0);

	(void)state;
	facts.read = around(0.83);
	expect(&facts, "bandwidth", "83 % of the read limit");
	facts.state = TCB_HOT;
	expect(&facts, "bandwidth", "83 % of the hot read limit");
	facts.read = around(0.81);
	expect(&facts, "unknown", "79 to 83 %");
	/* what the core needs does not matter at the read limit */
	facts.read = around(0.9);
	facts.core = 0.95;
	expect(&facts, "bandwidth", "fewer bytes");
}

/* A limit whose loop is slower than the kernel is no limit, and a noisy one is none that is known. */
static void test_limit_use(void **state)
{
	struct tcb_bottleneck_facts facts = measured(0);

	(void)state;
	facts.read = around(3.6);
	expect(&facts, "bandwidth", "360 % of the read limit");
	facts.read_use = TCB_LIMIT_BEYOND;
	expect(&facts, "unknown", ">100 % of the read limit");
	expect(&facts, "unknown", "a larger problem");
	assert_true(isnan(found(&facts).roofline.byte_limit));
	facts.is_overlapped = 1;
	expect(&facts, "unknown", "with overlapping calls");
	facts.is_limit_overlapped = 1; /* as 'tcbtune bench' has it, which has nothing more to advise */
	expect(&facts, "unknown", "a larger problem");
	expect(&facts, "unknown", "those of the limit do, too");
	facts.is_limit_overlapped = 0;
	/* that arithmetic binds follows from arithmetic */
	facts.compute = around(0.7);
	expect(&facts, "compute", ">100 % of the read limit");
	facts.read = around(0.9);
	facts.read_use = TCB_LIMIT_NOISY;
	expect(&facts, "unknown", "? % of the read limit");
	expect(&facts, "unknown", "when the machine is quiet");
	/* as wide as it is, it is not reached */
	facts.read = (struct tcb_interval){ 0.05, 0.03, 0.08 };
	expect(&facts, "compute", "? % of the read limit");
}

/* What has no weights is not told to take smaller ones; no other geometry gains, whatever the bytes are. */
static void test_fewer_bytes(void **state)
{
	(void)state;
	for (int is_gpu = 0; is_gpu < 2; is_gpu++)
		for (int has_weights = 0; has_weights < 2; has_weights++) {
			struct tcb_bottleneck_facts facts = measured(is_gpu);
			facts.has_weights = has_weights;
			facts.read = around(0.9);
			const struct tcb_bottleneck out = found(&facts);
			assert_int_equal(strstr(out.advice, "weights") != NULL, has_weights);
			assert_int_equal(strstr(out.advice, "the L2") != NULL, is_gpu);
			assert_non_null(strstr(out.advice, "no other geometry"));
		}
}

static void test_launch(void **state)
{
	struct tcb_bottleneck_facts facts = measured(1);

	(void)state;
	facts.read = around(0.95);
	facts.fixed_ns = 49;
	expect(&facts, "bandwidth", "0.0 of 0.1");
	facts.fixed_ns = 51;
	expect(&facts, "launch", "fewer and larger calls");
}

static void test_cpu(void **state)
{
	struct tcb_bottleneck_facts facts = measured(0);

	(void)state;
	facts.read = around(0.4);
	expect(&facts, "unknown", "measures the compute limit");
	facts.core = 0.81;
	expect(&facts, "issue", "hot, the problem takes 81 %");
	facts.core = 0.59;
	expect(&facts, "latency", "more loads in flight");
	facts.state = TCB_HOT;
	expect(&facts, "unknown", "measures the compute limit");
	facts.state = TCB_COLD;
	facts.core = 0.7;
	facts.compute = around(0.3);
	expect(&facts, "unknown", "hardware counters");
	facts.core = NAN;
	expect(&facts, "unknown", "the other cache state");
	facts.compute = around(0.55);
	facts.compute_source = "measured";
	expect(&facts, "compute", "55 % of the compute limit (measured)");
	facts.compute = around(3.6); /* of a device that was slower when it was measured */
	facts.compute_use = TCB_LIMIT_BEYOND;
	expect(&facts, "unknown", ">100 % of the compute limit");
}

/* A device does less than its maker specifies: what is reached of that is reached, and only what is far from it is
 * missed. */
static void test_specified(void **state)
{
	struct tcb_bottleneck_facts facts = measured(1);

	(void)state;
	facts.read = around(0.1);
	facts.is_matrix = 1;
	facts.issue = 0.2;
	facts.compute = around(0.3);
	facts.compute_source = "by specification";
	expect(&facts, "latency", "more bytes in flight");
	facts.compute_is_specified = 1;
	expect(&facts, "unknown", "measures the compute limit");
	facts.compute = around(0.2);
	expect(&facts, "latency", "more bytes in flight");
	facts.compute = around(0.55);
	expect(&facts, "compute", "55 % of the compute limit (by specification)");
}

static void test_gpu(void **state)
{
	struct tcb_bottleneck_facts facts = measured(1);

	(void)state;
	facts.read = around(0.4);
	expect(&facts, "unknown", "--counters best");
	facts.issue = 0.61;
	expect(&facts, "issue", "61 % of the cycles (counted)");
	facts.issue = 0.59;
	expect(&facts, "latency", "more bytes in flight");
	/* Of matrix instructions few are issued, however busy they keep their unit. */
	facts.is_matrix = 1;
	expect(&facts, "unknown", "measures the compute limit");
	facts.compute = around(0.3);
	expect(&facts, "latency", "more bytes in flight");
	facts.compute = around(0.51);
	expect(&facts, "unknown", "of the compute limit is known as");
	facts.compute = around(0.6);
	expect(&facts, "compute", "60 % of the compute limit");
	/* Of two limits that are reached the one that takes longer binds. */
	facts.read = around(0.9);
	expect(&facts, "bandwidth", "fewer bytes");
	facts.compute = around(0.97);
	expect(&facts, "compute", "cheaper operations");
}

static void test_roofline(void **state)
{
	struct tcb_bottleneck_facts facts = measured(0);
	struct tcb_roofline roofline = found(&facts).roofline;

	(void)state;
	assert_true(fabs(roofline.intensity - 4) < 1e-12);
	assert_true(fabs(roofline.byte_rate - 10) < 1e-12 && fabs(roofline.operation_rate - 40) < 1e-12);
	assert_true(isnan(roofline.byte_limit) && isnan(roofline.operation_limit) && isnan(roofline.ridge));
	facts.read = around(0.5);
	facts.compute = around(0.25);
	roofline = found(&facts).roofline;
	assert_true(fabs(roofline.byte_limit - 20) < 1e-12 && fabs(roofline.operation_limit - 160) < 1e-12);
	assert_true(fabs(roofline.ridge - 8) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_bandwidth),
		cmocka_unit_test(test_limit_use),     cmocka_unit_test(test_fewer_bytes),
		cmocka_unit_test(test_launch),        cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_specified),     cmocka_unit_test(test_gpu),
		cmocka_unit_test(test_roofline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
