/* SPDX-License-Identifier: MIT
 *
 * WGSL as a language of kernels: its row.
 */
#include "kernels/wgsl/wgsl_code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/language.h"

_Static_assert(sizeof(struct tcb_launch_wgsl) <= TCB_LAUNCH_OWN_MAX, "an image has room for the own part of a launch");

struct tcb_kernel_wgsl *tcb_kernel_wgsl(const struct tcb_kernel *kernel)
{
	assert(kernel->language == &tcb_language_wgsl);
	return kernel->code;
}

static void destroy(void *code)
{
	struct tcb_kernel_wgsl *wgsl = code;

	if (wgsl)
		tcb_str_fini(&wgsl->text);
	free(wgsl);
}

static void print(const void *code, struct tcb_str *out)
{
	const struct tcb_str *text = &((const struct tcb_kernel_wgsl *)code)->text;

	tcb_str_add_bytes(out, text->data, text->length);
	out->failed |= text->failed;
}

static void describe(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	for (size_t i = 0; i < kernel->launch_count; i++) {
		const struct tcb_launch *launch = &kernel->launch[i];
		const struct tcb_launch_wgsl *own = &tcb_kernel_wgsl(kernel)->launch[i];

		tcb_str_addf(out, "launch %s grid=%ux%ux%u\n", launch->entry, launch->grid[0], launch->grid[1],
			     launch->grid[2]);
		for (size_t j = 0; j < launch->argument_count; j++)
			tcb_str_addf(out, "binding %u %d %zu\n", own->binding[j], (int)launch->argument[j].kind,
				     launch->argument[j].value);
		for (uint32_t j = 0; j < own->constant_count; j++)
			tcb_str_addf(out, "constant %s %u\n", own->constant[j].name, own->constant[j].value);
	}
}

static void pack_own(const struct tcb_kernel *kernel, size_t index, void *own_out)
{
	memcpy(own_out, &tcb_kernel_wgsl(kernel)->launch[index], sizeof(struct tcb_launch_wgsl));
}

/* Operands and the workspace are all that is bound. */
static int is_own_valid(const void *own, const struct tcb_argument *arguments, size_t count)
{
	const struct tcb_launch_wgsl *wgsl = own;

	for (size_t i = 0; i < count; i++)
		if (arguments[i].kind != TCB_ARGUMENT_OPERAND && arguments[i].kind != TCB_ARGUMENT_WORKSPACE)
			return 0;
	for (uint32_t i = 0; i < wgsl->constant_count; i++)
		if (i >= TCB_WGSL_CONSTANTS_MAX || !memchr(wgsl->constant[i].name, '\0', TCB_WGSL_NAME_MAX))
			return 0;
	return 1;
}

const struct tcb_language tcb_language_wgsl = {
	.name = "WGSL",
	.destroy = destroy,
	.print = print,
	.describe = describe,
	.pack_own = pack_own,
	.is_own_valid = is_own_valid,
};
