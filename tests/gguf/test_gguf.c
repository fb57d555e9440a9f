/* SPDX-License-Identifier: MIT
 *
 * The reader against a file that ggml wrote (tests/fixtures/README.md) and
 * against files made here: both versions, every truncation, flipped bits, and
 * one file for each rule that a damaged file can break.
 */
#include "gguf/gguf.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "gguf/gguf_writer.h"

#define SAMPLE TCB_FIXTURES "/ggml_sample.gguf"

/* The file is refused with STATUS and a one-line message that holds FRAGMENT. */
static void expect(const struct writer *w, enum tcb_status status, const char *fragment)
{
	struct tcb_gguf *g;
	struct tcb_error err = { TCB_OK, "" };
	/* A copy of the exact size, so that the address sanitizer sees a read past the end. */
	uint8_t *copy = malloc(w->bytes);
	assert_non_null(copy);
	memcpy(copy, w->data, w->bytes);
	assert_int_equal(tcb_gguf_parse(copy, w->bytes, &g, &err), status);
	free(copy);
	assert_null(g);
	if (!strstr(err.message, fragment))
		fail_msg("\"%s\" is not in \"%s\"", fragment, err.message);
	assert_null(strchr(err.message, '\n'));
	assert_int_equal(err.status, status);
}

static struct tcb_gguf *expect_ok(const struct writer *w)
{
	struct tcb_gguf *g;
	struct tcb_error err = { TCB_OK, "" };
	if (tcb_gguf_parse(w->data, w->bytes, &g, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return g;
}

static uint8_t *read_sample(size_t *bytes_out)
{
	FILE *file = fopen(SAMPLE, "rb");
	assert_non_null(file);
	struct stat info;
	assert_int_equal(fstat(fileno(file), &info), 0);
	uint8_t *data = malloc((size_t)info.st_size);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)info.st_size, file), info.st_size);
	fclose(file);
	*bytes_out = (size_t)info.st_size;
	return data;
}

static void test_sample(void **state)
{
	(void)state;
	static const struct {
		const char *name, *type;
		uint64_t k, n;
		size_t bytes;
	} expected[] = {
		{ "blk.0.ffn_down.weight", "Q4_K", 1024, 256, 256 * 4 * 144 },
		{ "blk.0.attn_q.weight", "Q5_K", 512, 65, 65 * 2 * 176 },
		{ "blk.0.attn_v.weight", "Q6_K", 768, 100, 100 * 3 * 210 },
		{ "blk.0.attn_k.weight", "Q8_0", 320, 48, 48 * 10 * 34 },
		{ "blk.0.attn_output.weight", "Q4_0", 288, 96, 96 * 9 * 18 },
		{ "blk.1.ffn_up.weight", "Q4_K", 512, 513, 513 * 2 * 144 },
	};
	struct tcb_gguf *g;
	struct tcb_error err;
	assert_int_equal(tcb_gguf_open(SAMPLE, &g, &err), TCB_OK);
	assert_int_equal(tcb_gguf_version(g), 3);
	assert_int_equal(tcb_gguf_tensor_count(g), 6);
	assert_int_equal(tcb_gguf_value_count(g), 3);
	assert_null(tcb_gguf_tensor(g, 6));
	assert_null(tcb_gguf_value(g, 3));

	const char *first = tcb_gguf_tensor(g, 0)->data;
	for (size_t i = 0; i < 6; i++) {
		const struct tcb_gguf_tensor *t = tcb_gguf_find(g, expected[i].name);
		assert_ptr_equal(t, tcb_gguf_tensor(g, i));
		assert_string_equal(t->type_name, expected[i].type);
		assert_int_equal(t->dim_count, 2);
		assert_int_equal(t->dims[0], expected[i].k);
		assert_int_equal(t->dims[1], expected[i].n);
		assert_int_equal(t->dims[2], 1);
		assert_int_equal(t->dims[3], 1);
		assert_int_equal(t->bytes, expected[i].bytes);
		assert_int_equal((uintptr_t)t->data % 32, 0);
		/* ggml writes the tensors one after the other, each padded to the alignment. */
		assert_ptr_equal(t->data, first);
		first += (t->bytes + 31) / 32 * 32;
	}
	assert_null(tcb_gguf_find(g, "blk.0.ffn_down"));
	assert_null(tcb_gguf_find(g, "blk.0.ffn_down.weight2"));
	assert_null(tcb_gguf_find(g, ""));

	struct tcb_gguf_string text = tcb_gguf_value_string(tcb_gguf_find_value(g, "general.architecture"));
	assert_int_equal(text.length, 5);
	assert_memory_equal(text.data, "llama", 5);
	const struct tcb_gguf_value *count = tcb_gguf_find_value(g, "llama.block_count");
	assert_int_equal(count->type, TCB_GGUF_U32);
	assert_memory_equal(count->data, "\2\0\0\0", 4);
	assert_null(tcb_gguf_value_string(count).data);
	assert_null(tcb_gguf_find_value(g, "general.nothing"));
	tcb_gguf_close(g);
	tcb_gguf_close(NULL);
}

