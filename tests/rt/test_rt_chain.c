/* SPDX-License-Identifier: MIT
 *
 * Chains on a CPU: a layer's calls as one give bit for bit what they give one by one, whatever the number of threads,
 * with a gang and with a pool, in a child of fork too; threads wait where calls depend on each other and nowhere else.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tcbrt_chain.h"

enum { N = 256, ROUNDS = 30, SECONDS = 60, THREADS_MAX = 5, TOKENS = 3 };
/* The layer: h = norm(x); a, b = two products of h; c = silu(a) b; d = product of c; x = x + d. */
enum { NORM, FIRST, SECOND, JOIN, LAST, ADD, CALLS };

static struct tcbrt *rt;
static struct tcbrt_plan *norm, *product, *dynamic, *join, *add;
static void *packed;

static void *room(size_t bytes)
{
	void *at = aligned_alloc(TCBRT_ALIGNMENT, (bytes / TCBRT_ALIGNMENT + 1) * TCBRT_ALIGNMENT);

	assert_non_null(at);
	memset(at, 0, bytes);
	return at;
}

static struct tcbrt_plan *plan_of(const char *op, size_t n, size_t k, const char *geometry)
{
	const struct tcbrt_query query = { .op = op, .threads = 3, .m = 1, .n = n, .k = k, .geometry = geometry };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s: %s", op, err.message);
	return plan;
}

/* The same kernel, its tasks dealt out as threads come. */
static struct tcbrt_plan *dynamic_plan(const struct tcbrt_plan *plan)
{
	struct tcbrt_plan_info info;
	char geometry[TCBRT_GEOMETRY_MAX + 64], *at;

	tcbrt_plan_info(plan, &info);
	at = strstr(info.tuning.geometry, "sched=static");
	assert_non_null(at);
	snprintf(geometry, sizeof(geometry), "macro=1x%dx%d%.*ssched=dynamic%s", N, N,
		 (int)(at - strstr(info.tuning.geometry, ",midi=")), strstr(info.tuning.geometry, ",midi="),
		 at + strlen("sched=static"));
	return plan_of("q80_matvec", N, N, geometry);
}

static int setup(void **state)
{
	struct tcbrt_plan_info info;
	uint8_t *stored;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	norm = plan_of("rmsnorm", N, 0, NULL);
	product = plan_of("q80_matvec", N, N, NULL);
	dynamic = dynamic_plan(product);
	join = plan_of("elementwise_silu_mul_f32", N, 0, NULL);
	add = plan_of("elementwise_add_f32", N, 0, NULL);
	tcbrt_plan_info(product, &info);
	stored = room(info.operand[0].bytes);
	for (size_t i = 0; i < info.operand[0].bytes; i++)
		stored[i] = i % 34 == 0 ? 0 : i % 34 == 1 ? 0x0c : (uint8_t)(i * 31 + i / 7); /* scales of 2^-12 */
	packed = room(info.packed_bytes ? info.packed_bytes : info.operand[0].bytes);
	if (info.packed_bytes)
		tcbrt_pack(product, stored, packed);
	else
		memcpy(packed, stored, info.operand[0].bytes);
	free(stored);
	return 0;
}

static int teardown(void **state)
{
	struct tcbrt_plan *plans[] = { norm, product, dynamic, join, add };

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++)
		tcbrt_plan_destroy(plans[i]);
	free(packed);
	tcbrt_close(rt);
	return 0;
}

#define AT(pointer) (unsigned long long)(uintptr_t)(pointer)

/* Buffers of a layer, and its calls. */
struct layer {
	float x[N], w[N], h[N], a[N], b[N], c[N], d[N];
	struct tcbrt_call calls[CALLS];
};

