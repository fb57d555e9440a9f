/* SPDX-License-Identifier: MIT
 *
 * The whole of it in its order: sizes are chosen, all parties started, values drawn,
 * calls checked, calls timed.
 */
#include "judge/judge_kernel.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "device/cpus.h"
#include "judge/checks.h"
#include "judge/paired.h"
#include "judge/races.h"

enum { SIZE_TRIES = 400, SIZE_LEAST_SHARE = 4, POWERS = 8, PUBLIC_BITS = 16 };
/* Of the memory for values, for a size that is not timed. */
enum { OTHERS_SHARE = 4 };

/* --- files --- */

enum tcb_status tcb_judge_alike(const struct tcb_kernel_file *task, const struct tcb_kernel_file *file,
				struct tcb_error *err)
{
	if (file->argument_count != task->argument_count || file->size_count != task->size_count)
		return tcb_fail(err, TCB_E_USAGE, "%.200s has %zu arguments and %zu sizes, %.200s has %zu and %zu",
				file->path, file->argument_count, file->size_count, task->path, task->argument_count,
				task->size_count);
	for (size_t i = 0; i < task->argument_count; i++) {
		const struct tcb_file_argument *a = &task->argument[i], *b = &file->argument[i];

		if (a->memory != b->memory || a->is_output != b->is_output || strcmp(a->type.name, b->type.name) != 0 ||
		    a->type.bytes != b->type.bytes)
			return tcb_fail(
				err, TCB_E_USAGE,
				"argument %zu is %s %s in %.160s and %s %s in %.160s: a kernel is judged by the "
				"arguments of what it is compared with",
				i + 1, a->type.name, a->name, task->path, b->type.name, b->name, file->path);
		if (a->is_updated || b->is_updated)
			return tcb_fail(err, TCB_E_UNSUPPORTED,
					"%.200s: argument %s is both read and written; such kernels are not judged",
					file->path, a->name);
	}
	return TCB_OK;
}

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Of a compiler's options, those that change the code and nothing else. */
static int is_code_option(const char *option)
{
	static const char *const fine[] = { "-O",
					    "-m",
					    "-f",
					    "-std=",
					    "--std=",
					    "-D",
					    "-U",
					    "-g",
					    "-W",
					    "-l",
					    "-pthread",
					    "--use_fast_math",
					    "--fmad",
					    "--maxrregcount",
					    "-default-device" };
	static const char *const not_fine[] = { "-fplugin",      "-fdump", "-fprofile", "-fcallgraph",
						"-fpass-plugin", "-ftime", "-fuse-ld",  "-mllvm",
						"-Wl,",          "-Wa,",   "-Wp,",      "-l:" };
	int is_fine = 0;

	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
		is_fine |= begins(option, fine[i]);
	for (size_t i = 0; i < sizeof not_fine / sizeof *not_fine; i++)
		is_fine &= !begins(option, not_fine[i]);
	return is_fine && !strchr(option, '@') && !(begins(option, "-l") && strchr(option, '/'));
}

enum tcb_status tcb_judge_compiler_options(const struct tcb_kernel_file *file, struct tcb_error *err)
{
	for (size_t i = 0; i < file->kernel.option_count; i++)
		if (!is_code_option(file->kernel.options[i]))
			return tcb_fail(
				err, TCB_E_USAGE,
				"%.200s: the compiler option '%.100s' is not one of those that a judged kernel may "
				"have (-O, -m, -f, -std, -D, -U, -W, -g, -l, -pthread)",
				file->path, file->kernel.options[i]);
	return TCB_OK;
}

/* --- sizes --- */

static int takes(const struct tcb_judge_options *options, const struct tcb_shape *shape)
{
	for (int seat = 0; seat < TCB_SEAT_COUNT; seat++) {
		const struct tcb_judge_kernel *kernel = &options->kernel[seat];

		if (kernel->file && tcb_op_check_shape(tcb_file_op(kernel->made), shape, NULL) != TCB_OK)
			return 0;
	}
	return 1;
}

/* A size from a quarter of MOST on, often a multiple of a power of two. */
static size_t draw_size(size_t most, struct tcb_rng *rng)
{
	const size_t least = most / SIZE_LEAST_SHARE ? most / SIZE_LEAST_SHARE : 1;
	const size_t size = least + tcb_rng_below(rng, most - least + 1);
	const size_t step = (size_t)1 << tcb_rng_below(rng, POWERS);

	return size / step ? size / step * step : size;
}

/* Up to TCB_JUDGE_SIZES shapes that all kernels take; how many. */
static size_t choose_sizes(const struct tcb_judge_options *options, struct tcb_rng *rng,
			   struct tcb_shape out[TCB_JUDGE_SIZES])
{
	const struct tcb_kernel_file *task = options->task;
	size_t main_size[TCB_FILE_SIZES_MAX], size[TCB_FILE_SIZES_MAX] = { 0 }, count = 0;

