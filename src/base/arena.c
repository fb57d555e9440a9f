/* SPDX-License-Identifier: MIT
 *
 * Bump allocation in a chain of chunks.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALIGNMENT = 16,            /* of any object that C17 can hold without over-alignment */
	CHUNK_BYTES_MIN = 1 << 14, /* a small kernel fits one chunk */
	CHUNK_BYTES_MAX = 1 << 20, /* keeps what the last chunk wastes small */
};

struct tcb_arena_chunk {
	struct tcb_arena_chunk *older;
	size_t used, capacity;
	_Alignas(ALIGNMENT) unsigned char data[];
};

/* A new chunk in front of the others that holds at least BYTES. */
static struct tcb_arena_chunk *add_chunk(struct tcb_arena *arena, size_t bytes)
{
	size_t capacity = arena->chunk ? arena->chunk->capacity * 2 : CHUNK_BYTES_MIN;
	struct tcb_arena_chunk *chunk;

	if (capacity > CHUNK_BYTES_MAX)
		capacity = CHUNK_BYTES_MAX;
	if (capacity < bytes)
		capacity = bytes;
	/* calloc rather than malloc: fresh pages are zero already, so only reused memory is cleared. */
	chunk = calloc(1, sizeof *chunk + capacity);
	if (!chunk)
		return NULL;
	chunk->capacity = capacity;
	chunk->older = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *tcb_arena_alloc(struct tcb_arena *arena, size_t bytes)
{
	struct tcb_arena_chunk *chunk = arena->chunk;
	void *block;

	if (bytes > SIZE_MAX / 2) {
		arena->failed = 1;
		return NULL;
	}
	bytes = bytes ? (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
	if (!chunk || chunk->capacity - chunk->used < bytes)
		chunk = add_chunk(arena, bytes);
	if (!chunk) {
		arena->failed = 1;
		return NULL;
	}
	block = chunk->data + chunk->used;
	chunk->used += bytes;
	arena->bytes += bytes;
	return block;
}

void *tcb_arena_array(struct tcb_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX; /* fails below, in one place */
	return tcb_arena_alloc(arena, bytes);
}

char *tcb_arena_text(struct tcb_arena *arena, const char *text, size_t length)
{
	char *copy = tcb_arena_alloc(arena, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

char *tcb_arena_textf(struct tcb_arena *arena, const char *format, ...)
{
	va_list args, again;
	char *text = NULL;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length >= 0)
		text = tcb_arena_alloc(arena, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}

void *tcb_arena_regrow(struct tcb_arena *arena, const void *old, size_t count, size_t capacity, size_t size)
{
	void *grown = tcb_arena_array(arena, capacity, size);

	if (grown && count)
		memcpy(grown, old, count * size);
	return grown;
}

void tcb_arena_fini(struct tcb_arena *arena)
{
	while (arena->chunk) {
		struct tcb_arena_chunk *older = arena->chunk->older;

		free(arena->chunk);
		arena->chunk = older;
	}
	memset(arena, 0, sizeof *arena);
}
