/* SPDX-License-Identifier: MIT
 *
 * Framed messages between the tuner and its worker process, over a stream
 * socket: a fixed header, then the payload.  Both ends are the same program,
 * so payloads are plain structs; but a candidate may have damaged the worker's
 * memory, so what arrives is checked and never trusted.
 */
#ifndef TCB_WORKER_CHANNEL_H
#define TCB_WORKER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

enum { TCB_CHANNEL_BYTES_MAX = 1 << 28 }; /* a longer payload counts as damage */

enum tcb_channel_state {
	TCB_CHANNEL_DONE,      /* the message is complete */
	TCB_CHANNEL_MORE,      /* nothing more to read now */
	TCB_CHANNEL_CLOSED,    /* the other end is gone */
	TCB_CHANNEL_MALFORMED, /* no message of ours */
	TCB_CHANNEL_NOMEM,
};

struct tcb_message {
	uint32_t kind;
	size_t bytes;
	void *payload; /* owned; NULL if bytes is 0 */
	/* private */
	unsigned char header[16];
	size_t got;
};

/* Writes the whole message, waiting for room.  0, or -1 if the other end is gone. */
int tcb_channel_send(int fd, uint32_t kind, const void *payload, size_t bytes);

/*
 * Reads what there is without waiting.  MESSAGE starts zeroed; call again with the same one after MORE.  Free it
 * with tcb_message_fini in every case.
 */
enum tcb_channel_state tcb_channel_receive(int fd, struct tcb_message *message);
void tcb_message_fini(struct tcb_message *message); /* frees and zeroes */

/* Waits until there is something to read, the other end is gone, a signal arrives or TIMEOUT_MS (-1: for ever) is over.
 */
void tcb_channel_wait(int fd, int timeout_ms);

#endif
