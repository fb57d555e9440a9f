/* SPDX-License-Identifier: MIT
 *
 * Cases of writing kernels.  In: bytes or a problem; out: whether what the ops
 * promise of their kernels holds.  Geometries are drawn by a walk from the op's
 * default, a legal change of one field at a time, so that rare ones are reached;
 * illegal ones are those with a few fields set to anything.
 */
#include "emit_case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "device/gpu.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/ir/ir.h"
#include "ptx/text/text.h"
#include "worker/verify.h"

enum { STEPS_MAX = 48, BLOCK_MAX = 1024, GRID_YZ_MAX = 65535 };

static const unsigned capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

void emit_draw_init(struct emit_draw *draw, const uint8_t *data, size_t bytes)
{
	*draw = (struct emit_draw){ data, bytes, 0, tcb_hash64(data, bytes, 0) };
}

/* In [0, BOUND). */
static size_t below(struct emit_draw *draw, size_t bound)
{
	uint16_t value;
	if (draw->at + sizeof value <= draw->bytes) {
		memcpy(&value, draw->data + draw->at, sizeof value);
		draw->at += sizeof value;
		return value % bound;
	}
	struct tcb_rng rng;
	tcb_rng_init(&rng, draw->state++);
	return tcb_rng_below(&rng, bound);
}

/* --- problems --- */

static size_t draw_size(struct emit_draw *draw)
{
	static const size_t odd[] = { 1, 2, 3, 7, 31, 61, 127, 251, 509, 1021, 2039, 2697, 4093, 4097, 8191, 65521 };
	const size_t kind = below(draw, 10), power = (size_t)1 << below(draw, 14);
	switch (kind) {
	case 0:
		return 1 + below(draw, 40);
	case 1:
	case 2:
		return odd[below(draw, COUNT(odd))];
	case 3:
		return power;
	case 4:
		return power + 1;
	case 5:
		return power > 1 ? power - 1 : 1;
	case 6:
		return 8 * (1 + below(draw, 1000));
	case 7:
		return 256 * (1 + below(draw, 64));
	case 8:
		return 1 + below(draw, 5000);
	default: /* beyond what 32 bits count, now and then */
		return ((size_t)1 << (16 + below(draw, 20))) + below(draw, 3);
	}
}

/* Words, most of them such as the op takes; the shape's own sizes become those of heads. */
static void draw_words(struct emit_draw *draw, const struct tcb_op *op, struct tcb_shape *out)
{
	static const size_t groups[] = { 1, 2, 4, 5, 7, 8, 16, 32, 64 }, numbers[] = { 1, 2, 5, 16, 50, 256 };
	const size_t kv = 1 + below(draw, 9);
	char text[512];
	int length = snprintf(text, sizeof text, "h%zu/%zu", kv * groups[below(draw, COUNT(groups))], kv);
	out->k = below(draw, 4) ? 32 * (1 + below(draw, 9)) : 8 * (1 + below(draw, 72));
	out->m = below(draw, 3) ? 1 : 1 + below(draw, 40);
	for (unsigned i = TCB_WORD_SEQUENCES; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];
		size_t number = below(draw, 2) ? numbers[below(draw, COUNT(numbers))] : 1 + below(draw, 5000);
		if (row->with != TCB_WORD_QUERY || below(draw, op->words >> i & 1u ? 3 : 50))
			continue;
		if (i == TCB_WORD_ROTATED)
			number = 8 * (1 + below(draw, out->k / 8));
		const size_t room = sizeof text - (size_t)length;
		if (row->kind == TCB_WORD_NUMBER && !tcb_word_second(i))
			length += snprintf(text + length, room, ",%s%zu", row->text,
					   tcb_most(row->least, tcb_least(number, row->most)));
		else if (row->example)
			length += snprintf(text + length, room, ",%s", row->example);
	}
	if (tcb_words_parse(text, &out->words, NULL) != TCB_OK)
		abort();
}

static void draw_shape(struct emit_draw *draw, const struct tcb_op *op, struct tcb_shape *out)
{
	static const size_t units[] = { 1, 32, 256 };
	*out = (struct tcb_shape){ draw_size(draw), draw_size(draw), 0 };
	if (tcb_op_needs_words(op)) {
		draw_words(draw, op, out);
		return;
	}
	if (strcmp(op->shape_form, "MxN") == 0)
		return;
	const size_t k = draw_size(draw),
		     unit = units[below(draw, 8) ? 2 * (op->format != NULL) : below(draw, COUNT(units))];
	out->k = unit * ((k + unit - 1) / unit);
	if (op->format && out->k > (1 << 17))
		out->k = (size_t)1 << 17;
}

static struct tcb_target target_of(unsigned capability)
{
	struct tcb_gpu gpu;
	if (tcb_gpu_table(capability, &gpu, NULL) != TCB_OK)
		return (struct tcb_target){ .kind = TCB_TARGET_CUDA };
	return gpu.device.target;
}

