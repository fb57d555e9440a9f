/* SPDX-License-Identifier: MIT
 *
 * In: facts about one kernel.  Out: what binds it.  The rules are asked in the
 * order of the roofline: is the time the launch's; is it that of the bytes, or of
 * the arithmetic, whichever takes longer; of the instructions; if these are known not to be
 * reached, it is latency.  Each share has three answers: reached, not reached,
 * not known.
 */
#include "search/bottleneck.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/kind.h"

/* A fixed cost below this share of a call is not talked about. */
static const double WORTH_A_WORD = 0.05;

enum answer { NOT_KNOWN, REACHED, NOT_REACHED };

const char *tcb_bottleneck_text(enum tcb_bottleneck_kind kind)
{
#define TEXT(id, text) text,
	static const char *const texts[] = { TCB_BOTTLENECK_LIST(TEXT) };
#undef TEXT
	return texts[kind];
}

static void add(char text[TCB_BOTTLENECK_TEXT_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(char text[TCB_BOTTLENECK_TEXT_MAX], const char *format, ...)
{
	const size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	if (length)
		snprintf(text + length, TCB_BOTTLENECK_TEXT_MAX - length, ", ");
	vsnprintf(text + strlen(text), TCB_BOTTLENECK_TEXT_MAX - strlen(text), format, args);
	va_end(args);
}

/* Both ends of an interval must be on the same side of LIMIT. */
static enum answer is_reached(const struct tcb_interval *share, double limit)
{
	if (!(share->median > 0))
		return NOT_KNOWN;
	if (share->lo >= limit)
		return REACHED;
	return share->hi < limit ? NOT_REACHED : NOT_KNOWN;
}

/* Of a limit that is beyond nothing follows; of a noisy one, whose interval is wide, only that it is not reached. */
static enum answer is_read_reached(const struct tcb_bottleneck_facts *facts)
{
	const enum answer answer = is_reached(&facts->read, TCB_BOUND_BANDWIDTH);

	if (facts->read_use == TCB_LIMIT_BEYOND || (facts->read_use == TCB_LIMIT_NOISY && answer == REACHED))
		return NOT_KNOWN;
	return answer;
}

static enum answer is_share_reached(double share, double limit)
{
	if (isnan(share))
		return NOT_KNOWN;
	return share >= limit ? REACHED : NOT_REACHED;
}

static int has_read_limit(const struct tcb_bottleneck_facts *facts)
{
	return facts->read.median > 0 && facts->read_use == TCB_LIMIT_HOLDS;
}

static int has_compute_limit(const struct tcb_bottleneck_facts *facts)
{
	return facts->compute.median > 0 && facts->compute_use == TCB_LIMIT_HOLDS;
}

static void find_roofline(const struct tcb_bottleneck_facts *facts, struct tcb_roofline *out)
{
	const double ns = facts->ns.median > 0 ? facts->ns.median : NAN;

	out->intensity = facts->bytes > 0 ? facts->operations / facts->bytes : NAN;
	out->byte_rate = facts->bytes / ns;
	out->operation_rate = facts->operations / ns;
	out->byte_limit = has_read_limit(facts) ? out->byte_rate / facts->read.median : NAN;
	out->operation_limit = has_compute_limit(facts) ? out->operation_rate / facts->compute.median : NAN;
	out->ridge = out->operation_limit / out->byte_limit;
}

static void add_share(char *text, const struct tcb_interval *share, const char *of)
{
	if (share->median > 0)
		add(text, "%.0f %% of %s", 100 * share->median, of);
}

static void add_read(char *text, const struct tcb_bottleneck_facts *facts)
{
	const char *of = facts->state == TCB_COLD ? "the read limit" : "the hot read limit";

	if (has_read_limit(facts))
		add_share(text, &facts->read, of);
	else if (facts->read.median > 0 && facts->read_use == TCB_LIMIT_BEYOND)
		add(text, ">100 %% of %s, whose loop is slower and so no limit here", of);
	else if (facts->read.median > 0)
		add(text, "? %% of %s, whose times varied by half and more", of);
}

static void add_evidence(const struct tcb_bottleneck_facts *facts, char *text)
{
	char compute[96];

	add_read(text, facts);
	if (facts->is_overlapped)
		add(text, "calls overlap (pdl=1) and those of the limit do%s",
		    facts->is_limit_overlapped ? ", too" : " not");
	if (facts->fixed_ns >= WORTH_A_WORD * facts->ns.median)
		add(text, "%.1f of %.1f \xc2\xb5s are what the limit's loop takes besides its bytes",
		    facts->fixed_ns / 1e3, facts->ns.median / 1e3);
	snprintf(compute, sizeof compute, "the compute limit (%.64s)",
		 facts->compute_source ? facts->compute_source : "measured");
	if (has_compute_limit(facts))
		add_share(text, &facts->compute, compute);
	else if (facts->compute.median > 0)
		add(text, "%s of %s, which says nothing here",
		    facts->compute_use == TCB_LIMIT_BEYOND ? ">100 %" : "? %", compute);
	if (!isnan(facts->core))
		add(text, "hot, the problem takes %.0f %% of the time that it takes cold", 100 * facts->core);
	if (!isnan(facts->issue))
		add(text, "instructions are issued in %.0f %% of the cycles (counted)", 100 * facts->issue);
	if (facts->state == TCB_COLD && !isnan(facts->memory))
		add(text, "memory at %.0f %% of its nominal rate (counted)", 100 * facts->memory);
	if (!isnan(facts->warps))
		add(text, "%.0f %% of the warps active (counted)", 100 * facts->warps);
	if (!isnan(facts->registers))
		add(text, "%.0f registers per thread", facts->registers);
	if (facts->spills > 0)
		add(text, "%.0f bytes per thread are spilled", facts->spills);
	if (facts->bank_conflicts > 0)
		add(text, "%.0f accesses of shared memory have bank conflicts, the worst %.3g times the wavefronts",
		    facts->bank_conflicts, facts->conflict_ways);
	if (facts->uncoalesced > 0)
		add(text, "%.0f accesses of global memory are not coalesced, the worst %.3g times the sectors",
		    facts->uncoalesced, facts->sector_ways);
	if (!*text)
		add(text, "nothing but the time was measured");
}

/* What would have to change of a kernel; where bytes are the limit: add_fewer_bytes. */
static const char *advice_of(const struct tcb_kind_advice *advice, enum tcb_bottleneck_kind kind)
{
	const char *const of[TCB_BOTTLENECK_COUNT] = { [TCB_BOTTLENECK_LAUNCH] = advice->launch,
						       [TCB_BOTTLENECK_COMPUTE] = advice->compute,
						       [TCB_BOTTLENECK_ISSUE] = advice->issue,
						       [TCB_BOTTLENECK_LATENCY] = advice->latency };
	return of[kind];
}

/* Of what is bound by its bytes: by whether they are weights. */
static void add_fewer_bytes(const struct tcb_bottleneck_facts *facts, char *text)
{
	const char *cache = facts->device->advice.cache;
	if (facts->has_weights)
		add(text,
		    "fewer bytes: weights of fewer bits, more rows of activations per call, or weights that stay in %s",
		    cache);
	else
		add(text,
		    "fewer bytes: a smaller type, this op fused with the one before or after it, or data that stay "
		    "in %s",
		    cache);
	snprintf(text + strlen(text), TCB_BOTTLENECK_TEXT_MAX - strlen(text),
		 "; no other geometry can gain more than what is left to the limit");
}

struct answers {
	enum answer launch, read, compute, issue, core;
};

/* Why it is unknown, and what would tell. */
static void say_unknown(const struct tcb_bottleneck_facts *facts, const struct answers *is, char *text)
{
	if (is->read == NOT_KNOWN && !(facts->read.median > 0))
		add(text, "a sweep or 'tcbtune bench' measures the read limit");
	else if (is->read == NOT_KNOWN && facts->read_use == TCB_LIMIT_NOISY)
		add(text, "measure the read limit again when the machine is quiet");
	else if (facts->read_use == TCB_LIMIT_BEYOND && facts->is_overlapped && !facts->is_limit_overlapped)
		add(text, "'tcbtune bench' times the limit's loop with overlapping calls, too");
	else if (facts->read_use == TCB_LIMIT_BEYOND)
		add(text, "a larger problem, in which the start of the limit's loop does not count");
	else if (is->read == NOT_KNOWN)
		add(text,
		    "the share of the read limit is known as %.0f to %.0f %%, and %.0f %% is what decides: a quieter "
		    "machine or a longer sweep tells",
		    100 * facts->read.lo, 100 * facts->read.hi, 100 * TCB_BOUND_BANDWIDTH);
	else if (facts->device->is_emitted && is->issue == NOT_KNOWN)
		add(text, "counters ('tcbtune sweep --counters best') tell how often instructions are issued");
	else if (facts->device->is_emitted && has_compute_limit(facts) && !facts->compute_is_specified)
		add(text,
		    "the share of the compute limit is known as %.0f to %.0f %%, and %.0f %% is what decides: a "
		    "longer sweep tells",
		    100 * facts->compute.lo, 100 * facts->compute.hi, 100 * TCB_BOUND_COMPUTE);
	else if (facts->device->is_emitted)
		add(text, "a sweep or 'tcbtune bench' measures the compute limit");
	else if (is->compute == NOT_KNOWN)
		add(text, "'tcbtune bench' measures the compute limit");
	else if (isnan(facts->core))
		add(text, "a result of the other cache state tells what the core needs by itself");
	else
		add(text, "hardware counters of the core would tell instructions from their latency");
}

/* What a device does is less than the rate that is specified, which decides only what is far from it. */
static enum answer is_compute_reached(const struct tcb_bottleneck_facts *facts)
{
	if (!has_compute_limit(facts))
		return NOT_KNOWN;
	if (facts->compute_is_specified && facts->compute.lo < TCB_BOUND_COMPUTE)
		return facts->compute.hi < TCB_BOUND_SPECIFIED ? NOT_REACHED : NOT_KNOWN;
	return is_reached(&facts->compute, TCB_BOUND_COMPUTE);
}

static enum tcb_bottleneck_kind kind_of(const struct tcb_bottleneck_facts *facts, const struct answers *is)
{
	if (is->launch == REACHED)
		return TCB_BOTTLENECK_LAUNCH;
	const int is_arithmetic = is->compute == REACHED;
	if (is_arithmetic && (is->read == NOT_REACHED || facts->compute.median > facts->read.median))
		return TCB_BOTTLENECK_COMPUTE;
	if (is->read == REACHED)
		return TCB_BOTTLENECK_BANDWIDTH;
	if (is->read == NOT_KNOWN && facts->read_use != TCB_LIMIT_BEYOND)
		return TCB_BOTTLENECK_UNKNOWN;
	if (is_arithmetic)
		return TCB_BOTTLENECK_COMPUTE;
	if (is->issue == REACHED || is->core == REACHED)
		return TCB_BOTTLENECK_ISSUE;
	if (is->read == NOT_KNOWN)
		return TCB_BOTTLENECK_UNKNOWN;
	/* Nothing is kept busy.  A GPU's counter sees all instructions, but not how long one for matrices takes. */
	if (facts->device->is_emitted)
		return is->issue == NOT_REACHED && (!facts->is_matrix || is->compute == NOT_REACHED)
			       ? TCB_BOTTLENECK_LATENCY
			       : TCB_BOTTLENECK_UNKNOWN;
	return is->core == NOT_REACHED && facts->state == TCB_COLD ? TCB_BOTTLENECK_LATENCY : TCB_BOTTLENECK_UNKNOWN;
}

void tcb_bottleneck_find(const struct tcb_bottleneck_facts *facts, struct tcb_bottleneck *out)
{
	const struct answers is = {
		.launch = is_share_reached(facts->fixed_ns / facts->ns.median, TCB_BOUND_LAUNCH),
		.read = is_read_reached(facts),
		.compute = is_compute_reached(facts),
		.issue = is_share_reached(facts->issue, TCB_BOUND_ISSUE),
		/* Between the two the time is both the core's and the memory's. */
		.core = facts->core >= TCB_BOUND_CORE    ? REACHED
			: facts->core < TCB_BOUND_MEMORY ? NOT_REACHED
							 : NOT_KNOWN,
	};

	memset(out, 0, sizeof *out);
	find_roofline(facts, &out->roofline);
	add_evidence(facts, out->evidence);
	out->kind = kind_of(facts, &is);
	if (out->kind == TCB_BOTTLENECK_UNKNOWN)
		say_unknown(facts, &is, out->advice);
	else if (out->kind == TCB_BOTTLENECK_BANDWIDTH)
		add_fewer_bytes(facts, out->advice);
	else
		add(out->advice, "%s", advice_of(&facts->device->advice, out->kind));
}
