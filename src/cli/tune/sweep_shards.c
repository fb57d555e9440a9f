/* SPDX-License-Identifier: MIT
 *
 * Shards of 4 were swept: which of 1/4 to 4/4 is not here, or was killed?  A
 * shard is there when a sweep of it ended, by its budget or complete.  Nothing
 * is lost once one division is there whole, or the space was swept undivided.
 */
#include "cli/tune/sweep_shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "kernels/default_rules.h"
#include "search/shard.h"

enum { NAMED_MOST = 16 }; /* that are named one by one */

enum presence { ABSENT, UNFINISHED, THERE };

/* The space in COUNT shards. */
struct division {
	unsigned count;
	unsigned char *found;  /* [shard - 1]: enum presence; owned */
	struct tcb_swept like; /* a sweep of one of them: the others are swept in the same way */
};

struct shards {
	struct division *divisions;
	size_t count;
	int is_whole; /* swept undivided to the end */
	int failed;
};

static struct division *division_of(struct shards *shards, unsigned count)
{
	for (size_t i = 0; i < shards->count; i++)
		if (shards->divisions[i].count == count)
			return &shards->divisions[i];
	struct division *grown = realloc(shards->divisions, (shards->count + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	shards->divisions = grown;
	grown += shards->count;
	*grown = (struct division){ .count = count, .found = calloc(count, 1) };
	if (!grown->found)
		return NULL;
	shards->count++;
	return grown;
}

static int see(void *ctx, const struct tcb_swept *swept)
{
	struct shards *shards = ctx;
	const int is_complete = strcmp(swept->status, "complete") == 0;
	struct tcb_shard shard;

	if (!swept->shard[0])
		shards->is_whole |= is_complete;
	if (tcb_shard_parse(swept->shard, &shard, NULL) != TCB_OK)
		return 0;
	struct division *division = division_of(shards, shard.count);
	if (!division)
		return shards->failed = 1;
	const unsigned char now = is_complete || strcmp(swept->status, "budget") == 0 ? THERE : UNFINISHED;
	if (division->found[shard.index - 1] < now)
		division->found[shard.index - 1] = now;
	division->like = *swept;
	return 0;
}

static void add_command(struct tcb_str *out, const struct cli_finals *finals, const struct tcb_swept *like,
			const struct tcb_shard *shard)
{
	const struct tcb_problem *problem = finals->problem;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&problem->shape, shape);
	tcb_str_addf(out, "tcbtune sweep --op %s --contract %s --shape %s --device %s", problem->op_name,
		     tcb_contract_text(problem->contract), shape, finals->device_text);
	if (tcb_kind_of(&finals->device->target)->has_threads)
		tcb_str_addf(out, " --threads %u", finals->device->target.threads);
	if (finals->rotation_bytes)
		tcb_str_addf(out, " --rotation %llu", (unsigned long long)finals->rotation_bytes);
	if (like->any_size)
		tcb_str_add(out, " --any-size");
	tcb_str_add(out, " --strategy ");
	cli_add_word(out, like->strategy);
	tcb_str_add(out, " --seed ");
	cli_add_word(out, like->seed);
	if (like->budget_s > 0)
		tcb_str_addf(out, " --budget %gs", like->budget_s);
	else
		tcb_str_add(out, " --budget none");
	if (like->max_trials)
		tcb_str_addf(out, " --max-trials %llu", (unsigned long long)like->max_trials);
	tcb_str_add(out, " --db ");
	cli_add_word(out, finals->db_path);
	tcb_str_addf(out, " --shard %u/%u", shard->index, shard->count);
}

static size_t count_lost(const struct division *division)
{
	size_t lost = 0;

	for (unsigned i = 0; i < division->count; i++)
		lost += division->found[i] != THERE;
	return lost;
}

static void name_lost(const struct cli_finals *finals, const struct division *division)
{
	char label[CLI_LABEL_MAX];
	size_t named = 0;

	cli_problem_label(finals->problem, label);
	for (unsigned i = 0; i < division->count && named < NAMED_MOST; i++) {
		const struct tcb_shard shard = { i + 1, division->count };
		struct tcb_str command = { 0 };

		if (division->found[i] == THERE)
			continue;
		named++;
		add_command(&command, finals, &division->like, &shard);
		if (!command.failed)
			cli_say("shard %u/%u of %s %s: run %s", shard.index, shard.count, label,
				division->found[i] == ABSENT ? "is missing" : "was not finished", command.data);
		tcb_str_fini(&command);
	}
	if (named < count_lost(division))
		cli_say("... and %zu more shards of %u", count_lost(division) - named, division->count);
}

/* Names the lost shards; *LOST_OUT of them. */
static enum tcb_status find_lost(struct tcb_db *db, const struct cli_finals *finals, size_t *lost_out,
				 struct tcb_error *err)
{
	struct shards shards = { 0 };
	enum tcb_status status =
		tcb_db_swept_each(db, finals->device, finals->problem, finals->rotation_bytes, see, &shards, err);
	size_t lost = 0;

	if (status == TCB_OK && shards.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the shards");
	for (size_t i = 0; i < shards.count; i++) {
		shards.is_whole |= count_lost(&shards.divisions[i]) == 0;
		lost += count_lost(&shards.divisions[i]);
	}
	*lost_out = status == TCB_OK && !shards.is_whole ? lost : 0;
	for (size_t i = 0; i < shards.count; i++) {
		if (*lost_out)
			name_lost(finals, &shards.divisions[i]);
		free(shards.divisions[i].found);
	}
	free(shards.divisions);
	return status;
}

enum tcb_status cli_finals_check(struct tcb_db *db, const struct cli_finals *finals, struct tcb_error *err)
{
	char label[CLI_LABEL_MAX];
	size_t lost;

	cli_problem_label(finals->problem, label);
	if (finals->known_count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s: nothing is known of it on this device with this rotation, so there are no finals "
				"to hold: sweep it, or merge databases into %s",
				label, finals->db_path);
	TCB_TRY(find_lost(db, finals, &lost, err));
	if (lost && !finals->allow_missing)
		return tcb_fail(err, TCB_E_FAILED,
				"%s: %zu shard%s missing or unfinished: sweep and merge, or hold the finals without, "
				"with --allow-missing",
				label, lost, lost == 1 ? " is" : "s are");
	return TCB_OK;
}

enum tcb_status cli_finals_check_options(int finals_only, int allow_missing, const char *with, struct tcb_error *err)
{
	if (allow_missing && !finals_only)
		return tcb_fail(err, TCB_E_USAGE, "--allow-missing is of --finals-only");
	if (finals_only && with)
		return tcb_fail(
			err, TCB_E_USAGE,
			"--finals-only and --%s exclude each other: the finals are held among all that is known", with);
	return TCB_OK;
}

enum tcb_status cli_known_trials(struct tcb_db *db, const struct cli_problem *problem, const struct tcb_device *device,
				 uint64_t rotation_bytes, struct tcb_trial **out, size_t *count_out,
				 struct tcb_error *err)
{
	struct tcb_geometry fallback;
	char anchor[TCB_GEOMETRY_TEXT_MAX];

	tcb_default_geometry(&problem->problem, &device->target, &fallback);
	tcb_geometry_print(&fallback, anchor);
	return tcb_db_trials_anchored(db, device, &problem->problem, rotation_bytes, anchor, out, count_out, err);
}
