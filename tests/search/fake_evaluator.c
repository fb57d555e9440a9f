/* SPDX-License-Identifier: MIT
 *
 * The simulated machine.  See fake_evaluator.h.
 */
#include "fake_evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quiet.h"
#include "base/stats.h"
#include "base/util.h"
#include "worker/measure.h"

struct fake_world fake_world;

enum { SAMPLES_MOST = 64 };

struct tcb_evaluator {
	unsigned states;
	int was_refused;
	struct tcb_rng rng;
	uint64_t process; /* salt of the placement factors */
	struct tcb_trial trial;
	struct tcb_measurement measurements[TCB_STATE_COUNT];
	double samples[TCB_STATE_COUNT][SAMPLES_MOST];
	struct tcb_counter counter;
	size_t rounds, held;
	struct tcb_deadline until;
	int was_late;
	double lost; /* of the last call */
};

/* --- the clock -------------------------------------------------------------------------------------------------- */

uint64_t tcb_clock_ns(void)
{
	return 1000000000u + (uint64_t)(1e9 * fake_world.now_s);
}

/* --- the op ----------------------------------------------------------------------------------------------------- */

static enum tcb_status fake_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op;
	(void)shape, (void)err;
	return TCB_OK;
}

static void add_axis(struct tcb_axis *axis, enum tcb_axis_kind kind, int which, size_t count, const int64_t *values)
{
	*axis = (struct tcb_axis){ .kind = kind, .which = which, .count = count };
	memcpy(axis->values, values, count * sizeof *values);
}

static size_t fake_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			struct tcb_axis out[TCB_AXES_MAX])
{
	(void)problem, (void)target;
	size_t n = 0;
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_ISA, 3,
		 (int64_t[]){ TCB_ISA_SCALAR, TCB_ISA_AVX2, TCB_ISA_AVX512 });
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_LAYOUT, 2, (int64_t[]){ TCB_LAYOUT_NATIVE, TCB_LAYOUT_R8 });
	add_axis(&out[n++], TCB_AXIS_TILE_N, TCB_MIDI, 7, (int64_t[]){ 8, 16, 32, 64, 128, 256, 512 });
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_UNROLL, 3, (int64_t[]){ 1, 2, 4 });
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_PREFETCH, 4, (int64_t[]){ 0, 1024, 2048, 4096 });
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_HINT, 3, (int64_t[]){ TCB_HINT_T0, TCB_HINT_T1, TCB_HINT_NTA });
	add_axis(&out[n++], TCB_AXIS_KNOB, TCB_KNOB_SCHED, 2, (int64_t[]){ TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC });
	return n;
}

static void fake_default(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	(void)target;
	tcb_geometry_init(out);
	size_t n = problem->shape.n, k = problem->shape.k;
	out->tile[TCB_MACRO] = (struct tcb_tile){ 1, n, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 64, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 8, 256 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_AVX2;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_THREADS] = 2;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
}

static void fake_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target, (void)geometry;
	*out = (struct tcb_footprint){ 0 };
}

static enum tcb_status fake_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct tcb_plan *out, struct tcb_error *err)
{
	(void)err;
	*out = (struct tcb_plan){ .problem = *problem, .geometry = *geometry, .threads = 2 };
	return TCB_OK;
}

#define ROW(Isa, Layout, Unroll)                                                                                     \
	{                                                                                                            \
		.name = "fake_" #Isa "_" #Layout "_" #Unroll, .contract = TCB_CONTRACT_F32, .isa = TCB_ISA_##Isa,    \
		.layout = TCB_LAYOUT_##Layout, .micro = { 1, 8, 256 }, .unroll = Unroll, .class = TCB_CLASS_BOUNDED, \
		.signature = "0123456789abcdef" #Unroll                                                              \
	}
#define ROWS(Isa) \
	ROW(Isa, NATIVE, 1), ROW(Isa, NATIVE, 2), ROW(Isa, NATIVE, 4), ROW(Isa, R8, 1), ROW(Isa, R8, 2), ROW(Isa, R8, 4)
