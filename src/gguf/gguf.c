/* SPDX-License-Identifier: MIT
 *
 * In: the bytes of a GGUF file of version 2 or 3, mapped or handed over.  Out:
 * tables of its values and tensors that point into those bytes.
 *
 * One cursor walks the header, the values and the tensor table in file order;
 * every read asks the cursor for its bytes first, and sizes are compared by
 * subtraction from what is left, so that no sum can overflow.  A count is
 * believed only if the file is long enough to hold that many of the smallest
 * entries, which bounds the memory by a small multiple of the file's size.
 * Names are sorted once: for lookup, and to refuse duplicates.
 *
 * Format: docs/gguf.md in the ggml repository.
 */
#include "gguf/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	VERSION_MIN = 2,
	VERSION_MAX = 3,
	DEFAULT_ALIGNMENT = 32,
	KEY_BYTES_MAX = 65535, /* the format's limit for keys; taken for tensor names too */
	ARRAY_DEPTH_MAX = 8,   /* nested arrays: the format allows any depth, writers use none */
	VALUE_BYTES_MIN = 8 + 1 + 4 + 1,
	TENSOR_BYTES_MIN = 8 + 1 + 4 + 4 + 8,
	SHOWN_NAME_MAX = 72,
};

struct tcb_gguf {
	void *map; /* NULL when the caller keeps the bytes */
	size_t map_bytes;
	uint32_t version;
	size_t tensor_count, value_count;
	struct tcb_gguf_tensor *tensors;
	struct tcb_gguf_value *values;
	struct tcb_gguf_string **tensor_order, **value_order; /* names sorted; each points into its record */
};

struct cursor {
	const uint8_t *data;
	size_t bytes, at;
	const char *label; /* "PATH: ", or empty */
	int may_lack_data; /* tensors' data may be cut off */
	struct tcb_error *err;
};

/* Numbers as in enum ggml_type.  Holes are types that ggml has removed. */
static const struct tcb_gguf_type ggml_types[] = {
	[0] = { "F32", 1, 4 },         [1] = { "F16", 1, 2 },         [2] = { "Q4_0", 32, 18 },
	[3] = { "Q4_1", 32, 20 },      [6] = { "Q5_0", 32, 22 },      [7] = { "Q5_1", 32, 24 },
	[8] = { "Q8_0", 32, 34 },      [9] = { "Q8_1", 32, 36 },      [10] = { "Q2_K", 256, 84 },
	[11] = { "Q3_K", 256, 110 },   [12] = { "Q4_K", 256, 144 },   [13] = { "Q5_K", 256, 176 },
	[14] = { "Q6_K", 256, 210 },   [15] = { "Q8_K", 256, 292 },   [16] = { "IQ2_XXS", 256, 66 },
	[17] = { "IQ2_XS", 256, 74 },  [18] = { "IQ3_XXS", 256, 98 }, [19] = { "IQ1_S", 256, 50 },
	[20] = { "IQ4_NL", 32, 18 },   [21] = { "IQ3_S", 256, 110 },  [22] = { "IQ2_S", 256, 82 },
	[23] = { "IQ4_XS", 256, 136 }, [24] = { "I8", 1, 1 },         [25] = { "I16", 1, 2 },
	[26] = { "I32", 1, 4 },        [27] = { "I64", 1, 8 },        [28] = { "F64", 1, 8 },
	[29] = { "IQ1_M", 256, 56 },   [30] = { "BF16", 1, 2 },       [34] = { "TQ1_0", 256, 54 },
	[35] = { "TQ2_0", 256, 66 },   [39] = { "MXFP4", 32, 17 },    [40] = { "NVFP4", 64, 36 },
	[41] = { "Q1_0", 128, 18 },
};

/* Bytes of a value of each fixed-size type; 0 for strings and arrays. */
static const uint8_t value_bytes[TCB_GGUF_VALUE_TYPE_COUNT] = {
	[TCB_GGUF_U8] = 1,  [TCB_GGUF_I8] = 1,  [TCB_GGUF_U16] = 2, [TCB_GGUF_I16] = 2,
	[TCB_GGUF_U32] = 4, [TCB_GGUF_I32] = 4, [TCB_GGUF_F32] = 4, [TCB_GGUF_BOOL] = 1,
	[TCB_GGUF_U64] = 8, [TCB_GGUF_I64] = 8, [TCB_GGUF_F64] = 8,
};

