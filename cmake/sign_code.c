/* SPDX-License-Identifier: MIT
 *
 *     sign_code OUT LIST
 *
 * Signs the CPU's variants by their machine code.  LIST names the relocatable objects (ELF, 64 bits, one path a line)
 * that hold the tables of variants and the functions that these run with.  OUT is a C file: a table of each variant's
 * name and signature, sorted by name, for src/kernels/code_signature.c.
 *
 * A signature is a hash of what the entry function can reach: the bytes of its section (-ffunction-sections) and what
 * its relocations refer to, again and again.  A reference to code or data of the LIST counts as its content, a
 * reference to a constant or a string (of a section that the linker merges, or of the one section that a file's
 * functions share) as that, and one to anything else (the C library, src/base) as the symbol's name.  Addresses, the
 * order of sections and files, alignment, names of local symbols, debug information and notes do not count.  In objects
 * with addends beside (RELA) a relocated field holds zeros.
 */
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_isas.c"
#include "kernels/op.h"

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "tables of variants are read as this machine has them");

/* What rows to sign name in their field signed_in. */
static const char table_name[] = "tcb_signed_variants";

/* Instruction sets that names of files end with. */
#define WORD(K, id, word) word,
static const char *const suffixes[] = { TCB_ISA_LIST(WORD, ISA) };
#undef WORD

struct object {
	const char *path;
	unsigned char *bytes;
	size_t size;
	const Elf64_Shdr *sections;
	size_t section_count;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const Elf64_Word *wide; /* of symbols whose section has a number that does not fit into them; NULL: none */
	size_t wide_count;
	const char *names; /* of symbols */
	size_t names_size;
	size_t *relocations; /* of each section the section that holds them; 0: none */
	size_t *number;      /* of each section in the description that is written, from 1 on; 0: not in it */
	size_t shared;       /* the section of constants that all its functions share; 0: none */
	uint64_t *starts;    /* where its constants are referred to, sorted */
	size_t start_count;
	size_t folder; /* bytes of its path */
	int isa;       /* -1: none */
	int has_rows;
};

struct place {
	struct object *object;
	size_t section;
};

/* A symbol that other objects see. */
struct global {
	const char *name;
	struct object *object;
	const Elf64_Sym *symbol;
};

struct signed_variant {
	const char *name;
	char signature[33];
};

static int sizes_only; /* instead of code */
static struct object *objects;
static size_t object_count;
static struct global *globals;
static size_t global_count;
static struct signed_variant *variants;
static size_t variant_count;

static _Noreturn void die(const char *path, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "sign_code: %s: ", path);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

/* Room for one more item behind COUNT, doubled now and then. */
static void *one_more(void *items, size_t count, size_t item_bytes)
{
	if (count & (count - 1))
		return items;
	items = realloc(items, (count ? 2 * count : 1) * item_bytes);
	if (!items)
		die("memory", "out of it");
	return items;
}

/* --- reading --- */

static unsigned char *read_file(const char *path, size_t *size_out)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes = NULL;
	size_t size = 0;
	if (!file || fseek(file, 0, SEEK_END) != 0)
		die(path, "cannot be read");
	size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(size + 1);
	if (!bytes || fread(bytes, 1, size, file) != size)
		die(path, "cannot be read");
	fclose(file);
	bytes[size] = '\0';
	*size_out = size;
	return bytes;
}

static const void *section_bytes(const struct object *object, size_t section)
{
	const Elf64_Shdr *header = &object->sections[section];
	if (header->sh_offset > object->size || header->sh_size > object->size - header->sh_offset)
		die(object->path, "section %zu lies outside the file", section);
	return object->bytes + header->sh_offset;
}

static const char *symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
	if (symbol->st_name >= object->names_size)
		die(object->path, "a symbol's name lies outside its table");
	return object->names + symbol->st_name;
}

/* SYMBOL's section; 0 (SHN_UNDEF): in none of OBJECT; SIZE_MAX: it is a number or common. */
static size_t section_of(const struct object *object, const Elf64_Sym *symbol)
{
	const size_t index = (size_t)(symbol - object->symbols);
	if (symbol->st_shndx == SHN_XINDEX && index < object->wide_count)
		return object->wide[index];
	return symbol->st_shndx >= SHN_LORESERVE ? SIZE_MAX : symbol->st_shndx;
}

