/* SPDX-License-Identifier: MIT
 *
 * rope_append on CPUs: how a geometry drives it.
 *
 * A task has midi.m new tokens of one sequence, token by token: q, k and v of one while its
 * row of cos and sin, with mrope put together from three, is in the first cache.  macro.m is all of m, rounded up to a
 * power of two; tiles' n is 1, their k the head's.  stream=1 stores past the caches, a head at a time from scratch in
 * the first cache; heads of blocks never.  parts=4 goes over all tokens four times, as separate kernels would: q; k, to
 * the workspace in f32; from there to the cache; v.
 */
#ifndef TCB_KERNELS_ROPE_CPU_H
#define TCB_KERNELS_ROPE_CPU_H

#include "kernels/rope/rope.h"

/* rope_cpu_space.c */
extern const struct tcb_side_space rope_cpu_space;
/* Do heads of PROBLEM's q begin where streamed stores may, if the first does?  A cache's that is not of blocks, too. */
int rope_can_stream(const struct tcb_problem *problem);

/* rope_cpu.c */
#define ROPE_SIDE(kv, ...) extern const struct tcb_side rope_##kv##_cpu;
TCB_KV_LIST(ROPE_SIDE, )
#undef ROPE_SIDE

/* The micro-kernel: HEADS heads of K values, one behind the other. */
struct rope_call {
	enum tcb_type from, to;
	enum tcb_kv_kind kind; /* of a cache whose values are no floats of 16 bits, where TO is its type */
	size_t heads, k;
	const void *x;
	void *y;               /* of stream aligned to 64 bytes */
	size_t rotated;        /* the first values of a head, in pairs */
	const float *rotation; /* cos of rotated / 2, sin of rotated / 2; NULL: values are not rotated */
	const float *norm;     /* weights of K values, by which a head over its root mean square counts; NULL: none */
	float eps;             /* below the root */
	int is_pairs;          /* neighbours are rotated together, else values half a head apart */
	int stream;            /* past the caches */
	int fence;             /* makes this and earlier streamed stores visible to other threads before returning */
};
typedef void rope_micro_fn(const struct rope_call *call);

#endif
