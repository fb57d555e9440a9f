/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a GGUF file.  If they are accepted, everything that the reader
 * hands out must lie inside them, and each name must find its own record.
 */
#include "gguf/gguf.h"

#include <string.h>

#include "fuzz.h"

static void check_inside(const uint8_t *data, size_t bytes, const void *part, size_t part_bytes)
{
	size_t at = (size_t)((const uint8_t *)part - data);
	FUZZ_CHECK(at <= bytes && part_bytes <= bytes - at);
}

/* NAME with a NUL after it, or NULL if it holds one: such a name cannot be asked for. */
static char *as_text(const struct tcb_gguf_string *name)
{
	char *text = malloc(name->length + 1);
	FUZZ_CHECK(text);
	memcpy(text, name->data, name->length);
	text[name->length] = '\0';
	if (strlen(text) == name->length)
		return text;
	free(text);
	return NULL;
}

/* A text or a number each, and nothing beyond the last. */
static void check_items(const uint8_t *data, size_t bytes, const struct tcb_gguf_value *v)
{
	const uint64_t item = v->count < 5 ? v->count : 5;
	double number;

	for (uint64_t i = 0; i < item; i++) {
		const struct tcb_gguf_string text = tcb_gguf_value_text(v, i);
		if (text.data)
			check_inside(data, bytes, text.data, text.length);
		FUZZ_CHECK(!text.data || !tcb_gguf_value_number(v, i, &number));
	}
	FUZZ_CHECK(!tcb_gguf_value_text(v, v->count).data && !tcb_gguf_value_number(v, v->count, &number));
}

static void check_tables(const uint8_t *data, size_t bytes, const struct tcb_gguf *g, int may_lack_data)
{
	for (size_t i = 0; i < tcb_gguf_tensor_count(g); i++) {
		const struct tcb_gguf_tensor *t = tcb_gguf_tensor(g, i);
		check_inside(data, bytes, t->name.data, t->name.length);
		FUZZ_CHECK(t->data || may_lack_data);
		if (t->data)
			check_inside(data, bytes, t->data, t->bytes);
		FUZZ_CHECK((t->bytes == 0) == (tcb_gguf_type(t->type) == NULL));
		char *name = as_text(&t->name);
		FUZZ_CHECK(!name || tcb_gguf_find(g, name) == t);
		free(name);
	}
	for (size_t i = 0; i < tcb_gguf_value_count(g); i++) {
		const struct tcb_gguf_value *v = tcb_gguf_value(g, i);
		uint64_t number;
		check_inside(data, bytes, v->key.data, v->key.length);
		check_inside(data, bytes, v->data, 0);
		struct tcb_gguf_string text = tcb_gguf_value_string(v);
		if (text.data)
			check_inside(data, bytes, text.data, text.length);
		FUZZ_CHECK(!text.data || !tcb_gguf_value_unsigned(v, &number));
		check_items(data, bytes, v);
		char *key = as_text(&v->key);
		FUZZ_CHECK(!key || tcb_gguf_find_value(g, key) == v);
		free(key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_gguf *g, *tables;
	struct tcb_error err = { TCB_OK, "" };
	const enum tcb_status status = tcb_gguf_parse(data, bytes, &g, &err);
	if (status != TCB_OK)
		FUZZ_CHECK(!g && err.message[0] && !strchr(err.message, '\n'));
	else
		check_tables(data, bytes, g, 0);
	tcb_gguf_close(g);
	/* What is whole has whole tables. */
	if (tcb_gguf_parse_tables(data, bytes, &tables, &err) == TCB_OK)
		check_tables(data, bytes, tables, status != TCB_OK);
	else
		FUZZ_CHECK(status != TCB_OK && !tables);
	tcb_gguf_close(tables);
	return 0;
}
