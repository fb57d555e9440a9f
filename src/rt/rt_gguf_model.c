/* SPDX-License-Identifier: MIT
 *
 * What keys of a model file mean: those of its architecture, and the angles of its rotation.  YaRN: Peng et al. 2023,
 * in the form of llama.cpp, with the factor on cos and sin.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/rt_plan.h"
#include "tcbrt_gguf.h"

enum { NAME_MAX_BYTES = 256 };
static const double PI = 3.14159265358979323846;

int tcbrt_gguf_parameter(const struct tcbrt_gguf *gguf, const char *name, size_t layer, double *out)
{
	char full[NAME_MAX_BYTES];
	const char *family;
	size_t length;
	int code = tcbrt_gguf_text(gguf, "general.architecture", 0, &family, &length);

	if (!name || !out)
		return TCBRT_E_USAGE;
	if (code != TCBRT_OK)
		return code;
	if ((size_t)snprintf(full, sizeof(full), "%.*s.%s", (int)length, family, name) >= sizeof(full))
		return TCBRT_E_NOT_FOUND;
	code = tcbrt_gguf_number(gguf, full, layer, out);
	return code == TCBRT_E_NOT_FOUND ? tcbrt_gguf_number(gguf, full, 0, out) : code;
}

/* What the file says of its rotation. */
struct rotation {
	double base, factor;
	double first, last; /* YaRN: angles up to the first stay, from the last on they are interpolated */
	int is_yarn;
	const float *divisors; /* of each angle, or NULL */
};

static double parameter(const struct tcbrt_gguf *gguf, const char *name, double otherwise)
{
	tcbrt_gguf_parameter(gguf, name, 0, &otherwise);
	return otherwise;
}

static int is_yarn(const struct tcbrt_gguf *gguf)
{
	char full[NAME_MAX_BYTES];
	const char *text;
	size_t length;

	if (tcbrt_gguf_text(gguf, "general.architecture", 0, &text, &length) != TCBRT_OK || length > NAME_MAX_BYTES / 2)
		return 0;
	snprintf(full, sizeof(full), "%.*s.rope.scaling.type", (int)length, text);
	return tcbrt_gguf_text(gguf, full, 0, &text, &length) == TCBRT_OK && length == 4 && !memcmp(text, "yarn", 4);
}

/* The angle that turns TIMES as far as training's context is long. */
static double turning(const struct rotation *r, double columns, double trained, double times)
{
	return columns * log(trained / (times * 2 * PI)) / (2 * log(r->base));
}

static enum tcb_status read(const struct tcbrt_gguf *gguf, size_t columns, int is_windowed, struct rotation *out,
			    struct tcb_error *err)
{
	const double trained = parameter(gguf, "rope.scaling.original_context_length", 0), count = (double)columns;
	struct tcbrt_gguf_tensor divisors;

	*out = (struct rotation){ .base = parameter(gguf, is_windowed ? "rope.freq_base_swa" : "rope.freq_base", 10000),
				  .factor = is_windowed ? 1 : parameter(gguf, "rope.scaling.factor", 1) };
	if (!(out->base > 1 && out->factor > 0))
		return tcb_fail(err, TCB_E_FORMAT, "the model's angles have the base %g and the factor %g", out->base,
				out->factor);
	if (!is_windowed && trained > 0 && is_yarn(gguf)) {
		out->is_yarn = 1;
		out->first = fmax(
			floor(turning(out, count, trained, parameter(gguf, "rope.scaling.yarn_beta_fast", 32))), 0);
		out->last = fmin(ceil(turning(out, count, trained, parameter(gguf, "rope.scaling.yarn_beta_slow", 1))),
				 count - 1);
	}
	if (is_windowed || tcbrt_gguf_find(gguf, "rope_freqs.weight", &divisors, NULL) != TCBRT_OK)
		return TCB_OK;
	if (strcmp(divisors.format, "f32") != 0 || divisors.dims[0] != columns / 2)
		return tcb_fail(err, TCB_E_FORMAT, "rope_freqs.weight is not a number in f32 for each of %zu angles",
				columns / 2);
	out->divisors = divisors.data;
	return TCB_OK;
}

/* What a position adds to angle I. */
static double step_of(const struct rotation *r, size_t i, size_t columns)
{
	const double plain =
		pow(r->base, -2 * (double)i / (double)columns) / (r->divisors ? (double)r->divisors[i] : 1);
	const double ramp = fmin(fmax(((double)i - r->first) / fmax(r->last - r->first, 0.001), 0), 1);

	return r->is_yarn ? plain * (1 - ramp) + plain / r->factor * ramp : plain / r->factor;
}

int tcbrt_gguf_rotation(const struct tcbrt_gguf *gguf, size_t columns, int is_windowed, size_t positions, float *out,
			struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct rotation r = { 0 };
	enum tcb_status status;

	if (!gguf || !out || columns % 2 != 0)
		status = tcb_fail(&error, TCB_E_USAGE, "a rotation wants a file, an even number of values and a place");
	else
		status = read(gguf, columns, is_windowed, &r, &error);
	for (size_t i = 0; i < columns / 2 && status == TCB_OK; i++) {
		const double step = step_of(&r, i, columns), scale = r.is_yarn ? 1 + 0.1 * log(r.factor) : 1;

		for (size_t position = 0; position < positions; position++) {
			out[position * columns + i] = (float)(scale * cos((double)position * step));
			out[position * columns + columns / 2 + i] = (float)(scale * sin((double)position * step));
		}
	}
	return rt_report(status, &error, err);
}
