/* SPDX-License-Identifier: MIT
 *
 * The opcode table, row by row and word by word: each is made into an
 * instruction, which must print, parse back to itself, pass the verifier and,
 * where ptxas is found, assemble for the first target that the row names.  A
 * row for sm_80 or later must be refused for the target before.
 */
#include "ptx_tools.h"

#include "ptx/analyse/legality.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

enum { TARGETS = 11 };

static const char *const targets[TARGETS] = { "sm_75",  "sm_80",   "sm_86",   "sm_89",   "sm_90",  "sm_90a",
					      "sm_100", "sm_100f", "sm_100a", "sm_103f", "sm_120f" };

/* Registers and variables that the generated instructions use. */
static const char prologue[] = ".version 9.0\n.target %s\n.address_size 64\n"
			       ".global .align 128 .b8 g[4096];\n.const .align 128 .b8 c[4096];\n";
static const char kernel_head[] =
	".visible .entry k%u(\n\t.param .align 128 .b8 p[256]\n)\n{\n"
	"\t.reg .pred %%p<8>;\n\t.reg .b8 %%c<8>;\n\t.reg .b16 %%h<40>;\n\t.reg .b32 %%r<140>;\n"
	"\t.reg .b64 %%rd<40>;\n\t.reg .b128 %%rq<8>;\n\t.reg .f32 %%f<8>;\n"
	"\t.shared .align 128 .b8 s[4096];\n\t.local .align 128 .b8 l[256];\n"
	"\t.param .align 128 .b8 q[256];\n";

struct variant {
	struct tcb_str text;
	int target; /* index of the first target that may use it */
};

/* Bits registers fit every operand but predicates; floats appear as .b32, which the rules allow. */
static void add_reg(struct tcb_str *out, enum tcb_ptx_word type, unsigned *next)
{
	unsigned bits = tcb_ptx_type_bits(type), index = (*next)++;

	tcb_str_addf(out, "%s%u",
		     type == TCB_PTX_PRED ? "%p"
		     : type == TCB_PTX_B8 ? "%c"
		     : bits <= 16         ? "%h"
		     : bits == 32         ? "%r"
		     : bits == 64         ? "%rd"
					  : "%rq",
		     type == TCB_PTX_PRED || bits > 64 || type == TCB_PTX_B8 ? index % 8
		     : bits == 32                                            ? index % 140
									     : index % 40);
}

static const char *address_in(enum tcb_ptx_word space, int is_written)
{
	switch ((int)space) {
	case TCB_PTX_GLOBAL:
		return "g";
	case TCB_PTX_CONST:
		return "c";
	case TCB_PTX_LOCAL:
		return "l";
	case TCB_PTX_PARAM:
	case TCB_PTX_PARAM_ENTRY:
		return is_written ? "q" : "p";
	case TCB_PTX_PARAM_FUNC:
		return "q";
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
		return "s";
	case TCB_PTX_SHARED_CLUSTER:
		return "%r1";
	}
	return "%rd1";
}

static const char *address_of(unsigned op, enum tcb_ptx_word space, int is_written)
{
	if (op >= TCB_PTX_OP_TCGEN05_LD && op <= TCB_PTX_OP_TCGEN05_SHIFT) /* in Tensor Memory */
		return "%r1";
	return op == TCB_PTX_OP_FENCE_PROXY ? "%rd1" : address_in(space, is_written);
}

static long immediate_of(unsigned op, unsigned index)
{
	switch (op) {
	case TCB_PTX_OP_SETMAXNREG:
		return 32;
	case TCB_PTX_OP_WGMMA:
		return 1;
	case TCB_PTX_OP_FENCE_PROXY:
	case TCB_PTX_OP_TENSORMAP_CP_FENCEPROXY:
		return 128;
	case TCB_PTX_OP_CP_ASYNC:
		return 16;
	}
	return (long)index;
}

