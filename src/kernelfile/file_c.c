/* SPDX-License-Identifier: MIT
 *
 * In: a file of C or C++, a shape and a geometry.  Out: functions of a shared
 * object, compiled by the system's compiler (CC, CXX; else cc, c++) unless the same was
 * compiled before: objects are kept in the user's cache by all that they come
 * from, this processor included.
 */
#include "kernelfile/file_c.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu_identity.h"
#include "base/file.h"
#include "base/program.h"
#include "kernels/signature.h"

enum { WORDS_MAX = 160, KEPT_MAX = 4096, NAME_ROOM = 64 /* of an object, in its folder */ };
static const double COMPILE_S = 120, ASK_S = 20;

struct loaded {
	tcb_file_entry_fn *entry;
	char key[17];
	struct loaded *next;
};

struct tcb_file_c {
	const struct tcb_kernel_file *file;
	const struct tcb_file_source *from;
	char compiler[PATH_MAX], folder[PATH_MAX], source[PATH_MAX];
	char signature[TCB_SIGNATURE_MAX], cpu[TCB_DEVICE_KEY_MAX];
	int is_own_folder; /* the folder is of this process alone, and goes with it */
	pthread_mutex_t lock;
	struct loaded *loaded;
};

/* The words of a command line. */
struct words {
	const char *word[WORDS_MAX];
	char *owned[WORDS_MAX];
	size_t count, owned_count;
};

static void add_word(struct words *words, const char *word)
{
	if (words->count + 1 < WORDS_MAX)
		words->word[words->count++] = word;
}

static void add_owned(struct words *words, char *word)
{
	if (!word)
		return;
	words->owned[words->owned_count++] = word;
	add_word(words, word);
}

static void free_words(struct words *words)
{
	for (size_t i = 0; i < words->owned_count; i++)
		free(words->owned[i]);
}

/* --- asking the compiler --- */

static enum tcb_status find_compiler(struct tcb_file_c *c, struct tcb_error *err)
{
	const int is_cxx = c->from->language == TCB_FILE_CXX;
	const char *variable = is_cxx ? "CXX" : "CC", *asked = getenv(variable);

	if (tcb_program_find(asked && *asked ? asked : is_cxx ? "c++" : "cc", c->compiler, sizeof c->compiler) == 0)
		return TCB_OK;
	return tcb_fail(err, TCB_E_NOT_FOUND,
			"%s is in %s, and no compiler is found for it: install gcc or clang, or set %s", c->from->name,
			is_cxx ? "C++" : "C", variable);
}

static int ask(const struct tcb_file_c *c, const struct words *words, struct tcb_str *said)
{
	int wait_status, timed_out;

	return tcb_program_run(c->compiler, words->word, NULL, 0, ASK_S, NULL, said, &wait_status, &timed_out, NULL) ==
				       TCB_OK &&
			       WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0
		       ? 0
		       : -1;
}

static void add_options(const struct tcb_file_c *c, struct words *words)
{
	add_word(words, c->compiler);
	add_word(words, "-O3");
	add_word(words, "-march=native");
	for (size_t i = 0; i < c->from->option_count; i++)
		add_word(words, c->from->options[i]);
}

int tcb_file_c_is_team(const struct tcb_file_source *source)
{
	for (size_t i = 0; i < source->option_count; i++)
		if (strncmp(source->options[i], "-fopenmp", strlen("-fopenmp")) == 0 &&
		    strcmp(source->options[i], "-fopenmp-simd") != 0)
			return 1;
	return 0;
}

/* --- the signature --- */

static int add_file(struct tcb_str *out, const char *path)
{
	char block[65536];
	FILE *file = tcb_file_open_stream(path);
	size_t got;

	if (!file)
		return -1;
	while ((got = fread(block, 1, sizeof block, file)) > 0)
		tcb_str_add_bytes(out, block, got);
	fclose(file);
	return 0;
}

