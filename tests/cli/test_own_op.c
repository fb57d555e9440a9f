/* SPDX-License-Identifier: MIT
 *
 * An op that is in no table of this build, made here and put into a registry:
 * the program sweeps it in its worker, stores it, reports it and looks it up,
 * with parameters, a reference and a signature of its own.
 */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/cli.h"
#include "db/db.h"
#include "rt/runtime.h"
#include "scaled_copy.h"

enum { ARGUMENTS_MAX = 32, SPACE = 6 };

static struct {
	char folder[64], db[128], said[128];
	struct scaled_copy made;
	struct tcb_registry ops;
	char out[1 << 20];
} f;

static int set_up(void **state)
{
	(void)state;
	strcpy(f.folder, "/tmp/tcbtune-own-op-XXXXXX");
	if (!mkdtemp(f.folder))
		return -1;
	snprintf(f.db, sizeof f.db, "%s/tuning.db", f.folder);
	snprintf(f.said, sizeof f.said, "%s/said", f.folder);
	setenv("XDG_CACHE_HOME", f.folder, 1);
	setenv("TCBTUNE_OTHERS", "ignore", 1); /* the winner is far ahead, whatever they do */
	scaled_copy_make("y = 0.5 * x", &f.made);
	f.ops = tcb_registry_built_in();
	return tcb_registry_add(&f.ops, &f.made.op, NULL) == TCB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	tcb_registry_fini(&f.ops);
	snprintf(command, sizeof command, "rm -r %s", f.folder);
	return system(command);
}

/* `tcbtune LINE`, with the ops of OPS and DB for @DB; the exit status.  f.out gets what it says, on both streams. */
static int run(const struct tcb_registry *ops, const char *line)
{
	char copy[512], *argv[ARGUMENTS_MAX], *rest = copy;
	int argc = 0, saved[2] = { dup(1), dup(2) };
	const int file = open(f.said, O_RDWR | O_CREAT | O_TRUNC, 0600);

	snprintf(copy, sizeof copy, "tcbtune %s", line);
	for (char *word; (word = strsep(&rest, " ")); argc++)
		argv[argc] = strcmp(word, "@DB") == 0 ? f.db : word;
	argv[argc] = NULL;
	fflush(NULL);
	dup2(file, 1);
	dup2(file, 2);
	const int status = cli_main(ops, argc, argv);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	const ssize_t bytes = pread(file, f.out, sizeof f.out - 1, 0);
	close(file);
	f.out[bytes > 0 ? bytes : 0] = '\0';
	return status;
}

static void expect(const struct tcb_registry *ops, const char *line, int status, const char *said)
{
	const int got = run(ops, line);

	if (got != status || (said && !strstr(f.out, said)))
		fail_msg("tcbtune %s: exit status %d, expected %d and '%s' in: %s", line, got, status, said ? said : "",
			 f.out);
}

static void swept(void **state)
{
	(void)state;
	expect(&f.ops, "ops", 0, "scaled_copy");
	expect(&f.ops, "space --op scaled_copy --threads 1 --count", 0, "6\n");
	expect(&f.ops, "sweep --op scaled_copy --threads 1 --budget 20s --rotation 1M --db @DB --json", 0, "chunk=256");
	/* Again: all is known. */
	expect(&f.ops, "sweep --op scaled_copy --threads 1 --budget 20s --rotation 1M --db @DB", 0, "chunk=256");
}

static int take_best(void *ctx, const struct tcb_best *best)
{
	memcpy(ctx, best, sizeof *best);
	return best->state == TCB_COLD;
}

static void stored(void **state)
{
	const struct tcb_op_names names = tcb_registry_names(&f.ops);
	struct tcb_trial *trials;
	struct tcb_tried tried = { .rotation_bytes = 1 << 20 };
	struct tcb_best best = { .geometry = "" };
	struct tcb_error err;
	struct tcb_db *db;
	unsigned seen = 0;
	size_t count;

	(void)state;
	assert_int_equal(tcb_db_open(f.db, TCB_DB_READ, &db, &err), TCB_OK);
	/* Who does not know the op finds the file sound, and its winners. */
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	assert_int_equal(tcb_db_best_each(db, NULL, take_best, &best, &err), TCB_OK);
	assert_null(best.problem.op);
	tcb_db_know_ops(db, &names);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	assert_int_equal(tcb_db_best_each(db, NULL, take_best, &best, &err), TCB_OK);
	assert_ptr_equal(best.problem.op, &f.made.op);
	assert_non_null(strstr(best.geometry, ",threads=1,chunk=256,order="));
	assert_string_equal(best.signature, f.made.signature);
	assert_int_equal(best.space_count, SPACE);
	memcpy(tried.device.key, best.device_key, sizeof best.device_key);
	memcpy(tried.device.name, best.device_name, sizeof best.device_name);
	tried.device.target.threads = best.threads;
	assert_int_equal(tcb_db_trials(db, &tried.device, &best.problem, tried.rotation_bytes, &trials, &count, &err),
			 TCB_OK);
	assert_int_equal(count, SPACE);
	for (size_t i = 0; i < count; i++) {
		const int32_t *knob = trials[i].geometry.knob;
		assert_ptr_equal(trials[i].geometry.parameters, f.made.op.parameters);
		assert_int_equal(trials[i].outcome, TCB_OUTCOME_OK);
		seen |= 1u << (2 * (knob[CHUNK] == 32 ? 1 : knob[CHUNK] == 256 ? 2 : 0) + knob[ORDER]);
	}
	assert_int_equal(seen, (1u << SPACE) - 1);
	tcb_db_trials_free(trials, count);
	tcb_db_close(db);
}

