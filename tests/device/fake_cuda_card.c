/* SPDX-License-Identifier: MIT
 *
 * Cards of the fake CUDA driver.  Kernels run in the emulator when somebody
 * waits for their stream, and not a moment earlier: what relies on an order
 * that no call demands goes wrong here every time.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Times: a launch, an instruction of a warp on one of the multiprocessors, a sector of memory. */
static const double LAUNCH_NS = 700, WARP_NS = 40, SECTOR_NS = 0.3;
/* A step of a compute limit, a millisecond of which would be a minute of emulation: it is charged, not done (what it
 * does is test_compute_limit.c's business).  Its kernels have a pointer and the number of steps as parameters. */
static const double STEP_NS = 1000;

/* ---- which cards ---- */

static void option(struct CUctx_st *card, const char *text)
{
	if (strncmp(text, "slow=", 5) == 0)
		card->slow = 1 + 0.01 * atof(text + 5);
	else if (strncmp(text, "dies=", 5) == 0)
		card->dies = atol(text + 5);
	else if (strncmp(text, "dies_at=", 8) == 0)
		snprintf(card->dies_at, sizeof card->dies_at, "%s", text + 8);
	else if (strncmp(text, "sms=", 4) == 0)
		card->sms = (unsigned)atoi(text + 4);
	else if (strncmp(text, "shared=", 7) == 0)
		card->shared_optin = atoi(text + 7) << 10;
	else
		fprintf(stderr, "FAKE_CUDA: unknown option %s\n", text);
}

int fake_cards(struct CUctx_st cards[FAKE_CARDS_MAX])
{
	const char *text = getenv("FAKE_CUDA");
	char words[512], *rest = NULL, *more = NULL;
	int count = 0;
	snprintf(words, sizeof words, "%s", text ? text : "90");
	for (char *word = strtok_r(words, ",", &rest); word && count < FAKE_CARDS_MAX;
	     word = strtok_r(NULL, ",", &rest)) {
		struct CUctx_st *card = &cards[count];
		char *part = strtok_r(word, ":", &more);
		if (!part || atoi(part) == 0)
			continue;
		memset(card, 0, sizeof *card);
		card->ordinal = count++;
		card->capability = (unsigned)atoi(part);
		card->sms = 4;
		card->shared_optin = FAKE_SHARED_OPTIN;
		card->slow = 1;
		while ((part = strtok_r(NULL, ":", &more)))
			option(card, part);
	}
	return count;
}

static int mark_path(const struct CUctx_st *card, char path[512])
{
	const char *prefix = getenv("FAKE_CUDA_DEAD");
	return prefix ? snprintf(path, 512, "%s.%d", prefix, card->ordinal) : 0;
}

int fake_is_dead(const struct CUctx_st *card)
{
	char path[512];
	return mark_path(card, path) && access(path, F_OK) == 0;
}

static void die(const struct CUctx_st *card)
{
	char path[512];
	FILE *file = mark_path(card, path) ? fopen(path, "w") : NULL;
	if (file)
		fclose(file);
}

/* ---- memory ---- */

static struct fake_buffer *find(struct CUctx_st *card, uint64_t address)
{
	for (size_t i = 0; i < card->buffer_count; i++)
		if (address >= card->buffers[i].address && address - card->buffers[i].address < card->buffers[i].bytes)
			return &card->buffers[i];
	return NULL;
}

unsigned char *fake_at(struct CUctx_st *card, uint64_t address, size_t bytes)
{
	struct fake_buffer *buffer = find(card, address);
	if (!buffer || bytes > buffer->bytes - (address - buffer->address))
		return NULL;
	return buffer->host + (address - buffer->address);
}

int fake_alloc(struct CUctx_st *card, size_t bytes, uint64_t *out)
{
	if (bytes == 0)
		return TCB_CUDA_INVALID_VALUE;
	if (bytes > FAKE_MEMORY_BYTES - card->used)
		return TCB_CUDA_OUT_OF_MEMORY;
	if (card->buffer_count == card->buffer_capacity) {
		size_t capacity = 2 * card->buffer_capacity + 16;
		struct fake_buffer *grown = realloc(card->buffers, capacity * sizeof *grown);
		if (!grown)
			return TCB_CUDA_OUT_OF_MEMORY;
		card->buffers = grown;
		card->buffer_capacity = capacity;
	}
	struct fake_buffer *buffer = &card->buffers[card->buffer_count];
	buffer->host = malloc(bytes);
	buffer->bytes = bytes;
	if (!buffer->host)
		return TCB_CUDA_OUT_OF_MEMORY;
	memset(buffer->host, 0xa5, bytes); /* whatever was there */
	if (tcb_ptx_memory_add(card->memory, "device memory", buffer->host, bytes, 512, TCB_PTX_MAY_WRITE,
			       &buffer->address, NULL) != TCB_OK) {
		free(buffer->host);
		return TCB_CUDA_OUT_OF_MEMORY;
	}
	card->buffer_count++;
	card->used += bytes;
	*out = buffer->address;
	return TCB_CUDA_SUCCESS;
}

