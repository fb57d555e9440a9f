/* SPDX-License-Identifier: MIT
 *
 * Private to the element-wise ops (seed 003): y[i] = f(x[i]) or f(x[i], b[i]) for all
 * elements of M x N matrices, f32 or f16.
 *
 *   relu      maximum(x, 0) of IEEE 754-2019: -0 becomes +0
 *   gelu      x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): the tanh form, x (1 + tanh u) / 2, which is
 *             ggml's and PyTorch's approximate="tanh"
 *   silu      x / (1 + exp(-x))
 *   add mul   x + b, x b
 *   silu_mul  silu(x) b: what a gated feed-forward has between its products;  gelu_mul  gelu(x) b
 *   sigmoid_mul   b / (1 + exp(-x)): a gate behind attention;  softplus_mul   log(1 + exp(x)) b: a decay
 *
 * A NaN makes a NaN, and so does -inf in gelu and silu, as the formulas have it.  Zeros have the formulas' signs.
 * relu, add and mul are rounded once, to the operands' type: class EXACT.  The others are done in f32 and rounded to
 * the type: class APPROX.  Their error is in ulps of the result, and where exp's argument is inexact in roundings of
 * it, for each of which the result's magnitude (ELEMENTWISE_*_CHAIN) is |dy/dz z|, z what is negated in exp.  Results
 * of z < -80 may be off by 2^-119, since exp's numbers below 2^-126 count as 0.
 *
 * The matrix is its elements one after another.  On a CPU:
 *   macro m x n x 1   the shape in powers of two, a row at least a step
 *   midi  m x n x 1   a task, folded into macro: as many elements as it has, one after another
 *   micro 1 x n x 1   a step of the micro-kernel
 * stream=1 stores past the caches.
 */
#ifndef TCB_KERNELS_ELEMENTWISE_H
#define TCB_KERNELS_ELEMENTWISE_H

#include "kernels/op.h"
#include "kernels/simd/gelu_gate.h"

enum { ELEMENTWISE_X, ELEMENTWISE_B, ELEMENTWISE_OPERANDS_MAX = 3 };
enum elementwise_kind {
	ELEMENTWISE_RELU,
	ELEMENTWISE_GELU,
	ELEMENTWISE_SILU,
	ELEMENTWISE_ADD,
	ELEMENTWISE_MUL,
	ELEMENTWISE_SILU_MUL,
	ELEMENTWISE_GELU_MUL,
	ELEMENTWISE_SIGMOID_MUL,
	ELEMENTWISE_SOFTPLUS_MUL
};

/* X(function, KIND, CLASS, type, TYPE, ...): the ops. */
#define ELEMENTWISE_OF(X, type, TYPE, ...)                           \
	X(relu, RELU, EXACT, type, TYPE, __VA_ARGS__)                \
	X(gelu, GELU, APPROX, type, TYPE, __VA_ARGS__)               \
	X(silu, SILU, APPROX, type, TYPE, __VA_ARGS__)               \
	X(add, ADD, EXACT, type, TYPE, __VA_ARGS__)                  \
	X(mul, MUL, EXACT, type, TYPE, __VA_ARGS__)                  \
	X(silu_mul, SILU_MUL, APPROX, type, TYPE, __VA_ARGS__)       \
	X(gelu_mul, GELU_MUL, APPROX, type, TYPE, __VA_ARGS__)       \
	X(sigmoid_mul, SIGMOID_MUL, APPROX, type, TYPE, __VA_ARGS__) \
	X(softplus_mul, SOFTPLUS_MUL, APPROX, type, TYPE, __VA_ARGS__)
#define ELEMENTWISE_LIST(X, ...) ELEMENTWISE_OF(X, f32, F32, __VA_ARGS__) ELEMENTWISE_OF(X, f16, F16, __VA_ARGS__)

/* What tells the ops apart (op->member), beside op->type. */
struct elementwise_op {
	enum elementwise_kind kind;
};
static inline enum elementwise_kind elementwise_kind(const struct tcb_problem *problem)
{
	return ((const struct elementwise_op *)problem->op->member)->kind;
}
static inline size_t elementwise_inputs(enum elementwise_kind kind)
{
	return kind >= ELEMENTWISE_ADD ? 2 : 1;
}
static inline int elementwise_is_exact(enum elementwise_kind kind)
{
	return kind == ELEMENTWISE_RELU || kind == ELEMENTWISE_ADD || kind == ELEMENTWISE_MUL;
}
/* Is there a second product, with b? */
static inline int elementwise_is_gated(enum elementwise_kind kind)
{
	return kind >= ELEMENTWISE_SILU_MUL;
}
/* Is z gelu's? */
static inline int elementwise_is_gelu(enum elementwise_kind kind)
{
	return kind == ELEMENTWISE_GELU || kind == ELEMENTWISE_GELU_MUL;
}

/* softplus is max(x, 0) + log(1 + t) with t = exp(-|x|), and log(1 + t) = 2 atanh(s), s = t / (2 + t), a third at most:
 * 2 s (1 + s^2 / 3 + s^4 / 5 + ...), of which what is left out is 2^-29 of it. */
enum { ELEMENTWISE_ATANH_LAST = 15 };

/* elementwise_ops.c */
#define ELEMENTWISE_DECLARE(f, KIND, CLASS, type, ...)                                               \
	extern const struct tcb_op tcb_op_elementwise_##f##_##type;                                  \
	extern const struct tcb_side elementwise_##f##_##type##_cpu, elementwise_##f##_##type##_gpu, \
		elementwise_##f##_##type##_wgsl;
ELEMENTWISE_LIST(ELEMENTWISE_DECLARE, )
#undef ELEMENTWISE_DECLARE

/* The micro-kernel: COUNT elements, one behind the other. */
struct elementwise_call {
	const void *x, *b; /* b: NULL where there is none */
	void *y;           /* of stream aligned to 64 bytes */
	size_t count;
	size_t prefetch;    /* bytes ahead in each input, 0 for none */
	enum tcb_hint hint; /* which cache level to prefetch to */
	int stream;         /* past the caches, for other threads to see when the call is over */
};
typedef void elementwise_micro_fn(const struct elementwise_call *call);

/* elementwise_cpu.c: elements of a task, tasks. */
size_t elementwise_task(const struct tcb_geometry *geometry);
size_t elementwise_tasks(const struct tcb_problem *problem, const struct tcb_geometry *geometry);

/* elementwise_cpu_space.c */
extern const struct tcb_side_space elementwise_cpu_space;
/* Why GEOMETRY's macro and midi are not PROBLEM's shape and a part of it, where midi has SIZE elements and micro.n is
 * right; NULL: they are.  And a geometry's tiles so. */
const char *elementwise_tiles_broken(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				     size_t size);
void elementwise_set_tiles(const struct tcb_problem *problem, size_t size, size_t micro, struct tcb_geometry *out);
/* Axes of such tiles, micro's of its own. */
void elementwise_add_tiles(const struct tcb_problem *problem, size_t micro_most, size_t size_most, struct tcb_axis *out,
			   size_t *count);

#endif
