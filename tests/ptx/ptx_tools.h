/* SPDX-License-Identifier: MIT
 *
 * For tests of PTX: files, and the CUDA tools where there are any.  A test that
 * needs a tool skips visibly when it is not on PATH nor below CUDA_HOME or
 * /usr/local/cuda.
 */
#ifndef TCB_TESTS_PTX_TOOLS_H
#define TCB_TESTS_PTX_TOOLS_H

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

/* The path of nvcc or ptxas, or NULL. */
static inline const char *ptx_tool(const char *name)
{
	static char path[512];
	const char *list = getenv("PATH"), *home = getenv("CUDA_HOME");
	struct tcb_str places = { 0 };
	const char *found = NULL;

	tcb_str_addf(&places, "%s:%s/bin:/usr/local/cuda/bin", list ? list : "", home ? home : "/nonexistent");
	for (char *at = places.data, *end; at && !found; at = end ? end + 1 : NULL) {
		end = strchr(at, ':');
		snprintf(path, sizeof path, "%.*s/%s", end ? (int)(end - at) : (int)strlen(at), at, name);
		if (access(path, X_OK) == 0)
			found = path;
	}
	tcb_str_fini(&places);
	return found;
}

/* The whole file as a string; NULL when it cannot be read. */
static inline char *ptx_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct tcb_str text = { 0 };
	char block[4096];
	size_t bytes;

	if (!file)
		return NULL;
	tcb_str_add(&text, "");
	while ((bytes = fread(block, 1, sizeof block - 1, file))) {
		block[bytes] = 0;
		tcb_str_add(&text, block);
	}
	fclose(file);
	return text.data;
}

static inline void ptx_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

/* Exit status of COMMAND; what it wrote to both streams in OUTPUT. */
static inline int ptx_run(const char *command, struct tcb_str *output)
{
	struct tcb_str shell = { 0 };
	char line[1024];
	FILE *pipe;
	int status;

	tcb_str_addf(&shell, "%s 2>&1", command);
	pipe = popen(shell.data, "r");
	assert_non_null(pipe);
	tcb_str_add(output, "");
	while (fgets(line, sizeof line, pipe))
		tcb_str_add(output, line);
	status = pclose(pipe);
	tcb_str_fini(&shell);
	return status;
}

/* Assembles TEXT for TARGET; returns ptxas' exit status and what it said. */
static inline int ptx_assemble(const char *ptxas, const char *target, const char *text, struct tcb_str *output)
{
	char path[] = "/tmp/tcbtune-ptx-XXXXXX", command[800];
	int fd = mkstemp(path), status;

	assert_true(fd >= 0);
	close(fd);
	ptx_write(path, text);
	snprintf(command, sizeof command, "'%s' -arch=%s '%s' -o /dev/null", ptxas, target, path);
	status = ptx_run(command, output);
	unlink(path);
	return status;
}

#endif
