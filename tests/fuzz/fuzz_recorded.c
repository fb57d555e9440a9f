/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a recorded space.  If they are accepted, coordinates lie inside
 * the lattice, values are times or failures, and a replay can be made of it or
 * is refused with a line.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "search/replay/replay.h"

static void check_space(const struct tcb_recorded *space)
{
	size_t valid = 0;
	FUZZ_CHECK(space->lattice.count > 0);
	for (size_t i = 0; i < space->lattice.count; i++) {
		FUZZ_CHECK(space->value[i] > 0 && space->price[i] >= 0 && isfinite(space->price[i]));
		valid += space->value[i] < INFINITY;
		for (size_t f = 0; f < space->lattice.fields; f++)
			FUZZ_CHECK(space->lattice.coordinate[i * space->lattice.fields + f] <= space->lattice.top[f]);
	}
	FUZZ_CHECK(valid == space->valid);
	const struct tcb_named_space named = tcb_recorded_named(space);
	for (size_t i = 0; i < named.count; i++)
		for (size_t f = 0; f < named.fields; f++) {
			const struct tcb_named_value value = named.value(named.ctx, i, f);
			char room[TCB_NAMED_ROOM];
			FUZZ_CHECK(named.name(named.ctx, f, room) && (!value.word || strlen(value.word) < 1u << 30));
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_recorded space;
	struct tcb_replay replay;
	struct tcb_error err = { TCB_OK, "" };
	if (tcb_recorded_parse((const char *)data, bytes, "fuzz", &space, &err) != TCB_OK) {
		FUZZ_CHECK(err.message[0] && !strchr(err.message, '\n'));
		return 0;
	}
	check_space(&space);
	if (tcb_replay_init(&replay, &space, &err) == TCB_OK) {
		FUZZ_CHECK(replay.optimum < replay.median && replay.from <= replay.until);
		tcb_replay_fini(&replay);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	tcb_recorded_fini(&space);
	return 0;
}
