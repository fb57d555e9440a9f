/* SPDX-License-Identifier: MIT
 *
 * The problems that a command line asks for: ops times shapes.
 */
#ifndef TCB_CLI_PROBLEMS_H
#define TCB_CLI_PROBLEMS_H

#include "cli/core/setup.h"

struct cli_problem {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct cli_contracts asked; /* is_auto: the problem's contract is one of them */
};

struct cli_problems {
	const struct tcb_registry *ops; /* that were to choose from */
	struct cli_problem *list;
	size_t count;
};

/*
 * Of OPS: OP is a name, a family ("reduce2d": the ops named reduce2d_...) or "all"; shapes come from SHAPES, else from
 * the model file GGUF, else from the op itself.  With "all", ops that have no such contract or shape are left out, and
 * it is an error if none remains.
 */
enum tcb_status cli_problems_make(const struct tcb_registry *ops, const char *op, const char *contract,
				  const struct cli_list *shapes, const char *gguf, struct cli_problems *out,
				  struct tcb_error *err);
/* Leaves out, and says so, those whose ops have no kernels for TARGET; an error if none remains. */
enum tcb_status cli_problems_keep(struct cli_problems *problems, const struct tcb_target *target,
				  struct tcb_error *err);
void cli_problems_fini(struct cli_problems *problems);
/* "op contract shape", for messages. */
enum { CLI_LABEL_MAX = TCB_OP_NAME_MAX + 8 + TCB_SHAPE_TEXT_MAX };
void cli_problem_label(const struct tcb_problem *problem, char out[CLI_LABEL_MAX]);

#endif
