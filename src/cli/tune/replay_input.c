/* SPDX-License-Identifier: MIT
 *
 * Files to recorded spaces: inflates what is compressed (zlib reads plain files
 * as they are), tells databases from JSON by their first bytes, and takes each
 * problem of a database apart into its cache states.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/util.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/tune/replay_input.h"
#include "db/db.h"
#include "db/recordings.h"
#include "kernels/op.h"

enum {
	READ_BYTES = 1 << 20,
	TRIALS_LEAST = 100, /* of a problem: of fewer, a search says nothing */
};
static const size_t FILE_MOST = (size_t)4 << 30; /* inflated; the largest of the public ones has 0.2 GB */
static const char DATABASE[] = "SQLite format 3", XZ[] = "\xfd"
							 "7zXZ";

/* --- files --- */

static enum tcb_status read_some(gzFile file, const char *path, struct cli_bytes *out, int *more, struct tcb_error *err)
{
	if (out->capacity - out->count < READ_BYTES) {
		const size_t capacity = 2 * out->capacity + READ_BYTES;
		char *data = capacity <= FILE_MOST ? realloc(out->data, capacity) : NULL;
		if (!data)
			return tcb_fail(err, TCB_E_NOMEM, "%s: out of memory, or larger than %zu bytes", path,
					FILE_MOST);
		out->data = data;
		out->capacity = capacity;
	}
	const int got = gzread(file, out->data + out->count, READ_BYTES);
	int code;
	if (got < 0)
		return tcb_fail(err, TCB_E_IO, "%s: cannot be read: %s", path, gzerror(file, &code));
	out->count += (size_t)got;
	*more = got > 0;
	return TCB_OK;
}

