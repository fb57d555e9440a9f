/* SPDX-License-Identifier: MIT
 *
 * The random driver's draws: ops, shapes, queries, geometries, damage.
 */
#include <string.h>

#include "drive.h"
#include "instrumented.h"
#include "kernels/default_rules.h"
#include "random_problem.h"
#include "rt/runtime.h"
#include "shape_for.h"

struct tcb_rng drive_rng;

/* Multiplications of one call: some ten milliseconds of the reference. */
static const size_t WORK_MAX = TEST_IS_INSTRUMENTED ? 1 << 18 : 1 << 21;

size_t drive_below(size_t bound)
{
	return (size_t)tcb_rng_below(&drive_rng, bound);
}

int drive_once_in(size_t one_in)
{
	return drive_below(one_in) == 0;
}

const struct tcb_op *drive_op(void)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	return ops[drive_below(count)];
}

/* From 1 to MOST, small ones as often as large ones. */
static size_t draw_size(size_t most)
{
	size_t bits = 0;

	while (most >> bits)
		bits++;
	const size_t size = 1 + drive_below((size_t)1 << drive_below(bits + 1));

	return size < most ? size : most;
}

/* A size that an overflow may hide behind. */
static size_t draw_odd_size(void)
{
	static const size_t odd[] = { 0, SIZE_MAX, SIZE_MAX - 255, SIZE_MAX / 2 + 1, (size_t)1 << 32, INT32_MAX, 1 };

	return drive_once_in(3) ? (size_t)tcb_rng_next(&drive_rng) >> drive_below(64)
				: odd[drive_below(sizeof(odd) / sizeof(odd[0]))];
}

static struct draw begin_draw(void)
{
	struct draw draw = { .length = 0 };

	tcb_rng_init(&draw.rng, tcb_rng_next(&drive_rng));
	return draw;
}

struct tcbrt_strides drive_strides(const struct tcb_problem *problem)
{
	struct draw draw = begin_draw();
	size_t stride[2];

	if (!problem->op->stride_unit || drive_once_in(20))
		return (struct tcbrt_strides){ .x = draw_odd_size(), .y = draw_odd_size() };
	draw_strides(&draw, problem, stride);
	return (struct tcbrt_strides){ .x = stride[0], .y = stride[1] };
}

struct tcb_shape drive_shape(const struct tcb_op *op)
{
	struct draw draw = begin_draw();
	struct tcb_problem problem;

	if (drive_once_in(2) && random_problem(&draw, op, op->default_contract, (double)WORK_MAX, &problem) == 0)
		return problem.shape;
	const int has_k = strcmp(op->shape_form, "MxN") != 0;
	static const size_t steps[] = { 256, 256, 256, 32, 32, 1 };
	const size_t step = steps[drive_below(op->format ? 3 + 3 * !drive_below(3) : 6)];
	struct tcb_shape shape = { drive_once_in(2) ? 1 : draw_size(150), draw_size(has_k ? 600 : 9000), 0 };

	if (has_k)
		shape.k = step * draw_size(4096 / step);
	while (shape.m * shape.n * (shape.k ? shape.k : 1) > WORK_MAX) {
		if (shape.m > 1)
			shape.m = (shape.m + 1) / 2;
		else
			shape.n = (shape.n + 1) / 2;
	}
	return shape_for(op, shape);
}

const char *drive_words(const struct tcb_shape *shape)
{
	static char texts[64][TCB_WORDS_TEXT_MAX];
	static size_t next;
	char *text = texts[next++ % (sizeof(texts) / sizeof(*texts))];

	tcb_words_print(&shape->words, text);
	return *text ? text : NULL;
}

static const char *draw_device(const struct tcbrt *rt)
{
	static const char *const nobody[] = {
		"",       "cpu:",   "cpu:neon:", "cpu:abacus",    "sm_",
		"sm_0",   "sm_90a", "sm_9x",     "sm_4294967386", "SM_90",
		"cuda:0", "gpu",    "cpu ",      "sm_-90",        "sm_909090909090909090909090"
	};

	if (drive_once_in(40))
		return nobody[drive_below(sizeof(nobody) / sizeof(nobody[0]))];
	if (drive_once_in(6))
		return rt->devices[drive_below(rt->device_count)].name;
	return drive_once_in(2) ? NULL : rt->devices[drive_below(rt->host_device_count)].name;
}

