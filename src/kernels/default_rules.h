/* SPDX-License-Identifier: MIT
 *
 * Default geometries that know the shape.  A rule is what `tcbtune defaults`
 * made of stored measurements of one op, contract, architecture and number of
 * threads: a decision tree over m, n, k and m * n, written as a list of rows.  The
 * first row whose bounds hold the shape and whose geometry is legal there is the
 * default.  Where there is no rule or no such row, and far from all shapes that
 * the rule was made with, it is the op's own default_geometry, which somebody
 * wrote by hand.
 */
#ifndef TCB_KERNELS_DEFAULT_RULES_H
#define TCB_KERNELS_DEFAULT_RULES_H

#include "kernels/op.h"

enum { TCB_ARCH_TEXT_MAX = 32 };

/* A geometry as text, in whose tiles M, N and K stand for as large as the shape and * for as large as that of the op's
 * own default ("macro=MxNxK,midi=8x64xK,micro=*x*x1,..."). */
struct tcb_default_row {
	size_t m, n, k, mn;   /* the shape's, and m * n, are at most these; 0: whatever they are */
	const char *geometry; /* NULL: the op's own default */
};

struct tcb_default_rule {
	const char *op;
	enum tcb_contract contract;
	const char *arch;             /* as tcb_target_arch gives it */
	unsigned threads;             /* of a CPU: what it was measured with (1: holds for more, too); 0 of a GPU */
	struct tcb_shape least, most; /* it says nothing of smaller and larger ones */
	const char *evidence;         /* how many shapes of which device, and the worst loss there */
	size_t row_count;
	const struct tcb_default_row *rows;
};

/* defaults/: the tables, one for each architecture, each ending with a row without an op. */
extern const struct tcb_default_rule tcb_defaults_sm_90[], tcb_defaults_x86_64_avx512vnni[], tcb_defaults_x86_64_amx[];

/* default_rules.c: rule INDEX of all tables, NULL past the end. */
const struct tcb_default_rule *tcb_default_rule_at(size_t index);
/* The rule for PROBLEM; NULL: there is none.  A CPU's family without one has that of the widest family which it
 * contains and which has one.  WITHIN: the target whose space the rule's geometries are of, TARGET without the families
 * above. */
const struct tcb_default_rule *tcb_default_rule_find(const struct tcb_problem *problem, const struct tcb_target *target,
						     struct tcb_target *within);
/* The group of targets that share a rule: "sm_90", "x86_64-avx512vnni". */
void tcb_target_arch(const struct tcb_target *target, char out[TCB_ARCH_TEXT_MAX]);
/* Is SHAPE within ROW's bounds? */
int tcb_default_row_holds(const struct tcb_default_row *row, const struct tcb_shape *shape);
/* FORM, a row's geometry, at PROBLEM's shape.  0 where it is not in the default space of TARGET there. */
int tcb_default_apply(const char *form, const struct tcb_problem *problem, const struct tcb_target *target,
		      struct tcb_geometry *out);
/* The geometry to use where nothing was learned, legal for PROBLEM and TARGET.  Returns the rule whose row it is; NULL:
 * it is the op's own. */
const struct tcb_default_rule *tcb_default_by_rule(const struct tcb_problem *problem, const struct tcb_target *target,
						   struct tcb_geometry *out);

/* Where a default is from; both NULL: from the op. */
struct tcb_default_source {
	const struct tcb_default_rule *rule;
	const struct tcb_learned_loss *learned; /* learned.h */
};
/* The geometry to use where nothing better is known, legal for PROBLEM and TARGET: what was learned, else the rule's.
 */
struct tcb_default_source tcb_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
					       struct tcb_geometry *out);

#endif
