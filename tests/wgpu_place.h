/* SPDX-License-Identifier: MIT
 *
 * A WebGPU device for tests: the first adapter, where the library and a driver
 * are; tests that need one skip themselves where there is none.
 */
#ifndef TCB_TESTS_WGPU_PLACE_H
#define TCB_TESTS_WGPU_PLACE_H

#include "cmocka_all.h"
#include "device/device.h"

static inline void wgpu_place(struct tcb_place *out)
{
	struct tcb_error err;

	if (tcb_place_open("wgpu:0", 0, 1, out, &err) != TCB_OK)
		skip_because("%s", err.message);
}

#endif
