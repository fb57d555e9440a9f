/* SPDX-License-Identifier: MIT
 *
 * The variants of the products of experts of one instruction family: for each
 * of the plain matmul's one that begins with its tile and goes on with smaller
 * ones where an expert has fewer tokens.
 */
#include "kernels/quant_experts/quant_experts_cpu.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"

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

/* The family whose arithmetic on floats this one has. */
#if LANES == 16
#define FLOATS(name) name##_avx512
#elif LANES == 8
#define FLOATS(name) name##_avx2
#elif LANES == 4
#define FLOATS(name) name##_neon
#else
#define FLOATS(name) name##_scalar
#endif

#ifdef __AMX_INT8__
#define NARROW(op) qmm_##op##_avx512vnni
#define DECLARE_NARROW(op) extern const struct tcb_variant NARROW(op)[];
#else
#define NARROW(op) NULL
#define DECLARE_NARROW(op)
#endif

#define ENTRY(id, name, op, ...)                                                        \
	extern const struct tcb_variant SIMD_NAME(qmm_##op)[];                          \
	DECLARE_NARROW(op)                                                              \
	static const struct qex_kernels *op##_entry(void)                               \
	{                                                                               \
		static const struct qex_kernels kernels = {                             \
			.tiles = SIMD_NAME(qmm_##op),                                   \
			.narrow = NARROW(op),                                           \
			.conversions = { FLOATS(qmm_unpackers), FLOATS(qmm_quantize) }, \
			.gate = FLOATS(qmv_gate),                                       \
			.add = add,                                                     \
		};                                                                      \
		return &kernels;                                                        \
	}
TCB_FORMAT_CODE_LIST(ENTRY)

#define ROW(m, n, op, kind, k) QMM_ROWS_Q8(op##_##kind, k, m, n, op##_entry),
#define ROW_F32(m, n, op, kind, k) QMM_ROWS_F32(op##_##kind, k, m, n, TCB_CLASS_BOUNDED, op##_entry),
#define TABLE(kind, is_gated, is_summed, op, values)                                                                \
	const struct tcb_variant SIMD_NAME(qex_##op##_##kind)[] = { QMM_SIZES(ROW, op, kind, values) QMM_SIZES_F32( \
		ROW_F32, op, kind, values){ 0 } };
#define TABLES(id, name, op, values, ...) QEX_KINDS(TABLE, op, values)
TCB_FORMAT_CODE_LIST(TABLES)
