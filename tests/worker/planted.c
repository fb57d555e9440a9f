/* SPDX-License-Identifier: MIT
 *
 * The planted op.  Each misbehaviour is one case of `misbehave`, which runs on
 * the caller's thread after the honest computation.
 */
#include "planted.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "device/cpus.h"

enum { GROUP = 4, K_UNIT = 16, SCRATCH_BYTES = 1000, CALLS_BEFORE_TROUBLE = 9 };

#define PLANTED_ROW(id, text, class_id)                     \
	{ .name = "planted_f32_scalar_" text,               \
	  .contract = TCB_CONTRACT_F32,                     \
	  .isa = TCB_ISA_SCALAR,                            \
	  .layout = TCB_LAYOUT_NATIVE,                      \
	  .micro = { 1, GROUP, K_UNIT },                    \
	  .unroll = PLANTED_##id,                           \
	  .class = TCB_CLASS_##class_id,                    \
	  .signature = "planted-1" },                       \
		{ .name = "planted_f32_scalar_" text "_r4", \
		  .contract = TCB_CONTRACT_F32,             \
		  .isa = TCB_ISA_SCALAR,                    \
		  .layout = TCB_LAYOUT_R4,                  \
		  .micro = { 1, GROUP, K_UNIT },            \
		  .unroll = PLANTED_##id,                   \
		  .class = TCB_CLASS_##class_id,            \
		  .signature = "planted-1" },
static const struct tcb_variant variants[] = { PLANTED_LIST(PLANTED_ROW){ .name = NULL } };
static const struct tcb_variant *const variant_lists[] = { variants, NULL };

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op;
	if (shape->m < 1 || shape->n < 1 || shape->k < K_UNIT || shape->k % K_UNIT)
		return tcb_fail(err, TCB_E_USAGE, "planted needs MxNxK with K a multiple of %d", K_UNIT);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t m = problem->shape.m, n = problem->shape.n, k = problem->shape.k;
	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, k, m * k * sizeof(float), 0 };
	out[1] = (struct tcb_operand){ "w", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, n, k, n * k * sizeof(float), 1 };
	out[2] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 0 };
	return 3;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < problem->shape.m * problem->shape.k; i++)
		((float *)operand[0])[i] = tcb_rng_normal(&rng);
	for (size_t i = 0; i < problem->shape.n * problem->shape.k; i++)
		((float *)operand[1])[i] = tcb_rng_normal(&rng);
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *shape = &problem->shape;
	const struct tcb_grid *grid = out->grid;
	const size_t rows = grid ? grid->row_count : shape->m, columns = grid ? grid->column_count : shape->n;
	const float *x = operand[0], *w = operand[1];
	for (size_t i = 0; i < rows * columns; i++) {
		const size_t m = tcb_grid_row(grid, i / columns), n = tcb_grid_column(grid, i % columns);
		double sum = 0, magnitude = 0;
		for (size_t k = 0; k < shape->k; k++) {
			double term = (double)x[m * shape->k + k] * (double)w[n * shape->k + k];
			sum += term;
			magnitude += fabs(term);
		}
		out->y[i] = sum;
		out->magnitude[i] = magnitude;
		out->extra[i] = 0;
	}
}

static float chain(const float *x, const float *w, size_t step, size_t count)
{
	float sum = 0;
	for (size_t k = 0; k < count; k++)
		sum = fmaf(x[k], w[k * step], sum);
	return sum;
}

static void exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *shape = &plan->problem.shape;
	const float *x = operand[0], *w = operand[1];
	for (size_t i = 0; i < shape->m * shape->n; i++)
		y[i] = chain(x + i / shape->n * shape->k, w + i % shape->n * shape->k, 1, shape->k);
}

static double traffic(const struct tcb_problem *problem)
{
	return (double)(problem->shape.n * problem->shape.k * sizeof(float));
}

static double flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)(problem->shape.m * problem->shape.n * problem->shape.k);
}

static size_t groups(const struct tcb_shape *shape)
{
	return (shape->n + GROUP - 1) / GROUP;
}

