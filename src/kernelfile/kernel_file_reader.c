/* SPDX-License-Identifier: MIT
 *
 * Members of a JSON object come in, texts and expressions go out, or what is wrong with them.
 */
#include "kernelfile/kernel_file_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tcb_status tcb_file_refuse(const struct tcb_file_reader *reader, const char *format, ...)
{
	char what[400];
	va_list list;

	va_start(list, format);
	vsnprintf(what, sizeof what, format, list);
	va_end(list);
	return tcb_fail(reader->err, TCB_E_USAGE, "%.160s: %s", reader->file->path, what);
}

enum tcb_status tcb_file_text(const struct tcb_file_reader *reader, const json_t *object, const char *key, int must,
			      char **out)
{
	const json_t *member = json_object_get(object, key);

	*out = NULL;
	if (!member || json_is_null(member))
		return must ? tcb_file_refuse(reader, "%s is missing", key) : TCB_OK;
	if (!json_is_string(member) || !*json_string_value(member))
		return tcb_file_refuse(reader, "%s is not a text", key);
	*out = strdup(json_string_value(member));
	return *out ? TCB_OK : tcb_fail(reader->err, TCB_E_NOMEM, "out of memory for a kernel's file");
}

enum tcb_status tcb_file_expression(const struct tcb_file_reader *reader, const char *key, const json_t *member,
				    struct tcb_expression **out)
{
	char number[64];
	const char *text = json_string_value(member);
	struct tcb_error reason;

	if (json_is_integer(member))
		snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(member));
	else if (json_is_real(member))
		snprintf(number, sizeof number, "%.17g", json_real_value(member));
	else if (json_is_boolean(member))
		snprintf(number, sizeof number, "%d", json_is_true(member));
	else if (!text)
		return tcb_file_refuse(reader, "%s is neither a number nor an expression", key);
	if (tcb_expression_create(text ? text : number, reader->file->names, reader->file->name_count, out, &reason) !=
	    TCB_OK)
		return tcb_file_refuse(reader, "%s: %s", key, reason.message);
	return TCB_OK;
}

char *tcb_file_path(const struct tcb_kernel_file *file, const char *source)
{
	char *path = NULL;

	if (*source == '/' || !*file->folder)
		return strdup(source);
	if (asprintf(&path, "%s/%s", file->folder, source) < 0)
		return NULL;
	return path;
}
