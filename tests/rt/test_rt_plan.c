/* SPDX-License-Identifier: MIT
 *
 * Plans of every op on this host, at odd shapes: alone, with a pool, with the
 * caller's threads, always the reference's result and the same bits; packing in
 * chunks; weights packed by one plan and read by others.
 */
#include "cmocka_all.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "instrumented.h"
#include "rt/rt_plan.h"
#include "saved_plans.h"
#include "shape_for.h"
#include "tcbrt.h"

enum { THREADS_MAX = 3, ROUNDS = 3, SEED = 7 };

/* A problem in guarded memory, ready to run with PLAN. */
struct bench {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcb_buffer data[TCBRT_OPERANDS_MAX], packed[TCBRT_OPERANDS_MAX], workspace, reference;
	void *stored[TCBRT_OPERANDS_MAX];  /* as the caller has them */
	void *operand[TCBRT_OPERANDS_MAX]; /* as they are executed */
};

static struct tcb_buffer alloc(size_t bytes)
{
	struct tcb_buffer buffer = { 0 };

	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes + TCBRT_ALIGNMENT, &buffer, NULL), TCB_OK);
	return buffer;
}

static void *aligned(const struct tcb_buffer *buffer)
{
	return (void *)(((uintptr_t)buffer->data + TCBRT_ALIGNMENT - 1) & ~(uintptr_t)(TCBRT_ALIGNMENT - 1));
}

static void bench_init(struct bench *b, const struct tcbrt *rt, const struct tcbrt_query *query)
{
	struct tcbrt_error err;

	memset(b, 0, sizeof(*b));
	if (tcbrt_plan_create(rt, query, &b->plan, &err) != TCBRT_OK)
		fail_msg("%s %zux%zux%zu: %s", query->op, query->m, query->n, query->k, err.message);
	assert_int_equal(tcbrt_plan_info(b->plan, &b->info), TCBRT_OK);
	for (size_t i = 0; i < b->info.operand_count; i++) {
		struct tcbrt_operand operand;

		assert_int_equal(tcbrt_plan_operand(b->plan, i, &operand), TCBRT_OK);
		b->data[i] = alloc(operand.bytes);
		/* As badly aligned as the plan allows. */
		b->operand[i] = b->stored[i] = (char *)b->data[i].data + (operand.packed_bytes ? 1 : operand.alignment);
	}
	b->plan->problem.op->fill(&b->plan->problem, SEED, b->stored);
	b->workspace = alloc(b->info.workspace_bytes);
	memset(aligned(&b->workspace), 0x7f, b->info.workspace_bytes);
	assert_int_equal(tcbrt_workspace_init(b->plan, aligned(&b->workspace)), TCBRT_OK);
	for (size_t i = 0; i < b->info.operand_count; i++) {
		if (!b->plan->operand[i].packed_bytes)
			continue;
		b->packed[i] = alloc(b->plan->operand[i].packed_bytes);
		b->operand[i] = aligned(&b->packed[i]);
		assert_int_equal(tcbrt_pack_operand(b->plan, i, b->stored[i], b->operand[i]), TCBRT_OK);
	}
}

static void bench_fini(struct bench *b)
{
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++) {
		tcb_buffer_free(&b->data[i]);
		tcb_buffer_free(&b->packed[i]);
	}
	tcb_buffer_free(&b->workspace);
	tcb_buffer_free(&b->reference);
	tcbrt_plan_destroy(b->plan);
}

static int is_output(const struct bench *b, size_t i)
{
	return b->plan->operand[i].role == TCBRT_ROLE_OUTPUT;
}

static void poison(struct bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i))
			memset(b->operand[i], 0xff, b->plan->operand[i].bytes);
}

/* Copies all outputs to KEPT, or compares them with it. */
static void keep_outputs(const struct bench *b, char *kept)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i)) {
			memcpy(kept, b->operand[i], b->plan->operand[i].bytes);
			kept += b->plan->operand[i].bytes;
		}
}

