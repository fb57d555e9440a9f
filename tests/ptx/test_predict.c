/* SPDX-License-Identifier: MIT
 *
 * Wavefronts and sectors: the counts against brute force on random addresses,
 * the prediction of whole kernels (the swizzle table, small kernels) against
 * the addresses that they really use and the emulator, what nvcc wrote, and
 * silence where nothing is known.
 */
#include "conflict_kernel.h"
#include "hazard_cases.h"
#include "ptx_tools.h"

#include "ptx/text/text.h"

/* --- counts --- */

/* A bank at a time: every set of words that one bank would have to deliver. */
static unsigned slow_wavefronts(const uint64_t *address, uint32_t active, unsigned bytes, unsigned group)
{
	unsigned total = 0;

	for (unsigned from = 0; from < 32; from += group) {
		unsigned most = 0;

		for (uint64_t bank = 0; bank < 32; bank++) {
			unsigned words = 0;

			for (uint64_t w = bank; w < 8704; w += 32) {
				int wanted = 0;

				for (unsigned lane = from; lane < from + group; lane++)
					for (unsigned byte = 0; byte < bytes; byte++)
						wanted |= (active >> lane & 1) && (address[lane] + byte) / 4 == w;
				words += (unsigned)wanted;
			}
			most = words > most ? words : most;
		}
		total += most;
	}
	return total;
}

static unsigned slow_sectors(const uint64_t *address, uint32_t active, unsigned bytes, unsigned *ideal)
{
	unsigned sectors = 0, used = 0;

	for (uint64_t s = 0; s < 512; s++) {
		unsigned here = 0;

		for (uint64_t byte = s * 32; byte < s * 32 + 32; byte++) {
			int wanted = 0;

			for (unsigned lane = 0; lane < 32; lane++)
				wanted |= (active >> lane & 1) && byte >= address[lane] && byte < address[lane] + bytes;
			here += (unsigned)wanted;
		}
		sectors += here != 0;
		used += here;
	}
	*ideal = (used + 31) / 32;
	return sectors;
}

static void counts_are_those_of_brute_force(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 5);
	for (unsigned round = 0; round < 120; round++) {
		unsigned bytes = 1u << tcb_rng_below(&rng, 5), ideal, slow_ideal;
		uint32_t active = round % 3 ? (uint32_t)tcb_rng_next(&rng) | 1 : UINT32_MAX;
		uint64_t range = UINT64_C(1) << (5 + tcb_rng_below(&rng, 9)), address[32];

		unsigned group = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
		for (unsigned lane = 0; lane < 32; lane++)
			address[lane] = tcb_rng_below(&rng, range) / bytes * bytes;
		assert_int_equal(tcb_ptx_wavefronts(address, active, bytes, 0, NULL),
				 slow_wavefronts(address, active, bytes, group));
		/* pairs: of neighbours, and of lanes two apart */
		unsigned apart = 1 + round % 2;
		for (unsigned lane = 0; lane < 32; lane++)
			address[lane] = address[lane & ~apart];
		assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, bytes, 0, NULL),
				 slow_wavefronts(address, UINT32_MAX, bytes, group));
		assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, bytes, 1, NULL),
				 slow_wavefronts(address, UINT32_MAX, bytes, group < 32 ? 2 * group : 32));
		assert_int_equal(tcb_ptx_sectors(address, active, bytes, &ideal),
				 slow_sectors(address, active, bytes, &slow_ideal));
		assert_int_equal(ideal, slow_ideal);
	}
}

