/* SPDX-License-Identifier: MIT
 *
 * In: a kernel and its arguments in words.  Out: a launch in the emulator, and
 * what the arguments' memory holds afterwards.
 */
#include "ptx/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum {
	BUFFER_ALIGN = 256, /* as cudaMalloc gives */
	BYTES_MAX = 1 << 30 /* of one buffer */
};

enum tcb_status tcb_ptx_run_open(struct tcb_ptx_function *kernel, struct tcb_ptx_run **out, struct tcb_error *err)
{
	struct tcb_ptx_run *run = calloc(1, sizeof *run);
	enum tcb_status status;

	*out = NULL;
	if (!run)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a run");
	run->kernel = kernel;
	for (const struct tcb_ptx_symbol *p = kernel->params; p; p = p->next)
		run->parameter_count++;
	run->arguments = calloc(run->parameter_count + 1u, sizeof *run->arguments);
	status = run->arguments ? tcb_ptx_program_create(kernel, &run->program, err)
				: tcb_fail(err, TCB_E_NOMEM, "out of memory for a run");
	if (status == TCB_OK)
		status = tcb_ptx_memory_create(&run->memory, err);
	if (status == TCB_OK)
		*out = run;
	else
		tcb_ptx_run_close(run);
	return status;
}

void tcb_ptx_run_close(struct tcb_ptx_run *run)
{
	if (!run)
		return;
	tcb_ptx_program_destroy(run->program);
	tcb_ptx_memory_destroy(run->memory);
	for (unsigned i = 0; run->arguments && i < run->argument_count; i++)
		free(run->arguments[i].data);
	free(run->arguments);
	free(run);
}

/* --- one argument --- */

/* An argument's text as it is read. */
struct reader {
	const char *text, *at;
	unsigned number;
	struct tcb_error *err;
};

static enum tcb_status wrong(const struct reader *r, const char *what)
{
	return tcb_fail(r->err, TCB_E_USAGE, "argument %u, '%.120s': %s", r->number, r->text, what);
}

static int take(struct reader *r, const char *word)
{
	const size_t length = strlen(word);

	if (strncmp(r->at, word, length) != 0)
		return 0;
	r->at += length;
	return 1;
}

static enum tcb_status take_type(struct reader *r, enum tcb_ptx_word *out)
{
	const size_t length = strcspn(r->at, "[=:");

	*out = tcb_ptx_word_find(r->at, length);
	if (!length || !tcb_ptx_is_element(*out))
		return wrong(r, "a type is u8 to u64, s8 to s64, b8 to b64, f16, bf16, f32 or f64");
	r->at += length;
	return TCB_OK;
}

/* "64x8": up to five numbers. */
static enum tcb_status take_extent(struct reader *r, uint64_t out[TCB_PTX_TENSOR_RANK], unsigned *rank_out)
{
	unsigned rank = 0;

	do {
		char *end;

		if (rank == TCB_PTX_TENSOR_RANK || *r->at < '0' || *r->at > '9')
			return wrong(r, "a size is a number or up to five of them, as 1024 or 64x8");
		out[rank++] = strtoull(r->at, &end, 10);
		r->at = end;
	} while (take(r, "x"));
	*rank_out = rank;
	return TCB_OK;
}

/* "[1024]" and the memory for it */
static enum tcb_status take_size(struct reader *r, struct tcb_ptx_argument *a)
{
	uint64_t bytes = tcb_ptx_type_bits(a->type) / 8;

	if (!take(r, "["))
		return wrong(r, "the number of elements is missing, as in f32[1024]");
	TCB_TRY(take_extent(r, a->extent, &a->rank));
	if (!take(r, "]"))
		return wrong(r, "the ']' after the number of elements is missing");
	a->count = 1;
	for (unsigned i = 0; i < a->rank; i++)
		if (__builtin_mul_overflow(a->count, a->extent[i], &a->count))
			return wrong(r, "too many elements");
	if (!a->count || __builtin_mul_overflow(bytes, a->count, &bytes) || bytes > BYTES_MAX)
		return wrong(r, "a buffer has 1 byte to 1 GiB");
	a->bytes = bytes;
	a->data = calloc(1, a->bytes);
	return a->data ? TCB_OK : tcb_fail(r->err, TCB_E_NOMEM, "out of memory for argument %u", r->number);
}

