/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of rope_append on CPUs, written once in vector operations.
 */
#include "kernels/rope/rope_cpu.h"

#include "kernels/quant_codes.h"
#include "kernels/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Streamed stores are not ordered by locks. */
SIMD_INLINE void fence(void)
{
#if defined(__x86_64__)
	_mm_sfence();
#endif
}

SIMD_INLINE vfloat load(const enum tcb_type type, const void *from, size_t at)
{
	const uint16_t *half = (const uint16_t *)from + at;
	if (type == TCB_TYPE_F32)
		return v_load((const float *)from + at);
	return type == TCB_TYPE_F16 ? v_from_f16(half) : v_from_bf16(half);
}

SIMD_INLINE void store(const enum tcb_type type, void *to, size_t at, vfloat value)
{
	if (type == TCB_TYPE_F32)
		v_store((float *)to + at, value);
	else if (type == TCB_TYPE_F16)
		v_to_f16((uint16_t *)to + at, value);
	else
		v_to_bf16((uint16_t *)to + at, value);
}

/* X and Y rotated: lane j of both is a pair, AT the first one's angle. */
SIMD_INLINE void rotate(vfloat *x, vfloat *y, const float *rotation, size_t at, size_t half)
{
	const vfloat cosine = v_load(rotation + at), sine = v_load(rotation + half + at), low = *x, high = *y;
	*x = v_sub(v_mul(low, cosine), v_mul(high, sine));
	*y = v_fma(high, cosine, v_mul(low, sine));
}

/* Two vectors of pairs side by side to vectors of their low and of their high values, and back. */
#if LANES == 4
#define LOW_OF_PAIRS 0, 2, 4, 6
#define HIGH_OF_PAIRS 1, 3, 5, 7
#define FIRST_PAIRS 0, 4, 1, 5
#define LAST_PAIRS 2, 6, 3, 7
#elif LANES == 8
#define LOW_OF_PAIRS 0, 2, 4, 6, 8, 10, 12, 14
#define HIGH_OF_PAIRS 1, 3, 5, 7, 9, 11, 13, 15
#define FIRST_PAIRS 0, 8, 1, 9, 2, 10, 3, 11
#define LAST_PAIRS 4, 12, 5, 13, 6, 14, 7, 15
#elif LANES == 16
#define LOW_OF_PAIRS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define HIGH_OF_PAIRS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FIRST_PAIRS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LAST_PAIRS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

SIMD_INLINE void part_pairs(vfloat *a, vfloat *b)
{
#if LANES > 1
	const vfloat low = __builtin_shufflevector(*a, *b, LOW_OF_PAIRS);
	*b = __builtin_shufflevector(*a, *b, HIGH_OF_PAIRS);
	*a = low;
#else
	(void)a, (void)b; /* a value and its neighbour */
#endif
}

SIMD_INLINE void join_pairs(vfloat *a, vfloat *b)
{
#if LANES > 1
	const vfloat first = __builtin_shufflevector(*a, *b, FIRST_PAIRS);
	*b = __builtin_shufflevector(*a, *b, LAST_PAIRS);
	*a = first;
#else
	(void)a, (void)b;
#endif
}

/* --- a head --- */

/* One value, where there are fewer than a vector has. */
SIMD_INLINE float load_one(const enum tcb_type type, const void *from, size_t at)
{
	if (type == TCB_TYPE_F32)
		return ((const float *)from)[at];
	const uint16_t half = ((const uint16_t *)from)[at];
	return type == TCB_TYPE_F16 ? tcb_f16_to_f32(half) : tcb_bf16_to_f32(half);
}

SIMD_INLINE void store_one(const enum tcb_type type, void *to, size_t at, float value)
{
	if (type == TCB_TYPE_F32)
		((float *)to)[at] = value;
	else
		((uint16_t *)to)[at] = type == TCB_TYPE_F16 ? tcb_f32_to_f16(value) : tcb_f32_to_bf16(value);
}

/* A pair by itself: values LOW and HIGH of X, by angle AT. */
SIMD_INLINE void rotate_one(const enum tcb_type from, const enum tcb_type to, const void *x, void *y, size_t low,
			    size_t high, const float *rotation, size_t at, size_t half)
{
	const float a = load_one(from, x, low), b = load_one(from, x, high);
	store_one(to, y, low, a * rotation[at] - b * rotation[half + at]);
	store_one(to, y, high, b * rotation[at] + a * rotation[half + at]);
}

