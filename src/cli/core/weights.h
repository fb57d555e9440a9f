/* SPDX-License-Identifier: MIT
 *
 * What `run` reads: a tensor of a model file and a file of floats.
 */
#ifndef TCB_CLI_WEIGHTS_H
#define TCB_CLI_WEIGHTS_H

#include "cli/core/setup.h"
#include "gguf/gguf.h"

struct cli_weights {
	char path[CLI_PATH_MAX];
	struct tcb_gguf *gguf; /* keeps the file mapped */
	const struct tcb_gguf_tensor *tensor;
	size_t n, k;
};

/*
 * SPEC is FILE:TENSOR, cut after the last ".gguf", else at the first colon.  The tensor must be a matrix of OP's
 * weight type; a name that is not found gets the nearest ones.
 */
enum tcb_status cli_weights_open(const struct tcb_op *op, const char *spec, struct cli_weights *out,
				 struct tcb_error *err);
void cli_weights_close(struct cli_weights *weights); /* zeroed is fine */

/* Rows of K little-endian floats, at least one; free *OUT.  The file's length gives *ROWS_OUT. */
enum tcb_status cli_read_rows(const char *path, size_t k, float **out, size_t *rows_out, struct tcb_error *err);

#endif
