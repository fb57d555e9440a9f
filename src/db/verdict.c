/* SPDX-License-Identifier: MIT
 *
 * In: a row of the table of winners.  Out: its verdict, and whether programs get
 * it.  The thresholds were set over the databases of results/: of those swept on quiet machines no winner
 * is noisy, on shared ones those whose gain a second sweep did not confirm.
 */
#include "db/verdict.h"

#include <math.h>
#include <stdio.h>

#include "base/util.h"

/* With fewer trials nobody can say what is left to gain (search/gain.c). */
enum { TRIALS_LEAST = 60 };
/* Undisturbed rounds that carry a decision on their own: their interval may lose its extremes. */
enum { QUIET_LEAST = 9 };
static const double GAIN_MOST = 0.05;
/* Upper over lower bound of an interval. */
static const double RATIO_MOST = 1.25, RATIO_MOST_DISTURBED = 1.1, TIME_MOST = 1.5, TIME_MOST_DISTURBED = 1.25;
/* More than this, and what was measured meanwhile is to be doubted earlier. */
static const double OTHERS_MOST = 0.1, HELD_BACK_MOST = 0.1;

const char *tcb_verdict_text(enum tcb_verdict verdict)
{
	static const char *const texts[] = {
#define TEXT(id, text) text,
		TCB_VERDICT_LIST(TEXT)
#undef TEXT
	};

	return (unsigned)verdict < TCB_VERDICT_COUNT ? texts[verdict] : "unknown";
}

static int is_disturbed(const struct tcb_best *best)
{
	return best->others_busy > OTHERS_MOST || best->held_back > HELD_BACK_MOST;
}

/* Written so that what is unknown is not wide. */
static int is_wide(const struct tcb_interval *interval, double most)
{
	return interval->hi > most * interval->lo;
}

static int is_ratio_wide(const struct tcb_best *best)
{
	return is_wide(&best->speedup, is_disturbed(best) ? RATIO_MOST_DISTURBED : RATIO_MOST);
}

/* What its finals rest on is told by their rounds, where these are known. */
static int has_few_quiet_rounds(const struct tcb_best *best)
{
	return best->quiet_rounds < best->final_rounds && best->quiet_rounds < QUIET_LEAST;
}

int tcb_best_is_noisy(const struct tcb_best *best)
{
	return has_few_quiet_rounds(best) || is_ratio_wide(best) ||
	       is_wide(&best->ns, is_disturbed(best) ? TIME_MOST_DISTURBED : TIME_MOST);
}

static int is_thin(const struct tcb_best *best)
{
	if (best->tried >= best->space_count)
		return 0;
	return best->tried < TRIALS_LEAST || best->expected_gain > GAIN_MOST;
}

enum tcb_verdict tcb_best_verdict(const struct tcb_best *best, int is_stale)
{
	if (is_stale)
		return TCB_VERDICT_STALE;
	if (best->modelled)
		return TCB_VERDICT_MODELLED;
	if (best->provisional)
		return TCB_VERDICT_PROVISIONAL;
	if (tcb_best_is_noisy(best))
		return TCB_VERDICT_NOISY;
	return is_thin(best) ? TCB_VERDICT_THIN : TCB_VERDICT_TUNED;
}

/*
 * What is believed of today's kernel must surely have been gained.  Of the winners of results/ that a later version
 * measured again beside the same default (scripts/earlier-winners.py) all 59 that surely gained 1.2 x and more were
 * still faster than it, by 1.05 x at least, and 2 of 26 that surely gained 1.02 to 1.2 x were 13 and 17 % slower; where
 * the default is another, 8 of 42 that gained 2 x and more were slower, up to 2.1 x.
 */
static const double BELIEVED_GAIN_LEAST = 1.2;

/* Written so that a NaN does not pass. */
int tcb_gain_is_believed(const struct tcb_interval *speedup, size_t tried)
{
	return tried >= TCB_THIN_TRIED && speedup->lo >= BELIEVED_GAIN_LEAST;
}

static void add_disturbance(const struct tcb_best *best, struct tcb_str *out)
{
	if (best->others_busy > OTHERS_MOST)
		tcb_str_addf(out, "; others had %.0f %% of the processors' time meanwhile", 100 * best->others_busy);
	if (best->held_back > HELD_BACK_MOST)
		tcb_str_addf(out, "; the clocks were held back %.0f %% of the time", 100 * best->held_back);
}

