/* SPDX-License-Identifier: MIT
 *
 * Which kind a name is of, and limits as text.
 */
#include "base/kind.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int tcb_kind_find(const char *name, enum tcb_target_kind *out)
{
	for (size_t i = 0; tcb_kinds[i]; i++) {
		if (strcmp(tcb_kinds[i]->name, name) != 0)
			continue;
		*out = (enum tcb_target_kind)i;
		return 0;
	}
	return -1;
}

size_t tcb_kind_limit_of(const struct tcb_target *target, const struct tcb_kind_limit *limit)
{
	const void *member = (const char *)target + limit->offset;

	return limit->is_size ? *(const size_t *)member : *(const unsigned *)member;
}

void tcb_kind_print_limits(const struct tcb_target *target, struct tcb_str *out)
{
	const char *separator = "{";

	for (const struct tcb_kind_limit *limit = tcb_kind_of(target)->limits; limit->name; limit++) {
		tcb_str_addf(out, "%s\"%s\":%zu", separator, limit->name, tcb_kind_limit_of(target, limit));
		separator = ",";
	}
	tcb_str_add(out, *separator == '{' ? "{}" : "}");
}

/* The number of the member NAME of an object of numbers; -1: there is none. */
static int64_t member_of(const char *object, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = object; (at = strstr(at, name)); at += length) {
		const char *value = at + length + 1;

		if (at == object || at[-1] != '"' || at[length] != '"')
			continue;
		value += strspn(value, " ");
		value += *value == ':';
		value += strspn(value, " ");
		return *value >= '0' && *value <= '9' ? strtoll(value, NULL, 10) : -1;
	}
	return -1;
}

int tcb_kind_read_limits(const char *limits, struct tcb_target *target)
{
	const struct tcb_kind *kind = tcb_kind_of(target);

	for (const struct tcb_kind_limit *limit = kind->limits; limit->name; limit++) {
		const int64_t value = member_of(limits, limit->name);
		void *member = (char *)target + limit->offset;

		if (value < 0 || (!limit->is_size && value > UINT16_MAX))
			return -1;
		if (limit->is_size)
			*(size_t *)member = (size_t)value;
		else
			*(unsigned *)member = (unsigned)value;
	}
	if (kind->complete)
		kind->complete(target);
	return 0;
}

void tcb_kind_add_names(struct tcb_str *out)
{
	struct tcb_str names = { 0 };

	for (size_t i = 0; tcb_kinds[i]; i++)
		tcb_kinds[i]->add_names(&names);
	tcb_str_add(out, names.data ? names.data + 1 : "");
	out->failed |= names.failed;
	tcb_str_fini(&names);
}

const struct tcb_kind *tcb_kind_asked(const char *name)
{
	for (size_t i = 0; tcb_kinds[i]; i++)
		if (tcb_kinds[i]->is_asked(name))
			return tcb_kinds[i];
	return NULL;
}

const struct tcb_kind *tcb_kind_stored(const char *name, const char **key_out)
{
	const char *key = NULL;
	size_t i = 0;

	while (tcb_kinds[i] && !tcb_kinds[i]->is_stored(name, &key))
		i++;
	if (key_out)
		*key_out = key;
	return tcb_kinds[i];
}

int tcb_kind_split(const char *name, char model_of[TCB_DEVICE_NAME_MAX], const char **key_out)
{
	const struct tcb_kind *kind = tcb_kind_stored(name, key_out);
	struct tcb_target target;

	if (!kind || !kind->describe)
		return 0;
	kind->describe(name, &target);
	kind->name_arch(&target, model_of, TCB_DEVICE_NAME_MAX);
	return 1;
}
