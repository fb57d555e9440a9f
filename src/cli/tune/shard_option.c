/* SPDX-License-Identifier: MIT
 *
 * The value of --shard.  "auto" asks the environment that Slurm gives the tasks
 * of a job array, or Kubernetes the pods of an indexed job.  "auto/N" takes the
 * index alone from there: an array of which one task is started again knows
 * neither how many there were nor which one was the first.
 */
#include "cli/tune/shard_option.h"

#include <stdlib.h>
#include <string.h>

static const char TASK_ID[] = "SLURM_ARRAY_TASK_ID", TASK_COUNT[] = "SLURM_ARRAY_TASK_COUNT",
		  TASK_MIN[] = "SLURM_ARRAY_TASK_MIN", TASK_STEP[] = "SLURM_ARRAY_TASK_STEP",
		  INDEX[] = "JOB_COMPLETION_INDEX", COMPLETIONS[] = "JOB_COMPLETIONS";

/* The number that variable NAME holds; where it is not set, FALLBACK. */
static enum tcb_status variable(const char *name, unsigned fallback, unsigned *out, struct tcb_error *err)
{
	const char *text = getenv(name);
	const size_t digits = text ? strspn(text, "0123456789") : 0;

	*out = fallback;
	if (!text)
		return TCB_OK;
	if (digits == 0 || digits > 9 || text[digits])
		return tcb_fail(err, TCB_E_USAGE,
				"--shard auto: %s is '%.40s', which is not a number: give --shard I/N", name, text);
	*out = (unsigned)strtoul(text, NULL, 10);
	return TCB_OK;
}

/* INDEX_OUT counts from 1.  A shard count of 0 in COUNT means that the environment has to say it. */
static enum tcb_status of_slurm(unsigned *count, unsigned *index_out, struct tcb_error *err)
{
	unsigned id, first, step;

	TCB_TRY(variable(TASK_ID, 0, &id, err));
	*index_out = id;
	if (*count)
		return TCB_OK;
	TCB_TRY(variable(TASK_COUNT, 0, count, err));
	TCB_TRY(variable(TASK_MIN, 1, &first, err));
	TCB_TRY(variable(TASK_STEP, 1, &step, err));
	if (*count < 2)
		return tcb_fail(err, TCB_E_USAGE,
				"--shard auto: %s does not say of how many shards task %u is one (a task that is "
				"started again alone is an array of its own): give --shard auto/N",
				TASK_COUNT, id);
	*index_out = id < first || step == 0 || (id - first) % step ? 0 : (id - first) / step + 1;
	return TCB_OK;
}

static enum tcb_status of_kubernetes(unsigned *count, unsigned *index_out, struct tcb_error *err)
{
	TCB_TRY(variable(INDEX, 0, index_out, err));
	++*index_out;
	if (*count)
		return TCB_OK;
	TCB_TRY(variable(COMPLETIONS, 0, count, err));
	if (*count == 0)
		return tcb_fail(
			err, TCB_E_USAGE,
			"--shard auto: %s is set, and how many shards there are is not: give --shard auto/N, or set %s",
			INDEX, COMPLETIONS);
	return TCB_OK;
}

/* COUNT: what follows "auto/", or 0. */
static enum tcb_status ask_environment(unsigned count, struct tcb_shard *out, struct tcb_error *err)
{
	unsigned index;

	if (getenv(TASK_ID))
		TCB_TRY(of_slurm(&count, &index, err));
	else if (getenv(INDEX))
		TCB_TRY(of_kubernetes(&count, &index, err));
	else
		return tcb_fail(err, TCB_E_USAGE,
				"--shard auto: neither %s nor %s is set, so this is not a task of a Slurm array or of "
				"an indexed job: give --shard I/N",
				TASK_ID, INDEX);
	if (count > TCB_SHARDS_MOST || index < 1 || index > count)
		return tcb_fail(err, TCB_E_USAGE,
				"--shard auto: the environment says shard %u of %u: number the tasks from 1 to N "
				"(sbatch --array=1-N), at most %d, or give --shard I/N",
				index, count, TCB_SHARDS_MOST);
	*out = (struct tcb_shard){ index, count };
	return TCB_OK;
}

enum tcb_status cli_shard_find(const char *text, struct tcb_shard *out, struct tcb_error *err)
{
	struct tcb_shard first_of = { 0, 0 };
	char one_of[TCB_SHARD_TEXT_MAX];

	*out = first_of;
	if (!text)
		return TCB_OK;
	if (strncmp(text, "auto", 4) != 0 || (text[4] && text[4] != '/'))
		return tcb_shard_parse(text, out, err);
	if (text[4]) {
		if (strlen(text + 5) + 3 > sizeof one_of || strspn(text + 5, "0123456789") != strlen(text + 5))
			return tcb_fail(err, TCB_E_USAGE, "shard '%.40s' is not auto/N with a number N, as in auto/4",
					text);
		strcat(strcpy(one_of, "1/"), text + 5);
		TCB_TRY(tcb_shard_parse(one_of, &first_of, err));
	}
	return ask_environment(first_of.count, out, err);
}

void cli_shard_label(const struct tcb_shard *shard, char *label)
{
	if (shard->count < 2)
		return;
	strcat(label, " shard ");
	tcb_shard_print(shard, label + strlen(label));
}
