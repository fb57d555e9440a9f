/* SPDX-License-Identifier: MIT
 *
 * The words of a shape: what an op needs to know of a problem besides its sizes, as in
 * "1x4096x128,h32/8,b4,causal".  The list below is the only one: parser, printer, help,
 * and `tcbtune ops --json`, from which scripts draw shapes, are made of it, and an op says
 * which of them it takes (op.h).
 *
 * A word more is a row here, a part of the pattern in schemas/shape.schema.json
 * (base.shape_words tells which) and a bit of the ops that take it.
 */
#ifndef TCB_BASE_SHAPE_WORDS_H
#define TCB_BASE_SHAPE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * X(ID, field, type, kind, text, with, least, most, unsaid, example, help), in the order of the canonical text, which
 * is a key in databases: rows do not change places.
 * - kind: NUMBER: TEXT is followed by a number from LEAST to MOST; DIVISOR and PART: so it is, behind the number of the
 * row above, which this one divides, or is not above; TENTHS: a number with one decimal, the field has ten times as
 * much; TYPE: one of tcb_word_types, the field is 1 for the first; FLAG: TEXT is all, and the field is 1
 * - with: the word that must be given where this one is, or the word itself
 * - unsaid: what the field is where WITH is given and this is not, which is not printed; without WITH it is 0
 * Plans and snapshots keep the struct as it lies in memory: a list that changes makes TCB_WORDS_FORMAT one more.
 */
