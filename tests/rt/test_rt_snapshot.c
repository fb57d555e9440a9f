/* SPDX-License-Identifier: MIT
 *
 * Snapshots: left, used, stale, damaged in every byte, raced, untrusted, out of
 * place and half written; an answer is never another one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "rt_fixture.h"

enum { ENTRIES = 260, FEW = 4 };

static struct fixture fixture, small;
static char snapshot[256];

/* Of a winner, by its number. */
static struct winner winner_of(size_t i)
{
	return (struct winner){ .n = 1024 + 8 * i, .k = 256, .ns = 1000 + (double)i, .midi_n = 4 << i % 2 };
}

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_init(&small);
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct winner winner = winner_of(i);

		fixture_put(&fixture, &winner);
		if (i < FEW)
			fixture_put(&small, &winner);
	}
	snprintf(snapshot, sizeof(snapshot), "%s.snapshot", fixture.path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	fixture_fini(&small);
	return 0;
}

static struct tcbrt_tuning ask(const struct tcbrt *rt, size_t n)
{
	const struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = n, .k = 256 };
	struct tcbrt_tuning tuning;

	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_true(tuning.reason[0] != 0);
	return tuning;
}

/* Every entry answers as it was put. */
static void assert_answers(const struct tcbrt *rt, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct tcbrt_tuning tuning = ask(rt, 1024 + 8 * i);

		assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
		assert_true(tuning.expected_ns == 1000 + (double)i);
		assert_int_equal(tuning.midi.n, 4 << i % 2);
		assert_int_equal(tuning.macro.n, 1024 + 8 * i);
	}
	assert_int_equal(ask(rt, 1028).source, TCBRT_SOURCE_NEAREST);
}

/* Opens; was it the snapshot that was used? */
static int open_and_check(void)
{
	struct tcbrt *rt = fixture_open(&fixture);
	const int is_mapped = rt->layers[0].is_mapped;

	assert_answers(rt, ENTRIES);
	tcbrt_close(rt);
	return is_mapped;
}

static void leave_snapshot(void)
{
	unlink(snapshot);
	fixture_settle(fixture.path);
	assert_false(open_and_check());
	assert_true(open_and_check());
}

static void test_left_and_used(void **state)
{
	(void)state;
	leave_snapshot();
	unlink(snapshot);
	assert_false(open_and_check());
	assert_true(open_and_check());
	/* Of few entries none is left. */
	tcbrt_close(fixture_open(&small));
	char path[256];
	snprintf(path, sizeof(path), "%s.snapshot", small.path);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_stale(void **state)
{
	struct winner other = winner_of(7);
	struct tcbrt *rt;

	(void)state;
	leave_snapshot();
	other.ns = 7;
	fixture_put(&fixture, &other);
	for (int again = 0; again < 2; again++) {
		/* Just written: neither is the old one used nor a new one left. */
		rt = fixture_open(&fixture);
		assert_false(rt->layers[0].is_mapped);
		assert_true(ask(rt, 1024 + 8 * 7).expected_ns == 7);
		tcbrt_close(rt);
	}
	fixture_settle(fixture.path);
	other.ns = 1007;
	fixture_put(&fixture, &other);
	assert_false(open_and_check());
	fixture_settle(fixture.path);
	assert_false(open_and_check());
	assert_true(open_and_check());
}

/* Another library, another host. */
static void test_foreign(void **state)
{
	struct rt_image_header header;
	struct tcb_db_stamp stamp;
	struct rt_layer layer = { .is_system = 0 };
	int fd;

	(void)state;
	leave_snapshot();
	fd = open(snapshot, O_RDONLY);
	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
	assert_int_equal(tcb_db_stamp_take(fixture.path, &stamp, NULL), 0);
	rt_snapshot_load(fixture.path, &stamp, header.library + 1, &layer);
	assert_null(layer.memory);
	rt_snapshot_load(fixture.path, &stamp, header.library, &layer);
	assert_non_null(layer.memory);
	rt_layer_fini(&layer);
	assert_int_equal(chmod(snapshot, 0666), 0);
	assert_false(open_and_check());
	assert_true(open_and_check()); /* written again */
}

static unsigned char *read_snapshot(size_t *bytes_out)
{
	struct stat info;
	unsigned char *bytes;
	int fd = open(snapshot, O_RDONLY);

	assert_int_equal(fstat(fd, &info), 0);
	*bytes_out = (size_t)info.st_size;
	bytes = malloc(*bytes_out);
	assert_int_equal(read(fd, bytes, *bytes_out), info.st_size);
	close(fd);
	return bytes;
}

static void write_snapshot(const unsigned char *bytes, size_t count)
{
	int fd;

	unlink(snapshot);
	fd = open(snapshot, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, bytes, count), count);
	close(fd);
}

