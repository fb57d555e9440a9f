/* SPDX-License-Identifier: MIT
 *
 * Prints the time of each pass per instruction (of the kernel before or after it,
 * whichever has more), for kernels of 1 k, 10 k and 100 k instructions: one
 * block, many blocks, many loops, deep nests.  A pass is linear when its line
 * stays level, but for what the caches add.
 *
 *     bench_passes [SHAPE PASS]      as the first columns call them, to profile one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"

static void head(struct tcb_str *out, unsigned regs)
{
	tcb_str_addf(
		out,
		".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
		".reg .b32 %%x<%u>;\n.reg .f32 %%y<%u>;\n.reg .b64 %%z<4>;\n.reg .pred %%q<%u>;\n"
		"ld.param.u64 %%z0, [p];\nld.param.u32 %%x0, [n];\nmov.u32 %%x1, %%tid.x;\nmov.f32 %%y0, 0f3F800000;\n"
		"mov.f32 %%y1, 0f40000000;\ncvt.rn.f32.u32 %%y2, %%x1;\n",
		regs, regs, regs);
}

/* Ten instructions that give every pass something to do. */
static void work(struct tcb_str *out, unsigned i)
{
	unsigned r = 10 + 10 * i;

	tcb_str_addf(out,
		     "mov.u32 %%x%u, %u;\nadd.u32 %%x%u, %%x%u, 3;\nmad.lo.u32 %%x%u, %%x1, 8, %%x0;\n"
		     "add.u32 %%x%u, %%x%u, %%x%u;\nadd.u32 %%x%u, %%x1, %%x0;\nrem.u32 %%x%u, %%x%u, 10;\n"
		     "mul.f32 %%y%u, %%y2, %%y1;\nadd.f32 %%y%u, %%y%u, %%y2;\nst.global.u32 [%%z0+%u], %%x%u;\n"
		     "st.global.f32 [%%z0+%u], %%y%u;\n",
		     r, i, r + 1, r, r + 2, r + 3, r + 1, r + 2, r + 4, r + 5, r + 3, r, r + 1, r, 4 * (i % 64), r + 5,
		     4 * (i % 64) + 256, r + 1);
}

static void straight(struct tcb_str *out, unsigned count)
{
	for (unsigned i = 0; i < count / 10; i++)
		work(out, i);
}

static void blocks(struct tcb_str *out, unsigned count)
{
	for (unsigned i = 0; i < count / 12; i++) {
		tcb_str_addf(out, "setp.lt.u32 %%q%u, %%x1, %u;\n@%%q%u bra L%u;\n", 1 + i, i, 1 + i, i);
		work(out, i);
		tcb_str_addf(out, "L%u:\n", i);
	}
}

static void loops(struct tcb_str *out, unsigned count)
{
	for (unsigned i = 0; i < count / 17; i++) {
		unsigned iv = 8 + 10 * (i + 1);

		tcb_str_addf(
			out,
			"mov.u32 %%x%u, 0;\nL%u:\nsetp.lt.u32 %%q%u, %%x%u, 5;\n@%%q%u st.global.u32 [%%z0], %%x%u;\n",
			iv, i, 2 * i + 1, iv, 2 * i + 1, iv);
		work(out, i);
		tcb_str_addf(out, "add.u32 %%x%u, %%x%u, 1;\nsetp.lt.u32 %%q%u, %%x%u, %%x0;\n@%%q%u bra L%u;\n", iv,
			     iv, 2 * i + 2, iv, 2 * i + 2, i);
	}
}

enum { DEPTH = 16 };

static void nests(struct tcb_str *out, unsigned count)
{
	for (unsigned i = 0; i < count / (14 * DEPTH); i++) {
		for (unsigned d = 0; d < DEPTH; d++)
			tcb_str_addf(out, "mov.u32 %%x%u, 0;\nL%u_%u:\n", 8 + 10 * (i * DEPTH + d + 1), i, d);
		for (unsigned d = DEPTH; d-- > 0;) {
			unsigned k = i * DEPTH + d, iv = 8 + 10 * (k + 1);

			work(out, k);
			tcb_str_addf(out,
				     "add.u32 %%x%u, %%x%u, 1;\nsetp.lt.u32 %%q%u, %%x%u, %%x0;\n@%%q%u bra L%u_%u;\n",
				     iv, iv, k + 1, iv, k + 1, i, d);
		}
	}
}

static const struct {
	const char *name;
	void (*make)(struct tcb_str *out, unsigned count);
} shapes[] = {
	{ "one block", straight }, { "many blocks", blocks }, { "many loops", loops }, { "nests of 16", nests }
};

static struct tcb_ptx_module *make(unsigned shape, unsigned count)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	struct tcb_error err;

	head(&text, count + 64);
	shapes[shape].make(&text, count);
	tcb_str_add(&text, "ret;\n}\n");
	if (text.failed || tcb_ptx_parse("bench", text.data, text.length, &module, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", text.failed ? "out of memory" : err.message);
		exit(1);
	}
	tcb_str_fini(&text);
	return module;
}

/* Of this thread: others may be busy. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double nanoseconds_each(const struct tcb_ptx_pass *pass, unsigned shape, unsigned count)
{
	struct tcb_ptx_pass_options options;
	double best = 0;

	tcb_ptx_pass_defaults(&options);
	for (unsigned round = 0; round < 3; round++) {
		struct tcb_ptx_module *module = make(shape, count);
		uint32_t instructions = module->functions->ins_count;
		struct tcb_error err = { 0 };
		enum tcb_status status;
		unsigned changed;
		uint64_t begin = cpu_ns(), taken;

		status = pass ? pass->run(module->functions, &options, &changed, &err)
			      : tcb_ptx_optimise(module, &options, NULL, &err);
		taken = cpu_ns() - begin;
		if (module->functions->ins_count > instructions) /* loops that were copied */
			instructions = module->functions->ins_count;
		if (status != TCB_OK) {
			fprintf(stderr, "%s\n", err.message);
			exit(1);
		}
		if (!round || (double)taken / instructions < best)
			best = (double)taken / instructions;
		tcb_ptx_module_destroy(module);
	}
	return best;
}

int main(int argc, char **argv)
{
	static const unsigned counts[] = { 1000, 10000, 100000 };
	unsigned count;
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);

	printf("ns per instruction          1k      10k     100k\n");
	for (unsigned shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
		for (unsigned i = 0; i <= count; i++) {
			const char *name = i < count ? passes[i].name : "all";

			if (argc > 2 && (strcmp(argv[1], shapes[shape].name) != 0 || strcmp(argv[2], name) != 0))
				continue;
			printf("%-12s %-12s", shapes[shape].name, name);
			for (unsigned k = 0; k < 3; k++)
				printf(" %8.1f", nanoseconds_each(i < count ? &passes[i] : NULL, shape, counts[k]));
			printf("\n");
		}
	return 0;
}
