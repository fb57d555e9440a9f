/* SPDX-License-Identifier: MIT
 *
 * Shapes that an op takes, made of three sizes: k is left out where there is none;
 * where the shape has words, it is of a few query tokens and heads, or of experts, and
 * n says which others there are.
 */
#ifndef TCB_TESTS_SHAPE_FOR_H
#define TCB_TESTS_SHAPE_FOR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/op.h"

static inline struct tcb_shape shape_for(const struct tcb_op *op, struct tcb_shape shape)
{
	char text[512];
	if (strcmp(op->shape_form, "MxN") == 0)
		shape.k = 0;
	if (strcmp(op->shape_form, "MxNxU") == 0) { /* U of N, which are not too many */
		shape.n = 1 + (shape.n - 1) % 1024;
		shape.k = 1 + (shape.k - 1) % (shape.n < 64 ? shape.n : 64);
	}
	if (!tcb_op_needs_words(op))
		return shape;
	shape.m = 1 + (shape.m - 1) % 8;
	if (op->words >> TCB_WORD_EXPERTS & 1u) {
		static const char *const routings[] = { "", ",even", ",one", ",zipf2.0" };
		shape.k = 256 * (1 + shape.k / 256 % 3);
		snprintf(text, sizeof text, "e6/%zu%s%s%s%s%s", 1 + shape.n % 3, routings[shape.n % 4],
			 op->words >> TCB_WORD_EACH & 1u && shape.n % 2 ? ",each" : "",
			 shape.n % 5 == 1 ? ",shared1" : "", shape.n % 3 == 1 ? ",bias" : "",
			 op->words >> TCB_WORD_OAI & 1u && shape.n % 2 ? ",oai" : "");
		if (tcb_words_parse(text, &shape.words, NULL) != TCB_OK)
			abort();
		return shape;
	}
	shape.k = 32 * (1 + shape.k / 32 % 8);
	int length = snprintf(text, sizeof text, "h6/%d,b%zu", shape.n % 2 ? 2 : 1, 1 + shape.n % 3);
	/* What comes later not every kind of device has, nor goes all of it with any head: tests of the ops draw it. */
	for (unsigned i = TCB_WORD_SEQUENCES + 1; i <= TCB_WORD_PAIRS; i++)
		if (op->words >> i & 1u && tcb_word_rows[i].example && ((shape.n >> (1 + i % 6)) ^ shape.n) & 1)
			length +=
				snprintf(text + length, sizeof text - (size_t)length, ",%s", tcb_word_rows[i].example);
	if (tcb_words_parse(text, &shape.words, NULL) != TCB_OK)
		abort();
	return shape;
}

/* The shape that TEXT is, without the words that OP does not take. */
static inline struct tcb_shape shape_taken(const struct tcb_op *op, const char *text)
{
	struct tcb_shape out;
	char copy[TCB_SHAPE_TEXT_MAX], kept[2 * TCB_SHAPE_TEXT_MAX], alone[2 * TCB_SHAPE_TEXT_MAX], *rest = copy;
	snprintf(copy, sizeof copy, "%s", text);
	const char *first = strtok_r(rest, ",", &rest), *heads = strtok_r(rest, ",", &rest);
	int length = snprintf(kept, sizeof kept, "%s,%s", first, heads);
	for (char *word; (word = strtok_r(rest, ",", &rest)) != NULL;) {
		snprintf(alone, sizeof alone, "1x1,%s,%s", heads, word);
		if (tcb_shape_parse(alone, &out, NULL) != TCB_OK)
			abort();
		if (!(tcb_words_given(&out.words) & ~op->words))
			length += snprintf(kept + length, sizeof kept - (size_t)length, ",%s", word);
	}
	if (tcb_shape_parse(kept, &out, NULL) != TCB_OK)
		abort();
	return out;
}

#endif
