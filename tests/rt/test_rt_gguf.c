/* SPDX-License-Identifier: MIT
 *
 * Model files as programs read them: tensors with the ops of their formats, every kind of number, texts, and what is
 * said of what is not there.
 */
#include "tcbrt_gguf.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "gguf/gguf_writer.h"

static void put_key(struct writer *w, const char *name, unsigned type)
{
	put_string(w, name);
	put(w, type, 4);
}

static void put_f32(struct writer *w, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put(w, bits, 4);
}

/* One key of each kind, a tensor of Q4_K, one of F32, and one of a type that nobody knows. */
static void write_model(struct writer *w, size_t cut)
{
	static const uint64_t q4k[] = { 256, 3 }, f32[] = { 5 }, unknown[] = { 7 };
	char path[] = "rt_gguf.model";
	FILE *file = fopen(path, "wb");

	put_header(w, 3, 3, 7);
	put_key(w, "u8", 0);
	put(w, 200, 1);
	put_key(w, "i16", 3);
	put(w, (uint16_t)-300, 2);
	put_key(w, "u64", 10);
	put(w, (uint64_t)1 << 40, 8);
	put_key(w, "bool", 7);
	put(w, 1, 1);
	put_key(w, "f32s", 9);
	put(w, 6, 4);
	put(w, 2, 8);
	put_f32(w, 0.5f);
	put_f32(w, -2.25f);
	put_key(w, "texts", 9);
	put(w, 8, 4);
	put(w, 2, 8);
	put_string(w, "one");
	put_string(w, "three");
	put_key(w, "text", 8);
	put_string(w, "llama");
	put_tensor(w, "q4k.weight", 2, q4k, 12, 0);
	put_tensor(w, "f32.weight", 1, f32, 0, 448);
	put_tensor(w, "odd.weight", 1, unknown, 999, 480);
	pad(w, 32);
	for (size_t i = 0; i < 512; i++)
		put(w, i, 1);
	assert_non_null(file);
	assert_int_equal(fwrite(w->data, 1, w->bytes - cut, file), w->bytes - cut);
	assert_int_equal(fclose(file), 0);
}

static struct tcbrt_gguf *open_model(void)
{
	struct writer w;
	struct tcbrt_gguf *gguf;
	struct tcbrt_error err;

	write_model(&w, 0);
	if (tcbrt_gguf_open("rt_gguf.model", &gguf, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	unlink("rt_gguf.model"); /* it stays mapped */
	return gguf;
}

static void tensors(void **state)
{
	struct tcbrt_gguf *gguf = open_model();
	struct tcbrt_gguf_tensor tensor;
	struct tcbrt_error err;

	(void)state;
	assert_int_equal(tcbrt_gguf_find(gguf, "q4k.weight", &tensor, &err), TCBRT_OK);
	assert_string_equal(tensor.format, "q4k");
	assert_memory_equal(tensor.name, "q4k.weight", tensor.name_length);
	assert_int_equal(tensor.dims[0], 256);
	assert_int_equal(tensor.dims[1], 3);
	assert_int_equal(tensor.dims[2], 1);
	assert_int_equal(tensor.bytes, 3 * 144);
	assert_int_equal(((const uint8_t *)tensor.data)[7], 7);
	assert_int_equal(tcbrt_gguf_tensor(gguf, 1, &tensor), TCBRT_OK);
	assert_string_equal(tensor.format, "f32");
	assert_int_equal(tensor.bytes, 20);
	assert_int_equal(tcbrt_gguf_tensor(gguf, 2, &tensor), TCBRT_OK);
	assert_string_equal(tensor.format, "");
	assert_int_equal(tensor.bytes, 0);
	assert_int_equal(tcbrt_gguf_tensor(gguf, 3, &tensor), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_find(gguf, "q4k", &tensor, &err), TCBRT_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "'q4k'"));
	assert_int_equal(tcbrt_gguf_find(gguf, NULL, &tensor, NULL), TCBRT_E_USAGE);
	tcbrt_gguf_close(gguf);
}

static void numbers(void **state)
{
	static const struct {
		const char *name;
		size_t index;
		double value;
	} known[] = { { "u8", 0, 200 }, { "i16", 0, -300 }, { "u64", 0, 0x1p40 },
		      { "bool", 0, 1 }, { "f32s", 0, 0.5 }, { "f32s", 1, -2.25 } },
	  unknown[] = { { "f32s", 2, 0 }, { "u8", 1, 0 }, { "text", 0, 0 }, { "texts", 0, 0 }, { "none", 0, 0 } };
	struct tcbrt_gguf *gguf = open_model();
	double value = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		assert_int_equal(tcbrt_gguf_number(gguf, known[i].name, known[i].index, &value), TCBRT_OK);
		assert_true(value == known[i].value);
	}
	value = 17;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_int_equal(tcbrt_gguf_number(gguf, unknown[i].name, unknown[i].index, &value), TCBRT_E_NOT_FOUND);
	assert_true(value == 17);
	assert_int_equal(tcbrt_gguf_number(gguf, "u8", 0, NULL), TCBRT_E_USAGE);
	tcbrt_gguf_close(gguf);
}

