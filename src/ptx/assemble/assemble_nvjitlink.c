/* SPDX-License-Identifier: MIT
 *
 * In: a job.  Out: what nvJitLink makes of it.
 *
 * The library cannot be interrupted, and what it does to a process when it
 * fails is its own affair.  So the tuner only loads it, and forked servers
 * call it: a request over a socket, an answer back.  A server that crashes or
 * runs out of time is killed, which costs its one job; the next job starts a
 * new one.  Loading happens before the fork, so a server starts within
 * milliseconds.
 *
 * What it is given as PTX it compiles as an object and links, whatever it is
 * told.  LTO-IR it compiles as a whole program, and ptxas' option to take PTX
 * as a string (-ias) holds there too: so with a module of LTO-IR in which there
 * is nothing, the string is compiled as ptxas compiles a file.  A library that
 * is older than the module refuses it, and then an object it is: in one the
 * assembler leaves setmaxnreg out and may have to spill.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "ptx/assemble/assemble_private.h"

enum {
	JITLINK_SUCCESS = 0,
	JITLINK_PTX = 2, /* nvJitLinkInputType */
	JITLINK_LTOIR = 3,
	JITLINK_BROKEN = 1000, /* our own: no memory in the server */
	JOBS_MAX = 1000,       /* of one server, against what the library may leak */
	BYTES_MAX = 1 << 28,   /* a longer text or cubin counts as damage */
	PROBE_FIRST = 50,
	PROBE_LAST = 139, /* capabilities to ask for */
};

/* Its handle is opaque; the signatures are those of nvJitLink.h 12.0 to 13.0. */
struct tcb_nvjitlink {
	char path[512];
	int (*create)(void **handle, uint32_t count, const char *const *options);
	int (*destroy)(void **handle);
	int (*add_data)(void *handle, int type, const void *data, size_t bytes, const char *name);
	int (*complete)(void *handle);
	int (*cubin_size)(void *handle, size_t *bytes);
	int (*cubin)(void *handle, void *data);
	int (*error_log_size)(void *handle, size_t *bytes);
	int (*error_log)(void *handle, char *log);
	int (*info_log_size)(void *handle, size_t *bytes);
	int (*info_log)(void *handle, char *log);
	int (*version)(unsigned *major, unsigned *minor); /* NULL in 12.0 */
};

enum request_kind { REQUEST_ASSEMBLE, REQUEST_PROBE };

struct request {
	uint32_t kind, is_whole;
	char arch[32]; /* "-arch=sm_89" */
	char flags[TCB_ASSEMBLE_FLAGS_MAX];
	uint64_t length;
};

struct reply {
	int32_t result; /* nvJitLinkResult */
	uint32_t version, is_whole;
	uint64_t cubin_bytes, log_bytes; /* of PROBE: log_bytes is the number of bytes of targets */
};

/* ---- the server's side ---- */

