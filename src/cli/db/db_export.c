/* SPDX-License-Identifier: MIT
 *
 * Best rows and rules as two tables of a C header, with the lookup below them.
 * A database may come from anyone: what goes into the header is printed again
 * from what was parsed, or is a name of letters, digits and few signs.
 */
#include "cli/db/db_export.h"

#include <string.h>

#include "base/kind.h"
#include "cli/core/emit.h"
#include "cli/report/best_rows.h"
#include "kernels/default_rules.h"

static const char HEAD[] =
	"/*\n"
	" * Written by `tcbtune db export --format c-header`.\n"
	" *\n"
	" * tcbtune_geometry says which geometry to use: the winner of exactly this problem, else what the rule of\n"
	" * defaults for the architecture picks by the shape, else NULL.  In a rule's geometry M, N and K were put in\n"
	" * as the shape's sizes; tcbtune itself also moves tiles that a shape cannot have to the nearest that it "
	"can,\n"
	" * and knows what is legal: `tcbtune lookup` says what it would use.  tcbtune_tile, tcbtune_number and\n"
	" * tcbtune_value read a geometry.\n"
	" */\n"
	"#ifndef TCBTUNE_GEOMETRIES_H\n#define TCBTUNE_GEOMETRIES_H\n\n"
	"#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n"
	"struct tcbtune_problem {\n"
	"\tconst char *op, *contract; /* \"softmax\", \"f16\" */\n"
	"\tconst char *arch;          /* \"sm_90\", \"wgpu-amd\", \"x86_64-avx512vnni\" */\n"
	"\tconst char *state;         /* \"cold\" or \"hot\": of the caches */\n"
	"\tuint32_t threads;          /* of a CPU; 0 of a GPU */\n"
	"\tsize_t m, n, k;            /* k: 0 for ops on rows */\n"
	"};\n\n"
	"struct tcbtune_winner {\n"
	"\tstruct tcbtune_problem problem;\n"
	"\tconst char *device; /* the key of the machine that it won on */\n"
	"\tconst char *geometry, *variant; /* variant: \"\" of the default, where no winner is surely faster */\n"
	"\tdouble ns, speedup; /* median of one call; the default's time over it */\n"
	"};\n\n"
	"/* The first row that holds a shape, of those from LEAST to MOST; 0: no bound. */\n"
	"struct tcbtune_row {\n"
	"\tsize_t m, n, k, mn; /* mn: m * n */\n"
	"\tconst char *geometry; /* NULL: none is known */\n"
	"};\n\n"
	"struct tcbtune_rule {\n"
	"\tconst char *op, *contract, *arch;\n"
	"\tuint32_t threads;\n"
	"\tsize_t least[3], most[3];\n"
	"\tconst struct tcbtune_row *rows;\n"
	"\tsize_t row_count;\n"
	"};\n\n";

