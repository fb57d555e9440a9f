/* SPDX-License-Identifier: MIT
 *
 * A database in a folder of its own, and records to put into it.
 */
#ifndef TCB_TESTS_DB_FIXTURE_H
#define TCB_TESTS_DB_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"

enum { FIXTURE_ROTATION = 1 };

struct fixture {
	char folder[64], path[128];
};

static inline void fixture_init(struct fixture *fixture)
{
	strcpy(fixture->folder, "/tmp/tcbtune-db-XXXXXX");
	if (!mkdtemp(fixture->folder))
		abort();
	snprintf(fixture->path, sizeof(fixture->path), "%s/tuning.db", fixture->folder);
}

static inline void fixture_fini(struct fixture *fixture)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".copy" };
	char path[160];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", fixture->path, endings[i]);
		unlink(path);
	}
	rmdir(fixture->folder);
}

static inline void fixture_device(struct tcb_device *device)
{
	memset(device, 0, sizeof(*device));
	device->target.kind = TCB_TARGET_CPU;
	device->target.isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2;
	device->target.threads = 2;
	strcpy(device->name, "cpu");
	strcpy(device->key, "0123456789abcdef");
	strcpy(device->arch, "x86_64-avx2");
	strcpy(device->model, "Test CPU");
	strcpy(device->os, "Linux 6.1");
}

static inline struct tcb_problem fixture_problem(size_t n, size_t k)
{
	return (struct tcb_problem){ .op_name = "q4k_matvec", .contract = TCB_CONTRACT_Q8, .shape = { 1, n, k } };
}

static inline int64_t fixture_sweep(struct tcb_db *db, const struct tcb_device *device,
				    const struct tcb_problem *problem, struct tcb_error *err)
{
	struct tcb_sweep_record record = { .device = device,
					   .problem = problem,
					   .op_signature = "op-signature",
					   .git_commit = "abc123",
					   .compiler = "GNU-12",
					   .version = "0.1.0",
					   .strategy = "random",
					   .seed = UINT64_MAX,
					   .rotation_bytes = FIXTURE_ROTATION,
					   .settings_json = "{\"states\":3}" };
	int64_t sweep = 0;

	return tcb_db_sweep_begin(db, &record, &sweep, err) == TCB_OK ? sweep : 0;
}

/* Geometry number I of a family that has no end; the midi n tells them apart. */
static inline void fixture_geometry(size_t i, struct tcb_geometry *geometry)
{
	tcb_geometry_init(geometry);
	geometry->tile[TCB_MACRO] = (struct tcb_tile){ 1, 4096, 4096 };
	geometry->tile[TCB_MIDI] = (struct tcb_tile){ 1, i + 1, 4096 };
	geometry->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 256 };
	geometry->knob[TCB_KNOB_ISA] = TCB_ISA_AVX2;
	geometry->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	geometry->knob[TCB_KNOB_PREFETCH] = 512;
}

/* An ok trial with one cold screening measurement of three samples around NS, lent by the two arguments. */
static inline void fixture_trial(size_t i, double ns, struct tcb_measurement *measurement, double samples[3],
				 struct tcb_trial *trial)
{
	samples[0] = ns + 10;
	samples[1] = ns;
	samples[2] = ns - 10;
	*measurement = (struct tcb_measurement){ .state = TCB_COLD,
						 .stage = TCB_STAGE_SCREEN,
						 .ns = { ns, ns - 10, ns + 10 },
						 .sample_count = 3,
						 .samples = samples };
	memset(trial, 0, sizeof(*trial));
	fixture_geometry(i, &trial->geometry);
	strcpy(trial->variant, "q4k_matvec_test");
	strcpy(trial->signature, "signature-1");
	trial->class_checked = TCB_CLASS_BOUNDED;
	trial->error_ratio = 0.25;
	trial->prepare_ns = 7e6;
	trial->verify_ns = NAN;
	trial->measurement_count = 1;
	trial->measurements = measurement;
}

static inline enum tcb_status fixture_put(struct tcb_db *db, int64_t sweep, size_t i, double ns, struct tcb_error *err)
{
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	double samples[3];

	fixture_trial(i, ns, &measurement, samples, &trial);
	return tcb_db_trial_put(db, sweep, &trial, err);
}

/* The best row of geometry I, tied with geometry I + 1. */
static inline enum tcb_status fixture_put_best(struct tcb_db *db, int64_t sweep, size_t i, double ns, int modelled,
					       struct tcb_error *err)
{
	struct tcb_best best = { .state = TCB_COLD,
				 .modelled = modelled,
				 .ns = { ns, ns - 10, ns + 10 },
				 .default_ns = { 2 * ns, 2 * ns - 10, 2 * ns + 10 },
				 .speedup = { 2, 1.9, 2.1 },
				 .limit_ns = { 100, 90, 110 },
				 .bytes = 1000,
				 .flops = 2000,
				 .regret = 0.001,
				 .tried = 10,
				 .space_count = 20 };
	char ties[2][TCB_GEOMETRY_TEXT_MAX];
	const char *tie_set[] = { ties[0], ties[1] };
	struct tcb_geometry geometry;

	for (size_t t = 0; t < 2; t++) {
		fixture_geometry(i + t, &geometry);
		tcb_geometry_print(&geometry, ties[t]);
	}
	strcpy(best.geometry, ties[0]);
	strcpy(best.variant, "q4k_matvec_test");
	strcpy(best.signature, "signature-1");
	strcpy(best.default_geometry, ties[1]);
	strcpy(best.limit_method, "avx2");
	return tcb_db_best_put(db, sweep, &best, tie_set, 2, err);
}

#endif
