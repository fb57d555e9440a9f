/* SPDX-License-Identifier: MIT
 *
 * From two databases' times to FASTER, SLOWER, SAME or UNDECIDED.
 *
 * Two sweeps of one build differ by what the machine did meanwhile, which on a
 * busy one is tens of per cent and in no interval of either.  So there are two
 * kinds of evidence.  Where the finals were held in turn, OLD, NEW, OLD, NEW,
 * each is a sample, and a precedence interval of their ratio assumes only that
 * the machine treated both alike.  Where there is one sweep each, problems
 * whose kernels did not change tell how the machine moved and how unevenly, and
 * only what stands out by far is confirmed.
 *
 * A family of rows is judged: each interval misses with 5 % over their number
 * (Bonferroni), so that of two sweeps of one build one in twenty has a row that
 * is called SLOWER or FASTER by mistake.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "cli/report/compare.h"

static const double FAMILY_MISS = 0.05;
static const double EQUAL = 0.01; /* practically equal below: TCB_TIE_MARGIN of the finals */
/* A sweep of one build beside itself moves by so much on a machine that others use; a sweep says so beyond it. */
static const double MACHINE_LEAST = 0.25;
static const double MACHINE_UNKNOWN = 1; /* with fewer problems to tell than these */
enum { CONTROLS_LEAST = 5 };
static const double STANDS_OUT = 1.5; /* times the greatest move among the others */

static const char *const compared_texts[CLI_COMPARED_COUNT] = {
#define TEXT(id, text) text,
	CLI_COMPARED_LIST(TEXT)
#undef TEXT
};

const char *cli_compared_text(enum cli_compared verdict)
{
	return compared_texts[verdict];
}

static const char *const changed_names[CLI_CHANGED_COUNT] = {
#define NAME(id, name, member) name,
	CLI_CHANGED_LIST(NAME)
#undef NAME
};

const char *cli_changed_name(enum cli_changed what)
{
	return changed_names[what];
}

const char *cli_row_text(const struct cli_told *told, enum cli_changed what)
{
	const char *const members[CLI_CHANGED_COUNT] = {
#define MEMBER(id, name, member) told->member,
		CLI_CHANGED_LIST(MEMBER)
#undef MEMBER
	};

	return members[what];
}

int cli_row_changed(const struct cli_row *row, enum cli_changed what)
{
	if (what == CLI_CHANGED_KERNEL && cli_row_changed(row, CLI_CHANGED_GEOMETRY))
		return 0;
	return row->old_side && row->new_side &&
	       strcmp(cli_row_text(row->old_side, what), cli_row_text(row->new_side, what)) != 0;
}

/* Why the two cannot be compared, or NULL. */
static const char *hindrance(const struct cli_row *row)
{
	const struct cli_told *a = row->old_side, *b = row->new_side;

	if (a->best.modelled || b->best.modelled)
		return "a model ranked it, nothing was measured";
	if (a->best.provisional || b->best.provisional)
		return "provisional: no finals were held, or not with all that is known";
	if (strcmp(a->origin.uid, b->origin.uid) == 0)
		return "the same sweep: NEW has not measured it again";
	if (a->origin.rotation_bytes != b->origin.rotation_bytes && a->best.state == TCB_COLD)
		return "cold times of different --rotation";
	if (!(a->best.ns.median > 0) || !(b->best.ns.median > 0))
		return "a time is missing";
	return NULL;
}

/* A session of either side, in the order of time. */
struct event {
	const struct cli_session *session;
	int side;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	const int order = strcmp(x->session->at, y->session->at);

	return order ? order : x->side - y->side;
}

/*
 * Neighbours in time of different sides, none of them twice: the sessions that were held in turn.  A_OUT and B_OUT have
 * room for all of a side; how many pairs there are.
 */
static size_t pair_up(struct event *events, size_t count, double *a_out, double *b_out)
{
	const struct event *waiting = NULL;
	size_t pairs = 0;

	qsort(events, count, sizeof *events, compare_events);
	for (size_t i = 0; i < count; i++) {
		if (!waiting || waiting->side == events[i].side) {
			waiting = &events[i];
			continue;
		}
		a_out[pairs] = (waiting->side == 0 ? waiting : &events[i])->session->ns;
		b_out[pairs++] = (waiting->side == 0 ? &events[i] : waiting)->session->ns;
		waiting = NULL;
	}
	return pairs;
}

