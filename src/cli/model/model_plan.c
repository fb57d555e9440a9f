/* SPDX-License-Identifier: MIT
 *
 * Products times counts of tokens.  One row of activations is the op of one
 * token (op_matvec), more are the op of many (op_matmul).  A stack of experts, or a
 * pair of them, is one call of an op of experts where the device has that; else a
 * product for each expert, over which tokens spread evenly.
 *
 * A problem's part of the budget is the square root of its part of the time:
 * where what is still to gain of a problem falls with one over the time that is
 * spent on it, the sum of all that is lost is least so.
 */
#include "cli/model/model_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/best_rows.h"
#include "kernels/defaults/contracts.h"
#include "kernels/formats.h"

static const size_t TOKENS_MOST = 65536, JOINED_TOKENS_MOST = 8;
/* So many times as long as under another contract, and a sweep will hardly make up for it. */
static const double LOST = 1.3;

const char *cli_known_text(enum cli_known known)
{
	static const char *const texts[] = {
#define CLI_KNOWN_TEXT(id, text) text,
		CLI_KNOWN_LIST(CLI_KNOWN_TEXT)
#undef CLI_KNOWN_TEXT
	};

	return texts[known];
}

static enum tcb_status wrong_tokens(const char *text, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_USAGE,
			"--tokens wants up to %d counts from 1 to %zu, each larger than the one before, such as "
			"1,32,512, not '%s'",
			CLI_TOKENS_MAX, TOKENS_MOST, text);
}

static enum tcb_status parse_tokens(const char *text, struct cli_model_plan *plan, struct tcb_error *err)
{
	for (const char *at = text;; at++) {
		const size_t digits = strspn(at, "0123456789");
		const unsigned long number = digits && digits < 6 ? strtoul(at, NULL, 10) : 0;

		if (number == 0 || number > TOKENS_MOST || plan->token_count == CLI_TOKENS_MAX ||
		    (plan->token_count && number <= plan->tokens[plan->token_count - 1]))
			return wrong_tokens(text, err);
		plan->tokens[plan->token_count++] = number;
		at += digits;
		if (!*at)
			return TCB_OK;
		if (*at != ',')
			return wrong_tokens(text, err);
	}
}

/* The op of FORMAT whose name ends with END. */
static const struct tcb_op *find_op(const struct tcb_registry *ops, const struct tcb_format *format, const char *end)
{
	for (const struct tcb_op *const *op = ops->ops; *op; op++) {
		const size_t length = strlen((*op)->name);
		if ((*op)->format == format && length > strlen(end) &&
		    strcmp((*op)->name + length - strlen(end), end) == 0)
			return *op;
	}
	return NULL;
}

/* The op of all experts of PRODUCT's stacks together, whose SHAPE gets words; NULL: TARGET has none, or none for so
 * many. */
static const struct tcb_op *find_experts(const struct cli_model_plan *plan, const struct cli_product *product,
					 const struct tcb_target *target, struct tcb_shape *shape)
{
	const struct tcb_op *op = find_op(plan->ops, product->format,
					  product->is_pair   ? "_experts_swiglu_matmul"
					  : product->is_down ? "_experts_sum_matmul"
							     : "_experts_matmul");
	const struct cli_model *model = plan->model;
	const size_t shared = (size_t)product->has_shared;

	if (!op || !tcb_op_side(op, target) || model->experts + shared > tcb_word_rows[TCB_WORD_EXPERTS].most ||
	    model->experts_used + shared > tcb_word_rows[TCB_WORD_USED].most)
		return NULL;
	shape->words.experts = (uint16_t)model->experts;
	shape->words.used = (uint16_t)model->experts_used;
	shape->words.skew = (uint8_t)tcb_word_rows[TCB_WORD_SKEW].unsaid;
	shape->words.shared = (uint16_t)product->has_shared;
	shape->words.bias = model->gate == CLI_GATE_OAI;
	shape->words.oai = product->is_pair && model->gate == CLI_GATE_OAI;
	shape->words.gelu = product->is_pair && model->gate == CLI_GATE_GELU;
	return op;
}

