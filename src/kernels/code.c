/* SPDX-License-Identifier: MIT
 *
 * From geometries to images.  In: a geometry; out: its machine code at every
 * shape it is needed at, or why there is none.  One entry a geometry; one job
 * of the assembler's pool for each different text of an entry.  The pool
 * answers in order, so waiting for one entry finishes all that came before it.
 */
#include "kernels/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/signature.h"

enum { GRID_ROWS_MOST = 65535, QUEUE_PER_WORKER = 3, LOG_SHOWN = 160, KEPT = 2048 /* images */ };

/* One text of an entry. */
struct job {
	uint64_t hash;
	size_t first; /* the unit that it was emitted for first */
	struct tcb_assembly assembly;
	char *text; /* kept where the driver is to assemble; owned */
	size_t text_bytes;
};

enum entry_state { BEGUN, DONE, DROPPED };

struct entry {
	struct entry *next_in_bucket, *next_in_queue;
	struct tcb_geometry geometry;
	enum entry_state state;
	struct tcb_code code;
	struct tcb_code_image head; /* while it is BEGUN */
	size_t job_of[TCB_CODE_UNITS_MAX];
	unsigned block_threads;
	uint32_t shared_bytes;
	struct job jobs[TCB_CODE_UNITS_MAX];
	size_t job_count, jobs_left; /* left: of those in the pool */
	struct tcb_code_image *image;
};

enum { BUCKETS = 4096 };

struct tcb_codes {
	struct tcb_codes_setup setup;
	struct tcb_problem problem;
	struct tcb_target target;
	struct tcb_packings packings;
	struct tcb_assembler_info assembler;
	struct tcb_assemble_pool *pool; /* NULL: the driver assembles */
	char name[48];
	struct entry *bucket[BUCKETS];
	struct entry *queue, *queue_last; /* BEGUN, in the order of their jobs */
	size_t jobs_waiting;
	struct entry *kept[KEPT]; /* a ring of those that have an image */
	size_t kept_next;
};

/* ---- the image ---- */

static void set_unit(struct tcb_code_unit *unit, const struct tcb_kernel *kernel)
{
	memset(unit, 0, sizeof *unit);
	unit->shape = kernel->problem.shape;
	memcpy(unit->packed_bytes, kernel->packed_bytes, sizeof unit->packed_bytes);
	unit->workspace_bytes = kernel->workspace_bytes;
	unit->chain = kernel->chain;
	unit->ulps = kernel->ulps;
	unit->class = (uint32_t)kernel->class;
	int32_t layout = kernel->geometry.knob[TCB_KNOB_LAYOUT];
	unit->layout = layout == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (uint32_t)layout;
	unit->launch_count = (uint32_t)kernel->launch_count;
	for (size_t i = 0; i < kernel->launch_count; i++) {
		const struct tcb_launch *from = &kernel->launch[i];
		struct tcb_code_launch *to = &unit->launch[i];
		snprintf(to->entry, sizeof to->entry, "%s", from->entry);
		memcpy(to->grid, from->grid, sizeof to->grid);
		memcpy(to->block, from->block, sizeof to->block);
		to->shared_bytes = from->shared_bytes;
		to->argument_count = (uint32_t)from->argument_count;
		memcpy(to->argument, from->argument, sizeof to->argument);
		kernel->language->pack_own(kernel, i, to->own);
	}
}

static int is_text(const char *text, size_t capacity)
{
	return memchr(text, '\0', capacity) != NULL && text[0] != '\0';
}

static int is_valid_launch(const struct tcb_language *language, const struct tcb_code_launch *launch)
{
	if (!is_text(launch->entry, sizeof launch->entry) || launch->argument_count > TCB_ARGUMENTS_MAX)
		return 0;
	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct tcb_argument *argument = &launch->argument[i];
		if (argument->kind > TCB_ARGUMENT_U64 ||
		    (argument->kind == TCB_ARGUMENT_OPERAND && argument->value >= TCB_OPERANDS_MAX))
			return 0;
	}
	return language->is_own_valid(launch->own, launch->argument, launch->argument_count);
}

