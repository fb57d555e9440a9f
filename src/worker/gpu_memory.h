/* SPDX-License-Identifier: MIT
 *
 * One problem in the memory of a GPU: its operands between poisoned guard
 * zones, and as many copies of the streamed ones as go beyond the L2.  The
 * host's side of it (data, reference, packed weights) is a struct tcb_instance;
 * what memory is on the device, its driver knows.
 */
#ifndef TCB_WORKER_GPU_MEMORY_H
#define TCB_WORKER_GPU_MEMORY_H

#include "worker/gpu_driver.h"
#include "worker/instance.h"

/* Memory with poison in it, before and after it. */
enum tcb_status tcb_gpu_buffer_alloc(const struct tcb_gpu_session *session, size_t bytes, struct tcb_gpu_buffer *out,
				     struct tcb_error *err);
void tcb_gpu_buffer_free(const struct tcb_gpu_session *session, struct tcb_gpu_buffer *buffer);
/* -1 if a guard zone was written. */
enum tcb_status tcb_gpu_buffer_check(const struct tcb_gpu_session *session, const struct tcb_gpu_buffer *buffer,
				     int *damaged_out, struct tcb_error *err);

/* The operands of an instance, in one weight layout. */
struct tcb_gpu_operands {
	struct tcb_gpu_buffer buffer[TCB_OPERANDS_MAX]; /* bytes 0: shared with another copy */
};

struct tcb_gpu_memory;

/* INSTANCE and SESSION are lent. */
enum tcb_status tcb_gpu_memory_create(const struct tcb_gpu_session *session, struct tcb_instance *instance,
				      struct tcb_gpu_memory **out, struct tcb_error *err);
void tcb_gpu_memory_destroy(struct tcb_gpu_memory *memory); /* NULL is fine */
/*
 * At least COPIES copies in LAYOUT with PACKED_BYTES of each operand (struct tcb_kernel).  Copies share what does not
 * stream.  PACK_NS_OUT: what packing once cost on the host, 0 for none.
 */
enum tcb_status tcb_gpu_memory_need(struct tcb_gpu_memory *memory, enum tcb_layout layout,
				    const size_t packed_bytes[TCB_OPERANDS_MAX], size_t copies, double *pack_ns_out,
				    struct tcb_error *err);
/* The operands of copy INDEX, lent. */
void tcb_gpu_memory_operands(const struct tcb_gpu_memory *memory, enum tcb_layout layout, size_t index,
			     struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX]);
/* Is operand INDEX an output? */
int tcb_gpu_memory_is_output(const struct tcb_gpu_memory *memory, size_t index);
/* Bytes of one copy that stream. */
size_t tcb_gpu_memory_streamed(const struct tcb_gpu_memory *memory, const size_t packed_bytes[TCB_OPERANDS_MAX]);
/* Fills the outputs with poison, those that are updated with what they begin with. */
enum tcb_status tcb_gpu_memory_poison(struct tcb_gpu_memory *memory, struct tcb_error *err);
/* BYTES bytes of MEMORY's (a struct tcb_gpu_memory) output from byte FIRST on: a tcb_fetch_fn (look_again.h). */
enum tcb_status tcb_gpu_memory_fetch(void *memory, size_t output, size_t first, size_t bytes, void *to,
				     struct tcb_error *err);
/* The outputs as they are now, each into GOT's buffer of its operand, which grows where it is too small. */
enum tcb_status tcb_gpu_memory_outputs(struct tcb_gpu_memory *memory, struct tcb_buffer got[TCB_OPERANDS_MAX],
				       struct tcb_error *err);
/* Names what was written that must not be: a guard zone of any buffer.  NULL: nothing. */
enum tcb_status tcb_gpu_memory_check(struct tcb_gpu_memory *memory, enum tcb_layout layout, const char **what_out,
				     struct tcb_error *err);

#endif