/* The op that joins PRODUCT with the norm before it, whose SHAPE gets words; NULL: it has none, TARGET has no kernels
 * of it, or it is not worth asking for so many tokens, which go through a norm once and through many tiles of a
 * product. */
static const struct tcb_op *find_joined(const struct cli_model_plan *plan, const struct cli_product *product,
					const struct tcb_target *target, struct tcb_shape *shape)
{
	const struct tcb_op *op =
		find_op(plan->ops, product->format, product->is_pair ? "_rmsnorm_swiglu_matvec" : "_rmsnorm_matvec");

	if (!product->is_normed || shape->m > JOINED_TOKENS_MOST || !op || !tcb_op_side(op, target))
		return NULL;
	shape->words.gelu = product->is_pair && plan->model->gate == CLI_GATE_GELU;
	return op;
}

static enum tcb_status add_item(struct cli_model_plan *plan, const struct tcb_op *op, enum tcb_contract contract,
				const struct tcb_shape *shape, enum tcb_contract usual, struct tcb_error *err)
{
	struct cli_model_problem *list = realloc(plan->list, (plan->count + 1) * sizeof *list), *item;

	if (!list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the plan");
	plan->list = list;
	item = &list[plan->count];
	memset(item, 0, sizeof *item);
	item->problem.op = op;
	item->group = plan->groups;
	item->is_usual = item->is_chosen = contract == usual;
	TCB_TRY(tcb_problem_init(op, contract, shape, &item->problem.problem, err));
	plan->count++;
	return TCB_OK;
}

/* The items of OP and SHAPE, one for each contract, made where there are none: COUNT_OUT from OUT on. */
static enum tcb_status get_items(struct cli_model_plan *plan, const struct tcb_op *op, const char *contract_text,
				 const struct tcb_shape *shape, const struct tcb_target *target,
				 struct cli_model_problem **out, size_t *count_out, struct tcb_error *err)
{
	struct cli_contracts asked;
	size_t first = 0;

	while (first < plan->count && (plan->list[first].problem.op != op ||
				       !tcb_shape_equal(&plan->list[first].problem.problem.shape, shape)))
		first++;
	if (first == plan->count) {
		/* Weights that are values have one contract, whatever others are asked for. */
		TCB_TRY(cli_find_contracts(op, tcb_is_float(op->format->id) ? NULL : contract_text, &asked, err));
		const unsigned all =
			asked.is_auto ? tcb_contracts_from(op, shape, target, asked.least) : 1u << asked.least;
		const enum tcb_contract usual =
			asked.is_auto ? tcb_contract_usual(op, shape, target, all, asked.least) : asked.least;
		for (int contract = (int)asked.least; contract >= 0; contract--)
			if (all >> contract & 1u)
				TCB_TRY(add_item(plan, op, (enum tcb_contract)contract, shape, usual, err));
		plan->groups++;
	}
	*out = &plan->list[first];
	for (*count_out = 0; first + *count_out < plan->count && (*out)[*count_out].group == (*out)->group;)
		++*count_out;
	return TCB_OK;
}

/* CALLS of OP (NULL: the plain product for so many tokens) with SHAPE. */
static enum tcb_status add_calls_of(struct cli_model_plan *plan, const struct cli_product *product,
				    const struct tcb_op *op, const struct tcb_target *target, const char *contract,
				    const struct tcb_shape *shape, size_t token_index, double calls,
				    struct tcb_error *err)
{
	struct cli_model_problem *items = NULL;
	size_t count;

	if (!op)
		op = find_op(plan->ops, product->format, shape->m == 1 ? "_matvec" : "_matmul");
	if (!op)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "this build has no products with %s weights of %zu tokens",
				product->format->gguf_name, shape->m);
	TCB_TRY(get_items(plan, op, contract, shape, target, &items, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (!items[i].product)
			items[i].product = product;
		items[i].calls[token_index] += calls;
	}
	return TCB_OK;
}

static enum tcb_status add_calls(struct cli_model_plan *plan, const struct cli_product *product,
				 const struct tcb_target *target, const char *contract, int all_logits,
				 size_t token_index, struct tcb_error *err)
{
	const size_t tokens = product->is_output && !all_logits ? 1 : plan->tokens[token_index];
	struct tcb_shape shape = { tokens, product->n, product->k };
	const struct tcb_op *op = product->is_expert ? find_experts(plan, product, target, &shape)
						     : find_joined(plan, product, target, &shape);
	const double matrices = (double)product->matrices * (product->is_pair && !op ? 2 : 1);
	double calls = 1;

	plan->has_routing |= op && product->is_expert;
	if (product->is_expert && !op) { /* the shared expert is a product by itself */
		if (product->has_shared)
			TCB_TRY(add_calls_of(plan, product, NULL, target, contract, &shape, token_index, matrices,
					     err));
		cli_model_spread(plan->model, tokens, &shape.m, &calls);
	}
	return add_calls_of(plan, product, op, target, contract, &shape, token_index, calls * matrices, err);
}

/* What a call costs against others at the same count of tokens: bytes, or operations, of which each byte has as many.
 */
static double cost(const struct cli_model_problem *item)
{
	const struct tcb_problem *problem = &item->problem.problem;

	return problem->shape.m == 1 ? item->problem.op->traffic(problem) : item->problem.op->flops(problem);
}

/* A group's share is that of each of its problems. */
static void share_out(struct cli_model_plan *plan)
{
	double sum = 0;

	for (size_t i = 0; i < plan->count; i++)
		plan->list[i].share = 0;
	for (size_t t = 0; t < plan->token_count; t++) {
		double all = 0;
		for (size_t i = 0; i < plan->count; i++)
			all += plan->list[i].is_usual * plan->list[i].calls[t] * cost(&plan->list[i]);
		for (size_t i = 0; i < plan->count; i++)
			plan->list[i].share += plan->list[i].calls[t] * cost(&plan->list[i]) / all;
	}
	for (size_t i = 0; i < plan->count; i++)
		sum += plan->list[i].is_usual * sqrt(plan->list[i].share);
	for (size_t i = 0; i < plan->count; i++)
		plan->list[i].share = sqrt(plan->list[i].share) / sum;
}

/* Those of fewer tokens first, and of them the ones that take longest; of a group, which stays together, the usual. */
static int compare_items(const void *left, const void *right)
{
	const struct cli_model_problem *a = left, *b = right;

	for (size_t t = 0; t < CLI_TOKENS_MAX; t++)
		if ((a->calls[t] > 0) != (b->calls[t] > 0))
			return a->calls[t] > 0 ? -1 : 1;
		else if (a->calls[t] > 0)
			break;
	if (a->group == b->group)
		return (a->is_usual < b->is_usual) - (a->is_usual > b->is_usual);
	return a->share != b->share ? (a->share < b->share) - (a->share > b->share)
				    : (a->group > b->group) - (a->group < b->group);
}

enum tcb_status cli_model_plan_make(const struct tcb_registry *ops, const struct cli_model *model,
				    const struct tcb_target *target, const char *tokens_text, const char *contract,
				    int all_logits, struct cli_model_plan *out, struct tcb_error *err)
{
	memset(out, 0, sizeof *out);
	out->ops = ops;
	out->model = model;
	if (!contract)
		contract = "auto";
	TCB_TRY(parse_tokens(tokens_text, out, err));
	for (size_t t = 0; t < out->token_count; t++)
		for (size_t i = 0; i < model->product_count; i++)
			TCB_TRY(add_calls(out, &model->products[i], target, contract, all_logits, t, err));
	share_out(out);
	if (out->count)
		qsort(out->list, out->count, sizeof *out->list, compare_items);
	return TCB_OK;
}

enum tcb_status cli_model_plan_keep(struct cli_model_plan *plan, const struct tcb_target *target, struct tcb_error *err)
{
	struct tcb_str names = { 0 };
	size_t kept = 0, groups = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const char *name = plan->list[i].problem.op->name;
		if (tcb_op_side(plan->list[i].problem.op, target)) {
			groups += kept == 0 || plan->list[kept - 1].group != plan->list[i].group;
			plan->list[kept++] = plan->list[i];
		} else if (!names.data || !strstr(names.data, name))
			tcb_str_addf(&names, "%s%s", names.length ? ", " : "", name);
	}
	if (kept == 0 && plan->count)
		tcb_fail(err, TCB_E_UNSUPPORTED, "no product of this model has kernels for such a device: %.300s",
			 names.data ? names.data : "");
	else if (kept < plan->count)
		cli_say("left out, there are no kernels for such a device: %s; times are without them",
			names.data ? names.data : "");
	tcb_str_fini(&names);
	if (kept == 0 && plan->count)
		return TCB_E_UNSUPPORTED;
	plan->count = kept;
	plan->groups = groups;
	share_out(plan);
	return TCB_OK;
}