int tcb_code_image_valid(const struct tcb_language *language, const void *data, size_t bytes)
{
	const struct tcb_code_image *image = data;
	if (!data || bytes < sizeof *image || image->bytes != bytes || image->unit_count < 1 ||
	    image->unit_count > TCB_CODE_UNITS_MAX)
		return 0;
	for (uint32_t i = 0; i < image->unit_count; i++) {
		const struct tcb_code_unit *unit = &image->unit[i];
		if (unit->offset < sizeof *image || unit->offset > bytes || unit->bytes > bytes - unit->offset ||
		    unit->launch_count < 1 || unit->launch_count > TCB_LAUNCHES_MAX || unit->class >= TCB_CLASS_COUNT ||
		    unit->layout >= TCB_LAYOUT_COUNT)
			return 0;
		if (image->is_text && !is_text((const char *)data + unit->offset, unit->bytes))
			return 0;
		for (uint32_t j = 0; j < unit->launch_count; j++)
			if (!is_valid_launch(language, &unit->launch[j]))
				return 0;
	}
	return 1;
}

/* ---- compute limits ---- */

void tcb_code_set_steps(struct tcb_code_unit *unit, double steps)
{
	struct tcb_code_launch *launch = &unit->launch[0];
	struct tcb_argument *last = &launch->argument[launch->argument_count - 1];
	if (last->kind == TCB_ARGUMENT_U32)
		last->value = (size_t)fmin(fmax(steps, 1), INT32_MAX);
	else
		launch->grid[1] = (uint32_t)fmin(fmax(steps, 1), GRID_ROWS_MOST);
}

double tcb_code_operations(const struct tcb_code_unit *unit)
{
	const struct tcb_code_launch *launch = &unit->launch[0];
	const struct tcb_argument *last = &launch->argument[launch->argument_count - 1];
	return unit->step_operations * (last->kind == TCB_ARGUMENT_U32 ? (double)last->value : launch->grid[1]);
}

/* ---- entries ---- */

static struct entry *find_entry(struct tcb_codes *codes, const struct tcb_geometry *geometry, struct entry ***place)
{
	uint64_t hash =
		tcb_hash64(geometry->knob, sizeof geometry->knob, tcb_hash64(geometry->tile, sizeof geometry->tile, 0));
	struct entry **at = &codes->bucket[hash % BUCKETS];
	while (*at && !tcb_geometry_equal(&(*at)->geometry, geometry))
		at = &(*at)->next_in_bucket;
	*place = at;
	return *at;
}

static void clear_jobs(struct entry *entry)
{
	for (size_t i = 0; i < entry->job_count; i++) {
		tcb_assembly_fini(&entry->jobs[i].assembly);
		free(entry->jobs[i].text);
	}
	memset(entry->jobs, 0, sizeof entry->jobs);
	entry->job_count = 0;
}

/* Emits the candidate at one shape: its unit, and a job unless its text is known. */
static enum tcb_status emit_unit(struct tcb_codes *codes, struct entry *entry, const struct tcb_shape *shape,
				 const struct tcb_geometry *geometry, struct tcb_error *err)
{
	struct tcb_problem problem = codes->problem;
	struct tcb_kernel kernel = { .code = NULL };
	struct tcb_ptx_target target = { 0 };
	struct tcb_str text = { 0 };
	size_t index = entry->head.unit_count;
	problem.shape = *shape;
	enum tcb_status status = tcb_kernel_emit(&problem, &codes->target, geometry, &kernel, err);
	if (status == TCB_OK) {
		set_unit(&entry->head.unit[index], &kernel);
		if (index == 0) {
			const struct tcb_launch *last = &kernel.launch[kernel.launch_count - 1];
			entry->block_threads = last->block[0] * last->block[1] * last->block[2];
			entry->shared_bytes = last->shared_bytes;
		}
		if (codes->pool)
			target = kernel.language->assembled_for(kernel.code);
		tcb_kernel_print(&kernel, &text);
		if (text.failed)
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text");
		else if (index == 0)
			status = tcb_kernel_sign(&kernel, &text, &codes->packings, entry->code.signature, err);
		if (status == TCB_OK && index == 0 && codes->setup.wants_facts)
			status = tcb_static_facts_of(&kernel, &codes->target, &entry->code.facts, err);
	}
	tcb_kernel_fini(&kernel);
	if (status != TCB_OK) {
		tcb_str_fini(&text);
		return status;
	}
	uint64_t hash = tcb_hash64(text.data, text.length, 0);
	size_t job = 0;
	while (job < entry->job_count && entry->jobs[job].hash != hash)
		job++;
	entry->job_of[index] = job;
	entry->head.unit_count++;
	if (job < entry->job_count) {
		tcb_str_fini(&text);
		return TCB_OK;
	}
	entry->job_count++;
	entry->jobs[job] = (struct job){ .hash = hash, .first = index, .text_bytes = text.length + 1 };
	if (!codes->pool) {
		entry->jobs[job].text = text.data;
		return TCB_OK;
	}
	status = tcb_assemble_submit(codes->pool, text.data, text.length, &target, err);
	tcb_str_fini(&text);
	if (status == TCB_OK) {
		entry->jobs_left++;
		codes->jobs_waiting++;
	}
	return status;
}