static enum tcb_status take_fill(struct reader *r, struct tcb_ptx_argument *a, uint64_t seed)
{
	struct tcb_error error;
	enum tcb_status status;

	if (!take(r, "="))
		return wrong(r, "'=' and what it holds are missing");
	status = tcb_ptx_fill(r->at, a->type, a->count, seed, a->data, &error);
	if (status != TCB_OK)
		return tcb_fail(r->err, status, "argument %u: %.400s", r->number, error.message);
	return TCB_OK;
}

/* ":ro" and what the memory of A holds; then the kernel can see it. */
static enum tcb_status take_memory(struct tcb_ptx_run *run, struct reader *r, struct tcb_ptx_argument *a, uint64_t seed)
{
	a->is_read_only = take(r, ":ro");
	TCB_TRY(take_fill(r, a, seed));
	return tcb_ptx_memory_add(run->memory, a->parameter->name, a->data, a->bytes, BUFFER_ALIGN,
				  a->is_read_only ? TCB_PTX_READ_ONLY : TCB_PTX_MAY_WRITE, &a->address, r->err);
}

static enum tcb_status read_buffer(struct tcb_ptx_run *run, struct reader *r, struct tcb_ptx_argument *a, uint64_t seed)
{
	a->kind = TCB_PTX_ARG_BUFFER;
	TCB_TRY(take_type(r, &a->type));
	TCB_TRY(take_size(r, a));
	return take_memory(run, r, a, seed);
}

/* Tensor maps and textures are told the fastest dimension first, arrays the slowest. */
static void turn_round(struct tcb_ptx_argument *a)
{
	for (unsigned i = 0; i < a->rank / 2; i++) {
		const uint64_t kept = a->extent[i];

		a->extent[i] = a->extent[a->rank - 1 - i];
		a->extent[a->rank - 1 - i] = kept;
	}
}

/* ":linear", ":channels=4" */
static enum tcb_status read_texture_options(struct reader *r, struct tcb_ptx_texture *t)
{
	static const struct {
		const char *word;
		enum tcb_ptx_texture_beyond beyond;
	} modes[] = { { ":clamp", TCB_PTX_TEXTURE_CLAMP },
		      { ":wrap", TCB_PTX_TEXTURE_WRAP },
		      { ":mirror", TCB_PTX_TEXTURE_MIRROR },
		      { ":border", TCB_PTX_TEXTURE_BORDER } };

	while (*r->at && *r->at != '=') {
		size_t i = 0;

		while (i < sizeof modes / sizeof *modes && !take(r, modes[i].word))
			i++;
		if (i < sizeof modes / sizeof *modes)
			t->beyond = modes[i].beyond;
		else if (take(r, ":linear"))
			t->is_linear = 1;
		else if (take(r, ":normalised"))
			t->is_normalised = 1;
		else if (take(r, ":channels=") && *r->at && strchr("124", *r->at))
			t->channels = (unsigned)(*r->at++ - '0');
		else
			return wrong(r, "after a texture's size come :linear, :normalised, :clamp, :wrap, :mirror or "
					":border, and "
					":channels=1, 2 or 4");
	}
	return TCB_OK;
}

