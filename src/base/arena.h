/* SPDX-License-Identifier: MIT
 *
 * Bump allocator: many small objects of one lifetime, freed at once.  Memory
 * comes zeroed, aligned to 16 bytes, in chunks that double up to a bound; a
 * request larger than a chunk gets its own.  A zeroed struct is an empty arena.
 */
#ifndef TCB_BASE_ARENA_H
#define TCB_BASE_ARENA_H

#include <stddef.h>

struct tcb_arena {
	struct tcb_arena_chunk *chunk; /* the one being filled; it links to the full ones */
	size_t bytes;                  /* handed out, padding included */
	int failed;                    /* an allocation returned NULL */
};

/* BYTES zeroed bytes (at least one), or NULL when memory is exhausted. */
void *tcb_arena_alloc(struct tcb_arena *arena, size_t bytes);
/* COUNT elements of SIZE bytes; NULL also when the product overflows. */
void *tcb_arena_array(struct tcb_arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of LENGTH bytes of TEXT. */
char *tcb_arena_text(struct tcb_arena *arena, const char *text, size_t length);
char *tcb_arena_textf(struct tcb_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A copy of the COUNT elements of OLD with room for CAPACITY; OLD stays where it is until the arena goes. */
void *tcb_arena_regrow(struct tcb_arena *arena, const void *old, size_t count, size_t capacity, size_t size);
/* Frees everything; the arena is empty and usable again. */
void tcb_arena_fini(struct tcb_arena *arena);

#endif
