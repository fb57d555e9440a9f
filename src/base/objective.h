/* SPDX-License-Identifier: MIT
 *
 * What a sweep is for: the least time, the least energy, or the least of both multiplied.
 */
#ifndef TCB_BASE_OBJECTIVE_H
#define TCB_BASE_OBJECTIVE_H

#define TCB_OBJECTIVE_LIST(X) X(TIME, "time") X(ENERGY, "energy") X(EDP, "edp")
enum tcb_objective {
#define TCB_OBJECTIVE_ENUM(id, text) TCB_OBJECTIVE_##id,
	TCB_OBJECTIVE_LIST(TCB_OBJECTIVE_ENUM)
#undef TCB_OBJECTIVE_ENUM
		TCB_OBJECTIVE_COUNT
};
enum { TCB_OBJECTIVE_TEXT_MAX = 8 };

static inline const char *tcb_objective_text(enum tcb_objective objective)
{
	static const char *const texts[] = {
#define TCB_OBJECTIVE_TEXT(id, text) text,
		TCB_OBJECTIVE_LIST(TCB_OBJECTIVE_TEXT)
#undef TCB_OBJECTIVE_TEXT
	};
	return texts[objective];
}

/* Counters of a candidate's energy, under the meter's name as their source; per call. */
#define TCB_ENERGY_JOULES "joules"      /* the median of a few runs */
#define TCB_ENERGY_LEAST "joules_least" /* of these runs */
#define TCB_ENERGY_MOST "joules_most"
#define TCB_ENERGY_NS "ns_sustained"       /* a call's time in these runs, one call after the other */
#define TCB_ENERGY_WATTS "watts_sustained" /* what was drawn meanwhile */
#define TCB_ENERGY_STEP "meter_step_s"     /* between two steps of the meter, whose resolution that is */

#endif