static int is_x86(const struct object *object)
{
	return ((const Elf64_Ehdr *)(const void *)object->bytes)->e_machine == EM_X86_64;
}

/* Assemblers of different age write the same reference as one of these or the other. */
static unsigned plain_type(const struct object *object, const Elf64_Rela *relocation)
{
	const unsigned type = (unsigned)ELF64_R_TYPE(relocation->r_info);
	if (!is_x86(object))
		return type;
	if (type == R_X86_64_PLT32)
		return R_X86_64_PC32;
	return type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX ? R_X86_64_GOTPCREL : type;
}

static const Elf64_Rela *relocations_of(const struct object *object, size_t section, size_t *count_out)
{
	const size_t from = object->relocations[section];
	*count_out = from ? object->sections[from].sh_size / sizeof(Elf64_Rela) : 0;
	return from ? section_bytes(object, from) : NULL;
}

/* Where in a section RELOCATION of its symbol goes.  On x86 it counts from the end of the instruction: 4 bytes behind
 * the field, or more where a number follows it, so that what is meant is the next multiple of 4. */
static uint64_t section_offset(const struct object *object, const Elf64_Rela *relocation)
{
	const uint64_t offset = (uint64_t)relocation->r_addend;
	return is_x86(object) && plain_type(object, relocation) == R_X86_64_PC32 ? (offset + 7) & ~(uint64_t)3 : offset;
}

static int by_number(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Constants that are too large to be merged stand in ".rodata", whosever they are. */
static void read_shared(struct object *object)
{
	const struct object *o = object;
	const Elf64_Half given = ((const Elf64_Ehdr *)(const void *)o->bytes)->e_shstrndx;
	const size_t names = given == SHN_XINDEX ? o->sections[0].sh_link : given;
	const char *name;
	if (names >= o->section_count)
		die(o->path, "sections have no names");
	name = section_bytes(o, names);
	for (size_t i = 1; i < o->section_count && !object->shared; i++)
		if (o->sections[i].sh_name < o->sections[names].sh_size && o->sections[i].sh_size > 0 &&
		    strcmp(name + o->sections[i].sh_name, ".rodata") == 0 && !o->relocations[i])
			object->shared = i;
	for (size_t i = 1; i < o->section_count && object->shared; i++) {
		size_t count;
		const Elf64_Rela *relocations = relocations_of(o, i, &count);
		for (size_t r = 0; (o->sections[i].sh_flags & SHF_ALLOC) && r < count; r++) {
			const size_t index = ELF64_R_SYM(relocations[r].r_info);
			if (index >= o->symbol_count || section_of(o, &o->symbols[index]) != o->shared)
				continue;
			object->starts = one_more(object->starts, object->start_count, sizeof(*object->starts));
			object->starts[object->start_count++] =
				o->symbols[index].st_value + section_offset(o, &relocations[r]);
		}
	}
	if (object->start_count)
		qsort(object->starts, object->start_count, sizeof(*object->starts), by_number);
}

static void read_sections(struct object *object)
{
	object->relocations = calloc(object->section_count, sizeof(*object->relocations));
	object->number = calloc(object->section_count, sizeof(*object->number));
	if (!object->relocations || !object->number)
		die(object->path, "out of memory");
	for (size_t i = 1; i < object->section_count; i++) {
		const Elf64_Shdr *header = &object->sections[i];
		if (header->sh_type == SHT_REL)
			die(object->path, "relocations without addends are not supported");
		if (header->sh_type == SHT_RELA && header->sh_info < object->section_count)
			object->relocations[header->sh_info] = i;
		if (header->sh_type == SHT_SYMTAB_SHNDX) {
			object->wide = section_bytes(object, i);
			object->wide_count = header->sh_size / sizeof(Elf64_Word);
		}
		if (header->sh_type != SHT_SYMTAB || header->sh_link >= object->section_count)
			continue;
		object->symbols = section_bytes(object, i);
		object->symbol_count = header->sh_size / sizeof(Elf64_Sym);
		object->names = section_bytes(object, header->sh_link);
		object->names_size = object->sections[header->sh_link].sh_size;
	}
}

static void read_globals(struct object *object)
{
	for (size_t i = 0; i < object->symbol_count; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || section_of(object, symbol) == SHN_UNDEF)
			continue;
		globals = one_more(globals, global_count, sizeof(*globals));
		globals[global_count++] = (struct global){ symbol_name(object, symbol), object, symbol };
	}
}