static enum tcb_status find_pairs(struct cli_row *row, double **a_out, double **b_out, struct tcb_error *err)
{
	const struct cli_told *sides[2] = { row->old_side, row->new_side };
	const size_t count = sides[0]->session_count + sides[1]->session_count;
	struct event *events = malloc((count + 1) * sizeof *events);
	size_t used = 0;

	*a_out = malloc((count + 1) * sizeof **a_out);
	*b_out = malloc((count + 1) * sizeof **b_out);
	if (!events || !*a_out || !*b_out) {
		free(events);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the sweeps of two databases");
	}
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side]->session_count; i++)
			events[used++] = (struct event){ &sides[side]->sessions[i], side };
	row->pairs = pair_up(events, count, *a_out, *b_out);
	free(events);
	return TCB_OK;
}

/* What evidence each row has. */
static enum tcb_status weigh(struct cli_comparison *comparison, struct cli_row *row, struct tcb_error *err)
{
	double *a = NULL, *b = NULL;
	enum tcb_status status = find_pairs(row, &a, &b, err);

	if (status == TCB_OK && row->pairs >= comparison->pairs_least) {
		row->evidence = CLI_EVIDENCE_PAIRS;
		row->ratio = tcb_precedence_interval(a, row->pairs, b, row->pairs, comparison->miss);
		row->old_ns = a[(row->pairs - 1) / 4]; /* sorted by now */
		row->new_ns = b[(row->pairs - 1) / 4];
	}
	free(a);
	free(b);
	return status;
}

static double single_ratio(const struct cli_row *row)
{
	return row->new_side->best.ns.median / row->old_side->best.ns.median;
}

static int is_control(const struct cli_row *row)
{
	return row->evidence == CLI_EVIDENCE_SINGLE && !cli_row_changed(row, CLI_CHANGED_OP);
}

static double default_ratio(const struct cli_row *row)
{
	return row->new_side->best.default_ns.median / row->old_side->best.default_ns.median;
}

/* How the machine moved, by the problems whose kernels did not change, and by the default geometries. */
static enum tcb_status find_machine(struct cli_comparison *comparison, struct tcb_error *err)
{
	double *moves = malloc((comparison->count + 1) * sizeof *moves);
	size_t defaults = 0;

	if (!moves)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the problems of two databases");
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->rows[i].evidence == CLI_EVIDENCE_SINGLE &&
		    !cli_row_changed(&comparison->rows[i], CLI_CHANGED_DEFAULT))
			moves[defaults++] = default_ratio(&comparison->rows[i]);
	comparison->default_moved = tcb_median(moves, defaults);
	for (size_t i = 0; i < comparison->count; i++)
		if (is_control(&comparison->rows[i]))
			moves[comparison->controls++] = single_ratio(&comparison->rows[i]);
	comparison->machine = comparison->controls > CONTROLS_LEAST ? tcb_median(moves, comparison->controls) : 1;
	free(moves);
	return TCB_OK;
}

static int is_problem_of(const struct tcb_problem *p, const struct tcb_problem *q)
{
	return strcmp(p->op_name, q->op_name) == 0 && p->contract == q->contract &&
	       tcb_shape_equal(&p->shape, &q->shape);
}

/* By what factor a time of ROW may have moved with the machine: what controls of other problems did. */
static double allowance(const struct cli_comparison *comparison, const struct cli_row *row)
{
	double greatest = log1p(MACHINE_LEAST);
	size_t others = 0;

	for (size_t i = 0; i < comparison->count; i++) {
		const struct cli_row *other = &comparison->rows[i];
		if (!is_control(other) || is_problem_of(&other->old_side->best.problem, &row->old_side->best.problem))
			continue;
		greatest = fmax(greatest, STANDS_OUT * fabs(log(single_ratio(other) / comparison->machine)));
		others++;
	}
	return exp(others < CONTROLS_LEAST ? fmax(greatest, log1p(MACHINE_UNKNOWN)) : greatest);
}

static void judge_single(const struct cli_comparison *comparison, struct cli_row *row)
{
	const struct tcb_interval *a = &row->old_side->best.ns, *b = &row->new_side->best.ns;
	const double allowed = allowance(comparison, row);

	row->old_ns = a->median;
	row->new_ns = b->median;
	row->ratio.median = single_ratio(row) / comparison->machine;
	row->ratio.lo = b->lo / a->hi / comparison->machine / allowed;
	row->ratio.hi = b->hi / a->lo / comparison->machine * allowed;
}