static void counts_that_are_known(void **state)
{
	uint64_t address[32];
	unsigned ideal;

	(void)state;
	for (unsigned t = 0; t < 32; t++)
		address[t] = t * 128; /* one bank */
	assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, 4, 1, &ideal), 32);
	assert_int_equal(ideal, 1);
	assert_int_equal(tcb_ptx_sectors(address, UINT32_MAX, 4, &ideal), 32);
	assert_int_equal(ideal, 4);
	for (unsigned t = 0; t < 32; t++)
		address[t] = 64; /* broadcast */
	assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, 4, 1, NULL), 1);
	assert_int_equal(tcb_ptx_sectors(address, UINT32_MAX, 4, NULL), 1);
	for (unsigned t = 0; t < 32; t++)
		address[t] = t * 16;
	assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, 16, 1, &ideal), 4);
	assert_int_equal(ideal, 4);
	for (unsigned t = 0; t < 32; t++)
		address[t] = t * 8;
	assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, 8, 1, NULL), 2);
	for (unsigned t = 0; t < 32; t++)
		address[t] = t * 132; /* padded */
	assert_int_equal(tcb_ptx_wavefronts(address, UINT32_MAX, 4, 1, NULL), 1);
}

enum { ABSENT = 4096 };

static unsigned same(unsigned lane)
{
	return 0 * lane;
}

static unsigned by_1(unsigned lane)
{
	return lane / 2;
}

static unsigned by_2(unsigned lane)
{
	return (lane & 1) | (lane >> 2 << 1);
}

static unsigned by_4(unsigned lane)
{
	return (lane & 3) | (lane >> 3 << 2);
}

static unsigned halves(unsigned lane)
{
	return lane % 16;
}

static unsigned half_same(unsigned lane)
{
	return lane < 16 ? lane : 16;
}

static unsigned by_1_apart(unsigned lane)
{
	return lane / 2 % 8 + lane / 16 * 32;
}

static unsigned by_1_far(unsigned lane)
{
	return lane / 2 * 32 % 512;
}

static unsigned even_there(unsigned lane)
{
	return lane % 2 ? ABSENT : lane;
}

static unsigned eighth_there(unsigned lane)
{
	return lane % 8 ? ABSENT : lane;
}

static unsigned first_there(unsigned lane)
{
	return lane ? ABSENT : 0;
}

/* What CUPTI counts on an H200: results/h200/shared_patterns.txt. */
static void counts_are_those_of_the_device(void **state)
{
	static const struct {
		const char *name;
		unsigned (*granule)(unsigned lane);           /* of BYTES; ABSENT: not active */
		unsigned loads[3], stores[3], ideal_loads[3]; /* of 4, 8 and 16 bytes */
	} rows[] = {
		{ "all the same", same, { 1, 1, 2 }, { 1, 2, 4 }, { 1, 1, 2 } },
		{ "pairs, L^1", by_1, { 1, 1, 2 }, { 1, 2, 4 }, { 1, 1, 2 } },
		{ "pairs, L^2", by_2, { 1, 1, 2 }, { 1, 2, 4 }, { 1, 1, 2 } },
		{ "pairs, L^4", by_4, { 1, 2, 4 }, { 1, 2, 4 }, { 1, 2, 4 } },
		{ "halves the same", halves, { 1, 2, 4 }, { 1, 2, 4 }, { 1, 2, 4 } },
		{ "half linear, half the same", half_same, { 1, 2, 4 }, { 1, 2, 4 }, { 1, 2, 4 } },
		{ "pairs L^1, the halves 128 bytes apart", by_1_apart, { 2, 2, 2 }, { 2, 2, 4 }, { 1, 1, 2 } },
		{ "pairs L^1, every 32nd", by_1_far, { 16, 16, 16 }, { 16, 16, 16 }, { 1, 1, 2 } },
		{ "even lanes there", even_there, { 1, 2, 4 }, { 1, 2, 4 }, { 1, 1, 2 } },
		{ "one of eight there", eighth_there, { 1, 2, 4 }, { 1, 2, 4 }, { 1, 1, 2 } },
		{ "lane 0 there", first_there, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } },
	};
	(void)state;
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		for (unsigned b = 0; b < 3; b++) {
			unsigned bytes = 4u << b, ideal;
			uint64_t address[32];
			uint32_t active = 0;
			for (unsigned lane = 0; lane < 32; lane++) {
				const unsigned granule = rows[r].granule(lane);
				address[lane] = (uint64_t)granule * bytes;
				active |= (uint32_t)(granule != ABSENT) << lane;
			}
			if (tcb_ptx_wavefronts(address, active, bytes, 1, &ideal) != rows[r].loads[b] ||
			    ideal != rows[r].ideal_loads[b])
				fail_msg("loads of %u bytes, %s", bytes, rows[r].name);
			if (tcb_ptx_wavefronts(address, active, bytes, 0, NULL) != rows[r].stores[b])
				fail_msg("stores of %u bytes, %s", bytes, rows[r].name);
		}
	}
}

