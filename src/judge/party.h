/* SPDX-License-Identifier: MIT
 *
 * A party is a process that runs one kernel, the judged one or what it is compared
 * with, and knows nothing but its inputs.  The judge asks it for calls and takes the time
 * itself, from its question to the answer; between questions the process is stopped.
 *
 *     tcb_party_start(&how, &party, err);      before anything is drawn that the kernel must not know
 *     tcb_party_ready(&party, seconds, &end);
 *     tcb_party_ask(&party, TCB_WISH_CALLS, seconds, &ns, &end);
 *     tcb_party_end(&party);
 */
#ifndef TCB_JUDGE_PARTY_H
#define TCB_JUDGE_PARTY_H

#include <sys/types.h>

#include "judge/party_page.h"

struct tcb_party {
	pid_t pid; /* 0: it has ended */
	int is_host;
	struct tcb_region outputs, page_region;
	size_t inputs_bytes;
	double start_ns; /* of the last question: from it to what the process calls its start; 0: unknown */
	struct tcb_party_page *page;
};

/* How a question ended. */
struct tcb_party_end {
	enum { TCB_PARTY_ANSWERED, TCB_PARTY_DIED, TCB_PARTY_HUNG, TCB_PARTY_NOT_LOADED, TCB_PARTY_NOT_STARTED } how;
	int is_forbidden;               /* it died of asking for what is forbidden */
	char what[TCB_PARTY_WORDS_MAX]; /* "it starts a process (system call 56)" */
};

/* Whatever it returns, PARTY is for tcb_party_stop. */
enum tcb_status tcb_party_start(const struct tcb_party_start *how, struct tcb_party *party, struct tcb_error *err);
void tcb_party_stop(struct tcb_party *party); /* zeroed is fine */
/* Waits until its kernel is loaded.  0, or -1: it is refused or has died; END says why. */
int tcb_party_ready(struct tcb_party *party, double seconds, struct tcb_party_end *end);
/* Asks for what the page says; NS_OUT: from the question to the answer.  0, or -1 and END says why.  From the answer
 * on the process is stopped. */
int tcb_party_ask(struct tcb_party *party, enum tcb_party_wish wish, double seconds, double *ns_out,
		  struct tcb_party_end *end);
/* Threads that the stopped process has; 0: unknown. */
unsigned tcb_party_threads(const struct tcb_party *party);
/* Nanoseconds of processor that it has used. */
double tcb_party_cpu_ns(const struct tcb_party *party);

#endif
