/* SPDX-License-Identifier: MIT
 *
 * Reading back what is known of one problem on one device, so that a sweep
 * goes on where an earlier one stopped.
 *
 * A candidate may have been put several times: screened in one sweep, timed in
 * the finals, or tried again in a later sweep.  The newest row per geometry
 * says how it ended; for each cache state and stage the newest measurement
 * among the rows of the same geometry, kernel signature and outcome is given,
 * samples included.  A row that cannot be read is left out and noted.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "db/db_private.h"

/* Grows with time: numbers do only among trials that were put here, not among those that were merged. */
#define AGE(trial) trial ".finished_at || format('%020d', " trial ".id)"

/* Every trial of the device and problem, and the newest per geometry.  Parameters ?1 to ?10 as bound in select_known.
 */
#define KNOWN_TRIALS                                                                                                \
	"WITH mine AS (SELECT t.* FROM problem p JOIN sweep s ON s.problem_id = p.id JOIN device d ON d.id = "      \
	"s.device_id"                                                                                               \
	" JOIN trial t ON t.sweep_id = s.id WHERE d.key = ?1 AND d.name = ?2 AND d.threads = ?3 AND p.op = ?4"      \
	" AND p.contract = ?5 AND p.m = ?6 AND p.n = ?7 AND p.k = ?8 AND s.rotation_bytes = ?9 AND p.words = ?10)," \
	" newest AS (SELECT id, max(" AGE("mine") ") FROM mine GROUP BY geometry)"

static const char trials_sql[] =
	KNOWN_TRIALS " SELECT id, geometry, variant, signature, outcome, message, class,"
		     " error_ratio, pack_ns, prepare_ns, verify_ns FROM newest JOIN trial USING (id) ORDER BY id";

/* With max(), SQLite takes the other columns from the row that holds the maximum. */
static const char measurements_sql[] = KNOWN_TRIALS
	" SELECT n.id, m.state, m.stage, m.median_ns, m.lo_ns, m.hi_ns, m.dropped_early, m.sample_count, m.samples,"
	" (SELECT a.median_ns FROM trial x JOIN measurement a ON a.trial_id = x.id WHERE x.sweep_id = o.sweep_id AND"
	" x.geometry = ?11 AND a.state = m.state ORDER BY a.stage = 'final', a.id DESC LIMIT 1),"
	" max(" AGE(
		"o") ") FROM newest JOIN trial n USING (id) JOIN mine o ON o.geometry = n.geometry"
		     " AND o.signature = n.signature AND o.outcome = n.outcome JOIN measurement m ON m.trial_id = o.id"
		     " GROUP BY n.id, m.state, m.stage ORDER BY n.id, m.state, m.stage";

static const char counters_sql[] = KNOWN_TRIALS " SELECT n.id, c.state, c.source, c.name, c.value, max(" AGE(
	"o") ") FROM newest JOIN trial n USING (id)"
	     " JOIN mine o ON o.geometry = n.geometry AND o.signature = n.signature AND o.outcome = n.outcome"
	     " JOIN counter c ON c.trial_id = o.id GROUP BY n.id, c.state, c.source, c.name ORDER BY n.id";

static const char doing[] = "reading trials";

/* Arrays that grow while rows are read; pointers between them are set once, in one block, at the end. */
struct array {
	void *items;
	size_t count, capacity, item_bytes;
};

struct reading {
	const struct tcb_parameter *parameters; /* of the op */
	struct array trials, ids, measurements, counters, samples;
	struct array measurement_owner, counter_owner, first_sample; /* size_t each */
};

static void *array_add(struct array *array, size_t item_bytes, size_t count)
{
	if (count >= array->capacity - array->count) {
		size_t capacity = 2 * array->capacity + count + 16;
		void *items = realloc(array->items, capacity * item_bytes);

		if (!items)
			return NULL;
		array->items = items;
		array->capacity = capacity;
	}
	array->item_bytes = item_bytes;
	array->count += count;
	return (char *)array->items + (array->count - count) * item_bytes;
}

static int array_add_index(struct array *array, size_t index)
{
	size_t *item = array_add(array, sizeof(index), 1);

	if (!item)
		return -1;
	*item = index;
	return 0;
}

static enum tcb_status no_memory(struct tcb_db *db, struct tcb_error *err)
{
	return tcb_db_fail(db, SQLITE_NOMEM, doing, err);
}