/* What the source includes that is no system's: the names of a rule of make, "x.o: a.c b.h \". */
static void add_included(const struct tcb_file_c *c, struct tcb_str *out)
{
	struct words words = { .count = 0 };
	struct tcb_str said = { 0 };

	add_options(c, &words);
	add_word(&words, "-MM");
	add_word(&words, c->source);
	if (ask(c, &words, &said) == 0 && said.data) {
		char *rest = strchr(said.data, ':'), *name;

		while (rest && (name = strsep(&rest, " \n\\:")) != NULL)
			if (*name && strcmp(name, c->source) != 0)
				(void)add_file(out, name);
	}
	tcb_str_fini(&said);
}

static enum tcb_status sign(struct tcb_file_c *c, struct tcb_error *err)
{
	struct tcb_str source = { 0 }, rest = { 0 };
	struct words words = { .count = 0 };
	enum tcb_status status = TCB_OK;

	if (add_file(&source, c->source) != 0)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%.200s: its KernelFile %.200s cannot be read (%s)",
				  c->file->path, c->source, strerror(errno));
	if (status == TCB_OK) {
		add_included(c, &source);
		add_word(&words, c->compiler);
		add_word(&words, "--version");
		(void)ask(c, &words, &rest);
		tcb_str_addf(&rest, "%s", c->from->name);
		for (size_t i = 0; i < c->from->option_count; i++)
			tcb_str_addf(&rest, " %s", c->from->options[i]);
		tcb_source_sign(&source, &rest, c->signature);
	}
	tcb_str_fini(&source);
	tcb_str_fini(&rest);
	return status;
}

/* --- where objects are kept --- */

static int make_folder(const char *path)
{
	struct stat found;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -1;
	return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
			       !(found.st_mode & (S_IWGRP | S_IWOTH))
		       ? 0
		       : -1;
}

/* The user's cache, as long as nobody else may write there; else a folder of this process. */
static enum tcb_status find_folder(struct tcb_file_c *c, struct tcb_error *err)
{
	if (tcb_file_in_cache("objects", 1, c->folder, sizeof c->folder - NAME_ROOM) && make_folder(c->folder) == 0)
		return TCB_OK;
	snprintf(c->folder, sizeof c->folder, "%s/tcbtune-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	c->is_own_folder = mkdtemp(c->folder) != NULL;
	return c->is_own_folder
		       ? TCB_OK
		       : tcb_fail(err, TCB_E_IO, "no folder for compiled kernels: %s: %s", c->folder, strerror(errno));
}

struct kept {
	char name[32];
	time_t used;
};

static int by_age(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* The objects that were used last stay, KEPT_MAX at most; of a folder of its own, none. */
static void prune(const struct tcb_file_c *c)
{
	const size_t most = c->is_own_folder ? 0 : KEPT_MAX;
	DIR *folder = opendir(c->folder);
	struct kept *list = NULL, *grown;
	size_t count = 0;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)) != NULL) {
		struct stat found;

		if (strlen(entry->d_name) >= sizeof list->name || *entry->d_name == '.' ||
		    fstatat(dirfd(folder), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		grown = realloc(list, (count + 1) * sizeof *list);
		if (!grown)
			break;
		list = grown;
		list[count].used = found.st_mtime;
		strcpy(list[count++].name, entry->d_name);
	}
	if (count > most)
		qsort(list, count, sizeof *list, by_age);
	for (size_t i = 0; i + most < count; i++)
		(void)unlinkat(dirfd(folder), list[i].name, 0);
	free(list);
	if (folder)
		closedir(folder);
	if (c->is_own_folder)
		(void)rmdir(c->folder);
}

/* --- creation --- */

enum tcb_status tcb_file_c_create(const struct tcb_kernel_file *file, const struct tcb_file_source *from,
				  struct tcb_file_c **out, struct tcb_error *err)
{
	struct tcb_file_c *c = calloc(1, sizeof *c);
	struct tcb_device host;
	enum tcb_status status;

	*out = NULL;
	if (!c)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's file");
	c->file = file;
	c->from = from;
	pthread_mutex_init(&c->lock, NULL);
	status = find_compiler(c, err);
	if (status == TCB_OK && !realpath(from->path, c->source))
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%.200s: its KernelFile %.200s cannot be read (%s)", file->path,
				  from->path, strerror(errno));
	if (status == TCB_OK)
		status = tcb_cpu_identify("cpu", 1, &host, err);
	if (status == TCB_OK) {
		memcpy(c->cpu, host.key, sizeof c->cpu);
		status = sign(c, err);
	}
	if (status == TCB_OK)
		status = find_folder(c, err);
	if (status != TCB_OK) {
		tcb_file_c_destroy(c);
		return status;
	}
	*out = c;
	return TCB_OK;
}

