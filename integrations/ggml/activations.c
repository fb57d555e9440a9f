/* SPDX-License-Identifier: MIT
 *
 * Activations (activations.h): what rows they have, and copying them together.
 */
#include "activations.h"

#include <string.h>

size_t activations_rows(const struct activations *of)
{
	return of->count[1] * of->count[2] * of->count[3];
}

bool activations_have_rows(const struct activations *of)
{
	return of->is_f32 && of->stride[0] == sizeof(float);
}

bool activations_are_dense(const struct activations *of)
{
	size_t bytes = sizeof(float);

	for (int i = 0; i < ACTIVATIONS_DIMS; i++) {
		if (of->stride[i] != bytes && of->count[i] != 1)
			return false;
		bytes *= of->count[i];
	}
	return of->is_f32;
}

void activations_gather(const struct activations *of, void *out)
{
	const size_t bytes = of->count[0] * sizeof(float);
	char *to = out;

	for (size_t i = 0; i < activations_rows(of); i++, to += bytes) {
		const size_t row = i % of->count[1], matrix = i / of->count[1];
		const size_t third = matrix % of->count[2], fourth = matrix / of->count[2];

		memcpy(to,
		       (const char *)of->data + row * of->stride[1] + third * of->stride[2] + fourth * of->stride[3],
		       bytes);
	}
}
