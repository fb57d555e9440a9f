/* SPDX-License-Identifier: MIT
 *
 * Assembles every kernel of the default GPU spaces for every target that the
 * assembler knows, and holds them to the promise of the space: none spills,
 * none takes more registers than its blocks leave, no wgmma waits for another.
 *
 *     check_gpu_space [--op OP] [--contract C] [--step N] [--most N] [--shape MxNxK] [--csv FILE] [sm_NN ...]
 *
 * Kernels with the same text are assembled once, sixteen in a module; --step N
 * takes every Nth geometry, --most N that many of each space at most, spread
 * over it; where all ops are looked at, a third of that of those of a format, at
 * a place that goes by the op: formats share a space; and each op's are for one
 * of the targets, by turns.  The judge is ptxas: other
 * assemblers allocate otherwise.  Exit status 77 where there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sizes.h"
#include "base/util.h"
#include "device/gpu.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/space.h"
#include "ptx/assemble/assemble.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

enum {
	SKIPPED = 77,
	SECONDS = 120,
	TARGETS_MAX = 16,
	SHOWN_MAX = 20,
	BATCH = 16,
	BATCHES_MAX = 4096,
	AHEAD = 4,
	FORMATS_SHARE = 3
};

/* One kernel of a module: its entry is called k0, k1, ... */
struct member {
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	unsigned limit, estimate;
};

struct batch {
	struct member member[BATCH + TCB_LAUNCHES_MAX]; /* the last geometry may have several kernels */
	unsigned count, version;
	struct tcb_ptx_target target;
	struct tcb_str text;
};

struct check {
	const struct tcb_op *op;
	struct tcb_assembler_info assembler;
	struct tcb_assemble_pool *pool;
	FILE *csv;
	size_t step, most;
	size_t turn, shared_by; /* the op's number, and how many ops take a share of what one would */
	/* of all */
	size_t geometries, kernels, bad;
	/* texts that were seen, by hash; open addressing */
	uint64_t *seen;
	size_t slots;
};

static void fail(const char *what, const struct tcb_error *err)
{
	fprintf(stderr, "check_gpu_space: %s: %s\n", what, err->message);
	exit(1);
}

static int is_new(struct check *c, uint64_t hash)
{
	size_t at = hash % c->slots;
	for (hash += !hash; c->seen[at] && c->seen[at] != hash; at = (at + 1) % c->slots)
		;
	if (c->seen[at])
		return 0;
	c->seen[at] = hash;
	return 1;
}

static void judge(struct check *c, struct batch *batch, unsigned capability, const char *contract)
{
	struct tcb_assembly got;
	struct tcb_error err;
	if (tcb_assemble_next(c->pool, &got, &err) != TCB_OK)
		fail("no result", &err);
	for (unsigned i = 0; i < batch->count; i++) {
		const struct member *m = &batch->member[i];
		struct tcb_ptx_resources r = { 0 };
		char entry[16];
		snprintf(entry, sizeof entry, "k%u", i);
		const int is_there = got.status == TCB_OK && tcb_assembly_resources(&got, entry, &r);
		const unsigned spilled = r.spill_store_bytes + r.spill_load_bytes + r.stack_bytes;
		if (c->csv)
			fprintf(c->csv, "%s;%u;%s;%s;%u;%u;%u;%u\n", c->op->name, capability, contract, m->geometry,
				r.registers, spilled, m->limit, m->estimate);
		/* ptxas says so of the whole module, and which function, in a line without its numbers. */
		const int is_slow = got.log && strstr(got.log, "serialized");
		if ((!is_there || spilled || r.registers > m->limit || is_slow) && c->bad++ < SHOWN_MAX)
			printf("%s sm_%u %s %s: %u registers of %u (estimated %u), %u bytes spilled%s%.300s\n",
			       c->op->name, capability, contract, m->geometry, r.registers, m->limit, m->estimate,
			       spilled, got.log && (!is_there || is_slow) ? ": " : "",
			       got.log && (!is_there || is_slow) ? got.log : "");
	}
	tcb_assembly_fini(&got);
}

static void submit(struct check *c, struct batch *batch)
{
	struct tcb_str all = { 0 };
	struct tcb_error err;
	char name[16];
	tcb_str_addf(
		&all, ".version %u.%u\n.target %s\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n%s",
		batch->version / 10, batch->version % 10, tcb_ptx_target_text(&batch->target, name), batch->text.data);
	if (all.failed || tcb_assemble_submit(c->pool, all.data, all.length, &batch->target, &err) != TCB_OK)
		fail("submit", &err);
	tcb_str_fini(&all);
	tcb_str_fini(&batch->text);
}

