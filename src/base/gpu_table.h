/* SPDX-License-Identifier: MIT
 *
 * What is known of an NVIDIA GPU, and the recorded specifications of common
 * cards, so that a space can be enumerated, ranked and answered for where no
 * such card is.
 */
#ifndef TCB_BASE_GPU_TABLE_H
#define TCB_BASE_GPU_TABLE_H

#include "base/compute.h"
#include "base/status.h"
#include "base/target.h"

struct tcb_gpu {
	struct tcb_device device; /* name "sm_90"; driver "580.159 (CUDA 13.0)" style text */
	int ordinal;              /* of the driver; -1: absent */
	char uuid[48];            /* "GPU-" and 32 hex digits in five groups; empty when absent */
	char pci[24];
	/* per multiprocessor */
	unsigned threads_max, blocks_max, registers_max;
	size_t shared_max, shared_reserved_block; /* bytes; the latter: what the driver takes of each block */
	unsigned memory_khz, bus_bits;            /* 0 unknown */
	double read_bytes_s;                      /* nominal device-memory bandwidth, bytes per second */
	unsigned nearest;                         /* capability of the recorded card that stands for it; 0: itself */
	const char *source;                       /* where the specification is from; "driver" for attached ones */
};

/* The recorded capability that stands for CAPABILITY: itself where it is recorded, else of those of its major version
 * or below the nearest, else the least; 0 where CAPABILITY is none that kernels are for (70 ... 199). */
unsigned tcb_gpu_nearest(unsigned capability);
/* The most common card of CAPABILITY, or with `nearest` set and in its model's name the nearest recorded one as if it
 * had that capability; TCB_E_NOT_FOUND with those that are recorded. */
enum tcb_status tcb_gpu_table(unsigned capability, struct tcb_gpu *out, struct tcb_error *err);
/* Row INDEX of the table; 0 past the end. */
int tcb_gpu_table_row(size_t index, struct tcb_gpu *out);
/* Kind INDEX: the rows of the table, then kinds that others stand for; 0 past the end. */
int tcb_gpu_kind(size_t index, struct tcb_gpu *out);
/* Operations a cycle and multiprocessor of CAPABILITY as its maker specifies them, a product that is added being two;
 * 0: unknown. */
double tcb_gpu_operations_a_cycle(unsigned capability, enum tcb_compute_kind kind);
/* The same a nanosecond, of SM_COUNT multiprocessors (0: those of the most common card of CAPABILITY) at that card's
 * nominal clock. */
double tcb_gpu_nominal_rate(unsigned capability, unsigned sm_count, enum tcb_compute_kind kind);
/* Is NAME a kind of GPU, "sm_90", or a model of one, "sm_90:" and its key?  CAPABILITY_OUT and KEY_OUT (nullable):
 * lent, NULL for a kind. */
int tcb_gpu_parse(const char *name, unsigned *capability_out, const char **key_out);
/* cuda_kind.c: the number of "cuda:0"; -1: NAME is not so. */
int tcb_gpu_ordinal(const char *name);
/* gpu_known.c: keeps what a driver said of an attached GPU; what "sm_90:KEY" is, 0 where no driver said.  Any thread
 * may ask.
 */
void tcb_gpu_remember(const struct tcb_gpu *gpu);
int tcb_gpu_recall(const char *name, struct tcb_target *out);
/* Fills what follows from the rest: name, key, arch, instruction families, limits of a block. */
void tcb_gpu_complete(struct tcb_gpu *gpu);

#endif
