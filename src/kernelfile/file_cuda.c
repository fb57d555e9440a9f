/* SPDX-License-Identifier: MIT
 *
 * In: CUDA C++ and what its macros are.  Out: PTX.  NVRTC (the CUDA Toolkit's run-time
 * compiler; "NVRTC" in its documentation has the interface) is looked for where TCBTUNE_NVRTC says, in the toolkits
 * that CUDA_HOME and CUDA_PATH name, in the usual places and on the loader's path.
 */
#include "kernelfile/file_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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

enum { OPTIONS_MAX = 128, COMPILE_S = 120, KEPT_MAX = 64 };

typedef struct nvrtc_program *program_handle;

static struct nvrtc {
	int (*version)(int *major, int *minor);
	int (*create)(program_handle *out, const char *source, const char *name, int header_count,
		      const char *const *headers, const char *const *header_names);
	int (*destroy)(program_handle *program);
	int (*add_name)(program_handle program, const char *name);
	int (*compile)(program_handle program, int option_count, const char *const *options);
	int (*log_size)(program_handle program, size_t *out);
	int (*log)(program_handle program, char *out);
	int (*ptx_size)(program_handle program, size_t *out);
	int (*ptx)(program_handle program, char *out);
	int (*lowered)(program_handle program, const char *name, const char **out);
	char name[24], include[PATH_MAX]; /* the folder of the toolkit's headers; empty: unknown */
	int is_there;
} nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- finding it --- */

#if defined(__aarch64__)
#define TOOLKIT_TARGET "targets/sbsa-linux/lib"
#else
#define TOOLKIT_TARGET "targets/x86_64-linux/lib"
#endif

static void *open_in(const char *folder)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
	char path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", names[i]);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

static void *open_library(void)
{
	static const char *const inside[] = { "lib64", TOOLKIT_TARGET, "lib" };
	const char *given = getenv("TCBTUNE_NVRTC");
	const char *roots[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda" };
	char folder[PATH_MAX];
	void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library && given && *given)
		library = open_in(given);
	for (size_t i = 0; !library && i < sizeof roots / sizeof *roots; i++)
		for (size_t j = 0; !library && roots[i] && *roots[i] && j < sizeof inside / sizeof *inside; j++) {
			snprintf(folder, sizeof folder, "%s/%s", roots[i], inside[j]);
			library = open_in(folder);
		}
	return library ? library : open_in("");
}

static int has_headers(const char *folder)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/cuda_fp16.h", folder);
	return access(path, R_OK) == 0;
}

/* The toolkit's headers: beside the library, or in a toolkit that is named or in its usual place. */
static void find_headers(void)
{
	static const char *const up[] = { "../include", "../../../include" };
	const char *roots[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr" };
	Dl_info info;
	char *out = nvrtc.include;
	const char *slash;

	void *address;

	memcpy(&address, &nvrtc.version, sizeof address);
	for (size_t i = 0;
	     dladdr(address, &info) && (slash = strrchr(info.dli_fname, '/')) && i < sizeof up / sizeof *up; i++) {
		snprintf(out, PATH_MAX, "%.*s%s", (int)(slash - info.dli_fname) + 1, info.dli_fname, up[i]);
		if (has_headers(out))
			return;
	}
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		snprintf(out, PATH_MAX, "%s/include", roots[i] ? roots[i] : "");
		if (roots[i] && *roots[i] && has_headers(out))
			return;
	}
	*out = '\0';
}

static void load(void)
{
	const struct {
		const char *name;
		void *to;
	} rows[] = {
		{ "nvrtcVersion", &nvrtc.version },
		{ "nvrtcCreateProgram", &nvrtc.create },
		{ "nvrtcDestroyProgram", &nvrtc.destroy },
		{ "nvrtcAddNameExpression", &nvrtc.add_name },
		{ "nvrtcCompileProgram", &nvrtc.compile },
		{ "nvrtcGetProgramLogSize", &nvrtc.log_size },
		{ "nvrtcGetProgramLog", &nvrtc.log },
		{ "nvrtcGetPTXSize", &nvrtc.ptx_size },
		{ "nvrtcGetPTX", &nvrtc.ptx },
		{ "nvrtcGetLoweredName", &nvrtc.lowered },
	};
	void *library = open_library();
	int major = 0, minor = 0;

	nvrtc.is_there = library != NULL;
	for (size_t i = 0; nvrtc.is_there && i < sizeof rows / sizeof *rows; i++) {
		void *found = dlsym(library, rows[i].name);

		memcpy(rows[i].to, &found, sizeof found);
		nvrtc.is_there = found != NULL;
	}
	if (nvrtc.is_there)
		find_headers();
	if (nvrtc.is_there && nvrtc.version(&major, &minor) == 0)
		snprintf(nvrtc.name, sizeof nvrtc.name, "NVRTC %d.%d", major % 1000, minor % 1000);
}

