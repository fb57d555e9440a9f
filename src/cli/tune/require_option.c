/* SPDX-License-Identifier: MIT
 *
 * In: an expression, and facts of one candidate after another.  Out: who is not to be tried, and by which of
 * its facts.
 */
#include "cli/tune/require_option.h"

#include <math.h>
#include <stdio.h>

#include "base/kind.h"
#include "base/util.h"
#include "kernelfile/expression.h"

static int is_read(const struct cli_require *require, int fact)
{
	return (int)(tcb_expression_reads(require->expression) >> fact & 1u);
}

/* The facts that were read, "spills=32, registers=255". */
static void say_facts(const struct cli_require *require, const struct tcb_static_facts *facts, char why[160])
{
	size_t used = (size_t)snprintf(why, 160,
				       "not as --require '%.60s' has it:", tcb_expression_text(require->expression));

	for (int i = 0; i < TCB_FACT_COUNT && used < 160; i++)
		if (is_read(require, i))
			used += (size_t)snprintf(why + used, 160 - used, " %s=%.4g", tcb_fact_names[i],
						 facts->value[i]);
}

static enum tcb_status judge(void *ctx, const struct tcb_static_facts *facts, int *meets_out, char why[160],
			     struct tcb_error *err)
{
	const struct cli_require *require = ctx;
	struct tcb_value values[TCB_FACT_COUNT], value;

	for (int i = 0; i < TCB_FACT_COUNT; i++) {
		const double fact = facts->value[i];

		values[i] = (struct tcb_value){ .type = TCB_VALUE_REAL, .real = fact };
		if (fact == rint(fact))
			values[i] = (struct tcb_value){ .type = TCB_VALUE_WHOLE, .whole = (int64_t)fact };
		if (isnan(fact) && is_read(require, i))
			return tcb_fail(err, TCB_E_UNSUPPORTED,
					"--require '%.100s': %s is unknown here: it takes an assembler, ptxas or "
					"nvJitLink of the CUDA Toolkit ('tcbtune doctor' says what is found)",
					tcb_expression_text(require->expression), tcb_fact_names[i]);
	}
	TCB_TRY(tcb_expression_value(require->expression, values, &value, err));
	*meets_out = tcb_value_is_true(&value);
	if (!*meets_out)
		say_facts(require, facts, why);
	return TCB_OK;
}

enum tcb_status cli_require_make(const char *text, struct cli_require *out, struct tcb_error *err)
{
	struct tcb_error why;
	struct tcb_str names = { 0 };

	*out = (struct cli_require){ .require = { .ctx = out, .judge = judge } };
	if (!text || tcb_expression_create(text, tcb_fact_names, TCB_FACT_COUNT, &out->expression, &why) == TCB_OK)
		return TCB_OK;
	for (int i = 0; i < TCB_FACT_COUNT; i++)
		tcb_str_addf(&names, "%s%s", i ? ", " : "", tcb_fact_names[i]);
	tcb_fail(err, TCB_E_USAGE, "--require: %.200s; its names are %.250s", why.message,
		 names.data ? names.data : "");
	tcb_str_fini(&names);
	return TCB_E_USAGE;
}

void cli_require_fini(struct cli_require *require)
{
	tcb_expression_destroy(require->expression);
	require->expression = NULL;
}

enum tcb_status cli_require_check(const struct cli_require *require, const struct tcb_place *place, int is_modelled,
				  struct tcb_error *err)
{
	if (!require->expression)
		return TCB_OK;
	if (!tcb_kind_of(&place->device.target)->has_passes)
		return tcb_fail(err, TCB_E_USAGE,
				"--require is for kernels in PTX: of those of %s nothing is known before they run",
				place->device.name);
	if (is_modelled)
		return tcb_fail(err, TCB_E_USAGE, "--require needs the GPU, and %s is only modelled",
				place->device.name);
	return TCB_OK;
}
