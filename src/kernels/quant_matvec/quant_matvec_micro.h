/* SPDX-License-Identifier: MIT
 *
 * Shared by the micro-kernels of the ops qXX_matvec: where software prefetch looks, and
 * the macro that turns one generic always-inline kernel into compiled variants
 * with the prefetch hint as a constant.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_MICRO_H
#define TCB_KERNELS_QUANT_MATVEC_MICRO_H

#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_layout.h"
#include "kernels/simd/simd.h"

enum { QMV_HINT_NONE = -1 };

/*
 * Prefetch looks a distance past block b of a row (group), in whole blocks: near while that lies within the rows of
 * this call, far once it lies in those of the next call.
 */
struct qmv_ahead {
	size_t near, far, near_blocks;
};

SIMD_INLINE struct qmv_ahead qmv_ahead(const struct qmv_call *call, size_t block_bytes, size_t bytes)
{
	size_t distance = (bytes + block_bytes - 1) / block_bytes;
	size_t calls = distance / call->blocks, rest = distance % call->blocks;
	struct qmv_ahead ahead;
	ahead.near = calls * call->next_bytes + rest * block_bytes;
	ahead.far = (calls + 1) * call->next_bytes + rest * block_bytes - call->blocks * block_bytes;
	ahead.near_blocks = call->blocks - rest;
	return ahead;
}

/*
 * The two stages of prefetching.  Hint t1 asks for call->prefetch bytes ahead into L2, then for the lines of the
 * second stage, much nearer, from there into L1: with the first stage alone each line's first use waits for L2, with
 * hint t0 alone the few line-fill buffers of L1 limit how much is under way.  2048 bytes: best of 256 to 4096.
 */
struct qmv_stages {
	struct qmv_ahead first, second;
};

SIMD_INLINE struct qmv_stages qmv_stages(const struct qmv_call *call, size_t block_bytes)
{
	const size_t second = call->prefetch / 4 < 2048 ? call->prefetch / 4 : 2048;
	return (struct qmv_stages){ qmv_ahead(call, block_bytes, call->prefetch),
				    qmv_ahead(call, block_bytes, second) };
}

/* What to add to the address of something in block B to get what each stage fetches meanwhile. */
struct qmv_offsets {
	size_t first, second;
};

SIMD_INLINE struct qmv_offsets qmv_offsets(const struct qmv_stages *stages, size_t b)
{
	return (struct qmv_offsets){ b < stages->first.near_blocks ? stages->first.near : stages->first.far,
				     b < stages->second.near_blocks ? stages->second.near : stages->second.far };
}

/* HINT is a constant after inlining; addresses past the end of the weights are harmless to prefetch. */
SIMD_INLINE void qmv_prefetch(const uint8_t *at, struct qmv_offsets ahead, int hint)
{
	if (hint == TCB_HINT_T0) {
		__builtin_prefetch(at + ahead.first, 0, 3);
	} else if (hint == TCB_HINT_T1) {
		__builtin_prefetch(at + ahead.first, 0, 2);
		__builtin_prefetch(at + ahead.second, 0, 3);
	} else if (hint == TCB_HINT_NTA) {
		__builtin_prefetch(at + ahead.first, 0, 0);
	}
}

/* The same for COUNT lines of 64 bytes; HINT is no constant here and is looked at once. */
SIMD_INLINE void qmv_prefetch_lines(const uint8_t *at, size_t count, struct qmv_offsets ahead, int hint)
{
	if (hint == TCB_HINT_T0) {
		for (size_t i = 0; i < count; i++)
			qmv_prefetch(at + 64 * i, ahead, TCB_HINT_T0);
	} else if (hint == TCB_HINT_T1) {
		for (size_t i = 0; i < count; i++)
			qmv_prefetch(at + 64 * i, ahead, TCB_HINT_T1);
	} else if (hint == TCB_HINT_NTA) {
		for (size_t i = 0; i < count; i++)
			qmv_prefetch(at + 64 * i, ahead, TCB_HINT_NTA);
	}
}

/* The variant NAME of BODY(call, ..., hint) with one copy of the loop, and a predicted branch at each prefetch. */
#define QMV_KERNEL_LONG(name, body, ...)                                                        \
	static void name(const struct qmv_call *call)                                           \
	{                                                                                       \
		assert(call->blocks >= 1 && call->rows >= 1);                                   \
		body(call, __VA_ARGS__, call->prefetch ? (int)call->hint : (int)QMV_HINT_NONE); \
	}

/*
 * The same with a copy for each hint, for loops with so little work a line that the branches count.
 */
#if SIMD_SOON
#define QMV_KERNEL QMV_KERNEL_LONG
#else
#define QMV_KERNEL(name, body, ...)                             \
	static void name(const struct qmv_call *call)           \
	{                                                       \
		assert(call->blocks >= 1 && call->rows >= 1);   \
		if (!call->prefetch)                            \
			body(call, __VA_ARGS__, QMV_HINT_NONE); \
		else if (call->hint == TCB_HINT_T0)             \
			body(call, __VA_ARGS__, TCB_HINT_T0);   \
		else if (call->hint == TCB_HINT_T1)             \
			body(call, __VA_ARGS__, TCB_HINT_T1);   \
		else                                            \
			body(call, __VA_ARGS__, TCB_HINT_NTA);  \
	}
#endif

/* One table row of the ops KIND of a format that shares its kernels; the name carries op, contract, layout, ISA and
 * micro tile, whose k is K_. */
#define QMV_ROW(kind_, op_, k_, contract_, CONTRACT, layout_, LAYOUT_, rows_, function)                       \
	{                                                                                                     \
#op_ "_" #kind_ "_" #contract_ "_" #layout_ "_" SIMD_TEXT "_1x" #rows_ "x" #k_ "_u1",         \
			TCB_CONTRACT_##CONTRACT, SIMD_ISA_ID, TCB_LAYOUT_##LAYOUT_,                           \
			{ 1, rows_, k_ }, 1, TCB_CLASS_BOUNDED, tcb_signed_variants, (void (*)(void))function \
	}

#endif