const struct tcb_gguf_type *tcb_gguf_type(uint32_t type)
{
	if (type >= sizeof ggml_types / sizeof *ggml_types || !ggml_types[type].name)
		return NULL;
	return &ggml_types[type];
}

static uint64_t load_le(const uint8_t *from, size_t bytes)
{
	uint64_t value = 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

/* A name for messages: one line whatever the file says, shortened. */
static const char *shown(const struct tcb_gguf_string *name, char out[SHOWN_NAME_MAX])
{
	size_t length = name->length < SHOWN_NAME_MAX - 1 ? name->length : SHOWN_NAME_MAX - 4;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name->data[i];
		out[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
	}
	strcpy(out + length, length < name->length ? "..." : "");
	return out;
}

static enum tcb_status truncated(struct cursor *c, uint64_t need, const char *what)
{
	return tcb_fail(c->err, TCB_E_FORMAT,
			"%struncated or damaged: %s needs %llu bytes at byte %zu, but the file ends at byte %zu "
			"(%llu missing); copy or download it again",
			c->label, what, (unsigned long long)need, c->at, c->bytes,
			(unsigned long long)(need - (c->bytes - c->at)));
}

/* Lends the next NEED bytes. */
static enum tcb_status take(struct cursor *c, uint64_t need, const char *what, const uint8_t **out)
{
	if (need > c->bytes - c->at)
		return truncated(c, need, what);
	*out = c->data + c->at;
	c->at += (size_t)need;
	return TCB_OK;
}

static enum tcb_status take_u32(struct cursor *c, const char *what, uint32_t *out)
{
	const uint8_t *from;
	TCB_TRY(take(c, 4, what, &from));
	*out = (uint32_t)load_le(from, 4);
	return TCB_OK;
}

static enum tcb_status take_u64(struct cursor *c, const char *what, uint64_t *out)
{
	const uint8_t *from;
	TCB_TRY(take(c, 8, what, &from));
	*out = load_le(from, 8);
	return TCB_OK;
}

static enum tcb_status take_string(struct cursor *c, const char *what, struct tcb_gguf_string *out)
{
	uint64_t length;
	const uint8_t *from;
	TCB_TRY(take_u64(c, what, &length));
	TCB_TRY(take(c, length, what, &from));
	out->data = (const char *)from;
	out->length = (size_t)length;
	return TCB_OK;
}

/* Key of a value or name of a tensor. */
static enum tcb_status take_name(struct cursor *c, const char *what, struct tcb_gguf_string *out)
{
	TCB_TRY(take_string(c, what, out));
	if (out->length == 0 || out->length > KEY_BYTES_MAX)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: %s at byte %zu has %zu bytes (1 to %d are legal)",
				c->label, what, c->at - out->length, out->length, KEY_BYTES_MAX);
	return TCB_OK;
}

static enum tcb_status check_bools(struct cursor *c, const uint8_t *from, uint64_t count, const char *what)
{
	for (uint64_t i = 0; i < count; i++)
		if (from[i] > 1)
			return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: %s holds a boolean of value %u at byte %zu",
					c->label, what, from[i], (size_t)(from - c->data) + (size_t)i);
	return TCB_OK;
}

static enum tcb_status skip_items(struct cursor *c, uint32_t type, uint64_t count, int depth, const char *what);

/* Reads an array's type and count, leaves its first element's address in DATA_OUT and steps over the elements. */
static enum tcb_status take_array(struct cursor *c, int depth, const char *what, uint32_t *item_type_out,
				  uint64_t *count_out, const void **data_out)
{
	if (depth > ARRAY_DEPTH_MAX)
		return tcb_fail(c->err, TCB_E_FORMAT, "%s%s nests arrays deeper than %d at byte %zu", c->label, what,
				ARRAY_DEPTH_MAX, c->at);
	TCB_TRY(take_u32(c, what, item_type_out));
	TCB_TRY(take_u64(c, what, count_out));
	*data_out = c->data + c->at;
	return skip_items(c, *item_type_out, *count_out, depth, what);
}

