/* SPDX-License-Identifier: MIT
 *
 * Multiplies ops and shapes into problems, each checked by its op, each once.
 */
#include "cli/core/problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/core/shape_axes.h"
#include "kernels/defaults/contracts.h"

static enum tcb_status add_of_contract(struct cli_problems *problems, const struct tcb_op *op,
				       const struct cli_contracts *asked, enum tcb_contract contract,
				       const struct tcb_shape *shape, struct tcb_error *err)
{
	struct cli_problem made = { .op = op, .asked = *asked }, *list;

	TCB_TRY(tcb_problem_init(op, contract, shape, &made.problem, err));
	for (size_t i = 0; i < problems->count; i++) {
		if (problems->list[i].op == op && problems->list[i].problem.contract == contract &&
		    tcb_shape_equal(&problems->list[i].problem.shape, shape))
			return TCB_OK;
	}
	list = realloc(problems->list, (problems->count + 1) * sizeof *list);
	if (!list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	problems->list = list;
	list[problems->count++] = made;
	return TCB_OK;
}

/* SHAPE with each contract that was asked for, the one that was named first. */
static enum tcb_status add_problem(struct cli_problems *problems, const struct tcb_op *op,
				   const struct cli_contracts *asked, const struct tcb_shape *shape,
				   struct tcb_error *err)
{
	const unsigned all = asked->is_auto ? tcb_contracts_from(op, shape, NULL, asked->least) : 1u << asked->least;

	for (int contract = (int)asked->least; contract >= 0; contract--)
		if (all >> contract & 1u)
			TCB_TRY(add_of_contract(problems, op, asked, (enum tcb_contract)contract, shape, err));
	return TCB_OK;
}

static enum tcb_status add_shapes(struct cli_problems *problems, const struct tcb_op *op,
				  const struct cli_contracts *contract, const char *text, int is_exact,
				  struct tcb_error *err)
{
	struct cli_shapes shapes;
	enum tcb_status status = cli_shapes_read(op, text, is_exact, &shapes, err);

	for (size_t i = 0; i < shapes.count && status == TCB_OK; i++)
		status = add_problem(problems, op, contract, &shapes.list[i], err);
	cli_shapes_fini(&shapes);
	return status;
}

/* Of an op that is not NAMED a shape is taken as it is written only. */
static enum tcb_status add_op(struct cli_problems *problems, const struct tcb_op *op, int named,
			      const char *contract_text, const struct cli_list *texts, const char *gguf,
			      struct tcb_error *err)
{
	struct cli_contracts contract;
	struct tcb_shape *found = NULL;
	const struct tcb_shape *shapes = op->default_shapes;
	size_t count = op->default_shape_count;
	enum tcb_status status = TCB_OK;

	TCB_TRY(cli_find_contracts(op, contract_text, &contract, err));
	for (size_t i = 0; i < texts->count; i++)
		TCB_TRY(add_shapes(problems, op, &contract, texts->items[i], !named, err));
	if (texts->count)
		return TCB_OK;
	if (gguf) {
		TCB_TRY(cli_gguf_shapes(problems->ops, op, gguf, named, &found, &count, err));
		shapes = found;
	}
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = add_problem(problems, op, &contract, &shapes[i], err);
	free(found);
	return status;
}

/* Whether a failure says only that this op is not meant; the next op of "all" may be. */
static int is_mismatch(enum tcb_status status)
{
	return status == TCB_E_USAGE || status == TCB_E_NOT_FOUND || status == TCB_E_UNSUPPORTED;
}

static enum tcb_status add_all(struct cli_problems *problems, const char *contract, const struct cli_list *shapes,
			       const char *gguf, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;

	for (size_t i = 0; i < problems->ops->count; i++) {
		size_t before = problems->count;
		status = add_op(problems, problems->ops->ops[i], 0, contract, shapes, gguf, err);
		if (is_mismatch(status))
			problems->count = before;
		else if (status != TCB_OK)
			return status;
	}
	/* The last op's own line says why it had none. */
	return problems->count ? TCB_OK : status;
}

/* The ops of the family NAME, those whose names go on after NAME and an underscore; how many there were. */
static enum tcb_status add_family(struct cli_problems *problems, const char *name, const char *contract,
				  const struct cli_list *shapes, const char *gguf, size_t *found_out,
				  struct tcb_error *err)
{
	const size_t length = strlen(name);

	*found_out = 0;
	for (const struct tcb_op *const *op = problems->ops->ops; *op; op++) {
		if (strncmp((*op)->name, name, length) != 0 || (*op)->name[length] != '_')
			continue;
		++*found_out;
		TCB_TRY(add_op(problems, *op, 1, contract, shapes, gguf, err));
	}
	return TCB_OK;
}

enum tcb_status cli_problems_make(const struct tcb_registry *ops, const char *name, const char *contract,
				  const struct cli_list *shapes, const char *gguf, struct cli_problems *out,
				  struct tcb_error *err)
{
	const struct tcb_op *op = tcb_registry_find(ops, name);
	size_t found = 0;
	enum tcb_status status = TCB_OK;

	*out = (struct cli_problems){ .ops = ops };
	if (shapes->count && gguf)
		return tcb_fail(err, TCB_E_USAGE, "--shape and --gguf exclude each other; give one of them");
	if (strcmp(name, "all") == 0) {
		status = add_all(out, contract, shapes, gguf, err);
	} else {
		if (!op)
			status = add_family(out, name, contract, shapes, gguf, &found, err);
		if (!found && status == TCB_OK)
			status = cli_find_op(ops, name, &op, err);
		if (!found && status == TCB_OK)
			status = add_op(out, op, 1, contract, shapes, gguf, err);
	}
	if (status != TCB_OK)
		cli_problems_fini(out);
	return status;
}

/* Of several contracts those without kernels are not meant. */
static int has_contract(const struct cli_problem *problem, const struct tcb_target *target)
{
	return !problem->asked.is_auto ||
	       (tcb_contracts_from(problem->op, &problem->problem.shape, target, problem->asked.least) >>
			problem->problem.contract &
		1u);
}

enum tcb_status cli_problems_keep(struct cli_problems *problems, const struct tcb_target *target, struct tcb_error *err)
{
	const struct tcb_op *missing = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < problems->count; i++) {
		const struct cli_problem *problem = &problems->list[i];
		if (!tcb_op_side(problem->op, target))
			missing = problem->op;
		else if (has_contract(problem, target))
			problems->list[kept++] = *problem;
	}
	if (kept == 0 && missing)
		return tcb_op_require(missing, target, err);
	if (missing)
		cli_say("left out: %zu of %zu problems, whose ops have no %s kernels", problems->count - kept,
			problems->count, tcb_kind_of(target)->name);
	problems->count = kept;
	return TCB_OK;
}

void cli_problems_fini(struct cli_problems *problems)
{
	free(problems->list);
	memset(problems, 0, sizeof *problems);
}

void cli_problem_label(const struct tcb_problem *problem, char out[CLI_LABEL_MAX])
{
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&problem->shape, shape);
	snprintf(out, CLI_LABEL_MAX, "%s %s %s", problem->op_name, tcb_contract_text(problem->contract), shape);
}
