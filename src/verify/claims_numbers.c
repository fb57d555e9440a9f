/* SPDX-License-Identifier: MIT
 *
 * Items 91 to 100, numbers: what this processor's kernels make of rounding,
 * subnormal numbers, NaN, infinities and zeros with a sign, held against the
 * references.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernels/simd/isas.h"
#include "verify/claim.h"
#include "verify/measure_op.h"

/* --- sums --- */

/* One tile for all, so that a form adds up everything itself. */
static void one_tile(struct tcb_geometry *geometry, const struct tcb_shape *shape, enum tcb_form form)
{
	for (int level = TCB_MACRO; level <= TCB_MIDI; level++) {
		geometry->tile[level].m = shape->m;
		geometry->tile[level].n = shape->n;
	}
	geometry->knob[TCB_KNOB_THREADS] = 1;
	geometry->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	geometry->knob[TCB_KNOB_FORM] = (int32_t)form;
}

/* The error of the sum of 2^20 numbers from 0 to 1; -1: not run. */
static double sum_error(struct tcb_op_run *run, enum tcb_form form, struct tcb_finding *out)
{
	struct tcb_geometry geometry = run->standard;
	one_tile(&geometry, &run->problem.shape, form);
	if (!tcb_op_run_go(run, &geometry, out))
		return -1;
	(void)tcb_op_run_error(run);
	return fabs((double)run->got[0] - run->reference[0].y[0]) / run->reference[0].y[0];
}

static void kahan(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_shape shape = { 1024, 1024, 0 };
	struct tcb_op_run run;
	struct tcb_rng rng;
	if (!tcb_op_run_open(&run, lab, "reduce2d_sum", &shape, out))
		return;
	tcb_op_run_restrict(&run, TCB_ISA_SCALAR);
	tcb_rng_init(&rng, lab->seed);
	for (size_t i = 0; i < shape.m * shape.n; i++)
		((float *)run.data[0])[i] = (float)tcb_rng_unit(&rng);
	const double plain = sum_error(&run, TCB_FORM_LANES, out);
	const double carried =
		plain < 0 ? -1 : sum_error(&run, plant == TCB_PLANT_DEFECT ? TCB_FORM_LANES : TCB_FORM_KAHAN, out);
	tcb_op_run_close(&run);
	if (carried >= 0)
		tcb_found(out, carried < plain,
			  "relative error %.2g with form=%s, %.2g with form=lanes, of 2^20 numbers (scalar)", carried,
			  plant == TCB_PLANT_DEFECT ? "lanes" : "kahan", plain);
}

/* Sums that cancel, grow and shrink, of every form and instruction family, within their bound. */
static void stable_sums(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const enum tcb_form forms[] = { TCB_FORM_LANES, TCB_FORM_PAIRWISE, TCB_FORM_KAHAN };
	const struct tcb_shape shape = { 64, 512, 0 };
	double worst = 0;
	unsigned cases = 0;
	for (int data = 0; data < 4; data++) {
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
			struct tcb_op_run run;
			if (!tcb_target_has(&lab->place->device.target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
				continue;
			if (!tcb_op_run_open(&run, lab, "reduce2d_sum", &shape, out))
				return;
			tcb_op_run_restrict(&run, (enum tcb_isa)isa);
			float *x = run.data[0];
			for (size_t i = 0; i < shape.m * shape.n; i++)
				x[i] = data == 0   ? (i % 2 ? -1e8f : 1e8f) + (float)(i % 7)
				       : data == 1 ? 1 / (float)(i + 1)
				       : data == 2 ? ldexpf(1, (int)(i % 60) - 30)
						   : (i == 0 ? 16777216.0f : 1);
			for (size_t f = 0; f < sizeof forms / sizeof *forms; f++, cases++) {
				struct tcb_geometry geometry = run.standard;
				one_tile(&geometry, &shape, forms[f]);
				if (!tcb_op_run_go(&run, &geometry, out)) {
					tcb_op_run_close(&run);
					return;
				}
				if (plant == TCB_PLANT_DEFECT)
					run.got[0] += (float)(0.01 * run.reference[0].magnitude[0] + 1);
				worst = fmax(worst, tcb_op_run_error(&run));
			}
			tcb_op_run_close(&run);
		}
	}
	if (cases == 0)
		tcb_found_nothing(out, "measured on the processor: run it with --device cpu");
	else
		tcb_found(out, worst <= 1,
			  "largest error %.3g of its bound, %u sums that cancel, decay, spread and saturate, in three "
			  "forms%s",
			  worst, cases, plant == TCB_PLANT_DEFECT ? " (each is moved by 1 % of its magnitude)" : "");
}

/* Scalar code and the widest vectors add in different orders. */
static void orders(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_shape shape = { 512, 513, 0 };
	float sums[2] = { 0 };
	double worst = 0;
	for (int i = 0; i < 2; i++) {
		struct tcb_op_run run;
		if (!tcb_op_run_open(&run, lab, "reduce2d_sum", &shape, out))
			return;
		tcb_op_run_restrict(&run, i ? tcb_float_isa(&run.target) : TCB_ISA_SCALAR);
		const int is_run = tcb_op_run_go(&run, NULL, out);
		if (is_run && plant == TCB_PLANT_DEFECT)
			run.got[0] *= 1.01f;
		if (is_run)
			worst = fmax(worst, tcb_op_run_error(&run));
		sums[i] = run.got ? run.got[0] : 0;
		tcb_op_run_close(&run);
		if (!is_run)
			return;
	}
	tcb_found(out, worst <= 1,
		  "sums %.9g (scalar) and %.9g (vectors), at most %.3g of the bound of specification 4%s",
		  (double)sums[0], (double)sums[1], worst, plant == TCB_PLANT_DEFECT ? " (1 % too large)" : "");
}

static void single_rounding(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { TRIALS = 200000 };
	unsigned worse = 0, better = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int i = 0; i < TRIALS; i++) {
		const float a = tcb_rng_normal(&rng), b = tcb_rng_normal(&rng);
		/* half of them cancel, which is where one rounding shows most */
		const float c = i % 2 ? -(a * b) : tcb_rng_normal(&rng);
		volatile float product = a * b;
		const long double exact = (long double)a * (long double)b + (long double)c;
		const long double fused = fabsl((long double)fmaf(a, b, c) - exact);
		const long double plain = fabsl((long double)(product + c) - exact);
		worse += plant == TCB_PLANT_DEFECT ? plain > fused : fused > plain;
		better += fused < plain;
	}
	tcb_found(out, worse == 0, "%u of %d results are worse with %s, %u better with one", worse, TRIALS,
		  plant == TCB_PLANT_DEFECT ? "two roundings" : "one rounding", better);
}

