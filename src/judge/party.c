/* SPDX-License-Identifier: MIT
 *
 * The judge's side of a party: its process is forked, asked, timed, stopped, and its
 * death put into words.
 */
#include "judge/party.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"
#include "judge/party_gpu.h"
#include "judge/party_host.h"
#include "judge/sandbox.h"

enum { LOOK_MS = 20 };

/* --- its process --- */

_Noreturn static void begin(const struct tcb_party_start *how, const struct tcb_party *party, pid_t judge)
{
	struct tcb_party_process process = { .how = how };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != judge)
		_exit(1);
	(void)prctl(PR_SET_NAME, "tcb-judged");
	process.page = tcb_region_map(&party->page_region, 1);
	process.inputs = tcb_region_map(how->inputs, 0);
	process.outputs = tcb_region_map(&party->outputs, 1);
	if (!process.page)
		_exit(1);
	if (!process.inputs || !process.outputs) {
		tcb_party_page_fail(process.page, TCB_PARTY_UNABLE, "its memory cannot be had");
		_exit(0);
	}
	process.page->region[TCB_REGION_INPUTS] = (uint64_t)(uintptr_t)process.inputs;
	process.page->region[TCB_REGION_OUTPUTS] = (uint64_t)(uintptr_t)process.outputs;
	if (party->is_host)
		tcb_party_host(&process);
	tcb_party_gpu(&process);
}

enum tcb_status tcb_party_start(const struct tcb_party_start *how, struct tcb_party *party, struct tcb_error *err)
{
	const pid_t judge = getpid();

	*party = (struct tcb_party){ .is_host = how->object != NULL, .inputs_bytes = how->inputs->bytes };
	TCB_TRY(tcb_region_create(tcb_slots_bytes(how->slots, TCB_REGION_OUTPUTS), &party->outputs, err));
	TCB_TRY(tcb_region_create(sizeof *party->page, &party->page_region, err));
	party->page = (struct tcb_party_page *)(void *)party->page_region.at;
	party->page->forbidden = party->page->damaged = party->page->written = -1;
	party->pid = fork();
	if (party->pid == 0)
		begin(how, party, judge);
	if (party->pid > 0)
		return TCB_OK;
	party->pid = 0;
	return tcb_fail(err, TCB_E_FAILED, "cannot start a process (%s): close other programs", strerror(errno));
}