#define TCB_SHAPE_WORDS(X)                                                                                            \
	X(QUERY, query, uint32_t, NUMBER, "h", QUERY, 1, 4096, 0, "h32/8",                                            \
	  "32 query heads share 8 KV heads, 4 each; must be given")                                                   \
	X(KV, kv, uint32_t, DIVISOR, "/", QUERY, 1, 4096, 0, NULL, NULL)                                              \
	X(SEQUENCES, sequences, uint32_t, NUMBER, "b", QUERY, 1, 65535, 1, "b4",                                      \
	  "4 sequences, each with its own KV tokens; otherwise 1")                                                    \
	X(PAGE, page, uint32_t, NUMBER, "p", QUERY, 1, 65536, 0, "p16",                                               \
	  "KV in pages of 16 tokens, found by a page table; otherwise in one piece for each sequence")                \
	X(WINDOW, window, uint32_t, NUMBER, "w", QUERY, 1, 1073741824, 0, "w1024",                                    \
	  "a query sees 1024 tokens at most: its own and those before it, so a window is causal, too")                \
	X(CAP, cap, uint32_t, NUMBER, "c", QUERY, 1, 65535, 0, "c50",                                                 \
	  "scores are capped: s becomes 50 * tanh(s / 50)")                                                           \
	X(CAUSAL, causal, uint32_t, FLAG, "causal", QUERY, 1, 1, 0, "causal",                                         \
	  "a query sees its own token and those before it, not the later ones; the queries are the last M tokens of " \
	  "their sequence")                                                                                           \
	X(RAGGED, ragged, uint16_t, FLAG, "ragged", QUERY, 1, 1, 0, "ragged",                                         \
	  "sequences have lengths of their own, spread evenly from N down; otherwise all have N")                     \
	X(PAIRS, pairs, uint16_t, FLAG, "pairs", QUERY, 1, 1, 0, "pairs",                                             \
	  "rope_append rotates values 2j and 2j + 1 of a head together, as GPT-J and Llama's own files have them; "   \
	  "otherwise j and j + K/2")                                                                                  \
	X(EXPERTS, experts, uint16_t, NUMBER, "e", EXPERTS, 1, 4096, 0, "e128/8",                                     \
	  "128 experts, of which each token uses 8; must be given")                                                   \
	X(USED, used, uint16_t, PART, "/", EXPERTS, 1, 256, 0, NULL, NULL)                                            \
	X(EACH, each, uint8_t, FLAG, "each", EXPERTS, 1, 1, 0, "each",                                                \
	  "a row of activations for each token and expert that it uses, as behind another product of experts; "       \
	  "otherwise one for each token")                                                                             \
	X(SKEW, skew, uint8_t, TENTHS, "zipf", EXPERTS, 1, 99, 10, "zipf1.5",                                         \
	  "which experts data for tuning has: the r-th most popular as 1 / r^1.5, otherwise as 1 / r; an answer is "  \
	  "right for whatever ids come")                                                                              \
	X(EVEN, even, uint8_t, FLAG, "even", EXPERTS, 1, 1, 0, "even",                                                \
	  "for tuning, every expert is as popular as any other")                                                      \
	X(ONE, one, uint8_t, FLAG, "one", EXPERTS, 1, 1, 0, "one", "for tuning, all tokens use the same experts")     \
	X(SHARED, shared, uint16_t, NUMBER, "shared", EXPERTS, 1, 64, 0, "shared1",                                   \
	  "1 expert more, which every token uses beside its own: its id is with the others")                          \
	X(BIAS, bias, uint16_t, FLAG, "bias", BIAS, 1, 1, 0, "bias",                                                  \
	  "a bias for each output, of experts for each expert and output, is added to its products")                  \
	X(OAI, oai, uint32_t, FLAG, "oai", EXPERTS, 1, 1, 0, "oai",                                                   \
	  "gate and up are joined as in gpt-oss: clamped, (up + 1) gate sigmoid(1.702 gate); otherwise by silu")      \
	X(ROTATED, rotated, uint32_t, NUMBER, "rot", QUERY, 8, 1024, 0, "rot64",                                      \
	  "rope_append rotates the first 64 values of a head of q and k and leaves the rest as they are; otherwise "  \
	  "all")                                                                                                      \
	X(QKNORM, qknorm, uint16_t, NUMBER, "qknorm", QUERY, 1, 20, 0, "qknorm6",                                     \
	  "rope_append first divides each head of q and k by its root mean square, with 10^-6 below the root, and "   \
	  "multiplies it by weights, as Qwen3 does")                                                                  \
	X(MROPE, mrope, uint16_t, FLAG, "mrope", QUERY, 1, 1, 0, "mrope",                                             \
	  "rope_append takes three positions for each new token, and which of them each angle is of")                 \
	X(APART, apart, uint32_t, FLAG, "apart", QUERY, 1, 1, 0, "apart",                                             \
	  "rope_append takes q, k and v of the new tokens as three operands; otherwise in rows of one")               \
	X(EPS, eps, uint16_t, NUMBER, "eps", EPS, 1, 20, 0, "eps6",                                                   \
	  "10^-6 is added to the mean square or the variance that a norm divides by the root of; otherwise 10^-5")    \
	X(ADD, add, uint16_t, FLAG, "add", ADD, 1, 1, 0, "add",                                                       \
	  "an operand as large as the results is added to a product, as to what passes a layer by; a norm adds it "   \
	  "to x and is of the sum, a second output")                                                                  \
	X(VALUES, values, uint32_t, NUMBER, "v", QUERY, 8, 1024, 0, "v128",                                           \
	  "heads of V, and of results, have 128 values; otherwise K, as those of q and k")                            \
	X(VIEW, view, uint16_t, FLAG, "vk", QUERY, 1, 1, 0, "vk",                                                     \
	  "V is not an operand: it is the first values of each head of K, as in latent attention")                    \
	X(SINKS, sinks, uint16_t, FLAG, "sinks", QUERY, 1, 1, 0, "sinks",                                             \
	  "a score for each query head takes part in the softmax and has no value, as in gpt-oss")                    \
	X(ALIBI, alibi, uint32_t, FLAG, "alibi", QUERY, 1, 1, 0, "alibi",                                             \
	  "a slope for each query head, times how far a token is from the query's own, is taken from its score")      \
	X(PREFIX, prefix, uint32_t, FLAG, "prefix", QUERY, 1, 1, 0, "prefix",                                         \
	  "of each sequence some first tokens, as many as an operand says, are seen by all its queries")              \
	X(X_TYPE, x_type, uint32_t, TYPE, "x", X_TYPE, 1, 3, 0, "xbf16",                                              \
	  "activations that an op reads, of attention q, are bf16 in memory (or f16); otherwise f32, of attention "   \
	  "what its contract says")                                                                                   \
	X(Y_TYPE, y_type, uint16_t, TYPE, "y", Y_TYPE, 1, 3, 0, "yf16", "the same of results")                        \
	X(BITS, bits, uint16_t, FLAG, "bits", BITS, 1, 1, 0, "bits",                                                  \
	  "a row's result has the same bits for any M, batch, threads and sweep: sums are added in an order that K "  \
	  "(of attention a token's place) alone says")                                                                \
	X(GELU, gelu, uint64_t, FLAG, "gelu", GELU, 1, 1, 0, "gelu",                                                  \
	  "gate and up are joined by gelu in its tanh form, as in Gemma; otherwise by silu")