static void set_outcome(struct tcb_code *code, enum tcb_outcome outcome, const char *text)
{
	code->outcome = outcome;
	snprintf(code->message, sizeof code->message, "%.250s", text);
}

/* Judges what the assembler said; the first line of its log goes into the message. */
static void judge_jobs(struct tcb_codes *codes, struct entry *entry)
{
	struct tcb_code *code = &entry->code;
	for (size_t i = 0; i < entry->job_count; i++) {
		const struct tcb_assembly *assembly = &entry->jobs[i].assembly;
		code->seconds += assembly->seconds;
		if (assembly->status != TCB_OK) {
			char line[LOG_SHOWN];
			snprintf(line, sizeof line, "%s", assembly->log ? assembly->log : "no log");
			line[strcspn(line, "\n")] = '\0';
			set_outcome(code, assembly->timed_out ? TCB_OUTCOME_TIMEOUT : TCB_OUTCOME_COMPILE_FAILED, line);
			return;
		}
	}
	code->resources = entry->jobs[0].assembly.resources;
	if (codes->pool && entry->block_threads)
		(void)tcb_occupancy(codes->target.cuda.capability, &code->resources, entry->block_threads,
				    entry->shared_bytes, &code->occupancy, NULL);
	if (codes->setup.wants_facts)
		tcb_static_facts_assembled(&code->facts, &codes->target, &code->resources, entry->block_threads,
					   entry->shared_bytes);
	unsigned spilled = code->resources.spill_store_bytes + code->resources.spill_load_bytes;
	if (spilled && !codes->setup.allow_spills) {
		snprintf(code->message, sizeof code->message,
			 "spills %u bytes to local memory at %u registers per thread (F314)", spilled,
			 code->resources.registers);
		code->outcome = TCB_OUTCOME_SPILLED;
	}
}

/* Makes room for one more image. */
static void keep(struct tcb_codes *codes, struct entry *entry)
{
	struct entry **place = &codes->kept[codes->kept_next++ % KEPT], *old = *place;
	if (old && old->image) {
		free(old->image);
		old->image = NULL;
		old->code.image = NULL;
		old->state = DROPPED;
	}
	*place = entry;
}

/* Puts the image together. */
static enum tcb_status seal(struct tcb_codes *codes, struct entry *entry, struct tcb_error *err)
{
	struct tcb_code *code = &entry->code;
	entry->state = DONE;
	code->image = NULL;
	if (code->outcome == TCB_OUTCOME_OK && codes->pool)
		judge_jobs(codes, entry);
	if (code->outcome == TCB_OUTCOME_OK) {
		struct tcb_code_image *head = &entry->head;
		size_t offset[TCB_CODE_UNITS_MAX], bytes[TCB_CODE_UNITS_MAX];
		head->bytes = sizeof *head;
		head->is_text = codes->pool == NULL;
		for (size_t i = 0; i < entry->job_count; i++) {
			const struct job *job = &entry->jobs[i];
			offset[i] = (head->bytes + 15) & ~(size_t)15;
			bytes[i] = head->is_text ? job->text_bytes : job->assembly.cubin_bytes;
			head->bytes = offset[i] + bytes[i];
		}
		for (size_t i = 0; i < head->unit_count; i++) {
			head->unit[i].offset = offset[entry->job_of[i]];
			head->unit[i].bytes = bytes[entry->job_of[i]];
		}
		entry->image = calloc(1, head->bytes);
		if (!entry->image)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu bytes of code", head->bytes);
		*entry->image = *head;
		for (size_t i = 0; i < entry->job_count; i++) {
			const struct job *job = &entry->jobs[i];
			memcpy((char *)entry->image + offset[i],
			       head->is_text ? (const void *)job->text : job->assembly.cubin, bytes[i]);
		}
		code->image = entry->image;
		keep(codes, entry);
	}
	clear_jobs(entry);
	return TCB_OK;
}

