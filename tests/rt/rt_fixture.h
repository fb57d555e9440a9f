/* SPDX-License-Identifier: MIT
 *
 * A database of winners of the fake op (fake_op.c), made through src/db.
 */
#ifndef TCB_TESTS_RT_FIXTURE_H
#define TCB_TESTS_RT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_identity.h"
#include "db/db.h"
#include "db/stamp.h"
#include "kernels/default_rules.h"
#include "rt/runtime.h"
#include "tcbrt.h"

#define FIXTURE_GPU_KEY "00000000000000ff"
#define FIXTURE_GPU "sm_90:" FIXTURE_GPU_KEY

struct fixture {
	char folder[64], path[128];
	struct tcb_db *db;
};

/* One winner; zeros mean the usual. */
struct winner {
	const char *op;        /* "fake_matvec" */
	size_t n, k;           /* m is 1 */
	const char *words;     /* none */
	unsigned threads;      /* 1 */
	double ns;             /* 1000 */
	double speedup_lo;     /* 1.5 */
	size_t midi_n;         /* 8 */
	size_t tried;          /* 100 */
	size_t space;          /* as many as were tried */
	double others_busy;    /* 0: nobody */
	size_t rounds, quiet;  /* of the finals, not known */
	int other_default;     /* than the op's */
	int rows4;             /* the kernel with four rows */
	enum tcb_isa isa;      /* scalar */
	const char *signature; /* the kernel's */
	const char *other_key; /* another machine */
	const char *arch;      /* this host's */
	const char *gpu;       /* "sm_90" instead of this host: FIXTURE_GPU unless other_key */
	const char *model;     /* of the machine */
	double plain_ns;       /* of the same geometry with pdl=0, which was tried too */
	const char *geometry;  /* instead of one made of n, k, midi_n and threads */
	enum tcb_state state;
	enum tcb_contract contract;                           /* f32 is 0: fixture_put takes Q8 unless use_contract */
	int use_contract, modelled, provisional, macro_fixed; /* macro_fixed: macro.n = 1024 instead of n */
};

static inline void fixture_fail(const struct tcb_error *err)
{
	fprintf(stderr, "fixture: %s\n", err->message);
	abort();
}

static inline void fixture_init(struct fixture *fixture)
{
	struct tcb_error err = { .message = "no folder" };

	strcpy(fixture->folder, "/tmp/tcbtune-rt-XXXXXX");
	if (!mkdtemp(fixture->folder))
		fixture_fail(&err);
	snprintf(fixture->path, sizeof(fixture->path), "%s/tuning.db", fixture->folder);
	if (tcb_db_open(fixture->path, TCB_DB_WRITE, &fixture->db, &err) != TCB_OK)
		fixture_fail(&err);
}

static inline void fixture_fini(struct fixture *fixture)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".snapshot" };
	char path[160];

	tcb_db_close(fixture->db);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", fixture->path, endings[i]);
		unlink(path);
	}
	rmdir(fixture->folder);
}

static inline void fixture_geometry(const struct winner *winner, unsigned threads, struct tcb_geometry *geometry)
{
	tcb_geometry_init(geometry);
	geometry->tile[TCB_MACRO] = (struct tcb_tile){ 1, winner->macro_fixed ? 1024 : winner->n, winner->k };
	geometry->tile[TCB_MIDI] = (struct tcb_tile){ 1, winner->midi_n ? winner->midi_n : 8, winner->k };
	geometry->tile[TCB_MICRO] = (struct tcb_tile){ 1, winner->rows4 ? 4 : 1, 256 };
	geometry->knob[TCB_KNOB_ISA] = (int32_t)winner->isa;
	geometry->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	geometry->knob[TCB_KNOB_PREFETCH] = 512;
}

static inline struct tcb_shape fixture_shape(const struct winner *winner)
{
	struct tcb_shape shape = { .m = 1, .n = winner->n, .k = winner->k };
	struct tcb_error err;

	if (winner->words && tcb_words_parse(winner->words, &shape.words, &err) != TCB_OK)
		fixture_fail(&err);
	return shape;
}

/* The op's default there, or the one that the winner was measured beside. */
static inline void fixture_default(const struct winner *winner, const struct tcb_target *target,
				   char out[TCB_GEOMETRY_TEXT_MAX])
{
	const enum tcb_contract contract = winner->use_contract ? winner->contract : TCB_CONTRACT_Q8;
	const struct tcb_shape shape = fixture_shape(winner);
	const struct tcb_op *op = tcb_op_find(winner->op ? winner->op : "fake_matvec");
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	tcb_geometry_init(&geometry);
	if (op && tcb_problem_init(op, contract, &shape, &problem, NULL) == TCB_OK)
		(void)tcb_default_geometry(&problem, target, &geometry);
	if (winner->other_default)
		geometry.knob[TCB_KNOB_PREFETCH] = 1024;
	tcb_geometry_print(&geometry, out);
}

