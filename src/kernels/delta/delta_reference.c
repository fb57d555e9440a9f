/* SPDX-License-Identifier: MIT
 *
 * The reference of the recurrent ops in double, and how far a kernel in f32 may be from it.
 *
 * With a = exp(g), a state's column s of one value (k numbers) becomes
 *
 *     s' = a (I - beta key key') s + beta v key
 *
 * An error e of s grows by the norm of that matrix, a max(1, |1 - beta key'key|), and each
 * token adds what its own roundings do, which is in units of gamma(chain), with chain as long as
 * a sum over k and what is around it:
 *
 *     a |s|                                 of exp and the product with it
 *     |key| beta (3 a |s|'|key| + |v| + a |s'key|)    of the correction: a sum, its factors, a norm
 *     3 |key| |d| + |s'|                    of d key, added to it
 *
 * e is the allowed error of all of the column's elements; of y, which is s'query,
 *
 *     a e (|query| + |query'key| beta |key|)
 *     3 a |s|'|query| + a |s'query|
 *     |query'key| beta (3 a |s|'|key| + |v| + a |s'key|) + 3 |query|'|key| |d| + |y|
 *
 * which allows for kernels that take it from the state before: a s'query + query'key d.
 *
 * A kernel that takes a chunk of tokens at once (delta_chunk_kernels.c) has no states within it: it has parts, the
 * state before the chunk and key_j u_j, where u is d.  What it finds for u is exact of a recurrence in which each d is
 * off by what the sums over the parts' products with a key are, and so are y and the state behind the chunk; the sums'
 * errors are those of |s| in the terms above if |s| is the parts' sizes, weighted as they are:
 *
 *     size' = a size + |key| |d|, which begins as |s| where a chunk does
 *
 * and is never below |s|.  So of prompts sizes stand for |s|, |s'|; they begin again where the longest chunks do, and
 * so are no smaller than those of shorter ones.  The chain has a chunk's length more then, and DELTA_CHUNK_CHAIN for a
 * ratio of decays, the exponential of a number above -88 (below it is 0): up to 88 of its rounding, some of exp.
 *
 * Terms of second order, and exponents that are off by more than chain, are far below what the
 * chain has to spare.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/delta/delta.h"

#define BF16_HALF 0x1p-8
enum { COLUMNS = 8 /* of a task */ };

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out; /* of y and of the states */
};

/* A token's queries and keys as they are multiplied, and numbers of one head. */
struct token {
	double query[DELTA_KEY_MAX], key[DELTA_KEY_MAX];
	double query_norm, key_norm, product, product_size; /* |query|, |key|, query'key, |query|'|key| */
	double a, a_error, beta, growth;                    /* a_error: of a, in its roundings */
};

/* COUNT floats to OUT, normed where IS_NORMED, times FACTOR; their norm. */
static double take(const float *x, size_t count, int is_normed, double factor, double *out)
{
	double squares = 0;
	for (size_t i = 0; i < count; i++)
		squares += (double)x[i] * (double)x[i];
	if (is_normed)
		factor /= sqrt(squares + (double)DELTA_NORM_EPSILON);
	for (size_t i = 0; i < count; i++)
		out[i] = (double)x[i] * factor;
	return sqrt(squares) * fabs(factor);
}

static void take_token(const struct job *job, size_t row, size_t head, struct token *out)
{
	const struct tcb_shape *s = &job->problem->shape;
	const int has_correction = delta_of(job->problem)->has_correction;
	const float *x = (const float *)job->operand[DELTA_QKV] + row * delta_row(s);
	const float *query = x + (size_t)((const int32_t *)job->operand[DELTA_KEY_HEADS])[head] * s->k,
		    *key = query + s->words.kv * s->k;
	const size_t at = row * s->words.query + head;
	const double scale = has_correction ? 1 / sqrt((double)s->k) : 1;
	out->query_norm = take(query, s->k, has_correction, scale, out->query);
	out->key_norm = take(key, s->k, has_correction, 1, out->key);
	out->product = out->product_size = 0;
	for (size_t i = 0; i < s->k; i++) {
		out->product += out->query[i] * out->key[i];
		out->product_size += fabs(out->query[i] * out->key[i]);
	}
	const double g = (double)((const float *)job->operand[DELTA_G])[at];
	out->beta = (double)((const float *)job->operand[DELTA_BETA])[at];
	out->a = exp(g);
	out->a_error = out->a > 0 ? out->a * (1 + fabs(g) / 4) : 0; /* all may be forgotten */
	out->growth = out->a;
	if (has_correction)
		out->growth *= fmax(1, fabs(1 - out->beta * out->key_norm * out->key_norm));
}

/* One column of a state; sizes of what it is summed from, in a chunk; its error. */
struct column {
	double state[DELTA_KEY_MAX], size[DELTA_KEY_MAX], error;
};

static void begin_chunk(struct column *column, size_t k)
{
	for (size_t i = 0; i < k; i++)
		column->size[i] = fabs(column->state[i]);
}

