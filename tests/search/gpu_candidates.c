/* SPDX-License-Identifier: MIT
 *
 * The best GPU candidates of a database at odd sizes, for tools that look for
 * what a right result may hide (compute-sanitizer), with planted defects that
 * those tools must find.
 *
 *   gpu_candidates pack FILE [options]     compiles them into FILE
 *   gpu_candidates run FILE [ORDINAL]      runs FILE on a GPU, against the reference
 *   gpu_candidates emulate [options]       runs them in the emulator, without a GPU
 *
 *   --db FILE          the database; without one: the default geometry of --op at --shape
 *   --op, --contract, --shape, --device    which problems of the database (all)
 *   --geometry TEXT    without a database: this one instead of the default
 *   --cover SEED       without a database: of the space, in an order that SEED gives, those that have a value of a
 *                      knob or of micro which none before them has
 *   --list FILE        of pack: kernels of FILE, each at its own shape, a line "OP CONTRACT SHAPE [GEOMETRY]" each, as
 *                      random-kernels.py --list writes them; without a geometry the default one
 *   --count N          the N fastest of each problem (20)
 *   --rows N,N,N       sizes to run them at, of the dimension that tiles cut (1,37,1009)
 *   --plant store|barrier                  one kernel with that defect in their place
 *
 * Exit: 0 all right (with --plant, emulated: the defect was found), 4 not right, 2 usage, 77 no GPU, 1 else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "candidate_file.h"
#include "candidate_run.h"
#include "device/gpu.h"
#include "kernels/emulation.h"
#include "kernels/space.h"
#include "plant_ptx.h"
#include "stored.h"
#include "worker/verify.h"

enum {
	ROWS_MAX = TCB_CODE_UNITS_MAX - 1,
	COUNT_DEFAULT = 20,
	COUNT_MAX = 4096,
	COMPILE_LIMIT_S = 60,
	LINE_MAX = 1024,
	SKIP = 77
};

struct options {
	const char *file, *db, *op, *contract, *shape, *device, *geometry, *cover, *list;
	size_t count;
	enum plant plant;
};

/* Sizes that all candidates run at; the compile pool's callback has no other way to know them. */
static size_t rows[ROWS_MAX] = { 1, 37, 1009 }, row_count = 3;

struct work {
	const struct options *options;
	FILE *file;         /* of pack; NULL: emulate */
	size_t candidates;  /* that were packed or emulated */
	size_t wrong;       /* emulated ones with a finding or a wrong result */
	size_t uncompiled;  /* that the assembler refuses at some size */
	uint64_t last_rule; /* bit per rule that was found */
};

/* --- shapes --- */

/* Those of ROWS, each as many at least as the geometry is for. */
static size_t odd_shapes(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			 struct tcb_geometry fitted[TCB_CODE_UNITS_MAX])
{
	const struct tcb_shape *whole = &problem->shape;
	size_t count = 0;

	for (size_t i = 0; i < row_count; i++) {
		struct tcb_shape *shape = &shapes[count];
		*shape = *whole;
		*(whole->k ? &shape->n : &shape->m) = rows[i];
		fitted[count] = *geometry;
		count += tcb_verify_gpu_fit(problem, target, shape, &fitted[count]) == 0;
	}
	return count;
}

/* GEOMETRY at shape INDEX of the odd ones, with the defect that is asked for; *CHANGED_OUT instructions differ. */
static enum tcb_status emit(const struct work *work, const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, size_t index, struct tcb_kernel *out,
			    unsigned *changed_out, struct tcb_error *err)
{
	struct tcb_shape shapes[TCB_CODE_UNITS_MAX];
	struct tcb_geometry fitted[TCB_CODE_UNITS_MAX];
	struct tcb_problem odd = *problem;

	if (odd_shapes(problem, target, geometry, shapes, fitted) <= index)
		return tcb_fail(err, TCB_E_NOT_FOUND, "there is no such shape");
	odd.shape = shapes[index];
	TCB_TRY(tcb_kernel_emit(&odd, target, &fitted[index], out, err));
	*changed_out = plant_into(out, work->options->plant);
	return TCB_OK;
}