int64_t tcb_db_samples_parse(const char *text, double *out, size_t capacity)
{
	size_t count = 0;

	if (*text++ != '[')
		return -1;
	if (strcmp(text, "]") == 0)
		return 0;
	for (;; text++) {
		char *end;
		double value = NAN;

		if (strncmp(text, "null", 4) == 0) {
			end = (char *)text + 4;
		} else {
			errno = 0;
			value = (double)strtoll(text, &end, 10);
			if (end == text || errno)
				return -1;
		}
		if (count == capacity)
			return -1;
		out[count++] = value;
		text = end;
		if (*text == ']')
			return text[1] ? -1 : (int64_t)count;
		if (*text != ',')
			return -1;
	}
}

static int class_parse(const char *text, enum tcb_class *out)
{
	for (int i = 0; i < TCB_CLASS_COUNT; i++) {
		if (strcmp(text, tcb_class_text((enum tcb_class)i)) == 0) {
			*out = (enum tcb_class)i;
			return 0;
		}
	}
	return -1;
}

static int stage_parse(const char *text, enum tcb_stage *out)
{
	for (int i = 0; i < TCB_STAGE_COUNT; i++) {
		if (strcmp(text, tcb_stage_text((enum tcb_stage)i)) == 0) {
			*out = (enum tcb_stage)i;
			return 0;
		}
	}
	return -1;
}

/* The columns of the query of trials.  -1, or the first column that cannot be read. */
static int trial_columns(sqlite3_stmt *stmt, const struct tcb_parameter *parameters, struct tcb_trial *trial)
{
	char geometry[TCB_GEOMETRY_TEXT_MAX], outcome[32], class[32];
	const struct tcb_db_room texts[] = {
		{ geometry, sizeof(geometry) },
		{ trial->variant, sizeof(trial->variant) },
		{ trial->signature, sizeof(trial->signature) },
		{ outcome, sizeof(outcome) },
		{ trial->message, sizeof(trial->message) },
		{ class, sizeof(class) },
	};

	memset(trial, 0, sizeof(*trial));

	const int bad = tcb_db_texts(stmt, 1, texts, sizeof texts / sizeof *texts);
	if (bad >= 0)
		return bad;
	trial->error_ratio = tcb_db_double(stmt, 7);
	trial->pack_ns = tcb_db_double(stmt, 8);
	trial->prepare_ns = tcb_db_double(stmt, 9);
	trial->verify_ns = tcb_db_double(stmt, 10);
	if (tcb_geometry_parse_of(geometry, parameters, &trial->geometry, NULL) != TCB_OK)
		return 1;
	if (tcb_outcome_parse(outcome, &trial->outcome, NULL) != TCB_OK)
		return 4;
	return class_parse(class, &trial->class_checked) ? 6 : -1;
}

static enum tcb_status read_trial(struct tcb_db *db, sqlite3_stmt *stmt, struct reading *reading, struct tcb_error *err)
{
	int64_t id = sqlite3_column_int64(stmt, 0), *slot;
	struct tcb_trial trial, *item;
	int column = trial_columns(stmt, reading->parameters, &trial);

	if (column >= 0) {
		tcb_db_note_unreadable(db, "trial", id, stmt, column);
		return TCB_OK;
	}
	item = array_add(&reading->trials, sizeof(*item), 1);
	slot = array_add(&reading->ids, sizeof(*slot), 1);
	if (!item || !slot)
		return no_memory(db, err);
	*item = trial;
	*slot = id;
	return TCB_OK;
}

/* Rows of the other two queries come in the order of the trials' ids. */
static int find_owner(const struct reading *reading, int64_t id, size_t *owner)
{
	const int64_t *ids = reading->ids.items;

	while (*owner < reading->ids.count && ids[*owner] < id)
		(*owner)++;
	return *owner < reading->ids.count && ids[*owner] == id ? 0 : -1;
}

/* The columns of the query of measurements, its samples in VALUES (room for CAPACITY) and lent to MEASUREMENT. */
static int measurement_columns(sqlite3_stmt *stmt, struct tcb_measurement *measurement, double *values, size_t capacity)
{
	const char *samples = (const char *)sqlite3_column_text(stmt, 8);
	char state[16], stage[16];

	memset(measurement, 0, sizeof(*measurement));
	if (tcb_db_text(stmt, 1, state, sizeof(state)) || tcb_state_parse(state, &measurement->state, NULL) != TCB_OK)
		return 1;
	if (tcb_db_text(stmt, 2, stage, sizeof(stage)) || stage_parse(stage, &measurement->stage))
		return 2;
	if (!samples || tcb_db_samples_parse(samples, values, capacity) != (int64_t)capacity)
		return 8;
	measurement->ns = tcb_db_interval(stmt, 3);
	measurement->dropped_early = sqlite3_column_int(stmt, 6);
	measurement->anchor_ns = sqlite3_column_double(stmt, 9);
	measurement->sample_count = capacity;
	return -1;
}