/* A token of one column, which is as before it and becomes as behind it. */
static void step(const struct token *t, size_t k, double v, int has_correction, double skip, struct column *column,
		 double *y, double *y_magnitude)
{
	double *state = column->state, *size = column->size, *error = &column->error;
	double norm = 0, by_key = 0, by_query = 0, key_size = 0, query_size = 0;
	for (size_t i = 0; i < k; i++) {
		norm += size[i] * size[i];
		by_key += state[i] * t->key[i];
		by_query += state[i] * t->query[i];
		key_size += size[i] * fabs(t->key[i]);
		query_size += size[i] * fabs(t->query[i]);
	}
	const double old = has_correction ? t->a * by_key : 0;
	const double d = t->beta * (v - old), before = *error;
	const double d_size = fabs(t->beta) * (fabs(v) + (has_correction ? 3 * t->a * key_size : 0) + fabs(old));
	double after = 0;
	for (size_t i = 0; i < k; i++) {
		state[i] = t->a * state[i] + t->key[i] * d;
		size[i] = t->a * size[i] + fabs(t->key[i] * d);
		after += size[i] * size[i];
	}
	*error = t->growth * before + t->a_error * sqrt(norm) + t->key_norm * (d_size + 3 * fabs(d)) + sqrt(after);
	*y = t->a * by_query + t->product * d + skip * v;
	*y_magnitude =
		t->a * before * (t->query_norm + (has_correction ? fabs(t->product * t->beta) * t->key_norm : 0)) +
		t->a * 3 * query_size + t->a_error * fabs(by_query) + fabs(t->product) * d_size +
		3 * t->product_size * fabs(d) + 2 * fabs(skip * v) + fabs(*y);
}

static void put_state(const struct job *job, size_t at, const double *state, double error)
{
	struct tcb_reference *out = &job->out[1];
	const size_t k = job->problem->shape.k;
	const double half = delta_of(job->problem)->state == TCB_TYPE_BF16 ? BF16_HALF : 0;
	for (size_t i = 0; i < k; i++) {
		out->y[at + i] = state[i];
		out->magnitude[at + i] = error;
		out->extra[at + i] = half * fabs(state[i]);
	}
}

/* Column N of a state, which the sequence goes on from. */
static void get_state(const struct job *job, int32_t slot, size_t in_slot, double *state)
{
	const size_t k = job->problem->shape.k;
	const enum tcb_type type = delta_of(job->problem)->state;
	float begin[DELTA_KEY_MAX] = { 0 };
	const size_t at = (size_t)slot * delta_state(&job->problem->shape) + in_slot;
	if (slot >= 0)
		tcb_type_to_f32(type, (const char *)job->operand[DELTA_STATES] + at * tcb_type_bytes(type), k, begin);
	for (size_t i = 0; i < k; i++)
		state[i] = (double)begin[i];
}

/* Task INDEX: COLUMNS columns of one head of one sequence. */
static void refer_columns(void *ctx, size_t index, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t heads = s->words.query, blocks = tcb_div_up(s->n, COLUMNS);
	const size_t sequence = index / blocks / heads, head = index / blocks % heads, first = index % blocks * COLUMNS;
	const size_t end = tcb_least(first + COLUMNS, s->n);
	const size_t count = (size_t)((const int32_t *)job->operand[DELTA_COUNTS])[sequence];
	const int32_t *slots = (const int32_t *)job->operand[DELTA_SLOTS] + sequence * delta_slots_row(job->problem);
	const int has_correction = delta_of(job->problem)->has_correction;
	const double skip = has_correction ? 0 : (double)((const float *)job->operand[DELTA_SKIP])[head];
	const size_t chunk = delta_of(job->problem)->is_prefill ? DELTA_CHUNK_MAX : 1;
	struct column columns[COLUMNS];
	(void)thread;
	for (size_t n = first; n < end && count; n++) {
		columns[n - first].error = 0;
		get_state(job, slots[0], (head * s->n + n) * s->k, columns[n - first].state);
	}
	for (size_t i = 0; i < count; i++) {
		const size_t row = sequence * s->m + i, to = delta_slot_of(job->problem, i, count);
		const float *v = (const float *)job->operand[DELTA_QKV] + row * delta_row(s) + 2 * s->words.kv * s->k +
				 head * s->n;
		struct token token;
		take_token(job, row, head, &token);
		for (size_t n = first; n < end; n++) {
			const size_t y = (row * heads + head) * s->n + n;
			struct column *column = &columns[n - first];
			if (i % chunk == 0)
				begin_chunk(column, s->k);
			step(&token, s->k, (double)v[n], has_correction, skip, column, &job->out[0].y[y],
			     &job->out[0].magnitude[y]);
			job->out[0].extra[y] = 0;
			if (to && slots[to] >= 0)
				put_state(job, (size_t)slots[to] * delta_state(s) + (head * s->n + n) * s->k,
					  column->state, column->error);
		}
	}
}

/* What is not written keeps what it had: the poison, which is a NaN. */
void delta_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct job job = { problem, operand, out };
	problem->op->operands(problem, operands);
	for (size_t o = 0; o < 2; o++) {
		const struct tcb_operand *output = &operands[DELTA_Y + o];
		for (size_t i = 0; i < output->rows * output->cols; i++) {
			out[o].y[i] = (double)NAN;
			out[o].magnitude[i] = out[o].extra[i] = 0;
		}
	}
	tcb_reference_share(out, s->words.sequences * s->words.query * tcb_div_up(s->n, COLUMNS), refer_columns, &job);
}