/* Steps over COUNT values of TYPE.  Every element takes bytes of the file, so the time is bounded by its size. */
static enum tcb_status skip_items(struct cursor *c, uint32_t type, uint64_t count, int depth, const char *what)
{
	if (type >= TCB_GGUF_VALUE_TYPE_COUNT)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: %s has value type %u at byte %zu (0 to %d are known)",
				c->label, what, type, c->at, TCB_GGUF_VALUE_TYPE_COUNT - 1);
	if (value_bytes[type]) {
		const uint8_t *from;
		if (count > (c->bytes - c->at) / value_bytes[type])
			return tcb_fail(c->err, TCB_E_FORMAT,
					"%struncated or damaged: %s claims %llu elements of %u bytes at byte %zu, but "
					"the file ends at byte %zu; copy or download it again",
					c->label, what, (unsigned long long)count, value_bytes[type], c->at, c->bytes);
		TCB_TRY(take(c, count * value_bytes[type], what, &from));
		return type == TCB_GGUF_BOOL ? check_bools(c, from, count, what) : TCB_OK;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (type == TCB_GGUF_STRING) {
			struct tcb_gguf_string ignored;
			TCB_TRY(take_string(c, what, &ignored));
		} else {
			uint32_t item_type;
			uint64_t item_count;
			const void *data;
			TCB_TRY(take_array(c, depth + 1, what, &item_type, &item_count, &data));
		}
	}
	return TCB_OK;
}

static enum tcb_status read_value(struct cursor *c, struct tcb_gguf_value *value)
{
	char name[SHOWN_NAME_MAX], what[SHOWN_NAME_MAX + 16] = "a metadata key";
	TCB_TRY(take_name(c, what, &value->key));
	strcpy(what, "the value of ");
	strcat(what, shown(&value->key, name));
	TCB_TRY(take_u32(c, what, &value->type));
	value->data = c->data + c->at;
	value->count = 1;
	if (value->type == TCB_GGUF_ARRAY)
		return take_array(c, 1, what, &value->item_type, &value->count, &value->data);
	return skip_items(c, value->type, 1, 0, what);
}

static int compare_names(const void *a, const void *b)
{
	const struct tcb_gguf_string *x = *(const struct tcb_gguf_string *const *)a;
	const struct tcb_gguf_string *y = *(const struct tcb_gguf_string *const *)b;
	int order = memcmp(x->data, y->data, x->length < y->length ? x->length : y->length);
	return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Sorts the names that start each of COUNT records of STRIDE bytes, and refuses duplicates. */
static enum tcb_status sort_names(struct cursor *c, void *records, size_t stride, size_t count, const char *kind,
				  struct tcb_gguf_string ***out)
{
	struct tcb_gguf_string **order = malloc((count + 1) * sizeof *order);
	if (!order)
		return tcb_fail(c->err, TCB_E_NOMEM, "%sno memory for %zu %s names", c->label, count, kind);
	for (size_t i = 0; i < count; i++)
		order[i] = (struct tcb_gguf_string *)((char *)records + i * stride);
	qsort(order, count, sizeof *order, compare_names);
	*out = order;
	for (size_t i = 1; i < count; i++) {
		char name[SHOWN_NAME_MAX];
		if (compare_names(&order[i - 1], &order[i]) == 0)
			return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: the %s '%s' occurs twice", c->label, kind,
					shown(order[i], name));
	}
	return TCB_OK;
}

_Static_assert(offsetof(struct tcb_gguf_tensor, name) == 0 && offsetof(struct tcb_gguf_value, key) == 0,
	       "the sorted names stand for their records");

/* The record called NAME, or NULL. */
static struct tcb_gguf_string *find_name(struct tcb_gguf_string **order, size_t count, const char *name)
{
	struct tcb_gguf_string wanted = { name, strlen(name) }, *key = &wanted;
	struct tcb_gguf_string **hit = bsearch(&key, order, count, sizeof *order, compare_names);
	return hit ? *hit : NULL;
}

