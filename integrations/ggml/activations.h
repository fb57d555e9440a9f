/* SPDX-License-Identifier: MIT
 *
 * Activations as the host has them: rows of f32, dense or anywhere.
 */
#ifndef TCB_GGML_ACTIVATIONS_H
#define TCB_GGML_ACTIVATIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { ACTIVATIONS_DIMS = 4 };

/* A tensor's values, whatever the generation of the struct that it is in; the contiguous dimension first. */
struct activations {
	bool is_f32;
	size_t count[ACTIVATIONS_DIMS], stride[ACTIVATIONS_DIMS]; /* elements; bytes from one to the next */
	const void *data;
};

/* Rows of all matrices: a matrix of weights serves every one. */
size_t activations_rows(const struct activations *of);
/* f32, each row's values beside each other. */
bool activations_have_rows(const struct activations *of);
/* ... and the rows too. */
bool activations_are_dense(const struct activations *of);
/* Copies the rows to OUT, one behind the other. */
void activations_gather(const struct activations *of, void *out);

#endif