/* In SWEEP, the twin of TRIAL that cannot overlap. */
static inline void fixture_put_plain(struct fixture *fixture, int64_t sweep, struct tcb_trial trial, double ns,
				     enum tcb_state state)
{
	const struct tcb_measurement measured = {
		.state = state, .stage = TCB_STAGE_SCREEN, .ns = { ns, ns, ns }, .sample_count = 1, .samples = &ns
	};
	struct tcb_error err;

	trial.geometry.knob[TCB_KNOB_PDL] = 0;
	trial.measurement_count = 1;
	trial.measurements = &measured;
	if (tcb_db_trial_put(fixture->db, sweep, &trial, &err) != TCB_OK)
		fixture_fail(&err);
}

static inline void fixture_put(struct fixture *fixture, const struct winner *winner)
{
	unsigned threads = winner->threads ? winner->threads : 1;
	double ns = winner->ns > 0 ? winner->ns : 1000, lo = winner->speedup_lo != 0 ? winner->speedup_lo : 1.5;
	struct tcb_problem problem = { .contract = winner->use_contract ? winner->contract : TCB_CONTRACT_Q8,
				       .shape = fixture_shape(winner) };
	struct tcb_best best = { .state = winner->state,
				 .modelled = winner->modelled,
				 .provisional = winner->provisional,
				 .ns = { ns, ns - 1, ns + 1 },
				 .default_ns = { 2 * ns, 2 * ns, 2 * ns },
				 .speedup = { lo + 0.1, lo, lo + 0.2 } };
	struct tcb_sweep_record record = { .problem = &problem,
					   .op_signature = "s",
					   .git_commit = "c",
					   .compiler = "cc",
					   .version = "0",
					   .strategy = "random",
					   .settings_json = "{}" };
	struct tcb_trial trial = { .outcome = TCB_OUTCOME_OK };
	const char *ties[] = { best.geometry };
	struct tcb_device device;
	struct tcb_error err;
	int64_t sweep;

	strcpy(problem.op_name, winner->op ? winner->op : "fake_matvec");
	if (tcb_cpu_identify("cpu", threads, &device, &err) != TCB_OK)
		fixture_fail(&err);
	if (winner->gpu) {
		device.target = (struct tcb_target){ .kind = TCB_TARGET_CUDA, .cuda.capability = 90 };
		strcpy(device.name, winner->gpu);
		strcpy(device.arch, winner->gpu);
		strcpy(device.key, FIXTURE_GPU_KEY);
	}
	if (winner->other_key)
		strcpy(device.key, winner->other_key);
	if (winner->arch)
		strcpy(device.arch, winner->arch);
	if (winner->model)
		strcpy(device.model, winner->model);
	record.device = &device;
	fixture_geometry(winner, threads, &trial.geometry);
	if (winner->geometry && tcb_geometry_parse(winner->geometry, &trial.geometry, &err) != TCB_OK)
		fixture_fail(&err);
	strcpy(trial.variant, winner->gpu                            ? "fake_q8_ptx"
			      : winner->isa == TCB_ISA_AVX512BF16    ? "fake_q8_avx512bf16"
			      : winner->isa == TCB_ISA_NEON          ? "fake_q8_neon"
			      : problem.contract == TCB_CONTRACT_F32 ? "fake_f32_r1"
			      : winner->rows4                        ? "fake_q8_r4"
								     : "fake_q8_r1");
	strcpy(trial.signature, winner->signature                      ? winner->signature
				: winner->gpu                          ? "signature-ptx"
				: problem.contract == TCB_CONTRACT_F32 ? "signature-f32"
				: winner->rows4                        ? "signature-r4"
								       : "signature-r1");
	tcb_geometry_print(&trial.geometry, best.geometry);
	fixture_default(winner, &device.target, best.default_geometry);
	best.tried = winner->tried ? winner->tried : 100;
	best.space_count = winner->space;
	best.others_busy = winner->others_busy;
	best.final_rounds = winner->rounds;
	best.quiet_rounds = winner->quiet;
	strcpy(best.variant, trial.variant);
	strcpy(best.signature, trial.signature);
	if (tcb_db_sweep_begin(fixture->db, &record, &sweep, &err) != TCB_OK ||
	    tcb_db_trial_put(fixture->db, sweep, &trial, &err) != TCB_OK ||
	    tcb_db_best_put(fixture->db, sweep, &best, ties, 1, &err) != TCB_OK)
		fixture_fail(&err);
	if (winner->plain_ns > 0)
		fixture_put_plain(fixture, sweep, trial, winner->plain_ns, winner->state);
}

/* The count of threads that is meant where a query leaves it open. */
static inline unsigned fixture_cores(void)
{
	unsigned processors, cores;

	rt_host_processors(&processors, &cores);
	return cores;
}

/* Until the database at PATH is so old that a snapshot of it is kept. */
static inline void fixture_settle(const char *path)
{
	struct tcb_db_stamp stamp;
	int is_settled = 0;

	while (!is_settled && tcb_db_stamp_take(path, &stamp, &is_settled) == 0)
		usleep(1000);
}

static inline struct tcbrt *fixture_open(const struct fixture *fixture)
{
	struct tcbrt_error err;
	struct tcbrt *rt;

	if (tcbrt_open(fixture->path, &rt, &err) != TCBRT_OK) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
	return rt;
}

#endif
