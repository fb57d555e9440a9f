/* SPDX-License-Identifier: MIT
 *
 * Growing and asking the trees.  All nodes lie in one array per forest; a node is split where
 * the Gini impurity of both sides together is least, until it holds one label
 * only.  Ranks are few, so the weights of a node are summed per rank and every
 * threshold is looked at in one pass; words are split by "is it this one".
 */
#include "search/strategies/forest.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF = UINT16_MAX };

struct node {
	uint16_t field; /* LEAF: there is no split */
	uint16_t at;    /* goes left: coordinate <= AT, of words == AT */
	uint32_t left;  /* the right one comes after it */
	float good;     /* share of the weight */
};

/* An example as often as it was drawn. */
struct sample {
	const uint16_t *row; /* coordinates */
	float good, bad;
};

struct tcb_forest {
	const struct tcb_lattice *lattice;
	size_t most;
	struct node *nodes; /* [tree * nodes_most + ...] */
	size_t nodes_most;  /* of a tree */
	/* while a tree grows */
	struct sample *sample;
	uint16_t *draws;   /* [example]: how often it was drawn */
	uint16_t *fields;  /* a permutation */
	float (*sums)[2];  /* [coordinate]: good and bad weight */
	uint32_t *waiting; /* triples: node, begin, end of its examples in sample */
};

void tcb_forest_destroy(struct tcb_forest *forest)
{
	if (!forest)
		return;
	free(forest->nodes);
	free(forest->sample);
	free(forest->draws);
	free(forest->fields);
	free(forest->sums);
	free(forest->waiting);
	free(forest);
}

enum tcb_status tcb_forest_create(const struct tcb_lattice *lattice, size_t most, struct tcb_forest **out,
				  struct tcb_error *err)
{
	struct tcb_forest *forest = calloc(1, sizeof *forest);
	size_t ranks = 1;
	if (!forest)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a forest");
	for (size_t f = 0; f < lattice->fields; f++)
		ranks = lattice->top[f] + 1u > ranks ? lattice->top[f] + 1u : ranks;
	forest->lattice = lattice;
	forest->most = most;
	forest->nodes_most = 2 * most + 1;
	forest->nodes = malloc(TCB_FOREST_TREES * forest->nodes_most * sizeof *forest->nodes);
	forest->sample = malloc((most + 1) * sizeof *forest->sample);
	forest->draws = malloc((most + 1) * sizeof *forest->draws);
	forest->fields = malloc((lattice->fields + 1) * sizeof *forest->fields);
	forest->sums = malloc(ranks * sizeof *forest->sums);
	forest->waiting = malloc(3 * forest->nodes_most * sizeof *forest->waiting);
	if (!forest->nodes || !forest->sample || !forest->draws || !forest->fields || !forest->sums ||
	    !forest->waiting) {
		tcb_forest_destroy(forest);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a forest of %zu examples", most);
	}
	for (size_t f = 0; f < lattice->fields; f++)
		forest->fields[f] = (uint16_t)f;
	*out = forest;
	return TCB_OK;
}

/* --- growing --- */

/* Of two sides, 0 good and 1 bad: weight times Gini impurity, halved. */
static float impurity(float good, float bad)
{
	return good + bad > 0 ? good * bad / (good + bad) : 0;
}

struct split {
	uint16_t field, at;
	float cost;
};

/* The best split of examples BEGIN to END by FIELD, if it is better than BEST. */
static void try_field(struct tcb_forest *forest, size_t begin, size_t end, uint16_t field, const float total[2],
		      struct split *best)
{
	const size_t ranks = forest->lattice->top[field] + 1u;
	const int named = forest->lattice->named[field];
	float left[2] = { 0, 0 };
	memset(forest->sums, 0, ranks * sizeof *forest->sums);
	for (size_t i = begin; i < end; i++) {
		float *sum = forest->sums[forest->sample[i].row[field]];
		sum[0] += forest->sample[i].good;
		sum[1] += forest->sample[i].bad;
	}
	for (size_t at = 0; at < ranks; at++) {
		const float *sum = forest->sums[at];
		if (sum[0] + sum[1] <= 0)
			continue;
		for (int label = 0; label < 2; label++)
			left[label] = named ? sum[label] : left[label] + sum[label];
		const float right[2] = { total[0] - left[0], total[1] - left[1] };
		if (right[0] + right[1] <= 1e-6f * (total[0] + total[1]))
			continue;
		const float cost = impurity(left[0], left[1]) + impurity(right[0], right[1]);
		if (cost < best->cost)
			*best = (struct split){ field, (uint16_t)at, cost };
	}
}