static const char *draw_layout(void)
{
	static const char *const nobody[] = { "", "r", "r16 ", "R16", "q4k_matvec.r16" };

	if (drive_once_in(40))
		return nobody[drive_below(sizeof(nobody) / sizeof(nobody[0]))];
	return drive_once_in(6) ? tcb_knob_word(TCB_KNOB_LAYOUT, (int32_t)drive_below(TCB_LAYOUT_COUNT)) : NULL;
}

struct tcbrt_query drive_query(const struct tcbrt *rt)
{
	const struct tcb_op *op = drive_op();
	const struct tcb_shape shape = drive_shape(op);
	struct tcbrt_query query = { .op = op->name,
				     .device = draw_device(rt),
				     .threads = (unsigned)drive_below(9),
				     .contract = drive_once_in(2)
							 ? TCBRT_CONTRACT_DEFAULT
							 : (enum tcbrt_contract)drive_below(1 + TCBRT_CONTRACT_AUTO_Q8),
				     .state = (enum tcbrt_state)drive_below(2),
				     .m = shape.m,
				     .n = shape.n,
				     .k = shape.k,
				     .words = drive_words(&shape),
				     .layout = draw_layout() };

	switch (drive_below(120)) {
	case 0:
		query.m = draw_odd_size();
		break;
	case 1:
		query.n = draw_odd_size();
		break;
	case 2:
		query.k = draw_odd_size();
		break;
	case 3:
		query.m = draw_odd_size();
		query.n = draw_odd_size();
		query.k = draw_odd_size();
		break;
	case 4:
		query.threads = (unsigned)draw_odd_size();
		break;
	case 5:
		query.contract = (enum tcbrt_contract)(unsigned)draw_odd_size();
		break;
	case 6:
		query.state = (enum tcbrt_state)(unsigned)draw_odd_size();
		break;
	case 7:
		query.op = drive_once_in(2) ? "q9k_matvec" : "";
		break;
	default:
		break;
	}
	return query;
}

static void set_axis(const struct tcb_axis *axis, struct tcb_geometry *geometry)
{
	const int64_t value = axis->values[drive_below(axis->count)];

	switch (axis->kind) {
	case TCB_AXIS_TILE_M:
		geometry->tile[axis->which].m = (size_t)value;
		break;
	case TCB_AXIS_TILE_N:
		geometry->tile[axis->which].n = (size_t)value;
		break;
	case TCB_AXIS_TILE_K:
		geometry->tile[axis->which].k = (size_t)value;
		break;
	case TCB_AXIS_KNOB:
		geometry->knob[axis->which] = (int32_t)value;
		break;
	}
}

int drive_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	enum { TRIES = 300 };
	struct tcb_axis axes[TCB_AXES_MAX];
	const size_t count = tcb_space_of(problem, target, NULL)->axes(problem, target, axes);
	struct tcb_geometry standard;

	tcb_default_geometry(problem, target, &standard);
	for (int i = 0; i < TRIES; i++) {
		/* All axes anywhere are seldom legal: a few steps from the default often are. */
		const size_t steps = drive_once_in(3) ? count : 1 + drive_below(6);

		*out = standard;
		for (size_t step = 0; step < steps; step++) {
			const struct tcb_axis *axis = &axes[steps == count ? step : drive_below(count)];

			if (axis->count)
				set_axis(axis, out);
		}
		if (rt_is_legal(problem->op, problem, target, out, NULL))
			return 1;
	}
	return 0;
}

void drive_damage(void *bytes, size_t count)
{
	unsigned char *byte = bytes;

	if (drive_once_in(4))
		byte[drive_below(count)] ^= 0xff;
	else
		for (size_t flips = 1 + drive_below(3), last = count; flips--;) {
			const size_t at = drive_below(count);

			if (at != last) /* not the same one back */
				byte[at] ^= (unsigned char)(1u << drive_below(8));
			last = at;
		}
}
