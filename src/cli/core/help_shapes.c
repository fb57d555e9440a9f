/* SPDX-License-Identifier: MIT
 *
 * tcbtune help shapes: how a problem's sizes are written.
 */
#include "cli/core/cli.h"
#include "cli/core/emit.h"

static const char text[] = "A shape says how large a problem is: numbers with x between them, as in\n"
			   "--shape 1x4096x4096.  What they count depends on the op (tcbtune ops):\n"
			   "\n"
			   "  MxN        rows and columns of a matrix: softmax, norms, reductions\n"
			   "  MxNxK      a product: M tokens, N outputs, K inputs; dense products are\n"
			   "             MxK by KxN; a gated pair has 2 N rows of weights, gate's and\n"
			   "             then up's\n"
			   "  MxNxK,...  attention: M query tokens of each sequence against up to N KV\n"
			   "             tokens, heads of K values; then words, with commas between them;\n"
			   "             rope_append: M new tokens, a cache with memory for N, and of\n"
			   "             the words h, b, p, ragged and pairs\n"
			   "\n"
			   "Words of attention:\n"
			   "\n"
			   "  h32/8      32 query heads share 8 KV heads, 4 each; must be given\n"
			   "  b4         4 sequences, each with its own KV tokens; otherwise 1\n"
			   "  p16        KV in pages of 16 tokens, found by a page table; otherwise in\n"
			   "             one piece for each sequence\n"
			   "  w1024      a query sees 1024 tokens at most: its own and those before it,\n"
			   "             so a window is causal, too\n"
			   "  c50        scores are capped: s becomes 50 * tanh(s / 50)\n"
			   "  causal     a query sees its own token and those before it, not the later\n"
			   "             ones; the queries are the last M tokens of their sequence\n"
			   "  ragged     sequences have lengths of their own, spread evenly from N down;\n"
			   "             otherwise all have N\n"
			   "  pairs      rope_append rotates values 2j and 2j + 1 of a head together, as\n"
			   "             GPT-J and Llama's own files have them; otherwise j and j + K/2\n"
			   "\n"
			   "Any order will do; tcbtune prints them in this one.  Two shapes with other\n"
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
			   "  tcbtune sweep --op attention_decode_f16 --shape 1x8192x128,h28/4,b16,p16,ragged\n";

enum tcb_status cli_help_shapes(struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	tcb_str_add(&out, text);
	return cli_emit_text(&out, err);
}