static void add_function(struct check *c, const struct tcb_geometry *g, const struct tcb_footprint *f, unsigned version,
			 struct tcb_ptx_function *function, struct batch *batch)
{
	struct tcb_str text = { 0 };
	tcb_ptx_print_function(function, &text);
	if (is_new(c, tcb_hash64(text.data, text.length, 0))) {
		const unsigned limit = 65536 / (f->block_threads * f->blocks_together) / 8 * 8;
		struct member *m = &batch->member[batch->count];
		char name[16];
		snprintf(name, sizeof name, "k%u", batch->count++);
		function->symbol->name = name;
		tcb_ptx_print_function(function, &batch->text);
		tcb_geometry_print(g, m->geometry);
		m->limit = limit < 255 ? limit : 255;
		m->estimate = f->thread_registers;
		if (batch->version < version)
			batch->version = version;
		c->kernels++;
	}
	tcb_str_fini(&text);
}

/* The kernels of G that were not seen yet, added to BATCH, or to the next one if they are for another target. */
static void add(struct check *c, const struct tcb_problem *problem, const struct tcb_target *target,
		const struct tcb_geometry *g, struct batch *batch, size_t *filled)
{
	struct tcb_kernel kernel;
	struct tcb_footprint f;
	struct tcb_error err;
	if (tcb_kernel_emit(problem, target, g, &kernel, &err) != TCB_OK)
		fail("emit", &err);
	const struct tcb_ptx_target wanted = tcb_kernel_ptx(&kernel)->module->target;
	if (batch[*filled].count && batch[*filled].target.feature != wanted.feature)
		submit(c, &batch[(*filled)++]);
	batch[*filled].target = wanted;
	tcb_space_of(problem, target, g)->footprint(problem, target, g, &f);
	c->geometries++;
	if (!batch[*filled].count) /* the same in all kernels of an op */
		tcb_ptx_print_variables(tcb_kernel_ptx(&kernel)->module, &batch[*filled].text);
	for (struct tcb_ptx_function *function = tcb_kernel_ptx(&kernel)->module->functions; function;
	     function = function->next)
		add_function(c, g, &f, tcb_kernel_ptx(&kernel)->module->version, function, &batch[*filled]);
	if (batch[*filled].count >= BATCH)
		submit(c, &batch[(*filled)++]);
	tcb_kernel_fini(&kernel);
}

static void check_space(struct check *c, const struct tcb_target *target, enum tcb_contract contract,
			const struct tcb_shape *shape)
{
	const char *name = tcb_contract_text(contract);
	struct batch *batch = calloc(BATCHES_MAX, sizeof *batch);
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_error err;
	size_t filled = 0, judged = 0, before = c->kernels;
	const uint64_t start = tcb_clock_ns();
	if (tcb_problem_init(c->op, contract, shape, &problem, &err) != TCB_OK ||
	    tcb_space_create(c->op, &problem, target, 0, &space, &err) != TCB_OK)
		fail("space", &err);
	c->slots = 4 * space->count + 16;
	c->seen = calloc(c->slots, sizeof *c->seen);
	const size_t most = tcb_div_up(c->most, c->shared_by);
	const size_t spread = most ? tcb_div_up(space->count, most) : 1;
	const size_t step = c->step > spread ? c->step : spread;
	/* Every batch but those before a change of targets is full. */
	if (!batch || !c->seen || space->count / step / BATCH * 2 >= BATCHES_MAX - 2)
		exit(1);
	for (size_t i = step * (2 * (c->turn % c->shared_by) + 1) / (2 * c->shared_by); i < space->count; i += step) {
		add(c, &problem, target, &space->geometries[i], batch, &filled);
		for (; filled - judged > AHEAD; judged++)
			judge(c, &batch[judged], target->cuda.capability, name);
	}
	if (batch[filled].count)
		submit(c, &batch[filled++]);
	for (; judged < filled; judged++)
		judge(c, &batch[judged], target->cuda.capability, name);
	printf("%s sm_%u %s: %zu geometries, %zu kernels, %zu bad so far, %.0f s\n", c->op->name,
	       target->cuda.capability, name, space->count, c->kernels - before, c->bad,
	       (double)(tcb_clock_ns() - start) * 1e-9);
	fflush(stdout);
	free(c->seen);
	free(batch);
	tcb_space_destroy(space);
}