static const struct tcb_variant VARIANTS[] = { ROWS(SCALAR), ROWS(AVX2), ROWS(AVX512), { .name = NULL } };
static const struct tcb_variant *const LISTS[] = { VARIANTS, NULL };

static double fake_flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)(problem->shape.m * problem->shape.n * problem->shape.k);
}

static const struct tcb_side_space space = { NULL, fake_axes, fake_default, fake_footprint };
static const struct tcb_side side = { .variants = LISTS, .space = &space, .plan = fake_plan };

const struct tcb_op fake_op = {
	.name = "fake",
	.summary = "a simulated op",
	.shape_form = "MxNxK",
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.side = TCB_SIDES(&side, NULL),
	.check_shape = fake_check_shape,
	.flops = fake_flops,
};

const struct tcb_place fake_cpu = {
	.device.target = { .kind = TCB_TARGET_CPU,
			   .isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2 | 1u << TCB_ISA_AVX512,
			   .threads = 2,
			   .line_bytes = 64 },
};

int fake_is_default(const struct tcb_geometry *geometry)
{
	struct tcb_geometry fallback;
	const struct tcb_problem problem = { .op = &fake_op, .shape = { 1, 4096, 4096 } };
	tcb_op_standard(&problem, &fake_cpu.device.target, &fallback);
	return tcb_geometry_equal(geometry, &fallback);
}

double fake_hash(const struct tcb_geometry *geometry, uint64_t salt)
{
	uint64_t tiles = tcb_hash64(geometry->tile, sizeof geometry->tile, salt);
	return (double)(tcb_hash64(geometry->knob, sizeof geometry->knob, tiles) >> 11) * 0x1p-53;
}

double fake_landscape(const struct tcb_geometry *geometry, enum tcb_state state)
{
	static const double ISA[] = { [TCB_ISA_SCALAR] = 6.0, [TCB_ISA_AVX2] = 1.15, [TCB_ISA_AVX512] = 1.0 };
	const int32_t *knob = geometry->knob;
	double best_n = state == TCB_COLD ? 128 : 32, best_prefetch = state == TCB_COLD ? 2048 : 0;
	double cost = ISA[knob[TCB_KNOB_ISA]];
	cost *= knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_R8 ? 1.0 : 1.2;
	cost *= 1 + 0.03 * fabs(log2((double)geometry->tile[TCB_MIDI].n / best_n));
	cost *= 1 + 0.04 * fabs(log2(knob[TCB_KNOB_UNROLL] / 2.0));
	cost *= 1 + 0.05 * fabs(knob[TCB_KNOB_PREFETCH] - best_prefetch) / 1024;
	cost *= knob[TCB_KNOB_HINT] == TCB_HINT_T0 ? 1.0 : 1.01;
	cost *= knob[TCB_KNOB_SCHED] == TCB_SCHED_STATIC ? 1.0 : 1.015;
	cost *= 1 + 0.002 * fake_hash(geometry, 7);
	return cost * (state == TCB_COLD ? 1e6 : 0.5e6);
}

void fake_world_reset(uint64_t seed, struct tcb_problem *problem)
{
	fake_world = (struct fake_world){
		.seed = seed,
		.true_ns = fake_landscape,
		.outlier_share = 0.02,
		.outlier_most = 1.0,
		.burst_share = 0.05,
		.burst_most = 0.3,
		.noise = 0.02,
		.drift = 0.05,
		.drift_period_s = 7,
		.try_s = 0.003,
		.again_most = 5,
	};
	*problem = (struct tcb_problem){
		.op = &fake_op, .op_name = "fake", .contract = TCB_CONTRACT_F32, .shape = { 1, 4096, 4096 }
	};
}

/* --- the evaluator ---------------------------------------------------------------------------------------------- */