static unsigned vector_width(const struct tcb_ptx_spec *spec, const uint16_t *mod)
{
	unsigned m, n, k;

	tcb_ptx_shape((enum tcb_ptx_word)mod[TCB_PTX_SLOT_SHAPE], &m, &n, &k);
	switch (spec->width) {
	case TCB_PTX_W_FIXED:
		return spec->count;
	case TCB_PTX_W_VECTOR:
		return mod[TCB_PTX_SLOT_VECTOR] == TCB_PTX_V2   ? 2
		       : mod[TCB_PTX_SLOT_VECTOR] == TCB_PTX_V4 ? 4
		       : mod[TCB_PTX_SLOT_VECTOR] == TCB_PTX_V8 ? 8
								: 0;
	case TCB_PTX_W_COUNT:
		return spec->count * tcb_ptx_matrices((enum tcb_ptx_word)mod[TCB_PTX_SLOT_MATRICES]);
	case TCB_PTX_W_N2:
		return n / 2;
	case TCB_PTX_W_N4:
		return n / 4;
	case TCB_PTX_W_FREE:
		if (mod[TCB_PTX_SLOT_CTA_GROUP]) /* disable-output-lane */
			return mod[TCB_PTX_SLOT_CTA_GROUP] == TCB_PTX_CTA_GROUP_1 ? 4 : 8;
		return mod[TCB_PTX_SLOT_DIMENSION] - TCB_PTX_DIM1 - 1u;
	}
	return 0;
}

static enum tcb_ptx_word spec_type(const struct tcb_ptx_spec *spec, const uint16_t *mod)
{
	enum tcb_ptx_word type = (enum tcb_ptx_word)spec->type;

	if (!type && spec->type_slot < TCB_PTX_SLOT_COUNT)
		type = (enum tcb_ptx_word)mod[spec->type_slot];
	if (!type) /* unchecked: the size of cp.async */
		type = TCB_PTX_B32;
	if (spec->wide)
		type = tcb_ptx_type_bits(type) == 16 ? TCB_PTX_B32 : TCB_PTX_B64;
	return type;
}

/* A bare instruction is needed to ask for the space of an address. */
static enum tcb_ptx_word space_of(const struct tcb_ptx_form *form, const uint16_t *mod, unsigned index, int *is_written)
{
	struct tcb_ptx_operand operands[TCB_PTX_SPECS_MAX];
	struct tcb_ptx_ins ins = { .op = form->op, .operands = operands };
	struct tcb_ptx_access access = { (enum tcb_ptx_word)mod[TCB_PTX_SLOT_SPACE], 0, 0, 0, 0 };

	memset(operands, 0, sizeof operands);
	for (unsigned i = 0; i < TCB_PTX_SPECS_MAX; i++)
		operands[i].kind = TCB_PTX_O_ADDRESS;
	memcpy(ins.mod, mod, sizeof ins.mod);
	tcb_ptx_access(&ins, index, &access);
	*is_written = access.writes;
	return access.space;
}

/* Operands of FORM with MOD; optional ones if WITH_OPTIONAL, pairs if WITH_PAIR. */
static void add_operands(struct tcb_str *out, const struct tcb_ptx_form *form, const uint16_t *mod, int with_optional,
			 int with_pair)
{
	unsigned next = 1, index = 0;

	for (unsigned i = 0; i < form->spec_count; i++) {
		const struct tcb_ptx_spec *spec = &form->spec[i];
		enum tcb_ptx_word type = spec_type(spec, mod);
		unsigned width = vector_width(spec, mod);
		int is_written;

		if ((spec->only_if && !mod[spec->only_if]) || (spec->optional && !with_optional))
			continue;
		tcb_str_add(out, index ? ", " : " ");
		if (spec->role == TCB_PTX_R_ADDRESS) {
			enum tcb_ptx_word space = space_of(form, mod, index, &is_written);

			tcb_str_addf(out, "[%s]", address_of(form->op, space, is_written));
		} else if (spec->role == TCB_PTX_R_TENSOR) {
			tcb_str_add(out, "[%rd1, {%r1");
			for (unsigned k = 0; k < (unsigned)(mod[TCB_PTX_SLOT_DIMENSION] - TCB_PTX_DIM1); k++)
				tcb_str_addf(out, ", %%r%u", k + 2);
			tcb_str_add(out, "}]");
		} else if (spec->role == TCB_PTX_R_IMMEDIATE) {
			tcb_str_addf(out, "%ld", immediate_of(form->op, index));
		} else if (width) {
			for (unsigned k = 0; k < width; k++) {
				tcb_str_add(out, k ? ", " : "{");
				add_reg(out, type, &next);
			}
			tcb_str_add(out, "}");
		} else if (spec->sink == 2) {
			tcb_str_add(out, "_");
		} else if (spec->width == TCB_PTX_W_SPLIT && spec->role == TCB_PTX_R_SOURCE) {
			static const char *const halves[] = { "%c1", "%h1", "%r1", "%rd1" };
			unsigned half = type == TCB_PTX_B16 ? 0 : type == TCB_PTX_B32 ? 1 : type == TCB_PTX_B64 ? 2 : 3;

			tcb_str_addf(out, "{%s, %s}", halves[half], halves[half]);
		} else {
			add_reg(out, type, &next);
			if (spec->pair && (with_pair || spec->pair == 2)) {
				tcb_str_add(out, "|");
				add_reg(out, TCB_PTX_PRED, &next);
			}
		}
		index++;
	}
	tcb_str_add(out, ";");
}

