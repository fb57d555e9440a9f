/* SPDX-License-Identifier: MIT
 *
 * What the passes come to in machine code (items 16, 19, 22, 26): ptxas
 * assembles a kernel with and without them, and the instructions of its .text
 * are counted by opcode.  An instruction of sm_70 and later has 16 bytes; the
 * low 9 bits are its opcode: 0x20 FMUL, 0x21 FADD, 0x23 FFMA (read off the
 * disassembler of CUDA 12).  Skipped where there is no ptxas.
 */
#include "pass_tools.h"
#include "ptx_tools.h"

#include <elf.h>

enum { FMUL = 0x20, FADD = 0x21, FFMA = 0x23 };

struct sass {
	unsigned total, fmul, fadd, ffma;
};

static void count_text(const unsigned char *code, size_t bytes, struct sass *out)
{
	memset(out, 0, sizeof *out);
	for (size_t at = 0; at + 16 <= bytes; at += 16) {
		unsigned opcode = (code[at] | (unsigned)code[at + 1] << 8) & 0x1ff;

		out->total++;
		out->fmul += opcode == FMUL;
		out->fadd += opcode == FADD;
		out->ffma += opcode == FFMA;
	}
}

/* The section .text.kernel of the ELF file in DATA. */
static void count_cubin(const unsigned char *data, size_t bytes, struct sass *out)
{
	Elf64_Ehdr header;
	Elf64_Shdr names;

	assert_true(bytes > sizeof header);
	memcpy(&header, data, sizeof header);
	memcpy(&names, data + header.e_shoff + (size_t)header.e_shstrndx * sizeof names, sizeof names);
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, data + header.e_shoff + i * sizeof section, sizeof section);
		if (strcmp((const char *)data + names.sh_offset + section.sh_name, ".text.kernel") == 0) {
			count_text(data + section.sh_offset, section.sh_size, out);
			return;
		}
	}
	fail_msg("no .text.kernel");
}

/* MODULE for sm_90. */
static void assemble(const char *ptxas, const struct tcb_ptx_module *module, struct sass *out)
{
	char from[] = "/tmp/tcbtune-ptx-XXXXXX", to[] = "/tmp/tcbtune-cubin-XXXXXX", command[800];
	struct tcb_str text = { 0 }, said = { 0 };
	unsigned char *data = malloc(1 << 20);
	int in = mkstemp(from), made = mkstemp(to);
	size_t bytes;
	FILE *file;

	assert_true(in >= 0 && made >= 0 && data);
	tcb_ptx_print(module, &text);
	ptx_write(from, text.data);
	snprintf(command, sizeof command, "'%s' -arch=sm_90 '%s' -o '%s'", ptxas, from, to);
	if (ptx_run(command, &said) != 0)
		fail_msg("%s\n%s", said.data, text.data);
	file = fopen(to, "rb");
	assert_non_null(file);
	bytes = fread(data, 1, 1 << 20, file);
	fclose(file);
	count_cubin(data, bytes, out);
	close(in);
	close(made);
	unlink(from);
	unlink(to);
	free(data);
	tcb_str_fini(&text);
	tcb_str_fini(&said);
}

/* BODY, through PASS unless it is NULL. */
static struct sass sass_of(const char *ptxas, const char *body, const char *pass)
{
	struct tcb_ptx_module *module = pass_kernel(body);
	struct sass sass;
	struct tcb_error err;

	if (pass && strcmp(pass, "all") == 0)
		assert_int_equal(tcb_ptx_optimise(module, NULL, NULL, &err), TCB_OK);
	else if (pass)
		pass_run(pass, module, NULL);
	/* the marker of the tests is no pragma that ptxas knows */
	for (struct tcb_ptx_ins *ins = module->functions->first->first, *next; ins; ins = next) {
		next = ins->next;
		if (ins->op == TCB_PTX_OP_PRAGMA)
			tcb_ptx_ins_remove(ins);
	}
	assemble(ptxas, module, &sass);
	tcb_ptx_module_destroy(module);
	return sass;
}

static const char *need_ptxas(void)
{
	const char *ptxas = ptx_tool("ptxas");

	if (!ptxas)
		skip_because("no ptxas here");
	return ptxas;
}

#define STORE "st.global.f32 [%z0], %y5;\n"

static void fusion_is_seen_in_machine_code(void **state)
{
	const char *ptxas = need_ptxas();
	const struct {
		const char *title, *body;
		unsigned ffma, fadd, fmul; /* with the pass */
	} cases[] = {
		{ "a*b + c", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\n" STORE, 1, 0, 0 },
		{ "a*b - c", "mul.f32 %y4, %y0, %y1;\nsub.f32 %y5, %y4, %y2;\n" STORE, 1, 0, 0 },
		{ "c - a*b", "mul.f32 %y4, %y0, %y1;\nsub.f32 %y5, %y2, %y4;\n" STORE, 1, 0, 0 },
		/* controls: rounded twice, as asked */
		{ "a*b + c, .rn", "mul.rn.f32 %y4, %y0, %y1;\nadd.rn.f32 %y5, %y4, %y2;\n" STORE, 0, 1, 1 },
		{ "a*b + c, the sum .rz", "mul.f32 %y4, %y0, %y1;\nadd.rz.f32 %y5, %y4, %y2;\n" STORE, 0, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sass without = sass_of(ptxas, cases[i].body, NULL), with = sass_of(ptxas, cases[i].body, "all");

		print_message("%-22s without: %u FFMA %u FADD %u FMUL of %u; with: %u FFMA %u FADD %u FMUL of %u\n",
			      cases[i].title, without.ffma, without.fadd, without.fmul, without.total, with.ffma,
			      with.fadd, with.fmul, with.total);
		assert_int_equal(with.ffma, cases[i].ffma);
		assert_int_equal(with.fadd, cases[i].fadd);
		assert_int_equal(with.fmul, cases[i].fmul);
	}
}

/* Division by a constant and a guarded loop, where a pass ought to leave less to execute than ptxas does alone. */
static void machine_code_is_not_longer(void **state)
{
	const char *ptxas = need_ptxas();
	const struct {
		const char *title, *pass, *body;
	} cases[] = {
		{ "u32 / 10", "strength", "div.u32 %x4, %x0, 10;\nst.global.u32 [%z0], %x4;\n" },
		{ "s64 % 10", "strength", "rem.s64 %z4, %z1, 10;\nst.global.u64 [%z0], %z4;\n" },
		{ "f32 / 8", "strength", "div.rn.f32 %y5, %y0, 0f41000000;\n" STORE },
		{ "common sums", "cse",
		  "ld.global.u32 %x4, [%z1];\nld.global.u32 %x5, [%z1];\nadd.u32 %x6, %x4, %x5;\nst.global.u32 [%z0], "
		  "%x6;\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sass without = sass_of(ptxas, cases[i].body, NULL),
			    with = sass_of(ptxas, cases[i].body, cases[i].pass);

		print_message("%-12s %-10s without: %u instructions, with: %u\n", cases[i].title, cases[i].pass,
			      without.total, with.total);
		assert_true(with.total <= without.total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fusion_is_seen_in_machine_code),
		cmocka_unit_test(machine_code_is_not_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
