/* SPDX-License-Identifier: MIT
 *
 * FP8 as files have it, bytes of E4M3 and an array of scales, to blocks of 128
 * values with their scale (formats.h).
 */
#include <string.h>

#include "kernels/formats.h"

static const struct tcb_format *fp8(void)
{
	return tcb_format(TCB_FORMAT_FP8);
}

static size_t row_blocks(size_t k)
{
	return k / fp8()->block_values + (k % fp8()->block_values != 0);
}

size_t tcb_fp8_bytes(size_t rows, size_t k)
{
	return rows * row_blocks(k) * fp8()->block_bytes;
}

enum tcb_status tcb_fp8_blocks(size_t rows, size_t k, const void *values, const float *scale, size_t scale_rows,
			       size_t scale_columns, void *out, struct tcb_error *err)
{
	const struct tcb_format *f = fp8();
	const size_t scales = k && scale_columns ? (k - 1) / scale_columns + 1 : 0; /* of a row */
	const uint8_t *from = values;
	uint8_t *block = out;
	if (!rows || !k || !scale_rows || !scale_columns || (scale_columns % f->block_values && scale_columns < k))
		return tcb_fail(
			err, TCB_E_USAGE,
			"FP8 of %zux%zu with a scale for %zux%zu values: rows, columns and values of a scale must "
			"be 1 or more, columns of a scale a multiple of %zu or all",
			rows, k, scale_rows, scale_columns, f->block_values);
	for (size_t r = 0; r < rows; r++, from += k)
		for (size_t first = 0; first < k; first += f->block_values, block += f->block_bytes) {
			const size_t left = k - first, count = left < f->block_values ? left : f->block_values;
			memcpy(block + f->d_at, &scale[r / scale_rows * scales + first / scale_columns], sizeof(float));
			memcpy(block + f->codes_at, from + first, count);
			memset(block + f->codes_at + count, 0, f->block_values - count);
			for (size_t i = 0; i < count; i++)
				if (tcb_e4m3_is_nan(from[first + i]))
					return tcb_fail(err, TCB_E_FORMAT, "value (%zu, %zu) of FP8 is a NaN", r,
							first + i);
		}
	return TCB_OK;
}
