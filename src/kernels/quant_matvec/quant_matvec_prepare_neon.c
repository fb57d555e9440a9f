/* SPDX-License-Identifier: MIT
 *
 * Activations for the kernels (quant_matvec_prepare.h), compiled for NEON.
 */
#include "kernels/quant_matvec/quant_matvec_prepare.h"

void qmv_prepare_q8_neon(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out)
{
	prepare_q8(format, x, k, out);
}

void qmv_prepare_f32_neon(const struct tcb_format *format, int as_they_are, const float *x, size_t k,
			  struct qmv_x32 *out)
{
	if (as_they_are)
		prepare_f32(format, 1, x, k, out);
	else
		prepare_f32(format, 4, x, k, out);
}