enum { TCB_WORDS_FORMAT = 7 };

/* The types of words, "f32", "f16" and "bf16", in the order of enum tcb_type. */
enum { TCB_WORD_TYPES = 3, TCB_WORD_TYPE_MAX = 4 };
extern const char *const tcb_word_types[TCB_WORD_TYPES];

/* Of mixtures skew is 10 where nothing was said, and counts where neither even nor one is set.
 * A query token i of a sequence is token length - m + i of it; query is a multiple of kv; cap, window and page are 0
 * where there is none. */
struct tcb_words {
#define TCB_WORDS_FIELD(ID, field, type, ...) type field;
	TCB_SHAPE_WORDS(TCB_WORDS_FIELD)
#undef TCB_WORDS_FIELD
};

#define TCB_WORDS_BYTES(ID, field, type, ...) +sizeof(type)
_Static_assert(sizeof(struct tcb_words) == 0 TCB_SHAPE_WORDS(TCB_WORDS_BYTES) && sizeof(struct tcb_words) % 8 == 0,
	       "words are compared and hashed as bytes, 8 at a time: make the last field larger until they fill them");
#undef TCB_WORDS_BYTES

enum tcb_word {
#define TCB_WORDS_ENUM(ID, ...) TCB_WORD_##ID,
	TCB_SHAPE_WORDS(TCB_WORDS_ENUM)
#undef TCB_WORDS_ENUM
		TCB_WORD_COUNT
};

enum tcb_word_kind { TCB_WORD_NUMBER, TCB_WORD_DIVISOR, TCB_WORD_PART, TCB_WORD_TENTHS, TCB_WORD_TYPE, TCB_WORD_FLAG };

struct tcb_word_row {
	enum tcb_word_kind kind;
	const char *text;
	enum tcb_word with;
	uint32_t least, most, unsaid;
	const char *example, *help; /* NULL of a second number: they are above */
};
extern const struct tcb_word_row tcb_word_rows[TCB_WORD_COUNT];
/* Is it a number behind that of the row above? */
static inline int tcb_word_is_second(const struct tcb_word_row *row)
{
	return row->kind == TCB_WORD_DIVISOR || row->kind == TCB_WORD_PART;
}
/* The row of the number behind WORD's, or NULL. */
const struct tcb_word_row *tcb_word_second(enum tcb_word word);

/* The longest text, with its zero: of each word a comma, what it begins with, the digits of the largest number and a
 * point, or a type. */
#define TCB_WORDS_LENGTH(ID, field, type, kind, text, with, least, most, ...) \
	+sizeof(text) + sizeof(#most) + (TCB_WORD_##kind == TCB_WORD_TYPE ? TCB_WORD_TYPE_MAX : 0)
enum { TCB_WORDS_TEXT_MAX = 0 TCB_SHAPE_WORDS(TCB_WORDS_LENGTH) };
#undef TCB_WORDS_LENGTH

/* "h32/8,b4"; empty: none.  In any order, each once.  A window is causal, whether it is said or not. */
enum tcb_status tcb_words_parse(const char *text, struct tcb_words *out, struct tcb_error *err);
void tcb_words_print(const struct tcb_words *words, char out[TCB_WORDS_TEXT_MAX]);

/* Bit 1 << WORD of each that is neither 0 nor what it is unsaid. */
uint64_t tcb_words_given(const struct tcb_words *words);
/* 10^-EXPONENT, of the words eps and qknorm. */
double tcb_words_power(uint32_t exponent);
/* The examples of the words in MASK: "h32/8, b4, causal". */
enum { TCB_WORDS_LIST_MAX = 256 };
void tcb_words_list(uint64_t mask, char out[TCB_WORDS_LIST_MAX]);

#endif
