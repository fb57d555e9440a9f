/* SPDX-License-Identifier: MIT
 *
 * An image: all winners of one database, as lookups read them.  It is one block
 * without pointers, so that it may lie in memory or be a mapped file (a
 * snapshot, rt_snapshot.c); it is made by rt_build.c and never changed.
 *
 * Behind the header comes the index: names, groups of entries in which near
 * shapes are looked for, and a hash table; then the entries with their texts.
 * The checksum of the header covers the index and is looked at when an image is
 * opened.  Each entry has its own, which is looked at when it is first used, so
 * that opening does not touch them all.  Numbers of ops and devices are those of
 * the image.  No number in it is followed before it is held against the bounds.
 */
#ifndef TCB_RT_IMAGE_H
#define TCB_RT_IMAGE_H

#include <stdint.h>
#include <string.h>

#include "db/db.h"
#include "db/stamp.h"

/* 40 bytes without padding. */
struct rt_key {
	uint32_t op, device;
	uint16_t contract, state;
	uint32_t threads;
	uint64_t m, n, k;
	struct tcb_words words;
};

enum { RT_NONE = UINT32_MAX, RT_IMAGE_FORMAT = TCB_WORDS_FORMAT << 16 | 9, RT_ENTRIES_MAX = 1 << 30, RT_AXES = 4 };

/* Sorted by the key, threads last: the entries of one shape follow each other. */
struct rt_entry {
	struct rt_key key;
	struct tcb_geometry geometry; /* without its list of parameters: rt_entry_geometry */
	struct tcb_interval ns, speedup;
	double plain_ns; /* without dependent launch; 0: unknown */
	uint64_t texts;  /* in the texts: geometry, variant, signature, measured_at, each with a zero behind it */
	uint16_t geometry_length, variant_length, signature_length, measured_length;
	uint8_t modelled, provisional; /* neither: proven */
	uint8_t may_serve;             /* near shapes, as far as its maker saw */
	uint8_t has_next;              /* of the same shape */
	uint8_t other_default : 1;     /* the default that was measured beside it is not today's */
	uint8_t unserved : 7;          /* enum tcb_unserved, but for its kernel: why the default is better */
	uint8_t verdict;               /* enum tcbrt_verdict */
	uint16_t tried;                /* candidates, as far as they can be counted here */
	uint64_t checksum;             /* of all above and of the texts */
};

struct rt_stored_op {
	char name[TCB_OP_NAME_MAX];
};

struct rt_stored_device {
	char name[TCB_DEVICE_NAME_MAX], key[TCB_DEVICE_KEY_MAX], arch[32], model[TCB_DEVICE_TEXT_MAX];
	struct tcb_target measured_on; /* of a GPU */
};

/* Entries of one op, contract, state, number of threads, depth, kind of words and device; those that near shapes may
 * take are points [begin, end), a balanced tree: the middle one parts the others at its axis. */
struct rt_group {
	uint32_t op;
	uint16_t contract, state;
	uint32_t threads, depth, device; /* depth: rt_key_depth */
	uint64_t words;                  /* rt_words_kind of its words */
	uint32_t begin, end;
	uint32_t stored; /* how many entries, points or not */
};

struct rt_point {
	float at[RT_AXES]; /* rt_key_axes */
	float ns;
	uint32_t entry, axis;
};

/* Open addressing, linear probing, at most half full; unused: entry RT_NONE. */
struct rt_slot {
	uint32_t tag;   /* upper half of the hash of the key with threads 0 */
	uint32_t entry; /* the first of its shape */
};

enum rt_section {
	RT_OPS,
	RT_DEVICES,
	RT_GROUPS,
	RT_POINTS,
	RT_SLOTS, /* up to here the index */
	RT_ENTRIES,
	RT_TEXTS,
	RT_REFUSALS, /* struct rt_kept; all zeros in memory */
	RT_SECTION_COUNT
};

/* Of each entry what was found out about a GPU's kernel, which takes milliseconds: RT_FINE or RT_OTHER_KERNEL.  The one
 * section that is written to when it is a file, with a checksum of its own. */
struct rt_kept {
	uint64_t build;    /* of the library that found it out */
	uint64_t checksum; /* of what follows */
	uint8_t refusal[];
};

#define RT_IMAGE_MAGIC "TCBTIMG" /* with its zero 8 bytes */
enum { RT_IMAGE_BYTE_ORDER = 0x01020304 };

struct rt_image_header {
	char magic[8];
	uint32_t format, byte_order;
	uint64_t library; /* what the refusals of its maker depend on: rt_stamp_library() */
	struct tcb_db_stamp database;
	uint64_t bytes;      /* of the whole image */
	uint64_t unreadable; /* rows that the database left out */
	struct {
		uint64_t offset, count;
	} section[RT_SECTION_COUNT];
	uint64_t checksum; /* of the index and of all above */
};

