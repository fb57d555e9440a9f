/* SPDX-License-Identifier: MIT
 *
 * In: a file of raw bytes or of NumPy's format 1 to 3.  Out: its elements, if
 * they are as many and of the type that the caller wants.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/run/run.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6, PREFIX_BYTES = 12, NPY_TYPE_MAX = 16 };

/* '<f4'; types that NumPy lacks are the bits that hold them. */
static void npy_type(enum tcb_ptx_word type, char out[NPY_TYPE_MAX])
{
	char letter = 'u';

	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT)
		letter = 'i';
	else if (type == TCB_PTX_F16 || type == TCB_PTX_F32 || type == TCB_PTX_F64)
		letter = 'f';
	snprintf(out, NPY_TYPE_MAX, "%c%c%u", tcb_ptx_type_bits(type) == 8 ? '|' : '<', letter,
		 tcb_ptx_type_bits(type) / 8);
}

void tcb_ptx_npy_head(const struct tcb_ptx_argument *argument, char out[TCB_PTX_NPY_MAX], size_t *length_out)
{
	enum { FIRST = 10 };
	char type[NPY_TYPE_MAX];
	int used;

	npy_type(argument->type, type);
	used = snprintf(out + FIRST, TCB_PTX_NPY_MAX - FIRST, "{'descr': '%s', 'fortran_order': False, 'shape': (",
			type);
	for (unsigned i = 0; i < argument->rank; i++)
		used += snprintf(out + FIRST + used, (size_t)(TCB_PTX_NPY_MAX - FIRST - used), "%llu,",
				 (unsigned long long)argument->extent[i]);
	used += snprintf(out + FIRST + used, (size_t)(TCB_PTX_NPY_MAX - FIRST - used), "), }");
	while ((FIRST + used + 1) % 64)
		out[FIRST + used++] = ' ';
	out[FIRST + used++] = '\n';
	memcpy(out, magic, MAGIC_BYTES);
	out[6] = 1;
	out[7] = 0;
	out[8] = (char)(used & 0xff);
	out[9] = (char)(used >> 8);
	*length_out = (size_t)(FIRST + used);
}

/* Skips the head of a .npy whose first bytes are PREFIX; its type must be TYPE's. */
static enum tcb_status skip_head(FILE *file, const char *path, const unsigned char *prefix, enum tcb_ptx_word type,
				 struct tcb_error *err)
{
	const size_t first = prefix[6] == 1 ? 10 : 12;
	const size_t length =
		first == 10 ? prefix[8] | (size_t)prefix[9] << 8
			    : prefix[8] | (size_t)prefix[9] << 8 | (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
	char head[512], wanted[NPY_TYPE_MAX];
	const char *at, *quote;

	if (length >= sizeof head || fseek(file, (long)first, SEEK_SET) != 0 || fread(head, 1, length, file) != length)
		return tcb_fail(err, TCB_E_FORMAT, "%s: the head of this .npy is cut off or too long", path);
	head[length] = '\0';
	npy_type(type, wanted);
	at = strstr(head, "'descr': '");
	quote = at ? strchr(at + 10, '\'') : NULL;
	if (!quote || strstr(head, "'fortran_order': True"))
		return tcb_fail(err, TCB_E_FORMAT, "%s: only arrays of numbers in C's order can be read", path);
	at += 10;
	if ((size_t)(quote - at) != strlen(wanted) || strncmp(at + 1, wanted + 1, strlen(wanted) - 1) != 0 ||
	    *at == '>')
		return tcb_fail(err, TCB_E_USAGE, "%s holds '%.*s', and .%s is '%s'", path, (int)(quote - at), at,
				tcb_ptx_word_text(type), wanted);
	return TCB_OK;
}

enum tcb_status tcb_ptx_elements_read(const char *path, enum tcb_ptx_word type, uint64_t count, uint8_t *data,
				      struct tcb_error *err)
{
	const size_t bytes = count * (tcb_ptx_type_bits(type) / 8);
	unsigned char prefix[PREFIX_BYTES] = { 0 };
	enum tcb_status status = TCB_OK;
	FILE *file = fopen(path, "rbe");
	size_t got;

	if (!file)
		return tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(errno));
	got = fread(prefix, 1, sizeof prefix, file);
	if (got == sizeof prefix && memcmp(prefix, magic, MAGIC_BYTES) == 0)
		status = skip_head(file, path, prefix, type, err);
	else
		rewind(file);
	if (status == TCB_OK) {
		got = fread(data, 1, bytes, file);
		if (ferror(file))
			status = tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(errno));
		else if (got != bytes || getc(file) != EOF)
			status = tcb_fail(err, TCB_E_USAGE, "%s has %s than the %zu bytes of %llu .%s", path,
					  got != bytes ? "less" : "more", bytes, (unsigned long long)count,
					  tcb_ptx_word_text(type));
	}
	fclose(file);
	return status;
}
