/* SPDX-License-Identifier: MIT
 *
 * Energy: a meter of a device, and what a run of it took.  A counter of joules moves in steps (RAPL's about every
 * millisecond, NVML's every 20 to 100), so a run is counted from one step to another, calls and all; where there is
 * only a reading of power, it is added up over time.
 */
#ifndef TCB_DEVICE_METER_H
#define TCB_DEVICE_METER_H

#include <stddef.h>

#include "base/status.h"

struct tcb_place;

enum { TCB_METER_SOURCE_MAX = 16 };
struct tcb_meter {
	char source[TCB_METER_SOURCE_MAX];                 /* "nvml-energy", "nvml-power", "rapl" */
	int is_power;                                      /* it reads watts, not joules that only grow */
	int (*read)(struct tcb_meter *meter, double *out); /* 0, or -1: it cannot be read now */
	void (*close)(struct tcb_meter *meter);
	void *own;
};
/* TCB_E_UNSUPPORTED with the reason where PLACE has none. */
enum tcb_status tcb_meter_open(const struct tcb_place *place, struct tcb_meter *out, struct tcb_error *err);
void tcb_meter_close(struct tcb_meter *meter); /* zeroed is fine */

/* nvml.c, rapl.c: what a kind of device's row says (device.h). */
enum tcb_status tcb_meter_nvml(const char *uuid, struct tcb_meter *out, struct tcb_error *err);
/* Of all processor packages and their memory, below ROOT: /sys/class/powercap, or what TCBTUNE_POWERCAP says. */
enum tcb_status tcb_meter_rapl(struct tcb_meter *out, struct tcb_error *err);

/* What was metered, once it is over. */
struct tcb_metered {
	double joules, seconds, calls; /* of all calls together */
	double step_s;                 /* the mean time between two steps of the meter: its resolution */
};
/* A run: begin, then look after each few calls until it is over. */
struct tcb_meter_run {
	struct tcb_meter *meter;
	double wanted_s, begun_s, looked_s, pause_s, first_s, last_s;
	double last, first_calls, last_calls, joules, calls;
	size_t steps;
	int is_read;
};
/* SECONDS from the first step of the meter on, after a while for the device to become as warm as it will be. */
void tcb_meter_begin(struct tcb_meter_run *run, struct tcb_meter *meter, double seconds);
/* After CALLS more.  *OVER_OUT: there is enough.  TCB_E_UNSUPPORTED where the meter cannot be read or does not move. */
enum tcb_status tcb_meter_look(struct tcb_meter_run *run, size_t calls, int *over_out, struct tcb_error *err);
void tcb_meter_end(const struct tcb_meter_run *run, struct tcb_metered *out);

#endif
