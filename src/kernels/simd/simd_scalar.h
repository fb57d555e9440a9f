/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of simd.h in portable C: one lane, floats only.
 */
#ifndef TCB_KERNELS_SIMD_SCALAR_H
#define TCB_KERNELS_SIMD_SCALAR_H

#include <math.h>

#include "kernels/formats.h"
#include "kernels/simd/simd_inline.h"

#define SIMD_ISA scalar
#define SIMD_ID SCALAR
#define LANES 1
typedef float vfloat;
typedef int vflag;

SIMD_INLINE vfloat v_set(float value)
{
	return value;
}

SIMD_INLINE vfloat v_load(const float *from)
{
	return *from;
}

/* One lane has no parts but the empty one. */
SIMD_INLINE vfloat v_load_part(const float *from, size_t count, float fill)
{
	return count ? *from : fill;
}

SIMD_INLINE vfloat v_part(vfloat value, size_t count)
{
	return count ? value : 0;
}

SIMD_INLINE void v_store(float *to, vfloat value)
{
	*to = value;
}

SIMD_INLINE void v_store_part(float *to, vfloat value, size_t count)
{
	if (count)
		*to = value;
}

/* Portable C has no such store: plans refuse stream=1 here. */
SIMD_INLINE void v_stream(float *to, vfloat value)
{
	*to = value;
}

SIMD_INLINE vfloat v_add(vfloat a, vfloat b)
{
	return a + b;
}

SIMD_INLINE vfloat v_sub(vfloat a, vfloat b)
{
	return a - b;
}

SIMD_INLINE vfloat v_mul(vfloat a, vfloat b)
{
	return a * b;
}

/* Two roundings: fused arithmetic is a call of the library here. */
SIMD_INLINE vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
	return a * b + c;
}

SIMD_INLINE vfloat v_max(vfloat a, vfloat b)
{
	return a > b ? a : b;
}

SIMD_INLINE vfloat v_maximum(vfloat a, vfloat b)
{
	return a > b || (a == b && signbit(b)) ? a : b;
}

SIMD_INLINE vfloat v_minimum(vfloat a, vfloat b)
{
	return a < b || (a == b && signbit(a)) ? a : b;
}

SIMD_INLINE int v_any_above(vfloat a, vfloat b)
{
	return a > b;
}

SIMD_INLINE vflag v_unordered(vfloat a, vfloat b)
{
	return isunordered(a, b);
}

SIMD_INLINE vflag v_no_flag(void)
{
	return 0;
}

SIMD_INLINE vflag v_either(vflag a, vflag b)
{
	return a | b;
}

SIMD_INLINE int v_is_set(vflag a)
{
	return a;
}

SIMD_INLINE float v_reduce_add(vfloat value)
{
	return value;
}

SIMD_INLINE float v_reduce_max(vfloat value)
{
	return value;
}

SIMD_INLINE vfloat v_from_f16(const void *from)
{
	uint16_t half;
	memcpy(&half, from, sizeof(half));
	return tcb_f16_to_f32(half);
}

SIMD_INLINE vfloat v_from_bf16(const uint16_t *from)
{
	return tcb_bf16_to_f32(*from);
}

SIMD_INLINE vfloat v_set_f16(const void *from)
{
	return tcb_f16_load(from);
}

SIMD_INLINE vfloat v_from_bytes(const int8_t *from)
{
	return *from;
}

SIMD_INLINE void v_to_f16(uint16_t *to, vfloat value)
{
	*to = tcb_f32_to_f16(value);
}

SIMD_INLINE void v_to_bf16(uint16_t *to, vfloat value)
{
	*to = tcb_f32_to_bf16(value);
}

SIMD_INLINE void v_transpose(vfloat r[LANES])
{
	(void)r;
}

SIMD_INLINE vfloat v_reduce_each(const vfloat r[LANES])
{
	return r[0];
}

SIMD_INLINE vfloat v_reduce_each_max(const vfloat r[LANES])
{
	return r[0];
}

#endif