static enum tcb_status read_measurement(struct tcb_db *db, sqlite3_stmt *stmt, struct reading *reading, size_t *owner,
					struct tcb_error *err)
{
	int64_t id = sqlite3_column_int64(stmt, 0);
	int64_t count = sqlite3_column_int64(stmt, 7);
	size_t first = reading->samples.count;
	struct tcb_measurement read, *measurement;
	double *values;
	int column = 7;

	if (find_owner(reading, id, owner))
		return TCB_OK; /* of a trial that was left out */
	/* A sample takes two characters at least, which bounds a count that was tampered with. */
	if (count >= 0 && count <= sqlite3_column_bytes(stmt, 8)) {
		values = array_add(&reading->samples, sizeof(*values), (size_t)count);
		if (!values)
			return no_memory(db, err);
		column = measurement_columns(stmt, &read, values, (size_t)count);
	}
	if (column >= 0) {
		reading->samples.count = first;
		tcb_db_note_unreadable(db, "measurement of trial", id, stmt, column);
		return TCB_OK;
	}
	measurement = array_add(&reading->measurements, sizeof(*measurement), 1);
	if (!measurement || array_add_index(&reading->measurement_owner, *owner) ||
	    array_add_index(&reading->first_sample, first))
		return no_memory(db, err);
	*measurement = read;
	return TCB_OK;
}

static int counter_columns(sqlite3_stmt *stmt, struct tcb_counter *counter)
{
	char state[16];

	memset(counter, 0, sizeof(*counter));
	if (tcb_db_text(stmt, 1, state, sizeof(state)) || tcb_state_parse(state, &counter->state, NULL) != TCB_OK)
		return 1;
	if (tcb_db_text(stmt, 2, counter->source, sizeof(counter->source)))
		return 2;
	if (tcb_db_text(stmt, 3, counter->name, sizeof(counter->name)))
		return 3;
	counter->value = tcb_db_double(stmt, 4);
	return -1;
}

static enum tcb_status read_counter(struct tcb_db *db, sqlite3_stmt *stmt, struct reading *reading, size_t *owner,
				    struct tcb_error *err)
{
	int64_t id = sqlite3_column_int64(stmt, 0);
	struct tcb_counter counter, *item;
	int column = counter_columns(stmt, &counter);

	if (find_owner(reading, id, owner))
		return TCB_OK; /* of a trial that was left out */
	if (column >= 0) {
		tcb_db_note_unreadable(db, "counter of trial", id, stmt, column);
		return TCB_OK;
	}
	item = array_add(&reading->counters, sizeof(*item), 1);
	if (!item || array_add_index(&reading->counter_owner, *owner))
		return no_memory(db, err);
	*item = counter;
	return TCB_OK;
}

/* Runs one of the three queries and hands its rows to the reader that KIND names: 't', 'm' or 'c'. */
static enum tcb_status select_known(struct tcb_db *db, const struct tcb_device *device,
				    const struct tcb_problem *problem, uint64_t rotation_bytes, const char *anchor,
				    char kind, struct reading *reading, struct tcb_error *err)
{
	const char *sql = kind == 't' ? trials_sql : kind == 'm' ? measurements_sql : counters_sql;
	sqlite3_stmt *stmt;
	enum tcb_status status;
	size_t owner = 0;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, doing, err, sql, kind == 'm' ? "ttittiiiiwt" : "ttittiiiiw", device->key,
			     device->name, (int64_t)device->target.threads, problem->op_name,
			     tcb_contract_text(problem->contract), (int64_t)problem->shape.m, (int64_t)problem->shape.n,
			     (int64_t)problem->shape.k, (int64_t)rotation_bytes, &problem->shape.words, anchor));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		if (kind == 't')
			status = read_trial(db, stmt, reading, err);
		else if (kind == 'm')
			status = read_measurement(db, stmt, reading, &owner, err);
		else
			status = read_counter(db, stmt, reading, &owner, err);
		if (status != TCB_OK)
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