static void reported(void **state)
{
	const struct tcb_registry without = tcb_registry_built_in();
	struct scaled_copy other;
	struct tcb_registry others = tcb_registry_built_in();

	(void)state;
	expect(&f.ops, "report --op scaled_copy --db @DB --geometry full", 0, "chunk=256");
	expect(&f.ops, "report --db @DB --format json", 0, "\"stale\": false");
	expect(&f.ops, "report --db @DB --format html", 0, ">chunk</text>");
	expect(&f.ops, "history --op scaled_copy --shape 16x1024 --db @DB", 0, "scaled_copy");
	expect(&f.ops, "db check --db @DB", 0, NULL);
	expect(&f.ops, "db prune --db @DB --dry-run", 0, NULL);
	/* Of an op that is unknown nobody can say whose results these are; of one whose source is another by now they
	 * are no longer its. */
	expect(&without, "report --db @DB --format json", 0, "\"stale\": null");
	expect(&without, "db check --db @DB", 0, NULL);
	scaled_copy_make("y = 0.25 * x", &other);
	assert_int_equal(tcb_registry_add(&others, &other.op, NULL), TCB_OK);
	expect(&others, "report --db @DB --format json", 0, "\"stale\": true");
	tcb_registry_fini(&others);
}

static void looked_up(void **state)
{
	const struct tcb_registry without = tcb_registry_built_in();
	const struct tcbrt_query query = { .op = "scaled_copy", .threads = 1, .m = 16, .n = 1024 };
	float x[16 * 1024], y[16 * 1024];
	void *operand[] = { x, y }, *workspace;
	struct tcbrt_plan *plan, *again;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	struct tcbrt *rt;
	char blob[8192];
	size_t bytes;

	(void)state;
	expect(&f.ops, "lookup --op scaled_copy --shape 16x1024 --threads 1 --db @DB", 0, "source: exact");
	assert_non_null(strstr(f.out, ",threads=1,chunk=256,order="));
	expect(&without, "lookup --op scaled_copy --shape 16x1024 --db @DB", 2, "unknown op");
	/* A near shape's winner keeps its parameters. */
	expect(&f.ops, "lookup --op scaled_copy --shape 20x1024 --threads 1 --db @DB", 0, "chunk=");
	/* A program's plan of it runs, and is saved and loaded. */
	assert_int_equal(rt_open(&f.ops, f.db, 0, &rt, &err), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_non_null(strstr(info.tuning.geometry, "chunk=256"));
	assert_int_equal(tcbrt_plan_save(plan, blob, sizeof blob, &bytes), TCBRT_OK);
	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &again, &err), TCBRT_OK);
	for (size_t i = 0; i < 16 * 1024; i++)
		x[i] = (float)i;
	workspace = aligned_alloc(TCBRT_ALIGNMENT, (info.workspace_bytes / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT);
	assert_non_null(workspace);
	assert_int_equal(tcbrt_workspace_init(again, workspace), TCBRT_OK);
	assert_int_equal(tcbrt_execute(again, operand, workspace, NULL), TCBRT_OK);
	free(workspace);
	assert_true(y[0] == 0 && y[9] == 4.5f && y[16 * 1024 - 1] == 0.5f * (16 * 1024 - 1));
	tcbrt_plan_destroy(again);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

#define TILES "macro=16x1024x1,midi=1x1x1,micro=1x1x1,isa=scalar,threads=1"

static void geometries(void **state)
{
	(void)state;
	expect(&f.ops, "space --op scaled_copy --threads 1 --explain " TILES ",chunk=32,order=down", 0, NULL);
	expect(&f.ops, "space --op scaled_copy --threads 1 --explain " TILES ",chunk=300,order=up", 0,
	       "nearest legal: chunk=256");
	expect(&f.ops, "space --op scaled_copy --threads 1 --explain " TILES ",order=aside", 2, "unknown value");
	expect(&f.ops, "space --op softmax --explain " TILES ",chunk=32", 2, "unknown key");
	expect(&f.ops,
	       "bench --op scaled_copy --threads 1 --rotation 1M --budget 2s --geometry " TILES ",chunk=32,order=up", 0,
	       "chunk=32");
}

/* What stands behind the reference is gone: the sweep ends, and says so. */
static void reference_fails(void **state)
{
	struct tcb_registry ops = tcb_registry_built_in();
	struct scaled_copy gone;

	(void)state;
	scaled_copy_make("", &gone);
	assert_int_equal(tcb_registry_add(&ops, &gone.op, NULL), TCB_OK);
	expect(&ops, "sweep --op scaled_copy --threads 1 --budget 5s --rotation 1M --db @DB", 1,
	       "the reference of scaled_copy: its source says nothing that is understood");
	tcb_registry_fini(&ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swept),     cmocka_unit_test(stored),     cmocka_unit_test(reported),
		cmocka_unit_test(looked_up), cmocka_unit_test(geometries), cmocka_unit_test(reference_fails),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
