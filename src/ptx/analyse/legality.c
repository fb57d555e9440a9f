/* SPDX-License-Identifier: MIT
 *
 * In: a module with control-flow graphs.  Out: every broken rule.
 *
 * A register is undefined at a use when a path from the entry reaches the use
 * without a definition.  That is an error where all paths do, and a warning
 * where one side of an if leaves it out; any other path may be one that is
 * never taken, since compilers leave out what such a path does not need.  What a block reads before it writes it is all
 * that matters; most of it is written in a block that dominates the use, and the rest is solved forwards, 64 registers
 * at a time.  A guarded definition counts as one; what the guards hide is for the emulator.
 */
#include "ptx/analyse/legality.h"
#include "base/grow.h"
#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verify {
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *function;
	const struct tcb_ptx_sink *sink;
	unsigned count;
	int is_strict; /* registers that some path leaves unwritten are reported, however unlikely */
};

static void report(struct verify *v, const struct tcb_ptx_ins *ins, enum tcb_ptx_rule rule,
		   enum tcb_ptx_severity severity, const char *format, ...) __attribute__((format(printf, 5, 6)));

static void report(struct verify *v, const struct tcb_ptx_ins *ins, enum tcb_ptx_rule rule,
		   enum tcb_ptx_severity severity, const char *format, ...)
{
	char text[320];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	v->count++;
	tcb_ptx_report(v->sink, rule, severity, v->function, ins, "%s", text);
}

/* --- definitions before uses --- */

enum { NEVER = UINT32_MAX };

struct flow {
	struct verify *v;
	struct tcb_ptx_ins *ins;
	struct tcb_ptx_block *block;
	uint32_t *defined_in; /* by register: 1 + number of the last block seen that writes it */
	uint32_t *exposed_in; /* likewise, reads it first */
	size_t *exposed_at;   /* by register: the last of its pairs */
	/* (block, register) pairs in the order of blocks */
	struct pair {
		uint32_t reg;
		struct tcb_ptx_ins *ins;
		struct tcb_ptx_block *block;
	} * exposed;
	size_t exposed_count, exposed_capacity;
	/* blocks that write each register, as lists */
	struct writer {
		uint32_t next, order;
	} * writers;
	uint32_t *first_writer, writer_count;
	size_t writer_capacity;
	struct tcb_ptx_block **oldest; /* the first in the text that writes each register */
	int failed;
};

static int grow(void **array, size_t count, size_t *capacity, size_t size)
{
	void *grown = tcb_grow(*array, count, capacity, 256, size);

	if (grown)
		*array = grown;
	return grown != NULL;
}

static int is_address_of(const struct tcb_ptx_ins *ins, uint32_t reg)
{
	if (ins->guard == reg)
		return 1;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS && ins->operands[i].reg == reg)
			return 1;
	return 0;
}

/* What INS does depends on the whole of REG.  Other instructions only hand a value on, or parts of it: compilers have
 * them do that with the padding of a structure and with what is chosen or masked away later. */
static int computes(const struct tcb_ptx_ins *ins, uint32_t reg)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_SELP:
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_PRMT:
	case TCB_PTX_OP_BFI:
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
	case TCB_PTX_OP_XOR:
	case TCB_PTX_OP_LOP3:
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
	case TCB_PTX_OP_SHF:
	case TCB_PTX_OP_CVT:
	case TCB_PTX_OP_CALL:
	case TCB_PTX_OP_ST:
		return is_address_of(ins, reg);
	default:
		return 1;
	}
}

/* Whether INS, a wgmma, has the predicate of scale-d set to false by its one write, setp of two numbers: then it does
 * not read REG, an accumulator. */
static int begins_sum(const struct flow *flow, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	enum { SCALE_D = 3 };
	const struct tcb_ptx_operand *scale = &ins->operands[SCALE_D];
	const struct tcb_ptx_ins *setp;
	int is_accumulator = 0;

	if (ins->op != TCB_PTX_OP_WGMMA || ins->operand_count <= SCALE_D || scale->kind != TCB_PTX_O_REG ||
	    scale->negated)
		return 0;
	for (uint32_t i = 0; i < ins->operands[0].count; i++)
		is_accumulator |=
			ins->operands[0].items[i].kind == TCB_PTX_O_REG && ins->operands[0].items[i].reg == reg;
	setp = flow->v->function->regs[scale->reg].def;
	return is_accumulator && setp && setp->op == TCB_PTX_OP_SETP &&
	       tcb_ptx_mod(setp, TCB_PTX_SLOT_COMPARE) == TCB_PTX_NE && !tcb_ptx_mod(setp, TCB_PTX_SLOT_BOOL) &&
	       setp->operands[1].kind == TCB_PTX_O_INT && setp->operands[2].kind == TCB_PTX_O_INT &&
	       setp->operands[1].bits == setp->operands[2].bits;
}

