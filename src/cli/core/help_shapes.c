/* SPDX-License-Identifier: MIT
 *
 * tcbtune help shapes: how a problem's sizes are written, and the words behind them.
 */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "kernels/op.h"

static const char sizes[] = "A shape says how large a problem is: numbers with x between them, as in\n"
			    "--shape 1x4096x4096.  What they count depends on the op (tcbtune ops):\n"
			    "\n"
			    "  MxN        rows and columns of a matrix: softmax, norms, reductions\n"
			    "  MxNxK      a product: M tokens, N outputs, K inputs; dense products are\n"
			    "             MxK by KxN; a gated pair has 2 N rows of weights, gate's and\n"
			    "             then up's; get_rows: M ids of N rows of K values; topk: of M\n"
			    "             rows of N the K largest\n"
			    "  MxNxK,...  attention: M query tokens of each sequence against up to N KV\n"
			    "             tokens, heads of K values; then words, with commas between them;\n"
			    "             rope_append: M new tokens, a cache with memory for N\n"
			    "             delta_*, ssd_*, short_conv_*: M new tokens of each sequence, heads of\n"
			    "             N values and K keys; h32/16: 32 heads share 16 heads of keys\n"
			    "  MxNxK,e..  products of a mixture: M tokens, of which each uses some of the\n"
			    "             experts, matrices of N outputs and K inputs\n"
			    "\n";

static const char rest[] = "Any order will do; tcbtune prints them in this one.  Two shapes with other\n"
			   "words are other problems, with results of their own.\n"
			   "\n"
			   "Several shapes in one word, where a command takes several (sweep, bench,\n"
			   "report, lookup): a size may be a list, or a range FROM:TO, FROM:TO:STEP or\n"
			   "FROM:TO:*FACTOR; all combinations are meant, up to 256.\n"
			   "\n"
			   "  1,2,4x4096x4096     M is 1, 2 and 4\n"
			   "  1:8:*2x4096x4096    M is 1, 2, 4 and 8\n"
			   "  1x1024:4096:1024x4096,8192    N in steps of 1024, with each K\n"
			   "\n"
			   "examples:\n"
			   "  tcbtune sweep --op q4k_matmul --shape '8:64:*2x4096x4096'\n"
			   "  tcbtune sweep --op attention_decode_f16 --shape 1x4096x128,h32/8\n"
			   "  tcbtune sweep --op attention_decode_f16 --shape 1x8192x128,h28/4,b16,p16,ragged\n"
			   "  tcbtune sweep --op q4k_experts_matmul --shape 32x768x2048,e128/8\n";

enum { HELP_COLUMN = 13, FAMILY_COLUMNS = 28 };

static void add_words(struct tcb_str *out)
{
	tcb_str_add(out, "Words:\n\n");
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];
		struct tcb_str line = { 0 };

		if (!row->example)
			continue;
		tcb_str_addf(&line, "  %-*s%s", HELP_COLUMN - 2, row->example, row->help);
		cli_add_folded(out, line.data ? line.data : "", 0, HELP_COLUMN);
		out->failed |= line.failed;
		tcb_str_fini(&line);
	}
}

enum { FAMILY_MAX = TCB_OP_NAME_MAX + 8 };

/* The family that OP is of: where there is one for each format of weights what follows that, else all but what follows
 * the last "_". */
static void family_of(const struct tcb_op *op, char out[FAMILY_MAX])
{
	const char *first = strchr(op->name, '_'), *last = strrchr(op->name, '_');

	if (op->format && first)
		(void)snprintf(out, FAMILY_MAX, "FORMAT%s", first);
	else
		(void)snprintf(out, FAMILY_MAX, "%.*s", last ? (int)(last - op->name) : TCB_OP_NAME_MAX, op->name);
}

/* Which words each family of ops takes. */
static void add_takers(const struct tcb_registry *ops, struct tcb_str *out)
{
	char last[FAMILY_MAX] = "", family[FAMILY_MAX];

	tcb_str_add(out, "\nOps take of them:\n\n");
	for (const struct tcb_op *const *op = ops->ops; *op; op++) {
		char words[TCB_WORDS_LIST_MAX];

		family_of(*op, family);
		if (!(*op)->words || strcmp(last, family) == 0)
			continue;
		memcpy(last, family, sizeof last);
		tcb_words_list((*op)->words, words);
		tcb_str_addf(out, "  %-*s  %s\n", FAMILY_COLUMNS, family, words);
	}
	tcb_str_add(out, "\n");
}

enum tcb_status cli_help_shapes(const struct tcb_registry *ops, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	tcb_str_add(&out, sizes);
	add_words(&out);
	add_takers(ops, &out);
	tcb_str_add(&out, rest);
	return cli_emit_text(&out, err);
}
