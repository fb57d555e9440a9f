/* SPDX-License-Identifier: MIT
 *
 * In: PTX text and a target.  Out: an assembly: the cubin and the resources,
 * or why there are none.  This file gives one job to the assembler that is there.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/assemble/assemble_private.h"

enum { NAME_BYTES = 4096 }; /* of an entry; mangled C++ names get long */

const char *tcb_assembler_text(enum tcb_assembler kind)
{
	static const char *const names[] = { "none", "ptxas", "nvJitLink" };

	return names[kind];
}

int tcb_assembler_knows(const struct tcb_assembler_info *info, unsigned capability)
{
	for (unsigned i = 0; i < info->target_count; i++)
		if (info->targets[i] == capability)
			return 1;
	return 0;
}

int tcb_assembly_resources(const struct tcb_assembly *assembly, const char *entry, struct tcb_ptx_resources *out)
{
	char name[NAME_BYTES];

	*out = (struct tcb_ptx_resources){ 0 };
	if (!assembly->log || !tcb_assemble_log_resources(assembly->log, entry, out, name, sizeof name))
		return 0;
	/* From sm_90 on the log is silent about them. */
	if (!out->constant_bytes && assembly->cubin)
		out->constant_bytes = tcb_assemble_cubin_constants(assembly->cubin, assembly->cubin_bytes, name);
	return 1;
}

void tcb_assemble_job_run(const struct tcb_assembler_info *info, struct tcb_nvjitlink_server *server,
			  const struct tcb_assemble_job *job, struct tcb_assembly *out)
{
	uint64_t start = tcb_clock_ns();

	*out = (struct tcb_assembly){ .status = TCB_OK };
	if (info->kind == TCB_ASSEMBLER_PTXAS)
		tcb_ptxas_run(info->path, job, out);
	else if (info->kind == TCB_ASSEMBLER_NVJITLINK)
		tcb_nvjitlink_run(info->library, server, job, out);
	else
		tcb_assembly_end(out, TCB_E_FAILED, "there is no assembler");
	/* A module without an entry needs nothing. */
	if (out->status == TCB_OK && !tcb_assembly_resources(out, NULL, &out->resources) && out->log &&
	    strstr(out->log, "Compiling entry"))
		tcb_assembly_end(out, TCB_E_FAILED, "%s does not say what the kernel needs",
				 tcb_assembler_text(info->kind));
	if (out->status != TCB_OK) {
		free(out->cubin);
		out->cubin = NULL;
		out->cubin_bytes = 0;
	}
	out->seconds = (double)(tcb_clock_ns() - start) * 1e-9;
}

void tcb_assemble(const struct tcb_assembler_info *info, const char *ptx, size_t length,
		  const struct tcb_ptx_target *target, double seconds_limit, struct tcb_assembly *out)
{
	tcb_assemble_as(info, ptx, length, target, NULL, seconds_limit, out);
}

void tcb_assemble_as(const struct tcb_assembler_info *info, const char *ptx, size_t length,
		     const struct tcb_ptx_target *target, const struct tcb_assemble_build *build, double seconds_limit,
		     struct tcb_assembly *out)
{
	struct tcb_nvjitlink_server server = { 0 };
	const struct tcb_assemble_job job = {
		.ptx = ptx, .length = length, .target = *target, .seconds_limit = seconds_limit, .build = build
	};

	tcb_assemble_job_run(info, &server, &job, out);
	tcb_nvjitlink_server_stop(&server);
}

void tcb_assembly_fini(struct tcb_assembly *assembly)
{
	free(assembly->cubin);
	free(assembly->log);
	*assembly = (struct tcb_assembly){ .status = TCB_E_FAILED };
}