static int is_special(unsigned op)
{
	return op == TCB_PTX_OP_BRA || op == TCB_PTX_OP_BRX || op == TCB_PTX_OP_CALL || op == TCB_PTX_OP_PRAGMA;
}

static int first_target(const struct tcb_ptx_form *form, const uint16_t *mod)
{
	for (int t = 0; t < TARGETS; t++) {
		struct tcb_ptx_target target;
		int allowed = !form->target_count;

		assert_true(tcb_ptx_target_parse(targets[t], strlen(targets[t]), &target));
		for (unsigned i = 0; i < form->target_count; i++)
			allowed |= tcb_ptx_target_allows(&target, &form->target[i]);
		for (unsigned slot = 0; slot < TCB_PTX_SLOT_COUNT; slot++) {
			struct tcb_ptx_target wanted;
			unsigned version;

			tcb_ptx_word_needs((enum tcb_ptx_word)mod[slot], &version, &wanted);
			allowed &= target.sm >= wanted.sm;
		}
		if (allowed)
			return t;
	}
	return -1;
}

/* One instruction of FORM: the first word in each slot but SLOT, which has word WORD (or none: WORD -1). */
static int make(const struct tcb_ptx_form *form, unsigned slot, int word, int with_optional, struct variant *out)
{
	uint16_t mod[TCB_PTX_SLOT_COUNT] = { 0 };

	memset(out, 0, sizeof *out);
	tcb_str_add(&out->text, tcb_ptx_op_text((enum tcb_ptx_op)form->op));
	for (unsigned i = 0; i < form->slot_count; i++) {
		unsigned count;
		const uint16_t *words = tcb_ptx_form_words(form, i, &count);

		if (i == slot ? word < 0 : form->slot[i].optional)
			continue;
		mod[form->slot[i].slot] = words[i == slot ? word : 0];
		tcb_str_addf(&out->text, ".%s", tcb_ptx_word_text((enum tcb_ptx_word)mod[form->slot[i].slot]));
	}
	add_operands(&out->text, form, mod, with_optional, with_optional);
	out->target = first_target(form, mod);
	return out->target >= 0;
}

static void each_variant(void (*see)(void *ctx, const struct tcb_ptx_form *form, const struct variant *variant),
			 void *ctx)
{
	for (unsigned f = 0; f < tcb_ptx_form_count(); f++) {
		const struct tcb_ptx_form *form = tcb_ptx_form(f);

		for (unsigned slot = 0; slot <= form->slot_count && !is_special(form->op); slot++) {
			unsigned count = 1;

			if (slot < form->slot_count)
				tcb_ptx_form_words(form, slot, &count);
			for (unsigned word = 0; word<count; word += count> 20 ? 5 : 1) /* shapes of wgmma: some */
				for (int optional = 0; optional < 2; optional++) {
					struct variant variant;

					if (make(form, slot, (int)word, optional, &variant))
						see(ctx, form, &variant);
					else
						fail_msg("no target for %s", variant.text.data);
					tcb_str_fini(&variant.text);
				}
		}
	}
}

/* --- without tools --- */

static struct tcb_ptx_module *parse_one(const char *target, const char *instruction, struct tcb_error *err)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module = NULL;

	tcb_str_addf(&text, prologue, target);
	tcb_str_addf(&text, kernel_head, 0u);
	tcb_str_addf(&text, "\t%s\n\tret;\n}\n", instruction);
	tcb_ptx_parse("test", text.data, text.length, &module, err);
	tcb_str_fini(&text);
	return module;
}

/* What makes a variant differ from its first words, so that legality rules beyond the table may refuse it. */
static void ignore_undefined(void *ctx, const struct tcb_ptx_finding *finding)
{
	if (finding->rule != TCB_PTX_RULE_UNDEFINED)
		*(struct tcb_ptx_finding *)ctx = *finding;
}

