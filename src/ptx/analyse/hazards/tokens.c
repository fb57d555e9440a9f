/* SPDX-License-Identifier: MIT
 *
 * In: operations and the tokens that they take.  Out: whether the graph is legal
 * and free of cycles, what happens before what, races, operations that could be
 * one, and the graph without dead tokens.
 *
 * Happens-before is reachability.  A topological number for each token cuts the
 * search: what is numbered before the start cannot lie on the way.
 */
#include "ptx/analyse/hazards/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ptx/ir/opcodes.h"

struct node {
	struct tcb_ptx_token_what what;
	uint32_t *takes;
	uint32_t take_count, take_capacity;
	uint32_t number; /* topological, from 0 */
	uint8_t is_gone;
};

struct tcb_ptx_tokens {
	struct tcb_arena arena;
	struct node *nodes;
	uint32_t count;
	size_t capacity;
	uint32_t *stamps, *stack, stamp, room; /* of searches */
	int failed;
};

enum tcb_status tcb_ptx_tokens_create(struct tcb_ptx_tokens **out, struct tcb_error *err)
{
	*out = calloc(1, sizeof **out);
	return *out ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for tokens");
}

void tcb_ptx_tokens_destroy(struct tcb_ptx_tokens *tokens)
{
	if (!tokens)
		return;
	tcb_arena_fini(&tokens->arena);
	free(tokens->nodes);
	free(tokens->stamps);
	free(tokens->stack);
	free(tokens);
}

/* --- making --- */

static uint32_t add_node(struct tcb_ptx_tokens *t, const struct tcb_ptx_token_what *what)
{
	struct node *nodes = tcb_grow(t->nodes, t->count, &t->capacity, 64, sizeof *nodes);

	t->failed |= !nodes;
	if (!nodes)
		return TCB_PTX_NO_TOKEN;
	t->nodes = nodes;
	t->nodes[t->count] = (struct node){ .what = *what };
	return t->count++;
}

void tcb_ptx_token_take(struct tcb_ptx_tokens *t, uint32_t user, uint32_t token)
{
	struct node *node;

	if (user == TCB_PTX_NO_TOKEN || token == TCB_PTX_NO_TOKEN)
		return;
	node = &t->nodes[user];
	if (node->take_count == node->take_capacity) {
		uint32_t capacity = node->take_capacity ? node->take_capacity * 2 : 2;
		uint32_t *grown = tcb_arena_regrow(&t->arena, node->takes, node->take_count, capacity, sizeof *grown);

		if (!grown) {
			t->failed = 1;
			return;
		}
		node->takes = grown;
		node->take_capacity = capacity;
	}
	node->takes[node->take_count++] = token;
}

uint32_t tcb_ptx_token_make(struct tcb_ptx_tokens *t)
{
	return add_node(t, &(struct tcb_ptx_token_what){ .kind = TCB_PTX_TOKEN_MAKE });
}

uint32_t tcb_ptx_token_join(struct tcb_ptx_tokens *t, const uint32_t *joined, uint32_t count)
{
	uint32_t join = add_node(t, &(struct tcb_ptx_token_what){ .kind = TCB_PTX_TOKEN_JOIN });

	for (uint32_t i = 0; i < count; i++)
		tcb_ptx_token_take(t, join, joined[i]);
	return join;
}

uint32_t tcb_ptx_token_op(struct tcb_ptx_tokens *t, const struct tcb_ptx_token_what *what, uint32_t token)
{
	uint32_t op = add_node(t, what);

	tcb_ptx_token_take(t, op, token);
	return op;
}

const struct tcb_ptx_token_what *tcb_ptx_token_what(const struct tcb_ptx_tokens *t, uint32_t token)
{
	return &t->nodes[token].what;
}

int tcb_ptx_token_is_gone(const struct tcb_ptx_tokens *t, uint32_t token)
{
	return t->nodes[token].is_gone;
}

/* --- legality: PTX ISA, memory consistency model, and the table of SPEC section 5 --- */

