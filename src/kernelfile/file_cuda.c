/* SPDX-License-Identifier: MIT
 *
 * Compilations of one file's source, each in a process of its own, as many at a time as there are processors: NVRTC
 * compiles for tenths of a second, holds locks of its own meanwhile, and a source may crash it.
 */
#include "kernelfile/file_cuda.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/program.h"
#include "kernelfile/nvrtc.h"

enum { COMPILE_S = 120, KEPT_MAX = 64 };

struct job {
	struct job *next;
	uint64_t key; /* of the options */
	pid_t pid;    /* 0: it has ended */
	int file;     /* in memory, where it writes what comes out */
	int is_taken;
	enum tcb_status status;
	struct tcb_str entry, text; /* PTX, or why there is none */
};

struct tcb_file_cuda {
	const struct tcb_kernel_file *file;
	const struct tcb_str *source;
	pthread_mutex_t lock;
	struct job *jobs; /* the latest first */
	unsigned running, running_most;
};

/* What a process writes, then the entry's name and the text. */
struct made {
	int32_t status;
	uint32_t entry_bytes;
	uint64_t text_bytes;
};

static int write_all(int fd, const void *data, size_t bytes)
{
	ssize_t wrote = 0;

	for (size_t done = 0; done < bytes; done += (size_t)wrote)
		if ((wrote = write(fd, (const char *)data + done, bytes - done)) <= 0)
			return -1;
	return 0;
}

_Noreturn static void compile_apart(const struct tcb_file_cuda *cuda, const struct tcb_str *options)
{
	struct tcb_str entry = { 0 }, text = { 0 };
	struct tcb_error error;
	struct made made;

	alarm(COMPILE_S);
	made.status = tcb_nvrtc_compile(cuda->file, cuda->source, options, &text, &entry, &error);
	if (made.status != TCB_OK) {
		tcb_str_fini(&text);
		tcb_str_add(&text, error.message);
	}
	made.entry_bytes = (uint32_t)entry.length;
	made.text_bytes = text.length;
	_exit(write_all(TCB_PROGRAM_FD, &made, sizeof made) || write_all(TCB_PROGRAM_FD, entry.data, entry.length) ||
	      write_all(TCB_PROGRAM_FD, text.data, text.length));
}

/* Locked. */
static struct job *start(struct tcb_file_cuda *cuda, uint64_t key, const struct tcb_str *options, struct tcb_error *err)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job) {
		tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling %s", cuda->file->kernel.name);
		return NULL;
	}
	job->key = key;
	job->file = memfd_create("tcb-nvrtc", MFD_CLOEXEC);
	job->pid = job->file < 0 ? -1 : tcb_program_fork("tcb-nvrtc", job->file);
	if (job->pid == 0)
		compile_apart(cuda, options);
	if (job->pid < 0) {
		tcb_fail(err, TCB_E_FAILED, "cannot start a process for NVRTC (%s)", strerror(errno));
		if (job->file >= 0)
			close(job->file);
		free(job);
		return NULL;
	}
	cuda->running++;
	job->next = cuda->jobs;
	cuda->jobs = job;
	return job;
}

static int take_bytes(int fd, size_t bytes, off_t at, struct tcb_str *out)
{
	char block[65536];

	while (bytes > 0) {
		const ssize_t got = pread(fd, block, bytes < sizeof block ? bytes : sizeof block, at);

		if (got <= 0)
			return -1;
		tcb_str_add_bytes(out, block, (size_t)got);
		bytes -= (size_t)got;
		at += got;
	}
	return out->failed ? -1 : 0;
}

static void read_result(struct job *job, int wait_status)
{
	struct made made;

	if (pread(job->file, &made, sizeof made, 0) == (ssize_t)sizeof made &&
	    take_bytes(job->file, made.entry_bytes, sizeof made, &job->entry) == 0 &&
	    take_bytes(job->file, made.text_bytes, (off_t)sizeof made + made.entry_bytes, &job->text) == 0) {
		job->status = (enum tcb_status)made.status;
		return;
	}
	char how[64];

	tcb_program_describe_exit(wait_status, how);
	job->status = TCB_E_FORMAT;
	tcb_str_fini(&job->entry);
	tcb_str_fini(&job->text);
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM)
		tcb_str_addf(&job->text, "NVRTC ran longer than %d s", COMPILE_S);
	else
		tcb_str_addf(&job->text, "NVRTC's process %s", how);
}