/* An image that was looked over. */
struct rt_image {
	const unsigned char *bytes;
	const struct rt_image_header *header;
	const struct rt_stored_op *ops;
	const struct rt_stored_device *devices;
	const struct rt_group *groups;
	const struct rt_point *points;
	const struct rt_slot *slots;
	const struct rt_entry *entries;
	const char *texts;
	uint32_t op_count, device_count, group_count, point_count, slot_count, entry_count;
	uint64_t text_bytes;
};

/* Bytes of one item of SECTION. */
size_t rt_section_item(enum rt_section section);
/* What the header's should be; the sections must be within BYTES. */
uint64_t rt_image_checksum(const unsigned char *bytes);
uint64_t rt_entry_checksum(const struct rt_entry *entry, const char *texts);
/* 0, and OUT, if BYTES hold an image whose index is sound; the entries are looked at when they are used.  BYTES are
 * aligned to 8. */
int rt_image_open(const unsigned char *bytes, size_t count, struct rt_image *out);
/* Is entry INDEX as it was made, and within bounds? */
int rt_image_entry_is_sound(const struct rt_image *image, uint32_t index);

__extension__ typedef unsigned __int128 rt_product;

static inline uint64_t rt_mix(uint64_t a, uint64_t b)
{
	const rt_product product = (rt_product)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xbf58476d1ce4e5b9));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A number for the words of a shape: 0 for none. */
static inline uint64_t rt_words(const struct tcb_words *words)
{
	enum { COUNT = sizeof(*words) / sizeof(uint64_t) };
	uint64_t part[COUNT], any = 0, hash = 0;

	memcpy(part, words, sizeof(part));
	for (int i = 0; i < COUNT; i++)
		any |= part[i];
	for (int i = 0; any && i < COUNT; i += 2)
		hash ^= rt_mix(part[i] + (uint64_t)i, i + 1 < COUNT ? part[i + 1] : 0);
	return hash;
}

/* The same for all words but those whose numbers are axes: near shapes have as many query heads to a KV head (a tile's
 * rows), and the same pages, window, cap and mask; of mixtures as many experts, however tokens spread over them. */
static inline uint64_t rt_words_kind(const struct tcb_words *words)
{
	struct tcb_words kind = *words;

	if (words->kv)
		kind.query /= words->kv;
	kind.kv = kind.sequences = 0;
	kind.skew = kind.even = kind.one = 0;
	/* A geometry is as fast with them as without. */
	kind.add = kind.bias = kind.eps = kind.apart = kind.gelu = 0;
	kind.x_type = kind.y_type = 0;
	return rt_words(&kind);
}

/* Of shapes with words the size of a head, which near ones have too; else whether there is a k. */
static inline uint32_t rt_key_depth(const struct rt_key *key)
{
	return key->words.query ? (uint32_t)key->k : key->k != 0;
}

static inline struct tcb_shape rt_key_shape(const struct rt_key *key)
{
	return (struct tcb_shape){ (size_t)key->m, (size_t)key->n, (size_t)key->k, key->words };
}

/* Of KEY with OP and DEVICE in place of its own, whatever its threads.  Keys are not copied on their way here: a copy
 * reads several members at once, which right after they were written stalls the processor. */
static inline uint64_t rt_key_hash(const struct rt_key *key, uint32_t op, uint32_t device)
{
	const uint64_t names = (uint64_t)op << 32 | device;
	const uint64_t kinds = (uint64_t)key->contract << 16 | key->state;

	return rt_mix(rt_mix(key->m, key->n), rt_mix(key->k ^ kinds << 32, names)) ^ rt_words(&key->words);
}

/* Is A, whatever its threads, of the shape of B with OP and DEVICE in place of its own? */
static inline int rt_key_is_shape(const struct rt_key *a, const struct rt_key *b, uint32_t op, uint32_t device)
{
	return a->m == b->m && a->n == b->n && a->k == b->k && a->op == op && a->device == device &&
	       a->contract == b->contract && a->state == b->state &&
	       memcmp(&a->words, &b->words, sizeof(a->words)) == 0;
}

/* rt_points.c */
/* Where KEY's shape lies among others: log2 of m, n, k and of the KV heads of all sequences; 0 for what the op has not.
 */
void rt_key_axes(const struct rt_key *key, float at_out[RT_AXES]);
/* Makes a tree of COUNT points. */
void rt_points_build(struct rt_point *points, uint32_t count);
enum { RT_NEAR_LOG2 = 2 }; /* near: each dimension within a factor of 4 */
/* Calls EACH for points of the group that may be near AT: all that are within *FAR, which EACH may lower as it goes. */
void rt_points_near(const struct rt_image *image, const struct rt_group *group, const float at[RT_AXES],
		    const float *far, void (*each)(void *ctx, const struct rt_point *point, float distance), void *ctx);

#endif