static struct tcb_target draw_target(struct emit_draw *draw)
{
	struct tcb_target target = target_of(capabilities[below(draw, COUNT(capabilities))]);
	if (below(draw, 8) == 0)
		target.cuda.sm_count = (unsigned)below(draw, 5);
	return target;
}

/* --- geometries --- */

/* STEPS changes of one field each, by a value of its axis, that leave GEOMETRY legal. */
static void walk(struct emit_draw *draw, const struct tcb_op *op, const struct tcb_problem *problem,
		 const struct tcb_target *target, size_t steps, struct tcb_geometry *geometry)
{
	struct tcb_axis axes[TCB_AXES_MAX];
	const size_t count = tcb_space_of(problem, target, NULL)->axes(problem, target, axes);
	for (size_t i = 0; i < steps; i++) {
		struct tcb_geometry changed = *geometry;
		/* Rules tie fields together: one, two or three at once. */
		for (size_t fields = 1 + below(draw, 3); fields > 0; fields--) {
			const struct tcb_axis *axis = &axes[below(draw, count)];
			const struct tcb_field field = { axis->kind, axis->which };
			tcb_field_set(field, axis->values[below(draw, axis->count)], &changed);
		}
		if (!tcb_constraint_violated(op, problem, target, &changed, 1, NULL))
			*geometry = changed;
	}
}

static void spoil(struct emit_draw *draw, struct tcb_geometry *geometry)
{
	static const int64_t values[] = {
		0,  1,  2,  3,   4,   5,   6,   7,    8,    12,   16,        24,
		32, 48, 64, 96,  128, 192, 256, 1024, 4096, -1,   65536,     INT32_MAX,
		9,  10, 11, 100, 17,  255, 512, 2048, 8192, 3000, INT64_MAX, (int64_t)1 << 32
	};
	for (size_t fields = 1 + below(draw, 4); fields > 0; fields--) {
		const struct tcb_field field = tcb_field_at((unsigned)below(draw, TCB_FIELD_COUNT));
		int64_t value = values[below(draw, COUNT(values))];
		if (field.kind == TCB_AXIS_KNOB && (value > INT32_MAX || value < TCB_KNOB_UNSET))
			value = INT32_MAX;
		tcb_field_set(field, value, geometry);
	}
}

/* --- what is checked --- */

static int complain(const struct tcb_problem *problem, const struct tcb_target *target,
		    const struct tcb_geometry *geometry, char what[EMIT_WHAT_MAX], const char *format, ...)
	__attribute__((format(printf, 5, 6)));
static int complain(const struct tcb_problem *problem, const struct tcb_target *target,
		    const struct tcb_geometry *geometry, char what[EMIT_WHAT_MAX], const char *format, ...)
{
	char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX], reason[200];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	tcb_shape_print(&problem->shape, shape);
	tcb_geometry_print(geometry, text);
	snprintf(what, EMIT_WHAT_MAX, "%s %s %s sm_%u %u SMs %.250s: %s", problem->op_name,
		 tcb_contract_text(problem->contract), shape, target->cuda.capability, target->cuda.sm_count, text,
		 reason);
	return -1;
}

/* Why LAUNCH is none that a GPU takes, or NULL. */
static const char *launch_refused(const struct tcb_kernel *kernel, size_t index, const struct tcb_target *target)
{
	const struct tcb_launch *launch = &kernel->launch[index];
	const uint32_t cluster = tcb_kernel_ptx(kernel)->launch[index].cluster[0];
	const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	if (!launch->grid[0] || !launch->grid[1] || !launch->grid[2] || launch->grid[0] > INT32_MAX ||
	    launch->grid[1] > GRID_YZ_MAX || launch->grid[2] > GRID_YZ_MAX)
		return "a grid that no GPU takes";
	if (!threads || threads > BLOCK_MAX)
		return "a block that no GPU takes";
	if (launch->shared_bytes > tcb_shared_limit(target))
		return "more shared memory than a block may have";
	if (launch->argument_count > TCB_ARGUMENTS_MAX || strlen(launch->entry) >= TCB_CODE_ENTRY_MAX)
		return "more arguments, or a longer name, than a launch holds";
	return cluster && launch->grid[0] % cluster ? "a grid that is not whole clusters" : NULL;
}

static int check_kernel(const struct tcb_kernel *kernel, const struct tcb_target *target, char what[EMIT_WHAT_MAX])
{
	struct tcb_str text = { 0 };
	const char *refused = kernel->launch_count && kernel->launch_count <= TCB_LAUNCHES_MAX ? NULL : "no launch";
	for (size_t i = 0; i < kernel->launch_count && !refused; i++)
		refused = launch_refused(kernel, i, target);
	tcb_kernel_print(kernel, &text);
	if (!refused && (text.failed || !text.length))
		refused = "no text";
	tcb_str_fini(&text);
	return refused ? complain(&kernel->problem, target, &kernel->geometry, what, "%s", refused) : 0;
}