enum tcb_status tcb_db_trials_audit(struct tcb_db *db, struct tcb_error *err)
{
	static const struct {
		const char *table, *sql;
	} queries[] = {
		{ "trial", "SELECT id, geometry, variant, signature, outcome, message, class, error_ratio, pack_ns,"
			   " prepare_ns, verify_ns FROM trial ORDER BY id" },
		{ "counter of trial", "SELECT trial_id, state, source, name, value FROM counter ORDER BY trial_id" },
	};
	struct tcb_trial trial;
	struct tcb_counter counter;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		sqlite3_stmt *stmt;
		enum tcb_status status;
		int row;

		TCB_TRY(tcb_db_query(db, &stmt, doing, err, queries[i].sql, ""));
		while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
			int column = i == 0 ? trial_columns(stmt, tcb_parameters_any, &trial)
					    : counter_columns(stmt, &counter);

			/* What is wrong with a geometry, column 1 of a trial, the caller says itself. */
			if (column > (i == 0 ? 1 : 0))
				tcb_db_note_unreadable(db, queries[i].table, sqlite3_column_int64(stmt, 0), stmt,
						       column);
		}
		sqlite3_finalize(stmt);
		TCB_TRY(status);
	}
	return TCB_OK;
}

static void *take(char **cursor, const struct array *array)
{
	void *start = *cursor;

	if (array->count)
		memcpy(start, array->items, array->count * array->item_bytes);
	*cursor += array->count * array->item_bytes;
	return start;
}

/* All in one block: trials, measurements and counters and samples, each a multiple of 8 bytes. */
static enum tcb_status assemble(struct tcb_db *db, const struct reading *reading, struct tcb_trial **out,
				struct tcb_error *err)
{
	const struct array *parts[] = { &reading->trials, &reading->measurements, &reading->samples,
					&reading->counters };
	const size_t *measurement_owner = reading->measurement_owner.items;
	const size_t *counter_owner = reading->counter_owner.items;
	const size_t *first_sample = reading->first_sample.items;
	struct tcb_measurement *measurements;
	struct tcb_counter *counters;
	double *samples;
	size_t bytes = 0;
	char *cursor;

	_Static_assert(sizeof(struct tcb_trial) % 8 == 0 && sizeof(struct tcb_measurement) % 8 == 0 &&
			       sizeof(struct tcb_counter) % 8 == 0,
		       "the parts of the block stay aligned");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		bytes += parts[i]->count * parts[i]->item_bytes;
	*out = NULL;
	if (reading->trials.count == 0)
		return TCB_OK;
	cursor = malloc(bytes);
	if (!cursor)
		return no_memory(db, err);
	*out = take(&cursor, &reading->trials);
	measurements = take(&cursor, &reading->measurements);
	samples = take(&cursor, &reading->samples);
	counters = take(&cursor, &reading->counters);
	for (size_t i = 0; i < reading->measurements.count; i++) {
		struct tcb_trial *trial = &(*out)[measurement_owner[i]];

		measurements[i].samples = samples + first_sample[i];
		if (trial->measurement_count++ == 0)
			trial->measurements = &measurements[i];
	}
	for (size_t i = 0; i < reading->counters.count; i++) {
		struct tcb_trial *trial = &(*out)[counter_owner[i]];

		if (trial->counter_count++ == 0)
			trial->counters = &counters[i];
	}
	return TCB_OK;
}

enum tcb_status tcb_db_trials(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
			      uint64_t rotation_bytes, struct tcb_trial **out, size_t *count_out, struct tcb_error *err)
{
	return tcb_db_trials_anchored(db, device, problem, rotation_bytes, NULL, out, count_out, err);
}

enum tcb_status tcb_db_trials_anchored(struct tcb_db *db, const struct tcb_device *device,
				       const struct tcb_problem *problem, uint64_t rotation_bytes, const char *anchor,
				       struct tcb_trial **out, size_t *count_out, struct tcb_error *err)
{
	struct reading reading = { .parameters = tcb_db_parameters(db, problem->op_name, NULL) };
	struct array *arrays[] = { &reading.trials,        &reading.ids,         &reading.measurements,
				   &reading.counters,      &reading.samples,     &reading.measurement_owner,
				   &reading.counter_owner, &reading.first_sample };
	enum tcb_status status;

