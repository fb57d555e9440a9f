/* SPDX-License-Identifier: MIT
 *
 * Items 81 to 90, backends: instruction families of this processor beside each
 * other, by their results and by their times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/simd/isas.h"
#include "verify/claim.h"
#include "verify/measure_op.h"
#include "verify/measure_time.h"

enum { RESULTS_MAX = 4096 };

static int is_asked(const struct tcb_claim_lab *lab, const struct tcb_op *op)
{
	return !lab->op || lab->op == op;
}

/* The smallest shape of OP with M rows and N columns or outputs; 0: none is near. */
static int smallest_shape(const struct tcb_op *op, size_t m, size_t n, struct tcb_shape *out)
{
	*out = (struct tcb_shape){ m, n, 0, op->default_shapes[0].words };
	if (!op->default_shapes[0].k)
		return op->check_shape(op, out, NULL) == TCB_OK;
	for (out->k = 1; out->k <= 1024; out->k++)
		if (op->check_shape(op, out, NULL) == TCB_OK)
			return 1;
	return 0;
}

/* One run of OP at SHAPE with ISA and scalar code alone; its largest error over what is allowed, infinity: not run. */
static double error_of(struct tcb_claim_lab *lab, const char *op, const struct tcb_shape *shape, enum tcb_isa isa,
		       int is_planted, struct tcb_finding *out)
{
	struct tcb_op_run run;
	double error = INFINITY;
	if (!tcb_op_run_open(&run, lab, op, shape, out))
		return error;
	tcb_op_run_restrict(&run, isa);
	if (tcb_op_run_go(&run, NULL, out)) {
		/* the planted defect: the last result was forgotten */
		if (is_planted)
			run.got[run.outputs - 1] = 12345;
		error = tcb_op_run_error(&run);
	}
	tcb_op_run_close(&run);
	return error;
}

/* --- results --- */