const char *tcb_ptx_token_illegal(enum tcb_ptx_token_kind kind, enum tcb_ptx_word order, enum tcb_ptx_word scope,
				  const struct tcb_ptx_target *target)
{
	static const struct tcb_ptx_target clusters = { 90, 0 };
	int is_weak = order == TCB_PTX_NO_WORD || order == TCB_PTX_WEAK;

	if (kind == TCB_PTX_TOKEN_MAKE || kind == TCB_PTX_TOKEN_JOIN || kind == TCB_PTX_TOKEN_BARRIER)
		return order != TCB_PTX_NO_WORD || scope != TCB_PTX_NO_WORD ? "it takes no order and no scope" : NULL;
	if (scope == TCB_PTX_CLUSTER && target && !tcb_ptx_target_allows(target, &clusters))
		return "the scope .cluster needs sm_90";
	if (kind == TCB_PTX_TOKEN_FENCE) {
		if (order != TCB_PTX_SC && order != TCB_PTX_ACQ_REL && order != TCB_PTX_ACQUIRE &&
		    order != TCB_PTX_RELEASE)
			return "a fence is .sc, .acq_rel, .acquire or .release";
		return scope == TCB_PTX_NO_WORD ? "a fence needs a scope" : NULL;
	}
	if (order == TCB_PTX_SC)
		return "only a fence is .sc";
	if (kind == TCB_PTX_TOKEN_ATOMIC) {
		if (order == TCB_PTX_WEAK || order == TCB_PTX_VOLATILE)
			return "an atomic operation is never weak or volatile";
		return NULL; /* without an order it is relaxed, without a scope .gpu */
	}
	if (is_weak || order == TCB_PTX_VOLATILE)
		return scope != TCB_PTX_NO_WORD ? "weak and volatile accesses take no scope" : NULL;
	if (scope == TCB_PTX_NO_WORD)
		return "relaxed, acquire and release need a scope";
	if (order == TCB_PTX_ACQ_REL)
		return "only atomic operations and fences are .acq_rel";
	if (kind == TCB_PTX_TOKEN_LOAD && order == TCB_PTX_RELEASE)
		return "a load releases nothing";
	if (kind == TCB_PTX_TOKEN_STORE && order == TCB_PTX_ACQUIRE)
		return "a store acquires nothing";
	return NULL;
}

static int reaches(enum tcb_ptx_word scope, enum tcb_ptx_distance distance)
{
	switch ((int)scope) {
	case TCB_PTX_CTA:
		return distance == TCB_PTX_SAME_BLOCK;
	case TCB_PTX_CLUSTER:
		return distance <= TCB_PTX_SAME_CLUSTER;
	case TCB_PTX_GPU:
		return distance <= TCB_PTX_SAME_DEVICE;
	case TCB_PTX_SYS:
		return 1;
	default:
		return 0; /* weak: orders nothing for others */
	}
}

int tcb_ptx_scopes_meet(enum tcb_ptx_word scope_a, enum tcb_ptx_word scope_b, enum tcb_ptx_distance distance)
{
	return reaches(scope_a, distance) && reaches(scope_b, distance);
}

/* --- order --- */

static int make_room(struct tcb_ptx_tokens *t)
{
	uint32_t *stamps, *stack;

	if (t->room >= t->count)
		return 1;
	stamps = realloc(t->stamps, t->count * sizeof *stamps);
	if (stamps)
		t->stamps = stamps;
	stack = realloc(t->stack, t->count * sizeof *stack);
	if (stack)
		t->stack = stack;
	if (!stamps || !stack)
		return 0;
	t->room = t->count;
	return 1;
}

static void name_node(const struct tcb_ptx_tokens *t, uint32_t token, struct tcb_error *err)
{
	static const char *const names[] = { "make", "join", "load", "store", "atomic", "fence", "barrier" };
	const struct tcb_ptx_token_what *what = &t->nodes[token].what;
	size_t used;

	if (!err)
		return;
	used = strlen(err->message);
	if (what->ins && what->ins->line)
		snprintf(err->message + used, sizeof err->message - used, " -> %s (line %u)", names[what->kind],
			 what->ins->line);
	else
		snprintf(err->message + used, sizeof err->message - used, " -> %s %u", names[what->kind], token);
}

/* Some cycle among the tokens that got no number: going back from any of them stays among them, and comes round. */
static enum tcb_status name_cycle(struct tcb_ptx_tokens *t, struct tcb_error *err)
{
	enum { SHOWN = 8 };
	uint32_t at = 0, start, shown = 0;

