/* SPDX-License-Identifier: MIT
 *
 * What two databases say of the same problems: read, joined, judged and
 * printed.  OLD is what NEW is held against.
 */
#ifndef TCB_CLI_COMPARE_H
#define TCB_CLI_COMPARE_H

#include "cli/report/best_rows.h"
#include "db/history.h"

/* Finals that were held for one problem and state: when, and what a tenth of the winner's samples are below, since what
 * disturbs a machine only makes it slower. */
struct cli_session {
	char uid[128], at[32];
	double ns;
};

/* What one database says of one problem in one state. */
struct cli_told {
	struct tcb_best best;
	struct tcb_origin origin;
	struct cli_session *sessions; /* of the origin's build, on the same system; the oldest first */
	size_t session_count;
};

struct cli_told_list {
	struct cli_told *items; /* sorted by problem, device and state */
	size_t count, capacity;
};

/* X(id, text of the table and of JSON). */
#define CLI_COMPARED_LIST(X)      \
	X(SLOWER, "SLOWER")       \
	X(FASTER, "FASTER")       \
	X(SAME, "SAME")           \
	X(UNDECIDED, "UNDECIDED") \
	X(ONLY_OLD, "ONLY OLD")   \
	X(ONLY_NEW, "ONLY NEW")
enum cli_compared {
#define CLI_COMPARED_ENUM(id, text) CLI_COMPARED_##id,
	CLI_COMPARED_LIST(CLI_COMPARED_ENUM)
#undef CLI_COMPARED_ENUM
		CLI_COMPARED_COUNT
};

/* X(id, name, text of a member of struct cli_told): what may differ between the two sides of a row. */
#define CLI_CHANGED_LIST(X)                             \
	X(KERNEL, "kernel", best.signature)             \
	X(GEOMETRY, "geometry", best.geometry)          \
	X(DEFAULT, "default", best.default_geometry)    \
	X(OP, "kernels of the op", origin.op_signature) \
	X(BUILD, "build", origin.git_commit)            \
	X(VERSION, "version", origin.version)           \
	X(COMPILER, "compiler", origin.compiler)        \
	X(DRIVER, "driver", origin.driver)              \
	X(OS, "os", origin.os)
enum cli_changed {
#define CLI_CHANGED_ENUM(id, name, member) CLI_CHANGED_##id,
	CLI_CHANGED_LIST(CLI_CHANGED_ENUM)
#undef CLI_CHANGED_ENUM
		CLI_CHANGED_COUNT
};

enum cli_evidence {
	CLI_EVIDENCE_NONE,   /* the two cannot be compared */
	CLI_EVIDENCE_SINGLE, /* one sweep each, at different times */
	CLI_EVIDENCE_PAIRS   /* finals held in turn */
};

/* Whether OLD's winner had its chance in NEW. */
enum cli_chance { CLI_CHANCE_NONE, CLI_CHANCE_TRIED, CLI_CHANCE_FAILED };

struct cli_row {
	const struct cli_told *old_side, *new_side; /* NULL: that database has none */
	enum cli_chance chance;
	enum cli_evidence evidence;
	size_t pairs;
	double old_ns, new_ns;     /* what is compared: medians, of CLI_EVIDENCE_PAIRS lower quartiles of the finals */
	struct tcb_interval ratio; /* NEW's time over OLD's; of CLI_EVIDENCE_SINGLE with the machine's move taken out */
	enum cli_compared verdict;
	int is_over; /* the slowdown is confirmed to be over what fails */
	char reason[256];
};

struct cli_comparison {
	const char *paths[2]; /* OLD, NEW; lent */
	struct cli_told_list sides[2];
	struct cli_row *rows;
	size_t count;
	double fail_over;     /* as a ratio - 1 */
	double miss;          /* the probability that a row's interval misses */
	size_t judged;        /* rows with an interval */
	size_t pairs_least;   /* that such an interval needs */
	size_t controls;      /* rows of CLI_EVIDENCE_SINGLE whose kernels did not change */
	double machine;       /* their median ratio: how the machine moved; 1 where there are too few of them */
	double default_moved; /* the median ratio of the default geometries' times in those rows; NaN: no such */
	size_t counts[CLI_COMPARED_COUNT];
	size_t over;
	/* A problem that both have, on devices of one name that are not the same; NULL: none. */
	const struct cli_told *stranger[2];
};

const char *cli_compared_text(enum cli_compared verdict);
const char *cli_changed_name(enum cli_changed what);
const char *cli_row_text(const struct cli_told *told, enum cli_changed what); /* what it is there */
/* Whether WHAT differs; 0 where a side is missing, and of the kernel where the geometry, which names it, does. */
int cli_row_changed(const struct cli_row *row, enum cli_changed what);
/* "softmax 1x4096x4096", with the contract where it is not the op's own. */
enum { CLI_ROW_LABEL_MAX = TCB_OP_NAME_MAX + 8 + TCB_SHAPE_TEXT_MAX };
void cli_row_label(const struct tcb_problem *problem, char out[CLI_ROW_LABEL_MAX]);

/* compare_read.c */
struct cli_wanted {
	const struct tcb_registry *ops;
	const char *op, *device, *state; /* NULL: any; DEVICE: a name or a key */
	const struct tcb_shape *shape;
	uint64_t threads; /* 0: any */
};
/* Reads both files and joins them; free with cli_comparison_fini also after a failure. */
enum tcb_status cli_comparison_read(const char *old_path, const char *new_path, const struct cli_wanted *wanted,
				    struct cli_comparison *out, struct tcb_error *err);
void cli_comparison_fini(struct cli_comparison *comparison);

/* compare_judge.c: fills what the rows and the comparison say. */
enum tcb_status cli_comparison_judge(struct cli_comparison *comparison, struct tcb_error *err);

/* compare_print.c */
/* TEXT in lines of at most 80 characters, those after the first indented; in Markdown a bullet. */
void cli_add_note(struct tcb_str *out, enum cli_table_style style, const char *text);
/* ", 2 threads"; nothing for a GPU's 0. */
void cli_threads_text(unsigned threads, char out[CLI_NUMBER_MAX]);
/* Knobs of the geometries A and B that differ: "micro=1x16x64 -> 1x32x64, unroll=1 -> 2". */
void cli_add_knobs(struct tcb_str *out, const char *a, const char *b);
enum tcb_status cli_comparison_table(const struct cli_comparison *comparison, enum cli_table_style style,
				     struct tcb_str *out, struct tcb_error *err);
json_t *cli_comparison_json(const struct cli_comparison *comparison);

#endif
