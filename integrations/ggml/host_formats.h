/* SPDX-License-Identifier: MIT
 *
 * Weight formats, as the host numbers and names them, and whether the plug-in takes
 * weights of them.
 */
#ifndef TCB_GGML_HOST_FORMATS_H
#define TCB_GGML_HOST_FORMATS_H

#include <stddef.h>

struct tcbrt;

enum { FORMAT_NAME_MAX = 16 };

struct weights_format {
	char name[FORMAT_NAME_MAX]; /* the host's: "q4_K" */
	char op[FORMAT_NAME_MAX];   /* what the library's ops begin with: "q4k" */
	size_t values, bytes;       /* of a block */
	int few_by_matvec;          /* products of a few tokens are the MatVec's, not the matmul's */
};

enum { FEW_TOKENS = 8 };

/* The library's op for products of TOKENS with FORMAT. */
void format_op(const struct weights_format *format, size_t tokens, char out[2 * FORMAT_NAME_MAX]);

/* NULL: there is no such type, the library has no kernels for it, or the host's were faster when it was first asked for
 * (host_formats.c).  Any threads. */
const struct weights_format *weights_format(const struct tcbrt *rt, int type);

#endif