static enum tcb_status make_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_variant *variant = tcb_variant_find(&planted_op, problem->contract, geometry);
	if (!variant || variant->unroll == PLANTED_UNPLANNED)
		return tcb_fail(err, TCB_E_ILLEGAL, "no variant was built for this geometry");
	*out = (struct tcb_plan){
		.problem = *problem,
		.geometry = *geometry,
		.variant = variant,
		.workspace_bytes = SCRATCH_BYTES,
		.threads = (unsigned)geometry->knob[TCB_KNOB_THREADS],
		.chain = (double)problem->shape.k,
	};
	if (variant->layout == TCB_LAYOUT_R4)
		out->packed_bytes[1] = groups(&problem->shape) * GROUP * problem->shape.k * sizeof(float);
	return TCB_OK;
}

/* Four rows side by side: packed[group][k][row]. */
static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	const struct tcb_shape *shape = &problem->shape;
	(void)which, (void)layout;
	for (size_t n = 0; n < groups(shape) * GROUP; n++) {
		for (size_t k = 0; k < shape->k; k++)
			((float *)packed)[(n / GROUP * shape->k + k) * GROUP + n % GROUP] =
				n < shape->n ? ((const float *)weights)[n * shape->k + k] : 0;
	}
}

static void unpack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		   void *weights)
{
	const struct tcb_shape *shape = &problem->shape;
	(void)which, (void)layout;
	for (size_t n = 0; n < shape->n; n++) {
		for (size_t k = 0; k < shape->k; k++)
			((float *)weights)[n * shape->k + k] =
				((const float *)packed)[(n / GROUP * shape->k + k) * GROUP + n % GROUP];
	}
}

struct job {
	const struct tcb_plan *plan;
	void *const *operand;
};

static void run_tile(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *shape = &job->plan->problem.shape;
	const float *x = job->operand[0], *w = job->operand[1];
	float *y = job->operand[2];
	size_t tile = job->plan->geometry.tile[TCB_MIDI].n, end = (task + 1) * tile;
	(void)thread; /* which of them comes to a task is not settled */
	if (job->plan->variant->unroll == PLANTED_WRONG_SHARE && task % 2)
		return;
	for (size_t m = 0; m < shape->m; m++) {
		for (size_t n = task * tile; n < end && n < shape->n; n++)
			y[m * shape->n + n] =
				job->plan->packed_bytes[1]
					? chain(x + m * shape->k, w + n / GROUP * shape->k * GROUP + n % GROUP, GROUP,
						shape->k)
					: chain(x + m * shape->k, w + n * shape->k, 1, shape->k);
	}
}

static void spin(uint64_t ns)
{
	uint64_t start = tcb_clock_ns();
	while (tcb_clock_ns() - start < ns)
		continue;
}

static volatile int never;
atomic_int *planted_orphans, *planted_begun;

