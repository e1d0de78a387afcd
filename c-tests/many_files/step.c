/* steps_on: from here on the calling thread, the team's second, executes one instruction after the other. It
   is killed behind the first one of the program's own that is locked, if there is promp. */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>
#include "../../include/promp.h"

enum { TRAP = 0x100 };
extern char __executable_start, etext;
static __thread const unsigned char *last;

static void step(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    greg_t *at = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (last && *last == 0xf0) {
        at[REG_EFL] &= ~TRAP;
        last = NULL;
        /* What is blocked here comes where the thread has been interrupted. */
        promp_fail(1, PROMP_KILL);
        return;
    }
    const char *pc = (const char *)at[REG_RIP];
    last = pc >= &__executable_start && pc < &etext ? (const unsigned char *)pc : NULL;
}

void steps_on(void)
{
    struct sigaction how = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigfillset(&how.sa_mask);
    sigaction(SIGTRAP, &how, NULL);
    __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP) : "cc", "memory");
}