static void check_outputs(const struct bench *b, const char *kept)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_output(b, i)) {
			assert_memory_equal(kept, b->operand[i], b->plan->operand[i].bytes);
			kept += b->plan->operand[i].bytes;
		}
}

static void check_result(struct bench *b, const char *how)
{
	const struct tcb_op *op = b->plan->problem.op;
	struct tcb_operand described[TCB_OPERANDS_MAX];
	struct tcb_reference references[TCB_OUTPUTS_MAX];
	const size_t count = op->operands(&b->plan->problem, described);
	const int is_new = !b->reference.map;
	size_t output = 0, bad = 0;

	if (is_new)
		b->reference = alloc(tcb_references_lay_out(described, count, NULL, NULL) * sizeof(double));
	tcb_references_lay_out(described, count, b->reference.data, references);
	if (is_new)
		op->reference(&b->plan->problem, b->stored, references);
	if (b->plan->cpu.variant->class == TCB_CLASS_EXACT && op->exact) {
		const size_t bytes = described[b->info.output].bytes;
		float *exact = malloc(bytes);

		op->exact(&b->plan->cpu, b->stored, exact);
		assert_memory_equal(b->operand[b->info.output], exact, bytes);
		free(exact);
	} else if (!(tcb_outputs_error_ratio(&b->plan->cpu, described, count, references, b->operand, &output, &bad) <=
		     1)) {
		fail_msg("%s %zux%zux%zu %s with %s: %s %zu is wrong", op->name, b->plan->problem.shape.m,
			 b->plan->problem.shape.n, b->plan->problem.shape.k, how, b->info.tuning.variant,
			 described[output].name, bad);
	}
}

struct seat {
	struct bench *b;
	unsigned thread, threads;
	int code;
};

static void *take_seat(void *arg)
{
	struct seat *seat = arg;

	for (int round = 0; round < ROUNDS; round++)
		seat->code |= tcbrt_execute_thread(seat->b->plan, seat->b->operand, aligned(&seat->b->workspace),
						   seat->thread, seat->threads);
	return NULL;
}

static void execute_by_threads(struct bench *b, unsigned threads)
{
	struct seat seats[THREADS_MAX];
	pthread_t started[THREADS_MAX];

	for (unsigned t = 0; t < threads; t++) {
		seats[t] = (struct seat){ b, t, threads, TCBRT_OK };
		assert_int_equal(pthread_create(&started[t], NULL, take_seat, &seats[t]), 0);
	}
	for (unsigned t = 0; t < threads; t++) {
		assert_int_equal(pthread_join(started[t], NULL), 0);
		assert_int_equal(seats[t].code, TCBRT_OK);
	}
}

/* However a plan is executed, the result is right, and the same. */
static void check_ways(struct bench *b, struct tcbrt_pool *const pool[THREADS_MAX + 1])
{
	size_t bytes = 0;
	for (size_t i = 0; i < b->info.operand_count; i++)
		bytes += is_output(b, i) ? b->plan->operand[i].bytes : 0;
	char *first = malloc(bytes);

	poison(b);
	assert_int_equal(tcbrt_execute(b->plan, b->operand, aligned(&b->workspace), NULL), TCBRT_OK);
	check_result(b, "alone");
	keep_outputs(b, first);
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
		poison(b);
		assert_int_equal(tcbrt_execute(b->plan, b->operand, aligned(&b->workspace), pool[threads]), TCBRT_OK);
		check_outputs(b, first);
		poison(b);
		execute_by_threads(b, threads);
		check_outputs(b, first);
	}
	free(first);
}

