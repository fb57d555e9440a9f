/* SPDX-License-Identifier: MIT
 *
 * What a kind of GPU must do for candidates to be verified and measured on it:
 * memory, and kernels that are loaded, called and timed.  backend_gpu.c,
 * gpu_memory.c and gpu_runner.c are the same for all; a row here is a driver's
 * (drivers/).
 */
#ifndef TCB_WORKER_GPU_DRIVER_H
#define TCB_WORKER_GPU_DRIVER_H

#include "device/device.h"
#include "kernels/code.h"

/* A part of device memory. */
struct tcb_gpu_buffer {
	uint64_t base; /* of the allocation, as its driver calls it; 0: there is none */
	size_t first;  /* 256-byte aligned in it, and no more */
	size_t bytes;
};

struct tcb_gpu_driver;

/* A GPU ready to work. */
struct tcb_gpu_session {
	const struct tcb_gpu_driver *driver;
	void *own;
};

/* One unit of an image, loaded. */
struct tcb_gpu_runner {
	struct tcb_gpu_session *session;
	const struct tcb_code_unit *unit; /* lent by the image */
	struct tcb_gpu_buffer workspace;
	struct tcb_gpu_buffer *workspaces; /* of each copy; NULL: all have the one above */
	size_t calls;                      /* after record: in a sample */
	/* Written over before each sample, so that the last cache holds nothing of what it reads; 0 bytes: nothing. */
	struct tcb_gpu_buffer flush; /* lent */
	void *own;
};

/* What a driver says of a candidate. */
enum tcb_gpu_fault { TCB_GPU_FINE, TCB_GPU_NO_CODE, TCB_GPU_REFUSED, TCB_GPU_CRASHED };

enum { TCB_GPU_WHY_MAX = 256 };

struct tcb_gpu_driver {
	const struct tcb_language *language;
	int goes_on; /* a sample of fewer calls than copies goes on with the copy after the last one's */
	/* Bytes that a rotation has at least. */
	size_t (*rotation_least)(const struct tcb_place *place);
	/* Whatever it returns, OWN_OUT, zero or not, is for close. */
	enum tcb_status (*open)(const struct tcb_place *place, void **own_out, struct tcb_error *err);
	void (*close)(void *own);
	/* Where memory failed: is the device gone, which a candidate may have done that was waited for before?  NULL:
	 * waiting tells that. */
	int (*is_lost)(void *own);

	/* Memory: of an allocation, from byte FIRST on.  Whoever calls waits for none of it but with sync, and what
	 * is called afterwards sees it. */
	enum tcb_status (*alloc)(void *own, size_t bytes, uint64_t *base_out, struct tcb_error *err);
	void (*free)(void *own, uint64_t base);
	/* With poison, or with 0.  Whole words: what is left of the last is filled, too. */
	enum tcb_status (*fill)(void *own, uint64_t base, size_t first, unsigned char value, size_t bytes,
				struct tcb_error *err);
	enum tcb_status (*copy_in)(void *own, uint64_t base, size_t first, const void *from, size_t bytes,
				   struct tcb_error *err);
	enum tcb_status (*copy_out)(void *own, uint64_t base, size_t first, size_t bytes, void *to,
				    struct tcb_error *err);
	enum tcb_status (*copy)(void *own, uint64_t to, size_t to_first, uint64_t from, size_t from_first, size_t bytes,
				struct tcb_error *err);
	enum tcb_status (*sync)(void *own, struct tcb_error *err);

	/* Code: RUNNER's unit, of IMAGE; a fault, and WHY, tell what is wrong with the candidate: NO_CODE: the driver
	 * cannot compile or use it; REFUSED: cannot be launched as it is; CRASHED: it faulted, and the device is lost
	 * to this process. */
	enum tcb_gpu_fault (*load)(struct tcb_gpu_runner *runner, const struct tcb_code_image *image,
				   char why[TCB_GPU_WHY_MAX]);
	void (*unload)(struct tcb_gpu_runner *runner);
	/* One call, not waited for.  OVERLAP: launches that may be dependent are. */
	enum tcb_gpu_fault (*call)(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
				   int overlap, char why[TCB_GPU_WHY_MAX]);
	enum tcb_gpu_fault (*wait)(void *own, char why[TCB_GPU_WHY_MAX]);
	/* One call, waited for; NS_OUT: how long it took, its launch included. */
	enum tcb_gpu_fault (*once)(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
				   double *ns_out, char why[TCB_GPU_WHY_MAX]);
	/* runner->calls calls over OPERANDS of COPIES, in turn, made ready to be timed and called once. */
	enum tcb_gpu_fault (*record)(struct tcb_gpu_runner *runner,
				     const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies,
				     char why[TCB_GPU_WHY_MAX]);
	/* Nanoseconds of all of them, negative when they faulted. */
	double (*sample)(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX]);

	/* Counters of CALLS calls over OPERANDS, as of record; NULL: there are none. */
	enum tcb_status (*count)(struct tcb_gpu_runner *runner, const struct tcb_place *place,
				 const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies,
				 unsigned calls, struct tcb_counter *out, size_t capacity, size_t *count_out,
				 struct tcb_error *err);
};

extern const struct tcb_gpu_driver tcb_gpu_driver_cuda, tcb_gpu_driver_wgpu,
	tcb_gpu_driver_opencl; /* cuda_driver.c, ... */

#endif