static void check_round_trip(void *ctx, const struct tcb_ptx_form *form, const struct variant *variant)
{
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_ptx_module *module = parse_one(targets[variant->target], variant->text.data, &err);
	struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_COUNT };
	struct tcb_str again = { 0 };

	if (!module)
		fail_msg("%s: %s", variant->text.data, err.message);
	tcb_ptx_print_ins(module->functions, module->functions->first->first, &again);
	assert_string_equal(again.data, variant->text.data);
	assert_int_equal(module->functions->first->first->op, form->op);
	tcb_ptx_verify_each(module, &(struct tcb_ptx_sink){ ignore_undefined, &finding });
	if (finding.rule != TCB_PTX_RULE_COUNT && finding.rule != TCB_PTX_RULE_VECTOR_SIZE &&
	    finding.rule != TCB_PTX_RULE_TARGET && finding.rule != TCB_PTX_RULE_CVT_SATURATION)
		fail_msg("%s: %s", variant->text.data, finding.message);
	tcb_str_fini(&again);
	tcb_ptx_module_destroy(module);
	++*(unsigned *)ctx;
}

static void every_row_prints_and_parses(void **state)
{
	unsigned count = 0;

	(void)state;
	each_variant(check_round_trip, &count);
	print_message("%u instructions of %u forms\n", count, tcb_ptx_form_count());
	assert_true(count > 3000);
}

/* No word of a slot is also in an optional slot before it, so matching needs no second try. */
static void slots_do_not_overlap(void **state)
{
	(void)state;
	for (unsigned f = 0; f < tcb_ptx_form_count(); f++) {
		const struct tcb_ptx_form *form = tcb_ptx_form(f);

		for (unsigned i = 0; i < form->slot_count; i++)
			for (unsigned k = i; k-- > 0 && form->slot[k].optional;) {
				unsigned ni, nk;
				const uint16_t *wi = tcb_ptx_form_words(form, i, &ni),
					       *wk = tcb_ptx_form_words(form, k, &nk);

				for (unsigned a = 0; a < ni; a++)
					for (unsigned b = 0; b < nk; b++)
						assert_int_not_equal(wi[a], wk[b]);
			}
	}
}

static void slots_are_filled_once(void **state)
{
	(void)state;
	for (unsigned f = 0; f < tcb_ptx_form_count(); f++) {
		const struct tcb_ptx_form *form = tcb_ptx_form(f);

		for (unsigned i = 0; i < form->slot_count; i++)
			for (unsigned k = 0; k < i; k++)
				assert_int_not_equal(form->slot[i].slot, form->slot[k].slot);
	}
}

/* --- with ptxas --- */

/* A kernel of its own for each instruction takes ptxas five times as long. */
enum { TOGETHER = 24 };

/* The second half: instructions of two blocks, which a kernel must not have beside those of one. */
struct batch {
	struct tcb_str text[2 * TARGETS];
	unsigned in_kernel[2 * TARGETS], kernels, instructions;
};

static const char kernel_end[] = "\tret;\n}\n";

static void add_to_batch(void *ctx, const struct tcb_ptx_form *form, const struct variant *variant)
{
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_ptx_module *module = parse_one(targets[variant->target], variant->text.data, &err);
	struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_COUNT };
	struct batch *batch = ctx;
	const int at = variant->target + TARGETS * (strstr(variant->text.data, "cta_group::2") != NULL);
	struct tcb_str *text = &batch->text[at];

	(void)form;
	assert_non_null(module);
	tcb_ptx_verify_each(module, &(struct tcb_ptx_sink){ ignore_undefined, &finding });
	tcb_ptx_module_destroy(module);
	if (finding.rule != TCB_PTX_RULE_COUNT)
		return; /* refused by a rule beyond the table: test_legality.c */
	if (strncmp(variant->text.data, "ld.", 3) == 0 && strstr(variant->text.data, "param::func"))
		return; /* ptxas crashes on a parameter that no call returned */
	if (!text->data)
		tcb_str_addf(text, prologue, targets[variant->target]);
	if (batch->in_kernel[at] == 0)
		tcb_str_addf(text, kernel_head, batch->kernels++);
	tcb_str_addf(text, "\t%s\n", variant->text.data);
	batch->instructions++;
	if (++batch->in_kernel[at] == TOGETHER) {
		tcb_str_add(text, kernel_end);
		batch->in_kernel[at] = 0;
	}
}

