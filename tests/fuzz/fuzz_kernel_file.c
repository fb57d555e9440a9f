/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file that describes a kernel, and as a list of values.  What is accepted has sizes, something to tune
 * and an output, and its names are bound; what is not, an error.
 */
#include "kernelfile/kernel_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static void check_file(const struct tcb_kernel_file *file)
{
	const struct tcb_shape shape = tcb_kernel_file_shape(file, file->size);
	struct tcb_value bound[TCB_EXPRESSION_NAMES_MAX];
	size_t outputs = 0;

	FUZZ_CHECK(file->size_count >= 1 && file->parameter_count >= 1 && file->op_name[0]);
	for (size_t i = 0; i < file->argument_count; i++)
		outputs += file->argument[i].is_output != 0;
	FUZZ_CHECK(outputs >= 1);
	tcb_kernel_file_bind(file, &shape, NULL, bound);
	for (size_t i = 0; i < file->name_count; i++)
		FUZZ_CHECK(bound[i].type != TCB_VALUE_TEXT || strlen(bound[i].text) < 1 << 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[64], *text = malloc(bytes + 1);
	struct tcb_kernel_file *file = NULL;
	struct tcb_value *values = NULL;
	struct tcb_error err = { TCB_OK, "" };
	size_t count = 0;
	const int fd = memfd_create("kernel.json", 0);

	FUZZ_CHECK(text && fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (tcb_kernel_file_read(path, &file, &err) == TCB_OK)
		check_file(file);
	else
		FUZZ_CHECK(err.message[0]);
	tcb_kernel_file_destroy(file);
	if (tcb_kernel_file_values(text, &values, &count, &err) == TCB_OK) {
		FUZZ_CHECK(count >= 1);
		tcb_kernel_file_values_free(values, count);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	close(fd);
	free(text);
	return 0;
}
