/* SPDX-License-Identifier: MIT
 *
 * Findings about one PTX text as `tcbtune ptx` shows them: gathered from the
 * parser, the analyses, the emulator and the assembler, equal ones together,
 * those that somebody has allowed marked, and printed in four formats.
 *
 *     ptx_findings_init(&findings, "kernel.ptx", text, length, NULL);
 *     ... ptx_findings_sink(&findings) ...
 *     ptx_findings_settle(&findings);
 *     ptx_findings_text(&findings, width, &out);
 *     ptx_findings_fini(&findings);
 */
#ifndef TCB_CLI_PTX_FINDINGS_H
#define TCB_CLI_PTX_FINDINGS_H

#include "base/arena.h"
#include "cli/core/emit.h"
#include "ptx/ir/finding.h"

enum ptx_format { PTX_FORMAT_TEXT, PTX_FORMAT_GCC, PTX_FORMAT_JSON, PTX_FORMAT_SARIF };
#define PTX_FORMATS "text|gcc|json|sarif"

/* Why a finding counts, or does not. */
enum ptx_finding_state { PTX_COUNTED, PTX_ALLOWED, PTX_SUPPRESSED, PTX_KNOWN };

/* A place in the source; NULL where the text does not say. */
struct ptx_frame {
	const char *file, *function; /* the function's symbol, of what was inlined */
	uint32_t line, column;
};

/* Another line of the PTX that a message speaks of, and where that comes from. */
struct ptx_mention {
	uint32_t line;
	const struct ptx_frame *frames;
	size_t frame_count;
};

/* An instruction's line. */
struct ptx_line {
	uint32_t line;
	const struct tcb_ptx_source *source;
	const struct tcb_ptx_function *function;
};

enum { PTX_FINGERPRINT_MAX = 32 };

/* One finding, or equal ones of several lines.  It outlives the module. */
struct ptx_finding {
	enum tcb_ptx_rule rule;
	enum tcb_ptx_severity severity;
	enum ptx_finding_state state;
	int assumes_block;
	uint32_t *lines; /* of the PTX text, ascending, without 0; NULL when there are none */
	size_t line_count, line_capacity;
	uint64_t count;                 /* how often it was found: at least the number of lines */
	uint32_t column;                /* of the first line; 0: unknown */
	const char *function;           /* its symbol; NULL: the module */
	const char *instruction;        /* NULL: the function as a whole */
	const char *variable;           /* symbol of what the instruction accesses; NULL: none, or unknown */
	const char *variable_name;      /* what debug sections call it; NULL: they do not */
	const char *message;            /* without the rule's name */
	const struct ptx_frame *frames; /* where the source is, the innermost call first */
	size_t frame_count;
	const struct ptx_mention *mentions;
	size_t mention_count;
	uint64_t key;                          /* what equal ones have in common */
	uint64_t identity;                     /* the same without what changes when the source is edited elsewhere */
	char fingerprint[PTX_FINGERPRINT_MAX]; /* identity, and which of those that share it */
};

struct ptx_policy; /* ptx_policy.h */

struct ptx_findings {
	const char *file, *text; /* lent; TEXT may be NULL */
	size_t length;
	const struct tcb_ptx_module *module; /* of TEXT, for findings that name only a line; lent, NULL: none */
	const struct ptx_policy *policy;
	int in_source; /* gcc's form and SARIF show the source's place first, the PTX's second; set by the command */
	struct tcb_arena arena;
	struct ptx_finding
		*items; /* ITEM_COUNT that stand for themselves, then ASSUMED_COUNT that one of them sums up */
	size_t item_count, assumed_count, capacity;
	uint32_t *buckets; /* 1 + index, by key */
	size_t bucket_count;
	struct ptx_line *lines; /* by line; NULL until they are asked for */
	size_t line_count;
	struct ptx_allowance *allowances; /* by line */
	size_t allowance_count;
	unsigned count[3]; /* those that count, by severity */
	unsigned state[4]; /* by enum ptx_finding_state, those with an assumed block included */
	uint32_t block[3]; /* that was assumed; set by whoever knows */
	int failed;        /* out of memory */
};

/* ptx_collect.c */
/* TEXT: what FILE holds, for columns and for comments that allow a finding; NULL: there is none.  POLICY may be NULL.
 */
void ptx_findings_init(struct ptx_findings *findings, const char *file, const char *text, size_t length,
		       const struct ptx_policy *policy);
void ptx_findings_fini(struct ptx_findings *findings);
struct tcb_ptx_sink ptx_findings_sink(struct ptx_findings *findings);
void ptx_findings_add(struct ptx_findings *findings, const struct tcb_ptx_finding *finding);
/* After the last one: orders, counts and sums up.  TEXT and modules are not needed afterwards. */
enum tcb_status ptx_findings_settle(struct ptx_findings *findings, struct tcb_error *err);

/* ptx_places.c */
/* A copy of TEXT (NULL: NULL) in which what a terminal would obey, and what is no ASCII, is '?'. */
const char *ptx_keep_text(struct ptx_findings *findings, const char *text);
/* The frames and mentions of ONE, which has its message, and its function where only a line is known. */
void ptx_take_places(struct ptx_findings *findings, const struct tcb_ptx_finding *finding, struct ptx_finding *one);

/* ptx_findings_print.c: of settled ones; only those that count, but JSON has all. */
/* As compilers print them, broken at WIDTH columns (0: not). */
void ptx_findings_text(const struct ptx_findings *findings, unsigned width, struct tcb_str *out);
/* "file:line:column: error: message [rule]", and notes. */
void ptx_findings_gcc(const struct ptx_findings *findings, struct tcb_str *out);
/* Sets "findings", "assumed", "errors", "warnings", "advice" and "not_counted" of ROOT. */
void ptx_findings_json(const struct ptx_findings *findings, json_t *root, int *failed);
/* "3 errors, 1 warning, 0 advice; 2 not counted (1 allowed, 1 in the baseline)" */
void ptx_findings_total(const unsigned count[3], const unsigned state[4], struct tcb_str *out);
/* The columns of standard output; 0: it is no terminal. */
unsigned ptx_terminal_width(void);

/* The frame that its author would look at: the innermost one below this folder, else the kernel's own line; NULL: the
 * text says nothing of the source. */
const struct ptx_frame *ptx_author_frame(const struct ptx_finding *finding);

/* ptx_sarif.c: one SARIF 2.1.0 log of several texts. */
json_t *ptx_sarif_start(int *failed);
void ptx_sarif_add(json_t *log, const struct ptx_findings *findings, int *failed);
/* A file that could not be judged at all. */
void ptx_sarif_add_problem(json_t *log, const char *file, const char *message, int *failed);

#endif