static void nearest_even(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const int before = fegetround();
	(void)lab;
	if (plant == TCB_PLANT_DEFECT && fesetround(FE_UPWARD) != 0) {
		tcb_found_nothing(out, "this processor's rounding cannot be changed");
		return;
	}
	const int mode = fegetround();
	volatile float one = 1, half = 0x1p-24f, three = 1 + 0x1p-23f;
	const float down = one + half, up = three + half;
	(void)fesetround(before);
	tcb_found(out, mode == FE_TONEAREST && down == 1 && up == 1 + 0x1p-22f,
		  "1 + 2^-24 is %a, 1 + 2^-23 + 2^-24 is %a, rounding %s", (double)down, (double)up,
		  mode == FE_TONEAREST ? "to nearest" : "upward (planted)");
}

/* --- special values --- */

static const char *const float_ops[] = { "softmax",      "rmsnorm",      "layernorm", "reduce2d_sum",
					 "reduce2d_max", "reduce2d_min", "matmul_f32" };
enum { FLOAT_OPS = sizeof float_ops / sizeof *float_ops };

static struct tcb_shape shape_of(const char *op, size_t m, size_t n, size_t k)
{
	return (struct tcb_shape){ m, n, strncmp(op, "matmul", 6) ? 0 : k };
}

/* How many results of all float ops are of another kind than the reference, after VALUES went to every STEPth element
 * of the first input. */
static void put_values(struct tcb_claim_lab *lab, enum tcb_plant plant, const float *values, size_t count,
		       const char *what, struct tcb_finding *out)
{
	size_t results = 0, wrong = 0, special = 0;
	char first[80] = "";
	for (size_t i = 0; i < FLOAT_OPS; i++) {
		const struct tcb_shape shape = shape_of(float_ops[i], 5, 67, 33);
		struct tcb_op_run run;
		if (!tcb_op_run_open(&run, lab, float_ops[i], &shape, out))
			return;
		float *x = run.data[0];
		const size_t elements = run.operands[0].rows * run.operands[0].cols;
		for (size_t at = 3, v = 0; at < elements; at += 101, v++)
			x[at] = values[v % count];
		if (!tcb_op_run_go(&run, NULL, out)) {
			tcb_op_run_close(&run);
			return;
		}
		(void)tcb_op_run_error(&run);
		for (size_t r = 0; r < run.outputs; r++) {
			const double want = run.reference[0].y[r];
			const float got =
				plant == TCB_PLANT_DEFECT ? fminf(fmaxf(run.got[r], -FLT_MAX), FLT_MAX) : run.got[r];
			const int is_right = isnan(want)   ? isnan(got)
					     : isinf(want) ? (double)got == want
							   : isfinite(got);
			special += !isfinite(want);
			wrong += !is_right;
			if (!is_right && !first[0])
				(void)snprintf(first, sizeof first, ", the first %s's: %g for %g", float_ops[i],
					       (double)got, want);
		}
		results += run.outputs;
		tcb_op_run_close(&run);
	}
	tcb_found(out, wrong == 0 && special > 0,
		  "%zu of %zu results of %d ops with %s are of another kind than the reference's%s%s", wrong, results,
		  FLOAT_OPS, what, first, plant == TCB_PLANT_DEFECT ? " (clamped to finite numbers)" : "");
}