static int read_all(int fd, void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t got = read(fd, (char *)data + done, bytes - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int write_all(int fd, const void *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t wrote = send(fd, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return -1;
		done += (size_t)wrote;
	}
	return 0;
}

static void add_log(struct tcb_str *log, void *handle, int (*size)(void *, size_t *), int (*get)(void *, char *))
{
	size_t bytes = 0;
	char *text;

	if (size(handle, &bytes) != JITLINK_SUCCESS || !bytes || bytes > BYTES_MAX || !(text = calloc(1, bytes + 1)))
		return;
	if (get(handle, text) == JITLINK_SUCCESS)
		tcb_str_add(log, text);
	free(text);
}

/* PTX as the library's input, or the seed, with PTX in an option. */
static int add_input(const struct tcb_nvjitlink *library, void *handle, const struct request *request, const char *ptx)
{
	/* The text's final NUL belongs to it, as in the manual's examples. */
	return request->is_whole
		       ? library->add_data(handle, JITLINK_LTOIR, tcb_nvjitlink_seed, tcb_nvjitlink_seed_bytes, "seed")
		       : library->add_data(handle, JITLINK_PTX, ptx, request->length + 1, "kernel.ptx");
}

static void take_logs(const struct tcb_nvjitlink *library, void *handle, struct tcb_str *log)
{
	add_log(log, handle, library->error_log_size, library->error_log);
	add_log(log, handle, library->info_log_size, library->info_log);
}

static int take_cubin(const struct tcb_nvjitlink *library, void *handle, unsigned char **cubin, size_t *cubin_bytes)
{
	int result = library->cubin_size(handle, cubin_bytes);

	if (result == JITLINK_SUCCESS && (!*cubin_bytes || !(*cubin = malloc(*cubin_bytes))))
		return JITLINK_BROKEN;
	return result == JITLINK_SUCCESS ? library->cubin(handle, *cubin) : result;
}

enum { OPTION_PREFIX = sizeof "-Xptxas=" - 1, OPTIONS_MAX = TCB_ASSEMBLE_FLAGS_MAX / 2 + 4 };

/* The options of REQUEST in OUT; their texts follow each other in TEXT. */
static uint32_t make_options(const struct request *request, const char *ptx, char *text, const char **out)
{
	uint32_t count = 0;

	out[count++] = request->arch;
	out[count++] = "-verbose";
	if (request->is_whole) {
		out[count++] = "-lto";
		out[count++] = text;
		text += sprintf(text, "-Xptxas=-ias=%s", ptx) + 1;
	}
	for (const char *flag = request->flags; *flag; flag += strlen(flag) + 1) {
		out[count++] = text;
		text += sprintf(text, "-Xptxas=%s", flag) + 1;
	}
	return count;
}

static int assemble(const struct tcb_nvjitlink *library, const struct request *request, const char *ptx,
		    struct tcb_str *log, unsigned char **cubin, size_t *cubin_bytes)
{
	char *text = malloc(request->length + 64 + (OPTION_PREFIX + 1) * sizeof request->flags);
	const char *options[OPTIONS_MAX];
	void *handle = NULL;
	int result = JITLINK_BROKEN;

	if (text)
		result = library->create(&handle, make_options(request, ptx, text, options), options);
	if (result == JITLINK_SUCCESS)
		result = add_input(library, handle, request, ptx);
	if (result == JITLINK_SUCCESS)
		result = library->complete(handle);
	if (result == JITLINK_SUCCESS)
		result = take_cubin(library, handle, cubin, cubin_bytes);
	if (handle) {
		take_logs(library, handle, log);
		library->destroy(&handle);
	}
	free(text);
	return result;
}

static int answer_assemble(const struct tcb_nvjitlink *library, int fd, struct request *request)
{
	char *ptx = request->length < BYTES_MAX ? malloc(request->length + 1) : NULL;
	unsigned char *cubin = NULL;
	size_t cubin_bytes = 0;
	struct tcb_str log = { 0 };
	struct reply reply = { .result = JITLINK_BROKEN };
	int bad;

	if (!ptx || read_all(fd, ptx, request->length) != 0)
		return -1;
	ptx[request->length] = '\0';
	reply.result = assemble(library, request, ptx, &log, &cubin, &cubin_bytes);
	/* It failed before it came to the text: it may be too old for the seed. */
	if (request->is_whole && reply.result != JITLINK_SUCCESS && !(log.data && strstr(log.data, "ptxas"))) {
		tcb_str_fini(&log);
		request->is_whole = 0;
		reply.result = assemble(library, request, ptx, &log, &cubin, &cubin_bytes);
	}
	reply.is_whole = request->is_whole;
	reply.cubin_bytes = reply.result == JITLINK_SUCCESS ? cubin_bytes : 0;
	reply.log_bytes = log.length > TCB_PROGRAM_SAID_MAX ? TCB_PROGRAM_SAID_MAX : log.length;
	bad = write_all(fd, &reply, sizeof reply) || write_all(fd, log.data, reply.log_bytes) ||
	      write_all(fd, cubin, reply.cubin_bytes);
	tcb_str_fini(&log);
	free(cubin);
	free(ptx);
	return bad;
}

static int answer_probe(const struct tcb_nvjitlink *library, int fd)
{
	unsigned targets[PROBE_LAST - PROBE_FIRST + 1], count = 0, major = 0, minor = 0;
	struct reply reply = { .result = JITLINK_SUCCESS };

	if (library->version && library->version(&major, &minor) == JITLINK_SUCCESS)
		reply.version = major * 10 + minor;
	for (unsigned sm = PROBE_FIRST; sm <= PROBE_LAST; sm++) {
		char arch[32];
		const char *options[] = { arch };
		void *handle = NULL;
		snprintf(arch, sizeof arch, "-arch=sm_%u", sm);
		if (library->create(&handle, 1, options) == JITLINK_SUCCESS)
			targets[count++] = sm;
		if (handle)
			library->destroy(&handle);
	}
	reply.log_bytes = count * sizeof *targets;
	return write_all(fd, &reply, sizeof reply) || write_all(fd, targets, reply.log_bytes);
}

_Noreturn static void serve(const struct tcb_nvjitlink *library, int fd)
{
	struct request request;
	int bad = 0;

	while (!bad && read_all(fd, &request, sizeof request) == 0)
		bad = request.kind == REQUEST_PROBE ? answer_probe(library, fd)
						    : answer_assemble(library, fd, &request);
	_exit(bad);
}

/* ---- the tuner's side ---- */

enum tcb_status tcb_nvjitlink_server_start(const struct tcb_nvjitlink *library, struct tcb_nvjitlink_server *server,
					   struct tcb_error *err)
{
	pid_t pid;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return tcb_fail(err, TCB_E_FAILED, "no socket for nvJitLink's process (%s)", strerror(errno));
	pid = tcb_program_fork("tcb-nvjitlink", fds[1]);
	if (pid == 0)
		serve(library, TCB_PROGRAM_FD);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return tcb_fail(err, TCB_E_FAILED, "cannot start a process for nvJitLink (%s)", strerror(errno));
	}
	*server = (struct tcb_nvjitlink_server){ .pid = pid, .fd = fds[0] };
	return TCB_OK;
}

/* Kills and reaps; HOW (nullable) tells how it had ended by itself. */
static void server_end(struct tcb_nvjitlink_server *server, int let_it_die, char *how)
{
	int wait_status = 0;

	if (!server->pid)
		return;
	if (!let_it_die)
		kill(server->pid, SIGKILL);
	close(server->fd);
	while (waitpid(server->pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	if (how)
		tcb_program_describe_exit(wait_status, how);
	*server = (struct tcb_nvjitlink_server){ 0 };
}

void tcb_nvjitlink_server_stop(struct tcb_nvjitlink_server *server)
{
	server_end(server, 0, NULL);
}

enum exchange { EXCHANGE_DONE, EXCHANGE_CLOSED, EXCHANGE_TIMED_OUT, EXCHANGE_STOPPED };

/* Sends or receives BYTES before DEADLINE. */
static enum exchange exchange(int fd, int is_send, void *data, size_t bytes, uint64_t deadline, const atomic_int *stop)
{
	for (size_t done = 0; done < bytes;) {
		struct pollfd events = { .fd = fd, .events = is_send ? POLLOUT : POLLIN };
		int wait_ms = tcb_program_wait_ms(deadline);
		ssize_t moved;
		if (stop && atomic_load(stop))
			return EXCHANGE_STOPPED;
		if (!wait_ms)
			return EXCHANGE_TIMED_OUT;
		if (poll(&events, 1, wait_ms) <= 0)
			continue;
		moved = is_send ? send(fd, (char *)data + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT)
				: recv(fd, (char *)data + done, bytes - done, MSG_DONTWAIT);
		if (moved < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (moved <= 0)
			return EXCHANGE_CLOSED;
		done += (size_t)moved;
	}
	return EXCHANGE_DONE;
}

/* One request and its answer; LOG and CUBIN are the caller's to free in every case. */
static enum exchange ask(struct tcb_nvjitlink_server *server, struct request *request, const char *ptx,
			 uint64_t deadline, const atomic_int *stop, struct reply *reply, char **log,
			 unsigned char **cubin)
{
	enum exchange state = exchange(server->fd, 1, request, sizeof *request, deadline, stop);

	if (state == EXCHANGE_DONE)
		state = exchange(server->fd, 1, (void *)(uintptr_t)ptx, request->length, deadline, stop);
	if (state == EXCHANGE_DONE)
		state = exchange(server->fd, 0, reply, sizeof *reply, deadline, stop);
	if (state != EXCHANGE_DONE)
		return state;
	if (reply->log_bytes > BYTES_MAX || reply->cubin_bytes > BYTES_MAX)
		return EXCHANGE_CLOSED;
	*log = calloc(1, reply->log_bytes + 1);
	*cubin = malloc(reply->cubin_bytes + 1);
	if (!*log || !*cubin)
		return EXCHANGE_CLOSED;
	state = exchange(server->fd, 0, *log, reply->log_bytes, deadline, stop);
	if (state == EXCHANGE_DONE)
		state = exchange(server->fd, 0, *cubin, reply->cubin_bytes, deadline, stop);
	return state;
}

/* Ends the server after a job that did not come to its end, and says why. */
static void lost(struct tcb_nvjitlink_server *server, enum exchange state, double seconds_limit,
		 struct tcb_assembly *out)
{
	char how[64] = "could not be started again";

	server_end(server, state == EXCHANGE_CLOSED, how);
	out->timed_out = state == EXCHANGE_TIMED_OUT;
	if (state == EXCHANGE_TIMED_OUT)
		tcb_assembly_end(out, TCB_E_FAILED, "nvJitLink ran longer than %g s and was killed", seconds_limit);
	else if (state == EXCHANGE_STOPPED)
		tcb_assembly_end(out, TCB_E_FAILED, "nvJitLink was stopped");
	else
		tcb_assembly_end(out, TCB_E_FAILED, "nvJitLink's process %s", how);
}

void tcb_nvjitlink_run(const struct tcb_nvjitlink *library, struct tcb_nvjitlink_server *server,
		       const struct tcb_assemble_job *job, struct tcb_assembly *out)
{
	uint64_t deadline = tcb_program_deadline(job->seconds_limit);
	struct request request = { .kind = REQUEST_ASSEMBLE, .length = job->length };
	struct reply reply;
	struct tcb_error error;
	char target[16];
	enum exchange state;

	tcb_assemble_target_text(&job->target, target);
	snprintf(request.arch, sizeof request.arch, "-arch=%s", target);
	request.is_whole = !job->build || job->build->is_whole;
	if (job->build)
		memcpy(request.flags, job->build->flags, sizeof request.flags);
	if (job->length >= BYTES_MAX) {
		tcb_assembly_end(out, TCB_E_FORMAT, "the text is longer than %d MiB", BYTES_MAX >> 20);
		return;
	}
	if (!server->pid && tcb_nvjitlink_server_start(library, server, &error) != TCB_OK) {
		tcb_assembly_end(out, TCB_E_FAILED, "%s", error.message);
		return;
	}
	state = ask(server, &request, job->ptx, deadline, job->stop, &reply, &out->log, &out->cubin);
	if (state == EXCHANGE_CLOSED && request.is_whole) {
		/* What crashes with the seed may not without it. */
		free(out->log);
		free(out->cubin);
		out->log = NULL;
		out->cubin = NULL;
		server_end(server, 1, NULL);
		request.is_whole = 0;
		if (tcb_nvjitlink_server_start(library, server, &error) == TCB_OK)
			state = ask(server, &request, job->ptx, deadline, job->stop, &reply, &out->log, &out->cubin);
	}
	if (state != EXCHANGE_DONE) {
		lost(server, state, job->seconds_limit, out);
		return;
	}
	out->cubin_bytes = reply.cubin_bytes;
	out->is_whole = reply.is_whole != 0;
	if (reply.result != JITLINK_SUCCESS)
		tcb_assembly_end(out, reply.result == JITLINK_BROKEN ? TCB_E_FAILED : TCB_E_FORMAT,
				 "nvJitLink rejects this for %s (result %d)", target, (int)reply.result);
	if (++server->jobs >= JOBS_MAX)
		tcb_nvjitlink_server_stop(server);
}

/* ---- loading ---- */

enum tcb_status tcb_nvjitlink_load(const char *path, const struct tcb_nvjitlink **out, struct tcb_error *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct tcb_nvjitlink loaded[4]; /* a program meets one, its tests a few */
	static size_t count;
	const char *missing = NULL;
	enum tcb_status status = TCB_OK;
	void *handle = NULL;

	pthread_mutex_lock(&lock);
	*out = NULL;
	for (size_t i = 0; i < count && !*out; i++)
		if (strcmp(loaded[i].path, path) == 0)
			*out = &loaded[i];
	if (!*out && (count == sizeof loaded / sizeof *loaded || strlen(path) >= sizeof loaded->path))
		status = tcb_fail(err, TCB_E_FAILED, "cannot load %s: too many copies of nvJitLink", path);
	else if (!*out && !(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		status = tcb_fail(err, TCB_E_NOT_FOUND, "cannot load nvJitLink: %s", dlerror());
	if (handle) {
		struct tcb_nvjitlink *library = &loaded[count];
		const struct {
			void *slot;
			const char *name;
		} symbols[] = {
			{ &library->create, "nvJitLinkCreate" },
			{ &library->destroy, "nvJitLinkDestroy" },
			{ &library->add_data, "nvJitLinkAddData" },
			{ &library->complete, "nvJitLinkComplete" },
			{ &library->cubin_size, "nvJitLinkGetLinkedCubinSize" },
			{ &library->cubin, "nvJitLinkGetLinkedCubin" },
			{ &library->error_log_size, "nvJitLinkGetErrorLogSize" },
			{ &library->error_log, "nvJitLinkGetErrorLog" },
			{ &library->info_log_size, "nvJitLinkGetInfoLogSize" },
			{ &library->info_log, "nvJitLinkGetInfoLog" },
			{ &library->version, "nvJitLinkVersion" },
		};
		strcpy(library->path, path);
		for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
			void *symbol = dlsym(handle, symbols[i].name);
			memcpy(symbols[i].slot, &symbol, sizeof symbol);
			if (!symbol && symbols[i].slot != (void *)&library->version)
				missing = symbols[i].name;
		}
		if (missing) {
			status = tcb_fail(err, TCB_E_NOT_FOUND, "%s is not nvJitLink: it lacks %s", path, missing);
			dlclose(handle);
		} else {
			*out = library;
			count++;
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

enum tcb_status tcb_nvjitlink_probe(const struct tcb_nvjitlink *library, struct tcb_assembler_info *info,
				    struct tcb_error *err)
{
	struct tcb_nvjitlink_server server = { 0 };
	struct request request = { .kind = REQUEST_PROBE };
	struct reply reply;
	char *targets = NULL;
	unsigned char *nothing = NULL;
	enum exchange state;

	TCB_TRY(tcb_nvjitlink_server_start(library, &server, err));
	state = ask(&server, &request, "", tcb_program_deadline(10), NULL, &reply, &targets, &nothing);
	tcb_nvjitlink_server_stop(&server);
	if (state == EXCHANGE_DONE) {
		size_t most = sizeof info->targets / sizeof *info->targets, count = reply.log_bytes / sizeof(unsigned);
		info->version = reply.version;
		info->target_count = (unsigned)(count < most ? count : most);
		memcpy(info->targets, targets, info->target_count * sizeof(unsigned));
	}
	free(targets);
	free(nothing);
	if (state != EXCHANGE_DONE)
		return tcb_fail(err, TCB_E_FAILED, "nvJitLink (%s) %s when asked for its version", library->path,
				state == EXCHANGE_TIMED_OUT ? "hung" : "crashed");
	return TCB_OK;
}
