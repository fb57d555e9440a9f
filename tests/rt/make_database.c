/* SPDX-License-Identifier: MIT
 *
 * make_database FILE: a database with one winner of the first op of this
 * build, its default geometry on all cores, made through src/db; prints the op, the shape
 * and the geometry for the script that called it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "db/db.h"
#include "kernels/default_rules.h"
#include "kernels/op.h"
#include "rt/runtime.h"

int main(int argc, char **argv)
{
	struct tcb_error err = { .message = "usage: make_database FILE" };
	struct tcb_best best = { .state = TCB_COLD, .ns = { 1000, 990, 1010 }, .speedup = { 1.5, 1.4, 1.6 } };
	struct tcb_trial trial = { .outcome = TCB_OUTCOME_OK };
	const char *ties[] = { best.geometry };
	struct tcb_sweep_record record = { .op_signature = "",
					   .git_commit = "",
					   .compiler = "",
					   .version = "",
					   .strategy = "none",
					   .settings_json = "{}" };
	struct tcb_device device;
	struct tcb_problem problem;
	struct tcb_geometry standard;
	const struct tcb_op *op;
	const struct tcb_variant *variant;
	struct tcb_db *db = NULL;
	size_t count;
	int64_t sweep;
	unsigned processors, cores;

	op = tcb_ops(&count)[0];
	if (argc != 2 || count == 0)
		goto failed;
	rt_host_processors(&processors, &cores);
	if (tcb_cpu_identify("cpu", cores, &device, &err) != TCB_OK ||
	    tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, &err) != TCB_OK)
		goto failed;
	record.device = &device;
	record.problem = &problem;
	tcb_op_standard(&problem, &device.target, &trial.geometry);
	variant = tcb_variant_find(op, problem.contract, &trial.geometry);
	strcpy(trial.variant, variant->name);
	strcpy(trial.signature, tcb_variant_signature(variant));
	tcb_geometry_print(&trial.geometry, best.geometry);
	(void)tcb_default_geometry(&problem, &device.target, &standard);
	tcb_geometry_print(&standard, best.default_geometry);
	strcpy(best.variant, trial.variant);
	strcpy(best.signature, trial.signature);
	if (tcb_db_open(argv[1], TCB_DB_WRITE, &db, &err) != TCB_OK ||
	    tcb_db_sweep_begin(db, &record, &sweep, &err) != TCB_OK ||
	    tcb_db_trial_put(db, sweep, &trial, &err) != TCB_OK ||
	    tcb_db_best_put(db, sweep, &best, ties, 1, &err) != TCB_OK)
		goto failed;
	tcb_db_close(db);
	printf("%s;%zu;%zu;%s\n", op->name, problem.shape.n, problem.shape.k, best.geometry);
	return 0;
failed:
	fprintf(stderr, "%s\n", err.message);
	tcb_db_close(db);
	return 1;
}
