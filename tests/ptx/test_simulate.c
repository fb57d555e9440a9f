/* SPDX-License-Identifier: MIT
 *
 * The simulated multiprocessor: accesses as the definition of banks and sectors
 * has them, trip counts from parameters, bounds that no kernel can beat, and
 * properties that hold whatever the constants are: more work, less bandwidth or
 * longer latencies are never faster by more than what a schedule may shift.
 */
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"

#include "base/util.h"
#include "ptx/model/simulate.h"
#include "ptx/text/text.h"

static struct tcb_error err;

/* A GPU with round numbers: 10 multiprocessors at 1 GHz, 100 GB/s. */
static const struct tcb_ptx_machine plain = {
	.capability = 90,
	.sm_count = 10,
	.clock_hz = 1e9,
	.memory_bytes_s = 100e9,
	.cache_bytes_s = 320e9,
	.cache_bytes = 1 << 20,
	.threads = 2048,
	.blocks = 32,
	.registers = 65536,
	.shared_bytes = 228 * 1024,
	.shared_reserved = 1024,
};

#define HEAD                                                                                                      \
	".version 8.0\n.target sm_90\n.address_size 64\n"                                                         \
	".visible .entry k(.param .u64 .ptr .global .align 16 in, .param .u64 .ptr .global .align 16 out, "       \
	".param .u32 n)\n{\n\t.reg .b32 %r<32>;\n\t.reg .b64 %d<8>;\n\t.reg .pred %p<8>;\n\t.reg .f32 %f<8>;\n"   \
	"\t.shared .align 16 .b8 tile[32768];\n"                                                                  \
	"\tld.param.u64 %d0, [in];\n\tld.param.u64 %d1, [out];\n\tld.param.u32 %r0, [n];\n"                       \
	"\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, tile;\n"       \
	"\tmad.lo.u32 %r5, %r2, %r3, %r1;\n\tmad.wide.u32 %d2, %r5, 16, %d0;\n\tmad.wide.u32 %d3, %r5, 4, %d1;\n" \
	"\tmov.f32 %f0, 0f00000000;\n"
#define TAIL "\tst.global.f32 [%d3], %f0;\n\tret;\n}\n"

struct params {
	uint64_t in, out;
	uint32_t n;
};

/* The kernel of BODY on MACHINE with a grid of GRID blocks of THREADS. */
static enum tcb_status time_body(const struct tcb_ptx_machine *machine, const char *text, uint32_t grid,
				 uint32_t threads, uint32_t n, int is_dependent, struct tcb_ptx_timing *out)
{
	const struct params params = { TCB_PTX_ARRAY(0), TCB_PTX_ARRAY(1), n };
	struct tcb_ptx_module *module;
	assert_int_equal(tcb_ptx_parse("k", text, strlen(text), &module, &err), TCB_OK);
	const struct tcb_ptx_timed_launch launch = {
		.function = tcb_ptx_function_find(module, "k"),
		.grid = { grid, 1, 1 },
		.block = { threads, 1, 1 },
		.is_dependent = is_dependent,
		.params = &params,
		.param_bytes = sizeof params,
	};
	const struct tcb_ptx_timed what = { &launch, 1 };
	const uint32_t streamed = 1u << 0;
	const enum tcb_status status = tcb_ptx_time(machine, &what, &streamed, 1, out, &err);
	tcb_ptx_module_destroy(module);
	return status;
}

static double seconds(const struct tcb_ptx_machine *machine, const char *text, uint32_t grid, uint32_t n)
{
	struct tcb_ptx_timing timing;
	assert_int_equal(time_body(machine, text, grid, 128, n, 0, &timing), TCB_OK);
	return timing.seconds;
}

/* --- accesses --- */

static void test_wavefronts(void **state)
{
	/* Words at a pitch of 1, 2, 32 and 33 words. */
	static const struct {
		unsigned pitch, wavefronts;
	} cases[] = { { 1, 1 }, { 2, 2 }, { 8, 8 }, { 32, 32 }, { 33, 1 } };
	char text[4096];
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_ptx_timing timing;
		snprintf(text, sizeof text, "%s\tmad.lo.u32 %%r6, %%r1, %u, %%r4;\n\tst.shared.f32 [%%r6], %%f0;\n%s",
			 HEAD, 4 * cases[i].pitch, TAIL);
		assert_int_equal(time_body(&plain, text, 10, 128, 0, 0, &timing), TCB_OK);
		assert_int_equal(timing.wavefronts, 4 * cases[i].wavefronts); /* four warps, like the first */
		assert_int_equal(timing.wavefronts_ideal, 4);
	}
}

