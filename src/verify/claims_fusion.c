/* SPDX-License-Identifier: MIT
 *
 * Items 16 to 30, fused multiply-adds: what the pass fma_fusion does to small
 * kernels, whose results in the emulator are held against fmaf().
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "verify/claim.h"
#include "verify/measure_fma.h"
#include "verify/specimen.h"

/* out[i] = one of four sums of a[i], b[i], c[i]; %f1, %f2, %f3 hold them, %f9 is stored. */
#define ABC ".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out"
#define ADDRESSES                                                                           \
	"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"             \
	"mad.lo.u32 %r1, %r2, %r3, %r1;\nmul.wide.u32 %rd9, %r1, 4;\n"                      \
	"ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"       \
	"ld.param.u64 %rd4, [out];\nadd.s64 %rd1, %rd1, %rd9;\nadd.s64 %rd2, %rd2, %rd9;\n" \
	"add.s64 %rd3, %rd3, %rd9;\nadd.s64 %rd4, %rd4, %rd9;\n"
#define LOADS "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\nld.global.f32 %f3, [%rd3];\n"
#define STORE "st.global.f32 [%rd4], %f9;\n"

enum { VALUES = 11, TRIPLES = VALUES * VALUES * VALUES, BLOCK = 121 };
_Static_assert(TRIPLES % BLOCK == 0, "whole blocks");

/* Every triple of numbers that rounding and IEEE 754 treat differently. */
struct triples {
	float a[TRIPLES], b[TRIPLES], c[TRIPLES];
};

static void fill_triples(struct triples *out)
{
	static const float values[VALUES] = {
		0, -0.0f, 1, -1.5f, 0x1.000002p0f, 0x1.fffffep127f, 0x1p-126f, 0x1p-149f, INFINITY, -INFINITY, NAN
	};
	for (int i = 0; i < TRIPLES; i++) {
		out->a[i] = values[i / (VALUES * VALUES)];
		out->b[i] = values[i / VALUES % VALUES];
		out->c[i] = values[i % VALUES];
	}
}

/* BODY after the pass, on all triples: its results into GOT; CHANGED: what the pass changed. */
static int run_fused(const char *body, const struct triples *triples, float got[TRIPLES], unsigned *changed,
		     struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_specimen_run run = {
		.arguments = { "buf:f32[1331]=zero", "buf:f32[1331]=zero", "buf:f32[1331]=zero", "buf:f32[1331]=zero" },
		.data = { triples->a, triples->b, triples->c },
		.grid = TRIPLES / BLOCK,
		.block = BLOCK,
	};
	char text[2048];
	_Static_assert(TRIPLES == 1331, "as the arguments say");
	(void)snprintf(text, sizeof text, "%s%s%s%s", ADDRESSES, LOADS, body, STORE);
	if (!tcb_specimen_open(&specimen, ABC, text, out))
		return 0;
	const int is_run =
		tcb_specimen_pass(&specimen, "fma_fusion", changed, out) && tcb_specimen_run(&specimen, &run, out);
	if (is_run)
		memcpy(got, tcb_specimen_buffer(&specimen, 3), TRIPLES * sizeof *got);
	tcb_specimen_close(&specimen);
	return is_run;
}

static int same(float x, float y)
{
	return (isnan(x) && isnan(y)) || !memcmp(&x, &y, sizeof x);
}

static int is_any(float x)
{
	(void)x;
	return 1;
}

static int is_nan(float x)
{
	return isnan(x);
}

static int is_infinite(float x)
{
	return isinf(x);
}

/* Of the triples in which an operand or the result IS_WANTED, how many BODY computes otherwise than a*b + sign*c. */
static void hold(const char *body, float sign, int (*is_wanted)(float), const char *what, struct tcb_finding *out)
{
	static struct triples triples;
	static float got[TRIPLES];
	unsigned changed = 0, wrong = 0, asked = 0;
	fill_triples(&triples);
	if (!run_fused(body, &triples, got, &changed, out))
		return;
	for (int i = 0; i < TRIPLES; i++) {
		const float a = triples.a[i], b = triples.b[i], c = triples.c[i], want = fmaf(a, b, sign * c);
		if (!is_wanted(a) && !is_wanted(b) && !is_wanted(c) && !is_wanted(want))
			continue;
		asked++;
		wrong += !same(got[i], want);
	}
	tcb_found(out, wrong == 0 && changed > 0,
		  "%u of %u results of %s differ from IEEE's, after %u fusions (emulator)", wrong, asked, what,
		  changed);
}

