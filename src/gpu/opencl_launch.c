/* SPDX-License-Identifier: MIT
 *
 * Building, checking and launching the kernels of a code image in OpenCL.
 */
#include "gpu/opencl_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "base/util.h"
#include "kernels/opencl/opencl_code.h"

enum { LOG_MAX = 1 << 20, QUOTED_MAX = 230 };

static const char *text_of(const struct tcb_code_image *image, const struct tcb_code_unit *unit)
{
	return (const char *)image + unit->offset;
}

uint64_t tcb_opencl_unit_hash(const struct tcb_code_image *image, const struct tcb_code_unit *unit)
{
	const char *text = text_of(image, unit), *folder = tcb_launch_opencl(unit->launch[0].own)->folder;

	return tcb_hash64(text, strlen(text), tcb_hash64(folder, strlen(folder), 0));
}

/* ---- programs ---- */

/* The log's first line with an error, else its first. */
static void quote_log(const struct tcb_opencl_session *session, tcb_cl_program program, char why[TCB_OPENCL_WHY_MAX])
{
	const struct tcb_opencl *cl = session->cl;
	char line[QUOTED_MAX + 1], *log = NULL;
	size_t bytes = 0;

	(void)cl->build_info(program, session->device, TCB_CL_BUILD_LOG, 0, NULL, &bytes);
	if (bytes > 0 && bytes < LOG_MAX)
		log = calloc(1, bytes + 1);
	if (log && cl->build_info(program, session->device, TCB_CL_BUILD_LOG, bytes, log, NULL) != TCB_CL_SUCCESS)
		*log = '\0';
	tcb_program_complaint(log, line, sizeof line);
	snprintf(why, TCB_OPENCL_WHY_MAX, "compiling it: %s", line);
	free(log);
}

/* What TEXT's first line says, and FOLDER to include from; NULL: out of memory. */
static char *options_of(const char *text, const char *folder)
{
	const size_t skip = strlen(TCB_OPENCL_OPTIONS);
	const int has_options = strncmp(text, TCB_OPENCL_OPTIONS, skip) == 0;
	char *options;

	return asprintf(&options, "%.*s%s%s", has_options ? (int)strcspn(text + skip, "\n") : 0, text + skip,
			*folder ? " -I " : "", folder) < 0
		       ? NULL
		       : options;
}

int tcb_opencl_build(const struct tcb_opencl_session *session, const struct tcb_code_image *image,
		     const struct tcb_code_unit *unit, tcb_cl_program *out, char why[TCB_OPENCL_WHY_MAX])
{
	const char *text = text_of(image, unit);
	char *options = options_of(text, tcb_launch_opencl(unit->launch[0].own)->folder);
	int32_t code = TCB_CL_OUT_OF_HOST_MEMORY;

	*out = options ? session->cl->create_program(session->context, 1, &text, NULL, &code) : NULL;
	if (*out)
		code = session->cl->build(*out, 1, &session->device, options, NULL, NULL);
	free(options);
	if (code == TCB_CL_SUCCESS)
		return 0;
	if (*out && (code == TCB_CL_BUILD_FAILURE || code == TCB_CL_INVALID_BUILD_OPTIONS))
		quote_log(session, *out, why);
	else
		snprintf(why, TCB_OPENCL_WHY_MAX, "compiling it: %s", tcb_opencl_text(code));
	if (*out)
		(void)session->cl->release_program(*out);
	*out = NULL;
	return -1;
}

/* ---- kernels ---- */