/* Takes the pool's oldest result to the entry that it belongs to. */
static enum tcb_status take_result(struct tcb_codes *codes, struct tcb_error *err)
{
	struct entry *entry = codes->queue;
	struct job *job = &entry->jobs[entry->job_count - entry->jobs_left];
	TCB_TRY(tcb_assemble_next(codes->pool, &job->assembly, err));
	codes->jobs_waiting--;
	if (--entry->jobs_left > 0)
		return TCB_OK;
	codes->queue = entry->next_in_queue;
	if (!codes->queue)
		codes->queue_last = NULL;
	return seal(codes, entry, err);
}

/* What it is compiled at beside the problem itself. */
static size_t small_shapes(struct tcb_codes *codes, const struct tcb_geometry *geometry,
			   struct tcb_shape shapes[TCB_CODE_UNITS_MAX], struct tcb_geometry fitted[TCB_CODE_UNITS_MAX])
{
	const size_t count = codes->setup.shapes_of
				     ? codes->setup.shapes_of(&codes->problem, &codes->target, geometry, shapes, fitted)
				     : 0;
	return tcb_least(count, TCB_CODE_UNITS_MAX - 1);
}

/* Begins what its texts wait for; are they there? */
static int begin_texts(struct tcb_codes *codes, const struct tcb_geometry *geometry)
{
	const struct tcb_side *side = tcb_op_side(codes->problem.op, &codes->target);
	struct tcb_shape shapes[TCB_CODE_UNITS_MAX];
	struct tcb_geometry fitted[TCB_CODE_UNITS_MAX];
	struct tcb_problem problem = codes->problem;
	if (!side->begin)
		return 1;
	int is_there = side->begin(&problem, &codes->target, geometry);
	const size_t count = small_shapes(codes, geometry, shapes, fitted);
	for (size_t i = 0; i < count; i++) {
		problem.shape = shapes[i];
		is_there &= side->begin(&problem, &codes->target, &fitted[i]);
	}
	return is_there;
}

/* Starts ENTRY's jobs.  What cannot be emitted is an outcome of the candidate, unless memory is out. */
static enum tcb_status begin(struct tcb_codes *codes, struct entry *entry, struct tcb_error *err)
{
	struct tcb_shape shapes[TCB_CODE_UNITS_MAX];
	struct tcb_geometry fitted[TCB_CODE_UNITS_MAX];
	struct tcb_error why = { .status = TCB_OK };
	size_t count = 0;

	entry->state = BEGUN;
	memset(&entry->code, 0, sizeof entry->code);
	memset(&entry->head, 0, sizeof entry->head);
	entry->job_count = entry->jobs_left = 0;
	entry->next_in_queue = NULL;
	enum tcb_status status = emit_unit(codes, entry, &codes->problem.shape, &entry->geometry, &why);
	if (status == TCB_OK)
		count = small_shapes(codes, &entry->geometry, shapes, fitted);
	for (size_t i = 0; i < count && status == TCB_OK; i++) {
		status = emit_unit(codes, entry, &shapes[i], &fitted[i], &why);
		if (status == TCB_E_ILLEGAL) /* not every kernel serves every size */
			status = TCB_OK;
	}
	if (status == TCB_E_NOMEM)
		return tcb_fail(err, status, "%s", why.message);
	if (status != TCB_OK)
		set_outcome(&entry->code, TCB_OUTCOME_LAUNCH_FAILED, why.message);
	if (entry->jobs_left == 0)
		return seal(codes, entry, err);
	if (codes->queue_last)
		codes->queue_last->next_in_queue = entry;
	else
		codes->queue = entry;
	codes->queue_last = entry;
	return TCB_OK;
}