	*out = NULL;
	*count_out = 0;
	/* One snapshot for the three queries, without keeping writers out. */
	TCB_TRY(tcb_db_exec(db, "BEGIN", doing, err));
	status = select_known(db, device, problem, rotation_bytes, anchor, 't', &reading, err);
	if (status == TCB_OK)
		status = select_known(db, device, problem, rotation_bytes, anchor, 'm', &reading, err);
	if (status == TCB_OK)
		status = select_known(db, device, problem, rotation_bytes, anchor, 'c', &reading, err);
	status = tcb_db_end(db, status, doing, err);
	if (status == TCB_OK)
		status = assemble(db, &reading, out, err);
	if (status == TCB_OK)
		*count_out = reading.trials.count;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		free(arrays[i]->items);
	return status;
}

void tcb_db_trials_free(struct tcb_trial *trials, size_t count)
{
	(void)count; /* one block */
	free(trials);
}

/* The columns of the query below.  -1, or the first column that cannot be read. */
static int tried_columns(sqlite3_stmt *stmt, struct tcb_tried *tried)
{
	char contract[16], kind[16];
	const struct {
		int column;
		char *out;
		size_t capacity;
	} texts[] = {
		{ 1, tried->device.key, sizeof(tried->device.key) },
		{ 2, tried->device.name, sizeof(tried->device.name) },
		{ 3, tried->device.model, sizeof(tried->device.model) },
		{ 5, tried->problem.op_name, sizeof(tried->problem.op_name) },
		{ 6, contract, sizeof(contract) },
		{ 11, tried->default_geometry, sizeof(tried->default_geometry) },
		{ 12, tried->device.arch, sizeof(tried->device.arch) },
	};
	size_t *const sizes[] = { &tried->problem.shape.m, &tried->problem.shape.n, &tried->problem.shape.k };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (tcb_db_text(stmt, texts[i].column, texts[i].out, texts[i].capacity))
			return texts[i].column;
	if (tcb_contract_parse(contract, &tried->problem.contract, NULL) != TCB_OK)
		return 6;
	for (int i = 0; i < 3; i++) {
		int64_t value = sqlite3_column_int64(stmt, 7 + i);

		if (value < 0)
			return 7 + i;
		*sizes[i] = (size_t)value;
	}
	if (tcb_db_words(stmt, 14, &tried->problem.shape.words))
		return 14;
	const int64_t space_count = sqlite3_column_int64(stmt, 15);
	tried->space_count = space_count > 0 ? (size_t)space_count : 0;
	tried->device.target.threads = (unsigned)sqlite3_column_int64(stmt, 4);
	tried->rotation_bytes = (uint64_t)sqlite3_column_int64(stmt, 10);
	if (tcb_db_text(stmt, 13, kind, sizeof(kind)) || tcb_kind_find(kind, &tried->device.target.kind) != 0)
		return 13;
	return -1;
}

enum tcb_status tcb_db_tried_each(struct tcb_db *db, int (*each)(void *ctx, const struct tcb_tried *tried), void *ctx,
				  struct tcb_error *err)
{
	struct array list = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"SELECT min(s.id), d.key, d.name, d.model, d.threads, p.op, p.contract, p.m, p.n, p.k,"
		" s.rotation_bytes, (SELECT b.default_geometry FROM best b WHERE b.device_id = d.id"
		" AND b.problem_id = p.id LIMIT 1), d.arch, d.kind, p.words,"
		" (SELECT max(b.space_count) FROM best b WHERE b.device_id = d.id AND b.problem_id = p.id)"
		" FROM sweep s JOIN device d ON d.id = s.device_id JOIN problem p ON p.id = s.problem_id"
		" WHERE EXISTS (SELECT 1 FROM trial t WHERE t.sweep_id = s.id) GROUP BY d.id, p.id, s.rotation_bytes"
		" ORDER BY p.op, p.contract, p.m, p.n, p.k, p.words, d.name, d.key, d.threads, s.rotation_bytes",
		""));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_tried tried = { 0 }, *added;
		int column = tried_columns(stmt, &tried);

		tcb_db_name_op(db, &tried.problem);
		if (column >= 0) {
			tcb_db_note_unreadable(db, "sweep", sqlite3_column_int64(stmt, 0), stmt, column);
		} else if (!(added = array_add(&list, sizeof(tried), 1))) {
			status = no_memory(db, err);
			break;
		} else {
			*added = tried;
		}
	}
	sqlite3_finalize(stmt);
	for (size_t i = 0; status == TCB_OK && i < list.count; i++)
		if (each(ctx, (struct tcb_tried *)list.items + i))
			break;
	free(list.items);
	return status;
}
