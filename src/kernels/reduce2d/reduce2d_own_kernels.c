/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of reductions that are programs, written once in vector operations: each
 * step of the program is done on all vectors of a step of the tile before the next one, so
 * that looking at it costs little.
 */
#include <math.h>

#include "kernels/reduce2d/reduce2d.h"
#include "kernels/rows/rows_vec.h"

enum { CHAINS_MOST = 8 };

/* min, max and abs of a NaN are what they are: it is noted.  All else hands it on. */
SIMD_INLINE vfloat step_result(const enum reduce2d_code code, vfloat x, vfloat y, vflag *nan)
{
	switch (code) {
	case REDUCE2D_CODE_NEG:
		return v_sub(v_set(-0.0f), x);
	case REDUCE2D_CODE_ABS:
		*nan = v_either(*nan, v_unordered(x, x));
		return v_maximum(x, v_sub(v_set(-0.0f), x));
	case REDUCE2D_CODE_ADD:
		return v_add(x, y);
	case REDUCE2D_CODE_SUB:
		return v_sub(x, y);
	case REDUCE2D_CODE_MUL:
		return v_mul(x, y);
	case REDUCE2D_CODE_MIN:
		*nan = v_either(*nan, v_unordered(x, y));
		return v_minimum(x, y);
	default:
		*nan = v_either(*nan, v_unordered(x, y));
		return v_maximum(x, y);
	}
}

/* Of COUNT vectors each, a constant: PROGRAM's result of A and B, to A. */
SIMD_INLINE void combine(const struct reduce2d_program *program, vfloat *a, const vfloat *b, const int count,
			 vflag *nan)
{
	vfloat stack[REDUCE2D_STACK_MAX + 1][CHAINS_MOST];
	int top = -1;
	SIMD_FOR (int u = 0; u < count; u++) /* a program without steps leaves A as it is */
		stack[0][u] = a[u];
#define ON_ALL(to, value)                    \
	SIMD_FOR (int u = 0; u < count; u++) \
	stack[to][u] = value
#define STEP(code, operands)                                                                                      \
	case REDUCE2D_CODE_##code:                                                                                \
		top -= (operands)-1;                                                                              \
		ON_ALL(top, step_result(REDUCE2D_CODE_##code, stack[top][u], stack[top + (operands)-1][u], nan)); \
		break;
	for (unsigned i = 0; i < program->count; i++)
		switch (program->step[i].code) {
		case REDUCE2D_CODE_A:
			top++;
			ON_ALL(top, a[u]);
			break;
		case REDUCE2D_CODE_B:
			top++;
			ON_ALL(top, b[u]);
			break;
		case REDUCE2D_CODE_NUMBER:
			top++;
			ON_ALL(top, v_set(program->step[i].value));
			break;
			STEP(NEG, 1)
			STEP(ABS, 1)
			STEP(ADD, 2)
			STEP(SUB, 2)
			STEP(MUL, 2)
			STEP(MIN, 2)
			STEP(MAX, 2)
		}
#undef STEP
#undef ON_ALL
	SIMD_FOR (int u = 0; u < count; u++)
		a[u] = stack[0][u];
}

SIMD_INLINE void reduce_own(struct reduce2d_call *call, const int chains)
{
	const size_t step = (size_t)chains * LANES, columns = call->columns;
	const struct reduce2d_program *program = call->program;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	const struct v_ahead ahead = { call->prefetch, 1 };
	vfloat sum[CHAINS_MOST], value[CHAINS_MOST];
	vflag nan = v_no_flag();
	float lanes[LANES];
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(program->identity);
	for (size_t r = 0; r < call->rows; r++) {
		const float *x = call->x + r * call->stride;
		size_t i = 0;
		for (; i + step <= columns; i += step) {
			SIMD_FOR (int u = 0; u < chains; u++) {
				v_prefetch_step(x + i, u, ahead, fetch);
				value[u] = v_load(x + i + (size_t)u * LANES);
			}
			combine(program, sum, value, chains, &nan);
		}
		for (; i < columns; i += LANES) {
			value[0] = v_load_left(x + i, columns - i, program->identity);
			combine(program, sum, value, 1, &nan);
		}
	}
	call->result = (double)program->identity;
	for (int u = 0; u < chains; u++) {
		v_store(lanes, sum[u]);
		for (int l = 0; l < LANES; l++)
			call->result = reduce2d_program_run(program, call->result, (double)lanes[l]);
	}
	if (v_is_set(nan))
		call->result = (double)NAN;
}

/* Kernel own_<n>, and its row. */
#define KERNEL(chains, n)                                                  \
	static void own_##n(struct reduce2d_call *call)                    \
	{                                                                  \
		_Static_assert((chains)*LANES == (n), "tile of the name"); \
		reduce_own(call, chains);                                  \
	}
#define ROW(chains, n)                               \
	{ "reduce2d_absmax_f32_" SIMD_TEXT "_1x" #n, \
	  TCB_CONTRACT_F32,                          \
	  SIMD_ISA_ID,                               \
	  TCB_LAYOUT_NATIVE,                         \
	  { 1, n, 1 },                               \
	  1,                                         \
	  TCB_CLASS_EXACT,                           \
	  tcb_signed_variants,                       \
	  (void (*)(void))own_##n },
#if LANES == 1
#define SIZES(X) X(1, 1) X(4, 4) X(8, 8)
#elif LANES == 4
#define SIZES(X) X(1, 4) X(4, 16) X(8, 32)
#elif LANES == 8
#define SIZES(X) X(1, 8) X(4, 32) X(8, 64)
#else
#define SIZES(X) X(1, 16) X(4, 64) X(8, 128)
#endif
SIZES(KERNEL)
const struct tcb_variant SIMD_NAME(reduce2d_absmax_variants)[] = { SIZES(ROW){ 0 } };
