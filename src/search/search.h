/* SPDX-License-Identifier: MIT
 *
 * The search: evaluate candidates of a space and find the best.  Knows ops by
 * their contract and devices by struct tcb_place; knows nothing of databases or
 * terminals.  Finished trials go to a sink, progress to a callback.
 *
 * One sweep = one problem on one device:  enumerate -> known trials are taken
 * over -> the strategy proposes -> a worker process plans, verifies, measures
 * -> losers are dropped early -> on a GPU the best are tried with passes=all
 * -> paired interleaved finals -> winner, interval, tie set.
 */
#ifndef TCB_SEARCH_SEARCH_H
#define TCB_SEARCH_SEARCH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/objective.h"
#include "base/trial.h"
#include "device/device.h"
#include "kernels/space.h"
#include "search/shard.h"
#include "search/starts.h"
#include "worker/evaluate.h"

struct tcb_decision;

/* Where finished trials go.  Every function may be NULL. */
struct tcb_sink {
	void *ctx;
	/* Called once a candidate is finished; durable when it returns TCB_OK.  A failure ends the sweep. */
	enum tcb_status (*trial)(void *ctx, const struct tcb_trial *trial, struct tcb_error *err);
	/* Called from the first measured trial on when the best so far of a state changes, about once a second at most:
	 * one finalist, by the screening alone.  Its trial was handed over before, in this sweep or an earlier one. */
	enum tcb_status (*best)(void *ctx, const struct tcb_decision *provisional, struct tcb_error *err);
};

struct tcb_progress {
	size_t done, total;       /* candidates decided so far (known ones included), and how many there are */
	size_t known, failed;     /* taken over from earlier sweeps; outcome other than ok */
	size_t too_slow;          /* neither failed nor measured: TCB_OUTCOME_TOO_SLOW */
	double elapsed_s, left_s; /* left_s < 0: unknown yet */
	double expected_gain;     /* of as many trials again, as a ratio - 1; NaN: unknown yet */
	const char *phase;        /* "setup", "screen", "finals", "energy", "counters" */
	const struct tcb_geometry *best[TCB_STATE_COUNT]; /* NULL until something was measured */
	double best_ns[TCB_STATE_COUNT];
	double default_ns[TCB_STATE_COUNT]; /* 0 until measured */
};

enum tcb_counters_mode { TCB_COUNTERS_NONE, TCB_COUNTERS_BEST, TCB_COUNTERS_ALL };

/* The best that an earlier sweep stored for one state, of the kernels as they are now. */
struct tcb_former {
	int valid;
	struct tcb_geometry geometry;
};
/* What it takes now, before the sweep. */
struct tcb_recheck {
	int valid;
	struct tcb_interval ns, speedup; /* speedup: the default geometry's time over its, paired */
};

struct tcb_sweep_options {
	const char *strategy; /* name in the strategy table; NULL for the default */
	double budget_s;      /* 0: until the space is done */
	double spent_s;       /* of it, before the sweep began */
	double first_s;       /* the default geometry may take so long, whatever the budget; 0: TCB_FIRST_S */
	size_t max_trials;    /* 0: no limit */
	double target_ratio;  /* enough is a best that takes this many times the device's limit; 0: never enough */
	double until_stable;  /* stop below this expected gain (0.01: 1 %); 0: never */
	uint64_t seed;
	int any_size;
	struct tcb_shard shard;          /* all zero: the whole space */
	const struct tcb_geometry *only; /* the only candidates beside the default, of the space; NULL: all of it */
	size_t only_count;
	int finals_only;       /* try nothing new */
	size_t bench_needed;   /* of a bench: so many of the first geometries are measured in any case, at least one */
	unsigned states;       /* bit 1u << enum tcb_state */
	size_t rotation_bytes; /* 0: tcb_rotation_size() of the place, at most a quarter of the RAM */
	double timeout_s;      /* one candidate's limit; 0: 20 s */
	const struct tcb_place *others; /* GPUs identical to the sweep's place, to share the screening */
	size_t other_count;
	const struct tcb_start_winner *winners; /* of other problems: what is tried first; may be NULL */
	size_t winner_count;
	int model_starts;   /* on a GPU, where few winners are near: try what a model thinks best after them */
	unsigned finalists; /* 0: 12 */
	int wants_compute;  /* measure how fast the device does the problem's arithmetic */
	enum tcb_counters_mode counters;
	enum tcb_objective objective; /* but for time, of the finals: they take as long as they take, beyond budget_s */
	const struct tcb_require *require; /* of candidates in PTX; NULL: nothing */
	const struct tcb_former *former;   /* [TCB_STATE_COUNT], measured again at the beginning; may be NULL */
	const volatile sig_atomic_t *stop; /* nonzero ends the sweep cleanly; may be NULL */
	void (*progress)(void *ctx, const struct tcb_progress *progress); /* a few times a second; may be NULL */
	void *progress_ctx;
	/* Waits until the machine is quiet and returns the seconds that this took, which no budget pays for: a sweep
	 * asks before the finals of each state, a bench after rounds that others disturbed.  NULL: nobody waits. */
	double (*await_quiet)(void *ctx);
	void *await_ctx;
	/* Of a bench: gets what is counted of the first geometry, once all is timed and if there is time.  0: goes on.
	 * NULL: nothing is counted. */
	int (*count)(void *ctx, const struct tcb_counter *counter);
	void *count_ctx;
};

