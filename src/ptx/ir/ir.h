/* SPDX-License-Identifier: MIT
 *
 * The intermediate representation of PTX: a module of symbols and functions, a
 * function of basic blocks, a block of instructions.
 *
 * Everything hangs off one module and lives in its arena; nothing is freed
 * alone.  Registers are typed and may be written more than once (PTX is not
 * SSA); after tcb_ptx_number each register knows how often it is written and,
 * if once, by which instruction.  The order of the blocks in the list is the
 * order of the text: a block whose last instruction is no unconditional
 * terminator falls through to the next one.  tcb_ptx_cfg computes successors,
 * predecessors and the reverse post-order from that.
 *
 * What an instruction means is in its opcode, its modifiers by slot and its
 * operands; opcodes.h says which combinations exist.  Results come first among
 * the operands.
 */
#ifndef TCB_PTX_IR_H
#define TCB_PTX_IR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "ptx/ir/words.h"

/* --- symbols --- */

enum tcb_ptx_linkage { TCB_PTX_STATIC, TCB_PTX_VISIBLE, TCB_PTX_EXTERN, TCB_PTX_WEAK_LINK, TCB_PTX_COMMON };

enum tcb_ptx_init_kind {
	TCB_PTX_INIT_INT,
	TCB_PTX_INIT_F32,
	TCB_PTX_INIT_F64,
	TCB_PTX_INIT_SYMBOL,  /* symbol + offset */
	TCB_PTX_INIT_GENERIC, /* generic(symbol) + offset */
	TCB_PTX_INIT_OPEN,    /* a nested { */
	TCB_PTX_INIT_CLOSE
};

struct tcb_ptx_init {
	enum tcb_ptx_init_kind kind;
	uint64_t bits;      /* INT (two's complement), F32, F64; offset of SYMBOL and GENERIC */
	const char *mask;   /* "0xFF00" of 0xFF00(symbol), else NULL */
	const char *symbol; /* by name: it may be declared later */
};

enum { TCB_PTX_DIMENSIONS_MAX = 4 };

struct tcb_ptx_symbol {
	struct tcb_ptx_symbol *next;
	const char *name;
	const char *source_name; /* what debug sections call it; NULL: they do not */
	enum tcb_ptx_word space; /* GLOBAL, CONST, SHARED, LOCAL, PARAM; NO_WORD for a function */
	enum tcb_ptx_word type;
	enum tcb_ptx_word vector; /* V2, V4 or NO_WORD */
	enum tcb_ptx_linkage linkage;
	unsigned align;                             /* bytes; 0 when the text gives none (then the type's own) */
	unsigned dimension_count;                   /* 0 for a scalar */
	uint64_t dimension[TCB_PTX_DIMENSIONS_MAX]; /* 0: [] of unknown extent, as dynamic shared memory has */
	struct tcb_ptx_init *init;
	size_t init_count;
	int is_managed;
	/* parameters declared .ptr */
	int is_pointer;
	enum tcb_ptx_word pointer_space;   /* NO_WORD: generic */
	unsigned pointer_align;            /* 0: not stated */
	struct tcb_ptx_function *function; /* set when this names a function */
	uint32_t line;
	uint32_t item;  /* place among the symbols and functions of the module, in the order of the text */
	uint32_t index; /* scratch, as the emulator's for its address */
};

/* --- operands --- */

enum tcb_ptx_operand_kind {
	TCB_PTX_O_NONE,
	TCB_PTX_O_REG,     /* reg; negated: !p */
	TCB_PTX_O_INT,     /* bits: two's complement */
	TCB_PTX_O_F32,     /* bits: IEEE single (0f...) */
	TCB_PTX_O_F64,     /* bits: IEEE double (0d...); also what a decimal literal becomes */
	TCB_PTX_O_SYMBOL,  /* symbol, bits = offset */
	TCB_PTX_O_SPECIAL, /* special */
	TCB_PTX_O_ADDRESS, /* [reg | symbol | nothing + bits {, items}] */
	TCB_PTX_O_VECTOR,  /* {items} */
	TCB_PTX_O_PAIR,    /* items[0] | items[1] */
	TCB_PTX_O_SINK,    /* _ */
	TCB_PTX_O_BLOCK,   /* block */
	TCB_PTX_O_TABLE,   /* table: targets of brx.idx */
	TCB_PTX_O_LIST,    /* (items) of call */
	TCB_PTX_O_TEXT     /* text: of .pragma */
};

