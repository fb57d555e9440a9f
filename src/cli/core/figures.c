/* SPDX-License-Identifier: MIT
 *
 * In: times as they are stored or were just measured.  Out: shares and ratios,
 * and whether a share says anything: a limit whose loop took longer than the
 * kernel is no limit, one that varied by half is unknown, and one that is only
 * specified is marked.
 */
#include "cli/core/figures.h"

#include <string.h>

#include "base/gpu_table.h"
#include "base/kind.h"
#include "db/verdict.h"
#include "device/device.h"
#include "kernels/compute_limit.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"

/* A kernel may come out slightly above 100 %: it is another access pattern (docs/measuring.md). */
static const double BEYOND_LIMIT = 1.1;
/* Ends of the interval of the limit's loop: from this ratio on, a share of it says nothing. */
static const double LIMIT_NOISY = 1.5;

static const char arithmetic[] = "compute limit", specified[] = "compute limit by specification";

static const char *note_of(enum tcb_limit_use use, const char *name, const char *geometry)
{
	switch (use) {
	case TCB_LIMIT_BEYOND:
		if (strcmp(name, specified) == 0)
			return ">100 % LIMIT: the kernel took less time than as many operations take by the "
			       "specification of the most common GPU of its kind, so this device has more";
		if (strcmp(name, arithmetic) == 0)
			return ">100 % LIMIT: the kernel took less time than as many operations at the device's rate, "
			       "so it multiplies with other instructions (a kernel file's may), or that rate was "
			       "measured when the device was slower; 'tcbtune sweep --fresh' measures it again";
		return strstr(geometry, "pdl=1")
			       ? ">100 % LIMIT: the kernel took less time than the loop that only reads the same "
				 "bytes, because its calls overlap (pdl=1) and those of the loop do not; 'tcbtune "
				 "bench' times the loop with overlap"
			       : ">100 % LIMIT: the kernel took less time than the loop that only reads the same "
				 "bytes, so that loop is not a limit here; mostly the problem is so small that "
				 "starting the loop's threads is most of its time";
	case TCB_LIMIT_NOISY:
		return "? % LIMIT: the times of the loop that only reads the same bytes varied by half and more, so "
		       "the share is unknown; measure when the machine is quiet";
	case TCB_LIMIT_HOLDS:
		break;
	}
	return strcmp(name, specified) == 0
		       ? "~ % LIMIT: of as many operations as the GPU's maker specifies at the nominal clock, since "
			 "what this device does was not measured; it does less, so the share is larger; 'tcbtune "
			 "sweep' on the device, of 5 s and more, measures it"
		       : NULL;
}

static enum tcb_limit_use use_of(const struct cli_limit *limit)
{
	if (limit->ns.hi > LIMIT_NOISY * limit->ns.lo)
		return TCB_LIMIT_NOISY;
	return limit->of_limit.median > BEYOND_LIMIT ? TCB_LIMIT_BEYOND : TCB_LIMIT_HOLDS;
}

/* Of two intervals that were not paired: as wide as their ends allow. */
static struct tcb_interval quotient(const struct tcb_interval *over, const struct tcb_interval *under)
{
	if (!(over->median > 0) || !(under->lo > 0))
		return (struct tcb_interval){ 0 };
	return (struct tcb_interval){ over->median / under->median, over->lo / under->hi, over->hi / under->lo };
}

struct cli_limit cli_limit_make(const char *name, const struct tcb_interval *ns, const struct tcb_interval *limit_ns,
				const char *geometry)
{
	struct cli_limit limit = { .name = name, .method = "", .ns = *limit_ns, .of_limit = quotient(limit_ns, ns) };

	limit.use = use_of(&limit);
	limit.note = cli_limit_is_known(&limit) ? note_of(limit.use, name, geometry) : NULL;
	return limit;
}

int cli_limit_is_known(const struct cli_limit *limit)
{
	return limit->of_limit.median > 0;
}