static size_t shape_count(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry)
{
	struct tcb_shape shapes[TCB_CODE_UNITS_MAX];
	struct tcb_geometry fitted[TCB_CODE_UNITS_MAX];

	return odd_shapes(problem, target, geometry, shapes, fitted);
}

/* --- pack --- */

static enum tcb_status write_candidate(struct work *work, const struct tcb_problem *problem,
				       const struct tcb_geometry *geometry, uint32_t first_unit,
				       const struct tcb_code_image *image, struct tcb_error *err)
{
	struct candidate_record record;

	memset(&record, 0, sizeof record);
	record.problem = *problem;
	record.first_unit = first_unit;
	record.is_planted = work->options->plant != PLANT_NONE;
	tcb_geometry_print(geometry, record.geometry);
	work->candidates++;
	return candidate_write(work->file, &record, image, err);
}

/* All candidates of a problem through the pool of assemblers; the whole problem's unit comes first in each image. */
static enum tcb_status pack(struct work *work, const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometries, size_t count, struct tcb_error *err)
{
	struct tcb_codes_setup setup = { .problem = problem,
					 .target = target,
					 .workers = 8,
					 .seconds_limit = COMPILE_LIMIT_S,
					 .allow_spills = 1,
					 .shapes_of = odd_shapes };
	struct tcb_codes *codes;
	enum tcb_status status = TCB_OK;

	TCB_TRY(tcb_codes_create(&setup, &codes, err));
	for (size_t i = 0; i < count && status == TCB_OK; i++) {
		const struct tcb_code *code;
		size_t end = i + tcb_codes_ahead(codes);
		for (size_t j = i; j < end && j < count && status == TCB_OK; j++)
			status = tcb_codes_want(codes, &geometries[j], err);
		if (status == TCB_OK)
			status = tcb_codes_get(codes, &geometries[i], &code, err);
		if (status != TCB_OK)
			break;
		if (code->outcome == TCB_OUTCOME_OK) {
			status = write_candidate(work, problem, &geometries[i], 1, code->image, err);
		} else {
			char text[TCB_GEOMETRY_TEXT_MAX];
			tcb_geometry_print(&geometries[i], text);
			printf("%s %s: %s\n", tcb_outcome_text(code->outcome), text, code->message);
			work->uncompiled++;
		}
	}
	tcb_codes_destroy(codes);
	return status;
}

/* One kernel at its problem's shape. */
static enum tcb_status pack_one(struct work *work, const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	struct tcb_code_image *image = NULL;
	enum tcb_status status = tcb_kernel_emit(problem, target, geometry, &kernel, err);
	if (status == TCB_OK)
		status = tcb_code_compile(&kernel, 1, target, &image, err);
	if (status == TCB_OK)
		status = write_candidate(work, problem, geometry, 0, image, err);
	tcb_kernel_fini(&kernel);
	free(image);
	return status;
}

static enum tcb_status pack_planted(struct work *work, const struct tcb_problem *problem,
				    const struct tcb_target *target, const struct tcb_geometry *geometry,
				    unsigned *changed_out, struct tcb_error *err)
{
	struct tcb_kernel kernels[ROWS_MAX];
	size_t count = shape_count(problem, target, geometry);
	struct tcb_code_image *image = NULL;
	enum tcb_status status = TCB_OK;

	memset(kernels, 0, sizeof kernels);
	*changed_out = 0;
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = emit(work, problem, target, geometry, i, &kernels[i], changed_out, err);
	if (status == TCB_OK && *changed_out > 0)
		status = tcb_code_compile(kernels, count, target, &image, err);
	if (image)
		status = write_candidate(work, problem, geometry, 0, image, err);
	for (size_t i = 0; i < count; i++)
		tcb_kernel_fini(&kernels[i]);
	free(image);
	return status;
}

/* --- emulate --- */

struct seen {
	uint64_t rules;
	char first[256];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	if (finding->severity != TCB_PTX_ERROR)
		return;
	seen->rules |= UINT64_C(1) << finding->rule;
	if (!seen->first[0])
		snprintf(seen->first, sizeof seen->first, "%.250s", finding->message);
}

