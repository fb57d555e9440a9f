/* SPDX-License-Identifier: MIT
 *
 * C++ names of kernels, variables and parameters as their authors wrote them.
 */
#ifndef TCB_CLI_DEMANGLE_H
#define TCB_CLI_DEMANGLE_H

#include "base/util.h"

/* Adds TEXT with each mangled name in it (_Z...) demangled: "race<float>(float*)".  As it is where nothing can demangle
 * it on this machine. */
void cli_add_demangled(struct tcb_str *out, const char *text);

#endif