static void layer_init(struct layer *l)
{
	const struct tcbrt_call calls[CALLS] = {
		[NORM] = { .plan = norm, .operand = { AT(l->x), AT(l->w), AT(l->h) } },
		[FIRST] = { .plan = product, .operand = { AT(packed), AT(l->h), AT(l->a) } },
		[SECOND] = { .plan = dynamic, .operand = { AT(packed), AT(l->h), AT(l->b) } },
		[JOIN] = { .plan = join, .operand = { AT(l->a), AT(l->b), AT(l->c) } },
		[LAST] = { .plan = dynamic, .operand = { AT(packed), AT(l->c), AT(l->d) } },
		[ADD] = { .plan = add, .operand = { AT(l->x), AT(l->d), AT(l->x) } },
	};

	memset(l, 0, sizeof(*l));
	memcpy(l->calls, calls, sizeof(calls));
	for (size_t i = 0; i < N; i++) {
		l->x[i] = (float)((int)(i * 37 % 101) - 50) / 50;
		l->w[i] = 1 + (float)(i % 5) / 8;
	}
}

/* What ROUNDS layers after each other make of x, call by call. */
static void expect(float x[N])
{
	struct layer *l = room(sizeof(*l));
	void *workspace = room(1 << 20);

	layer_init(l);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < CALLS; i++) {
			void *operand[3];

			for (size_t o = 0; o < 3; o++)
				operand[o] = (void *)(uintptr_t)l->calls[i].operand[o];
			assert_int_equal(tcbrt_execute(l->calls[i].plan, operand, workspace, NULL), TCBRT_OK);
		}
	memcpy(x, l->x, sizeof(l->x));
	free(workspace);
	free(l);
}

static struct tcbrt_chain *chain_of(const struct tcbrt_call *calls, size_t count, void **workspace)
{
	struct tcbrt_chain_info info;
	struct tcbrt_chain *chain;
	struct tcbrt_error err;

	if (tcbrt_chain_create(calls, count, &chain, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcbrt_chain_info(chain, &info), TCBRT_OK);
	assert_int_equal(info.calls, count);
	*workspace = room(info.workspace_bytes);
	memset(*workspace, 0xee, info.workspace_bytes);
	assert_int_equal(tcbrt_chain_init(chain, *workspace), TCBRT_OK);
	return chain;
}

struct part {
	const struct tcbrt_chain *chain;
	void *workspace;
	unsigned thread, threads;
};

static void *take_part(void *arg)
{
	const struct part *part = arg;

	for (int round = 0; round < ROUNDS; round++)
		tcbrt_chain_execute_thread(part->chain, part->workspace, part->thread, part->threads);
	return NULL;
}

static void gangs(void **state)
{
	float expected[N];

	(void)state;
	expect(expected);
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
		struct layer *l = room(sizeof(*l));
		struct part parts[THREADS_MAX];
		pthread_t started[THREADS_MAX];
		struct tcbrt_chain *chain;
		void *workspace;

		layer_init(l);
		chain = chain_of(l->calls, CALLS, &workspace);
		for (unsigned t = 0; t < threads; t++) {
			parts[t] = (struct part){ chain, workspace, t, threads };
			assert_int_equal(pthread_create(&started[t], NULL, take_part, &parts[t]), 0);
		}
		for (unsigned t = 0; t < threads; t++)
			assert_int_equal(pthread_join(started[t], NULL), 0);
		assert_memory_equal(l->x, expected, sizeof(expected));
		tcbrt_chain_destroy(chain);
		free(workspace);
		free(l);
	}
}

static int run_with_pool(struct tcbrt_pool *pool)
{
	struct layer *l = room(sizeof(*l));
	float expected[N];
	double seconds[CALLS] = { 0 };
	struct tcbrt_chain *chain;
	void *workspace;
	int is_right;

	expect(expected);
	layer_init(l);
	chain = chain_of(l->calls, CALLS, &workspace);
	for (int round = 0; round < ROUNDS; round++)
		assert_int_equal(round % 3 == 1 ? tcbrt_chain_profile(chain, AT(workspace), pool, NULL, seconds)
						: tcbrt_chain_execute(chain, workspace, pool),
				 TCBRT_OK);
	is_right = memcmp(l->x, expected, sizeof(expected)) == 0;
	for (size_t i = 0; i < CALLS; i++)
		is_right &= seconds[i] > 0 && seconds[i] < SECONDS;
	tcbrt_chain_destroy(chain);
	free(workspace);
	free(l);
	return is_right;
}

