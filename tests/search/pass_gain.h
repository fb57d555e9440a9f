/* SPDX-License-Identifier: MIT
 *
 * The part of pass_gain that needs a GPU.
 */
#ifndef TCB_TESTS_PASS_GAIN_H
#define TCB_TESTS_PASS_GAIN_H

#include <stddef.h>

#include "base/status.h"

/*
 * Times the candidates of the file at PATH in ROUNDS rounds, cold ones over copies of ROTATION_BYTES together: records
 * of one problem, state and geometry that follow each other are one group, the first of which is what the others are
 * compared with.  Prints a line for each, and at the end for each label how many are certainly faster and slower.
 * TCB_E_UNSUPPORTED without a GPU, TCB_E_VERIFY where a candidate's output is not that of its group's first, bit by
 * bit.
 */
enum tcb_status pass_gain_run(const char *path, size_t rounds, size_t rotation_bytes, struct tcb_error *err);

#endif
