/* SPDX-License-Identifier: MIT
 *
 * The recorded spaces of the files that replay is given.
 */
#ifndef TCB_CLI_REPLAY_INPUT_H
#define TCB_CLI_REPLAY_INPUT_H

#include "cli/tune/replay_starts.h"

/* All of a file, inflated. */
struct cli_bytes {
	char *data; /* free() it */
	size_t count, capacity;
};
enum tcb_status cli_read_inflated(const char *path, struct cli_bytes *out, struct tcb_error *err);

struct cli_spaces {
	const struct tcb_registry *ops; /* of the problems of databases */
	struct tcb_recorded *items;
	struct cli_origin *origins; /* [space] */
	size_t count;
	struct cli_replay_winners winners; /* of all databases */
};
/*
 * Adds what PATH holds: one space of a T4 or cache file, plain or gz, or two (cold, hot) of each problem of a tuning
 * database.  TCB_E_NOT_FOUND for a file of another kind.
 */
enum tcb_status cli_spaces_add(struct cli_spaces *spaces, const char *path, struct tcb_error *err);
void cli_spaces_fini(struct cli_spaces *spaces);

#endif
