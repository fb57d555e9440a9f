/* SPDX-License-Identifier: MIT
 *
 * Shapes, contracts and cache states as text, and checked size arithmetic.
 */
#include "base/problem.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

int tcb_mul_size(size_t a, size_t b, size_t *out)
{
	return __builtin_mul_overflow(a, b, out) ? -1 : 0;
}

int tcb_add_size(size_t a, size_t b, size_t *out)
{
	return __builtin_add_overflow(a, b, out) ? -1 : 0;
}

/* A decimal number at *TEXT, which is moved past it; -1 for no digit, a leading zero or overflow. */
static int read_dimension(const char **text, size_t *out)
{
	size_t value = 0;

	if (**text < '1' || **text > '9')
		return -1;
	for (; isdigit((unsigned char)**text); (*text)++)
		if (tcb_mul_size(value, 10, &value) || tcb_add_size(value, (size_t)(**text - '0'), &value))
			return -1;
	*out = value;
	return 0;
}

enum tcb_status tcb_shape_parse(const char *text, struct tcb_shape *out, struct tcb_error *err)
{
	size_t dims[3] = { 0, 0, 0 }, elements = 1;
	const char *at = text;
	int count = 0;

	for (;;) {
		if (read_dimension(&at, &dims[count++]))
			break;
		if ((*at == '\0' || (*at == ',' && at[1])) && count >= 2) {
			for (int i = 0; i < count; i++)
				if (tcb_mul_size(elements, dims[i], &elements) || elements > SIZE_MAX / 16)
					return tcb_fail(err, TCB_E_OVERFLOW,
							"shape '%s' is too large: M*N*K must fit in memory sizes",
							text);
			*out = (struct tcb_shape){ .m = dims[0], .n = dims[1], .k = dims[2] };
			return *at ? tcb_words_parse(at + 1, &out->words, err) : TCB_OK;
		}
		if (*at++ != 'x' || count == 3)
			break;
	}
	return tcb_fail(err, TCB_E_USAGE,
			"invalid shape '%.80s': give MxNxK (or MxN for row ops) in whole numbers from 1, "
			"for example 1x4096x4096",
			text);
}

void tcb_shape_print(const struct tcb_shape *shape, char out[TCB_SHAPE_TEXT_MAX])
{
	char words[TCB_WORDS_TEXT_MAX], k[32] = "";
	tcb_words_print(&shape->words, words);
	if (shape->k)
		snprintf(k, sizeof k, "x%zu", shape->k);
	snprintf(out, TCB_SHAPE_TEXT_MAX, "%zux%zu%s%s%s", shape->m, shape->n, k, *words ? "," : "", words);
}

int tcb_shape_equal(const struct tcb_shape *a, const struct tcb_shape *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && memcmp(&a->words, &b->words, sizeof a->words) == 0;
}

static const char *const contract_texts[TCB_CONTRACT_COUNT] = { "f32", "f16", "q8" };
static const char *const state_texts[TCB_STATE_COUNT] = { "cold", "hot" };

const char *tcb_contract_text(enum tcb_contract contract)
{
	return contract_texts[contract];
}

enum tcb_status tcb_contract_parse(const char *text, enum tcb_contract *out, struct tcb_error *err)
{
	const int found = tcb_text_find(contract_texts, TCB_CONTRACT_COUNT, text);

	if (found < 0)
		return tcb_fail(err, TCB_E_USAGE, "unknown contract '%.40s': use f32, f16 or q8", text);
	*out = (enum tcb_contract)found;
	return TCB_OK;
}

const char *tcb_state_text(enum tcb_state state)
{
	return state_texts[state];
}

enum tcb_status tcb_state_parse(const char *text, enum tcb_state *out, struct tcb_error *err)
{
	const int found = tcb_text_find(state_texts, TCB_STATE_COUNT, text);

	if (found < 0)
		return tcb_fail(err, TCB_E_USAGE, "unknown cache state '%.40s': use cold or hot", text);
	*out = (enum tcb_state)found;
	return TCB_OK;
}
