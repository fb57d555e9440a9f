/* SPDX-License-Identifier: MIT
 *
 * In: settled findings.  Out: the rows of a baseline, by which --baseline knows
 * them again; what people need to see what a row is about is in it too.
 */
#include "cli/ptx/ptx_policy.h"

void ptx_baseline_add(json_t *rows, const struct ptx_findings *f, int *failed)
{
	for (size_t i = 0; i < f->item_count + f->assumed_count; i++) {
		const struct ptx_finding *one = &f->items[i];
		json_t *row;

		if ((one->state != PTX_COUNTED && one->state != PTX_KNOWN) || one->rule == TCB_PTX_RULE_BLOCK_ASSUMED)
			continue;
		row = json_object();
		cli_json_set(row, "fingerprint", json_string(one->fingerprint), failed);
		cli_json_set(row, "file", cli_json_text(f->file), failed);
		cli_json_set(row, "rule", json_string(tcb_ptx_rule_name(one->rule)), failed);
		cli_json_set(row, "function", one->function ? cli_json_text(one->function) : json_null(), failed);
		cli_json_set(row, "message", cli_json_text(one->message), failed);
		cli_json_add(rows, row, failed);
	}
}
