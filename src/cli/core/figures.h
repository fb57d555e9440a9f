/* SPDX-License-Identifier: MIT
 *
 * The figures of a result that several commands show: % LIMIT, x DEFAULT, and
 * what programs get.
 * `report`, `model`, `bench`, `lookup --explain`, the HTML page and the words of
 * what binds a kernel all take them from here, so that they agree.
 */
#ifndef TCB_CLI_FIGURES_H
#define TCB_CLI_FIGURES_H

#include "cli/core/emit.h"
#include "db/db.h"
#include "search/bottleneck.h"

/* A time held against the limit of its bytes or of its arithmetic. */
struct cli_limit {
	const char *name;             /* "read limit", static */
	const char *method;           /* its loop, lent by the row; "" where only its result was handed in */
	const char *source;           /* of a compute limit: who says how fast it is, static; else NULL */
	struct tcb_interval ns;       /* what the limit's loop takes */
	struct tcb_interval of_limit; /* that over the kernel's time: the median is the quotient of both medians, the
				       * ends are those that the two intervals allow; zeros: unknown */
	enum tcb_limit_use use;
	int is_specified; /* the limit is not measured but its maker's word, of a result that was measured */
	const char *note; /* why the share is not shown as a number, or what its mark means, static; NULL: nothing */
};

/* A kernel of GEOMETRY (text) that takes NS against a loop of NAME that takes LIMIT_NS. */
struct cli_limit cli_limit_make(const char *name, const struct tcb_interval *ns, const struct tcb_interval *limit_ns,
				const char *geometry);
/* "copy limit" or "read limit", by the loop that METHOD names. */
const char *cli_limit_name(const char *method);
/* Of BEST against the loop that only reads (or copies) the same bytes. */
struct cli_limit cli_limit_of_bytes(const struct tcb_best *best);
/* Of BEST against as many operations of the arithmetic that its contract asks for, at the rate that was measured on its
 * device; where none was, at that which a GPU's maker specifies at the nominal clock, which is more than it does: the
 * share is larger. */
struct cli_limit cli_limit_of_arithmetic(const struct tcb_best *best);
/* % LIMIT of BEST: against that of both limits which takes longer. */
struct cli_limit cli_limit_of(const struct tcb_best *best);
int cli_limit_is_known(const struct cli_limit *limit);
/* Per cent, "~41.2" where the limit is specified, ">100", "?" or "-". */
void cli_limit_text(const struct cli_limit *limit, char out[CLI_NUMBER_MAX]);
const char *cli_limit_use_text(const struct cli_limit *limit); /* "beyond", "specified" of one that holds */
/* PAIRED's ends around SHARE's median, which stays; widened where it is outside of them. */
struct tcb_interval cli_limit_paired(const struct tcb_interval *of_limit, const struct tcb_interval *paired);

/* Bytes over nanoseconds is GB/s; 0 where the time is unknown. */
double cli_best_gbs(const struct tcb_best *best);

/* x DEFAULT, paired: "1.531". */
void cli_speedup_text(const struct tcb_best *best, char out[CLI_NUMBER_MAX]);
/* "1.531 [1.502, 1.554]"; without an interval of what was never measured. */
void cli_speedup_interval_text(const struct tcb_best *best, char out[CLI_NUMBER_MAX]);

/* What libtcbrt answers with at the very problem, device and threads of a stored winner (rt/rt_exact.c). */
enum cli_served {
	CLI_SERVED_WINNER,
	CLI_SERVED_DEFAULT, /* tcb_best_unserved (db/verdict.h) says why */
	CLI_SERVED_EARLIER, /* the winner's kernel has changed, and it surely gained so much that it is served still */
	CLI_SERVED_REFUSED, /* the winner's kernel has changed: a near shape's, else the default */
};
enum cli_served cli_served_of(const struct tcb_best *best, int is_stale);
const char *cli_served_text(enum cli_served served); /* "default" */

#endif
