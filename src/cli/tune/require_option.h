/* SPDX-License-Identifier: MIT
 *
 * --require: a condition over what is known of a kernel in PTX before it runs (kernels/static_facts.h).
 */
#ifndef TCB_CLI_REQUIRE_OPTION_H
#define TCB_CLI_REQUIRE_OPTION_H

#include "device/device.h"
#include "kernels/static_facts.h"

struct tcb_expression;

struct cli_require {
	struct tcb_expression *expression; /* owned; NULL: nothing is required */
	struct tcb_require require;        /* whose context is this */
};
/* TCB_E_USAGE for what is not an expression over the names of facts; nothing for NULL.  OUT must stay where it is. */
enum tcb_status cli_require_make(const char *text, struct cli_require *out, struct tcb_error *err);
void cli_require_fini(struct cli_require *require);
/* TCB_E_USAGE where PLACE's kernels are not in PTX, or are not compiled. */
enum tcb_status cli_require_check(const struct cli_require *require, const struct tcb_place *place, int is_modelled,
				  struct tcb_error *err);

#endif
