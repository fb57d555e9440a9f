/* SPDX-License-Identifier: MIT
 *
 * The table of a result's columns.  What a column means, schemas/ says.
 */
#include "db/columns.h"

#include <math.h>
#include <stddef.h>

#define OF(kind, what)                                                          \
	.member = TCB_MEMBER_##kind, .offset = offsetof(struct tcb_best, what), \
	.capacity = sizeof(((struct tcb_best *)NULL)->what)

#define PLAIN_NS                                                                                                   \
	"CASE WHEN instr(best.geometry, 'pdl=1') THEN (SELECT m.median_ns FROM sweep q JOIN trial t ON t.sweep_id" \
	" = q.id JOIN measurement m ON m.trial_id = t.id WHERE q.device_id = best.device_id AND q.problem_id ="    \
	" best.problem_id AND t.geometry = replace(best.geometry, 'pdl=1', 'pdl=0') AND t.outcome = 'ok' AND"      \
	" m.state = best.state ORDER BY m.stage = 'final' DESC, m.id DESC LIMIT 1) END"

/* Of each kind of arithmetic; 0: unknown. */
#define RATE(id, text)                                                                                             \
	{ "",                                                                                                      \
	  text,                                                                                                    \
	  TCB_COLUMN_REAL,                                                                                         \
	  .is_local = 1,                                                                                           \
	  .expression = "ifnull((SELECT r.rate FROM compute_rate r WHERE r.device_key = device.key AND r.device =" \
			" device.name AND r.threads = device.threads AND r.kind = '" text "'), 0)",                \
	  OF(REAL, compute_rate[TCB_COMPUTE_##id]) },

/* Rows of one group stand together, groups in the order in which their rows are stored; those of JSON in its order. */
const struct tcb_column tcb_columns[] = {
	{ "device", "key", TCB_COLUMN_TEXT, OF(TEXT, device_key) },
	{ "device", "name", TCB_COLUMN_TEXT, OF(TEXT, device_name) },
	{ "device", "threads", TCB_COLUMN_INTEGER },
	{ "device", "kind", TCB_COLUMN_TEXT },
	{ "device", "arch", TCB_COLUMN_TEXT, OF(TEXT, arch) },
	{ "device", "model", TCB_COLUMN_TEXT, OF(TEXT, model) },
	{ "device", "isa", TCB_COLUMN_JSON },
	{ "device", "family", TCB_COLUMN_INTEGER },
	{ "device", "stepping_model", TCB_COLUMN_INTEGER },
	{ "device", "stepping", TCB_COLUMN_INTEGER },
	{ "device", "cores", TCB_COLUMN_INTEGER },
	{ "device", "memory_bytes", TCB_COLUMN_INTEGER },
	{ "device", "clock_khz", TCB_COLUMN_INTEGER },
	{ "device", "limits", TCB_COLUMN_JSON },
	{ "device", "is_virtual", TCB_COLUMN_INTEGER },
	{ "device", "has_ecc", TCB_COLUMN_INTEGER },
	{ "build", "version", TCB_COLUMN_TEXT },
	{ "build", "git_commit", TCB_COLUMN_TEXT, OF(TEXT, git_commit) },
	{ "build", "compiler", TCB_COLUMN_TEXT },
	{ "op", "name", TCB_COLUMN_TEXT },
	{ "op", "signature", TCB_COLUMN_TEXT },
	{ "problem", "op", TCB_COLUMN_TEXT, OF(TEXT, problem.op_name) },
	{ "problem", "contract", TCB_COLUMN_TEXT },
	{ "problem", "m", TCB_COLUMN_INTEGER, OF(SIZE, problem.shape.m) },
	{ "problem", "n", TCB_COLUMN_INTEGER, OF(SIZE, problem.shape.n) },
	{ "problem", "k", TCB_COLUMN_INTEGER, OF(SIZE, problem.shape.k) },
	{ "problem", "words", TCB_COLUMN_TEXT, .is_newer = 1 },
	{ "sweep", "uid", TCB_COLUMN_TEXT },
	{ "sweep", "os", TCB_COLUMN_TEXT },
	{ "sweep", "driver", TCB_COLUMN_TEXT },
	{ "sweep", "strategy", TCB_COLUMN_TEXT },
	{ "sweep", "seed", TCB_COLUMN_TEXT },
	{ "sweep", "rotation_bytes", TCB_COLUMN_INTEGER },
	{ "sweep", "settings", TCB_COLUMN_JSON },
	{ "sweep", "status", TCB_COLUMN_TEXT },
	{ "sweep", "started_at", TCB_COLUMN_TEXT },
	{ "sweep", "ended_at", TCB_COLUMN_TEXT, .is_nullable = 1 },
	{ "trial", "geometry", TCB_COLUMN_TEXT },
	{ "trial", "variant", TCB_COLUMN_TEXT },
	{ "trial", "signature", TCB_COLUMN_TEXT },
	{ "trial", "outcome", TCB_COLUMN_TEXT },
	{ "trial", "message", TCB_COLUMN_TEXT },
	{ "trial", "class", TCB_COLUMN_TEXT },
	{ "trial", "error_ratio", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "trial", "pack_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "trial", "prepare_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "trial", "verify_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "trial", "finished_at", TCB_COLUMN_TEXT },
	{ "measurement", "state", TCB_COLUMN_TEXT },
	{ "measurement", "stage", TCB_COLUMN_TEXT },
	{ "measurement", "median_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "measurement", "lo_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "measurement", "hi_ns", TCB_COLUMN_REAL, .is_nullable = 1 },
	{ "measurement", "dropped_early", TCB_COLUMN_INTEGER },
	{ "best", "state", TCB_COLUMN_TEXT },
	{ "best", "geometry", TCB_COLUMN_TEXT, OF(TEXT, geometry), .json = "geometry", .csv = "geometry" },
	{ "best", "variant", TCB_COLUMN_TEXT, OF(TEXT, variant), .json = "variant", .csv = "variant" },
	{ "best", "signature", TCB_COLUMN_TEXT, OF(TEXT, signature), .json = "signature" },
	{ "best", "median_ns", TCB_COLUMN_REAL, OF(REAL, ns.median), .json = "ns", .is_interval = 1, .csv = "ns" },
	{ "best", "lo_ns", TCB_COLUMN_REAL, OF(REAL, ns.lo), .csv = "ns_lo" },
	{ "best", "hi_ns", TCB_COLUMN_REAL, OF(REAL, ns.hi), .csv = "ns_hi" },
	{ "best", "default_geometry", TCB_COLUMN_TEXT, OF(TEXT, default_geometry), .json = "default_geometry" },
	{ "best", "default_median_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, default_ns.median),
	  .json = "default_ns", .is_interval = 1, .csv = "default_ns" },
	{ "best", "default_lo_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, default_ns.lo) },
	{ "best", "default_hi_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, default_ns.hi) },
	{ "best", "speedup", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, speedup.median), .json = "speedup",
	  .is_interval = 1, .csv = "speedup" },
	{ "best", "speedup_lo", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, speedup.lo), .csv = "speedup_lo" },
	{ "best", "speedup_hi", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, speedup.hi), .csv = "speedup_hi" },
	{ "best", "limit_median_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, limit_ns.median) },
	{ "best", "limit_lo_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, limit_ns.lo) },
	{ "best", "limit_hi_ns", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, limit_ns.hi) },
	{ "best", "limit_method", TCB_COLUMN_TEXT, OF(TEXT, limit_method) },
	{ "best", "bytes", TCB_COLUMN_REAL, OF(REAL, bytes) },
	{ "best", "flops", TCB_COLUMN_REAL, OF(REAL, flops) },
	{ "best", "regret", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, regret), .json = "regret", .csv = "regret",
	  .asked = "regret", .title = "REGRET", .digits = 2 },
	{ "best", "flip_probability", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, flip_probability),
	  .json = "flip_probability", .csv = "flip_probability", .asked = "flip", .title = "FLIP" },
	{ "best", "expected_gain", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, expected_gain), .json = "expected_gain",
	  .csv = "expected_gain", .asked = "gain", .title = "GAIN", .digits = 1 },
	{ "best", "others_busy", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, others_busy), .json = "others_busy",
	  .csv = "others_busy" },
	{ "best", "held_back", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, held_back), .json = "held_back",
	  .csv = "held_back" },
	{ "best", "final_rounds", TCB_COLUMN_INTEGER, .is_nullable = 1, OF(ROUNDS, final_rounds),
	  .json = "final_rounds" },
	{ "best", "quiet_rounds", TCB_COLUMN_INTEGER, .is_nullable = 1, OF(ROUNDS, quiet_rounds),
	  .json = "quiet_rounds" },
	{ "best", "objective", TCB_COLUMN_TEXT, .is_newer = 1, OF(TEXT, objective), .json = "objective",
	  .csv = "objective" },
	{ "best", "joules", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, joules), .json = "joules", .csv = "joules" },
	{ "best", "default_joules", TCB_COLUMN_REAL, .is_nullable = 1, OF(REAL, default_joules),
	  .json = "default_joules" },
	{ "best", "tried", TCB_COLUMN_INTEGER, OF(SIZE, tried), .json = "tried", .csv = "tried" },
	{ "best", "space_count", TCB_COLUMN_INTEGER, OF(SIZE, space_count), .json = "space_count", .csv = "space" },
	{ "best", "measured_at", TCB_COLUMN_TEXT, OF(TIME, measured_at), .json = "measured_at", .csv = "measured_at",
	  .asked = "measured", .title = "MEASURED" },
	/* Exports do not have these. */
	{ "best", "modelled", TCB_COLUMN_INTEGER, .is_local = 1, OF(FLAG, modelled), .json = "modelled" },
	{ "best", "provisional", TCB_COLUMN_INTEGER, .is_local = 1, OF(FLAG, provisional), .json = "provisional" },
	{ "best", "tie_count", TCB_COLUMN_INTEGER, .is_local = 1, OF(SIZE, tie_count), .json = "tie_count",
	  .csv = "ties", .asked = "ties", .title = "TIES" },
	/* What the same geometry took without dependent launch: of the finals where it was in them, else as screened.
	 */
	{ "", "plain_ns", TCB_COLUMN_REAL, .is_local = 1, .expression = PLAIN_NS, OF(REAL, plain_ns) },
	TCB_COMPUTE_LIST(RATE)
};
const size_t tcb_column_count = sizeof tcb_columns / sizeof *tcb_columns;
_Static_assert(sizeof tcb_columns / sizeof *tcb_columns <= TCB_COLUMNS_MAX, "room for a winner's values");

size_t tcb_column_travelling(void)
{
	size_t count = 0;

	while (!tcb_columns[count].is_local)
		count++;
	return count;
}

static const void *member_of(const struct tcb_column *column, const struct tcb_best *best)
{
	return (const char *)best + column->offset;
}

const char *tcb_column_text(const struct tcb_column *column, const struct tcb_best *best)
{
	return member_of(column, best);
}

const struct tcb_interval *tcb_column_interval(const struct tcb_column *column, const struct tcb_best *best)
{
	return member_of(column, best);
}

double tcb_column_number(const struct tcb_column *column, const struct tcb_best *best)
{
	const void *member = member_of(column, best);

	switch (column->member) {
	case TCB_MEMBER_FLAG:
		return *(const int *)member != 0;
	case TCB_MEMBER_ROUNDS:
		return best->final_rounds ? (double)*(const size_t *)member : NAN;
	case TCB_MEMBER_SIZE:
		return (double)*(const size_t *)member;
	case TCB_MEMBER_REAL:
		return *(const double *)member;
	default:
		return NAN;
	}
}
