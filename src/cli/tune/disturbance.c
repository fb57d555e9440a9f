/* SPDX-License-Identifier: MIT
 *
 * In: /proc and NVML, now and then.  Out: what the verdict on a winner has to
 * know of the machine, one line while there is still time to stop, and a wait.
 */
#include "cli/tune/disturbance.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/kind.h"
#include "base/util.h"
#include "cli/core/emit.h"
#include "cli/core/stop.h"

static const uint64_t LOOK_NS = 250000000u, WARN_NS = 1500000000u;
static const double OTHERS_MOST = 0.25; /* a busy neighbour passes; this much for seconds stays */

void cli_disturbance_begin(struct cli_disturbance *seen, const struct tcb_place *place)
{
	*seen = (struct cli_disturbance){ .begin_ns = tcb_clock_ns() };
	tcb_load_look(&seen->begin);
	seen->nvml = tcb_place_watch(place);
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

void cli_disturbance_leave_out(struct cli_disturbance *seen, const struct tcb_load *before)
{
	struct tcb_load now;

	tcb_load_look(&now);
	seen->begin.total += now.total - before->total;
	seen->begin.busy += now.busy - before->busy;
	seen->begin.own += now.own - before->own;
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

/* The share of others over a short moment; NaN where it cannot be known. */
static double look_for_a_moment(void)
{
	static const struct timespec moment = { 0, 250000000 };
	struct tcb_load before, after;

	tcb_load_look(&before);
	nanosleep(&moment, NULL);
	tcb_load_look(&after);
	return tcb_load_others(&before, &after);
}

static double seconds_since(uint64_t ns)
{
	return 1e-9 * (double)(tcb_clock_ns() - ns);
}

static void wait_until_quiet(struct cli_quiet *quiet, double others)
{
	const uint64_t begun_ns = tcb_clock_ns();
	char took[CLI_NUMBER_MAX];

	cli_say("the machine is busy: others have %.0f %% of the processors' time; waiting up to %.3g s for it to be "
		"quiet",
		100 * others, quiet->left_s);
	while (others > OTHERS_MOST && seconds_since(begun_ns) < quiet->left_s && !cli_stop_asked)
		others = look_for_a_moment();
	cli_text_duration(seconds_since(begun_ns), took);
	quiet->left_s = fmax(0, quiet->left_s - seconds_since(begun_ns));
	quiet->is_busy = others > OTHERS_MOST;
	if (quiet->is_busy)
		cli_say("still busy after %s, others have %.0f %%: what is measured now will be noisy", took,
			100 * others);
	else
		cli_say("quiet after %s", took);
}

double cli_quiet_wait(struct cli_quiet *quiet, const struct tcb_place *place)
{
	const uint64_t begun_ns = tcb_clock_ns();
	const int has_looked = quiet->has_looked;

	/* A GPU's times hardly depend on who has the processors. */
	if (!tcb_kind_of(&place->device.target)->has_threads || (has_looked && !(quiet->left_s > 0)))
		return 0;
	quiet->has_looked = 1;
	const double others = look_for_a_moment();
	quiet->is_busy = others > OTHERS_MOST;
	if (others > OTHERS_MOST && quiet->left_s > 0)
		wait_until_quiet(quiet, others);
	else if (others > OTHERS_MOST)
		cli_say("the machine is busy: others have %.0f %% of the processors' time; what is measured now may be "
			"noisy, and programs get the default in place of what is; --wait-quiet 10m waits for a quiet "
			"machine",
			100 * others);
	const double took_s = seconds_since(begun_ns);
	quiet->waited_s += took_s;
	return took_s;
}
