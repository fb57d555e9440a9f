/* SPDX-License-Identifier: MIT
 *
 * Drives the library at random: plans of any op, shape, contract, device,
 * number of threads and layout, with tunings out of random databases or drawn
 * from the whole space, with strides or not; packed in chunks by several threads,
 * executed in every way, among others in chains, saved, damaged and loaded.  Each result is held against the reference
 * in double, with poisoned outputs, guard zones around every buffer and inputs that cannot be written.  What cannot be
 * planned must be refused with one line.
 *
 *     drive_plans SEED SECONDS [ROUND]
 *
 * Every round has numbers of its own, made of SEED and its number: what failed
 * is repeated by naming its ROUND.  It goes on for SECONDS, and for the rounds of
 * one database at least: those, which take some seconds, are what CTest runs.  By
 * hand, a quarter of an hour of another seed each in the builds of the presets ci
 * and asan, and some minutes in that of tsan:
 *
 *     cmake --build --preset asan --target drive_plans
 *     build/asan/tests/rt/drive_plans $RANDOM 900
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "drive_bench.h"

enum { ROUNDS_A_DATABASE = 150, DATABASES_MAX = 20 };

static struct {
	uint64_t seed, round;
	char what[256]; /* is being done */
} now;

struct drive_counts drive_counts;
struct tcbrt_pool *drive_pools[DRIVE_THREADS_MAX + 1];

void drive_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "drive_plans %llu 1 %llu: %s: ", (unsigned long long)now.seed, (unsigned long long)now.round,
		now.what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

/* Another number of tokens, with what B packed and its workspace. */
static void lend(const struct tcbrt *rt, const struct tcbrt_query *query, struct drive_bench *lender)
{
	struct tcbrt_query other = *query;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct drive_bench b;

	other.m = drive_once_in(3) ? 1 : 1 + drive_below(24);
	other.layout = lender->info.layout;
	other.threads = (unsigned)drive_below(4);
	if (other.n * other.k * other.m > (size_t)1 << 21 || tcbrt_plan_create(rt, &other, &plan, &err) != TCBRT_OK)
		return;
	DRIVE_CHECK(plan->info.packed_bytes == lender->info.packed_bytes, "for %zu tokens %zu bytes, not %zu", other.m,
		    plan->info.packed_bytes, lender->info.packed_bytes);
	drive_bench_init(&b, plan, lender);
	drive_execute(&b, b.workspace.at ? b.workspace.at : lender->workspace.at);
	drive_bench_check_zones(lender);
	drive_bench_fini(&b);
	tcbrt_plan_destroy(plan);
	drive_counts.lent++;
}

static void exercise(const struct tcbrt *rt, const struct tcbrt_query *query, const struct tcbrt_plan *plan)
{
	struct drive_bench b;

	drive_check_info(plan);
	drive_counts.plans++;
	drive_counts.gpus += plan->info.is_gpu != 0;
	if (!drive_is_small(plan))
		return;
	snprintf(now.what + strlen(now.what), sizeof(now.what) - strlen(now.what), " %s %s", plan->info.tuning.variant,
		 plan->info.layout);
	drive_bench_init(&b, plan, NULL);
	drive_pack(&b);
	if (!plan->info.is_gpu)
		drive_execute(&b, b.workspace.at);
	if (!plan->info.is_gpu && b.info.weights >= 0 && drive_once_in(3))
		lend(rt, query, &b);
	if (drive_once_in(3))
		drive_save_and_load(rt, plan, plan->info.is_gpu ? NULL : &b);
	if (!plan->info.is_gpu && drive_once_in(3))
		drive_chain(rt, &b);
	if (!plan->info.is_gpu && drive_once_in(10))
		drive_chain_keep(rt, &b);
	else
		drive_bench_fini(&b);
}

/* The same with rows apart from each other. */
static void exercise_strided(const struct tcbrt *rt, const struct tcbrt_query *query)
{
	struct rt_device device;
	struct tcb_problem problem;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	if (rt_query_problem(rt, query, &problem, &device, NULL) != TCB_OK)
		drive_fail("planned, it is no problem");
	const struct tcbrt_strides strides = drive_strides(&problem);
	const int code = tcbrt_plan_create_strided(rt, query, &strides, &plan, &err);

	snprintf(now.what + strlen(now.what), sizeof(now.what) - strlen(now.what), " strides %zu %zu", strides.x,
		 strides.y);
	if (code != TCBRT_OK) {
		drive_check_refused(code, plan, &err, "the plan with strides");
		return;
	}
	DRIVE_CHECK(problem.op->stride_unit || !(strides.x || strides.y), "strides were taken by an op that has none");
	drive_counts.strided++;
	exercise(rt, query, plan);
	tcbrt_plan_destroy(plan);
}

/* A plan with any geometry of the space, which no lookup would have chosen. */
static void exercise_drawn(const struct tcbrt *rt, const struct tcbrt_query *query, const struct tcbrt_tuning *tuning)
{
	struct rt_device device;
	struct tcbrt_plan *plan = NULL;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_target target;
	struct tcb_error err;

	if (rt_query_problem(rt, query, &problem, &device, &err) != TCB_OK)
		drive_fail("looked up, it is no problem: %s", err.message);
	target = device.target;
	target.threads = tuning->threads;
	if (!rt_has_threads(&device) || !drive_geometry(&problem, &target, &geometry))
		return;
	struct tcbrt_tuning drawn = *tuning;
	rt_tuning_geometry(&drawn, &geometry);
	tcb_geometry_print(&geometry, drawn.geometry);
	snprintf(drawn.variant, sizeof(drawn.variant), "%s",
		 tcb_variant_find(problem.op, problem.contract, &geometry)->name);
	if (rt_plan_make(&problem, &geometry, &device, target.threads, &drawn, NULL, &plan, &err) != TCB_OK)
		drive_fail("legal, but it cannot be planned: %s: %s", drawn.geometry, err.message);
	snprintf(now.what + strlen(now.what), sizeof(now.what) - strlen(now.what), " drawn");
	drive_counts.drawn++;
	exercise(rt, query, plan);
	tcbrt_plan_destroy(plan);
}

