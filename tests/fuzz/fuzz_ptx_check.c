/* SPDX-License-Identifier: MIT
 *
 * Any text through all of `tcbtune ptx check` but the assembler, and what is
 * legal through the optimiser: parse, verify, analyse, execute, predict, optimise.  It
 * ends, every finding has a message and, where the text has an instruction to
 * blame, its line; what was legal is so after each pass, and as text again.
 */
#include <string.h>

#include "fuzz.h"
#include "ptx/analyse/check.h"
#include "ptx/analyse/legality.h"
#include "ptx/optimise/passes.h"
#include "ptx/run/certain.h"
#include "ptx/text/text.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed);

/* --- mutations that keep most of it PTX: whole lines, and numbers within them --- */

struct span {
	size_t from, to; /* with its newline */
};

static struct span line_at(const uint8_t *data, size_t bytes, size_t at)
{
	struct span span = { at, at };

	while (span.from && data[span.from - 1] != '\n')
		span.from--;
	while (span.to < bytes && data[span.to++] != '\n')
		;
	return span;
}

/* The line FROM moved, or copied, to before the line TO. */
static size_t carry(uint8_t *data, size_t bytes, size_t capacity, struct span from, struct span to, int is_copy)
{
	size_t length = from.to - from.from;
	uint8_t *line = malloc(length + 1);

	if (!line || bytes + length > capacity) {
		free(line);
		return bytes;
	}
	memcpy(line, data + from.from, length);
	memmove(data + to.from + length, data + to.from, bytes - to.from);
	memcpy(data + to.from, line, length);
	bytes += length;
	if (!is_copy) {
		size_t at = from.from >= to.from ? from.from + length : from.from;
		memmove(data + at, data + at + length, bytes - at - length);
		bytes -= length;
	}
	free(line);
	return bytes;
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
	uint64_t state = seed;
	unsigned rounds = 1 + (unsigned)(next(&state) % 3);

#ifdef FUZZ_WITH_LIBFUZZER
	if (next(&state) % 4 == 0)
		return LLVMFuzzerMutate(data, bytes, capacity);
#endif
	for (unsigned i = 0; i < rounds && bytes; i++) {
		struct span a = line_at(data, bytes, next(&state) % bytes),
			    b = line_at(data, bytes, next(&state) % bytes);
		unsigned what = (unsigned)(next(&state) % 6);
		if (what == 0) {
			memmove(data + a.from, data + a.to, bytes - a.to);
			bytes -= a.to - a.from;
		} else if (what < 3) {
			bytes = carry(data, bytes, capacity, a, b, what == 1);
		} else {
			/* another digit: a register, an immediate, a width */
			size_t digits = 0;
			for (size_t at = a.from; at < a.to; at++)
				digits += data[at] >= '0' && data[at] <= '9';
			size_t chosen = digits ? next(&state) % digits : 0;
			for (size_t at = a.from; at < a.to && digits; at++)
				if (data[at] >= '0' && data[at] <= '9' && chosen-- == 0)
					data[at] = (uint8_t)('0' + next(&state) % 10);
		}
	}
	return bytes;
}

/* --- the target --- */

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	uint32_t lines = *(const uint32_t *)ctx;

	FUZZ_CHECK(finding->rule < TCB_PTX_RULE_COUNT);
	FUZZ_CHECK(finding->message[0]);
	FUZZ_CHECK(!finding->ins || finding->line);
	FUZZ_CHECK(finding->line <= lines);
}

static void check(struct tcb_ptx_module *module, uint32_t lines, const uint32_t block[3])
{
	const struct tcb_ptx_sink sink = { see, &lines };
	const struct tcb_ptx_check_launch launch = { .block = { block[0], block[1], block[2] } };
	const struct tcb_ptx_check_options options = { .launches = &launch, .launch_count = 1 };
	struct tcb_ptx_check_report report;
	struct tcb_error err = { TCB_OK, "" };

	if (tcb_ptx_check(module, &options, &sink, &report, &err) != TCB_OK)
		FUZZ_CHECK(err.message[0]);
	else
		FUZZ_CHECK(tcb_ptx_certain(&report, &sink, &err) == TCB_OK || err.message[0]);
}

static void optimise(struct tcb_ptx_module *module)
{
	const struct tcb_ptx_pipeline_debug debug = { .verify = 1 };
	struct tcb_ptx_module *again;
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_str text = { 0 };

	if (tcb_ptx_verify(module, NULL) != TCB_OK)
		return;
	if (tcb_ptx_optimise(module, NULL, &debug, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		FUZZ_CHECK(!"the optimiser made illegal what was legal");
	}
	tcb_ptx_print(module, &text);
	FUZZ_CHECK(text.data && !text.failed);
	FUZZ_CHECK(tcb_ptx_parse_foreign("again", text.data, text.length, &again, &err) == TCB_OK);
	FUZZ_CHECK(tcb_ptx_verify(again, &err) == TCB_OK);
	tcb_ptx_module_destroy(again);
	tcb_str_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module;
	struct tcb_error err = { TCB_OK, "" };
	uint32_t lines = 1;

	for (size_t i = 0; i < bytes; i++)
		lines += data[i] == '\n';
	if (tcb_ptx_parse_foreign("fuzz", (const char *)data, bytes, &module, &err) != TCB_OK) {
		const char *number = err.message + strlen("fuzz:");
		FUZZ_CHECK(strncmp(err.message, "fuzz:", strlen("fuzz:")) == 0);
		FUZZ_CHECK(strtoul(number, NULL, 10) >= 1 && strtoul(number, NULL, 10) <= lines);
		return 0;
	}
	check(module, lines, (const uint32_t[3]){ 0, 0, 0 });
	check(module, lines, (const uint32_t[3]){ 32, 4, 2 });
	tcb_ptx_module_destroy(module);
	/* Afresh: a module that was checked is not to be printed. */
	FUZZ_CHECK(tcb_ptx_parse_foreign("fuzz", (const char *)data, bytes, &module, &err) == TCB_OK);
	optimise(module);
	tcb_ptx_module_destroy(module);
	return 0;
}