static void check_chunks(struct bench *b)
{
	const size_t rows = b->info.operand[b->info.weights].rows, step = 3 * b->info.pack_rows;
	const size_t row_bytes = b->info.operand[b->info.weights].bytes / rows;
	struct tcb_buffer again = alloc(b->info.packed_bytes);

	if (!b->info.pack_rows) { /* a pair's rows are apart as stored, and groups do not go on from expert to expert */
		const struct tcb_words *words = &b->plan->problem.shape.words;
		const size_t experts = (size_t)words->experts + words->shared;

		assert_true(rows == (experts ? experts : 2) * b->info.operand[b->info.output].columns);
		assert_int_equal(tcbrt_pack_rows(b->plan, 0, rows, b->stored[b->info.weights], aligned(&again)),
				 TCBRT_E_USAGE);
		tcb_buffer_free(&again);
		return;
	}
	memset(aligned(&again), 0xff, b->info.packed_bytes);
	for (size_t first = rows / step * step + step; first > 0;) { /* from the last chunk on */
		first -= step;
		if (first < rows)
			assert_int_equal(tcbrt_pack_rows(b->plan, first, step < rows - first ? step : rows - first,
							 (char *)b->stored[b->info.weights] + first * row_bytes,
							 aligned(&again)),
					 TCBRT_OK);
	}
	assert_memory_equal(aligned(&again), b->operand[b->info.weights], b->info.packed_bytes);
	assert_int_equal(tcbrt_pack_rows(b->plan, 1, 16, b->stored[b->info.weights], aligned(&again)), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_pack_rows(b->plan, 0, rows + 1, b->stored[b->info.weights], aligned(&again)),
			 TCBRT_E_USAGE);
	tcb_buffer_free(&again);
}

static const struct tcb_shape shapes[] = {
	{ 1, 1, 256 }, { 1, 67, 512 }, { 5, 33, 768 }, { 19, 130, 256 }, { 1, 300, 1024 },
};

static void every_op_runs(void **state)
{
	size_t count, planned = 0, drawn = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tcbrt_pool *pool[THREADS_MAX + 1] = { NULL };
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
		assert_int_equal(tcbrt_pool_create(threads, &pool[threads], NULL), TCBRT_OK);
	for (size_t o = 0; o < count; o++)
		for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
			for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
				for (unsigned threads = 1; threads <= 2; threads++) {
					struct tcbrt_query query = { .op = ops[o]->name,
								     .threads = threads,
								     .contract = (enum tcbrt_contract)(contract + 1),
								     .m = shapes[s].m,
								     .n = shapes[s].n };
					struct tcbrt_tuning tuning;
					struct bench b;

					if (test_leaves_out(drawn++))
						continue;
					char words[TCB_WORDS_TEXT_MAX];
					const struct tcb_shape shape = shape_for(
						ops[o], (struct tcb_shape){ shapes[s].m, shapes[s].n, shapes[s].k });

					tcb_words_print(&shape.words, words);
					query.m = shape.m;
					query.k = shape.k;
					query.words = words;
					/* What an op has no CPU kernel for, a lookup says. */
					if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK)
						continue;
					bench_init(&b, rt, &query);
					check_ways(&b, pool);
					if (b.info.packed_bytes)
						check_chunks(&b);
					bench_fini(&b);
					planned++;
				}
	assert_true(planned >= test_least_of(2 * count * sizeof(shapes) / sizeof(*shapes)));
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
		tcbrt_pool_destroy(pool[threads]);
	tcbrt_close(rt);
}