void cli_model_plan_fini(struct cli_model_plan *plan)
{
	free(plan->list);
	plan->list = NULL;
	plan->count = 0;
}

static enum cli_known known_of(const struct tcb_best *best)
{
	if (cli_best_is_stale(best))
		return CLI_KNOWN_STALE;
	if (best->provisional)
		return CLI_KNOWN_PROVISIONAL;
	if (best->tried < TCB_THIN_TRIED && best->tried < best->space_count)
		return CLI_KNOWN_THIN;
	return best->modelled ? CLI_KNOWN_MODELLED : CLI_KNOWN_TUNED;
}

/* What the default takes by its rate in the problems that are known: of the same op at as many rows, else of any at as
 * many. */
static double estimate_ns(const struct cli_model_plan *plan, const struct cli_model_problem *item)
{
	double ns[2] = { 0 }, costs[2] = { 0 };

	for (size_t i = 0; i < plan->count; i++) {
		const struct cli_model_problem *other = &plan->list[i];
		const int is_other_op = other->problem.op != item->problem.op;
		if (other->is_estimated || !(other->default_ns > 0) ||
		    other->problem.problem.contract != item->problem.problem.contract ||
		    (other->problem.problem.shape.m == 1) != (item->problem.problem.shape.m == 1))
			continue;
		ns[is_other_op] += other->default_ns;
		costs[is_other_op] += cost(other);
	}
	for (int k = 0; k < 2; k++)
		if (costs[k] > 0)
			return ns[k] / costs[k] * cost(item);
	return 0;
}

