/* SPDX-License-Identifier: MIT
 *
 * A list of definitions comes in, ops in the registry go out.
 */
#include "cli/core/own_reductions.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/reduce2d/reduce2d_made.h"

/* One of them, which is cut up. */
static enum tcb_status add(char *definition, struct tcb_registry *registry, struct tcb_error *err)
{
	struct reduce2d_made *made;
	struct tcb_error reason;
	char *name = definition + strspn(definition, " \n"), *identity = strchr(name, '=');
	char *combine = identity ? strchr(identity, ':') : NULL;
	if (!*name)
		return TCB_OK;
	if (!combine)
		return tcb_fail(err, TCB_E_USAGE,
				"TCBTUNE_REDUCTIONS: '%.80s' is not NAME=IDENTITY:COMBINE, as in "
				"absmax=0:max(abs(a),abs(b))",
				name);
	*identity++ = '\0';
	*combine++ = '\0';
	enum tcb_status status = reduce2d_make(name, identity, combine, &made, &reason);
	if (status == TCB_OK) {
		status = tcb_registry_add(registry, reduce2d_made_op(made), &reason);
		if (status != TCB_OK)
			reduce2d_made_destroy(made);
	}
	return status == TCB_OK ? TCB_OK : tcb_fail(err, status, "TCBTUNE_REDUCTIONS, %.40s: %s", name, reason.message);
}

enum tcb_status cli_own_reductions(const char *text, struct tcb_registry *registry, struct tcb_error *err)
{
	char *copy = text ? strdup(text) : NULL, *rest = copy, *definition;
	enum tcb_status status = TCB_OK;
	if (text && !copy)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for TCBTUNE_REDUCTIONS");
	while (status == TCB_OK && rest && (definition = strsep(&rest, ";")) != NULL)
		status = add(definition, registry, err);
	free(copy);
	return status;
}