enum tcb_status cli_read_inflated(const char *path, struct cli_bytes *out, struct tcb_error *err)
{
	struct stat info;
	if (stat(path, &info) != 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: no such file", path);
	if (!S_ISREG(info.st_mode))
		return tcb_fail(err, TCB_E_USAGE, "%s: is not a regular file: give the files themselves", path);
	gzFile file = gzopen(path, "rb");
	if (!file)
		return tcb_fail(err, TCB_E_IO, "%s: cannot be opened", path);
	enum tcb_status status = TCB_OK;
	for (int more = 1; status == TCB_OK && more;)
		status = read_some(file, path, out, &more, err);
	if (gzclose(file) == Z_BUF_ERROR && status == TCB_OK)
		status = tcb_fail(err, TCB_E_FORMAT,
				  "%s: is cut off: its compressed data end early; fetch it again ('gzip -t' checks it)",
				  path);
	return status;
}

static int begins_with(const struct cli_bytes *bytes, const char *with)
{
	return bytes->count >= strlen(with) && !memcmp(bytes->data, with, strlen(with));
}

/* --- spaces --- */

static enum tcb_status add(struct cli_spaces *spaces, const struct tcb_recorded *space, const struct cli_origin *origin,
			   struct tcb_error *err)
{
	struct tcb_recorded *items = realloc(spaces->items, (spaces->count + 1) * sizeof *items);
	if (items)
		spaces->items = items;
	struct cli_origin *origins = realloc(spaces->origins, (spaces->count + 1) * sizeof *origins);
	if (origins)
		spaces->origins = origins;
	if (!items || !origins)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu recorded spaces", spaces->count + 1);
	spaces->items[spaces->count] = *space;
	spaces->origins[spaces->count++] = *origin;
	return TCB_OK;
}

struct from_database {
	struct tcb_db *db;
	struct cli_spaces *spaces;
	size_t small; /* problems with too few trials */
	size_t parts; /* problems with fewer candidates than their space has */
	double least; /* share of them that was recorded; whose it is: */
	char least_name[2 * TCB_SHAPE_TEXT_MAX];
	enum tcb_status status;
	struct tcb_error *err;
};

static size_t find_default(const struct tcb_trial *trials, size_t count, const char *text)
{
	const struct tcb_parameter *parameters = count ? trials->geometry.parameters : NULL;
	struct tcb_geometry geometry;
	if (!text[0] || tcb_geometry_parse_of(text, parameters, &geometry, NULL) != TCB_OK)
		return TCB_ASK_NONE;
	for (size_t i = 0; i < count; i++)
		if (tcb_geometry_equal(&trials[i].geometry, &geometry))
			return i;
	return TCB_ASK_NONE;
}

/* Whose the trials are, and their geometries. */
static enum tcb_status make_origin(const struct tcb_tried *tried, const struct tcb_trial *trials, size_t count,
				   struct cli_origin *out, struct tcb_error *err)
{
	*out = (struct cli_origin){ .problem = tried->problem, .device = tried->device };
	out->geometries = malloc(count * sizeof *out->geometries + 1);
	if (!out->geometries)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu geometries", count);
	for (size_t i = 0; i < count; i++)
		out->geometries[i] = trials[i].geometry;
	return TCB_OK;
}

static enum tcb_status add_space(struct cli_spaces *spaces, const struct tcb_recorded *space,
				 const struct tcb_tried *tried, const struct tcb_trial *trials, size_t count,
				 struct tcb_error *err)
{
	struct cli_origin origin;
	if (space->valid < TRIALS_LEAST)
		return TCB_E_NOT_FOUND;
	TCB_TRY(make_origin(tried, trials, count, &origin, err));
	enum tcb_status status = add(spaces, space, &origin, err);
	if (status != TCB_OK)
		free(origin.geometries);
	return status;
}

static enum tcb_status add_trials(struct from_database *from, const struct tcb_tried *tried,
				  const struct tcb_trial *trials, size_t count, struct tcb_error *err)
{
	char shape[TCB_SHAPE_TEXT_MAX], name[sizeof(((struct tcb_recorded *)0)->name)];
	size_t added = 0;
	if (tried->problem.op)
		TCB_TRY(cli_replay_winners_add(&from->spaces->winners, &tried->problem, &tried->device, trials, count,
					       err));
	tcb_shape_print(&tried->problem.shape, shape);
	for (int state = 0; state < TCB_STATE_COUNT && count >= TRIALS_LEAST; state++) {
		struct tcb_recorded space;
		(void)snprintf(name, sizeof name, "%s %s %s %s %s", tried->problem.op_name,
			       tcb_contract_text(tried->problem.contract), shape, tried->device.name,
			       tcb_state_text((enum tcb_state)state));
		TCB_TRY(tcb_recorded_trials(trials, count, (enum tcb_state)state, name, &space, err));
		space.start = find_default(trials, count, tried->default_geometry);
		enum tcb_status status = add_space(from->spaces, &space, tried, trials, count, err);
		added += status == TCB_OK;
		if (status != TCB_OK)
			tcb_recorded_fini(&space);
		if (status != TCB_OK && status != TCB_E_NOT_FOUND)
			return status;
	}
	from->small += added == 0;
	return TCB_OK;
}

/* Remembers TRIED if only a part of its space was recorded. */
static void note_part(struct from_database *from, const struct tcb_tried *tried, size_t count)
{
	const double share = (double)count / (double)tried->space_count;
	char shape[TCB_SHAPE_TEXT_MAX];
	if (count < TRIALS_LEAST || count >= tried->space_count || (from->parts++ && share >= from->least))
		return;
	from->least = share;
	tcb_shape_print(&tried->problem.shape, shape);
	(void)snprintf(from->least_name, sizeof from->least_name, "%s %s: %zu of %zu", tried->problem.op_name, shape,
		       count, tried->space_count);
}

static int add_tried(void *ctx, const struct tcb_tried *tried)
{
	struct from_database *from = ctx;
	struct tcb_trial *trials;
	size_t count;
	from->status = tcb_db_trials(from->db, &tried->device, &tried->problem, tried->rotation_bytes, &trials, &count,
				     from->err);
	if (from->status == TCB_OK)
		from->status = add_trials(from, tried, trials, count, from->err);
	note_part(from, tried, count);
	tcb_db_trials_free(trials, count);
	return from->status != TCB_OK;
}

static int add_result(void *ctx, const char *result)
{
	struct tcb_str *text = ctx;
	tcb_str_addf(text, "%s%s", text->length ? "," : "{\"results\":[", result);
	return 0;
}

/* What was imported of one op on one device, as the T4 file that it could be exported to. */
static int add_recording(void *ctx, const struct tcb_recording *recording)
{
	struct from_database *from = ctx;
	struct tcb_str text = { 0 };
	struct tcb_recorded space;
	char name[sizeof space.name];
	(void)snprintf(name, sizeof name, "%.60s %.60s imported", recording->op, recording->device);
	from->status = tcb_db_recorded_each(from->db, recording->id, add_result, &text, from->err);
	tcb_str_add(&text, "]}");
	if (from->status == TCB_OK && text.failed)
		from->status = tcb_fail(from->err, TCB_E_NOMEM, "%s: out of memory", name);
	if (from->status == TCB_OK)
		from->status = tcb_recorded_parse(text.data, text.length, name, &space, from->err);
	tcb_str_fini(&text);
	if (from->status == TCB_OK) {
		from->status = add(from->spaces, &space, &(struct cli_origin){ .geometries = NULL }, from->err);
		if (from->status != TCB_OK)
			tcb_recorded_fini(&space);
	}
	return from->status != TCB_OK;
}

static enum tcb_status add_database(struct cli_spaces *spaces, const char *path, struct tcb_error *err)
{
	struct from_database from = { .spaces = spaces, .err = err };
	const size_t before = spaces->count;
	TCB_TRY(cli_open_db_file(spaces->ops, path, TCB_DB_READ, &from.db, err));
	enum tcb_status status = tcb_db_tried_each(from.db, add_tried, &from, err);
	if (status == TCB_OK)
		status = from.status;
	if (status == TCB_OK)
		status = tcb_db_recording_each(from.db, NULL, NULL, add_recording, &from, err);
	if (status == TCB_OK)
		status = from.status;
	cli_close_db(from.db);
	if (status == TCB_OK && from.small)
		cli_say("%s: %zu problem%s with fewer than %d measured candidates left out", path, from.small,
			from.small == 1 ? "" : "s", TRIALS_LEAST);
	if (status == TCB_OK && from.parts)
		cli_say("%s: scores are of what was measured; of %zu problem%s not all candidates were (%s)", path,
			from.parts, from.parts == 1 ? "" : "s", from.least_name);
	if (status == TCB_OK && spaces->count == before)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s: no problem with %d measured candidates; sweep one with a longer --budget, or none",
				path, TRIALS_LEAST);
	return status;
}

