/* SPDX-License-Identifier: MIT
 *
 * What is asked of a judge, and what it finds: is a kernel right, by the rules, and how
 * fast beside another.
 */
#ifndef TCB_JUDGE_RULING_H
#define TCB_JUDGE_RULING_H

#include "base/trial.h"
#include "device/device.h"
#include "kernelfile/kernel_file.h"

/* A kernel of a file: its own, or its reference. */
struct tcb_judge_kernel {
	const struct tcb_kernel_file *file; /* NULL: there is none */
	struct tcb_file_op *made;
	int is_reference;
};

/* Who is asked: the kernel that is judged, who says what is right, and what it is compared with. */
enum tcb_seat { TCB_SEAT_JUDGED, TCB_SEAT_RIGHT, TCB_SEAT_RIVAL, TCB_SEAT_COUNT };

struct tcb_judge_options {
	const struct tcb_kernel_file *task;             /* arguments, sizes and tolerances */
	struct tcb_judge_kernel kernel[TCB_SEAT_COUNT]; /* a rival without a file is who says what is right */
	const struct tcb_place *place, *host;           /* where kernels run: of GPUs, and of processors */
	struct tcb_shape shape;
	unsigned threads;
	enum tcb_state state;
	uint64_t seed; /* 0: the system's random numbers */
	double budget_s, timeout_s, at_least;
	size_t memory_bytes; /* that the values of calls may take */
};

enum tcb_ruling_kind {
	TCB_RULING_RIGHT, /* or nothing is known against it yet */
	TCB_RULING_WRONG,
	TCB_RULING_CHEATS,
	TCB_RULING_UNDECIDED
};

/* Something that was tried. */
enum tcb_tried_how { TCB_TRIED_HELD, TCB_TRIED_FAILED, TCB_TRIED_NOT };
struct tcb_attempted {
	const char *name; /* "new-values" */
	enum tcb_tried_how how;
	char text[160];
};

enum { TCB_RULING_ROUNDS_MAX = 100, TCB_RULING_TRIED_MAX = 24, TCB_RULING_NOTES_MAX = 6, TCB_RULING_TEXT_MAX = 400 };

struct tcb_ruling {
	enum tcb_ruling_kind kind;
	const char *rule;                 /* what decided: "cached"; NULL: nothing was found */
	char reason[TCB_RULING_TEXT_MAX]; /* in words */
	struct tcb_attempted tried[TCB_RULING_TRIED_MAX];
	size_t tried_count;
	char notes[TCB_RULING_NOTES_MAX][TCB_RULING_TEXT_MAX];
	size_t note_count;
	size_t calls, values; /* of the judged kernel that were compared, and their elements */
	size_t sizes;         /* that it was called at */
	double worst;         /* the largest difference, as a share of what is allowed */
	uint64_t seed;
	/* Of the timed calls; without rounds there were none. */
	double sample_ns[TCB_RULING_ROUNDS_MAX][2]; /* of each round: the judged kernel's, its rival's */
	size_t rounds, batch;                       /* of them; calls in a batch */
	struct tcb_interval ratio;                  /* how many times as fast as the rival */
	struct tcb_interval ns[TCB_SEAT_COUNT];     /* of a call */
	double hand_over;                           /* share of a batch that question and answer take */
	double clock_spread;     /* by how much the processor's clock varied, as a share; NAN: unknown */
	double wall_over_events; /* of a GPU: the host's clock by events; 0: none */
	int is_flushed;          /* cold: caches were emptied line by line before each batch */
};

/* What failed first is kept. */
void tcb_ruling_find(struct tcb_ruling *verdict, enum tcb_ruling_kind kind, const char *rule, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void tcb_ruling_note(struct tcb_ruling *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* NAME was tried: it held unless the verdict has fallen meanwhile. */
void tcb_ruling_tried(struct tcb_ruling *verdict, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void tcb_ruling_not_tried(struct tcb_ruling *verdict, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline int tcb_ruling_stands(const struct tcb_ruling *verdict)
{
	return verdict->rule == NULL;
}
const char *tcb_ruling_text(enum tcb_ruling_kind kind); /* "cheats" */

#endif
