/* SPDX-License-Identifier: MIT
 *
 * For tests of GPU kernels: geometries written, changed and drawn, and what the
 * rules say to them; an op's kernel run in the emulator, on operands with unmapped
 * space around them, poisoned outputs and a workspace that is zeroed once, and
 * what came out of it; kernels with an instruction changed, which must not pass.
 */
#ifndef TCB_TESTS_GPU_BENCH_H
#define TCB_TESTS_GPU_BENCH_H

#include "cmocka_all.h"

#include "base/util.h"
#include "device/gpu.h"
#include "kernels/space.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

/* One of each kind that kernels are written for. */
enum { GPU_CAPABILITIES = 7 };
extern const unsigned gpu_capabilities[GPU_CAPABILITIES];

/* The recorded GPU of CAPABILITY with SMS multiprocessors (0: its own). */
struct tcb_target gpu_target(unsigned capability, unsigned sms);

struct tcb_problem gpu_problem(const struct tcb_op *op, enum tcb_contract contract, struct tcb_shape shape);

/* --- geometries --- */

struct tcb_geometry gpu_geometry(const char *text);
/* The KEY=VALUE pairs of CHANGES replace those of STANDARD, or come after them. */
struct tcb_geometry gpu_geometry_changed(const char *standard, const char *changes);
/* P's space, of the whole product if WHOLE; the caller destroys it. */
struct tcb_space *gpu_space(const struct tcb_problem *p, const struct tcb_target *target, int whole);
/* One of the whole product, each as likely as the others. */
struct tcb_geometry gpu_geometry_drawn(const struct tcb_problem *p, const struct tcb_target *target,
				       struct tcb_rng *rng);

/* SAYS is in the reason why G is none for P (of the whole product if WHOLE); NULL: G is one. */
void gpu_check_rule(const struct tcb_problem *p, unsigned capability, const struct tcb_geometry *g, int whole,
		    const char *says);
void gpu_check_default(const struct tcb_problem *p, unsigned capability);

/* --- kernels --- */

void gpu_emit(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g,
	      struct tcb_kernel *out);
/* The text is read back alike. */
void gpu_check_text(const struct tcb_kernel *kernel);
/* Barriers, exchanges of lanes, alignment, races in shared memory: nothing to say, without running it. */
void gpu_check_clean(const struct tcb_kernel *kernel);

/* Both, of G's kernel. */
void gpu_check_emitted(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g);

/* How many geometries a test runs: USUAL, or as many as TCB_GPU_SAMPLE says (the slow tests). */
size_t gpu_sample_size(size_t usual);

/* What many runs have come to. */
struct gpu_tally {
	size_t kernels;
	uint64_t threads;
	double worst;
};
void gpu_tally_print(const struct gpu_tally *tally);

/* What is done to instruction number N (from 0) of an opcode of a kernel's last function. */
struct gpu_mutation {
	enum { NOTHING, REMOVE, UNGUARD, MOVE, CONSTANT } how;
	enum tcb_ptx_op op;
	unsigned n;
};

/* A problem with its operands and what is right. */
struct gpu_bench {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	size_t operand_count, outputs; /* outputs: elements of the first */
	int output, weights;           /* the first */
	unsigned output_align; /* 4 unless the test says otherwise: most kernels may be handed part of an array */
	size_t zeros_at;       /* the workspace is zeros from there on between calls; 0: not looked at */
	void *data[TCB_OPERANDS_MAX];
	double *doubles;
	struct tcb_reference reference[TCB_OUTPUTS_MAX];
	char what[80]; /* what is particular, for messages */
	/* of the last run */
	uint64_t findings, threads;
	char message[400]; /* of its first finding */
	float first;       /* element of the first output */
};

/* Types of P's activations and results, where its op has words for them, and strides of their rows, by I. */
void gpu_problem_rows(struct tcb_problem *p, size_t i);

void gpu_bench_open(struct gpu_bench *b, const struct tcb_problem *problem, uint64_t seed);
void gpu_bench_close(struct gpu_bench *b);
/* To be called when a test has changed the operands. */
void gpu_bench_refer(struct gpu_bench *b);

/*
 * Runs G's kernel twice with one workspace, mutated (NULL: as it is); the largest error over what is allowed, or
 * infinity when the runs differ or the emulator found something (see b->findings and b->message).
 */
double gpu_bench_run(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g,
		     const struct gpu_mutation *mutation, uint64_t seed);
/* It must be right; TALLY (may be NULL) counts it. */
void gpu_bench_check(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g, uint64_t seed,
		     struct gpu_tally *tally);
/* The same of P with an output that begins at a multiple of 16 bytes. */
void gpu_check_run(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g,
		   uint64_t seed, struct gpu_tally *tally);
/* It must not be right, but with NOTHING done to it. */
void gpu_bench_check_mutant(struct gpu_bench *b, const struct tcb_target *target, const struct tcb_geometry *g,
			    const struct gpu_mutation *mutation);
/* The same of P with an output that begins at a multiple of 16 bytes; G, of the whole product; WHAT is for messages. */
void gpu_check_mutant(const struct tcb_problem *p, const struct tcb_target *target, const char *g, const char *what,
		      const struct gpu_mutation *mutation);

#endif
