/* SPDX-License-Identifier: MIT
 *
 * Kernels of layouts r16g and r16 and of FP8 as processors with VBMI and those without
 * run them, compiled for AVX-512 with VNNI: test_quant_matvec.c compares them.
 */
#include "kernels/places_both_ways.h"

#include "kernels/quant_matvec/quant_matvec_floats.h"
#include "kernels/quant_matvec/quant_matvec_places.h"

#define RUN(id, ...)                   \
	if (format == TCB_FORMAT_##id) \
		places_rows(call, TCB_FORMAT_##id, has_vbmi, QMV_HINT_NONE);
void places_rows_as(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi)
{
	TCB_PLACES_ROWS(RUN)
}

#define RUN_LINES(id, ...)                                                       \
	if (format == TCB_FORMAT_##id && nibble_looks_up(TCB_FORMAT_##id)) {     \
		line_rows_by(call, TCB_FORMAT_##id, 1, has_vbmi, QMV_HINT_NONE); \
		return 1;                                                        \
	}
int nibble_rows_as(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi)
{
	TCB_FORMAT_FIELD_LIST(RUN_LINES)
	return 0;
}

void fp8_rows_as(const struct qmv_call *call, int has_vbmi)
{
	rows_of_values(call, TCB_FORMAT_FP8, FLOAT_ROWS_MAX, has_vbmi, QMV_HINT_NONE);
}
