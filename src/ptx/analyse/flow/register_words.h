/* SPDX-License-Identifier: MIT
 *
 * What the registers of PTX are to the machine, as far as an estimate needs to
 * know: 32-bit words.  Of register_estimate.c only.
 */
#ifndef TCB_PTX_REGISTER_WORDS_H
#define TCB_PTX_REGISTER_WORDS_H

#include "ptx/analyse/analyses.h"

enum { TCB_PTX_REG_WORDS = 4 }; /* of the widest type, b128 */

struct tcb_ptx_reg_words {
	uint32_t *word;  /* by register, TCB_PTX_REG_WORDS each: the words that hold it; 0: none is needed */
	uint8_t *weight; /* by word: 1, or 0 where a uniform register holds it */
	uint32_t count;
};

/* Words of a register's type: 0 for a predicate, which has registers of its own. */
unsigned tcb_ptx_reg_width(const struct tcb_ptx_function *function, uint32_t reg);
/* The words of FUNCTION for capability SM; needs tcb_ptx_number.  0 when memory is exhausted. */
int tcb_ptx_reg_words_init(const struct tcb_ptx_function *function, unsigned sm, struct tcb_ptx_reg_words *out);
void tcb_ptx_reg_words_fini(struct tcb_ptx_reg_words *words);

#endif
