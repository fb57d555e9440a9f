/* SPDX-License-Identifier: MIT
 *
 * The tuning database (SPEC section 8): all the SQL of the project.  The
 * schema is schemas/NNN_*.sql, applied in order; user_version is the number of
 * the last one.  Every write is one transaction; a trial outlives its process
 * when tcb_db_trial_put returns, and a power cut once a trial is put a second
 * later, or anything else is.  Many processes may use one file; a handle belongs to
 * one thread at a time and must not cross a fork.
 */
#ifndef TCB_DB_DB_H
#define TCB_DB_DB_H

#include <stddef.h>
#include <stdint.h>

#include "base/compute.h"
#include "base/objective.h"
#include "base/problem.h"
#include "base/target.h"
#include "base/trial.h"

struct tcb_db;

/* WRITE creates and migrates; READ never changes the contents; READ_SYSTEM writes nothing at all beside the file
 * either, unless a log was left there. */
enum tcb_db_mode { TCB_DB_READ, TCB_DB_WRITE, TCB_DB_READ_SYSTEM };

/*
 * Opens PATH.  Errors say what to do: not a database, another application's database, a schema newer than this build
 * (TCB_E_VERSION), unreadable, read-only directory, full disk.  READ of a file that does not exist: TCB_E_NOT_FOUND.
 */
enum tcb_status tcb_db_open(const char *path, enum tcb_db_mode mode, struct tcb_db **out, struct tcb_error *err);
void tcb_db_close(struct tcb_db *db);
/* Is the file of an older schema, and DB a migrated copy of it in memory?  Opened for WRITE it would be migrated. */
int tcb_db_is_copy(const struct tcb_db *db);
/* From now on the problems that DB hands out have their ops, by NAMES, which is copied; shapes are as they are stored,
 * legal for the op or not. */
void tcb_db_know_ops(struct tcb_db *db, const struct tcb_op_names *names);
/*
 * Rows that cannot be read (a text too long, a word that is none of its list, a negative size) are left out by what
 * reads here: a damaged row costs itself only.  How many were so far through this handle, and the FIRST (nullable) in a
 * line that is lent until the handle is closed.
 */
size_t tcb_db_unreadable(const struct tcb_db *db, const char **first_out);
/* --db, else TCBTUNE_DB, else $XDG_DATA_HOME/tcbtune/tuning.db (or ~/.local/share); WRITE creates the folder of that
 * default. */
enum tcb_status tcb_db_path(const char *option, enum tcb_db_mode mode, char *out, size_t capacity,
			    struct tcb_error *err);

/* The database that belongs to the installation, below the user's: TCBTUNE_SYSTEM_DB, else share/tcbtune/system.db of
 * the prefix that this code was loaded from, else of the prefix that it was built for.  0: none (the variable is empty,
 * or there is no such file and nobody asked for it). */
int tcb_db_system_path(char *out, size_t capacity);

/* What one sweep is, for the rows device, build, op, problem and sweep. */
struct tcb_sweep_record {
	const struct tcb_device *device;
	const struct tcb_problem *problem;
	const char *op_signature;
	const char *git_commit, *compiler, *version; /* build */
	const char *strategy;
	uint64_t seed;
	uint64_t rotation_bytes;   /* as asked for; 0: the default rule */
	const char *settings_json; /* states, budget: whatever else makes the measurement repeatable */
};
enum tcb_status tcb_db_sweep_begin(struct tcb_db *db, const struct tcb_sweep_record *record, int64_t *sweep_out,
				   struct tcb_error *err);
/* STATUS: "complete", "interrupted", "budget".  A sweep that was killed stays "running". */
enum tcb_status tcb_db_sweep_end(struct tcb_db *db, int64_t sweep, const char *status, struct tcb_error *err);
enum tcb_status tcb_db_trial_put(struct tcb_db *db, int64_t sweep, const struct tcb_trial *trial,
				 struct tcb_error *err);

/*
 * Trials of earlier sweeps of the same device (key, name, threads), problem and rotation (whose cold times are of the
 * same kind), the newest per geometry.  A candidate
 * may have been put more than once (screened, then timed in the finals): the newest row says how it ended, and the
 * newest measurement per state and stage of the same geometry, signature and outcome is given.  The caller drops those
 * whose signature is no longer that of its variant.  OUT is one block: free with tcb_db_trials_free.
 */
