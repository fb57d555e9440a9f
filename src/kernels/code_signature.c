/* SPDX-License-Identifier: MIT
 *
 * Looks variants up in the table of signatures that the build made.
 */
#include "kernels/code_signature.h"

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
	if (variant->signature || !variant->source)
		return variant->signature;
	found = bsearch(variant->name, tcb_signed_variants, tcb_signed_variant_count, sizeof(*found), by_name);
	assert(found); /* all rows with a source are signed */
	return found->signature;
}
