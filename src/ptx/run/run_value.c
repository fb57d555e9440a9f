/* SPDX-License-Identifier: MIT
 *
 * In: a type and numbers in words, or how memory is to be filled.  Out: the
 * elements' bytes; and how two arrays differ.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_float.h"
#include "ptx/run/run.h"

int tcb_ptx_is_element(enum tcb_ptx_word type)
{
	if (!tcb_ptx_is_type(type))
		return 0;
	switch (tcb_ptx_type_class(type)) {
	case TCB_PTX_CLASS_BITS:
	case TCB_PTX_CLASS_UINT:
	case TCB_PTX_CLASS_SINT:
		return tcb_ptx_type_bits(type) <= 64;
	default:
		return type == TCB_PTX_F16 || type == TCB_PTX_BF16 || type == TCB_PTX_F32 || type == TCB_PTX_F64;
	}
}

static int is_real(enum tcb_ptx_word type)
{
	return type == TCB_PTX_F16 || type == TCB_PTX_BF16 || type == TCB_PTX_F32 || type == TCB_PTX_F64;
}

static void set_real(enum tcb_ptx_word type, double value, uint8_t *at)
{
	uint32_t half;
	float single = (float)value;

	if (type == TCB_PTX_F64) {
		memcpy(at, &value, sizeof value);
	} else if (type == TCB_PTX_F32) {
		memcpy(at, &single, sizeof single);
	} else {
		half = type == TCB_PTX_F16 ? tcb_ptx_f32_to_f16(single) : tcb_ptx_f32_to_bf16(single);
		memcpy(at, &half, 2);
	}
}

static uint64_t get_bits(enum tcb_ptx_word type, const uint8_t *at)
{
	uint64_t bits = 0;

	memcpy(&bits, at, tcb_ptx_type_bits(type) / 8);
	return bits;
}

double tcb_ptx_element_get(enum tcb_ptx_word type, const uint8_t *at)
{
	const unsigned unused = 64 - tcb_ptx_type_bits(type);
	uint64_t bits = get_bits(type, at);
	double value;
	float single;

	switch (type) {
	case TCB_PTX_F64:
		memcpy(&value, at, sizeof value);
		return value;
	case TCB_PTX_F32:
		memcpy(&single, at, sizeof single);
		return (double)single;
	case TCB_PTX_F16:
		return (double)tcb_ptx_f16_to_f32((uint32_t)bits);
	case TCB_PTX_BF16:
		return (double)tcb_ptx_bf16_to_f32((uint32_t)bits);
	default:
		if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT)
			return (double)((int64_t)(bits << unused) >> unused);
		return (double)bits;
	}
}

void tcb_ptx_element_text(enum tcb_ptx_word type, const uint8_t *at, char out[TCB_PTX_ELEMENT_TEXT])
{
	const unsigned unused = 64 - tcb_ptx_type_bits(type);
	const uint64_t bits = get_bits(type, at);

	if (is_real(type))
		snprintf(out, TCB_PTX_ELEMENT_TEXT, "%.9g", tcb_ptx_element_get(type, at));
	else if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT)
		snprintf(out, TCB_PTX_ELEMENT_TEXT, "%lld", (long long)((int64_t)(bits << unused) >> unused));
	else
		snprintf(out, TCB_PTX_ELEMENT_TEXT, "%llu", (unsigned long long)bits);
}

/* |A - B|; of integers the difference is exact, as beyond 2^53 doubles are not. */
static double distance(enum tcb_ptx_word type, const uint8_t *a, const uint8_t *b)
{
	const unsigned unused = 64 - tcb_ptx_type_bits(type);
	const uint64_t x = get_bits(type, a) << unused, y = get_bits(type, b) << unused;
	const int is_less = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT ? (int64_t)x < (int64_t)y : x < y;

	if (is_real(type))
		return fabs(tcb_ptx_element_get(type, a) - tcb_ptx_element_get(type, b));
	return (double)((is_less ? y - x : x - y) >> unused);
}

/* Whether BITS, which were written with a minus or not, are what an integer of TYPE can hold. */
static int fits(enum tcb_ptx_word type, int is_negative, uint64_t bits)
{
	const unsigned width = tcb_ptx_type_bits(type);
	const uint64_t half = 1ull << (width - 1);

	if (is_negative)
		return tcb_ptx_type_class(type) != TCB_PTX_CLASS_UINT && 0 - bits <= half;
	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT)
		return bits < half;
	return width == 64 || bits >> width == 0;
}

int tcb_ptx_element_parse(enum tcb_ptx_word type, const char *text, uint8_t *at)
{
	const int is_negative = text[0] == '-';
	uint64_t bits;
	double value;
	char *end;

	errno = 0;
	if (is_real(type)) {
		value = strtod(text, &end);
		if (end == text || *end || strchr(" \t\n", text[0]))
			return 0;
		set_real(type, value, at);
		return 1;
	}
	if (text[is_negative] < '0' || text[is_negative] > '9')
		return 0;
	bits = strtoull(text + is_negative, &end, 0);
	bits = is_negative ? 0 - bits : bits;
	if (errno || *end || !fits(type, is_negative && bits, bits))
		return 0;
	memcpy(at, &bits, tcb_ptx_type_bits(type) / 8);
	return 1;
}

