/* SPDX-License-Identifier: MIT
 *
 * The random driver's databases: winners of any op, device and shape, most as a
 * sweep would leave them, some stale, illegal or of nobody's device.  What is
 * looked up must be the same whether the database was read or its snapshot
 * mapped, and a damaged snapshot must change nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "drive.h"
#include "kernels/default_rules.h"
#include "rt_fixture.h"

enum { QUERIES = 60, SHAPES = 12 };

size_t drive_stored, drive_found;

static struct {
	struct fixture fixture;
	struct tcbrt *rt;
	struct tcb_problem problems[SHAPES]; /* so few, so that lookups meet them */
	struct tcbrt_query queries[QUERIES];
	struct tcbrt_tuning answers[QUERIES];
} the;

void drive_database_fini(void)
{
	if (!the.rt)
		return;
	tcbrt_close(the.rt);
	fixture_fini(&the.fixture);
	the.rt = NULL;
}

static void draw_problem(struct tcb_problem *out)
{
	struct tcb_error err;

	for (;;) {
		const struct tcb_op *op = drive_op();
		const struct tcb_shape shape = drive_shape(op);
		enum tcb_contract contract = (enum tcb_contract)drive_below(TCB_CONTRACT_COUNT);

		if (tcb_problem_init(op, contract, &shape, out, &err) == TCB_OK)
			return;
	}
}

/* This host, restricted or not, other machines, and GPUs that some day may exist. */
static void draw_device(unsigned threads, struct tcb_device *out)
{
	static const char *const kinds[] = { "sm_90", "sm_89", "sm_100", "sm_75", "sm_0", "sm_4294967386", "sm_" };
	static const char *const families[] = { "cpu", "cpu", "cpu:avx2", "cpu:scalar" };
	struct tcb_error err;

	if (tcb_cpu_identify(families[drive_below(4)], threads, out, &err) != TCB_OK &&
	    tcb_cpu_identify("cpu", threads, out, &err) != TCB_OK)
		drive_fail("%s", err.message);
	if (drive_once_in(4)) {
		const char *kind = kinds[drive_below(drive_once_in(3) ? 7 : 2)];

		snprintf(out->name, sizeof(out->name), "%s", kind);
		snprintf(out->arch, sizeof(out->arch), "%s", kind);
		tcb_kind_cuda.describe(kind, &out->target);
		out->target.threads = 0;
	}
	if (drive_once_in(4))
		snprintf(out->key, sizeof(out->key), "%016zx", drive_below(3));
	if (drive_once_in(12))
		strcpy(out->arch, "vax");
}

/* Of a GPU's kernels nobody knows the signature without writing them: those of the database are stale. */
static void draw_winner(const struct tcb_problem *problem, const struct tcb_device *device, struct tcb_trial *trial,
			struct tcb_best *best)
{
	const struct tcb_variant *variant;
	const char *signature;
	struct tcb_geometry standard;
	const double ns = 100 + 1e6 * tcb_rng_unit(&drive_rng), gain = 0.8 + tcb_rng_unit(&drive_rng);

	memset(trial, 0, sizeof(*trial));
	trial->outcome = TCB_OUTCOME_OK;
	if (!drive_geometry(problem, &device->target, &trial->geometry))
		tcb_default_geometry(problem, &device->target, &trial->geometry);
	if (drive_once_in(12))
		trial->geometry.tile[drive_below(TCB_LEVEL_COUNT)].n = drive_below(100000);
	if (drive_once_in(12))
		trial->geometry.knob[drive_below(TCB_KNOB_COUNT)] = (int32_t)drive_below(3);
	variant = tcb_variant_find(problem->op, problem->contract, &trial->geometry);
	strcpy(trial->variant, variant && !drive_once_in(20) ? variant->name : "nobodys_kernel");
	signature = variant ? tcb_variant_signature(variant) : NULL;
	strcpy(trial->signature, signature && !drive_once_in(20) ? signature : "0123456789abcdef");
	*best = (struct tcb_best){ .state = (enum tcb_state)drive_below(2),
				   .modelled = drive_once_in(10),
				   .provisional = drive_once_in(10),
				   .ns = { ns, 0.99 * ns, 1.01 * ns },
				   .default_ns = { gain * ns, gain * ns, gain * ns },
				   .speedup = { gain, gain - 0.01, gain + 0.01 } };
	tcb_geometry_print(&trial->geometry, best->geometry);
	tcb_default_geometry(problem, &device->target, &standard);
	if (drive_once_in(4))
		standard = trial->geometry;
	tcb_geometry_print(&standard, best->default_geometry);
	best->tried = drive_below(40);
	strcpy(best->variant, trial->variant);
	strcpy(best->signature, trial->signature);
}

