/* SPDX-License-Identifier: MIT
 *
 * An array that grows, of what malloc gives: its owner keeps pointer, count and capacity.
 */
#ifndef TCB_BASE_GROW_H
#define TCB_BASE_GROW_H

#include <stddef.h>

/* ARRAY, of *CAPACITY elements of EACH bytes (NULL: of none), with room for more than COUNT: as it is, or moved to
 * where there is twice the room, FIRST at the beginning.  NULL when memory is exhausted; then nothing has changed. */
void *tcb_grow(void *array, size_t count, size_t *capacity, size_t first, size_t each);

#endif
