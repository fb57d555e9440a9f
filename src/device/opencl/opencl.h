/* SPDX-License-Identifier: MIT
 *
 * OpenCL through a library that is opened at run time: its loader, or one of the drivers
 * that loaders open.  A process that forks must not have opened it.
 */
#ifndef TCB_DEVICE_OPENCL_H
#define TCB_DEVICE_OPENCL_H

#include "base/status.h"
#include "base/target.h"
#include "device/opencl/opencl_abi.h"

enum { TCB_OPENCL_DEVICES_MAX = 32 };

struct tcb_opencl {
#define TCB_OPENCL_MEMBER(member, name, place, result, parameters) result(*member) parameters;
	TCB_OPENCL_FUNCTIONS(TCB_OPENCL_MEMBER)
#undef TCB_OPENCL_MEMBER
};

/* opencl.c */
/*
 * The library that TCBTUNE_OPENCL names, else libOpenCL.so.1; opened once per process and never closed.  NULL with a
 * line that says how to get it.
 */
const struct tcb_opencl *tcb_opencl_open(struct tcb_error *err);
/* "out of resources" of a status; for one that few have met, its number. */
const char *tcb_opencl_text(int32_t status);

/* A device ready to work. */
struct tcb_opencl_session {
	const struct tcb_opencl *cl;
	tcb_cl_device device;
	tcb_cl_context context;
	tcb_cl_queue queue;
	size_t local_bytes; /* that a work-group may have; 0: unknown */
};

/* opencl_devices.c */
/* The devices of all platforms, in their order; at most CAPACITY.  TCB_E_NOT_FOUND where there is none. */
enum tcb_status tcb_opencl_devices(const struct tcb_opencl *cl, tcb_cl_device out[], size_t capacity, size_t *count_out,
				   struct tcb_error *err);
/* The same with what they say of themselves, asked for in a process that ends at once. */
enum tcb_status tcb_opencl_list(struct tcb_device out[TCB_OPENCL_DEVICES_MAX], size_t *count_out,
				struct tcb_error *err);

#endif