/* Every prefix is refused as truncated, up to the last byte of the last tensor; the padding after it may be missing. */
static void test_truncated(void **state)
{
	(void)state;
	size_t bytes;
	uint8_t *data = read_sample(&bytes);
	struct tcb_gguf *g;
	struct tcb_error err;
	assert_int_equal(tcb_gguf_parse(data, bytes, &g, &err), TCB_OK);
	const struct tcb_gguf_tensor *last = tcb_gguf_tensor(g, 5);
	size_t end = (size_t)((const uint8_t *)last->data - data) + last->bytes;
	tcb_gguf_close(g);

	/* The prefix ends where an inaccessible page begins: reading one byte too many faults. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
	uint8_t *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
	for (size_t length = 0; length <= bytes; length += length < 1024 || length + 64 > end ? 1 : 97) {
		uint8_t *prefix = map + room - length;
		memcpy(prefix, data, length);
		enum tcb_status status = tcb_gguf_parse(prefix, length, &g, &err);
		if (length >= end) {
			assert_int_equal(status, TCB_OK);
			tcb_gguf_close(g);
		} else {
			assert_int_equal(status, TCB_E_FORMAT);
			assert_null(g);
			assert_non_null(strstr(err.message, length ? "truncated" : "empty"));
		}
	}
	munmap(map, room + page);
	free(data);
}

/* Where only the tables are asked for, the data may be cut off anywhere, and the tables nowhere. */
static void test_tables_alone(void **state)
{
	(void)state;
	size_t bytes;
	uint8_t *data = read_sample(&bytes);
	struct tcb_gguf *g;
	struct tcb_error err;
	assert_int_equal(tcb_gguf_parse_tables(data, bytes, &g, &err), TCB_OK);
	const uint8_t *first = tcb_gguf_tensor(g, 0)->data;
	assert_non_null(first);
	size_t start = (size_t)(first - data);
	tcb_gguf_close(g);

	assert_int_equal(tcb_gguf_parse_tables(data, start, &g, &err), TCB_OK);
	const struct tcb_gguf_tensor *t = tcb_gguf_find(g, "blk.1.ffn_up.weight");
	assert_null(t->data);
	assert_int_equal(t->bytes, 513 * 2 * 144);
	assert_int_equal(t->dims[1], 513);
	tcb_gguf_close(g);
	assert_int_equal(tcb_gguf_parse_tables(data, 200000, &g, &err), TCB_OK);
	assert_non_null(tcb_gguf_tensor(g, 0)->data);
	assert_null(tcb_gguf_tensor(g, 5)->data);
	tcb_gguf_close(g);
	for (size_t length = 1; length + 64 < start; length++)
		assert_int_equal(tcb_gguf_parse_tables(data, length, &g, &err), TCB_E_FORMAT);
	assert_int_equal(tcb_gguf_open_tables(SAMPLE, &g, &err), TCB_OK);
	tcb_gguf_close(g);
	assert_int_equal(tcb_gguf_open_tables("/nowhere/model.gguf", &g, &err), TCB_E_IO);
	free(data);
}

static void test_unsigned_values(void **state)
{
	(void)state;
	static const struct {
		const char *key;
		uint32_t type;
		uint64_t payload;
		size_t bytes;
		int is_one;
	} rows[] = {
		{ "u32", TCB_GGUF_U32, 4000000000, 4, 1 }, { "u64", TCB_GGUF_U64, UINT64_MAX, 8, 1 },
		{ "i32", TCB_GGUF_I32, 8, 4, 1 },          { "negative", TCB_GGUF_I32, UINT32_MAX, 4, 0 },
		{ "u8", TCB_GGUF_U8, 200, 1, 1 },          { "i64", TCB_GGUF_I64, UINT64_MAX, 8, 0 },
		{ "f32", TCB_GGUF_F32, 0, 4, 0 },          { "bool", TCB_GGUF_BOOL, 1, 1, 0 },
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	struct writer w;
	put_header(&w, 3, 0, ROWS + 1);
	for (size_t i = 0; i < ROWS; i++) {
		put_string(&w, rows[i].key);
		put(&w, rows[i].type, 4);
		put(&w, rows[i].payload, rows[i].bytes);
	}
	put_string(&w, "text");
	put(&w, TCB_GGUF_STRING, 4);
	put_string(&w, "8");
	struct tcb_gguf *g = expect_ok(&w);
	uint64_t number;
	for (size_t i = 0; i < ROWS; i++) {
		const struct tcb_gguf_value *value = tcb_gguf_find_value(g, rows[i].key);
		assert_int_equal(tcb_gguf_value_unsigned(value, &number), rows[i].is_one);
		assert_true(!rows[i].is_one || number == rows[i].payload);
	}
	assert_int_equal(tcb_gguf_value_unsigned(tcb_gguf_find_value(g, "text"), &number), 0);
	tcb_gguf_close(g);
}

static void test_truncated_says_how_much(void **state)
{
	(void)state;
	size_t bytes;
	uint8_t *data = read_sample(&bytes);
	struct tcb_gguf *g;
	struct tcb_error err;
	assert_int_equal(tcb_gguf_parse(data, 20, &g, &err), TCB_E_FORMAT);
	assert_string_equal(err.message,
			    "truncated or damaged: the metadata count needs 8 bytes at byte 16, but the file ends at "
			    "byte 20 (4 missing); copy or download it again");
	assert_int_equal(tcb_gguf_parse(data, 200000, &g, &err), TCB_E_FORMAT);
	assert_string_equal(err.message,
			    "truncated or damaged: the data of tensor 'blk.0.attn_v.weight' is bytes 170848 to 233848, "
			    "but the file ends at byte 200000 (33848 missing); copy or download it again");
	free(data);
}

/* Any single flipped bit of the header and tables, and a thousand random damages: parsed or refused, never a fault. */
static void test_flipped_bits(void **state)
{
	(void)state;
	enum { TABLE_BYTES = 640 };
	size_t bytes;
	uint8_t *data = read_sample(&bytes);
	struct tcb_gguf *g;
	struct tcb_error err;
	struct tcb_rng rng;
	size_t refused = 0;
	for (size_t bit = 0; bit < TABLE_BYTES * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tcb_gguf_parse(data, bytes, &g, &err) != TCB_OK) {
			refused++;
			assert_null(strchr(err.message, '\n'));
		}
		tcb_gguf_close(g);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(refused > 500); /* most bits of lengths, counts, types and offsets matter */

	tcb_rng_init(&rng, 9);
	uint8_t *damaged = malloc(bytes);
	assert_non_null(damaged);
	for (int round = 0; round < 1000; round++) {
		memcpy(damaged, data, TABLE_BYTES);
		for (uint64_t n = 1 + tcb_rng_below(&rng, 8); n > 0; n--)
			damaged[tcb_rng_below(&rng, TABLE_BYTES)] = (uint8_t)tcb_rng_next(&rng);
		(void)tcb_gguf_parse(damaged, TABLE_BYTES + tcb_rng_below(&rng, 64), &g, &err);
		tcb_gguf_close(g);
	}
	free(damaged);
	free(data);
}

static void test_version_2(void **state)
{
	(void)state;
	struct writer w;
	put_header(&w, 2, 2, 5);
	put_string(&w, "general.alignment");
	put(&w, TCB_GGUF_U32, 4);
	put(&w, 64, 4);
	put_string(&w, "tokens");
	put(&w, TCB_GGUF_ARRAY, 4);
	put(&w, TCB_GGUF_STRING, 4);
	put(&w, 2, 8);
	put_string(&w, "a");
	put_string(&w, "bc");
	put_string(&w, "flag");
	put(&w, TCB_GGUF_BOOL, 4);
	put(&w, 1, 1);
	put_string(&w, "nested");
	put(&w, TCB_GGUF_ARRAY, 4);
	put(&w, TCB_GGUF_ARRAY, 4);
	put(&w, 2, 8);
	for (int i = 0; i < 2; i++) {
		put(&w, TCB_GGUF_U16, 4);
		put(&w, 1, 8);
		put(&w, 7, 2);
	}
	put_string(&w, "big");
	put(&w, TCB_GGUF_F64, 4);
	put(&w, 0, 8);
	put_tensor(&w, "b", 2, (const uint64_t[]){ 32, 3 }, 2, 64);
	put_tensor(&w, "a", 1, (const uint64_t[]){ 5 }, 0, 0);
	pad(&w, 64);
	size_t start = w.bytes;
	for (int i = 0; i < 64 + 54; i++)
		put(&w, (uint64_t)i, 1);

	struct tcb_gguf *g = expect_ok(&w);
	assert_int_equal(tcb_gguf_version(g), 2);
	const struct tcb_gguf_tensor *a = tcb_gguf_find(g, "a"), *b = tcb_gguf_find(g, "b");
	assert_ptr_equal(a->data, w.data + start);
	assert_int_equal(a->bytes, 20);
	assert_ptr_equal(b->data, w.data + start + 64);
	assert_int_equal(b->bytes, 54);
	const struct tcb_gguf_value *tokens = tcb_gguf_find_value(g, "tokens");
	assert_int_equal(tokens->item_type, TCB_GGUF_STRING);
	assert_int_equal(tokens->count, 2);
	assert_memory_equal(tokens->data, "\1\0\0\0\0\0\0\0a\2", 10);
	assert_int_equal(tcb_gguf_find_value(g, "nested")->count, 2);
	assert_int_equal(tcb_gguf_find_value(g, "nested")->item_type, TCB_GGUF_ARRAY);
	tcb_gguf_close(g);
}

static void test_wrong_files(void **state)
{
	(void)state;
	struct writer w;
	put_header(&w, 1, 0, 0);
	expect(&w, TCB_E_VERSION, "version 1 is not supported");
	put_header(&w, 4, 0, 0);
	expect(&w, TCB_E_VERSION, "version 4 is not supported");
	put_header(&w, 0x03000000, 0, 0);
	expect(&w, TCB_E_FORMAT, "written on a big-endian machine; convert with gguf-convert-endian");
	put_header(&w, 0x03000000, 0, 0);
	memcpy(w.data, "FUGG", 4);
	expect(&w, TCB_E_FORMAT, "written on a big-endian machine");
	put_header(&w, 3, 0, 0);
	memcpy(w.data, "GGML", 4);
	expect(&w, TCB_E_FORMAT, "not a GGUF file");
	w = (struct writer){ "{\"a\":1}", 2 };
	expect(&w, TCB_E_FORMAT, "not a GGUF file");

	put_header(&w, 3, 0, 0);
	struct tcb_gguf *g = expect_ok(&w); /* a file without tensors is one */
	assert_int_equal(tcb_gguf_tensor_count(g), 0);
	assert_null(tcb_gguf_find(g, "x"));
	tcb_gguf_close(g);
}

static void test_huge_counts(void **state)
{
	(void)state;
	static const uint64_t counts[] = { 3, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX };
	struct writer w;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		put_header(&w, 3, counts[i], 0);
		put(&w, 0, 8);
		expect(&w, TCB_E_FORMAT, "tensors, more than fit");
		put_header(&w, 3, 0, counts[i]);
		put(&w, 0, 8);
		expect(&w, TCB_E_FORMAT, "metadata values, more than fit");

		put_header(&w, 3, 0, 1); /* a string of that length */
		put_string(&w, "k");
		put(&w, TCB_GGUF_STRING, 4);
		put(&w, counts[i], 8);
		expect(&w, TCB_E_FORMAT, "the value of k needs");
		put_header(&w, 3, 0, 1); /* arrays of that many numbers, strings, arrays */
		put_string(&w, "k");
		put(&w, TCB_GGUF_ARRAY, 4);
		put(&w, TCB_GGUF_F64, 4);
		put(&w, counts[i], 8);
		expect(&w, TCB_E_FORMAT, "elements of 8 bytes");
		put_header(&w, 3, 0, 1);
		put_string(&w, "k");
		put(&w, TCB_GGUF_ARRAY, 4);
		put(&w, TCB_GGUF_STRING, 4);
		put(&w, counts[i], 8);
		put_string(&w, "");
		expect(&w, TCB_E_FORMAT, "truncated");
	}
}

/* One value "k" of TYPE whose payload is BYTES bytes of VALUE. */
static void one_value(struct writer *w, const char *key, uint32_t type, uint64_t value, size_t bytes)
{
	put_header(w, 3, 0, 1);
	put_string(w, key);
	put(w, type, 4);
	put(w, value, bytes);
}

static void test_bad_values(void **state)
{
	(void)state;
	struct writer w;
	one_value(&w, "k", TCB_GGUF_VALUE_TYPE_COUNT, 0, 8);
	expect(&w, TCB_E_FORMAT, "value type 13");
	one_value(&w, "k", TCB_GGUF_BOOL, 2, 1);
	expect(&w, TCB_E_FORMAT, "boolean of value 2");
	one_value(&w, "", TCB_GGUF_U8, 0, 8);
	expect(&w, TCB_E_FORMAT, "has 0 bytes");
	one_value(&w, "general.alignment", TCB_GGUF_U64, 32, 8);
	expect(&w, TCB_E_FORMAT, "not uint32");
	one_value(&w, "general.alignment", TCB_GGUF_U32, 48, 4);
	expect(&w, TCB_E_FORMAT, "48, not a power of two");
	one_value(&w, "general.alignment", TCB_GGUF_U32, 0, 4);
	expect(&w, TCB_E_FORMAT, "0, not a power of two");

	put_header(&w, 3, 0, 2);
	for (int i = 0; i < 2; i++) {
		put_string(&w, "twice\n");
		put(&w, TCB_GGUF_U32, 4);
		put(&w, 0, 4);
	}
	expect(&w, TCB_E_FORMAT, "metadata key 'twice?' occurs twice");

	put_header(&w, 3, 0, 1); /* arrays nested without end */
	put_string(&w, "k");
	put(&w, TCB_GGUF_ARRAY, 4);
	for (int i = 0; i < 100; i++) {
		put(&w, TCB_GGUF_ARRAY, 4);
		put(&w, 1, 8);
	}
	expect(&w, TCB_E_FORMAT, "nests arrays deeper than 8");
}

/* One tensor "t" with 4096 bytes of data behind it. */
static void one_tensor(struct writer *w, unsigned dim_count, const uint64_t *dims, uint32_t type, uint64_t offset)
{
	put_header(w, 3, 1, 0);
	put_tensor(w, "t", dim_count, dims, type, offset);
	pad(w, 32);
	for (int i = 0; i < 4096; i++)
		put(w, 0, 1);
}

static void test_bad_tensors(void **state)
{
	(void)state;
	struct writer w;
	const uint64_t big = (uint64_t)1 << 62;
	one_tensor(&w, 1, (const uint64_t[]){ 1024 }, 0, 0);
	tcb_gguf_close(expect_ok(&w));
	one_tensor(&w, 1, (const uint64_t[]){ 1025 }, 0, 0);
	expect(&w, TCB_E_FORMAT, "(4 missing)");
	one_tensor(&w, 1, (const uint64_t[]){ 1024 }, 0, 32);
	expect(&w, TCB_E_FORMAT, "(32 missing)");
	one_tensor(&w, 1, (const uint64_t[]){ 1 }, 0, 8);
	expect(&w, TCB_E_FORMAT, "not a multiple of the alignment 32");
	one_tensor(&w, 1, (const uint64_t[]){ 1 }, 0, UINT64_MAX - 31);
	expect(&w, TCB_E_FORMAT, "overflows");
	one_tensor(&w, 2, (const uint64_t[]){ 8, 0 }, 0, 0);
	expect(&w, TCB_E_FORMAT, "dimension 1 of tensor 't' is 0");
	one_tensor(&w, 2, (const uint64_t[]){ big, 4 }, 24, 0);
	expect(&w, TCB_E_FORMAT, "dimensions of tensor 't' overflow");
	one_tensor(&w, 2, (const uint64_t[]){ big, 1 }, 0, 0);
	expect(&w, TCB_E_FORMAT, "the size of tensor 't' overflows");
	one_tensor(&w, 1, (const uint64_t[]){ 257 }, 12, 0);
	expect(&w, TCB_E_FORMAT, "not a multiple of the 256 of a Q4_K block");
	one_tensor(&w, 5, (const uint64_t[]){ 1, 1, 1, 1, 1 }, 0, 0);
	expect(&w, TCB_E_FORMAT, "at most 4 are supported");

	put_header(&w, 3, 2, 0);
	put_tensor(&w, "t", 1, (const uint64_t[]){ 1 }, 24, 0);
	put_tensor(&w, "t", 1, (const uint64_t[]){ 1 }, 24, 0);
	pad(&w, 32);
	put(&w, 0, 1);
	expect(&w, TCB_E_FORMAT, "tensor 't' occurs twice");
}

static void test_unknown_type(void **state)
{
	(void)state;
	static const uint32_t unknown[] = { 4, 5, 31, 36, 999, UINT32_MAX };
	struct writer w;
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		one_tensor(&w, 2, (const uint64_t[]){ 7, 3 }, unknown[i], 64);
		struct tcb_gguf *g = expect_ok(&w);
		const struct tcb_gguf_tensor *t = tcb_gguf_find(g, "t");
		assert_string_equal(t->type_name, "unknown");
		assert_int_equal(t->type, unknown[i]);
		assert_int_equal(t->bytes, 0);
		assert_int_equal(t->dims[0], 7);
		assert_ptr_equal(t->data, w.data + w.bytes - 4096 + 64);
		tcb_gguf_close(g);
		one_tensor(&w, 2, (const uint64_t[]){ 7, 3 }, unknown[i], 8192);
		expect(&w, TCB_E_FORMAT, "truncated");
	}
}

