/* SPDX-License-Identifier: MIT
 *
 * A copy of all that a launch may write, so that it can be taken back, or run
 * once more from the same beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate/emu_program.h"

static uint64_t writable_bytes(const struct tcb_ptx_memory *memory)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < memory->region_count; i++)
		bytes += memory->regions[i].permission == TCB_PTX_MAY_WRITE ? memory->regions[i].bytes : 0;
	return bytes;
}

enum direction { KEEP, RESTORE, COMPARE };

/* Between what may be written and BYTES; whether it is equal. */
static int pass_over(struct tcb_ptx_memory *memory, uint8_t *bytes, enum direction direction)
{
	int is_equal = 1;

	for (uint32_t i = 0; i < memory->region_count; i++) {
		const struct tcb_emu_region *region = &memory->regions[i];

		if (region->permission != TCB_PTX_MAY_WRITE)
			continue;
		if (direction == COMPARE)
			is_equal &= memcmp(bytes, region->host, region->bytes) == 0;
		else
			memcpy(direction == KEEP ? bytes : region->host, direction == KEEP ? region->host : bytes,
			       region->bytes);
		bytes += region->bytes;
	}
	return is_equal;
}

uint8_t *tcb_emu_keep(struct tcb_ptx_memory *memory)
{
	uint8_t *kept = malloc(writable_bytes(memory) + 1);

	if (kept)
		pass_over(memory, kept, KEEP);
	return kept;
}

void tcb_emu_restore(struct tcb_ptx_memory *memory, uint8_t *kept)
{
	pass_over(memory, kept, RESTORE);
}

int tcb_emu_is_as_kept(struct tcb_ptx_memory *memory, uint8_t *kept)
{
	return pass_over(memory, kept, COMPARE);
}

int tcb_emu_run_keep(struct tcb_emu_run *run)
{
	if (!run->kept)
		run->kept = tcb_emu_keep(run->memory);
	return run->kept != NULL;
}
