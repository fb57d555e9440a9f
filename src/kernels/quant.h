/* SPDX-License-Identifier: MIT
 *
 * What all ops share whose weights are quantised (kernels/formats.h):
 *     y[m][n] = sum over k of x[m][k] * w[n][k]
 * w stored as N rows of K values in blocks of the op's format (op->format),
 * x and y in f32.  These functions fill members of struct tcb_op; the format is
 * that of the problem's op.
 *
 * The contracts, and the term of the bound that each adds (struct tcb_reference):
 *   f32  activations as they are.  A kernel may keep scale * code and the offset apart, each with its own roundings,
 * and leave of each of 256 activations out what is below 2^-51 of their largest (two halves have no more). f16
 * activations rounded to f16 (beyond 65504 they are infinite); so may scales, offsets and weights be; products added in
 * f32. q8   activations to 8 bits, tcb_quant_group() values a scale, or a divisor of it; products of codes are added
 *        exactly, and scaled in f32.
 */
#ifndef TCB_KERNELS_QUANT_H
#define TCB_KERNELS_QUANT_H

#include <math.h>

#include "kernels/formats.h"
#include "kernels/op.h"
#include "kernels/simd/gelu_gate.h"

/* ADDED: with the word add, which only ops take that have no other operand; y += added, which is not where y is. */
enum { TCB_QUANT_WEIGHTS, TCB_QUANT_X, TCB_QUANT_Y, TCB_QUANT_OPERANDS, TCB_QUANT_ADDED = TCB_QUANT_OPERANDS };

size_t tcb_quant_row_bytes(const struct tcb_format *format, size_t k); /* of one row of weights as stored */
size_t tcb_quant_group(const struct tcb_format *format);               /* contract q8: activations a scale at most */

enum tcb_status tcb_quant_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
size_t tcb_quant_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX]);
void tcb_quant_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[]);
double tcb_quant_flops(const struct tcb_problem *problem);
double tcb_quant_traffic(const struct tcb_problem *problem);

/*
 * How products stand among their neighbours: what x and y are in memory, types and strides of their rows, and what is
 * added to a product, a bias (word bias) and what passes a layer by (word add).
 */

/* Words that all products take which are not of experts. */
#define TCB_QUANT_WORDS                                                                                   \
	(UINT64_C(1) << TCB_WORD_BIAS | UINT64_C(1) << TCB_WORD_X_TYPE | UINT64_C(1) << TCB_WORD_Y_TYPE | \
	 UINT64_C(1) << TCB_WORD_BITS)

/* Of x and y in memory: their types, and elements from a row to the next. */
static inline enum tcb_type tcb_quant_x_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.x_type, TCB_TYPE_F32);
}
static inline enum tcb_type tcb_quant_y_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.y_type, TCB_TYPE_F32);
}
static inline size_t tcb_quant_x_stride(const struct tcb_problem *problem)
{
	return problem->x_stride ? problem->x_stride : problem->shape.k;
}
static inline size_t tcb_quant_y_stride(const struct tcb_problem *problem)
{
	return problem->y_stride ? problem->y_stride : problem->shape.n;
}

/* The operand that the bias is, the last one: behind the norm's weights, which ops with the word eps have, and ADDED.
 * It has N values, or of a gated pair the gate's and then up's. */
static inline size_t tcb_quant_bias_at(const struct tcb_problem *problem)
{
	const size_t has_norm = problem->op->words >> TCB_WORD_EPS & 1u;
	return TCB_QUANT_OPERANDS + has_norm + problem->shape.words.add;
}
struct tcb_operand tcb_quant_bias_operand(size_t values);

/* VALUES activations of row TOKEN from FIRST on, where they are or, of another type than f32, in ROOM. */
const float *tcb_quant_x_values(const struct tcb_problem *problem, const void *x, size_t token, size_t first,
				size_t values, float *room);