static void undecided(struct cli_row *row, const char *reason)
{
	row->verdict = CLI_COMPARED_UNDECIDED;
	(void)snprintf(row->reason, sizeof row->reason, "%s", reason);
}

static void decide(const struct cli_comparison *comparison, struct cli_row *row)
{
	const double margin = 1 + fmax(comparison->fail_over, EQUAL);

	if (row->ratio.lo >= 1 / margin && row->ratio.hi <= margin) {
		row->verdict = CLI_COMPARED_SAME;
	} else if (row->ratio.lo > 1 + EQUAL) {
		row->verdict = CLI_COMPARED_SLOWER;
	} else if (row->ratio.hi < 1 / (1 + EQUAL)) {
		row->verdict = CLI_COMPARED_FASTER;
	} else if (row->evidence == CLI_EVIDENCE_PAIRS) {
		undecided(row, "the interval holds both; more finals in turn make it narrower");
	} else {
		undecided(row, "one sweep each: the machine may have moved as much; hold the finals in turn");
	}
	if (row->verdict == CLI_COMPARED_SLOWER && row->chance == CLI_CHANCE_NONE)
		undecided(row, "slower, but NEW has not tried OLD's winner: it may be the search; sweep on");
	if (row->verdict == CLI_COMPARED_SLOWER && row->chance == CLI_CHANCE_FAILED)
		(void)snprintf(row->reason, sizeof row->reason, "OLD's winner fails in NEW");
	row->is_over = row->verdict == CLI_COMPARED_SLOWER && row->ratio.lo > 1 + comparison->fail_over;
}

static enum tcb_status judge_rows(struct cli_comparison *comparison, struct tcb_error *err)
{
	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->rows[i].evidence != CLI_EVIDENCE_NONE)
			TCB_TRY(weigh(comparison, &comparison->rows[i], err));
	TCB_TRY(find_machine(comparison, err));
	for (size_t i = 0; i < comparison->count; i++) {
		struct cli_row *row = &comparison->rows[i];
		if (row->evidence == CLI_EVIDENCE_NONE)
			continue;
		if (row->evidence == CLI_EVIDENCE_SINGLE)
			judge_single(comparison, row);
		decide(comparison, row);
	}
	return TCB_OK;
}

/* Rows of one device each that differ in nothing but the device's key. */
static void find_strangers(struct cli_comparison *comparison)
{
	for (size_t i = 0; i < comparison->count; i++)
		for (size_t j = 0; j < comparison->count; j++) {
			const struct cli_told *a = comparison->rows[i].old_side, *b = comparison->rows[j].new_side;
			if (comparison->rows[i].new_side || comparison->rows[j].old_side ||
			    strcmp(a->best.device_name, b->best.device_name) != 0 ||
			    strcmp(a->best.device_key, b->best.device_key) == 0 ||
			    !is_problem_of(&a->best.problem, &b->best.problem))
				continue;
			comparison->stranger[0] = a;
			comparison->stranger[1] = b;
			return;
		}
}

enum tcb_status cli_comparison_judge(struct cli_comparison *comparison, struct tcb_error *err)
{
	comparison->machine = 1;
	find_strangers(comparison);
	for (size_t i = 0; i < comparison->count; i++) {
		struct cli_row *row = &comparison->rows[i];
		const char *why = row->old_side && row->new_side ? hindrance(row) : NULL;

		row->ratio = (struct tcb_interval){ NAN, NAN, NAN };
		if (!row->new_side) {
			row->verdict = CLI_COMPARED_ONLY_OLD;
		} else if (!row->old_side) {
			row->verdict = CLI_COMPARED_ONLY_NEW;
		} else if (why) {
			undecided(row, why);
		} else {
			row->evidence = CLI_EVIDENCE_SINGLE;
			comparison->judged++;
		}
	}
	comparison->miss = FAMILY_MISS / (double)(comparison->judged ? comparison->judged : 1);
	comparison->pairs_least = tcb_precedence_least(comparison->miss);
	TCB_TRY(judge_rows(comparison, err));
	for (size_t i = 0; i < comparison->count; i++) {
		comparison->counts[comparison->rows[i].verdict]++;
		comparison->over += (size_t)comparison->rows[i].is_over;
	}
	return TCB_OK;
}
