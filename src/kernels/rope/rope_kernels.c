/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of rope_append on CPUs, written once in vector operations.
 */
#include "kernels/rope/rope_cpu.h"

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

SIMD_INLINE void one_head(const enum tcb_type from, const enum tcb_type to, const void *x, void *y, size_t k,
			  const float *rotation)
{
	const size_t half = k / 2;
	if (!rotation) {
		for (size_t j = 0; j < k; j += LANES)
			store(to, y, j, load(from, x, j));
		return;
	}
	for (size_t j = 0; j < half; j += LANES) {
		const vfloat a = load(from, x, j), b = load(from, x, half + j);
		const vfloat cosine = v_load(rotation + j), sine = v_load(rotation + half + j);
		store(to, y, j, v_sub(v_mul(a, cosine), v_mul(b, sine)));
		store(to, y, half + j, v_fma(b, cosine, v_mul(a, sine)));
	}
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
		one_head(from, to, x + h * in, to_here, call->k, call->rotation);
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

#define ROPE_ROW(kv, contract_, word)                                                                         \
	{                                                                                                     \
		.name = "rope_append_" #kv "_" word "_" SIMD_TEXT, .contract = contract_, .isa = SIMD_ISA_ID, \
		.layout = TCB_LAYOUT_NATIVE, .micro = { 1, 1, 1 }, .unroll = 1, .class = TCB_CLASS_BOUNDED,   \
		.signature = TCB_SOURCE_HASH, .entry = (void (*)(void))SIMD_NAME(rope_##kv),                  \
	}
#define ROPE_TABLE_OF(kv, TYPE)                                               \
	static void SIMD_NAME(rope_##kv)(const struct rope_call *call)        \
	{                                                                     \
		micro(call, TYPE);                                            \
	}                                                                     \
	const struct tcb_variant SIMD_NAME(rope_append_##kv##_variants)[] = { \
		ROPE_ROW(kv, TCB_CONTRACT_F32, "f32"),                        \
		ROPE_ROW(kv, TCB_CONTRACT_F16, "half"),                       \
		{ .name = NULL },                                             \
	};

ROPE_TABLE_OF(f16, TCB_TYPE_F16)
ROPE_TABLE_OF(bf16, TCB_TYPE_BF16)