static const char LOOKUP[] =
	"static inline size_t tcbtune_put(size_t number, char *out, size_t capacity)\n"
	"{\n"
	"\tchar digits[24];\n"
	"\tsize_t count = 0, used = 0;\n"
	"\tdo\n"
	"\t\tdigits[count++] = (char)('0' + number % 10);\n"
	"\twhile (number /= 10);\n"
	"\tfor (; used < count && used < capacity; used++)\n"
	"\t\tout[used] = digits[count - 1 - used];\n"
	"\treturn used;\n"
	"}\n\n"
	"static inline const char *tcbtune_fill_in(const char *geometry, const struct tcbtune_problem *p, char *out,\n"
	"\t\t\t\t\t  size_t capacity)\n"
	"{\n"
	"\tsize_t used = 0;\n"
	"\tfor (; *geometry && used < capacity; geometry++) {\n"
	"\t\tif (*geometry == 'M' || *geometry == 'N' || *geometry == 'K')\n"
	"\t\t\tused += tcbtune_put(*geometry == 'M' ? p->m : *geometry == 'N' ? p->n : p->k, out + used,\n"
	"\t\t\t\t\t    capacity - used);\n"
	"\t\telse\n"
	"\t\t\tout[used++] = *geometry;\n"
	"\t}\n"
	"\tif (*geometry || used >= capacity)\n"
	"\t\treturn NULL;\n"
	"\tout[used] = '\\0';\n"
	"\treturn out;\n"
	"}\n\n"
	"static inline int tcbtune_is_near(const struct tcbtune_rule *r, const struct tcbtune_problem *p)\n"
	"{\n"
	"\treturn p->m >= r->least[0] && p->m <= r->most[0] && p->n >= r->least[1] && p->n <= r->most[1] &&\n"
	"\t       p->k >= r->least[2] && p->k <= r->most[2];\n"
	"}\n\n"
	"/* The geometry, as text: OUT (1024 bytes are enough) or the winner's own; NULL: none is known. */\n"
	"static inline const char *tcbtune_geometry(const struct tcbtune_problem *p, char *out, size_t capacity)\n"
	"{\n"
	"\tsize_t i, j;\n"
	"\tfor (i = 0; tcbtune_winners[i].geometry; i++) {\n"
	"\t\tconst struct tcbtune_problem *w = &tcbtune_winners[i].problem;\n"
	"\t\tif (w->m == p->m && w->n == p->n && w->k == p->k && w->threads == p->threads &&\n"
	"\t\t    !strcmp(w->op, p->op) && !strcmp(w->contract, p->contract) && !strcmp(w->arch, p->arch) &&\n"
	"\t\t    !strcmp(w->state, p->state))\n"
	"\t\t\treturn tcbtune_winners[i].geometry;\n"
	"\t}\n"
	"\tfor (i = 0; tcbtune_rules[i].op; i++) {\n"
	"\t\tconst struct tcbtune_rule *r = &tcbtune_rules[i];\n"
	"\t\tif (r->threads != p->threads || strcmp(r->op, p->op) || strcmp(r->contract, p->contract) ||\n"
	"\t\t    strcmp(r->arch, p->arch) || !tcbtune_is_near(r, p))\n"
	"\t\t\tcontinue;\n"
	"\t\tfor (j = 0; j < r->row_count; j++)\n"
	"\t\t\tif ((!r->rows[j].m || p->m <= r->rows[j].m) && (!r->rows[j].n || p->n <= r->rows[j].n) &&\n"
	"\t\t\t    (!r->rows[j].k || p->k <= r->rows[j].k) &&\n"
	"\t\t\t    (!r->rows[j].mn || p->m * p->n <= r->rows[j].mn))\n"
	"\t\t\t\treturn r->rows[j].geometry ? tcbtune_fill_in(r->rows[j].geometry, p, out, capacity)\n"
	"\t\t\t\t\t\t\t   : NULL;\n"
	"\t}\n"
	"\treturn NULL;\n"
	"}\n\n"
	"/* What GEOMETRY has for a word (\"tree\"), up to the next comma or its end; NULL: it has none. */\n"
	"static inline const char *tcbtune_value(const char *geometry, const char *word)\n"
	"{\n"
	"\tconst size_t length = strlen(word);\n"
	"\tfor (; geometry; geometry = strchr(geometry, ',')) {\n"
	"\t\tgeometry += *geometry == ',';\n"
	"\t\tif (!strncmp(geometry, word, length) && geometry[length] == '=')\n"
	"\t\t\treturn geometry + length + 1;\n"
	"\t}\n"
	"\treturn NULL;\n"
	"}\n\n"
	"/* Its number (\"workgroup\"); -1: there is none. */\n"
	"static inline long tcbtune_number(const char *geometry, const char *word)\n"
	"{\n"
	"\tconst char *at = tcbtune_value(geometry, word);\n"
	"\tlong number = 0;\n"
	"\tif (!at || *at < '0' || *at > '9')\n"
	"\t\treturn -1;\n"
	"\tfor (; *at >= '0' && *at <= '9' && number <= 214748363; at++)\n"
	"\t\tnumber = 10 * number + (*at - '0');\n"
	"\treturn number;\n"
	"}\n\n"
	"/* M, N and K of a level's tile (\"macro\", \"midi\", \"micro\"); 0: there is none. */\n"
	"static inline int tcbtune_tile(const char *geometry, const char *level, size_t out[3])\n"
	"{\n"
	"\tconst char *at = tcbtune_value(geometry, level);\n"
	"\tint i;\n"
	"\tfor (i = 0; at && i < 3; i++) {\n"
	"\t\tfor (out[i] = 0; *at >= '0' && *at <= '9'; at++)\n"
	"\t\t\tout[i] = 10 * out[i] + (size_t)(*at - '0');\n"
	"\t\tat += *at == 'x';\n"
	"\t}\n"
	"\treturn at != NULL;\n"
	"}\n\n"
	"#endif\n";

struct exporting {
	struct tcb_str *out;
	size_t stale, strange;
};

static int is_plain(const char *text)
{
	static const char signs[] = "_-.:+";
	for (; *text; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= 'A' && *text <= 'Z') &&
		    !(*text >= '0' && *text <= '9') && !strchr(signs, *text))
			return 0;
	return 1;
}

