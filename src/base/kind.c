/* SPDX-License-Identifier: MIT
 *
 * Which kind a name is of.
 */
#include "base/kind.h"

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