/* Each error beside the instruction that it is about. */
static void show_errors(const char *target, char *text, const char *said)
{
	print_message("%s: %.300s\n", target, said);
	for (const char *at = strstr(said, ", line "); at; at = strstr(at + 1, ", line ")) {
		long line = strtol(at + 7, NULL, 10);
		const char *where = text;

		while (--line > 0 && where)
			where = strchr(where, '\n') ? strchr(where, '\n') + 1 : NULL;
		if (where)
			print_message("%s: %.*s\n\t%.*s\n", target, (int)strcspn(where, "\n"), where,
				      (int)strcspn(at, "\n"), at);
	}
}

static void every_row_assembles(void **state)
{
	const char *ptxas = ptx_tool("ptxas");
	struct batch batch = { .kernels = 0 };
	int failed = 0;

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	each_variant(add_to_batch, &batch);
	for (int t = 0; t < 2 * TARGETS; t++) {
		struct tcb_str said = { 0 };

		if (batch.in_kernel[t])
			tcb_str_add(&batch.text[t], kernel_end);
		if (batch.text[t].data && ptx_assemble(ptxas, targets[t % TARGETS], batch.text[t].data, &said) != 0) {
			show_errors(targets[t % TARGETS], batch.text[t].data, said.data);
			failed = 1;
		}
		tcb_str_fini(&said);
		tcb_str_fini(&batch.text[t]);
	}
	print_message("%u instructions in %u kernels\n", batch.instructions, batch.kernels);
	assert_false(failed);
	assert_true(batch.instructions > 2000);
}

/* The first word of every slot, for the last target that may not use it. */
static void rows_are_refused_below_their_target(void **state)
{
	const char *ptxas = ptx_tool("ptxas");
	struct tcb_str text[TARGETS] = { { 0 } };
	unsigned refused = 0, missing = 0;

	(void)state;
	for (unsigned f = 0; f < tcb_ptx_form_count(); f++) {
		const struct tcb_ptx_form *form = tcb_ptx_form(f);
		struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_COUNT };
		struct tcb_error err = { TCB_OK, "" };
		struct tcb_ptx_module *module;
		struct variant variant;
		int below;

		if (is_special(form->op))
			continue;
		assert_true(make(form, form->slot_count, 0, 0, &variant));
		below = variant.target - 1;
		if (below >= 0) {
			module = parse_one(targets[below], variant.text.data, &err);
			assert_non_null(module);
			tcb_ptx_verify_each(module, &(struct tcb_ptx_sink){ ignore_undefined, &finding });
			tcb_ptx_module_destroy(module);
			if (finding.rule != TCB_PTX_RULE_TARGET)
				fail_msg("%s passes for %s", variant.text.data, targets[below]);
			if (!text[below].data)
				tcb_str_addf(&text[below], prologue, targets[below]);
			tcb_str_addf(&text[below], kernel_head, f);
			tcb_str_addf(&text[below], "\t%s\n\tret;\n}\n", variant.text.data);
		}
		tcb_str_fini(&variant.text);
	}
	for (int t = 0; t < TARGETS && ptxas; t++) {
		struct tcb_str said = { 0 };
		unsigned line = 1;

		if (!text[t].data)
			continue;
		if (ptx_assemble(ptxas, targets[t], text[t].data, &said) == 0)
			print_message("%s: nothing is refused\n", targets[t]);
		/* an instruction is the line before "\tret;" */
		for (const char *at = text[t].data; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL, line++) {
			const char *next = strchr(at, '\n');
			char wanted[32];

			if (!next || strncmp(next + 1, "\tret;", 5) != 0)
				continue;
			snprintf(wanted, sizeof wanted, ", line %u;", line);
			if (strstr(said.data, wanted))
				refused++;
			else if (++missing)
				print_message("ptxas takes for %s: %.*s\n", targets[t], (int)(next - at), at);
		}
		tcb_str_fini(&said);
	}
	for (int t = 0; t < TARGETS; t++)
		tcb_str_fini(&text[t]);
	if (!ptxas)
		skip_because("no ptxas here");
	print_message("ptxas refuses %u rows below their target\n", refused);
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_do_not_overlap),
		cmocka_unit_test(slots_are_filled_once),
		cmocka_unit_test(every_row_prints_and_parses),
		cmocka_unit_test(every_row_assembles),
		cmocka_unit_test(rows_are_refused_below_their_target),
	};

	return cmocka_run_group_tests_name("ptx.opcodes", tests, NULL, NULL);
}