int fake_free(struct CUctx_st *card, uint64_t address)
{
	struct fake_buffer *buffer = find(card, address);
	if (!buffer || buffer->address != address)
		return TCB_CUDA_INVALID_VALUE;
	tcb_ptx_memory_remove(card->memory, address);
	card->used -= buffer->bytes;
	free(buffer->host);
	*buffer = card->buffers[--card->buffer_count];
	return TCB_CUDA_SUCCESS;
}

/* ---- queues ---- */

int fake_queue_add(struct fake_queue *queue, const struct fake_work *work)
{
	struct fake_work *copy = malloc(sizeof *copy);
	if (!copy)
		return TCB_CUDA_OUT_OF_MEMORY;
	*copy = *work;
	copy->next = NULL;
	if (queue->last)
		queue->last->next = copy;
	else
		queue->first = copy;
	queue->last = copy;
	return TCB_CUDA_SUCCESS;
}

static void drop_first(struct fake_queue *queue)
{
	struct fake_work *work = queue->first;
	queue->first = work->next;
	if (!queue->first)
		queue->last = NULL;
	if (work->kind == FAKE_COPY_IN)
		free(work->data);
	free(work);
}

void fake_queue_clear(struct fake_queue *queue)
{
	while (queue->first)
		drop_first(queue);
}

/* ---- work ---- */

/* What a real driver says after a fault that the emulator found; findings that are no faults leave it alone. */
static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	int *fault = ctx;
	switch (finding->rule) {
	case TCB_PTX_RULE_OUT_OF_BOUNDS:
	case TCB_PTX_RULE_READ_ONLY:
		*fault = TCB_CUDA_ILLEGAL_ADDRESS;
		break;
	case TCB_PTX_RULE_MISALIGNED:
		*fault = TCB_CUDA_MISALIGNED_ADDRESS;
		break;
	case TCB_PTX_RULE_TRAP:
		*fault = TCB_CUDA_LAUNCH_FAILED;
		break;
	case TCB_PTX_RULE_NOT_EMULATED:
		*fault = TCB_CUDA_ILLEGAL_INSTRUCTION;
		break;
	case TCB_PTX_RULE_DEADLOCK: /* a GPU waits for ever, too */
		for (;;)
			pause();
	default:
		break;
	}
}

static int launch(struct CUctx_st *card, struct fake_work *work)
{
	struct tcb_ptx_emulation counted;
	struct tcb_error err;
	int fault = TCB_CUDA_SUCCESS;
	struct tcb_ptx_sink sink = { .see = see, .ctx = &fault };
	const char *name = work->function->function->symbol->name;
	if ((card->dies && ++card->launches >= card->dies) ||
	    (card->dies_at[0] && strncmp(name, card->dies_at, strlen(card->dies_at)) == 0))
		die(card);
	if (fake_is_dead(card))
		return FAKE_UNKNOWN;
	if (strncmp(name, "compute_", strlen("compute_")) == 0) {
		uint32_t steps;
		memcpy(&steps, work->params + sizeof(uint64_t), sizeof steps);
		card->now_ns += card->slow * (LAUNCH_NS + STEP_NS * steps);
		return TCB_CUDA_SUCCESS;
	}
	work->launch.params = work->params;
	if (tcb_ptx_emulate(work->function->program, &work->launch, card->memory, &sink, &counted, &err) != TCB_OK) {
		fprintf(stderr, "fake CUDA: %s\n", err.message);
		return FAKE_UNKNOWN;
	}
	card->now_ns += card->slow * (LAUNCH_NS + WARP_NS * (double)counted.total.warps / card->sms +
				      SECTOR_NS * (double)counted.total.sectors);
	return fault;
}

static int carry_out(struct CUctx_st *card, struct fake_work *work)
{
	unsigned char *to = NULL, *from = NULL;
	if (work->kind != FAKE_LAUNCH && work->kind != FAKE_EVENT && !(to = fake_at(card, work->to, work->bytes)))
		return TCB_CUDA_ILLEGAL_ADDRESS;
	if (work->kind == FAKE_COPY && !(from = fake_at(card, work->from, work->bytes)))
		return TCB_CUDA_ILLEGAL_ADDRESS;
	switch (work->kind) {
	case FAKE_LAUNCH:
		return launch(card, work);
	case FAKE_FILL:
		memset(to, work->value, work->bytes);
		break;
	case FAKE_COPY_IN:
		memcpy(to, work->data, work->bytes);
		break;
	case FAKE_COPY:
		memmove(to, from, work->bytes);
		break;
	case FAKE_EVENT:
		work->event->is_done = 1;
		work->event->ns = card->now_ns;
		break;
	}
	return TCB_CUDA_SUCCESS;
}

int fake_run(struct CUctx_st *card, struct fake_queue *queue)
{
	while (queue->first && !card->failed) {
		card->failed = carry_out(card, queue->first);
		drop_first(queue);
	}
	return card->failed;
}

int fake_run_all(struct CUctx_st *card)
{
	for (struct CUstream_st *stream = card->streams; stream; stream = stream->next)
		(void)fake_run(card, &stream->queue);
	return fake_run(card, &card->legacy.queue);
}