enum { TCB_PTX_NO_REG = UINT32_MAX };

struct tcb_ptx_operand {
	uint8_t kind;     /* enum tcb_ptx_operand_kind */
	uint8_t negated;  /* REG that is a predicate */
	uint16_t special; /* enum tcb_ptx_special */
	uint32_t reg;     /* index in the function's table; ADDRESS: TCB_PTX_NO_REG when the base is no register */
	uint64_t bits;    /* ADDRESS, SYMBOL: offset, two's complement */
	union {
		struct tcb_ptx_symbol *symbol; /* SYMBOL; ADDRESS: NULL when the base is no symbol */
		struct tcb_ptx_block *block;
		struct tcb_ptx_table *table;
		const char *text;
	};
	struct tcb_ptx_operand *items; /* VECTOR, PAIR, LIST; ADDRESS: tensor coordinates */
	uint32_t count;
};

/* --- source lines --- */

/* What .file names. */
struct tcb_ptx_source_file {
	struct tcb_ptx_source_file *next;
	uint32_t number;
	const char *name;
};

enum { TCB_PTX_INLINED_MAX = 256 };

/* A place in the source, as .loc gives it; of an inlined function also where it was called, and so on outwards. */
struct tcb_ptx_source {
	const struct tcb_ptx_source *inlined_at; /* NULL: the kernel's own line */
	const char *function;                    /* the inlined function's symbol; NULL: not inlined, or not named */
	const char *file;                        /* NULL: its number has no .file */
	uint32_t line, column;
	uint32_t depth; /* calls around it, at most TCB_PTX_INLINED_MAX */
};

/* --- instructions, blocks, functions, modules --- */

/* What is known of an instruction that the opcode table has no row for (op OPAQUE). */
struct tcb_ptx_opaque {
	const char *mnemonic;
	const char *why; /* which rule or row it misses although each of its words is known; NULL: a word is not */
	int is_wrong;    /* WHY is a rule that every version of the assembler keeps */
	int orders;      /* it may be a barrier or a fence */
};

struct tcb_ptx_ins {
	struct tcb_ptx_ins *prev, *next;
	struct tcb_ptx_block *block;
	uint16_t op;                      /* enum tcb_ptx_op */
	uint16_t form;                    /* row of the opcode table: see opcodes.h */
	uint16_t mod[TCB_PTX_SLOT_COUNT]; /* enum tcb_ptx_word, 0 where the slot is empty */
	uint8_t guard_negated;
	uint8_t operand_count, result_count;
	uint32_t guard; /* predicate register, or TCB_PTX_NO_REG */
	struct tcb_ptx_operand *operands;
	uint32_t line;                       /* of the PTX text; 0 when built */
	uint32_t number;                     /* position in the function after tcb_ptx_number */
	const struct tcb_ptx_source *source; /* of the last .loc; NULL when there is none */
	const struct tcb_ptx_opaque *opaque; /* of op OPAQUE, else NULL */
};

struct tcb_ptx_block {
	struct tcb_ptx_block *prev, *next;
	struct tcb_ptx_function *function;
	const char *label; /* NULL: nobody jumps here */
	struct tcb_ptx_ins *first, *last;
	/* set by tcb_ptx_cfg; the branch's targets come first, the fall-through last */
	struct tcb_ptx_block **succ, **pred;
	uint32_t succ_count, pred_count;
	uint32_t number; /* in text order */
	uint32_t order;  /* in reverse post-order; UINT32_MAX when unreachable */
	/* set by the builder and by loop analysis */
	struct tcb_ptx_loop *loop; /* the innermost one */
};

/* A natural loop as the builder made it: one header, one latch that jumps to it, one exit. */
struct tcb_ptx_loop {
	struct tcb_ptx_loop *next, *parent;
	struct tcb_ptx_block *header, *latch, *exit;
	unsigned depth; /* 1 for an outermost loop */
};

