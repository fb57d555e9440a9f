/* SPDX-License-Identifier: MIT
 *
 * Attention in a host of our own: what is taken of it, what masks become intervals,
 * and that what is computed is what the host's CPU backend computes.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_bench.h"
#include "kernels/kv_cache.h"

enum { HEADS = 4, KV_HEADS = 2, CELLS = 80, CACHE = 96, TOKENS_MAX = 70, SEQUENCES_MAX = 2 };
enum { TYPE_F16 = 1, TYPE_Q8_0 = 8, TYPE_BF16 = 30 };
enum { SEEN = 0, HIDDEN = 0xFC00, LESS = 0xBC00 /* -1 */ };

/* What TOKEN of SEQUENCE sees of CELLS. */
typedef int sees_fn(size_t sequence, size_t token, size_t cell);

static int sees_before(size_t sequence, size_t token, size_t cell)
{
	return cell <= token + 3 + sequence;
}

static int sees_window(size_t sequence, size_t token, size_t cell)
{
	return cell <= token + 5 + sequence && cell + 9 > token + 5 + sequence;
}

static int sees_all(size_t sequence, size_t token, size_t cell)
{
	(void)token;
	return cell < 50 + sequence;
}

/* The first tokens are of one text, the others of another that lies behind it; the last of none. */
static int sees_own(size_t sequence, size_t token, size_t cell)
{
	if (token == TOKENS_MAX - 1)
		return 0;
	return token < 30 ? cell <= token : cell >= 40 && cell <= token + 10 - sequence;
}

static int sees_some(size_t sequence, size_t token, size_t cell)
{
	return (token + cell + sequence) % 3 > 0;
}

/* An op, and room for its tensors. */
struct attention {
	struct ggml_tensor q, cache[2], k, v, mask, y;
	size_t sequences;
	float *expected;
};

static struct ggml_tensor as(const struct ggml_tensor *from, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3)
{
	struct ggml_tensor out = *from;
	const int64_t counts[] = { ne0, ne1, ne2, ne3 };

	memcpy(out.ne, counts, sizeof(counts));
	return out;
}

static enum tcb_kv kv_of(int type)
{
	return type == TYPE_F16 ? TCB_KV_F16 : type == TYPE_Q8_0 ? TCB_KV_Q80 : TCB_KV_BF16;
}

/* Whole numbers and halves, not all alike. */
static void draw(size_t count, unsigned seed, float *out)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u; /* Numerical Recipes */
		out[i] = (float)(int)(seed >> 28) / 4 - 2;
	}
}

/* K or V: CELLS cells of those that a cache has for each sequence. */
static struct ggml_tensor cache_init(struct ggml_tensor *cache, int type, size_t head, size_t sequences, unsigned seed)
{
	const size_t values = CACHE * KV_HEADS * head * sequences, bytes = tcb_kv_bytes(kv_of(type), values);
	const size_t each = tcb_kv_bytes(kv_of(type), head), block = type == TYPE_Q8_0 ? 34 : 2;
	float *drawn = malloc(values * sizeof(float));
	struct ggml_tensor out;

	draw(values, seed, drawn);
	*cache = tensor_of(type, block, 0, 0);
	*cache = as(cache, (int64_t)(KV_HEADS * head), CACHE, (int64_t)sequences, 1);
	cache->data = malloc(bytes);
	tcb_kv_from_f32(kv_of(type), drawn, values, cache->data);
	free(drawn);
	out = as(cache, (int64_t)head, CELLS, KV_HEADS, (int64_t)sequences);
	out.nb[2] = each;
	out.nb[1] = KV_HEADS * each;
	out.nb[3] = CACHE * KV_HEADS * each;
	out.view_src = cache;
	return out;
}