/* Why no more candidates were tried. */
#define TCB_ENDED_LIST(X)       \
	X(COMPLETE, "complete") \
	X(BUDGET, "budget") X(TRIALS, "trials") X(STRATEGY, "strategy") X(TARGET, "target") X(STABLE, "stable")
enum tcb_ended {
#define TCB_ENDED_ENUM(id, text) TCB_ENDED_##id,
	TCB_ENDED_LIST(TCB_ENDED_ENUM)
#undef TCB_ENDED_ENUM
};

/* The outcome of the finals in one cache state. */
struct tcb_finalist {
	struct tcb_geometry geometry;
	char variant[TCB_VARIANT_NAME_MAX];
	char signature[TCB_SIGNATURE_MAX];
	struct tcb_interval ns;    /* of its own samples */
	struct tcb_interval ratio; /* its time over the winner's, paired */
	int tied;                  /* cannot be told from the winner */
};
struct tcb_decision {
	enum tcb_state state;
	int valid;                      /* 0: nothing was measured in this state */
	int provisional;                /* by the screening alone: there was no time for finals */
	struct tcb_finalist *finalists; /* [0] is the winner; owned by the result */
	size_t finalist_count;
	struct tcb_finalist fallback; /* the op's default geometry, measured in the same finals */
	struct tcb_interval speedup;  /* default over winner, paired: >= 1 unless the default wins */
	struct tcb_geometry *tie_set; /* all trials, finalists or not, that cannot be told from the winner */
	size_t tie_count;             /* the winner included */
	/* Were the finals held again (winner.h): the winner's expected loss against the best finalist, as a ratio - 1,
	 * and how probable another winner is; NaN of one alone. */
	double regret, flip_probability;
	size_t rounds, quiet_rounds;  /* held, and of these not disturbed by others: rounds 0, where that is unknown */
	double expected_gain;         /* of as many trials again in this state, as a ratio - 1; NaN: unknown */
	struct tcb_interval limit_ns; /* the read limit for the op's bytes, interleaved in the same finals */
	char limit_method[64];
	/* Unless it is time, ratios, the speedup and the ties are of the objective, and regret is NaN. */
	enum tcb_objective objective;
	double joules, default_joules; /* of a call of the winner and of the default; 0: not measured */
};
/* One of several GPUs that a sweep ran on. */
struct tcb_card {
	char address[TCB_DEVICE_NAME_MAX], uuid[TCB_UUID_MAX]; /* as its place has them */
	size_t tried;
	char lost[256]; /* why it was given up; empty: it was not */
	/* measured on every card after the finals; median 0 or NaN: not */
	struct tcb_interval winner_ns[TCB_STATE_COUNT], speedup[TCB_STATE_COUNT];
};
/* A candidate that was tried before the strategy was asked. */
enum {
	TCB_STARTS_MODELLED = 4,
	TCB_STARTS_LEARNED = 8,
	TCB_SWEEP_STARTS_MAX = TCB_STARTS_MAX + TCB_STARTS_LEARNED /* in the place of a model's, which are fewer */
};
struct tcb_sweep_start {
	struct tcb_geometry geometry;
	int is_modelled; /* a model's choice, and nobody's winner */
	int is_learned;  /* predicted by what was learned of stored trials, the same */
	size_t winner;   /* of the options' winners */
	int is_carried;  /* 0: the nearest to its geometry that the space has */
};
struct tcb_sweep_result {
	struct tcb_card *cards; /* of several, the sweep's place first; owned */
	size_t card_count;      /* 0 on one device */
	size_t space_count, known, tried, failed, too_slow;
	size_t refused;     /* not tried, since they are not as required */
	char refusal[160];  /* why the first of them is not */
	size_t start_count; /* of those tried */
	struct tcb_sweep_start starts[TCB_SWEEP_STARTS_MAX];
	size_t modelled;      /* candidates, to find starts among them */
	double modelled_s;    /* what that took */
	size_t with_passes;   /* tried besides: the best of a GPU's once more, with passes=all */
	char failure[160];    /* of a model: why most of those that failed did */
	size_t failure_count; /* how many of them */
	enum tcb_ended ended;
	double took_s, prepare_s; /* all of it but waiting for a quiet machine, with what was spent before; until the
				     first candidate was measured and the known ones compared */
	double expected_gain;     /* of as many trials again, as the screening ended; NaN: unknown */
	double of_limit[TCB_STATE_COUNT]; /* the best's time over the device's limit then, where asked for; NaN */
	/* Where wants_compute asked for it: operations a nanosecond, by the fastest instruction; 0: not measured. */
	double compute_rate;
	char compute_method[64];
	int complete; /* every candidate of the space is decided; 0 after a budget, a limit or an interrupt */
	struct tcb_recheck recheck[TCB_STATE_COUNT]; /* of options->former */
	struct tcb_decision decision[TCB_STATE_COUNT];
};

