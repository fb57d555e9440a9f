/* SPDX-License-Identifier: MIT
 *
 * Drives the library at random: plans of any op, shape, contract, device,
 * number of threads and layout, with tunings out of random databases or drawn
 * from the whole space; packed in chunks by several threads, executed in every
 * way, saved, damaged and loaded.  Each result is held against the reference in
 * double, with poisoned outputs, guard zones around every buffer and inputs that
 * cannot be written.  What cannot be planned must be refused with one line.
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
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "drive.h"
#include "rt/rt_plan.h"

enum { THREADS_MAX = 8, CHUNKS_MAX = 64, BYTES_MAX = 1 << 26, ROUNDS_A_DATABASE = 150, DATABASES_MAX = 20 };

static struct {
	uint64_t seed, round;
	char what[256]; /* is being done */
} now;

static struct {
	size_t queries, refused, plans, executed, drawn, gpus, chunks, saved, damaged, lent;
} counts;

static struct tcbrt_pool *pools[THREADS_MAX + 1]; /* by threads; [0]: NULL, the caller alone */

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

/* ---- a plan with all that it wants ---- */

struct bench {
	const struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct drive_zone data[TCBRT_OPERANDS_MAX], packed, workspace;
	void *stored[TCBRT_OPERANDS_MAX];  /* as the caller has them */
	void *operand[TCBRT_OPERANDS_MAX]; /* as they are executed */
	struct tcb_operand described[TCB_OPERANDS_MAX];
	double *doubles;
	struct tcb_reference references[TCB_OUTPUTS_MAX];
	float *exact; /* of class EXACT */
};

static void check_info(const struct tcbrt_plan *plan)
{
	const struct tcbrt_plan_info *info = &plan->info;
	DRIVE_CHECK(info->operand_count > 0 && info->operand_count <= TCBRT_OPERANDS_MAX, "it has %zu operands",
		    info->operand_count);
	DRIVE_CHECK(info->output >= 0 && info->operand[info->output].role == TCBRT_ROLE_OUTPUT, "it has no output");
	DRIVE_CHECK(info->tuning.source != TCBRT_SOURCE_NONE && info->tuning.reason[0], "its tuning has no reason");
	DRIVE_CHECK(info->tuning.variant[0] && tcbrt_knob(&info->tuning, "isa") >= 0, "no kernel is named");
	DRIVE_CHECK((info->packed_bytes == 0) == (strcmp(info->layout, "native") == 0), "packed to %zu bytes, in %s",
		    info->packed_bytes, info->layout);
	for (size_t i = 0; i < info->operand_count; i++)
		DRIVE_CHECK(plan->operand[i].bytes > 0 && plan->operand[i].alignment > 0, "operand %zu has no bytes",
			    i);
}

static int is_small(const struct tcbrt_plan *plan)
{
	const struct tcbrt_plan_info *info = &plan->info;
	size_t most = info->packed_bytes > info->workspace_bytes ? info->packed_bytes : info->workspace_bytes;

	for (size_t i = 0; i < info->operand_count; i++)
		most = most > plan->operand[i].bytes ? most : plan->operand[i].bytes;
	return most <= BYTES_MAX;
}

static int is_output(const struct bench *b, size_t i)
{
	return b->plan->operand[i].role == TCBRT_ROLE_OUTPUT;
}

static void compute_reference(struct bench *b)
{
	const struct tcb_op *op = b->plan->problem.op;
	const size_t count = op->operands(&b->plan->problem, b->described);

	b->doubles = malloc(tcb_references_lay_out(b->described, count, NULL, NULL) * sizeof(double));
	DRIVE_CHECK(b->doubles, "out of memory");
	tcb_references_lay_out(b->described, count, b->doubles, b->references);
	op->reference(&b->plan->problem, b->stored, b->references);
	if (b->plan->cpu.variant->class != TCB_CLASS_EXACT)
		return;
	b->exact = malloc(b->described[b->info.output].bytes);
	DRIVE_CHECK(b->exact, "out of memory");
	op->exact(&b->plan->cpu, b->stored, b->exact);
}

