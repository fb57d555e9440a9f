/* SPDX-License-Identifier: MIT
 *
 * Strategies: which candidate to try next.  A strategy is a table of functions
 * that is asked for indices of a space and told what became of them.  It
 * measures nothing and knows no clock, so the same strategy runs in a sweep
 * and over recorded results.
 *
 * A new strategy is one file that ends in its `const struct tcb_strategy` and
 * one line in the list below.
 *
 * The driver's side of the contract (sweep.c):
 *   create, then tell() once for each result known already, the default geometry's among them;
 *   ask() until it returns TCB_ASK_NONE or the budget is spent; tell() once for each index asked, in any order:
 *   several may be under way at a time.
 * The strategy's side: ask() never returns an index that was asked or told before.
 */
#ifndef TCB_SEARCH_STRATEGY_H
#define TCB_SEARCH_STRATEGY_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/space.h"
#include "search/search.h"

/* X(name): the first is the default. */
#define TCB_STRATEGY_LIST(X) \
	X(auto)              \
	X(exhaustive)        \
	X(random)            \
	X(hillclimb)         \
	X(forest)            \
	X(gaussian)          \
	X(evolution)         \
	X(genetic)           \
	X(neighbourhood)     \
	X(line)              \
	X(model)

#define TCB_ASK_NONE ((size_t)-1)

enum { TCB_LATTICE_FIELDS = 64 /* at most */ };

/*
 * lattice.c: a space as strategies see it.  The coordinates of a candidate are the ranks of its parameters among the
 * values that occur in the space: of a geometry, of its tile dimensions and knobs.  What never varies is left out, and
 * what always varies together with another.
 */
struct tcb_lattice {
	size_t count, fields; /* candidates; coordinates of each */
	uint16_t *coordinate; /* [index * fields + field]; owned */
	uint16_t *top;        /* [field]: the largest coordinate; owned */
	unsigned char *named; /* [field]: the values are words, any two of them one step apart; owned */
	uint32_t *order;      /* indices, ordered by their coordinates; owned */
	uint32_t *skip;       /* [place in order * fields + field]: the next place with others up to the field; owned */
};
/* Of COUNT candidates with FIELDS parameters each, as VALUE and IS_NAMED tell them. */
struct tcb_lattice_source {
	size_t count, fields;
	double (*value)(const void *ctx, size_t index, size_t field);
	int (*is_named)(const void *ctx, size_t field);
	const void *ctx;
};
enum tcb_status tcb_lattice_init(struct tcb_lattice *lattice, const struct tcb_lattice_source *source,
				 struct tcb_error *err);
enum tcb_status tcb_lattice_of_geometries(struct tcb_lattice *lattice, const struct tcb_geometry *geometries,
					  size_t count, struct tcb_error *err);
void tcb_lattice_fini(struct tcb_lattice *lattice);
/* Steps between two candidates, summed over all fields. */
static inline size_t tcb_lattice_distance(const struct tcb_lattice *lattice, size_t a, size_t b)
{
	const uint16_t *x = lattice->coordinate + a * lattice->fields, *y = lattice->coordinate + b * lattice->fields;
	unsigned distance = 0;
	for (size_t f = 0; f < lattice->fields; f++) {
		const unsigned steps = x[f] > y[f] ? (unsigned)(x[f] - y[f]) : (unsigned)(y[f] - x[f]);
		distance += lattice->named[f] ? steps != 0 : steps;
	}
	return distance;
}

/* In how many fields two candidates differ. */
static inline size_t tcb_lattice_differ(const struct tcb_lattice *lattice, size_t a, size_t b)
{
	const uint16_t *x = lattice->coordinate + a * lattice->fields, *y = lattice->coordinate + b * lattice->fields;
	size_t fields = 0;
	for (size_t f = 0; f < lattice->fields; f++)
		fields += x[f] != y[f];
	return fields;
}

/* lattice_walk.c: candidates near a point. */
enum tcb_reach {
	TCB_REACH_STEPS,     /* steps, summed over all fields, count of the limit */
	TCB_REACH_ADJACENT,  /* fields may differ by one step; the limit is 0 */
	TCB_REACH_ONE,       /* fields that differ count of the limit */
	TCB_REACH_ONE_BY_ONE /* the same, and they may differ by one step */
};
struct tcb_walk {
	const struct tcb_lattice *lattice;
	const uint16_t *point; /* any coordinates; lent */
	enum tcb_reach reach;
	size_t limit;    /* may become smaller while one walks */
	size_t distance; /* of the last candidate: what counted of the limit */
	/* inside */
	size_t steps_most, at, field, spent[TCB_LATTICE_FIELDS + 1];
};
void tcb_walk_init(struct tcb_walk *walk, const struct tcb_lattice *lattice, const uint16_t *point,
		   enum tcb_reach reach, size_t limit);
