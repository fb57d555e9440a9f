/* SPDX-License-Identifier: MIT
 *
 * Races against brute force: random small kernels that store to, load from and
 * add to shared and global memory at places that depend on the thread, in arms
 * of branches, under a condition that is the same in all of them, in loops and between barriers.  Where the analysis
 * tells a race as an error, the emulator must find one; where the emulator finds one, the analysis must tell at least a
 * warning.  It does not where each thread that reads has written the same number itself (two kernels of 1,500), which
 * changes nothing.
 */
#include "emu_bench.h"

#include "ptx/analyse/hazards/hazards.h"

enum { KERNELS = 1500, SEEDS = 8, THREADS = 96, BUFFER = 4096 };

static const char head[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n"
	".reqntid 96\n{\n.reg .b32 %r<99>; .reg .b64 %d<9>; .reg .pred %p<9>;\n"
	".shared .align 16 .b8 tile[2048];\n"
	"ld.param.u32 %r90, [n]; setp.lt.u32 %p3, %r90, 3;\n"
	"ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, 7;\n"
	"mov.u32 %r4, 0; mov.u32 %r5, 0;\n";

/* One access of word (a * tid + b) % 128, or of the word b. */
static void add_access(struct tcb_rng *rng, struct tcb_str *out)
{
	static const unsigned factors[] = { 0, 1, 1, 1, 2, 3, 127 };
	unsigned factor = factors[tcb_rng_below(rng, 7)], from = (unsigned)tcb_rng_below(rng, 4) * 32;
	int is_global = tcb_rng_below(rng, 4) == 0;
	const char *space = is_global ? "global" : "shared", *address = is_global ? "%d3" : "%r8";

	tcb_str_addf(out, "mad.lo.u32 %%r6, %%r1, %u, %u; and.b32 %%r6, %%r6, 127; shl.b32 %%r7, %%r6, 2;\n", factor,
		     from + (unsigned)tcb_rng_below(rng, 3));
	tcb_str_add(out, "add.u32 %r8, %r2, %r7; cvt.u64.u32 %d2, %r7; add.u64 %d3, %d1, %d2;\n");
	switch (tcb_rng_below(rng, 8)) {
	case 0:
		tcb_str_addf(out, "red.%s.add.u32 [%s], 1;\n", space, address);
		break;
	case 1:
		tcb_str_addf(out, "st.%s.u32 [%s], 7;\n", space, address);
		break;
	case 2:
	case 3:
	case 4:
		tcb_str_addf(out, "st.%s.u32 [%s], %%r1;\n", space, address);
		break;
	default:
		tcb_str_addf(out, "ld.%s.u32 %%r9, [%s]; add.u32 %%r4, %%r4, %%r9;\n", space, address);
		break;
	}
}

static void add_step(struct tcb_rng *rng, struct tcb_str *out, unsigned *label, int depth)
{
	unsigned mine = (*label)++;

	switch (depth < 2 ? tcb_rng_below(rng, 10) : 0) {
	case 5: /* some threads */
	case 6:
		tcb_str_addf(out, "setp.lt.u32 %%p1, %%r1, %u; @%%p1 bra A%u;\n", (unsigned)tcb_rng_below(rng, 4) * 32,
			     mine);
		add_access(rng, out);
		tcb_str_addf(out, "bra.uni B%u;\nA%u:\n", mine, mine);
		if (tcb_rng_below(rng, 2))
			add_access(rng, out);
		tcb_str_addf(out, "B%u:\n", mine);
		break;
	case 7: /* some rounds */
		tcb_str_addf(out, "mov.u32 %%r%u, 0;\nC%u:\n", 20 + mine, mine);
		add_step(rng, out, label, 2);
		if (tcb_rng_below(rng, 2))
			tcb_str_add(out, "bar.sync 0;\n");
		add_step(rng, out, label, 2);
		tcb_str_addf(out, "add.u32 %%r%u, %%r%u, 1; setp.lt.u32 %%p2, %%r%u, %u; @%%p2 bra C%u;\n", 20 + mine,
			     20 + mine, 20 + mine, 1 + (unsigned)tcb_rng_below(rng, 3), mine);
		break;
	case 4: /* all threads or none */
		tcb_str_addf(out, "@%%p3 bra D%u;\n", mine);
		add_access(rng, out);
		if (tcb_rng_below(rng, 2))
			tcb_str_add(out, "bar.sync 0;\n");
		if (tcb_rng_below(rng, 2))
			add_access(rng, out);
		tcb_str_addf(out, "D%u:\n", mine);
		break;
	case 8:
		tcb_str_add(out, "bar.warp.sync -1;\n");
		break;
	default:
		add_access(rng, out);
		break;
	}
}

static void make(struct tcb_rng *rng, struct tcb_str *out)
{
	unsigned label = 0;

	tcb_str_add(out, head);
	for (uint64_t steps = 2 + tcb_rng_below(rng, 4); steps; steps--) {
		add_step(rng, out, &label, 0);
		if (tcb_rng_below(rng, 2))
			tcb_str_add(out, "bar.sync 0;\n");
	}
	tcb_str_add(out, "ret;\n}\n");
}

struct told {
	unsigned errors, warnings;
	char first[480];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct told *told = ctx;

	if (finding->severity == TCB_PTX_ERROR && !told->errors++)
		snprintf(told->first, sizeof told->first, "line %u: %s", finding->line, finding->message);
	told->warnings += finding->severity == TCB_PTX_WARNING;
}

/* Writes of the same value are warnings. */
static void see_race(void *ctx, const struct tcb_ptx_finding *finding)
{
	*(unsigned *)ctx += finding->rule == TCB_PTX_RULE_RACE && finding->severity == TCB_PTX_ERROR;
}

static struct told analyse(struct tcb_ptx_function *function)
{
	struct told told = { 0 };
	const struct tcb_ptx_sink sink = { see, &told };
	struct tcb_ptx_hazards *hazards;
	struct tcb_ptx_affine *affine;
	struct tcb_error err;

	assert_int_equal(tcb_ptx_affine_create(function, NULL, &affine, &err), TCB_OK);
	assert_int_equal(tcb_ptx_hazards_create(affine, function, &hazards, &err), TCB_OK);
	assert_int_equal(tcb_ptx_races(hazards, 1, &sink, &err), TCB_OK);
	tcb_ptx_hazards_destroy(hazards);
	tcb_ptx_affine_destroy(affine);
	return told;
}

static void races_are_those_of_the_emulator(void **state)
{
	static uint32_t buffer[BUFFER];
	unsigned races, proved = 0, silent = 0, missed = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 15);
	for (unsigned i = 0; i < KERNELS; i++) {
		struct tcb_str text = { 0 };
		struct emu_bench bench;
		struct told told;

		races = 0;
		make(&rng, &text);
		emu_open(&bench, text.data, NULL, THREADS);
		emu_buffer(&bench, "p", buffer, sizeof buffer, TCB_PTX_MAY_WRITE);
		/* it keeps the last access of a place, which may hide another in one order of warps */
		bench.sink = (struct tcb_ptx_sink){ see_race, &races };
		for (int seed = 0; seed < 2 * SEEDS && !races; seed++) {
			bench.param_bytes = sizeof(uint64_t);
			emu_param_u32(&bench, seed % 2 ? 9 : 0);
			bench.launch.seed = (uint64_t)seed / 2;
			emu_run(&bench);
		}
		told = analyse(bench.module->functions);
		if (told.errors && !races)
			fail_msg("kernel %u: no race but %s\n%s", i, told.first, text.data);
		proved += told.errors > 0;
		silent += !races;
		if (races && !told.errors && !told.warnings) {
			if (!missed++)
				print_message("kernel %u is missed:\n%s", i, text.data);
		}
		emu_close(&bench);
		tcb_str_fini(&text);
	}
	print_message("%u kernels: %u proved to race, %u do not race, %u missed\n", KERNELS, proved, silent, missed);
	assert_true(proved > KERNELS / 4 && silent > KERNELS / 20);
	assert_true(missed <= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(races_are_those_of_the_emulator) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