static void put_winner(void)
{
	const struct tcb_problem *problem = &the.problems[drive_below(SHAPES)];
	struct tcb_problem moved = *problem;
	struct tcb_sweep_record record = { .op_signature = "s",
					   .git_commit = "c",
					   .compiler = "cc",
					   .version = "0",
					   .strategy = "random",
					   .settings_json = "{}" };
	struct tcb_device device;
	struct tcb_trial trial;
	struct tcb_best best;
	struct tcb_error err;
	int64_t sweep;

	draw_device(1 + (unsigned)drive_below(4), &device);
	moved.shape.n += drive_once_in(2) ? 0 : 1 + drive_below(300);
	if (device.target.kind == TCB_TARGET_CUDA && !tcb_op_gpu(problem->op))
		return;
	draw_winner(&moved, &device, &trial, &best);
	const char *ties[] = { best.geometry };
	record.problem = &moved;
	record.device = &device;
	if (tcb_db_sweep_begin(the.fixture.db, &record, &sweep, &err) != TCB_OK ||
	    tcb_db_trial_put(the.fixture.db, sweep, &trial, &err) != TCB_OK ||
	    tcb_db_best_put(the.fixture.db, sweep, &best, ties, 1, &err) != TCB_OK)
		drive_fail("putting a winner: %s", err.message);
	drive_stored++;
}

/* Those of SHAPE, or with a few sequences more. */
static const char *near_words(const struct tcb_shape *shape)
{
	struct tcb_shape other = *shape;

	other.words.sequences += other.words.query && drive_once_in(2) ? (uint32_t)drive_below(3) : 0;
	return drive_words(&other);
}

/* A question about a shape that is stored, or near one. */
static struct tcbrt_query near_query(const struct tcbrt *rt)
{
	struct tcbrt_query query = drive_query(rt);
	const struct tcb_problem *problem = &the.problems[drive_below(SHAPES)];

	if (drive_once_in(6))
		return query;
	query.op = problem->op->name;
	query.contract = (enum tcbrt_contract)(problem->contract + 1);
	query.m = problem->shape.m;
	query.n = problem->shape.n + (drive_once_in(2) ? 0 : drive_below(40));
	query.k = problem->shape.k;
	query.words = near_words(&problem->shape);
	query.threads = (unsigned)drive_below(5);
	if (drive_once_in(2))
		query.device = NULL;
	return query;
}

static void check_answer(const struct tcbrt *rt, const struct tcbrt_query *query, const struct tcbrt_tuning *tuning)
{
	struct rt_device device;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_target target;
	struct tcb_error err;
	char why[TCB_WHY_MAX];

	if (rt_query_problem(rt, query, &problem, &device, &err) != TCB_OK ||
	    tcb_geometry_parse(tuning->geometry, &geometry, &err) != TCB_OK)
		drive_fail("answered, but %s", err.message);
	target = device.target;
	target.threads = rt_has_threads(&device) ? tuning->threads : 0;
	DRIVE_CHECK(rt_is_legal(problem.op, &problem, &target, &geometry, why), "%s for %s %zux%zux%zu is illegal: %s",
		    tuning->geometry, query->op, query->m, query->n, query->k, why);
	DRIVE_CHECK(!rt_has_threads(&device) || tuning->threads > 0, "it is for no threads");
	DRIVE_CHECK(!(tuning->source == TCBRT_SOURCE_EXACT || tuning->source == TCBRT_SOURCE_PROVISIONAL) ||
			    (tuning->tuned_m == query->m && tuning->tuned_n == query->n && tuning->tuned_k == query->k),
		    "exact, but it was measured at another shape");
	DRIVE_CHECK(tuning->source != TCBRT_SOURCE_EXACT || tuning->tuned_sequences == problem.shape.words.sequences,
		    "exact, but it was measured with other words");
	DRIVE_CHECK(tcbrt_knob_word(tuning, "isa"), "it has no instruction family");
	drive_found += tuning->source != TCBRT_SOURCE_DEFAULT;
}