void tcb_file_c_destroy(struct tcb_file_c *c)
{
	if (!c)
		return;
	for (struct loaded *at = c->loaded, *next; at; at = next) {
		next = at->next;
		free(at);
	}
	if (*c->folder)
		prune(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const char *tcb_file_c_signature(const struct tcb_file_c *c)
{
	return c->signature;
}

/* --- a candidate --- */

static void add_literal(struct tcb_str *out, const struct tcb_file_argument *argument, const struct tcb_value *value)
{
	const double real = value->type == TCB_VALUE_REAL ? value->real : (double)value->whole;

	if (argument->type.element == TCB_FILE_FLOAT || argument->type.element == TCB_FILE_DOUBLE)
		tcb_str_addf(out, "(%s)%.17g", argument->type.name, real);
	else if (value->type == TCB_VALUE_WHOLE)
		tcb_str_addf(out, "%" PRId64, value->whole);
	else
		tcb_str_addf(out, "%" PRId64, (int64_t)real);
}

/* A call with all arguments but local memory: vectors by their places, scalars as what they are. */
static enum tcb_status add_call(const struct tcb_file_c *c, const struct tcb_value *bound, struct tcb_str *out,
				struct tcb_error *err)
{
	const struct tcb_kernel_file *file = c->file;
	const char *separator = "";

	tcb_str_addf(out,
		     "void %s(void *const *operand, int tcb_threads)\n{\n#ifdef _OPENMP\n"
		     "\tomp_set_num_threads(tcb_threads);\n#else\n\t(void)tcb_threads;\n#endif\n\t%s(",
		     TCB_FILE_ENTRY, c->from->name);
	for (size_t i = 0; i < file->argument_count; i++) {
		const struct tcb_file_argument *argument = &file->argument[i];
		struct tcb_value value;

		if (argument->memory == TCB_FILE_LOCAL)
			continue;
		tcb_str_add(out, separator);
		separator = ", ";
		if (argument->memory == TCB_FILE_SCALAR) {
			TCB_TRY(tcb_expression_value(argument->value, bound, &value, err));
			if (value.type == TCB_VALUE_TEXT)
				return tcb_fail(err, TCB_E_USAGE, "%.160s: the FillValue of %s is not a number",
						file->path, argument->name);
			add_literal(out, argument, &value);
		} else if (c->from->language == TCB_FILE_CXX) {
			tcb_str_addf(out, "tcb_pointer{operand[%zu]}", argument->operand);
		} else {
			tcb_str_addf(out, "operand[%zu]", argument->operand);
		}
	}
	tcb_str_add(out, ");\n}\n");
	return TCB_OK;
}

/* The source with a function that calls its kernel. */
static enum tcb_status write_wrapper(const struct tcb_file_c *c, const struct tcb_value *bound, struct tcb_str *out,
				     struct tcb_error *err)
{
	tcb_str_addf(out, "#ifdef _OPENMP\n#include <omp.h>\n#endif\n#include \"%s\"\n#line 1 \"call of %s\"\n",
		     c->source, c->from->name);
	if (c->from->language == TCB_FILE_CXX)
		tcb_str_add(out, "struct tcb_pointer {\n\tvoid *to;\n"
				 "\ttemplate <class T> operator T *() const { return static_cast<T *>(to); }\n};\n"
				 "extern \"C\" {\n");
	TCB_TRY(add_call(c, bound, out, err));
	if (c->from->language == TCB_FILE_CXX)
		tcb_str_add(out, "}\n");
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's source") : TCB_OK;
}

/* Parameters and sizes under their names. */
static void add_definitions(const struct tcb_file_c *c, const struct tcb_value *bound, struct words *words)
{
	const struct tcb_kernel_file *file = c->file;

	for (size_t i = 0; i < file->name_count; i++) {
		struct tcb_str word = { 0 };

		if (strchr(file->names[i], '['))
			continue;
		tcb_str_addf(&word, "-D%s=", file->names[i]);
		tcb_value_print(&bound[i], &word);
		if (word.failed)
			tcb_str_fini(&word);
		add_owned(words, word.data);
	}
}

/* Into OBJECT, by files beside it that are of this process and KEY alone. */
static enum tcb_status compile(const struct tcb_file_c *c, const struct tcb_str *source, struct words *words,
			       const char *key, const char *object, struct tcb_file_limits *limits,
			       struct tcb_error *err)
{
	char written[TCB_FILE_OBJECT_MAX], made[TCB_FILE_OBJECT_MAX], line[256];
	struct tcb_str said = { 0 };
	struct tcb_error error;
	int wait_status = 0, timed_out = 0;
	FILE *file;
	enum tcb_status status = TCB_OK;

	snprintf(written, sizeof written, "%s/.%d-%s.%s", c->folder, (int)getpid(), key,
		 c->from->language == TCB_FILE_CXX ? "cpp" : "c");
	snprintf(made, sizeof made, "%s/.%d-%s.so", c->folder, (int)getpid(), key);
	file = fopen(written, "we");
	if (!file || fwrite(source->data, 1, source->length, file) != source->length)
		status = tcb_fail(err, TCB_E_IO, "%s cannot be written: %s", written, strerror(errno));
	if (file && fclose(file) != 0 && status == TCB_OK)
		status = tcb_fail(err, TCB_E_IO, "%s cannot be written: %s", written, strerror(errno));
	if (status == TCB_OK) {
		add_word(words, "-pipe");
		add_word(words, "-shared");
		add_word(words, "-fPIC");
		add_word(words, "-o");
		add_word(words, made);
		add_word(words, written);
		add_word(words, "-lm");
		words->word[words->count] = NULL;
		if (tcb_program_run(c->compiler, words->word, NULL, 0, limits->seconds, limits->stop, &said,
				    &wait_status, &timed_out, &error) != TCB_OK) {
			limits->was_late = timed_out || (limits->stop && atomic_load(limits->stop));
			status = tcb_fail(err, TCB_E_FORMAT, "%s", error.message);
		} else if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0 || rename(made, object) != 0) {
			tcb_program_complaint(said.data, line, sizeof line);
			status = tcb_fail(err, TCB_E_FORMAT, "it does not compile: %s", line);
		}
	}
	(void)unlink(written);
	(void)unlink(made);
	tcb_str_fini(&said);
	return status;
}

static enum tcb_status open_object(struct tcb_file_c *c, const char *object, const char *key, tcb_file_entry_fn **out,
				   struct tcb_error *err)
{
	struct loaded *loaded = calloc(1, sizeof *loaded);
	void *library = loaded ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		free(loaded);
		(void)unlink(object); /* cut short, or of another system */
		return tcb_fail(err, TCB_E_FORMAT, "it cannot be loaded: %.300s", loaded ? dlerror() : "out of memory");
	}
	loaded->entry = (tcb_file_entry_fn *)(uintptr_t)dlsym(library, TCB_FILE_ENTRY);
	if (!loaded->entry) {
		free(loaded);
		return tcb_fail(err, TCB_E_FORMAT, "it has no kernel: %.300s", object);
	}
	strcpy(loaded->key, key);
	loaded->next = c->loaded;
	c->loaded = loaded;
	*out = loaded->entry;
	return TCB_OK;
}

