/* SPDX-License-Identifier: MIT
 *
 * Device memory: regions of the caller's arrays with unmapped space between
 * them, and the variables of modules, which get their initial values when the
 * first launch of one of the module's kernels uses them, and keep what launches
 * write.
 */
#include "ptx/emulate/emu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* The first address and the least gap between regions: any stray of less than a page is found. */
#define FIRST_ADDRESS 0x00007f0000000000ull
enum { GAP = 4096 };

enum tcb_status tcb_ptx_memory_create(struct tcb_ptx_memory **out, struct tcb_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a device memory");
	(*out)->next = FIRST_ADDRESS;
	return TCB_OK;
}

void tcb_ptx_memory_destroy(struct tcb_ptx_memory *memory)
{
	if (!memory)
		return;
	for (uint32_t i = 0; i < memory->region_count; i++) {
		if (memory->regions[i].is_owned)
			free(memory->regions[i].host);
		free(memory->regions[i].cells);
	}
	free(memory->regions);
	free(memory->loaded);
	free(memory);
}

enum tcb_status tcb_ptx_memory_add(struct tcb_ptx_memory *memory, const char *name, void *host, size_t bytes,
				   unsigned align, enum tcb_ptx_permission permission, uint64_t *address_out,
				   struct tcb_error *err)
{
	struct tcb_emu_region *region;
	uint64_t wide = align ? align : 1, address;

	if (wide & (wide - 1))
		return tcb_fail(err, TCB_E_USAGE, "an alignment of %u is not a power of two", align);
	region = tcb_grow(memory->regions, memory->region_count, &memory->region_capacity, 16, sizeof *region);
	if (!region)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a region of device memory");
	memory->regions = region;
	address = (memory->next + 2 * wide - 1) / (2 * wide) * (2 * wide) + wide; /* an odd multiple */
	if (bytes > TCB_EMU_SHARED_WINDOW - address - GAP)
		return tcb_fail(err, TCB_E_OVERFLOW, "a region of %zu bytes does not fit the address space", bytes);
	memory->next = address + bytes + GAP;
	region = &memory->regions[memory->region_count++];
	*region = (struct tcb_emu_region){ .address = address, .bytes = bytes, .host = host, .permission = permission };
	snprintf(region->name, sizeof region->name, "%s", name);
	*address_out = address;
	return TCB_OK;
}

void tcb_ptx_memory_remove(struct tcb_ptx_memory *memory, uint64_t address)
{
	struct tcb_emu_region *region = tcb_emu_region_find(memory, address);

	if (!region || region->address != address)
		return;
	free(region->cells);
	if (region->is_owned)
		free(region->host);
	memory->region_count--;
	memmove(region, region + 1, (size_t)(memory->regions + memory->region_count - region) * sizeof *region);
}

/* The region that ADDRESS is in, or the last one below it; NULL when there is none. */
struct tcb_emu_region *tcb_emu_region_find(struct tcb_ptx_memory *memory, uint64_t address)
{
	uint32_t low = 0, high = memory->region_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (memory->regions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &memory->regions[low - 1] : NULL;
}

/* --- variables --- */

struct filling {
	struct tcb_ptx_program *program;
	const struct tcb_ptx_symbol *symbol;
	uint8_t *bytes;
	uint64_t size;
};

static uint64_t address_named(const struct tcb_ptx_program *program, const char *name)
{
	for (uint32_t i = 0; i < program->variable_count; i++)
		if (strcmp(program->variables[i].symbol->name, name) == 0)
			return program->variables[i].address;
	for (uint32_t i = 0; i < program->function_count; i++)
		if (strcmp(program->functions[i]->function->symbol->name, name) == 0)
			return TCB_EMU_FUNCTION_WINDOW + 16ull * i;
	return 0;
}

static uint64_t init_value(const struct filling *f, const struct tcb_ptx_init *init)
{
	uint64_t value = init->bits, mask;
	double wide;
	float narrow;

	switch (init->kind) {
	case TCB_PTX_INIT_SYMBOL:
	case TCB_PTX_INIT_GENERIC:
		value += address_named(f->program, init->symbol);
		if (init->mask && (mask = strtoull(init->mask, NULL, 0)))
			value = (value & mask) >> __builtin_ctzll(mask);
		break;
	case TCB_PTX_INIT_F64:
		if (f->symbol->type == TCB_PTX_F32) {
			memcpy(&wide, &value, sizeof wide);
			narrow = (float)wide;
			value = 0;
			memcpy(&value, &narrow, sizeof narrow);
		}
		break;
	default:
		break;
	}
	return value;
}

/* Bytes of what one brace at DEPTH holds: the whole variable at 0. */
static uint64_t extent(const struct tcb_ptx_symbol *symbol, unsigned depth)
{
	uint64_t bytes = tcb_ptx_type_bits(symbol->type) / 8;

	if (symbol->vector)
		bytes *= symbol->vector == TCB_PTX_V2 ? 2 : 4;
	for (unsigned i = depth; i < symbol->dimension_count; i++)
		bytes *= symbol->dimension[i];
	return bytes;
}

/* Values fill a brace from its start; a nested brace begins at the next multiple of its own extent. */
static void fill(const struct filling *f)
{
	uint64_t element = tcb_ptx_type_bits(f->symbol->type) / 8, at = 0, start[TCB_PTX_DIMENSIONS_MAX + 2] = { 0 };
	unsigned depth = 0;

	for (size_t i = 0; i < f->symbol->init_count; i++) {
		const struct tcb_ptx_init *init = &f->symbol->init[i];
		uint64_t size = depth <= f->symbol->dimension_count ? extent(f->symbol, depth) : element, value;

		if (init->kind == TCB_PTX_INIT_OPEN) {
			if (depth <= TCB_PTX_DIMENSIONS_MAX)
				start[depth] = at;
			depth++;
		} else if (init->kind == TCB_PTX_INIT_CLOSE) {
			if (depth && --depth <= TCB_PTX_DIMENSIONS_MAX)
				at = start[depth] +
				     (depth <= f->symbol->dimension_count ? extent(f->symbol, depth) : size);
		} else {
			value = init_value(f, init);
			if (at <= f->size && element <= f->size - at)
				memcpy(f->bytes + at, &value, element < sizeof value ? element : sizeof value);
			at += element;
		}
	}
}

static struct tcb_emu_loaded *loaded_find(struct tcb_ptx_memory *memory, const struct tcb_ptx_program *program,
					  const struct tcb_ptx_symbol *symbol)
{
	for (uint32_t i = 0; i < memory->loaded_count; i++)
		if (memory->loaded[i].module == program->module && memory->loaded[i].symbol == symbol)
			return &memory->loaded[i];
	return NULL;
}

void tcb_ptx_memory_unload(struct tcb_ptx_memory *memory, const struct tcb_ptx_module *module)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < memory->loaded_count; i++)
		if (memory->loaded[i].module == module)
			tcb_ptx_memory_remove(memory, memory->loaded[i].address);
		else
			memory->loaded[left++] = memory->loaded[i];
	memory->loaded_count = left;
}