static void see_flow(void *ctx, uint32_t *reg, int is_def)
{
	struct flow *flow = ctx;
	uint32_t mark = flow->block->number + 1;

	if (flow->failed || flow->defined_in[*reg] == mark || (!is_def && begins_sum(flow, flow->ins, *reg)))
		return;
	if (is_def) {
		flow->defined_in[*reg] = mark;
		if (!flow->oldest[*reg])
			flow->oldest[*reg] = flow->block;
		flow->failed = !grow((void **)&flow->writers, flow->writer_count, &flow->writer_capacity,
				     sizeof *flow->writers);
		if (!flow->failed) {
			flow->writers[flow->writer_count] =
				(struct writer){ flow->first_writer[*reg], flow->block->order };
			flow->first_writer[*reg] = flow->writer_count++;
		}
	} else if (flow->exposed_in[*reg] != mark) {
		flow->exposed_in[*reg] = mark;
		flow->failed = !grow((void **)&flow->exposed, flow->exposed_count, &flow->exposed_capacity,
				     sizeof *flow->exposed);
		if (!flow->failed) {
			flow->exposed_at[*reg] = flow->exposed_count;
			flow->exposed[flow->exposed_count++] = (struct pair){ *reg, flow->ins, flow->block };
		}
	} else if (!computes(flow->exposed[flow->exposed_at[*reg]].ins, *reg) && computes(flow->ins, *reg)) {
		flow->exposed[flow->exposed_at[*reg]].ins = flow->ins;
	}
}

static int by_reg(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	return x->ins->number < y->ins->number ? -1 : x->ins->number > y->ins->number;
}

/* Registers that need a look at all paths: at most 64 at a time, each a bit.  All arrays are by reverse post-order. */
struct paths {
	const struct tcb_ptx_function *function;
	struct tcb_ptx_dominators dominators;
	uint64_t *written, *in, *out; /* in the block; certainly before it; certainly after it */
	uint32_t *first_pred, *pred;  /* the predecessors of block I are pred[first_pred[I]] to first_pred[I + 1] */
	int has_loops;
	unsigned reg_count;
	size_t from; /* the first use that concerns them */
};

static int init_paths(struct paths *paths, struct tcb_ptx_function *function)
{
	uint32_t count = function->reachable_count, edges = 0;

	paths->function = function;
	for (uint32_t i = 0; i < count; i++)
		edges += function->order[i]->pred_count;
	paths->written = calloc(3 * (count + 1u), sizeof *paths->written);
	paths->first_pred = calloc(count + 1u + edges, sizeof *paths->first_pred);
	if (!paths->written || !paths->first_pred || tcb_ptx_dominators(function, &paths->dominators, NULL) != TCB_OK)
		return 0;
	paths->in = paths->written + count + 1;
	paths->out = paths->in + count + 1;
	paths->pred = paths->first_pred + count + 1;
	for (uint32_t i = 0, used = 0; i < count; i++) {
		const struct tcb_ptx_block *block = function->order[i];

		for (uint32_t k = 0; k < block->pred_count; k++)
			if (block->pred[k]->order != UINT32_MAX) {
				paths->pred[used++] = block->pred[k]->order;
				paths->has_loops |= block->pred[k]->order >= i;
			}
		paths->first_pred[i + 1] = used;
	}
	return 1;
}

/* The greatest fixed point: written before a block means written after all its predecessors. */
static void solve_paths(struct paths *paths)
{
	uint32_t count = paths->function->reachable_count;
	int changed = 1;

	memset(paths->out, 0xff, count * sizeof *paths->out);
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t in = i ? ~(uint64_t)0 : 0, out;

			for (uint32_t k = paths->first_pred[i]; k < paths->first_pred[i + 1]; k++)
				in &= paths->out[paths->pred[k]];
			out = in | paths->written[i];
			changed |= out != paths->out[i] && paths->has_loops;
			paths->in[i] = in;
			paths->out[i] = out;
		}
	}
}

