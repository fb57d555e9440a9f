/* SPDX-License-Identifier: MIT
 *
 * A portfolio: several strategies share the trials, and each is told of all.
 * After a few random trials, the next one goes to a member by chance, in
 * proportion to the square of what its trials brought lately for what they cost:
 * much for a new best, less for one among the best tenth of what is known,
 * nothing for the rest.  Each keeps a least part; every twentieth trial at least is
 * random's, which no landscape misleads.  The Gaussian process, which makes most of
 * few results, has nine tenths of the first hundred trials; for more than some
 * hundreds it is too dear.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "search/strategies/learner.h"

static const struct tcb_strategy *const MEMBERS[] = {
	&tcb_strategy_gaussian,  &tcb_strategy_neighbourhood, &tcb_strategy_forest,
	&tcb_strategy_evolution, &tcb_strategy_random,
};
enum {
	MEMBER_COUNT = sizeof MEMBERS / sizeof *MEMBERS,
	CHANCE = MEMBER_COUNT - 1, /* random's place */
	EARLY = 0,                 /* the place of the one that needs least and costs most */
	EARLY_FIRST = 100,         /* trials, of which it has EARLY_SHARE times as many as the others together */
	EARLY_MOST = 250,          /* trials, after which it has none any more */
	FIRST = 5,                 /* random trials, unless as many are known */
	DEALT = 20,                /* every so many trials one is random's, whoever was successful */
	PRICES = 31,               /* the latest, whose median is the typical one */
	NOBODY = 255,
};
static const double LEAST[MEMBER_COUNT] = { 0.1, 0.1, 0.1, 0.05, 0.02 }; /* parts that are not shared by success */
static const double PRIOR[MEMBER_COUNT] = { 24, 1, 1, 0, 0 }; /* what each has brought before its first trial */
static const double MOSTLY_KNOWN = 2.0 / 3;                   /* of a space: the rest is dealt, which costs nothing */
static const double EARLY_SHARE = 9;
static const double FADE = 0.97; /* of what a trial brought, with every later one of the same member */
static const double RECORD = 4;  /* a new best, in units of a trial that is among the best tenth */
/* Prices, over the typical one; over recorded spaces 0.25 to 4 was no better. */
static const double CHEAPEST = 0.5, DEAREST = 2, DEAREST_FAILURE = 10;

struct portfolio {
	struct tcb_learner learner;
	void *member[MEMBER_COUNT];
	int is_done[MEMBER_COUNT];                        /* has nothing more to ask for */
	double brought[MEMBER_COUNT], paid[MEMBER_COUNT]; /* faded sums; paid: in typical prices */
	double prices[PRICES];
	size_t price_count;        /* told: of them the last PRICES are kept */
	unsigned char *asker;      /* [index]: the member that asked; NOBODY */
	size_t asked, since_dealt; /* since_dealt: asked since random's last turn */
};

static void auto_destroy(void *self)
{
	struct portfolio *p = self;
	if (!p)
		return;
	for (size_t m = 0; m < MEMBER_COUNT; m++)
		MEMBERS[m]->destroy(p->member[m]);
	free(p->asker);
	tcb_learner_destroy(p);
}

static enum tcb_status create_members(struct portfolio *p, const struct tcb_strategy_setup *setup,
				      struct tcb_error *err)
{
	for (size_t m = 0; m < MEMBER_COUNT; m++) {
		TCB_TRY(MEMBERS[m]->create(setup, &p->member[m], err));
		p->brought[m] = PRIOR[m];
		p->paid[m] = 1;
	}
	p->asker = malloc(setup->lattice->count + 1);
	if (!p->asker)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	memset(p->asker, NOBODY, setup->lattice->count);
	return TCB_OK;
}

static enum tcb_status auto_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	void *self;
	TCB_TRY(tcb_learner_create(setup, sizeof(struct portfolio), &self, err));
	enum tcb_status status = create_members(self, setup, err);
	if (status == TCB_OK)
		*out = self;
	else
		auto_destroy(self);
	return status;
}

static int may_ask(const struct portfolio *p, size_t m)
{
	return !p->is_done[m] && (m != EARLY || p->learner.count <= EARLY_MOST);
}

/*
 * Is there nothing yet to learn from, or nothing left to be learned?  Or is it random's turn?  The members all know
 * what was tried, so after n of its trials at least the first n / DEALT candidates of a random order are known: the
 * best is no worse than what random search has after so many, in any space.
 */
