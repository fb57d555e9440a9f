/* SPDX-License-Identifier: MIT
 *
 * In: looks at a meter between calls.  Out: joules, calls and seconds between the first step of the counter that was
 * seen and the last; what lies before and behind, of which only a part was the run's, is left out.
 */
#include "device/energy/meter.h"

#include <math.h>

#include "base/util.h"
#include "device/device.h"

static const double WARM_S = 0.1;
/* Between two looks, in which the candidate waits: a look takes microseconds, or milliseconds in a virtual machine, and
 * is to be a twentieth of the time. */
static const double LOOK_S = 0.002, LOOKS_APART = 20;
static const double STILL_S = 2; /* a counter that does not move for so long is none */

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

enum tcb_status tcb_meter_open(const struct tcb_place *place, struct tcb_meter *out, struct tcb_error *err)
{
	const enum tcb_target_kind kind = place->device.target.kind;

	*out = (struct tcb_meter){ .read = NULL };
	if (place->is_absent)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "energy cannot be measured: %s is not attached",
				place->device.name);
	if (!tcb_device_kinds[kind]->meter)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"energy cannot be measured: there is no meter for devices of the kind of %s",
				place->device.name);
	return tcb_device_kinds[kind]->meter(place, out, err);
}

void tcb_meter_close(struct tcb_meter *meter)
{
	if (meter->close)
		meter->close(meter);
	*meter = (struct tcb_meter){ .read = NULL };
}

void tcb_meter_begin(struct tcb_meter_run *run, struct tcb_meter *meter, double seconds)
{
	*run = (struct tcb_meter_run){ .meter = meter, .wanted_s = seconds, .begun_s = now_s(), .first_s = -1 };
}

/* The meter says VALUE now, as it did not before. */
static void step(struct tcb_meter_run *run, double now, double value)
{
	if (run->first_s < 0) {
		run->first_s = now;
		run->first_calls = run->calls;
	} else {
		run->joules += run->meter->is_power ? (run->last + value) / 2 * (now - run->last_s) : value - run->last;
		run->steps += run->meter->is_power || value != run->last;
	}
	run->last = value;
	run->last_s = now;
	run->last_calls = run->calls;
}

enum tcb_status tcb_meter_look(struct tcb_meter_run *run, size_t calls, int *over_out, struct tcb_error *err)
{
	struct tcb_meter *meter = run->meter;
	const double now = now_s();
	double value;

	run->calls += (double)calls;
	*over_out = 0;
	if (now - run->begun_s < WARM_S || now - run->looked_s < run->pause_s)
		return TCB_OK;
	run->looked_s = now;
	if (meter->read(meter, &value) != 0)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "energy cannot be measured: %s cannot be read any more",
				meter->source);
	run->pause_s = fmax(LOOK_S, LOOKS_APART * (now_s() - now));
	if (meter->is_power || (run->is_read && value != run->last))
		step(run, now, value);
	else if (!run->is_read) /* it moved before anybody looked: its next step is the first */
		run->last = value;
	run->is_read = 1;
	*over_out = run->first_s >= 0 && run->last_s - run->first_s >= run->wanted_s;
	if (!*over_out && now - run->begun_s > WARM_S + run->wanted_s + STILL_S && !run->steps)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "energy cannot be measured: %s did not move for %.1f s",
				meter->source, now - run->begun_s);
	return TCB_OK;
}

void tcb_meter_end(const struct tcb_meter_run *run, struct tcb_metered *out)
{
	const double seconds = run->last_s - run->first_s;

	*out = (struct tcb_metered){ .joules = run->joules,
				     .seconds = seconds,
				     .calls = run->last_calls - run->first_calls,
				     .step_s = seconds / (double)(run->steps + !run->steps) };
}
