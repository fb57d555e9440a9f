/* SPDX-License-Identifier: MIT
 *
 * Did a change of the emitters change a kernel?  Lists what every op emits for
 * a sample of its default spaces: a line a geometry, with hashes of the PTX
 * and of the launches, and compares two such lists.
 *
 *     ptx_identity [--op OP] [--spare N] >LIST     all ops, contracts and capabilities, or those of one op
 *     ptx_identity --compare BEFORE AFTER          exit status 1 where a geometry of both differs
 *     ptx_identity --text LINE                     the PTX and launches of one line, as it stands in a list
 *
 * The sample of a space: for each value of each axis the geometry whose text
 * has the smallest hash, and the N next ones.  So every value is met, and a
 * space that loses or gains geometries keeps most of its sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/gpu.h"
#include "kernels/signature.h"
#include "kernels/space.h"
#include "ptx/text/text.h"

enum { SHAPES = 3, SPARE = 8, LINE_MAX_BYTES = 2 * TCB_GEOMETRY_TEXT_MAX, SHOWN_MAX = 20 };

/* The first of these that an op takes, beside its own first one, are met; SHAPES in all. */
static const struct tcb_shape odd_shapes[] = {
	{ 1, 4097, 0 }, { 333, 1007, 0 },    { 100, 24575, 0 },  { 33, 17, 2697 },  { 200, 1000, 1001 },
	{ 3, 77, 768 }, { 16, 4096, 11008 }, { 60, 777, 14336 }, { 129, 96, 2816 }, { 1, 24, 256 },
};
enum { ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

struct ranked {
	uint64_t hash;
	const struct tcb_geometry *geometry;
	int is_chosen;
};

static void fail(const char *what, const struct tcb_error *err)
{
	fprintf(stderr, "ptx_identity: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
	exit(2);
}

/* All of KERNEL but its PTX. */
static void describe(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	tcb_str_addf(out, "class=%d chain=%g ulps=%g\n", (int)kernel->class, kernel->chain, kernel->ulps);
	tcb_kernel_describe(kernel, out);
}

static void list_geometry(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, int whole)
{
	char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX], ptx_hash[17], launch_hash[17];
	struct tcb_str ptx = { 0 }, launches = { 0 };
	struct tcb_kernel kernel;
	struct tcb_error err;
	tcb_shape_print(&problem->shape, shape);
	tcb_geometry_print(geometry, text);
	printf("%s %s sm_%u %s %s", op->name, tcb_contract_text(problem->contract), target->cuda.capability, shape,
	       text);
	if (tcb_kernel_emit(problem, target, geometry, &kernel, &err) != TCB_OK) {
		printf(" refused: %s\n", err.message);
		return;
	}
	tcb_kernel_print(&kernel, &ptx);
	describe(&kernel, &launches);
	if (ptx.failed || launches.failed)
		fail("out of memory", NULL);
	tcb_hash_hex(ptx.data, ptx.length, ptx_hash);
	tcb_hash_hex(launches.data, launches.length, launch_hash);
	printf(" %s %s %zu %zu\n", ptx_hash, launch_hash, tcb_packed_total(kernel.packed_bytes),
	       kernel.workspace_bytes);
	if (whole)
		printf("%s%s", launches.data, ptx.data);
	tcb_str_fini(&ptx);
	tcb_str_fini(&launches);
	tcb_kernel_fini(&kernel);
}

static int by_hash(const void *a, const void *b)
{
	const uint64_t x = ((const struct ranked *)a)->hash, y = ((const struct ranked *)b)->hash;
	return (x > y) - (x < y);
}

static struct ranked *rank_space(const struct tcb_space *space)
{
	struct ranked *ranked = calloc(space->count, sizeof *ranked);
	char text[TCB_GEOMETRY_TEXT_MAX];
	if (!ranked)
		fail("out of memory", NULL);
	for (size_t i = 0; i < space->count; i++) {
		tcb_geometry_print(&space->geometries[i], text);
		ranked[i] = (struct ranked){ tcb_hash64(text, strlen(text), 0), &space->geometries[i], 0 };
	}
	qsort(ranked, space->count, sizeof *ranked, by_hash);
	return ranked;
}

static void choose_values(struct ranked *ranked, size_t count, const struct tcb_axis *axis)
{
	const struct tcb_field field = { axis->kind, axis->which };
	for (size_t v = 0; v < axis->count; v++) {
		size_t i = 0;
		while (i < count && tcb_field_get(field, ranked[i].geometry) != axis->values[v])
			i++;
		if (i < count)
			ranked[i].is_chosen = 1;
	}
}

static size_t list_space(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			 size_t spare)
{
	struct tcb_space *space;
	struct tcb_error err;
	size_t listed = 0;
	if (tcb_space_create(op, problem, target, 0, &space, &err) != TCB_OK) {
		fprintf(stderr, "ptx_identity: no space: %s\n", err.message);
		return 0;
	}
	struct ranked *ranked = rank_space(space);
	for (size_t a = 0; a < space->axis_count; a++)
		choose_values(ranked, space->count, &space->axes[a]);
	for (size_t i = 0; i < space->count; i++) {
		if (!ranked[i].is_chosen && (!spare || !spare--))
			continue;
		list_geometry(op, problem, target, ranked[i].geometry, 0);
		listed++;
	}
	free(ranked);
	tcb_space_destroy(space);
	return listed;
}

static size_t list_problem(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_target *target,
			   size_t spare)
{
	struct tcb_problem problem;
	struct tcb_error err;
	size_t listed = 0, met = 0;
	for (size_t i = 0; i <= ODD_SHAPES && met < SHAPES; i++) {
		const struct tcb_shape *shape = i ? &odd_shapes[i - 1] : &op->default_shapes[0];
		if (tcb_problem_init(op, contract, shape, &problem, &err) != TCB_OK)
			continue;
		listed += list_space(op, &problem, target, spare);
		met++;
	}
	return listed;
}

static int has_kernels(const struct tcb_op *op, enum tcb_contract contract)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_gpu(op), i)); i++)
		if (variant->contract == contract)
			return 1;
	return 0;
}

