/* SPDX-License-Identifier: MIT
 *
 * OpenCL C as a language of kernels: its row.
 */
#include "kernels/opencl/opencl_code.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/language.h"

_Static_assert(sizeof(struct tcb_launch_opencl) <= TCB_LAUNCH_OWN_MAX,
	       "an image has room for the own part of a launch");

struct tcb_kernel_opencl *tcb_kernel_opencl_new(struct tcb_kernel *kernel)
{
	struct tcb_kernel_opencl *code = calloc(1, sizeof *code);

	kernel->language = &tcb_language_opencl;
	kernel->code = code;
	kernel->launch_count = 1;
	kernel->not_simulated = "there is no simulation of OpenCL C";
	return code;
}

static void destroy(void *code)
{
	struct tcb_kernel_opencl *opencl = code;

	if (opencl)
		tcb_str_fini(&opencl->text);
	free(opencl);
}

static void print(const void *code, struct tcb_str *out)
{
	const struct tcb_str *text = &((const struct tcb_kernel_opencl *)code)->text;

	tcb_str_add_bytes(out, text->data, text->length);
	out->failed |= text->failed;
}

static void describe(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	const struct tcb_launch *launch = &kernel->launch[0];
	const struct tcb_launch_opencl *own = &((const struct tcb_kernel_opencl *)kernel->code)->launch;

	tcb_str_addf(out, "launch %s grid=%ux%ux%u block=%ux%ux%u\n", launch->entry, launch->grid[0], launch->grid[1],
		     launch->grid[2], launch->block[0], launch->block[1], launch->block[2]);
	for (size_t i = 0; i < launch->argument_count; i++)
		tcb_str_addf(out, "argument %d %zu %u\n", (int)launch->argument[i].kind, launch->argument[i].value,
			     own->scalar_bytes[i]);
}

static void pack_own(const struct tcb_kernel *kernel, size_t index, void *own_out)
{
	(void)index;
	memcpy(own_out, &((const struct tcb_kernel_opencl *)kernel->code)->launch, sizeof(struct tcb_launch_opencl));
}

static int is_own_valid(const void *own, const struct tcb_argument *arguments, size_t count)
{
	const struct tcb_launch_opencl *opencl = own;

	if (!memchr(opencl->folder, '\0', sizeof opencl->folder) || strpbrk(opencl->folder, " \t\n\""))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const unsigned bytes = opencl->scalar_bytes[i];
		const int is_scalar = arguments[i].kind == TCB_ARGUMENT_U32 || arguments[i].kind == TCB_ARGUMENT_U64;

		if ((is_scalar && (bytes == 0 || bytes > sizeof(uint64_t))) ||
		    (arguments[i].kind == TCB_ARGUMENT_WORKSPACE && arguments[i].value != 0) ||
		    (arguments[i].kind == TCB_ARGUMENT_OWN && arguments[i].value == 0))
			return 0;
	}
	return 1;
}

const struct tcb_language tcb_language_opencl = {
	.name = "OpenCL C",
	.destroy = destroy,
	.print = print,
	.describe = describe,
	.pack_own = pack_own,
	.is_own_valid = is_own_valid,
};
