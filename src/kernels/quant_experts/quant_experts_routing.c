/* SPDX-License-Identifier: MIT
 *
 * Who uses which experts, for tuning.  In: a shape's words.  Each token draws
 * one expert after the other, without those that it has, by their popularity:
 * equal, or of the r-th one over a power of r (measured routing is skewed).
 * Numbers are given to experts as they are first met, and a seed moves all of
 * them on by as many as are met: so the routings of seeds in turn are alike,
 * and read what the one before did not.  Shared experts are met before all others.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "kernels/quant_experts/quant_experts.h"

enum { EXPERTS_MAX = 4096, USED_MAX = 256, NEW = -1 };

/* Tokens that draw, one after the other. */
struct drawing {
	const struct tcb_words *words;
	struct tcb_rng rng;
	double popularity[EXPERTS_MAX];
	int32_t number[EXPERTS_MAX]; /* in the order of being met */
	int32_t met;
};

static void begin(struct drawing *drawing, const struct tcb_words *words)
{
	const double power = words->even || words->one ? 0 : words->skew / 10.0;
	drawing->words = words;
	drawing->met = words->shared;
	tcb_rng_init(&drawing->rng, 0);
	for (size_t e = 0; e < words->experts; e++) {
		drawing->popularity[e] = pow((double)(e + 1), -power);
		drawing->number[e] = NEW;
	}
}

/* One expert, of those that IS_TAKEN leaves. */
static size_t draw_one(struct drawing *drawing, const unsigned char *is_taken)
{
	double sum = 0, at;
	size_t last = 0;
	for (size_t e = 0; e < drawing->words->experts; e++)
		sum += is_taken[e] ? 0 : drawing->popularity[e];
	at = sum * tcb_rng_unit(&drawing->rng);
	for (size_t e = 0; e < drawing->words->experts; e++) {
		if (is_taken[e])
			continue;
		last = e;
		at -= drawing->popularity[e];
		if (at < 0)
			break;
	}
	return last;
}

/* The numbers of the experts of the next token. */
static void draw_token(struct drawing *drawing, int32_t *out)
{
	unsigned char is_taken[EXPERTS_MAX];
	memset(is_taken, 0, drawing->words->experts);
	for (size_t u = 0; u < drawing->words->used; u++) {
		const size_t e = draw_one(drawing, is_taken);
		is_taken[e] = 1;
		if (drawing->number[e] == NEW)
			drawing->number[e] = drawing->met++;
		out[u] = drawing->number[e];
	}
	for (int32_t s = 0; s < drawing->words->shared; s++)
		out[drawing->words->used + s] = s;
}

size_t qex_touched(const struct tcb_shape *shape)
{
	struct drawing drawing;
	int32_t ids[USED_MAX];
	if (shape->words.one)
		return qex_used(shape);
	begin(&drawing, &shape->words);
	for (size_t t = 0; t < shape->m && (size_t)drawing.met < qex_experts(shape); t++)
		draw_token(&drawing, ids);
	return (size_t)drawing.met;
}

void qex_draw(const struct tcb_shape *shape, uint64_t seed, int32_t *ids)
{
	const uint64_t experts = qex_experts(shape), used = qex_used(shape);
	struct drawing drawing;
	begin(&drawing, &shape->words);
	for (size_t t = 0; t < shape->m; t++) {
		if (t > 0 && shape->words.one)
			memcpy(ids + t * used, ids, used * sizeof(*ids));
		else
			draw_token(&drawing, ids + t * used);
	}
	const uint64_t moved = seed % experts * (uint64_t)drawing.met;
	for (size_t i = 0; i < shape->m * used; i++)
		ids[i] = (int32_t)(((uint64_t)ids[i] + moved) % experts);
}
