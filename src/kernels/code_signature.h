/* SPDX-License-Identifier: MIT
 *
 * What signs a CPU's variant: a hash of the machine code of its entry and of
 * all that this reaches, functions and constants, without addresses, and of the
 * functions that it runs with.  The build
 * takes it from the object files (cmake/sign_code.c), so a comment, a header
 * that is used elsewhere or another folder change none; another compiler,
 * other flags and assertions do.
 */
#ifndef TCB_KERNELS_CODE_SIGNATURE_H
#define TCB_KERNELS_CODE_SIGNATURE_H

#include <stddef.h>

#include "kernels/op.h"

struct tcb_signed_variant {
	const char *name;
	char signature[TCB_SIGNATURE_MAX];
};
/* Written by the build, sorted by name. */
extern const struct tcb_signed_variant tcb_signed_variants[];
extern const size_t tcb_signed_variant_count;

#endif