/* Vectors over COUNT values: the last one begins where it is whole, and does some values again. */
#define FOR_VECTORS(j, count)        \
	for (size_t j##_next = 0, j; \
	     j##_next < (count) && (j = j##_next + LANES <= (count) ? j##_next : (count)-LANES, 1); j##_next += LANES)

SIMD_BODY void rotate_pairs(const enum tcb_type from, const enum tcb_type to, const void *x, void *y, size_t half,
			    const float *rotation)
{
	for (size_t j = 0; half < LANES && j < half; j++)
		rotate_one(from, to, x, y, 2 * j, 2 * j + 1, rotation, j, half);
	if (half < LANES)
		return;
	FOR_VECTORS(j, half)
	{
		vfloat a = load(from, x, 2 * j), b = load(from, x, 2 * j + LANES);
		part_pairs(&a, &b);
		rotate(&a, &b, rotation, j, half);
		join_pairs(&a, &b);
		store(to, y, 2 * j, a);
		store(to, y, 2 * j + LANES, b);
	}
}

SIMD_BODY void rotate_halves(const enum tcb_type from, const enum tcb_type to, const void *x, void *y, size_t half,
			     const float *rotation)
{
	for (size_t j = 0; half < LANES && j < half; j++)
		rotate_one(from, to, x, y, j, half + j, rotation, j, half);
	if (half < LANES)
		return;
	FOR_VECTORS(j, half)
	{
		vfloat a = load(from, x, j), b = load(from, x, half + j);
		rotate(&a, &b, rotation, j, half);
		store(to, y, j, a);
		store(to, y, half + j, b);
	}
}

/* Values FIRST to END as they are. */
SIMD_BODY void convert(const enum tcb_type from, const enum tcb_type to, const void *x, void *y, size_t first,
		       size_t end)
{
	const size_t count = end - first;
	for (size_t j = first; count < LANES && j < end; j++)
		store_one(to, y, j, load_one(from, x, j));
	if (count < LANES)
		return;
	FOR_VECTORS(j, count)
	store(to, y, first + j, load(from, x, first + j));
}

SIMD_BODY void one_head(const struct rope_call *call, const enum tcb_type from, const enum tcb_type to, const void *x,
			void *y)
{
	if (!call->rotation) {
		convert(from, to, x, y, 0, call->k);
		return;
	}
	if (call->is_pairs)
		rotate_pairs(from, to, x, y, call->rotated / 2, call->rotation);
	else
		rotate_halves(from, to, x, y, call->rotated / 2, call->rotation);
	convert(from, to, x, y, call->rotated, call->k);
}

/* The head X over its root mean square, times its weights.  K is a multiple of 8. */
SIMD_BODY void norm_head(const struct rope_call *call, const enum tcb_type from, const void *x, float *y)
{
	const size_t k = call->k, whole = k / LANES * LANES;
	vfloat sum = v_set(0);
	float squares = 0;
	for (size_t j = 0; j < whole; j += LANES) {
		const vfloat v = load(from, x, j);
		v_store(y + j, v);
		sum = v_fma(v, v, sum);
	}
	for (size_t j = whole; j < k; j++) { /* at most half a vector */
		y[j] = load_one(from, x, j);
		squares += y[j] * y[j];
	}
	const float factor = 1 / sqrtf((v_reduce_add(sum) + squares) / (float)k + call->eps);
	for (size_t j = 0; j < whole; j += LANES)
		v_store(y + j, v_mul(v_mul(v_load(y + j), v_set(factor)), v_load(call->norm + j)));
	for (size_t j = whole; j < k; j++)
		y[j] = y[j] * factor * call->norm[j];
}

/* A head from X, by way of a norm in scratch where there is one. */
SIMD_INLINE void whole_head(const struct rope_call *call, const enum tcb_type from, const enum tcb_type to,
			    const void *x, void *y)
{
	_Alignas(64) float normed[ROPE_HEAD_MAX];
	if (!call->norm) {
		one_head(call, from, to, x, y);
		return;
	}
	norm_head(call, from, x, normed);
	one_head(call, TCB_TYPE_F32, to, normed, y);
}

SIMD_INLINE void all_heads(const struct rope_call *call, const enum tcb_type from, const enum tcb_type to)
{
	const size_t in = call->k * tcb_type_bytes(from), out = call->k * tcb_type_bytes(to);
	const char *x = call->x;
	char *y = call->y;
	/* Two heads' scratch in turn: one is written while the other, by now out of the store buffer, is copied. */
	_Alignas(64) char scratch[2][ROPE_HEAD_MAX * sizeof(float)];
	for (size_t h = 0; h < call->heads; h++) {
		void *to_here = call->stream ? (void *)scratch[h % 2] : (void *)(y + h * out);
		whole_head(call, from, to, x + h * in, to_here);
		for (size_t at = 0; call->stream && h && at < out; at += VECTOR_BYTES)
			v_stream((float *)(void *)(y + (h - 1) * out + at),
				 v_load((const float *)(const void *)(scratch[(h - 1) % 2] + at)));
	}
	if (!call->stream)
		return;
	for (size_t at = 0; at < out; at += VECTOR_BYTES)
		v_stream((float *)(void *)(y + (call->heads - 1) * out + at),
			 v_load((const float *)(const void *)(scratch[(call->heads - 1) % 2] + at)));
	if (call->fence)
		fence();
}

/* --- blocks --- */

enum { BLOCK_VECTORS = ROPE_BLOCK / LANES, SCALE_BYTES = sizeof(uint16_t), BLOCK_BYTES = SCALE_BYTES + ROPE_BLOCK };

/* A block's values, which are codes but for rounding, to bytes. */
SIMD_INLINE void store_codes(uint8_t *to, const vfloat v[BLOCK_VECTORS])
{
#if LANES == 16
	for (size_t i = 0; i < 2; i++)
		_mm_storeu_si128((__m128i_u *)(to + 16 * i), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v[i])));