	while (t->nodes[at].number != TCB_PTX_NO_TOKEN)
		at++;
	memset(t->stamps, 0, t->count * sizeof *t->stamps);
	while (!t->stamps[at]) {
		t->stamps[at] = 1;
		for (uint32_t i = 0; i < t->nodes[at].take_count; i++)
			if (t->nodes[t->nodes[at].takes[i]].number == TCB_PTX_NO_TOKEN) {
				at = t->nodes[at].takes[i];
				break;
			}
	}
	tcb_fail(err, TCB_E_FAILED, "tokens wait for each other in a cycle:");
	start = at;
	do {
		if (shown++ < SHOWN)
			name_node(t, at, err);
		for (uint32_t i = 0; i < t->nodes[at].take_count; i++)
			if (t->nodes[t->nodes[at].takes[i]].number == TCB_PTX_NO_TOKEN &&
			    t->stamps[t->nodes[at].takes[i]]) {
				at = t->nodes[at].takes[i];
				break;
			}
	} while (at != start && shown <= t->count);
	return TCB_E_FAILED;
}

/* Numbers tokens so that each is behind those it takes; 0 when a cycle keeps some from it. */
static int number_tokens(struct tcb_ptx_tokens *t, uint32_t *users_at, uint32_t *users)
{
	uint32_t done = 0, ready = 0;

	for (uint32_t n = 0; n < t->count; n++) {
		for (uint32_t i = 0; i < t->nodes[n].take_count; i++)
			users_at[t->nodes[n].takes[i] + 1]++;
		t->nodes[n].number = TCB_PTX_NO_TOKEN;
	}
	for (uint32_t n = 0; n < t->count; n++)
		users_at[n + 1] += users_at[n];
	memcpy(t->stamps, users_at, t->count * sizeof *t->stamps);
	for (uint32_t n = 0; n < t->count; n++)
		for (uint32_t i = 0; i < t->nodes[n].take_count; i++)
			users[t->stamps[t->nodes[n].takes[i]]++] = n;
	for (uint32_t n = 0; n < t->count; n++) {
		t->stamps[n] = t->nodes[n].take_count; /* still waited for */
		if (!t->stamps[n])
			t->stack[ready++] = n;
	}
	for (; done < ready; done++) {
		uint32_t n = t->stack[done];

		t->nodes[n].number = done;
		for (uint32_t i = users_at[n]; i < users_at[n + 1]; i++)
			if (--t->stamps[users[i]] == 0)
				t->stack[ready++] = users[i];
	}
	return done == t->count;
}

enum tcb_status tcb_ptx_tokens_check(struct tcb_ptx_tokens *t, const struct tcb_ptx_target *target,
				     struct tcb_error *err)
{
	uint32_t takes = 0, *users_at, *users;
	int ok;

	for (uint32_t n = 0; n < t->count; n++) {
		const struct tcb_ptx_token_what *what = &t->nodes[n].what;
		const char *why = tcb_ptx_token_illegal(what->kind, what->order, what->scope, target);

		takes += t->nodes[n].take_count;
		if (!why)
			continue;
		if (what->ins && what->ins->line)
			return tcb_fail(err, TCB_E_FAILED, "line %u: %s", what->ins->line, why);
		return tcb_fail(err, TCB_E_FAILED, "token %u: %s", n, why);
	}
	users_at = calloc(t->count + 1, sizeof *users_at);
	users = calloc(takes + 1, sizeof *users);
	ok = !t->failed && users_at && users && make_room(t);
	if (ok && !number_tokens(t, users_at, users)) {
		free(users_at);
		free(users);
		return name_cycle(t, err);
	}
	free(users_at);
	free(users);
	t->stamp = 0;
	if (ok && t->count)
		memset(t->stamps, 0, t->count * sizeof *t->stamps);
	return ok ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for tokens");
}

int tcb_ptx_token_before(struct tcb_ptx_tokens *t, uint32_t a, uint32_t b)
{
	uint32_t count = 0;

	if (a == b || t->nodes[a].number >= t->nodes[b].number)
		return 0;
	t->stamp++;
	t->stack[count++] = b;
	t->stamps[b] = t->stamp;
	while (count) {
		const struct node *node = &t->nodes[t->stack[--count]];

		for (uint32_t i = 0; i < node->take_count; i++) {
			uint32_t taken = node->takes[i];

			if (taken == a)
				return 1;
			if (t->stamps[taken] == t->stamp || t->nodes[taken].number <= t->nodes[a].number)
				continue;
			t->stamps[taken] = t->stamp;
			t->stack[count++] = taken;
		}
	}
	return 0;
}

/* --- pairs --- */