static void attention_init(struct attention *a, int type, size_t head, size_t tokens, size_t sequences, sees_fn *sees,
			   const struct fake_scores *scores)
{
	const size_t values = head * HEADS * tokens * sequences;
	uint16_t *mask = malloc(CELLS * tokens * sequences * sizeof(*mask));

	memset(a, 0, sizeof(*a));
	a->sequences = sequences;
	a->q = tensor_of(GGML_TYPE_F32, sizeof(float), 0, 0);
	a->q = as(&a->q, (int64_t)head, (int64_t)tokens, HEADS, (int64_t)sequences);
	a->q.nb[2] = head * sizeof(float);
	a->q.nb[1] = HEADS * a->q.nb[2];
	a->q.nb[3] = tokens * a->q.nb[1];
	a->q.data = malloc(values * sizeof(float));
	draw(values, 1, a->q.data);
	a->k = cache_init(&a->cache[0], type, head, sequences, 2);
	a->v = cache_init(&a->cache[1], type, head, sequences, 3);
	a->k.data = a->cache[0].data;
	a->v.data = a->cache[1].data;
	for (size_t i = 0; i < CELLS * tokens * sequences; i++)
		mask[i] = sees(i / CELLS / tokens, i / CELLS % tokens, i % CELLS) ? SEEN : HIDDEN;
	a->mask = tensor_of(TYPE_F16, sizeof(*mask), CELLS, tokens);
	a->mask.ne[3] = (int64_t)sequences;
	a->mask.data = mask;
	fake_attend(&a->y, &a->q, &a->k, &a->v, &a->mask, scores);
	a->expected = malloc(values * sizeof(float));
	a->y.data = a->expected;
	fake_compute_attention(&a->y);
	a->y.data = malloc(values * sizeof(float));
}

static void attention_fini(struct attention *a)
{
	free(a->q.data);
	free(a->cache[0].data);
	free(a->cache[1].data);
	free(a->mask.data);
	free(a->y.data);
	free(a->expected);
}

static bool is_taken(const struct attention *a)
{
	return plugin_device()->iface.supports_op(plugin_device(), &a->y);
}

static void attention_check(struct attention *a, int threads)
{
	const size_t values = (size_t)(a->y.ne[0] * a->y.ne[1] * a->y.ne[2] * a->y.ne[3]);
	const float *out = a->y.data;

	memset(a->y.data, 0xff, values * sizeof(float));
	assert_true(is_taken(a));
	assert_int_equal(plugin_compute(&a->y, threads), GGML_STATUS_SUCCESS);
	for (size_t i = 0; i < values; i++)
		if (!(fabsf(out[i] - a->expected[i]) < 1e-4f))
			fail_msg("value %zu of token %zu is %g, not %g", i % (size_t)a->y.ne[0],
				 i / (size_t)(a->y.ne[0] * a->y.ne[1]), (double)out[i], (double)a->expected[i]);
}

static struct fake_scores scores_of(size_t head)
{
	return (struct fake_scores){ 1 / sqrtf((float)head), 0, 0 };
}

static void test_computes_what_intervals_say(void **state)
{
	static sees_fn *const seen[] = { sees_before, sees_window, sees_all, sees_own };
	static const int types[] = { TYPE_F16, TYPE_Q8_0, TYPE_BF16 };
	static const size_t tokens[] = { 1, 3, TOKENS_MAX };
	const unsigned long long before = plugin.counter("attention");
	size_t count = 0;

	(void)state;
	for (size_t m = 0; m < sizeof(seen) / sizeof(seen[0]); m++)
		for (size_t t = 0; t < sizeof(tokens) / sizeof(tokens[0]); t++)
			for (size_t sequences = 1; sequences <= SEQUENCES_MAX; sequences++, count++) {
				const size_t head = count % 2 ? 64 : 32;
				const struct fake_scores scores = scores_of(head);
				struct attention a;

				attention_init(&a, types[count % 3], head, tokens[t], sequences, seen[m], &scores);
				attention_check(&a, 1 + (int)(count % 2));
				attention_fini(&a);
			}
	assert_int_equal(plugin.counter("attention"), before + count);
	assert_int_equal(plugin.counter("left"), 0);
	assert_int_equal(plugin.counter("refused"), 0);
}

/* The host computes what is not: cells here and there, or biases. */
static void test_leaves_other_masks(void **state)
{
	const struct fake_scores scores = scores_of(32);
	const unsigned long long before = plugin.counter("attention");
	struct attention a;

	(void)state;
	attention_init(&a, TYPE_F16, 32, 66, 2, sees_some, &scores);
	attention_check(&a, 2);
	assert_int_equal(plugin.counter("left"), 1);
	attention_fini(&a);
	attention_init(&a, TYPE_F16, 32, 66, 1, sees_before, &scores);
	((uint16_t *)a.mask.data)[65 * CELLS + 7] = LESS;
	free(a.y.data);
	a.y.data = a.expected;
	fake_compute_attention(&a.y);
	a.y.data = malloc((size_t)(a.y.ne[1] * a.y.ne[2]) * a.y.nb[1]);
	attention_check(&a, 1);
	assert_int_equal(plugin.counter("left"), 2);
	assert_int_equal(plugin.counter("attention"), before);
	attention_fini(&a);
}