static enum tcb_status want(struct tcb_codes *codes, const struct tcb_geometry *geometry, struct entry **out,
			    struct tcb_error *err)
{
	struct entry **place, *entry = find_entry(codes, geometry, &place);
	if (!entry) {
		entry = calloc(1, sizeof *entry);
		if (!entry)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for a candidate's code");
		entry->geometry = *geometry;
		entry->state = DROPPED;
		*place = entry;
	}
	*out = entry;
	return entry->state == DROPPED ? begin(codes, entry, err) : TCB_OK;
}

enum tcb_status tcb_codes_want(struct tcb_codes *codes, const struct tcb_geometry *geometry, struct tcb_error *err)
{
	struct entry **place, *entry = find_entry(codes, geometry, &place);
	size_t most = (size_t)QUEUE_PER_WORKER * codes->setup.workers;
	if ((entry && entry->state != DROPPED) || !begin_texts(codes, geometry))
		return TCB_OK;
	if (!codes->pool || codes->jobs_waiting + TCB_CODE_UNITS_MAX > most)
		return TCB_OK;
	return want(codes, geometry, &entry, err);
}

/* Waits for what GEOMETRY's texts wait for, no longer than until DEADLINE_NS: are they there? */
static int wait_for_texts(struct tcb_codes *codes, const struct tcb_geometry *geometry, uint64_t deadline_ns)
{
	static const struct timespec step = { 0, 1000000 };
	struct entry **place;
	const struct entry *entry = find_entry(codes, geometry, &place);
	int is_there = entry && entry->state != DROPPED;
	while (!is_there && !(is_there = begin_texts(codes, geometry)) && tcb_clock_ns() < deadline_ns)
		nanosleep(&step, NULL);
	return is_there;
}

/* GEOMETRY's entry, DONE unless DEADLINE_NS came first; NULL where it could not even be begun until then. */
static enum tcb_status finish(struct tcb_codes *codes, const struct tcb_geometry *geometry, uint64_t deadline_ns,
			      struct entry **out, struct tcb_error *err)
{
	*out = NULL;
	/* The pool takes so many jobs without waiting; beyond that their results must be taken first. */
	while (codes->jobs_waiting + TCB_CODE_UNITS_MAX > (size_t)QUEUE_PER_WORKER * codes->setup.workers &&
	       codes->queue) {
		if (!tcb_assemble_wait(codes->pool, deadline_ns))
			return TCB_OK;
		TCB_TRY(take_result(codes, err));
	}
	if (!wait_for_texts(codes, geometry, deadline_ns))
		return TCB_OK;
	TCB_TRY(want(codes, geometry, out, err));
	while ((*out)->state == BEGUN && tcb_assemble_wait(codes->pool, deadline_ns))
		TCB_TRY(take_result(codes, err));
	return TCB_OK;
}

enum tcb_status tcb_codes_wait(struct tcb_codes *codes, const struct tcb_geometry *geometry, uint64_t deadline_ns,
			       int *is_there_out, struct tcb_error *err)
{
	struct entry *entry;
	TCB_TRY(finish(codes, geometry, deadline_ns, &entry, err));
	*is_there_out = entry && entry->state == DONE;
	return TCB_OK;
}

enum tcb_status tcb_codes_get(struct tcb_codes *codes, const struct tcb_geometry *geometry, const struct tcb_code **out,
			      struct tcb_error *err)
{
	struct entry *entry;
	TCB_TRY(finish(codes, geometry, INT64_MAX, &entry, err));
	*out = &entry->code;
	return TCB_OK;
}

size_t tcb_codes_ahead(const struct tcb_codes *codes)
{
	const int is_ahead = codes->pool || tcb_op_side(codes->problem.op, &codes->target)->begin;
	return is_ahead ? (size_t)QUEUE_PER_WORKER * codes->setup.workers / 2 : 1;
}

/* ---- create, destroy ---- */

static int find_assembler(const struct tcb_target *target, struct tcb_assembler_info *out)
{
	return tcb_languages[target->kind]->assembled_for && tcb_assembler_find(out, NULL) == TCB_OK &&
	       tcb_assembler_knows(out, target->cuda.capability);
}