/* LENDER (may be NULL) packed the same weights, and lends its workspace where that is large enough. */
static void bench_init(struct bench *b, const struct tcbrt_plan *plan, struct bench *lender)
{
	const int weights = plan->info.weights;

	memset(b, 0, sizeof(*b));
	b->plan = plan;
	DRIVE_CHECK(tcbrt_plan_info(plan, &b->info) == TCBRT_OK, "it has no info");
	for (size_t i = 0; i < b->info.operand_count; i++) {
		const int is_stored_only = (int)i == weights && b->info.packed_bytes;

		b->data[i] = drive_zone(plan->operand[i].bytes, is_stored_only ? 1 : plan->operand[i].alignment);
		b->operand[i] = b->stored[i] = b->data[i].at;
	}
	plan->problem.op->fill(&plan->problem, tcb_rng_next(&drive_rng), b->stored);
	if (lender)
		memcpy(b->stored[weights], lender->stored[weights], b->info.operand[weights].bytes);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (!is_output(b, i))
			drive_zone_protect(&b->data[i], 1);
	if (!plan->info.is_gpu)
		compute_reference(b);
	if (lender && b->info.packed_bytes)
		b->operand[weights] = lender->operand[weights];
	else if (b->info.packed_bytes)
		b->packed = drive_zone(b->info.packed_bytes, TCBRT_ALIGNMENT);
	if (plan->info.is_gpu || (lender && lender->info.workspace_bytes >= b->info.workspace_bytes))
		return;
	b->workspace = drive_zone(b->info.workspace_bytes, TCBRT_ALIGNMENT);
	DRIVE_CHECK(tcbrt_workspace_init(plan, b->workspace.at) == TCBRT_OK, "its workspace cannot be made ready");
}

static void bench_check_zones(const struct bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		drive_zone_check(&b->data[i], b->plan->operand[i].name);
	drive_zone_check(&b->packed, "what is packed");
	drive_zone_check(&b->workspace, "the workspace");
}

static void bench_fini(struct bench *b)
{
	bench_check_zones(b);
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		tcb_buffer_free(&b->data[i].buffer);
	tcb_buffer_free(&b->packed.buffer);
	tcb_buffer_free(&b->workspace.buffer);
	free(b->doubles);
	free(b->exact);
}

/* ---- packing ---- */

struct chunk {
	size_t first, rows;
};

struct packer {
	const struct bench *b;
	const struct chunk *chunks;
	size_t count, from, step; /* those of one thread */
	char *back;               /* packed weights go there again; NULL: they are packed */
	int code;
};

static void *pack_share(void *arg)
{
	struct packer *packer = arg;
	const struct bench *b = packer->b;
	const size_t row_bytes = b->info.operand[b->info.weights].bytes / b->info.operand[b->info.weights].rows;

	for (size_t i = packer->from; i < packer->count; i += packer->step) {
		const struct chunk *chunk = &packer->chunks[i];
		char *stored = (char *)b->stored[b->info.weights] + chunk->first * row_bytes;

		packer->code |= packer->back
					? tcbrt_unpack_rows(b->plan, chunk->first, chunk->rows, b->packed.at,
							    packer->back + chunk->first * row_bytes)
					: tcbrt_pack_rows(b->plan, chunk->first, chunk->rows, stored, b->packed.at);
	}
	return NULL;
}

/* All rows in chunks of whole groups, in any order; returns how many. */
static size_t draw_chunks(const struct bench *b, struct chunk out[CHUNKS_MAX])
{
	const size_t rows = b->info.operand[b->info.weights].rows, group = b->info.pack_rows;
	size_t count = 0;

	for (size_t first = 0; first < rows; count++) {
		size_t take = group * (1 + drive_below(4));

		if (take > rows - first || count == CHUNKS_MAX - 1)
			take = rows - first;
		out[count] = (struct chunk){ first, take };
		first += take;
	}
	for (size_t i = count; i > 1; i--) {
		const size_t other = drive_below(i);
		const struct chunk chunk = out[other];

		out[other] = out[i - 1];
		out[i - 1] = chunk;
	}
	return count;
}