static enum tcb_status emulate_one(struct work *work, const struct tcb_kernel *kernel, struct tcb_error *err)
{
	struct seen seen = { 0 };
	struct tcb_ptx_sink sink = { see, &seen };
	struct tcb_kernel_emulation result;
	char geometry[TCB_GEOMETRY_TEXT_MAX], shape[TCB_SHAPE_TEXT_MAX];

	TCB_TRY(tcb_kernel_emulate(kernel->problem.op, kernel, NULL, 1, &sink, &result, err));
	int is_right = result.findings == 0 && result.error_ratio <= 1;
	tcb_geometry_print(&kernel->geometry, geometry);
	tcb_shape_print(&kernel->problem.shape, shape);
	printf("%s %s %s %s %s: error %.3g of what is allowed%s%s\n", is_right ? "ok" : "wrong",
	       kernel->problem.op_name, tcb_contract_text(kernel->problem.contract), shape, geometry,
	       result.error_ratio, seen.first[0] ? "; " : "", seen.first);
	work->wrong += !is_right;
	work->last_rule |= seen.rules;
	return TCB_OK;
}

static enum tcb_status emulate(struct work *work, const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, unsigned *changed_out, struct tcb_error *err)
{
	size_t count = shape_count(problem, target, geometry);

	*changed_out = 0;
	for (size_t i = 0; i < count; i++) {
		struct tcb_kernel kernel = { .code = NULL };
		unsigned changed = 0;
		enum tcb_status status = emit(work, problem, target, geometry, i, &kernel, &changed, err);
		if (status == TCB_OK && (changed || work->options->plant == PLANT_NONE))
			status = emulate_one(work, &kernel, err);
		tcb_kernel_fini(&kernel);
		TCB_TRY(status);
		*changed_out += changed;
	}
	work->candidates++;
	return TCB_OK;
}

/* --- choosing --- */

/* The candidates themselves; with a plant the first of them that has a place for it. */
static enum tcb_status take(struct work *work, const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometries, size_t count, struct tcb_error *err)
{
	unsigned changed = 0;

	if (work->options->plant == PLANT_NONE && work->file)
		return pack(work, problem, target, geometries, count, err);
	for (size_t i = 0; i < count && (changed == 0 || work->options->plant == PLANT_NONE); i++)
		TCB_TRY((work->file ? pack_planted : emulate)(work, problem, target, &geometries[i], &changed, err));
	if (work->options->plant != PLANT_NONE && changed == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: no candidate has a place for that defect", problem->op_name);
	return TCB_OK;
}

/* The fastest ones of the database; the default geometry first where a defect is to be planted: it does not depend on
 * what a sweep found. */
static enum tcb_status take_stored(struct work *work, struct tcb_db *db, const struct stored_problem *problem,
				   struct tcb_error *err)
{
	struct tcb_gpu gpu;
	struct stored_list list;
	char shape[TCB_SHAPE_TEXT_MAX];

	TCB_TRY(tcb_gpu_open(problem->device_name, 0, &gpu, err));
	if (strcmp(gpu.device.model, problem->model) != 0)
		printf("note: measured on %s, compiled for %s\n", problem->model, gpu.device.model);
	TCB_TRY(stored_candidates(db, problem, STORED_LEAVE_STALE, &list, err));
	size_t count = 0, wanted = list.count < work->options->count ? list.count : work->options->count;
	struct tcb_geometry *geometries = calloc(wanted + 1, sizeof *geometries);
	if (!geometries) {
		stored_list_fini(&list);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for candidates");
	}
	if (work->options->plant != PLANT_NONE)
		tcb_op_standard(&problem->problem, &gpu.device.target, &geometries[count++]);
	for (size_t i = 0; i < wanted; i++)
		geometries[count++] = list.candidates[i].trial->geometry;
	tcb_shape_print(&problem->problem.shape, shape);
	printf("%s %s %s: %zu of %zu candidates%s\n", problem->op->name, tcb_contract_text(problem->problem.contract),
	       shape, wanted, list.count, list.stale ? "; others are of kernels that have changed since" : "");
	stored_list_fini(&list);
	enum tcb_status status = take(work, &problem->problem, &gpu.device.target, geometries, count, err);
	free(geometries);
	return status;
}

static enum tcb_status from_database(struct work *work, struct tcb_error *err)
{
	const struct options *options = work->options;
	struct stored_filter filter = { options->op, options->device, options->contract, NULL };
	struct stored_problem problems[STORED_PROBLEMS_MAX];
	struct tcb_shape shape;
	struct tcb_db *db;
	size_t count = 0;