/* Results of a family beside those of scalar code, as a share of the largest. */
static void equivalent(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const ops[] = { "matmul_f32", "softmax", "rmsnorm", "layernorm" };
	const struct tcb_target *target = &lab->place->device.target;
	static float scalar[RESULTS_MAX];
	double worst = 0;
	unsigned compared = 0;
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		const struct tcb_shape shape = { 31, 65, o ? 0 : 127 };
		for (int isa = TCB_ISA_SCALAR; isa < TCB_ISA_COUNT; isa++) {
			struct tcb_op_run run;
			double largest = 0;
			if (!tcb_target_has(target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
				continue;
			if (!tcb_op_run_open(&run, lab, ops[o], &shape, out))
				return;
			tcb_op_run_restrict(&run, (enum tcb_isa)isa);
			if (plant == TCB_PLANT_DEFECT && isa != TCB_ISA_SCALAR)
				((float *)run.data[0])[7] += 0.5f;
			const int is_run = tcb_op_run_go(&run, NULL, out) && run.outputs <= RESULTS_MAX;
			for (size_t i = 0; is_run && i < run.outputs; i++)
				largest = fmax(largest, fabs((double)run.got[i]));
			for (size_t i = 0; is_run && isa != TCB_ISA_SCALAR && i < run.outputs; i++)
				worst = fmax(worst, fabs((double)run.got[i] - (double)scalar[i]) / largest);
			compared += is_run && isa != TCB_ISA_SCALAR;
			if (is_run && isa == TCB_ISA_SCALAR)
				memcpy(scalar, run.got, run.outputs * sizeof *scalar);
			tcb_op_run_close(&run);
			if (!is_run)
				return;
		}
	}
	if (compared == 0)
		tcb_found_nothing(out, "this processor has scalar code only");
	else
		tcb_found(out, worst < 1e-5,
			  "largest difference from scalar code %.2g of the largest result, %u runs of 4 ops%s", worst,
			  compared, plant == TCB_PLANT_DEFECT ? " (one input differs)" : "");
}

static void deterministic(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { RUNS = 10 };
	static float first[RESULTS_MAX];
	unsigned other_kernel = 0, other_result = 0;
	const struct tcb_shape shape = { 3, 257, 512 };
	const struct tcb_variant *variant = NULL;
	for (unsigned i = 0; i < RUNS; i++) {
		struct tcb_claim_lab seeded = *lab;
		struct tcb_op_run run;
		seeded.seed += plant == TCB_PLANT_DEFECT ? i : 0;
		if (!tcb_op_run_open(&run, &seeded, "q4k_matvec", &shape, out))
			return;
		const int is_run = tcb_op_run_go(&run, NULL, out);
		if (is_run && i == 0) {
			variant = run.plan.variant;
			memcpy(first, run.got, run.outputs * sizeof *first);
		} else if (is_run) {
			other_kernel += run.plan.variant != variant;
			other_result += memcmp(first, run.got, run.outputs * sizeof *first) != 0;
		}
		tcb_op_run_close(&run);
		if (!is_run)
			return;
	}
	tcb_found(out, other_kernel == 0 && other_result == 0,
		  "%u of %d runs took another kernel, %u gave another result (q4k_matvec 3x257x512)%s", other_kernel,
		  RUNS, other_result, plant == TCB_PLANT_DEFECT ? " (their inputs differ)" : "");
}

static void remainders(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char *const ops[] = { "softmax", "rmsnorm", "reduce2d_sum", "matmul_f32" };
	double worst = 0;
	unsigned sizes = 0;
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		for (size_t n = 1; n <= 67; n++, sizes++) {
			const struct tcb_shape shape = { 3, n, o == 3 ? 5 : 0 };
			const double error = error_of(lab, ops[o], &shape, tcb_float_isa(&lab->place->device.target),
						      plant == TCB_PLANT_DEFECT, out);
			if (isinf(error) && !plant)
				return;
			worst = fmax(worst, error);
		}
	}
	tcb_found(out, worst <= 1, "largest error %.3g of its bound with 1 to 67 columns, %u runs of 4 ops%s", worst,
		  sizes, plant == TCB_PLANT_DEFECT ? " (the last result is forgotten)" : "");
}

static void one_element(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count, asked = 0, wrong = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_shape shape;
		if (!is_asked(lab, ops[i]) || !smallest_shape(ops[i], 1, 1, &shape))
			continue;
		const double error = error_of(lab, ops[i]->name, &shape, tcb_float_isa(&lab->place->device.target),
					      plant == TCB_PLANT_DEFECT, out);
		if (tcb_kind_of(&lab->place->device.target)->is_emitted)
			return;
		asked++;
		wrong += !(error <= 1);
	}
	tcb_found(out, wrong == 0 && asked > 0, "%zu of %zu ops are wrong with one row and one output%s", wrong, asked,
		  plant == TCB_PLANT_DEFECT ? " (which is forgotten)" : "");
}

static void empty_input(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count, asked = 0, taken = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	const size_t nothing = plant == TCB_PLANT_DEFECT ? 1 : 0;
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_shape whole;
		if (!is_asked(lab, ops[i]) || !smallest_shape(ops[i], 1, 1, &whole))
			continue;
		for (int which = 0; which < 2; which++, asked++) {
			struct tcb_shape shape = whole;
			struct tcb_problem problem;
			*(which ? &shape.n : &shape.m) = nothing;
			taken += tcb_problem_init(ops[i], ops[i]->default_contract, &shape, &problem, NULL) == TCB_OK;
		}
	}
	tcb_found(out, taken == 0 && asked > 0,
		  "%zu of %zu shapes with %zu rows or columns were taken, the others refused", taken, asked, nothing);
}

/* --- families --- */