static void nan_results(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	put_values(lab, plant, (const float[]){ NAN }, 1, "NaN among the inputs", out);
}

static void infinite_results(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	put_values(lab, plant, (const float[]){ INFINITY, -INFINITY, INFINITY }, 3, "infinities among the inputs", out);
}

/* Products of subnormal numbers: bit by bit those of the scalar chain. */
static void subnormal(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_shape shape = { 7, 37, 19 };
	float want[7 * 37];
	size_t wrong = 0, results = 0, below = 0;
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		struct tcb_op_run run;
		if (!tcb_target_has(&lab->place->device.target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
			continue;
		if (!tcb_op_run_open(&run, lab, "matmul_f32", &shape, out))
			return;
		tcb_op_run_restrict(&run, (enum tcb_isa)isa);
		float *a = run.data[0];
		for (size_t i = 0; i < shape.m * shape.k; i++)
			a[i] *= 1e-40f;
		if (!tcb_op_run_go(&run, NULL, out)) {
			tcb_op_run_close(&run);
			return;
		}
		run.problem.op->exact(&run.plan, run.data, want);
		for (size_t i = 0; i < run.outputs; i++) {
			const float got = plant == TCB_PLANT_DEFECT && fabsf(run.got[i]) < FLT_MIN ? 0 : run.got[i];
			wrong += memcmp(&got, &want[i], sizeof got) != 0;
			below += want[i] != 0 && fabsf(want[i]) < FLT_MIN;
		}
		results += run.outputs;
		tcb_op_run_close(&run);
	}
	if (results == 0)
		tcb_found_nothing(out, "measured on the processor: run it with --device cpu");
	else
		tcb_found(out, wrong == 0 && below > 0,
			  "%zu of %zu sums, %zu of them subnormal, differ from the scalar chain's in a bit "
			  "(matmul_f32)%s",
			  wrong, results, below, plant == TCB_PLANT_DEFECT ? " (flushed to zero)" : "");
}

/* Maximum and minimum of zeros: of one sign, and of both. */
static void zeros(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_shape shape = { 9, 35, 0 };
	unsigned wrong = 0, asked = 0;
	for (int i = 0; i < 6; i++) {
		const int is_max = i < 3, kind = i % 3; /* all +0, all -0, one of them +0 or -0 */
		const float common = kind == 1 || (kind == 2 && is_max) ? -0.0f : 0.0f;
		const float want = kind == 2 ? -common : common;
		struct tcb_op_run run;
		if (!tcb_op_run_open(&run, lab, is_max ? "reduce2d_max" : "reduce2d_min", &shape, out))
			return;
		float *x = run.data[0];
		for (size_t e = 0; e < shape.m * shape.n; e++)
			x[e] = common;
		if (kind == 2)
			x[100] = -common;
		const int is_run = tcb_op_run_go(&run, NULL, out);
		const float got = is_run ? (plant == TCB_PLANT_DEFECT ? run.got[0] + 0.0f : run.got[0]) : 0;
		tcb_op_run_close(&run);
		if (!is_run)
			return;
		asked++;
		wrong += got != 0 || signbit(got) != signbit(want);
	}
	tcb_found(out, wrong == 0, "%u of %u maxima and minima of zeros have the wrong sign%s", wrong, asked,
		  plant == TCB_PLANT_DEFECT ? " (+0 was added)" : "");
}

const struct tcb_claim tcb_claims_numbers[] = {
	{ "I091", "Kahan's summation has a smaller error than a plain one", "smaller, 2^20 numbers", "A",
	  TCB_CLAIM_SOURCE, kahan },
	{ "I092", "one rounding is never worse than two (restated: <=, not <)", "no result worse", "A",
	  TCB_CLAIM_SOURCE, single_rounding },
	{ "I093", "subnormal numbers are not lost", "all sums equal to the scalar chain's", "A", TCB_CLAIM_OURS,
	  subnormal },
	{ "I094", "NaN propagates as in the references", "no result of another kind", "A", TCB_CLAIM_OURS,
	  nan_results },
	{ "I095", "infinities propagate as in the references", "no result of another kind", "A", TCB_CLAIM_OURS,
	  infinite_results },
	{ "I096", "maxima and minima keep the sign of zero", "all signs", "A", TCB_CLAIM_OURS, zeros },
	{ "I097", "sums in another order differ by no more than is documented", "within the bound of specification 4",
	  "A", TCB_CLAIM_OURS, orders },
	{ "I098", "rounding is to nearest, ties to even", "both ties", "A", TCB_CLAIM_OURS, nearest_even },
	{ "I099", "sums are stable where that is hard", "all within their bounds", "A", TCB_CLAIM_OURS, stable_sums },
	{ "I100", "results are the same on other processors within tolerance", "within the bounds", "A", TCB_CLAIM_OURS,
	  NULL,
	  "needs a processor of another kind; the Arm kernels are held against the same references under emulation by "
	  "'scripts/test.sh neon'" },
	{ 0 },
};