/* Whoever comes to USE for the first time has written its register nowhere: all its writers are behind the use. */
static int is_never_written(const struct flow *flow, const struct paths *paths, const struct pair *use)
{
	for (uint32_t w = flow->first_writer[use->reg]; w != NEVER; w = flow->writers[w].next)
		if (flow->writers[w].order != UINT32_MAX &&
		    !tcb_ptx_dominates(&paths->dominators, use->block, paths->function->order[flow->writers[w].order]))
			return 0;
	return 1;
}

/* An if, or a loop that may not be entered, whose ways meet at USE writes the register on some of them, and nothing did
 * before. */
static int is_left_out(const struct flow *flow, const struct paths *paths, const struct pair *use)
{
	const struct tcb_ptx_block *from = paths->dominators.idom[use->block->number];

	if (!from || paths->dominators.ipdom[from->number] != use->block)
		return 0;
	for (uint32_t w = flow->first_writer[use->reg]; w != NEVER; w = flow->writers[w].next) {
		const struct tcb_ptx_block *writer;

		if (flow->writers[w].order == UINT32_MAX)
			continue;
		writer = paths->function->order[flow->writers[w].order];
		if (writer == from || !tcb_ptx_dominates(&paths->dominators, from, writer))
			return 0;
	}
	return 1;
}

static int is_open(const struct flow *flow, const struct paths *paths, const struct pair *use)
{
	uint32_t bit = flow->exposed_in[use->reg];

	return bit && use->block->order != UINT32_MAX && !(paths->in[use->block->order] >> (bit - 1) & 1);
}

/* Whether a predicate that is a number keeps INS from ever being executed, as generators leave what they cut off. */
static int is_cut_off(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_ins *def = ins->guard == TCB_PTX_NO_REG ? NULL : function->regs[ins->guard].def;

	return def && function->regs[ins->guard].defs == 1 && def->op == TCB_PTX_OP_MOV &&
	       def->guard == TCB_PTX_NO_REG && def->operands[1].kind == TCB_PTX_O_INT &&
	       !def->operands[1].bits == !ins->guard_negated;
}

/* How sure it is that USE goes wrong: 3 whoever comes there reads what nobody wrote, 2 likely, 1 on some path, which
 * may never be taken. */
static int certainty(const struct flow *flow, const struct paths *paths, const struct pair *use)
{
	int is_copied = !computes(use->ins, use->reg);

	if (!is_open(flow, paths, use) || is_cut_off(paths->function, use->ins))
		return 0;
	if (is_copied &&
	    (use->ins->op != TCB_PTX_OP_ST || tcb_ptx_type_bits(tcb_ptx_mod(use->ins, TCB_PTX_SLOT_TYPE)) < 32))
		return 1;
	if (is_never_written(flow, paths, use))
		return is_copied ? 2 : 3;
	return !is_copied && is_left_out(flow, paths, use) ? 2 : 1;
}

/* Reports what the paths show of the uses from I of one register; the end of them, at most TO. */
static size_t report_uses(struct verify *v, const struct flow *flow, const struct paths *paths, size_t i, size_t to)
{
	const struct pair *worst = NULL;
	uint32_t reg = flow->exposed[i].reg;
	int level = v->is_strict ? 0 : 1;
	char name[64];

	for (; i < to && flow->exposed[i].reg == reg; i++) {
		int here = certainty(flow, paths, &flow->exposed[i]);

		if (here <= level)
			continue;
		level = here;
		worst = &flow->exposed[i];
	}
	if (!worst)
		return i;
	tcb_ptx_reg_name(v->function, reg, name, sizeof name);
	if (level == 3)
		report(v, worst->ins, TCB_PTX_RULE_UNDEFINED, TCB_PTX_ERROR,
		       "register %s is read here, and on no way from the entry is it written before", name);
	else
		report(v, worst->ins, TCB_PTX_RULE_UNDEFINED, TCB_PTX_WARNING,
		       "register %s is read before it is written on some path", name);
	return i;
}

