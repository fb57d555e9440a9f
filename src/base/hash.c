/* SPDX-License-Identifier: MIT
 *
 * XXH3 through the xxHash library.
 */
#include <inttypes.h>
#include <stdio.h>

#define XXH_INLINE_ALL /* nothing to link */
#include <xxhash.h>

#include "base/util.h"

uint64_t tcb_hash64(const void *data, size_t bytes, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, bytes, seed);
}

void tcb_hash_hex(const void *data, size_t bytes, char out[17])
{
	snprintf(out, 17, "%016" PRIx64, tcb_hash64(data, bytes, 0));
}
