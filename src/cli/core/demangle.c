/* SPDX-License-Identifier: MIT
 *
 * In: text with mangled C++ names.  Out: the same with names that people read.
 *
 * The demangler is that of libstdc++, opened at run time: without it names stay
 * as they are.  It runs in a process of its own, because a name of 200
 * characters can be made that expands to gigabytes: one that takes too long
 * ends the process, and names stay mangled from then on.
 */
#include "cli/core/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NAME_MAX_BYTES = 1 << 14, /* of a mangled name: three times the longest of CUTLASS */
	SHOWN_MAX_BYTES = 1 << 15,
	PATIENCE_MS = 2000,
	CHILD_PAGES = 1 << 18 /* 1 GiB beyond what it has */
};

static struct {
	int started;
	int socket; /* -1: there is no demangler */
	pid_t child;
} server;

typedef char *demangler(const char *name, char *buffer, size_t *length, int *status);

/* A name that expands without end stops at a gigabyte.  The process may have terabytes that it does not use, as
 * sanitizers do. */
static void limit_memory(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;

	if (!file)
		return;
	if (fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) == 1) {
		limit.rlim_cur = limit.rlim_max = (rlim_t)(pages + CHILD_PAGES) * (rlim_t)sysconf(_SC_PAGESIZE);
		setrlimit(RLIMIT_DATA, &limit);
	}
	fclose(file);
}

/* What other children wait for the end of must not be held open here. */
static int keep_only(int socket)
{
	enum { KEPT = STDERR_FILENO + 1 };

	if (socket != KEPT)
		dup2(socket, KEPT);
	close_range(KEPT + 1, ~0u, 0);
	return KEPT;
}

/* Answers each name with its long form, or with nothing, until the other end is closed. */
static _Noreturn void serve(int socket)
{
	static char name[NAME_MAX_BYTES + 1];
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL), *symbol;
	demangler *demangle = NULL;
	ssize_t length;

	symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
	memcpy(&demangle, &symbol, sizeof demangle);
	limit_memory();
	while (demangle && (length = recv(socket, name, NAME_MAX_BYTES, 0)) > 0) {
		int status = -1;
		char *shown;

		name[length] = '\0';
		shown = demangle(name, NULL, NULL, &status);
		if (!shown || strlen(shown) > SHOWN_MAX_BYTES)
			status = -1;
		if (send(socket, status == 0 ? shown : " ", status == 0 ? strlen(shown) : 1, MSG_NOSIGNAL) < 0)
			break;
		free(shown);
	}
	_exit(0);
}

static void start_server(void)
{
	int ends[2];

	server.started = 1;
	server.socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return;
	server.child = fork();
	if (server.child == 0) {
		serve(keep_only(ends[1]));
	}
	close(ends[1]);
	if (server.child > 0)
		server.socket = ends[0];
	else
		close(ends[0]);
}

static void stop_server(void)
{
	kill(server.child, SIGKILL);
	waitpid(server.child, NULL, 0);
	close(server.socket);
	server.socket = -1;
}

/* NAME's long form into SHOWN; 0 if there is none. */
static int demangle_name(const char *name, size_t length, char shown[SHOWN_MAX_BYTES + 1])
{
	struct pollfd answer = { .events = POLLIN };
	ssize_t got = 0;

	if (!server.started)
		start_server();
	if (server.socket < 0 || length > NAME_MAX_BYTES)
		return 0;
	answer.fd = server.socket;
	if (send(server.socket, name, length, MSG_NOSIGNAL) == (ssize_t)length && poll(&answer, 1, PATIENCE_MS) == 1)
		got = recv(server.socket, shown, SHOWN_MAX_BYTES, 0);
	if (got <= 0) {
		stop_server();
		return 0;
	}
	shown[got] = '\0';
	return shown[0] != ' ';
}

static int is_in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* "_param_3" at the end of a parameter's name, as nvcc writes it; else LENGTH. */
static size_t before_parameter(const char *name, size_t length)
{
	static const char mark[] = "_param_";
	size_t digits = 0;

	while (digits < length && isdigit((unsigned char)name[length - 1 - digits]))
		digits++;
	if (!digits || length < digits + sizeof mark ||
	    memcmp(name + length - digits - (sizeof mark - 1), mark, sizeof mark - 1) != 0)
		return length;
	return length - digits - (sizeof mark - 1);
}

static void add_name(struct tcb_str *out, const char *name, size_t length)
{
	static char shown[SHOWN_MAX_BYTES + 1];
	size_t function = before_parameter(name, length);

	if (function < length && demangle_name(name, function, shown)) {
		tcb_str_addf(out, "parameter %.*s of %s", (int)(length - function - strlen("_param_")),
			     name + function + strlen("_param_"), shown);
	} else if (demangle_name(name, length, shown)) {
		tcb_str_add(out, shown);
	} else {
		tcb_str_add_bytes(out, name, length);
	}
}

void cli_add_demangled(struct tcb_str *out, const char *text)
{
	const char *at = text;

	tcb_str_add(out, ""); /* a text that is empty is text too */
	while (*at) {
		const char *from = at;

		while (is_in_name(*at))
			at++;
		if (at - from > 2 && from[0] == '_' && from[1] == 'Z')
			add_name(out, from, (size_t)(at - from));
		else
			tcb_str_add_bytes(out, from, (size_t)(at - from));
		if (*at)
			tcb_str_add_bytes(out, at++, 1);
	}
}
