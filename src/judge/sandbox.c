/* SPDX-License-Identifier: MIT
 *
 * Filters of system calls, as programs of classic BPF.  What is allowed is a list: a
 * call that nobody thought of is refused.
 */
#include "judge/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
enum { FIRST_FOREIGN = 0x40000000 }; /* numbers of the x32 interface */
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
enum { FIRST_FOREIGN = 0x7fffffff };
#endif

/* Memory, threads, time, standard streams. */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_writev,
	SYS_pread64,
	SYS_lseek,
	SYS_close,
	SYS_fstat,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_membarrier,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_getparam,
	SYS_sched_getscheduler,
	SYS_getcpu,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_getrusage,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_restart_syscall,
	SYS_sigaltstack,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_exit,
	SYS_exit_group,
	SYS_sysinfo,
	SYS_uname,
#if defined(__x86_64__)
	SYS_arch_prctl,
	SYS_time,
	SYS_getrlimit,
	SYS_poll,
#endif
};

/* Answered with EPERM: nothing comes of them, and libraries go on without. */
static const int refused[] = {
	SYS_prctl,     SYS_ioctl,      SYS_fcntl, SYS_sched_setaffinity, SYS_prlimit64,     SYS_mlock,
	SYS_munlock,   SYS_getdents64, SYS_mbind, SYS_set_mempolicy,     SYS_get_mempolicy, SYS_dup,
#if defined(__x86_64__)
	SYS_setrlimit,
#endif
};

/* Looking at files that are there: while loading only. */
static const int looking[] = {
	SYS_newfstatat, SYS_readlinkat, SYS_faccessat, SYS_getcwd,   SYS_statx,
#if defined(__x86_64__)
	SYS_stat,       SYS_lstat,      SYS_access,    SYS_readlink,
#endif
};

/* --- programs --- */

enum { INSTRUCTIONS_MAX = 240 };
struct program {
	struct sock_filter list[INSTRUCTIONS_MAX];
	unsigned short count;
};

static void add(struct program *program, unsigned short code, uint32_t k, unsigned char yes, unsigned char no)
{
	if (program->count < INSTRUCTIONS_MAX)
		program->list[program->count++] = (struct sock_filter){ code, yes, no, k };
}

static void add_answer(struct program *program, uint32_t answer)
{
	add(program, BPF_RET | BPF_K, answer, 0, 0);
}

static void add_load(struct program *program, size_t offset)
{
	add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* ANSWER to call NUMBER, which was loaded. */
static void add_call(struct program *program, int number, uint32_t answer)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
	add_answer(program, answer);
}

/* The answer to call NUMBER: WITH where one of BITS is in its ARGUMENT, else WITHOUT. */
static void add_bits(struct program *program, int number, int argument, uint32_t bits, uint32_t with, uint32_t without)
{
	add(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
	add_load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)argument); /* little end first */
	add(program, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	add_answer(program, with);
	add_answer(program, without);
}

/* Handlers of the two signals that libc has for its own threads, which pthread_create installs; else TRAP. */
static void add_handlers(struct program *program)
{
	enum { FIRST_OF_LIBC = 32, COUNT = 2 };

	add(program, BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 5);
	add_load(program, offsetof(struct seccomp_data, args));
	add(program, BPF_JMP | BPF_JGE | BPF_K, FIRST_OF_LIBC, 0, 2);
	add(program, BPF_JMP | BPF_JGE | BPF_K, FIRST_OF_LIBC + COUNT, 1, 0);
	add_answer(program, SECCOMP_RET_ALLOW);
	add_answer(program, SECCOMP_RET_TRAP);
}