static void add_tried(const struct tcb_best *best, struct tcb_str *out)
{
	if (best->tried >= best->space_count) {
		tcb_str_addf(out, "all %zu tried", best->space_count);
		return;
	}
	tcb_str_addf(out, "%zu of %zu tried", best->tried, best->space_count);
	if (isfinite(best->expected_gain))
		tcb_str_addf(out, "; %s should gain %.1f %%",
			     2 * best->tried < best->space_count ? "as many again" : "the rest",
			     100 * best->expected_gain);
	else if (best->tried < TRIALS_LEAST)
		tcb_str_add(out, ", too few to judge the rest");
}

static void add_width(const struct tcb_best *best, struct tcb_str *out)
{
	if (has_few_quiet_rounds(best))
		tcb_str_addf(out, "others disturbed %zu of the %zu rounds of its finals",
			     best->final_rounds - best->quiet_rounds, best->final_rounds);
	else if (is_ratio_wide(best))
		tcb_str_addf(out, "it is between %.3g and %.3g times as fast as the default", best->speedup.lo,
			     best->speedup.hi);
	else
		tcb_str_addf(out, "it takes between %.3g and %.3g µs", best->ns.lo / 1e3, best->ns.hi / 1e3);
	add_disturbance(best, out);
}

void tcb_verdict_reason(const struct tcb_best *best, enum tcb_verdict verdict, char out[TCB_VERDICT_REASON_MAX])
{
	struct tcb_str text = { 0 };

	switch (verdict) {
	case TCB_VERDICT_STALE:
		tcb_str_add(&text, "its kernel has changed since it was measured");
		break;
	case TCB_VERDICT_MODELLED:
		tcb_str_add(&text, "a model ranked it, and nothing was measured");
		break;
	case TCB_VERDICT_PROVISIONAL:
		tcb_str_add(&text, "the best so far; no finals have compared it with all that is known");
		break;
	case TCB_VERDICT_NOISY:
		add_width(best, &text);
		if (is_thin(best)) {
			tcb_str_add(&text, "; thin, too: ");
			add_tried(best, &text);
		}
		break;
	default:
		add_tried(best, &text);
		break;
	}
	snprintf(out, TCB_VERDICT_REASON_MAX, "%s", text.failed || !text.data ? "out of memory" : text.data);
	tcb_str_fini(&text);
}

/* Of a provisional one nothing is certain.  Written so that what is unknown is not worse. */
static int may_lose_to_default(const struct tcb_best *best)
{
	return (best->provisional ? best->speedup.median : best->speedup.lo) < 1;
}

/* A wide interval says what it says where nobody disturbed its samples. */
static int is_noise_of_others(const struct tcb_best *best)
{
	return has_few_quiet_rounds(best) || (is_disturbed(best) && tcb_best_is_noisy(best));
}

static int takes_fewer_threads(const struct tcb_best *best)
{
	struct tcb_geometry geometry;

	return best->threads > 1 &&
	       tcb_geometry_parse_of(best->geometry, tcb_parameters_any, &geometry, NULL) == TCB_OK &&
	       geometry.knob[TCB_KNOB_THREADS] != TCB_KNOB_UNSET &&
	       (unsigned)geometry.knob[TCB_KNOB_THREADS] < best->threads;
}

enum tcb_unserved tcb_best_unserved(const struct tcb_best *best, int is_stale, int is_other_default)
{
	const int is_of_few = best->tried < TCB_THIN_TRIED && best->tried < best->space_count;

	if (is_stale)
		return TCB_UNSERVED_STALE;
	if (best->modelled)
		return TCB_UNSERVED_NOT;
	if (may_lose_to_default(best))
		return TCB_UNSERVED_SLOWER;
	if (is_noise_of_others(best))
		return TCB_UNSERVED_NOISY;
	if (is_of_few && takes_fewer_threads(best))
		return TCB_UNSERVED_FEWER_THREADS;
	/* Beside another one it was not measured, and of few candidates a winner says little. */
	return is_other_default && best->tried < TCB_THIN_TRIED ? TCB_UNSERVED_OTHER_DEFAULT : TCB_UNSERVED_NOT;
}

const char *tcb_unserved_text(enum tcb_unserved unserved)
{
	static const char *const texts[] = {
#define TEXT(id, text) text,
		TCB_UNSERVED_LIST(TEXT)
#undef TEXT
	};

	return (unsigned)unserved < TCB_UNSERVED_COUNT ? texts[unserved] : "unknown";
}
