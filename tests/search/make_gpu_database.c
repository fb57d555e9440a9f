/* SPDX-License-Identifier: MIT
 *
 * Writes a database as a sweep on a GPU leaves it, on a machine without one:
 *
 *   make_gpu_database FILE [WRONG]
 *
 * Two problems with a handful of candidates each; their "CUPTI" counters are the
 * emulator's, and with WRONG one of them is off by a tenth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "device/gpu.h"
#include "emulated_counters.h"
#include "kernels/constraint.h"
#include "kernels/signature.h"

enum { CANDIDATES_MAX = 8, COUNTERS = 7 };
static const int warps[] = { 4, 8, 16, 32 };

static enum tcb_status count(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_gpu *gpu,
			     const struct tcb_geometry *geometry, double factor, struct tcb_counter out[COUNTERS],
			     struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	struct tcb_instance *instance = NULL;
	struct emulated_counters found = { 0 };

	enum tcb_status status = tcb_kernel_emit(problem, &gpu->device.target, geometry, &kernel, err);
	if (status == TCB_OK)
		status = tcb_instance_create(op, problem, 1, NULL, &instance, err);
	if (status == TCB_OK)
		status = emulated_counters(&kernel, instance, &found, err);
	tcb_instance_destroy(instance);
	tcb_kernel_fini(&kernel);
	const struct {
		const char *name;
		double value;
	} rows[COUNTERS] = {
		{ "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", factor * found.shared_loads },
		{ "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", found.shared_stores },
		{ "sm__sass_branch_targets.sum", found.branches },
		{ "sm__sass_branch_targets_threads_divergent.sum", found.divergent },
		{ "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", found.load_requests },
		{ "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", found.load_sectors },
		{ "smsp__thread_inst_executed_per_inst_executed.ratio", 32 },
	};
	for (int i = 0; i < COUNTERS; i++) {
		out[i] = (struct tcb_counter){ .source = "cupti", .state = TCB_COLD, .value = rows[i].value };
		snprintf(out[i].name, sizeof out[i].name, "%s", rows[i].name);
	}
	return status;
}

static enum tcb_status put(struct tcb_db *db, int64_t sweep, const struct tcb_op *op, const struct tcb_problem *problem,
			   const struct tcb_gpu *gpu, const struct tcb_geometry *geometry, double ns, double factor,
			   struct tcb_error *err)
{
	struct tcb_packings packings = { .is_known = { 0 } };
	double samples[] = { ns };
	struct tcb_measurement measurement = {
		.state = TCB_COLD, .stage = TCB_STAGE_FINAL, .ns = { ns, ns, ns }, .sample_count = 1, .samples = samples
	};
	struct tcb_counter counters[COUNTERS];
	struct tcb_trial trial = { .geometry = *geometry,
				   .class_checked = TCB_CLASS_BOUNDED,
				   .measurement_count = 1,
				   .measurements = &measurement,
				   .counter_count = COUNTERS,
				   .counters = counters };

	TCB_TRY(tcb_candidate_identify(problem, &gpu->device.target, geometry, &packings, trial.variant,
				       trial.signature, err));
	TCB_TRY(count(op, problem, gpu, geometry, factor, counters, err));
	return tcb_db_trial_put(db, sweep, &trial, err);
}

static enum tcb_status fill(struct tcb_db *db, const struct tcb_op *op, const struct tcb_problem *problem,
			    const struct tcb_gpu *gpu, int wrong, struct tcb_error *err)
{
	struct tcb_sweep_record record = { .device = &gpu->device,
					   .problem = problem,
					   .op_signature = "op",
					   .git_commit = "none",
					   .compiler = "none",
					   .version = "none",
					   .strategy = "none",
					   .settings_json = "{}" };
	struct tcb_best best;
	struct tcb_geometry geometry;
	int64_t sweep;
	int first = 1;

	memset(&best, 0, sizeof best);
	TCB_TRY(tcb_db_sweep_begin(db, &record, &sweep, err));
	for (size_t i = 0; i < sizeof warps / sizeof *warps; i++) {
		tcb_op_standard(problem, &gpu->device.target, &geometry);
		geometry.tile[TCB_MIDI].n = (size_t)warps[i];
		geometry.knob[TCB_KNOB_WARPS] = warps[i];
		if (tcb_constraint_violated(op, problem, &gpu->device.target, &geometry, 1, NULL))
			continue;
		TCB_TRY(put(db, sweep, op, problem, gpu, &geometry, 1000 + 10 * (double)i, wrong && first ? 1.1 : 1,
			    err));
		if (first) {
			struct tcb_packings packings = { .is_known = { 0 } };
			tcb_geometry_print(&geometry, best.geometry);
			memcpy(best.default_geometry, best.geometry, sizeof best.geometry);
			TCB_TRY(tcb_candidate_identify(problem, &gpu->device.target, &geometry, &packings, best.variant,
						       best.signature, err));
			best.ns = (struct tcb_interval){ 1000, 1000, 1000 };
		}
		first = 0;
	}
	TCB_TRY(tcb_db_best_put(db, sweep, &best, NULL, 0, err));
	return tcb_db_sweep_end(db, sweep, "complete", err);
}

int main(int argc, char **argv)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	struct tcb_error err = { .status = TCB_OK };
	struct tcb_gpu gpu;
	struct tcb_db *db;
	enum tcb_status status;

	if (argc < 2 || !op)
		return 2;
	remove(argv[1]);
	status = tcb_gpu_table(90, &gpu, &err);
	if (status == TCB_OK)
		status = tcb_db_open(argv[1], TCB_DB_WRITE, &db, &err);
	for (int i = 0; i < 2 && status == TCB_OK; i++) {
		struct tcb_problem problem = { .op = op,
					       .op_name = "q4k_matvec",
					       .contract = i ? TCB_CONTRACT_F32 : TCB_CONTRACT_Q8,
					       .shape = { 1, 256, 1024 } };
		status = fill(db, op, &problem, &gpu, argc > 2, &err);
	}
	if (status != TCB_OK) {
		fprintf(stderr, "make_gpu_database: %s\n", err.message);
		return tcb_status_exit(status);
	}
	tcb_db_close(db);
	return 0;
}
