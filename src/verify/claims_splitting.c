/* SPDX-License-Identifier: MIT
 *
 * Items 51 to 65, loop splitting: what the pass loop_split does to small
 * kernels, by the emulator and by loops in C.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"
#include "verify/claim.h"
#include "verify/measure_split.h"
#include "verify/specimen.h"

/* --- loops in numbers: items 53, 54, 60, 61 --- */

static const char *const questions[] = { "lt", "le", "gt", "ge", "eq", "ne" };
static const char *const agains[] = { "lt", "le", "gt", "ge", "ne" };
enum { QUESTIONS = 6, AGAINS = 5, SIDES = 2, SIGNS = 2, FORMS = QUESTIONS * AGAINS * SIDES * SIGNS };

/* Loop K of FORMS: all questions, ways to go on, signs and sides. */
static struct tcb_split_loop form(unsigned k, unsigned bits)
{
	return (struct tcb_split_loop){
		.question = questions[k % QUESTIONS],
		.again = agains[k / QUESTIONS % AGAINS],
		.type = k / (QUESTIONS * AGAINS) % SIGNS ? 's' : 'u',
		.is_swapped = (int)(k / (QUESTIONS * AGAINS * SIGNS)),
		.has_branches = (int)(k % 2),
		.bits = bits,
	};
}

/* Steps of LEAST to MOST in both directions, and loops of up to 20 rounds or so around an end of the numbers, or near
 * zero.  Some limits are the begin or the bound, which makes one part empty. */
static void fill_cases(struct tcb_rng *rng, unsigned least, unsigned most, int is_near_zero,
		       struct tcb_split_case cases[TCB_SPLIT_CASES])
{
	static const uint64_t ends[] = { 0, 0x7fff, 0x7fffffff, 0xffffffff };
	for (unsigned t = 0; t < TCB_SPLIT_CASES; t++) {
		const uint64_t centre = is_near_zero ? 0 : ends[t % 4],
			       step = least + tcb_rng_below(rng, most - least + 1);
		const uint64_t span = 20 * step;
		const uint64_t low = is_near_zero ? 0 : span / 2;
		const int is_down = (int)(t / 4 % 2);
		uint64_t begin = centre - low + tcb_rng_below(rng, span);
		uint64_t bound = centre - low + tcb_rng_below(rng, span);
		if (is_down != (int)((int64_t)(bound - begin) < 0)) {
			const uint64_t other = begin;
			begin = bound;
			bound = other;
		}
		cases[t] = (struct tcb_split_case){ begin, bound, is_down ? 0 - step : step,
						    centre - low + tcb_rng_below(rng, span) };
		if (t % 16 == 5)
			cases[t].limit = begin;
		if (t % 16 == 6)
			cases[t].limit = bound;
	}
}

struct trial {
	unsigned least, most; /* step */
	int is_near_zero;
	enum tcb_split_against against;
	enum tcb_split_defect defect; /* that is planted */
	const char *of, *planted;
};

static void try_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, const struct trial *trial, unsigned bits,
		      struct tcb_split_sum *sum, struct tcb_finding *out, int *is_run)
{
	struct tcb_split_case cases[TCB_SPLIT_CASES];
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed + bits);
	for (unsigned k = 0; *is_run && k < FORMS; k++) {
		const struct tcb_split_loop loop = form(k, bits);
		if (trial->is_near_zero && loop.type == 's')
			continue;
		fill_cases(&rng, trial->least, trial->most, trial->is_near_zero, cases);
		*is_run = tcb_split_measure(&loop, cases, trial->against,
					    plant == TCB_PLANT_DEFECT ? trial->defect : TCB_SPLIT_SOUND, sum, out);
	}
}

static void find_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, const struct trial *trial,
		       struct tcb_finding *out)
{
	static const unsigned all_bits[] = { 32, 16, 64 };
	struct tcb_split_sum sum = { 0 };
	int is_run = 1;
	for (unsigned i = 0; i < (trial->is_near_zero ? 3 : 1); i++)
		try_loops(lab, plant, trial, all_bits[i], &sum, out, &is_run);
	if (is_run)
		tcb_found(out, sum.wrong == 0 && sum.unsplit == 0,
			  "%u of %u loops have other %s (emulator), in %u kernels, of which %u were not split%s",
			  sum.wrong, sum.loops, trial->of, sum.kernels, sum.unsplit,
			  plant == TCB_PLANT_DEFECT ? trial->planted : "");
}