	if (options->shape) {
		TCB_TRY(tcb_shape_parse(options->shape, &shape, err));
		filter.shape = &shape;
	}
	TCB_TRY(tcb_db_open(options->db, TCB_DB_READ, &db, err));
	enum tcb_status status = stored_problems(db, &filter, problems, &count, err);
	if (status == TCB_OK && count == 0)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%s has no measured GPU results of that kind", options->db);
	/* One control is enough. */
	for (size_t i = 0; i < count && status == TCB_OK && (i == 0 || options->plant == PLANT_NONE); i++)
		status = take_stored(work, db, &problems[i], err);
	tcb_db_close(db);
	return status;
}

/* Words KEY=VALUE that geometries had. */
struct words {
	char text[COUNT_MAX][32];
	size_t count;
};

/* 1: GEOMETRY has a word, but macro and midi, that was not among SEEN; it is now. */
static int has_new_word(struct words *seen, const struct tcb_geometry *geometry)
{
	char text[TCB_GEOMETRY_TEXT_MAX], *rest = text, *word;
	int is_new = 0;

	tcb_geometry_print(geometry, text);
	while ((word = strtok_r(rest, ",", &rest))) {
		size_t i = 0;
		if (strncmp(word, "macro=", 6) == 0 || strncmp(word, "midi=", 5) == 0)
			continue;
		while (i < seen->count && strcmp(seen->text[i], word) != 0)
			i++;
		if (i < seen->count || i == COUNT_MAX)
			continue;
		snprintf(seen->text[seen->count++], sizeof seen->text[0], "%.31s", word);
		is_new = 1;
	}
	return is_new;
}

static enum tcb_status take_cover(struct work *work, const struct tcb_op *op, const struct tcb_problem *problem,
				  const struct tcb_target *target, struct tcb_error *err)
{
	struct tcb_space *space;
	struct words *seen = calloc(1, sizeof *seen);
	struct tcb_geometry *taken = calloc(work->options->count, sizeof *taken);
	size_t count = 0;
	enum tcb_status status = TCB_E_NOMEM;

	if (!seen || !taken)
		tcb_fail(err, TCB_E_NOMEM, "out of memory for candidates");
	else
		status = tcb_space_create(op, problem, target, 0, &space, err);
	if (status == TCB_OK) {
		struct tcb_rng rng;
		tcb_rng_init(&rng, strtoull(work->options->cover, NULL, 10));
		for (size_t left = space->count; left > 0 && count < work->options->count; left--) {
			size_t i = (size_t)tcb_rng_below(&rng, left);
			if (has_new_word(seen, &space->geometries[i]))
				taken[count++] = space->geometries[i];
			space->geometries[i] = space->geometries[left - 1];
		}
		tcb_space_destroy(space);
		status = take(work, problem, target, taken, count, err);
	}
	free(seen);
	free(taken);
	return status;
}

/* A problem and a geometry of it in words; CONTRACT or GEOMETRY is NULL: the default one. */
static enum tcb_status parse(const char *op_name, const char *contract_text, const char *shape_text,
			     const char *geometry_text, const struct tcb_target *target, struct tcb_problem *problem,
			     struct tcb_geometry *geometry, struct tcb_error *err)
{
	const struct tcb_op *op = tcb_op_find(op_name);
	enum tcb_contract contract;
	struct tcb_shape shape;

