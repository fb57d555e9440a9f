/* SPDX-License-Identifier: MIT
 *
 * Activations as the host has them: rows of f32, dense or anywhere.
 */
#ifndef TCB_GGML_ACTIVATIONS_H
#define TCB_GGML_ACTIVATIONS_H

#include "interface.h"

/* Rows of all matrices of TENSOR: a matrix of weights serves every one. */
size_t activations_rows(const struct ggml_tensor *tensor);
/* f32, each row's values beside each other. */
bool activations_have_rows(const struct ggml_tensor *tensor);
/* ... and the rows too. */
bool activations_are_dense(const struct ggml_tensor *tensor);
/* Copies the rows to OUT, one behind the other. */
void activations_gather(const struct ggml_tensor *tensor, void *out);

#endif