static enum tcb_status check_count(struct cursor *c, uint64_t count, size_t entry_bytes, const char *what)
{
	if (count > (c->bytes - c->at) / entry_bytes)
		return tcb_fail(c->err, TCB_E_FORMAT,
				"%struncated or damaged: the header claims %llu %s, more than fit in the file's %zu "
				"bytes; copy or download it again",
				c->label, (unsigned long long)count, what, c->bytes);
	return TCB_OK;
}

/* Magic, version and counts. */
static enum tcb_status read_header(struct cursor *c, struct tcb_gguf *g)
{
	static const uint8_t magic[4] = { 'G', 'G', 'U', 'F' }, swapped[4] = { 'F', 'U', 'G', 'G' };
	const uint8_t *from;
	size_t seen = c->bytes < sizeof magic ? c->bytes : sizeof magic;
	uint64_t tensors, values;

	if (c->bytes == 0)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sthe file is empty, not a GGUF file", c->label);
	int is_swapped = seen == sizeof magic && memcmp(c->data, swapped, sizeof magic) == 0;
	if (!is_swapped && memcmp(c->data, magic, seen) != 0)
		return tcb_fail(c->err, TCB_E_FORMAT,
				"%snot a GGUF file (it does not start with \"GGUF\"); give a .gguf model file",
				c->label);
	TCB_TRY(take(c, sizeof magic, "the magic number", &from));
	TCB_TRY(take_u32(c, "the version", &g->version));
	/* A big-endian writer puts the low byte of a small version last. */
	if (is_swapped || ((g->version & 0xffff) == 0 && g->version != 0))
		return tcb_fail(c->err, TCB_E_FORMAT,
				"%swritten on a big-endian machine; convert with gguf-convert-endian FILE little",
				c->label);
	if (g->version < VERSION_MIN || g->version > VERSION_MAX)
		return tcb_fail(c->err, TCB_E_VERSION, "%sGGUF version %u is not supported (2 and 3 are); %s", c->label,
				g->version,
				g->version < VERSION_MIN ? "convert the original model again with a current converter"
							 : "update tcbtune, or write the file as version 3");
	TCB_TRY(take_u64(c, "the tensor count", &tensors));
	TCB_TRY(take_u64(c, "the metadata count", &values));
	TCB_TRY(check_count(c, tensors, TENSOR_BYTES_MIN, "tensors"));
	TCB_TRY(check_count(c, values, VALUE_BYTES_MIN, "metadata values"));
	g->tensor_count = (size_t)tensors;
	g->value_count = (size_t)values;
	g->tensors = calloc(g->tensor_count + 1, sizeof *g->tensors);
	g->values = calloc(g->value_count + 1, sizeof *g->values);
	if (!g->tensors || !g->values)
		return tcb_fail(c->err, TCB_E_NOMEM, "%sno memory for the tables of %zu tensors and %zu values",
				c->label, g->tensor_count, g->value_count);
	return TCB_OK;
}

static enum tcb_status read_alignment(struct cursor *c, const struct tcb_gguf *g, uint32_t *out)
{
	const struct tcb_gguf_value *value = tcb_gguf_find_value(g, "general.alignment");
	*out = DEFAULT_ALIGNMENT;
	if (!value)
		return TCB_OK;
	if (value->type != TCB_GGUF_U32)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: general.alignment has value type %u, not uint32",
				c->label, value->type);
	*out = (uint32_t)load_le(value->data, 4);
	if (*out == 0 || (*out & (*out - 1)) != 0)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: general.alignment is %u, not a power of two",
				c->label, *out);
	return TCB_OK;
}

/* Bytes that the dims of TENSOR take, 0 for an unknown type. */
static enum tcb_status tensor_size(struct cursor *c, struct tcb_gguf_tensor *t, const char *name)
{
	const struct tcb_gguf_type *type = tcb_gguf_type(t->type);
	uint64_t count = 1;