static int goes_left(const struct tcb_forest *forest, const struct node *node, const uint16_t *row)
{
	const uint16_t rank = row[node->field];
	return forest->lattice->named[node->field] ? rank == node->at : rank <= node->at;
}

/* Half of the fields in a random order; more, while none of them splits. */
static struct split find_split(struct tcb_forest *forest, size_t begin, size_t end, const float total[2],
			       struct tcb_rng *rng)
{
	const size_t fields = forest->lattice->fields;
	struct split best = { LEAF, 0, impurity(total[0], total[1]) * 0.999999f };
	for (size_t f = 0; f < fields && (f < (fields + 1) / 2 || best.field == LEAF); f++) {
		const size_t other = f + tcb_rng_below(rng, fields - f);
		const uint16_t field = forest->fields[other];
		forest->fields[other] = forest->fields[f];
		forest->fields[f] = field;
		try_field(forest, begin, end, field, total, &best);
	}
	return best;
}

/* Examples that go left before the others; returns where the others begin. */
static size_t part(struct tcb_forest *forest, const struct node *node, size_t begin, size_t end)
{
	while (begin < end) {
		if (goes_left(forest, node, forest->sample[begin].row)) {
			begin++;
			continue;
		}
		const struct sample moved = forest->sample[begin];
		forest->sample[begin] = forest->sample[--end];
		forest->sample[end] = moved;
	}
	return begin;
}

static void grow_tree(struct tcb_forest *forest, struct node *nodes, size_t count, struct tcb_rng *rng)
{
	size_t waiting = 0;
	uint32_t used = 1;
	forest->waiting[waiting++] = 0;
	forest->waiting[waiting++] = 0;
	forest->waiting[waiting++] = (uint32_t)count;
	while (waiting) {
		const uint32_t end = forest->waiting[--waiting], begin = forest->waiting[--waiting];
		struct node *node = &nodes[forest->waiting[--waiting]];
		float total[2] = { 0, 0 };
		for (size_t i = begin; i < end; i++) {
			total[0] += forest->sample[i].good;
			total[1] += forest->sample[i].bad;
		}
		const struct split split = total[0] > 0 && total[1] > 0 ? find_split(forest, begin, end, total, rng)
									: (struct split){ .field = LEAF };
		*node = (struct node){ split.field, split.at, used, total[0] / (total[0] + total[1]) };
		if (split.field == LEAF)
			continue;
		const uint32_t middle = (uint32_t)part(forest, node, begin, end);
		const uint32_t pieces[] = { used, begin, middle, used + 1, middle, end };
		memcpy(forest->waiting + waiting, pieces, sizeof pieces);
		waiting += 6;
		used += 2;
	}
}

/* Draws COUNT of EXAMPLES with putting back into the sample; returns how many different ones it has. */
static size_t draw(struct tcb_forest *forest, const struct tcb_example *examples, size_t count, struct tcb_rng *rng)
{
	const struct tcb_lattice *lattice = forest->lattice;
	size_t drawn = 0;
	memset(forest->draws, 0, count * sizeof *forest->draws);
	for (size_t i = 0; i < count; i++)
		forest->draws[tcb_rng_below(rng, count)]++;
	for (size_t i = 0; i < count; i++)
		if (forest->draws[i])
			forest->sample[drawn++] =
				(struct sample){ lattice->coordinate + examples[i].index * lattice->fields,
						 (float)forest->draws[i] * examples[i].good,
						 (float)forest->draws[i] * examples[i].bad };
	return drawn;
}

void tcb_forest_grow(struct tcb_forest *forest, const struct tcb_example *examples, size_t count, struct tcb_rng *rng)
{
	for (size_t t = 0; t < TCB_FOREST_TREES; t++)
		grow_tree(forest, forest->nodes + t * forest->nodes_most, draw(forest, examples, count, rng), rng);
}

/* --- asking --- */

float tcb_forest_judge(const struct tcb_forest *forest, size_t index, size_t trees, uint32_t *leaves)
{
	const uint16_t *row = forest->lattice->coordinate + index * forest->lattice->fields;
	float sum = 0;
	for (size_t t = 0; t < trees; t++) {
		const struct node *nodes = forest->nodes + t * forest->nodes_most;
		uint32_t at = 0;
		while (nodes[at].field != LEAF)
			at = nodes[at].left + !goes_left(forest, &nodes[at], row);
		sum += nodes[at].good;
		if (leaves)
			leaves[t] = at;
	}
	return sum / (float)trees;
}