void tcb_party_stop(struct tcb_party *party)
{
	int status;

	if (party->pid) {
		(void)kill(party->pid, SIGKILL);
		while (waitpid(party->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	tcb_region_destroy(&party->outputs);
	tcb_region_destroy(&party->page_region);
	memset(party, 0, sizeof *party);
}

/* --- its end --- */

/* What it has done that faulted at ADDRESS; NULL: it is in no memory that it was given. */
static const char *misuse(const struct tcb_party *party, uint64_t address)
{
	const struct tcb_party_page *page = party->page;

	if (address - page->region[TCB_REGION_INPUTS] < party->inputs_bytes)
		return "it writes to an input";
	if (address - page->region[TCB_REGION_OUTPUTS] < party->outputs.bytes)
		return "it uses its outputs' memory in another way";
	return NULL;
}

static void tell_death(struct tcb_party *party, int status, struct tcb_party_end *end)
{
	const int forbidden = party->page->forbidden;
	char how[64];

	tcb_program_describe_exit(status, how);
	party->pid = 0;
	end->how = TCB_PARTY_DIED;
	end->is_forbidden = 1;
	if (forbidden >= 0)
		snprintf(end->what, sizeof end->what, "it %s (system call %d)", tcb_sandbox_tells(forbidden),
			 forbidden);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		snprintf(end->what, sizeof end->what, "it asks the system for what no kernel needs");
	else if (WIFEXITED(status))
		snprintf(end->what, sizeof end->what, "its process %s in the middle of a call", how);
	else {
		end->is_forbidden = 0;
		snprintf(end->what, sizeof end->what, "its process %s", how);
	}
	const char *what = party->page->fault ? misuse(party, party->page->fault) : NULL;

	if (what) {
		end->is_forbidden = 1;
		snprintf(end->what, sizeof end->what, "%s: its process %s", what, how);
	}
}

/* Has it died? */
static int is_dead(struct tcb_party *party, struct tcb_party_end *end)
{
	int status = 0;
	const pid_t got = waitpid(party->pid, &status, WNOHANG);

	if (got == 0)
		return 0;
	tell_death(party, got == party->pid ? status : 0, end);
	return 1;
}

/* Stops it, all its threads; -1: it has died. */
static int stop(struct tcb_party *party, struct tcb_party_end *end)
{
	int status = 0;
	pid_t got;

	if (!party->is_host)
		return 0;
	(void)kill(party->pid, SIGSTOP);
	do
		got = waitpid(party->pid, &status, WUNTRACED);
	while (got < 0 && errno == EINTR);
	if (got == party->pid && WIFSTOPPED(status))
		return 0;
	tell_death(party, status, end);
	return -1;
}

static int has_hung(struct tcb_party *party, double seconds, struct tcb_party_end *end)
{
	*end = (struct tcb_party_end){ .how = TCB_PARTY_HUNG };
	snprintf(end->what, sizeof end->what, "it has not returned within %.3g s", seconds);
	(void)stop(party, &(struct tcb_party_end){ .how = TCB_PARTY_HUNG });
	return -1;
}

/* --- questions --- */

int tcb_party_ready(struct tcb_party *party, double seconds, struct tcb_party_end *end)
{
	const uint64_t deadline = tcb_program_deadline(seconds);

	*end = (struct tcb_party_end){ .how = TCB_PARTY_ANSWERED };
	while (atomic_load(&party->page->state) == TCB_PARTY_STARTING) {
		tcb_party_page_sleep(&party->page->state, TCB_PARTY_STARTING, LOOK_MS);
		if (atomic_load(&party->page->state) == TCB_PARTY_STARTING && is_dead(party, end))
			return -1;
		if (tcb_clock_ns() > deadline)
			return has_hung(party, seconds, end);
	}
	const unsigned state = atomic_load(&party->page->state);

	if (state == TCB_PARTY_READY)
		return stop(party, end);
	end->how = state == TCB_PARTY_REFUSED ? TCB_PARTY_NOT_LOADED : TCB_PARTY_NOT_STARTED;
	snprintf(end->what, sizeof end->what, "%.*s", (int)sizeof end->what - 1, party->page->words);
	return -1;
}

int tcb_party_ask(struct tcb_party *party, enum tcb_party_wish wish, double seconds, double *ns_out,
		  struct tcb_party_end *end)
{
	struct tcb_party_page *page = party->page;
	const unsigned asked = atomic_load(&page->asked) + 1;
	const uint64_t deadline = tcb_program_deadline(seconds);
	uint64_t now = tcb_clock_ns();
	const uint64_t start = now;

	*end = (struct tcb_party_end){ .how = TCB_PARTY_ANSWERED };
	page->wish = wish;
	page->words[0] = '\0';
	atomic_store(&page->asked, asked);
	if (party->is_host)
		(void)kill(party->pid, SIGCONT);
	tcb_party_page_wake(&page->asked);
	for (unsigned answered; (answered = atomic_load(&page->answered)) != asked;) {
		tcb_party_page_sleep(&page->answered, answered, LOOK_MS);
		now = tcb_clock_ns();
		if (atomic_load(&page->answered) == asked)
			break;
		if (is_dead(party, end))
			return -1;
		if (now > deadline)
			return has_hung(party, seconds, end);
	}
	now = tcb_clock_ns();
	*ns_out = (double)(now - start);
	const uint64_t started = page->started_ns;

	party->start_ns = started > start && started < now ? (double)(started - start) : 0;
	return stop(party, end);
}

/* --- its figures --- */

unsigned tcb_party_threads(const struct tcb_party *party)
{
	char path[48];
	unsigned count = 0;
	DIR *folder;
	const struct dirent *entry;

	snprintf(path, sizeof path, "/proc/%d/task", (int)party->pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) != NULL)
		count += *entry->d_name != '.';
	if (folder)
		closedir(folder);
	return count;
}

double tcb_party_cpu_ns(const struct tcb_party *party)
{
	clockid_t clock;
	struct timespec used = { .tv_sec = 0 };

	if (clock_getcpuclockid(party->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return 1e9 * (double)used.tv_sec + (double)used.tv_nsec;
}
