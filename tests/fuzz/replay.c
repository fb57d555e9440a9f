/* SPDX-License-Identifier: MIT
 *
 * Runs a fuzz target once over each file of a corpus folder, so that the
 * corpus is a test under any compiler.  A missing or empty folder fails.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { FILE_BYTES_MAX = 1 << 20 };

int main(int argc, char **argv)
{
	static uint8_t buffer[FILE_BYTES_MAX];
	size_t replayed = 0;
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	if (!folder) {
		fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
		return 2;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		char path[4096];
		struct stat info;
		snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
		if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
			continue;
		FILE *file = fopen(path, "rb");
		if (!file || info.st_size > FILE_BYTES_MAX) {
			fprintf(stderr, "cannot read %s\n", path);
			return 1;
		}
		size_t bytes = fread(buffer, 1, sizeof buffer, file);
		fclose(file);
		/* A heap copy of the exact size: the address sanitizer sees a read past its end. */
		uint8_t *copy = malloc(bytes + !bytes);
		FUZZ_CHECK(copy);
		for (size_t i = 0; i < bytes; i++)
			copy[i] = buffer[i];
		printf("%s\n", entry->d_name);
		fflush(stdout); /* the last name printed is the one that crashed */
		LLVMFuzzerTestOneInput(copy, bytes);
		free(copy);
		replayed++;
	}
	closedir(folder);
	printf("%zu inputs\n", replayed);
	return replayed ? 0 : 1;
}