	if (!task->any_size && !task->size_condition_count)
		return 0;
	tcb_kernel_file_sizes(task, &options->shape, main_size);
	for (int i = 0; i < SIZE_TRIES && count < TCB_JUDGE_SIZES; i++) {
		int is_new = 0;

		for (size_t d = 0; d < task->size_count; d++) {
			size[d] = draw_size(main_size[d], rng);
			is_new |= size[d] != main_size[d];
		}
		out[count] = tcb_kernel_file_shape(task, size);
		is_new &= count == 0 || memcmp(&out[count], &out[0], sizeof *out) != 0;
		count += is_new && takes(options, &out[count]);
	}
	return count;
}

/* --- secrets --- */

/* Bits of a seed; sizes are drawn before the parties are started, by the first of them, which are no secret. */
static enum tcb_status draw_bits(uint64_t given, unsigned from, unsigned to, uint64_t *out, struct tcb_error *err)
{
	uint64_t bits = given;

	if (!given && getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
		return tcb_fail(err, TCB_E_FAILED, "the system has no random numbers");
	bits &= to < 64 ? ((uint64_t)1 << to) - 1 : UINT64_MAX;
	*out |= bits >> from << from;
	return TCB_OK;
}

/* --- the judge --- */

/* This thread on the processor that kernels run on: what it wrote last is in its caches. */
static void pin(const struct tcb_judge_options *options, cpu_set_t *before)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(tcb_cpus_of(options->host)->list[0], &one);
	(void)sched_getaffinity(0, sizeof *before, before);
	(void)sched_setaffinity(0, sizeof one, &one);
}

/* The shape with the fewest elements. */
static struct tcb_shape smallest(struct tcb_hearing *const *hearings, size_t count)
{
	struct tcb_shape least = hearings[0]->problem.shape;

	for (size_t i = 1; i < count; i++) {
		const struct tcb_shape *shape = &hearings[i]->problem.shape;

		if ((double)shape->m * (double)shape->n * (double)(shape->k ? shape->k : 1) <
		    (double)least.m * (double)least.n * (double)(least.k ? least.k : 1))
			least = *shape;
	}
	return least;
}

static enum tcb_status hear(struct tcb_hearing **hearings, size_t count, struct tcb_ruling *verdict,
			    struct tcb_error *err)
{
	struct tcb_hearing *first = hearings[0];
	const struct tcb_shape least = smallest(hearings, count);

	TCB_TRY(tcb_checks_survey(first, err));
	if (tcb_ruling_stands(verdict))
		TCB_TRY(tcb_checks_run(first, 1, err));
	for (size_t i = 1; i < count; i++) {
		memcpy(hearings[i]->tolerance, first->tolerance, sizeof first->tolerance);
		if (tcb_ruling_stands(verdict))
			TCB_TRY(tcb_checks_run(hearings[i], 0, err));
		tcb_hearing_close(hearings[i]);
		hearings[i] = NULL;
	}
	if (count == 1 && tcb_ruling_stands(verdict))
		tcb_ruling_not_tried(verdict, "size", "other sizes: the file allows none (AnySize, ProblemConditions)");
	if (tcb_ruling_stands(verdict) && !first->party[TCB_SEAT_JUDGED].is_host)
		TCB_TRY(tcb_races_look(first->options, &least, verdict, err));
	return tcb_ruling_stands(verdict) ? tcb_paired_run(first, err) : TCB_OK;
}

static enum tcb_status open_all(const struct tcb_judge_options *options, const struct tcb_judge_options *small,
				const struct tcb_shape *shapes, size_t count, struct tcb_ruling *verdict,
				struct tcb_hearing **out, struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++) {
		TCB_TRY(tcb_hearing_open(i ? small : options, &shapes[i], verdict, &out[i], err));
		if (!tcb_ruling_stands(verdict))
			break;
	}
	return TCB_OK;
}

enum tcb_status tcb_judge_kernel(const struct tcb_judge_options *options, struct tcb_ruling *verdict,
				 struct tcb_error *err)
{
	struct tcb_hearing *hearings[1 + TCB_JUDGE_SIZES] = { NULL };
	struct tcb_shape shapes[1 + TCB_JUDGE_SIZES] = { options->shape };
	struct tcb_judge_options small = *options;
	struct tcb_rng rng;
	cpu_set_t before;
	size_t count;
	enum tcb_status status;

	memset(verdict, 0, sizeof *verdict);
	verdict->clock_spread = NAN;
	small.memory_bytes /= OTHERS_SHARE;
	TCB_TRY(draw_bits(options->seed, 0, PUBLIC_BITS, &verdict->seed, err));
	tcb_rng_init(&rng, verdict->seed);
	count = 1 + choose_sizes(options, &rng, shapes + 1);
	(void)prctl(PR_SET_DUMPABLE, 0); /* parties are of the same user */
	status = open_all(options, &small, shapes, count, verdict, hearings, err);
	if (status == TCB_OK)
		status = draw_bits(options->seed, PUBLIC_BITS, 64, &verdict->seed, err);
	pin(options, &before);
	for (size_t i = 0; i < count && hearings[i]; i++)
		tcb_hearing_begin(hearings[i], verdict->seed + i);
	if (status == TCB_OK && tcb_ruling_stands(verdict))
		status = hear(hearings, count, verdict, err);
	for (size_t i = 0; i < count; i++)
		tcb_hearing_close(hearings[i]);
	(void)sched_setaffinity(0, sizeof before, &before);
	(void)prctl(PR_SET_DUMPABLE, 1);
	return status;
}