static void fallback(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count, asked = 0, lost = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_target target = lab->place->device.target;
	if (!tcb_found_on_cpu(lab, out))
		return;
	target.isa_mask = plant == TCB_PLANT_DEFECT ? 0 : 1u << TCB_ISA_SCALAR;
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		struct tcb_shape shape;
		if (!is_asked(lab, ops[i]) || !smallest_shape(ops[i], 2, 33, &shape) ||
		    tcb_problem_init(ops[i], ops[i]->default_contract, &shape, &problem, NULL) != TCB_OK)
			continue;
		asked++;
		(void)tcb_default_geometry(&problem, &target, &geometry);
		if (tcb_constraint_violated(ops[i], &problem, &target, &geometry, 0, NULL) ||
		    !(error_of(lab, ops[i]->name, &shape, TCB_ISA_SCALAR, 0, out) <= 1))
			lost++;
	}
	tcb_found(out, lost == 0 && asked > 0, "%zu of %zu ops have no right kernel with %s", lost, asked,
		  plant == TCB_PLANT_DEFECT ? "no instruction family at all" : "scalar code alone");
}

#if defined(__x86_64__)
/* By the compiler's own look at CPUID and XCR0. */
static unsigned supported(void)
{
	const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	const int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
	const int vnni = avx512 && __builtin_cpu_supports("avx512vnni");
	return 1u << TCB_ISA_SCALAR | (avx2 ? 1u << TCB_ISA_AVX2 : 0) | (avx512 ? 1u << TCB_ISA_AVX512 : 0) |
	       (vnni ? 1u << TCB_ISA_AVX512VNNI : 0) |
	       (vnni && __builtin_cpu_supports("avx512bf16") ? 1u << TCB_ISA_AVX512BF16 : 0);
}
#endif

static void features(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
#if defined(__x86_64__)
	const unsigned known = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2 | 1u << TCB_ISA_AVX512 |
			       1u << TCB_ISA_AVX512VNNI | 1u << TCB_ISA_AVX512BF16;
	unsigned detected = lab->place->device.target.isa_mask & known;
	if (!tcb_found_on_cpu(lab, out))
		return;
	if (plant == TCB_PLANT_DEFECT)
		detected ^= 1u << TCB_ISA_AVX2;
	char names[2][64] = { "", "" };
	for (int which = 0; which < 2; which++)
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
			if ((which ? supported() : detected) & 1u << isa)
				(void)snprintf(names[which] + strlen(names[which]),
					       sizeof names[which] - strlen(names[which]), " %s",
					       tcb_knob_word(TCB_KNOB_ISA, isa));
	tcb_found(out, detected == supported(), "detected%s; the compiler's run-time library says%s%s", names[0],
		  names[1], plant == TCB_PLANT_DEFECT ? " (avx2 is turned round)" : "");
#else
	(void)lab, (void)plant;
	tcb_found_nothing(out, "there is nothing to compare with on this architecture");
#endif
}

/* The widest family, then scalar code, then the widest again. */
static void switching(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_shape shape = { 17, 129, 0 };
	static float first[RESULTS_MAX];
	unsigned differ = 0;
	for (int turn = 0; turn < 3; turn++) {
		struct tcb_op_run run;
		if (!tcb_op_run_open(&run, lab, "softmax", &shape, out))
			return;
		if (plant == TCB_PLANT_DEFECT && turn == 2)
			((float *)run.data[0])[5] += 1;
		if (turn == 1)
			tcb_op_run_restrict(&run, TCB_ISA_SCALAR);
		const int is_run = tcb_op_run_go(&run, NULL, out);
		if (is_run && turn == 0)
			memcpy(first, run.got, run.outputs * sizeof *first);
		for (size_t i = 0; is_run && turn == 2 && i < run.outputs; i++)
			differ += memcmp(&first[i], &run.got[i], sizeof *first) != 0;
		tcb_op_run_close(&run);
		if (!is_run)
			return;
	}
	tcb_found(out, differ == 0, "%u results of softmax differ in a bit after scalar code ran in between%s", differ,
		  plant == TCB_PLANT_DEFECT ? " (an input was changed)" : "");
}

/* --- times --- */

struct timed_op {
	struct tcb_op_run run;
	struct tcb_finding unused;
};

