/* SPDX-License-Identifier: MIT
 *
 * What is known about one candidate after it was tried: the record that the
 * search hands to its sink and that the database stores (SPEC sections 7, 8).
 */
#ifndef TCB_BASE_TRIAL_H
#define TCB_BASE_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/problem.h"

/*
 * X(id, text): how a trial ended.  All but OK are data about the candidate, not errors of the tuner.  TOO_SLOW is no
 * failure: the candidate was right on small shapes, and predicted by them to be so slow that it was not run on the
 * problem itself; another sweep may try it again.
 */
#define TCB_OUTCOME_LIST(X)                 \
	X(OK, "ok")                         \
	X(WRONG, "wrong")                   \
	X(COMPILE_FAILED, "compile_failed") \
	X(LAUNCH_FAILED, "launch_failed")   \
	X(CRASHED, "crashed") X(TIMEOUT, "timeout") X(TOO_SLOW, "too_slow") X(SPILLED, "spilled")
enum tcb_outcome {
#define TCB_OUTCOME_ENUM(id, text) TCB_OUTCOME_##id,
	TCB_OUTCOME_LIST(TCB_OUTCOME_ENUM)
#undef TCB_OUTCOME_ENUM
		TCB_OUTCOME_COUNT
};

enum tcb_stage { TCB_STAGE_SCREEN, TCB_STAGE_FINAL, TCB_STAGE_COUNT }; /* "screen", "final" */

/* How far a result may be from the reference (SPEC section 4). */
enum tcb_class { TCB_CLASS_EXACT, TCB_CLASS_BOUNDED, TCB_CLASS_APPROX, TCB_CLASS_COUNT };

enum { TCB_SIGNATURE_MAX = 33, TCB_VARIANT_NAME_MAX = 64, TCB_COUNTER_NAME_MAX = 96, TCB_COUNTER_SOURCE_MAX = 16 };

/* A median with its distribution-free 95 % interval, in nanoseconds. */
struct tcb_interval {
	double median, lo, hi;
};

/* The samples of one candidate in one cache state.  SAMPLES is lent by whoever hands the record out. */
struct tcb_measurement {
	enum tcb_state state;
	enum tcb_stage stage;
	struct tcb_interval ns;
	size_t sample_count;
	const double *samples; /* nanoseconds of single calls, in the order taken */
	/* [sample]: the share of the time around it in which a thread waited for a processor that others had, 0 to 1;
	 * NaN: unknown.  NULL: of none of them. */
	const double *lost;
	int dropped_early; /* sampling stopped because the candidate had certainly lost */
	double anchor_ns;  /* of one read back: the default geometry's time in the same sweep; 0: unknown */
};

struct tcb_counter {
	char name[TCB_COUNTER_NAME_MAX];
	char source[TCB_COUNTER_SOURCE_MAX]; /* "papi", "perf-software", "cupti", "nvml", "emulated", "assembler" */
	enum tcb_state state;
	double value; /* per kernel call */
};

struct tcb_trial {
	struct tcb_geometry geometry;
	char variant[TCB_VARIANT_NAME_MAX];
	char signature[TCB_SIGNATURE_MAX]; /* of its kernel (kernels/signature.h) */
	enum tcb_outcome outcome;
	char message[256]; /* why, where the outcome is not ok */
	enum tcb_class class_checked;
	double error_ratio; /* largest |error| / allowed error over all outputs checked; 0 for EXACT */
	double pack_ns;     /* cost of repacking the weights once, 0 for native layouts */
	double prepare_ns;  /* what the trial took besides: its kernel written, compiled and loaded; NaN: unknown */
	double verify_ns;   /* ... and held against the reference; NaN: unknown */
	size_t measurement_count;
	const struct tcb_measurement *measurements;
	size_t counter_count;
	const struct tcb_counter *counters;
};

const char *tcb_outcome_text(enum tcb_outcome outcome);
enum tcb_status tcb_outcome_parse(const char *text, enum tcb_outcome *out, struct tcb_error *err);
const char *tcb_stage_text(enum tcb_stage stage);
const char *tcb_class_text(enum tcb_class class); /* "exact", "bounded", "approx" */

#endif