/* evaluation.c: what OPTIONS say to the evaluators of a sweep. */
struct tcb_evaluate_options tcb_sweep_evaluation(const struct tcb_sweep_options *options);
/*
 * sweep.c.  KNOWN: trials of earlier sweeps of the same problem and device, of today's kernels (tcb_trials_current());
 * they are not tried again.  TCB_E_INTERRUPTED after `stop`: everything finished so far went to the sink.
 */
enum tcb_status tcb_sweep_run(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_sweep_options *options, const struct tcb_trial *known,
			      size_t known_count, const struct tcb_sink *sink, struct tcb_sweep_result *out,
			      struct tcb_error *err);
void tcb_sweep_result_fini(struct tcb_sweep_result *result);
const char *tcb_ended_text(enum tcb_ended ended); /* sweep_limits.c */
/* cards.c: how far the slowest card is from the fastest with the winner, and the largest speedup from the least, as
 * ratios - 1; NaN where less than two cards were measured. */
void tcb_cards_differ(const struct tcb_sweep_result *result, enum tcb_state state, double *time_out,
		      double *speedup_out);

/* strategy.c: names and one-line descriptions, for --help and for errors. */
struct tcb_strategy;
const struct tcb_strategy *tcb_strategy_find(const char *name);
/* The program of a strategy from outside, "exec:PROGRAM"; NULL for any other NAME. */
const char *tcb_strategy_program(const char *name);
/* The same as find for a device (GPU NULL: a CPU), or an error that names those that there are.  OUT borrows NAME. */
enum tcb_status tcb_strategy_get(const char *name, const struct tcb_place *modelled, struct tcb_strategy *out,
				 struct tcb_error *err);
size_t tcb_strategy_list(const char *names[], const char *summaries[], size_t capacity);

/*
 * bench.c: the given geometries and the read limit, paired and interleaved in one worker; results in the order of
 * GEOMETRIES, ratios against the first.  Within options->budget_s, with options->spent_s of it gone, or TCB_FIRST_S for
 * the first geometry alone.  Of others, one whose calls are too long for it has fewer
 * rounds, or none: then its times are zeros.
 */
enum { TCB_BENCH_MOST = 8 };
/* What is needed for any result, the default geometry of a sweep and the first one of a bench, is waited for so many
 * seconds however short the budget is; beyond both, there is none and an error says so. */
enum { TCB_FIRST_S = 10 };
struct tcb_bench_result {
	struct tcb_interval ns[2][TCB_BENCH_MOST], ratio[2][TCB_BENCH_MOST]; /* [state][geometry] */
	struct tcb_interval limit_ns[2], limit_ratio[2]; /* limit_ratio: the first geometry's time over the limit's */
	char limit_method[2][64];
	/* The same for a limit whose launches overlap (programmatic dependent launch); zeros where there is none. */
	struct tcb_interval overlap_ns[2], overlap_ratio[2];
	/* The first geometry's own time where its calls write different memory and so do not wait for each other;
	 * zeros where a device has no such calls. */
	struct tcb_interval independent_ns[2], independent_ratio[2];
	/* The fastest arithmetic for as many operations. */
	struct tcb_interval compute_ns[2], compute_ratio[2];
	char compute_method[2][64];
	size_t rounds[2], quiet_rounds[2]; /* as in struct tcb_decision */
};
enum tcb_status tcb_bench_run(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_sweep_options *options, const struct tcb_geometry *geometries,
			      size_t count, struct tcb_bench_result *out, struct tcb_error *err);

#endif
