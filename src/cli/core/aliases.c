/* SPDX-License-Identifier: MIT
 *
 * In: a word of the command line.  Out: the name that it certainly means, or
 * what it may mean.  Words are compared without case, blanks, '_' and '-'.  Names
 * of ops, formats, instruction families and cards are asked of their own tables;
 * what follows from none of them is a row of the table below.
 */
#include "cli/core/aliases.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/geometry.h"
#include "base/gpu_table.h"
#include "base/kind.h"
#include "base/util.h"
#include "cli/core/cli.h"
#include "device/device.h"
#include "gguf/gguf.h"
#include "kernels/formats.h"
#include "kernels/op.h"

/*
 * meaning: the name that is certainly meant; advice: what to say where it is not certain or not there.  @PART stands
 * for the ops whose name has the part that MEANING names then.
 */
struct alias {
	enum cli_names names;
	const char *typed; /* folded */
	const char *meaning, *advice;
};

static const struct alias aliases[] = {
	{ CLI_NAMES_OP, "sgemm", "matmul_f32", NULL },
	{ CLI_NAMES_OP, "hgemm", "matmul_f16", NULL },
	{ CLI_NAMES_OP, "gemv", "matvec", "a product with one row of activations is named after its weights: @PART" },
	{ CLI_NAMES_OP, "mulmatvec", "matvec",
	  "a product with one row of activations is named after its weights: @PART" },
	{ CLI_NAMES_OP, "gemm", "matmul", "a product of matrices is named after its weights: @PART" },
	{ CLI_NAMES_OP, "mulmat", "matmul", "a product of matrices is named after its weights: @PART" },
	{ CLI_NAMES_OP, "rms", "rmsnorm", NULL },
	{ CLI_NAMES_OP, "sum", "reduce2d_sum", NULL },
	{ CLI_NAMES_OP, "max", "reduce2d_max", NULL },
	{ CLI_NAMES_OP, "min", "reduce2d_min", NULL },
	{ CLI_NAMES_DEVICE, "gpu", "cuda:0", NULL },
	{ CLI_NAMES_DEVICE, "cuda", "cuda:0", NULL },
	{ CLI_NAMES_DEVICE, "nvidia", "cuda:0", NULL },
	{ CLI_NAMES_DEVICE, "gpus", "cuda:all", NULL },
	{ CLI_NAMES_DEVICE, "gpu:all", "cuda:all", NULL },
	{ CLI_NAMES_DEVICE, "host", "cpu", NULL },
	{ CLI_NAMES_DEVICE, "cpu0", "cpu", NULL },
	{ CLI_NAMES_DEVICE, "cpu:0", "cpu", NULL },
	{ CLI_NAMES_DEVICE, "x86", "cpu", NULL },
	{ CLI_NAMES_DEVICE, "x8664", "cpu", NULL },
	{ CLI_NAMES_DEVICE, "vnni", "cpu:avx512vnni", NULL },
	{ CLI_NAMES_DEVICE, "hopper", NULL, "Hopper is sm_90; cuda:0 is the first attached GPU" },
	{ CLI_NAMES_DEVICE, "ada", NULL, "Ada is sm_89; cuda:0 is the first attached GPU" },
	{ CLI_NAMES_DEVICE, "ampere", NULL, "Ampere is sm_80 or sm_86; cuda:0 is the first attached GPU" },
	{ CLI_NAMES_DEVICE, "turing", NULL, "Turing is sm_75; cuda:0 is the first attached GPU" },
	{ CLI_NAMES_DEVICE, "blackwell", NULL, "Blackwell is sm_100 or sm_120; cuda:0 is the first attached GPU" },
	{ CLI_NAMES_DEVICE, "rocm", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "hip", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "amd", NULL, "GPUs are NVIDIA's only; an AMD processor is cpu" },
	{ CLI_NAMES_DEVICE, "intel", NULL, "GPUs are NVIDIA's only; an Intel processor is cpu" },
	{ CLI_NAMES_DEVICE, "metal", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "mps", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "vulkan", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "opencl", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_DEVICE, "sycl", NULL, "GPUs are NVIDIA's only" },
	{ CLI_NAMES_CONTRACT, "fp32", "f32", NULL },
	{ CLI_NAMES_CONTRACT, "float", "f32", NULL },
	{ CLI_NAMES_CONTRACT, "float32", "f32", NULL },
	{ CLI_NAMES_CONTRACT, "fp16", "f16", NULL },
	{ CLI_NAMES_CONTRACT, "half", "f16", NULL },
	{ CLI_NAMES_CONTRACT, "float16", "f16", NULL },
	{ CLI_NAMES_CONTRACT, "int8", "q8", NULL },
	{ CLI_NAMES_CONTRACT, "i8", "q8", NULL },
	{ CLI_NAMES_CONTRACT, "q80", "q8", NULL },
	{ CLI_NAMES_CONTRACT, "q81", "q8", NULL },
	{ CLI_NAMES_CONTRACT, "q8k", "q8", NULL },
};