/* --- the table --- */

static void swizzles_are_predicted_as_they_are(void **state)
{
	static const char *const walks[] = { "row", "column", "chunks" };

	(void)state;
	for (int form = 0; form < TCB_SWIZZLE_COUNT; form++)
		for (uint32_t pitch = 16; pitch <= 256; pitch += pitch < 64 ? 16 : 64)
			for (int walk = 0; walk < WALK_COUNT; walk++) {
				struct tcb_ptx_tile tile = { (enum tcb_swizzle)form, pitch,
							     walk == WALK_CHUNKS ? 4 : 1 };
				unsigned expected = 0, worst, predicted, emulated, emulated_worst;
				struct tcb_ptx_module *module;

				if (!conflict_applies(&tile, (enum conflict_walk)walk))
					continue;
				for (unsigned k = 0; k < CONFLICT_STEPS; k++) {
					uint64_t address[32];

					for (unsigned lane = 0; lane < 32; lane++)
						address[lane] =
							conflict_address(&tile, (enum conflict_walk)walk, lane, k);
					expected += walk == WALK_CHUNKS ? slow_wavefronts(address, UINT32_MAX, 16, 8)
									: slow_wavefronts(address, UINT32_MAX, 4, 32);
				}
				module = conflict_kernel(&tile, (enum conflict_walk)walk);
				predicted = conflict_predicted(module, &worst);
				if (predicted != expected)
					fail_msg("form %d, pitch %u, %s: predicted %u, not %u", form, pitch,
						 walks[walk], predicted, expected);
				emulated = conflict_emulated(module, &emulated_worst);
				if (emulated != predicted || emulated_worst != worst)
					fail_msg("form %d, pitch %u, %s: emulated %u, predicted %u", form, pitch,
						 walks[walk], emulated, predicted);
				/* SPEC section 2 */
				if (pitch == 32 && walk == WALK_COLUMN)
					assert_int_equal(worst, form == TCB_SWIZZLE_NONE    ? 32
								: form == TCB_SWIZZLE_CHUNK ? 4
											    : 1);
				tcb_ptx_module_destroy(module);
			}
}

/* --- against the emulator --- */

static const char *const small_kernels[] = {
#define KERNEL_TEXT(name, barriers, redundant, race, body) HAZARD_KERNEL(body),
	HAZARD_CASES(KERNEL_TEXT)
#undef KERNEL_TEXT
};

/* What an instruction costs each time that all its warps run it, times how often that was. */
static unsigned compare_instruction(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
				    const struct tcb_ptx_counts *counts, const char *text)
{
	unsigned compared = 0;

	for (unsigned i = 0; i < ins->operand_count; i++) {
		struct tcb_ptx_prediction p;
		uint64_t times, counted, ideal;

		if (!tcb_ptx_predict(affine, ins, i, &p) || p.certainty != TCB_PTX_PREDICTED || p.least != p.most ||
		    !p.warps)
			continue;
		times = counts->requests / p.warps;
		counted = p.space == TCB_PTX_SHARED ? counts->wavefronts : counts->sectors;
		ideal = p.space == TCB_PTX_SHARED ? counts->wavefronts_ideal : counts->sectors_ideal;
		if (counts->requests % p.warps || counted != times * p.most || ideal != times * p.ideal)
			fail_msg("line %u: %llu requests cost %llu (ideal %llu), but %u warps %llu (%llu)\n%s",
				 ins->line, (unsigned long long)counts->requests, (unsigned long long)counted,
				 (unsigned long long)ideal, p.warps, (unsigned long long)p.most,
				 (unsigned long long)p.ideal, text);
		compared += times > 0;
	}
	return compared;
}

