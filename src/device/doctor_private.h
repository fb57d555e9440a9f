/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: what kinds say of their environment, and the doctor on
 * a file tree that a test made.
 */
#ifndef TCB_DEVICE_DOCTOR_PRIVATE_H
#define TCB_DEVICE_DOCTOR_PRIVATE_H

#include "device/device.h"

/* For a check: what it found; and what to do about it, unless all is well. */
__attribute__((format(printf, 3, 4))) void tcb_doctor_found(struct tcb_doctor_row *row, enum tcb_doctor_state state,
							    const char *format, ...);
__attribute__((format(printf, 2, 3))) void tcb_doctor_advise(struct tcb_doctor_row *row, const char *format, ...);

extern const struct tcb_doctor_check tcb_doctor_cpu[], tcb_doctor_cuda[], tcb_doctor_wgpu[]; /* doctor_cpu.c, ... */

/* tcb_doctor with ROOT before the paths below /sys and /usr/local that it looks at. */
size_t tcb_doctor_in(const char *root, struct tcb_doctor_row *out, size_t capacity);

#endif