static enum tcb_status load_one(struct tcb_ptx_memory *memory, const struct tcb_ptx_program *program,
				struct tcb_emu_variable *variable, struct tcb_error *err)
{
	const struct tcb_ptx_symbol *symbol = variable->symbol;
	uint64_t bytes = tcb_ptx_symbol_bytes(symbol);
	struct tcb_emu_loaded *loaded;
	uint8_t *host;
	enum tcb_status status;

	if (bytes > 1u << 30)
		return tcb_fail(err, TCB_E_OVERFLOW, "'%.80s' is larger than 1 GiB", symbol->name);
	loaded = tcb_grow(memory->loaded, memory->loaded_count, &memory->loaded_capacity, 16, sizeof *memory->loaded);
	if (!loaded)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for variables");
	memory->loaded = loaded;
	host = calloc(1, bytes ? bytes : 1);
	if (!host)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for '%.80s'", symbol->name);
	status = tcb_ptx_memory_add(memory, symbol->name, host, bytes, tcb_ptx_symbol_align(symbol),
				    symbol->space == TCB_PTX_CONST ? TCB_PTX_READ_ONLY : TCB_PTX_MAY_WRITE,
				    &variable->address, err);
	if (status != TCB_OK) {
		free(host);
		return status;
	}
	memory->regions[memory->region_count - 1].is_owned = 1;
	memory->loaded[memory->loaded_count++] = (struct tcb_emu_loaded){ program->module, symbol, variable->address };
	return TCB_OK;
}

static void apply_fixups(struct tcb_ptx_program *program)
{
	for (struct tcb_emu_fixup *fixup = program->fixups; fixup; fixup = fixup->next) {
		uint64_t address = program->variables[fixup->variable].address + (uint64_t)fixup->add;

		if (fixup->where) {
			*fixup->where = (int64_t)address;
			continue;
		}
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			if (fixup->bits == 64)
				memcpy(program->pool + fixup->pool_place + 8 * i, &address, 8);
			else
				memcpy(program->pool + fixup->pool_place + 4 * i, &address, 4);
	}
}

enum tcb_status tcb_emu_load_variables(struct tcb_ptx_program *program, struct tcb_ptx_memory *memory,
				       struct tcb_error *err)
{
	uint32_t before = memory->loaded_count;

	for (uint32_t i = 0; i < program->variable_count; i++) {
		struct tcb_emu_loaded *known = loaded_find(memory, program, program->variables[i].symbol);

		if (known)
			program->variables[i].address = known->address;
		else
			TCB_TRY(load_one(memory, program, &program->variables[i], err));
	}
	for (uint32_t i = before; i < memory->loaded_count; i++) {
		struct tcb_emu_region *region = tcb_emu_region_find(memory, memory->loaded[i].address);
		struct filling filling = { program, memory->loaded[i].symbol, region->host, region->bytes };

		fill(&filling);
	}
	apply_fixups(program);
	return TCB_OK;
}

enum tcb_status tcb_ptx_memory_variable(struct tcb_ptx_memory *memory, struct tcb_ptx_program *program,
					const char *name, void **host_out, uint64_t *address_out, struct tcb_error *err)
{
	TCB_TRY(tcb_emu_load_variables(program, memory, err));
	for (uint32_t i = 0; i < program->variable_count; i++)
		if (strcmp(program->variables[i].symbol->name, name) == 0) {
			*address_out = program->variables[i].address;
			*host_out = tcb_emu_region_find(memory, *address_out)->host;
			return TCB_OK;
		}
	return tcb_fail(err, TCB_E_NOT_FOUND, "the kernel uses no variable '%.80s'", name);
}