/* More operands than the info has room for: the first ones are there, and all are told one by one. */
static void all_operands_are_told(void **state)
{
	static const char *const names[] = { "qkv", "rotation", "lengths", "q", "k", "v", "pages" };
	static const char *const types[] = { "f32", "f32", "i32", "f32", "blocks", "blocks", "i32" };
	const struct tcbrt_query caches = {
		.op = "rope_append_q80", .contract = TCBRT_CONTRACT_F32, .m = 3, .n = 12, .k = 64, .words = "h4/2,b2,p4"
	};
	const size_t rows = (size_t)2 * 12, bytes = rows * 2 * 64 / 32 * 34;
	struct tcbrt_operand operand;
	struct tcbrt *rt;
	struct bench b;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	bench_init(&b, rt, &caches);
	assert_int_equal(b.info.operand_count, 7);
	assert_int_equal(b.info.output, 3);
	assert_int_equal(b.info.weights, -1);
	for (size_t i = 0; i < b.info.operand_count; i++) {
		const int is_cache = i == 4 || i == 5;

		assert_int_equal(tcbrt_plan_operand(b.plan, i, &operand), TCBRT_OK);
		assert_string_equal(operand.name, names[i]);
		assert_string_equal(operand.type, types[i]);
		assert_int_equal(operand.role, i == 3 || is_cache ? TCBRT_ROLE_OUTPUT : TCBRT_ROLE_INPUT);
		assert_int_equal(operand.packed_bytes, 0);
		if (is_cache) {
			assert_int_equal(operand.rows, rows);
			assert_int_equal(operand.columns, 2 * 64);
			assert_int_equal(operand.bytes, bytes);
		}
		if (i < TCBRT_INFO_OPERANDS_MAX)
			assert_memory_equal(&operand, &b.info.operand[i], sizeof(operand));
	}
	assert_int_equal(tcbrt_plan_operand(b.plan, 7, &operand), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_plan_operand(NULL, 0, &operand), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_plan_operand(b.plan, 0, NULL), TCBRT_E_USAGE);
	/* Each output is where the caller has it: none may be missing. */
	for (size_t i = 0; i < b.info.operand_count; i++) {
		void *kept = b.operand[i];
		struct tcbrt_error err;

		b.operand[i] = NULL;
		assert_int_equal(tcbrt_execute(b.plan, b.operand, aligned(&b.workspace), NULL), TCBRT_E_USAGE);
		assert_int_equal(tcbrt_execute_check(b.plan, b.operand, aligned(&b.workspace), &err), TCBRT_E_USAGE);
		assert_non_null(strstr(err.message, names[i]));
		b.operand[i] = kept;
	}
	bench_fini(&b);
	tcbrt_close(rt);
}

/* As tcbrt_pack does it, for the operand that is packed; no other can be. */
static void operands_are_packed_by_number(void **state)
{
	const struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = 96, .k = 512, .layout = "r16" };
	struct tcbrt *rt;
	struct bench b;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	bench_init(&b, rt, &query);
	const size_t weights = (size_t)b.info.weights, bytes = b.info.operand[weights].bytes;
	struct tcb_buffer again = alloc(b.info.packed_bytes), back = alloc(bytes);

	assert_int_equal(b.info.operand[weights].packed_bytes, b.info.packed_bytes);
	for (size_t i = 0; i <= b.info.operand_count; i++) {
		const int code = i == weights ? TCBRT_OK : TCBRT_E_USAGE;

		assert_int_equal(tcbrt_pack_operand(b.plan, i, b.stored[weights], aligned(&again)), code);
		assert_int_equal(tcbrt_unpack_operand(b.plan, i, aligned(&again), back.data), code);
	}
	assert_memory_equal(aligned(&again), b.operand[b.info.weights], b.info.packed_bytes);
	assert_memory_equal(back.data, b.stored[weights], bytes);
	assert_int_equal(tcbrt_pack_operand(NULL, weights, b.stored[weights], aligned(&again)), TCBRT_E_USAGE);
	tcb_buffer_free(&again);
	tcb_buffer_free(&back);
	bench_fini(&b);
	tcbrt_close(rt);
}