static void run_round(const struct tcbrt *rt)
{
	const struct tcbrt_query query = drive_query(rt);
	struct tcbrt_tuning tuning;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	snprintf(now.what, sizeof(now.what), "%s %zux%zux%zu %s contract %d threads %u layout %s", query.op, query.m,
		 query.n, query.k, query.device ? query.device : "cpu", (int)query.contract, query.threads,
		 query.layout ? query.layout : "any");
	drive_counts.queries++;
	const int found = tcbrt_lookup(rt, &query, &tuning);
	DRIVE_CHECK((found == TCBRT_OK) == (tuning.source != TCBRT_SOURCE_NONE) && tuning.reason[0],
		    "the lookup returned %d, from %s: %s", found, tcbrt_source_text(tuning.source), tuning.reason);
	const int code = tcbrt_plan_create(rt, &query, &plan, &err);
	if (code != TCBRT_OK) {
		drive_check_refused(code, plan, &err, "the plan");
		/* A kind of GPU that only a database has heard of may have results and no PTX. */
		DRIVE_CHECK(found != TCBRT_OK || query.layout ||
				    (query.device && tcb_gpu_parse(query.device, NULL, NULL)),
			    "looked up, it cannot be planned: %s", err.message);
		drive_counts.refused++;
		return;
	}
	DRIVE_CHECK(found == TCBRT_OK, "planned, though looked up it was refused: %s", tuning.reason);
	if (drive_once_in(4))
		exercise_strided(rt, &query);
	else if (drive_once_in(2) && drive_is_small(plan))
		exercise_drawn(rt, &query, &tuning);
	else
		exercise(rt, &query, plan);
	tcbrt_plan_destroy(plan);
}

/* Whether every kind of thing that this driver tries has happened. */
static int has_driven_all(void)
{
	return drive_counts.executed && drive_counts.refused && drive_counts.chunks && drive_counts.lent &&
	       drive_counts.damaged && drive_counts.gpus && drive_counts.strided && drive_counts.chained && drive_found;
}

int main(int argc, char **argv)
{
	struct tcbrt *empty, *rt = NULL;
	const int is_repeat = argc == 4;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: %s SEED SECONDS [ROUND]\n", argv[0]);
		return 2;
	}
	now.seed = strtoull(argv[1], NULL, 10);
	now.round = is_repeat ? strtoull(argv[3], NULL, 10) : 0;
	const uint64_t end = tcb_clock_ns() + strtoull(argv[2], NULL, 10) * 1000000000U;
	strcpy(now.what, "to begin with");
	DRIVE_CHECK(tcbrt_open_empty(&empty, NULL) == TCBRT_OK, "nothing can be opened");
	for (unsigned threads = 1; threads <= DRIVE_THREADS_MAX; threads++)
		DRIVE_CHECK(tcbrt_pool_create(threads, &drive_pools[threads], NULL) == TCBRT_OK, "no pool");
	const uint64_t first = now.round, least = is_repeat ? 1 : ROUNDS_A_DATABASE;
	/* One database of few winners may hold none that a query finds: what was drawn depends on the machine. */
	const uint64_t most = is_repeat ? 1 : ROUNDS_A_DATABASE * DATABASES_MAX;
	for (; now.round - first < least || (!is_repeat && tcb_clock_ns() < end) ||
	       (!has_driven_all() && now.round - first < most);
	     now.round++) {
		const uint64_t era = now.round / ROUNDS_A_DATABASE;

		if (!rt || now.round % ROUNDS_A_DATABASE == 0) {
			strcpy(now.what, "a database");
			drive_chain_forget();
			tcb_rng_init(&drive_rng, tcb_hash64(&era, sizeof(era), ~now.seed));
			drive_database(&rt);
		}
		tcb_rng_init(&drive_rng, tcb_hash64(&now.round, sizeof(now.round), now.seed));
		run_round(drive_once_in(3) ? empty : rt);
	}
	for (unsigned threads = 1; threads <= DRIVE_THREADS_MAX; threads++)
		tcbrt_pool_destroy(drive_pools[threads]);
	drive_chain_forget();
	drive_database_fini();
	tcbrt_close(empty);
	printf("%llu rounds: %zu of %zu queries refused, %zu plans (%zu drawn, %zu of GPUs), %zu executed in five "
	       "ways, "
	       "%zu with strides, %zu in chains, %zu chunks packed, %zu with lent weights, %zu saved, %zu damaged; %zu "
	       "winners stored, %zu looked up\n",
	       (unsigned long long)now.round, drive_counts.refused, drive_counts.queries, drive_counts.plans,
	       drive_counts.drawn, drive_counts.gpus, drive_counts.executed, drive_counts.strided, drive_counts.chained,
	       drive_counts.chunks, drive_counts.lent, drive_counts.saved, drive_counts.damaged, drive_stored,
	       drive_found);
	/* A driver that drives nothing must not pass. */
	return is_repeat || has_driven_all() ? 0 : 1;
}