static void predictions_are_what_the_emulator_counts(void **state)
{
	unsigned compared = 0;

	(void)state;
	for (size_t i = 0; i < sizeof small_kernels / sizeof *small_kernels; i++) {
		struct tcb_ptx_module *module;
		struct tcb_ptx_function *f;
		struct tcb_ptx_affine *affine;
		struct kernel_run run = { 0 };
		struct tcb_error err;

		if (strstr(small_kernels[i], "bar.sync 2, %r0")) /* cannot run */
			continue;
		if (tcb_ptx_parse("test", small_kernels[i], strlen(small_kernels[i]), &module, &err) != TCB_OK)
			fail_msg("%s", err.message);
		f = module->functions;
		run.by_ins = calloc(f->ins_count, sizeof *run.by_ins);
		run_kernel(f, 256, 4, 0, &run);
		assert_int_equal(tcb_ptx_affine_create(f, NULL, &affine, &err), TCB_OK);
		for (struct tcb_ptx_block *block = f->first; block; block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
				compared +=
					compare_instruction(affine, ins, &run.by_ins[ins->number], small_kernels[i]);
		tcb_ptx_affine_destroy(affine);
		tcb_ptx_module_destroy(module);
		free(run.by_ins);
	}
	print_message("%u instructions compared\n", compared);
	assert_true(compared >= 40);
}

/* --- kernels in text --- */

struct seen {
	unsigned conflicts, uncoalesced;
	char last[400];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	assert_int_equal(finding->severity, TCB_PTX_ADVICE);
	seen->conflicts += finding->rule == TCB_PTX_RULE_BANK_CONFLICT;
	seen->uncoalesced += finding->rule == TCB_PTX_RULE_UNCOALESCED;
	snprintf(seen->last, sizeof seen->last, "%s", finding->message);
}

static struct seen findings_of(const char *text, const char *name, const uint32_t block[3])
{
	struct seen seen = { 0 };
	struct tcb_ptx_sink sink = { see, &seen };
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next) {
		struct tcb_ptx_affine *affine;

		if (!f->first || (name && strcmp(f->symbol->name, name)))
			continue;
		assert_int_equal(tcb_ptx_affine_create(f, block, &affine, &err), TCB_OK);
		assert_int_equal(tcb_ptx_predict_all(affine, f, &sink, &err), TCB_OK);
		tcb_ptx_affine_destroy(affine);
	}
	tcb_ptx_module_destroy(module);
	return seen;
}

static char *corpus(const char *name)
{
	char path[512];
	char *text;

	snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, name);
	text = ptx_read(path);
	assert_non_null(text);
	return text;
}

static char *replaced(const char *text, const char *from, const char *to)
{
	struct tcb_str out = { 0 };
	const char *at;

	assert_non_null(strstr(text, from));
	while ((at = strstr(text, from))) {
		tcb_str_addf(&out, "%.*s%s", (int)(at - text), text, to);
		text = at + strlen(from);
	}
	tcb_str_add(&out, text);
	return out.data;
}

/* nvcc's transpose has rows of 33 words; with 32 every read of a column costs 32 wavefronts. */
static void padding_removes_the_conflicts_of_transpose(void **state)
{
	uint32_t block[3] = { 32, 8, 1 };
	char *padded = corpus("transpose"), *flat = replaced(padded, ", 132,", ", 128,");
	struct seen seen = findings_of(padded, "transpose", block);

	(void)state;
	assert_int_equal(seen.conflicts, 0);
	assert_int_equal(seen.uncoalesced, 0);
	seen = findings_of(flat, "transpose", block);
	assert_true(seen.conflicts > 0);
	if (!strstr(seen.last, "the worst warp takes 32, not 1"))
		fail_msg("%s", seen.last);
	free(padded);
	free(flat);
}

