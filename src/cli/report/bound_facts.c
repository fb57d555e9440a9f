/* SPDX-License-Identifier: MIT
 *
 * In: winners and counters as the database has them.  Out: facts about one of
 * them.  Limits were timed in the finals; what a call costs besides reading is
 * the limit's time less what its bytes take at the best rate of any limit of this
 * device; arithmetic is held against the limit that % LIMIT knows (figures.h).
 */
#include "cli/report/bound_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_isas.h"
#include "base/geometry.h"
#include "base/kind.h"
#include "cli/core/figures.h"
#include "kernels/op.h"

/* No launch takes longer: more than that between two limits is the machine's noise. */
static const double FIXED_NS_MOST = 20e3;

static int collect(void *ctx, const struct tcb_best *best)
{
	struct cli_bounds *bounds = ctx;

	if (bounds->count == bounds->capacity) {
		const size_t capacity = bounds->capacity ? 2 * bounds->capacity : 64;
		struct tcb_best *list = realloc(bounds->list, capacity * sizeof *list);
		if (!list)
			return bounds->failed = 1;
		bounds->list = list;
		bounds->capacity = capacity;
	}
	bounds->list[bounds->count++] = *best;
	return 0;
}

enum tcb_status cli_bounds_load(struct tcb_db *db, struct cli_bounds *out, struct tcb_error *err)
{
	memset(out, 0, sizeof *out);
	TCB_TRY(tcb_db_best_each(db, NULL, collect, out, err));
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
}

void cli_bounds_fini(struct cli_bounds *bounds)
{
	free(bounds->list);
	memset(bounds, 0, sizeof *bounds);
}

static int is_same_device(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->device_key, b->device_key) == 0 && strcmp(a->device_name, b->device_name) == 0 &&
	       a->threads == b->threads;
}

static int is_same_problem(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->problem.op_name, b->problem.op_name) == 0 && a->problem.contract == b->problem.contract &&
	       tcb_shape_equal(&a->problem.shape, &b->problem.shape);
}

/* Cold, where all problems read from the same memory: the limit's time less that of its bytes at the best rate. */
static double fixed_ns(const struct cli_bounds *bounds, const struct tcb_best *best)
{
	double rate = 0;

	if (best->state != TCB_COLD || !(best->limit_ns.median > 0))
		return NAN;
	for (size_t i = 0; i < bounds->count; i++) {
		const struct tcb_best *other = &bounds->list[i];
		/* of an op that copies the limit copies, too */
		if (!other->modelled && other->state == TCB_COLD && other->limit_ns.median > 0 &&
		    is_same_device(best, other) &&
		    strcmp(cli_limit_name(other->limit_method), cli_limit_name(best->limit_method)) == 0 &&
		    other->bytes > best->bytes)
			rate = fmax(rate, other->bytes / other->limit_ns.median);
	}
	const double fixed = rate > 0 ? fmax(0, best->limit_ns.median - best->bytes / rate) : NAN;
	return fixed <= FIXED_NS_MOST ? fixed : NAN;
}

double cli_core_share(const struct tcb_best *cold, const struct tcb_best *hot)
{
	const struct cli_limit limit = cli_limit_of_bytes(hot);

	if (!cli_limit_is_known(&limit) || !(cold->ns.median > 0) || limit.of_limit.median >= TCB_BOUND_BANDWIDTH)
		return NAN;
	return hot->ns.median / cold->ns.median;
}

/* Of BEST and the other cache state of its problem. */
static double core_share(const struct cli_bounds *bounds, const struct tcb_best *best)
{
	for (size_t i = 0; i < bounds->count; i++) {
		const struct tcb_best *other = &bounds->list[i];
		if (!other->modelled && other->state != best->state && is_same_device(best, other) &&
		    is_same_problem(best, other))
			return best->state == TCB_COLD ? cli_core_share(best, other) : cli_core_share(other, best);
	}
	return NAN;
}

static double counted(const struct tcb_best *best, const struct tcb_counter *counters, size_t count, const char *source,
		      const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (counters[i].state == best->state && strcmp(counters[i].source, source) == 0 &&
		    strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	return NAN;
}

static void find_arithmetic(const struct tcb_best *best, struct tcb_bottleneck_facts *out)
{
	const struct cli_limit limit = cli_limit_of_arithmetic(best);

	out->compute = limit.of_limit;
	out->compute_use = limit.use;
	out->compute_source = limit.source;
	out->compute_is_specified = limit.is_specified;
}

static int has_weights(const struct tcb_problem *problem)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];

	return problem->op && tcb_operand_weights(operands, problem->op->operands(problem, operands)) >= 0;
}

