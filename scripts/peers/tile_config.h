/* SPDX-License-Identifier: MIT
 *
 * For -include before all of ggml's files: GCC 12's _tile_loadconfig tells the compiler of 8 of the 64 bytes that it
 * reads, so that what ggml wrote to the others is optimised away and its products on tiles end with a signal.
 */
#ifdef __AMX_TILE__
#include <immintrin.h>

static inline void load_whole_tile_config(const void *config)
{
	__asm__ volatile("ldtilecfg %0" : : "m"(*(const char(*)[64])config));
}
#define _tile_loadconfig load_whole_tile_config
#endif
