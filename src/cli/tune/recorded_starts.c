/* SPDX-License-Identifier: MIT
 *
 * In: recordings of an op.  Out: geometries of their best configurations.  Names are compared without regard to case,
 * and what the op has no parameter for is passed over: these are proposals, tried like any candidate.
 */
#include "cli/tune/recorded_starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "db/recordings.h"
#include "kernels/op.h"
#include "search/replay/recorded_results.h"

enum { BEST = 4 }; /* of a recording */

struct collecting {
	const struct tcb_problem *problem;
	const struct tcb_device *device;
	struct tcb_db *db;
	struct cli_winners *out;
	/* of the recording that is read: */
	json_t *best[BEST]; /* the best first; owned */
	double best_ms[BEST];
	size_t count; /* of its results */
	enum tcb_status status;
	struct tcb_error *err;
};

/* RESULT, which it takes, among the best, if it is. */
static void keep(struct collecting *c, json_t *result)
{
	double ms = tcb_result_ms(result);

	for (size_t i = 0; i < BEST; i++) {
		if (!(ms < c->best_ms[i]))
			continue;
		json_t *next = c->best[i];
		const double next_ms = c->best_ms[i];
		c->best[i] = result;
		c->best_ms[i] = ms;
		result = next;
		ms = next_ms;
	}
	json_decref(result);
}

static int look_at(void *ctx, const char *text)
{
	struct collecting *c = ctx;

	c->count++;
	keep(c, json_loads(text, 0, NULL));
	return 0;
}

/* Sets what is called NAME to VALUE; 0: GEOMETRY has it, and may have that value. */
static int set_tile(struct tcb_geometry *geometry, const char *name, const json_t *value)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const char *text = tcb_level_text((enum tcb_level)level);
		const size_t length = strlen(text);
		struct tcb_tile *tile = &geometry->tile[level];

		if (strncasecmp(name, text, length) != 0 || name[length] != '.' || !json_is_integer(value) ||
		    json_integer_value(value) < 1)
			continue;
		const size_t size = (size_t)json_integer_value(value);
		if (!strcasecmp(name + length, ".m"))
			return tile->m = size, 0;
		if (!strcasecmp(name + length, ".n"))
			return tile->n = size, 0;
		if (!strcasecmp(name + length, ".k"))
			return tile->k = size, 0;
	}
	return -1;
}

/* Is WORD what VALUE says? */
static int is_word(const char *word, const json_t *value)
{
	char *end;

	if (json_is_string(value))
		return strcasecmp(word, json_string_value(value)) == 0;
	const double number = strtod(word, &end);
	return *word && !*end &&
	       number == (json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value));
}

static int set_knob(struct tcb_geometry *geometry, const char *name, const json_t *value)
{
	const int count = tcb_geometry_knobs(geometry);
	int knob = 0;

	while (knob < count && strcasecmp(tcb_geometry_key(geometry, knob), name) != 0)
		knob++;
	if (knob == count)
		return -1;
	if (!tcb_geometry_word(geometry, knob, 0)) {
		const double number = json_is_boolean(value) ? (double)json_is_true(value) : json_number_value(value);
		if ((!json_is_number(value) && !json_is_boolean(value)) || number < 0 || number > INT32_MAX ||
		    number != rint(number))
			return -1;
		geometry->knob[knob] = (int32_t)number;
		return 0;
	}
	for (int32_t word = 0; tcb_geometry_word(geometry, knob, word); word++)
		if (is_word(tcb_geometry_word(geometry, knob, word), value))
			return geometry->knob[knob] = word, 0;
	return -1;
}

/* How many parameters of CONFIGURATION GEOMETRY has now. */
static size_t read_geometry(const json_t *configuration, const struct tcb_op *op, struct tcb_geometry *geometry)
{
	const char *name;
	json_t *value;
	size_t known = 0;

	tcb_geometry_init(geometry);
	geometry->parameters = op->parameters;
	json_object_foreach((json_t *)configuration, name, value) known +=
		set_tile(geometry, name, value) == 0 || set_knob(geometry, name, value) == 0;
	return known;
}

static enum tcb_status add(struct collecting *c, const json_t *result, unsigned rank)
{
	struct tcb_start_winner *items, winner = { .problem = *c->problem,
						   .device = TCB_START_OTHER_ARCH,
						   .threads = c->device->target.threads,
						   .tried = c->count,
						   .rank = rank,
						   .is_imported = 1 };

	if (!read_geometry(json_object_get(result, "configuration"), c->problem->op, &winner.geometry))
		return TCB_OK;
	items = realloc(c->out->items, (c->out->count + 1) * sizeof *items);
	if (!items)
		return tcb_fail(c->err, TCB_E_NOMEM, "out of memory for imported results");
	c->out->items = items;
	c->out->items[c->out->count++] = winner;
	return TCB_OK;
}

static int add_recording(void *ctx, const struct tcb_recording *recording)
{
	struct collecting *c = ctx;

	c->count = 0;
	for (size_t i = 0; i < BEST; i++)
		c->best_ms[i] = INFINITY;
	c->status = tcb_db_recorded_each(c->db, recording->id, look_at, c, c->err);
	for (unsigned i = 0; i < BEST; i++) {
		if (c->best[i] && c->status == TCB_OK)
			c->status = add(c, c->best[i], i);
		json_decref(c->best[i]);
		c->best[i] = NULL;
	}
	return c->status != TCB_OK;
}

enum tcb_status cli_recorded_starts(struct tcb_db *db, const struct tcb_problem *problem,
				    const struct tcb_device *device, struct cli_winners *out, struct tcb_error *err)
{
	struct collecting c = { .problem = problem, .device = device, .db = db, .out = out, .err = err };

	TCB_TRY(tcb_db_recording_each(db, problem->op_name, NULL, add_recording, &c, err));
	return c.status;
}
