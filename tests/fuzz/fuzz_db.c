/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a database: opening, checking, reading winners and trials end
 * with a status and a line that names the file.
 */
#include "db/db.h"

#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static int see_best(void *ctx, const struct tcb_best *best)
{
	(void)ctx;
	FUZZ_CHECK(memchr(best->geometry, '\0', sizeof(best->geometry)));
	FUZZ_CHECK(best->state < TCB_STATE_COUNT && best->problem.contract < TCB_CONTRACT_COUNT);
	return 0;
}

static void read_everything(struct tcb_db *db)
{
	struct tcb_device device = { .name = "cpu", .key = "0123456789abcdef", .target = { .threads = 2 } };
	struct tcb_problem problem = { .op_name = "q4k_matvec",
				       .contract = TCB_CONTRACT_Q8,
				       .shape = { 1, 4096, 4096 } };
	struct tcb_trial *trials;
	struct tcb_db_info info;
	size_t count;

	tcb_db_info(db, &info, NULL);
	tcb_db_check(db, NULL, NULL, NULL);
	tcb_db_best_each(db, NULL, see_best, NULL, NULL);
	if (tcb_db_trials(db, &device, &problem, 0, &trials, &count, NULL) == TCB_OK)
		tcb_db_trials_free(trials, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char path[] = "/tmp/tcbtune-fuzz-XXXXXX";
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_db *db;
	int fd = mkstemp(path);

	FUZZ_CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
	close(fd);
	if (tcb_db_open(path, TCB_DB_READ, &db, &err) == TCB_OK) {
		read_everything(db);
		tcb_db_close(db);
	} else {
		FUZZ_CHECK(strstr(err.message, path));
	}
	for (size_t i = 0; i < 3; i++) {
		char name[sizeof(path) + 8];

		snprintf(name, sizeof(name), "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
		unlink(name);
	}
	return 0;
}
