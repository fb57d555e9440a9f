/* SPDX-License-Identifier: MIT
 *
 * What the parts of the random driver share: its numbers, how it stops, and what
 * it draws (drive_draw.c).
 */
#ifndef TCB_TESTS_RT_DRIVE_H
#define TCB_TESTS_RT_DRIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/util.h"
#include "kernels/op.h"
#include "tcbrt.h"
#include "tcbrt_chain.h"

/* drive_plans.c */
/* Names the round, says what is wrong, and aborts. */
_Noreturn void drive_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define DRIVE_CHECK(condition, ...)              \
	do {                                     \
		if (!(condition))                \
			drive_fail(__VA_ARGS__); \
	} while (0)

/* drive_zone.c */
/* BYTES at AT, poison before and behind, and then pages that cannot be touched. */
struct drive_zone {
	struct tcb_buffer buffer;
	void *at;
	size_t bytes;
};
/* At a multiple of ALIGNMENT, most often of nothing more: with its end at the edge of a page where that goes, or
 * anywhere. */
struct drive_zone drive_zone(size_t bytes, size_t alignment);
/* Fails where something was written beside it; WHAT names it. */
void drive_zone_check(const struct drive_zone *zone, const char *what);
void drive_zone_protect(struct drive_zone *zone, int read_only);

/* drive_draw.c */
extern struct tcb_rng drive_rng; /* of the round */
size_t drive_below(size_t bound);
/* Once in ONE_IN times. */
int drive_once_in(size_t one_in);
const struct tcb_op *drive_op(void);
/* A shape that OP may have, with any of its words; odd, small, so that it is computed in milliseconds. */
struct tcb_shape drive_shape(const struct tcb_op *op);
/* Strides that PROBLEM may have, of inputs and outputs; now and then others. */
struct tcbrt_strides drive_strides(const struct tcb_problem *problem);
/* The words of SHAPE, NULL where there are none; good until 64 others were asked for. */
const char *drive_words(const struct tcb_shape *shape);
/* What anybody may ask RT for; now and then what nobody can answer.  Its strings live as long as RT. */
struct tcbrt_query drive_query(const struct tcbrt *rt);
/* A legal geometry from anywhere in the space; 0: none was met. */
int drive_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out);
/* Changes a few bits of BYTES, or all of one. */
void drive_damage(void *bytes, size_t count);

/* drive_lookups.c */
/* A database of random winners: what was opened of it before and after a snapshot was made, what its lookups say, and
 * what is left of them when files are damaged.  The results of it are lent in *RT_OUT until the next call. */
void drive_database(struct tcbrt **rt_out);
/* How many winners were stored, and how many lookups were answered by one. */
extern size_t drive_stored, drive_found;
void drive_database_fini(void);

#endif