/* As files: some bytes changed, and cut off; what is refused is made again. */
static void test_damaged_files(void **state)
{
	size_t bytes;
	unsigned char *whole;

	(void)state;
	leave_snapshot();
	whole = read_snapshot(&bytes);
	for (size_t i = 0; i < 24; i++) {
		const size_t at = bytes * i / 24;

		whole[at] ^= 0x10;
		write_snapshot(whole, bytes);
		whole[at] ^= 0x10;
		open_and_check();
		write_snapshot(whole, at);
		assert_false(open_and_check());
		assert_true(open_and_check());
	}
	free(whole);
}

/* The image of the small database, whose entries nobody looked at, in a handle of its own. */
static struct tcbrt *open_image(const unsigned char *bytes, size_t count)
{
	struct rt_layer layer = { .path = "image" };
	struct tcbrt *rt;

	layer.memory = aligned_alloc(64, (count + 63) / 64 * 64);
	memcpy(layer.memory, bytes, count);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	if (rt_image_open(layer.memory, count, &layer.image) == 0) {
		assert_int_equal(rt_layer_add(rt, &layer, NULL), TCB_OK);
		return rt;
	}
	free(layer.memory);
	tcbrt_close(rt);
	return NULL;
}

static int has_no_wrong_name(void *ctx, const struct tcbrt_entry *entry)
{
	(void)ctx;
	assert_true(strcmp(entry->op, "fake_matvec") == 0 || (entry->refused && !entry->op[0]));
	return 0;
}

/* Each byte of a small image: refused as a whole, or one entry is, and the reason says so. */
static void test_every_byte(void **state)
{
	struct tcbrt *rt = fixture_open(&small);
	const unsigned char *image = rt->layers[0].image.bytes;
	const size_t count = (size_t)rt->layers[0].image.header->bytes;
	unsigned char *bytes = malloc(count);
	size_t refused = 0, damaged = 0, alike = 0;

	(void)state;
	memcpy(bytes, image, count);
	for (size_t at = 0; at < count; at++) {
		struct tcbrt *other;
		size_t exact = 0, said = 0;

		bytes[at] ^= (unsigned char)(1u << at % 8);
		other = open_image(bytes, count);
		bytes[at] ^= (unsigned char)(1u << at % 8);
		refused += !other;
		for (size_t i = 0; other && i < FEW; i++) {
			const struct tcbrt_tuning want = ask(rt, 1024 + 8 * i), got = ask(other, 1024 + 8 * i);

			said += strstr(got.reason, "snapshot is damaged") != NULL;
			if (got.source != TCBRT_SOURCE_EXACT)
				continue;
			exact++;
			assert_string_equal(got.geometry, want.geometry);
			assert_true(got.expected_ns == want.expected_ns && got.macro.n == want.macro.n);
		}
		assert_true(!other || exact + said >= FEW);
		alike += exact == FEW;
		damaged += exact == FEW - 1;
		if (other)
			tcbrt_each(other, has_no_wrong_name, NULL);
		tcbrt_close(other);
	}
	assert_int_equal(refused + damaged + alike, count);
	/* What lies between the sections is nobody's, and there are no refusals of GPUs' kernels to be damaged. */
	assert_true(refused > 200 && damaged > FEW * sizeof(struct rt_entry) && alike < 256);
	for (size_t cut = 0; cut < count; cut++)
		assert_null(open_image(bytes, cut));
	free(bytes);
	tcbrt_close(rt);
}

