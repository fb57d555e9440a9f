/* SPDX-License-Identifier: MIT
 *
 * Looks variants up in the table of signatures that the build made.  What signs
 * a CPU's variant is a hash of the machine code of its entry and of all that
 * this reaches, functions and constants, without addresses, and of the
 * functions that it runs with.  The build takes it from the object files
 * (cmake/sign_code.c), so a comment, a header that is used elsewhere or another
 * folder change none; another compiler, other flags and assertions do.
 */
#include "kernels/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *variant)
{
	return strcmp(name, ((const struct tcb_signed_variant *)variant)->name);
}

const char *tcb_variant_signature(const struct tcb_variant *variant)
{
	const struct tcb_signed_variant *found;
	if (variant->signature || !variant->signed_in)
		return variant->signature;
	found = bsearch(variant->name, variant->signed_in, tcb_signed_variant_count, sizeof(*found), by_name);
	assert(found); /* all rows that name the table are in it */
	return found->signature;
}
