/* SPDX-License-Identifier: MIT
 *
 * What the fuzz targets share: the entry point's prototype and a check that is
 * never compiled out.
 */
#ifndef TCB_TESTS_FUZZ_H
#define TCB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define FUZZ_CHECK(condition)                                                                         \
	do {                                                                                          \
		if (!(condition)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			abort();                                                                      \
		}                                                                                     \
	} while (0)

#endif
