/* SPDX-License-Identifier: MIT
 *
 * No list of formats: the host says what its types are called, the library whether
 * it has ops of that name, and a trial, when the first tensor of a format comes,
 * whose products are faster.
 */
#include "host_formats.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format_trial.h"
#include "host.h"
#include "tcbrt.h"

enum { TYPES_MAX = 128, PROBE_N = 256, PROBE_BLOCKS = 8 };

/* The host's time over ours that a format must have for any number of tokens: less than 1 by what a trial scatters. */
static const double RATIO_LEAST = 0.95;

static struct {
	int is_known, is_taken;
	struct weights_format format;
} types[TYPES_MAX];

/* "q4_K" to "q4k" */
static void name_op(struct weights_format *format)
{
	size_t to = 0;

	for (const char *from = format->name; *from; from++)
		if (*from != '_')
			format->op[to++] = (char)tolower((unsigned char)*from);
	format->op[to] = '\0';
}

void format_op(const struct weights_format *format, size_t tokens, char out[2 * FORMAT_NAME_MAX])
{
	const int is_matvec = tokens == 1 || (tokens <= FEW_TOKENS && format->few_by_matvec);

	snprintf(out, 2 * FORMAT_NAME_MAX, "%s_%s", format->op, is_matvec ? "matvec" : "matmul");
}

static int has_kernels(const struct tcbrt *rt, const struct weights_format *format)
{
	char op[2 * FORMAT_NAME_MAX];
	const struct tcbrt_query query = { .op = op,
					   .m = 1,
					   .n = PROBE_N,
					   .k = PROBE_BLOCKS * format->values,
					   .threads = 1,
					   .layout = TCBRT_LAYOUT_ANY_M };
	struct tcbrt_plan *plan;

	format_op(format, 1, op);
	if (tcbrt_plan_create(rt, &query, &plan, NULL) != TCBRT_OK)
		return 0;
	tcbrt_plan_destroy(plan);
	return 1;
}

static int describe(const struct tcbrt *rt, int type, struct weights_format *format)
{
	const char *name = ggml_host.type_name(type);
	const int64_t values = ggml_host.blck_size(type);

	if (!name || !*name || strlen(name) >= FORMAT_NAME_MAX || values <= 0)
		return 0;
	strcpy(format->name, name);
	name_op(format);
	format->values = (size_t)values;
	format->bytes = ggml_host.type_size(type);
	return has_kernels(rt, format);
}

/* Says what it leaves to the host. */
static int is_faster(const struct tcbrt *rt, int type, struct weights_format *format)
{
	double ratio[TRIAL_POINTS], least = 0;

	if (getenv("TCBTUNE_ALL_FORMATS") || !trial_run(rt, type, format, ratio))
		return 1;
	for (size_t i = 0; i < TRIAL_POINTS; i++)
		least = i == 0 || ratio[i] < least ? ratio[i] : least;
	if (least < RATIO_LEAST || getenv("TCBTUNE_TRIALS"))
		ggml_host_say("weights of %s %s; its time over ours is %.2f, %.2f and %.2f for %zu, %zu and %zu tokens",
			      format->name,
			      least < RATIO_LEAST ? "stay with the host, whose products are faster" : "are taken",
			      ratio[0], ratio[1], ratio[2], trial_tokens[0], trial_tokens[1], trial_tokens[2]);
	return least >= RATIO_LEAST;
}

const struct weights_format *weights_format(const struct tcbrt *rt, int type)
{
	static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

	if (type < 0 || type >= TYPES_MAX)
		return NULL;
	pthread_mutex_lock(&asking);
	if (!types[type].is_known) {
		types[type].is_taken =
			describe(rt, type, &types[type].format) && is_faster(rt, type, &types[type].format);
		types[type].is_known = 1;
	}
	pthread_mutex_unlock(&asking);
	return types[type].is_taken ? &types[type].format : NULL;
}