	if (!op || !tcb_op_gpu(op))
		return tcb_fail(err, TCB_E_USAGE, "%.100s: no op with GPU kernels", op_name);
	contract = op->default_contract;
	if (contract_text)
		TCB_TRY(tcb_contract_parse(contract_text, &contract, err));
	TCB_TRY(tcb_shape_parse(shape_text, &shape, err));
	TCB_TRY(tcb_problem_init(op, contract, &shape, problem, err));
	if (geometry_text)
		return tcb_geometry_parse(geometry_text, geometry, err);
	tcb_op_standard(problem, target, geometry);
	return TCB_OK;
}

static enum tcb_status from_words(struct work *work, struct tcb_error *err)
{
	const struct options *options = work->options;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_gpu gpu;

	if (!options->op || !options->shape || !options->device)
		return tcb_fail(err, TCB_E_USAGE, "without --db: --op with GPU kernels, --shape and --device");
	TCB_TRY(tcb_gpu_open(options->device, 0, &gpu, err));
	TCB_TRY(parse(options->op, options->contract, options->shape, options->geometry, &gpu.device.target, &problem,
		      &geometry, err));
	if (options->cover)
		return take_cover(work, problem.op, &problem, &gpu.device.target, err);
	return take(work, &problem, &gpu.device.target, &geometry, 1, err);
}

static enum tcb_status from_line(struct work *work, const struct tcb_target *target, char *line, struct tcb_error *err)
{
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	char *rest = line, *words[4];

	for (size_t i = 0; i < 4; i++)
		words[i] = strtok_r(rest, " \n", &rest);
	if (!words[2])
		return words[0] ? tcb_fail(err, TCB_E_USAGE, "OP CONTRACT SHAPE [GEOMETRY] is wanted") : TCB_OK;
	TCB_TRY(parse(words[0], words[1], words[2], words[3], target, &problem, &geometry, err));
	return pack_one(work, &problem, target, &geometry, err);
}

/* Lines that fail are told of; the rest goes on. */
static enum tcb_status from_list(struct work *work, struct tcb_error *err)
{
	const struct options *options = work->options;
	FILE *list = fopen(options->list, "r");
	char line[LINE_MAX];
	struct tcb_gpu gpu;
	enum tcb_status status;

	if (!list)
		return tcb_fail(err, TCB_E_IO, "cannot read %.300s", options->list);
	status = options->device ? tcb_gpu_open(options->device, 0, &gpu, err)
				 : tcb_fail(err, TCB_E_USAGE, "--list wants --device");
	for (size_t i = 1; status == TCB_OK && fgets(line, sizeof line, list); i++) {
		if (from_line(work, &gpu.device.target, line, err) == TCB_OK)
			continue;
		printf("line %zu: %s\n", i, err->message);
		work->uncompiled++;
	}
	fclose(list);
	return status;
}

/* --- commands --- */

static enum tcb_status do_pack(const struct options *options, struct tcb_error *err)
{
	struct work work = { .options = options, .file = fopen(options->file, "wb") };

	if (!work.file)
		return tcb_fail(err, TCB_E_IO, "cannot write %.300s", options->file);
	enum tcb_status status = options->list ? from_list(&work, err)
				 : options->db ? from_database(&work, err)
					       : from_words(&work, err);
	if (fclose(work.file) != 0 && status == TCB_OK)
		status = tcb_fail(err, TCB_E_IO, "cannot write %.300s", options->file);
	TCB_TRY(status);
	printf("packed %zu candidates, %zu do not compile\n", work.candidates, work.uncompiled);
	if (work.candidates + work.uncompiled == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "no candidates of today's kernels%s%.300s",
				options->db ? " in " : "", options->db ? options->db : "");
	return work.uncompiled ? tcb_fail(err, TCB_E_VERIFY, "%zu candidates do not compile", work.uncompiled) : TCB_OK;
}

static enum tcb_status do_emulate(const struct options *options, struct tcb_error *err)
{
	static const uint64_t wanted[PLANT_COUNT] = {
		[PLANT_STORE] = UINT64_C(1) << TCB_PTX_RULE_OUT_OF_BOUNDS,
		[PLANT_BARRIER] = UINT64_C(1) << TCB_PTX_RULE_RACE,
	};
	struct work work = { .options = options };