/* .reg .b32 %r<N>: N registers that share a prefix; or .reg .b32 x: one. */
struct tcb_ptx_group {
	const char *prefix;
	enum tcb_ptx_word type;
	uint32_t count; /* 0: one register whose name is the prefix */
};

struct tcb_ptx_reg {
	enum tcb_ptx_word type;
	uint32_t group, index; /* name: prefix, index */
	uint32_t align;        /* the value is a multiple of this power of two; 0: nothing known */
	/* set by tcb_ptx_number */
	uint32_t defs, uses;
	struct tcb_ptx_ins *def; /* the one instruction that writes it, when defs is 1 */
};

struct tcb_ptx_table {
	struct tcb_ptx_table *next;
	const char *name;
	struct tcb_ptx_block **blocks;
	uint32_t count;
};

/* Launch bounds and the like; 0 where absent. */
struct tcb_ptx_directives {
	uint32_t maxntid[3], reqntid[3]; /* a dimension not given is 1 when another is */
	uint32_t minnctapersm, maxnctapersm, maxnreg;
	uint32_t reqnctapercluster[3], maxclusterrank;
	uint8_t explicitcluster, blocksareclusters, noreturn;
};

struct tcb_ptx_function {
	struct tcb_ptx_function *next;
	struct tcb_ptx_module *module;
	struct tcb_ptx_symbol *symbol; /* name and linkage */
	int is_entry, is_declaration;
	struct tcb_ptx_symbol *results, *params; /* lists */
	struct tcb_ptx_symbol *locals;           /* .local, .shared and .param variables of the body */
	struct tcb_ptx_directives directives;
	uint32_t launch_block[3]; /* threads of a block where the user says how it is launched; else zeros */
	const char **pragmas;
	size_t pragma_count;
	struct tcb_ptx_function *prototypes; /* .callprototype: declarations of this function */
	struct tcb_ptx_table *tables;        /* .branchtargets */
	struct tcb_ptx_loop *loops;          /* outer before inner */

	struct tcb_ptx_group *groups;
	uint32_t group_count, group_capacity;
	struct tcb_ptx_reg *regs;
	uint32_t reg_count, reg_capacity;
	uint32_t fresh_group[TCB_PTX_TYPE_END]; /* 1 + the group that tcb_ptx_reg_new extends, by type */

	struct tcb_ptx_block *first, *last;
	struct tcb_ptx_block **order; /* reachable blocks in reverse post-order */
	uint32_t block_count, reachable_count, ins_count;
	uint32_t line;
	uint32_t item;                       /* as of symbols */
	const struct tcb_ptx_source *source; /* of its first .loc */
};

/* Compute capability: sm_90a is {90, 'a'}. */
struct tcb_ptx_target {
	unsigned sm;
	char feature; /* 'a' (this architecture only), 'f' (its family), or 0 */
};

struct tcb_ptx_alias {
	struct tcb_ptx_alias *next;
	const char *name, *of;
};

/* A part of the text that could not be read: a function's body, or something of the module. */
struct tcb_ptx_unread {
	struct tcb_ptx_unread *next;
	struct tcb_ptx_function *function; /* a declaration now; NULL: something of the module */
	const char *why;
	uint32_t line;
	int is_unknown; /* a word that the parser does not know: the text need not be wrong */
};

struct tcb_ptx_module {
	struct tcb_arena arena;
	unsigned version; /* 90 for .version 9.0 */
	struct tcb_ptx_target target;
	int has_debug; /* .target ..., debug */
	unsigned address_size;
	struct tcb_ptx_symbol *symbols; /* variables, in the order of the text */
	struct tcb_ptx_function *functions, *last_function;
	struct tcb_ptx_alias *aliases;
	const char **pragmas;
	size_t pragma_count;
	uint32_t item_count;               /* symbols and functions so far */
	struct tcb_ptx_source_file *files; /* the last one first */
	struct tcb_ptx_unread *unread;     /* in the order of the text */
};

/* --- ir.c: making and changing --- */

/* NULL when memory is exhausted, as everything below that returns a pointer. */
struct tcb_ptx_module *tcb_ptx_module_create(void);
void tcb_ptx_module_destroy(struct tcb_ptx_module *module);