const char *cli_limit_name(const char *method)
{
	return strncmp(method, "copy", strlen("copy")) == 0 ? "copy limit" : "read limit";
}

struct cli_limit cli_limit_of_bytes(const struct tcb_best *best)
{
	struct cli_limit limit =
		cli_limit_make(cli_limit_name(best->limit_method), &best->ns, &best->limit_ns, best->geometry);

	limit.method = best->limit_method;
	return limit;
}

static struct tcb_compute_need need_of(const struct tcb_best *best)
{
	return best->problem.op ? tcb_compute_need(&best->problem, &best->target)
				: (struct tcb_compute_need){ TCB_COMPUTE_F32, 0 };
}

/* Operations a nanosecond of KIND of BEST's device as its maker specifies them; 0: unknown. */
static double specified_rate(const struct tcb_best *best, enum tcb_compute_kind kind)
{
	const struct tcb_kind *of = tcb_kind_of(&best->target);

	return of->specified_rate ? of->specified_rate(&best->target, kind) : 0;
}

struct cli_limit cli_limit_of_arithmetic(const struct tcb_best *best)
{
	const struct tcb_compute_need need = need_of(best);
	const double measured = best->compute_rate[need.kind];
	const double rate = measured > 0 ? measured : specified_rate(best, need.kind);
	const double ns = rate > 0 ? need.operations / rate : 0;
	const int is_marked = !(measured > 0) && !best->modelled; /* nothing of a modelled result is measured */
	struct cli_limit limit = cli_limit_make(is_marked ? specified : arithmetic, &best->ns,
						&(struct tcb_interval){ ns, ns, ns }, best->geometry);

	limit.method = tcb_compute_text(need.kind);
	limit.source = measured > 0 ? "measured once on this device" : "by specification, at the nominal clock";
	limit.is_specified = is_marked;
	return limit;
}

/* The one place that says which limit a row is held against. */
struct cli_limit cli_limit_of(const struct tcb_best *best)
{
	const struct cli_limit bytes = cli_limit_of_bytes(best), operations = cli_limit_of_arithmetic(best);

	return cli_limit_is_known(&bytes) && operations.ns.median > bytes.ns.median ? operations : bytes;
}

void cli_limit_text(const struct cli_limit *limit, char out[CLI_NUMBER_MAX])
{
	if (!cli_limit_is_known(limit)) {
		strcpy(out, "-");
		return;
	}
	switch (limit->use) {
	case TCB_LIMIT_HOLDS:
		if (limit->is_specified)
			*out++ = '~';
		cli_text_percent(limit->of_limit.median, out);
		break;
	case TCB_LIMIT_BEYOND:
		strcpy(out, ">100");
		break;
	case TCB_LIMIT_NOISY:
		strcpy(out, "?");
		break;
	}
}

const char *cli_limit_use_text(const struct cli_limit *limit)
{
	static const char *const texts[] = {
		[TCB_LIMIT_HOLDS] = "holds",
		[TCB_LIMIT_BEYOND] = "beyond",
		[TCB_LIMIT_NOISY] = "noisy",
	};

	return limit->use == TCB_LIMIT_HOLDS && limit->is_specified ? "specified" : texts[limit->use];
}

struct tcb_interval cli_limit_paired(const struct tcb_interval *of_limit, const struct tcb_interval *paired)
{
	struct tcb_interval share = *of_limit;

	if (share.median > 0 && paired->median > 0) {
		share.lo = paired->lo < share.median ? paired->lo : share.median;
		share.hi = paired->hi > share.median ? paired->hi : share.median;
	}
	return share;
}

double cli_best_gbs(const struct tcb_best *best)
{
	return best->ns.median > 0 ? best->bytes / best->ns.median : 0;
}

void cli_speedup_text(const struct tcb_best *best, char out[CLI_NUMBER_MAX])
{
	cli_text_ratio(best->speedup.median, out);
}

void cli_speedup_interval_text(const struct tcb_best *best, char out[CLI_NUMBER_MAX])
{
	if (best->modelled)
		cli_speedup_text(best, out);
	else
		cli_text_ratio_interval(&best->speedup, out);
}

