/* SPDX-License-Identifier: MIT
 *
 * The inside of the fake CUDA driver: cards, their memory, streams of work that
 * is done only when somebody waits for it, and what a launch costs.
 *
 * FAKE_CUDA in the environment says which cards there are, by default "90":
 *
 *     90,90,89              three cards, by compute capability; equal ones are identical
 *     90:slow=5             5 % slower than its twins, which nothing but measuring shows
 *     90:dies=300           falls off the bus at its 300th launch, for this and every later process (FAKE_CUDA_DEAD)
 *     90:dies_at=read       the same at the first launch of a kernel whose name begins so
 *     90:sms=8              another model: 8 multiprocessors instead of 4
 *     90:shared=227         KiB of shared memory that a block may opt into, as a real card has, instead of 64
 *     none                  a driver without a GPU
 *
 * FAKE_CUDA_DEAD is the path that marks dead cards: "PATH.0" exists when card 0 is dead.
 * FAKE_CUDA_LACKS names a function that this driver is too old to have: "cuLaunchKernelEx".
 */
#ifndef TCB_TESTS_FAKE_CUDA_H
#define TCB_TESTS_FAKE_CUDA_H

#include "device/cuda.h"
#include "ptx/emulate/emulate.h"
#include "ptx/text/text.h"

enum {
	FAKE_CARDS_MAX = 8,
	FAKE_PARAM_BYTES = 1024,
	FAKE_MEMORY_BYTES = 256 << 20,
	FAKE_SHARED_DEFAULT = 48 << 10,
	FAKE_SHARED_OPTIN = 64 << 10, /* less than any real card's of the capability, so that it is easily too much */
	FAKE_THREADS_MAX = 1024,
};

/* Results beside those that the product tells apart. */
enum {
	FAKE_DEINITIALIZED = 4,
	FAKE_DEVICE_UNAVAILABLE = 46,
	FAKE_INVALID_DEVICE = 101,
	FAKE_INVALID_CONTEXT = 201,
	FAKE_INVALID_HANDLE = 400,
	FAKE_NOT_FOUND = 500,
	FAKE_NOT_SUPPORTED = 801,
	FAKE_CAPTURE_UNSUPPORTED = 900,
	FAKE_UNKNOWN = 999,
};

struct fake_work {
	struct fake_work *next;
	enum { FAKE_LAUNCH, FAKE_FILL, FAKE_COPY_IN, FAKE_COPY, FAKE_EVENT } kind;
	CUfunction function;
	struct tcb_ptx_launch launch; /* its params point to PARAMS once it runs */
	unsigned char params[FAKE_PARAM_BYTES];
	uint64_t to, from;
	unsigned char *data; /* COPY_IN: owned */
	size_t bytes;
	unsigned char value;
	CUevent event;
};

struct fake_queue {
	struct fake_work *first, *last;
};

struct CUfunc_st {
	struct CUfunc_st *next;
	struct tcb_ptx_function *function;
	struct tcb_ptx_program *program;
	int shared_bytes; /* dynamic, that it may be launched with */
	int is_wide;      /* may be launched with clusters of more than 8 blocks */
};

struct CUmod_st {
	struct tcb_ptx_module *module;
	struct CUfunc_st *functions;
};

struct CUevent_st {
	int is_recorded, is_done;
	double ns;
	CUstream stream;
};

struct CUgraph_st {
	struct fake_queue queue;
};

struct CUgraphExec_st {
	struct fake_queue queue;
};

struct CUstream_st {
	struct CUstream_st *next;
	struct fake_queue queue;
	CUgraph capturing; /* NULL: not */
	int capture_failed;
};

struct fake_buffer {
	uint64_t address;
	unsigned char *host;
	size_t bytes;
};

/* A card and its primary context. */
struct CUctx_st {
	int ordinal;
	unsigned capability, sms;
	int shared_optin; /* bytes */
	double slow;      /* factor of all times */
	long dies;        /* launches; 0: never */
	long launches;
	char dies_at[32];    /* kernel; empty: none */
	int is_open, failed; /* failed: what every call returns from now on */
	double now_ns;
	struct tcb_ptx_memory *memory;
	struct fake_buffer *buffers;
	size_t buffer_count, buffer_capacity, used;
	struct CUstream_st legacy, *streams;
};

/* fake_cuda_card.c */
/* Reads FAKE_CUDA; their number. */
int fake_cards(struct CUctx_st cards[FAKE_CARDS_MAX]);
int fake_is_dead(const struct CUctx_st *card);
/* Host bytes of [ADDRESS, ADDRESS + BYTES); NULL if they are not all of one allocation. */
unsigned char *fake_at(struct CUctx_st *card, uint64_t address, size_t bytes);
int fake_alloc(struct CUctx_st *card, size_t bytes, uint64_t *out);
int fake_free(struct CUctx_st *card, uint64_t address);
/* A copy of WORK at the end of QUEUE. */
int fake_queue_add(struct fake_queue *queue, const struct fake_work *work);
void fake_queue_clear(struct fake_queue *queue);
/* Does what waits; the first error sticks to the card. */
int fake_run(struct CUctx_st *card, struct fake_queue *queue);
int fake_run_all(struct CUctx_st *card);

#endif