/* Emits; *IS_LEGAL_OUT: it was to be, and was. */
static int emit(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
		const struct tcb_geometry *geometry, int is_problem, int *is_legal_out, char what[EMIT_WHAT_MAX])
{
	struct tcb_kernel kernel = { .code = NULL };
	struct tcb_error err = { TCB_OK, "" };
	const int is_legal = tcb_constraint_require(problem, target, geometry, NULL) == TCB_OK;
	const enum tcb_status status = tcb_kernel_emit(problem, target, geometry, &kernel, &err);
	int result = 0;
	*is_legal_out = is_legal;
	if (is_problem && !is_legal && !tcb_constraint_violated(op, problem, target, geometry, 1, NULL))
		result = complain(problem, target, geometry, what, "legal, but emit would not have it");
	else if (status != (is_legal ? TCB_OK : TCB_E_ILLEGAL))
		result = complain(problem, target, geometry, what, "%s, but status %d: %s",
				  is_legal ? "legal" : "illegal", (int)status, err.message);
	else if (status != TCB_OK && !err.message[0])
		result = complain(problem, target, geometry, what, "refused without a reason");
	else if (status == TCB_OK)
		result = check_kernel(&kernel, target, what);
	tcb_kernel_fini(&kernel);
	return result;
}

/* The candidate, then the kernels that it is verified by. */
static int emit_candidate(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, int is_problem, struct emit_tally *tally,
			  char what[EMIT_WHAT_MAX])
{
	struct tcb_shape shapes[TCB_CODE_UNITS_MAX];
	struct tcb_geometry fitted[TCB_CODE_UNITS_MAX];
	struct tcb_problem small = *problem;
	int is_legal;
	if (emit(op, problem, target, geometry, is_problem, &is_legal, what) != 0)
		return -1;
	tally->kernels += (size_t)is_legal;
	tally->refused += (size_t)!is_legal;
	if (!is_legal)
		return 0;
	const size_t count = tcb_verify_gpu_shapes(problem, target, geometry, shapes, fitted);
	if (count >= TCB_CODE_UNITS_MAX)
		return complain(problem, target, geometry, what, "%zu shapes to verify at", count);
	for (size_t i = 0; i < count; i++) {
		small.shape = shapes[i];
		if (emit(op, &small, target, &fitted[i], 1, &is_legal, what) != 0)
			return -1;
		if (!is_legal)
			return complain(&small, target, &fitted[i], what, "verified where it is illegal");
		tally->small_kernels++;
	}
	return 0;
}

int emit_case(struct emit_draw *draw, struct emit_tally *tally, char what[EMIT_WHAT_MAX])
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	size_t which = below(draw, op_count);
	while (!tcb_op_gpu(ops[which]))
		which = (which + 1) % op_count;
	const struct tcb_op *op = ops[which];
	const struct tcb_target target = draw_target(draw);
	struct tcb_problem problem, checked;
	struct tcb_geometry geometry;
	memset(&problem, 0, sizeof problem);
	problem.op = op;
	snprintf(problem.op_name, sizeof problem.op_name, "%s", op->name);
	problem.contract = (enum tcb_contract)below(draw, TCB_CONTRACT_COUNT);
	if (!(op->contracts >> problem.contract & 1u) && below(draw, 16))
		problem.contract = op->default_contract;
	draw_shape(draw, op, &problem.shape);
	const int is_problem = tcb_problem_init(op, problem.contract, &problem.shape, &checked, NULL) == TCB_OK;
	tally->cases++;
	tally->no_problem += (size_t)!is_problem;
	tcb_geometry_init(&geometry);
	if (is_problem) {
		if (below(draw, 2))
			tcb_default_geometry(&problem, &target, &geometry);
		else
			tcb_op_standard(&problem, &target, &geometry);
		walk(draw, op, &problem, &target, below(draw, STEPS_MAX), &geometry);
	}
	if (below(draw, 4) == 0)
		geometry.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
	if (below(draw, 3) == 0)
		spoil(draw, &geometry);
	return emit_candidate(op, &problem, &target, &geometry, is_problem, tally, what);
}

int emit_problem(const struct tcb_problem *problem, unsigned capability, size_t geometries, struct emit_tally *tally,
		 char what[EMIT_WHAT_MAX])
{
	const struct tcb_op *op = problem->op;
	const struct tcb_target target = target_of(capability);
	struct emit_draw draw;
	emit_draw_init(&draw, NULL, 0);
	for (size_t i = 0; i < geometries; i++) {
		struct tcb_geometry geometry;
		tcb_default_geometry(problem, &target, &geometry);
		walk(&draw, op, problem, &target, i ? STEPS_MAX : 0, &geometry);
		if (emit_candidate(op, problem, &target, &geometry, 1, tally, what) != 0)
			return -1;
	}
	return 0;
}