/* NS, a call without others, with them: each slice begins with their part. */
static double wait_for_others(struct tcb_evaluator *evaluator, double ns)
{
	double now_s = fake_world.now_s, left_s = 1e-9 * ns, waited_s = 0;
	evaluator->lost = fake_world.others_unseen ? NAN : 0;
	while (fake_world.others > 0 && left_s > 0) {
		const double at = fmod(now_s, fake_world.slice_s), theirs = fake_world.others * fake_world.slice_s;
		const double wait = fmax(0, theirs - at), run = fmin(left_s, fake_world.slice_s - fmax(at, theirs));
		waited_s += wait;
		left_s -= fmax(run, 1e-9);
		now_s += wait + fmax(run, 1e-9);
	}
	if (!fake_world.others_unseen)
		evaluator->lost = waited_s / (waited_s + 1e-9 * ns);
	return ns + 1e9 * waited_s;
}

/* One call: Laplace noise (its tails are heavier than normal ones), drift of two periods, outliers upwards. */
static double sample_ns(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry, enum tcb_state state)
{
	double u = tcb_rng_unit(&evaluator->rng) - 0.5;
	double laplace = (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u)) / sqrt(2);
	double phase = 6.2831853 * fake_world.now_s / fake_world.drift_period_s;
	double drift = fake_world.drift * (0.6 * sin(phase) + 0.4 * sin(0.37 * phase + 1));
	double placement = fake_world.placement * 2 * (fake_hash(geometry, evaluator->process + (uint64_t)state) - 0.5);
	double ns = fake_world.true_ns(geometry, state) * exp(fake_world.noise * laplace + drift + placement);
	if (tcb_rng_unit(&evaluator->rng) < fake_world.outlier_share)
		ns *= 1 + fake_world.outlier_most * tcb_rng_unit(&evaluator->rng);
	uint64_t cell = (uint64_t)(fake_world.now_s / 0.05);
	double burst = (double)(tcb_hash64(&cell, sizeof cell, evaluator->process) >> 11) * 0x1p-53;
	if (burst < fake_world.burst_share)
		ns *= 1 + fake_world.burst_most * burst / fake_world.burst_share;
	ns = wait_for_others(evaluator, ns);
	fake_world.now_s += 1e-9 * ns;
	fake_world.calls++;
	return ns;
}

enum tcb_status tcb_evaluator_create(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_place *cpu, const struct tcb_evaluate_options *options,
				     struct tcb_evaluator **out, struct tcb_error *err)
{
	(void)op, (void)problem, (void)cpu;
	struct tcb_evaluator *evaluator = calloc(1, sizeof *evaluator);
	if (!evaluator)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	evaluator->states = options->states;
	evaluator->process = fake_world.seed * 1000 + ++fake_world.created;
	tcb_rng_init(&evaluator->rng, evaluator->process);
	fake_world.now_s += 1;
	*out = evaluator;
	return TCB_OK;
}

/* The simulated machine is one device. */
enum tcb_status tcb_evaluator_create_beside(const struct tcb_evaluator *first, const struct tcb_place *place,
					    struct tcb_evaluator **out, struct tcb_error *err)
{
	(void)first, (void)place, (void)out;
	return tcb_fail(err, TCB_E_UNSUPPORTED, "one device only");
}

enum tcb_status tcb_evaluator_check(struct tcb_evaluator *evaluator, struct tcb_error *err)
{
	(void)evaluator, (void)err;
	return TCB_OK;
}

void tcb_evaluator_renew(struct tcb_evaluator *evaluator)
{
	evaluator->process = fake_world.seed * 1000 + ++fake_world.created;
	fake_world.renewals++;
	fake_world.now_s += fake_world.renew_s;
}

void tcb_evaluator_until(struct tcb_evaluator *evaluator, struct tcb_deadline deadline)
{
	evaluator->until = deadline;
}

int tcb_evaluator_was_late(const struct tcb_evaluator *evaluator)
{
	return evaluator->was_late;
}

int tcb_evaluator_was_refused(const struct tcb_evaluator *evaluator)
{
	return evaluator->was_refused;
}

