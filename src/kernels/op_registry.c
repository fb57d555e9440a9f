/* SPDX-License-Identifier: MIT
 *
 * A list of ops that grows: the table of this build comes in, and what is
 * loaded is appended once it is known to be an op.
 */
#include "kernels/op_registry.h"

#include <stdlib.h>
#include <string.h>

struct tcb_registry tcb_registry_built_in(void)
{
	struct tcb_registry registry = { .grown = NULL };
	registry.ops = tcb_ops(&registry.count);
	return registry;
}

void tcb_registry_fini(struct tcb_registry *registry)
{
	free(registry->grown);
	*registry = (struct tcb_registry){ .ops = NULL };
}

static int is_name(const char *name)
{
	const size_t length = name ? strlen(name) : 0;
	return length && length < TCB_OP_NAME_MAX && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length &&
	       strcmp(name, "all") != 0;
}

/* What says what an op computes; the code for a device is an affair of that. */
static int is_whole(const struct tcb_op *op)
{
	return op->summary && op->shape_form && op->default_shapes && op->default_shape_count &&
	       (op->contracts >> op->default_contract & 1u) && op->check_shape && op->operands && op->fill &&
	       op->reference && op->flops && op->traffic;
}

enum tcb_status tcb_registry_add(struct tcb_registry *registry, const struct tcb_op *op, struct tcb_error *err)
{
	if (!is_name(op->name))
		return tcb_fail(err, TCB_E_USAGE,
				"'%.60s' cannot be an op's name: give one of a-z, 0-9 and underscores, shorter than %d",
				op->name ? op->name : "", TCB_OP_NAME_MAX);
	if (tcb_registry_find(registry, op->name))
		return tcb_fail(err, TCB_E_USAGE, "there is an op %s already; choose another name", op->name);
	if (!is_whole(op))
		return tcb_fail(err, TCB_E_USAGE, "op %s lacks something that every op has (kernels/op.h)", op->name);
	const char *refused = tcb_parameters_refused(op->parameters);
	if (refused)
		return tcb_fail(err, TCB_E_USAGE, "op %s has %s", op->name, refused);
	const size_t count = registry->count;
	const struct tcb_op **grown = realloc(registry->grown, (count + 2) * sizeof *grown);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu ops", count + 1);
	if (!registry->grown)
		memcpy(grown, registry->ops, count * sizeof *grown);
	grown[count] = op;
	grown[count + 1] = NULL;
	*registry = (struct tcb_registry){ grown, count + 1, grown };
	return TCB_OK;
}

const struct tcb_op *tcb_registry_find(const struct tcb_registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(registry->ops[i]->name, name) == 0)
			return registry->ops[i];
	return NULL;
}

static const struct tcb_op *find(const void *ctx, const char *name)
{
	return tcb_registry_find(ctx, name);
}

static const struct tcb_parameter *parameters_of(const struct tcb_op *op)
{
	return op->parameters;
}

struct tcb_op_names tcb_registry_names(const struct tcb_registry *registry)
{
	return (struct tcb_op_names){ .find = find, .parameters = parameters_of, .ctx = registry };
}
