/* SPDX-License-Identifier: MIT
 *
 * A round: all slots drawn again, then each party's batch over them, in any order.  A batch
 * is so long that question and answer are less than a hundredth of it, where there are
 * slots enough; what they take is measured with empty batches of the rival's, who has no
 * reason to be slow, and subtracted.
 */
#include "judge/paired.h"

#include <math.h>
#include <stdlib.h>

#include "base/sizes.h"
#include "base/stats.h"

/* A batch takes so long at least: a processor that has just come to a process knows nothing of it, neither its
 * branches nor its pages. */
static const double BATCH_NS = 10e6;
/* Of a GPU: waiting for a device that is idle, and a share of the batch. */
static const double REST_NS = 100e3, REST_SHARE = 0.02;
/* How the host's clock and events may differ, sending the batch included. */
static const double CLOCKS_LEAST = 0.98, CLOCKS_MOST = 1.25, SENDING_NS = 200e3;
enum {
	EMPTY = 15,
	ROUNDS_MIN = 7,
	ROUNDS_MAX = TCB_RULING_ROUNDS_MAX,
	SPIN = 60000,
	COMPARED_LEAST = 2,
	WARM = 2,
	FOR_INTERVAL = 6
};
static const double HAND_OVER_SHARE = 0.01, ENOUGH_WIDTH = 0.005, BATCH_SHARE = 0.08, CACHE_SHARE = 0.5;
/* A round in which a party had so much less of its processor than time passed is taken again. */
static const double DISTURBED = 0.03;
/* How much longer than the rival's a start may be that is not part of a batch's time. */
static const double BELIEVED = 1.25;

struct paired {
	struct tcb_hearing *hearing;
	uint32_t slots[TCB_SLOTS_MAX];
	size_t count;
	enum tcb_seat rival;
	double hand_over_ns, start_ns, limit_ns; /* START_NS: the longest start that is believed */
	double ns[TCB_SEAT_COUNT][ROUNDS_MAX], clock[ROUNDS_MAX], walls[ROUNDS_MAX];
	size_t rounds, disturbed;
	int is_gpu; /* the judged kernel runs on one */
};

static const struct tcb_charge charge = { TCB_RULING_CHEATS, "timed", "in timed calls, although it was right before" };

/* --- the clock --- */

/* Nanoseconds that a chain of additions takes: a processor whose clock changes takes others. */
static double spin_ns(void)
{
	volatile uint64_t start = 1;
	uint64_t sum = start;
	const uint64_t from = tcb_clock_ns();

	for (int i = 0; i < SPIN; i++) {
		sum += (uint64_t)i;
		__asm__ volatile("" : "+r"(sum));
	}
	return (double)(tcb_clock_ns() - from);
}

/* --- batches --- */

/* The slots as the state has them: out of all caches, or in the nearest that they fit in. */
static void set_state(struct paired *paired, enum tcb_seat seat)
{
	struct tcb_hearing *hearing = paired->hearing;

	if (!hearing->party[seat].is_host)
		return;
	for (size_t s = 0; s < paired->count; s++)
		if (hearing->options->state == TCB_COLD) {
			hearing->verdict->is_flushed =
				tcb_slots_flush(&hearing->slots, &hearing->inputs, TCB_REGION_INPUTS, paired->slots[s]);
			(void)tcb_slots_flush(&hearing->slots, &hearing->party[seat].outputs, TCB_REGION_OUTPUTS,
					      paired->slots[s]);
		} else {
			tcb_slots_touch(&hearing->slots, &hearing->inputs, TCB_REGION_INPUTS, paired->slots[s]);
			tcb_slots_touch(&hearing->slots, &hearing->party[seat].outputs, TCB_REGION_OUTPUTS,
					paired->slots[s]);
		}
}

/* Behind the last event of a batch the device has nothing left to do. */
static int check_rest(struct tcb_hearing *hearing)
{
	const struct tcb_party_page *page = hearing->party[TCB_SEAT_JUDGED].page;

	if (page->rest_ns > REST_NS + REST_SHARE * page->event_ns)
		tcb_ruling_find(hearing->verdict, TCB_RULING_CHEATS, "deferred",
				"the device goes on for %.0f us behind the end of %.0f us of calls",
				page->rest_ns / 1e3, page->event_ns / 1e3);
	return tcb_ruling_stands(hearing->verdict) ? 0 : -1;
}

