/* SPDX-License-Identifier: MIT
 *
 * Guard zones must catch writes, and read-only buffers must fault: seen from a
 * child process, since the proof is its death.
 */
#include "cmocka_all.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"

static void sizes_and_alignment(void **state)
{
	static const enum tcb_buffer_kind kinds[] = { TCB_BUFFER_PLAIN, TCB_BUFFER_HUGE, TCB_BUFFER_GUARD };
	static const size_t sizes[] = { 0, 1, 63, 64, 4095, 4096, 4097, 3u << 20 };

	(void)state;
	for (size_t k = 0; k < 3; k++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			struct tcb_buffer buffer;

			assert_int_equal(tcb_buffer_alloc(kinds[k], sizes[s], &buffer, NULL), TCB_OK);
			assert_int_equal((uintptr_t)buffer.data % 64, 0);
			memset(buffer.data, 1, sizes[s]);
			assert_int_equal(tcb_buffer_check(&buffer), 0);
			tcb_buffer_free(&buffer);
			tcb_buffer_free(&buffer);
		}
}

static void impossible_sizes_are_refused(void **state)
{
	struct tcb_buffer buffer;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, SIZE_MAX - 10, &buffer, &err), TCB_E_NOMEM);
	assert_non_null(strstr(err.message, "memory"));
}

static void slack_is_checked(void **state)
{
	struct tcb_buffer buffer;
	char *data;

	(void)state;
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, 100, &buffer, NULL), TCB_OK);
	data = buffer.data;
	assert_int_equal((unsigned char)data[0], TCB_POISON);
	data[100] = 0;
	assert_int_equal(tcb_buffer_check(&buffer), -1);
	data[100] = (char)TCB_POISON;
	data[-1] = 0;
	assert_int_equal(tcb_buffer_check(&buffer), -1);
	tcb_buffer_free(&buffer);
}

/* The signal that ends a child which writes one byte at OFFSET of BUFFER; 0 if it lives. */
static int signal_of_write(const struct tcb_buffer *buffer, long offset)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* sanitizers install a handler */
		((volatile char *)buffer->data)[offset] = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void guard_pages_fault(void **state)
{
	struct tcb_buffer buffer;

	(void)state;
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, 4096, &buffer, NULL), TCB_OK);
	assert_int_equal(signal_of_write(&buffer, 0), 0);
	assert_int_equal(signal_of_write(&buffer, 4095), 0);
	assert_int_equal(signal_of_write(&buffer, 4096), SIGSEGV);
	assert_int_equal(signal_of_write(&buffer, -1), SIGSEGV);
	assert_int_equal(tcb_buffer_protect(&buffer, 1, NULL), TCB_OK);
	assert_int_equal(signal_of_write(&buffer, 0), SIGSEGV);
	assert_int_equal(tcb_buffer_protect(&buffer, 0, NULL), TCB_OK);
	assert_int_equal(signal_of_write(&buffer, 0), 0);
	tcb_buffer_free(&buffer);
}

static void huge_pages_are_reported(void **state)
{
	struct tcb_buffer buffer;
	size_t huge;

	(void)state;
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_HUGE, 8u << 20, &buffer, NULL), TCB_OK);
	memset(buffer.data, 1, buffer.bytes);
	huge = tcb_buffer_huge_bytes(&buffer);
	print_message("huge pages back %zu of %zu bytes\n", huge, buffer.bytes);
	assert_true(huge <= buffer.bytes);
	tcb_buffer_free(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_alignment),     cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(slack_is_checked),        cmocka_unit_test(guard_pages_fault),
		cmocka_unit_test(huge_pages_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
