/* SPDX-License-Identifier: MIT
 *
 * No list of formats: the host says what its types are called, and the library
 * whether it has ops of that name.
 */
#include "formats.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "tcbrt.h"

enum { TYPES_MAX = 128, TRIAL_N = 256, TRIAL_BLOCKS = 8 };

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

static int has_kernels(const struct tcbrt *rt, const struct weights_format *format)
{
	char op[2 * FORMAT_NAME_MAX];
	const struct tcbrt_query query = { .op = op,
					   .m = 1,
					   .n = TRIAL_N,
					   .k = TRIAL_BLOCKS * format->values,
					   .threads = 1,
					   .layout = TCBRT_LAYOUT_ANY_M };
	struct tcbrt_plan *plan;

	snprintf(op, sizeof(op), "%s_matvec", format->op);
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

const struct weights_format *weights_format(const struct tcbrt *rt, int type)
{
	static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

	if (type < 0 || type >= TYPES_MAX)
		return NULL;
	pthread_mutex_lock(&asking);
	if (!types[type].is_known) {
		types[type].is_taken = describe(rt, type, &types[type].format);
		types[type].is_known = 1;
	}
	pthread_mutex_unlock(&asking);
	return types[type].is_taken ? &types[type].format : NULL;
}
