/* SPDX-License-Identifier: MIT
 *
 * Recorded spaces: what became of every candidate of a space when somebody
 * measured it, so that strategies can be run over it as if they measured.
 */
#ifndef TCB_SEARCH_RECORDED_H
#define TCB_SEARCH_RECORDED_H

#include "base/trial.h"
#include "search/starts.h"
#include "search/strategy.h"

struct tcb_recorded {
	char name[128 + TCB_SHAPE_TEXT_MAX];
	struct tcb_lattice lattice;
	size_t valid; /* candidates that did not fail */
	size_t legal; /* candidates of the space at most, recorded or not; 0: unknown */
	int is_open;  /* the file lacks its closing brackets: a recording that was stopped, or that goes on */
	size_t start; /* the default; TCB_ASK_NONE if there is none, or it is unknown */
	size_t starts[TCB_STARTS_MAX], start_count; /* tried after it, before the strategy is asked */
	double *value; /* [index]: the time found, infinite where the candidate failed; owned */
	double *price; /* [index]: what trying it took, any unit but the same for all; owned */
	/* What candidates are called: their geometries, or what a file has; owned. */
	struct tcb_geometry *geometries; /* [index]; NULL: of a file */
	struct tcb_recorded_names {
		size_t fields;
		char **parameter;       /* [field] */
		double *value;          /* [index * fields + field]: a number, or the place of a word */
		unsigned char *is_word; /* the same: which of both */
		char **word;
		size_t word_count;
	} names;
};

/*
 * recorded_file.c: the BYTES of a file of the auto-tuning community, T4 (one object per configuration in "results") or
 * the older cache ("cache", of objects by key).  A file that only lacks its closing brackets is read, and is_open set;
 * one that ends in the middle of a configuration, or of anything else, is refused.  TCB_E_NOT_FOUND for what is
 * neither, TCB_E_FORMAT for what is wrong inside; NAME (copied) is what the space is called, in messages too.
 */
enum tcb_status tcb_recorded_parse(const char *text, size_t bytes, const char *name, struct tcb_recorded *out,
				   struct tcb_error *err);

/* For those who read such files as JSON: the file, repaired; a time in milliseconds, of a VALUE in UNIT (nullable),
 * infinite for what stands for a failure; and what the KEY of a cache's record says of the parameters NAMES. */
struct json_t;
enum tcb_status tcb_recorded_load(const char *text, size_t bytes, const char *name, struct json_t **out, int *is_open,
				  struct tcb_error *err);
double tcb_recorded_time(const struct json_t *value, const char *unit);
struct json_t *tcb_recorded_from_key(const struct json_t *names, const char *key);

/* recorded.c: COUNT trials of one problem, as they were in STATE.  Those that were not measured in it have failed. */
enum tcb_status tcb_recorded_trials(const struct tcb_trial *trials, size_t count, enum tcb_state state,
				    const char *name, struct tcb_recorded *out, struct tcb_error *err);
/* For those who fill a space: room for values and prices of COUNT candidates. */
enum tcb_status tcb_recorded_alloc(struct tcb_recorded *recorded, size_t count, const char *name,
				   struct tcb_error *err);
void tcb_recorded_fini(struct tcb_recorded *recorded);
/* Its candidates by their names; of a space that has none, no fields. */
struct tcb_named_space tcb_recorded_named(const struct tcb_recorded *recorded);

#endif
