/* SPDX-License-Identifier: MIT
 *
 * A growing string, and how sizes are written.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static int reserve(struct tcb_str *str, size_t extra)
{
	size_t need = str->length + extra + 1;

	if (str->failed)
		return -1;
	if (need > str->capacity) {
		size_t capacity = str->capacity ? str->capacity : 64;
		char *data;

		while (capacity < need)
			capacity *= 2;
		data = realloc(str->data, capacity);
		if (!data) {
			str->failed = 1;
			return -1;
		}
		str->data = data;
		str->capacity = capacity;
	}
	return 0;
}

void tcb_str_add_bytes(struct tcb_str *str, const void *bytes, size_t count)
{
	if (reserve(str, count))
		return;
	memcpy(str->data + str->length, bytes, count);
	str->length += count;
	str->data[str->length] = '\0';
}

void tcb_str_add(struct tcb_str *str, const char *text)
{
	tcb_str_add_bytes(str, text, strlen(text));
}

void tcb_str_addf(struct tcb_str *str, const char *format, ...)
{
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length >= 0 && reserve(str, (size_t)length) == 0) {
		vsnprintf(str->data + str->length, (size_t)length + 1, format, again);
		str->length += (size_t)length;
	}
	va_end(again);
}

void tcb_str_fini(struct tcb_str *str)
{
	free(str->data);
	memset(str, 0, sizeof *str);
}

void tcb_size_text(uint64_t bytes, char out[TCB_SIZE_TEXT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	double value = (double)bytes;

	while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
		value /= 1024;
		unit++;
	}
	snprintf(out, TCB_SIZE_TEXT_MAX, "%.*f %s", value == (double)(uint64_t)value ? 0 : 1, value, units[unit]);
}

int tcb_text_find(const char *const *texts, int count, const char *text)
{
	int i = 0;

	while (i < count && strcmp(texts[i], text) != 0)
		i++;
	return i < count ? i : -1;
}
