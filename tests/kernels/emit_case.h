/* SPDX-License-Identifier: MIT
 *
 * One drawn case of writing kernels, for tests/kernels/test_emit.c and
 * tests/fuzz/fuzz_emit.c: an op, a contract, a target, a shape and a geometry,
 * legal or not; the kernel is emitted for it as a sweep on a GPU does, with those
 * that it is verified by.
 */
#ifndef TCB_TESTS_EMIT_CASE_H
#define TCB_TESTS_EMIT_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/op.h"

/* What decides a case: bytes, and when these are used up numbers that follow from them. */
struct emit_draw {
	const uint8_t *data;
	size_t bytes, at;
	uint64_t state;
};

enum { EMIT_WHAT_MAX = 800 + 64 };

struct emit_tally {
	size_t cases, kernels, small_kernels, refused, no_problem;
};

void emit_draw_init(struct emit_draw *draw, const uint8_t *data, size_t bytes);
/*
 * 0, or -1 with WHAT it is that does not hold, and for which kernel: a geometry that every hard constraint allows is
 * emitted, any other is refused with TCB_E_ILLEGAL and a reason; verification shapes are legal; launches are what a
 * GPU takes.
 */
int emit_case(struct emit_draw *draw, struct emit_tally *tally, char what[EMIT_WHAT_MAX]);
/* The same for one problem with many legal geometries: the kernels that a sweep of it begins with. */
int emit_problem(const struct tcb_problem *problem, unsigned capability, size_t geometries, struct emit_tally *tally,
		 char what[EMIT_WHAT_MAX]);

#endif