static void begin(struct program *program)
{
	add_load(program, offsetof(struct seccomp_data, arch));
#if defined(ARCHITECTURE)
	add(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
#endif
	add_answer(program, SECCOMP_RET_KILL_PROCESS);
	add_load(program, offsetof(struct seccomp_data, nr));
#if defined(ARCHITECTURE)
	add(program, BPF_JMP | BPF_JGE | BPF_K, FIRST_FOREIGN, 0, 1);
	add_answer(program, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void add_list(struct program *program, const int *list, size_t count, uint32_t answer)
{
	for (size_t i = 0; i < count; i++)
		add_call(program, list[i], answer);
}

#define LIST(name) (name), sizeof(name) / sizeof *(name)

static void write_loading(struct program *program)
{
	const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

	begin(program);
	add_list(program, LIST(allowed), SECCOMP_RET_ALLOW);
	add_list(program, LIST(looking), SECCOMP_RET_ALLOW);
	add_list(program, LIST(refused), SECCOMP_RET_ERRNO | EPERM);
	add_call(program, SYS_seccomp, SECCOMP_RET_ALLOW);
	add_call(program, SYS_close_range, SECCOMP_RET_ALLOW);
	add_handlers(program);
	add_call(program, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS); /* its flags are in memory; libc takes the other */
	add_bits(program, SYS_clone, 0, CLONE_THREAD, SECCOMP_RET_ALLOW, SECCOMP_RET_TRAP);
	add_bits(program, SYS_openat, 2, writing, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW);
#if defined(__x86_64__)
	add_bits(program, SYS_open, 1, writing, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW);
#endif
	add_answer(program, SECCOMP_RET_TRAP);
}

/* Of what the first one allows, what is forbidden from now on. */
static void write_running(struct program *program)
{
	begin(program);
	add_call(program, SYS_seccomp, SECCOMP_RET_TRAP);
	add_call(program, SYS_close_range, SECCOMP_RET_TRAP);
	add_call(program, SYS_openat, SECCOMP_RET_TRAP);
#if defined(__x86_64__)
	add_call(program, SYS_open, SECCOMP_RET_TRAP);
#endif
	add_list(program, LIST(looking), SECCOMP_RET_ERRNO | EPERM);
	add_answer(program, SECCOMP_RET_ALLOW);
}

int tcb_sandbox_enter(enum tcb_sandbox_stage stage)
{
#if defined(ARCHITECTURE)
	struct program program = { .count = 0 };

	if (stage == TCB_SANDBOX_LOADING)
		write_loading(&program);
	else
		write_running(&program);
	const struct sock_fprog all = { .len = program.count, .filter = program.list };

	if (program.count == INSTRUCTIONS_MAX ||
	    (stage == TCB_SANDBOX_LOADING && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) == 0 ? 0 : -1;
#else
	(void)stage, (void)write_loading, (void)write_running;
	return -1;
#endif
}

/* --- words --- */

const char *tcb_sandbox_tells(long number)
{
	static const struct {
		long number;
		const char *what;
	} rows[] = {
		{ SYS_clone, "starts a process" },
		{ SYS_execve, "starts another program" },
		{ SYS_execveat, "starts another program" },
		{ SYS_rt_sigaction, "installs a signal handler" },
		{ SYS_kill, "sends a signal" },
		{ SYS_tkill, "sends a signal (abort, raise)" },
		{ SYS_tgkill, "sends a signal (abort, raise)" },
		{ SYS_setitimer, "sets a timer" },
		{ SYS_timer_create, "sets a timer" },
		{ SYS_timerfd_create, "sets a timer" },
		{ SYS_clock_settime, "sets the clock" },
		{ SYS_openat, "opens a file" },
		{ SYS_unlinkat, "changes files" },
		{ SYS_mkdirat, "changes files" },
		{ SYS_memfd_create, "makes memory that processes share" },
		{ SYS_shmget, "makes memory that processes share" },
		{ SYS_socket, "opens a connection" },
		{ SYS_socketpair, "opens a connection" },
		{ SYS_pipe2, "opens a pipe" },
		{ SYS_ptrace, "looks into other processes" },
		{ SYS_process_vm_readv, "looks into other processes" },
		{ SYS_process_vm_writev, "writes into other processes" },
		{ SYS_pidfd_open, "looks into other processes" },
		{ SYS_getppid, "looks for the process that asks" },
		{ SYS_perf_event_open, "reads counters" },
		{ SYS_setpriority, "changes its priority" },
		{ SYS_sched_setscheduler, "changes its priority" },
		{ SYS_seccomp, "changes what it may do" },
#if defined(__x86_64__)
		{ SYS_fork, "starts a process" },
		{ SYS_vfork, "starts a process" },
		{ SYS_open, "opens a file" },
		{ SYS_creat, "opens a file" },
		{ SYS_unlink, "changes files" },
		{ SYS_mkdir, "changes files" },
		{ SYS_pipe, "opens a pipe" },
		{ SYS_alarm, "sets a timer" },
#endif
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].number == number)
			return rows[i].what;
	return "asks the system for what no kernel needs";
}
