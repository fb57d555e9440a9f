/* SPDX-License-Identifier: MIT
 *
 * Writing the axes of a search space, as an op's axes() does:
 *
 *     size_t count = 0;
 *     ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2, 4);
 *     tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 16, 2, n);
 *     return count;
 */
#ifndef TCB_KERNELS_AXES_H
#define TCB_KERNELS_AXES_H

#include "kernels/op.h"

/* One more axis of OUT, which has COUNT, without values: a tile's dimension, a knob. */
struct tcb_axis *tcb_axis_tile(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, enum tcb_level level);
struct tcb_axis *tcb_axis_knob(struct tcb_axis *out, size_t *count, enum tcb_knob knob);
/* One of a knob that may be left out, which is its first value. */
struct tcb_axis *tcb_axis_knob_or_none(struct tcb_axis *out, size_t *count, enum tcb_knob knob);

/* VALUE, unless the axis has it or is full. */
void tcb_axis_add(struct tcb_axis *axis, size_t value);
void tcb_axis_add_all(struct tcb_axis *axis, size_t count, const unsigned short *values);
#define ADD(axis, ...)                                                                                   \
	tcb_axis_add_all(axis, sizeof((const unsigned short[]){ __VA_ARGS__ }) / sizeof(unsigned short), \
			 (const unsigned short[]){ __VA_ARGS__ })
/* FROM, FACTOR FROM, FACTOR^2 FROM, ... while at most LAST. */
void tcb_axis_add_powers(struct tcb_axis *axis, size_t from, size_t factor, size_t last);
/* The families of TARGET whose arithmetic on floats differs. */
void tcb_axis_add_float_isas(struct tcb_axis *axis, const struct tcb_target *target);
/* 1, 2, 4, ... and all the threads of a CPU. */
void tcb_axis_add_threads(struct tcb_axis *axis, const struct tcb_target *target);

#endif
