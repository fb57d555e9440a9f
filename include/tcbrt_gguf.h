/* SPDX-License-Identifier: MIT
 *
 * libtcbrt: GGUF model files, tensors with what ops of their weights are called, and keys.
 *
 * Files are of versions 2 and 3, as llama.cpp writes them.
 *
 *     struct tcbrt_gguf *model;
 *     struct tcbrt_gguf_tensor q;
 *     char op[TCBRT_VARIANT_MAX];
 *
 *     tcbrt_gguf_open("model.gguf", &model, &err);
 *     tcbrt_gguf_find(model, "blk.0.attn_q.weight", &q, &err);
 *     snprintf(op, sizeof(op), "%s_matvec", q.format);
 *
 *     struct tcbrt_query query = { .op = op, .m = 1, .n = q.dims[1], .k = q.dims[0] };
 *
 *     tcbrt_plan_create, tcbrt_weights_alloc: tcbrt.h
 *
 *     tcbrt_pack(plan, q.data, packed);
 *
 * The file is mapped, not copied.  All lengths in it are checked when it is opened, so that it may come from anybody;
 * it must not be cut short while it is open.  Any number of threads may use one struct tcbrt_gguf at once.
 */
#ifndef TCBRT_GGUF_H
#define TCBRT_GGUF_H

#include <tcbrt.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tcbrt_gguf;

/* TCBRT_E_IO: it cannot be read.  TCBRT_E_FORMAT: it is not a whole GGUF file.  On failure *OUT is NULL. */
TCBRT_API int tcbrt_gguf_open(const char *path, struct tcbrt_gguf **out, struct tcbrt_error *err);
TCBRT_API void tcbrt_gguf_close(struct tcbrt_gguf *gguf); /* NULL is fine */

enum { TCBRT_GGUF_DIMS_MAX = 4, TCBRT_FORMAT_MAX = 16 };

/* It points into the file. */
struct tcbrt_gguf_tensor {
	const char *name; /* NAME_LENGTH characters, without a NUL behind them */
	size_t name_length;
	unsigned type; /* as ggml numbers it */
	/* What names of ops begin with whose weights are of this type: "q4k", "f16"; "": there are none. */
	char format[TCBRT_FORMAT_MAX];
	size_t dims[TCBRT_GGUF_DIMS_MAX]; /* K, N, experts; 1 where there are fewer */
	const void *data;
	size_t bytes; /* 0: of a type that this library does not know */
	size_t reserved[2];
};

/* TCBRT_E_NOT_FOUND: no tensor of that name. */
TCBRT_API int tcbrt_gguf_find(const struct tcbrt_gguf *gguf, const char *name, struct tcbrt_gguf_tensor *out,
			      struct tcbrt_error *err);
/* Tensor INDEX, in the file's order.  TCBRT_E_NOT_FOUND: there are not so many. */
TCBRT_API int tcbrt_gguf_tensor(const struct tcbrt_gguf *gguf, size_t index, struct tcbrt_gguf_tensor *out);

/*
 * The value of key NAME ("llama.block_count", "general.architecture"), item INDEX where it is an array, else 0.
 * TCBRT_E_NOT_FOUND: no such key or item, or it is not a number (1 and 0 are true and false), or not a text; *OUT is as
 * it was then, so that a default may be in it.  *TEXT has *LENGTH characters, without a NUL behind them.
 */
TCBRT_API int tcbrt_gguf_number(const struct tcbrt_gguf *gguf, const char *name, size_t index, double *out);
TCBRT_API int tcbrt_gguf_text(const struct tcbrt_gguf *gguf, const char *name, size_t index, const char **text,
			      size_t *length);
/* The number of key NAME of the file's architecture: of "attention.head_count" llama.attention.head_count, say; item
 * LAYER where there is one for each layer, else the only one. */
TCBRT_API int tcbrt_gguf_parameter(const struct tcbrt_gguf *gguf, const char *name, size_t layer, double *out);

/*
 * The operand `rotation` of rope_append_* as the model has it: of POSITIONS positions, from 0 on, COLUMNS / 2 cosines,
 * then as many sines, in f32.  COLUMNS, even, is how many values of a head are rotated.  What the file says of the
 * base, of linear or YaRN interpolation and of a factor for each angle (rope_freqs.weight) is in them; IS_WINDOWED: of
 * layers that see a window and have a base of their own (Gemma).  TCBRT_E_FORMAT: it says what cannot be.
 */
TCBRT_API int tcbrt_gguf_rotation(const struct tcbrt_gguf *gguf, size_t columns, int is_windowed, size_t positions,
				  float *out, struct tcbrt_error *err);

#ifdef __cplusplus
}
#endif

#endif