static void list_all(const struct tcb_op *only, size_t spare)
{
	static const unsigned capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
	size_t listed = 0, ops;
	struct tcb_gpu gpu;
	struct tcb_error err;
	for (const struct tcb_op *const *op = tcb_ops(&ops); *op; op++) {
		if (only ? *op != only : !tcb_op_gpu(*op))
			continue;
		for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
			if (tcb_gpu_table(capabilities[i], &gpu, &err) != TCB_OK)
				fail("no such GPU", &err);
			for (unsigned contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
				if (has_kernels(*op, (enum tcb_contract)contract))
					listed += list_problem(*op, (enum tcb_contract)contract, &gpu.device.target,
							       spare);
		}
	}
	fprintf(stderr, "%zu geometries\n", listed);
}

static void show(const char *line)
{
	char op[TCB_OP_NAME_MAX], contract[8], shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX];
	unsigned capability;
	enum tcb_contract which;
	struct tcb_shape size;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	struct tcb_error err = { 0 };
	const struct tcb_op *found;
	if (sscanf(line, "%31s %7s sm_%u %63s %1023s", op, contract, &capability, shape, text) != 5 ||
	    !(found = tcb_op_find(op)) || tcb_contract_parse(contract, &which, &err) != TCB_OK ||
	    tcb_shape_parse(shape, &size, &err) != TCB_OK || tcb_gpu_table(capability, &gpu, &err) != TCB_OK ||
	    tcb_geometry_parse(text, &geometry, &err) != TCB_OK ||
	    tcb_problem_init(found, which, &size, &problem, &err) != TCB_OK)
		fail("no line of a list", &err);
	list_geometry(found, &problem, &gpu.device.target, &geometry, 1);
}

/* The lines of a list, sorted: those of one geometry begin with the same five words. */
struct list {
	char **line;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct list read_list(const char *path)
{
	struct list list = { NULL, 0 };
	static char text[LINE_MAX_BYTES];
	FILE *file = fopen(path, "r");
	if (!file)
		fail(path, NULL);
	while (fgets(text, sizeof text, file)) {
		list.line = realloc(list.line, (list.count + 1) * sizeof *list.line);
		if (!list.line || !(list.line[list.count++] = strdup(text)))
			fail("out of memory", NULL);
	}
	fclose(file);
	if (!list.count)
		fail("an empty list", NULL);
	qsort(list.line, list.count, sizeof *list.line, by_text);
	return list;
}

static void list_fini(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->line[i]);
	free(list->line);
}

/* Bytes of the five words that name a geometry. */
static size_t key_bytes(const char *line)
{
	size_t at = 0;
	for (unsigned words = 0; words < 5 && line[at]; words++)
		at += strcspn(line + at, " \n") + 1;
	return at;
}

static int compare_keys(const char *a, const char *b)
{
	const size_t x = key_bytes(a), y = key_bytes(b);
	const int order = memcmp(a, b, x < y ? x : y);
	return order ? order : (x > y) - (x < y);
}

static int compare(const char *before_path, const char *after_path)
{
	struct list before = read_list(before_path), after = read_list(after_path);
	size_t same = 0, differing = 0, gone = 0, added = 0, i = 0, j = 0;
	while (i < before.count || j < after.count) {
		const int order = i == before.count  ? 1
				  : j == after.count ? -1
						     : compare_keys(before.line[i], after.line[j]);
		if (order == 0 && strcmp(before.line[i], after.line[j]) == 0)
			same++;
		else if (order == 0 && differing++ < SHOWN_MAX)
			printf("- %s+ %s", before.line[i], after.line[j]);
		gone += order < 0;
		added += order > 0;
		i += order <= 0;
		j += order >= 0;
	}
	printf("%zu geometries are the same, %zu differ; %zu are in the first list only, %zu in the second only\n",
	       same, differing, gone, added);
	list_fini(&before);
	list_fini(&after);
	return differing || !same;
}

int main(int argc, char **argv)
{
	const struct tcb_op *only = NULL;
	size_t spare = SPARE;
	if (argc == 4 && strcmp(argv[1], "--compare") == 0)
		return compare(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "--text") == 0) {
		show(argv[2]);
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		const int has_value = i + 1 < argc;
		if (strcmp(argv[i], "--op") == 0 && has_value && (only = tcb_op_find(argv[i + 1])))
			i++;
		else if (strcmp(argv[i], "--spare") == 0 && has_value)
			spare = strtoul(argv[++i], NULL, 10);
		else
			fail("see the top of ptx_identity.c", NULL);
	}
	list_all(only, spare);
	return 0;
}