static const char plus[] = "mul.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f4, %f3;\n";

static void nan_kept(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (plant == TCB_PLANT_DEFECT)
		hold("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nmax.f32 %f9, %f5, 0fFF800000;\n", 1, is_nan,
		     "a*b + c with NaN, behind a max that drops it,", out);
	else
		hold(plus, 1, is_nan, "a*b + c with NaN", out);
}

static void infinity_kept(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (plant == TCB_PLANT_DEFECT)
		hold("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nmin.f32 %f9, %f5, 0f7F7FFFFF;\n", 1, is_infinite,
		     "a*b + c with infinities, behind a min that drops them,", out);
	else
		hold(plus, 1, is_infinite, "a*b + c with infinities", out);
}

static void subtracted(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (plant == TCB_PLANT_DEFECT)
		hold("mul.f32 %f4, %f1, %f2;\nsub.f32 %f9, %f3, %f4;\n", -1, is_any, "c - a*b, taken for a*b - c,",
		     out);
	else
		hold("mul.f32 %f4, %f1, %f2;\nsub.f32 %f9, %f4, %f3;\n", -1, is_any, "a*b - c", out);
}

/* --- what is fused, and what is not --- */

struct counts {
	unsigned mul, add, fma;
};

/* BODY before and after the pass. */
static int fuse(const char *body, struct counts *before, struct counts *after, struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct counts *const counts[] = { before, after };
	unsigned changed;
	int is_done = tcb_specimen_open(&specimen, ABC, body, out);
	for (int i = 0; is_done && i < 2; i++) {
		*counts[i] = (struct counts){
			tcb_specimen_count(&specimen, "mul.f32") + tcb_specimen_count(&specimen, "mul.r"),
			tcb_specimen_count(&specimen, "add.f32") + tcb_specimen_count(&specimen, "add.r"),
			tcb_specimen_count(&specimen, "fma.")
		};
		if (i == 0)
			is_done = tcb_specimen_pass(&specimen, "fma_fusion", &changed, out) &&
				  tcb_specimen_pass(&specimen, "dead_code", &changed, out);
	}
	tcb_specimen_close(&specimen);
	return is_done;
}

/* A step of a dot product is two loads, two addresses, a product and a sum; of a scaled sum a load, a product, a sum.
 */
static void third_fewer(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char dot[] = "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\nadd.s64 %rd1, %rd1, 128;\n"
				  "add.s64 %rd2, %rd2, 128;\n";
	static const char scaled[] = "ld.global.f32 %f1, [%rd1];\n";
	const int is_dot = plant != TCB_PLANT_TRUTH;
	const unsigned step = is_dot ? 6 : 3;
	struct counts before, after;
	char text[2048];
	(void)lab;
	(void)snprintf(text, sizeof text, "%s%s%smul%s.f32 %%f4, %%f1, %%f2;\nadd.f32 %%f9, %%f3, %%f4;\n%s", ADDRESSES,
		       LOADS, is_dot ? dot : scaled, plant == TCB_PLANT_DEFECT ? ".rn" : "", STORE);
	if (!fuse(text, &before, &after, out))
		return;
	const unsigned gone = before.mul + before.add - after.mul - after.add - after.fma;
	const double percent = 100.0 * gone / step;
	tcb_found(out, percent >= 30 && percent <= 40, "%.0f %% fewer: %u of the %u instructions of a step of a %s",
		  percent, gone, step,
		  is_dot ? "dot product, its loads and addresses included" : "sum that loads one operand");
}

static void used_twice(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const char *second = plant == TCB_PLANT_DEFECT ? "" : "st.global.f32 [%rd2], %f4;\n";
	struct counts before, after;
	char text[2048];
	(void)lab;
	(void)snprintf(text, sizeof text, "%s%s%s%s%s", ADDRESSES, LOADS, plus, second, STORE);
	if (fuse(text, &before, &after, out))
		tcb_found(out, after.mul == before.mul && after.fma == 0,
			  "%u of %u products left, %u fused, where the product is used %s", after.mul, before.mul,
			  after.fma, plant == TCB_PLANT_DEFECT ? "once" : "twice");
}