enum tcb_status tcb_evaluator_meter(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				    enum tcb_state state, double seconds, struct tcb_energy *out, struct tcb_error *err)
{
	(void)evaluator, (void)err;
	const double ns = fake_world.true_ns(geometry, state),
		     watts = fake_world.watts ? fake_world.watts(geometry) : 1;
	const double error = 0.01 * (double)(fake_world.metered++ % 3) - 0.01; /* of the meter, in each of three runs */
	*out = (struct tcb_energy){ .metered = { .joules = (1 + error) * watts * seconds,
						 .seconds = seconds,
						 .calls = seconds / ns * 1e9,
						 .step_s = 0.02 },
				    .source = "rapl" };
	fake_world.now_s += seconds;
	return TCB_OK;
}

size_t tcb_evaluator_held(const struct tcb_evaluator *evaluator)
{
	return evaluator->held;
}

/* Has what took until now not been over by the deadline?  Then it was given up there. */
static int is_given_up(struct tcb_evaluator *evaluator)
{
	const uint64_t until = evaluator->until.ns, now = tcb_clock_ns();
	if (until == 0 || now < until)
		return 0;
	fake_world.now_s -= 1e-9 * (double)(now - until);
	return 1;
}

void tcb_evaluator_destroy(struct tcb_evaluator *evaluator)
{
	free(evaluator);
}

static size_t screen_state(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry, enum tcb_state state,
			   const struct tcb_screen_rule *rule, struct tcb_measurement *out)
{
	double *samples = evaluator->samples[state];
	const double warm = sample_ns(evaluator, geometry, state);
	size_t count = 0;
	*out = (struct tcb_measurement){ .state = state, .stage = TCB_STAGE_SCREEN, .samples = samples };
	while (count < rule->samples_max && count < SAMPLES_MOST && !out->dropped_early) {
		samples[count++] = sample_ns(evaluator, geometry, state);
		out->ns = tcb_median_interval(samples, count);
		out->dropped_early =
			tcb_measure_has_lost(samples, count, warm, rule->lose_ns[state], rule->over[state]);
		if (tcb_measure_is_enough(&out->ns, count, rule))
			break;
	}
	out->sample_count = count;
	return count;
}

int tcb_evaluator_use_limit(struct tcb_evaluator *evaluator, enum tcb_limit limit)
{
	(void)evaluator;
	return limit == TCB_LIMIT_READ ? 0 : -1;
}

size_t tcb_evaluator_ahead(const struct tcb_evaluator *evaluator)
{
	(void)evaluator;
	return 3;
}

enum tcb_status tcb_evaluator_want(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	(void)evaluator, (void)geometry, (void)err;
	return TCB_OK;
}

void tcb_evaluator_rest(struct tcb_evaluator *evaluator)
{
	(void)evaluator;
}

enum tcb_status tcb_evaluator_try(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				  const struct tcb_screen_rule *rule, const struct tcb_trial **out,
				  struct tcb_error *err)
{
	(void)err;
	struct tcb_trial *trial = &evaluator->trial;
	*trial = (struct tcb_trial){ .geometry = *geometry,
				     .class_checked = TCB_CLASS_BOUNDED,
				     .error_ratio = 0.5,
				     .measurements = evaluator->measurements };
	const struct tcb_variant *variant = tcb_variant_find(&fake_op, TCB_CONTRACT_F32, geometry);
	snprintf(trial->variant, sizeof trial->variant, "%s", variant->name);
	snprintf(trial->signature, sizeof trial->signature, "%s", variant->signature);
	*out = trial;
	evaluator->was_refused = fake_world.refuses && fake_world.refuses(geometry);
	if (evaluator->was_refused) {
		trial->outcome = TCB_OUTCOME_LAUNCH_FAILED;
		return TCB_OK;
	}
	trial->outcome = fake_world.outcome ? fake_world.outcome(geometry) : TCB_OUTCOME_OK;
	fake_world.tries++;
	fake_world.now_s += fake_world.try_s;
	if (fake_world.stop_after && fake_world.tries >= fake_world.stop_after)
		fake_world.stop = 1;
	for (int s = 0; trial->outcome == TCB_OUTCOME_OK && s < TCB_STATE_COUNT; s++)
		if (evaluator->states >> s & 1u)
			screen_state(evaluator, geometry, (enum tcb_state)s, rule,
				     &evaluator->measurements[trial->measurement_count++]);
	evaluator->was_late = is_given_up(evaluator);
	if (evaluator->was_late) {
		trial->outcome = TCB_OUTCOME_TOO_SLOW;
		trial->measurement_count = 0;
	}
	if (trial->outcome != TCB_OUTCOME_OK)
		snprintf(trial->message, sizeof trial->message, "planted");
	return TCB_OK;
}

