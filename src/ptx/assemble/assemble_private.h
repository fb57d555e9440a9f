/* SPDX-License-Identifier: MIT
 *
 * What the files of the assembler share: a job, and the two ways to run it.
 */
#ifndef TCB_PTX_ASSEMBLE_PRIVATE_H
#define TCB_PTX_ASSEMBLE_PRIVATE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "ptx/assemble/assemble.h"

struct tcb_assemble_job {
	const char *ptx;
	size_t length;
	struct tcb_ptx_target target;
	double seconds_limit;
	const struct tcb_assemble_build *build; /* nullable: as sweeps compile */
	const atomic_int *stop;                 /* nullable: not 0 ends the job early */
};

/* A forked process that has nvJitLink.  Zeroed: not started; started by the first job. */
struct tcb_nvjitlink_server {
	pid_t pid;
	int fd;
	unsigned jobs;
};

/* assemble_front.c */
/* Runs JOB by INFO's kind; SERVER is used by nvJitLink only. */
void tcb_assemble_job_run(const struct tcb_assembler_info *info, struct tcb_nvjitlink_server *server,
			  const struct tcb_assemble_job *job, struct tcb_assembly *out);

/* assemble_job.c */
/* "sm_90a" */
void tcb_assemble_target_text(const struct tcb_ptx_target *target, char out[16]);
/* Appends a line to the log and sets STATUS. */
void tcb_assembly_end(struct tcb_assembly *assembly, enum tcb_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* assemble_log.c: as tcb_assembly_resources, by the log alone; NAME_OUT gets the entry's name. */
int tcb_assemble_log_resources(const char *log, const char *entry, struct tcb_ptx_resources *out, char *name_out,
			       size_t name_bytes);
/* assemble_cubin.c: bytes of ENTRY's constant banks, 0 when the cubin has none. */
unsigned tcb_assemble_cubin_constants(const unsigned char *cubin, size_t bytes, const char *entry);
/* Registers of the function called NAME (LENGTH bytes), 0 when the cubin does not say. */
unsigned tcb_assemble_cubin_registers(const unsigned char *cubin, size_t bytes, const char *name, size_t length);

/* assemble_ptxas.c */
void tcb_ptxas_run(const char *path, const struct tcb_assemble_job *job, struct tcb_assembly *out);

/* assemble_seed.c: a module of LTO-IR with nothing to run in it. */
extern const unsigned char tcb_nvjitlink_seed[];
extern const size_t tcb_nvjitlink_seed_bytes;

/* assemble_nvjitlink.c */
/* Loads PATH, once; the library stays. */
enum tcb_status tcb_nvjitlink_load(const char *path, const struct tcb_nvjitlink **out, struct tcb_error *err);
/* Version and targets, asked in a process of its own. */
enum tcb_status tcb_nvjitlink_probe(const struct tcb_nvjitlink *library, struct tcb_assembler_info *info,
				    struct tcb_error *err);
/* Best called while the process has one thread: what other threads hold locked when it is forked stays locked in it. */
enum tcb_status tcb_nvjitlink_server_start(const struct tcb_nvjitlink *library, struct tcb_nvjitlink_server *server,
					   struct tcb_error *err);
void tcb_nvjitlink_run(const struct tcb_nvjitlink *library, struct tcb_nvjitlink_server *server,
		       const struct tcb_assemble_job *job, struct tcb_assembly *out);
void tcb_nvjitlink_server_stop(struct tcb_nvjitlink_server *server);

#endif