static void test_sectors(void **state)
{
	struct tcb_ptx_timing timing;
	(void)state;
	/* 16 bytes per lane, neighbours: 16 sectors per warp; and the store: 4. */
	assert_int_equal(time_body(&plain, HEAD "\tld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d2];\n" TAIL, 10, 128, 0, 0,
				   &timing),
			 TCB_OK);
	assert_int_equal(timing.sectors, 4 * (16 + 4));
	assert_int_equal(timing.sectors_ideal, 4 * (16 + 4));
	assert_int_equal(timing.memory_bytes, 128 * 16);
	/* One word of each: every lane in a sector of its own, for a quarter of its bytes. */
	assert_int_equal(time_body(&plain, HEAD "\tmad.wide.u32 %d2, %r5, 32, %d0;\n\tld.global.f32 %f0, [%d2];\n" TAIL,
				   10, 128, 0, 0, &timing),
			 TCB_OK);
	assert_int_equal(timing.sectors, 4 * (32 + 4));
	assert_int_equal(timing.sectors_ideal, 4 * (4 + 4));
}

/* --- control --- */

#define LOOP                                                                                            \
	HEAD "\tmov.u32 %r6, 0;\nL:\n\tfma.rn.f32 %f0, %f0, %f0, 0f3F800000;\n\tadd.u32 %r6, %r6, 1;\n" \
	     "\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n" TAIL

static void test_trips(void **state)
{
	struct tcb_ptx_timing ten, twenty;
	(void)state;
	assert_int_equal(time_body(&plain, LOOP, 10, 32, 10, 0, &ten), TCB_OK);
	assert_int_equal(time_body(&plain, LOOP, 10, 32, 20, 0, &twenty), TCB_OK);
	assert_int_equal(twenty.instructions - ten.instructions, 10 * 4); /* fma, add, setp, bra */
	assert_true(twenty.seconds > ten.seconds);
}

/* A loop as long as a word in memory says: known where the contents of its array are. */
static void test_trips_from_memory(void **state)
{
	static const char text[] = HEAD
		"\tld.global.nc.u32 %r0, [%d0+4];\n\tmov.u32 %r6, 0;\nL:\n\tfma.rn.f32 %f0, %f0, %f0, 0f3F800000;\n"
		"\tadd.u32 %r6, %r6, 1;\n\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n" TAIL;
	const struct params params = { TCB_PTX_ARRAY(0), TCB_PTX_ARRAY(1), 0 };
	const uint32_t words[2] = { 7, 20 }, streamed = 0;
	struct tcb_ptx_contents contents[TCB_PTX_ARRAYS_MAX] = { { words, sizeof words } };
	struct tcb_ptx_timed_launch launch = {
		.grid = { 10, 1, 1 }, .block = { 32, 1, 1 }, .params = &params, .param_bytes = sizeof params
	};
	const struct tcb_ptx_timed what = { &launch, 1 };
	struct tcb_ptx_timing unknown, one, twenty;
	struct tcb_ptx_module *module;
	(void)state;
	assert_int_equal(tcb_ptx_parse("k", text, strlen(text), &module, &err), TCB_OK);
	launch.function = tcb_ptx_function_find(module, "k");
	assert_int_equal(tcb_ptx_time(&plain, &what, &streamed, 1, &unknown, &err), TCB_OK);
	launch.contents = contents;
	assert_int_equal(tcb_ptx_time(&plain, &what, &streamed, 1, &twenty, &err), TCB_OK);
	contents[0].bytes = 4; /* the word is past the end: unknown again */
	assert_int_equal(tcb_ptx_time(&plain, &what, &streamed, 1, &one, &err), TCB_OK);
	tcb_ptx_module_destroy(module);
	assert_int_equal(one.instructions, unknown.instructions);
	assert_int_equal(twenty.instructions - unknown.instructions, 19 * 4);
}

static void test_barrier_waits_for_the_slowest(void **state)
{
	/* The first warp's loop holds up all others at the barrier. */
	static const char with[] = HEAD
		"\tsetp.ge.u32 %p1, %r1, 32;\n\t@%p1 bra B;\n\tmov.u32 %r6, 0;\nL:\n"
		"\tfma.rn.f32 %f0, %f0, %f0, 0f3F800000;\n\tadd.u32 %r6, %r6, 1;\n\tsetp.lt.u32 %p0, %r6, %r0;\n"
		"\t@%p0 bra L;\nB:\n\tbar.sync 0;\n\tld.global.f32 %f1, [%d2];\n\tadd.rn.f32 %f0, %f0, %f1;\n" TAIL;
	(void)state;
	assert_true(seconds(&plain, with, 10, 1000) > seconds(&plain, with, 10, 10) + 900e-9 * 4);
}

/* The second warp waits at a barrier of its own number for the first one's loop; the others do not, and the first goes
 * on. */