/* f32[64x48]:linear=random; the size is told as a tensor map's, and channels are the fastest */
static enum tcb_status read_texture(struct tcb_ptx_run *run, struct reader *r, struct tcb_ptx_argument *a,
				    uint64_t seed)
{
	struct tcb_ptx_texture *t = &a->texture;

	a->kind = TCB_PTX_ARG_BUFFER;
	a->is_read_only = 1;
	TCB_TRY(take_type(r, &a->type));
	if (tcb_ptx_type_bits(a->type) > 32 || a->type == TCB_PTX_BF16)
		return wrong(r, "a texture's type is u8 to u32, s8 to s32, f16 or f32");
	TCB_TRY(take_size(r, a));
	if (a->rank > TCB_PTX_TEXTURE_RANK)
		return wrong(r, "a texture has one to three dimensions");
	*t = (struct tcb_ptx_texture){ .type = a->type, .channels = 1, .rank = a->rank };
	memcpy(t->size, a->extent, sizeof t->size);
	turn_round(a);
	TCB_TRY(read_texture_options(r, t));
	if (!t->is_normalised && (t->beyond == TCB_PTX_TEXTURE_WRAP || t->beyond == TCB_PTX_TEXTURE_MIRROR))
		return wrong(r, ":wrap and :mirror go with :normalised, as on a GPU");
	if (t->channels > 1) {
		a->extent[a->rank++] = t->channels;
		a->count *= t->channels;
		a->bytes *= t->channels;
		free(a->data);
		a->data = a->bytes <= BYTES_MAX ? calloc(1, a->bytes) : NULL;
		if (!a->data)
			return tcb_fail(r->err, TCB_E_NOMEM, "out of memory for argument %u", r->number);
	}
	TCB_TRY(take_fill(r, a, seed));
	TCB_TRY(tcb_ptx_memory_add(run->memory, a->parameter->name, a->data, a->bytes, BUFFER_ALIGN, TCB_PTX_READ_ONLY,
				   &a->address, r->err));
	return tcb_ptx_memory_texture(run->memory, a->address, t, r->err);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* b8[N]=hex:... or a fill */
static enum tcb_status read_bytes(struct reader *r, struct tcb_ptx_argument *a, uint64_t seed)
{
	a->kind = TCB_PTX_ARG_BYTES;
	TCB_TRY(take_size(r, a));
	if (!take(r, "=hex:"))
		return take_fill(r, a, seed);
	if (strlen(r->at) != 2 * a->bytes)
		return wrong(r, "two hexadecimal digits are needed for each byte");
	for (size_t i = 0; i < a->bytes; i++) {
		const int high = hex_digit(r->at[2 * i]), low = hex_digit(r->at[2 * i + 1]);

		if (high < 0 || low < 0)
			return wrong(r, "two hexadecimal digits are needed for each byte");
		a->data[i] = (uint8_t)(high << 4 | low);
	}
	return TCB_OK;
}

/* ":box=64x8", ":swizzle=128", ":nan" */
static enum tcb_status read_map_options(struct reader *r, struct tcb_ptx_tensor_map *map)
{
	uint64_t box[TCB_PTX_TENSOR_RANK], swizzle[TCB_PTX_TENSOR_RANK];
	unsigned rank;

	while (*r->at && *r->at != '=' && strncmp(r->at, ":ro", 3) != 0) {
		if (take(r, ":box=")) {
			TCB_TRY(take_extent(r, box, &rank));
			if (rank != map->rank)
				return wrong(r, "the box has another number of dimensions than the tensor");
			for (unsigned i = 0; i < rank; i++)
				map->box[i] = box[i] > UINT32_MAX ? UINT32_MAX : (unsigned)box[i];
		} else if (take(r, ":swizzle=")) {
			TCB_TRY(take_extent(r, swizzle, &rank));
			map->swizzle = rank == 1 && swizzle[0] <= 128 ? (unsigned)swizzle[0] : 1;
		} else if (take(r, ":nan")) {
			map->fill_nan = 1;
		} else {
			return wrong(r, "after a tensor's size come :box=64x8, :swizzle=32, 64 or 128, and :nan");
		}
	}
	return TCB_OK;
}

/* 0:f16[64x128]:box=64x8, or with memory of its own f16[64x128]:box=64x8=FILL */
static enum tcb_status read_map(struct tcb_ptx_run *run, struct reader *r, struct tcb_ptx_argument *a, uint64_t seed)
{
	const size_t length = strcspn(r->at, ":[");
	const int is_own = r->at[length] == '[';
	const struct tcb_ptx_argument *memory = is_own ? a : tcb_ptx_run_find(run, r->at, length);
	struct tcb_ptx_tensor_map map = { 0 };
	struct tcb_error error;
	uint64_t stride;

	a->kind = TCB_PTX_ARG_TENSOR_MAP;
	if (!memory || (!is_own && !memory->address))
		return wrong(r, "a tensor map wants the number of a buffer among the arguments before it");
	if (!is_own)
		r->at += length + 1;
	TCB_TRY(take_type(r, &a->type));
	TCB_TRY(take_size(r, a));
	map.type = a->type;
	map.rank = a->rank;
	memcpy(map.size, a->extent, sizeof map.size);
	turn_round(a);
	TCB_TRY(read_map_options(r, &map));
	if (is_own)
		TCB_TRY(take_memory(run, r, a, seed));
	else if (*r->at)
		return wrong(r, "what the tensor holds is said where its memory is");
	stride = tcb_ptx_type_bits(map.type) / 8;
	for (unsigned i = 0; i < map.rank; i++) {
		map.stride[i] = stride;
		stride *= map.size[i];
	}
	if (a->bytes > memory->bytes)
		return wrong(r, "the tensor is larger than its buffer");
	map.address = memory->address;
	if (!is_own) {
		free(a->data);
		a->data = NULL;
		a->bytes = a->count = 0;
	}
	if (tcb_ptx_tensor_map_encode(&map, a->map, &error) != TCB_OK)
		return wrong(r, error.message);
	return TCB_OK;
}

/* u32=5 */
static enum tcb_status read_scalar(struct reader *r, struct tcb_ptx_argument *a)
{
	a->kind = TCB_PTX_ARG_SCALAR;
	a->count = 1;
	a->bytes = tcb_ptx_type_bits(a->type) / 8;
	a->data = calloc(1, sizeof(uint64_t));
	if (!a->data)
		return tcb_fail(r->err, TCB_E_NOMEM, "out of memory for argument %u", r->number);
	if (!take(r, "="))
		return wrong(r, "'=' and a value are missing");
	if (!tcb_ptx_element_parse(a->type, r->at, a->data))
		return wrong(r, "the value does not fit its type");
	return TCB_OK;
}

/* Whether the kernel declares what is given. */
static enum tcb_status check_parameter(const struct reader *r, const struct tcb_ptx_argument *a)
{
	const struct tcb_ptx_symbol *p = a->parameter;
	const uint64_t bytes = tcb_ptx_symbol_bytes(p);
	const size_t given = a->kind == TCB_PTX_ARG_BUFFER       ? sizeof a->address
			     : a->kind == TCB_PTX_ARG_TENSOR_MAP ? sizeof a->map
								 : a->bytes;
	const int is_real = tcb_ptx_type_class(p->type) == TCB_PTX_CLASS_FLOAT;
	char declared[64];

	if (p->dimension_count)
		snprintf(declared, sizeof declared, ".b8[%llu], a struct by value", (unsigned long long)bytes);
	else
		snprintf(declared, sizeof declared, ".%s", tcb_ptx_word_text(p->type));
	/* A float where the kernel computes with integers, or the other way round, is a slip; bits are anything. */
	if (given == bytes &&
	    !(a->kind == TCB_PTX_ARG_SCALAR && !p->dimension_count &&
	      tcb_ptx_type_class(p->type) != TCB_PTX_CLASS_BITS && tcb_ptx_type_class(a->type) != TCB_PTX_CLASS_BITS &&
	      is_real != (tcb_ptx_type_class(a->type) == TCB_PTX_CLASS_FLOAT)) &&
	    !(a->kind == TCB_PTX_ARG_BUFFER && (p->dimension_count || is_real)))
		return TCB_OK;
	return tcb_fail(r->err, TCB_E_USAGE, "argument %u, '%.100s': parameter '%.80s' is %s", r->number, r->text,
			p->name, declared);
}

/* It was not what the kernel takes. */
static void forget(struct tcb_ptx_run *run, struct tcb_ptx_argument *a)
{
	if (a->address)
		tcb_ptx_memory_remove(run->memory, a->address);
	free(a->data);
	memset(a, 0, sizeof *a);
}

enum tcb_status tcb_ptx_run_argument(struct tcb_ptx_run *run, const char *text, uint64_t seed, struct tcb_error *err)
{
	struct reader r = { text, text, run->argument_count, err };
	const struct tcb_ptx_symbol *p = run->kernel->params;
	struct tcb_ptx_argument *a = &run->arguments[run->argument_count];
	enum tcb_status status;

	if (run->argument_count == run->parameter_count)
		return tcb_fail(err, TCB_E_USAGE, "'%.100s' is one argument too many: '%.100s' has %u parameters", text,
				run->kernel->symbol->name, run->parameter_count);
	for (unsigned i = 0; i < run->argument_count; i++)
		p = p->next;
	memset(a, 0, sizeof *a);
	a->parameter = p;
	seed += run->argument_count * 0x9e3779b97f4a7c15ull;
	if (take(&r, "buf:"))
		status = read_buffer(run, &r, a, seed);
	else if (take(&r, "tmap:"))
		status = read_map(run, &r, a, seed);
	else if (take(&r, "tex:"))
		status = read_texture(run, &r, a, seed);
	else if ((status = take_type(&r, &a->type)) == TCB_OK)
		status = *r.at == '[' ? read_bytes(&r, a, seed) : read_scalar(&r, a);
	if (status == TCB_OK)
		status = check_parameter(&r, a);
	if (status == TCB_OK)
		run->argument_count++;
	else
		forget(run, a);
	return status;
}

/* --- the launch --- */

struct tcb_ptx_argument *tcb_ptx_run_find(const struct tcb_ptx_run *run, const char *word, size_t length)
{
	for (unsigned i = 0; i < run->argument_count; i++) {
		const char *name = run->arguments[i].parameter->name;
		char number[16];

		snprintf(number, sizeof number, "%u", i);
		if ((strlen(number) == length && strncmp(word, number, length) == 0) ||
		    (strlen(name) == length && strncmp(word, name, length) == 0))
			return &run->arguments[i];
	}
	return NULL;
}

enum tcb_status tcb_ptx_run_launch(struct tcb_ptx_run *run, struct tcb_ptx_launch *launch,
				   const struct tcb_ptx_sink *sink, struct tcb_ptx_emulation *out,
				   struct tcb_error *err)
{
	const struct tcb_ptx_symbol *p = run->kernel->params;
	enum tcb_status status;
	uint8_t *params;

	for (unsigned i = 0; i < run->argument_count; i++)
		p = p->next;
	if (p)
		return tcb_fail(err, TCB_E_USAGE, "'%.100s' has %u parameters, and %u %s given: '%.80s' has no --arg",
				run->kernel->symbol->name, run->parameter_count, run->argument_count,
				run->argument_count == 1 ? "is" : "are", p->name);
	launch->param_bytes = tcb_ptx_param_total(run->kernel);
	params = calloc(1, launch->param_bytes + 1);
	if (!params)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the parameters");
	for (unsigned i = 0; i < run->argument_count; i++) {
		const struct tcb_ptx_argument *a = &run->arguments[i];
		uint8_t *at = params + tcb_ptx_param_offset(run->kernel, i);

		if (a->kind == TCB_PTX_ARG_BUFFER)
			memcpy(at, &a->address, sizeof a->address);
		else if (a->kind == TCB_PTX_ARG_TENSOR_MAP)
			memcpy(at, a->map, sizeof a->map);
		else
			memcpy(at, a->data, a->bytes);
	}
	launch->params = params;
	status = tcb_ptx_emulate_twice(run->program, launch, run->memory, sink, out, err);
	launch->params = NULL;
	free(params);
	return status;
}
