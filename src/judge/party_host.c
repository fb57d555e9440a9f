/* SPDX-License-Identifier: MIT
 *
 * In: a shared object and questions; out: outputs.  Before the object is loaded,
 * whose constructors are the kernel's too, the process gives up whatever it does not need: files, environment,
 * rights, system calls.  Of the judge's memory it has none but code and what was there before anything was drawn.
 */
#include "judge/party_host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "device/cpus.h"
#include "judge/sandbox.h"
#include "kernelfile/file_c.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ALTERNATE_BYTES = 1 << 16, LOG_BYTES_MAX = 1 << 20 };

static struct tcb_party_page *noted;

/* --- what it dies of --- */

static void note_call(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	noted->forbidden = info->si_syscall;
	_exit(1);
}

static void note_fault(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	noted->fault = (uint64_t)(uintptr_t)info->si_addr; /* the handler is gone: it faults once more and dies */
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&action.sa_mask);
	(void)sigaction(number, &action, NULL);
}

static void set_signals(void)
{
	static char alternate[ALTERNATE_BYTES];
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)signal(SIGINT, SIG_IGN); /* the judge decides */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigaltstack(&stack, NULL);
	handle(SIGSYS, note_call, 0);
	handle(SIGSEGV, note_fault, SA_RESETHAND | SA_ONSTACK);
	handle(SIGBUS, note_fault, SA_RESETHAND | SA_ONSTACK);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* --- what it gives up --- */

static void pin(const struct tcb_party_start *how)
{
	const struct tcb_cpus *cpus = tcb_cpus_of(how->place);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; i < how->threads && i < cpus->count; i++)
		CPU_SET(cpus->list[i], &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

static void drop_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)syscall(SYS_capset, &head, none);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 }); /* core(5): 0 would allow one to a pipe */
	(void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){ LOG_BYTES_MAX, LOG_BYTES_MAX });
}

static void set_environment(unsigned threads)
{
	char count[16];

	snprintf(count, sizeof count, "%u", threads);
	(void)clearenv();
	(void)setenv("OMP_NUM_THREADS", count, 1);
	(void)!chdir("/");
}

static void close_files(void)
{
	const int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		(void)dup2(null, fd);
	(void)close_range(3, ~0u, 0);
}

static tcb_file_entry_fn *load(const struct tcb_party_process *process)
{
	void *library, *entry;

	if (tcb_sandbox_enter(TCB_SANDBOX_LOADING) != 0) {
		tcb_party_page_fail(process->page, TCB_PARTY_UNABLE,
				    "no filter of system calls can be set on this system");
		return NULL;
	}
	library = dlopen(process->how->object, RTLD_NOW | RTLD_LOCAL);
	entry = library ? dlsym(library, TCB_FILE_ENTRY) : NULL;
	if (!entry)
		tcb_party_page_fail(process->page, TCB_PARTY_REFUSED, "it cannot be loaded: %.200s", dlerror());
	(void)close_range(3, ~0u, 0); /* what constructors have opened */
	if (tcb_sandbox_enter(TCB_SANDBOX_RUNNING) != 0)
		return NULL;
	return (tcb_file_entry_fn *)(uintptr_t)entry;
}

/* --- answering --- */

static void set_operands(const struct tcb_party_process *process, size_t slot, void *operand[TCB_OPERANDS_MAX])
{
	const struct tcb_slots *slots = process->how->slots;

	for (size_t i = 0; i < slots->operand_count; i++) {
		const size_t first = tcb_slots_first(slots, slot, i);

		operand[i] = slots->operand[i].region == TCB_REGION_OUTPUTS
				     ? process->outputs + first
				     : (char *)(uintptr_t)process->inputs + first;
	}
}

static void look(const struct tcb_party_process *process, struct tcb_probe *probe)
{
	probe->seen_own = probe->seen_other = 0;
	memcpy(&probe->seen_own, process->outputs + probe->own, probe->bytes);
	memcpy(&probe->seen_other, process->outputs + probe->other, probe->bytes);
}

/* Every page of a slot's operands, so that its address is known to the processor, which a program that called the
 * kernel in its own process would have done before.  The line that was read leaves the caches again. */
static void touch(const struct tcb_party_process *process, size_t slot)
{
	const struct tcb_slots *slots = process->how->slots;
	static const size_t page_bytes = 4096;

	for (size_t i = 0; i < slots->operand_count; i++) {
		const char *region =
			slots->operand[i].region == TCB_REGION_OUTPUTS ? process->outputs : process->inputs;
		const char *from = region + tcb_slots_first(slots, slot, i);

		for (size_t b = 0; b < slots->operand[i].bytes; b += page_bytes) {
			(void)*(const volatile char *)(from + b);
			(void)tcb_slots_flush_line(from + b);
		}
	}
}

static void touch_all(const struct tcb_party_process *process)
{
	struct tcb_party_page *page = process->page;

	for (uint32_t i = 0; i < page->touched; i++)
		touch(process, page->slot[i]);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	page->started_ns = page->touched ? tcb_clock_ns() : 0;
}

static void call_all(const struct tcb_party_process *process, tcb_file_entry_fn *entry)
{
	struct tcb_party_page *page = process->page;
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	uint32_t next = 0;

	touch_all(process);
	for (uint32_t i = 0; i < page->count; i++) {
		set_operands(process, page->slot[i], operand);
		entry(operand, (int)process->how->threads);
		for (; next < page->probe_count && page->probe[next].call == i; next++)
			look(process, &page->probe[next]);
	}
}

static void make_ready(const struct tcb_party_process *process)
{
	const struct tcb_slots *slots = process->how->slots;
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	for (int kind = 0; kind < TCB_REGION_COUNT; kind++) {
		const size_t bytes = process->page->count * slots->stride[kind];
		const char *at = kind == TCB_REGION_OUTPUTS ? process->outputs : process->inputs;

		if (kind == TCB_REGION_OUTPUTS && madvise(process->outputs, bytes, MADV_POPULATE_WRITE) == 0)
			continue;
		for (size_t b = 0; b < bytes; b += page_bytes)
			(void)*(const volatile char *)(at + b);
	}
}

_Noreturn void tcb_party_host(const struct tcb_party_process *process)
{
	tcb_file_entry_fn *entry;
	unsigned asked = 0;

	noted = process->page;
	pin(process->how);
	set_environment(process->how->threads);
	close_files();
	drop_rights();
	set_signals();
	entry = load(process);
	if (!entry)
		_exit(0);
	tcb_party_page_set(process->page, TCB_PARTY_READY);
	for (;;) {
		asked = tcb_party_page_wait(process->page, asked);
		if (process->page->wish == TCB_WISH_CALLS)
			call_all(process, entry);
		else
			make_ready(process);
		tcb_party_page_answer(process->page, asked);
	}
}
