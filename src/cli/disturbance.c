/* SPDX-License-Identifier: MIT
 *
 * In: /proc and NVML, now and then.  Out: what the verdict on a winner has to
 * know of the machine, and one line while there is still time to stop.
 */
#include "cli/disturbance.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "cli/emit.h"

static const uint64_t LOOK_NS = 250000000u, WARN_NS = 1500000000u;
static const double OTHERS_MOST = 0.25; /* a busy neighbour passes; this much for seconds stays */

void cli_disturbance_begin(struct cli_disturbance *seen, const struct tcb_place *place)
{
	*seen = (struct cli_disturbance){ .begin_ns = tcb_clock_ns() };
	tcb_load_look(&seen->begin);
	if (place->device.target.kind == TCB_TARGET_CUDA && place->gpu.ordinal >= 0)
		(void)tcb_nvml_open(place->gpu.uuid, &seen->nvml, NULL);
}

static void look_at_gpu(struct cli_disturbance *seen)
{
	struct tcb_gpu_state state;

	tcb_nvml_state(seen->nvml, &state);
	seen->looks++;
	seen->held_back += state.held_back != 0;
	seen->reasons |= state.held_back;
}

static void warn_of_others(struct cli_disturbance *seen, struct cli_progress *line)
{
	struct tcb_load now;
	double others;

	seen->has_warned = 1;
	tcb_load_look(&now);
	others = tcb_load_others(&seen->begin, &now);
	if (!(others > OTHERS_MOST))
		return;
	cli_progress_end(line);
	cli_say("%s: others have %.0f %% of the processors' time: what is measured now will be noisy", line->label,
		100 * others);
}

void cli_disturbance_look(struct cli_disturbance *seen, struct cli_progress *line)
{
	const uint64_t now = tcb_clock_ns();

	if (now - seen->looked_ns < LOOK_NS)
		return;
	seen->looked_ns = now;
	if (seen->nvml)
		look_at_gpu(seen);
	if (!seen->has_warned && now - seen->begin_ns > WARN_NS)
		warn_of_others(seen, line);
}

void cli_disturbance_end(struct cli_disturbance *seen, double *others_busy, double *held_back)
{
	struct tcb_load now;

	tcb_load_look(&now);
	*others_busy = tcb_load_others(&seen->begin, &now);
	*held_back = seen->looks ? (double)seen->held_back / seen->looks : NAN;
	tcb_nvml_close(seen->nvml);
	seen->nvml = NULL;
}
