/* SPDX-License-Identifier: MIT
 *
 * In: PTX text and a target.  Out: an assembly: the cubin and the resources,
 * or why there are none.  This file dispatches one job and holds what both
 * ways of running it need.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ptx/assemble_private.h"

enum {
	SECONDS_LIMIT_MAX = 1 << 24, /* half a year: keeps nanoseconds far from overflow */
	NAME_BYTES = 4096            /* of an entry; mangled C++ names get long */
};

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

uint64_t tcb_assemble_deadline(double seconds)
{
	if (!(seconds > 0))
		seconds = 0;
	if (seconds > SECONDS_LIMIT_MAX)
		seconds = SECONDS_LIMIT_MAX;
	return tcb_clock_ns() + (uint64_t)(seconds * 1e9);
}

int tcb_assemble_wait_ms(uint64_t deadline_ns)
{
	uint64_t now = tcb_clock_ns();

	if (now >= deadline_ns)
		return 0;
	uint64_t left = (deadline_ns - now) / 1000000 + 1;
	return left > TCB_ASSEMBLE_STEP_MS ? TCB_ASSEMBLE_STEP_MS : (int)left;
}

void tcb_assemble_target_text(const struct tcb_ptx_target *target, char out[16])
{
	char feature[2] = { target->feature, '\0' };

	snprintf(out, 16, "sm_%u%s", target->sm, feature);
}

void tcb_assemble_describe_exit(int wait_status, char out[64])
{
	if (WIFSIGNALED(wait_status)) {
		snprintf(out, 64, "was killed by signal %d (%.32s)", WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)));
	} else {
		snprintf(out, 64, "ended with exit status %d", WEXITSTATUS(wait_status));
	}
}

void tcb_assembly_end(struct tcb_assembly *assembly, enum tcb_status status, const char *format, ...)
{
	struct tcb_str log = { 0 };
	char line[600];
	va_list args;

	assembly->status = status;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (assembly->log)
		tcb_str_addf(&log, "%s%s", assembly->log,
			     assembly->log[0] && assembly->log[strlen(assembly->log) - 1] != '\n' ? "\n" : "");
	tcb_str_addf(&log, "%s\n", line);
	if (log.failed) {
		tcb_str_fini(&log);
		return;
	}
	free(assembly->log);
	assembly->log = log.data;
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
	struct tcb_nvjitlink_server server = { 0 };
	const struct tcb_assemble_job job = {
		.ptx = ptx, .length = length, .target = *target, .seconds_limit = seconds_limit
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
