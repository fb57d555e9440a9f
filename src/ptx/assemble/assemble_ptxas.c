/* SPDX-License-Identifier: MIT
 *
 * In: a job.  Out: what the ptxas program makes of it.
 *
 * The text and the cubin are memory files that ptxas opens through
 * /proc/self/fd, so nothing is written to a disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "ptx/assemble/assemble_private.h"

/* A memory file with TEXT. */
static int memory_file(const char *name, const char *text, size_t length)
{
	int fd = tcb_fd_above_standard(memfd_create(name, MFD_CLOEXEC));

	for (size_t done = 0; fd >= 0 && done < length;) {
		ssize_t wrote = write(fd, text + done, length - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)wrote;
	}
	return fd;
}

static unsigned char *read_whole(int fd, size_t *bytes_out)
{
	struct stat info;
	unsigned char *data;
	size_t done = 0;

	if (fstat(fd, &info) != 0 || info.st_size <= 0 || !(data = malloc((size_t)info.st_size)))
		return NULL;
	while (done < (size_t)info.st_size) {
		ssize_t got = pread(fd, data + done, (size_t)info.st_size - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(data);
			return NULL;
		}
		done += (size_t)got;
	}
	*bytes_out = done;
	return data;
}

/* Its messages name the file by its path: "ptxas /proc/self/fd/5, line 3" becomes "ptxas kernel.ptx, line 3". */
static char *without_path(const char *said, const char *path)
{
	struct tcb_str out = { 0 };
	const char *at;

	tcb_str_add(&out, "");
	while ((at = strstr(said, path))) {
		tcb_str_addf(&out, "%.*skernel.ptx", (int)(at - said), said);
		said = at + strlen(path);
	}
	tcb_str_add(&out, said);
	if (out.failed) {
		tcb_str_fini(&out);
		return NULL;
	}
	return out.data;
}

static void judge(const struct tcb_assemble_job *job, int wait_status, int output_fd, struct tcb_assembly *out)
{
	char target[16], how[64];

	if (WIFSIGNALED(wait_status)) {
		tcb_program_describe_exit(wait_status, how);
		tcb_assembly_end(out, TCB_E_FAILED, "ptxas %s", how);
		return;
	}
	if (WEXITSTATUS(wait_status) != 0) {
		tcb_assemble_target_text(&job->target, target);
		tcb_assembly_end(out, TCB_E_FORMAT, "ptxas rejects this for %s (exit status %d)", target,
				 WEXITSTATUS(wait_status));
		return;
	}
	out->cubin = read_whole(output_fd, &out->cubin_bytes);
	if (!out->cubin)
		tcb_assembly_end(out, TCB_E_FAILED, "ptxas reports success, but wrote nothing");
}

void tcb_ptxas_run(const char *path, const struct tcb_assemble_job *job, struct tcb_assembly *out)
{
	char arch[32], target[16], input[32], output[32];
	const char *argv[TCB_ASSEMBLE_FLAGS_MAX / 2 + 8] = { "ptxas", arch, "-v" };
	size_t argc = 3;
	int fds[] = { memory_file("kernel.ptx", job->ptx, job->length), memory_file("kernel.cubin", "", 0) };
	struct tcb_str said = { 0 };
	struct tcb_error error;
	int wait_status;
	enum tcb_status status;

	if (fds[0] < 0 || fds[1] < 0) {
		tcb_assembly_end(out, TCB_E_FAILED, "no memory file for ptxas (%s)", strerror(errno));
		goto done;
	}
	tcb_assemble_target_text(&job->target, target);
	snprintf(arch, sizeof arch, "-arch=%s", target);
	snprintf(input, sizeof input, "/proc/self/fd/%d", fds[0]);
	snprintf(output, sizeof output, "/proc/self/fd/%d", fds[1]);
	const char *flag = job->build ? job->build->flags : "";
	for (; *flag; flag += strlen(flag) + 1)
		argv[argc++] = flag;
	argv[argc++] = input;
	argv[argc++] = "-o";
	argv[argc++] = output;
	out->is_whole = !job->build || job->build->is_whole;
	status = tcb_program_run(path, argv, fds, 2, job->seconds_limit, job->stop, &said, &wait_status,
				 &out->timed_out, &error);
	if (said.data)
		out->log = without_path(said.data, input);
	if (status != TCB_OK)
		tcb_assembly_end(out, status, "%s", error.message);
	else
		judge(job, wait_status, fds[1], out);
done:
	tcb_str_fini(&said);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