static void test_open_errors(void **state)
{
	(void)state;
	char path[] = "/tmp/tcb_gguf_XXXXXX";
	struct tcb_gguf *g;
	struct tcb_error err;
	assert_int_equal(tcb_gguf_open("/nonexistent/model.gguf", &g, &err), TCB_E_IO);
	assert_string_equal(err.message, "cannot open /nonexistent/model.gguf: No such file or directory");
	assert_int_equal(tcb_gguf_open("/", &g, &err), TCB_E_IO);
	assert_string_equal(err.message, "/ is a directory; give a GGUF model file");
	assert_int_equal(tcb_gguf_open("/dev/null", &g, &err), TCB_E_IO);

	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(tcb_gguf_open(path, &g, &err), TCB_E_FORMAT);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, "the file is empty"));
	assert_int_equal(write(fd, "GGUF\2\0\0\0", 8), 8);
	assert_int_equal(tcb_gguf_open(path, &g, &err), TCB_E_FORMAT);
	assert_non_null(strstr(err.message, "the tensor count needs 8 bytes at byte 8, but the file ends at byte 8"));
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_truncated_says_how_much),
		cmocka_unit_test(test_tables_alone),
		cmocka_unit_test(test_unsigned_values),
		cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_huge_counts),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_bad_tensors),
		cmocka_unit_test(test_unknown_type),
		cmocka_unit_test(test_open_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
