/* SPDX-License-Identifier: MIT
 *
 * One table for the process, in the order of the claims' hashes.  A file is a
 * head and the table; a claim's lowest bit is the answer.  64 bits are enough
 * for the tens of thousands that it may have.
 */
#include "kernels/judged.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/util.h"

enum { CLAIMS_MAX = 1 << 16, PATH_ROOM = 1024 };
static const uint64_t MAGIC = 0x3164656764756a74; /* "tjudged1" */
static const uint64_t ANSWER = 1;

struct head {
	uint64_t magic, code, count, checksum; /* of the claims */
};

static struct {
	pthread_mutex_t lock;
	uint64_t code; /* 0: nothing is remembered */
	uint64_t *claims;
	size_t count, room, unsaved;
} judged = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Where CLAIM is, or would be. */
static size_t find_place(uint64_t claim)
{
	size_t low = 0, high = judged.count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if ((judged.claims[middle] | ANSWER) < (claim | ANSWER))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int is_at(size_t place, uint64_t claim)
{
	return place < judged.count && (judged.claims[place] | ANSWER) == (claim | ANSWER);
}

/* 1: it was not there. */
static int insert(uint64_t claim)
{
	const size_t place = find_place(claim);

	if (is_at(place, claim) || judged.count == CLAIMS_MAX)
		return 0;
	if (judged.count == judged.room) {
		const size_t room = judged.room ? 2 * judged.room : 256;
		uint64_t *grown = realloc(judged.claims, room * sizeof *grown);
		if (!grown)
			return 0;
		judged.claims = grown;
		judged.room = room;
	}
	memmove(judged.claims + place + 1, judged.claims + place, (judged.count - place) * sizeof *judged.claims);
	judged.claims[place] = claim;
	judged.count++;
	return 1;
}

static void forget(uint64_t code)
{
	pthread_mutex_lock(&judged.lock);
	free(judged.claims);
	judged.claims = NULL;
	judged.count = judged.room = judged.unsaved = 0;
	judged.code = code;
	pthread_mutex_unlock(&judged.lock);
}

void tcb_judged_begin(uint64_t code)
{
	pthread_mutex_lock(&judged.lock);
	const int is_same = judged.code == code;
	pthread_mutex_unlock(&judged.lock);
	if (!is_same)
		forget(code);
}

void tcb_judged_end(void)
{
	forget(0);
}

/* --- files --- */

static int is_trusted(int fd, off_t *bytes_out)
{
	struct stat info;

	if (fstat(fd, &info) != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) ||
	    (info.st_uid != geteuid() && info.st_uid != 0))
		return 0;
	*bytes_out = info.st_size;
	return 1;
}

static int read_all(int fd, void *out, size_t bytes)
{
	char *at = out;

	while (bytes) {
		const ssize_t got = read(fd, at, bytes);
		if (got <= 0)
			return -1;
		at += got;
		bytes -= (size_t)got;
	}
	return 0;
}

static int write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		const ssize_t put = write(fd, at, bytes);
		if (put <= 0)
			return -1;
		at += put;
		bytes -= (size_t)put;
	}
	return 0;
}

static void take(const struct head *head, const uint64_t *claims)
{
	if (tcb_hash64(claims, head->count * sizeof *claims, head->code) != head->checksum)
		return;
	pthread_mutex_lock(&judged.lock);
	for (size_t i = 0; head->code == judged.code && i < head->count; i++)
		insert(claims[i]);
	pthread_mutex_unlock(&judged.lock);
}

void tcb_judged_read(const char *path)
{
	const int fd = tcb_file_open_regular(path, O_RDONLY | O_NOFOLLOW);
	struct head head;
	off_t bytes = 0;
	uint64_t *claims = NULL;

	if (fd < 0)
		return;
	if (is_trusted(fd, &bytes) && read_all(fd, &head, sizeof head) == 0 && head.magic == MAGIC && head.code &&
	    head.count <= CLAIMS_MAX && (uint64_t)bytes == sizeof head + head.count * sizeof *claims)
		claims = malloc((head.count + 1) * sizeof *claims);
	if (claims && read_all(fd, claims, head.count * sizeof *claims) == 0)
		take(&head, claims);
	free(claims);
	close(fd);
}

static int put(int fd)
{
	const struct head head = { MAGIC, judged.code, judged.count,
				   tcb_hash64(judged.claims, judged.count * sizeof *judged.claims, judged.code) };

	return write_all(fd, &head, sizeof head) || write_all(fd, judged.claims, judged.count * sizeof *judged.claims);
}

void tcb_judged_write(const char *path)
{
	char other[PATH_ROOM];
	int fd;

	pthread_mutex_lock(&judged.lock);
	if (judged.code && judged.unsaved && snprintf(other, sizeof other, "%s.XXXXXX", path) < PATH_ROOM &&
	    (fd = mkstemp(other)) >= 0) {
		const int failed = put(fd);
		if (close(fd) || failed || rename(other, path))
			unlink(other);
		else
			judged.unsaved = 0;
	}
	pthread_mutex_unlock(&judged.lock);
}

/* --- claims --- */

uint64_t tcb_judged_claim(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, const char *signature)
{
	const uint64_t numbers[] = { problem->contract,
				     target->kind,
				     target->isa_mask,
				     target->cuda.capability,
				     target->cuda.sm_count,
				     target->cuda.shared_optin_bytes,
				     target->l2_bytes,
				     target->cuda.warp_threads,
				     target->cuda.block_threads_max,
				     target->cuda.thread_registers_max,
				     target->cuda.block_registers_max };
	const uint64_t none = 0;
	char shape[TCB_SHAPE_TEXT_MAX];
	uint64_t hash = tcb_hash64(problem->op_name, strlen(problem->op_name), 0);

	hash = tcb_hash64(problem->op ? &problem->op->source : &none, sizeof none, hash);
	tcb_shape_print(&problem->shape, shape);
	hash = tcb_hash64(shape, strlen(shape), hash);
	hash = tcb_hash64(numbers, sizeof numbers, hash);
	hash = tcb_hash64(geometry->tile, sizeof geometry->tile, hash);
	hash = tcb_hash64(geometry->knob, sizeof geometry->knob, hash);
	return tcb_hash64(signature, strlen(signature), hash);
}

enum tcb_judgement tcb_judged_find(uint64_t claim)
{
	enum tcb_judgement found = TCB_JUDGED_NOT;
	size_t place;

	pthread_mutex_lock(&judged.lock);
	place = find_place(claim);
	if (is_at(place, claim))
		found = judged.claims[place] & ANSWER ? TCB_JUDGED_CURRENT : TCB_JUDGED_OTHER;
	pthread_mutex_unlock(&judged.lock);
	return found;
}

void tcb_judged_add(uint64_t claim, int is_current)
{
	pthread_mutex_lock(&judged.lock);
	if (judged.code)
		judged.unsaved += (size_t)insert((claim & ~ANSWER) | (is_current ? ANSWER : 0));
	pthread_mutex_unlock(&judged.lock);
}