/* Reports what the paths show of the uses up to TO; flow->exposed_in is 1 + the bit of each register that has one. */
static void finish_paths(struct verify *v, const struct flow *flow, struct paths *paths, size_t to)
{
	if (paths->reg_count)
		solve_paths(paths);
	for (size_t i = paths->from; i < to && paths->reg_count;)
		i = report_uses(v, flow, paths, i, to);
	if (paths->reg_count)
		memset(paths->written, 0, paths->function->reachable_count * sizeof *paths->written);
	paths->reg_count = 0;
	paths->from = to;
}

/* Most uses are below the first writer of their register in the dominator tree. */
static int is_dominated(const struct flow *flow, const struct paths *paths, const struct pair *use)
{
	const struct tcb_ptx_block *oldest = flow->oldest[use->reg];

	return use->block->order == UINT32_MAX ||
	       (oldest && oldest != use->block && tcb_ptx_dominates(&paths->dominators, oldest, use->block));
}

static void check_exposed(struct verify *v, struct flow *flow, struct paths *paths)
{
	qsort(flow->exposed, flow->exposed_count, sizeof *flow->exposed, by_reg);
	for (size_t i = 0, next; i < flow->exposed_count; i = next) {
		uint32_t reg = flow->exposed[i].reg;
		int open = 0;

		for (next = i; next < flow->exposed_count && flow->exposed[next].reg == reg; next++)
			open |= !is_dominated(flow, paths, &flow->exposed[next]);
		flow->exposed_in[reg] = 0;
		if (!open)
			continue;
		if (paths->reg_count == 64)
			finish_paths(v, flow, paths, i);
		for (uint32_t w = flow->first_writer[reg]; w != NEVER; w = flow->writers[w].next)
			if (flow->writers[w].order != UINT32_MAX)
				paths->written[flow->writers[w].order] |= (uint64_t)1 << paths->reg_count;
		flow->exposed_in[reg] = ++paths->reg_count;
	}
	finish_paths(v, flow, paths, flow->exposed_count);
}

static int check_definitions(struct verify *v)
{
	struct tcb_ptx_function *function = v->function;
	size_t regs = function->reg_count + 1u;
	struct paths paths = { 0 };
	struct flow flow = { .v = v };

	flow.defined_in = calloc(regs, sizeof *flow.defined_in);
	flow.exposed_in = calloc(regs, sizeof *flow.exposed_in);
	flow.exposed_at = calloc(regs, sizeof *flow.exposed_at);
	flow.oldest = calloc(regs, sizeof(*flow.oldest));
	flow.first_writer = malloc(regs * sizeof *flow.first_writer);
	flow.failed = !flow.defined_in || !flow.exposed_in || !flow.exposed_at || !flow.oldest || !flow.first_writer;
	if (!flow.failed)
		memset(flow.first_writer, 0xff, regs * sizeof *flow.first_writer);
	for (flow.block = function->first; flow.block && !flow.failed; flow.block = flow.block->next)
		for (flow.ins = flow.block->first; flow.ins; flow.ins = flow.ins->next)
			tcb_ptx_each_reg(flow.ins, see_flow, &flow);
	if (!flow.failed && flow.exposed_count) {
		flow.failed = !init_paths(&paths, function);
		if (!flow.failed)
			check_exposed(v, &flow, &paths);
	}
	free(paths.written);
	free(paths.first_pred);
	free(flow.oldest);
	free(flow.defined_in);
	free(flow.exposed_in);
	free(flow.exposed_at);
	free(flow.first_writer);
	free(flow.exposed);
	free(flow.writers);
	return !flow.failed;
}

/* --- the shape of a function --- */

static void check_blocks(struct verify *v)
{
	for (struct tcb_ptx_block *block = v->function->first; block; block = block->next) {
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (tcb_ptx_has(ins, TCB_PTX_F_TERMINATOR) && ins->next)
				report(v, ins, TCB_PTX_RULE_TERMINATOR, TCB_PTX_ERROR, "%s must end its block",
				       tcb_ptx_op_text((enum tcb_ptx_op)ins->op));
			if (ins->op == TCB_PTX_OP_BRA &&
			    (!ins->operands[0].block->label || ins->operands[0].block->function != v->function))
				report(v, ins, TCB_PTX_RULE_LABEL, TCB_PTX_ERROR,
				       "the branch leads to no labelled block of this function");
		}
		if (!block->next && tcb_ptx_falls_through(block) && block->order != UINT32_MAX)
			report(v, block->last, TCB_PTX_RULE_TERMINATOR, TCB_PTX_ERROR,
			       "the last block ends without ret, exit or branch");
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
	const char **name;
	size_t count, capacity;
	int failed;
};

