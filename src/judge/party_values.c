/* SPDX-License-Identifier: MIT
 *
 * Elements of any type that files have, as double; whole numbers are compared bit by bit
 * unless the file gives a tolerance.
 */
#include "judge/party_values.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/quant.h"

/* By how much an output may miss where the file does not say, as of the op that it becomes (kernelfile/file_op.c). */
static const double RELATIVE = 1e-4, SHARE_OF_RMS = 1e-4;
enum { SMALLER = 64, ONE_OF = 16, WHOLE_NUMBERS = 100 };

static int is_whole(const struct tcb_file_argument *argument)
{
	return argument->type.element >= TCB_FILE_SIGNED;
}

/* --- drawing --- */

static double draw_one(const struct tcb_file_argument *argument, enum tcb_values_kind kind, double scale,
		       struct tcb_rng *rng)
{
	const int is_small = kind == TCB_VALUES_SPARSE && tcb_rng_below(rng, ONE_OF) != 0;

	if (is_whole(argument))
		return is_small ? 0 : (double)tcb_rng_below(rng, WHOLE_NUMBERS);
	const double value = (2 * tcb_rng_unit(rng) - 1) * scale / (is_small ? SMALLER : 1);

	return kind == TCB_VALUES_POSITIVE ? fabs(value) : value;
}

static enum tcb_status read_raw(const struct tcb_file_argument *argument, size_t bytes, void *to, struct tcb_error *err)
{
	FILE *file = fopen(argument->source, "rbe");
	const size_t got = file ? fread(to, 1, bytes, file) : 0;
	const int why = errno;

	if (file)
		fclose(file);
	if (got == bytes)
		return TCB_OK;
	return tcb_fail(err, TCB_E_IO, "%.200s has %zu of the %zu bytes of %.60s%s%s", argument->source, got, bytes,
			argument->name, file ? "" : ": ", file ? "" : strerror(why));
}

static double constant_of(const struct tcb_file_argument *argument, const struct tcb_value *bound)
{
	struct tcb_value value;

	if (!argument->value || tcb_expression_value(argument->value, bound, &value, NULL) != TCB_OK ||
	    value.type == TCB_VALUE_TEXT)
		return 0;
	return value.type == TCB_VALUE_REAL ? value.real : (double)value.whole;
}

enum tcb_status tcb_values_draw(const struct tcb_file_argument *argument, const struct tcb_value *bound,
				enum tcb_values_kind kind, size_t elements, struct tcb_rng *rng, void *to,
				struct tcb_error *err)
{
	const size_t each = argument->type.element_bytes;
	const double scale = kind == TCB_VALUES_ANY ? 0.5 + 0.5 * tcb_rng_unit(rng) : 1;
	const double constant = constant_of(argument, bound);
	char *at = to;

	if (argument->fill == TCB_FILE_RAW)
		return read_raw(argument, elements * each, to, err);
	for (size_t i = 0; i < elements; i++, at += each)
		tcb_file_put(&argument->type,
			     argument->fill == TCB_FILE_RANDOM ? draw_one(argument, kind, scale, rng) : constant, at);
	return TCB_OK;
}

void tcb_values_change(const struct tcb_file_argument *argument, size_t at, struct tcb_rng *rng, void *values)
{
	char *element = (char *)values + at * argument->type.element_bytes;
	const double sign = tcb_rng_below(rng, 2) ? 1 : -1;

	/* Near the end of the range, so that what depends on it changes, whatever it was. */
	tcb_file_put(&argument->type,
		     is_whole(argument) ? (double)tcb_rng_below(rng, WHOLE_NUMBERS)
					: sign * (0.75 + 0.25 * tcb_rng_unit(rng)),
		     element);
}

/* --- poison --- */

uint64_t tcb_values_poison(const struct tcb_file_type *type, struct tcb_rng *rng)
{
	return type->element < TCB_FILE_SIGNED ? UINT64_MAX : tcb_rng_next(rng) | 1;
}

void tcb_values_fill(uint64_t word, size_t bytes, void *to)
{
	char *at = to;
	size_t i = 0;

	for (; i + sizeof word <= bytes; i += sizeof word)
		memcpy(at + i, &word, sizeof word);
	memcpy(at + i, &word, bytes - i);
}

int tcb_values_is(uint64_t word, size_t first, size_t bytes, uint64_t value)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < bytes; i++)
		wanted |= (word >> 8 * ((first + i) % 8) & 0xff) << 8 * i;
	return wanted == value;
}

size_t tcb_values_left(uint64_t word, const void *values, size_t bytes)
{
	const unsigned char *at = values;
	size_t left = 0;

	for (size_t i = 0; i < bytes; i++)
		left += at[i] == (unsigned char)(word >> 8 * (i % 8));
	return left;
}

/* --- comparing --- */

