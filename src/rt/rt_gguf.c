/* SPDX-License-Identifier: MIT
 *
 * Model files for programs: the project's reader, with tensors as ops want them.
 */
#include "tcbrt_gguf.h"

#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"
#include "kernels/formats.h"
#include "rt/rt_plan.h"

struct tcbrt_gguf {
	struct tcb_gguf *file;
};

int tcbrt_gguf_open(const char *path, struct tcbrt_gguf **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_gguf *gguf = NULL;
	enum tcb_status status;

	if (!path || !out)
		status = tcb_fail(&error, TCB_E_USAGE, "a model file wants a path and a place: neither may be NULL");
	else if (!(gguf = calloc(1, sizeof(*gguf))))
		status = tcb_fail(&error, TCB_E_NOMEM, "out of memory for a model file");
	else
		status = tcb_gguf_open(path, &gguf->file, &error);
	if (status != TCB_OK) {
		free(gguf);
		gguf = NULL;
	}
	if (out)
		*out = gguf;
	return rt_report(status, &error, err);
}

void tcbrt_gguf_close(struct tcbrt_gguf *gguf)
{
	if (!gguf)
		return;
	tcb_gguf_close(gguf->file);
	free(gguf);
}

static void describe(const struct tcb_gguf_tensor *tensor, struct tcbrt_gguf_tensor *out)
{
	const struct tcb_format *format = tcb_format_find(tensor->type_name);
	size_t length = 0;

	_Static_assert((int)TCBRT_GGUF_DIMS_MAX == (int)TCB_GGUF_DIMS_MAX, "every dimension has room");
	*out = (struct tcbrt_gguf_tensor){ .name = tensor->name.data,
					   .name_length = tensor->name.length,
					   .type = tensor->type,
					   .data = tensor->data,
					   .bytes = tensor->bytes };
	for (size_t i = 0; i < TCB_GGUF_DIMS_MAX; i++)
		out->dims[i] = (size_t)tensor->dims[i];
	/* Ops have the format's name without its strokes. */
	for (const char *at = format ? format->name : ""; *at && length + 1 < sizeof(out->format); at++)
		if (*at != '_')
			out->format[length++] = *at;
}

int tcbrt_gguf_find(const struct tcbrt_gguf *gguf, const char *name, struct tcbrt_gguf_tensor *out,
		    struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	const struct tcb_gguf_tensor *tensor = gguf && name && out ? tcb_gguf_find(gguf->file, name) : NULL;
	enum tcb_status status = TCB_OK;

	if (!gguf || !name || !out)
		status = tcb_fail(&error, TCB_E_USAGE, "a tensor wants a file, a name and a place: none may be NULL");
	else if (!tensor)
		status = tcb_fail(&error, TCB_E_NOT_FOUND, "the model file has no tensor '%s'", name);
	else
		describe(tensor, out);
	return rt_report(status, &error, err);
}

int tcbrt_gguf_tensor(const struct tcbrt_gguf *gguf, size_t index, struct tcbrt_gguf_tensor *out)
{
	if (!gguf || !out)
		return TCBRT_E_USAGE;
	if (index >= tcb_gguf_tensor_count(gguf->file))
		return TCBRT_E_NOT_FOUND;
	describe(tcb_gguf_tensor(gguf->file, index), out);
	return TCBRT_OK;
}

int tcbrt_gguf_number(const struct tcbrt_gguf *gguf, const char *name, size_t index, double *out)
{
	const struct tcb_gguf_value *value = gguf && name && out ? tcb_gguf_find_value(gguf->file, name) : NULL;

	if (!gguf || !name || !out)
		return TCBRT_E_USAGE;
	return value && tcb_gguf_value_number(value, index, out) ? TCBRT_OK : TCBRT_E_NOT_FOUND;
}

int tcbrt_gguf_text(const struct tcbrt_gguf *gguf, const char *name, size_t index, const char **text, size_t *length)
{
	const struct tcb_gguf_value *value =
		gguf && name && text && length ? tcb_gguf_find_value(gguf->file, name) : NULL;
	struct tcb_gguf_string string = { NULL, 0 };

	if (!gguf || !name || !text || !length)
		return TCBRT_E_USAGE;
	if (value)
		string = tcb_gguf_value_text(value, index);
	if (!string.data)
		return TCBRT_E_NOT_FOUND;
	*text = string.data;
	*length = string.length;
	return TCBRT_OK;
}
