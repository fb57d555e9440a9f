/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of the ops qXX_get_rows: blocks of a row to values, a function for
 * each format; what becomes of the codes is written in vector operations.
 *
 * scale * code is exact, so that fused or not the results are ggml's.
 */
#include "kernels/decode/block_codes.h"
#include "kernels/get_rows/get_rows.h"
#include "kernels/quant_lines.h"
#include "kernels/simd/simd.h"

enum { LINE = 64 };

/* Codes of a format of fields as numbers: by its table, or less what they are stored above. */
SIMD_INLINE void finish_codes(const enum tcb_format_id id, int8_t *code)
{
	const struct tcb_format *f = tcb_format_row(id);
	if (!tcb_has_table(id)) {
		for (size_t i = 0; f->centre && i < f->block_values; i++)
			code[i] = (int8_t)(code[i] - f->centre);
		return;
	}
#ifdef SIMD_HAS_BYTES
	const vint table = vi_table16(f->table);
	for (size_t i = 0; i < f->block_values; i += VECTOR_BYTES)
		vi_store(code + i, vi_lookup16(table, vi_load(code + i)));
#else
	for (size_t i = 0; i < f->block_values; i++)
		code[i] = f->table[code[i]];
#endif
}

/* A block of codes and scales. */
SIMD_INLINE void coded_block(const enum tcb_format_id id, const uint8_t *block, float *out)
{
	const struct tcb_format *f = tcb_format_row(id);
	struct tcb_codes codes;
	if (tcb_is_expanded(id)) {
		tcb_expand_block(id, block, codes.code, codes.scale, codes.offset);
		for (size_t i = 0; f->centre && i < f->block_values; i++)
			codes.code[i] = (int8_t)(codes.code[i] - f->centre);
	} else {
		if (tcb_has_table(id) && f->block_values < VECTOR_BYTES) /* what is looked up beyond a block */
			memset(codes.code + f->block_values, 0, VECTOR_BYTES - f->block_values);
		block_codes(f, block, codes.code);
		finish_codes(id, codes.code);
		block_scales(f, block, &codes);
	}
	for (size_t r = 0; r < f->block_values / f->run_values; r++) {
		const vfloat scale = v_set(codes.scale[r]), offset = v_set(f->has_offsets ? codes.offset[r] : 0);
		for (size_t i = r * f->run_values; i < (r + 1) * f->run_values; i += LANES) {
			const vfloat value = v_mul(scale, v_from_bytes(codes.code + i));
			v_store(out + i, f->has_offsets ? v_sub(value, offset) : value);
		}
	}
}

/* FP8: bytes that are values, a scale for 128. */
SIMD_INLINE void scaled_block(const enum tcb_format_id id, const uint8_t *block, float *out)
{
	const struct tcb_format *f = tcb_format_row(id);
	const uint8_t *byte = block + f->codes_at;
	float scale;
	memcpy(&scale, block + f->d_at, sizeof(scale));
	for (size_t i = 0; i < f->block_values; i += LANES) {
#ifdef SIMD_HAS_BYTES
		const vfloat value = v_mul(v_from_e4m3(byte + i), v_set(256));
#else
		const vfloat value = tcb_e4m3_to_f32(byte[i]);
#endif
		v_store(out + i, v_mul(v_set(scale), value));
	}
}

SIMD_INLINE vfloat from_halves(const enum tcb_format_id id, const void *from)
{
	return id == TCB_FORMAT_F16 ? v_from_f16(from) : v_from_bf16(from);
}

/* Values as they are; COUNT of them any number. */
SIMD_INLINE void plain_values(const enum tcb_format_id id, const uint8_t *from, size_t count, float *out)
{
	const uint16_t *half = (const uint16_t *)(const void *)from;
	uint16_t part[LANES] = { 0 };
	size_t i = 0;
	if (id == TCB_FORMAT_F32) {
		memcpy(out, from, count * sizeof(float));
		return;
	}
	for (; i + LANES <= count; i += LANES)
		v_store(out + i, from_halves(id, half + i));
	memcpy(part, half + i, (count - i) * sizeof(*part));
	v_store_part(out + i, from_halves(id, part), count - i);
}