static void pools(void **state)
{
	(void)state;
	assert_true(run_with_pool(NULL));
	for (unsigned threads = 1; threads <= THREADS_MAX; threads += 2) {
		struct tcbrt_pool *pool;

		assert_int_equal(tcbrt_pool_create(threads, &pool, NULL), TCBRT_OK);
		assert_true(run_with_pool(pool));
		tcbrt_pool_destroy(pool);
	}
}

/* Its parent's workers are not there. */
static void children(void **state)
{
	struct tcbrt_pool *pool;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(tcbrt_pool_create(3, &pool, NULL), TCBRT_OK);
	assert_true(run_with_pool(pool));
	child = fork();
	if (child == 0) {
		alarm(SECONDS);
		_exit(run_with_pool(pool) ? 0 : 1);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	tcbrt_pool_destroy(pool);
}

static size_t waits_of(const struct tcbrt_call *calls, size_t count)
{
	struct tcbrt_chain_info info;
	void *workspace;
	struct tcbrt_chain *chain = chain_of(calls, count, &workspace);

	tcbrt_chain_info(chain, &info);
	tcbrt_chain_destroy(chain);
	free(workspace);
	return info.waits;
}

/* Behind each call that another one reads, rewrites, or reads what it will write; parts of a buffer are apart. */
static void waits(void **state)
{
	static float x[4 * N], y[4 * N];
	const struct tcbrt_call write_x = { .plan = add, .operand = { AT(y), AT(y + N), AT(x) } };
	const struct tcbrt_call write_next = { .plan = add, .operand = { AT(y), AT(y + N), AT(x + N) } };
	const struct tcbrt_call write_between = { .plan = add, .operand = { AT(y), AT(y + N), AT(x + N - 1) } };
	const struct tcbrt_call read_x = { .plan = add, .operand = { AT(y), AT(x), AT(y + 2 * N) } };
	const struct tcbrt_call write_y = { .plan = add, .operand = { AT(x + 2 * N), AT(x + 3 * N), AT(y) } };
	struct tcbrt_call many[20];
	struct layer *l = room(sizeof(*l));

	(void)state;
	layer_init(l);
	assert_int_equal(waits_of(l->calls, CALLS), CALLS - 1);
	assert_int_equal(waits_of((struct tcbrt_call[]){ write_x, write_next }, 2), 1);
	assert_int_equal(waits_of((struct tcbrt_call[]){ write_x, write_between }, 2), 2);
	assert_int_equal(waits_of((struct tcbrt_call[]){ write_x, read_x }, 2), 2);
	assert_int_equal(waits_of((struct tcbrt_call[]){ read_x, write_x }, 2), 2);
	assert_int_equal(waits_of((struct tcbrt_call[]){ write_x, write_x }, 2), 2);
	assert_int_equal(waits_of((struct tcbrt_call[]){ write_x, write_next, write_y }, 3), 2);
	/* A group's size is limited, and says nothing about what is right. */
	for (size_t i = 0; i < 20; i++)
		many[i] = (struct tcbrt_call){ .plan = add, .operand = { AT(x), AT(x), AT(l->a) } };
	for (size_t i = 0; i < 20; i++)
		many[i].operand[2] = AT(room(N * sizeof(float)));
	assert_int_equal(waits_of(many, 20), 2);
	for (size_t i = 0; i < 20; i++)
		free((void *)(uintptr_t)many[i].operand[2]);
	free(l);
}

static void refuse(const struct tcbrt_call *calls, size_t count, const char *fragment)
{
	struct tcbrt_chain *chain = (struct tcbrt_chain *)&chain;
	struct tcbrt_error err;

	assert_int_equal(tcbrt_chain_create(calls, count, &chain, &err), TCBRT_E_USAGE);
	assert_null(chain);
	if (!strstr(err.message, fragment))
		fail_msg("'%s' is not in '%s'", fragment, err.message);
}

static void refused(void **state)
{
	const struct tcbrt_query query = { .op = "rmsnorm", .device = "sm_90", .m = 1, .n = N };
	struct layer *l = room(sizeof(*l));
	struct tcbrt_plan *gpu;
	struct tcbrt_chain *chain;
	void *workspace;

	(void)state;
	layer_init(l);
	refuse(NULL, 1, "1 or more");
	refuse(l->calls, 0, "1 or more");
	l->calls[LAST].operand[1] = 0;
	refuse(l->calls, CALLS, "call 4 of the chain, q80_matvec: operand 1, x, is NULL");
	l->calls[LAST].operand[1] = AT(l->c) + 2;
	refuse(l->calls, CALLS, "not at a multiple of");
	l->calls[LAST].plan = NULL;
	refuse(l->calls, CALLS, "call 4 of the chain has no plan and no gpu");
	assert_int_equal(tcbrt_plan_create(rt, &query, &gpu, NULL), TCBRT_OK);
	l->calls[LAST].plan = gpu;
	refuse(l->calls, CALLS, "tcbrt_gpu_load");
	tcbrt_plan_destroy(gpu);
	layer_init(l);
	assert_int_equal(tcbrt_chain_create(l->calls, CALLS, NULL, NULL), TCBRT_E_USAGE);
	chain = chain_of(l->calls, CALLS, &workspace);
	assert_int_equal(tcbrt_chain_init(chain, (char *)workspace + 8), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_execute(chain, NULL, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_execute(NULL, workspace, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_execute_thread(chain, workspace, 2, 2), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_record(chain, 0, NULL, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_launch(chain, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_chain_info(chain, NULL), TCBRT_E_USAGE);
	tcbrt_chain_destroy(chain);
	tcbrt_chain_destroy(NULL);
	free(workspace);
	free(l);
}

static struct tcbrt_plan *strided(const struct tcbrt_plan *saved, const struct tcbrt_strides *strides)
{
	struct tcbrt_plan_info info;
	struct tcbrt_query query = { .op = "q80_matvec", .threads = 3, .m = TOKENS, .n = N, .k = N, .words = "xbf16" };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	unsigned char blob[8192];
	size_t bytes;

	tcbrt_plan_info(product, &info);
	query.layout = info.layout;
	if (!saved) {
		if (tcbrt_plan_create_strided(rt, &query, strides, &plan, &err) != TCBRT_OK)
			fail_msg("%s", err.message);
		return plan;
	}
	assert_int_equal(tcbrt_plan_save(saved, blob, sizeof(blob), &bytes), TCBRT_OK);
	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &plan, &err), TCBRT_OK);
	return plan;
}

/* Three products write parts of the rows of one buffer: what lies between is left alone, and no thread waits between
 * them; saved plans know their strides, too. */
static void rows_of_one_buffer(void **state)
{
	enum { PARTS = 3, ROW = PARTS * N + 5, X_ROW = N + 3 };
	const struct tcbrt_strides apart = { .x = X_ROW, .y = ROW }, narrow = { .y = N - 1 };
	const struct tcbrt_query softmax = { .op = "softmax", .m = 4, .n = N };
	struct tcbrt_plan *fresh = strided(NULL, &apart), *plan = strided(fresh, NULL), *refused_plan;
	struct tcbrt_plan *dense = strided(NULL, &(struct tcbrt_strides){ .x = 0 });
	struct tcbrt_plan_info info;
	struct tcbrt_chain_info told;
	struct tcbrt_operand y;
	struct tcbrt_call calls[PARTS];
	struct tcbrt_error err;
	uint16_t *x = room(TOKENS * X_ROW * sizeof(*x)), *x_dense = room(TOKENS * N * sizeof(*x));
	float *out = room(TOKENS * ROW * sizeof(*out)), *want = room(TOKENS * N * sizeof(*want));
	void *workspace, *own;

	(void)state;
	for (size_t i = 0; i < TOKENS * N; i++)
		x[i / N * X_ROW + i % N] = x_dense[i] = (uint16_t)(0x3e00 + i * 29 % 0x180);
	for (size_t i = 0; i < TOKENS * ROW; i++)
		out[i] = 7;
	tcbrt_plan_operand(plan, 2, &y);
	assert_int_equal(y.stride, ROW);
	assert_int_equal(y.bytes, ((TOKENS - 1) * ROW + N) * sizeof(float));
	for (size_t i = 0; i < PARTS; i++)
		calls[i] = (struct tcbrt_call){ .plan = plan, .operand = { AT(packed), AT(x), AT(out + i * N) } };
	struct tcbrt_chain *chain = chain_of(calls, PARTS, &workspace);
	tcbrt_chain_info(chain, &told);
	assert_int_equal(told.waits, 1);
	assert_int_equal(tcbrt_chain_execute(chain, workspace, NULL), TCBRT_OK);
	tcbrt_plan_info(dense, &info);
	own = room(info.workspace_bytes);
	tcbrt_workspace_init(dense, own);
	assert_int_equal(tcbrt_execute(dense, (void *[]){ packed, x_dense, want }, own, NULL), TCBRT_OK);
	for (size_t i = 0; i < TOKENS * ROW; i++)
		assert_true(out[i] == (i % ROW < PARTS * N ? want[i / ROW * N + i % ROW % N] : 7));
	tcbrt_chain_destroy(chain);
	calls[1].operand[2] = AT(out + N - 1); /* the last value of the first part */
	free(workspace);
	chain = chain_of(calls, PARTS, &workspace);
	tcbrt_chain_info(chain, &told);
	assert_int_equal(told.waits, 2);
	assert_int_equal(tcbrt_plan_create_strided(rt, &softmax, &apart, &refused_plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "takes no strides"));
	const struct tcbrt_query query = { .op = "q80_matvec", .m = TOKENS, .n = N, .k = N };
	assert_int_equal(tcbrt_plan_create_strided(rt, &query, &narrow, &refused_plan, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_plan_create_strided(rt, &query, NULL, &refused_plan, &err), TCBRT_E_USAGE);
	tcbrt_chain_destroy(chain);
	tcbrt_plan_destroy(fresh);
	tcbrt_plan_destroy(plan);
	tcbrt_plan_destroy(dense);
	void *const rooms[] = { x, x_dense, out, want, workspace, own };
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
		free(rooms[i]);
}

/* --- attention on the rows of one buffer --- */

enum { HEADS = 4, KV_HEADS = 2, HEAD = 16, CACHE = 8, Q_ROW = HEADS * HEAD, KV_ROW = KV_HEADS * HEAD };
enum { QKV_ROW = Q_ROW + 2 * KV_ROW + 8, OUT_ROW = Q_ROW + 16 };

static struct tcbrt_plan *of_heads(const char *op, const char *words, const struct tcbrt_strides *strides)
{
	const struct tcbrt_query query = { .op = op, .threads = 2, .m = TOKENS, .n = CACHE, .k = HEAD, .words = words };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	if (tcbrt_plan_create_strided(rt, &query, strides, &plan, &err) != TCBRT_OK)
		fail_msg("%s: %s", op, err.message);
	return plan;
}

static void execute(const struct tcbrt_plan *plan, void *const operand[])
{
	struct tcbrt_plan_info info;
	void *workspace;

	tcbrt_plan_info(plan, &info);
	workspace = room(info.workspace_bytes);
	tcbrt_workspace_init(plan, workspace);
	assert_int_equal(tcbrt_execute(plan, operand, workspace, NULL), TCBRT_OK);
	free(workspace);
}

/* What is new and what comes of it, in rows of their own or, with a stride, of QKV_ROW and OUT_ROW. */
struct heads {
	uint16_t qkv[TOKENS * QKV_ROW], q[TOKENS * OUT_ROW], k[CACHE * KV_ROW], v[CACHE * KV_ROW],
		out[TOKENS * OUT_ROW];
};

static void attend(struct heads *h, const struct tcbrt_strides *strides, size_t q, size_t k, size_t v)
{
	static const float rotation[CACHE * HEAD] = { [5 * HEAD + 1] = 0.5f, [6 * HEAD + 3] = 1, [7 * HEAD + 9] = -1 };
	static const int32_t length = CACHE;
	const struct tcbrt_strides of_out = { .x = strides->y, .y = strides->y };
	struct tcbrt_plan *rope = of_heads("rope_append_f16", "h4/2,apart", strides);
	struct tcbrt_plan *attention = of_heads("attention_decode_f16", "h4/2,causal", &of_out);

	execute(rope, (void *[]){ h->qkv + q, (void *)(uintptr_t)rotation, (void *)(uintptr_t)&length, h->q, h->k, h->v,
				  h->qkv + k, h->qkv + v });
	execute(attention, (void *[]){ h->q, h->k, h->v, (void *)(uintptr_t)&length, h->out });
	tcbrt_plan_destroy(rope);
	tcbrt_plan_destroy(attention);
}

static void attention_of_one_buffer(void **state)
{
	struct heads *dense = room(sizeof(*dense)), *apart = room(sizeof(*apart));
	const struct tcbrt_query query = {
		.op = "attention_decode_f16", .m = TOKENS, .n = CACHE, .k = HEAD, .words = "h4/2"
	};
	const struct tcbrt_query webgpu = { .op = "attention_decode_f16",
					    .device = "wgpu-portable",
					    .m = TOKENS,
					    .n = CACHE,
					    .k = 32,
					    .words = "h4/2" };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	(void)state;
	memset(apart->q, 0x11, sizeof(apart->q));
	memset(apart->out, 0x11, sizeof(apart->out));
	for (size_t i = 0; i < CACHE * KV_ROW; i++)
		dense->k[i] = apart->k[i] = dense->v[i] = apart->v[i] = (uint16_t)(0x3000 + i * 37 % 0x800);
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t i = 0; i < Q_ROW + 2 * KV_ROW; i++) {
			/* q's rows of all tokens, then K's, then V's; and each token's side by side. */
			const size_t at = i < Q_ROW ? t * Q_ROW + i
					  : i < Q_ROW + KV_ROW
						  ? TOKENS * Q_ROW + t * KV_ROW + i - Q_ROW
						  : TOKENS * (Q_ROW + KV_ROW) + t * KV_ROW + i - Q_ROW - KV_ROW;
			dense->qkv[at] = apart->qkv[t * QKV_ROW + i] = (uint16_t)(0x3000 + (t * 91 + i * 53) % 0xc00);
		}
	attend(dense, &(struct tcbrt_strides){ .x = 0 }, 0, TOKENS * Q_ROW, TOKENS * (Q_ROW + KV_ROW));
	attend(apart, &(struct tcbrt_strides){ .x = QKV_ROW, .y = OUT_ROW }, 0, Q_ROW, Q_ROW + KV_ROW);
	assert_memory_equal(dense->k, apart->k, sizeof(dense->k));
	assert_memory_equal(dense->v, apart->v, sizeof(dense->v));
	for (size_t i = 0; i < TOKENS * OUT_ROW - 16; i++) {
		const size_t row = i / OUT_ROW, column = i % OUT_ROW;
		assert_int_equal(apart->q[i], column < Q_ROW ? dense->q[row * Q_ROW + column] : 0x1111);
		assert_int_equal(apart->out[i], column < Q_ROW ? dense->out[row * Q_ROW + column] : 0x1111);
	}
	const struct tcbrt_strides odd = { .y = Q_ROW + 4 }, wide = { .x = 4 * 32 + 8 };
	assert_int_equal(tcbrt_plan_create_strided(rt, &query, &odd, &plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "multiples of 8"));
	assert_int_equal(tcbrt_plan_create_strided(rt, &webgpu, &wide, &plan, &err), TCBRT_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "follow each other"));
	free(dense);
	free(apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gangs),
		cmocka_unit_test(pools),
		cmocka_unit_test(children),
		cmocka_unit_test(waits),
		cmocka_unit_test(refused),
		cmocka_unit_test(rows_of_one_buffer),
		cmocka_unit_test(attention_of_one_buffer),
	};

	alarm(4 * SECONDS); /* a wait that does not end */
	return cmocka_run_group_tests(tests, setup, teardown);
}