static void split_point(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	find_loops(lab, plant,
		   &(struct trial){ 1, 1, 0, TCB_SPLIT_AGAINST_C, TCB_SPLIT_LIMIT_OFF_BY_ONE,
				    "counters or answers than the loop in C", "; the limit was one too large" },
		   out);
}

static void same_results(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	find_loops(lab, plant,
		   &(struct trial){ 1, 9, 0, TCB_SPLIT_AGAINST_UNSPLIT, TCB_SPLIT_ANSWER_TURNED,
				    "results than before the pass", "; one loop had the other's answer" },
		   out);
}

static void large_steps(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	find_loops(lab, plant,
		   &(struct trial){ 2, 9, 0, TCB_SPLIT_AGAINST_C, TCB_SPLIT_LIMIT_OFF_BY_ONE,
				    "counters or answers than the loop in C, with steps of 2 to 9 up and down",
				    "; the limit was one too large" },
		   out);
}

static void near_zero(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	find_loops(lab, plant,
		   &(struct trial){ 1, 7, 1, TCB_SPLIT_AGAINST_C, TCB_SPLIT_LIMIT_WRAPS,
				    "results than the loop in C, unsigned and near zero, of 16, 32 and 64 bits",
				    "; the limit was taken less a step" },
		   out);
}

/* --- kernels: out[thread] from n rounds and the limit s; counter %r4, n %r2, s %r3, value %r5, address %rd1 --- */

#define PARAMETERS ".param .u64 out, .param .u32 n, .param .u32 s"
#define HEAD                                                                            \
	"mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %r1, 4;\n" \
	"add.s64 %rd1, %rd1, %rd2;\nld.param.u32 %r2, [n];\nld.param.u32 %r3, [s];\n"   \
	"mov.u32 %r4, 0;\nmov.u32 %r5, 1;\n"
#define QUESTION "setp.lt.u32 %p1, %r4, %r3;\n"
#define AGAIN "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r2;\n@%p2 bra loop;\n"
#define STORE "st.global.u32 [%rd1], %r5;\n"
/* A body of two guarded sides that touches memory. */
#define SIDES_GUARDED "@%p1 mad.lo.u32 %r5, %r5, 3, %r4;\n@!%p1 xor.b32 %r5, %r5, %r4;\n" STORE
#define LOOP HEAD "loop:\n" QUESTION SIDES_GUARDED AGAIN

static int open_kernel(struct tcb_specimen *specimen, const char *body, struct tcb_finding *out)
{
	return tcb_specimen_open(specimen, PARAMETERS, body, out);
}

/* The passes of NAMES, up to a NULL. */
static int run_passes(struct tcb_specimen *specimen, const char *const *names, struct tcb_finding *out)
{
	unsigned changed;
	for (; *names; names++)
		if (!tcb_specimen_pass(specimen, *names, &changed, out))
			return 0;
	return 1;
}

static const char *const split_and_clean[] = { "loop_split", "const_fold", "dead_code", NULL };
static const char *const clean[] = { "const_fold", "dead_code", NULL };

/* A warp of it with n ROUNDS and the limit LIMIT. */
static int run_kernel(struct tcb_specimen *specimen, unsigned rounds, unsigned limit, struct tcb_ptx_emulation *counts,
		      struct tcb_finding *out)
{
	char n[24], s[24];
	struct tcb_specimen_run run = { .arguments = { "buf:u32[32]=zero", n, s }, .grid = 1, .block = 32 };
	(void)snprintf(n, sizeof n, "u32=%u", rounds);
	(void)snprintf(s, sizeof s, "u32=%u", limit);
	if (!tcb_specimen_run(specimen, &run, out))
		return 0;
	*counts = run.counts;
	return 1;
}

/* BODY after PASSES, run. */
static int count_body(const char *body, const char *const *passes, unsigned rounds, unsigned limit,
		      struct tcb_ptx_emulation *counts, struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	if (!open_kernel(&specimen, body, out))
		return 0;
	const int is_run = run_passes(&specimen, passes, out) && run_kernel(&specimen, rounds, limit, counts, out);
	tcb_specimen_close(&specimen);
	return is_run;
}