/* 1: others took the processor for a part of it. */
static double time_batch(struct paired *paired, enum tcb_seat seat, double *ns_out)
{
	struct tcb_hearing *hearing = paired->hearing;
	struct tcb_party *party = &hearing->party[seat];
	double before, used;

	tcb_hearing_poison(hearing, seat, paired->slots, paired->count);
	set_state(paired, seat);
	hearing->is_timed = 1;
	hearing->touched = party->is_host ? paired->count : 0;
	before = party->is_host ? tcb_party_cpu_ns(party) : 0;
	*ns_out = NAN;
	int answer = tcb_hearing_call(hearing, seat, paired->slots, paired->count, ns_out);

	hearing->is_timed = 0;
	hearing->touched = 0;
	if (answer == 0 && seat == TCB_SEAT_JUDGED && paired->is_gpu)
		answer = check_rest(hearing);
	if (answer != 0)
		return 0;
	if (!party->is_host)
		return 0;
	used = tcb_party_cpu_ns(party) - before;
	const double all_ns = *ns_out;

	*ns_out -= fmin(party->start_ns, paired->start_ns);
	return used > 0 && used < (1 - DISTURBED) * (all_ns - paired->hand_over_ns) ? 1 : 0;
}

/* In another order each time, so that no call can make ready what the next one reads; that of a graph is fixed. */
static enum tcb_status draw_all(struct paired *paired, struct tcb_error *err)
{
	for (size_t i = paired->count; i > 1 && !paired->is_gpu; i--) {
		const size_t other = tcb_rng_below(&paired->hearing->rng, i);
		const uint32_t kept = paired->slots[i - 1];

		paired->slots[i - 1] = paired->slots[other];
		paired->slots[other] = kept;
	}
	for (size_t s = 0; s < paired->count; s++)
		TCB_TRY(tcb_hearing_draw(paired->hearing, TCB_VALUES_ANY, paired->slots[s], err));
	return TCB_OK;
}

/* Answers of the batch: all, where the rival is the standard; else some, which nobody knows before. */
static void compare(struct paired *paired)
{
	struct tcb_hearing *hearing = paired->hearing;
	uint32_t some[COMPARED_LEAST];
	double ns;

	if (paired->rival == hearing->standard) {
		(void)tcb_hearing_compare(hearing, TCB_SEAT_JUDGED, paired->slots, paired->count, &charge);
		return;
	}
	for (size_t i = 0; i < COMPARED_LEAST; i++)
		some[i] = paired->slots[tcb_rng_below(&hearing->rng, paired->count)];
	if (tcb_hearing_run(hearing, TCB_SEAT_RIGHT, some, COMPARED_LEAST, &ns) == 0)
		(void)tcb_hearing_compare(hearing, TCB_SEAT_JUDGED, some, COMPARED_LEAST, &charge);
}

/* One round; 1: it counts.  CAN_REPEAT: one in which others used the processor does not. */
static int run_round(struct paired *paired, int can_repeat)
{
	struct tcb_hearing *hearing = paired->hearing;
	const int is_first = tcb_rng_below(&hearing->rng, 2) == 0;
	const enum tcb_seat order[2] = { is_first ? TCB_SEAT_JUDGED : paired->rival,
					 is_first ? paired->rival : TCB_SEAT_JUDGED };
	double ns[TCB_SEAT_COUNT] = { 0 }, lost = 0;
	const double clock = spin_ns();

	for (int turn = 0; turn < 2 && tcb_ruling_stands(hearing->verdict); turn++)
		lost = fmax(lost, time_batch(paired, order[turn], &ns[order[turn]]));
	if (tcb_ruling_stands(hearing->verdict))
		compare(paired);
	if (!tcb_ruling_stands(hearing->verdict))
		return 0;
	if (lost > 0 && can_repeat) {
		paired->disturbed++;
		return 0;
	}
	for (int turn = 0; turn < 2; turn++)
		paired->ns[order[turn]][paired->rounds] =
			fmax(ns[order[turn]] - paired->hand_over_ns, 1) / (double)paired->count;
	paired->clock[paired->rounds] = clock;
	paired->walls[paired->rounds] =
		paired->is_gpu ? hearing->party[TCB_SEAT_JUDGED].page->wall_ns / ns[TCB_SEAT_JUDGED] : 1;
	paired->rounds++;
	return 1;
}

