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
	X(THIN, "thin")               \
	X(NOISY, "noisy")             \
	X(TUNED, "tuned")
enum tcb_verdict {
#define TCB_VERDICT_ENUM(id, text) TCB_VERDICT_##id,
	TCB_VERDICT_LIST(TCB_VERDICT_ENUM)
#undef TCB_VERDICT_ENUM
		TCB_VERDICT_COUNT
};

enum { TCB_VERDICT_REASON_MAX = 256 };

const char *tcb_verdict_text(enum tcb_verdict verdict);
/*
 * stale: IS_STALE, its kernel has changed since; modelled: never measured; provisional: its finals were not held, or
 * did not know all; thin: too little of the space was seen for what is expected of going on; noisy: its gain or its
 * time is known too roughly; tuned: none of these.  docs/measuring.md has the thresholds.
 */
enum tcb_verdict tcb_best_verdict(const struct tcb_best *best, int is_stale);
/* The figures behind VERDICT on BEST, in one line. */
void tcb_verdict_reason(const struct tcb_best *best, enum tcb_verdict verdict, char out[TCB_VERDICT_REASON_MAX]);

#endif