	t->type_name = type ? type->name : "unknown";
	for (unsigned d = 0; d < TCB_GGUF_DIMS_MAX; d++) {
		if (t->dims[d] == 0)
			return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: dimension %u of tensor '%s' is 0", c->label,
					d, name);
		if (__builtin_mul_overflow(count, t->dims[d], &count) || count > INT64_MAX)
			return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: the dimensions of tensor '%s' overflow",
					c->label, name);
	}
	if (!type)
		return TCB_OK;
	if (t->dims[0] % type->block_values)
		return tcb_fail(
			c->err, TCB_E_FORMAT,
			"%sdamaged: tensor '%s' has rows of %llu values, not a multiple of the %u of a %s block",
			c->label, name, (unsigned long long)t->dims[0], type->block_values, type->name);
	if (__builtin_mul_overflow(count / type->block_values, (uint64_t)type->block_bytes, &count) || count > SIZE_MAX)
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: the size of tensor '%s' overflows", c->label, name);
	t->bytes = (size_t)count;
	return TCB_OK;
}

static enum tcb_status read_tensor(struct cursor *c, struct tcb_gguf_tensor *t, uint64_t *offset_out)
{
	char name[SHOWN_NAME_MAX], what[SHOWN_NAME_MAX + 32] = "a tensor name";
	TCB_TRY(take_name(c, what, &t->name));
	strcpy(what, "the description of tensor ");
	strcat(what, shown(&t->name, name));
	TCB_TRY(take_u32(c, what, &t->dim_count));
	if (t->dim_count > TCB_GGUF_DIMS_MAX)
		return tcb_fail(c->err, TCB_E_FORMAT, "%stensor '%s' has %u dimensions; at most %d are supported",
				c->label, name, t->dim_count, TCB_GGUF_DIMS_MAX);
	for (unsigned d = 0; d < TCB_GGUF_DIMS_MAX; d++) {
		t->dims[d] = 1;
		if (d < t->dim_count)
			TCB_TRY(take_u64(c, what, &t->dims[d]));
	}
	TCB_TRY(take_u32(c, what, &t->type));
	TCB_TRY(take_u64(c, what, offset_out));
	return tensor_size(c, t, name);
}

/* Turns the offset of TENSOR, relative to the data section at START, into its address. */
static enum tcb_status place_tensor(struct cursor *c, struct tcb_gguf_tensor *t, uint64_t start, uint32_t alignment,
				    uint64_t offset)
{
	char name[SHOWN_NAME_MAX];
	uint64_t begin, end;
	shown(&t->name, name);
	if (offset % alignment)
		return tcb_fail(
			c->err, TCB_E_FORMAT,
			"%sdamaged: the data of tensor '%s' is at offset %llu, not a multiple of the alignment %u",
			c->label, name, (unsigned long long)offset, alignment);
	if (__builtin_add_overflow(start, offset, &begin) || __builtin_add_overflow(begin, t->bytes, &end))
		return tcb_fail(c->err, TCB_E_FORMAT, "%sdamaged: the data offset %llu of tensor '%s' overflows",
				c->label, (unsigned long long)offset, name);
	if (end > c->bytes && c->may_lack_data)
		return TCB_OK;
	if (end > c->bytes)
		return tcb_fail(c->err, TCB_E_FORMAT,
				"%struncated or damaged: the data of tensor '%s' is bytes %llu to %llu, but the file "
				"ends at byte %zu (%llu missing); copy or download it again",
				c->label, name, (unsigned long long)begin, (unsigned long long)end, c->bytes,
				(unsigned long long)(end - c->bytes));
	t->data = c->data + begin;
	return TCB_OK;
}

static enum tcb_status read_all(struct cursor *c, struct tcb_gguf *g)
{
	enum tcb_status status = TCB_OK;
	uint32_t alignment;
	uint64_t *offsets = NULL;

	TCB_TRY(read_header(c, g));
	for (size_t i = 0; i < g->value_count; i++)
		TCB_TRY(read_value(c, &g->values[i]));
	TCB_TRY(sort_names(c, g->values, sizeof *g->values, g->value_count, "metadata key", &g->value_order));
	TCB_TRY(read_alignment(c, g, &alignment));