void cli_bounds_facts(const struct cli_bounds *bounds, const struct tcb_best *best, const struct tcb_counter *counters,
		      size_t counter_count, struct tcb_bottleneck_facts *out)
{
	struct tcb_geometry geometry;
	const int parsed = tcb_geometry_parse_of(best->geometry, tcb_parameters_any, &geometry, NULL) == TCB_OK;
	const int isa = parsed ? geometry.knob[TCB_KNOB_ISA] : TCB_KNOB_UNSET;
	const struct cli_limit limit = cli_limit_of_bytes(best);

	*out = (struct tcb_bottleneck_facts){
		.device = tcb_kind_of(&best->target),
		.has_weights = has_weights(&best->problem),
		.state = best->state,
		.is_overlapped = parsed && geometry.knob[TCB_KNOB_PDL] == 1,
		.is_matrix = isa == TCB_ISA_MMA || isa == TCB_ISA_WGMMA || tcb_cpu_isa(isa)->has_tiles,
		.bytes = best->bytes,
		.operations = best->flops,
		.ns = best->ns,
		.read = limit.of_limit,
		.read_use = limit.use,
		.fixed_ns = NAN,
		.core = NAN,
		.issue = NAN,
		.memory = NAN,
		.warps = NAN,
		.registers = NAN,
	};
	find_arithmetic(best, out);
	if (best->modelled)
		return;
	/* Calls that overlap hide it. */
	if (!out->is_overlapped)
		out->fixed_ns = fixed_ns(bounds, best);
	if (out->device->has_threads) {
		out->core = core_share(bounds, best);
		return;
	}
	const struct {
		const char *source, *name;
		double scale, *value;
	} wanted[] = {
		{ "cupti", "smsp__issue_active.avg.pct_of_peak_sustained_active", 0.01, &out->issue },
		{ "cupti", "dram__throughput.avg.pct_of_peak_sustained_elapsed", 0.01, &out->memory },
		{ "cupti", "sm__warps_active.avg.pct_of_peak_sustained_active", 0.01, &out->warps },
		{ "assembler", "registers", 1, &out->registers },
		{ "assembler", "spill_bytes", 1, &out->spills },
		{ "checker", "bank_conflicts", 1, &out->bank_conflicts },
		{ "checker", "conflict_ways", 1, &out->conflict_ways },
		{ "checker", "uncoalesced", 1, &out->uncoalesced },
		{ "checker", "sector_ways", 1, &out->sector_ways },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		*wanted[i].value =
			wanted[i].scale * counted(best, counters, counter_count, wanted[i].source, wanted[i].name);
}

void cli_bounds_of(const struct cli_bounds *bounds, const struct cli_best_row *row, struct tcb_bottleneck *out)
{
	struct tcb_bottleneck_facts facts;

	cli_bounds_facts(bounds, &row->best, row->counters, row->counter_count, &facts);
	tcb_bottleneck_find(&facts, out);
}

json_t *cli_bottleneck_json(const struct tcb_bottleneck *bottleneck, int *failed)
{
	const struct tcb_roofline *roofline = &bottleneck->roofline;
	json_t *object = json_object(), *numbers = json_object();

	cli_json_set(object, "kind", json_string(tcb_bottleneck_text(bottleneck->kind)), failed);
	cli_json_set(object, "evidence", cli_json_text(bottleneck->evidence), failed);
	cli_json_set(object, "advice", cli_json_text(bottleneck->advice), failed);
	cli_json_set(numbers, "operations_per_byte", cli_json_real(roofline->intensity), failed);
	cli_json_set(numbers, "ridge", cli_json_real(roofline->ridge), failed);
	cli_json_set(numbers, "gb_per_s", cli_json_real(roofline->byte_rate), failed);
	cli_json_set(numbers, "limit_gb_per_s", cli_json_real(roofline->byte_limit), failed);
	cli_json_set(numbers, "gop_per_s", cli_json_real(roofline->operation_rate), failed);
	cli_json_set(numbers, "limit_gop_per_s", cli_json_real(roofline->operation_limit), failed);
	cli_json_set(object, "roofline", numbers, failed);
	return object;
}

static void add_rate(struct tcb_str *out, double rate, double limit, const char *unit)
{
	tcb_str_addf(out, "%.4g", rate);
	if (isnan(limit))
		tcb_str_addf(out, " %s (limit unknown)", unit);
	else
		tcb_str_addf(out, " of %.4g %s", limit, unit);
}

void cli_bottleneck_add(struct tcb_str *out, const char *indent, const struct tcb_bottleneck *bottleneck)
{
	const struct tcb_roofline *roofline = &bottleneck->roofline;
	struct tcb_str line = { 0 };

	if (bottleneck->kind == TCB_BOTTLENECK_UNKNOWN)
		cli_add_wrapped(out, 4, "%sbound by: unknown (%s); what would tell: %s", indent, bottleneck->evidence,
				bottleneck->advice);
	else
		cli_add_wrapped(out, 4, "%sbound by: %s (%s); to go faster: %s", indent,
				tcb_bottleneck_text(bottleneck->kind), bottleneck->evidence, bottleneck->advice);
	tcb_str_addf(&line, "%sroofline: %.3g operations per byte; ", indent, roofline->intensity);
	add_rate(&line, roofline->byte_rate, roofline->byte_limit, "GB/s");
	tcb_str_add(&line, "; ");
	add_rate(&line, roofline->operation_rate, roofline->operation_limit, "GOP/s");
	if (!isnan(roofline->ridge))
		tcb_str_addf(&line, "; both limits take as long at %.3g operations per byte", roofline->ridge);
	cli_add_wrapped(out, 4, "%s", line.data ? line.data : "");
	out->failed |= line.failed;
	tcb_str_fini(&line);
}
