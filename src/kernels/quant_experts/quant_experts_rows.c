/* SPDX-License-Identifier: MIT
 *
 * The variants of the products of experts of one instruction family: for each
 * of the plain matmul's one that begins with its tile and goes on with smaller
 * ones of the family where an expert has fewer tokens.
 */
#include "kernels/quant_experts/quant_experts_cpu.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"
#include "kernels/simd/simd_silu.h"

static void add(float *to, const float *from, float factor, size_t count)
{
	const vfloat f = v_set(factor);
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		v_store(to + i, v_fma(v_load(from + i), f, v_load(to + i)));
	if (i < count) {
		const size_t left = count - i;
		v_store_part(to + i, v_fma(v_load_part(from + i, left, 0), f, v_load_part(to + i, left, 0)), left);
	}
}

/* V, no more than LIMIT, by v_max because that lets a NaN through. */
SIMD_INLINE vfloat limited(vfloat v, float limit)
{
	const vfloat zero = v_set(0);
	return v_sub(zero, v_max(v_set(-limit), v_sub(zero, v)));
}

SIMD_INLINE vfloat oai(vfloat p, vfloat u)
{
	const struct tcb_quant_gate how = TCB_QUANT_OAI;
	const vfloat within = v_max(v_set(-how.limit), limited(u, how.limit));
	return v_mul(v_silu(limited(p, how.limit), how.slope), v_add(within, v_set(how.plus)));
}

static void gate_oai(float *gate, const float *up, size_t count)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		v_store(gate + i, oai(v_load(gate + i), v_load(up + i)));
	if (i < count) {
		const vfloat p = v_load_part(gate + i, count - i, 0), u = v_load_part(up + i, count - i, 0);
		v_store_part(gate + i, oai(p, u), count - i);
	}
}

/* The family whose arithmetic on floats this one has. */
#if LANES == 16
#define FLOATS(name) name##_avx512
#define HALVES QMM_HALVES_AVX512
#elif LANES == 8
#define FLOATS(name) name##_avx2
#elif LANES == 4
#define FLOATS(name) name##_neon
#else
#define FLOATS(name) name##_scalar
#endif

#ifndef HALVES
#define HALVES NULL, NULL
#endif

#define ENTRY(id, name, op, ...)                                                                \
	extern const struct tcb_variant SIMD_NAME(qmm_##op)[];                                  \
	static const struct qex_kernels *op##_entry(void)                                       \
	{                                                                                       \
		static const struct qex_kernels kernels = {                                     \
			.tiles = SIMD_NAME(qmm_##op),                                           \
			.conversions = { FLOATS(qmm_unpackers), FLOATS(qmm_quantize), HALVES }, \
			.gate = FLOATS(qmv_gate),                                               \
			.gate_oai = gate_oai,                                                   \
			.add = add,                                                             \
		};                                                                              \
		return &kernels;                                                                \
	}
TCB_FORMAT_CODE_LIST(ENTRY)
/* Weights that are values have contracts f32 and f16 alone, in which VNNI changes nothing. */
#if !defined(SIMD_HAS_DOT) || defined(SIMD_DOT_IS_SIGNED) || defined(__AMX_INT8__)
TCB_FORMAT_SCALED_ROWS(ENTRY)
#endif

#define ROW(m, n, op, kind, k) QMM_ROWS_Q8(op##_##kind, k, m, n, op##_entry),
#define ROW_F32(m, n, op, kind, k) QMM_ROWS_F32(op##_##kind, k, m, n, TCB_CLASS_BOUNDED, op##_entry),
#define ROW_F16(m, n, op, kind, k) QMM_ROWS_F16(op##_##kind, k, m, n, op##_entry),
#define TABLE(kind, is_gated, is_summed, op, values)                                                                \
	const struct tcb_variant SIMD_NAME(qex_##op##_##kind)[] = { QMM_SIZES(ROW, op, kind, values) QMM_SIZES_F32( \
		ROW_F32, op, kind, values) QMM_SIZES_F16(ROW_F16, op, kind, values){ 0 } };
#define TABLES(id, name, op, values, ...) QEX_KINDS(TABLE, op, values)
TCB_FORMAT_CODE_LIST(TABLES)

#define ROW_OF_VALUES(kind, is_gated, is_summed, op, values)                                      \
	const struct tcb_variant SIMD_NAME(qex_##op##_##kind)[] = {                               \
		QMM_SIZES_F32(ROW_F32, op, kind, values) QMM_SIZES_F32(ROW_F16, op, kind, values) \
			QMM_SIZES_F16(ROW_F16, op, kind, values){ 0 }                             \
	};
#define ROWS_OF_VALUES(id, name, op, values, ...) QEX_KINDS(ROW_OF_VALUES, op, values)
TCB_FORMAT_SCALED_ROWS(ROWS_OF_VALUES)