static void roundings_kept(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const roundings[] = { ".rn", ".rz", ".rm", ".rp" };
	unsigned fused = 0, asked = 0;
	(void)lab;
	for (unsigned i = 0; i < 3 * sizeof roundings / sizeof *roundings; i++) {
		const char *rounding = plant == TCB_PLANT_DEFECT ? "" : roundings[i / 3];
		struct counts before, after;
		char text[2048];
		(void)snprintf(text, sizeof text, "%s%smul%s.f32 %%f4, %%f1, %%f2;\nadd%s.f32 %%f9, %%f4, %%f3;\n%s",
			       ADDRESSES, LOADS, i % 3 != 1 ? rounding : "", i % 3 != 0 ? rounding : "", STORE);
		if (!fuse(text, &before, &after, out))
			return;
		fused += after.fma;
		asked++;
	}
	tcb_found(out, fused == 0, "%u of %u pairs fused whose mul, add or both carry %s", fused, asked,
		  plant == TCB_PLANT_DEFECT ? "no rounding" : ".rn, .rz, .rm or .rp");
}

static void found_in_ptx(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct counts before, after;
	struct tcb_str text = { 0 };
	(void)lab;
	tcb_str_addf(&text, "%s%smov.f32 %%f9, %%f3;\n", ADDRESSES, LOADS);
	for (unsigned i = 0; i < 8; i++)
		tcb_str_addf(&text, "mul%s.f32 %%f%u, %%f1, %%f2;\nadd.f32 %%f9, %%f9, %%f%u;\n",
			     plant == TCB_PLANT_DEFECT ? ".rn" : "", 10 + i, 10 + i);
	tcb_str_add(&text, STORE);
	if (text.failed)
		tcb_found_nothing(out, "out of memory");
	else if (fuse(text.data, &before, &after, out))
		tcb_found(out, after.fma == before.add && after.mul == 0,
			  "%u fma in the PTX, of %u products with a sum%s", after.fma, before.add,
			  plant == TCB_PLANT_DEFECT ? " (they carry .rn)" : "");
	tcb_str_fini(&text);
}

static void nested(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct counts before, after;
	char text[2048];
	(void)lab;
	(void)snprintf(text, sizeof text,
		       "%s%smul%s.f32 %%f4, %%f1, %%f2;\nadd.f32 %%f5, %%f4, %%f3;\nmul.f32 %%f6, %%f5, %%f1;\n"
		       "add.f32 %%f9, %%f6, %%f2;\n%s",
		       ADDRESSES, LOADS, plant == TCB_PLANT_DEFECT ? ".rn" : "", STORE);
	if (fuse(text, &before, &after, out))
		tcb_found(out, after.fma == 2 && after.mul + after.add == 0,
			  "(a*b + c)*d + e became %u fma, %u mul, %u add%s", after.fma, after.mul, after.add,
			  plant == TCB_PLANT_DEFECT ? " (the first mul carries .rn)" : "");
}

/* The kernel's text, 0 without memory. */
static int take_text(const struct tcb_specimen *specimen, struct tcb_str *out)
{
	out->length = 0;
	tcb_specimen_text(specimen, out);
	return !out->failed;
}

static void idempotent(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_str once = { 0 }, twice = { 0 };
	unsigned changed = 0;
	char text[2048];
	(void)lab;
	(void)snprintf(text, sizeof text, "%s%s%sfma.rn.f32 %%f9, %%f9, %%f1, %%f2;\n%s", ADDRESSES, LOADS, plus,
		       STORE);
	if (!tcb_specimen_open(&specimen, ABC, text, out))
		return;
	/* The planted defect: what the first run changes counts as the second's. */
	int is_run = plant == TCB_PLANT_DEFECT || tcb_specimen_pass(&specimen, "fma_fusion", &changed, out);
	is_run = is_run && take_text(&specimen, &once) && tcb_specimen_pass(&specimen, "fma_fusion", &changed, out) &&
		 take_text(&specimen, &twice);
	if (is_run)
		tcb_found(out,
			  changed == 0 && once.length == twice.length && !memcmp(once.data, twice.data, once.length),
			  "%u instructions changed by %s run of the pass", changed,
			  plant == TCB_PLANT_DEFECT ? "the first" : "the second");
	tcb_str_fini(&once);
	tcb_str_fini(&twice);
	tcb_specimen_close(&specimen);
}

