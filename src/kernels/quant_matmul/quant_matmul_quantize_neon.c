/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (quant_matmul_quantize.h), compiled for NEON.
 */
#include "kernels/quant_matmul/quant_matmul_quantize.h"

void qmm_quantize_neon(enum tcb_format_id format, const float *x, size_t x_stride, size_t tokens, size_t tile, size_t k,
		       struct qmm_x8 *out)
{
	quantize(format, x, x_stride, tokens, tile, k, out);
}
