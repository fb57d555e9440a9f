/* SPDX-License-Identifier: MIT
 *
 * What a measured kernel is bound by, from measured facts alone: the limits that
 * were timed beside it, counters, what is known of its code.  What these do not
 * decide is unknown, with what would decide it.  docs/bottleneck.md has the
 * rules and says where the thresholds come from.
 */
#ifndef TCB_SEARCH_BOTTLENECK_H
#define TCB_SEARCH_BOTTLENECK_H

#include "base/trial.h"

#define TCB_BOTTLENECK_LIST(X)    \
	X(UNKNOWN, "unknown")     \
	X(LAUNCH, "launch")       \
	X(BANDWIDTH, "bandwidth") \
	X(COMPUTE, "compute")     \
	X(ISSUE, "issue")         \
	X(LATENCY, "latency")
enum tcb_bottleneck_kind {
#define TCB_BOTTLENECK_ENUM(id, text) TCB_BOTTLENECK_##id,
	TCB_BOTTLENECK_LIST(TCB_BOTTLENECK_ENUM)
#undef TCB_BOTTLENECK_ENUM
		TCB_BOTTLENECK_COUNT
};

/* From which share on a limit counts as reached (docs/bottleneck.md). */
#define TCB_BOUND_LAUNCH 0.5
#define TCB_BOUND_BANDWIDTH 0.8
#define TCB_BOUND_COMPUTE 0.5
/* Of a specified compute limit below this share: GPUs do half of what their makers specify, and more. */
#define TCB_BOUND_SPECIFIED 0.25
#define TCB_BOUND_ISSUE 0.6
#define TCB_BOUND_CORE 0.8
#define TCB_BOUND_MEMORY 0.6

/* How far a limit that was timed beside a kernel says something of it. */
enum tcb_limit_use {
	TCB_LIMIT_HOLDS,
	TCB_LIMIT_BEYOND, /* the kernel took clearly less time than the limit's loop, which is then no limit */
	TCB_LIMIT_NOISY,  /* the interval of the limit's loop is too wide to say more than that */
};

/* Intervals with median 0 and numbers that are NaN are unknown. */
struct tcb_bottleneck_facts {
	const struct tcb_kind *device;
	int has_weights; /* it multiplies weights, which could be of another format; softmax and norms do not */
	enum tcb_state state;
	int is_overlapped;           /* calls begin before the one before them has ended */
	int is_limit_overlapped;     /* so do those of the read limit's loop */
	int is_matrix;               /* the arithmetic is done by matrix instructions, of which few keep a unit busy */
	double bytes, operations;    /* compulsory, of one call */
	struct tcb_interval ns;      /* of one call */
	struct tcb_interval read;    /* the read (or copy) limit's time over the call's */
	enum tcb_limit_use read_use; /* where it HOLDS all follows from READ */
	struct tcb_interval compute; /* the same arithmetic's time over the call's, where nothing else is done */
	enum tcb_limit_use compute_use;
	const char *compute_source; /* "measured", or whose specification it is */
	int compute_is_specified;   /* the rate is the maker's, which is more than the device does: COMPUTE is too small
				     */
	double fixed_ns;            /* of a call's time, what the limit's loop takes whatever it reads */
	double core;   /* a CPU's: the problem's time hot over its time cold, where hot it is not at the read limit */
	double issue;  /* share of the cycles in which an instruction is issued, counted */
	double memory; /* share of the memory's nominal rate, counted */
	double warps;  /* share of the warps that may be resident, counted */
	double registers; /* of a thread */
	/* What the checker sees in a GPU's kernel: accesses with bank conflicts and the worst's wavefronts over those
	 * that it needs, and the same of sectors of global memory; 0 or NaN: none, or unknown. */
	double bank_conflicts, conflict_ways, uncoalesced, sector_ways, spills;
};

/* A roofline in numbers: rates in bytes and operations a nanosecond; NaN: unknown. */
struct tcb_roofline {
	double intensity;                   /* operations per byte */
	double byte_rate, operation_rate;   /* achieved */
	double byte_limit, operation_limit; /* by the limits that were measured beside it */
	double ridge;                       /* the intensity at which both limits take as long */
};

enum { TCB_BOTTLENECK_TEXT_MAX = 384 };
struct tcb_bottleneck {
	enum tcb_bottleneck_kind kind;
	struct tcb_roofline roofline;
	char evidence[TCB_BOTTLENECK_TEXT_MAX]; /* the figures, "96 % of the read limit" */
	char advice[TCB_BOTTLENECK_TEXT_MAX]; /* what would have to change; of what is unknown: what would decide it */
};

void tcb_bottleneck_find(const struct tcb_bottleneck_facts *facts, struct tcb_bottleneck *out);
const char *tcb_bottleneck_text(enum tcb_bottleneck_kind kind);

#endif