static void good_kernels_raise_no_alarm(void **state)
{
	static const struct {
		const char *name;
		uint32_t block[3];
	} good[] = { { "reduce", { 256, 1, 1 } }, { "cp_async", { 128, 1, 1 } }, { "transpose", { 32, 8, 1 } } };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		char *text = corpus(good[i].name);
		struct seen seen = findings_of(text, NULL, good[i].block);

		if (seen.conflicts || seen.uncoalesced)
			fail_msg("%s: %s", good[i].name, seen.last);
		free(text);
	}
}

#define HEAD                                                                                                           \
	".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 .ptr .global .align 32 p, .param .u32 n)" \
	"\n{\n\t.reg .b32 %r<32>;\n\t.reg .b64 %d<32>;\n\t.reg .pred %p<8>;\n\tld.param.u64 %d0, [p];\n"               \
	"\tmov.u32 %r0, %tid.x;\n"

static void sectors_of_global_accesses(void **state)
{
	static const struct {
		const char *body;
		unsigned uncoalesced;
		const char *says;
	} cases[] = {
		/* neighbours */
		{ "\tmad.wide.u32 %d1, %r0, 4, %d0;\n\tld.global.u32 %r1, [%d1];\n", 0, NULL },
		/* every other word */
		{ "\tmad.wide.u32 %d1, %r0, 8, %d0;\n\tld.global.u32 %r1, [%d1];\n", 1,
		  "16 sectors of 32 bytes for 2 warps, 8" },
		/* one word past a sector's begin: one sector more */
		{ "\tmad.wide.u32 %d1, %r0, 4, %d0;\n\tld.global.u32 %r1, [%d1+4];\n", 1, "10 sectors" },
		/* rows of a length that is unknown: neighbours all the same */
		{ "\tmov.u32 %r2, %ctaid.x;\n\tld.param.u32 %r3, [n];\n\tmad.lo.u32 %r4, %r2, %r3, %r0;\n"
		  "\tmad.wide.u32 %d1, %r4, 4, %d0;\n\tld.global.u32 %r1, [%d1];\n",
		  0, NULL },
		/* a column of a matrix of unknown width is unknown */
		{ "\tld.param.u32 %r3, [n];\n\tmul.lo.u32 %r4, %r0, %r3;\n\tmad.wide.u32 %d1, %r4, 4, %d0;\n"
		  "\tld.global.u32 %r1, [%d1];\n",
		  0, NULL },
		/* nor is what was loaded */
		{ "\tld.global.u32 %r4, [%d0];\n\tmad.wide.u32 %d1, %r4, 4, %d0;\n\tld.global.u32 %r1, [%d1];\n", 0,
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t block[3] = { 64, 1, 1 };
		char text[2000];
		struct seen seen;

		snprintf(text, sizeof text, "%s%s\tret;\n}\n", HEAD, cases[i].body);
		seen = findings_of(text, NULL, block);
		if (seen.uncoalesced != cases[i].uncoalesced || (cases[i].says && !strstr(seen.last, cases[i].says)))
			fail_msg("case %zu: %u findings, the last: %s", i, seen.uncoalesced, seen.last);
	}
}

/* Without a block's size nothing is predicted. */
static void nothing_is_guessed(void **state)
{
	char *padded = corpus("transpose"), *flat = replaced(padded, ", 132,", ", 128,");
	struct seen seen = findings_of(flat, NULL, NULL);

	(void)state;
	assert_int_equal(seen.conflicts, 0);
	assert_int_equal(seen.uncoalesced, 0);
	free(padded);
	free(flat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_of_brute_force),
		cmocka_unit_test(counts_that_are_known),
		cmocka_unit_test(counts_are_those_of_the_device),
		cmocka_unit_test(swizzles_are_predicted_as_they_are),
		cmocka_unit_test(predictions_are_what_the_emulator_counts),
		cmocka_unit_test(padding_removes_the_conflicts_of_transpose),
		cmocka_unit_test(good_kernels_raise_no_alarm),
		cmocka_unit_test(sectors_of_global_accesses),
		cmocka_unit_test(nothing_is_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
