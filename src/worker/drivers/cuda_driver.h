/* SPDX-License-Identifier: MIT
 *
 * What a session on a CUDA GPU is made of, for who knows that it is one.
 */
#ifndef TCB_WORKER_CUDA_DRIVER_H
#define TCB_WORKER_CUDA_DRIVER_H

#include "device/cuda.h"
#include "worker/gpu_driver.h"

struct tcb_cuda_session {
	const struct tcb_cuda *cuda;
	int device; /* the driver's handle */
	CUcontext context;
	CUstream stream;
	CUevent from, to;
};

static inline const struct tcb_cuda_session *tcb_cuda_session(const struct tcb_gpu_session *session)
{
	return session->own;
}

#endif