static void misbehave(const struct tcb_plan *plan, void *const operand[], char *scratch)
{
	static unsigned calls;
	static int armed;
	const struct tcb_shape *shape = &plan->problem.shape;
	if (shape->n == 1) /* the verification begins */
		calls = 0;
	size_t count = shape->m * shape->n;
	float *y = operand[2];
	/* No real null pointer: a sanitizer would stop it before the processor does. */
	volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
	int is_full = shape->m == PLANTED_M && shape->n == PLANTED_N && shape->k == PLANTED_K;
	if (armed && plan->variant->unroll != PLANTED_TIME_BOMB)
		*nowhere = 1;
	switch ((enum planted)plan->variant->unroll) {
	case PLANTED_SLOW:
		spin(is_full ? 1000000 : 0);
		break;
	case PLANTED_SLOWER:
		spin(is_full ? 5000000 : 0);
		break;
	case PLANTED_ONE_ULP:
		y[count / 2] = nextafterf(y[count / 2], INFINITY);
		break;
	case PLANTED_NULL_WRITE:
		*nowhere = 1;
		break;
	case PLANTED_ENDLESS:
		if (planted_begun)
			atomic_store(planted_begun, 1);
		while (!never)
			continue;
		break;
	case PLANTED_WRONG:
		for (size_t i = 0; i < count; i++)
			y[i] *= 1.5f;
		break;
	case PLANTED_WRONG_LAST:
		y[count - 1] += 1;
		break;
	case PLANTED_WRONG_ODD:
		if (shape->n % 2 && shape->n > 1)
			y[count - 1] += 1;
		break;
	case PLANTED_WRONG_FULL:
		if (is_full)
			y[7] += 1;
		break;
	case PLANTED_WRONG_LATER:
		if (++calls > CALLS_BEFORE_TROUBLE)
			y[3] += 1;
		break;
	case PLANTED_PAST_OUTPUT:
		((volatile float *)y)[count] = 1;
		break;
	case PLANTED_PAST_LATER: /* not in the call that is verified */
		spin(is_full ? 1000000 : 0);
		if (is_full && ++calls > 1)
			((volatile char *)scratch)[SCRATCH_BYTES + 3] = 1;
		break;
	case PLANTED_FAR_OUTSIDE:
		((volatile float *)y)[-1025] = 1;
		break;
	case PLANTED_PAST_SCRATCH:
		((volatile char *)scratch)[SCRATCH_BYTES + 3] = 1;
		break;
	case PLANTED_STALE_SCRATCH: /* relies on zeroes in fresh memory */
		y[0] += (float)scratch[10];
		break;
	case PLANTED_WRITES_INPUT:
		((volatile float *)operand[0])[0] = 1;
		break;
	case PLANTED_NOT_A_NUMBER:
		y[count / 2] = NAN;
		break;
	case PLANTED_ABORTS:
		fprintf(stderr, "planted: giving up\n");
		abort();
	case PLANTED_EXITS:
		exit(0);
	case PLANTED_HANGS_UP:
		for (int fd = 0; fd < 16; fd++)
			close(fd);
		break;
	case PLANTED_BABBLES:
		for (int i = 0; i < 100; i++) {
			printf("BABBLE on standard output\n");
			fprintf(stderr, "BABBLE on standard error\n");
		}
		fflush(stdout);
		break;
	case PLANTED_CRASHES_LATER:
		if (++calls > CALLS_BEFORE_TROUBLE)
			*nowhere = 1;
		break;
	case PLANTED_ORPHANED:
		if (planted_orphans && atomic_fetch_sub(planted_orphans, 1) > 0) {
			kill(getppid(), SIGKILL);
			pause();
		}
		break;
	case PLANTED_TIME_BOMB: /* right itself; what comes after it in the same process pays */
		armed = 1;
		break;
	default:
		break;
	}
}

static void run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	struct job job = { .plan = plan, .operand = operand };
	size_t tile = plan->geometry.tile[TCB_MIDI].n;
	if (plan->variant->unroll == PLANTED_NOTHING)
		return;
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, (plan->problem.shape.n + tile - 1) / tile, run_tile, &job);
	misbehave(plan, operand, workspace);
}

static const struct tcb_shape shapes[] = { { PLANTED_M, PLANTED_N, PLANTED_K } };

static const struct tcb_side side = { .variants = variant_lists, .plan = make_plan, .run = run };

const struct tcb_op planted_op = {
	.name = "planted",
	.summary = "misbehaves on request",
	.shape_form = "MxNxK",
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = shapes,
	.default_shape_count = 1,
	.side = TCB_SIDES(&side, NULL),
	.check_shape = check_shape,
	.operands = operands,
	.fill = fill,
	.reference = reference,
	.exact = exact,
	.flops = flops,
	.traffic = traffic,
	.pack = pack,
	.unpack = unpack,
};

void planted_problem(struct tcb_problem *out)
{
	memset(out, 0, sizeof(*out));
	out->op = &planted_op;
	snprintf(out->op_name, sizeof(out->op_name), "planted");
	out->contract = TCB_CONTRACT_F32;
	out->shape = shapes[0];
}

void planted_geometry(enum planted behaviour, int is_packed, unsigned threads, struct tcb_geometry *out)
{
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ PLANTED_M, PLANTED_N / threads, PLANTED_K };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 64, PLANTED_K };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, GROUP, K_UNIT };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_SCALAR;
	out->knob[TCB_KNOB_LAYOUT] = is_packed ? TCB_LAYOUT_R4 : TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)behaviour;
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
}

void planted_cpu(unsigned threads, struct tcb_place *out)
{
	memset(out, 0, sizeof(*out));
	out->device.target.kind = TCB_TARGET_CPU;
	out->device.target.isa_mask = 1u << TCB_ISA_SCALAR;
	out->device.target.threads = threads;
	tcb_place_cpus(out)->count = threads;
	cpu_set_t set;
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	/* With fewer processors than threads some share one. */
	unsigned found = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < threads; cpu++) {
		if (CPU_ISSET(cpu, &set))
			tcb_place_cpus(out)->list[found++] = cpu;
	}
	for (unsigned i = found; i < threads; i++)
		tcb_place_cpus(out)->list[i] = tcb_place_cpus(out)->list[0];
}