static void by_threads(const struct bench *b, char *back)
{
	const size_t threads = 1 + drive_below(4);
	struct packer packers[4];
	pthread_t started[4];
	struct chunk chunks[CHUNKS_MAX];
	const size_t count = draw_chunks(b, chunks);

	for (size_t t = 0; t < threads; t++) {
		packers[t] = (struct packer){ b, chunks, count, t, threads, back, TCBRT_OK };
		DRIVE_CHECK(pthread_create(&started[t], NULL, pack_share, &packers[t]) == 0, "no thread");
	}
	for (size_t t = 0; t < threads; t++) {
		pthread_join(started[t], NULL);
		DRIVE_CHECK(packers[t].code == TCBRT_OK, "rows were refused");
	}
	counts.chunks += count;
}

static void check_unpacking(const struct bench *b)
{
	const struct tcbrt_operand *weights = &b->info.operand[b->info.weights];
	struct drive_zone back = drive_zone(weights->bytes, 1);
	const int in_chunks = b->info.pack_rows && drive_once_in(2);

	memset(back.at, TCB_POISON, back.bytes);
	if (in_chunks)
		by_threads(b, back.at);
	else
		DRIVE_CHECK(tcbrt_unpack(b->plan, b->packed.at, back.at) == TCBRT_OK, "unpacking is refused");
	DRIVE_CHECK(memcmp(back.at, b->stored[b->info.weights], back.bytes) == 0,
		    "unpacking%s does not give back what was packed", in_chunks ? " in chunks" : "");
	drive_zone_check(&back, "what is unpacked");
	tcb_buffer_free(&back.buffer);
	if (!b->info.pack_rows)
		return;
	const size_t group = b->info.pack_rows, rows = weights->rows;
	void *const stored = b->stored[b->info.weights];
	DRIVE_CHECK(tcbrt_pack_rows(b->plan, rows, group, stored, b->packed.at) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, 0, 0, stored, b->packed.at) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, group, SIZE_MAX - 1, stored, b->packed.at) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, SIZE_MAX / group * group, group, stored, b->packed.at) ==
				    TCBRT_E_USAGE,
		    "rows that are not there were packed");
}

static void pack(struct bench *b)
{
	struct drive_zone *packed = &b->packed;

	if (!packed->at) {
		DRIVE_CHECK(b->info.packed_bytes || tcbrt_pack(b->plan, b->stored[0], b->stored[0]) == TCBRT_E_USAGE,
			    "there is nothing to pack, and it was packed");
		return;
	}
	memset(packed->at, TCB_POISON, packed->bytes);
	DRIVE_CHECK(tcbrt_pack(b->plan, b->stored[b->info.weights], packed->at) == TCBRT_OK, "packing is refused");
	if (b->info.pack_rows) {
		void *whole = malloc(packed->bytes);

		DRIVE_CHECK(whole, "out of memory");
		memcpy(whole, packed->at, packed->bytes);
		memset(packed->at, TCB_POISON, packed->bytes);
		by_threads(b, NULL);
		DRIVE_CHECK(memcmp(whole, packed->at, packed->bytes) == 0, "in chunks it is packed in another way");
		free(whole);
	}
	drive_zone_protect(packed, 1);
	b->operand[b->info.weights] = packed->at;
	check_unpacking(b);
}

/* ---- executing ---- */

