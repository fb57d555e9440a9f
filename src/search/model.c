/* SPDX-License-Identifier: MIT
 *
 * In: a candidate and a GPU's specification.  Out: its time, simulated.
 *
 * Registers decide how many blocks fit on a multiprocessor, and only the
 * assembler knows them.  Assembling takes several times as long as simulating,
 * so a sample of the space is assembled, and the pressure of all others is
 * translated by the line that fits the sample, one for each way of copying.
 */
#include "search/model.h"

#include <math.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/util.h"
#include "device/gpu.h"
#include "search/strategy.h"

enum {
	SAMPLE = 48,       /* candidates assembled of each way of copying, at most */
	SAMPLE_SHARE = 24, /* and one of so many that are to be modelled */
	LINE_LEAST = 8,    /* for a line; fewer are not believed */
	NEAR_LIMIT = 8,    /* registers: what is so near to its limit would have liked more */
	THREADS_MOST = 64
};
static const double ASSEMBLE_LIMIT_S = 30;
/*
 * Of the nominal bandwidth, what streams reach, and bytes per cycle and multiprocessor of the L2: as on an H200
 * (docs/model.md), whose constants tcb_ptx_machine_defaults has.
 */
static const double MEMORY_SHARE = 0.91, CACHE_BYTES_CYCLE = 33.5;

static void set_machine(const struct tcb_gpu *gpu, struct tcb_ptx_machine *out)
{
	const struct tcb_target *target = &gpu->device.target;
	const double clock = gpu->device.clock_khz ? 1e3 * gpu->device.clock_khz : 1.5e9;
	*out = (struct tcb_ptx_machine){
		.capability = target->cuda.capability,
		.sm_count = target->cuda.sm_count,
		.clock_hz = clock,
		.memory_bytes_s = MEMORY_SHARE * gpu->read_bytes_s,
		.cache_bytes_s = CACHE_BYTES_CYCLE * clock * target->cuda.sm_count,
		.cache_bytes = target->l2_bytes,
		.threads = gpu->threads_max,
		.blocks = gpu->blocks_max,
		.registers = gpu->registers_max,
		.shared_bytes = gpu->shared_max,
		.shared_reserved = gpu->shared_reserved_block,
	};
	tcb_ptx_machine_defaults(out);
}

enum tcb_status tcb_model_init(struct tcb_model *model, const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_place *place, struct tcb_error *err)
{
	const struct tcb_gpu *gpu = tcb_gpu_of(place);
	*model = (struct tcb_model){
		.op = op, .problem = problem, .target = &place->device.target, .read_bytes_s = gpu->read_bytes_s
	};
	if (!tcb_op_side(op, model->target))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has no GPU kernels", op->name);
	set_machine(gpu, &model->machine);
	return TCB_OK;
}

unsigned tcb_model_processors(void)
{
	const unsigned count = tcb_granted_processors();
	return count > THREADS_MOST ? THREADS_MOST : count;
}

/* --- one candidate --- */

static struct tcb_model_line *line_of(struct tcb_model *model, const struct tcb_geometry *geometry)
{
	const int32_t copy = geometry->knob[TCB_KNOB_COPY];
	return &model->line[copy < 0 || copy >= TCB_COPY_COUNT ? TCB_COPY_COUNT : copy];
}

static enum tcb_status time_kernel(const struct tcb_model *model, const struct tcb_ptx_machine *machine,
				   const struct tcb_geometry *geometry, unsigned registers,
				   struct tcb_ptx_timing timing[TCB_STATE_COUNT], struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	enum tcb_status status = tcb_kernel_emit(model->problem, model->target, geometry, &kernel, err);
	if (status == TCB_OK)
		status = tcb_kernel_time(model->op, &kernel, machine, registers, timing, err);
	tcb_kernel_fini(&kernel);
	return status;
}

enum tcb_status tcb_model_time(const struct tcb_model *model, const struct tcb_geometry *geometry, unsigned registers,
			       double ns[TCB_STATE_COUNT], struct tcb_error *err)
{
	const struct tcb_model_line *line = line_of((struct tcb_model *)model, geometry);
	struct tcb_ptx_machine machine = model->machine;
	struct tcb_ptx_timing timing[TCB_STATE_COUNT];
	machine.register_base = line->base;
	machine.register_scale = line->scale;
	const enum tcb_status status = time_kernel(model, &machine, geometry, registers, timing, err);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		ns[s] = status == TCB_OK ? 1e9 * timing[s].seconds : NAN;
	return status;
}

/* --- registers --- */

/* Sums of a least-squares line. */
struct fit {
	double n, x, y, xx, xy;
};

static void fit_line(const struct fit *f, struct tcb_model_line *out)
{
	const double variance = f->xx / f->n - f->x / f->n * (f->x / f->n);
	double scale = 1;
	if (f->n < LINE_LEAST)
		return;
	if (variance > 1)
		scale = (f->xy / f->n - f->x / f->n * (f->y / f->n)) / variance;
	if (!(scale > 0.2 && scale < 5)) /* a sample of few different kernels */
		scale = 1;
	*out = (struct tcb_model_line){ f->y / f->n - scale * f->x / f->n, scale };
}