/* The folder and the instruction set in PATH, "quant_matmul/quant_matmul_unpack_avx2.c.o". */
static void read_path(struct object *object)
{
	const char *slash = strrchr(object->path, '/'), *dot, *word;
	object->folder = slash ? (size_t)(slash - object->path) + 1 : 0;
	object->isa = -1;
	dot = strchr(object->path + object->folder, '.');
	word = strrchr(object->path + object->folder, '_');
	for (size_t i = 0; dot && word && word < dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (strlen(suffixes[i]) == (size_t)(dot - word) - 1 &&
		    strncmp(word + 1, suffixes[i], strlen(suffixes[i])) == 0)
			object->isa = (int)i;
}

static void read_object(struct object *object)
{
	const Elf64_Ehdr *header;
	object->bytes = read_file(object->path, &object->size);
	header = (const void *)object->bytes;
	if (object->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_type != ET_REL || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff == 0 ||
	    header->e_shoff > object->size || object->size - header->e_shoff < sizeof(Elf64_Shdr))
		die(object->path, "is not a relocatable ELF object of 64 bits (kernels are built without -flto)");
	object->sections = (const void *)(object->bytes + header->e_shoff);
	/* So many that the number does not fit: sanitizers make them. */
	object->section_count = header->e_shnum ? header->e_shnum : object->sections[0].sh_size;
	if (object->section_count > (object->size - header->e_shoff) / sizeof(Elf64_Shdr))
		die(object->path, "its sections lie outside the file");
	read_sections(object);
	read_shared(object);
	read_globals(object);
	read_path(object);
}

static void read_objects(const char *list)
{
	size_t size;
	char *rest = (char *)read_file(list, &size), *path;
	while ((path = strsep(&rest, "\n")) != NULL) {
		if (!*path)
			continue;
		objects = one_more(objects, object_count, sizeof(*objects));
		objects[object_count++] = (struct object){ .path = path };
	}
	for (size_t i = 0; i < object_count; i++)
		read_object(&objects[i]);
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* --- describing --- */

/* A hash of what was said so far (FNV-1a), and the sections that are in it, in the order in which they were met. */
struct description {
	unsigned __int128 hash;
	struct place *places;
	size_t place_count;
};

static void say(struct description *description, const void *bytes, size_t size)
{
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	for (size_t i = 0; i < size; i++)
		description->hash = (description->hash ^ ((const unsigned char *)bytes)[i]) * prime;
}

static void say_number(struct description *description, uint64_t number)
{
	say(description, &number, sizeof(number));
}

static void say_text(struct description *description, const char *text)
{
	say(description, text, strlen(text) + 1);
}

/* What of the shared section begins at OFFSET: up to the next that is referred to, in whole blocks, of which each
 * vector has its own. */
static void say_shared(struct description *description, const struct object *object, uint64_t offset)
{
	enum { BLOCK = 64 };
	const uint64_t size = object->sections[object->shared].sh_size, begin = offset - offset % BLOCK;
	const char *bytes = section_bytes(object, object->shared);
	uint64_t end = size;
	for (size_t i = 0; i < object->start_count && end == size; i++)
		if (object->starts[i] > offset)
			end = (object->starts[i] + BLOCK - 1) / BLOCK * BLOCK;
	if (begin >= size)
		die(object->path, "a reference goes behind its constants");
	if (end > size)
		end = size;
	say_text(description, "constants");
	say_number(description, end - begin);
	say(description, bytes + begin, end - begin);
	say_number(description, offset - begin);
}

static void say_section(struct description *description, struct object *object, size_t section)
{
	if (!object->number[section]) {
		description->places =
			one_more(description->places, description->place_count, sizeof(*description->places));
		description->places[description->place_count++] = (struct place){ object, section };
		object->number[section] = description->place_count;
	}
	say_number(description, object->number[section]);
}

/* A constant or string of a section that the linker merges, at OFFSET; REST: how far behind it the reference goes. */
static void say_constant(struct description *description, const struct object *object, size_t section, uint64_t offset,
			 int64_t rest)
{
	const Elf64_Shdr *header = &object->sections[section];
	const char *bytes = section_bytes(object, section);
	uint64_t begin = offset, size = header->sh_entsize ? header->sh_entsize : 1;
	if (offset >= header->sh_size)
		die(object->path, "a reference goes behind a constant's section");
	if (header->sh_flags & SHF_STRINGS)
		size = strnlen(bytes + begin, header->sh_size - begin);
	else
		begin -= begin % size;
	say_text(description, "constant");
	say_number(description, size);
	say(description, bytes + begin, size);
	say_number(description, (uint64_t)rest + offset - begin);
}

/* The symbol that OBJECT's relocation means, and whose it is. */
static struct global resolve(struct object *object, const Elf64_Rela *relocation)
{
	const size_t index = ELF64_R_SYM(relocation->r_info);
	struct global found = { .object = object };
	if (index >= object->symbol_count)
		die(object->path, "a relocation of no symbol");
	found.symbol = &object->symbols[index];
	found.name = symbol_name(object, found.symbol);
	if (section_of(object, found.symbol) == SHN_UNDEF && *found.name && global_count) {
		const struct global *global = bsearch(&found, globals, global_count, sizeof(*globals), by_name);
		if (global)
			found = *global;
	}
	return found;
}

static void say_target(struct description *description, struct object *from, const Elf64_Rela *relocation)
{
	const struct global target = resolve(from, relocation);
	const Elf64_Sym *symbol = target.symbol;
	const size_t section = section_of(target.object, symbol);
	const int is_bare = ELF64_ST_TYPE(symbol->st_info) == STT_SECTION;
	if (section == SHN_UNDEF || section >= target.object->section_count) {
		say_text(description, target.name);
		say_number(description, (uint64_t)relocation->r_addend);
	} else if (target.object->sections[section].sh_flags & SHF_MERGE) {
		if (is_bare)
			say_constant(description, target.object, section, section_offset(from, relocation), 0);
		else
			say_constant(description, target.object, section, symbol->st_value, relocation->r_addend);
	} else if (section == target.object->shared) {
		say_shared(description, target.object, symbol->st_value + section_offset(from, relocation));
	} else {
		say_section(description, target.object, section);
		say_number(description, symbol->st_value + (uint64_t)relocation->r_addend);
	}
}

static void describe_section(struct description *description, struct place place)
{
	const Elf64_Shdr *header = &place.object->sections[place.section];
	size_t count;
	const Elf64_Rela *relocations = relocations_of(place.object, place.section, &count);
	say_number(description, header->sh_size);
	if (sizes_only)
		return;
	if (header->sh_type != SHT_NOBITS)
		say(description, section_bytes(place.object, place.section), header->sh_size);
	for (size_t i = 0; i < count; i++) {
		say_number(description, relocations[i].r_offset);
		say_number(description, plain_type(place.object, &relocations[i]));
		say_target(description, place.object, &relocations[i]);
	}
}

/* Does code of OBJECT run beside variants of ROWS: what prepares activations or unpacks weights for them? */
static int runs_with(const struct object *rows, const struct object *object)
{
	return !object->has_rows && object->isa >= 0 &&
	       tcb_cpu_isa_within((enum tcb_isa)rows->isa) >> object->isa & 1 && object->folder == rows->folder &&
	       strncmp(object->path, rows->path, rows->folder) == 0;
}

/* The functions of OBJECT's folder that its variants run with. */
static void say_company(struct description *description, const struct object *object)
{
	for (size_t i = 0; i < global_count; i++) {
		const struct global *global = &globals[i];
		const size_t section = section_of(global->object, global->symbol);
		if (!runs_with(object, global->object) || section >= global->object->section_count)
			continue;
		say_text(description, global->name);
		say_section(description, global->object, section);
		say_number(description, global->symbol->st_value);
	}
}

/* What RELOCATION of OBJECT, a row's entry, leads to, and its company. */
static void sign(struct object *object, const Elf64_Rela *relocation, char out[33])
{
	struct description description = { .hash = ((unsigned __int128)0x6c62272e07bb0142 << 64) + 0x62b821756295c58d };
	say_target(&description, object, relocation);
	say_company(&description, object);
	for (size_t i = 0; i < description.place_count; i++)
		describe_section(&description, description.places[i]);
	for (size_t i = 0; i < description.place_count; i++)
		description.places[i].object->number[description.places[i].section] = 0;
	free(description.places);
	snprintf(out, 33, "%016llx%016llx", (unsigned long long)(description.hash >> 64),
		 (unsigned long long)description.hash);
}

/* --- rows of the tables --- */

/* The relocation of the row's field at OFFSET of its section. */
static const Elf64_Rela *field(const struct object *object, const Elf64_Rela *relocations, size_t count,
			       uint64_t offset)
{
	for (size_t i = 0; i < count; i++)
		if (relocations[i].r_offset == offset)
			return &relocations[i];
	die(object->path, "a row of its variants has no name or no entry");
}

static const char *string_at(struct object *object, const Elf64_Rela *relocation)
{
	const struct global target = resolve(object, relocation);
	const uint64_t offset = target.symbol->st_value + (uint64_t)relocation->r_addend;
	const size_t section = section_of(target.object, target.symbol);
	if (section >= target.object->section_count || offset >= target.object->sections[section].sh_size)
		die(object->path, "a variant's name is not in it");
	return (const char *)section_bytes(target.object, section) + offset;
}

static void sign_row(struct object *object, const Elf64_Rela *relocations, size_t count, uint64_t row)
{
	struct signed_variant variant = { .name = string_at(object, field(object, relocations, count,
									  row + offsetof(struct tcb_variant, name))) };
	sign(object, field(object, relocations, count, row + offsetof(struct tcb_variant, entry)), variant.signature);
	variants = one_more(variants, variant_count, sizeof(*variants));
	variants[variant_count++] = variant;
}

/* Finds OBJECT's rows, which are known by the table that they name; signs them, or notes only that there are some. */
static void each_row(struct object *object, int signs)
{
	for (size_t section = 1; section < object->section_count; section++) {
		size_t count;
		const Elf64_Rela *relocations = relocations_of(object, section, &count);
		for (size_t i = 0; (object->sections[section].sh_flags & SHF_ALLOC) && i < count; i++) {
			if (strcmp(resolve(object, &relocations[i]).name, table_name) != 0)
				continue;
			object->has_rows = 1;
			if (signs)
				sign_row(object, relocations, count,
					 relocations[i].r_offset - offsetof(struct tcb_variant, signed_in));
		}
	}
}

static void write_table(const char *path)
{
	FILE *out = fopen(path, "w");
	if (!out)
		die(path, "cannot be written");
	qsort(variants, variant_count, sizeof(*variants), by_name);
	fprintf(out, "#include \"kernels/op.h\"\n\nconst struct tcb_signed_variant %s[] = {\n", table_name);
	for (size_t i = 0; i < variant_count; i++) {
		if (i > 0 && strcmp(variants[i - 1].name, variants[i].name) == 0)
			die(variants[i].name, "two variants have this name");
		fprintf(out, "\t{ \"%s\", \"%s\" },\n", variants[i].name, variants[i].signature);
	}
	fprintf(out, "};\nconst size_t tcb_signed_variant_count = %zu;\n", variant_count);
	if (fclose(out) != 0)
		die(path, "cannot be written");
}

int main(int argc, char **argv)
{
	sizes_only = argc == 4 && strcmp(argv[3], "sizes") == 0;
	if (argc != 3 + sizes_only) {
		fputs("Usage: sign_code OUT LIST [sizes]\n", stderr);
		return 2;
	}
	read_objects(argv[2]);
	if (global_count)
		qsort(globals, global_count, sizeof(*globals), by_name);
	for (size_t i = 0; i < object_count; i++)
		each_row(&objects[i], 0);
	for (size_t i = 0; i < object_count; i++)
		each_row(&objects[i], 1);
	if (!variant_count)
		die(argv[2], "none of the objects has a variant");
	write_table(argv[1]);
	return 0;
}