static void judge(const struct bench *b, const char *how)
{
	size_t output = 0, bad = 0;

	if (b->exact)
		DRIVE_CHECK(memcmp(b->operand[b->info.output], b->exact, b->described[b->info.output].bytes) == 0,
			    "%s: not bit-equal to the order-matched reference", how);
	else if (!(tcb_outputs_error_ratio(&b->plan->cpu, b->described, b->info.operand_count, b->references,
					   b->operand, &output, &bad) <= 1))
		drive_fail("%s: %s %zu is wrong", how, b->described[output].name, bad);
}

struct seat {
	const struct bench *b;
	void *const *operand;
	void *workspace;
	unsigned thread, threads, calls; /* threads 0: by itself */
	int code;
};

static void *take_seat(void *arg)
{
	struct seat *seat = arg;

	for (unsigned call = 0; call < seat->calls; call++)
		seat->code |= seat->threads ? tcbrt_execute_thread(seat->b->plan, seat->operand, seat->workspace,
								   seat->thread, seat->threads)
					    : tcbrt_execute(seat->b->plan, seat->operand, seat->workspace, NULL);
	return NULL;
}

static void run_seats(struct seat *seats, unsigned count)
{
	pthread_t started[THREADS_MAX];

	for (unsigned t = 0; t < count; t++)
		DRIVE_CHECK(pthread_create(&started[t], NULL, take_seat, &seats[t]) == 0, "no thread");
	for (unsigned t = 0; t < count; t++) {
		pthread_join(started[t], NULL);
		DRIVE_CHECK(seats[t].code == TCBRT_OK, "thread %u of %u was refused", t, count);
	}
}

static void run_gang(const struct bench *b, void *workspace)
{
	const unsigned threads = 1 + (unsigned)drive_below(drive_once_in(4) ? THREADS_MAX : 3);
	const unsigned calls = 1 + (unsigned)drive_below(3);
	struct seat seats[THREADS_MAX];

	for (unsigned t = 0; t < threads; t++)
		seats[t] = (struct seat){ b, b->operand, workspace, t, threads, calls, TCBRT_OK };
	run_seats(seats, threads);
}

/* Two threads execute the same plan at once, each with its own outputs and workspace. */
static void run_two(const struct bench *b, void *workspace, char *const first[])
{
	struct drive_zone output[TCBRT_OPERANDS_MAX] = { { .at = NULL } };
	struct drive_zone other = drive_zone(b->info.workspace_bytes, TCBRT_ALIGNMENT);
	void *operand[TCBRT_OPERANDS_MAX];
	struct seat seats[] = { { b, b->operand, workspace, 0, 0, 2, TCBRT_OK },
				{ b, operand, other.at, 0, 0, 2, TCBRT_OK } };

	memcpy(operand, b->operand, sizeof(operand));
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i)) {
			output[i] = drive_zone(b->data[i].bytes, b->plan->operand[i].alignment);
			operand[i] = output[i].at;
		}
	DRIVE_CHECK(tcbrt_workspace_init(b->plan, other.at) == TCBRT_OK, "its workspace cannot be made ready");
	run_seats(seats, 2);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i)) {
			DRIVE_CHECK(memcmp(first[i], output[i].at, output[i].bytes) == 0,
				    "beside another execution the result is another");
			drive_zone_check(&output[i], "the other output");
			tcb_buffer_free(&output[i].buffer);
		}
	drive_zone_check(&other, "the other workspace");
	tcb_buffer_free(&other.buffer);
}

/* Outputs: poison them, keep them in FIRST, compare them with it. */
static void poison(const struct bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i))
			memset(b->operand[i], TCB_POISON, b->data[i].bytes);
}

static void keep(const struct bench *b, char *first[])
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i)) {
			first[i] = malloc(b->data[i].bytes);
			DRIVE_CHECK(first[i], "out of memory");
			memcpy(first[i], b->operand[i], b->data[i].bytes);
		}
}

static int is_kept(const struct bench *b, char *const first[])
{
	int is_same = 1;

	for (size_t i = 0; i < b->info.operand_count; i++)
		is_same &= !is_output(b, i) || memcmp(first[i], b->operand[i], b->data[i].bytes) == 0;
	return is_same;
}

