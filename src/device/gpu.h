/* SPDX-License-Identifier: MIT
 *
 * NVIDIA GPUs: those that are attached (gpu_attached.c, through the driver) and those
 * that are known only by their recorded specification (base/gpu_table.h), so
 * that a space can be enumerated and ranked for a device that is absent.
 *
 * Results of a GPU are keyed by its name "sm_90" and a hash of what makes cards
 * interchangeable: model, capability, multiprocessors, memory, L2, bus, clocks,
 * ECC.  Not by its number or UUID: identical cards share results.
 */
#ifndef TCB_DEVICE_GPU_H
#define TCB_DEVICE_GPU_H

#include "base/gpu_table.h"
#include "device/device.h"

enum { TCB_GPUS_MAX = 64 };

_Static_assert(sizeof(struct tcb_gpu) <= TCB_PLACE_OWN_MAX, "a place has room for it");

/* Of a place that is an NVIDIA GPU; lent. */
static inline const struct tcb_gpu *tcb_gpu_of(const struct tcb_place *place)
{
	return (const void *)place->own;
}

struct tcb_cuda;
/* gpu_describe.c: DEVICE as the driver tells it, with its key; but for ordinal, UUID, bus and software. */
enum tcb_status tcb_gpu_describe(const struct tcb_cuda *cuda, int device, struct tcb_gpu *out, struct tcb_error *err);

/* gpu_attached.c */
/* The GPUs that the driver sees, in its order; their number in *COUNT_OUT.  Asks in a child process, because the driver
 * does not survive the fork that starts a worker.  TCB_E_UNSUPPORTED with the reason when there is no driver or GPU. */
enum tcb_status tcb_gpu_list(struct tcb_gpu out[TCB_GPUS_MAX], size_t *count_out, struct tcb_error *err);
/* "cuda:all": all of them, which must be identical, by their keys. */
enum tcb_status tcb_gpu_open_all(struct tcb_gpu out[TCB_GPUS_MAX], size_t *count_out, struct tcb_error *err);
/* "cuda:N": that GPU.  "cuda:all": the first of identical ones.  "sm_NN": the first attached one of that capability,
 * else its entry of the table with ordinal -1 (TCB_E_NOT_FOUND if MEASURED_ONLY).  "sm_NN:KEY": the first attached one
 * of that key. */
enum tcb_status tcb_gpu_open(const char *name, int measured_only, struct tcb_gpu *out, struct tcb_error *err);
/* GPU as a place. */
void tcb_gpu_place(const struct tcb_gpu *gpu, struct tcb_place *out);

#endif