	offsets = calloc(g->tensor_count + 1, sizeof *offsets);
	if (!offsets)
		return tcb_fail(c->err, TCB_E_NOMEM, "%sno memory for %zu tensors", c->label, g->tensor_count);
	for (size_t i = 0; i < g->tensor_count && status == TCB_OK; i++)
		status = read_tensor(c, &g->tensors[i], &offsets[i]);
	if (status == TCB_OK)
		status = sort_names(c, g->tensors, sizeof *g->tensors, g->tensor_count, "tensor", &g->tensor_order);
	/* A position in a file and a 32-bit alignment: the sum cannot overflow 64 bits. */
	uint64_t start = ((uint64_t)c->at + alignment - 1) / alignment * alignment;
	for (size_t i = 0; i < g->tensor_count && status == TCB_OK; i++)
		status = place_tensor(c, &g->tensors[i], start, alignment, offsets[i]);
	free(offsets);
	return status;
}

/* Takes over MAP (may be NULL) whether or not it succeeds. */
static enum tcb_status parse(const void *data, size_t bytes, void *map, const char *label, int may_lack_data,
			     struct tcb_gguf **out, struct tcb_error *err)
{
	struct cursor cursor = { data, bytes, 0, label, may_lack_data, err };
	struct tcb_gguf *g = calloc(1, sizeof *g);
	enum tcb_status status;

	*out = NULL;
	if (!g) {
		if (map)
			munmap(map, bytes);
		return tcb_fail(err, TCB_E_NOMEM, "%sno memory", label);
	}
	g->map = map;
	g->map_bytes = bytes;
	status = read_all(&cursor, g);
	if (status != TCB_OK) {
		tcb_gguf_close(g);
		return status;
	}
	*out = g;
	return TCB_OK;
}

enum tcb_status tcb_gguf_parse(const void *data, size_t bytes, struct tcb_gguf **out, struct tcb_error *err)
{
	return parse(data, bytes, NULL, "", 0, out, err);
}

enum tcb_status tcb_gguf_parse_tables(const void *data, size_t bytes, struct tcb_gguf **out, struct tcb_error *err)
{
	return parse(data, bytes, NULL, "", 1, out, err);
}