/* Of all that the object comes from. */
static void find_key(const struct tcb_file_c *c, const struct tcb_str *source, const struct words *words, char out[17])
{
	struct tcb_str all = { 0 };

	tcb_str_addf(&all, "%s %s %s\n", c->signature, c->cpu, source->data);
	for (size_t i = 0; i < words->count; i++)
		tcb_str_addf(&all, "%s\n", words->word[i]);
	tcb_hash_hex(all.data ? all.data : "", all.length, out);
	tcb_str_fini(&all);
}

/* The object of SOURCE, compiled unless it is there, and its KEY. */
static enum tcb_status find_object(const struct tcb_file_c *c, const struct tcb_str *source, struct words *words,
				   const char *key, struct tcb_file_limits *limits, char out[TCB_FILE_OBJECT_MAX],
				   struct tcb_error *err)
{
	snprintf(out, TCB_FILE_OBJECT_MAX, "%s/%s.so", c->folder, key);
	if (access(out, R_OK) != 0)
		return compile(c, source, words, key, out, limits, err);
	(void)utimensat(AT_FDCWD, out, NULL, 0);
	return TCB_OK;
}

static enum tcb_status load(struct tcb_file_c *c, const struct tcb_str *source, struct words *words,
			    tcb_file_entry_fn **out, struct tcb_error *err)
{
	char key[17], object[TCB_FILE_OBJECT_MAX];

	find_key(c, source, words, key);
	for (const struct loaded *at = c->loaded; at; at = at->next)
		if (strcmp(at->key, key) == 0) {
			*out = at->entry;
			return TCB_OK;
		}
	struct tcb_file_limits limits = { .seconds = COMPILE_S };
	TCB_TRY(find_object(c, source, words, key, &limits, object, err));
	return open_object(c, object, key, out, err);
}

