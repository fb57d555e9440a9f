/* SPDX-License-Identifier: MIT
 *
 * Status codes and the error out-parameter.
 *
 * Every function that can fail for a reason outside the program returns an
 * enum tcb_status and fills a nullable struct tcb_error, its last parameter.
 * There is no global "last error".  The one list below holds each code, its
 * name and the exit status of the command line (SPEC section 10: 0 ok,
 * 1 failure, 2 usage, 3 nothing found, 4 verification failed, 130 interrupted; of
 * a judged kernel: 5 cheats, 6 not fast enough, 7 could not be judged).
 */
#ifndef TCB_BASE_STATUS_H
#define TCB_BASE_STATUS_H

/* X(code, exit status, text).  The numbers are pinned: append only. */
#define TCB_STATUS_LIST(X)                                   \
	X(OK, 0, "ok")                                       \
	X(E_FAILED, 1, "failed")                             \
	X(E_USAGE, 2, "wrong usage")                         \
	X(E_NOT_FOUND, 3, "nothing found")                   \
	X(E_VERIFY, 4, "verification failed")                \
	X(E_INTERRUPTED, 130, "interrupted")                 \
	X(E_NOMEM, 1, "out of memory")                       \
	X(E_IO, 1, "input or output failed")                 \
	X(E_FORMAT, 1, "malformed data")                     \
	X(E_OVERFLOW, 2, "size overflow")                    \
	X(E_ILLEGAL, 2, "illegal geometry")                  \
	X(E_UNSUPPORTED, 2, "not supported on this machine") \
	X(E_BUSY, 1, "busy")                                 \
	X(E_VERSION, 1, "version mismatch")                  \
	X(E_STALE, 3, "stale entry")                         \
	X(E_CHEATS, 5, "breaks the rules")                   \
	X(E_NOT_FASTER, 6, "not fast enough")                \
	X(E_UNDECIDED, 7, "could not be judged")

enum tcb_status {
#define TCB_STATUS_ENUM(code, exit_status, text) TCB_##code,
	TCB_STATUS_LIST(TCB_STATUS_ENUM)
#undef TCB_STATUS_ENUM
		TCB_STATUS_COUNT
};

/* What went wrong and what to do about it: one line, no newline. */
struct tcb_error {
	enum tcb_status status;
	char message[512];
};

const char *tcb_status_text(enum tcb_status status);
int tcb_status_exit(enum tcb_status status);

/* Fills ERR (may be NULL) with STATUS and the formatted line; returns STATUS. */
enum tcb_status tcb_fail(struct tcb_error *err, enum tcb_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the status of EXPR from the calling function unless it is TCB_OK. */
#define TCB_TRY(expr)                                    \
	do {                                             \
		enum tcb_status tcb_try_status = (expr); \
		if (tcb_try_status != TCB_OK)            \
			return tcb_try_status;           \
	} while (0)

#endif
