/* SPDX-License-Identifier: MIT
 *
 * The shapes of an op in a model file: those of the matrices of its weights'
 * type.  What the file holds besides is said, since it is not tuned so.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/model/model_shapes.h"
#include "gguf/gguf.h"
#include "kernels/formats.h"

enum { TYPES_MAX = 64 };

/* What a file's tensors are. */
struct holding {
	size_t vectors, unknown;     /* of one dimension; of types that GGUF's readers here do not know */
	size_t matrices[TYPES_MAX];  /* of each type */
	size_t fitting, left_out;    /* of the op's type: all, and those of shapes that it does not take */
	struct tcb_error first_left; /* why the first was left out */
};

/* The shape that OP has for TENSOR, of one token; of ops for experts with their words, where it is a stack of them. */
static struct tcb_shape shape_of(const struct tcb_op *op, const struct tcb_gguf *gguf,
				 const struct tcb_gguf_tensor *tensor)
{
	struct tcb_shape shape = { 1, (size_t)tensor->dims[1], (size_t)tensor->dims[0] };
	size_t experts, used;
	enum cli_gate gate;

	cli_model_experts(gguf, &experts, &used, &gate);
	if (!(op->words >> TCB_WORD_EXPERTS & 1u) || !cli_model_is_expert(&tensor->name) || !used ||
	    used > tcb_word_rows[TCB_WORD_USED].most || experts > tcb_word_rows[TCB_WORD_EXPERTS].most)
		return shape;
	shape.words.experts = (uint16_t)experts;
	shape.words.used = (uint16_t)used;
	shape.words.skew = (uint8_t)tcb_word_rows[TCB_WORD_SKEW].unsaid;
	shape.words.each = (op->words >> TCB_WORD_EACH & 1u) && cli_model_has_rows_each(&tensor->name);
	shape.words.bias = (op->words >> TCB_WORD_BIAS & 1u) && gate == CLI_GATE_OAI;
	shape.words.oai = (op->words >> TCB_WORD_OAI & 1u) && gate == CLI_GATE_OAI;
	return shape;
}

/* Is TENSOR one that OP is for?  Of experts, those that are fused with what comes behind are down or are not. */
static int is_for(const struct tcb_op *op, const struct tcb_gguf_tensor *tensor)
{
	const int is_down = cli_model_has_rows_each(&tensor->name);

	return !(is_down && strstr(op->name, "_experts_swiglu_")) && (is_down || !strstr(op->name, "_experts_sum_"));
}

static size_t collect_shapes(const struct tcb_op *op, const struct tcb_gguf *gguf, struct tcb_shape *shapes,
			     struct holding *holding)
{
	size_t count = 0;

	for (size_t i = 0; i < tcb_gguf_tensor_count(gguf); i++) {
		const struct tcb_gguf_tensor *tensor = tcb_gguf_tensor(gguf, i);
		const struct tcb_shape shape = shape_of(op, gguf, tensor);
		struct tcb_error why;
		size_t known = 0;

		holding->vectors += tensor->dim_count < 2;
		/* Three dimensions: a stack of expert matrices, each used like a matrix of its own. */
		if (tensor->dim_count < 2)
			continue;
		if (tensor->type < TYPES_MAX && tcb_gguf_type(tensor->type))
			holding->matrices[tensor->type]++;
		else
			holding->unknown++;
		if (strcmp(tensor->type_name, op->format->gguf_name) != 0 || !is_for(op, tensor))
			continue;
		holding->fitting++;
		if (op->check_shape(op, &shape, &why) != TCB_OK) {
			if (!holding->left_out++)
				holding->first_left = why;
			continue;
		}
		while (known < count && !tcb_shape_equal(&shapes[known], &shape))
			known++;
		if (known == count)
			shapes[count++] = shape;
	}
	return count;
}

