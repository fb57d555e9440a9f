/* SPDX-License-Identifier: MIT
 *
 * libtcbrt: weights in FP8, as DeepSeek and vLLM store them, for the ops fp8_matvec, fp8_matmul and so on.
 *
 * Files have two arrays: N x K bytes of E4M3 (torch.float8_e4m3fn), and scales in f32.  The ops take blocks of both:
 *
 *     blocks = malloc(tcbrt_fp8_bytes(n, k));
 *     tcbrt_fp8_blocks(n, k, weight, weight_scale_inv, 128, 128, blocks, &err);   DeepSeek: a scale for 128 x 128
 *     tcbrt_fp8_blocks(n, k, weight, weight_scale, 1, k, blocks, &err);           vLLM: a scale for each row
 *     tcbrt_plan_create(rt, &query, &plan, &err);                                 query.op "fp8_matvec"
 *     tcbrt_pack(plan, blocks, packed);                                           tcbrt.h
 *
 * A block is an f32, its scale, and 128 bytes of a row, so that a row is all that a kernel reads and nothing is
 * rounded.  Rows end with whole blocks: where K is not a multiple of 128, query.k is the next one, and activations have
 * zeros there.  Experts' matrices follow each other.
 */
#ifndef TCBRT_FP8_H
#define TCBRT_FP8_H

#include <tcbrt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the blocks of ROWS rows of K values. */
TCBRT_API size_t tcbrt_fp8_bytes(size_t rows, size_t k);

/*
 * ROWS rows of K bytes at VALUES to blocks at OUT.  SCALE has one for SCALE_ROWS rows and SCALE_COLUMNS columns, in
 * rows of ceil(K / SCALE_COLUMNS); a value is byte times scale.  One scale of all: ROWS and K.  SCALE_COLUMNS is a
 * multiple of 128, or K or more.  TCBRT_E_FORMAT: a byte is a NaN (0x7f, 0xff), of which products would make some
 * number; OUT is then written in part.  ERR may be NULL.
 */
TCBRT_API int tcbrt_fp8_blocks(size_t rows, size_t k, const void *values, const float *scale, size_t scale_rows,
			       size_t scale_columns, void *out, struct tcbrt_error *err);

#ifdef __cplusplus
}
#endif

#endif
