/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of the MatVecs, the generics of quant_matvec_native.h,
 * quant_matvec_lines.h, quant_matvec_expanded.h and quant_matvec_floats.h with each size worth trying,
 * compiled for every instruction family with vectors.
 */
#include "kernels/quant_matvec/quant_matvec_expanded.h"
#include "kernels/quant_matvec/quant_matvec_floats.h"
#include "kernels/quant_matvec/quant_matvec_lines.h"
#include "kernels/quant_matvec/quant_matvec_places.h"

/* Some formats have kernels of their own for x86; there are enough registers for sums of eight rows where vectors are
 * wide. */
#if LANES == 4
#define FORMATS TCB_FORMAT_FIELD_LIST
#define ROWS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(4, __VA_ARGS__)
#else
#define FORMATS TCB_FORMAT_SHARED_ROWS
#define ROWS(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(4, __VA_ARGS__) X(8, __VA_ARGS__)
#endif
/* X(contract, ...) for each; VNNI changes nothing in f32. */
#if defined(SIMD_HAS_DOT) && !defined(SIMD_DOT_IS_SIGNED)
#define CONTRACTS(X, ...) X(q8, Q8, __VA_ARGS__)
#else
#define CONTRACTS(X, ...) X(q8, Q8, __VA_ARGS__) X(f32, F32, __VA_ARGS__)
#endif
enum { IS_q8 = 1, IS_f32 = 0 };

#define NATIVE(rows, contract, op, format) \
	QMV_KERNEL_LONG(op##_##contract##_##rows, native_rows, format, IS_##contract, rows)
#define KERNELS(contract, CONTRACT, op, format) \
	ROWS(NATIVE, contract, op, format)      \
	QMV_KERNEL_LONG(op##_##contract##_r16, line_rows, format, IS_##contract)
#define OF_FORMAT(id, name, op, ...) CONTRACTS(KERNELS, op, TCB_FORMAT_##id)
FORMATS(OF_FORMAT)

#define NATIVE_ROW(rows, contract, CONTRACT, kind, op, k) \
	QMV_ROW(kind, op, k, contract, CONTRACT, native, NATIVE, rows, op##_##contract##_##rows),
#define KERNEL_ROWS(contract, CONTRACT, kind, op, k)      \
	ROWS(NATIVE_ROW, contract, CONTRACT, kind, op, k) \
	QMV_ROW(kind, op, k, contract, CONTRACT, r16, R16, 16, op##_##contract##_r16),
#define TABLE(kind, has_norm, is_gated, op, values) \
	const struct tcb_variant SIMD_NAME(qmv_##op##_##kind)[] = { CONTRACTS(KERNEL_ROWS, kind, op, values){ 0 } };
#define TABLES(id, name, op, values, ...) QMV_KINDS(TABLE, op, values)
FORMATS(TABLES)

/* Expanded formats, whose rows as stored are expanded one by one. */
#define EXPANDED_ROWS(X, ...) X(1, __VA_ARGS__) X(4, __VA_ARGS__)
#define EXPANDED(rows, contract, op, format) \
	QMV_KERNEL_LONG(op##_##contract##_##rows, expanded_rows, format, IS_##contract, rows)
#define EXPANDED_KERNELS(contract, CONTRACT, op, format) \
	EXPANDED_ROWS(EXPANDED, contract, op, format)    \
	QMV_KERNEL_LONG(op##_##contract##_r16, line_rows, format, IS_##contract)
#define OF_EXPANDED(id, name, op, ...) CONTRACTS(EXPANDED_KERNELS, op, TCB_FORMAT_##id)
TCB_FORMAT_EXPANDED_ROWS(OF_EXPANDED)

#define EXPANDED_LIST(contract, CONTRACT, kind, op, k)             \
	EXPANDED_ROWS(NATIVE_ROW, contract, CONTRACT, kind, op, k) \
	QMV_ROW(kind, op, k, contract, CONTRACT, r16, R16, 16, op##_##contract##_r16),
#define EXPANDED_TABLE(kind, has_norm, is_gated, op, values) \
	const struct tcb_variant SIMD_NAME(qmv_##op##_##kind)[] = { CONTRACTS(EXPANDED_LIST, kind, op, values){ 0 } };
#define EXPANDED_TABLES(id, name, op, values, ...) QMV_KINDS(EXPANDED_TABLE, op, values)

/* Some of them have the places in grids, too. */
#if LANES == 16 && defined(SIMD_HAS_DOT)
#define NOTHING(...)
#define PLACES(id, name, op, ...) QMV_KERNEL_LONG(op##_r16g, places_rows_of, TCB_FORMAT_##id)
TCB_FORMAT_EXPANDED_WITH(NOTHING, PLACES)
#define PLACES_TABLE(kind, has_norm, is_gated, op, values)                                                     \
	const struct tcb_variant SIMD_NAME(                                                                    \
		qmv_##op##_##kind)[] = { CONTRACTS(EXPANDED_LIST, kind, op, values)                            \
						 QMV_ROW(kind, op, values, q8, Q8, r16g, R16G, 16, op##_r16g), \
					 { 0 } };
#define PLACES_TABLES(id, name, op, values, ...) QMV_KINDS(PLACES_TABLE, op, values)
TCB_FORMAT_EXPANDED_WITH(EXPANDED_TABLES, PLACES_TABLES)
#else
TCB_FORMAT_EXPANDED_ROWS(EXPANDED_TABLES)
#endif

/* Weights that are values, contract f32. */
#if defined(SIMD_HAS_DOT) && !defined(SIMD_DOT_IS_SIGNED)
#define FLOAT_ROWS(X, ...)
#else
#define FLOAT_ROWS(X, ...) EXPANDED_ROWS(X, __VA_ARGS__)
#endif
#define FLOAT(rows, op, format) QMV_KERNEL_LONG(op##_f32_##rows, float_rows, format, rows)
#define OF_FLOAT(id, name, op, ...) FLOAT_ROWS(FLOAT, op, TCB_FORMAT_##id)
TCB_FORMAT_FLOAT_ROWS(OF_FLOAT)
#define FLOAT_TABLE(kind, has_norm, is_gated, op, values) \
	const struct tcb_variant SIMD_NAME(               \
		qmv_##op##_##kind)[] = { FLOAT_ROWS(NATIVE_ROW, f32, F32, kind, op, values){ 0 } };
#define FLOAT_TABLES(id, name, op, values, ...) QMV_KINDS(FLOAT_TABLE, op, values)
TCB_FORMAT_FLOAT_ROWS(FLOAT_TABLES)