/* What is under way would be in the way of others. */
static enum tcb_status stop_codes(const struct tcb_model *model, struct tcb_codes **codes, struct tcb_error *err)
{
	tcb_codes_destroy(*codes);
	*codes = NULL;
	return tcb_model_codes(model, codes, err);
}

/* A few of each way of copying, in a random order. */
static enum tcb_status draw_sample(struct tcb_model *model, const struct tcb_space *space, size_t trials, uint64_t seed,
				   size_t sample[SAMPLE * (TCB_COPY_COUNT + 1)], size_t *count_out,
				   struct tcb_error *err)
{
	struct tcb_deck deck = { 0 };
	size_t left[TCB_COPY_COUNT + 1], index;
	const size_t share = trials / SAMPLE_SHARE;
	for (size_t i = 0; i <= TCB_COPY_COUNT; i++)
		left[i] = share > SAMPLE ? SAMPLE : share < LINE_LEAST ? LINE_LEAST : share;
	*count_out = 0;
	TCB_TRY(tcb_deck_init(&deck, space->count, seed, err));
	while ((index = tcb_deck_deal(&deck)) != TCB_ASK_NONE) {
		size_t *room = &left[line_of(model, &space->geometries[index]) - model->line];
		if (*room && (*room)--)
			sample[(*count_out)++] = index;
	}
	tcb_deck_fini(&deck);
	return TCB_OK;
}

/* What the assembler says of GEOMETRY, over what its PTX says; not of one that its limit may have held down. */
static void add_point(struct tcb_model *model, const struct tcb_geometry *geometry, const struct tcb_code *code,
		      struct fit *fits)
{
	struct tcb_ptx_timing timing[TCB_STATE_COUNT];
	if (code->outcome != TCB_OUTCOME_OK || !code->resources.registers ||
	    time_kernel(model, &model->machine, geometry, 0, timing, NULL) != TCB_OK ||
	    code->resources.registers + NEAR_LIMIT > timing[TCB_COLD].register_limit)
		return;
	struct fit *fit = &fits[line_of(model, geometry) - model->line];
	const double x = timing[TCB_COLD].pressure, y = code->resources.registers;
	*fit = (struct fit){ fit->n + 1, fit->x + x, fit->y + y, fit->xx + x * x, fit->xy + x * y };
}

enum tcb_status tcb_model_calibrate(struct tcb_model *model, struct tcb_codes **codes, const struct tcb_space *space,
				    size_t trials, uint64_t seed, double seconds, struct tcb_error *err)
{
	const uint64_t end_ns = seconds > 0 ? tcb_clock_ns() + (uint64_t)(1e9 * seconds) : INT64_MAX;
	struct fit fits[TCB_COPY_COUNT + 1] = { { 0 } };
	size_t sample[SAMPLE * (TCB_COPY_COUNT + 1)], count, done = 0, wanted = 0;
	int is_there = 1;
	TCB_TRY(draw_sample(model, space, trials, seed, sample, &count, err));
	while (done < count && tcb_clock_ns() < end_ns) {
		const struct tcb_geometry *geometry = &space->geometries[sample[done]];
		const struct tcb_code *code;
		for (; wanted < count && wanted < done + tcb_codes_ahead(*codes) &&
		       (wanted == done || tcb_clock_ns() < end_ns);
		     wanted++)
			TCB_TRY(tcb_codes_want(*codes, &space->geometries[sample[wanted]], err));
		TCB_TRY(tcb_codes_wait(*codes, geometry, end_ns, &is_there, err));
		if (!is_there)
			break;
		TCB_TRY(tcb_codes_get(*codes, geometry, &code, err));
		add_point(model, geometry, code, fits);
		done++;
	}
	if (done < count)
		TCB_TRY(stop_codes(model, codes, err));
	for (size_t i = 0; i <= TCB_COPY_COUNT; i++)
		fit_line(&fits[i], &model->line[i]);
	return TCB_OK;
}

enum tcb_status tcb_model_codes(const struct tcb_model *model, struct tcb_codes **out, struct tcb_error *err)
{
	const struct tcb_codes_setup setup = {
		.problem = model->problem,
		.target = model->target,
		.workers = tcb_model_processors(),
		.seconds_limit = ASSEMBLE_LIMIT_S,
	};
	return tcb_codes_create(&setup, out, err);
}

/* --- a whole space --- */

struct scoring {
	const struct tcb_model *model;
	const struct tcb_space *space;
	double *const *ns;
};

static void score_one(void *ctx, size_t index, unsigned thread)
{
	const struct scoring *s = ctx;
	double ns[TCB_STATE_COUNT];
	(void)thread;
	(void)tcb_model_time(s->model, &s->space->geometries[index], 0, ns, NULL);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		s->ns[state][index] = ns[state];
}

enum tcb_status tcb_model_scores(const struct tcb_model *model, const struct tcb_space *space,
				 double *const ns[TCB_STATE_COUNT], struct tcb_error *err)
{
	struct scoring scoring = { model, space, ns };
	struct tcb_pool *pool;
	TCB_TRY(tcb_pool_create(tcb_model_processors(), NULL, &pool, err));
	tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, space->count, score_one, &scoring);
	tcb_pool_destroy(pool);
	return TCB_OK;
}
