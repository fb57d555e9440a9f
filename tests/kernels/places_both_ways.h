/* SPDX-License-Identifier: MIT
 *
 * A call of layout r16g's kernel, of r16's where nibbles are looked up, or of that of FP8, with VBMI or without it, on
 * a processor that has both families.
 */
#ifndef TCB_TESTS_PLACES_BOTH_WAYS_H
#define TCB_TESTS_PLACES_BOTH_WAYS_H

#include "kernels/quant_matvec/quant_matvec_layout.h"

void places_rows_as(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi);
/* Returns 0 where FORMAT's nibbles are not looked up. */
int nibble_rows_as(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi);
/* Up to four rows; activations by pairs, or as they are. */
void fp8_rows_as(const struct qmv_call *call, int has_vbmi);

#endif
