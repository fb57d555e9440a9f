/* SPDX-License-Identifier: MIT
 *
 * Which tokens the queries of an attention with a window see, as a program that
 * links the library finds out: scores are all alike, and V of token t is 1 in
 * column t and 0 elsewhere, so that a result above 0 in column t says that t was seen.
 */
#include "cmocka_all.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tcbrt.h"

enum { QUERIES = 6, TOKENS = 16, HEAD = 32, BLOCK_BYTES = 34, WINDOW = 4 };
enum { Q, K, V, LENGTHS, OUT, PAGES };

static const char *const ops[] = { "attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80",
				   "attention_decode_f16",  "attention_decode_bf16",  "attention_decode_q80" };

/* Sets value AT of row TOKEN, of a head of HEAD values, to 1. */
static void set_one(const char *op, unsigned char *v, size_t token, size_t at)
{
	const uint16_t f16_one = 0x3c00, bf16_one = 0x3f80;

	if (strstr(op, "q80")) {
		memcpy(v + token * BLOCK_BYTES, &f16_one, sizeof(f16_one));
		v[token * BLOCK_BYTES + sizeof(f16_one) + at] = 1;
		return;
	}
	memcpy(v + 2 * (token * HEAD + at), strstr(op, "bf16") ? &bf16_one : &f16_one, 2);
}

/* Of each query of OP's plan with WORDS, to SEEN[query]: bit t for each token t. */
static void what_is_seen(const char *op, const char *words, uint32_t seen[QUERIES])
{
	const struct tcbrt_query query = { .op = op,
					   .contract = TCBRT_CONTRACT_F32,
					   .threads = 1,
					   .m = QUERIES,
					   .n = TOKENS,
					   .k = HEAD,
					   .words = words };
	static const int32_t pages[] = { 0, 1, 2, 3 };
	const int32_t length = TOKENS;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	struct tcbrt_plan *plan;
	struct tcbrt *rt;
	void *operand[TCBRT_OPERANDS_MAX] = { NULL }, *workspace = NULL;

	assert_int_equal(tcbrt_open_empty(&rt, &err), TCBRT_OK);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s %s: %s", op, words, err.message);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	for (size_t i = 0; i < info.operand_count; i++) {
		operand[i] = aligned_alloc(TCBRT_ALIGNMENT, (info.operand[i].bytes + TCBRT_ALIGNMENT - 1) /
								    TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
		memset(operand[i], 0, info.operand[i].bytes);
	}
	for (size_t t = 0; t < TOKENS; t++)
		set_one(op, operand[V], t, t);
	memcpy(operand[LENGTHS], &length, sizeof(length));
	if (info.operand_count > PAGES)
		memcpy(operand[PAGES], pages, sizeof(pages));
	if (info.workspace_bytes) {
		workspace = aligned_alloc(TCBRT_ALIGNMENT, (info.workspace_bytes + TCBRT_ALIGNMENT - 1) /
								   TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
		assert_int_equal(tcbrt_workspace_init(plan, workspace), TCBRT_OK);
	}
	assert_int_equal(tcbrt_execute(plan, operand, workspace, NULL), TCBRT_OK);
	const float *out = operand[OUT];
	for (size_t i = 0; i < QUERIES; i++) {
		seen[i] = 0;
		for (size_t t = 0; t < TOKENS; t++)
			seen[i] |= out[i * HEAD + t] > 0 ? 1u << t : 0;
	}
	for (size_t i = 0; i < info.operand_count; i++)
		free(operand[i]);
	free(workspace);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

/* Its own and the three before it, whether causal is said or not. */
static void a_query_sees_its_window(void **state)
{
	static const char *const words[] = { "h1/1,w4", "h1/1,w4,causal", "h1/1,p4,w4", "h1/1,w4,ragged" };

	(void)state;
	for (size_t n = 0; n < sizeof(ops) / sizeof(ops[0]) * sizeof(words) / sizeof(words[0]); n++) {
		const char *op = ops[n / (sizeof(words) / sizeof(words[0]))];
		const char *word = words[n % (sizeof(words) / sizeof(words[0]))];
		uint32_t seen[QUERIES];

		what_is_seen(op, word, seen);
		for (size_t i = 0; i < QUERIES; i++) {
			const size_t own = TOKENS - QUERIES + i;
			const uint32_t right = ((1u << WINDOW) - 1) << (own + 1 - WINDOW);

			if (seen[i] != right)
				fail_msg("%s %s: the query of token %zu sees %#x, not %#x", op, word, own, seen[i],
					 right);
		}
	}
}

/* Without a window all tokens, and with causal those up to its own. */
static void without_a_window_all_is_seen(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(ops) / sizeof(ops[0]); n++) {
		uint32_t all[QUERIES], causal[QUERIES];

		what_is_seen(ops[n], "h1/1", all);
		what_is_seen(ops[n], "h1/1,causal", causal);
		for (size_t i = 0; i < QUERIES; i++) {
			assert_int_equal(all[i], (1u << TOKENS) - 1);
			assert_int_equal(causal[i], (1u << (TOKENS - QUERIES + i + 1)) - 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_sees_its_window),
		cmocka_unit_test(without_a_window_all_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
