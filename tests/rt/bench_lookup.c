/* SPDX-License-Identifier: MIT
 *
 * bench_lookup [ENTRIES]: how long opening takes, without and with a snapshot,
 * and a lookup of each kind, and how often it allocates.  A program to run by
 * hand on a quiet machine, no test.  The database is written straight into its tables, because the way
 * through src/db syncs the disk three times an entry.
 */
#include <sqlite3.h>

#include "base/util.h"
#include "count_malloc.h"
#include "rt_fixture.h"

enum { ROUNDS = 15, LOOKUPS = 200000, FALLBACKS = 20000 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Copies of the one winner that is there, of other shapes. */
static void multiply(const char *path, size_t entries)
{
	sqlite3 *sql;
	char text[2048], *message = NULL;

	snprintf(text, sizeof(text),
		 "BEGIN; CREATE TEMP TABLE i AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x "
		 "< %zu)"
		 " SELECT x FROM c;"
		 "INSERT INTO problem (op, contract, m, n, k) SELECT p.op, p.contract, p.m, 4096 + 8 * x, p.k"
		 " FROM problem p, i WHERE p.id = 1;"
		 "CREATE TEMP TABLE copy AS SELECT b.*, p.id AS new_problem, p.n AS new_n FROM best b, problem p"
		 " WHERE p.id > 1 AND b.id = 1;"
		 "UPDATE copy SET id = NULL, problem_id = new_problem, geometry = replace(geometry, '4096x', new_n || "
		 "'x'), default_geometry = replace(default_geometry, '4096x', new_n || 'x');"
		 "ALTER TABLE copy DROP COLUMN new_problem; ALTER TABLE copy DROP COLUMN new_n;"
		 "INSERT INTO best SELECT * FROM copy; COMMIT",
		 entries - 1);
	if (sqlite3_open(path, &sql) != SQLITE_OK || sqlite3_exec(sql, text, NULL, NULL, &message) != SQLITE_OK) {
		fprintf(stderr, "%s\n", message ? message : "cannot open");
		abort();
	}
	sqlite3_close(sql);
}

static void time_lookups(const struct tcbrt *rt, const char *what, const char *device, enum tcbrt_source source,
			 unsigned threads, size_t first, size_t step, size_t shapes, size_t lookups)
{
	struct tcbrt_query *queries = calloc(4096, sizeof(*queries));
	struct tcbrt_tuning tuning = { .source = TCBRT_SOURCE_NONE };
	double ns[ROUNDS];
	size_t mallocs;
	struct tcb_rng rng;

	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < 4096; i++)
		queries[i] = (struct tcbrt_query){ .op = "fake_matvec",
						   .device = device,
						   .threads = threads,
						   .m = 1,
						   .n = first + step * tcb_rng_below(&rng, shapes),
						   .k = 4096 };
	mallocs = malloc_calls;
	for (size_t round = 0; round < ROUNDS; round++) {
		uint64_t start = tcb_clock_ns();

		for (size_t i = 0; i < lookups; i++)
			if (tcbrt_lookup(rt, &queries[i & 4095], &tuning) != TCBRT_OK || tuning.source != source)
				abort();
		ns[round] = (double)(tcb_clock_ns() - start) / (double)lookups;
	}
	mallocs = malloc_calls - mallocs;
	qsort(ns, ROUNDS, sizeof(ns[0]), compare);
	printf("%-42s %10.1f ns (best %.1f, worst %.1f of %d rounds), %zu allocations\n", what, ns[ROUNDS / 2], ns[0],
	       ns[ROUNDS - 1], ROUNDS, mallocs);
	free(queries);
}

/* What the short way does not serve: a system database below the user's, and a shape that was tuned with several
 * numbers of threads. */
static void time_general(const struct fixture *user, const char *what, int has_system)
{
	struct fixture system;
	struct tcbrt *rt;

	fixture_init(&system);
	fixture_put(&system, &(struct winner){ .n = 4096, .k = 4096, .threads = 1, .ns = 900 });
	fixture_put(&system, &(struct winner){ .n = 4096, .k = 4096, .threads = 2 });
	setenv("TCBTUNE_DB", has_system ? user->path : system.path, 1);
	setenv("TCBTUNE_SYSTEM_DB", has_system ? system.path : "", 1);
	if (tcbrt_open(NULL, &rt, NULL) != TCBRT_OK)
		abort();
	rt->cores = 2;
	rt->processors = 4;
	time_lookups(rt, what, NULL, TCBRT_SOURCE_EXACT, 0, 4096, 8, 1, LOOKUPS);
	tcbrt_close(rt);
	fixture_fini(&system);
}

static struct tcbrt *time_open(const struct fixture *fixture, const char *what, size_t rounds)
{
	struct tcbrt *rt = NULL;
	double ms[ROUNDS];

	for (size_t round = 0; round < rounds; round++) {
		tcbrt_close(rt);
		uint64_t start = tcb_clock_ns();
		rt = fixture_open(fixture);
		ms[round] = (double)(tcb_clock_ns() - start) / 1e6;
	}
	qsort(ms, rounds, sizeof(ms[0]), compare);
	printf("%-42s %10.2f ms (best %.2f, worst %.2f of %zu rounds), %zu entries\n", what, ms[rounds / 2], ms[0],
	       ms[rounds - 1], rounds, tcbrt_count(rt, NULL));
	return rt;
}

int main(int argc, char **argv)
{
	size_t entries = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	struct fixture fixture;
	struct tcbrt *rt = NULL;

	fixture_init(&fixture);
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .threads = fixture_cores() });
	multiply(fixture.path, entries);
	fixture_put(&fixture, &(struct winner){ .n = 4096,
						.k = 4096,
						.gpu = "sm_90",
						.geometry = "macro=1x4096x4096,midi=1x64x4096,micro=1x1x256,isa=fma,"
							    "warps=8" });
	fixture_settle(fixture.path);
	rt = time_open(&fixture, "open, reading, and leave a snapshot", 1);
	tcbrt_close(rt);
	rt = time_open(&fixture, "open with the snapshot", ROUNDS);
	const unsigned cores = fixture_cores();
	time_lookups(rt, "exact, one shape", NULL, TCBRT_SOURCE_EXACT, cores, 4096, 8, 1, LOOKUPS);
	time_lookups(rt, "exact, 4096 shapes at random", NULL, TCBRT_SOURCE_EXACT, cores, 4096, 8, entries, LOOKUPS);
	time_lookups(rt, "exact, threads left open, one shape", NULL, TCBRT_SOURCE_EXACT, 0, 4096, 8, 1, LOOKUPS);
	time_lookups(rt, "exact, a GPU by its key, one shape", FIXTURE_GPU, TCBRT_SOURCE_EXACT, 0, 4096, 8, 1, LOOKUPS);
	time_lookups(rt, "nearest", NULL, TCBRT_SOURCE_NEAREST, cores, 4100, 8, entries, FALLBACKS);
	time_lookups(rt, "default", NULL, TCBRT_SOURCE_DEFAULT, cores, 8, 1, 500, FALLBACKS);
	tcbrt_close(rt);
	time_general(&fixture, "exact, threads left open, of 1 and 2", 0);
	time_general(&fixture, "exact, ... in the database of the system", 1);
	fixture_fini(&fixture);
	return 0;
}
