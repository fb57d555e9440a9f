/* SPDX-License-Identifier: MIT
 *
 * Problems that nobody chose: small shapes with any of the words that an op takes, which many ops refuse together, and
 * rows apart from each other.
 */
#ifndef TCB_TESTS_RANDOM_PROBLEM_H
#define TCB_TESTS_RANDOM_PROBLEM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/op.h"

enum { DRAW_TEXT_MAX = 256 };

struct draw {
	struct tcb_rng rng;
	char text[DRAW_TEXT_MAX];
	size_t length;
};

static inline size_t one_of(struct draw *d, size_t count)
{
	return tcb_rng_below(&d->rng, count);
}

static inline int happens(struct draw *d, unsigned percent)
{
	return one_of(d, 100) < percent;
}

/* 1 to MOST; half of the time it is small. */
static inline size_t size_up_to(struct draw *d, size_t most)
{
	return 1 + one_of(d, happens(d, 50) && most > 8 ? 8 : most);
}

/* A head: any multiple of UNIT, one that models have, or the largest. */
static inline size_t head_of(struct draw *d, size_t unit)
{
	static const size_t of_models[] = { 64, 72, 80, 88, 96, 112, 128, 192, 256, 512, 576 };
	const size_t common = of_models[one_of(d, sizeof(of_models) / sizeof(*of_models))];
	if (happens(d, 40) && common % unit == 0)
		return common;
	return unit * size_up_to(d, 576 / unit);
}

static inline void add_text(struct draw *d, const char *word, size_t number)
{
	d->length +=
		(size_t)snprintf(d->text + d->length, DRAW_TEXT_MAX - d->length, number ? "%s%zu" : "%s", word, number);
}

/* A word of OP's, with numbers that tests have in memory. */
static inline void add_word(struct draw *d, enum tcb_word word, size_t k, size_t unit)
{
	const struct tcb_word_row *row = &tcb_word_rows[word], *second = tcb_word_second(word);
	size_t number = 0;
	if (word == TCB_WORD_VALUES)
		number = happens(d, 50) ? head_of(d, unit) : unit * (1 + one_of(d, k / unit));
	else if (word == TCB_WORD_ROTATED)
		number = 8 * (1 + one_of(d, (k + 7) / 8));
	else if (row->kind == TCB_WORD_NUMBER)
		number = row->least + one_of(d, tcb_least(row->most - row->least + 1, happens(d, 50) ? 4 : 64));
	add_text(d, ",", 0);
	if (row->kind == TCB_WORD_TENTHS) {
		add_text(d, row->example, 0);
		return;
	}
	add_text(d, row->text, number);
	if (row->kind == TCB_WORD_TYPE)
		add_text(d, tcb_word_types[row->least - 1 + one_of(d, row->most - row->least + 1)], 0);
	if (second)
		add_text(d, second->text, 1 + one_of(d, number));
}

/* Any of the words that OP takes; of the first what must be said. */
static inline void add_words(struct draw *d, const struct tcb_op *op, size_t k, size_t unit)
{
	if (op->words >> TCB_WORD_EXPERTS & 1u)
		add_word(d, TCB_WORD_EXPERTS, k, unit);
	if (op->words >> TCB_WORD_QUERY & 1u) {
		const size_t kv = 1 + one_of(d, 4);
		add_text(d, ",h", kv * (1 + one_of(d, happens(d, 70) ? 4 : 17)));
		add_text(d, "/", kv);
	}
	for (int word = 0; word < TCB_WORD_COUNT; word++)
		if ((op->words >> word & 1u) && word != TCB_WORD_EXPERTS && word != TCB_WORD_QUERY &&
		    !tcb_word_is_second(&tcb_word_rows[word]) && happens(d, 35))
			add_word(d, (enum tcb_word)word, k, unit);
}

/* Its three sizes and words. */
static inline void draw_text(struct draw *d, const struct tcb_op *op)
{
	const int is_cache = op->words >> TCB_WORD_QUERY & 1u, is_experts = op->words >> TCB_WORD_EXPERTS & 1u;
	const size_t unit = is_cache ? (happens(d, 50) ? 32 : 8) : op->format || is_experts ? 256 : 1;
	const size_t m = size_up_to(d, 40);
	size_t n = size_up_to(d, 300), k = is_cache ? head_of(d, unit) : unit * size_up_to(d, unit > 1 ? 3 : 600);

	d->length = 0;
	if (strcmp(op->shape_form, "MxN") == 0) {
		k = 0;
		n = size_up_to(d, 5000);
	} else if (strcmp(op->shape_form, "MxNxU") == 0)
		k = 1 + one_of(d, tcb_least(n, 64));
	add_text(d, "", m);
	add_text(d, "x", n);
	if (k)
		add_text(d, "x", k);
	add_words(d, op, k, unit);
}

/* Of inputs and of outputs, that PROBLEM's op takes. */
static inline void draw_strides(struct draw *d, const struct tcb_problem *problem, size_t stride[2])
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, all), unit = problem->op->stride_unit;

	stride[0] = stride[1] = 0;
	for (size_t i = 0; i < count; i++) {
		size_t *of = &stride[all[i].role == TCB_ROLE_OUTPUT];
		if (all[i].role != TCB_ROLE_WEIGHTS && !*of)
			*of = (all[i].cols + unit - 1) / unit * unit + unit * one_of(d, 40);
	}
	for (size_t i = 0; i < 2; i++)
		if (happens(d, 30))
			stride[i] = 0;
}

/* A problem of OP of WORK_MOST operations at most, with D's text; -1: none of many was one. */
static inline int random_problem(struct draw *d, const struct tcb_op *op, enum tcb_contract contract, double work_most,
				 struct tcb_problem *out)
{
	enum { TRIES = 200 };

	for (int i = 0; i < TRIES; i++) {
		struct tcb_shape shape;
		size_t stride[2] = { 0, 0 };
		draw_text(d, op);
		if (tcb_shape_parse(d->text, &shape, NULL) != TCB_OK ||
		    tcb_problem_init(op, contract, &shape, out, NULL) != TCB_OK || op->flops(out) > work_most)
			continue;
		if (op->stride_unit && happens(d, 40))
			draw_strides(d, out, stride);
		if (tcb_problem_stride(out, stride[0], stride[1], NULL) != TCB_OK)
			abort();
		return 0;
	}
	return -1;
}

#endif