SIMD_INLINE void values_of(const enum tcb_format_id id, const uint8_t *block, size_t values, size_t prefetch,
			   float *out)
{
	const struct tcb_format *f = tcb_format_row(id);
	if (tcb_format_row(id)->block_values == 1) {
		plain_values(id, block, values, out);
		return;
	}
	for (size_t at = 0; at < values; at += f->block_values, block += f->block_bytes) {
		for (size_t ahead = 0; prefetch && ahead < f->block_bytes; ahead += LINE)
			__builtin_prefetch((const void *)((uintptr_t)block + prefetch + ahead), 0, 3);
		if (f->codes == TCB_CODES_E4M3)
			scaled_block(id, block, out + at);
		else
			coded_block(id, block, out + at);
	}
}

/* COUNT floats as halves. */
SIMD_INLINE void put_halves(const float *from, size_t count, uint16_t *to)
{
	uint16_t part[LANES];
	for (size_t i = 0; i < count; i += LANES) {
		const size_t left = count - i < LANES ? count - i : LANES;
		if (left == LANES) {
			v_to_f16(to + i, v_load(from + i));
			continue;
		}
		v_to_f16(part, v_load_part(from + i, left, 0));
		memcpy(to + i, part, left * sizeof(*part));
	}
}

/* A superblock at a time where the values are not stored as they are made, or must be gathered first. */
typedef void decode_fn(const uint8_t *block, size_t values, size_t prefetch, float *out);
SIMD_INLINE void row_of(const struct get_rows_call *call, const enum tcb_format_id id, decode_fn *decode,
			const int is_packed, const int is_half)
{
	const struct tcb_format *f = tcb_format_row(id);
	const size_t super_bytes =
		is_packed ? tcb_lines(id) * TCB_LINE_BYTES : GET_ROWS_SUPER / f->block_values * f->block_bytes;
	if (!is_packed && !is_half) {
		decode(call->from, call->values, call->prefetch, call->y);
		return;
	}
	for (size_t at = 0; at < call->values; at += GET_ROWS_SUPER) {
		const size_t left = call->values - at, values = left < GET_ROWS_SUPER ? left : GET_ROWS_SUPER;
		const uint8_t *from = call->from + at / GET_ROWS_SUPER * super_bytes;
		uint8_t blocks[TCB_LINES_MAX * sizeof(uint32_t)];
		float held[GET_ROWS_SUPER], *out = is_half ? held : (float *)call->y + at;
		if (is_packed) {
			tcb_lines_row(tcb_format_row(id), from, call->row, values, blocks);
			decode(blocks, values, 0, out);
		} else {
			decode(from, values, call->prefetch, out);
		}
		if (is_half)
			put_halves(held, values, (uint16_t *)call->y + at);
	}
}

#define ENTRY(op, id, layout, type, is_packed, is_half)                         \
	static void op##_##layout##_##type(const struct get_rows_call *call)    \
	{                                                                       \
		row_of(call, TCB_FORMAT_##id, op##_decode, is_packed, is_half); \
	}
#define ROW(op, layout, LAYOUT, type, TYPE)                 \
	{ #op "_get_rows_" #type "_" SIMD_TEXT "_" #layout, \
	  TCB_CONTRACT_##TYPE,                              \
	  SIMD_ISA_ID,                                      \
	  TCB_LAYOUT_##LAYOUT,                              \
	  { 1, 1, GET_ROWS_SUPER },                         \
	  1,                                                \
	  TCB_CLASS_EXACT,                                  \
	  tcb_signed_variants,                              \
	  (void (*)(void))op##_##layout##_##type },
#define FORMAT(id, name, op, ...)                                                                               \
	static __attribute__((noinline)) void op##_decode(const uint8_t *block, size_t values, size_t prefetch, \
							  float *out)                                           \
	{                                                                                                       \
		values_of(TCB_FORMAT_##id, block, values, prefetch, out);                                       \
	}                                                                                                       \
	ENTRY(op, id, native, f32, 0, 0)                                                                        \
	ENTRY(op, id, native, f16, 0, 1)                                                                        \
	ENTRY(op, id, r16, f32, 1, 0)                                                                           \
	ENTRY(op, id, r16, f16, 1, 1)                                                                           \
	const struct tcb_variant SIMD_NAME(op##_get_rows_variants)[] = { ROW(op, native, NATIVE, f32, F32) ROW( \
		op, native, NATIVE, f16, F16) ROW(op, r16, R16, f32, F32) ROW(op, r16, R16, f16, F16){ 0 } };
TCB_FORMAT_LIST(FORMAT)