enum tcb_status tcb_codes_create(const struct tcb_codes_setup *setup, struct tcb_codes **out, struct tcb_error *err)
{
	struct tcb_codes *codes = calloc(1, sizeof *codes);
	if (!codes)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling candidates");
	codes->setup = *setup;
	codes->problem = *setup->problem;
	codes->target = *setup->target;
	if (codes->setup.workers < 2) /* room for all units of one candidate in the queue */
		codes->setup.workers = 2;
	snprintf(codes->name, sizeof codes->name, "the driver");
	enum tcb_status status = TCB_OK;
	if (find_assembler(&codes->target, &codes->assembler)) {
		snprintf(codes->name, sizeof codes->name, "%s %u.%u", tcb_assembler_text(codes->assembler.kind),
			 codes->assembler.version / 10, codes->assembler.version % 10);
		status = tcb_assemble_pool_create(&codes->assembler, codes->setup.workers, setup->seconds_limit,
						  &codes->pool, err);
	}
	if (status != TCB_OK) {
		free(codes);
		return status;
	}
	*out = codes;
	return TCB_OK;
}

void tcb_codes_destroy(struct tcb_codes *codes)
{
	if (!codes)
		return;
	tcb_assemble_pool_destroy(codes->pool);
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *entry = codes->bucket[i], *next; entry; entry = next) {
			next = entry->next_in_bucket;
			clear_jobs(entry);
			free(entry->image);
			free(entry);
		}
	}
	free(codes);
}

const char *tcb_codes_assembler(const struct tcb_codes *codes)
{
	return codes->name;
}

/* Appends the code of KERNEL to the image; the driver assembles what no assembler here can. */
/* KERNEL and its code, one more unit of *IMAGE. */
static enum tcb_status add_unit(struct tcb_code_image **image, const struct tcb_kernel *kernel, const void *code,
				size_t bytes, struct tcb_error *err)
{
	const size_t offset = ((*image)->bytes + 15) & ~(size_t)15;
	struct tcb_code_image *grown = realloc(*image, offset + bytes);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu bytes of code", bytes);
	struct tcb_code_unit *unit = &grown->unit[grown->unit_count++];
	*image = grown;
	set_unit(unit, kernel);
	unit->offset = offset;
	unit->bytes = bytes;
	memset((char *)grown + grown->bytes, 0, offset - grown->bytes);
	memcpy((char *)grown + offset, code, bytes);
	grown->bytes = offset + bytes;
	return TCB_OK;
}

static enum tcb_status append_unit(struct tcb_code_image **image, const struct tcb_assembler_info *assembler,
				   const struct tcb_kernel *kernel, struct tcb_error *err)
{
	struct tcb_assembly assembly = { .status = TCB_E_NOT_FOUND };
	struct tcb_ptx_target target;
	struct tcb_str text = { 0 };
	tcb_kernel_print(kernel, &text);
	if (text.failed) {
		tcb_str_fini(&text);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text");
	}
	if (assembler) {
		target = kernel->language->assembled_for(kernel->code);
		tcb_assemble(assembler, text.data, text.length, &target, 60, &assembly);
	}
	enum tcb_status status;
	if (assembler && assembly.status != TCB_OK)
		status = tcb_fail(err, assembly.status, "assembling a kernel of tcbtune's own: %.300s",
				  assembly.log ? assembly.log : "no log");
	else if (assembler)
		status = add_unit(image, kernel, assembly.cubin, assembly.cubin_bytes, err);
	else
		status = add_unit(image, kernel, text.data, text.length + 1, err);
	tcb_assembly_fini(&assembly);
	tcb_str_fini(&text);
	return status;
}

static enum tcb_status start_image(int is_text, struct tcb_code_image **out, struct tcb_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for code");
	(*out)->bytes = sizeof **out;
	(*out)->is_text = is_text != 0;
	return TCB_OK;
}

enum tcb_status tcb_code_compile(const struct tcb_kernel *kernels, size_t count, const struct tcb_target *target,
				 struct tcb_code_image **out, struct tcb_error *err)
{
	struct tcb_assembler_info found;
	struct tcb_code_image *image;
	const int has_assembler = find_assembler(target, &found);
	enum tcb_status status = start_image(!has_assembler, &image, err);
	for (size_t i = 0; i < count && i < TCB_CODE_UNITS_MAX && status == TCB_OK; i++)
		status = append_unit(&image, has_assembler ? &found : NULL, &kernels[i], err);
	if (status != TCB_OK) {
		free(image);
		image = NULL;
	}
	*out = image;
	return status;
}
