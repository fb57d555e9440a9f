/* SPDX-License-Identifier: MIT
 *
 * What a judge says, as text and as JSON.
 */
#ifndef TCB_CLI_JUDGE_REPORT_H
#define TCB_CLI_JUDGE_REPORT_H

#include <jansson.h>

#include "base/util.h"
#include "judge/ruling.h"

/* The status that a verdict is: TCB_E_NOT_FASTER where it is not AT_LEAST (0: of no matter) times as fast. */
enum tcb_status cli_judge_status(const struct tcb_judge_options *options, const struct tcb_ruling *verdict);
void cli_judge_text(const char *kernel, const struct tcb_judge_options *options, const struct tcb_ruling *verdict,
		    struct tcb_str *out);
/* NULL: out of memory. */
json_t *cli_judge_json(const char *kernel, const struct tcb_judge_options *options, const struct tcb_ruling *verdict);

#endif
