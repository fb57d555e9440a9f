/* SPDX-License-Identifier: MIT
 *
 * Masks as intervals, and plans for them.  The host adds a mask to scores: zeros where a
 * token sees a cell, -inf elsewhere.  With one sequence in a cache, or with several one
 * behind the other, each row is an interval, and rows that follow each other are what
 * the library's words causal and w say.  It is looked at for each op again: that is a
 * thousandth of the work, and no host says when it wrote another into the same place.
 */
#include "host_attention.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "packed.h"

enum {
	FEW_TOKENS_MOST = 5, /* attention_decode is faster for so many (Xeon, AVX-512 and AVX2, 4 heads on a KV head) */
	WHOLE_TOKENS_LEAST = 64,
	CAP_MOST = 65535,
	CELLS_STEP = 64,
	SEEN = 0,        /* binary16 */
	HIDDEN = 0xFC00, /* -inf */
	AT_ONCE = 4      /* values of a mask that are compared together */
};

const char *attention_kv(const char *name)
{
	static const char *const names[][2] = { { "f16", "f16" }, { "bf16", "bf16" }, { "q8_0", "q80" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i][0], name) == 0)
			return names[i][1];
	return NULL;
}

/* ---- the mask ---- */

/* The first place from AT on, END at most, where ROW is not VALUE. */
static size_t skip(const uint16_t *row, size_t at, size_t end, uint16_t value)
{
	const uint64_t all = value * UINT64_C(0x0001000100010001);
	uint64_t some;

	for (; at + AT_ONCE <= end; at += AT_ONCE) {
		memcpy(&some, row + at, sizeof(some));
		if (some != all)
			break;
	}
	while (at < end && row[at] == value)
		at++;
	return at;
}

/* What TOKEN sees, nothing as 0 to 0; 0: it is no interval. */
static int interval(const struct attention *of, size_t sequence, size_t token, size_t *from, size_t *to)
{
	const uint16_t *row;

	*from = 0;
	*to = of->cells;
	if (!of->mask)
		return 1;
	row = (const uint16_t *)(const void *)(of->mask + sequence * of->mask_sequence + token * of->mask_row);
	*from = skip(row, 0, of->cells, HIDDEN);
	*to = skip(row, *from, of->cells, SEEN);
	if (*from == of->cells)
		*from = *to = 0;
	return skip(row, *to, of->cells, HIDDEN) == of->cells;
}

/* Where RUN's last token sees FROM to TO: does the next one, NEXT_FROM to NEXT_TO, go on with it?  Then RUN has it. */
static int goes_on(struct attention_run *run, size_t from, size_t to, size_t next_from, size_t next_to)
{
	const int is_same = next_from == from && next_to == to, is_first = run->rows == 1;

	if (is_same && (is_first || !run->is_causal)) {
		run->rows++;
		return 1;
	}
	if (next_to != to + 1 || (!is_first && !run->is_causal))
		return 0;
	/* The first cell moves once the window is full, and from then on with each token. */
	if (next_from == from + 1 && !run->window)
		run->window = to - from;
	if (next_from != (run->window && next_to - run->from > run->window ? next_to - run->window : run->from))
		return 0;
	run->is_causal = 1;
	run->rows++;
	run->cells = next_to - run->from;
	return 1;
}

size_t attention_runs(const struct attention *of, struct attention_run out[ATTENTION_RUNS_MAX])
{
	size_t count = 0;

	for (size_t s = 0; s < of->sequences; s++) {
		size_t from = 0, to = 0, next_from, next_to;

		for (size_t i = 0; i < of->tokens; i++, from = next_from, to = next_to) {
			if (!interval(of, s, i, &next_from, &next_to))
				return 0;
			if (i > 0 && goes_on(&out[count - 1], from, to, next_from, next_to))
				continue;
			if (count == ATTENTION_RUNS_MAX)
				return 0;
			out[count++] = (struct attention_run){
				.sequence = s, .first = i, .rows = 1, .from = next_from, .cells = next_to - next_from
			};
		}
	}
	return count;
}

/* ---- plans ---- */

/* A key: words of one size. */
struct work {
	size_t m, n, head, heads, kv_heads, window, cap, is_causal, threads;
	char kv[8];
};

float attention_factor(const struct attention *of)
{
	const float factor = of->scale * sqrtf((float)of->head);

	return fabsf(factor - 1) < 1e-6f ? 1 : factor;
}

static int make_plan(const void *ctx, struct tcbrt_plan **out, struct tcbrt_error *err)
{
	const struct work *work = ctx;
	char op[64], words[128];
	int length = snprintf(words, sizeof(words), "h%zu/%zu", work->heads, work->kv_heads);
	const struct tcbrt_query query = { .op = op,
					   .m = work->m,
					   .n = work->n,
					   .k = work->head,
					   .threads = (unsigned)work->threads,
					   .contract = TCBRT_CONTRACT_F32,
					   .words = words };

	if (work->window)
		length += snprintf(words + length, sizeof(words) - (size_t)length, ",w%zu", work->window);
	if (work->cap)
		length += snprintf(words + length, sizeof(words) - (size_t)length, ",c%zu", work->cap);
	if (work->is_causal)
		snprintf(words + length, sizeof(words) - (size_t)length, ",causal");
	snprintf(op, sizeof(op), "attention_%s_%s", work->m <= FEW_TOKENS_MOST ? "decode" : "prefill", work->kv);
	return tcbrt_plan_create(weights_runtime(), &query, out, err);
}

/* How long a cache may become before there is another plan.  Of few tokens parts of it are dealt out: eight plans for
 * each doubling; of more there are plans for each number of tokens: one. */
static size_t plan_cells(const struct attention_run *run)
{
	const size_t steps = run->rows <= FEW_TOKENS_MOST ? 8 : 1;
	size_t step = CELLS_STEP;

	while (2 * steps * step <= run->cells)
		step *= 2;
	return run->cells ? (run->cells + step - 1) / step * step : step;
}

const struct plan *attention_plan(const struct attention *of, const struct attention_run *run, unsigned threads,
				  struct tcbrt_error *err)
{
	struct work work = { .m = run->rows,
			     .n = plan_cells(run),
			     .head = of->head,
			     .heads = of->heads,
			     .kv_heads = of->kv_heads,
			     .window = run->window,
			     .cap = (size_t)of->cap,
			     .is_causal = (size_t)run->is_causal,
			     .threads = threads };
	static struct plan_table plans;

	snprintf(work.kv, sizeof(work.kv), "%s", of->kv);
	return plan_find(&plans, &work, sizeof(work), make_plan, &work, err);
}

/* ---- what is taken ---- */

static int is_enabled;

void attention_enable(void)
{
	is_enabled = 1;
}

/* In whole steps of 1, as the library's caps are. */
static bool has_cap(const struct attention *of)
{
	return of->cap >= 0 && of->cap <= CAP_MOST && floorf(of->cap) == of->cap;
}

static bool has_plan(const struct attention *of)
{
	return attention_plan(of, &(struct attention_run){ .rows = 1, .cells = 1 }, 1, NULL) != NULL;
}

/*
 * The library's attention was faster than ggml's at every shape that was tried.  But few tokens on a whole cache are
 * what llama.cpp asks about before it decides whether attention is one op at all (flash attention "auto"): it is not,
 * where that op is not the device's that has the layer.  In use, a cache is as long as what is in it, rounded up.
 */
bool attention_is_taken(const struct attention *of)
{
	return is_enabled && has_cap(of) && (!of->is_whole || of->tokens >= WHOLE_TOKENS_LEAST) && has_plan(of);
}
