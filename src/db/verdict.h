/* SPDX-License-Identifier: MIT
 *
 * The verdict on a stored winner: how far a reader may rely on it.  One word
 * for people and programs, drawn from what its row says.
 */
#ifndef TCB_DB_VERDICT_H
#define TCB_DB_VERDICT_H

#include "db/db.h"

/* In the order in which they are asked for: the first that holds is the verdict. */
#define TCB_VERDICT_LIST(X)           \
	X(STALE, "stale")             \
	X(MODELLED, "modelled")       \
	X(PROVISIONAL, "provisional") \
	X(NOISY, "noisy")             \
	X(THIN, "thin")               \
	X(TUNED, "tuned")
enum tcb_verdict {
#define TCB_VERDICT_ENUM(id, text) TCB_VERDICT_##id,
	TCB_VERDICT_LIST(TCB_VERDICT_ENUM)
#undef TCB_VERDICT_ENUM
		TCB_VERDICT_COUNT
};

enum { TCB_VERDICT_REASON_MAX = 384 };

const char *tcb_verdict_text(enum tcb_verdict verdict);
/*
 * stale: IS_STALE, its kernel has changed since; modelled: never measured; provisional: its finals were not held, or
 * did not know all; noisy: its gain or its time is known too roughly, or others disturbed too many rounds of its
 * finals; thin: too little of the space was seen for what is expected of going on; tuned: none of these.
 * docs/measuring.md has the thresholds.
 */
enum tcb_verdict tcb_best_verdict(const struct tcb_best *best, int is_stale);
/* Is BEST, which was measured, noisy, whatever else it is?  A noisy winner never replaces one that is not. */
int tcb_best_is_noisy(const struct tcb_best *best);
/*
 * Whether a gain of SPEEDUP over the default, the best of TRIED candidates, is so large and sure that it is believed of
 * another version of the kernel, too, or of another compiler's: programs get such a stale winner, as source "earlier",
 * where the default is still the same.
 */
int tcb_gain_is_believed(const struct tcb_interval *speedup, size_t tried);
/* The figures behind VERDICT on BEST, in one line; where it is noisy and thin, those of both. */
void tcb_verdict_reason(const struct tcb_best *best, enum tcb_verdict verdict, char out[TCB_VERDICT_REASON_MAX]);

/*
 * Why programs get the default in place of a stored winner.  X(id, text): the text goes on from "programs get the
 * default: ".
 */
#define TCB_UNSERVED_LIST(X)                                                                                        \
	X(NOT, "")                                                                                                  \
	X(STALE, "its kernel has changed since it was measured")                                                    \
	X(SLOWER, "it is not surely faster than the default")                                                       \
	X(NOISY, "others disturbed its measurement")                                                                \
	X(FEWER_THREADS, "it takes fewer threads than there are, and too few candidates were compared to say that") \
	X(OTHER_DEFAULT, "it is the best of few candidates, beside a default that is another now")
enum tcb_unserved {
#define TCB_UNSERVED_ENUM(id, text) TCB_UNSERVED_##id,
	TCB_UNSERVED_LIST(TCB_UNSERVED_ENUM)
#undef TCB_UNSERVED_ENUM
		TCB_UNSERVED_COUNT
};
/* TCB_UNSERVED_NOT: programs that ask for the very problem, device and threads of BEST get it.  The one place that
 * decides this.  IS_STALE: its kernel has changed since; IS_OTHER_DEFAULT: today's default is not the one that was
 * measured beside it. */
enum tcb_unserved tcb_best_unserved(const struct tcb_best *best, int is_stale, int is_other_default);
const char *tcb_unserved_text(enum tcb_unserved unserved);

#endif