const char *tcb_file_cuda_compiler(void)
{
	pthread_once(&once, load);
	return nvrtc.is_there ? nvrtc.name : NULL;
}

/* --- compiling --- */

/* The options after each other in one text, a NUL after each. */
static void set_options(const struct tcb_kernel_file *file, const struct tcb_value *bound, unsigned capability,
			struct tcb_str *out)
{
	const char *slash = strrchr(file->kernel.path, '/');

	tcb_str_addf(out, "--gpu-architecture=compute_%u%s%c", capability, capability >= 90 ? "a" : "", '\0');
	tcb_str_addf(out, "-I%.*s%c", slash ? (int)(slash - file->kernel.path) : 1, slash ? file->kernel.path : ".",
		     '\0');
	if (*nvrtc.include)
		tcb_str_addf(out, "-I%s%c", nvrtc.include, '\0');
	for (size_t i = 0; i < file->name_count; i++) {
		if (strchr(file->names[i], '['))
			continue;
		if (bound[i].type == TCB_VALUE_TEXT)
			tcb_str_addf(out, "-D%s=%s%c", file->names[i], bound[i].text, '\0');
		else if (bound[i].type == TCB_VALUE_REAL)
			tcb_str_addf(out, "-D%s=%.17g%c", file->names[i], bound[i].real, '\0');
		else
			tcb_str_addf(out, "-D%s=%" PRId64 "%c", file->names[i], bound[i].whole, '\0');
	}
	for (size_t i = 0; i < file->kernel.option_count; i++)
		tcb_str_addf(out, "%s%c", file->kernel.options[i], '\0');
}

/* The log's first line with an error, else its first. */
static enum tcb_status refuse(program_handle program, struct tcb_error *err)
{
	size_t bytes = 0;
	char *log = nvrtc.log_size(program, &bytes) == 0 && bytes ? malloc(bytes + 1) : NULL;
	const char *line = "the compiler does not say why";

	if (log && nvrtc.log(program, log) == 0) {
		const char *error = strstr(log, "error");

		log[bytes] = '\0';
		for (line = error ? error : log; line > log && line[-1] != '\n';)
			line--;
	}
	tcb_fail(err, TCB_E_FORMAT, "it does not compile: %.*s", (int)strcspn(line, "\n") % 300, line);
	free(log);
	return TCB_E_FORMAT;
}

static enum tcb_status take_ptx(program_handle program, const char *name, struct tcb_str *ptx_out,
				struct tcb_str *entry_out, struct tcb_error *err)
{
	const char *lowered = NULL;
	size_t bytes = 0;
	char *ptx = nvrtc.ptx_size(program, &bytes) == 0 && bytes > 1 ? malloc(bytes) : NULL;

	if (ptx && nvrtc.ptx(program, ptx) == 0)
		tcb_str_add_bytes(ptx_out, ptx, strnlen(ptx, bytes));
	free(ptx);
	if (nvrtc.lowered(program, name, &lowered) == 0 && lowered)
		tcb_str_add(entry_out, lowered);
	if (!ptx_out->data || !entry_out->data || ptx_out->failed || entry_out->failed)
		return tcb_fail(err, TCB_E_FORMAT, "NVRTC compiled it and has neither PTX nor kernel %.100s", name);
	return TCB_OK;
}

/* In the process that calls it. */
static enum tcb_status compile(const struct tcb_kernel_file *file, const struct tcb_str *source,
			       const struct tcb_str *options, struct tcb_str *ptx_out, struct tcb_str *entry_out,
			       struct tcb_error *err)
{
	const char *list[OPTIONS_MAX], *option = options->data;
	program_handle program = NULL;
	int count = 0;

	for (; count < OPTIONS_MAX && option < options->data + options->length; option += strlen(option) + 1)
		list[count++] = option;
	if (nvrtc.create(&program, source->data, file->kernel.path, 0, NULL, NULL) != 0)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling %s", file->kernel.name);
	if (nvrtc.add_name(program, file->kernel.name) != 0 || nvrtc.compile(program, count, list) != 0)
		return refuse(program, err);
	return take_ptx(program, file->kernel.name, ptx_out, entry_out, err);
}

/* --- each in a process of its own --- */

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
	made.status = compile(cuda->file, cuda->source, options, &text, &entry, &error);
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

	if (!tcb_file_cuda_compiler())
		return 1;
	set_options(cuda->file, bound, capability, &options);
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

	if (!tcb_file_cuda_compiler())
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s is in CUDA C++, and no NVRTC is found for it: install the CUDA Toolkit (or 'pip "
				"install nvidia-cuda-nvrtc') and let TCBTUNE_NVRTC name libnvrtc.so",
				cuda->file->kernel.name);
	set_options(cuda->file, bound, capability, &options);
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