/* Whether a file without closing brackets is all of its space cannot be told from it. */
static void say_open(const struct tcb_recorded *space, const char *path)
{
	char most[64] = "";
	if (space->legal)
		(void)snprintf(most, sizeof most, ", of at most %zu by its tune_params", space->legal);
	cli_say("%s: ends without its closing brackets, after %zu configurations%s: if its recording was stopped or it "
		"was cut off, scores are of a part of the space",
		path, space->lattice.count, most);
}

static enum tcb_status add_bytes(struct cli_spaces *spaces, const struct cli_bytes *bytes, const char *path,
				 struct tcb_error *err)
{
	const char *slash = strrchr(path, '/');
	struct tcb_recorded space;
	TCB_TRY(tcb_recorded_parse(bytes->data, bytes->count, slash ? slash + 1 : path, &space, err));
	if (space.is_open)
		say_open(&space, path);
	enum tcb_status status = add(spaces, &space, &(struct cli_origin){ .geometries = NULL }, err);
	if (status != TCB_OK)
		tcb_recorded_fini(&space);
	return status;
}

enum tcb_status cli_spaces_add(struct cli_spaces *spaces, const char *path, struct tcb_error *err)
{
	struct cli_bytes bytes = { 0 };
	struct stat info;
	enum tcb_status status = cli_read_inflated(path, &bytes, err);
	if (status == TCB_OK && begins_with(&bytes, XZ))
		status = tcb_fail(err, TCB_E_USAGE, "%s: is compressed with xz: unpack it first (xz -dk)", path);
	else if (status == TCB_OK && begins_with(&bytes, DATABASE) && stat(path, &info) == 0 &&
		 (size_t)info.st_size != bytes.count)
		status = tcb_fail(err, TCB_E_USAGE, "%s: is a compressed database: unpack it first (gunzip -k)", path);
	else if (status == TCB_OK && begins_with(&bytes, DATABASE))
		status = add_database(spaces, path, err);
	else if (status == TCB_OK)
		status = add_bytes(spaces, &bytes, path, err);
	free(bytes.data);
	return status;
}

void cli_spaces_fini(struct cli_spaces *spaces)
{
	for (size_t i = 0; i < spaces->count; i++) {
		tcb_recorded_fini(&spaces->items[i]);
		free(spaces->origins[i].geometries);
	}
	free(spaces->items);
	free(spaces->origins);
	cli_replay_winners_fini(&spaces->winners);
}
