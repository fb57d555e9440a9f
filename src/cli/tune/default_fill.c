/* SPDX-License-Identifier: MIT
 *
 * For each shape a sweep that has no other candidates than the wanted ones that
 * were not measured there.  Its trials are stored as any sweep's are; winners
 * are not, since it has not looked for any.
 */
#include "cli/tune/default_fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_info.h"
#include "base/kind.h"
#include "base/util.h"
#include "cli/core/emit.h"
#include "search/search.h"

struct filling {
	const struct cli_fill *fill;
	struct tcb_place place;
	struct tcb_db *db;
	int64_t sweep;
	size_t left; /* cells */
	double end_s;
};

static double now_s(void)
{
	return (double)tcb_clock_ns() * 1e-9;
}

static int is_of(const struct cli_default_group *group, const struct tcb_target *target)
{
	char arch[TCB_ARCH_TEXT_MAX];
	tcb_target_arch(target, arch);
	return !strcmp(arch, group->arch) && (!tcb_kind_of(target)->has_threads || target->threads == group->threads);
}

/* Is the shape of row R to be measured here: it was, or it was on other devices alone and R is the first of those? */
static int is_here(const struct cli_default_group *group, size_t r, const char *key)
{
	const struct cli_shape_row *rows = group->rows, *row = &rows[r];
	size_t first = r;
	if (!strcmp(row->device.key, key))
		return 1;
	for (size_t i = 0; i < group->row_count; i++) {
		if (memcmp(&rows[i].problem.shape, &row->problem.shape, sizeof row->problem.shape) != 0)
			continue;
		if (!strcmp(rows[i].device.key, key))
			return 0;
		first = i < first ? i : first;
	}
	return first == r;
}

static int is_missing(const struct filling *filling, size_t group, size_t candidate, size_t row)
{
	const struct cli_default_group *g = &filling->fill->groups[group];
	return filling->fill->wanted[group][candidate] &&
	       (strcmp(g->rows[row].device.key, filling->place.device.key) != 0 ||
		isnan(g->cells.loss[candidate * g->row_count + row]));
}

/* How many cells there are that matter and were not measured on this device. */
static size_t count_missing(const struct filling *filling)
{
	const struct cli_fill *fill = filling->fill;
	size_t missing = 0;
	for (size_t g = 0; g < fill->group_count; g++)
		for (size_t r = 0;
		     is_of(&fill->groups[g], &filling->place.device.target) && r < fill->groups[g].row_count; r++)
			for (size_t c = 0; is_here(&fill->groups[g], r, filling->place.device.key) &&
					   c < fill->groups[g].cells.candidate_count;
			     c++)
				missing += (size_t)is_missing(filling, g, c, r);
	return missing;
}

static enum tcb_status store_trial(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct filling *filling = ctx;
	return tcb_db_trial_put(filling->db, filling->sweep, trial, err);
}

static enum tcb_status sweep_row(struct filling *filling, const struct cli_shape_row *row,
				 const struct tcb_geometry *only, size_t count, struct tcb_error *err)
{
	const struct tcb_build_info *build = tcb_build_info();
	const double left_s = filling->end_s - now_s();
	struct tcb_sweep_options options = {
		.strategy = "exhaustive",
		/* Its share; a sweep's set-up is not worth less than a second. */
		.budget_s = filling->fill->budget_s > 0 ? fmax(1, left_s * (double)count / (double)filling->left) : 0,
		.max_trials = count + 1,
		.only = only,
		.only_count = count,
		.seed = 1,
		.states = 1u << TCB_COLD | 1u << TCB_HOT,
		.finalists = 1,
	};
	char signature[TCB_SIGNATURE_MAX];
	const struct tcb_sweep_record record = {
		.device = &filling->place.device,
		.problem = &row->problem,
		.op_signature = signature,
		.git_commit = build->commit,
		.compiler = build->compiler,
		.version = build->version,
		.strategy = "exhaustive",
		.seed = 1,
		.settings_json = "{\"only\":\"candidates of default rules\"}",
	};
	struct tcb_sink sink = { .ctx = filling, .trial = store_trial };
	struct tcb_sweep_result result;
	tcb_op_signature(row->problem.op, signature);
	TCB_TRY(tcb_db_sweep_begin(filling->db, &record, &filling->sweep, err));
	enum tcb_status status =
		tcb_sweep_run(row->problem.op, &row->problem, &filling->place, &options, NULL, 0, &sink, &result, err);
	if (status == TCB_OK)
		status = tcb_db_sweep_end(filling->db, filling->sweep, result.complete ? "complete" : "budget", err);
	tcb_sweep_result_fini(&result);
	return status;
}

/* The cells of one row: several forms may be one geometry there. */
static enum tcb_status fill_row(struct filling *filling, size_t group, size_t row, struct tcb_error *err)
{
	const struct cli_default_group *g = &filling->fill->groups[group];
	const struct cli_shape_row *at = &g->rows[row];
	char shape[TCB_SHAPE_TEXT_MAX];
	size_t count = 0;
	enum tcb_status status = TCB_OK;
	if (!is_here(g, row, filling->place.device.key))
		return TCB_OK;
	struct tcb_geometry *only = calloc(g->cells.candidate_count, sizeof *only);
	if (!only)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", g->cells.candidate_count);
	for (size_t c = 0; c < g->cells.candidate_count; c++)
		count += (size_t)(is_missing(filling, group, c, row) &&
				  cli_form_apply(g->forms[c], at, &filling->place.device.target, &only[count]));
	tcb_shape_print(&at->problem.shape, shape);
	if (count && (filling->fill->budget_s <= 0 || now_s() < filling->end_s)) {
		cli_say("%s %s %s: %zu candidates of other shapes", g->op->name, tcb_contract_text(g->contract), shape,
			count);
		status = sweep_row(filling, at, only, count, err);
	}
	filling->left -= count < filling->left ? count : filling->left - 1;
	free(only);
	return status;
}

enum tcb_status cli_fill_run(const struct cli_fill *fill, struct tcb_error *err)
{
	struct filling filling = { .fill = fill, .end_s = now_s() + fill->budget_s };
	char path[CLI_PATH_MAX];
	TCB_TRY(cli_open_device(fill->device, fill->threads, &filling.place, err));
	const struct tcb_target *target = &filling.place.device.target;
	if (filling.place.is_absent)
		TCB_TRY(tcb_place_open(fill->device, (unsigned)fill->threads, 1, &filling.place, err));
	filling.left = count_missing(&filling);
	if (!filling.left) {
		cli_say("nothing is missing for rules of this device");
		return TCB_OK;
	}
	TCB_TRY(cli_open_db(fill->ops, fill->db, TCB_DB_WRITE, path, &filling.db, err));
	enum tcb_status status = TCB_OK;
	for (size_t g = 0; g < fill->group_count; g++)
		for (size_t r = 0; status == TCB_OK && is_of(&fill->groups[g], target) && r < fill->groups[g].row_count;
		     r++)
			status = fill_row(&filling, g, r, err);
	cli_close_db(filling.db);
	return status;
}
