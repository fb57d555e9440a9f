/* SPDX-License-Identifier: MIT
 *
 * A score and its column as one number, of which the larger comes first: no two are equal.
 * Selecting the largest of such numbers.
 */
#ifndef TCB_KERNELS_TOPK_KEYS_H
#define TCB_KERNELS_TOPK_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits of floats in the order of the floats; of NaNs 0, below -inf. */
static inline uint32_t topk_rank(float value)
{
	uint32_t bits;
	value += 0.0f; /* no -0 */
	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x7fffffff) > 0x7f800000)
		return 0;
	return bits >> 31 ? ~bits : bits | 0x80000000;
}

static inline uint64_t topk_key(float value, size_t column)
{
	return (uint64_t)topk_rank(value) << 32 | (UINT32_MAX - (uint32_t)column);
}

static inline size_t topk_column(uint64_t key)
{
	return UINT32_MAX - (uint32_t)key;
}

static inline void topk_swap(uint64_t *a, uint64_t *b)
{
	const uint64_t other = *a;
	*a = *b;
	*b = other;
}

/* The K largest of COUNT keys to the front, in any order; Hoare's FIND. */
static inline void topk_select(uint64_t *keys, size_t count, size_t k)
{
	size_t low = 0, high = count;
	while (high - low > 1 && k > low && k < high) {
		const uint64_t pivot = keys[low + (high - low) / 2];
		size_t i = low, j = high - 1;
		for (;; i++, j--) {
			while (keys[i] > pivot)
				i++;
			while (keys[j] < pivot)
				j--;
			if (i >= j)
				break;
			topk_swap(&keys[i], &keys[j]);
		}
		const size_t middle =
			i + (i == j); /* before it there is nothing below the pivot, behind it nothing above */
		if (k < middle)
			high = middle == high ? high - 1 : middle;
		else
			low = middle == low ? low + 1 : middle;
	}
}

/* KEYS[AT] down to where it belongs in a heap of COUNT keys, whose first one is the smallest. */
static inline void topk_sift(uint64_t *keys, size_t at, size_t count)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && keys[child + 1] < keys[child])
			child++;
		if (keys[at] <= keys[child])
			return;
		topk_swap(&keys[at], &keys[child]);
	}
}

/* Descending. */
static inline void topk_sort(uint64_t *keys, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		topk_sift(keys, i, count);
	for (size_t left = count; left > 1;) {
		topk_swap(&keys[0], &keys[--left]);
		topk_sift(keys, 0, left);
	}
}

#endif