static enum tcb_status map_and_parse(const char *path, int may_lack_data, struct tcb_gguf **out, struct tcb_error *err)
{
	char label[256];
	struct stat info;
	void *map = NULL;
	size_t length = strlen(path), skip = length > 200 ? length - 200 : 0; /* the end of a path tells most */
	/* A pipe without a writer is not waited for: it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*out = NULL;
	if (fd < 0)
		return tcb_fail(err, TCB_E_IO, "cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &info) != 0) {
		int reason = errno;
		close(fd);
		return tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(reason));
	}
	if (!S_ISREG(info.st_mode)) {
		close(fd);
		return tcb_fail(err, TCB_E_IO, "%s is %s; give a GGUF model file", path,
				S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
	}
	if (info.st_size > 0) {
		map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED) {
			int reason = errno;
			close(fd);
			return tcb_fail(err, TCB_E_IO, "cannot map %s: %s", path, strerror(reason));
		}
	}
	close(fd);
	strcpy(label, skip ? "..." : "");
	strcat(label, path + skip);
	strcat(label, ": ");
	return parse(map, (size_t)info.st_size, map, label, may_lack_data, out, err);
}

enum tcb_status tcb_gguf_open(const char *path, struct tcb_gguf **out, struct tcb_error *err)
{
	return map_and_parse(path, 0, out, err);
}

enum tcb_status tcb_gguf_open_tables(const char *path, struct tcb_gguf **out, struct tcb_error *err)
{
	return map_and_parse(path, 1, out, err);
}

void tcb_gguf_close(struct tcb_gguf *gguf)
{
	if (!gguf)
		return;
	free(gguf->tensor_order);
	free(gguf->value_order);
	free(gguf->tensors);
	free(gguf->values);
	if (gguf->map)
		munmap(gguf->map, gguf->map_bytes);
	free(gguf);
}

uint32_t tcb_gguf_version(const struct tcb_gguf *gguf)
{
	return gguf->version;
}

size_t tcb_gguf_tensor_count(const struct tcb_gguf *gguf)
{
	return gguf->tensor_count;
}

const struct tcb_gguf_tensor *tcb_gguf_tensor(const struct tcb_gguf *gguf, size_t index)
{
	return index < gguf->tensor_count ? &gguf->tensors[index] : NULL;
}

const struct tcb_gguf_tensor *tcb_gguf_find(const struct tcb_gguf *gguf, const char *name)
{
	return (const struct tcb_gguf_tensor *)find_name(gguf->tensor_order, gguf->tensor_count, name);
}

size_t tcb_gguf_value_count(const struct tcb_gguf *gguf)
{
	return gguf->value_count;
}

const struct tcb_gguf_value *tcb_gguf_value(const struct tcb_gguf *gguf, size_t index)
{
	return index < gguf->value_count ? &gguf->values[index] : NULL;
}

const struct tcb_gguf_value *tcb_gguf_find_value(const struct tcb_gguf *gguf, const char *key)
{
	return (const struct tcb_gguf_value *)find_name(gguf->value_order, gguf->value_count, key);
}

struct tcb_gguf_string tcb_gguf_value_string(const struct tcb_gguf_value *value)
{
	if (value->type != TCB_GGUF_STRING)
		return (struct tcb_gguf_string){ NULL, 0 };
	return (struct tcb_gguf_string){ (const char *)value->data + 8, (size_t)load_le(value->data, 8) };
}

int tcb_gguf_value_unsigned(const struct tcb_gguf_value *value, uint64_t *out)
{
	const size_t bytes = value->type < TCB_GGUF_VALUE_TYPE_COUNT ? value_bytes[value->type] : 0;
	const int is_signed = value->type == TCB_GGUF_I8 || value->type == TCB_GGUF_I16 ||
			      value->type == TCB_GGUF_I32 || value->type == TCB_GGUF_I64;

	if (!bytes || value->type == TCB_GGUF_F32 || value->type == TCB_GGUF_F64 || value->type == TCB_GGUF_BOOL)
		return 0;
	*out = load_le(value->data, bytes);
	return !is_signed || *out >> (8 * bytes - 1) == 0;
}

int tcb_gguf_value_number(const struct tcb_gguf_value *value, uint64_t item, double *out)
{
	const uint32_t type = value->type == TCB_GGUF_ARRAY ? value->item_type : value->type;
	const size_t bytes = type < TCB_GGUF_VALUE_TYPE_COUNT ? value_bytes[type] : 0;
	const unsigned unused = 64 - 8 * (unsigned)bytes;
	union {
		uint32_t bits;
		float value;
	} f32;
	union {
		uint64_t bits;
		double value;
	} f64;

	if (!bytes || item >= value->count)
		return 0;
	f64.bits = load_le((const uint8_t *)value->data + item * bytes, bytes);
	f32.bits = (uint32_t)f64.bits;
	if (type == TCB_GGUF_F32 || type == TCB_GGUF_F64)
		*out = type == TCB_GGUF_F32 ? (double)f32.value : f64.value;
	else if (type == TCB_GGUF_I8 || type == TCB_GGUF_I16 || type == TCB_GGUF_I32 || type == TCB_GGUF_I64)
		*out = (double)((int64_t)(f64.bits << unused) >> unused);
	else
		*out = (double)f64.bits;
	return 1;
}

struct tcb_gguf_string tcb_gguf_value_text(const struct tcb_gguf_value *value, uint64_t item)
{
	const uint32_t type = value->type == TCB_GGUF_ARRAY ? value->item_type : value->type;
	const char *at = value->data;

	if (type != TCB_GGUF_STRING || item >= value->count)
		return (struct tcb_gguf_string){ NULL, 0 };
	for (; item > 0; item--)
		at += 8 + load_le((const uint8_t *)at, 8);
	return (struct tcb_gguf_string){ at + 8, (size_t)load_le((const uint8_t *)at, 8) };
}