/* A model whose architecture is m: its keys, one for each layer or one for all, YaRN, and a divisor for each of four
 * angles. */
static struct tcbrt_gguf *open_rotated(int has_type, uint64_t divisors)
{
	struct writer w;
	struct tcbrt_gguf *gguf;
	struct tcbrt_error err;
	FILE *file = fopen("rt_gguf.model", "wb");

	put_header(&w, 3, 1, 6 + (uint64_t)has_type);
	put_key(&w, "general.architecture", 8);
	put_string(&w, "m");
	put_key(&w, "m.rope.freq_base", 6);
	put_f32(&w, 100);
	put_key(&w, "m.rope.freq_base_swa", 6);
	put_f32(&w, 16);
	put_key(&w, "m.rope.scaling.factor", 6);
	put_f32(&w, 4);
	put_key(&w, "m.rope.scaling.original_context_length", 4);
	put(&w, 64, 4);
	put_key(&w, "m.heads", 9);
	put(&w, 4, 4);
	put(&w, 2, 8);
	put(&w, 3, 4);
	put(&w, 5, 4);
	if (has_type) {
		put_key(&w, "m.rope.scaling.type", 8);
		put_string(&w, "yarn");
	}
	put_tensor(&w, "rope_freqs.weight", 1, &divisors, 0, 0);
	pad(&w, 32);
	for (uint64_t i = 0; i < divisors; i++)
		put_f32(&w, i ? 1 : 2);
	pad(&w, 32);
	assert_non_null(file);
	assert_int_equal(fwrite(w.data, 1, w.bytes, file), w.bytes);
	assert_int_equal(fclose(file), 0);
	if (tcbrt_gguf_open("rt_gguf.model", &gguf, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	unlink("rt_gguf.model");
	return gguf;
}

static void parameters(void **state)
{
	struct tcbrt_gguf *gguf = open_rotated(0, 4), *other = open_model();
	double value = 17;

	(void)state;
	assert_int_equal(tcbrt_gguf_parameter(gguf, "heads", 1, &value), TCBRT_OK);
	assert_true(value == 5);
	assert_int_equal(tcbrt_gguf_parameter(gguf, "rope.scaling.factor", 7, &value), TCBRT_OK);
	assert_true(value == 4);
	assert_int_equal(tcbrt_gguf_parameter(gguf, "none", 0, &value), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_parameter(other, "heads", 0, &value), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_parameter(gguf, NULL, 0, &value), TCBRT_E_USAGE);
	assert_true(value == 4);
	tcbrt_gguf_close(gguf);
	tcbrt_gguf_close(other);
}

/* Rows of 8 values against angles worked out by hand. */
static void check_rotation(int has_type, int is_windowed, const double steps[4], double scale)
{
	struct tcbrt_gguf *gguf = open_rotated(has_type, 4);
	float rows[5][8];

	assert_int_equal(tcbrt_gguf_rotation(gguf, 8, is_windowed, 5, rows[0], NULL), TCBRT_OK);
	for (int position = 0; position < 5; position++)
		for (int i = 0; i < 4; i++) {
			assert_float_equal(rows[position][i], scale * cos(position * steps[i]), 1e-6);
			assert_float_equal(rows[position][4 + i], scale * sin(position * steps[i]), 1e-6);
		}
	tcbrt_gguf_close(gguf);
}

static void rotations(void **state)
{
	/* 100^(-i / 4), of which the first is halved: over 4; of YaRN angles turn 64 / 2 pi = 10.2 times at most, so
	 * that floor(8 log(64 / 64 pi) / 2 log 100) < 0 makes 0, ceil(8 log(64 / 2 pi) / 2 log 100) = ceil(2.02) = 3
	 * the end. */
	const double plain[] = { 0.5, pow(100, -0.25), 0.1, pow(100, -0.75) };
	const double linear[] = { plain[0] / 4, plain[1] / 4, plain[2] / 4, plain[3] / 4 };
	const double yarn[] = { plain[0], plain[1] * (2.0 / 3 + 1.0 / 12), plain[2] * (1.0 / 3 + 1.0 / 6),
				plain[3] / 4 };
	const double near[] = { 1, 0.5, 0.25, 0.125 };
	struct tcbrt_gguf *gguf = open_rotated(0, 5);
	struct tcbrt_error err;
	float row[8];

	(void)state;
	check_rotation(0, 0, linear, 1);
	check_rotation(1, 0, yarn, 1 + 0.1 * log(4));
	check_rotation(1, 1, near, 1);
	assert_int_equal(tcbrt_gguf_rotation(gguf, 8, 0, 1, row, &err), TCBRT_E_FORMAT);
	assert_non_null(strstr(err.message, "each of 4 angles"));
	assert_int_equal(tcbrt_gguf_rotation(gguf, 7, 0, 1, row, &err), TCBRT_E_USAGE);
	tcbrt_gguf_close(gguf);
}

static void texts(void **state)
{
	struct tcbrt_gguf *gguf = open_model();
	const char *text = NULL;
	size_t length = 0;

	(void)state;
	assert_int_equal(tcbrt_gguf_text(gguf, "text", 0, &text, &length), TCBRT_OK);
	assert_int_equal(length, 5);
	assert_memory_equal(text, "llama", 5);
	assert_int_equal(tcbrt_gguf_text(gguf, "texts", 1, &text, &length), TCBRT_OK);
	assert_int_equal(length, 5);
	assert_memory_equal(text, "three", 5);
	assert_int_equal(tcbrt_gguf_text(gguf, "texts", 2, &text, &length), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_text(gguf, "text", 1, &text, &length), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_text(gguf, "u8", 0, &text, &length), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_gguf_text(gguf, "u8", 0, NULL, &length), TCBRT_E_USAGE);
	tcbrt_gguf_close(gguf);
}

static void refused(void **state)
{
	struct writer w;
	struct tcbrt_gguf *gguf = (struct tcbrt_gguf *)&w;
	struct tcbrt_error err;

	(void)state;
	write_model(&w, 100);
	assert_int_equal(tcbrt_gguf_open("rt_gguf.model", &gguf, &err), TCBRT_E_FORMAT);
	assert_null(gguf);
	assert_non_null(strstr(err.message, "truncated"));
	unlink("rt_gguf.model");
	assert_int_equal(tcbrt_gguf_open("rt_gguf.model", &gguf, &err), TCBRT_E_IO);
	assert_int_equal(tcbrt_gguf_open(NULL, &gguf, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_gguf_open("rt_gguf.model", NULL, NULL), TCBRT_E_USAGE);
	tcbrt_gguf_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensors),   cmocka_unit_test(numbers), cmocka_unit_test(parameters),
		cmocka_unit_test(rotations), cmocka_unit_test(texts),   cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