/* Another factor than the library's, a cap, queries that are apart; without a mask all is seen. */
static void test_scores_and_queries_of_other_kinds(void **state)
{
	const struct fake_scores other[] = { { 0.1f, 0, 0 }, { 0.25f, 0, 3 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct attention a;

		attention_init(&a, TYPE_F16, 32, 5, 1, sees_before, &other[i]);
		attention_check(&a, 1);
		attention_fini(&a);
	}
	for (int has_mask = 0; has_mask <= 1; has_mask++) {
		const struct fake_scores scores = scores_of(32);
		const unsigned long long gathered = plugin.counter("gathered");
		struct attention a;
		float *apart;

		attention_init(&a, TYPE_F16, 32, 7, 1, sees_before, &scores);
		apart = calloc(7 * HEADS * 40, sizeof(float));
		for (size_t i = 0; i < 7 * HEADS; i++)
			memcpy(apart + i * 40, (float *)a.q.data + i * 32, 32 * sizeof(float));
		free(a.q.data);
		a.q.data = apart;
		a.q.nb[2] = 40 * sizeof(float);
		a.q.nb[1] = HEADS * a.q.nb[2];
		a.q.nb[3] = 7 * a.q.nb[1];
		if (!has_mask) {
			void *out = a.y.data;

			a.y.src[3] = NULL;
			a.y.data = a.expected;
			fake_compute_attention(&a.y);
			a.y.data = out;
		}
		attention_check(&a, 1);
		assert_int_equal(plugin.counter("gathered"), gathered + 1);
		attention_fini(&a);
	}
}

static void test_declines(void **state)
{
	const struct fake_scores scores = scores_of(32), biased = { 1, 8, 0 }, odd = { 1, 0, 2.5f };
	struct ggml_tensor sinks = tensor_of(GGML_TYPE_F32, sizeof(float), HEADS, 1);
	struct attention a;

	(void)state;
	attention_init(&a, TYPE_F16, 32, 63, 1, sees_before, &scores);
	assert_true(is_taken(&a));
	memcpy(a.y.op_params, &biased, sizeof(biased));
	assert_false(is_taken(&a));
	memcpy(a.y.op_params, &odd, sizeof(odd));
	assert_false(is_taken(&a));
	memcpy(a.y.op_params, &scores, sizeof(scores));
	a.y.src[4] = &sinks;
	assert_false(is_taken(&a));
	a.y.src[4] = NULL;
	a.v.type = (enum ggml_type)TYPE_BF16;
	assert_false(is_taken(&a));
	a.k.type = (enum ggml_type)TYPE_BF16;
	assert_true(is_taken(&a));
	a.v.type = a.k.type = GGML_TYPE_F32;
	assert_false(is_taken(&a));
	a.v.type = a.k.type = (enum ggml_type)TYPE_F16;
	/* Heads one behind the other. */
	a.k.nb[2] = CELLS * 64;
	a.k.nb[1] = 64;
	assert_false(is_taken(&a));
	attention_fini(&a);
	/* Few tokens on a whole cache: so llama.cpp asks whose attention is. */
	attention_init(&a, TYPE_F16, 32, 63, 1, sees_before, &scores);
	a.cache[0].ne[1] = CELLS;
	assert_false(is_taken(&a));
	a.k.view_src = NULL;
	assert_false(is_taken(&a));
	a.k.view_src = &a.cache[0];
	assert_int_equal(plugin_compute(&a.y, 1), GGML_STATUS_FAILED);
	attention_fini(&a);
	attention_init(&a, TYPE_F16, 32, 64, 1, sees_before, &scores);
	a.cache[0].ne[1] = CELLS;
	attention_check(&a, 1);
	attention_fini(&a);
	/* No kernel has such a head. */
	attention_init(&a, TYPE_F16, 36, 3, 1, sees_before, &scores);
	assert_false(is_taken(&a));
	attention_fini(&a);
}

/* Its products take no time: formats are not to be tried beside them. */
static int load_with_cpu(void **state)
{
	fake_cpu_token_ns = 0;
	setenv("TCBTUNE_ALL_FORMATS", "1", 1);
	return plugin_load(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_computes_what_intervals_say),
		cmocka_unit_test(test_leaves_other_masks),
		cmocka_unit_test(test_scores_and_queries_of_other_kinds),
		cmocka_unit_test(test_declines),
	};

	return cmocka_run_group_tests(tests, load_with_cpu, NULL);
}
