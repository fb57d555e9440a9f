/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: a plan.  Its kernel is a variant of this library for a CPU
 * or an image of machine code (or PTX) for a GPU; nothing changes after it was
 * made.
 */
#ifndef TCB_RT_RT_PLAN_H
#define TCB_RT_RT_PLAN_H

#include "kernels/code.h"
#include "kernels/op.h"
#include "rt/runtime.h"
#include "tcbrt.h"

/* The part of a CPU's workspace before the op's: what the threads of an execution share. */
enum { RT_GANG_BYTES = 256 };
_Static_assert(sizeof(struct tcb_gang) <= RT_GANG_BYTES, "a gang has its room");

struct tcbrt_plan {
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_target target;
	struct tcbrt_plan_info info;
	struct tcbrt_operand operand[TCBRT_OPERANDS_MAX]; /* all that there are */
	struct tcb_plan cpu;                              /* unless there is an image */
	struct tcb_code_image *image;                     /* of a kind whose kernels are emitted, owned */
	const struct tcb_language *language;              /* of the image */
	char device[TCB_DEVICE_NAME_MAX];                 /* "cpu", "sm_90", "sm_90:KEY" */
	char device_key[TCB_DEVICE_KEY_MAX];              /* of a CPU */
	char signature[TCB_SIGNATURE_MAX];
};

/* Whether it is launched as blocks of threads, and not run by this library's own functions. */
static inline int rt_plan_is_launched(const struct tcbrt_plan *plan)
{
	return plan->image != NULL;
}

/* Whether its code is PTX. */
static inline int rt_plan_is_ptx(const struct tcbrt_plan *plan)
{
	return rt_plan_is_launched(plan) && plan->language == &tcb_language_ptx;
}

/* rt_plan.c: ERR of the library from that of a call inside; returns its code. */
int rt_report(enum tcb_status status, const struct tcb_error *from, struct tcbrt_error *err);
struct rt_saved;
/* The plan of PROBLEM with GEOMETRY, which is legal for DEVICE with THREADS; TUNING says where it comes from.  SAVED: a
 * saved plan, whose kernel it must be, else TCB_E_VERSION before anything is assembled; NULL: there is none. */
enum tcb_status rt_plan_make(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			     const struct rt_device *device, unsigned threads, const struct tcbrt_tuning *tuning,
			     const struct rt_saved *saved, struct tcbrt_plan **out, struct tcb_error *err);

/* A GPU's PLAN with another pdl, for a place in a chain; NULL: its op has no such kernel, or it cannot be made. */
struct tcbrt_plan *rt_plan_in_order(const struct tcbrt_plan *plan, int32_t pdl);

/* rt_saved.c: a saved plan. */
enum { RT_SAVED_FORMAT = TCB_WORDS_FORMAT << 16 | 4 };
struct rt_saved {
	char magic[8];
	uint32_t format, head_bytes;
	uint64_t checksum; /* of all that follows */
	uint64_t m, n, k, x_stride, y_stride;
	struct tcb_words words;
	uint32_t contract, threads, source, reserved;
	char version[16], op[TCB_OP_NAME_MAX], device[TCB_DEVICE_NAME_MAX], device_key[TCB_DEVICE_KEY_MAX];
	char signature[TCB_SIGNATURE_MAX];
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	char reason[TCBRT_REASON_MAX];
};
/* Sets its checksum, which is against accidents only: anybody can. */
void rt_saved_sign(struct rt_saved *saved);

/* rt_verbose.c */
/* Does the environment ask for a line per plan? */
int rt_is_verbose(void);
/* Writes PLAN's line to standard error, where RT wants it; PLAN NULL: nothing. */
void rt_say_plan(const struct tcbrt *rt, const struct tcbrt_plan *plan);

/* rt_layout.c */
/* Changes GEOMETRY, which is legal, to the nearest one that reads weights in LAYOUT; 0: there is none. */
int rt_take_layout(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_layout layout,
		   struct tcb_geometry *geometry);
/* The name of the layout of TCBRT_LAYOUT_ANY_M for the weights of PROBLEM. */
enum tcb_status rt_layout_any_m(const struct tcbrt *rt, const struct tcb_problem *problem,
				const struct tcb_target *target, const char **out, struct tcb_error *err);

#endif