/* Of the limit only the bytes count. */
static double estimate_limit_ns(const struct cli_model_plan *plan, const struct cli_model_problem *item)
{
	double ns = 0, bytes = 0;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->list[i].known != CLI_KNOWN_MISSING && plan->list[i].best.limit_ns.median > 0) {
			ns += plan->list[i].best.limit_ns.median;
			bytes += plan->list[i].best.bytes;
		}
	return bytes > 0 ? ns / bytes * item->problem.op->traffic(&item->problem.problem) : 0;
}

static struct tcb_interval exactly(double ns)
{
	return (struct tcb_interval){ ns, ns, ns };
}

/* What ITEM's time is of its limit: of a tuned one the figure of its row, of another that of its default. */
static struct cli_limit limit_of(const struct cli_model_problem *item)
{
	const struct tcb_interval ns = exactly(item->tuned_ns), limit = exactly(item->limit_ns);
	struct tcb_best fallback = item->best;

	if (item->is_served)
		return cli_limit_of(&item->best);
	if (item->known == CLI_KNOWN_MISSING)
		return cli_limit_make("read limit", &ns, &limit, "");
	fallback.ns = ns;
	memcpy(fallback.geometry, fallback.default_geometry, sizeof fallback.geometry);
	return cli_limit_of(&fallback);
}

/* Of FIRST's group what a call takes at best, and which problem it is; the usual where no time is known. */
static struct cli_model_problem *fastest_of(struct cli_model_plan *plan, size_t first)
{
	struct cli_model_problem *fastest = NULL, *usual = &plan->list[first];

	for (size_t i = first; i < plan->count && plan->list[i].group == plan->list[first].group; i++) {
		struct cli_model_problem *item = &plan->list[i];
		item->is_chosen = item->is_lost = 0;
		if (item->is_usual)
			usual = item;
		if (!item->is_estimated && item->tuned_ns > 0 && (!fastest || item->tuned_ns < fastest->tuned_ns))
			fastest = item;
	}
	return fastest ? fastest : usual;
}