static void divergence(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char branches[] = "loop:\n" QUESTION "@%p1 bra then;\nxor.b32 %r5, %r5, %r4;\nbra join;\nthen:\n"
				       "mad.lo.u32 %r5, %r5, 3, %r4;\njoin:\n" STORE AGAIN;
	const int is_own = plant != TCB_PLANT_TRUTH;
	struct tcb_ptx_emulation before, after;
	char body[1024];
	(void)lab;
	(void)snprintf(body, sizeof body, "%s%s%s", HEAD, is_own ? "mov.u32 %r3, %r1;\n" : "", branches);
	if (count_body(body, clean, 64, 20, &before, out) && count_body(body, split_and_clean, 64, 20, &after, out))
		tcb_found(out, after.total.divergent == 0,
			  "%llu divergent branches of a warp in 64 rounds after the pass, %llu before, where %s",
			  (unsigned long long)after.total.divergent, (unsigned long long)before.total.divergent,
			  is_own ? "each thread has a limit of its own" : "all threads have one limit");
}

/* --- 52: whether it pays --- */

/* Loop K: light bodies of some additions, bodies that touch memory, and bodies in which nothing is guarded. */
enum { LIGHT = 8, HEAVY = 4, UNGUARDED = 4 };
static void heuristic_body(unsigned k, struct tcb_str *text)
{
	const int is_heavy = k >= LIGHT, is_guarded = k < LIGHT + HEAVY;
	const unsigned length = is_heavy ? 1 + 2 * (k % 4) : 1 + 2 * k;
	tcb_str_add(text, HEAD "mov.u32 %r6, 0;\nloop:\n" QUESTION);
	for (unsigned i = 0; i < length; i++)
		tcb_str_addf(text, "mad.lo.u32 %%r6, %%r6, 5, %%r4;\n");
	tcb_str_add(text, is_guarded ? "@%p1 add.u32 %r5, %r5, %r6;\n"
				     : "selp.u32 %r7, %r6, 0, %p1;\n"
				       "add.u32 %r5, %r5, %r7;\n");
	if (is_heavy)
		tcb_str_add(text, STORE);
	tcb_str_add(text, AGAIN STORE);
}

/* The share of executed instructions that splitting saves, when it is not asked whether it pays, and whether the pass
 * splits when it is. */
static int heuristic_loop(unsigned k, double *is_split, double *saved, struct tcb_finding *out)
{
	struct tcb_ptx_pass_options forced;
	struct tcb_ptx_emulation before, after;
	struct tcb_specimen specimen;
	struct tcb_str text = { 0 };
	struct tcb_error err;
	unsigned changed = 0;
	heuristic_body(k, &text);
	int is_run = !text.failed && count_body(text.data, clean, 64, 32, &before, out) &&
		     open_kernel(&specimen, text.data, out);
	if (is_run) {
		is_run = tcb_specimen_pass(&specimen, "loop_split", &changed, out);
		tcb_specimen_close(&specimen);
		*is_split = changed > 0;
		is_run = is_run && open_kernel(&specimen, text.data, out);
	}
	tcb_str_fini(&text);
	if (!is_run)
		return 0;
	tcb_ptx_pass_defaults(&forced);
	forced.split_min_body = 0;
	if (tcb_ptx_cfg(specimen.kernel, &err) != TCB_OK ||
	    tcb_ptx_loop_split(specimen.kernel, &forced, &changed, &err) != TCB_OK) {
		tcb_found_nothing(out, "loop_split: %.200s", err.message);
		is_run = 0;
	}
	is_run = is_run && run_passes(&specimen, clean, out) && run_kernel(&specimen, 64, 32, &after, out);
	tcb_specimen_close(&specimen);
	if (is_run)
		*saved = 1 - (double)after.total.warps / (double)before.total.warps;
	return is_run;
}

