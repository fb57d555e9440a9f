/* SPDX-License-Identifier: MIT
 *
 * The figures of a result that several commands show: % LIMIT, x DEFAULT, and
 * what programs get.
 * `report`, `model`, `bench`, `lookup --explain`, the HTML page and the words of
 * what binds a kernel all take them from here, so that they agree.
 */
#ifndef TCB_CLI_FIGURES_H
#define TCB_CLI_FIGURES_H

#include "cli/emit.h"
#include "db/db.h"
#include "search/bottleneck.h"

/* A time held against the limit of its bytes or of its arithmetic. */
struct cli_limit {
	const char *name;             /* "read limit", static */
	const char *method;           /* its loop, lent by the row; "" where only its result was handed in */
	struct tcb_interval ns;       /* what the limit's loop takes */
	struct tcb_interval of_limit; /* that over the kernel's time: the median is the quotient of both medians, the
				       * ends are those that the two intervals allow; zeros: not known */
	enum tcb_limit_use use;
	const char *note; /* why the share is not shown as a number, static; NULL where it is */
};

/* A kernel of GEOMETRY (text) that takes NS against a loop of NAME that takes LIMIT_NS. */
struct cli_limit cli_limit_make(const char *name, const struct tcb_interval *ns, const struct tcb_interval *limit_ns,
				const char *geometry);
/* "copy limit" or "read limit", by the loop that METHOD names. */
const char *cli_limit_name(const char *method);
/* Of BEST against the loop that only reads (or copies) the same bytes. */
struct cli_limit cli_limit_of_bytes(const struct tcb_best *best);
/* Operations a nanosecond that BEST's device has of the arithmetic that its contract asks for, as it was measured, or
 * of a card that was modelled as its maker specifies it; 0: not known.  SOURCE_OUT says which, static. */
double cli_compute_rate(const struct tcb_best *best, const char **source_out);
/* What the maker specifies for BEST's device at a clock of MHZ; 0: not known. */
double cli_specified_rate(const struct tcb_best *best, double mhz);
/* Of BEST against as many operations at that rate. */
struct cli_limit cli_limit_of_arithmetic(const struct tcb_best *best);
/* The same at RATE. */
struct cli_limit cli_limit_at(const struct tcb_best *best, double rate);
/* % LIMIT of BEST: against the limit that takes longest of those that were measured. */
struct cli_limit cli_limit_of(const struct tcb_best *best);
int cli_limit_is_known(const struct cli_limit *limit);
void cli_limit_text(const struct cli_limit *limit, char out[CLI_NUMBER_MAX]); /* per cent, ">100", "?" or "-" */
const char *cli_limit_use_text(enum tcb_limit_use use);                       /* "beyond" */
/* PAIRED's ends around SHARE's median, which stays; widened where it is outside of them. */
struct tcb_interval cli_limit_paired(const struct tcb_interval *of_limit, const struct tcb_interval *paired);

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