static void add_name(struct names *names, const char *name)
{
	names->failed |= !grow((void **)&names->name, names->count, &names->capacity, sizeof *names->name);
	if (!names->failed)
		names->name[names->count++] = name;
}

/* Frees NAMES. */
static int check_unique(struct verify *v, struct names *names)
{
	if (!names->failed && names->count)
		qsort(names->name, names->count, sizeof *names->name, by_text);
	for (size_t i = 1; !names->failed && i < names->count; i++)
		if (strcmp(names->name[i - 1], names->name[i]) == 0)
			report(v, NULL, TCB_PTX_RULE_DUPLICATE, TCB_PTX_ERROR, "'%.80s' is declared twice",
			       names->name[i]);
	free(names->name);
	return !names->failed;
}

/* Labels and variables of a function are one name space in the text. */
static int check_names(struct verify *v)
{
	struct names names = { 0 };

	for (struct tcb_ptx_block *block = v->function->first; block; block = block->next)
		if (block->label)
			add_name(&names, block->label);
	for (struct tcb_ptx_symbol *local = v->function->locals; local; local = local->next)
		add_name(&names, local->name);
	return check_unique(v, &names);
}

/* Variables and functions are another; declarations may be repeated. */
static int check_module_names(struct verify *v)
{
	struct names names = { 0 };

	for (struct tcb_ptx_function *function = v->module->functions; function; function = function->next)
		if (!function->is_declaration)
			add_name(&names, function->symbol->name);
	for (struct tcb_ptx_symbol *symbol = v->module->symbols; symbol; symbol = symbol->next)
		if (symbol->linkage != TCB_PTX_EXTERN)
			add_name(&names, symbol->name);
	return check_unique(v, &names);
}

static void check_call(struct verify *v, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *results = &ins->operands[0], *target = &ins->operands[1],
				     *arguments = &ins->operands[2];
	const struct tcb_ptx_function *callee = target->kind == TCB_PTX_O_SYMBOL ? target->symbol->function : NULL;
	uint32_t wanted = 0, given = 0;

	if (target->kind == TCB_PTX_O_SYMBOL && !callee) {
		report(v, ins, TCB_PTX_RULE_CALL, TCB_PTX_ERROR, "'%.80s' is not a function", target->symbol->name);
		return;
	}
	for (const struct tcb_ptx_function *p = v->function->prototypes; p && !callee; p = p->next)
		if (ins->operand_count > 3 && strcmp(p->symbol->name, ins->operands[3].text) == 0)
			callee = p;
	if (!callee) {
		report(v, ins, TCB_PTX_RULE_CALL, TCB_PTX_ERROR, "an indirect call needs its prototype");
		return;
	}
	for (const struct tcb_ptx_symbol *param = callee->params; param; param = param->next)
		wanted++;
	for (const struct tcb_ptx_symbol *result = callee->results; result; result = result->next)
		given++;
	if (wanted != arguments->count || given != results->count)
		report(v, ins, TCB_PTX_RULE_CALL, TCB_PTX_ERROR,
		       "'%.80s' takes %u arguments and gives %u results, not %u and %u", callee->symbol->name, wanted,
		       given, arguments->count, results->count);
}

/* --- the resources of a kernel --- */

static uint64_t round_up(uint64_t bytes, uint64_t align)
{
	return (bytes + align - 1) / align * align;
}

/* At most 2^40, which is far too much already: the sum of a text's variables stays below 2^64. */
static uint64_t shared_bytes(const struct tcb_ptx_symbol *symbol)
{
	const uint64_t bytes = tcb_ptx_symbol_bytes(symbol), most = UINT64_C(1) << 40;

	return bytes < most ? bytes : most;
}

static void check_shared(struct verify *v)
{
	uint64_t bytes = 0;

	for (const struct tcb_ptx_symbol *s = v->function->locals; s; s = s->next)
		if (s->space == TCB_PTX_SHARED)
			bytes = round_up(bytes, tcb_ptx_symbol_align(s)) + shared_bytes(s);
	if (bytes > TCB_PTX_SHARED_STATIC_MAX)
		report(v, NULL, TCB_PTX_RULE_SHARED_STATIC, TCB_PTX_ERROR,
		       "%llu bytes of static shared memory; above %d it must be dynamic (.extern .shared)",
		       (unsigned long long)bytes, TCB_PTX_SHARED_STATIC_MAX);
}

