/* SPDX-License-Identifier: MIT
 *
 * The options of 'tcbtune sweep', in the order in which help lists them, and
 * which of them go together.
 */
#include "cli/tune/sweep_options.h"

#include "base/objective.h"
#include "cli/tune/effort.h"
#include "cli/tune/strategy_option.h"
#include "cli/tune/sweep_shards.h"

/* Each finalist is called in at least 30 rounds; all of them are ready to run at the same time. */
enum { FINALISTS_MAX = 500 };

const struct cli_option cli_sweep_options[] = {
	CLI_OPTION_OP(struct cli_sweep_args, 1,
		      "the op to measure, a family of ops by what their names begin with (reduce2d), or all"),
	CLI_OPTION_DEVICE(struct cli_sweep_args),
	CLI_OPTION_THREADS(struct cli_sweep_args),
	CLI_OPTION_SHAPES(struct cli_sweep_args),
	{ "gguf", "FILE", CLI_TEXT, offsetof(struct cli_sweep_args, gguf),
	  "take the shapes of this model file's tensors of the op's weight type, one token each" },
	CLI_OPTION_CONTRACTS(struct cli_sweep_args, "the op's own"),
	{ "strategy", "S", CLI_TEXT, offsetof(struct cli_sweep_args, strategy),
	  "how candidates are chosen: @STRATEGIES; exec:PROGRAM: by a program of yours (docs/outside-strategies.md); "
	  "the first by default" },
	{ "objective", "O", CLI_WORD, offsetof(struct cli_sweep_args, objective),
	  "what the winner has the least of: time, energy, or edp, both multiplied; energy is measured after the "
	  "finals, "
	  "1.5 s and more for each candidate that may win (docs/measuring.md)",
	  .words = "time|energy|edp", .fallback = "time" },
	{ "require", "EXPR", CLI_TEXT, offsetof(struct cli_sweep_args, require),
	  "try only candidates for which this holds, as in 'occupancy >= 0.5 and bank_conflicts == 0': of kernels in "
	  "PTX, by what is known before they run (docs/ptx.md, \"Conditions\"); what is known is measured again" },
	{ "effort", "E", CLI_WORD, offsetof(struct cli_sweep_args, effort),
	  "how much is done, see below; the other options override single values of it", .words = CLI_EFFORT_WORDS,
	  .fallback = "normal" },
	{ "budget", "TIME", CLI_SECONDS, offsetof(struct cli_sweep_args, budget_s),
	  "time for one shape, as in 60s or 2m; none: until every candidate is tried", .words = "none",
	  .note = "by --effort" },
	{ "until-stable", "PERCENT", CLI_NUMBER, offsetof(struct cli_sweep_args, until_stable),
	  "stop once as many trials again are expected to gain less than so much, 1 where it is not said",
	  .words = "none", .bare = "1", .note = "by --effort" },
	{ "target-ratio", "X", CLI_NUMBER, offsetof(struct cli_sweep_args, target_ratio),
	  "stop once the best so far takes at most X times the device's limit: reading the bytes, or on a CPU "
	  "computing as much",
	  .note = "none" },
	{ "max-trials", "N", CLI_COUNT, offsetof(struct cli_sweep_args, max_trials),
	  "try at most N new candidates of each shape", .fallback = "0", .note = "no limit" },
	{ "shard", "I/N", CLI_TEXT, offsetof(struct cli_sweep_args, shard),
	  "try the I-th of N disjoint parts of each shape's space, and the default geometry; auto: as the task of a "
	  "Slurm array or of a Kubernetes indexed job that this is; auto/N: of N",
	  .note = "the whole space" },
	CLI_OPTION_SEED(struct cli_sweep_args, "seed of data, order and finals"),
	CLI_OPTION_DB(struct cli_sweep_args),
	{ "counters", "WHICH", CLI_WORD, offsetof(struct cli_sweep_args, counters),
	  "read counters of no candidate, of the winners, or of all finalists, as many as --finalists says at least",
	  .words = "none|best|all", .fallback = "best" },
	{ "finalists", "N", CLI_COUNT, offsetof(struct cli_sweep_args, finalists),
	  "how many candidates the finals keep to the end, beside the default geometry", .note = "by --effort",
	  .least = 1, .most = FINALISTS_MAX },
	{ "any-size", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, any_size),
	  "lift the power-of-two rule (H15): tile dimensions may be any size" },
	CLI_OPTION_ROTATION(struct cli_sweep_args),
	CLI_OPTION_TIMEOUT(struct cli_sweep_args),
	CLI_OPTION_WAIT_QUIET(struct cli_sweep_args),
	{ "fresh", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, fresh), "measure again what is known" },
	{ "starts", "WHICH", CLI_WORD, offsetof(struct cli_sweep_args, starts),
	  "what is tried first beside the default: stored: what won for the nearest shapes, formats, contracts and "
	  "devices in the database; model: what is predicted by what was learned of other problems, else "
	  "on a GPU the best of a sample by a model, if little won near",
	  .words = "none|stored|model|all", .fallback = "all" },
	{ "again", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, again),
	  "repeat the sweep, measuring everything again, with the next seed, and say whether the stored decisions "
	  "hold; exits with 1 if one does not" },
	{ "finals-only", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, finals_only),
	  "try nothing new: hold the finals among all that is known, as after 'db merge'" },
	{ "allow-missing", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, allow_missing),
	  "with --finals-only: hold them also where a shard is missing or was not finished" },
	{ "measured-only", NULL, CLI_FLAG, offsetof(struct cli_sweep_args, measured_only),
	  "fail where the GPU is absent, instead of ranking its space by a model" },
	CLI_OPTION_JSON(struct cli_sweep_args),
	CLI_OPTION_END,
};

enum tcb_status cli_sweep_args_check(const struct cli_sweep_args *args, struct tcb_error *err)
{
	TCB_TRY(cli_strategy_check(args->strategy, err));
	if (args->objective && args->effort == CLI_EFFORT_ESTIMATE)
		return tcb_fail(err, TCB_E_USAGE, "--objective %s needs measurements, and --effort estimate makes none",
				tcb_objective_text((enum tcb_objective)args->objective));
	return cli_finals_check_options(args->finals_only, args->allow_missing,
					args->shard     ? "shard"
					: args->require ? "require"
					: args->fresh   ? "fresh"
					: args->again   ? "again"
							: NULL,
					err);
}