enum tcb_status tcb_db_trials(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
			      uint64_t rotation_bytes, struct tcb_trial **out, size_t *count_out,
			      struct tcb_error *err);
/* The same, with the time of the geometry ANCHOR in the sweep of each measurement: sweeps of several machines, which
 * were merged, are compared by ratios to it. */
enum tcb_status tcb_db_trials_anchored(struct tcb_db *db, const struct tcb_device *device,
				       const struct tcb_problem *problem, uint64_t rotation_bytes, const char *anchor,
				       struct tcb_trial **out, size_t *count_out, struct tcb_error *err);
void tcb_db_trials_free(struct tcb_trial *trials, size_t count);

/* A sweep of a problem, and how to repeat it. */
struct tcb_swept {
	char shard[16];  /* "3/4"; empty: the whole space */
	char status[16]; /* as given to tcb_db_sweep_end, or "running" */
	char strategy[64], seed[24];
	double budget_s; /* 0: none */
	uint64_t max_trials;
	int any_size;
};
/* Calls EACH for the sweeps of a device, problem and rotation in the order of their beginnings; a nonzero return stops.
 */
enum tcb_status tcb_db_swept_each(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
				  uint64_t rotation_bytes, int (*each)(void *ctx, const struct tcb_swept *swept),
				  void *ctx, struct tcb_error *err);

/* What tcb_db_trials can be asked for. */
struct tcb_tried {
	struct tcb_device device; /* key, name, arch, model, kind and threads */
	struct tcb_problem problem;
	uint64_t rotation_bytes;
	char default_geometry[TCB_GEOMETRY_TEXT_MAX]; /* empty where there is no best row */
	size_t space_count;                           /* candidates that were legal; 0 where there is no best row */
};
/* Calls EACH for every device, problem and rotation with trials, ordered by op, contract, shape and device; a nonzero
 * return stops.  EACH may read the database. */
enum tcb_status tcb_db_tried_each(struct tcb_db *db, int (*each)(void *ctx, const struct tcb_tried *tried), void *ctx,
				  struct tcb_error *err);

/* A winner of fewer candidates is thin: starts and first proposals of a strategy alone. */
enum { TCB_THIN_TRIED = 20 };