static void run_timed(void *ctx)
{
	struct timed_op *timed = ctx;
	(void)tcb_op_run_go(&timed->run, NULL, &timed->unused);
}

static int open_timed(struct tcb_claim_lab *lab, const char *op, const struct tcb_shape *shape, enum tcb_isa isa,
		      struct timed_op *out, struct tcb_finding *found)
{
	struct tcb_claim_lab alone = *lab;
	struct tcb_place place = *lab->place;
	place.device.target.threads = 1;
	alone.place = &place;
	memset(out, 0, sizeof *out);
	if (!tcb_op_run_open(&out->run, &alone, op, shape, found))
		return 0;
	tcb_op_run_restrict(&out->run, isa);
	return 1;
}

/* Wider vectors are faster: AVX-512 than AVX2 (or NEON than scalar code); the true case: AVX2 than scalar code. */
static void ordering(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_target *target = &lab->place->device.target;
	const int has_both = tcb_target_has(target, TCB_ISA_AVX512) && plant != TCB_PLANT_TRUTH;
	const enum tcb_isa wide = has_both ? TCB_ISA_AVX512 : tcb_float_isa(target),
			   narrow = has_both ? TCB_ISA_AVX2 : TCB_ISA_SCALAR;
	const struct tcb_shape shape = { 256, 256, 256 };
	struct timed_op a, b;
	char what[128];
	if (wide == TCB_ISA_SCALAR) {
		tcb_found_nothing(out, "this processor has scalar code only");
		return;
	}
	const int is_planted = plant == TCB_PLANT_DEFECT;
	if (!open_timed(lab, "matmul_f32", &shape, is_planted ? narrow : wide, &a, out))
		return;
	if (open_timed(lab, "matmul_f32", &shape, is_planted ? wide : narrow, &b, out)) {
		const struct tcb_interval ratio = tcb_pair_time_of(run_timed, &a, run_timed, &b, 31);
		(void)snprintf(what, sizeof what, "time of %s over %s, matmul_f32 256x256x256, one thread",
			       tcb_knob_word(TCB_KNOB_ISA, is_planted ? narrow : wide),
			       tcb_knob_word(TCB_KNOB_ISA, is_planted ? wide : narrow));
		tcb_found_below(out, &ratio, 1, what);
		tcb_op_run_close(&b.run);
	}
	tcb_op_run_close(&a.run);
}

const struct tcb_claim tcb_claims_backends[] = {
	{ "I081", "instruction families give equivalent results", "within 1e-5 of the largest result", "A",
	  TCB_CLAIM_OURS, equivalent },
	{ "I082", "the choice of a kernel and its results are deterministic", "10 of 10 runs alike", "A",
	  TCB_CLAIM_OURS, deterministic },
	{ "I083", "columns left over by vectors are right", "all within their bounds, 1 to 67 columns", "A",
	  TCB_CLAIM_OURS, remainders },
	{ "I084", "the time of transfers to a GPU is predicted", "within 20 %", "C", TCB_CLAIM_OURS, NULL,
	  "not applicable: the program predicts no transfers; its kernels work in the device memory of the caller" },
	{ "I085", "scalar code serves where nothing else does", "all ops right", "A", TCB_CLAIM_OURS, fallback },
	{ "I086", "instruction families are detected as the processor and the system offer them", "the same families",
	  "A", TCB_CLAIM_OURS, features },
	{ "I087", "going from one family to another has no side effects", "no bit differs", "A", TCB_CLAIM_OURS,
	  switching },
	{ "I088", "empty inputs are refused by all ops", "all refused", "A", TCB_CLAIM_OURS, empty_input },
	{ "I089", "inputs of one element are right in all ops", "all right", "A", TCB_CLAIM_OURS, one_element },
	{ "I090", "wider vectors are faster", "faster (undecided where the interval has 1)", "A", TCB_CLAIM_SOURCE,
	  ordering },
	{ 0 },
};
