/* SPDX-License-Identifier: MIT
 *
 * Reductions that bulk copies make on their way, element by element.
 */
#include <string.h>

#include "ptx/emulate/emu_bulk.h"
#include "ptx/emulate/emu_float.h"

static uint64_t reduce_float(enum tcb_ptx_word type, enum tcb_ptx_word op, uint64_t a, uint64_t b)
{
	double x = tcb_ptx_float_widen(type, a), y = tcb_ptx_float_widen(type, b);

	if (op == TCB_PTX_ADD)
		return tcb_ptx_float_narrow(type, x + y, TCB_PTX_RN, 0); /* f32: exact enough to round once */
	if (x != x)
		return b;
	if (y != y)
		return a;
	return (op == TCB_PTX_MIN) == (x < y) ? a : b;
}

static uint64_t reduce(enum tcb_ptx_word type, enum tcb_ptx_word op, uint64_t a, uint64_t b)
{
	unsigned bits = tcb_ptx_type_bits(type);
	int64_t x = (int64_t)(a << (64 - bits)), y = (int64_t)(b << (64 - bits));
	int is_signed = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
	int is_float = tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || type == TCB_PTX_BF16;

	switch (op) {
	case TCB_PTX_AND:
		return a & b;
	case TCB_PTX_OR:
		return a | b;
	case TCB_PTX_XOR:
		return a ^ b;
	case TCB_PTX_INC:
		return a >= b ? 0 : a + 1;
	case TCB_PTX_DEC:
		return a == 0 || a > b ? b : a - 1;
	default:
		break;
	}
	if (is_float)
		return reduce_float(type, op, a, b);
	if (op == TCB_PTX_ADD)
		return a + b;
	if (is_signed)
		return (op == TCB_PTX_MIN) == (x < y) ? a : b;
	return (op == TCB_PTX_MIN) == (a < b) ? a : b;
}

void tcb_emu_bulk_reduce(uint8_t *to, const uint8_t *from, uint32_t bytes, enum tcb_ptx_word type, enum tcb_ptx_word op)
{
	unsigned each = tcb_ptx_type_bits(type) / 8;

	for (uint32_t i = 0; i + each <= bytes; i += each) {
		uint64_t a = 0, b = 0;

		memcpy(&a, to + i, each);
		memcpy(&b, from + i, each);
		a = reduce(type, op, a, b);
		memcpy(to + i, &a, each);
	}
}
