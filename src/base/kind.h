/* SPDX-License-Identifier: MIT
 *
 * Kinds of devices, a row each.  What the program asks of a kind is a member of
 * its row here, or of its row in the table of the folder that knows the answer
 * (device/place.h, worker/backend.h); nobody compares a target's kind.
 */
#ifndef TCB_BASE_KIND_H
#define TCB_BASE_KIND_H

#include <stddef.h>

#include "base/compute.h"
#include "base/status.h"
#include "base/target.h"
#include "base/util.h"

/* What would have to change of a kernel that a thing binds; and who keeps bytes near. */
struct tcb_kind_advice {
	const char *launch, *compute, *issue, *latency;
	const char *cache; /* "the L2" */
};

/* A member of struct tcb_target that kernels depend on, as databases keep it. */
struct tcb_kind_limit {
	const char *name; /* "sm_count" */
	size_t offset;
	int is_size; /* size_t; else unsigned, of 16 bits at most */
};

/* A word that people type for what is called otherwise, folded: without case, blanks, '_' and '-'. */
struct tcb_alias {
	const char *typed;
	const char *meaning; /* the name that is certainly meant; NULL: it is not certain, or not there */
	const char *advice;  /* what to say then */
};

/* What a block of threads may have, SPEC H5 to H11; 0: no limit is known. */
struct tcb_block_limits {
	size_t shared_bytes, static_bytes; /* static: without asking for it as dynamic */
	unsigned threads, threads_step;    /* their number is a multiple of the step */
	unsigned thread_registers, registers;
	size_t grid[3];
};

struct tcb_kind {
	const char *name; /* "cpu": in databases and JSON */
	enum tcb_target_kind
		side; /* whose side of ops it runs (kernels/op.h): its own, or that of a kind that it is like */
	/* Candidates are functions of this program that share threads of this host: a result is of a number of them,
	 * and what the device has is known on its host alone. */
	int has_threads;
	/* Each candidate's code is written for it, has a signature of its own and is launched as blocks of threads;
	 * counters tell what binds it. */
	int is_emitted;
	int has_passes;            /* that code may be optimised: the knob passes */
	int has_model;             /* a model ranks candidates where no such device is */
	int has_own_limits;        /* devices of one name differ in what they have: results keep it */
	int multiplies_f16;        /* as such, whatever the width of the sums */
	int has_free_calls;        /* calls wait for each other only where they write the same memory */
	enum tcb_level unit;       /* the tile that shapes are padded to: of registers, of a block */
	enum tcb_knob_scope knobs; /* that it has besides those of all */
	const char *counters;      /* the source of hardware counters of its candidates; NULL: there is none */
	struct tcb_kind_advice advice;
	const struct tcb_kind_limit *limits; /* up to one without a name */

	void (*complete)(struct tcb_target *target); /* fills what follows from the limits; NULL: nothing does */
	/* What a block may have, of a kind whose candidates are emitted. */
	void (*block_limits)(const struct tcb_target *target, struct tcb_block_limits *out);
	/* How a person names one of its devices: "cpu:avx2", "cuda:0", "sm_90", "sm_90:KEY". */
	int (*is_asked)(const char *name);
	void (*add_forms)(struct tcb_str *out); /* the same in words, for messages */
	void (*add_names)(struct tcb_str *out); /* such names, a blank before each, that shells complete */
	/* What else people type, up to one without TYPED; NULL: nothing.  And where no list says it, "cuda3" and
	 * "SM 90a": the name that a FOLDED word certainly means, 0: none; NULL: there are none such. */
	const struct tcb_alias *words;
	int (*understand)(const char *folded, char out[TCB_DEVICE_NAME_MAX]);
	/* What is near to FOLDED, which is no name, as "; ..."; NULL: nobody knows. */
	void (*advise)(const char *folded, struct tcb_str *out);
	/* How results name one.  KEY_OUT: behind the colon of a model, "sm_90:KEY", lent; else NULL. */
	int (*is_stored)(const char *name, const char **key_out);
	/* The devices that are known without asking a driver: this host's, or those that are recorded.  Returns how
	 * many, at most CAPACITY. */
	size_t (*known)(struct tcb_device *out, size_t capacity, struct tcb_error *err);
	/* What kernels may use on any device of that stored NAME, recorded or not, as of which results' models differ
	 * by key alone; NULL: that is known on its host alone. */
	void (*describe)(const char *name, struct tcb_target *out);
	/* Fills DEVICE's target by its name, key, architecture and threads; 0: nothing is known of it. */
	int (*recall)(struct tcb_device *device);
	/* The architecture of the recorded devices that stand for TARGET, which is not of a recorded one; 0: it is.
	 * NULL: none are recorded. */
	int (*stand_in)(const struct tcb_target *target, char *out, size_t capacity);
	/* The group of devices that share rules, "sm_90". */
	void (*name_arch)(const struct tcb_target *target, char *out, size_t capacity);
	/* Operations a nanosecond as its maker specifies them, 0: unknown; NULL: no maker does. */
	double (*specified_rate)(const struct tcb_target *target, enum tcb_compute_kind kind);
};

/* kinds.c: by enum tcb_target_kind, the last NULL. */
extern const struct tcb_kind *const tcb_kinds[];
extern const struct tcb_kind tcb_kind_cpu, tcb_kind_cuda, tcb_kind_wgpu, tcb_kind_opencl; /* cpu_kind.c, ... */

static inline const struct tcb_kind *tcb_kind_of(const struct tcb_target *target)
{
	return tcb_kinds[target->kind];
}

/* kind.c */
/* The kind of that name; -1 if there is none. */
int tcb_kind_find(const char *name, enum tcb_target_kind *out);
size_t tcb_kind_limit_of(const struct tcb_target *target, const struct tcb_kind_limit *limit);
/* TARGET's limits as a JSON object; and back, into a target of zeros but for its kind: -1 if LIMITS lacks one. */
void tcb_kind_print_limits(const struct tcb_target *target, struct tcb_str *out);
int tcb_kind_read_limits(const char *limits, struct tcb_target *target);
/* The kind of the device that a person, or a result, names so; NULL if it is of none. */
const struct tcb_kind *tcb_kind_asked(const char *name);
void tcb_kind_add_names(struct tcb_str *out); /* of all kinds, with blanks between them */
const struct tcb_kind *tcb_kind_stored(const char *name, const char **key_out); /* KEY_OUT: nullable */
/* Of "sm_90" and "sm_90:KEY", whose results are those of models: "sm_90", and the key (lent; NULL: any model's).  0:
 * NAME is not so. */
int tcb_kind_split(const char *name, char model_of[TCB_DEVICE_NAME_MAX], const char **key_out);

#endif