static void test_numbered_barriers(void **state)
{
	static const char with[] =
		HEAD "\tsetp.ge.u32 %p1, %r1, 64;\n\t@%p1 bra E;\n\tshr.u32 %r7, %r1, 5;\n\tsetp.eq.u32 %p2, %r7, 1;\n"
		     "\tadd.u32 %r8, %r2, 3;\n\t@%p2 bra W;\n\tmov.u32 %r6, 0;\nL:\n"
		     "\tfma.rn.f32 %f0, %f0, %f0, 0f3F800000;\n\tadd.u32 %r6, %r6, 1;\n\tsetp.lt.u32 %p0, %r6, %r0;\n"
		     "\t@%p0 bra L;\n\tbar.arrive %r8, 64;\n\tbra E;\nW:\n\tbar.sync %r8, 64;\n"
		     "\tld.global.f32 %f1, [%d2];\n\tadd.rn.f32 %f0, %f0, %f1;\nE:\n" TAIL;
	(void)state;
	assert_true(seconds(&plain, with, 10, 1000) > seconds(&plain, with, 10, 10) + 900e-9 * 4);
}

static void test_endless(void **state)
{
	struct tcb_ptx_timing timing;
	(void)state;
	assert_int_equal(
		time_body(&plain, HEAD "L:\n\tadd.rn.f32 %f0, %f0, %f0;\n\tbra L;\n}\n", 10, 32, 0, 0, &timing),
		TCB_E_UNSUPPORTED);
}

static void test_does_not_fit(void **state)
{
	struct tcb_ptx_machine small = plain;
	struct tcb_ptx_timing timing;
	(void)state;
	small.shared_bytes = 32 * 1024; /* the tile and what the driver takes */
	assert_int_equal(time_body(&small, LOOP, 10, 32, 1, 0, &timing), TCB_E_UNSUPPORTED);
	small.shared_bytes += 1024;
	assert_int_equal(time_body(&small, LOOP, 10, 32, 1, 0, &timing), TCB_OK);
}

/* --- time --- */

/* N rounds of 16 bytes per thread. */
#define STREAM                                                                                     \
	HEAD "\tmov.u32 %r6, 0;\nL:\n\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2];\n"            \
	     "\tadd.rn.f32 %f0, %f0, %f1;\n\tadd.u64 %d2, %d2, 1048576;\n\tadd.u32 %r6, %r6, 1;\n" \
	     "\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n" TAIL

static void test_bandwidth_is_the_limit(void **state)
{
	struct tcb_ptx_timing timing;
	(void)state;
	/* 100 blocks * 1024 threads * 16 bytes * 8 rounds = 13.1 MB: 131 us at 100 GB/s. */
	assert_int_equal(time_body(&plain, STREAM, 100, 1024, 8, 0, &timing), TCB_OK);
	const double least = 100.0 * 1024 * 16 * 8 / plain.memory_bytes_s;
	assert_true(timing.seconds >= least && timing.seconds < 1.1 * least);
	assert_true(timing.memory_seconds > 0.9 * least && timing.memory_seconds <= 1.001 * least);
}

/* Four warps of products a quarter of a multiprocessor, each with four sums that do not wait for each other, so that
 * the matrix unit is always taken: by as much as the shape and the type say. */
static void test_matrix_unit_is_the_limit(void **state)
{
	static const struct {
		const char *shape, *types, *factors;
		unsigned results;
		double cycles; /* of a quarter, of one product, on capability 9.0 */
	} cases[] = {
		{ "m16n8k8", "f16.f16.f16.f16", "{%r7, %r8}, {%r7}", 2, 3 },
		{ "m16n8k16", "f16.f16.f16.f16", "{%r7, %r8, %r7, %r8}, {%r7, %r8}", 2, 6 },
		{ "m16n8k32", "s32.s8.s8.s32", "{%r7, %r8, %r7, %r8}, {%r7, %r8}", 4, 6 },
	};
	const uint32_t rounds = 400, steps = 8, warps = 4;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_str text = { 0 };
		tcb_str_add(&text, HEAD);
		for (int reg = 6; reg < 32; reg++)
			tcb_str_addf(&text, "\tmov.b32 %%r%d, 0;\n", reg);
		tcb_str_add(&text, "L:\n");
		for (uint32_t step = 0; step < steps; step++) {
			char sums[64];
			const unsigned first = 16 + step % 4 * 4;
			if (cases[i].results == 2)
				snprintf(sums, sizeof sums, "{%%r%u, %%r%u}", first, first + 1);
			else
				snprintf(sums, sizeof sums, "{%%r%u, %%r%u, %%r%u, %%r%u}", first, first + 1, first + 2,
					 first + 3);
			tcb_str_addf(&text, "\tmma.sync.aligned.%s.row.col.%s %s, %s, %s;\n", cases[i].shape,
				     cases[i].types, sums, cases[i].factors, sums);
		}
		tcb_str_add(&text, "\tadd.u32 %r6, %r6, 1;\n\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n" TAIL);
		struct tcb_ptx_timing timing;
		assert_int_equal(time_body(&plain, text.data, 10, 4 * 32 * warps, rounds, 0, &timing), TCB_OK);
		tcb_str_fini(&text);
		const double cycles = timing.seconds * plain.clock_hz, least = warps * rounds * steps * cases[i].cycles;
		assert_true(cycles >= least);
		assert_true(cycles <= 1.1 * least + 2000);
	}
}