/* One token's plan packs, many tokens' plans read it. */
static void layouts_are_shared(void **state)
{
	static const char *const formats[] = { "q40", "q80", "q4k", "q5k", "q6k", "mxfp4", "iq4xs" };
	static const char *const layouts[] = { "native", "r16" };
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t f = 0; f < sizeof(formats) / sizeof(*formats); f++)
		for (size_t l = 0; l < 2; l++) {
			struct bench one, many;
			char matvec[32], matmul[32];
			struct tcbrt_query query = { .op = matvec, .m = 1, .n = 70, .k = 512, .layout = layouts[l] };

			snprintf(matvec, sizeof(matvec), "%s_matvec", formats[f]);
			snprintf(matmul, sizeof(matmul), "%s_matmul", formats[f]);
			bench_init(&one, rt, &query);
			assert_string_equal(one.info.layout, layouts[l]);
			query.op = matmul;
			query.m = 9;
			bench_init(&many, rt, &query);
			assert_string_equal(many.info.layout, layouts[l]);
			assert_int_equal(one.info.packed_bytes, many.info.packed_bytes);
			if (one.info.packed_bytes) {
				memcpy(many.stored[many.info.weights], one.stored[one.info.weights],
				       one.info.operand[one.info.weights].bytes);
				many.operand[many.info.weights] = one.operand[one.info.weights];
			}
			poison(&many);
			assert_int_equal(tcbrt_execute(many.plan, many.operand, aligned(&many.workspace), NULL),
					 TCBRT_OK);
			check_result(&many, "with weights of another plan");
			bench_fini(&one);
			bench_fini(&many);
		}
	tcbrt_close(rt);
}

/* What was packed for PLAN comes back byte for byte, whole and in groups of rows, and nothing beside it is written. */
static void check_unpacking(const struct tcbrt_plan *plan)
{
	enum { GUARD = 64 };
	struct tcbrt_plan_info info;

	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	const size_t rows = info.operand[info.weights].rows, bytes = info.operand[info.weights].bytes;
	struct tcb_buffer packed = alloc(info.packed_bytes);
	unsigned char *stored = malloc(bytes), *back = malloc(bytes + GUARD);

	for (size_t i = 0; i < bytes; i++)
		stored[i] = (unsigned char)(i * 2654435761U >> 24); /* any bytes: no value is computed with */
	assert_int_equal(tcbrt_pack(plan, stored, aligned(&packed)), TCBRT_OK);
	memset(back, 0x7f, bytes + GUARD);
	assert_int_equal(tcbrt_unpack(plan, aligned(&packed), back), TCBRT_OK);
	assert_memory_equal(back, stored, bytes);
	for (size_t first = 0, step = 2 * info.pack_rows; step && first < rows; first += step) {
		const size_t count = step < rows - first ? step : rows - first, at = first * (bytes / rows);
		const size_t size = count * (bytes / rows);

		memset(back, 0x7f, bytes + GUARD);
		assert_int_equal(tcbrt_unpack_rows(plan, first, count, aligned(&packed), back), TCBRT_OK);
		assert_memory_equal(back, stored + at, size);
		for (size_t i = 0; i < GUARD; i++)
			assert_int_equal(back[size + i], 0x7f);
	}
	assert_int_equal(tcbrt_unpack(plan, (char *)aligned(&packed) + 1, back), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_unpack_rows(plan, 1, 1, aligned(&packed), back), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_unpack_rows(plan, 0, rows + 1, aligned(&packed), back), TCBRT_E_USAGE);
	free(stored);
	free(back);
	tcb_buffer_free(&packed);
}

