/* SPDX-License-Identifier: MIT
 *
 * Values of KV caches as floats and back, lengths and tables of pages as tests and
 * measurements have them.
 */
#include "kernels/kv_cache.h"

#include "base/sizes.h"

void tcb_kv_kind_to_f32(enum tcb_kv_kind kind, const void *from, size_t count, float *out)
{
	const struct tcb_format *blocks = tcb_kv_kind_format(kind);
	if (blocks)
		tcb_dequantize(blocks, from, count / blocks->block_values, out);
	else
		tcb_type_to_f32(tcb_kv_kind_row(kind)->type, from, count, out);
}

void tcb_kv_kind_from_f32(enum tcb_kv_kind kind, const float *values, size_t count, void *out)
{
	const struct tcb_format *blocks = tcb_kv_kind_format(kind);
	if (!blocks)
		tcb_type_from_f32(tcb_kv_kind_row(kind)->type, values, count, out);
	for (size_t i = 0; blocks && i < count; i += blocks->block_values)
		tcb_block_quantize(blocks, values + i, (char *)out + tcb_kv_kind_bytes(kind, i));
}

size_t tcb_kv_length(const struct tcb_shape *shape, size_t sequence)
{
	const size_t sequences = shape->words.sequences;
	if (!shape->words.ragged)
		return shape->n;
	if (sequences >= 4 && sequence + 2 >= sequences)
		return sequences - 1 - sequence;
	return tcb_div_up(shape->n * (sequences - sequence), sequences);
}

void tcb_kv_fill(const struct tcb_shape *shape, struct tcb_rng *rng, int32_t *lengths, int32_t *table)
{
	const size_t each = tcb_kv_pages(shape), count = shape->words.sequences * each;
	for (size_t b = 0; b < shape->words.sequences; b++)
		lengths[b] = (int32_t)tcb_kv_length(shape, b);
	for (size_t i = 0; i < count; i++)
		table[i] = (int32_t)i;
	for (size_t i = count; i > 1; i--) {
		const size_t j = tcb_rng_below(rng, i);
		const int32_t other = table[j];
		table[j] = table[i - 1];
		table[i - 1] = other;
	}
	for (size_t b = 0; each && b < shape->words.sequences; b++)
		for (size_t p = tcb_div_up((size_t)lengths[b], shape->words.page); p < each; p++)
			table[b * each + p] = -1;
}
