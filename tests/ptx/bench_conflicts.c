/* SPDX-License-Identifier: MIT
 *
 * Prints the table of bank conflicts as Markdown: wavefronts for one read of a
 * tile of 32 rows by one warp, for each pitch, form of the swizzle and walk.
 * "-" where the form does not keep to the tile, or cuts chunks.  Each number is
 * predicted from the kernel and counted by the emulator; where they differ both
 * are shown and the program fails.
 */
#include "conflict_kernel.h"

int main(void)
{
	int differs = 0;
	static const char *const walks[] = { "row, 4 bytes", "column, 4 bytes", "column, 16 bytes" };

	for (int walk = 0; walk < WALK_COUNT; walk++) {
		printf("%s## %s a lane\n\nWavefronts of the worst read; the least is %d.\n\n| pitch |",
		       walk ? "\n" : "", walks[walk], walk == WALK_CHUNKS ? 4 : 1);
		for (int form = 0; form < TCB_SWIZZLE_COUNT; form++)
			printf(" %s |", tcb_knob_word(TCB_KNOB_SWIZZLE, form));
		printf("\n|---|");
		for (int form = 0; form < TCB_SWIZZLE_COUNT; form++)
			printf("---|");
		printf("\n");
		for (uint32_t pitch = 16; pitch <= 256; pitch += 16) {
			printf("| %u |", pitch);
			for (int form = 0; form < TCB_SWIZZLE_COUNT; form++) {
				struct tcb_ptx_tile tile = { (enum tcb_swizzle)form, pitch,
							     walk == WALK_CHUNKS ? 4 : 1 };
				struct tcb_ptx_module *module;
				unsigned worst, emulated, sum;

				if (!conflict_applies(&tile, (enum conflict_walk)walk)) {
					printf(" - |");
					continue;
				}
				module = conflict_kernel(&tile, (enum conflict_walk)walk);
				sum = conflict_predicted(module, &worst);
				differs |= sum != conflict_emulated(module, &emulated);
				if (worst == emulated)
					printf(" %u |", worst);
				else
					printf(" %u, emulated %u |", worst, emulated);
				tcb_ptx_module_destroy(module);
			}
			printf("\n");
		}
	}
	return differs;
}
