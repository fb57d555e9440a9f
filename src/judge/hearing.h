/* SPDX-License-Identifier: MIT
 *
 * One size of a problem before the judge: the parties that compute it, the values that
 * they get, and how answers are looked at.
 *
 *     tcb_hearing_open(&options, &shape, &verdict, &hearing, err);    compiles, starts all parties
 *     tcb_hearing_begin(hearing, seed);                               from now on values are secret
 *     tcb_hearing_draw(hearing, TCB_VALUES_ANY, slot, err);
 *     tcb_hearing_call(hearing, TCB_SEAT_JUDGED, slots, count, &ns);
 *     tcb_hearing_compare(hearing, slots, count, &charge);
 *     tcb_hearing_close(hearing);
 *
 * Functions return 0, or -1 once the verdict has fallen.
 */
#ifndef TCB_JUDGE_HEARING_H
#define TCB_JUDGE_HEARING_H

#include "judge/party.h"
#include "judge/party_values.h"
#include "judge/ruling.h"

struct tcb_code_image;

struct tcb_hearing {
	const struct tcb_judge_options *options;
	struct tcb_ruling *verdict; /* lent */
	struct tcb_problem problem;
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	const struct tcb_file_argument *argument[TCB_OPERANDS_MAX];
	size_t elements[TCB_OPERANDS_MAX], operand_count;
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	struct tcb_slots slots;
	struct tcb_region inputs;
	struct tcb_party party[TCB_SEAT_COUNT];
	struct tcb_code_image *image[TCB_SEAT_COUNT];
	struct tcb_values_bound tolerance[TCB_OPERANDS_MAX];
	uint64_t poison[TCB_OPERANDS_MAX], key; /* KEY: of the zones */
	struct tcb_rng rng;
	enum tcb_seat standard; /* whose answers others are compared with: who says what is right, or, where that takes
				   long, the rival, once it was found right */
	size_t touched; /* slots that parties look at before the next calls, which may be fewer (party_page.h) */
	int is_timed;   /* calls are a batch in slots 0, 1, ... */
};

/* What it is called if values are wrong. */
struct tcb_charge {
	enum tcb_ruling_kind kind;
	const char *rule, *when; /* "with new values in the same place" */
};

enum tcb_status tcb_hearing_open(const struct tcb_judge_options *options, const struct tcb_shape *shape,
				 struct tcb_ruling *verdict, struct tcb_hearing **out, struct tcb_error *err);
void tcb_hearing_close(struct tcb_hearing *hearing); /* NULL is fine */
void tcb_hearing_begin(struct tcb_hearing *hearing, uint64_t seed);

/* Fresh inputs in SLOT. */
enum tcb_status tcb_hearing_draw(struct tcb_hearing *hearing, enum tcb_values_kind kind, size_t slot,
				 struct tcb_error *err);
/* The inputs of slot FROM in slot TO, too. */
void tcb_hearing_copy(struct tcb_hearing *hearing, size_t from, size_t to);
/* Changes an element of each input of SLOT that is random. */
void tcb_hearing_change(struct tcb_hearing *hearing, size_t slot);

/* Who computes what is right, or what the judged kernel is compared with. */
enum tcb_seat tcb_hearing_rival(const struct tcb_hearing *hearing);
/* Fresh poison in the outputs of COUNT slots of SEAT's, and words around them. */
void tcb_hearing_poison(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count);
/* Calls for COUNT slots, poisoned before; looks at threads, zones and probes.  NS_OUT: of all calls together. */
int tcb_hearing_call(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
		     double *ns_out);
/* Both: poison, then calls. */
int tcb_hearing_run(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
		    double *ns_out);
/* The standard is the rival from now on, if there is one and RIGHT_NS, a call of who says what is right, is long.  The
 * rival was found right before. */
void tcb_hearing_hurry(struct tcb_hearing *hearing, double right_ns);
int tcb_hearing_is_slow(double right_ns);
/* Are SEAT's outputs those of the standard? */
int tcb_hearing_compare(struct tcb_hearing *hearing, enum tcb_seat seat, const uint32_t *slots, size_t count,
			const struct tcb_charge *charge);
/* Where SEAT has output I of SLOT. */
const void *tcb_hearing_output(const struct tcb_hearing *hearing, enum tcb_seat seat, size_t slot, size_t i);

#endif