/* What is compared of TEXT; 0: it is too long to be a name. */
static int fold(const char *text, char out[CLI_NAME_MAX])
{
	size_t length = 0;

	for (; *text && length < CLI_NAME_MAX - 1; text++)
		if (!strchr("_- ", *text))
			out[length++] = (char)tolower((unsigned char)*text);
	out[length] = '\0';
	return !*text && length > 0;
}

/* Both folded. */
static int is_same(const char *folded, const char *name)
{
	char other[CLI_NAME_MAX];

	return fold(name, other) && strcmp(folded, other) == 0;
}

static void set(char out[CLI_NAME_MAX], const char *name)
{
	snprintf(out, CLI_NAME_MAX, "%s", name);
}

static const struct alias *find(enum cli_names names, const char *folded)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (aliases[i].names == names && strcmp(aliases[i].typed, folded) == 0)
			return &aliases[i];
	return NULL;
}

static const struct tcb_format *find_format(const char *folded)
{
	for (int i = 0; i < TCB_FORMAT_COUNT; i++)
		if (is_same(folded, tcb_formats[i].gguf_name))
			return &tcb_formats[i];
	return NULL;
}

/* The ops of FORMAT as a family: what their names have before the underscore. */
static int format_family(const struct tcb_registry *ops, const struct tcb_format *format, char out[CLI_NAME_MAX])
{
	for (size_t i = 0; i < ops->count; i++)
		if (ops->ops[i]->format == format) {
			snprintf(out, CLI_NAME_MAX, "%.*s", (int)strcspn(ops->ops[i]->name, "_"), ops->ops[i]->name);
			return 1;
		}
	return 0;
}

static int understand_op(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	const struct tcb_format *format = find_format(folded);

	for (size_t i = 0; i < ops->count; i++)
		if (is_same(folded, ops->ops[i]->name)) {
			set(out, ops->ops[i]->name);
			return 1;
		}
	if (strcmp(folded, "all") == 0) {
		set(out, folded);
		return 1;
	}
	return format && format_family(ops, format, out);
}

/* "gpu:3", "cuda3". */
static int understand_number(const char *folded, char out[CLI_NAME_MAX])
{
	static const char *const words[] = { "gpu", "cuda", "nvidia" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t length = strlen(words[i]);
		const char *number =
			folded + length + (strncmp(folded, words[i], length) == 0 && folded[length] == ':');

		if (strncmp(folded, words[i], length) == 0 && *number && strlen(number) < 4 &&
		    strspn(number, "0123456789") == strlen(number)) {
			snprintf(out, CLI_NAME_MAX, "cuda:%d", atoi(number));
			return 1;
		}
	}
	return 0;
}

