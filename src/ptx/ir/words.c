/* SPDX-License-Identifier: MIT
 *
 * Texts of words, types and special registers, and the way back from a text.
 *
 * The way back is an open-addressing hash filled once; it holds no pointer to
 * anything that could change, so readers need no lock after that.
 */
#include "ptx/ir/words.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	uint8_t bits, class;
} types[TCB_PTX_TYPE_END] = {
#define TYPE_ROW(id, text, bits, class) [TCB_PTX_##id] = { text, bits, TCB_PTX_CLASS_##class },
	TCB_PTX_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

static const struct {
	const char *text;
	uint8_t slot;
} modifiers[TCB_PTX_WGMMA_K8] = {
#define MODIFIER_ROW(id, text, slot) [TCB_PTX_##id] = { text, TCB_PTX_SLOT_##slot },
	TCB_PTX_MODIFIER_LIST(MODIFIER_ROW)
#undef MODIFIER_ROW
};

static const struct {
	const char *text;
	enum tcb_ptx_word type;
} specials[TCB_PTX_SPECIAL_COUNT] = {
#define SPECIAL_ROW(id, text, type, version, sm) { text, TCB_PTX_##type },
	TCB_PTX_SPECIAL_LIST(SPECIAL_ROW)
#undef SPECIAL_ROW
};

enum {
	WGMMA_FIRST = TCB_PTX_WGMMA_K8,
	WGMMA_SHAPES = TCB_PTX_WORD_COUNT - TCB_PTX_WGMMA_K8,
	BUCKETS = 1024 /* less than half full: about 200 words, 130 shapes and 100 registers */
};

static const unsigned wgmma_k[] = { 8, 16, 32, 256 };
static char wgmma_text[WGMMA_SHAPES][16];
static uint16_t buckets[BUCKETS]; /* 0, word, or TCB_PTX_WORD_COUNT + special register */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *entry_text(unsigned entry)
{
	if (entry >= TCB_PTX_WORD_COUNT)
		return specials[entry - TCB_PTX_WORD_COUNT].text;
	if (entry >= WGMMA_FIRST)
		return wgmma_text[entry - WGMMA_FIRST];
	return entry < TCB_PTX_TYPE_END ? types[entry].text : modifiers[entry].text;
}

/* FNV-1a */
static unsigned bucket_of(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return (hash ^ hash >> 16) % BUCKETS;
}

static void fill(void)
{
	for (unsigned i = 0; i < WGMMA_SHAPES; i++)
		snprintf(wgmma_text[i], sizeof wgmma_text[i], "m64n%uk%u", i % 32 * 8 + 8, wgmma_k[i / 32]);
	for (unsigned entry = 1; entry < (unsigned)TCB_PTX_WORD_COUNT + TCB_PTX_SPECIAL_COUNT; entry++) {
		const char *text = entry_text(entry);
		unsigned bucket = bucket_of(text, strlen(text));

		while (buckets[bucket])
			bucket = (bucket + 1) % BUCKETS;
		buckets[bucket] = (uint16_t)entry;
	}
}

static unsigned find(const char *text, size_t length)
{
	pthread_once(&once, fill);
	for (unsigned bucket = bucket_of(text, length); buckets[bucket]; bucket = (bucket + 1) % BUCKETS) {
		const char *found = entry_text(buckets[bucket]);

		if (strncmp(found, text, length) == 0 && !found[length])
			return buckets[bucket];
	}
	return 0;
}

enum tcb_ptx_word tcb_ptx_word_find(const char *text, size_t length)
{
	unsigned entry = find(text, length);

	return entry < TCB_PTX_WORD_COUNT ? (enum tcb_ptx_word)entry : TCB_PTX_NO_WORD;
}

enum tcb_ptx_special tcb_ptx_special_find(const char *text, size_t length)
{
	unsigned entry = find(text, length);

	return entry >= TCB_PTX_WORD_COUNT ? (enum tcb_ptx_special)(entry - (unsigned)TCB_PTX_WORD_COUNT)
					   : TCB_PTX_SPECIAL_COUNT;
}

const char *tcb_ptx_word_text(enum tcb_ptx_word word)
{
	assert(word > TCB_PTX_NO_WORD && word < TCB_PTX_WORD_COUNT);
	pthread_once(&once, fill);
	return entry_text(word);
}

unsigned tcb_ptx_type_bits(enum tcb_ptx_word type)
{
	return type < TCB_PTX_TYPE_END ? types[type].bits : 0;
}

enum tcb_ptx_class tcb_ptx_type_class(enum tcb_ptx_word type)
{
	return type < TCB_PTX_TYPE_END ? (enum tcb_ptx_class)types[type].class : TCB_PTX_CLASS_NONE;
}

const char *tcb_ptx_special_text(enum tcb_ptx_special special)
{
	assert(special < TCB_PTX_SPECIAL_COUNT);
	return specials[special].text;
}

enum tcb_ptx_word tcb_ptx_special_type(enum tcb_ptx_special special)
{
	assert(special < TCB_PTX_SPECIAL_COUNT);
	return specials[special].type;
}

void tcb_ptx_shape(enum tcb_ptx_word word, unsigned *m, unsigned *n, unsigned *k)
{
	const char *text = word > TCB_PTX_NO_WORD ? tcb_ptx_word_text(word) : "";

	*m = *n = *k = 0;
	if (sscanf(text, "m%un%uk%u", m, n, k) < 2)
		*m = *n = 0;
}

enum tcb_ptx_slot tcb_ptx_word_slot(enum tcb_ptx_word word)
{
	if (word == TCB_PTX_NO_WORD || (unsigned)word >= TCB_PTX_WORD_COUNT)
		return TCB_PTX_SLOT_COUNT;
	if (word < TCB_PTX_TYPE_END)
		return TCB_PTX_SLOT_TYPE;
	return (unsigned)word < WGMMA_FIRST ? (enum tcb_ptx_slot)modifiers[word].slot : TCB_PTX_SLOT_SHAPE;
}

int tcb_ptx_special_varies(enum tcb_ptx_special special)
{
	return special == TCB_PTX_SR_WARPID || special == TCB_PTX_SR_SMID ||
	       (special >= TCB_PTX_SR_CLOCK && special <= TCB_PTX_SR_GLOBALTIMER_HI);
}