static void check_params(struct verify *v)
{
	const struct tcb_ptx_module *module = v->module;
	uint64_t bytes = 0, most = module->version >= 81 && module->target.sm >= 70 ? TCB_PTX_PARAM_BYTES_MAX
										    : TCB_PTX_PARAM_BYTES_OLD;

	for (const struct tcb_ptx_symbol *s = v->function->params; s; s = s->next)
		if (tcb_ptx_symbol_bytes(s) < UINT32_MAX)
			bytes = round_up(bytes, tcb_ptx_symbol_align(s)) + tcb_ptx_symbol_bytes(s);
	if (bytes > most)
		report(v, NULL, TCB_PTX_RULE_PARAM_SIZE, TCB_PTX_ERROR,
		       "%llu bytes of parameters; at most %llu are possible", (unsigned long long)bytes,
		       (unsigned long long)most);
}

static void check_bounds(struct verify *v, const char *name, const uint32_t dims[3])
{
	uint64_t plane = (uint64_t)dims[0] * dims[1];

	if (plane > 1024 || plane * dims[2] > 1024)
		report(v, NULL, TCB_PTX_RULE_LAUNCH_BOUNDS, TCB_PTX_ERROR,
		       ".%s %u, %u, %u: a block has at most 1024 threads", name, dims[0], dims[1], dims[2]);
}

static int verify_function(struct verify *v)
{
	struct tcb_ptx_finding finding;

	tcb_ptx_number(v->function);
	check_blocks(v);
	if (v->function->is_entry) {
		check_shared(v);
		check_params(v);
		check_bounds(v, "maxntid", v->function->directives.maxntid);
		check_bounds(v, "reqntid", v->function->directives.reqntid);
	}
	for (struct tcb_ptx_block *block = v->function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (!tcb_ptx_verify_ins(v->function, ins, &finding)) {
				v->count++;
				v->sink->see(v->sink->ctx, &finding);
			}
			if (ins->op == TCB_PTX_OP_CALL)
				check_call(v, ins);
		}
	return check_names(v) && check_definitions(v);
}

static unsigned verify_all(struct tcb_ptx_module *module, const struct tcb_ptx_sink *sink, int is_strict)
{
	struct verify v = { module, NULL, sink, 0, is_strict };

	if (!check_module_names(&v))
		report(&v, NULL, TCB_PTX_RULE_SYNTAX, TCB_PTX_ERROR, "out of memory while verifying");
	for (v.function = module->functions; v.function; v.function = v.function->next)
		if (!v.function->is_declaration && !verify_function(&v))
			report(&v, NULL, TCB_PTX_RULE_SYNTAX, TCB_PTX_ERROR, "out of memory while verifying");
	return v.count;
}

unsigned tcb_ptx_verify_each(struct tcb_ptx_module *module, const struct tcb_ptx_sink *sink)
{
	return verify_all(module, sink, 0);
}

static void keep_first(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct tcb_ptx_finding *first = ctx;

	if (!first->message[0])
		*first = *finding;
}

enum tcb_status tcb_ptx_verify(struct tcb_ptx_module *module, struct tcb_error *err)
{
	struct tcb_ptx_finding first = { .message = "" };
	struct tcb_ptx_sink sink = { keep_first, &first };
	struct tcb_str text = { 0 };

	if (!verify_all(module, &sink, 1))
		return TCB_OK;
	if (first.line) {
		tcb_fail(err, TCB_E_FORMAT, "%.60s:%u: %s", first.function->symbol->name, first.line, first.message);
	} else if (first.ins) {
		tcb_ptx_print_ins(first.function, first.ins, &text);
		tcb_fail(err, TCB_E_FORMAT, "%.60s: '%.120s': %s", first.function->symbol->name,
			 text.data ? text.data : "", first.message);
		tcb_str_fini(&text);
	} else {
		tcb_fail(err, TCB_E_FORMAT, "%.60s: %s", first.function ? first.function->symbol->name : "module",
			 first.message);
	}
	return TCB_E_FORMAT;
}
