/* SPDX-License-Identifier: MIT
 *
 * What the databases of `tcbtune defaults` say: for each op, contract,
 * architecture and number of threads the shapes that were measured, the
 * geometries that did well at some of them, and what these lose at all of them.
 */
#ifndef TCB_CLI_DEFAULT_CELLS_H
#define TCB_CLI_DEFAULT_CELLS_H

#include "cli/core/setup.h"
#include "kernels/default_rules.h"
#include "search/rule_tree.h"

/* One geometry where it was measured. */
struct cli_measured {
	struct tcb_geometry geometry;
	double ns[TCB_STATE_COUNT]; /* median; 0: not measured, infinite: it failed */
};

/* One shape on one device. */
struct cli_shape_row {
	struct tcb_device device;
	struct tcb_problem problem;
	int is_judged; /* not to be learned from */
	struct cli_measured *measured;
	size_t count, capacity;
	double best_ns[TCB_STATE_COUNT]; /* 0: nothing was measured */
};

struct cli_default_group {
	const struct tcb_op *op;
	enum tcb_contract contract;
	char arch[TCB_ARCH_TEXT_MAX];
	unsigned threads;
	struct cli_shape_row *rows; /* by shape */
	size_t row_count;
	/* Candidate 0 is the op's own default, whose form is NULL. */
	char **forms;
	struct tcb_rule_cells cells;                  /* of both states together */
	double *state_loss[TCB_STATE_COUNT];          /* as cells.loss */
	struct tcb_shape shapes[TCB_RULE_SHAPES_MAX]; /* of the rows */
};

struct cli_default_groups {
	struct cli_default_group *items;
	size_t count;
};

/* Adds the trials of the database PATH; IS_JUDGED: its shapes, wherever else they are met, are for judging only. */
enum tcb_status cli_defaults_add(const struct tcb_registry *ops, struct cli_default_groups *groups, const char *path,
				 int is_judged, struct tcb_error *err);
/* Each geometry of ROW once, in their order, with the least of its times; and the best of all. */
void cli_shape_row_tidy(struct cli_shape_row *row);
/* What MEASURED lost at ROW, which is tidy: 1 is the best; NAN: it is not known. */
double cli_shape_row_loss(const struct cli_shape_row *row, const struct cli_measured *measured);
/* Drops shapes with fewer than LEAST measured geometries, groups with one shape, and those of other ops or
 * architectures than OP and ARCH (NULL: any); fills the cells of the rest. */
enum tcb_status cli_defaults_fill(struct cli_default_groups *groups, const char *op, const char *arch, size_t least,
				  struct tcb_error *err);
/* The geometry of FORM (NULL: the op's own default) at ROW's shape on TARGET; 0 where there is none. */
int cli_form_apply(const char *form, const struct cli_shape_row *row, const struct tcb_target *target,
		   struct tcb_geometry *out);
void cli_defaults_fini(struct cli_default_groups *groups);

#endif
