/* SPDX-License-Identifier: MIT
 *
 * The state of an attached GPU while it is measured: clocks, temperature,
 * power, and whether anything held the clocks back.  NVML is opened at run
 * time; without it there is no state, and the reason is said.
 */
#ifndef TCB_DEVICE_NVML_H
#define TCB_DEVICE_NVML_H

#include "base/status.h"

struct tcb_nvml; /* one GPU */

struct tcb_gpu_state {
	unsigned sm_mhz, memory_mhz, celsius, milliwatts; /* 0: unknown */
	unsigned long long held_back;                     /* reasons, as NVML's bits; 0: none that matters */
};

/* UUID as struct tcb_gpu has it.  TCB_E_UNSUPPORTED with the reason. */
enum tcb_status tcb_nvml_open(const char *uuid, struct tcb_nvml **out, struct tcb_error *err);
void tcb_nvml_close(struct tcb_nvml *nvml); /* NULL is fine */
void tcb_nvml_state(struct tcb_nvml *nvml, struct tcb_gpu_state *out);
/* "power cap, thermal", in OUT; "" when nothing held the clocks back. */
void tcb_nvml_reasons(unsigned long long held_back, char *out, unsigned bytes);

#endif
