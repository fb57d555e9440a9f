/* SPDX-License-Identifier: MIT
 *
 * An array grows to twice its size.
 */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>

void *tcb_grow(void *array, size_t count, size_t *capacity, size_t first, size_t each)
{
	const size_t more = *capacity ? 2 * *capacity : first;
	void *grown;
	if (count < *capacity)
		return array;
	grown = more > SIZE_MAX / each ? NULL : realloc(array, more * each);
	if (grown)
		*capacity = more;
	return grown;
}
