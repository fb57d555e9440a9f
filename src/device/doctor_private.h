/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: the doctor on a file tree that a test made.
 */
#ifndef TCB_DEVICE_DOCTOR_PRIVATE_H
#define TCB_DEVICE_DOCTOR_PRIVATE_H

#include "device/device.h"

/* tcb_doctor with ROOT before the paths below /sys and /usr/local that it looks at. */
size_t tcb_doctor_in(const char *root, struct tcb_doctor_row *out, size_t capacity);

#endif