static int is_access(const struct tcb_ptx_token_what *what)
{
	return what->kind == TCB_PTX_TOKEN_LOAD || what->kind == TCB_PTX_TOKEN_STORE ||
	       what->kind == TCB_PTX_TOKEN_ATOMIC;
}

static int is_race(const struct tcb_ptx_token_what *a, const struct tcb_ptx_token_what *b)
{
	if (a->place != b->place || a->offset >= b->offset + b->bytes || b->offset >= a->offset + a->bytes)
		return 0;
	if (a->kind == TCB_PTX_TOKEN_ATOMIC && b->kind == TCB_PTX_TOKEN_ATOMIC)
		return 0;
	return a->kind != TCB_PTX_TOKEN_LOAD || b->kind != TCB_PTX_TOKEN_LOAD;
}

static int is_fusible(const struct tcb_ptx_token_what *a, const struct tcb_ptx_token_what *b)
{
	int weak = (a->order == TCB_PTX_NO_WORD || a->order == TCB_PTX_WEAK) &&
		   (b->order == TCB_PTX_NO_WORD || b->order == TCB_PTX_WEAK);

	return weak && a->kind == b->kind && a->kind != TCB_PTX_TOKEN_ATOMIC && a->place == b->place &&
	       a->bytes == b->bytes && (a->offset + a->bytes == b->offset || b->offset + b->bytes == a->offset);
}

static uint32_t pairs(struct tcb_ptx_tokens *t,
		      int (*is_wanted)(const struct tcb_ptx_token_what *a, const struct tcb_ptx_token_what *b),
		      void (*see)(void *ctx, uint32_t a, uint32_t b), void *ctx)
{
	uint32_t found = 0;

	for (uint32_t a = 0; a < t->count; a++) {
		if (!is_access(&t->nodes[a].what))
			continue;
		for (uint32_t b = a + 1; b < t->count; b++)
			if (is_access(&t->nodes[b].what) && is_wanted(&t->nodes[a].what, &t->nodes[b].what) &&
			    !tcb_ptx_token_before(t, a, b) && !tcb_ptx_token_before(t, b, a)) {
				found++;
				if (see)
					see(ctx, a, b);
			}
	}
	return found;
}

uint32_t tcb_ptx_tokens_races(struct tcb_ptx_tokens *t, void (*see)(void *ctx, uint32_t a, uint32_t b), void *ctx)
{
	return pairs(t, is_race, see, ctx);
}

uint32_t tcb_ptx_tokens_fusible(struct tcb_ptx_tokens *t, void (*see)(void *ctx, uint32_t a, uint32_t b), void *ctx)
{
	return pairs(t, is_fusible, see, ctx);
}

/* --- dead tokens --- */

/* The token that TOKEN stands for when joins of one are left out. */
static uint32_t behind_joins(const struct tcb_ptx_tokens *t, uint32_t token)
{
	while (t->nodes[token].what.kind == TCB_PTX_TOKEN_JOIN && t->nodes[token].take_count == 1)
		token = t->nodes[token].takes[0];
	return token;
}

uint32_t tcb_ptx_tokens_prune(struct tcb_ptx_tokens *t)
{
	uint32_t gone = 0, count = 0;

	for (uint32_t n = 0; n < t->count; n++) {
		struct node *node = &t->nodes[n];
		uint32_t kept = 0;

		for (uint32_t i = 0; i < node->take_count; i++) { /* each once */
			uint32_t token = behind_joins(t, node->takes[i]), j = 0;

			while (j < kept && node->takes[j] != token)
				j++;
			if (j == kept)
				node->takes[kept++] = token;
		}
		node->take_count = kept;
	}
	t->stamp++;
	for (uint32_t n = 0; n < t->count; n++)
		if (t->nodes[n].what.kind > TCB_PTX_TOKEN_JOIN) {
			t->stamps[n] = t->stamp;
			t->stack[count++] = n;
		}
	while (count) {
		const struct node *node = &t->nodes[t->stack[--count]];

		for (uint32_t i = 0; i < node->take_count; i++)
			if (t->stamps[node->takes[i]] != t->stamp) {
				t->stamps[node->takes[i]] = t->stamp;
				t->stack[count++] = node->takes[i];
			}
	}
	for (uint32_t n = 0; n < t->count; n++)
		if (t->stamps[n] != t->stamp && !t->nodes[n].is_gone) {
			t->nodes[n].is_gone = 1;
			t->nodes[n].take_count = 0;
			gone++;
		}
	return gone;
}
