/* SPDX-License-Identifier: MIT
 *
 * The values of calls: inputs that are drawn, poison in outputs, and whether what stands
 * there afterwards is right.
 */
#ifndef TCB_JUDGE_PARTY_VALUES_H
#define TCB_JUDGE_PARTY_VALUES_H

#include "kernelfile/kernel_file.h"

/* How random inputs are drawn: all within the range that a file's random fill has. */
enum tcb_values_kind {
	TCB_VALUES_ANY,      /* from all of the range, of a scale that each call has for itself */
	TCB_VALUES_SPARSE,   /* most of them small or 0, one of sixteen from all of the range */
	TCB_VALUES_POSITIVE, /* none below zero */
};

/* The values of input ARGUMENT, ELEMENTS of them.  TCB_E_IO: a file of values cannot be read. */
enum tcb_status tcb_values_draw(const struct tcb_file_argument *argument, const struct tcb_value *bound,
				enum tcb_values_kind kind, size_t elements, struct tcb_rng *rng, void *to,
				struct tcb_error *err);
/* Another value for element AT of ARGUMENT, which is drawn. */
void tcb_values_change(const struct tcb_file_argument *argument, size_t at, struct tcb_rng *rng, void *values);

/* Poison for elements of TYPE: NaN, or of whole numbers a word that no kernel knows. */
uint64_t tcb_values_poison(const struct tcb_file_type *type, struct tcb_rng *rng);
void tcb_values_fill(uint64_t word, size_t bytes, void *to);
/* Is the byte range from FIRST on (of a buffer that was filled with WORD) as it was?  BYTES up to 8, of VALUE. */
int tcb_values_is(uint64_t word, size_t first, size_t bytes, uint64_t value);
/* How many of BYTES are still as tcb_values_fill left them. */
size_t tcb_values_left(uint64_t word, const void *values, size_t bytes);

/* By how much an output may miss what is right. */
struct tcb_values_bound {
	double relative, absolute; /* NAN: a share of the root mean square of all (share_of_rms) */
	double share_of_rms, most; /* MOST: never more than this; INFINITY */
	int is_exact;              /* bit by bit */
};
void tcb_values_bound(const struct tcb_file_argument *argument, struct tcb_values_bound *out);

struct tcb_values_miss {
	size_t wrong, first; /* elements; the first of them */
	size_t not_finite;   /* of what should be right */
	double got, right, allowed;
	double worst; /* the largest difference, as a share of what is allowed */
};
/* GOT against RIGHT, ELEMENTS of ARGUMENT's type.  What is not finite is wrong. */
void tcb_values_compare(const struct tcb_file_argument *argument, const struct tcb_values_bound *bound, const void *got,
			const void *right, size_t elements, struct tcb_values_miss *out);

/* How values vary. */
struct tcb_values_spread {
	double mean, deviation, rms;
	size_t not_finite;
};
void tcb_values_spread(const struct tcb_file_argument *argument, const void *const *values, size_t count,
		       size_t elements, struct tcb_values_spread *out);
/* Would ANSWER in every element pass for VALUES? */
int tcb_values_passes(const struct tcb_file_argument *argument, const struct tcb_values_bound *bound, double answer,
		      const void *values, size_t elements);
/* What a number of ARGUMENT's type differs from the next one by, as a share of it. */
double tcb_values_epsilon(const struct tcb_file_argument *argument);

#endif