/* Locked.  Has JOB ended?  MUST: it is waited for. */
static int has_ended(struct tcb_file_cuda *cuda, struct job *job, int must)
{
	int wait_status = 0;
	pid_t got;

	if (!job->pid)
		return 1;
	while ((got = waitpid(job->pid, &wait_status, must ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	if (got == 0)
		return 0;
	job->pid = 0;
	cuda->running--;
	read_result(job, wait_status);
	close(job->file);
	return 1;
}

static void free_job(struct job *job)
{
	tcb_str_fini(&job->entry);
	tcb_str_fini(&job->text);
	free(job);
}

/* Locked.  The latest of those that were taken stay: bench and reports ask for the same again. */
static void forget_old(struct tcb_file_cuda *cuda)
{
	size_t kept = 0;

	for (struct job **at = &cuda->jobs; *at;) {
		struct job *job = *at;

		if (job->is_taken && ++kept > KEPT_MAX) {
			*at = job->next;
			free_job(job);
		} else {
			at = &job->next;
		}
	}
}

/* Locked. */
static struct job *find_job(struct tcb_file_cuda *cuda, uint64_t key)
{
	struct job *job = cuda->jobs;

	while (job && job->key != key)
		job = job->next;
	return job;
}

int tcb_file_cuda_begin(struct tcb_file_cuda *cuda, const struct tcb_value *bound, unsigned capability)
{
	struct tcb_str options = { 0 };
	struct job *job;
	int is_there = 1;

	if (!tcb_nvrtc_name())
		return 1;
	tcb_nvrtc_options(cuda->file, bound, capability, &options);
	if (!options.failed) {
		const uint64_t key = tcb_hash64(options.data, options.length, 0);

		pthread_mutex_lock(&cuda->lock);
		for (job = cuda->jobs; job; job = job->next)
			(void)has_ended(cuda, job, 0);
		job = find_job(cuda, key);
		if (!job && cuda->running < cuda->running_most)
			job = start(cuda, key, &options, NULL);
		is_there = job && !job->pid;
		pthread_mutex_unlock(&cuda->lock);
	}
	tcb_str_fini(&options);
	return is_there;
}

/* Locked, but while it waits. */
static enum tcb_status take(struct tcb_file_cuda *cuda, const struct tcb_str *options, struct tcb_str *ptx_out,
			    struct tcb_str *entry_out, struct tcb_error *err)
{
	static const struct timespec step = { 0, 1000000 };
	const uint64_t key = tcb_hash64(options->data, options->length, 0);
	struct job *job;

	/* Others begin and take theirs meanwhile. */
	while ((job = find_job(cuda, key)) || (job = start(cuda, key, options, err))) {
		if (has_ended(cuda, job, 0))
			break;
		pthread_mutex_unlock(&cuda->lock);
		nanosleep(&step, NULL);
		pthread_mutex_lock(&cuda->lock);
	}
	if (!job)
		return TCB_E_FAILED;
	job->is_taken = 1;
	forget_old(cuda);
	if (job->status != TCB_OK)
		return tcb_fail(err, job->status, "%s", job->text.data ? job->text.data : "out of memory");
	tcb_str_add_bytes(ptx_out, job->text.data, job->text.length);
	tcb_str_add_bytes(entry_out, job->entry.data, job->entry.length);
	if (ptx_out->failed || entry_out->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text");
	return TCB_OK;
}

enum tcb_status tcb_file_cuda_take(struct tcb_file_cuda *cuda, const struct tcb_value *bound, unsigned capability,
				   struct tcb_str *ptx_out, struct tcb_str *entry_out, struct tcb_error *err)
{
	struct tcb_str options = { 0 };
	enum tcb_status status;

	if (!tcb_nvrtc_name())
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s is in CUDA C++, and no NVRTC is found for it: install the CUDA Toolkit (or 'pip "
				"install nvidia-cuda-nvrtc') and let TCBTUNE_NVRTC name libnvrtc.so",
				cuda->file->kernel.name);
	tcb_nvrtc_options(cuda->file, bound, capability, &options);
	if (options.failed) {
		tcb_str_fini(&options);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling %s", cuda->file->kernel.name);
	}
	pthread_mutex_lock(&cuda->lock);
	status = take(cuda, &options, ptx_out, entry_out, err);
	pthread_mutex_unlock(&cuda->lock);
	tcb_str_fini(&options);
	return status;
}

enum tcb_status tcb_file_cuda_create(const struct tcb_kernel_file *file, const struct tcb_str *source,
				     struct tcb_file_cuda **out, struct tcb_error *err)
{
	struct tcb_file_cuda *cuda = calloc(1, sizeof *cuda);

	*out = cuda;
	if (!cuda)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's file");
	cuda->file = file;
	cuda->source = source;
	cuda->running_most = tcb_granted_processors();
	pthread_mutex_init(&cuda->lock, NULL);
	return TCB_OK;
}

void tcb_file_cuda_destroy(struct tcb_file_cuda *cuda)
{
	if (!cuda)
		return;
	for (struct job *job = cuda->jobs, *next; job; job = next) {
		next = job->next;
		if (job->pid)
			kill(job->pid, SIGKILL);
		(void)has_ended(cuda, job, 1);
		free_job(job);
	}
	pthread_mutex_destroy(&cuda->lock);
	free(cuda);
}
