/* SPDX-License-Identifier: MIT
 *
 * Where a search may begin: geometries that won elsewhere, for neighbouring
 * shapes, other contracts and formats, other devices of the kind.  They are
 * proposals, tried before the strategy is asked, and cost a trial each.
 */
#ifndef TCB_SEARCH_STARTS_H
#define TCB_SEARCH_STARTS_H

#include <stddef.h>

#include "base/geometry.h"
#include "base/problem.h"
#include "base/status.h"

enum { TCB_STARTS_MAX = 8 };

/* Whose winner it is. */
enum tcb_start_device { TCB_START_OWN, TCB_START_SAME_ARCH, TCB_START_OTHER_ARCH };

/* A geometry that won somewhere else. */
struct tcb_start_winner {
	struct tcb_geometry geometry;
	struct tcb_problem problem; /* with its op */
	enum tcb_start_device device;
	unsigned threads; /* of a CPU; 0: a GPU */
	size_t tried;     /* candidates that it won against, itself included */
	unsigned rank;    /* 0: the winner itself; then those that cannot be told from it, in their order */
	int is_imported;  /* of another tuner's results */
};

/* What it is carried over to. */
struct tcb_start_space {
	const struct tcb_problem *problem;
	unsigned threads; /* of a CPU; 0: a GPU */
	const struct tcb_geometry *geometries;
	size_t count, fallback; /* fallback: the default geometry's index, which is tried anyway; SIZE_MAX: none */
};

struct tcb_start {
	size_t index;   /* of the space */
	size_t winner;  /* whose geometry it is, of those that were given */
	int is_carried; /* as it is or with its tiles grown to the shape; 0: the nearest that the space has */
};

/* How far WINNER's problem is from PROBLEM on a device with so many THREADS, in factors of two; infinite where its
 * op has another kind of space. */
double tcb_start_distance(const struct tcb_start_winner *winner, const struct tcb_problem *problem, unsigned threads);
/* At most MOST of the nearest, each candidate once, the nearest first; returns how many.  TCB_STARTS_MAX at most. */
size_t tcb_starts_choose(const struct tcb_start_space *space, const struct tcb_start_winner *winners, size_t count,
			 size_t most, struct tcb_start out[TCB_STARTS_MAX]);

#endif