/* The next candidate within the limit, in no order that means anything; TCB_ASK_NONE after the last. */
size_t tcb_walk_next(struct tcb_walk *walk);
/* The candidate with the fewest steps to POINT, the first among equals, of those that are not TAKEN ([index];
 * nullable); TCB_ASK_NONE when all are. */
size_t tcb_lattice_nearest(const struct tcb_lattice *lattice, const uint16_t *point, const unsigned char *taken);
/* For tcb_lattice_init: fills in what walks need. */
enum tcb_status tcb_lattice_order(struct tcb_lattice *lattice, struct tcb_error *err);

/* What a parameter has, as those outside know it: a number, or a word. */
struct tcb_named_value {
	const char *word; /* NULL: it is the number */
	double number;
	int is_missing; /* the candidate does not use the parameter */
};
enum { TCB_NAMED_ROOM = 64 };
/* A space of COUNT candidates with FIELDS parameters each, by their names. */
struct tcb_named_space {
	size_t count, fields;
	/* Lent, or in ROOM. */
	const char *(*name)(const void *ctx, size_t field, char room[TCB_NAMED_ROOM]);
	struct tcb_named_value (*value)(const void *ctx, size_t index, size_t field);
	const void *ctx;
};
/* lattice.c */
struct tcb_named_space tcb_named_geometries(const struct tcb_geometry *geometries, size_t count);

/* What is given to a strategy; lent until destroy. */
struct tcb_strategy_setup {
	const struct tcb_lattice *lattice;
	/* Of strategies from outside, and during create only. */
	const struct tcb_named_space *named;
	const char *program; /* struct tcb_strategy's; lent */
	double answer_s;     /* time for an answer; 0: 20 s */
	size_t start;        /* the default geometry; TCB_ASK_NONE where there is none (recorded spaces of others) */
	unsigned states;     /* bit 1u << enum tcb_state: what is measured */
	uint64_t seed;
	/* What needs_model sees besides; NULL in a replay. */
	const struct tcb_problem *problem;
	const struct tcb_space *space;
	const struct tcb_op *op;
	const struct tcb_place *modelled; /* NULL: no model knows it, and what needs one proposes in any order */
};

/* What became of a candidate. */
struct tcb_told {
	enum tcb_outcome outcome;
	/* Its time, in a sweep over the default geometry's at the same moment, so drift is out: lower is better.  NaN
	 * in states that are not measured, infinite unless the outcome is ok. */
	double cost[TCB_STATE_COUNT];
	/* What the trial took: preparing, verifying and measuring, a failure's too.  NaN or 0: unknown.  In a replay
	 * the unit is the record's: only ratios mean something. */
	double seconds;
};

struct tcb_strategy {
	const char *name, *summary;
	int needs_model;     /* sweeps of other devices refuse it */
	const char *program; /* of one from outside: its command; else NULL */
	enum tcb_status (*create)(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err);
	/* SPENT: the share of the budget (time or trials) that is gone, 0 to 1; 0 while there is no limit. */
	size_t (*ask)(void *self, double spent);
	void (*tell)(void *self, size_t index, const struct tcb_told *told);
	/* Why ask() returned TCB_ASK_NONE where that is a failure, or tell() failed; NULL: neither does. */
	enum tcb_status (*failed)(const void *self, struct tcb_error *err);
	void (*destroy)(void *self); /* NULL is fine */
};
static inline enum tcb_status tcb_strategy_failed(const struct tcb_strategy *strategy, const void *self,
						  struct tcb_error *err)
{
	return strategy->failed ? strategy->failed(self, err) : TCB_OK;
}

#define TCB_STRATEGY_DECLARE(name) extern const struct tcb_strategy tcb_strategy_##name;
TCB_STRATEGY_LIST(TCB_STRATEGY_DECLARE)
#undef TCB_STRATEGY_DECLARE
/* Not by its name, but as exec:PROGRAM. */
extern const struct tcb_strategy tcb_strategy_exec;

/* lattice.c: candidates in a seeded random order, each dealt once. */
struct tcb_deck {
	size_t count, next;
	size_t *order;        /* owned */
	unsigned char *taken; /* [index]; owned */
};
enum tcb_status tcb_deck_init(struct tcb_deck *deck, size_t count, uint64_t seed, struct tcb_error *err);
void tcb_deck_fini(struct tcb_deck *deck);
void tcb_deck_take(struct tcb_deck *deck, size_t index); /* out of the deck: dealt, or known */
size_t tcb_deck_deal(struct tcb_deck *deck);             /* takes the next; TCB_ASK_NONE when empty */
/* Takes the one nearest to candidate FROM, at most RADIUS steps away, the first in the deck's order among equals. */
size_t tcb_deck_deal_near(struct tcb_deck *deck, const struct tcb_lattice *lattice, size_t from, size_t radius);

#endif
