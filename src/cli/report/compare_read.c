/* SPDX-License-Identifier: MIT
 *
 * Both databases as two sorted lists of winners, each with the sweeps behind
 * it, and the two as one list of rows.  Nothing is written, not even beside
 * the files.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/core/setup.h"
#include "cli/report/compare.h"

struct reading {
	struct cli_told_list *list;
	const struct cli_wanted *wanted;
	int is_full; /* no memory */
};

static int is_wanted(const struct cli_wanted *wanted, const struct tcb_best *best)
{
	return (!wanted->device || strcmp(wanted->device, best->device_name) == 0 ||
		strcmp(wanted->device, best->device_key) == 0) &&
	       (!wanted->shape || tcb_shape_equal(wanted->shape, &best->problem.shape)) &&
	       (!wanted->state || strcmp(wanted->state, tcb_state_text(best->state)) == 0) &&
	       (!wanted->threads || wanted->threads == best->threads);
}

static int add_best(void *ctx, const struct tcb_best *best)
{
	struct reading *reading = ctx;
	struct cli_told_list *list = reading->list;

	if (!is_wanted(reading->wanted, best))
		return 0;
	if (list->count == list->capacity) {
		const size_t capacity = list->capacity ? 2 * list->capacity : 16;
		struct cli_told *grown = realloc(list->items, capacity * sizeof *grown);
		if (!grown) {
			reading->is_full = 1;
			return 1;
		}
		list->items = grown;
		list->capacity = capacity;
	}
	list->items[list->count++] = (struct cli_told){ .best = *best };
	return 0;
}

/* Finals of another build, system or rotation tell of another thing. */
static int is_alike(const struct tcb_origin *a, const struct tcb_origin *b)
{
	return strcmp(a->git_commit, b->git_commit) == 0 && strcmp(a->version, b->version) == 0 &&
	       strcmp(a->compiler, b->compiler) == 0 && strcmp(a->op_signature, b->op_signature) == 0 &&
	       strcmp(a->os, b->os) == 0 && strcmp(a->driver, b->driver) == 0 && a->rotation_bytes == b->rotation_bytes;
}

struct adding {
	struct cli_told *told;
	int is_full;
};

static int add_session(void *ctx, const struct tcb_held *held)
{
	struct adding *adding = ctx;
	struct cli_told *told = adding->told;
	struct cli_session *grown;

	if (!is_alike(&held->origin, &told->origin) || !(held->low_ns > 0))
		return 0;
	grown = realloc(told->sessions, (told->session_count + 1) * sizeof *grown);
	if (!grown) {
		adding->is_full = 1;
		return 1;
	}
	told->sessions = grown;
	grown += told->session_count++;
	memcpy(grown->uid, held->origin.uid, sizeof grown->uid);
	memcpy(grown->at, held->origin.started_at, sizeof grown->at);
	grown->ns = held->low_ns;
	return 0;
}

/* By device first: a table is of one. */
static int compare(const struct tcb_best *a, const struct tcb_best *b)
{
	const int device = cli_best_order_device(a, b), problem = cli_best_order_problem(a, b);

	return device ? device : problem ? problem : (int)a->state - (int)b->state;
}

static int compare_told(const void *a, const void *b)
{
	return compare(&((const struct cli_told *)a)->best, &((const struct cli_told *)b)->best);
}

static enum tcb_status no_memory(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the winners of two databases");
}

static enum tcb_status read_side(struct tcb_db *db, const struct cli_wanted *wanted, struct cli_told_list *out,
				 struct tcb_error *err)
{
	const struct tcb_best_filter filter = { wanted->op, NULL };
	struct reading reading = { out, wanted, 0 };

	TCB_TRY(tcb_db_best_each(db, &filter, add_best, &reading, err));
	for (size_t i = 0; i < out->count && !reading.is_full; i++) {
		struct adding adding = { &out->items[i], 0 };
		TCB_TRY(tcb_db_origin(db, &out->items[i].best, &out->items[i].origin, err));
		TCB_TRY(tcb_db_held_each(db, &out->items[i].best, add_session, &adding, err));
		reading.is_full = adding.is_full;
	}
	if (reading.is_full)
		return no_memory(err);
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, compare_told);
	return TCB_OK;
}