/* --- accuracy and time --- */

enum { DOTS = 1024, DOT_LENGTH = 64 };

/* The sum of the errors of DOTS dot products of random numbers in the emulator; -1: not run. */
static double dot_errors(const float *x, const float *y, int is_fused, struct tcb_finding *out)
{
	static const char body[] =
		"mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r1, %r2, %r3, %r1;\n"
		"ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd4, [out];\n"
		"mul.wide.u32 %rd9, %r1, 4;\nadd.s64 %rd4, %rd4, %rd9;\nmul.wide.u32 %rd9, %r1, 256;\n"
		"add.s64 %rd1, %rd1, %rd9;\nadd.s64 %rd2, %rd2, %rd9;\nmov.f32 %f9, 0f00000000;\nmov.u32 %r5, 0;\n"
		"L:\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\nadd.s64 %rd1, %rd1, 4;\n"
		"add.s64 %rd2, %rd2, 4;\nmul.f32 %f4, %f1, %f2;\nadd.f32 %f9, %f9, %f4;\nadd.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %p1, %r5, 64;\n@%p1 bra L;\nst.global.f32 [%rd4], %f9;\n";
	struct tcb_specimen specimen;
	struct tcb_specimen_run run = { .arguments = { "buf:f32[65536]=zero", "buf:f32[65536]=zero",
						       "buf:f32[1024]=zero" },
					.data = { x, y },
					.grid = 8,
					.block = 128 };
	double errors = 0;
	unsigned changed;
	if (!tcb_specimen_open(&specimen, ".param .u64 a, .param .u64 b, .param .u64 out", body, out))
		return -1;
	if ((is_fused && !tcb_specimen_pass(&specimen, "fma_fusion", &changed, out)) ||
	    !tcb_specimen_run(&specimen, &run, out)) {
		tcb_specimen_close(&specimen);
		return -1;
	}
	const float *got = (const void *)tcb_specimen_buffer(&specimen, 2);
	for (int i = 0; i < DOTS; i++) {
		double want = 0;
		for (int k = 0; k < DOT_LENGTH; k++)
			want += (double)x[i * DOT_LENGTH + k] * (double)y[i * DOT_LENGTH + k];
		errors += fabs((double)got[i] - want);
	}
	tcb_specimen_close(&specimen);
	return errors;
}

static void more_accurate(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static float x[DOTS * DOT_LENGTH], y[DOTS * DOT_LENGTH];
	struct tcb_rng rng;
	_Static_assert(DOTS * DOT_LENGTH == 65536, "as the arguments say");
	tcb_rng_init(&rng, lab->seed);
	for (int i = 0; i < DOTS * DOT_LENGTH; i++) {
		x[i] = tcb_rng_normal(&rng);
		y[i] = tcb_rng_normal(&rng);
	}
	const double plain = dot_errors(x, y, 0, out);
	const double fused = plain < 0 ? -1 : dot_errors(x, y, plant != TCB_PLANT_DEFECT, out);
	if (fused >= 0)
		tcb_found(out, fused < plain,
			  "mean error %.3g fused, %.3g not, of %d dot products of %d random numbers (emulator)%s",
			  fused / DOTS, plain / DOTS, DOTS, DOT_LENGTH,
			  plant == TCB_PLANT_DEFECT ? "; the pass was left out" : "");
}

