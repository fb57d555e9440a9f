/* SPDX-License-Identifier: MIT
 *
 * In: one word of the command line.  Out: shapes, the last size running
 * fastest.  A size is a number, or a list of numbers and ranges with commas
 * between; a range is FROM:TO, FROM:TO:STEP or FROM:TO:*FACTOR.  Words of a
 * shape (",h32/8") follow the sizes and are those of all.
 */
#include "cli/core/shape_axes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/setup.h"

enum { SIZES = 3, DIGITS_MAX = 18, RANGE_TEXT_MAX = 80 };

struct axis {
	size_t values[CLI_SHAPES_MAX];
	size_t count;
};

/* Where the sizes of TEXT end: at its end, or at the comma before the first word. */
static size_t sizes_length(const char *text)
{
	size_t i = 0;

	while (text[i] && !(text[i] == ',' && isalpha((unsigned char)text[i + 1])))
		i++;
	return i;
}

/* A number at *AT, which is moved past it; 0: none is there. */
static size_t read_number(const char **at)
{
	const size_t digits = strspn(*at, "0123456789");
	const size_t value = digits && digits <= DIGITS_MAX ? strtoull(*at, NULL, 10) : 0;

	*at += digits;
	return value;
}

static enum tcb_status too_many(const char *text, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_USAGE, "'%.*s' stands for more than %d shapes; use a larger step, or fewer axes",
			RANGE_TEXT_MAX, text, CLI_SHAPES_MAX);
}

/* One number or range at *AT, which is moved past it. */
static enum tcb_status read_range(const char *text, const char **at, struct axis *axis, struct tcb_error *err)
{
	const size_t from = read_number(at);
	size_t to = from, step = 1;
	int is_factor = 0, is_range = **at == ':';

	if (is_range) {
		++*at;
		to = read_number(at);
	}
	if (is_range && **at == ':') {
		++*at;
		is_factor = **at == '*';
		*at += is_factor;
		step = read_number(at);
	}
	if (!from || to < from || step < (is_factor ? 2 : 1))
		return tcb_fail(err, TCB_E_USAGE,
				"invalid shape '%.*s': a size is a number, a list such as 1,2,4, or a range FROM:TO, "
				"FROM:TO:STEP or FROM:TO:*FACTOR, such as 1:8:*2",
				RANGE_TEXT_MAX, text);
	for (size_t value = from; value <= to; value = is_factor ? value * step : value + step) {
		if (axis->count == CLI_SHAPES_MAX)
			return too_many(text, err);
		axis->values[axis->count++] = value;
		if (is_factor ? value > to / step : value > to - step)
			break;
	}
	return TCB_OK;
}

/* TEXT's sizes into AXES; how many there are into *COUNT_OUT. */
static enum tcb_status read_axes(const char *text, struct axis axes[SIZES], size_t *count_out, struct tcb_error *err)
{
	const char *at = text, *end = text + sizes_length(text);
	size_t count = 0;

	for (;; at++) {
		struct axis *axis = &axes[count];
		axis->count = 0;
		TCB_TRY(read_range(text, &at, axis, err));
		while (*at == ',' && at < end) {
			at++;
			TCB_TRY(read_range(text, &at, axis, err));
		}
		count++;
		if (at == end)
			break;
		if (*at != 'x' || count == SIZES)
			return tcb_fail(err, TCB_E_USAGE,
					"invalid shape '%.*s': give MxNxK (or MxN), where each size may be a list "
					"(1,2,4) or a range (1:8:*2); other shapes get a --shape of their own",
					RANGE_TEXT_MAX, text);
	}
	*count_out = count;
	return TCB_OK;
}

static enum tcb_status add_shape(const struct tcb_op *op, const char *text, int is_exact, struct cli_shapes *out,
				 struct tcb_error *err)
{
	struct tcb_shape *grown = realloc(out->list, (out->count + 1) * sizeof *grown);

	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	out->list = grown;
	TCB_TRY(is_exact ? tcb_shape_parse(text, &grown[out->count], err)
			 : cli_read_shape(op, text, &grown[out->count], err));
	out->count++;
	return TCB_OK;
}

/* The product of the AXES, each with the words of TEXT. */
static enum tcb_status add_product(const struct tcb_op *op, const char *text, int is_exact, const struct axis *axes,
				   size_t sizes, struct cli_shapes *out, struct tcb_error *err)
{
	const char *words = text + sizes_length(text);
	size_t all = 1;
	enum tcb_status status = TCB_OK;

	for (size_t i = 0; i < sizes; i++)
		all *= axes[i].count;
	if (all > CLI_SHAPES_MAX)
		return too_many(text, err);
	for (size_t i = 0; i < all && status == TCB_OK; i++) {
		char one[TCB_SHAPE_TEXT_MAX];
		size_t length = 0;
		for (size_t s = 0, stride = all; s < sizes; s++) {
			stride /= axes[s].count;
			length += (size_t)snprintf(one + length, sizeof one - length, "%s%zu", s ? "x" : "",
						   axes[s].values[i / stride % axes[s].count]);
		}
		if (length + strlen(words) >= sizeof one)
			return tcb_fail(err, TCB_E_USAGE, "invalid shape '%.*s': its words are too long",
					RANGE_TEXT_MAX, text);
		strcpy(one + length, words);
		status = add_shape(op, one, is_exact, out, err);
	}
	return status;
}

enum tcb_status cli_shapes_read(const struct tcb_op *op, const char *text, int is_exact, struct cli_shapes *out,
				struct tcb_error *err)
{
	struct axis *axes = NULL;
	size_t sizes = 0;
	enum tcb_status status;

	*out = (struct cli_shapes){ .count = 0 };
	if (!cli_shape_has_axes(text)) {
		status = add_shape(op, text, is_exact, out, err);
	} else {
		axes = malloc(SIZES * sizeof *axes);
		status = axes ? read_axes(text, axes, &sizes, err) : tcb_fail(err, TCB_E_NOMEM, "out of memory");
		if (status == TCB_OK)
			status = add_product(op, text, is_exact, axes, sizes, out, err);
	}
	free(axes);
	if (status != TCB_OK)
		cli_shapes_fini(out);
	return status;
}

void cli_shapes_fini(struct cli_shapes *shapes)
{
	free(shapes->list);
	*shapes = (struct cli_shapes){ .count = 0 };
}
