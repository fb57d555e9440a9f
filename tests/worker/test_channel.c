/* SPDX-License-Identifier: MIT
 *
 * The framing between tuner and worker: whole messages, messages in pieces,
 * more than the socket holds, damage, and a gone peer.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "worker/channel.h"

static void pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
}

static void whole_messages(void **state)
{
	(void)state;
	int fd[2];
	pair(fd);
	struct tcb_message message = { 0 };
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_MORE);
	assert_int_equal(tcb_channel_send(fd[0], 7, "geometry", 9), 0);
	assert_int_equal(tcb_channel_send(fd[0], 8, NULL, 0), 0);
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_DONE);
	assert_int_equal(message.kind, 7);
	assert_int_equal(message.bytes, 9);
	assert_string_equal(message.payload, "geometry");
	tcb_message_fini(&message);
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_DONE);
	assert_int_equal(message.kind, 8);
	assert_int_equal(message.bytes, 0);
	tcb_message_fini(&message);
	close(fd[0]);
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_CLOSED);
	close(fd[1]);
}

static void byte_by_byte(void **state)
{
	(void)state;
	int whole[2], pieces[2];
	pair(whole);
	pair(pieces);
	assert_int_equal(tcb_channel_send(whole[0], 3, "abc", 3), 0);
	struct tcb_message message = { 0 };
	char byte;
	for (size_t i = 0; i < sizeof(message.header) + 3; i++) {
		assert_int_equal(tcb_channel_receive(pieces[1], &message), TCB_CHANNEL_MORE);
		assert_int_equal(read(whole[1], &byte, 1), 1);
		assert_int_equal(write(pieces[0], &byte, 1), 1);
	}
	assert_int_equal(tcb_channel_receive(pieces[1], &message), TCB_CHANNEL_DONE);
	assert_memory_equal(message.payload, "abc", 3);
	tcb_message_fini(&message);
	for (int i = 0; i < 2; i++) {
		close(whole[i]);
		close(pieces[i]);
	}
}

static void more_than_the_socket_holds(void **state)
{
	(void)state;
	enum { COUNT = 1 << 21 };
	int fd[2];
	pair(fd);
	uint32_t *numbers = malloc(COUNT * sizeof(*numbers));
	assert_non_null(numbers);
	for (uint32_t i = 0; i < COUNT; i++)
		numbers[i] = i * 2654435761u;
	pid_t child = fork();
	if (child == 0)
		_exit(tcb_channel_send(fd[0], 1, numbers, COUNT * sizeof(*numbers)) == 0 ? 0 : 1);
	close(fd[0]);
	struct tcb_message message = { 0 };
	enum tcb_channel_state got;
	while ((got = tcb_channel_receive(fd[1], &message)) == TCB_CHANNEL_MORE)
		tcb_channel_wait(fd[1], -1);
	assert_int_equal(got, TCB_CHANNEL_DONE);
	assert_int_equal(message.bytes, COUNT * sizeof(*numbers));
	assert_memory_equal(message.payload, numbers, message.bytes);
	tcb_message_fini(&message);
	free(numbers);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd[1]);
}

static void damage_is_noticed(void **state)
{
	(void)state;
	int fd[2];
	pair(fd);
	struct tcb_message message = { 0 };
	assert_int_equal(write(fd[0], "0123456789abcdefgh", 18), 18);
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_MALFORMED);
	tcb_message_fini(&message);
	close(fd[0]);
	close(fd[1]);
	pair(fd);
	/* A message of ours whose length was overwritten. */
	assert_int_equal(tcb_channel_send(fd[0], 3, "abc", 3), 0);
	unsigned char raw[sizeof(message.header)];
	assert_int_equal(read(fd[1], raw, sizeof(raw)), sizeof(raw));
	memset(raw + 8, 0xff, 8);
	assert_int_equal(write(fd[1], raw, sizeof(raw)), sizeof(raw));
	assert_int_equal(tcb_channel_receive(fd[0], &message), TCB_CHANNEL_MALFORMED);
	tcb_message_fini(&message);
	close(fd[1]);
	/* A peer that died in the middle, and writing to one that is gone (no SIGPIPE). */
	assert_int_equal(tcb_channel_send(fd[0], 3, "abc", 3), -1);
	close(fd[0]);
	pair(fd);
	assert_int_equal(write(fd[0], raw, 5), 5);
	close(fd[0]);
	assert_int_equal(tcb_channel_receive(fd[1], &message), TCB_CHANNEL_CLOSED);
	tcb_message_fini(&message);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_messages),
		cmocka_unit_test(byte_by_byte),
		cmocka_unit_test(more_than_the_socket_holds),
		cmocka_unit_test(damage_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
