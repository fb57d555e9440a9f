/* SPDX-License-Identifier: MIT
 *
 * Machine code of GPU candidates, made ahead of need: the op emits it, the
 * assemblers of its language turn its text into machine code in parallel, and what comes out is one piece
 * of memory (an image) that can be sent to the process that runs it.
 *
 * A candidate is compiled at several shapes at once: the problem itself and
 * small odd shapes that it is verified at.  Equal text is assembled once.
 * Where no assembler is found the image holds the text, and the driver assembles.
 */
#ifndef TCB_KERNELS_CODE_H
#define TCB_KERNELS_CODE_H

#include "base/trial.h"
#include "kernels/language.h"
#include "kernels/op.h"
#include "kernels/static_facts.h"
#include "ptx/assemble/assemble.h"

enum { TCB_CODE_UNITS_MAX = 4, TCB_CODE_ENTRY_MAX = 256 /* of C++, mangled */ };

/* A launch as struct tcb_launch, without pointers. */
struct tcb_code_launch {
	char entry[TCB_CODE_ENTRY_MAX];
	uint32_t grid[3], block[3], shared_bytes, argument_count;
	struct tcb_argument argument[TCB_ARGUMENTS_MAX];
	_Alignas(8) unsigned char own[TCB_LAUNCH_OWN_MAX]; /* its language's part */
};

/* The candidate at one shape. */
struct tcb_code_unit {
	struct tcb_shape shape;
	size_t packed_bytes[TCB_OPERANDS_MAX], workspace_bytes;
	double chain, ulps;
	double step_operations; /* of a compute limit (compute_limit.h): in each step; 0 of a candidate */
	uint32_t class, layout, launch_count;
	struct tcb_code_launch launch[TCB_LAUNCHES_MAX];
	size_t offset, bytes; /* of what was assembled (or the text, NUL included) in the image */
};

struct tcb_code_image {
	size_t bytes; /* of the whole image, this included */
	uint32_t unit_count, is_text;
	struct tcb_code_unit unit[TCB_CODE_UNITS_MAX]; /* [0]: the problem itself */
						       /* then the codes */
};

/* What came of one candidate. */
struct tcb_code {
	enum tcb_outcome outcome; /* OK, COMPILE_FAILED, SPILLED, LAUNCH_FAILED (cannot be emitted), TIMEOUT */
	char message[256];
	char signature[TCB_SIGNATURE_MAX];  /* of the kernel at the problem itself (signature.h) */
	struct tcb_ptx_resources resources; /* of its largest launch */
	struct tcb_occupancy occupancy;     /* blocks 0 where unknown */
	struct tcb_static_facts facts;      /* where they are wanted */
	const struct tcb_code_image *image; /* OK only; lent until the next get */
	double seconds;                     /* of assembling */
};

struct tcb_codes;
/* SHAPES_OF fills the shapes (with the geometry as it is there) that a candidate is compiled at beside the problem,
 * at most TCB_CODE_UNITS_MAX - 1; NULL: none. */
struct tcb_codes_setup {
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	unsigned workers;     /* parallel assemblers */
	double seconds_limit; /* a job */
	int allow_spills;     /* else a candidate that spills has the outcome SPILLED */
	int wants_facts;      /* which take milliseconds of each candidate */
	size_t (*shapes_of)(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			    struct tcb_geometry fitted[TCB_CODE_UNITS_MAX]);
};
enum tcb_status tcb_codes_create(const struct tcb_codes_setup *setup, struct tcb_codes **out, struct tcb_error *err);
void tcb_codes_destroy(struct tcb_codes *codes); /* NULL is fine */
/* Who assembles: "nvJitLink 13.0", "ptxas 13.0", "the driver". */
const char *tcb_codes_assembler(const struct tcb_codes *codes);
/* Begins to compile GEOMETRY unless that was done or begun, or the queue is full.  Does not wait for assemblers. */
enum tcb_status tcb_codes_want(struct tcb_codes *codes, const struct tcb_geometry *geometry, struct tcb_error *err);
/* How many candidates it is worth asking for ahead. */
size_t tcb_codes_ahead(const struct tcb_codes *codes);
/* Waits for GEOMETRY's code, no longer than until DEADLINE_NS of tcb_clock_ns: is it there?  Then tcb_codes_get does
 * not wait. */
enum tcb_status tcb_codes_wait(struct tcb_codes *codes, const struct tcb_geometry *geometry, uint64_t deadline_ns,
			       int *is_there_out, struct tcb_error *err);
/* Waits for GEOMETRY's code, lent until the next get.  Old images are let go, and compiled again when needed. */
enum tcb_status tcb_codes_get(struct tcb_codes *codes, const struct tcb_geometry *geometry, const struct tcb_code **out,
			      struct tcb_error *err);
/* An image of COUNT kernels (at most TCB_CODE_UNITS_MAX), a unit each, owned by the caller: free(). */
enum tcb_status tcb_code_compile(const struct tcb_kernel *kernels, size_t count, const struct tcb_target *target,
				 struct tcb_code_image **out, struct tcb_error *err);

/* Of a compute limit (compute_limit.h): its steps, the launch's last argument or rows of its grid, become about STEPS;
 * the operations of a call. */
void tcb_code_set_steps(struct tcb_code_unit *unit, double steps);
double tcb_code_operations(const struct tcb_code_unit *unit);

/* Is IMAGE, of BYTES bytes, whole, of kernels in LANGUAGE?  What another process sent is checked before it is used. */
int tcb_code_image_valid(const struct tcb_language *language, const void *image, size_t bytes);

#endif
