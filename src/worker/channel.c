/* SPDX-License-Identifier: MIT
 *
 * Framed messages over a stream socket.  In: a kind and a payload; out: the
 * same at the other end, however the kernel cut the stream.  Partial reads and
 * writes and interrupted calls are the normal case here.
 */
#include "worker/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct frame {
	uint32_t magic, kind;
	uint64_t bytes;
};
_Static_assert(sizeof(struct frame) == sizeof(((struct tcb_message *)0)->header), "the header is a frame");

enum { FRAME_MAGIC = 0x54434257 };

static int send_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;
	while (bytes > 0) {
		ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		bytes -= (size_t)sent;
	}
	return 0;
}

int tcb_channel_send(int fd, uint32_t kind, const void *payload, size_t bytes)
{
	struct frame frame = { .magic = FRAME_MAGIC, .kind = kind, .bytes = bytes };
	if (bytes > TCB_CHANNEL_BYTES_MAX || send_all(fd, &frame, sizeof(frame)) != 0)
		return -1;
	return send_all(fd, payload, bytes);
}

/* Reads into DATA from *GOT on until BYTES are there. */
static enum tcb_channel_state receive_part(int fd, void *data, size_t bytes, size_t *got)
{
	while (*got < bytes) {
		ssize_t count = recv(fd, (char *)data + *got, bytes - *got, MSG_DONTWAIT);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return TCB_CHANNEL_MORE;
		if (count <= 0)
			return TCB_CHANNEL_CLOSED;
		*got += (size_t)count;
	}
	return TCB_CHANNEL_DONE;
}

enum tcb_channel_state tcb_channel_receive(int fd, struct tcb_message *message)
{
	if (message->got < sizeof(message->header)) {
		enum tcb_channel_state state =
			receive_part(fd, message->header, sizeof(message->header), &message->got);
		if (state != TCB_CHANNEL_DONE)
			return state;
		struct frame frame;
		memcpy(&frame, message->header, sizeof(frame));
		if (frame.magic != FRAME_MAGIC || frame.bytes > TCB_CHANNEL_BYTES_MAX)
			return TCB_CHANNEL_MALFORMED;
		message->kind = frame.kind;
		message->bytes = (size_t)frame.bytes;
		if (message->bytes > 0 && !(message->payload = malloc(message->bytes)))
			return TCB_CHANNEL_NOMEM;
	}
	size_t got = message->got - sizeof(message->header);
	enum tcb_channel_state state = receive_part(fd, message->payload, message->bytes, &got);
	message->got = sizeof(message->header) + got;
	return state;
}

void tcb_message_fini(struct tcb_message *message)
{
	free(message->payload);
	memset(message, 0, sizeof(*message));
}

void tcb_channel_wait(int fd, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	(void)poll(&poller, 1, timeout_ms); /* an interrupted wait is over: the caller looks at its stop flag */
}
