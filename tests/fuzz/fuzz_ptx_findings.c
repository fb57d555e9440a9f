/* SPDX-License-Identifier: MIT
 *
 * Any text as `tcbtune ptx check` reports on it: parsed with its source lines
 * and comments, its findings gathered, settled and printed in all four formats.
 * It ends; each finding has a fingerprint of its own, its lines ascend, and the
 * counts are those of what is printed.
 */
#include <string.h>

#include "cli/core/cli.h"
#include "cli/ptx/ptx_policy.h"
#include "fuzz.h"
#include "ptx/analyse/legality.h"
#include "ptx/text/text.h"

/* Of what the command line shares with findings only suggestions are needed; they have no marks. */
void cli_add_text(struct tcb_str *out, const char *text)
{
	tcb_str_add(out, text);
}

static void judge(const struct ptx_findings *f)
{
	unsigned count[3] = { 0 };

	for (size_t i = 0; i < f->item_count + f->assumed_count; i++) {
		const struct ptx_finding *one = &f->items[i];

		FUZZ_CHECK(one->count >= 1 && one->message && one->fingerprint[0]);
		FUZZ_CHECK(one->line_count <= one->count);
		for (size_t k = 1; k < one->line_count; k++)
			FUZZ_CHECK(one->lines[k - 1] < one->lines[k]);
		for (size_t k = i > 100 ? i - 100 : 0; k < i; k++)
			FUZZ_CHECK(strcmp(f->items[k].fingerprint, one->fingerprint) != 0);
		if (i < f->item_count && one->state == PTX_COUNTED)
			count[one->severity]++;
	}
	FUZZ_CHECK(memcmp(count, f->count, sizeof count) == 0);
}

static void print(const struct ptx_findings *f)
{
	struct tcb_str text = { 0 }, gcc = { 0 };
	json_t *root = json_object(), *log;
	int failed = 0;

	ptx_findings_text(f, 80, &text);
	ptx_findings_gcc(f, &gcc);
	ptx_findings_json(f, root, &failed);
	log = ptx_sarif_start(&failed);
	ptx_sarif_add(log, f, &failed);
	FUZZ_CHECK(!failed && !text.failed && !gcc.failed);
	FUZZ_CHECK(json_array_size(json_object_get(root, "findings")) == f->item_count);
	json_decref(root);
	json_decref(log);
	tcb_str_fini(&text);
	tcb_str_fini(&gcc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module = NULL;
	struct tcb_error err;
	struct ptx_findings findings;
	struct tcb_ptx_sink sink;

	ptx_findings_init(&findings, "dir/fuzz.ptx", (const char *)data, bytes, NULL);
	sink = ptx_findings_sink(&findings);
	if (tcb_ptx_parse("fuzz.ptx", (const char *)data, bytes, &module, &err) == TCB_OK) {
		findings.module = module;
		tcb_ptx_verify_each(module, &sink);
		for (struct tcb_ptx_function *function = module->functions; function; function = function->next)
			for (struct tcb_ptx_block *block = function->first; block; block = block->next)
				tcb_ptx_report(&sink, TCB_PTX_RULE_SHARED_RACE, TCB_PTX_WARNING, function, block->first,
					       "by the access of line %u", block->last ? block->last->line : 1);
	}
	FUZZ_CHECK(ptx_findings_settle(&findings, &err) == TCB_OK);
	judge(&findings);
	print(&findings);
	ptx_findings_fini(&findings);
	if (module)
		tcb_ptx_module_destroy(module);
	return 0;
}