/* Symbols and functions are appended; names are not copied. */
struct tcb_ptx_symbol *tcb_ptx_symbol_add(struct tcb_ptx_module *module, struct tcb_ptx_symbol **list,
					  const char *name);
struct tcb_ptx_symbol *tcb_ptx_symbol_find(struct tcb_ptx_symbol *list, const char *name);
struct tcb_ptx_function *tcb_ptx_function_add(struct tcb_ptx_module *module, const char *name);
struct tcb_ptx_function *tcb_ptx_function_find(struct tcb_ptx_module *module, const char *name);
/* Bytes of a variable: 0 for an extent that is unknown.  UINT64_MAX on overflow. */
uint64_t tcb_ptx_symbol_bytes(const struct tcb_ptx_symbol *symbol);
/* Declared alignment, else that of the type (and its vector). */
unsigned tcb_ptx_symbol_align(const struct tcb_ptx_symbol *symbol);

/* COUNT registers called PREFIX0 ... (or PREFIX alone when COUNT is 0); returns the index of the first, or
 * TCB_PTX_NO_REG when there is no room. */
uint32_t tcb_ptx_regs_add(struct tcb_ptx_function *function, enum tcb_ptx_word type, const char *prefix,
			  uint32_t count);
/* One more register of TYPE, under a name that is not taken. */
uint32_t tcb_ptx_reg_new(struct tcb_ptx_function *function, enum tcb_ptx_word type);
/* One more register that prints under the name of REG: for splitting a register that holds unrelated values. */
uint32_t tcb_ptx_reg_twin(struct tcb_ptx_function *function, uint32_t reg);
/* Writes the name to OUT, cut at SIZE; returns OUT. */
char *tcb_ptx_reg_name(const struct tcb_ptx_function *function, uint32_t reg, char *out, size_t size);

/* A block after AFTER (at the front when NULL). */
struct tcb_ptx_block *tcb_ptx_block_new(struct tcb_ptx_function *function, struct tcb_ptx_block *after,
					const char *label);
void tcb_ptx_block_remove(struct tcb_ptx_block *block);
/* An instruction with room for OPERAND_COUNT operands, unlinked and unguarded. */
struct tcb_ptx_ins *tcb_ptx_ins_new(struct tcb_ptx_module *module, unsigned operand_count);
/* A copy of INS that shares nothing with it but symbols, blocks and tables; unlinked. */
struct tcb_ptx_ins *tcb_ptx_ins_copy(struct tcb_ptx_module *module, const struct tcb_ptx_ins *ins);
void tcb_ptx_ins_append(struct tcb_ptx_block *block, struct tcb_ptx_ins *ins);
void tcb_ptx_ins_before(struct tcb_ptx_ins *where, struct tcb_ptx_ins *ins);
void tcb_ptx_ins_after(struct tcb_ptx_ins *where, struct tcb_ptx_ins *ins);
void tcb_ptx_ins_remove(struct tcb_ptx_ins *ins);

/* --- cfg.c --- */

/* Successors, predecessors, block numbers and reverse post-order.  Needed again after blocks or terminators changed. */
enum tcb_status tcb_ptx_cfg(struct tcb_ptx_function *function, struct tcb_error *err);
/* Numbers instructions in text order and counts definitions and uses of registers. */
void tcb_ptx_number(struct tcb_ptx_function *function);
/* Calls SEE for each register that INS reads or writes: operands inside vectors, addresses and pairs, and the guard.
 * IS_DEF tells results; an operand that is both read and written is seen twice. */
void tcb_ptx_each_reg(struct tcb_ptx_ins *ins, void (*see)(void *ctx, uint32_t *reg, int is_def), void *ctx);
/* The block's last instruction if it ends the block, else NULL. */
struct tcb_ptx_ins *tcb_ptx_terminator(const struct tcb_ptx_block *block);
/* Whether control can go on to the next block. */
int tcb_ptx_falls_through(const struct tcb_ptx_block *block);

/* --- small readers --- */

static inline enum tcb_ptx_word tcb_ptx_mod(const struct tcb_ptx_ins *ins, enum tcb_ptx_slot slot)
{
	return (enum tcb_ptx_word)ins->mod[slot];
}

#endif
