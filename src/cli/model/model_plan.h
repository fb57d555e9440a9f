/* SPDX-License-Identifier: MIT
 *
 * A model's products at some counts of tokens as problems: each once, how often
 * it is called, what the database knows of it, and its part of a budget.
 */
#ifndef TCB_CLI_MODEL_PLAN_H
#define TCB_CLI_MODEL_PLAN_H

#include "cli/core/figures.h"
#include "cli/core/problems.h"
#include "cli/model/model_shapes.h"
#include "db/db.h"

enum { CLI_TOKENS_MAX = 8 };

/* What there is of a problem, the worse first: nothing; a result of a kernel that has changed; one without finals; one
 * of so few candidates that sweeping on is worth more than elsewhere; a model's ranking, of an absent GPU; a result. */
#define CLI_KNOWN_LIST(X)             \
	X(MISSING, "missing")         \
	X(STALE, "stale")             \
	X(PROVISIONAL, "provisional") \
	X(THIN, "thin")               \
	X(MODELLED, "modelled")       \
	X(TUNED, "tuned")
enum cli_known {
#define CLI_KNOWN_ID(id, text) CLI_KNOWN_##id,
	CLI_KNOWN_LIST(CLI_KNOWN_ID)
#undef CLI_KNOWN_ID
};
const char *cli_known_text(enum cli_known known);

struct cli_model_problem {
	struct cli_problem problem;
	const struct cli_product *product; /* the first of those that ask for it */
	double calls[CLI_TOKENS_MAX];      /* for each count of tokens; 0: it is not used there */
	double share;                      /* of a budget: the shares of all are 1 */
	enum cli_known known;
	struct tcb_best best; /* unless MISSING */
	double tuned_ns, default_ns,
		limit_ns;       /* of a call; 0: unknown.  Tuned is the default where nothing is proven. */
	struct cli_limit limit; /* what tuned_ns is of it */
	size_t group;           /* its place among the shapes: problems of one group differ by contract alone */
	int is_usual;           /* of its group, where nothing is known */
	int is_chosen;          /* of its group the one whose time counts: the fastest that is known, else the usual */
	int is_lost;            /* another of its group is known to be faster by far: not worth a sweep */
	int is_served;          /* programs get the best, not the default */
	int is_estimated;       /* from other problems' default times */
	char failure[200];      /* of its sweep in this run; empty: none */
};

struct cli_model_plan {
	const struct tcb_registry *ops;
	const struct cli_model *model;
	size_t tokens[CLI_TOKENS_MAX], token_count;
	int has_routing; /* experts are ops of all of them, over which tokens spread unevenly */
	struct cli_model_problem *list;
	size_t count, groups;
};

/* The time of all products at one count of tokens. */
struct cli_projection {
	double tuned_ns, default_ns, limit_ns; /* 0: unknown, since that of some problem is not */
	struct cli_limit limit;                /* known as badly as the worst known of them */
	size_t problems, proven, estimated;
};

/* For TARGET, whose ops they are.  TOKENS_TEXT: "1,32,512".  With ALL_LOGITS every token of a prompt goes through the
 * output head, else the last one. MODEL is lent.  Free the plan in every case. */
enum tcb_status cli_model_plan_make(const struct tcb_registry *ops, const struct cli_model *model,
				    const struct tcb_target *target, const char *tokens_text, const char *contract,
				    int all_logits, struct cli_model_plan *out, struct tcb_error *err);
void cli_model_plan_fini(struct cli_model_plan *plan);
/* Drops the problems whose op has no kernels for devices like TARGET, and says which; UNSUPPORTED where none is left.
 */
enum tcb_status cli_model_plan_keep(struct cli_model_plan *plan, const struct tcb_target *target,
				    struct tcb_error *err);
/* Reads what DB (NULL: nothing) knows of every problem on DEVICE, and what follows for the others.  IS_MODELLED: the
 * device is not there, so that a model's word is all there can be. */
enum tcb_status cli_model_plan_look(struct cli_model_plan *plan, struct tcb_db *db, const struct tcb_device *device,
				    int is_modelled, struct tcb_error *err);
/* Is there still something to sweep of ITEM?  Of one that is lost there is not. */
int cli_model_is_open(const struct cli_model_problem *item, int is_modelled);
/* Problems that differ by contract alone, which lie together. */
struct cli_model_group {
	const struct cli_model_problem *chosen;
	size_t first, count, open; /* the first one's number; how many; of how many there is something to sweep */
};
/* The group that begins at *AT, which goes on to the next one; 0: there is none. */
int cli_model_next(const struct cli_model_plan *plan, int is_modelled, size_t *at, struct cli_model_group *out);
struct cli_projection cli_model_project(const struct cli_model_plan *plan, size_t token_index, int is_modelled);

#endif
