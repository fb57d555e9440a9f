/* SPDX-License-Identifier: MIT
 *
 * Starts of recorded spaces: the winners of the other problems that the same
 * databases hold, leaving each space's own out.
 */
#ifndef TCB_CLI_REPLAY_STARTS_H
#define TCB_CLI_REPLAY_STARTS_H

#include "base/target.h"
#include "base/trial.h"
#include "search/replay/recorded.h"

/* A winner, and where it was found. */
struct cli_replay_winner {
	struct tcb_start_winner winner;
	enum tcb_target_kind kind;
	char device_key[TCB_DEVICE_KEY_MAX], arch[32];
};
struct cli_replay_winners {
	struct cli_replay_winner *items;
	size_t count;
};

/* Whose trials a space is made of. */
struct cli_origin {
	struct tcb_problem problem; /* op NULL where this build does not have it */
	struct tcb_device device;
	struct tcb_geometry *geometries; /* [index of the space]; owned; NULL: not of a database */
};

/* Adds the best few of COUNT trials of PROBLEM on DEVICE in each cache state: of the finals, else of screening. */
enum tcb_status cli_replay_winners_add(struct cli_replay_winners *winners, const struct tcb_problem *problem,
				       const struct tcb_device *device, const struct tcb_trial *trials, size_t count,
				       struct tcb_error *err);
void cli_replay_winners_fini(struct cli_replay_winners *winners);
/* Fills SPACE's starts with winners of other problems, of whatever device of the kind. */
enum tcb_status cli_replay_starts(const struct cli_replay_winners *winners, const struct cli_origin *origin,
				  struct tcb_recorded *space, struct tcb_error *err);

#endif