/* "sm90", "compute_90", "sm_90a": the kernels of a capability use what the letter stands for anyway. */
static int understand_capability(const char *folded, char out[CLI_NAME_MAX])
{
	static const char *const words[] = { "sm", "compute", "cc" };
	unsigned capability;
	char letter, rest;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t length = strlen(words[i]);
		const int read = strncmp(folded, words[i], length) == 0
					 ? sscanf(folded + length, "%3u%c%c", &capability, &letter, &rest)
					 : 0;

		if (read < 1 || read > 2 || (read == 2 && !strchr("af", letter)))
			continue;
		snprintf(out, CLI_NAME_MAX, "sm_%u", capability);
		return tcb_kind_asked(out) != NULL;
	}
	return 0;
}

/* "avx2", "cpu-avx2", "AVX-512". */
static int understand_family(const char *folded, char out[CLI_NAME_MAX])
{
	const char *family = strncmp(folded, "cpu", 3) == 0 ? folded + 3 + (folded[3] == ':') : folded;
	enum tcb_isa isa;

	if (!*family || tcb_isa_parse(family, &isa, NULL) != TCB_OK || !tcb_isa_is_of_cpu(isa))
		return 0;
	snprintf(out, CLI_NAME_MAX, "cpu:%s", tcb_isa_text(isa));
	return 1;
}

static int understand_device(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	(void)ops;
	if (tcb_kind_asked(folded)) {
		set(out, folded);
		return 1;
	}
	return understand_family(folded, out) || understand_number(folded, out) || understand_capability(folded, out);
}

static int understand_contract(const struct tcb_registry *ops, const char *folded, char out[CLI_NAME_MAX])
{
	enum tcb_contract contract;

	(void)ops;
	if (tcb_contract_parse(folded, &contract, NULL) != TCB_OK)
		return 0;
	set(out, tcb_contract_text(contract));
	return 1;
}

int cli_alias_understand(const struct tcb_registry *ops, enum cli_names names, const char *typed,
			 char out[CLI_NAME_MAX])
{
	static int (*const understands[])(const struct tcb_registry *, const char *, char[CLI_NAME_MAX]) = {
		[CLI_NAMES_OP] = understand_op,
		[CLI_NAMES_DEVICE] = understand_device,
		[CLI_NAMES_CONTRACT] = understand_contract,
	};
	char folded[CLI_NAME_MAX];

	if (names == CLI_NAMES_ANY || !fold(typed, folded))
		return 0;
	const struct alias *alias = find(names, folded);
	if (alias && alias->advice)
		return 0;
	if (alias && alias->meaning)
		set(out, alias->meaning);
	else if (!understands[names](ops, folded, out))
		return 0;
	return strcmp(typed, out) != 0;
}

static int has_part(const char *name, const char *part)
{
	const char *at = strstr(name, part);
	const char end = at ? at[strlen(part)] : 'x';

	return at && (at == name || at[-1] == '_') && (end == '\0' || end == '_');
}

/* The ops whose name has PART, as "a, b, c"; how many. */
static size_t add_ops_with(const struct tcb_registry *ops, const char *part, struct tcb_str *out)
{
	size_t found = 0;

	for (size_t i = 0; i < ops->count; i++)
		if (has_part(ops->ops[i]->name, part))
			tcb_str_addf(out, "%s%s", found++ ? ", " : "", ops->ops[i]->name);
	return found;
}

/* TEXT with @PART replaced by the ops that have the part. */
static void add_advice(const struct tcb_registry *ops, const char *text, const char *part, struct tcb_str *out)
{
	const char *mark = strstr(text, "@PART");

	tcb_str_addf(out, "; %.*s", (int)(mark ? mark - text : (long)strlen(text)), text);
	if (mark)
		(void)add_ops_with(ops, part, out);
}

/* "Q4_K_M" is what llama.cpp calls files of mostly Q4_K. */
static const struct tcb_format *format_of_file(const char *folded)
{
	static const char *const sizes[] = { "xs", "xl", "s", "m", "l" };
	char head[CLI_NAME_MAX];
	const size_t length = strlen(folded);

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const size_t end = strlen(sizes[i]);
		if (length <= end || strcmp(folded + length - end, sizes[i]) != 0)
			continue;
		snprintf(head, sizeof head, "%.*s", (int)(length - end), folded);
		if (find_format(head))
			return find_format(head);
	}
	return NULL;
}