/* The source and the command line of a candidate; finish both. */
static enum tcb_status write_candidate(const struct tcb_file_c *c, const struct tcb_shape *shape,
				       const struct tcb_geometry *geometry, struct tcb_str *source, struct words *words,
				       struct tcb_error *err)
{
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];

	tcb_kernel_file_bind(c->file, shape, geometry, bound);
	add_options(c, words);
	add_definitions(c, bound, words);
	return write_wrapper(c, bound, source, err);
}

enum tcb_status tcb_file_c_load(struct tcb_file_c *c, const struct tcb_shape *shape,
				const struct tcb_geometry *geometry, tcb_file_entry_fn **out, struct tcb_error *err)
{
	struct tcb_str source = { 0 };
	struct words words = { .count = 0 };
	enum tcb_status status = write_candidate(c, shape, geometry, &source, &words, err);

	if (status == TCB_OK) {
		pthread_mutex_lock(&c->lock);
		status = load(c, &source, &words, out, err);
		pthread_mutex_unlock(&c->lock);
	}
	tcb_str_fini(&source);
	free_words(&words);
	return status;
}

enum tcb_status tcb_file_c_object(const struct tcb_file_c *c, const struct tcb_shape *shape,
				  const struct tcb_geometry *geometry, struct tcb_file_limits *limits,
				  char out[TCB_FILE_OBJECT_MAX], struct tcb_error *err)
{
	struct tcb_str source = { 0 };
	struct words words = { .count = 0 };
	struct tcb_file_limits usual = { .seconds = COMPILE_S };
	char key[17];
	enum tcb_status status = write_candidate(c, shape, geometry, &source, &words, err);

	if (status == TCB_OK) {
		find_key(c, &source, &words, key);
		status = find_object(c, &source, &words, key, limits ? limits : &usual, out, err);
	}
	tcb_str_fini(&source);
	free_words(&words);
	return status;
}
