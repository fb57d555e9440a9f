/* SPDX-License-Identifier: MIT
 *
 * Activations (activations.h): what rows they have, and copying them together.
 */
#include "activations.h"

#include <string.h>

size_t activations_rows(const struct ggml_tensor *tensor)
{
	return (size_t)(tensor->ne[1] * tensor->ne[2] * tensor->ne[3]);
}

bool activations_have_rows(const struct ggml_tensor *tensor)
{
	return tensor->type == GGML_TYPE_F32 && tensor->nb[0] == sizeof(float);
}

bool activations_are_dense(const struct ggml_tensor *tensor)
{
	size_t bytes = sizeof(float);

	for (int i = 0; i < GGML_DIMS; i++) {
		if (tensor->nb[i] != bytes && tensor->ne[i] != 1)
			return false;
		bytes *= (size_t)tensor->ne[i];
	}
	return tensor->type == GGML_TYPE_F32;
}

void activations_gather(const struct ggml_tensor *tensor, void *out)
{
	const size_t bytes = (size_t)tensor->ne[0] * sizeof(float);
	char *to = out;

	for (size_t i = 0; i < activations_rows(tensor); i++, to += bytes) {
		const size_t row = i % (size_t)tensor->ne[1], matrix = i / (size_t)tensor->ne[1];
		const size_t third = matrix % (size_t)tensor->ne[2], fourth = matrix / (size_t)tensor->ne[2];

		memcpy(to,
		       (const char *)tensor->data + row * tensor->nb[1] + third * tensor->nb[2] +
			       fourth * tensor->nb[3],
		       bytes);
	}
}
