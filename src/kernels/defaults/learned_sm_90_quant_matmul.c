/* SPDX-License-Identifier: MIT
 *
 * Nothing yet.
 */
#include "kernels/learned.h"

static const struct tcb_field fields[] = { { TCB_AXIS_TILE_M, TCB_MACRO } };
static const int16_t forms[] = { 0 };
static const struct tcb_learned_tree trees[] = { { .feature = { 0 } } };
static const struct tcb_learned_loss losses[] = { { .m = 0 } };

const struct tcb_learned tcb_learned_sm_90_quant_matmul = {
	.like = "q4k_matmul",
	.arch = "sm_90",
	.least = { 9, 1, 1 },
	.most = { 1, 1, 1 },
	.loss_count = 1,
	.losses = losses,
	.field_count = 1,
	.fields = fields,
	.form_count = 0,
	.forms = forms,
	.tree_count = 0,
	.trees = trees,
};