static double element_at(const struct tcb_file_type *type, const void *values, size_t i)
{
	const char *at = (const char *)values + i * type->element_bytes;
	float single;
	double real;
	uint16_t half;
	uint64_t bits = 0;

	switch (type->element) {
	case TCB_FILE_FLOAT:
		memcpy(&single, at, sizeof single);
		return (double)single;
	case TCB_FILE_HALF:
		memcpy(&half, at, sizeof half);
		return (double)tcb_f16_to_f32(half);
	case TCB_FILE_DOUBLE:
		memcpy(&real, at, sizeof real);
		return real;
	default:
		memcpy(&bits, at, type->element_bytes);
		if (type->element == TCB_FILE_UNSIGNED)
			return (double)bits;
		return (double)((int64_t)(bits << (64 - 8 * type->element_bytes)) >> (64 - 8 * type->element_bytes));
	}
}

void tcb_values_bound(const struct tcb_file_argument *argument, struct tcb_values_bound *out)
{
	const int is_said = !isnan(argument->relative) || !isnan(argument->absolute);

	*out = (struct tcb_values_bound){ .relative = isnan(argument->relative) ? RELATIVE : argument->relative,
					  .absolute = argument->absolute,
					  .most = INFINITY,
					  .is_exact = is_whole(argument) && !is_said };
	if (isnan(out->absolute))
		out->share_of_rms = isnan(argument->relative) ? SHARE_OF_RMS : 0;
}

static double rms_of(const struct tcb_file_argument *argument, const void *values, size_t elements)
{
	double squares = 0;

	for (size_t i = 0; i < elements; i++) {
		const double value = element_at(&argument->type, values, i);

		squares += isfinite(value) ? value * value : 0;
	}
	return elements ? sqrt(squares / (double)elements) : 0;
}

static double base_of(const struct tcb_file_argument *argument, const struct tcb_values_bound *bound,
		      const void *values, size_t elements)
{
	return isnan(bound->absolute) ? bound->share_of_rms * rms_of(argument, values, elements) : bound->absolute;
}

static double allowed(const struct tcb_values_bound *bound, double base, double right)
{
	return fmin(base + bound->relative * fabs(right), bound->most);
}

static void compare_exactly(const struct tcb_file_argument *argument, const void *got, const void *right,
			    size_t elements, struct tcb_values_miss *out)
{
	const size_t each = argument->type.element_bytes;

	if (memcmp(got, right, elements * each) == 0)
		return;
	for (size_t i = 0; i < elements; i++)
		if (memcmp((const char *)got + i * each, (const char *)right + i * each, each) != 0 && !out->wrong++) {
			out->first = i;
			out->got = element_at(&argument->type, got, i);
			out->right = element_at(&argument->type, right, i);
			out->worst = INFINITY;
		}
}

void tcb_values_compare(const struct tcb_file_argument *argument, const struct tcb_values_bound *bound, const void *got,
			const void *right, size_t elements, struct tcb_values_miss *out)
{
	*out = (struct tcb_values_miss){ .wrong = 0 };
	if (bound->is_exact) {
		compare_exactly(argument, got, right, elements, out);
		return;
	}
	const double base = base_of(argument, bound, right, elements);

	for (size_t i = 0; i < elements; i++) {
		const double x = element_at(&argument->type, got, i), y = element_at(&argument->type, right, i);
		const double most = allowed(bound, base, y), off = fabs(x - y);

		out->not_finite += !isfinite(y);
		if (isfinite(x) && off <= most) {
			out->worst = off > 0 ? fmax(out->worst, off / most) : out->worst;
		} else if (!out->wrong++) {
			out->first = i;
			out->got = x;
			out->right = y;
			out->allowed = most;
		}
	}
}

void tcb_values_spread(const struct tcb_file_argument *argument, const void *const *values, size_t count,
		       size_t elements, struct tcb_values_spread *out)
{
	double sum = 0, squares = 0, aside = 0;
	size_t finite = 0;

	*out = (struct tcb_values_spread){ .not_finite = 0 };
	for (size_t c = 0; c < count; c++)
		for (size_t i = 0; i < elements; i++) {
			const double value = element_at(&argument->type, values[c], i);

			out->not_finite += !isfinite(value);
			finite += isfinite(value) != 0;
			sum += isfinite(value) ? value : 0;
			squares += isfinite(value) ? value * value : 0;
		}
	out->mean = finite ? sum / (double)finite : 0;
	out->rms = finite ? sqrt(squares / (double)finite) : 0;
	for (size_t c = 0; c < count; c++)
		for (size_t i = 0; i < elements; i++) {
			const double value = element_at(&argument->type, values[c], i) - out->mean;

			aside += isfinite(value) ? value * value : 0;
		}
	out->deviation = finite ? sqrt(aside / (double)finite) : 0;
}

int tcb_values_passes(const struct tcb_file_argument *argument, const struct tcb_values_bound *bound, double answer,
		      const void *values, size_t elements)
{
	const double base = bound->is_exact ? 0 : base_of(argument, bound, values, elements);

	for (size_t i = 0; i < elements; i++) {
		const double right = element_at(&argument->type, values, i);

		if (fabs(answer - right) > (bound->is_exact ? 0 : allowed(bound, base, right)))
			return 0;
	}
	return 1;
}

double tcb_values_epsilon(const struct tcb_file_argument *argument)
{
	switch (argument->type.element) {
	case TCB_FILE_FLOAT:
		return FLT_EPSILON;
	case TCB_FILE_HALF:
		return ldexp(1, -10);
	case TCB_FILE_DOUBLE:
		return DBL_EPSILON;
	default:
		return 0;
	}
}