#elif LANES == 8
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undoes the packs' lanes */
	const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(v[0]), _mm256_cvtps_epi32(v[1]));
	const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(v[2]), _mm256_cvtps_epi32(v[3]));
	_mm256_storeu_si256((__m256i_u *)to, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order));
#elif LANES == 4
	for (size_t i = 0; i < 4; i++) {
		const int16x4_t a = vqmovn_s32(vcvtnq_s32_f32(v[2 * i])), b = vqmovn_s32(vcvtnq_s32_f32(v[2 * i + 1]));
		vst1_s8((int8_t *)to + 8 * i, vqmovn_s16(vcombine_s16(a, b)));
	}
#else
	for (size_t i = 0; i < ROPE_BLOCK; i++)
		to[i] = (uint8_t)lrintf(v[i]);
#endif
}

SIMD_INLINE vfloat magnitude(vfloat v)
{
#if LANES == 16
	return _mm512_abs_ps(v);
#elif LANES == 8
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
#elif LANES == 4
	return vabsq_f32(v);
#else
	return fabsf(v);
#endif
}

/* BLOCKS blocks, one after the other: also such as have NaNs, infinities or nothing that an f16 can scale. */
static void store_any_blocks(const float *values, size_t blocks, uint8_t *y)
{
	for (size_t i = 0; i < blocks; i++, values += ROPE_BLOCK, y += BLOCK_BYTES) {
		float scale;
		tcb_quant_codes_inline(values, ROPE_BLOCK, (int8_t *)y + SCALE_BYTES, &scale);
		tcb_f16_store(scale, y);
	}
}

/* Up to LANES blocks, whose largest magnitudes, scales and quotients are the lanes of vectors. */
SIMD_BODY void store_blocks(const float *values, size_t blocks, uint8_t *y)
{
	vfloat largest[LANES];
	vflag odd = v_no_flag();
	float inverse[LANES];
	uint16_t scale[LANES];
	SIMD_FOR (size_t i = 0; i < LANES; i++) {
		const float *x = values + (i < blocks ? i : 0) * ROPE_BLOCK;
		largest[i] = magnitude(v_load(x));
		SIMD_FOR (size_t j = 1; j < BLOCK_VECTORS; j++)
			largest[i] = v_max(largest[i], magnitude(v_load(x + j * LANES)));
		SIMD_FOR (size_t j = 0; j < BLOCK_VECTORS; j += 2)
			odd = v_either(odd, v_unordered(v_load(x + j * LANES), v_load(x + (j + 1) * LANES)));
	}
	const vfloat all = v_reduce_each_max(largest);
	if (v_is_set(odd) || v_any_above(v_set(127 * FLT_MIN), all) || v_any_above(all, v_set(FLT_MAX))) {
		store_any_blocks(values, blocks, y);
		return;
	}
	v_store(inverse, v_set(127) / all);
	v_to_f16(scale, all / v_set(127));
	for (size_t i = 0; i < blocks; i++, values += ROPE_BLOCK, y += BLOCK_BYTES) {
		vfloat v[BLOCK_VECTORS];
		SIMD_FOR (size_t j = 0; j < BLOCK_VECTORS; j++)
			v[j] = v_mul(v_load(values + j * LANES), v_set(inverse[i]));
		memcpy(y, &scale[i], SCALE_BYTES);
		store_codes(y + SCALE_BYTES, v);
	}
}