/* LO:HI after "random:", into the same form as the elements. */
static int parse_range(enum tcb_ptx_word type, const char *text, uint8_t low[8], uint8_t high[8])
{
	const char *colon = strchr(text, ':');
	char word[64];

	if (!colon || (size_t)(colon - text) >= sizeof word)
		return 0;
	memcpy(word, text, (size_t)(colon - text));
	word[colon - text] = '\0';
	return tcb_ptx_element_parse(type, word, low) && tcb_ptx_element_parse(type, colon + 1, high);
}

/* Reals in [-1, 1), integers of any value; or in [LO, HI). */
static int fill_random(const char *range, enum tcb_ptx_word type, uint64_t count, uint64_t seed, uint8_t *data)
{
	const size_t size = tcb_ptx_type_bits(type) / 8;
	uint8_t low[8] = { 0 }, high[8] = { 0 };
	struct tcb_rng rng;
	uint64_t bits, span;
	double from = -1, to = 1;

	if (*range && !parse_range(type, range, low, high))
		return 0;
	if (*range && is_real(type))
		from = tcb_ptx_element_get(type, low), to = tcb_ptx_element_get(type, high);
	span = get_bits(type, high) - get_bits(type, low);
	if (*range && (is_real(type) ? !(from < to && isfinite(to - from))
				     : tcb_ptx_element_get(type, low) >= tcb_ptx_element_get(type, high)))
		return 0;
	/* of a signed type the difference of the low bits is what is asked for */
	span = size < 8 ? span & ((1ull << 8 * size) - 1) : span;
	tcb_rng_init(&rng, seed);
	for (uint64_t i = 0; i < count; i++) {
		if (is_real(type)) {
			set_real(type, from + (to - from) * tcb_rng_unit(&rng), data + i * size);
			continue;
		}
		bits = *range ? get_bits(type, low) + tcb_rng_below(&rng, span) : tcb_rng_next(&rng);
		memcpy(data + i * size, &bits, size);
	}
	return 1;
}

enum tcb_status tcb_ptx_fill(const char *fill, enum tcb_ptx_word type, uint64_t count, uint64_t seed, uint8_t *data,
			     struct tcb_error *err)
{
	const size_t size = tcb_ptx_type_bits(type) / 8;

	if (fill[0] == '@')
		return tcb_ptx_elements_read(fill + 1, type, count, data, err);
	if (strcmp(fill, "zero") == 0) {
		memset(data, 0, count * size);
		return TCB_OK;
	}
	if (strcmp(fill, "random") == 0 || strncmp(fill, "random:", 7) == 0) {
		if (fill_random(fill[6] ? fill + 7 : "", type, count, seed, data) && strcmp(fill, "random:") != 0)
			return TCB_OK;
		return tcb_fail(err, TCB_E_USAGE, "'%.80s' is not random:LO:HI with LO < HI of .%s", fill,
				tcb_ptx_word_text(type));
	}
	if (strcmp(fill, "iota") == 0) {
		for (uint64_t i = 0; i < count; i++)
			if (is_real(type))
				set_real(type, (double)i, data + i * size);
			else
				memcpy(data + i * size, &i, size);
		return TCB_OK;
	}
	if (count && !tcb_ptx_element_parse(type, fill, data))
		return tcb_fail(
			err, TCB_E_USAGE,
			"'%.80s' is not a .%s; a buffer is filled with zero, random, random:LO:HI, iota, a number "
			"or @FILE",
			fill, tcb_ptx_word_text(type));
	for (uint64_t i = 1; i < count; i++)
		memcpy(data + i * size, data, size);
	return TCB_OK;
}

uint64_t tcb_ptx_compare(enum tcb_ptx_word type, uint64_t count, const uint8_t *result, const uint8_t *wanted,
			 double tolerance, uint64_t *first_out)
{
	const size_t size = tcb_ptx_type_bits(type) / 8;
	uint64_t differing = 0;

	*first_out = 0;
	for (uint64_t i = 0; i < count; i++) {
		double a, b;

		if (memcmp(result + i * size, wanted + i * size, size) == 0)
			continue;
		a = tcb_ptx_element_get(type, result + i * size);
		b = tcb_ptx_element_get(type, wanted + i * size);
		/* Integers beyond 2^53 may be equal as numbers and not as bytes. */
		if ((isnan(a) && isnan(b)) || (is_real(type) && a == b))
			continue;
		if (tolerance > 0 && isfinite(b) &&
		    distance(type, result + i * size, wanted + i * size) <= tolerance * (1 + fabs(b)))
			continue;
		if (!differing++)
			*first_out = i;
	}
	return differing;
}