/* IS_FIRST: keeps the answers; else they must be those. */
static void look_up(const struct tcbrt *rt, int is_first)
{
	for (size_t i = 0; i < QUERIES; i++) {
		struct tcbrt_tuning answer;

		memset(&answer, 0, sizeof(answer));
		const int code = tcbrt_lookup(rt, &the.queries[i], &answer);
		DRIVE_CHECK(answer.reason[0] && (code == TCBRT_OK) == (answer.source != TCBRT_SOURCE_NONE),
			    "a lookup returned %d: '%s'", code, answer.reason);
		if (is_first) {
			the.answers[i] = answer;
			if (code == TCBRT_OK)
				check_answer(rt, &the.queries[i], &answer);
		}
		DRIVE_CHECK(memcmp(&the.answers[i], &answer, sizeof(answer)) == 0,
			    "%s %zux%zux%zu: looked up again it is '%s', not '%s'", the.queries[i].op, the.queries[i].m,
			    the.queries[i].n, the.queries[i].k, answer.reason, the.answers[i].reason);
	}
}

static int see(void *ctx, const struct tcbrt_entry *entry)
{
	size_t *seen = ctx;

	DRIVE_CHECK(entry->op[0] && entry->device[0] && entry->geometry[0], "an entry is empty");
	++*seen;
	return 0;
}

static void check_count(const struct tcbrt *rt)
{
	size_t seen = 0, refused = 0;

	DRIVE_CHECK(tcbrt_each(rt, see, &seen) == 0, "each stopped");
	DRIVE_CHECK(tcbrt_count(rt, &refused) == seen && refused <= seen, "%zu entries, of which %zu are refused", seen,
		    refused);
}

/* The file at PATH, damaged or cut; 0 where there is none. */
static int damage_file(const char *path)
{
	struct stat info;
	FILE *file = fopen(path, "r+b");

	if (!file)
		return 0;
	DRIVE_CHECK(fstat(fileno(file), &info) == 0 && info.st_size > 0, "%s cannot be looked at", path);
	const size_t count = (size_t)info.st_size;
	unsigned char *bytes = malloc(count);
	DRIVE_CHECK(bytes && fread(bytes, 1, count, file) == count, "%s cannot be read", path);
	drive_damage(bytes, count);
	rewind(file);
	DRIVE_CHECK(fwrite(bytes, 1, count, file) == count, "%s cannot be written", path);
	fflush(file);
	if (drive_once_in(4))
		DRIVE_CHECK(ftruncate(fileno(file), (off_t)drive_below(count)) == 0, "%s cannot be cut", path);
	fclose(file);
	free(bytes);
	return 1;
}

static void check_snapshots(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s.snapshot", the.fixture.path);
	for (int i = 0; i < 4; i++) {
		struct tcbrt *rt = fixture_open(&the.fixture);

		look_up(rt, 0);
		check_count(rt);
		tcbrt_close(rt);
		damage_file(path);
	}
}

/* A copy of the database with a few wrong bits: refused, or read as far as it can be. */
static void check_damaged_database(void)
{
	char command[512], path[160];
	struct tcbrt_error err;
	struct tcbrt *rt;

	snprintf(path, sizeof(path), "%s/other.db", the.fixture.folder);
	snprintf(command, sizeof(command), "rm -f %s*; cp %s %s", path, the.fixture.path, path);
	for (int i = 0; i < 4; i++) {
		DRIVE_CHECK(system(command) == 0 && damage_file(path), "no copy");
		if (tcbrt_open(path, &rt, &err) != TCBRT_OK) {
			DRIVE_CHECK(!rt && strlen(err.message) > 8 && !strpbrk(err.message, "\n\r"),
				    "a damaged database: '%s'", err.message);
			continue;
		}
		for (size_t q = 0; q < QUERIES; q++) {
			struct tcbrt_tuning answer;

			if (tcbrt_lookup(rt, &the.queries[q], &answer) == TCBRT_OK)
				check_answer(rt, &the.queries[q], &answer);
		}
		tcbrt_close(rt);
	}
	snprintf(command, sizeof(command), "rm -f %s*", path);
	DRIVE_CHECK(system(command) == 0, "the copy stays");
}

void drive_database(struct tcbrt **rt_out)
{
	const size_t winners = drive_once_in(3) ? 300 + drive_below(100) : drive_below(60);

	drive_database_fini();
	fixture_init(&the.fixture);
	for (size_t i = 0; i < SHAPES; i++)
		draw_problem(&the.problems[i]);
	for (size_t i = 0; i < winners; i++)
		put_winner();
	tcb_db_close(the.fixture.db);
	the.fixture.db = NULL;
	the.rt = *rt_out = fixture_open(&the.fixture);
	for (size_t i = 0; i < QUERIES; i++)
		the.queries[i] = near_query(the.rt);
	look_up(the.rt, 1);
	check_count(the.rt);
	fixture_settle(the.fixture.path);
	check_snapshots();
	check_damaged_database();
}
