/* SPDX-License-Identifier: MIT
 *
 * Runs a file of compiled candidates on a GPU and compares each with its
 * reference.
 */
#ifndef TCB_TESTS_CANDIDATE_RUN_H
#define TCB_TESTS_CANDIDATE_RUN_H

#include <stddef.h>

#include "base/status.h"

struct candidate_tally {
	size_t candidates, runs; /* a run is one candidate at one shape, called twice */
	size_t wrong, failed;    /* candidates; FAILED: they cannot be loaded or launched */
	size_t planted;          /* candidates with a defect; they count as neither */
};

/* Prints a line for each candidate.  Stops with TCB_E_FAILED at one that spoils the context; TCB_E_UNSUPPORTED without
 * a GPU. */
enum tcb_status candidates_run(const char *path, int ordinal, struct candidate_tally *out, struct tcb_error *err);

#endif