/* So many heads at a time that they are the blocks of store_blocks; by way of scratch in the first cache. */
SIMD_INLINE void all_heads_to_blocks(const struct rope_call *call, const enum tcb_type from)
{
	enum { ROOM = LANES * ROPE_BLOCK > ROPE_HEAD_MAX ? LANES * ROPE_BLOCK : ROPE_HEAD_MAX };
	const size_t k = call->k, in = k * tcb_type_bytes(from), most = ROOM / k;
	_Alignas(64) float scratch[ROOM];
	uint8_t *y = call->y;
	for (size_t h = 0, count; h < call->heads; h += count) {
		const char *x = (const char *)call->x + h * in;
		count = call->heads - h < most ? call->heads - h : most;
		for (size_t i = 0; i < count && (call->rotation || from != TCB_TYPE_F32); i++)
			whole_head(call, from, TCB_TYPE_F32, x + i * in, scratch + i * k);
		const float *values = call->rotation || from != TCB_TYPE_F32 ? scratch : (const float *)(const void *)x;
		for (size_t left = count * k / ROPE_BLOCK, now; left > 0; left -= now) {
			now = left < LANES ? left : LANES;
			store_blocks(values, now, y);
			values += now * ROPE_BLOCK;
			y += now * BLOCK_BYTES;
		}
	}
}

/* --- other values --- */

/* E4M3, as tcb_f32_to_e4m3() has it, without branches: compilers make vectors of it. */
static __attribute__((noinline)) void store_fp8(const float *values, size_t count, uint8_t *y)
{
	enum { STEP_BITS = 20, HALF_STEP = (1 << (STEP_BITS - 1)) - 1, BIAS = (127 - 7) << 3 };
	enum { OF_LEAST_NORMAL = 0x3c800000, OF_448 = 0x43e00000, OF_INFINITY = 0x7f800000 };
	for (size_t i = 0; i < count; i++) {
		const float small = fabsf(values[i]) + 0x1p14f; /* steps of 2^-9 */
		uint32_t bits, small_bits;
		memcpy(&bits, values + i, sizeof(bits));
		memcpy(&small_bits, &small, sizeof(small_bits));
		const uint32_t size = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
		uint32_t code = (size + HALF_STEP + (size >> STEP_BITS & 1)) >> STEP_BITS;
		code = size < OF_LEAST_NORMAL ? small_bits & 0xff : code - BIAS;
		code = size >= OF_448 ? 0x7e : code;
		y[i] = (uint8_t)(sign | (size > OF_INFINITY ? 0x7f : code));
	}
}

/* A block of Q4_0, as ggml has it. */
SIMD_INLINE void store_q40_block(const float *values, uint8_t *y)
{
	enum { HALF = ROPE_BLOCK / 2 };
	float largest = 0, least = 0, odd = 0;
	uint8_t code[ROPE_BLOCK];
	for (size_t i = 0; i < ROPE_BLOCK; i++) {
		largest = values[i] > largest ? values[i] : largest;
		least = values[i] < least ? values[i] : least;
		odd += values[i] * 0;
	}
	const float top = largest > -least ? largest : least, scale = top / -8;
	const float inverse = scale != 0 && isfinite(1 / scale) ? 1 / scale : 0;
	for (size_t i = 0; i < ROPE_BLOCK; i++) {
		const float shifted = values[i] * inverse + 8.5f;
		code[i] = (uint8_t)(odd == 0 ? (int)(shifted > 15 ? 15 : shifted) : 0);
	}
	tcb_f16_store(odd == 0 ? scale : NAN, y);
	for (size_t i = 0; i < HALF; i++)
		y[SCALE_BYTES + i] = (uint8_t)(code[i] | code[HALF + i] << 4);
}

static __attribute__((noinline)) void store_q40(const float *values, size_t count, uint8_t *y)
{
	for (size_t i = 0; i < count; i += ROPE_BLOCK, y += SCALE_BYTES + ROPE_BLOCK / 2)
		store_q40_block(values + i, y);
}