/* Every format in every layout that a plan can have here, on a CPU by name, on a GPU by what plans choose. */
static void unpacking_gives_back(void **state)
{
	static const size_t tokens[] = { 1, 4, 32 };
	char seen[256] = " ";
	struct tcbrt *rt;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t o = 0; o < count; o++) {
		if (!ops[o]->pack)
			continue;
		for (int32_t layout = -1; layout < 0 || tcb_knob_word(TCB_KNOB_LAYOUT, layout); layout++)
			for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
				const struct tcbrt_query query = {
					.op = ops[o]->name,
					.device = layout < 0 ? "sm_90" : "cpu",
					.layout = layout < 0 ? NULL : tcb_knob_word(TCB_KNOB_LAYOUT, layout),
					.m = tokens[i],
					.n = 70,
					.k = 512,
				};
				struct tcbrt_plan *plan;
				struct tcbrt_plan_info info;

				if (tcbrt_plan_create(rt, &query, &plan, NULL) != TCBRT_OK)
					continue;
				tcbrt_plan_info(plan, &info);
				if (info.packed_bytes) {
					const char *dot = strchr(info.layout, '.');
					char word[TCBRT_LAYOUT_MAX + 2];

					check_unpacking(plan);
					snprintf(word, sizeof(word), " %s ", dot ? dot + 1 : info.layout);
					if (!strstr(seen, word))
						strcat(seen, word + 1);
				}
				tcbrt_plan_destroy(plan);
			}
	}
	assert_non_null(strstr(seen, " r16 "));
	assert_non_null(strstr(seen, " p "));
	assert_non_null(strstr(seen, " g "));
	tcbrt_close(rt);
}

/* One instruction family less each time, as on machines of the same key that lack it: the next one computes the same,
 * and what was planned for those is refused. */
static void families_go_one_by_one(void **state)
{
	struct tcbrt_query query = { .op = "attention_prefill_bf16",
				     .contract = TCBRT_CONTRACT_F16,
				     .words = "h2/1,causal",
				     .threads = 1,
				     .m = 9,
				     .n = 40,
				     .k = 64 };
	enum tcb_isa isa;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	uint32_t *mask = &rt->devices[0].target.isa_mask;
	assert_string_equal(rt->devices[0].name, "cpu");
	do {
		struct bench b;
		size_t bytes;

		bench_init(&b, rt, &query);
		isa = (enum tcb_isa)b.plan->geometry.knob[TCB_KNOB_ISA];
		assert_true(*mask >> isa & 1);
		struct tcb_buffer blob = save_plan(b.plan, &bytes);
		poison(&b);
		assert_int_equal(tcbrt_execute(b.plan, b.operand, aligned(&b.workspace), NULL), TCBRT_OK);
		check_result(&b, tcb_isa_text(isa));
		*mask &= ~(1u << isa);
		expect_refused(rt, blob.data, bytes, TCBRT_E_VERSION);
		tcb_buffer_free(&blob);
		bench_fini(&b);
	} while (isa != TCB_ISA_SCALAR);
	tcbrt_close(rt);
}