/* The op for weights of FORMAT that is to it what OP is to its own; NULL: none. */
static const struct tcb_op *op_for(const struct tcb_registry *ops, const struct tcb_op *op,
				   const struct tcb_format *format)
{
	for (const struct tcb_op *const *other = ops->ops; *other; other++)
		if (format && (*other)->format == format && strchr(op->name, '_') && strchr((*other)->name, '_') &&
		    strcmp(strchr((*other)->name, '_'), strchr(op->name, '_')) == 0)
			return *other;
	return NULL;
}

/* "3 of Q6_K (q6k_matvec), 1 of F16 (no op)": the matrices that are not OP's; how many kinds. */
static size_t add_others(const struct tcb_registry *ops, const struct tcb_op *op, const struct holding *holding,
			 struct tcb_str *out)
{
	size_t kinds = 0;

	for (uint32_t i = 0; i < TYPES_MAX; i++) {
		const struct tcb_gguf_type *type = tcb_gguf_type(i);
		const struct tcb_op *other = type ? op_for(ops, op, tcb_format_find(type->name)) : NULL;

		if (holding->matrices[i] && strcmp(type->name, op->format->gguf_name) != 0)
			tcb_str_addf(out, "%s%zu of %s (%s)", kinds++ ? ", " : "", holding->matrices[i], type->name,
				     other ? other->name : "no op for one");
	}
	if (holding->unknown)
		tcb_str_addf(out, "%s%zu of unknown types", kinds++ ? ", " : "", holding->unknown);
	return kinds;
}

static enum tcb_status nothing_fits(const struct tcb_registry *ops, const struct tcb_op *op, const char *path,
				    const struct holding *holding, struct tcb_error *err)
{
	struct tcb_str others = { 0 };
	size_t kinds;

	if (holding->fitting)
		return tcb_fail(err, TCB_E_NOT_FOUND, "no %s tensor of %.150s fits op %s: %.250s",
				op->format->gguf_name, path, op->name, holding->first_left.message);
	kinds = add_others(ops, op, holding, &others);
	if (holding->vectors)
		tcb_str_addf(&others, "%s%zu vector%s", kinds ? ", " : "", holding->vectors,
			     holding->vectors == 1 ? "" : "s");
	tcb_fail(err, TCB_E_NOT_FOUND, "%.150s holds no matrix of type %s, which op %s needs; it holds %.250s", path,
		 op->format->gguf_name, op->name, others.length ? others.data : "no tensor");
	tcb_str_fini(&others);
	return TCB_E_NOT_FOUND;
}

static void say_rest(const struct tcb_registry *ops, const struct tcb_op *op, const char *path,
		     const struct holding *holding)
{
	struct tcb_str others = { 0 };

	if (holding->left_out)
		cli_say("%zu of %zu %s matrices of %s are left out: %s", holding->left_out, holding->fitting,
			op->format->gguf_name, path, holding->first_left.message);
	if (add_others(ops, op, holding, &others))
		cli_say("%s holds other matrices, too: %s; 'tcbtune model %s' is for all", path,
			others.data ? others.data : "", path);
	tcb_str_fini(&others);
}

enum tcb_status cli_gguf_shapes(const struct tcb_registry *ops, const struct tcb_op *op, const char *path, int is_named,
				struct tcb_shape **out, size_t *count_out, struct tcb_error *err)
{
	struct tcb_gguf *gguf = NULL;
	struct holding holding = { .vectors = 0 };
	enum tcb_status status = TCB_OK;

	*out = NULL;
	if (!op->format)
		return tcb_fail(err, TCB_E_USAGE, "op %s has no weights, so --gguf gives it no shapes; use --shape",
				op->name);
	TCB_TRY(tcb_gguf_open(path, &gguf, err));
	*out = calloc(tcb_gguf_tensor_count(gguf) + 1, sizeof **out);
	if (*out)
		*count_out = collect_shapes(op, gguf, *out, &holding);
	else
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory");
	tcb_gguf_close(gguf);
	if (status == TCB_OK && *count_out == 0)
		status = nothing_fits(ops, op, path, &holding, err);
	else if (status == TCB_OK && is_named)
		say_rest(ops, op, path, &holding);
	if (status != TCB_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}