enum tcb_status tcb_evaluator_interleave(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries,
					 size_t count, enum tcb_state state, size_t rounds, uint64_t seed,
					 double *ns_out, double *limit_out, double *lost_out, struct tcb_error *err)
{
	(void)seed;
	if (fake_world.renewals_most && fake_world.renewals > fake_world.renewals_most)
		return tcb_fail(err, TCB_E_FAILED, "no worker to be had");
	evaluator->held = 0;
	for (size_t i = 0; i < count * rounds; i++)
		ns_out[i] = NAN;
	for (size_t r = 0; limit_out && r < rounds; r++)
		limit_out[r] = NAN;
	fake_world.now_s += fake_world.prepare_s * (double)count;
	if (is_given_up(evaluator))
		return TCB_OK;
	for (size_t g = 0; g < count; g++) /* warming up takes time, too; long calls need less of it */
		for (int warm = fake_world.true_ns(&geometries[g], state) < 10e6 ? 0 : 2; warm < 3; warm++)
			sample_ns(evaluator, &geometries[g], state);
	for (size_t r = 0; r < rounds && !is_given_up(evaluator); r++) {
		size_t start = (size_t)tcb_rng_below(&evaluator->rng, count);
		evaluator->rounds++;
		for (size_t i = 0; i < count; i++) {
			size_t g = (start + i) % count;
			int fails = fake_world.break_rounds_after &&
				    evaluator->rounds > fake_world.break_rounds_after &&
				    fake_world.broken(&geometries[g]);
			double *ns = &ns_out[g * rounds + r], lost = 1;
			for (int again = 0; again <= fake_world.again_most && !(lost <= TCB_LOST_MOST); again++) {
				*ns = fails ? NAN : sample_ns(evaluator, &geometries[g], state);
				lost = evaluator->lost;
				if (isnan(lost))
					break;
			}
			if (lost_out)
				lost_out[g * rounds + r] = lost;
		}
		if (lost_out)
			lost_out[count * rounds + r] = fake_world.others_unseen ? NAN : 0;
		if (limit_out)
			limit_out[r] = (state == TCB_COLD ? 0.9e6 : 0.3e6) * (1 + 0.01 * tcb_rng_unit(&evaluator->rng));
		evaluator->held +=
			!is_given_up(evaluator); /* else the times of a part of it stay, and nobody may look */
	}
	return TCB_OK;
}

const char *tcb_evaluator_limit_method(const struct tcb_evaluator *evaluator, enum tcb_state state)
{
	(void)evaluator, (void)state;
	return "simulated";
}

enum tcb_status tcb_evaluator_counters(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				       enum tcb_state state, unsigned calls, const struct tcb_counter **out,
				       size_t *count_out, struct tcb_error *err)
{
	(void)geometry, (void)calls;
	evaluator->counter =
		(struct tcb_counter){ .name = "page-faults", .source = "perf-software", .state = state, .value = 1 };
	fake_world.counted++;
	if (fake_world.counting_kills)
		return tcb_fail(err, TCB_E_FAILED, "the candidate died while it was counted");
	*out = &evaluator->counter;
	*count_out = 1;
	return TCB_OK;
}
