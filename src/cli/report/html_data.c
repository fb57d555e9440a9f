/* SPDX-License-Identifier: MIT
 *
 * Trials to spaces.  Several rotations of one problem are not comparable: a row
 * gets the trials among which its winner is, and of several such the most.
 */
#include "cli/report/html_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loading {
	const struct cli_html_source *source;
	struct cli_html_spaces *spaces;
	enum tcb_status status;
	struct tcb_error *err;
};

static void space_fini(struct cli_html_space *space)
{
	if (space->is_searchable)
		tcb_replay_fini(&space->replay);
	tcb_recorded_fini(&space->recorded);
	free(space->list);
	*space = (struct cli_html_space){ .row = space->row };
}

static int is_of(const struct tcb_best *best, const struct tcb_tried *tried)
{
	return strcmp(best->device_key, tried->device.key) == 0 && strcmp(best->device_name, tried->device.name) == 0 &&
	       best->threads == tried->device.target.threads &&
	       strcmp(best->problem.op_name, tried->problem.op_name) == 0 &&
	       best->problem.contract == tried->problem.contract &&
	       tcb_shape_equal(&best->problem.shape, &tried->problem.shape);
}

static size_t find(const struct tcb_trial *trials, size_t count, const char *text)
{
	const struct tcb_parameter *parameters = count ? trials->geometry.parameters : NULL;
	struct tcb_geometry geometry;

	if (!text[0] || tcb_geometry_parse_of(text, parameters, &geometry, NULL) != TCB_OK)
		return TCB_ASK_NONE;
	for (size_t i = 0; i < count; i++)
		if (trials[i].outcome == TCB_OUTCOME_OK && tcb_geometry_equal(&trials[i].geometry, &geometry))
			return i;
	return TCB_ASK_NONE;
}

static void fill(struct cli_html_space *space, const struct tcb_trial *trials)
{
	const enum tcb_state state = space->row->best.state;
	double elapsed = 0;

	for (size_t i = 0; i < space->count; i++) {
		struct cli_html_candidate *one = &space->list[i];
		elapsed += space->recorded.price[i] / 1e9;
		one->geometry = trials[i].geometry;
		one->ns = space->recorded.value[i];
		one->elapsed_s = elapsed;
		for (size_t m = 0; m < trials[i].measurement_count; m++) {
			const struct tcb_measurement *measured = &trials[i].measurements[m];
			if (measured->state == state)
				*(measured->stage == TCB_STAGE_FINAL ? &one->final : &one->screen) = measured->ns;
		}
	}
}

/* Two of one stage: finals are compared with finals. */
static int reaches(const struct cli_html_candidate *one, const struct cli_html_candidate *best)
{
	const int is_final = one->final.median > 0 && best->final.median > 0;
	const struct tcb_interval *a = is_final ? &one->final : &one->screen;
	const struct tcb_interval *b = is_final ? &best->final : &best->screen;

	return one->ns < INFINITY && a->lo > 0 && b->hi > 0 && a->lo <= b->hi;
}

static enum tcb_status make(struct cli_html_space *space, const struct tcb_trial *trials, size_t count,
			    struct tcb_error *err)
{
	const struct tcb_best *best = &space->row->best;