/* However it is executed, the result is right, and the same. */
static void execute(struct bench *b, void *workspace)
{
	char *first[TCBRT_OPERANDS_MAX] = { NULL };

	for (unsigned i = 0; i < 5; i++) {
		const unsigned threads = i ? 1 + (unsigned)drive_below(THREADS_MAX) : 0;
		char how[32];

		snprintf(how, sizeof(how), "%u: with %u", i, threads);
		poison(b);
		if (i == 3)
			run_gang(b, workspace);
		else if (i == 4)
			run_two(b, workspace, first);
		else
			DRIVE_CHECK(tcbrt_execute(b->plan, b->operand, workspace, pools[threads]) == TCBRT_OK,
				    "it is refused");
		if (i == 0) {
			judge(b, "alone");
			keep(b, first);
		}
		DRIVE_CHECK(is_kept(b, first), "%s threads the result is another than alone", how);
		bench_check_zones(b);
	}
	DRIVE_CHECK(tcbrt_execute(b->plan, b->operand, (char *)workspace + 64, NULL) == TCBRT_E_USAGE,
		    "a workspace was taken that is not aligned");
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		free(first[i]);
	counts.executed++;
}

/* Another number of tokens, with what B packed and its workspace. */
static void lend(const struct tcbrt *rt, const struct tcbrt_query *query, struct bench *lender)
{
	struct tcbrt_query other = *query;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct bench b;

	other.m = drive_once_in(3) ? 1 : 1 + drive_below(24);
	other.layout = lender->info.layout;
	other.threads = (unsigned)drive_below(4);
	if (other.n * other.k * other.m > (size_t)1 << 21 || tcbrt_plan_create(rt, &other, &plan, &err) != TCBRT_OK)
		return;
	DRIVE_CHECK(plan->info.packed_bytes == lender->info.packed_bytes, "for %zu tokens %zu bytes, not %zu", other.m,
		    plan->info.packed_bytes, lender->info.packed_bytes);
	bench_init(&b, plan, lender);
	execute(&b, b.workspace.at ? b.workspace.at : lender->workspace.at);
	bench_check_zones(lender);
	bench_fini(&b);
	tcbrt_plan_destroy(plan);
	counts.lent++;
}

/* ---- saving ---- */

static void check_refused(int code, const struct tcbrt_plan *plan, const struct tcbrt_error *err, const char *what)
{
	const size_t length = strnlen(err->message, sizeof(err->message));

	DRIVE_CHECK(!plan && code == err->code, "%s: code %d and %d in the error", what, code, err->code);
	DRIVE_CHECK(length > 8 && length < sizeof(err->message) - 1 && !strpbrk(err->message, "\n\r\t"),
		    "%s: not one clear line: '%.600s'", what, err->message);
}

/* Damaged and signed again: refused, or a plan that computes what it says. */
static void load_forged(const struct tcbrt *rt, unsigned char *blob, size_t bytes)
{
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct bench b;
	struct rt_saved saved;
	const size_t from = offsetof(struct rt_saved, m);

	DRIVE_CHECK(bytes == sizeof(saved), "a saved plan of %zu bytes", bytes);
	drive_damage(blob + from, sizeof(saved) - from);
	memcpy(&saved, blob, sizeof(saved));
	rt_saved_sign(&saved);
	memcpy(blob, &saved, sizeof(saved));
	const int code = tcbrt_plan_load(rt, blob, bytes, &plan, &err);
	if (code != TCBRT_OK) {
		check_refused(code, plan, &err, "a forged plan");
		return;
	}
	check_info(plan);
	if (!plan->info.is_gpu && is_small(plan) &&
	    plan->problem.shape.m * plan->problem.shape.n * (plan->problem.shape.k | 1) < (size_t)1 << 23) {
		bench_init(&b, plan, NULL);
		pack(&b);
		execute(&b, b.workspace.at);
		bench_fini(&b);
	}
	tcbrt_plan_destroy(plan);
}