/* Opens and asks for a GPU's winner; IS_KEPT: the refusal about its kernel was there. */
static void ask_gpu(int is_kept)
{
	const struct tcbrt_query query = { .op = "fake_matvec", .device = FIXTURE_GPU, .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt *rt = fixture_open(&fixture);
	const struct rt_layer *layer = &rt->layers[0];
	struct tcbrt_tuning tuning;

	assert_true(layer->is_mapped && layer->snapshot[0]);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(layer->kept != NULL, is_kept);
	assert_int_equal(rt_mark(layer, RT_HAS_NEWS), !is_kept);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	tcbrt_close(rt);
}

/* A byte of the section of refusals in the file. */
static void change_kept(size_t offset)
{
	struct rt_image_header header;
	const int fd = open(snapshot, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	offset += (size_t)header.section[RT_REFUSALS].offset;
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	close(fd);
}

/* A refusal about a GPU's kernel serves the next process, but not if it is another build's or damaged. */
static void test_verdicts_are_kept(void **state)
{
	const struct winner winner = { .n = 4096,
				       .k = 4096,
				       .gpu = "sm_90",
				       .geometry = "macro=1x4096x4096,midi=1x64x4096,micro=1x1x256,isa=fma,warps=8" };

	(void)state;
	fixture_put(&fixture, &winner);
	unlink(snapshot);
	fixture_settle(fixture.path);
	tcbrt_close(fixture_open(&fixture));
	ask_gpu(0);
	ask_gpu(1);
	for (size_t at = 0; at < sizeof(struct rt_kept) + 2; at += at < sizeof(struct rt_kept) ? 8 : 1) {
		change_kept(at); /* the build's stamp, the checksum, refusals */
		ask_gpu(0);
		ask_gpu(1);
	}
}

/* What lies in the snapshot's place and is not a file is not waited for, and a snapshot takes its place. */
static void test_not_a_file(void **state)
{
	static const mode_t kinds[] = { S_IFIFO, S_IFSOCK, S_IFCHR };
	struct stat info;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unlink(snapshot);
		if (mknod(snapshot, kinds[i] | 0600, makedev(1, 5)) != 0) { /* only root makes devices */
			assert_int_equal(kinds[i], S_IFCHR);
			continue;
		}
		fixture_settle(fixture.path);
		tcbrt_close(fixture_open(&fixture));
		assert_int_equal(lstat(snapshot, &info), 0);
		assert_true(S_ISREG(info.st_mode));
	}
}

/* Files that a killed writer left are removed when they are old. */
static void test_abandoned_files(void **state)
{
	static const char *const endings[] = { ".aBcD12", ".aBcD13", ".kept", "" };
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	char path[4][300];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		snprintf(path[i], sizeof(path[i]), "%s%s", snapshot, endings[i]);
		close(open(path[i], O_CREAT | O_WRONLY, 0600));
		if (i != 1)
			utimensat(AT_FDCWD, path[i], old, 0);
	}
	leave_snapshot();
	assert_int_equal(access(path[0], F_OK), -1);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(unlink(path[i]), 0);
}

/* Where it cannot lie beside the database it lies in the cache folder. */
static void test_cache_folder(void **state)
{
	char cache[200], inner[220], file[512];
	DIR *folder;
	size_t found = 0;

	(void)state;
	snprintf(cache, sizeof(cache), "%s/cache", fixture.folder);
	snprintf(inner, sizeof(inner), "%s/tcbtune", cache);
	setenv("XDG_CACHE_HOME", cache, 1);
	unlink(snapshot);
	assert_int_equal(mkdir(snapshot, 0700), 0);
	fixture_settle(fixture.path);
	assert_false(open_and_check());
	assert_true(open_and_check());
	folder = opendir(inner);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		found++;
		assert_non_null(strstr(entry->d_name, ".snapshot"));
		snprintf(file, sizeof(file), "%s/%s", inner, entry->d_name);
		unlink(file);
	}
	closedir(folder);
	assert_int_equal(found, 1);
	/* Nor there: it is gone without. */
	rmdir(inner);
	close(open(inner, O_CREAT | O_WRONLY, 0600));
	assert_false(open_and_check());
	assert_false(open_and_check());
	unlink(inner);
	rmdir(cache);
	rmdir(snapshot);
	unsetenv("XDG_CACHE_HOME");
}

/* Processes that are killed while they write leave a whole one or none. */
static void test_killed(void **state)
{
	(void)state;
	leave_snapshot();
	for (unsigned round = 0; round < 12; round++) {
		pid_t child;

		unlink(snapshot);
		child = fork();
		if (child == 0) {
			/* After so much time of its own, whatever else the machine does. */
			setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_usec = 2000 + 1700 * round }, NULL);
			for (;;) {
				tcbrt_close(fixture_open(&fixture));
				unlink(snapshot);
			}
		}
		waitpid(child, NULL, 0);
		if (access(snapshot, F_OK) == 0)
			assert_true(open_and_check());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_and_used), cmocka_unit_test(test_stale),
		cmocka_unit_test(test_foreign),       cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_every_byte),    cmocka_unit_test(test_cache_folder),
		cmocka_unit_test(test_killed),        cmocka_unit_test(test_abandoned_files),
		cmocka_unit_test(test_not_a_file),    cmocka_unit_test(test_verdicts_are_kept),
	};
	return cmocka_run_group_tests_name("rt.rt_snapshot", tests, setup, teardown);
}