static int add_winner(void *ctx, const struct tcb_best *best)
{
	struct exporting *exporting = ctx;
	const struct tcb_shape *shape = &best->problem.shape;
	/* As a lookup has it: one that is not surely as fast as the default gives way to it. */
	const int is_default = best->speedup.lo < 1 && best->default_geometry[0];
	const struct tcb_interval *ns = is_default ? &best->default_ns : &best->ns;
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_geometry parsed;
	if (best->modelled || best->provisional)
		return 0;
	if (!best->problem.op || cli_best_is_stale(best)) {
		exporting->stale++;
		return 0;
	}
	if (tcb_geometry_parse_of(is_default ? best->default_geometry : best->geometry, best->problem.op->parameters,
				  &parsed, NULL) != TCB_OK ||
	    !is_plain(best->problem.op_name) || !is_plain(best->arch) || !is_plain(best->device_key) ||
	    !is_plain(best->variant)) {
		exporting->strange++;
		return 0;
	}
	tcb_geometry_print(&parsed, geometry);
	tcb_str_addf(exporting->out,
		     "\t{ { \"%s\", \"%s\", \"%s\", \"%s\", %u, %zu, %zu, %zu }, \"%s\",\n\t  \"%s\",\n"
		     "\t  \"%s\", %.6g, %.4g },\n",
		     best->problem.op_name, tcb_contract_text(best->problem.contract), best->arch,
		     tcb_state_text(best->state), tcb_kind_of(&best->target)->has_threads ? best->threads : 0, shape->m,
		     shape->n, shape->k, best->device_key, geometry, is_default ? "" : best->variant, ns->median,
		     is_default ? 1 : best->speedup.median);
	return 0;
}

static enum tcb_status add_winners(struct tcb_str *out, struct tcb_db *db, const char *op, struct tcb_error *err)
{
	const struct tcb_best_filter filter = { op, NULL };
	struct exporting exporting = { .out = out };
	tcb_str_add(out, "/* Ends with a row without a geometry. */\n"
			 "static const struct tcbtune_winner tcbtune_winners[] = {\n");
	TCB_TRY(tcb_db_best_each(db, &filter, add_winner, &exporting, err));
	tcb_str_add(out, "\t{ { NULL, NULL, NULL, NULL, 0, 0, 0, 0 }, NULL, NULL, NULL, 0, 0 },\n};\n\n");
	if (exporting.stale)
		cli_say("%zu winners are left out: their kernels have changed since", exporting.stale);
	if (exporting.strange)
		cli_say("%zu winners are left out: they cannot be read", exporting.strange);
	return TCB_OK;
}

static void add_rows(struct tcb_str *out, const struct tcb_default_rule *rule, size_t number)
{
	tcb_str_addf(out, "/* %s %s %s: %s */\nstatic const struct tcbtune_row tcbtune_rows_%zu[] = {\n", rule->op,
		     tcb_contract_text(rule->contract), rule->arch, rule->evidence, number);
	for (size_t i = 0; i < rule->row_count; i++) {
		const struct tcb_default_row *row = &rule->rows[i];
		/* What an op's own default has (*) takes the op to know. */
		const char *geometry = row->geometry && !strchr(row->geometry, '*') ? row->geometry : NULL;
		tcb_str_addf(out, "\t{ %zu, %zu, %zu, %zu, %s%s%s },\n", row->m, row->n, row->k, row->mn,
			     geometry ? "\"" : "", geometry ? geometry : "NULL", geometry ? "\"" : "");
	}
	tcb_str_add(out, "};\n");
}

static void add_rules(struct tcb_str *out, const char *op)
{
	const struct tcb_default_rule *rule;
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++)
		if (!op || !strcmp(rule->op, op))
			add_rows(out, rule, i);
	tcb_str_add(out, "\n/* Ends with a row without an op. */\n"
			 "static const struct tcbtune_rule tcbtune_rules[] = {\n");
	for (size_t i = 0; (rule = tcb_default_rule_at(i)); i++)
		if (!op || !strcmp(rule->op, op))
			tcb_str_addf(out,
				     "\t{ \"%s\", \"%s\", \"%s\", %u, { %zu, %zu, %zu }, { %zu, %zu, %zu }, "
				     "tcbtune_rows_%zu, %zu },\n",
				     rule->op, tcb_contract_text(rule->contract), rule->arch, rule->threads,
				     rule->least.m, rule->least.n, rule->least.k, rule->most.m, rule->most.n,
				     rule->most.k, i, rule->row_count);
	tcb_str_add(out, "\t{ NULL, NULL, NULL, 0, { 0, 0, 0 }, { 0, 0, 0 }, NULL, 0 },\n};\n\n");
}

enum tcb_status cli_export_header(struct tcb_db *db, const char *op, const char *path, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	tcb_str_add(&out, HEAD);
	enum tcb_status status = add_winners(&out, db, op, err);
	if (status == TCB_OK) {
		add_rules(&out, op);
		tcb_str_add(&out, LOOKUP);
		return cli_emit_to(path, &out, err);
	}
	tcb_str_fini(&out);
	return status;
}