static double correlation(const double *x, const double *y, unsigned count)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
	for (unsigned i = 0; i < count; i++) {
		mx += x[i] / count;
		my += y[i] / count;
	}
	for (unsigned i = 0; i < count; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void heuristic(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const unsigned first = plant == TCB_PLANT_TRUTH ? LIGHT : 0, end = LIGHT + HEAVY + UNGUARDED;
	double is_split[LIGHT + HEAVY + UNGUARDED], saved[LIGHT + HEAVY + UNGUARDED];
	(void)lab;
	for (unsigned k = first; k < end; k++)
		if (!heuristic_loop(k, &is_split[k], &saved[k], out))
			return;
	const double r = correlation(is_split + first, saved + first, end - first);
	tcb_found(out, r > 0.8,
		  "correlation %.2f of the pass' yes or no with the share of executed instructions that splitting "
		  "saves, over %u loops%s",
		  r, end - first, first ? " that touch memory" : ", half of them with light bodies");
}

/* --- 55, 56, 64: what becomes of which loops --- */

static void left_alone(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const bodies[] = {
		/* the answer depends on data */
		HEAD "loop:\nld.global.u32 %r6, [%rd1];\nsetp.lt.u32 %p1, %r6, %r3;\n" SIDES_GUARDED AGAIN,
		/* the limit changes */
		HEAD "loop:\nadd.u32 %r3, %r3, 1;\n" QUESTION SIDES_GUARDED AGAIN,
		/* the counter is written twice */
		HEAD "loop:\n" QUESTION "@%p1 add.u32 %r4, %r4, 1;\n" STORE AGAIN,
		/* the counter is asked after its step */
		HEAD "loop:\nadd.u32 %r4, %r4, 1;\n" QUESTION SIDES_GUARDED
		     "setp.lt.u32 %p2, %r4, %r2;\n@%p2 bra loop;\n",
		/* the counter is multiplied */
		HEAD "mov.u32 %r4, 1;\nloop:\n" QUESTION SIDES_GUARDED
		     "mul.lo.u32 %r4, %r4, 2;\nsetp.lt.u32 %p2, %r4, %r2;\n@%p2 bra loop;\n",
		/* a barrier, and threads that disagree */
		HEAD "mov.u32 %r3, %r1;\nloop:\nbar.sync 0;\n" QUESTION SIDES_GUARDED AGAIN,
		/* a loop that can be split */
		LOOP,
	};
	const unsigned count = sizeof bodies / sizeof *bodies - (plant != TCB_PLANT_DEFECT);
	unsigned changed_bodies = 0;
	(void)lab;
	for (unsigned i = 0; i < count; i++) {
		struct tcb_specimen specimen;
		unsigned changed = 0;
		if (!open_kernel(&specimen, bodies[i], out))
			return;
		const int is_run = tcb_specimen_pass(&specimen, "loop_split", &changed, out);
		tcb_specimen_close(&specimen);
		if (!is_run)
			return;
		changed_bodies += changed > 0;
	}
	tcb_found(out, changed_bodies == 0, "%u of %u kinds of loops that must not be split were changed%s",
		  changed_bodies, count, plant == TCB_PLANT_DEFECT ? "; one of them can be split" : "");
}

/* A nest: the inner loop and the outer one ask each about its counter. */
static void nests(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char inner[] = "mov.u32 %r6, 0;\ninner:\nsetp.gt.u32 %p3, %r6, %r3;\n"
				    "mad.lo.u32 %r5, %r5, 3, %r6;\n@%p1 add.u32 %r5, %r5, 11;\n"
				    "@%p3 xor.b32 %r5, %r5, %r4;\n" STORE "add.u32 %r6, %r6, 2;\n"
				    "setp.lt.u32 %p4, %r6, 11;\n@%p4 bra inner;\n";
	const char *question = plant == TCB_PLANT_DEFECT ? "setp.lt.u32 %p1, %r5, %r3;\n" : QUESTION;
	struct tcb_specimen specimen;
	struct tcb_ptx_emulation counts;
	uint32_t want[32];
	unsigned changed, wrong = 0, answers = 0;
	char body[1024];
	(void)lab;
	(void)snprintf(body, sizeof body, "%sloop:\n%s%s%s", HEAD, question, inner, AGAIN);
	if (!open_kernel(&specimen, body, out))
		return;
	int is_run = run_kernel(&specimen, 9, 4, &counts, out);
	if (is_run) {
		memcpy(want, tcb_specimen_buffer(&specimen, 0), sizeof want);
		is_run = tcb_specimen_pass(&specimen, "loop_split", &changed, out);
		answers = is_run ? tcb_split_answers(&specimen) : 0;
		is_run = is_run && run_kernel(&specimen, 9, 4, &counts, out);
	}
	for (unsigned t = 0; is_run && t < 32; t++)
		wrong += want[t] != ((const uint32_t *)(const void *)tcb_specimen_buffer(&specimen, 0))[t];
	tcb_specimen_close(&specimen);
	if (is_run)
		tcb_found(out, answers == 6 && wrong == 0,
			  "%u answers are constants (both levels split: 2 of the outer question, 4 of the inner one); "
			  "%u of 32 results differ%s",
			  answers, wrong, plant == TCB_PLANT_DEFECT ? "; the outer question is about data" : "");
}

/* All forms of loops as text, split once and again. */
static void idempotent(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned changed_loops = 0;
	(void)lab;
	for (unsigned k = 0; k < QUESTIONS * AGAINS; k++) {
		struct tcb_specimen specimen;
		unsigned changed = 0;
		char body[1024];
		(void)snprintf(body, sizeof body,
			       "%sloop:\nsetp.%s.u32 %%p1, %%r4, %%r3;\n%sadd.u32 %%r4, %%r4, 1;\n"
			       "setp.%s.u32 %%p2, %%r4, %%r2;\n@%%p2 bra loop;\n",
			       HEAD, questions[k % QUESTIONS], SIDES_GUARDED, agains[k / QUESTIONS]);
		if (!open_kernel(&specimen, body, out))
			return;
		/* The planted defect: what the first run changes counts as the second's. */
		const int is_run =
			(plant == TCB_PLANT_DEFECT || tcb_specimen_pass(&specimen, "loop_split", &changed, out)) &&
			tcb_specimen_pass(&specimen, "loop_split", &changed, out);
		tcb_specimen_close(&specimen);
		if (!is_run)
			return;
		changed_loops += changed > 0;
	}
	tcb_found(out, changed_loops == 0, "%u of %d kernels changed by %s run of the pass", changed_loops,
		  QUESTIONS * AGAINS, plant == TCB_PLANT_DEFECT ? "the first" : "the second");
}

/* --- 57 to 59, 65: what splitting costs --- */

/* Registers of BODY after PASSES; 0, and OUT, where the assembler does not tell. */
static unsigned registers_of(struct tcb_claim_lab *lab, const char *body, const char *const *passes,
			     struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_assembly assembly;
	struct tcb_str text = { 0 };
	unsigned registers = 0;
	if (lab->assembler.kind == TCB_ASSEMBLER_NONE) {
		tcb_found_nothing(out, "%s", lab->no_assembler);
		return 0;
	}
	if (!open_kernel(&specimen, body, out))
		return 0;
	if (run_passes(&specimen, passes, out)) {
		tcb_ptx_print(specimen.module, &text);
		tcb_assemble(&lab->assembler, text.failed ? "" : text.data, text.length, &specimen.module->target, 30,
			     &assembly);
		registers = assembly.status == TCB_OK ? assembly.resources.registers : 0;
		tcb_assembly_fini(&assembly);
		if (!registers)
			tcb_found_nothing(out, "the assembler does not tell what the kernel takes");
	}
	tcb_str_fini(&text);
	tcb_specimen_close(&specimen);
	return registers;
}

static void register_cost(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_str more = { 0 };
	tcb_str_add(&more, HEAD);
	for (unsigned i = 10; i < 34; i++)
		tcb_str_addf(&more, "ld.global.u32 %%r%u, [%%rd1+%u];\n", i, 4 * i);
	tcb_str_add(&more, "loop:\n" QUESTION SIDES_GUARDED AGAIN);
	for (unsigned i = 10; i < 34; i++)
		tcb_str_addf(&more, "add.u32 %%r5, %%r5, %%r%u;\nst.global.u32 [%%rd1], %%r5;\n", i);
	const char *body = plant == TCB_PLANT_DEFECT && !more.failed ? more.data : LOOP;
	const unsigned before = registers_of(lab, LOOP, clean, out);
	const unsigned after =
		before ? registers_of(lab, body, plant == TCB_PLANT_TRUTH ? clean : split_and_clean, out) : 0;
	tcb_str_fini(&more);
	if (after)
		tcb_found(out, after <= before, "%u registers per thread after the pass, %u before%s", after, before,
			  plant == TCB_PLANT_DEFECT  ? " (24 values more are kept across the loop)"
			  : plant == TCB_PLANT_TRUTH ? " (the pass was left out)"
						     : "");
}

/* Instructions of BODY after PASSES that begin with PREFIX; -1: not run. */
static int count_after(const char *body, const char *const *passes, const char *prefix, struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	int count = -1;
	if (!open_kernel(&specimen, body, out))
		return -1;
	if (run_passes(&specimen, passes, out))
		count = (int)tcb_specimen_count(&specimen, prefix);
	tcb_specimen_close(&specimen);
	return count;
}

static void code_cost(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const none[] = { NULL };
	static const char unused[] = HEAD "mov.u32 %r9, 7;\nadd.u32 %r9, %r9, %r4;\nloop:\n" SIDES_GUARDED AGAIN;
	const int is_true = plant == TCB_PLANT_TRUTH;
	(void)lab;
	const int before = count_after(is_true ? unused : LOOP, is_true ? none : clean, "", out);
	const int after =
		before < 0 ? -1 : count_after(is_true ? unused : LOOP, is_true ? clean : split_and_clean, "", out);
	if (after >= 0)
		tcb_found(out, after < before, "%d instructions after %s, %d before", after,
			  is_true ? "unused ones were taken out" : "the loop was split", before);
}

/* Begin 0, bound 64: a limit of 0 leaves the first part empty, one of 64 the last. */
static void empty_parts(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const split[] = { "const_fold", "loop_split", "const_fold", "dead_code", NULL };
	static const char *const unsplit[] = { "const_fold", "dead_code", NULL };
	static const unsigned limits[] = { 0, 64 };
	int loops = 0;
	(void)lab;
	for (int i = 0; i < 2; i++) {
		char body[1024];
		(void)snprintf(body, sizeof body, "%smov.u32 %%r2, 64;\nmov.u32 %%r3, %u;\nloop:\n%s", HEAD, limits[i],
			       QUESTION SIDES_GUARDED AGAIN);
		const int found = count_after(body, plant == TCB_PLANT_TRUTH ? unsplit : split, "bra", out);
		if (found < 0)
			return;
		loops += found;
	}
	tcb_found(out, loops == 2, "%d branches left of two loops with an empty part%s", loops,
		  plant == TCB_PLANT_TRUTH ? " (which were not split)" : "");
}

static void amortised(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const unsigned rounds = plant == TCB_PLANT_DEFECT ? 2 : 1001;
	struct tcb_ptx_emulation before, after;
	(void)lab;
	if (!count_body(LOOP, clean, rounds, rounds / 2, &before, out) ||
	    !count_body(LOOP, split_and_clean, rounds, rounds / 2, &after, out))
		return;
	const double percent = 100 * ((double)after.total.warps / (double)before.total.warps - 1);
	tcb_found(out, percent < 1, "%+.1f %% instructions executed by a warp in %u rounds", percent, rounds);
}

const struct tcb_claim tcb_claims_splitting[] = {
	{ "I051", "splitting loops ends the divergence of their branches", "no divergent branch", "A", TCB_CLAIM_SOURCE,
	  divergence },
	{ "I052", "what is split is what gains by it (restated: executed instructions in the emulator, not time)",
	  "correlation > 0.8", "A", TCB_CLAIM_SOURCE, heuristic },
	{ "I053", "loops are split at the right round", "all counters and answers as of the loop in C", "A",
	  TCB_CLAIM_OURS, split_point },
	{ "I054", "split loops compute what they did before", "all results identical", "A", TCB_CLAIM_OURS,
	  same_results },
	{ "I055", "loops that cannot be split are left as they are", "none changed", "A", TCB_CLAIM_OURS, left_alone },
	{ "I056", "nested loops are split at both levels", "six constant answers, same results", "A", TCB_CLAIM_OURS,
	  nests },
	{ "I057", "split loops need no more registers (restated: than the whole loop)", "<= before", "B",
	  TCB_CLAIM_SOURCE, register_cost },
	{ "I058", "splitting relieves the instruction cache (restated: by the size of code)", "fewer instructions", "A",
	  TCB_CLAIM_SOURCE, code_cost },
	{ "I059", "empty parts of a split loop are removed", "one loop left of each", "A", TCB_CLAIM_SOURCE,
	  empty_parts },
	{ "I060", "loops with steps larger than one are split right", "all counters and answers as of the loop in C",
	  "A", TCB_CLAIM_OURS, large_steps },
	{ "I061", "splitting near zero does not wrap unsigned numbers", "all results as of the loop in C", "A",
	  TCB_CLAIM_OURS, near_zero },
	{ "I062", "split loops can be fused again", "-", "A", TCB_CLAIM_SOURCE, NULL,
	  "not applicable: there is no pass that fuses loops" },
	{ "I063", "split loops are unrolled independently", "-", "A", TCB_CLAIM_SOURCE, NULL,
	  "not applicable: loop_unroll unrolls loops of a known number of rounds as a whole, so there is no factor to "
	  "choose" },
	{ "I064", "the pass changes nothing when it runs again", "no kernel", "A", TCB_CLAIM_OURS, idempotent },
	{ "I065", "splitting costs little in long loops", "< 1 % more instructions executed in 1,001 rounds", "A",
	  TCB_CLAIM_SOURCE, amortised },
	{ 0 },
};
