/* SPDX-License-Identifier: MIT
 *
 * In: --kernel, --block, a file of launches.  Out: the launch of each kernel of a
 * module.
 *
 * A line of the file is a block, then perhaps the bytes of dynamic shared memory,
 * then a pattern of the kernel's name, which may hold spaces:
 *
 *     256         saxpy       # one symbol
 *     32x8  48K   void transpose<*>(*)
 *     128         *
 */
#include "cli/ptx/ptx_launches.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/demangle.h"
#include "cli/core/lines.h"

enum { BLOCK_THREADS_MAX = 1024 };

enum tcb_status ptx_parse_block(const char *text, uint32_t out[3], struct tcb_error *err)
{
	const char *at = text;
	uint64_t product = 1;
	int count = 0;

	out[0] = out[1] = out[2] = 1;
	while (count < 3 && *at >= '1' && *at <= '9') {
		char *end;
		unsigned long value = strtoul(at, &end, 10);
		if (value > BLOCK_THREADS_MAX)
			break;
		out[count++] = (uint32_t)value;
		product *= value;
		at = end;
		if (*at != 'x')
			break;
		at++;
	}
	if (!count || *at || at[-1] == 'x' || product > BLOCK_THREADS_MAX)
		return tcb_fail(err, TCB_E_USAGE,
				"--block wants the threads of a block, 1 to %d in all, as 256 or 32x8, not '%s'",
				BLOCK_THREADS_MAX, text);
	return TCB_OK;
}

static enum tcb_status add(struct ptx_launches *l, const struct ptx_launch *one, struct tcb_error *err)
{
	struct ptx_launch *grown = tcb_arena_regrow(&l->arena, l->items, l->count, l->count + 1, sizeof *grown);

	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the launches");
	l->items = grown;
	l->items[l->count++] = *one;
	return TCB_OK;
}

/* "48K", or another number of bytes with K or M. */
static int read_bytes(const char *word, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(word, &end, 10);
	if (end == word || errno)
		return 0;
	if (*end == 'K' || *end == 'M')
		*out <<= *end++ == 'K' ? 10 : 20;
	return *end == '\0' && *out <= UINT32_MAX;
}

/* The word at *AT, which is ended there; *AT goes on behind it and what is blank. */
static char *next_word(char **at)
{
	char *word = *at;

	*at += strcspn(*at, " \t");
	if (**at)
		*(*at)++ = '\0';
	*at += strspn(*at, " \t");
	return word;
}

/* A file's lines go to LAUNCHES; DYNAMIC_SHARED: where a line has none. */
struct reading {
	struct ptx_launches *launches;
	uint64_t dynamic_shared;
};

static enum tcb_status read_line(void *ctx, const char *where, char *line, struct tcb_error *err)
{
	const struct reading *reading = ctx;
	struct ptx_launches *l = reading->launches;
	struct ptx_launch one = { .launch.dynamic_shared = reading->dynamic_shared };
	struct tcb_error why;
	char *at = line, *word;

	at[strcspn(at, "#\r\n")] = '\0';
	for (size_t n = strlen(at); n && isspace((unsigned char)at[n - 1]); n--)
		at[n - 1] = '\0';
	at += strspn(at, " \t");
	if (!*at)
		return TCB_OK;
	word = next_word(&at);
	if (ptx_parse_block(word, one.launch.block, &why) != TCB_OK)
		return tcb_fail(err, TCB_E_USAGE, "%s: a line begins with a block, as 256 or 32x8, not '%.60s'", where,
				word);
	if (isdigit((unsigned char)*at)) {
		word = next_word(&at);
		if (!read_bytes(word, &one.launch.dynamic_shared))
			return tcb_fail(err, TCB_E_USAGE, "%s: '%.60s' is not a size of dynamic shared memory, as 48K",
					where, word);
	}
	if (!*at)
		return tcb_fail(err, TCB_E_USAGE, "%s: which kernel? Its name, or a pattern such as *, ends the line",
				where);
	one.pattern = tcb_arena_text(&l->arena, at, strlen(at));
	return one.pattern ? add(l, &one, err) : tcb_fail(err, TCB_E_NOMEM, "out of memory for the launches");
}

enum tcb_status ptx_launches_init(struct ptx_launches *l, const struct cli_list *kernels, const struct cli_list *blocks,
				  const char *file, uint64_t dynamic_shared, struct tcb_error *err)
{
	struct ptx_launch rest = { .launch = { .dynamic_shared = dynamic_shared, .is_for_all = 1 } };
	struct reading reading = { l, dynamic_shared };

	*l = (struct ptx_launches){ 0 };
	if (kernels->count ? kernels->count != blocks->count : blocks->count > 1)
		return tcb_fail(err, TCB_E_USAGE,
				"%zu --kernel and %zu --block: each --kernel goes with a --block, in order (one "
				"--block alone is for all kernels)",
				kernels->count, blocks->count);
	for (size_t i = 0; i < kernels->count; i++) {
		struct ptx_launch one = { .pattern = kernels->items[i],
					  .launch.dynamic_shared = dynamic_shared,
					  .is_named = 1 };

		TCB_TRY(ptx_parse_block(blocks->items[i], one.launch.block, err));
		TCB_TRY(add(l, &one, err));
	}
	if (file)
		TCB_TRY(cli_each_line("--launches", file, read_line, &reading, err));
	if (blocks->count && !kernels->count)
		TCB_TRY(ptx_parse_block(blocks->items[0], rest.launch.block, err));
	return add(l, &rest, err);
}

void ptx_launches_fini(struct ptx_launches *l)
{
	tcb_arena_fini(&l->arena);
	*l = (struct ptx_launches){ 0 };
}

static int matches(const char *pattern, const char *kernel)
{
	struct tcb_str shown = { 0 };
	int found = !pattern || strcmp(pattern, kernel) == 0 || fnmatch(pattern, kernel, 0) == 0;

	if (!found) {
		cli_add_demangled(&shown, kernel);
		found = !shown.failed && (strcmp(pattern, shown.data) == 0 || fnmatch(pattern, shown.data, 0) == 0);
		tcb_str_fini(&shown);
	}
	return found;
}

enum tcb_status ptx_launches_of(struct ptx_launches *l, struct tcb_ptx_module *module,
				const struct tcb_ptx_check_launch **out, size_t *count, struct tcb_error *err)
{
	struct tcb_ptx_check_launch *launches;
	size_t kernels = 0;

	for (const struct tcb_ptx_function *f = module->functions; f; f = f->next)
		kernels += f->is_entry && !f->is_declaration;
	launches = tcb_arena_array(&module->arena, kernels + 1, sizeof *launches);
	if (!launches)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the launches");
	*count = 0;
	for (const struct tcb_ptx_function *f = module->functions; f; f = f->next)
		for (size_t i = 0; i < l->count && f->is_entry && !f->is_declaration; i++) {
			struct tcb_ptx_check_launch *one = &launches[*count];

			if (!matches(l->items[i].pattern, f->symbol->name))
				continue;
			l->items[i].is_used = 1;
			*one = l->items[i].launch;
			one->entry = f->symbol->name;
			one->is_for_all = !l->items[i].pattern && kernels > 1;
			++*count;
			break;
		}
	*out = launches;
	return TCB_OK;
}

enum tcb_status ptx_launches_verify(const struct ptx_launches *l, struct tcb_error *err)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].is_named && !l->items[i].is_used)
			return tcb_fail(err, TCB_E_USAGE, "--kernel: no kernel that could be read is called '%.200s'",
					l->items[i].pattern);
	return TCB_OK;
}
