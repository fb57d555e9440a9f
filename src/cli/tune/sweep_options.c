/* SPDX-License-Identifier: MIT
 *
 * The options of 'tcbtune sweep', in the order in which help lists them, and
 * which of them go together.
 */
#include "cli/tune/sweep_options.h"

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
	{ .name = "gguf",
	  .argument = "FILE",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct cli_sweep_args, gguf),
	  .help = "take the shapes of this model file's tensors of the op's weight type, one token each" },
	CLI_OPTION_CONTRACT(struct cli_sweep_args),
	{ .name = "strategy",
	  .argument = "S",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct cli_sweep_args, strategy),
	  .help = "how candidates are chosen: @STRATEGIES; the first by default" },
	{ .name = "effort",
	  .argument = "E",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct cli_sweep_args, effort),
	  .words = CLI_EFFORT_WORDS,
	  .fallback = "normal",
	  .help = "how much is done, see below; the other options override single values of it" },
	{ .name = "budget",
	  .argument = "TIME",
	  .kind = CLI_SECONDS,
	  .offset = offsetof(struct cli_sweep_args, budget_s),
	  .words = "none",
	  .note = "by --effort",
	  .help = "time for one shape, as in 60s or 2m; none: until every candidate is tried" },
	{ .name = "until-stable",
	  .argument = "PERCENT",
	  .kind = CLI_NUMBER,
	  .offset = offsetof(struct cli_sweep_args, until_stable),
	  .words = "none",
	  .bare = "1",
	  .note = "by --effort",
	  .help = "stop once as many trials again are expected to gain less than so much, 1 where it is not said" },
	{ .name = "target-ratio",
	  .argument = "X",
	  .kind = CLI_NUMBER,
	  .offset = offsetof(struct cli_sweep_args, target_ratio),
	  .note = "none",
	  .help = "stop once the best so far takes at most X times the device's limit: reading the bytes, or on a CPU "
		  "computing as much" },
	{ .name = "max-trials",
	  .argument = "N",
	  .kind = CLI_COUNT,
	  .offset = offsetof(struct cli_sweep_args, max_trials),
	  .fallback = "0",
	  .note = "no limit",
	  .help = "try at most N new candidates of each shape" },
	{ .name = "shard",
	  .argument = "I/N",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct cli_sweep_args, shard),
	  .note = "the whole space",
	  .help = "try the I-th of N disjoint parts of each shape's space, and the default geometry; auto: as the "
		  "task of a Slurm array or of a Kubernetes indexed job that this is; auto/N: of N" },
	CLI_OPTION_SEED(struct cli_sweep_args, "seed of data, order and finals"),
	CLI_OPTION_DB(struct cli_sweep_args),
	{ .name = "counters",
	  .argument = "WHICH",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct cli_sweep_args, counters),
	  .words = "none|best|all",
	  .fallback = "best",
	  .help = "read counters of no candidate, of the winners, or of all finalists, as many as --finalists says "
		  "at least" },
	{ .name = "finalists",
	  .argument = "N",
	  .kind = CLI_COUNT,
	  .offset = offsetof(struct cli_sweep_args, finalists),
	  .note = "by --effort",
	  .least = 1,
	  .most = FINALISTS_MAX,
	  .help = "how many candidates the finals keep to the end, beside the default geometry" },
	{ .name = "any-size",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, any_size),
	  .help = "lift the power-of-two rule (H15): tile dimensions may be any size" },
	CLI_OPTION_ROTATION(struct cli_sweep_args),
	CLI_OPTION_TIMEOUT(struct cli_sweep_args),
	CLI_OPTION_WAIT_QUIET(struct cli_sweep_args),
	{ .name = "fresh",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, fresh),
	  .help = "measure again what is known" },
	{ .name = "starts",
	  .argument = "WHICH",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct cli_sweep_args, starts),
	  .words = "none|stored|model|all", /* bits: 1 stored, 2 model */
	  .fallback = "all",
	  .help = "what is tried first beside the default: stored: what won for the nearest shapes, formats, contracts "
		  "and devices in the database; model: on a GPU, the best of a sample by a model, if little won near" },
	{ .name = "again",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, again),
	  .help = "repeat the sweep, measuring everything again, with the next seed, and say whether the stored "
		  "decisions hold; exits with 1 if one does not" },
	{ .name = "finals-only",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, finals_only),
	  .help = "try nothing new: hold the finals among all that is known, as after 'db merge'" },
	{ .name = "allow-missing",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, allow_missing),
	  .help = "with --finals-only: hold them also where a shard is missing or was not finished" },
	{ .name = "measured-only",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct cli_sweep_args, measured_only),
	  .help = "fail where the GPU is absent, instead of ranking its space by a model" },
	CLI_OPTION_JSON(struct cli_sweep_args),
	CLI_OPTION_END,
};

enum tcb_status cli_sweep_args_check(const struct cli_sweep_args *args, struct tcb_error *err)
{
	TCB_TRY(cli_strategy_check(args->strategy, err));
	return cli_finals_check_options(args->finals_only, args->allow_missing,
					args->shard   ? "shard"
					: args->fresh ? "fresh"
					: args->again ? "again"
						      : NULL,
					err);
}