static void test_latency_is_the_limit(void **state)
{
	/* One warp on a multiprocessor, rounds that wait for each other. */
	static const char chase[] = HEAD "\tmov.u32 %r6, 0;\nL:\n\tld.global.b64 %d4, [%d2];\n"
					 "\tadd.u64 %d2, %d2, %d4;\n\tadd.u32 %r6, %r6, 1;\n"
					 "\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n" TAIL;
	struct tcb_ptx_machine m = plain;
	struct tcb_ptx_timing timing;
	(void)state;
	m.memory_latency = 500e-9;
	m.cache_latency = 500e-9; /* the second round's address is unknown: it counts as the L2's */
	assert_int_equal(time_body(&m, chase, 10, 32, 20, 0, &timing), TCB_OK);
	assert_true(timing.seconds > 20 * 500e-9 && timing.seconds < 20 * 700e-9 + 3e-6);
}

static void test_dependent_launches_overlap(void **state)
{
	static const char early[] = HEAD "\tgriddepcontrol.launch_dependents;\n\tmov.u32 %r6, 0;\nL:\n"
					 "\tfma.rn.f32 %f0, %f0, %f0, 0f3F800000;\n\tadd.u32 %r6, %r6, 1;\n"
					 "\tsetp.lt.u32 %p0, %r6, %r0;\n\t@%p0 bra L;\n\tgriddepcontrol.wait;\n" TAIL;
	struct tcb_ptx_timing apart, together;
	(void)state;
	assert_int_equal(time_body(&plain, early, 10, 128, 200, 0, &apart), TCB_OK);
	assert_int_equal(time_body(&plain, early, 10, 128, 200, 1, &together), TCB_OK);
	assert_true(together.seconds < 0.8 * apart.seconds);
	assert_true(together.seconds > 0);
}

static void test_waves(void **state)
{
	struct tcb_ptx_timing one, two;
	(void)state;
	/* A block fills a multiprocessor's threads by half: 20 blocks on 10 run together, 21 do not. */
	assert_int_equal(time_body(&plain, LOOP, 20, 1024, 2000, 0, &one), TCB_OK);
	assert_int_equal(time_body(&plain, LOOP, 21, 1024, 2000, 0, &two), TCB_OK);
	assert_true(two.seconds > 1.3 * one.seconds);
}

/* Whatever the machine is: a constant made worse does not make a kernel faster. */
static void test_monotonic(void **state)
{
	static const char *const kernels[] = { LOOP, STREAM };
	(void)state;
	for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
		const double base = seconds(&plain, kernels[k], 40, 8);
		for (int which = 0; which < 6; which++) {
			struct tcb_ptx_machine worse = plain;
			tcb_ptx_machine_defaults(&worse);
			if (which == 0)
				worse.memory_bytes_s /= 2;
			else if (which == 1)
				worse.memory_latency *= 3;
			else if (which == 2)
				worse.launch_gap *= 2;
			else if (which == 3)
				worse.sm_count = 5;
			else if (which == 4)
				worse.block_start *= 100;
			else
				worse.threads = 256;
			assert_true(seconds(&worse, kernels[k], 40, 8) >= 0.99 * base);
		}
		assert_true(seconds(&plain, kernels[k], 40, 16) > base);
		assert_true(seconds(&plain, kernels[k], 160, 8) > base);
	}
}

static void test_repeats(void **state)
{
	(void)state;
	assert_true(seconds(&plain, STREAM, 33, 5) == seconds(&plain, STREAM, 33, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wavefronts),
		cmocka_unit_test(test_sectors),
		cmocka_unit_test(test_trips),
		cmocka_unit_test(test_trips_from_memory),
		cmocka_unit_test(test_barrier_waits_for_the_slowest),
		cmocka_unit_test(test_numbered_barriers),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_does_not_fit),
		cmocka_unit_test(test_bandwidth_is_the_limit),
		cmocka_unit_test(test_matrix_unit_is_the_limit),
		cmocka_unit_test(test_latency_is_the_limit),
		cmocka_unit_test(test_dependent_launches_overlap),
		cmocka_unit_test(test_waves),
		cmocka_unit_test(test_monotonic),
		cmocka_unit_test(test_repeats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