/* The type of GGUF that has this name; NULL: none. */
static const char *gguf_type_named(const char *folded)
{
	enum { TYPES = 64 };

	for (uint32_t i = 0; i < TYPES; i++) {
		const struct tcb_gguf_type *type = tcb_gguf_type(i);
		if (type && is_same(folded, type->name))
			return type->name;
	}
	return NULL;
}

static void advise_op(const struct tcb_registry *ops, const char *folded, struct tcb_str *out)
{
	const struct tcb_format *format = format_of_file(folded);
	struct tcb_str with = { 0 };
	char family[CLI_NAME_MAX];

	if (format && format_family(ops, format, family))
		tcb_str_addf(out,
			     "; files of that name hold mostly %s: --op %s, and 'tcbtune model FILE' is for all that a "
			     "file holds",
			     format->gguf_name, family);
	else if (add_ops_with(ops, folded, &with))
		tcb_str_addf(out, "; there are %s", with.data ? with.data : "");
	else if (gguf_type_named(folded))
		tcb_str_addf(out, "; no op has %s weights", gguf_type_named(folded));
	tcb_str_fini(&with);
}

static int has_digit(const char *text)
{
	return strpbrk(text, "0123456789") != NULL;
}

/* "h100", "rtx4090": a card of the table. */
static void advise_device(const char *folded, struct tcb_str *out)
{
	struct tcb_gpu gpu;
	char model[TCB_DEVICE_TEXT_MAX];

	for (size_t i = 0; strlen(folded) >= 2 && has_digit(folded) && tcb_gpu_table_row(i, &gpu); i++) {
		size_t length = 0;
		for (const char *at = gpu.device.model; *at; at++)
			if (!strchr("_- ", *at))
				model[length++] = (char)tolower((unsigned char)*at);
		model[length] = '\0';
		if (!strstr(model, folded))
			continue;
		tcb_str_addf(out, "; %s is an %s: cuda:0 if it is attached, %s as its specification has it",
			     gpu.device.model, gpu.device.arch, gpu.device.arch);
		return;
	}
}

static void add_nearest(const struct tcb_registry *ops, enum cli_names names, const char *typed, struct tcb_str *out)
{
	enum { MOST = 64 };
	const char *all[MOST];
	char families[TCB_FAMILIES_TEXT_MAX], suggestion[96];
	size_t count = 0;

	if (names == CLI_NAMES_OP)
		for (size_t i = 0; i < ops->count && count < MOST; i++)
			all[count++] = ops->ops[i]->name;
	if (names == CLI_NAMES_DEVICE) {
		all[count++] = "cpu";
		tcb_cpu_families("cpu:", families);
		for (char *at = families, *word; (word = strtok_r(at, ", ", &at)) && count < MOST;)
			all[count++] = word;
	}
	cli_suggestion(typed, all, count, suggestion, sizeof suggestion);
	tcb_str_add(out, suggestion);
}

void cli_alias_advice(const struct tcb_registry *ops, enum cli_names names, const char *typed, char out[CLI_ADVICE_MAX])
{
	struct tcb_str text = { 0 };
	char folded[CLI_NAME_MAX];

	if (fold(typed, folded)) {
		const struct alias *alias = find(names, folded);
		if (alias && alias->advice)
			add_advice(ops, alias->advice, alias->meaning, &text);
		else if (names == CLI_NAMES_OP)
			advise_op(ops, folded, &text);
		else if (names == CLI_NAMES_DEVICE)
			advise_device(folded, &text);
		if (!text.length)
			add_nearest(ops, names, typed, &text);
	}
	snprintf(out, CLI_ADVICE_MAX, "%s", text.data ? text.data : "");
	tcb_str_fini(&text);
}