/* --- how many --- */

/* What question and answer take, and the start of a batch over the slots, of who has no reason to be slow. */
static int measure_hand_over(struct paired *paired)
{
	struct tcb_hearing *hearing = paired->hearing;
	double samples[EMPTY], starts[EMPTY];

	if (!hearing->party[paired->rival].is_host || paired->is_gpu)
		return 0; /* events do not see it */
	hearing->touched = paired->count;
	for (int i = 0; i < EMPTY; i++) {
		set_state(paired, paired->rival);
		if (tcb_hearing_call(hearing, paired->rival, paired->slots, 0, &samples[i]) != 0)
			return -1;
		starts[i] = hearing->party[paired->rival].start_ns;
		samples[i] -= starts[i];
	}
	hearing->touched = 0;
	paired->hand_over_ns = tcb_median(samples, EMPTY);
	paired->start_ns = paired->count ? BELIEVED * tcb_median(starts, EMPTY) : 0;
	return 0;
}

/* The fastest of some calls; negative once the verdict has fallen. */
static double call_ns(struct paired *paired, enum tcb_seat seat)
{
	double least = INFINITY, ns;

	for (uint32_t i = 0; i < WARM; i++) {
		if (tcb_hearing_run(paired->hearing, seat, (uint32_t[]){ i }, 1, &ns) != 0)
			return -1;
		least = fmin(least, fmax(ns - paired->hand_over_ns, 100));
	}
	return least;
}

/* As many slots as hide the hand-over behind the faster of the two, no more than there are, than the slower has
 * time for, or, hot, than the caches hold. */
static int choose_count(struct paired *paired)
{
	struct tcb_hearing *hearing = paired->hearing;
	const double judged = call_ns(paired, TCB_SEAT_JUDGED);
	const double rival = judged < 0 ? judged : call_ns(paired, paired->rival);
	const size_t cache = hearing->options->host->device.target.l2_bytes;
	const size_t each = hearing->slots.stride[TCB_REGION_INPUTS] + hearing->slots.stride[TCB_REGION_OUTPUTS];
	double count;

	if (rival < 0)
		return -1;
	count = ceil(fmax(paired->hand_over_ns / HAND_OVER_SHARE, BATCH_NS) / fmin(judged, rival));
	count = fmin(count, 1e9 * hearing->options->budget_s * BATCH_SHARE / fmax(judged, rival));
	if (hearing->options->state == TCB_HOT)
		count = fmin(count, CACHE_SHARE * (double)cache / (double)each);
	paired->count = tcb_least((size_t)fmax(count, 2), hearing->slots.count);
	return 0;
}

static int make_ready(struct paired *paired)
{
	for (int seat = 0; seat < TCB_SEAT_COUNT; seat++) {
		struct tcb_party *party = &paired->hearing->party[seat];
		struct tcb_party_end end;
		double ns;

		if (!party->pid || !party->is_host)
			continue;
		party->page->count = (uint32_t)paired->count;
		if (tcb_party_ask(party, TCB_WISH_READY, paired->hearing->options->timeout_s, &ns, &end) != 0) {
			tcb_ruling_find(paired->hearing->verdict,
					seat == TCB_SEAT_JUDGED ? TCB_RULING_CHEATS : TCB_RULING_UNDECIDED,
					seat == TCB_SEAT_JUDGED ? "forbidden" : "reference", "%s", end.what);
			return -1;
		}
	}
	return 0;
}

/* --- what came of it --- */

/* By more than sending a batch takes. */
static int do_clocks_differ(const struct tcb_ruling *verdict)
{
	const double batch_ns = verdict->ns[TCB_SEAT_JUDGED].median * (double)verdict->batch;

	return verdict->wall_over_events < CLOCKS_LEAST ||
	       (verdict->wall_over_events - CLOCKS_MOST) * batch_ns > SENDING_NS;
}