static void check_loaded(const struct tcbrt_plan *plan, const struct tcbrt_plan *loaded)
{
	struct tcbrt_plan_info before = plan->info, after = loaded->info;
	struct tcbrt_tuning *tuning = &before.tuning;

	/* What it was measured at is not saved. */
	tuning->expected_ns = tuning->speedup = tuning->speedup_lo = 0;
	tuning->tuned_m = tuning->tuned_n = tuning->tuned_k = 0;
	DRIVE_CHECK(strcmp(before.tuning.reason, after.tuning.reason) == 0, "loaded, its reason is another");
	memset(tuning->reason, 0, sizeof(tuning->reason));
	memset(after.tuning.reason, 0, sizeof(after.tuning.reason));
	memset(tuning->geometry, 0, sizeof(tuning->geometry));
	memset(after.tuning.geometry, 0, sizeof(after.tuning.geometry));
	memset(tuning->variant, 0, sizeof(tuning->variant));
	memset(after.tuning.variant, 0, sizeof(after.tuning.variant));
	DRIVE_CHECK(memcmp(&before, &after, sizeof(before)) == 0, "loaded, it says something else of itself");
}

/* B: of a plan on a CPU, or NULL. */
static void save_and_load(const struct tcbrt *rt, const struct tcbrt_plan *plan, struct bench *b)
{
	struct tcbrt_plan *loaded;
	struct tcbrt_error err;
	size_t bytes, again;

	DRIVE_CHECK(tcbrt_plan_save(plan, NULL, 0, &bytes) == TCBRT_OK, "it cannot be saved");
	struct drive_zone blob = drive_zone(bytes, 1);
	unsigned char *copy = malloc(bytes);
	DRIVE_CHECK(copy, "out of memory");
	DRIVE_CHECK(tcbrt_plan_save(plan, blob.at, bytes - 1, &again) == TCBRT_E_OVERFLOW && again == bytes,
		    "it was saved where it has no room");
	DRIVE_CHECK(tcbrt_plan_save(plan, blob.at, bytes, &again) == TCBRT_OK, "it cannot be saved");
	drive_zone_check(&blob, "the saved plan");
	memcpy(copy, blob.at, bytes);
	if (tcbrt_plan_load(rt, blob.at, bytes, &loaded, &err) != TCBRT_OK)
		drive_fail("saved, it cannot be loaded: %s", err.message);
	check_loaded(plan, loaded);
	if (b) {
		struct bench other = *b;

		other.plan = loaded;
		execute(&other, other.workspace.at);
	}
	tcbrt_plan_destroy(loaded);
	for (int i = 0; i < 8; i++) {
		const size_t cut = drive_once_in(2) ? bytes : drive_below(bytes);

		if (cut == bytes)
			drive_damage(blob.at, bytes);
		const int code = tcbrt_plan_load(rt, blob.at, cut, &loaded, &err);
		DRIVE_CHECK(code != TCBRT_OK, "damaged or cut to %zu of %zu bytes it was loaded", cut, bytes);
		check_refused(code, loaded, &err, "a damaged plan");
		memcpy(blob.at, copy, bytes);
		counts.damaged++;
	}
	for (int i = 0; i < (plan->info.is_gpu ? 1 : 3); i++) {
		load_forged(rt, blob.at, bytes);
		memcpy(blob.at, copy, bytes);
	}
	free(copy);
	tcb_buffer_free(&blob.buffer);
	counts.saved++;
}

/* ---- a round ---- */