static void choose(struct cli_model_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (i && plan->list[i].group == plan->list[i - 1].group)
			continue;
		struct cli_model_problem *fastest = fastest_of(plan, i);
		fastest->is_chosen = 1;
		for (size_t k = i; k < plan->count && plan->list[k].group == plan->list[i].group; k++)
			plan->list[k].is_lost = !plan->list[k].is_estimated && !fastest->is_estimated &&
						plan->list[k].tuned_ns > LOST * fastest->tuned_ns;
	}
}

enum tcb_status cli_model_plan_look(struct cli_model_plan *plan, struct tcb_db *db, const struct tcb_device *device,
				    int is_modelled, struct tcb_error *err)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct cli_model_problem *item = &plan->list[i];
		int is_found = 0;

		if (db)
			TCB_TRY(cli_best_find(db, device, &item->problem.problem, TCB_COLD, &item->best, &is_found,
					      err));
		is_found = is_found && (is_modelled || !item->best.modelled);
		item->known = is_found ? known_of(&item->best) : CLI_KNOWN_MISSING;
		item->default_ns = is_found ? item->best.default_ns.median : 0;
		item->limit_ns = is_found ? item->best.limit_ns.median : 0;
		/* The ratio is of pairs, in which a machine's drift cancels; two medians of their own differ by it. */
		if (item->known >= CLI_KNOWN_THIN && item->best.speedup.median > 0)
			item->default_ns = item->best.ns.median * item->best.speedup.median;
		item->is_served = item->known >= CLI_KNOWN_THIN && cli_served_of(&item->best, 0) == CLI_SERVED_WINNER;
		item->tuned_ns = item->is_served ? item->best.ns.median : item->default_ns;
		item->is_estimated = 0;
	}
	for (size_t i = 0; i < plan->count; i++) {
		struct cli_model_problem *item = &plan->list[i];

		if (!(item->limit_ns > 0))
			item->limit_ns = estimate_limit_ns(plan, item);
		if (!(item->default_ns > 0)) {
			item->default_ns = item->tuned_ns = estimate_ns(plan, item);
			item->is_estimated = 1;
		}
		item->limit = limit_of(item);
	}
	choose(plan);
	return TCB_OK;
}

int cli_model_is_open(const struct cli_model_problem *item, int is_modelled)
{
	return !item->is_lost && item->known < (is_modelled ? CLI_KNOWN_MODELLED : CLI_KNOWN_TUNED);
}

int cli_model_next(const struct cli_model_plan *plan, int is_modelled, size_t *at, struct cli_model_group *out)
{
	*out = (struct cli_model_group){ .first = *at };
	if (*at >= plan->count)
		return 0;
	do {
		const struct cli_model_problem *item = &plan->list[*at];
		if (item->is_chosen)
			out->chosen = item;
		out->open += (size_t)cli_model_is_open(item, is_modelled);
		out->count++;
	} while (++*at < plan->count && plan->list[*at].group == plan->list[out->first].group);
	return 1;
}

struct cli_projection cli_model_project(const struct cli_model_plan *plan, size_t token_index, int is_modelled)
{
	struct cli_projection made = { 0 };
	struct cli_model_group group;
	struct tcb_interval ns, limit_ns;
	int is_known = 1, is_limited = 1, is_noisy = 0;

	for (size_t at = 0; cli_model_next(plan, is_modelled, &at, &group);) {
		const struct cli_model_problem *item = group.chosen;
		const double calls = item->calls[token_index];

		if (!(calls > 0))
			continue;
		made.problems++;
		made.proven += group.open == 0;
		made.estimated += item->is_estimated;
		made.tuned_ns += calls * item->tuned_ns;
		made.default_ns += calls * item->default_ns;
		made.limit_ns += calls * item->limit_ns;
		is_noisy |= item->limit.use == TCB_LIMIT_NOISY;
		is_known &= item->default_ns > 0;
		is_limited &= item->limit_ns > 0;
	}
	if (!is_known)
		made.tuned_ns = made.default_ns = 0;
	if (!is_limited)
		made.limit_ns = 0;
	ns = exactly(made.tuned_ns);
	limit_ns = exactly(made.limit_ns);
	made.limit = cli_limit_make("read limit", &ns, &limit_ns, "");
	if (is_noisy)
		made.limit.use = TCB_LIMIT_NOISY;
	return made;
}