	TCB_TRY(options->db ? from_database(&work, err) : from_words(&work, err));
	if (options->plant == PLANT_NONE) {
		printf("emulated %zu candidates, %zu wrong\n", work.candidates, work.wrong);
		return work.wrong ? tcb_fail(err, TCB_E_VERIFY, "%zu runs were wrong", work.wrong) : TCB_OK;
	}
	if (!(work.last_rule & wanted[options->plant]))
		return tcb_fail(err, TCB_E_VERIFY, "the emulator did not find the planted defect");
	printf("the emulator found the planted defect\n");
	return TCB_OK;
}

static enum tcb_status do_run(const struct options *options, int ordinal, struct tcb_error *err)
{
	struct candidate_tally tally;

	TCB_TRY(candidates_run(options->file, ordinal, &tally, err));
	printf("ran %zu candidates (%zu planted), %zu runs: %zu wrong, %zu failed\n", tally.candidates, tally.planted,
	       tally.runs, tally.wrong, tally.failed);
	if (tally.candidates == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%.300s holds no candidate", options->file);
	return tally.wrong + tally.failed ? tcb_fail(err, TCB_E_VERIFY, "not all candidates were right") : TCB_OK;
}

static int read_rows(const char *text)
{
	row_count = 0;
	while (row_count < ROWS_MAX) {
		char *end;
		rows[row_count] = strtoul(text, &end, 10);
		if (end == text || rows[row_count++] == 0)
			return -1;
		if (!*end)
			return 0;
		if (*end != ',')
			return -1;
		text = end + 1;
	}
	return -1;
}

/* -1: wrong usage */
static int read_options(int argc, char **argv, struct options *out)
{
	const struct {
		const char *name;
		const char **text;
	} texts[] = { { "--db", &out->db },       { "--op", &out->op },         { "--contract", &out->contract },
		      { "--shape", &out->shape }, { "--device", &out->device }, { "--geometry", &out->geometry },
		      { "--cover", &out->cover }, { "--list", &out->list } };
	enum { TEXTS = sizeof texts / sizeof *texts };

	for (int i = 0; i < argc; i += 2) {
		size_t t = 0;
		if (i + 1 == argc)
			return -1;
		while (t < TEXTS && strcmp(argv[i], texts[t].name) != 0)
			t++;
		if (t < TEXTS)
			*texts[t].text = argv[i + 1];
		else if (strcmp(argv[i], "--count") == 0)
			out->count = strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--plant") == 0)
			out->plant = plant_find(argv[i + 1]);
		else if (strcmp(argv[i], "--rows") != 0 || read_rows(argv[i + 1]) != 0)
			return -1;
	}
	return out->count > 0 && out->count <= COUNT_MAX && out->plant < PLANT_COUNT ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct options options = { .count = COUNT_DEFAULT };
	const char *command = argc > 1 ? argv[1] : "";
	int has_file = strcmp(command, "emulate") != 0, from = has_file ? 3 : 2;
	struct tcb_error err = { .status = TCB_E_USAGE };
	enum tcb_status status = TCB_E_USAGE;

	snprintf(err.message, sizeof err.message,
		 "usage: gpu_candidates pack FILE [options] | run FILE [ORDINAL] | emulate [options]");
	if (argc >= from)
		options.file = has_file ? argv[2] : NULL;
	if (strcmp(command, "run") == 0 && argc >= from && argc <= from + 1)
		status = do_run(&options, argc > from ? atoi(argv[from]) : 0, &err);
	else if (argc >= from && read_options(argc - from, argv + from, &options) == 0 && strcmp(command, "pack") == 0)
		status = do_pack(&options, &err);
	else if (argc >= from && strcmp(command, "emulate") == 0 &&
		 read_options(argc - from, argv + from, &options) == 0)
		status = do_emulate(&options, &err);
	if (status != TCB_OK)
		fprintf(stderr, "gpu_candidates: %s\n", err.message);
	if (status == TCB_E_UNSUPPORTED) {
		printf("SKIPPED: %s\n", err.message);
		return SKIP;
	}
	return tcb_status_exit(status);
}
