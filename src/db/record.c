/* SPDX-License-Identifier: MIT
 *
 * Writing a sweep: its rows in device, build, op, problem and sweep, and every
 * finished trial with measurements and counters in one transaction.
 */
#include <math.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "db/db_private.h"

enum { SYNC_EVERY_NS = 1000000000 }; /* a power cut may cost so much of a sweep: connect.c */

/* '["scalar","avx2"]' */
static enum tcb_status isa_list(uint32_t mask, struct tcb_str *out, struct tcb_error *err)
{
	const char *separator = "[";

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (!((mask >> isa) & 1u))
			continue;
		tcb_str_addf(out, "%s\"%s\"", separator, tcb_isa_text((enum tcb_isa)isa));
		separator = ",";
	}
	tcb_str_add(out, *separator == '[' ? "[]" : "]");
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory while storing a device") : TCB_OK;
}

static enum tcb_status put_device(struct tcb_db *db, const struct tcb_device *device, int64_t *id_out,
				  struct tcb_error *err)
{
	static const char doing[] = "storing a device";
	const struct tcb_target *target = &device->target;
	struct tcb_str isa = { 0 }, limits = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status = isa_list(target->isa_mask, &isa, err);

	tcb_kind_print_limits(target, &limits);
	if (status == TCB_OK && limits.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while storing a device");

	/* The assignment that changes nothing makes RETURNING give the id of the row that was there. */
	if (status == TCB_OK)
		status = tcb_db_query(
			db, &stmt, doing, err,
			"INSERT INTO device (key, name, threads, kind, arch, model, isa, family, stepping_model, "
			"stepping,"
			" cores, memory_bytes, clock_khz, limits, is_virtual, has_ecc)"
			" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
			" ON CONFLICT (key, name, threads) DO UPDATE SET key = key RETURNING id",
			"ttittttiiiiiitii", device->key, device->name, (int64_t)target->threads,
			tcb_kind_of(target)->name, device->arch, device->model, isa.data, (int64_t)device->family,
			(int64_t)device->stepping_model, (int64_t)device->stepping, (int64_t)device->cores,
			(int64_t)device->memory_bytes, (int64_t)device->clock_khz, limits.data,
			(int64_t)(device->is_virtual != 0), (int64_t)device->has_ecc);
	if (status == TCB_OK)
		status = tcb_db_finish(db, stmt, id_out, doing, err);
	tcb_str_fini(&isa);
	tcb_str_fini(&limits);
	return status;
}

static enum tcb_status put_problem(struct tcb_db *db, const struct tcb_problem *problem, int64_t *id_out,
				   struct tcb_error *err)
{
	const struct tcb_shape *shape = &problem->shape;
	sqlite3_stmt *stmt;

	if (shape->m > INT64_MAX || shape->n > INT64_MAX || shape->k > INT64_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%s: the shape is too large to be stored", problem->op_name);
	TCB_TRY(tcb_db_query(db, &stmt, "storing a problem", err,
			     "INSERT INTO problem (op, contract, m, n, k, words) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
			     " ON CONFLICT (op, contract, m, n, k, words) DO UPDATE SET op = op RETURNING id",
			     "ttiiiw", problem->op_name, tcb_contract_text(problem->contract), (int64_t)shape->m,
			     (int64_t)shape->n, (int64_t)shape->k, &shape->words));
	return tcb_db_finish(db, stmt, id_out, "storing a problem", err);
}

static enum tcb_status put_sweep(struct tcb_db *db, const struct tcb_sweep_record *record, int64_t *sweep_out,
				 struct tcb_error *err)
{
	static const char doing[] = "storing a sweep";
	int64_t device = 0, problem = 0, op = 0, build = 0;
	struct tcb_str seed = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status;

	TCB_TRY(put_device(db, record->device, &device, err));
	TCB_TRY(put_problem(db, record->problem, &problem, err));
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "INSERT INTO op (name, signature) VALUES (?1, ?2)"
			     " ON CONFLICT (name, signature) DO UPDATE SET name = name RETURNING id",
			     "tt", record->problem->op_name, record->op_signature));
	TCB_TRY(tcb_db_finish(db, stmt, &op, doing, err));
	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"INSERT INTO build (version, git_commit, compiler) VALUES (?1, ?2, ?3)"
		" ON CONFLICT (version, git_commit, compiler) DO UPDATE SET version = version RETURNING id",
		"ttt", record->version, record->git_commit, record->compiler));
	TCB_TRY(tcb_db_finish(db, stmt, &build, doing, err));

	tcb_str_addf(&seed, "%llu", (unsigned long long)record->seed);
	status = tcb_db_query(
		db, &stmt, doing, err,
		"INSERT INTO sweep (device_id, problem_id, op_id, build_id, os, driver, strategy, seed, settings,"
		" rotation_bytes, uid)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, lower(hex(randomblob(16)))) RETURNING id",
		"iiiittttti", device, problem, op, build, record->device->os, record->device->driver, record->strategy,
		seed.data, record->settings_json ? record->settings_json : "{}", (int64_t)record->rotation_bytes);
	if (status == TCB_OK)
		status = tcb_db_finish(db, stmt, sweep_out, doing, err);
	tcb_str_fini(&seed);
	if (status == TCB_OK)
		status = tcb_db_query(db, &stmt, doing, err,
				      "INSERT INTO sweep_known SELECT s.id, o.uid FROM sweep s JOIN sweep o"
				      " ON o.device_id = s.device_id AND o.problem_id = s.problem_id"
				      " AND o.rotation_bytes = s.rotation_bytes AND o.id < s.id WHERE s.id = ?1",
				      "i", *sweep_out);
	if (status == TCB_OK)
		status = tcb_db_finish(db, stmt, NULL, doing, err);
	return status;
}