static void conclude(struct paired *paired)
{
	struct tcb_ruling *verdict = paired->hearing->verdict;
	const double batch_ns = fmin(tcb_median(paired->ns[TCB_SEAT_JUDGED], paired->rounds),
				     tcb_median(paired->ns[paired->rival], paired->rounds)) *
				(double)paired->count;
	struct tcb_interval clock;

	verdict->rounds = paired->rounds;
	for (size_t i = 0; i < paired->rounds; i++) {
		verdict->sample_ns[i][0] = paired->ns[TCB_SEAT_JUDGED][i];
		verdict->sample_ns[i][1] = paired->ns[paired->rival][i];
	}
	verdict->batch = paired->count;
	verdict->ratio = tcb_ratio_interval(paired->ns[paired->rival], paired->ns[TCB_SEAT_JUDGED], paired->rounds);
	verdict->ns[TCB_SEAT_JUDGED] = tcb_median_interval(paired->ns[TCB_SEAT_JUDGED], paired->rounds);
	verdict->ns[TCB_SEAT_RIVAL] = tcb_median_interval(paired->ns[paired->rival], paired->rounds);
	verdict->hand_over = paired->hand_over_ns / (batch_ns + paired->hand_over_ns);
	clock = tcb_median_interval(paired->clock, paired->rounds);
	verdict->clock_spread = (clock.hi - clock.lo) / clock.median;
	verdict->wall_over_events = paired->is_gpu ? tcb_median(paired->walls, paired->rounds) : 0;
	if (paired->is_gpu && do_clocks_differ(verdict))
		tcb_ruling_find(verdict, TCB_RULING_UNDECIDED, "clocks",
				"events and the host's clock do not agree: the latter says %.3g times as much",
				verdict->wall_over_events);
	if (paired->rounds < FOR_INTERVAL)
		tcb_ruling_note(verdict, "%zu batches of each are too few for a 95 %% interval: give a longer --budget",
				paired->rounds);
	if (paired->disturbed)
		tcb_ruling_note(verdict, "rounds that were taken again, as others used the processor: %zu",
				paired->disturbed);
}

static int is_enough(const struct paired *paired, uint64_t since)
{
	const struct tcb_interval ratio =
		tcb_ratio_interval(paired->ns[paired->rival], paired->ns[TCB_SEAT_JUDGED], paired->rounds);

	if (paired->rounds < ROUNDS_MIN)
		return (double)(tcb_clock_ns() - since) > 3 * paired->limit_ns && paired->rounds > 0;
	return paired->rounds == ROUNDS_MAX || (double)(tcb_clock_ns() - since) > paired->limit_ns ||
	       (ratio.hi - ratio.lo) / ratio.median < ENOUGH_WIDTH;
}

enum tcb_status tcb_paired_run(struct tcb_hearing *hearing, struct tcb_error *err)
{
	struct paired *paired = calloc(1, sizeof *paired);
	enum tcb_status status = TCB_OK;
	const uint64_t since = tcb_clock_ns();

	if (!paired)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	paired->hearing = hearing;
	paired->rival = tcb_hearing_rival(hearing);
	paired->is_gpu = !hearing->party[TCB_SEAT_JUDGED].is_host;
	paired->limit_ns = 1e9 * hearing->options->budget_s;
	for (size_t s = 0; s < TCB_SLOTS_MAX; s++)
		paired->slots[s] = (uint32_t)s;
	if (measure_hand_over(paired) == 0 && choose_count(paired) == 0 && make_ready(paired) == 0 &&
	    measure_hand_over(paired) == 0)
		do {
			status = draw_all(paired, err);
			if (status == TCB_OK)
				(void)run_round(paired, (double)(tcb_clock_ns() - since) < paired->limit_ns / 2);
		} while (status == TCB_OK && tcb_ruling_stands(hearing->verdict) && !is_enough(paired, since));
	if (status == TCB_OK)
		tcb_ruling_tried(hearing->verdict, "timed", "%zu timed batches of %zu calls, on new values each",
				 paired->rounds, paired->count);
	if (status == TCB_OK && tcb_ruling_stands(hearing->verdict))
		conclude(paired);
	free(paired);
	return status;
}