/* What a kernel takes of a device, only its driver knows.  0: it can be launched so. */
static int check(const struct tcb_opencl_session *session, tcb_cl_kernel kernel, const struct tcb_code_launch *launch,
		 char why[TCB_OPENCL_WHY_MAX])
{
	const struct tcb_opencl *cl = session->cl;
	const size_t threads = (size_t)launch->block[0] * launch->block[1] * launch->block[2];
	size_t most = threads, local = 0;
	uint64_t fixed = 0;
	uint32_t arguments = launch->argument_count;

	(void)cl->kernel_info(kernel, TCB_CL_KERNEL_ARGUMENTS, sizeof arguments, &arguments, NULL);
	(void)cl->kernel_group_info(kernel, session->device, TCB_CL_KERNEL_WORKGROUP_MOST, sizeof most, &most, NULL);
	(void)cl->kernel_group_info(kernel, session->device, TCB_CL_KERNEL_LOCAL_BYTES, sizeof fixed, &fixed, NULL);
	for (uint32_t i = 0; i < launch->argument_count; i++)
		local += launch->argument[i].kind == TCB_ARGUMENT_OWN ? launch->argument[i].value : 0;
	if (arguments != launch->argument_count)
		snprintf(why, TCB_OPENCL_WHY_MAX, "%.60s takes %u arguments; %u are listed", launch->entry, arguments,
			 launch->argument_count);
	else if (threads > most)
		snprintf(why, TCB_OPENCL_WHY_MAX,
			 "a work-group of %zu, but as it was compiled the device runs it in work-groups of %zu at most",
			 threads, most);
	else if (session->local_bytes && local + fixed > session->local_bytes)
		snprintf(why, TCB_OPENCL_WHY_MAX, "%zu bytes of local memory, but the device has %zu",
			 local + (size_t)fixed, session->local_bytes);
	else
		return 0;
	return 1;
}

int tcb_opencl_kernel(const struct tcb_opencl_session *session, tcb_cl_program program,
		      const struct tcb_code_launch *launch, tcb_cl_kernel *out, char why[TCB_OPENCL_WHY_MAX])
{
	int32_t code = TCB_CL_SUCCESS;

	*out = session->cl->create_kernel(program, launch->entry, &code);
	if (*out)
		return check(session, *out, launch, why);
	snprintf(why, TCB_OPENCL_WHY_MAX, "kernel %.60s: %s", launch->entry, tcb_opencl_text(code));
	return -1;
}

/* ---- launches ---- */

static int32_t set_argument(const struct tcb_opencl_session *session, tcb_cl_kernel kernel,
			    const struct tcb_code_launch *launch, uint32_t index, tcb_cl_memory memory)
{
	const struct tcb_argument *argument = &launch->argument[index];
	const uint64_t bits = argument->value; /* little end first */

	switch (argument->kind) {
	case TCB_ARGUMENT_OWN:
		return session->cl->set_argument(kernel, index, argument->value, NULL);
	case TCB_ARGUMENT_U32:
	case TCB_ARGUMENT_U64:
		return session->cl->set_argument(kernel, index, tcb_launch_opencl(launch->own)->scalar_bytes[index],
						 &bits);
	default:
		return session->cl->set_argument(kernel, index, sizeof memory, (void *)&memory);
	}
}

int32_t tcb_opencl_launch(const struct tcb_opencl_session *session, tcb_cl_kernel kernel,
			  const struct tcb_code_launch *launch, const tcb_cl_memory memory[TCB_ARGUMENTS_MAX],
			  tcb_cl_event *event_out, char why[TCB_OPENCL_WHY_MAX])
{
	size_t global[3], local[3];
	int32_t code;

	for (uint32_t i = 0; i < launch->argument_count; i++) {
		code = set_argument(session, kernel, launch, i, memory[i]);
		if (code == TCB_CL_SUCCESS)
			continue;
		snprintf(why, TCB_OPENCL_WHY_MAX, "argument %u: %s", i + 1, tcb_opencl_text(code));
		return code;
	}
	for (int d = 0; d < 3; d++) {
		local[d] = launch->block[d];
		global[d] = local[d] * launch->grid[d];
	}
	code = session->cl->launch(session->queue, kernel, 3, NULL, global, local, 0, NULL, event_out);
	if (code != TCB_CL_SUCCESS)
		snprintf(why, TCB_OPENCL_WHY_MAX, "launching it: %s", tcb_opencl_text(code));
	return code;
}
