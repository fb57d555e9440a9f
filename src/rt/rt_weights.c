/* SPDX-License-Identifier: MIT
 *
 * Memory for weights, in pages of 2 MiB where the kernel has them: how many
 * bytes come in; zeros at a multiple of 2 MiB, and how many of them lie in such
 * pages, go out.
 *
 * The kernel gives a page when it is first touched.  Each is asked for (madvise)
 * and touched in turn, so that asking can end where it takes too long: the
 * kernel may move other pages out of the way first.  Whether a page is large its
 * other end tells: touching that is no fault of its own.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/sizes.h"
#include "rt/rt_plan.h"
#include "rt/rt_weights.h"

/* Before the weights, in pages of its own: what tcbrt_weights_free gives back. */
struct head {
	void *map;
	size_t bytes;
};

enum { HUGE_PAGE = 2 << 20, HEAD_BYTES = 4096 };

/* By this thread: on a busy machine it waits for a processor, too, which large pages are not to blame for. */
static uint64_t spent_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t faults_of_thread(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_minflt : 0;
}

size_t rt_weights_ask(const struct rt_weights_kernel *kernel, char *at, size_t pages)
{
	const uint64_t begin = kernel->spent_ns();
	size_t huge = 0;

	for (size_t i = 0; i < pages; i++) {
		volatile char *page = at + i * HUGE_PAGE;
		uint64_t before, between;

		if (kernel->spent_ns() - begin > (i + RT_WEIGHTS_GRACE) * TCBRT_HUGE_PAGE_MS * UINT64_C(1000000) ||
		    kernel->advise((void *)(uintptr_t)page, HUGE_PAGE))
			break;
		before = kernel->faults();
		page[0] = 0;
		between = kernel->faults();
		page[HUGE_PAGE - 1] = 0;
		/* A kernel that counts no faults says nothing. */
		huge += between > before && kernel->faults() == between;
	}
	return huge;
}

static int advise(void *page, size_t bytes)
{
	return madvise(page, bytes, MADV_HUGEPAGE);
}

static enum tcb_status alloc(size_t bytes, void **out, size_t *huge_out, struct tcb_error *err)
{
	static const struct rt_weights_kernel kernel = { spent_ns, advise, faults_of_thread };
	struct head head;
	size_t pages, huge;
	char *at;

	if (bytes == 0)
		return tcb_fail(
			err, TCB_E_USAGE,
			"0 bytes for weights: where info.packed_bytes is 0 the weights stay as they are stored");
	if (bytes > SIZE_MAX / 2)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu bytes for weights are more than a process can have", bytes);
	/* The last page is a large one, too, where at least half of it is used. */
	pages = (bytes + HUGE_PAGE / 2) / HUGE_PAGE;
	head.bytes = HEAD_BYTES + tcb_round_up(bytes, HUGE_PAGE) + HUGE_PAGE;
	head.map = mmap(NULL, head.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (head.map == MAP_FAILED)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for %zu bytes of weights: %s", bytes, strerror(errno));
	at = (char *)tcb_round_up((uintptr_t)head.map + HEAD_BYTES, HUGE_PAGE);
	memcpy(at - HEAD_BYTES, &head, sizeof(head));
	huge = rt_weights_ask(&kernel, at, pages) * HUGE_PAGE;
	*out = at;
	if (huge_out)
		*huge_out = huge < bytes ? huge : bytes;
	return TCB_OK;
}

int tcbrt_weights_alloc(size_t bytes, void **out, size_t *huge_out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	enum tcb_status status;

	if (huge_out)
		*huge_out = 0;
	if (!out)
		return rt_report(tcb_fail(&error, TCB_E_USAGE, "weights want a place: OUT is NULL"), &error, err);
	*out = NULL;
	status = alloc(bytes, out, huge_out, &error);
	return rt_report(status, &error, err);
}

void tcbrt_weights_free(void *weights)
{
	struct head head;

	if (!weights)
		return;
	memcpy(&head, (char *)weights - HEAD_BYTES, sizeof(head));
	munmap(head.map, head.bytes);
}