static void misuse_is_refused(void **state)
{
	struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = 64, .k = 512 };
	struct tcbrt_plan *plan = NULL;
	struct tcbrt_pool *pool = NULL;
	struct tcbrt_error err;
	struct tcbrt *rt;
	struct bench b;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, NULL, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_plan_create(NULL, &query, &plan, &err), TCBRT_E_USAGE);
	assert_null(plan);
	query.layout = "upside-down";
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "upside-down"));
	query.layout = "g";
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_NOT_FOUND);
	query.layout = NULL;
	query.k = 100;
	assert_int_not_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	assert_non_null(strstr(err.message, "256"));
	query.k = 512;
	/* Nobody waits while a default is looked for that shares work out among so many. */
	struct tcbrt_query crowd = { .op = "matmul_f32", .threads = UINT_MAX, .m = 64, .n = 64, .k = 64 };
	assert_int_equal(tcbrt_plan_create(rt, &crowd, &plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "1024"));
	assert_int_equal(tcbrt_pool_create(UINT_MAX, &pool, &err), TCBRT_E_USAGE);
	assert_null(pool);
	crowd.device = "sm_90"; /* which has none */
	assert_int_equal(tcbrt_plan_create(rt, &crowd, &plan, &err), TCBRT_OK);
	tcbrt_plan_destroy(plan);
	/* The same of blocks that would share a reduction. */
	struct tcbrt_query longest = { .op = "q4k_matvec", .device = "sm_90", .m = 1, .n = 2, .k = (size_t)1 << 50 };
	longest.k += 256 * 1009;
	assert_int_not_equal(tcbrt_plan_create(rt, &longest, &plan, &err), TCBRT_OK);
	longest.op = "q4k_matmul";
	assert_int_not_equal(tcbrt_plan_create(rt, &longest, &plan, &err), TCBRT_OK);
	bench_init(&b, rt, &query);
	assert_int_equal(tcbrt_execute(NULL, b.operand, aligned(&b.workspace), NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute(b.plan, b.operand, (char *)aligned(&b.workspace) + 64, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute_thread(b.plan, b.operand, aligned(&b.workspace), 2, 2), TCBRT_E_USAGE);
	b.operand[b.info.output] = NULL;
	assert_int_equal(tcbrt_execute(b.plan, b.operand, aligned(&b.workspace), NULL), TCBRT_E_USAGE);
	bench_fini(&b);
	tcbrt_plan_destroy(NULL);
	tcbrt_pool_destroy(NULL);
	tcbrt_close(rt);
}

/* Rows FIRST to FIRST + M of the problem that ALL has, planned with the word bits for THREADS: the same bits. */
static void check_rows(const struct tcbrt *rt, struct tcbrt_query query, const struct bench *all, size_t first,
		       size_t m, unsigned threads)
{
	struct bench b;
	struct tcbrt_pool *pool = NULL;
	const size_t x_row = all->plan->problem.shape.k * sizeof(float),
		     y_row = all->plan->problem.shape.n * sizeof(float);

	query.m = m;
	query.threads = threads;
	bench_init(&b, rt, &query);
	memcpy(b.stored[0], all->stored[0], b.plan->operand[0].bytes);
	memcpy(b.stored[1], (const char *)all->stored[1] + first * x_row, m * x_row);
	if (b.plan->operand[0].packed_bytes)
		assert_int_equal(tcbrt_pack_operand(b.plan, 0, b.stored[0], b.operand[0]), TCBRT_OK);
	assert_int_equal(tcbrt_pool_create(threads, &pool, NULL), TCBRT_OK);
	poison(&b);
	assert_int_equal(tcbrt_execute(b.plan, b.operand, aligned(&b.workspace), pool), TCBRT_OK);
	assert_memory_equal(b.operand[2], (const char *)all->operand[2] + first * y_row, m * y_row);
	tcbrt_pool_destroy(pool);
	bench_fini(&b);
}

/* A token gets the same bits alone and among others, from the MatVec and from the matmul, whoever shares the work. */
static void bits_are_the_same(void **state)
{
	struct tcbrt *rt;
	static const char *const ops[] = { "q4k_matmul", "q4k_matvec", "q80_matmul", "q80_matvec" };
	enum { M = 37 };

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i += 2) {
		struct tcbrt_query query = { .op = ops[i], .threads = 1, .m = M, .n = 100, .k = 512, .words = "bits" };
		struct bench all;

		bench_init(&all, rt, &query);
		poison(&all);
		assert_int_equal(tcbrt_execute(all.plan, all.operand, aligned(&all.workspace), NULL), TCBRT_OK);
		for (size_t op = i; op < i + 2; op++) {
			query.op = ops[op];
			check_rows(rt, query, &all, 0, M, 2);
			for (size_t row = 0; row < M; row += 9)
				check_rows(rt, query, &all, row, 1, 1 + (unsigned)(row & 1));
			check_rows(rt, query, &all, 5, 7, 2);
		}
		/* Which contract is the fastest depends on M. */
		query.contract = TCBRT_CONTRACT_AUTO;
		query.op = ops[i];
		check_rows(rt, query, &all, 3, 1, 1);
		bench_fini(&all);
	}
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_op_runs),
		cmocka_unit_test(all_operands_are_told),
		cmocka_unit_test(operands_are_packed_by_number),
		cmocka_unit_test(layouts_are_shared),
		cmocka_unit_test(unpacking_gives_back),
		cmocka_unit_test(families_go_one_by_one),
		cmocka_unit_test(bits_are_the_same),
		cmocka_unit_test(misuse_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