static int has_kernels(const struct tcb_op *op, enum tcb_contract contract)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_gpu(op), i)); i++)
		if (variant->contract == contract)
			return 1;
	return 0;
}

static int is_known(const struct tcb_assembler_info *info, unsigned capability)
{
	for (unsigned i = 0; i < info->target_count; i++)
		if (info->targets[i] == capability)
			return 1;
	return 0;
}

/* The contracts of one op on the GPUs of the table that are WANTED, all of them where COUNT is 0. */
static void check_op(struct check *c, const struct tcb_shape *shape, unsigned contracts, const unsigned *wanted,
		     unsigned count)
{
	struct tcb_gpu gpu;
	for (size_t row = 0; tcb_gpu_table_row(row, &gpu); row++) {
		const unsigned capability = gpu.device.target.cuda.capability;
		struct tcb_gpu first;
		if (tcb_gpu_table(capability, &first, NULL) != TCB_OK ||
		    strcmp(first.device.model, gpu.device.model) != 0)
			continue; /* a second card of its capability has the same kernels */
		int is_wanted = !count;
		for (unsigned i = 0; i < count; i++)
			is_wanted |= wanted[i] == capability;
		if (!is_wanted)
			continue;
		if (!is_known(&c->assembler, capability)) {
			printf("sm_%u: not run, %s does not know it\n", capability, c->assembler.path);
			continue;
		}
		for (unsigned contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
			if (contracts & c->op->contracts & 1u << contract &&
			    has_kernels(c->op, (enum tcb_contract)contract))
				check_space(c, &gpu.device.target, (enum tcb_contract)contract, shape);
	}
}

int main(int argc, char **argv)
{
	struct check c = { .step = 1 };
	const struct tcb_op *only = NULL;
	struct tcb_shape shape = { 0, 0, 0 };
	unsigned wanted[TARGETS_MAX], count = 0, contracts = ~0u;
	enum tcb_contract contract;
	struct tcb_error err;
	size_t ops;
	const uint64_t start = tcb_clock_ns();
	for (int i = 1; i < argc; i++) {
		const int has_value = i + 1 < argc;
		if (strcmp(argv[i], "--op") == 0 && has_value && (only = tcb_op_find(argv[i + 1])))
			i++;
		else if (strcmp(argv[i], "--contract") == 0 && has_value &&
			 tcb_contract_parse(argv[i + 1], &contract, &err) == TCB_OK) {
			contracts = 1u << contract;
			i++;
		} else if (strcmp(argv[i], "--step") == 0 && has_value)
			c.step = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--most") == 0 && has_value)
			c.most = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--shape") == 0 && has_value &&
			 tcb_shape_parse(argv[++i], &shape, &err) == TCB_OK)
			continue;
		else if (strcmp(argv[i], "--csv") == 0 && has_value)
			c.csv = fopen(argv[++i], "w");
		else if (strncmp(argv[i], "sm_", 3) == 0 && count < TARGETS_MAX)
			wanted[count++] = (unsigned)strtoul(argv[i] + 3, NULL, 10);
		else
			return 2;
	}
	if (!c.step || tcb_assembler_find_kind(TCB_ASSEMBLER_PTXAS, &c.assembler, &err) != TCB_OK) {
		printf("SKIPPED: %s\n", err.message);
		return SKIPPED;
	}
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (tcb_assemble_pool_create(&c.assembler, cores > 0 ? (unsigned)cores : 1, SECONDS, &c.pool, &err) != TCB_OK)
		fail("pool", &err);
	for (const struct tcb_op *const *op = tcb_ops(&ops); *op; op++)
		if (only ? *op == only : tcb_op_gpu(*op) != NULL) {
			c.op = *op;
			c.turn++;
			c.shared_by = (*op)->format && !only ? FORMATS_SHARE : 1;
			const int is_one = !only && c.most && count;
			check_op(&c, shape.m ? &shape : &(*op)->default_shapes[0], contracts,
				 is_one ? &wanted[c.turn / FORMATS_SHARE % count] : wanted, is_one ? 1 : count);
		}
	tcb_assemble_pool_destroy(c.pool);
	if (c.csv)
		fclose(c.csv);
	printf("%zu geometries, %zu kernels, %zu bad, %.1f minutes on %ld cores\n", c.geometries, c.kernels, c.bad,
	       (double)(tcb_clock_ns() - start) * 1e-9 / 60, cores);
	return c.bad != 0;
}