static int is_session_of(const struct cli_told *told, const char *uid)
{
	for (size_t i = 0; i < told->session_count; i++)
		if (strcmp(told->sessions[i].uid, uid) == 0)
			return 1;
	return 0;
}

/* NEW may have begun as a copy of OLD: what it got from there is OLD's. */
static void leave_out_copied(const struct cli_told *of_old, struct cli_told *of_new)
{
	size_t kept = 0;

	for (size_t i = 0; i < of_new->session_count; i++)
		if (!is_session_of(of_old, of_new->sessions[i].uid))
			of_new->sessions[kept++] = of_new->sessions[i];
	of_new->session_count = kept;
}

/* The two sorted lists as one. */
static enum tcb_status join(struct cli_comparison *comparison, struct tcb_error *err)
{
	struct cli_told_list *a = &comparison->sides[0], *b = &comparison->sides[1];
	size_t i = 0, j = 0;

	comparison->rows = calloc(a->count + b->count + 1, sizeof *comparison->rows);
	if (!comparison->rows)
		return no_memory(err);
	while (i < a->count || j < b->count) {
		const int order = i == a->count   ? 1
				  : j == b->count ? -1
						  : compare(&a->items[i].best, &b->items[j].best);
		struct cli_row *row = &comparison->rows[comparison->count++];

		if (order == 0)
			leave_out_copied(&a->items[i], &b->items[j]);
		row->old_side = order <= 0 ? &a->items[i++] : NULL;
		row->new_side = order >= 0 ? &b->items[j++] : NULL;
	}
	return TCB_OK;
}

struct asking {
	const struct cli_row *row;
	enum cli_chance chance;
};

/* Trials of kernels that NEW's winner was not chosen among say nothing. */
static int look_at_try(void *ctx, const struct tcb_try *one)
{
	struct asking *asking = ctx;

	if (strcmp(one->origin.op_signature, asking->row->new_side->origin.op_signature) == 0)
		asking->chance = one->outcome == TCB_OUTCOME_OK || one->outcome == TCB_OUTCOME_TOO_SLOW
					 ? CLI_CHANCE_TRIED
					 : CLI_CHANCE_FAILED;
	return 0;
}

static enum tcb_status ask_chances(struct tcb_db *db, struct cli_comparison *comparison, struct tcb_error *err)
{
	for (size_t i = 0; i < comparison->count; i++) {
		struct cli_row *row = &comparison->rows[i];
		struct asking asking = { row, CLI_CHANCE_NONE };

		if (!row->old_side || !row->new_side)
			continue;
		TCB_TRY(tcb_db_tries_each(db, &row->new_side->best, row->old_side->best.geometry, look_at_try, &asking,
					  err));
		row->chance = asking.chance;
	}
	return TCB_OK;
}

static enum tcb_status check_files(const char *old_path, const char *new_path, struct tcb_error *err)
{
	struct stat a, b;

	if (stat(old_path, &a) == 0 && stat(new_path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return tcb_fail(err, TCB_E_USAGE, "%s and %s are the same file; give two databases", old_path,
				new_path);
	return TCB_OK;
}

enum tcb_status cli_comparison_read(const char *old_path, const char *new_path, const struct cli_wanted *wanted,
				    struct cli_comparison *out, struct tcb_error *err)
{
	struct tcb_db *db;

	out->paths[0] = old_path;
	out->paths[1] = new_path;
	TCB_TRY(check_files(old_path, new_path, err));
	TCB_TRY(cli_open_db_file(wanted->ops, old_path, TCB_DB_READ_SYSTEM, &db, err));
	enum tcb_status status = read_side(db, wanted, &out->sides[0], err);
	cli_close_db(db);
	TCB_TRY(status);
	TCB_TRY(cli_open_db_file(wanted->ops, new_path, TCB_DB_READ_SYSTEM, &db, err));
	status = read_side(db, wanted, &out->sides[1], err);
	if (status == TCB_OK)
		status = join(out, err);
	if (status == TCB_OK)
		status = ask_chances(db, out, err);
	cli_close_db(db);
	return status;
}

void cli_comparison_fini(struct cli_comparison *comparison)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < comparison->sides[side].count; i++)
			free(comparison->sides[side].items[i].sessions);
		free(comparison->sides[side].items);
	}
	free(comparison->rows);
	*comparison = (struct cli_comparison){ .count = 0 };
}
