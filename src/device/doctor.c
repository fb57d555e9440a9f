/* SPDX-License-Identifier: MIT
 *
 * In: this machine.  Out: one row for each thing that tcbtune can use: whether
 * it is there, what was found, and what to do if it is not.  What there may be,
 * each kind of device says.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/kind.h"
#include "device/doctor_private.h"

void tcb_doctor_found(struct tcb_doctor_row *row, enum tcb_doctor_state state, const char *format, ...)
{
	va_list arguments;
	row->state = state;
	va_start(arguments, format);
	vsnprintf(row->found, sizeof row->found, format, arguments);
	va_end(arguments);
}

void tcb_doctor_advise(struct tcb_doctor_row *row, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(row->advice, sizeof row->advice, format, arguments);
	va_end(arguments);
}

size_t tcb_doctor_in(const char *root, struct tcb_doctor_row *out, size_t capacity)
{
	size_t count = 0;

	for (size_t kind = 0; tcb_kinds[kind]; kind++) {
		const struct tcb_doctor_check *check = tcb_device_kinds[kind]->checks;

		for (; check && check->what && count < capacity; check++) {
			out[count] = (struct tcb_doctor_row){ .what = check->what };
			check->look(root, &out[count++]);
		}
	}
	return count;
}

size_t tcb_doctor(struct tcb_doctor_row *out, size_t capacity)
{
	return tcb_doctor_in("", out, capacity);
}
