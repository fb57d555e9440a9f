/* SPDX-License-Identifier: MIT
 *
 * Axes of a space: kinds and values come in, each value once and in order goes out.
 */
#include "kernels/axes.h"

#include <assert.h>

#include "kernels/simd/isas.h"

static struct tcb_axis *add_axis(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, int which)
{
	assert(*count < TCB_AXES_MAX);
	struct tcb_axis *axis = &out[(*count)++];
	*axis = (struct tcb_axis){ .kind = kind, .which = which };
	return axis;
}

struct tcb_axis *tcb_axis_tile(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, enum tcb_level level)
{
	return add_axis(out, count, kind, (int)level);
}

struct tcb_axis *tcb_axis_knob(struct tcb_axis *out, size_t *count, enum tcb_knob knob)
{
	return add_axis(out, count, TCB_AXIS_KNOB, (int)knob);
}

struct tcb_axis *tcb_axis_knob_or_none(struct tcb_axis *out, size_t *count, enum tcb_knob knob)
{
	struct tcb_axis *axis = tcb_axis_knob(out, count, knob);
	axis->values[axis->count++] = TCB_KNOB_UNSET;
	return axis;
}

void tcb_axis_add(struct tcb_axis *axis, size_t value)
{
	for (size_t i = 0; i < axis->count; i++)
		if (axis->values[i] == (int64_t)value)
			return;
	if (axis->count < TCB_AXIS_VALUES_MAX)
		axis->values[axis->count++] = (int64_t)value;
}

void tcb_axis_add_all(struct tcb_axis *axis, size_t count, const unsigned short *values)
{
	for (size_t i = 0; i < count; i++)
		tcb_axis_add(axis, values[i]);
}

void tcb_axis_add_powers(struct tcb_axis *axis, size_t from, size_t factor, size_t last)
{
	for (size_t value = from; value <= last; value *= factor)
		tcb_axis_add(axis, value);
}

void tcb_axis_add_float_isas(struct tcb_axis *axis, const struct tcb_target *target)
{
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
		if (tcb_float_lanes(isa) && tcb_target_has(target, (enum tcb_isa)isa))
			tcb_axis_add(axis, (size_t)isa);
	if (!axis->count) /* nothing runs here; V1 says so */
		tcb_axis_add(axis, TCB_ISA_SCALAR);
}

void tcb_axis_add_threads(struct tcb_axis *axis, const struct tcb_target *target)
{
	tcb_axis_add_powers(axis, 1, 2, target->threads);
	tcb_axis_add(axis, target->threads ? target->threads : 1);
}
