/* SPDX-License-Identifier: MIT
 *
 * What each stage lets a process do: seen from outside, since the proof is its death.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/sandbox.h"

/* In a process behind STAGE and those before it: its wait status. */
static int in_child(enum tcb_sandbox_stage stage, void (*act)(void))
{
	int status = 0;
	const pid_t child = fork();

	if (child == 0) {
		(void)signal(SIGSYS, SIG_DFL);
		for (int s = TCB_SANDBOX_LOADING; s <= (int)stage; s++)
			if (tcb_sandbox_enter((enum tcb_sandbox_stage)s) != 0)
				_exit(77);
		act();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void use_memory(void)
{
	void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at, 1 << 20) != 0)
		_exit(1);
}
static void read_file(void)
{
	if (syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0) < 0)
		_exit(1);
}
static void write_file(void)
{
	(void)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
}
static void start_process(void)
{
	(void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static void handle_signal(void)
{
	(void)signal(SIGSEGV, SIG_IGN);
}
static void open_connection(void)
{
	(void)socket(AF_INET, SOCK_STREAM, 0);
}
static void send_signal(void)
{
	(void)kill(getppid(), 0);
}

static int is_stopped(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void stages(void **state)
{
	static void (*const forbidden[])(void) = { write_file, start_process, handle_signal, open_connection,
						   send_signal };
	const int first = in_child(TCB_SANDBOX_LOADING, use_memory);
	(void)state;

	if (WIFEXITED(first) && WEXITSTATUS(first) == 77)
		skip_because("this system has no filters of system calls");
	assert_int_equal(first, 0);
	assert_int_equal(in_child(TCB_SANDBOX_RUNNING, use_memory), 0);
	assert_int_equal(in_child(TCB_SANDBOX_LOADING, read_file), 0);
	assert_true(is_stopped(in_child(TCB_SANDBOX_RUNNING, read_file)));
	for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
		assert_true(is_stopped(in_child(TCB_SANDBOX_LOADING, forbidden[i])));
		assert_true(is_stopped(in_child(TCB_SANDBOX_RUNNING, forbidden[i])));
	}
}

static void words(void **state)
{
	(void)state;
	assert_string_equal(tcb_sandbox_tells(SYS_socket), "opens a connection");
	assert_non_null(strstr(tcb_sandbox_tells(-1), "no kernel needs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(stages), cmocka_unit_test(words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
