/* SPDX-License-Identifier: MIT
 *
 * Is a format's product faster here or in the host?
 */
#ifndef TCB_GGML_FORMAT_TRIAL_H
#define TCB_GGML_FORMAT_TRIAL_H

#include "host_formats.h"

enum { TRIAL_POINTS = 3 };
/* Tokens: generation, speculation, a prompt. */
static const size_t trial_tokens[TRIAL_POINTS] = { 1, 4, 32 };

/*
 * The host's time over ours for a product of each of trial_tokens, on one thread and from caches: which weights are
 * read from memory gains what smaller numbers say, too.  The host's is that of its fastest buffer type for the format.
 * Of our ops for a few tokens the faster one is put into FORMAT.  In a sandbox: the host's kernels may crash, which is
 * then the host's matter.  0: it could not be measured.  Takes some tens of milliseconds.
 */
int trial_run(const struct tcbrt *rt, int type, struct weights_format *format, double ratio[TRIAL_POINTS]);

#endif
