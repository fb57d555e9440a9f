/* SPDX-License-Identifier: MIT
 *
 * A device by its name: whose kind that is, base/kind.h says, and the kind's row
 * here opens it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "device/device.h"

static const struct tcb_device_kind *kind_of(const char *name)
{
	for (size_t i = 0; tcb_kinds[i]; i++)
		if (tcb_kinds[i]->is_asked(name))
			return tcb_device_kinds[i];
	return NULL;
}

enum tcb_status tcb_place_open(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
			       struct tcb_error *err)
{
	const struct tcb_device_kind *kind = kind_of(name);

	memset(out, 0, sizeof *out);
	if (!kind)
		return tcb_fail(err, TCB_E_USAGE, "unknown device '%.60s'", name);
	return kind->open(name, threads, attached_only, out, err);
}

enum tcb_status tcb_place_open_others(const char *name, struct tcb_place **others_out, size_t *count_out,
				      struct tcb_error *err)
{
	const struct tcb_device_kind *kind = kind_of(name);

	*others_out = NULL;
	*count_out = 0;
	return kind && kind->open_others ? kind->open_others(name, others_out, count_out, err) : TCB_OK;
}

enum tcb_status tcb_place_list(const char *name, struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	*count_out = 0;
	*out = malloc(sizeof **out);
	if (!*out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device");
	const enum tcb_status status = tcb_place_open(name, 0, 1, *out, err);
	*count_out = status == TCB_OK;
	return status;
}

struct tcb_nvml *tcb_place_watch(const struct tcb_place *place)
{
	const struct tcb_device_kind *kind = tcb_device_kinds[place->device.target.kind];
	struct tcb_nvml *nvml = NULL;

	if (kind->watch && !place->is_absent)
		(void)kind->watch(place, &nvml, NULL);
	return nvml;
}
