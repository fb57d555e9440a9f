/* SPDX-License-Identifier: MIT
 *
 * Counters of a CUDA GPU through CUPTI's range profiler, opened at run time.
 * One range is measured: the calls that the caller makes, made again for each
 * pass that the hardware needs, so that each pass may take the next copy of
 * rotating operands and counters are of the same cache state as times.
 */
#ifndef TCB_DEVICE_CUPTI_H
#define TCB_DEVICE_CUPTI_H

#include "base/trial.h"
#include "device/cuda.h"

struct tcb_cupti;

/* CONTEXT is the calling thread's.  TCB_E_UNSUPPORTED with the reason and what to do: no library, no permission. */
enum tcb_status tcb_cupti_open(CUcontext context, int device, struct tcb_cupti **out, struct tcb_error *err);
void tcb_cupti_close(struct tcb_cupti *cupti); /* NULL is fine */
/* Metrics that this GPU does not know, one line; "" when it knows all. */
const char *tcb_cupti_note(const struct tcb_cupti *cupti);
/*
 * RUN(ctx) makes CALLS calls of the kernel and waits for them; it is called once a pass, and its result (0: fine) ends
 * the measurement.  Fills OUT with values of one call (sums divided by CALLS), source "cupti", state unset.
 */
enum tcb_status tcb_cupti_measure(struct tcb_cupti *cupti, int (*run)(void *ctx), void *ctx, unsigned calls,
				  struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err);

#endif