/* What is added to a product of N outputs; NULL: nothing.  Rows of the sums are STRIDE floats apart. */
struct tcb_quant_more {
	size_t n, stride;
	const float *bias, *added;
};
struct tcb_quant_more tcb_quant_more(const struct tcb_problem *problem, void *const operand[]);
/* Adds MORE, its bias first, to ROWS rows of COLUMNS sums Y, the problem's from ROW and COLUMN on. */
void tcb_quant_add_more(const struct tcb_quant_more *more, size_t row, size_t rows, size_t column, size_t columns,
			float *y);

/*
 * quant_reference.c.  In double; every block is taken apart once for 32 tokens.  A kernel that keeps scale * code and
 * offset apart, or codes as stored and their centre, must have no longer chain than tcb_quant_chain_max(): extra holds
 * what the two terms add to the bound.
 */
void tcb_quant_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
void tcb_quant_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
size_t tcb_quant_drawn_columns(const struct tcb_problem *problem);
double tcb_quant_chain_max(size_t k);

/*
 * What a product is fused with: before it, each token's activations are divided by sqrt(mean(x^2) + eps) and multiplied
 * with NORM; after it, y[m][n] = silu(p) * u, or with the word gelu gelu(p) * u, where p and u are the products with
 * rows n and N + n of the weights. What the norm rounds is part of a kernel's chain: at most TCB_QUANT_NORM_CHAIN more,
 * and one for 256 of K.
 */
struct tcb_quant_fused {
	const float *norm; /* NULL: none */
	double eps;
	int is_gated;
};
enum { TCB_QUANT_NORM_CHAIN = 32 };
void tcb_quant_reference_fused(const struct tcb_problem *problem, void *const operand[],
			       const struct tcb_quant_fused *fused, struct tcb_reference *out);
/* The same with MORE, whose bias is added before a gate, and y of its type. */
void tcb_quant_reference_rows(const struct tcb_problem *problem, void *const operand[],
			      const struct tcb_quant_fused *fused, const struct tcb_quant_more *more,
			      struct tcb_reference *out);
/*
 * How gate p and up u are joined: (u + plus) p / (1 + exp(-z)), z = p (slope + cubic p^2), p no more than LIMIT and u
 * within it; NaNs stay.  silu(p) u; gpt-oss's (its public reference, and ggml's SWIGLU_OAI); gelu(p) u in its tanh
 * form.
 */
struct tcb_quant_gate {
	float slope, limit, plus, cubic;
};
#define TCB_QUANT_SILU ((struct tcb_quant_gate){ 1, INFINITY, 0, 0 })
#define TCB_QUANT_OAI ((struct tcb_quant_gate){ 1.702f, 7, 1, 0 })
#define TCB_QUANT_GELU ((struct tcb_quant_gate){ (float)TCB_GELU_Z1, INFINITY, 0, (float)TCB_GELU_Z3 })
static inline struct tcb_quant_gate tcb_quant_gate_of(const struct tcb_words *words)
{
	return words->gelu ? TCB_QUANT_GELU : words->oai ? TCB_QUANT_OAI : TCB_QUANT_SILU;
}
/* COUNT results of a gate, of products with K values, become those of a pair joined by GATE; UP has the other
 * products. */
void tcb_quant_reference_gate(const struct tcb_quant_gate *gate, size_t k, size_t count,
			      const struct tcb_reference *gated, const struct tcb_reference *up);

/*
 * COUNT activations to codes and their scale, contract q8: x[i] ~ d * code, d = max|x| / 127, code = x * (127 / max)
 * rounded to nearest even.  A group whose max is below 127 * 2^-126 counts as zeros (d = 0); one that holds a NaN or an
 * infinity gets d = NaN and codes 0, so that every output it touches is NaN.  Portable; what vectors do must give the
 * same bits.
 */
void tcb_quant_codes(const float *x, size_t count, int8_t *code_out, float *d_out);

#endif
