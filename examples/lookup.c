/* SPDX-License-Identifier: MIT
 *
 * Fetches the tuned geometry of one shape at run time and prints it.
 *
 *     lookup [DATABASE [OP [N [K]]]]        (an empty DATABASE means the default one)
 *
 * Build it with CMake (CMakeLists.txt beside it) or with pkg-config:
 *
 *     cc lookup.c $(pkg-config --cflags --libs tcbrt) -o lookup
 */
#include <stdio.h>
#include <stdlib.h>

#include <tcbrt.h>

int main(int argc, char **argv)
{
	struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_tuning tuning;
	struct tcbrt_error err;
	struct tcbrt *rt;
	int code;

	if (tcbrt_open(argc > 1 && *argv[1] ? argv[1] : NULL, &rt, &err) != TCBRT_OK) {
		/* A program that can do without tuning goes on with the defaults. */
		fprintf(stderr, "%s\nusing the default geometries\n", err.message);
		if (tcbrt_open_empty(&rt, &err) != TCBRT_OK) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
	}
	if (argc > 2)
		query.op = argv[2];
	if (argc > 3)
		query.n = strtoull(argv[3], NULL, 10);
	if (argc > 4)
		query.k = strtoull(argv[4], NULL, 10);

	code = tcbrt_lookup(rt, &query, &tuning);
	tcbrt_close(rt);
	if (code != TCBRT_OK) {
		fprintf(stderr, "%s\n", tuning.reason);
		return 1;
	}
	printf("source    %s (%s)\n", tcbrt_source_text(tuning.source), tuning.reason);
	printf("geometry  %s\n", tuning.geometry);
	printf("kernel    %s on %u threads\n", tuning.variant, tuning.threads);
	printf("a task    %zu rows of %zu values\n", tuning.midi.n, tuning.midi.k);
	printf("prefetch  %d bytes ahead, isa %s\n", tcbrt_knob(&tuning, "prefetch"), tcbrt_knob_word(&tuning, "isa"));
	if (tuning.source == TCBRT_SOURCE_EXACT)
		printf("time      %.0f ns, %.2f x the default\n", tuning.expected_ns, tuning.speedup);
	return 0;
}