/* The winner of one problem on one device in one cache state. */
struct tcb_best {
	char device_name[TCB_DEVICE_NAME_MAX], device_key[TCB_DEVICE_KEY_MAX], arch[32];
	char model[TCB_DEVICE_TEXT_MAX];
	struct tcb_target target; /* a GPU's: what its kernels depend on; of a CPU only the kind and the threads */
	unsigned threads;
	struct tcb_problem problem;
	enum tcb_state state;
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	char variant[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX];
	int modelled;    /* ranked by a model, never measured */
	int provisional; /* the best so far of a sweep without finals: no proof of anything */
	/* When it is put: a row of this signature gives way whatever it is worth, since its kernel has changed; may be
	 * empty. */
	char replaces[TCB_SIGNATURE_MAX];
	struct tcb_interval ns;
	char default_geometry[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_interval default_ns, speedup; /* speedup: default over best, paired */
	struct tcb_interval limit_ns;            /* the device's read limit for the same bytes; median 0 if none */
	char limit_method[64];
	double bytes, flops; /* of one call, from the op's model */
	/* Of its device, operations a nanosecond; 0: unknown.  Read only: tcb_db_rate_put() stores them. */
	double compute_rate[TCB_COMPUTE_COUNT];
	double regret;
	double flip_probability; /* that the same finals, held again, name another winner; NaN: unknown */
	/* NaN: unknown.  As a ratio - 1, of as many trials again; shares of the processors' time that others had, and
	 * of the looks at a GPU that found its clocks held back. */
	double expected_gain, others_busy, held_back;
	/* What it has the least of, "" and "time" are the same; speedup is of it.  Of a call; NaN: not measured. */
	char objective[TCB_OBJECTIVE_TEXT_MAX];
	double joules, default_joules;
	double plain_ns; /* read only: of a GPU's geometry with pdl=1, what it took with pdl=0; NaN: unknown */
	/* Rounds of its finals, and those in which nobody disturbed a finalist; final_rounds 0: unknown. */
	size_t final_rounds, quiet_rounds;
	size_t tie_count, tried, space_count;
	char measured_at[32]; /* ISO 8601, UTC */
	char git_commit[48];
};
/*
 * Replaces the row of the sweep's device and problem and of BEST's state, except that a modelled row never replaces a
 * measured one, nor a provisional row a proven one; a proven row also replaces modelled ones of other devices of the
 * same name, and a modelled row is not stored beside a measured one of that name.  Of BEST, device, target, problem,
 * tie_count and git_commit are not read; an empty measured_at means now.  The winner must have an ok trial with that
 * geometry and signature in this or an earlier sweep (TCB_E_NOT_FOUND), unless it is modelled.  TIE_SET: canonical
 * geometry texts, winner first.
 */
enum tcb_status tcb_db_best_put(struct tcb_db *db, int64_t sweep, const struct tcb_best *best,
				const char *const *tie_set, size_t tie_count, struct tcb_error *err);
/* Calls EACH for every best row, ordered by op, device, contract, shape and state; a nonzero return stops. */
struct tcb_best_filter {
	const char *op, *device_name; /* NULL: any */
};
enum tcb_status tcb_db_best_each(struct tcb_db *db, const struct tcb_best_filter *filter,
				 int (*each)(void *ctx, const struct tcb_best *best), void *ctx, struct tcb_error *err);
/* Calls EACH for the texts of the tie set of one best row, the first TCB_DB_TIES_MAX of them. */
enum { TCB_DB_TIES_MAX = 1000 };
enum tcb_status tcb_db_ties_each(struct tcb_db *db, const struct tcb_best *best,
				 int (*each)(void *ctx, const char *geometry), void *ctx, struct tcb_error *err);
/* What a meter said of candidates of BEST's device, problem and state, the newest of each geometry; a nonzero return
 * stops. */
struct tcb_energy_row {
	char geometry[TCB_GEOMETRY_TEXT_MAX], source[TCB_COUNTER_SOURCE_MAX];
	double joules, least, most, ns; /* of a call; least and most of a few runs */
	double step_s;                  /* of the meter */
};
enum tcb_status tcb_db_energy_each(struct tcb_db *db, const struct tcb_best *best,
				   int (*each)(void *ctx, const struct tcb_energy_row *row), void *ctx,
				   struct tcb_error *err);
/* Calls EACH for the newest counters stored for the best row's geometry, kernel and state: of events, and of energy. */
enum tcb_status tcb_db_counters_each(struct tcb_db *db, const struct tcb_best *best,
				     int (*each)(void *ctx, const struct tcb_counter *counter), void *ctx,
				     struct tcb_error *err);

/*
 * Adds to DB all that the databases PATHS hold and it does not: all of it, or nothing.  Merged again, nothing is added;
 * in any order, the same winners result (merge.c says which).  A winner is provisional then if there are trials of a
 * sweep that its finals did not know.  Files that are not sound are refused (TCB_E_FORMAT).
 */
struct tcb_db_merged {
	size_t sweeps, trials, best; /* rows that were added; of best, those that replaced another included */
	size_t claims;               /* results of `tcbtune verify` that were added, or replaced an older one */
	size_t provisional;          /* winners that are, afterwards */
};
enum tcb_status tcb_db_merge(struct tcb_db *db, const char *const *paths, size_t count, struct tcb_db_merged *out,
			     struct tcb_error *err);

struct tcb_db_info {
	char path[512];
	int schema_version; /* of the file, also where an older one is read through a migrated copy */
	char journal_mode[16], sqlite_version[16];
	uint64_t file_bytes;
	uint64_t devices, problems, sweeps, sweeps_running, trials, trials_failed, samples, best, claims, recordings;
};
enum tcb_status tcb_db_info(struct tcb_db *db, struct tcb_db_info *out, struct tcb_error *err);
/* integrity_check, foreign_key_check, and the project's own invariants (every row can be read, every text parses back
 * to itself, every best row points at an ok trial of the same problem, sample counts agree).  TCB_E_FORMAT with the
 * first finding; EACH (nullable) gets all. */
enum tcb_status tcb_db_check(struct tcb_db *db, void (*each)(void *ctx, const char *finding), void *ctx,
			     struct tcb_error *err);

#endif