static int is_chance_best(const struct portfolio *p)
{
	const struct tcb_learner *l = &p->learner;
	return !p->is_done[CHANCE] && (p->asked < FIRST || p->since_dealt + 1 >= DEALT ||
				       (double)l->count > MOSTLY_KNOWN * (double)l->lattice->count);
}

/* One of those who may, by its least part and by what its trials brought. */
static size_t choose_member(struct portfolio *p)
{
	double weight[MEMBER_COUNT], gains = 0, sum = 0;
	size_t last = MEMBER_COUNT;
	if (is_chance_best(p))
		return CHANCE;
	for (size_t m = 0; m < MEMBER_COUNT; m++)
		gains += may_ask(p, m) ? pow(p->brought[m] / p->paid[m], 2) : 0;
	for (size_t m = 0; m < MEMBER_COUNT; m++) {
		const double part = gains > 0 ? pow(p->brought[m] / p->paid[m], 2) / gains : 1;
		weight[m] = may_ask(p, m) ? LEAST[m] + part : 0;
		sum += weight[m];
	}
	if (may_ask(p, EARLY) && p->learner.count < EARLY_FIRST) {
		const double others = sum - weight[EARLY];
		weight[EARLY] = EARLY_SHARE * others;
		sum = others + weight[EARLY];
	}
	double at = tcb_rng_unit(&p->learner.rng) * sum;
	for (size_t m = 0; m < MEMBER_COUNT; m++) {
		if (!may_ask(p, m))
			continue;
		last = m;
		at -= weight[m];
		if (at < 0)
			break;
	}
	return last;
}

static size_t auto_ask(void *self, double spent)
{
	struct portfolio *p = self;
	for (;;) {
		const size_t m = choose_member(p);
		if (m == MEMBER_COUNT)
			return TCB_ASK_NONE;
		const size_t index = MEMBERS[m]->ask(p->member[m], spent);
		if (index == TCB_ASK_NONE) {
			p->is_done[m] = 1;
		} else if (!p->learner.deck.taken[index]) { /* else another asked for it, and it is under way */
			tcb_learner_take(&p->learner, index);
			p->asker[index] = (unsigned char)m;
			p->asked++;
			p->since_dealt = m == CHANCE ? 0 : p->since_dealt + 1;
			return index;
		}
	}
}

/* What a trial that was just told is worth, in the state where it is worth most. */
static double worth(const struct tcb_learner *l, size_t index)
{
	double most = 0;
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++) {
		const double cost = tcb_learner_cost(l, index, s);
		if (!(l->states >> s & 1u) || !(cost < INFINITY))
			continue;
		const double part = (double)tcb_learner_rank(l, cost, s) / (double)l->count;
		most = fmax(most, l->best[s][0] == index ? RECORD : fmax(0, 1 - 10 * part));
	}
	return most;
}

/*
 * What a trial cost, in typical prices.  It is bounded for what succeeded: on a CPU the first candidate of a weight
 * layout costs up to 300 times as much as the next, for copies that are made once and that any member would have had
 * to pay for some time.  A failure, which may have hung until its timeout, leaves nothing behind and may come again.
 */
static double price_of(struct portfolio *p, const struct tcb_told *told)
{
	const double most = told->outcome == TCB_OUTCOME_OK ? DEAREST : DEAREST_FAILURE;
	double latest[PRICES];
	if (!(told->seconds > 0) || !isfinite(told->seconds))
		return 1;
	p->prices[p->price_count++ % PRICES] = told->seconds;
	const size_t count = p->price_count < PRICES ? p->price_count : PRICES;
	memcpy(latest, p->prices, count * sizeof *latest);
	return fmin(most, fmax(CHEAPEST, told->seconds / tcb_median_reordering(latest, count)));
}

static void auto_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct portfolio *p = self;
	const size_t m = p->asker[index];
	const double price = price_of(p, told);
	tcb_learner_tell(p, index, told);
	if (m != NOBODY) {
		p->brought[m] = FADE * p->brought[m] + worth(&p->learner, index);
		p->paid[m] = FADE * p->paid[m] + price;
	} else {
		p->asked++;
	}
	for (size_t i = 0; i < MEMBER_COUNT; i++)
		MEMBERS[i]->tell(p->member[i], index, told);
}

const struct tcb_strategy tcb_strategy_auto = {
	.name = "auto",
	.summary = "a portfolio of gaussian, neighbourhood, forest, evolution and random, by what each brought lately",
	.create = auto_create,
	.ask = auto_ask,
	.tell = auto_tell,
	.destroy = auto_destroy,
};