	space->list = calloc(count + 1, sizeof *space->list);
	if (!space->list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", count);
	TCB_TRY(tcb_recorded_trials(trials, count, best->state, "", &space->recorded, err));
	space->count = count;
	space->valid = space->recorded.valid;
	space->best = find(trials, count, best->geometry);
	space->start = find(trials, count, best->default_geometry);
	fill(space, trials);
	for (size_t i = 0; space->best != TCB_ASK_NONE && i < count; i++)
		space->list[i].is_tie = reaches(&space->list[i], &space->list[space->best]);
	/* Refused where there is nothing to search: the band is left out then. */
	space->is_searchable = tcb_replay_init(&space->replay, &space->recorded, NULL) == TCB_OK;
	return TCB_OK;
}

/* Whether COUNT trials with the winner at FOUND say more than what SPACE has. */
static int is_better(const struct cli_html_space *space, size_t found, size_t count)
{
	const int has_now = space->count && space->best != TCB_ASK_NONE, has_new = found != TCB_ASK_NONE;

	return has_now != has_new ? has_new : count > space->count;
}

static int load_tried(void *ctx, const struct tcb_tried *tried)
{
	struct loading *loading = ctx;
	struct tcb_trial *trials = NULL;
	size_t count = 0;

	for (size_t i = 0; i < loading->spaces->count && loading->status == TCB_OK; i++) {
		struct cli_html_space *space = &loading->spaces->items[i];
		if (!is_of(&space->row->best, tried))
			continue;
		if (!trials)
			loading->status = tcb_db_trials(loading->source->db, &tried->device, &tried->problem,
							tried->rotation_bytes, &trials, &count, loading->err);
		if (loading->status != TCB_OK ||
		    !is_better(space, find(trials, count, space->row->best.geometry), count))
			continue;
		space_fini(space);
		loading->status = make(space, trials, count, loading->err);
	}
	tcb_db_trials_free(trials, count);
	return loading->status != TCB_OK;
}

enum tcb_status cli_html_load(const struct cli_html_source *source, struct cli_html_spaces *out, struct tcb_error *err)
{
	struct loading loading = { source, out, TCB_OK, err };

	*out = (struct cli_html_spaces){ calloc(source->rows->count + 1, sizeof *out->items), source->rows->count };
	if (!out->items) {
		out->count = 0;
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu results", source->rows->count);
	}
	for (size_t i = 0; i < out->count; i++)
		out->items[i].row = &source->rows->rows[i];
	TCB_TRY(tcb_db_tried_each(source->db, load_tried, &loading, err));
	return loading.status;
}

void cli_html_unload(struct cli_html_spaces *spaces)
{
	for (size_t i = 0; i < spaces->count; i++)
		space_fini(&spaces->items[i]);
	free(spaces->items);
	*spaces = (struct cli_html_spaces){ 0 };
}

void cli_html_threads(const struct tcb_best *best, struct tcb_str *out)
{
	if (best->threads)
		tcb_str_addf(out, ", %u thread%s", best->threads, best->threads == 1 ? "" : "s");
}

/* --- the parts of a geometry --- */

double cli_html_field(const struct tcb_geometry *geometry, size_t field)
{
	return (double)tcb_field_get(tcb_field_at((unsigned)field), geometry);
}

void cli_html_field_name(const struct tcb_geometry *geometry, size_t field, char out[CLI_HTML_FIELD_MAX])
{
	const struct tcb_field part = tcb_field_at((unsigned)field);

	if (part.kind == TCB_AXIS_KNOB)
		snprintf(out, CLI_HTML_FIELD_MAX, "%s", tcb_geometry_key(geometry, part.which));
	else
		snprintf(out, CLI_HTML_FIELD_MAX, "%s %c", tcb_level_text((enum tcb_level)part.which),
			 "mnk"[field % 3]);
}

void cli_html_field_value(const struct tcb_geometry *geometry, size_t field, char out[CLI_HTML_FIELD_MAX])
{
	const struct tcb_field part = tcb_field_at((unsigned)field);
	const int64_t value = tcb_field_get(part, geometry);
	const char *word = part.kind == TCB_AXIS_KNOB ? tcb_geometry_word(geometry, part.which, (int32_t)value) : NULL;

	if (word)
		snprintf(out, CLI_HTML_FIELD_MAX, "%s", word);
	else if (value < 0)
		snprintf(out, CLI_HTML_FIELD_MAX, "-");
	else
		snprintf(out, CLI_HTML_FIELD_MAX, "%lld", (long long)value);
}

size_t cli_html_only_difference(const struct tcb_geometry *a, const struct tcb_geometry *b)
{
	size_t found = TCB_FIELDS_MAX;

	for (size_t f = 0; f < TCB_FIELDS_MAX; f++) {
		if (cli_html_field(a, f) == cli_html_field(b, f))
			continue;
		if (found != TCB_FIELDS_MAX)
			return TCB_FIELDS_MAX;
		found = f;
	}
	return found;
}