/* --- what programs get --- */

/* What BEST was measured on; 0: another machine's CPU, of which no more is stored than its kind. */
static int find_target(const struct tcb_best *best, struct tcb_target *out)
{
	static struct tcb_place here; /* of the last row: opening reads the topology, and rows are many */

	*out = best->target;
	if (!tcb_kind_of(out)->has_threads)
		return 1;
	if (strcmp(here.device.name, best->device_name) != 0 &&
	    tcb_place_open(best->device_name, 0, 1, &here, NULL) != TCB_OK)
		return 0;
	if (strcmp(here.device.key, best->device_key) != 0)
		return 0;
	*out = here.device.target;
	out->threads = best->threads;
	return 1;
}

static int find_problem(const struct tcb_best *best, struct tcb_problem *out)
{
	const struct tcb_op *op = best->problem.op;

	return op && tcb_problem_init(op, best->problem.contract, &best->problem.shape, out, NULL) == TCB_OK;
}

/* Whether another geometry than that of BEST's finals is the default today; of another machine's CPU it is unknown.
 */
static int has_other_default(const struct tcb_best *best)
{
	struct tcb_geometry measured, today;
	struct tcb_target target;
	struct tcb_problem problem;

	if (!find_target(best, &target) || !find_problem(best, &problem) ||
	    tcb_geometry_parse_of(best->default_geometry, problem.op->parameters, &measured, NULL) != TCB_OK)
		return 0;
	(void)tcb_default_geometry(&problem, &target, &today);
	return !tcb_geometry_equal(&measured, &today);
}

/* Whether today's kernels have BEST's variant, and it is legal; of another machine's CPU that is unknown. */
static int is_still_built(const struct tcb_best *best)
{
	const struct tcb_variant *variant;
	struct tcb_geometry geometry;
	struct tcb_target target;
	struct tcb_problem problem;

	if (!find_problem(best, &problem) ||
	    tcb_geometry_parse_of(best->geometry, problem.op->parameters, &geometry, NULL) != TCB_OK)
		return 0;
	variant = tcb_variant_find(problem.op, problem.contract, &geometry);
	return variant && strcmp(variant->name, best->variant) == 0 &&
	       (!find_target(best, &target) ||
		!tcb_constraint_violated(problem.op, &problem, &target, &geometry, 1, NULL));
}

static enum cli_served served_of_stale(const struct tcb_best *best)
{
	const int is_believed = !best->modelled && !best->provisional && best->default_geometry[0] &&
				tcb_best_unserved(best, 0, 0) == TCB_UNSERVED_NOT &&
				tcb_gain_is_believed(&best->speedup, best->tried) && !has_other_default(best) &&
				is_still_built(best);

	return is_believed ? CLI_SERVED_EARLIER : CLI_SERVED_REFUSED;
}

enum cli_served cli_served_of(const struct tcb_best *best, int is_stale)
{
	if (is_stale)
		return served_of_stale(best);
	/* The default itself is the winner, unless another one is the default today. */
	if (strcmp(best->geometry, best->default_geometry) == 0)
		return has_other_default(best) && (best->speedup.lo < 1 || best->tried < TCB_THIN_TRIED)
			       ? CLI_SERVED_DEFAULT
			       : CLI_SERVED_WINNER;
	const int is_beside_other = best->tried < TCB_THIN_TRIED && has_other_default(best);
	return tcb_best_unserved(best, 0, is_beside_other) == TCB_UNSERVED_NOT ? CLI_SERVED_WINNER : CLI_SERVED_DEFAULT;
}

const char *cli_served_text(enum cli_served served)
{
	static const char *const texts[] = {
		[CLI_SERVED_WINNER] = "winner",
		[CLI_SERVED_DEFAULT] = "default",
		[CLI_SERVED_EARLIER] = "earlier",
		[CLI_SERVED_REFUSED] = "refused",
	};

	return texts[served];
}