/* Seconds of the pass over a kernel of COUNT products and sums; the planted defect goes over it COUNT / 500 times. */
static double pass_seconds(unsigned count, int is_planted, struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_str text = { 0 };
	unsigned changed;
	double least = -1;
	tcb_str_addf(&text, ".reg .f32 %%x<%u>;\n%s%smov.f32 %%x0, %%f3;\n", 2 * count + 2, ADDRESSES, LOADS);
	for (unsigned i = 1; i <= count; i++)
		tcb_str_addf(&text, "mul.f32 %%x%u, %%f1, %%f2;\nadd.f32 %%x%u, %%x%u, %%x%u;\n", 2 * i - 1, 2 * i,
			     2 * i - 2, 2 * i - 1);
	tcb_str_addf(&text, "mov.f32 %%f9, %%x%u;\n%s", 2 * count, STORE);
	for (int repeat = 0; repeat < 3 && !text.failed; repeat++) {
		if (!tcb_specimen_open(&specimen, ABC, text.data, out))
			break;
		int is_run = 1;
		const uint64_t start = tcb_clock_ns();
		for (unsigned i = 0; is_run && i < (is_planted ? count / 500 : 1); i++)
			is_run = tcb_specimen_pass(&specimen, "fma_fusion", &changed, out);
		const double seconds = 1e-9 * (double)(tcb_clock_ns() - start);
		tcb_specimen_close(&specimen);
		if (!is_run)
			break;
		least = least < 0 || seconds < least ? seconds : least;
	}
	tcb_str_fini(&text);
	return least;
}

static void linear(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { SMALL = 2500, LARGE = 25000 };
	const int is_planted = plant == TCB_PLANT_DEFECT;
	(void)lab;
	const double small = pass_seconds(SMALL, is_planted, out);
	const double large = small < 0 ? -1 : pass_seconds(LARGE, is_planted, out);
	if (large < 0)
		return;
	const double growth = large / small;
	tcb_found(out, growth < 30,
		  "%.3g ms for %d instructions, %.3g ms for %d: %.1f times as long for 10 times as many%s", 1e3 * small,
		  2 * SMALL, 1e3 * large, 2 * LARGE, growth,
		  is_planted ? " (the pass is repeated in proportion to them)" : "");
}

const struct tcb_claim tcb_claims_fusion[] = {
	{ "I016", "fusing multiplications with additions saves a third of the instructions",
	  "30 to 40 % fewer in a dot product", "A", TCB_CLAIM_SOURCE, third_fewer },
	{ "I017", "fused sums are more accurate", "mean error below that of unfused sums", "A", TCB_CLAIM_SOURCE,
	  more_accurate },
	{ "I018", "a product that is used more than once is not fused", "none fused", "A", TCB_CLAIM_OURS, used_twice },
	{ "I019", "what carries a rounding modifier is not fused", "none fused", "A", TCB_CLAIM_OURS, roundings_kept },
	{ "I020", "fusion makes a dot product on AVX2 faster", ">= 1.10 x (undecided where the interval has it)", "A",
	  TCB_CLAIM_SOURCE, tcb_claim_fma_faster },
	{ "I021", "fusion makes a dot product on NEON faster", ">= 1.10 x", "A", TCB_CLAIM_SOURCE, NULL,
	  "speed needs an Arm processor; on one under emulation only results mean something (scripts/test.sh neon)" },
	{ "I022", "products with a sum become fma in PTX", "all of them", "A", TCB_CLAIM_OURS, found_in_ptx },
	{ "I023", "the latency of fma asks for several accumulators",
	  "4 accumulators faster than 1 (undecided where the interval has 1)", "A", TCB_CLAIM_SOURCE,
	  tcb_claim_fma_unrolled },
	{ "I024", "fma has the throughput of mul", "within 10 % (undecided where the interval has that)", "A",
	  TCB_CLAIM_SOURCE, tcb_claim_fma_throughput },
	{ "I025", "the pass changes nothing when it runs again", "no instruction", "A", TCB_CLAIM_OURS, idempotent },
	{ "I026", "a*b - c is fused with the right sign", "all results equal fmaf(a, b, -c)", "A", TCB_CLAIM_OURS,
	  subtracted },
	{ "I027", "fused sums treat NaN as IEEE 754 says", "all results", "A", TCB_CLAIM_OURS, nan_kept },
	{ "I028", "fused sums treat infinities as IEEE 754 says", "all results", "A", TCB_CLAIM_OURS, infinity_kept },
	{ "I029", "nested sums are fused at both levels", "two fma, nothing left", "A", TCB_CLAIM_OURS, nested },
	{ "I030", "the pass takes time in proportion to the instructions", "< 30 x for 10 x as many", "A",
	  TCB_CLAIM_OURS, linear },
	{ 0 },
};