static void exercise(const struct tcbrt *rt, const struct tcbrt_query *query, const struct tcbrt_plan *plan)
{
	struct bench b;

	check_info(plan);
	counts.plans++;
	counts.gpus += plan->info.is_gpu != 0;
	if (!is_small(plan))
		return;
	snprintf(now.what + strlen(now.what), sizeof(now.what) - strlen(now.what), " %s %s", plan->info.tuning.variant,
		 plan->info.layout);
	bench_init(&b, plan, NULL);
	pack(&b);
	if (!plan->info.is_gpu)
		execute(&b, b.workspace.at);
	if (!plan->info.is_gpu && b.info.weights >= 0 && drive_once_in(3))
		lend(rt, query, &b);
	if (drive_once_in(3))
		save_and_load(rt, plan, plan->info.is_gpu ? NULL : &b);
	bench_fini(&b);
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
	counts.drawn++;
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
	counts.queries++;
	const int found = tcbrt_lookup(rt, &query, &tuning);
	DRIVE_CHECK((found == TCBRT_OK) == (tuning.source != TCBRT_SOURCE_NONE) && tuning.reason[0],
		    "the lookup returned %d, from %s: %s", found, tcbrt_source_text(tuning.source), tuning.reason);
	const int code = tcbrt_plan_create(rt, &query, &plan, &err);
	if (code != TCBRT_OK) {
		check_refused(code, plan, &err, "the plan");
		/* A kind of GPU that only a database has heard of may have results and no PTX. */
		DRIVE_CHECK(found != TCBRT_OK || query.layout ||
				    (query.device && tcb_gpu_parse(query.device, NULL, NULL)),
			    "looked up, it cannot be planned: %s", err.message);
		counts.refused++;
		return;
	}
	DRIVE_CHECK(found == TCBRT_OK, "planned, though looked up it was refused: %s", tuning.reason);
	if (drive_once_in(2) && is_small(plan))
		exercise_drawn(rt, &query, &tuning);
	else
		exercise(rt, &query, plan);
	tcbrt_plan_destroy(plan);
}

/* Whether every kind of thing that this driver tries has happened. */
static int has_driven_all(void)
{
	return counts.executed && counts.refused && counts.chunks && counts.lent && counts.damaged && counts.gpus &&
	       drive_found;
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
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
		DRIVE_CHECK(tcbrt_pool_create(threads, &pools[threads], NULL) == TCBRT_OK, "no pool");
	const uint64_t first = now.round, least = is_repeat ? 1 : ROUNDS_A_DATABASE;
	/* One database of few winners may hold none that a query finds: what was drawn depends on the machine. */
	const uint64_t most = is_repeat ? 1 : ROUNDS_A_DATABASE * DATABASES_MAX;
	for (; now.round - first < least || (!is_repeat && tcb_clock_ns() < end) ||
	       (!has_driven_all() && now.round - first < most);
	     now.round++) {
		const uint64_t era = now.round / ROUNDS_A_DATABASE;

		if (!rt || now.round % ROUNDS_A_DATABASE == 0) {
			strcpy(now.what, "a database");
			tcb_rng_init(&drive_rng, tcb_hash64(&era, sizeof(era), ~now.seed));
			drive_database(&rt);
		}
		tcb_rng_init(&drive_rng, tcb_hash64(&now.round, sizeof(now.round), now.seed));
		run_round(drive_once_in(3) ? empty : rt);
	}
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
		tcbrt_pool_destroy(pools[threads]);
	drive_database_fini();
	tcbrt_close(empty);
	printf("%llu rounds: %zu of %zu queries refused, %zu plans (%zu drawn, %zu of GPUs), %zu executed in five "
	       "ways, "
	       "%zu chunks packed, %zu with lent weights, %zu saved, %zu damaged; %zu winners stored, %zu looked up\n",
	       (unsigned long long)now.round, counts.refused, counts.queries, counts.plans, counts.drawn, counts.gpus,
	       counts.executed, counts.chunks, counts.lent, counts.saved, counts.damaged, drive_stored, drive_found);
	/* A driver that drives nothing must not pass. */
	return is_repeat || has_driven_all() ? 0 : 1;
}