/* A head at a time, by way of f32. */
SIMD_INLINE void all_heads_to_kind(const struct rope_call *call, const enum tcb_type from)
{
	const size_t in = call->k * tcb_type_bytes(from), out = tcb_kv_kind_bytes(call->kind, call->k);
	_Alignas(64) float scratch[ROPE_HEAD_MAX];
	for (size_t h = 0; h < call->heads; h++) {
		uint8_t *y = (uint8_t *)call->y + h * out;
		whole_head(call, from, TCB_TYPE_F32, (const char *)call->x + h * in, scratch);
		if (call->kind == TCB_KV_KIND_FP8)
			store_fp8(scratch, call->k, y);
		else
			store_q40(scratch, call->k, y);
	}
}

/* q keeps its type; k and v become blocks, with parts=4 k by way of f32. */
SIMD_INLINE void micro_blocks(const struct rope_call *call)
{
	if (call->to == TCB_TYPE_BLOCKS && call->from == TCB_TYPE_F32)
		all_heads_to_blocks(call, TCB_TYPE_F32);
	else if (call->to == TCB_TYPE_BLOCKS)
		all_heads_to_blocks(call, TCB_TYPE_F16);
	else if (call->from == TCB_TYPE_F32)
		all_heads(call, TCB_TYPE_F32, TCB_TYPE_F32);
	else if (call->to == TCB_TYPE_F32)
		all_heads(call, TCB_TYPE_F16, TCB_TYPE_F32);
	else
		all_heads(call, TCB_TYPE_F16, TCB_TYPE_F16);
}

/* The same of caches with values of other kinds. */
static void SIMD_NAME(rope_kinds)(const struct rope_call *call)
{
	const int is_q80 = call->kind == TCB_KV_KIND_Q80;
	if (call->to != TCB_TYPE_F16 && call->to != TCB_TYPE_F32 && !is_q80 && call->from == TCB_TYPE_F32)
		all_heads_to_kind(call, TCB_TYPE_F32);
	else if (call->to != TCB_TYPE_F16 && call->to != TCB_TYPE_F32 && !is_q80)
		all_heads_to_kind(call, TCB_TYPE_F16);
	else if (call->to == TCB_TYPE_F16 && call->from == TCB_TYPE_F32)
		all_heads(call, TCB_TYPE_F32, TCB_TYPE_F16);
	else
		micro_blocks(call);
}

/* From f32, or from what the cache has; to f32 (parts=4) or to that. */
SIMD_INLINE void micro(const struct rope_call *call, const enum tcb_type kv)
{
	if (call->to == TCB_TYPE_F32 && call->from == TCB_TYPE_F32)
		all_heads(call, TCB_TYPE_F32, TCB_TYPE_F32);
	else if (call->to == TCB_TYPE_F32)
		all_heads(call, kv, TCB_TYPE_F32);
	else if (call->from == TCB_TYPE_F32)
		all_heads(call, TCB_TYPE_F32, kv);
	else
		all_heads(call, kv, kv);
}

#define ROPE_ROW(kv, contract_, word, entry_)                                                                 \
	{                                                                                                     \
		.name = "rope_append_" #kv "_" word "_" SIMD_TEXT, .contract = contract_, .isa = SIMD_ISA_ID, \
		.layout = TCB_LAYOUT_NATIVE, .micro = { 1, 1, 1 }, .unroll = 1, .class = TCB_CLASS_BOUNDED,   \
		.signed_in = tcb_signed_variants, .entry = (void (*)(void))entry_,                            \
	}
#define ROPE_TABLE(kv, entry)                                                 \
	const struct tcb_variant SIMD_NAME(rope_append_##kv##_variants)[] = { \
		ROPE_ROW(kv, TCB_CONTRACT_F32, "f32", entry),                 \
		ROPE_ROW(kv, TCB_CONTRACT_F16, "half", entry),                \
		{ .name = NULL },                                             \
	};
#define ROPE_KERNEL(kv, ID, K, ...)                                    \
	static void SIMD_NAME(rope_##kv)(const struct rope_call *call) \
	{                                                              \
		if (TCB_KV_KIND_##K == TCB_KV_KIND_Q80)                \
			micro_blocks(call);                            \
		else                                                   \
			micro(call, (enum tcb_type)OF_##K);            \
	}                                                              \
	ROPE_TABLE(kv, SIMD_NAME(rope_##kv))
#define ROPE_OTHER(kv, ...) ROPE_TABLE(kv, SIMD_NAME(rope_kinds))

enum { OF_F16 = TCB_TYPE_F16, OF_BF16 = TCB_TYPE_BF16, OF_Q80 = TCB_TYPE_BLOCKS };
TCB_KV_ALL_LIST(ROPE_KERNEL, )
TCB_KV_CPU_LIST(ROPE_OTHER, )