enum tcb_status tcb_db_sweep_begin(struct tcb_db *db, const struct tcb_sweep_record *record, int64_t *sweep_out,
				   struct tcb_error *err)
{
	TCB_TRY(tcb_db_begin(db, "beginning a sweep", err));
	return tcb_db_end(db, put_sweep(db, record, sweep_out, err), "beginning a sweep", err);
}

enum tcb_status tcb_db_sweep_end(struct tcb_db *db, int64_t sweep, const char *status, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int64_t id = 0;

	TCB_TRY(tcb_db_query(db, &stmt, "ending a sweep", err,
			     "UPDATE sweep SET status = ?2, ended_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
			     " WHERE id = ?1 RETURNING id",
			     "it", sweep, status));
	TCB_TRY(tcb_db_finish(db, stmt, &id, "ending a sweep", err));
	return id ? TCB_OK : tcb_fail(err, TCB_E_NOT_FOUND, "%s: there is no sweep %lld", db->path, (long long)sweep);
}

/* Whole nanoseconds; the clock resolves no less.  null stands for a call that gave no time. */
static void samples_print(const struct tcb_measurement *measurement, struct tcb_str *out)
{
	tcb_str_add(out, "[");
	for (size_t i = 0; i < measurement->sample_count; i++) {
		double sample = measurement->samples[i];

		if (isfinite(sample) && fabs(sample) < 9e18)
			tcb_str_addf(out, "%s%lld", i ? "," : "", llround(sample));
		else
			tcb_str_add(out, i ? ",null" : "null");
	}
	tcb_str_add(out, "]");
}

/* Whole per mille; null: unknown. */
static void lost_print(const struct tcb_measurement *measurement, struct tcb_str *out)
{
	for (size_t i = 0; measurement->lost && i < measurement->sample_count; i++) {
		tcb_str_add(out, i ? "," : "[");
		if (isfinite(measurement->lost[i]))
			tcb_str_addf(out, "%ld", lround(1000 * measurement->lost[i]));
		else
			tcb_str_add(out, "null");
	}
	if (measurement->lost && measurement->sample_count)
		tcb_str_add(out, "]");
}

static enum tcb_status put_measurement(struct tcb_db *db, int64_t trial, const struct tcb_measurement *measurement,
				       struct tcb_error *err)
{
	static const char doing[] = "storing a trial";
	struct tcb_str samples = { 0 }, lost = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status;

	samples_print(measurement, &samples);
	lost_print(measurement, &lost);
	if (samples.failed || lost.failed) {
		tcb_str_fini(&samples);
		tcb_str_fini(&lost);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory while %s", doing);
	}
	status = tcb_db_query(db, &stmt, doing, err,
			      "INSERT INTO measurement (trial_id, state, stage, median_ns, lo_ns, hi_ns, dropped_early,"
			      " sample_count, samples, lost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
			      "ittdddiitt", trial, tcb_state_text(measurement->state),
			      tcb_stage_text(measurement->stage), measurement->ns.median, measurement->ns.lo,
			      measurement->ns.hi, (int64_t)(measurement->dropped_early != 0),
			      (int64_t)measurement->sample_count, samples.data, lost.data);
	if (status == TCB_OK)
		status = tcb_db_finish(db, stmt, NULL, doing, err);
	tcb_str_fini(&samples);
	tcb_str_fini(&lost);
	return status;
}

static enum tcb_status put_trial(struct tcb_db *db, int64_t sweep, const struct tcb_trial *trial, struct tcb_error *err)
{
	static const char doing[] = "storing a trial";
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	sqlite3_stmt *stmt;
	int64_t id = 0;

	tcb_geometry_print(&trial->geometry, geometry);
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "INSERT INTO trial (sweep_id, geometry, variant, signature, outcome, message, class,"
			     " error_ratio, pack_ns, prepare_ns, verify_ns)"
			     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING id",
			     "ittttttdddd", sweep, geometry, trial->variant, trial->signature,
			     tcb_outcome_text(trial->outcome), trial->message, tcb_class_text(trial->class_checked),
			     trial->error_ratio, trial->pack_ns, trial->prepare_ns, trial->verify_ns));
	TCB_TRY(tcb_db_finish(db, stmt, &id, doing, err));
	for (size_t i = 0; i < trial->measurement_count; i++)
		TCB_TRY(put_measurement(db, id, &trial->measurements[i], err));
	for (size_t i = 0; i < trial->counter_count; i++) {
		const struct tcb_counter *counter = &trial->counters[i];

		TCB_TRY(tcb_db_query(db, &stmt, doing, err,
				     "INSERT OR REPLACE INTO counter (trial_id, state, source, name, value)"
				     " VALUES (?1, ?2, ?3, ?4, ?5)",
				     "itttd", id, tcb_state_text(counter->state), counter->source, counter->name,
				     counter->value));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	}
	return TCB_OK;
}

enum tcb_status tcb_db_trial_put(struct tcb_db *db, int64_t sweep, const struct tcb_trial *trial, struct tcb_error *err)
{
	static const char doing[] = "storing a trial";
	const int is_synced = tcb_clock_ns() >= db->next_sync_ns;

	if (!is_synced)
		TCB_TRY(tcb_db_exec(db, "PRAGMA synchronous = NORMAL", doing, err));
	enum tcb_status status = tcb_db_begin(db, doing, err);
	if (status == TCB_OK)
		status = tcb_db_end(db, put_trial(db, sweep, trial, err), doing, err);
	if (!is_synced)
		sqlite3_exec(db->sql, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
	else
		db->next_sync_ns = tcb_clock_ns() + SYNC_EVERY_NS;
	return status;
}
