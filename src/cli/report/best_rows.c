/* SPDX-License-Identifier: MIT
 *
 * Best rows, and what is asked of them.
 */
#include "cli/report/best_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "kernels/signature.h"

struct cli_best_row *cli_best_rows_add(struct cli_best_rows *rows, const struct tcb_best *best)
{
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : 16;
		struct cli_best_row *grown = realloc(rows->rows, capacity * sizeof *grown);
		if (!grown)
			return NULL;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	struct cli_best_row *row = &rows->rows[rows->count++];
	memset(row, 0, sizeof *row);
	row->best = *best;
	snprintf(row->device_label, sizeof row->device_label, "%s", best->device_name);
	row->is_stale = cli_best_is_stale(best);
	row->verdict = tcb_best_verdict(best, row->is_stale);
	row->served = cli_served_of(best, row->is_stale);
	return row;
}

void cli_best_rows_label(struct cli_best_rows *rows)
{
	const struct tcb_best **devices = calloc(rows->count + 1, sizeof *devices);
	size_t count = 0;

	for (size_t i = 0; devices && i < rows->count; i++) {
		size_t known = 0;

		while (known < count && !cli_is_one_device(devices[known], &rows->rows[i].best))
			known++;
		if (known == count)
			devices[count++] = &rows->rows[i].best;
	}
	for (size_t i = 0; devices && i < rows->count; i++)
		cli_device_label(&rows->rows[i].best, devices, count, rows->rows[i].device_label);
	free(devices);
}

int cli_best_row_add_tie(struct cli_best_row *row, const char *geometry)
{
	char **ties = realloc(row->ties, (row->tie_count + 1) * sizeof *ties);

	if (!ties)
		return -1;
	row->ties = ties;
	ties[row->tie_count] = strdup(geometry);
	if (!ties[row->tie_count])
		return -1;
	row->tie_count++;
	return 0;
}

int cli_best_row_add_counter(struct cli_best_row *row, const struct tcb_counter *counter)
{
	struct tcb_counter *counters = realloc(row->counters, (row->counter_count + 1) * sizeof *counters);

	if (!counters)
		return -1;
	row->counters = counters;
	counters[row->counter_count++] = *counter;
	return 0;
}

void cli_best_rows_fini(struct cli_best_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t t = 0; t < rows->rows[i].tie_count; t++)
			free(rows->rows[i].ties[t]);
		free(rows->rows[i].ties);
		free(rows->rows[i].counters);
		free(rows->rows[i].energies);
	}
	free(rows->rows);
	memset(rows, 0, sizeof *rows);
}

static int order_of(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int first_of(const int *keys, size_t count)
{
	size_t i = 0;

	while (i + 1 < count && !keys[i])
		i++;
	return keys[i];
}

int cli_best_order_device(const struct tcb_best *a, const struct tcb_best *b)
{
	const int keys[] = { strcmp(a->device_name, b->device_name), strcmp(a->device_key, b->device_key),
			     order_of(a->threads, b->threads) };

	return first_of(keys, sizeof keys / sizeof *keys);
}

int cli_best_order_problem(const struct tcb_best *a, const struct tcb_best *b)
{
	const struct tcb_shape *left = &a->problem.shape, *right = &b->problem.shape;
	const int keys[] = {
		strcmp(a->problem.op_name, b->problem.op_name), order_of(a->problem.contract, b->problem.contract),
		order_of((double)left->m, (double)right->m),    order_of((double)left->n, (double)right->n),
		order_of((double)left->k, (double)right->k),    memcmp(&left->words, &right->words, sizeof left->words)
	};

	return first_of(keys, sizeof keys / sizeof *keys);
}

struct finding {
	const struct tcb_device *device;
	const struct tcb_problem *problem;
	enum tcb_state state;
	struct tcb_best *best;
	int is_found;
};

static int match_best(void *ctx, const struct tcb_best *best)
{
	struct finding *finding = ctx;
	if (best->state != finding->state || strcmp(best->device_key, finding->device->key) != 0 ||
	    best->threads != finding->device->target.threads || best->problem.contract != finding->problem->contract ||
	    !tcb_shape_equal(&best->problem.shape, &finding->problem->shape))
		return 0;
	*finding->best = *best;
	finding->is_found = 1;
	return 1;
}

enum tcb_status cli_best_find(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
			      enum tcb_state state, struct tcb_best *out, int *found_out, struct tcb_error *err)
{
	struct finding finding = { device, problem, state, out, 0 };
	const struct tcb_best_filter filter = { problem->op->name, device->name };
	enum tcb_status status = tcb_db_best_each(db, &filter, match_best, &finding, err);

	*found_out = finding.is_found;
	return status;
}

int cli_best_is_stale(const struct tcb_best *best)
{
	const struct tcb_op *op = best->problem.op;
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	return op && (tcb_geometry_parse_of(best->geometry, op->parameters, &geometry, NULL) != TCB_OK ||
		      tcb_problem_init(op, best->problem.contract, &best->problem.shape, &problem, NULL) != TCB_OK ||
		      !tcb_candidate_is_current(&problem, &best->target, &geometry, best->signature, &packings));
}

int cli_best_row_has_hardware_counters(const struct cli_best_row *row)
{
	const char *source = tcb_kind_of(&row->best.target)->counters;

	for (size_t i = 0; source && i < row->counter_count; i++)
		if (strcmp(row->counters[i].source, source) == 0)
			return 1;
	return 0;
}
