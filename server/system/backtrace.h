/* The frames of a thread's stack, and their text.
 *
 * Each frame is named by its object file and the offset in it, which `addr2line -f -e FILE OFFSET`
 * makes a line of the source; the function stands there too where the file exports it.  ergond
 * exports nothing: a module must not be bound to what the server happens to be made of. */
#ifndef ERGON_BACKTRACE_H
#define ERGON_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

enum { BACKTRACE_MAX = 32 };

struct backtrace {
    void *frames[BACKTRACE_MAX];
    int count;
};

/* Loads what the unwinder needs, so that it allocates nothing later.  Main thread, at the start. */
void backtrace_prepare(void);

/* The calling thread's.  In a signal handler `context` says where the thread was, and the frames of
 * the handler itself are left out; elsewhere it is NULL.  It locks and allocates nothing, after
 * backtrace_prepare(). */
void backtrace_take(struct backtrace *b, const void *context);

enum { BACKTRACE_ADDRESS_MAX = 20 };
void backtrace_address(uintptr_t address, char buf[BACKTRACE_ADDRESS_MAX]); /* "0x4f10" */

/* Innermost first, each where its call stands, with blanks between: "hang.so+0x11d2
 * ergond+0x4f10(main)".  What does not fit is left out.  Takes the lock of the dynamic linker for a
 * moment, and allocates nothing. */
void backtrace_text(const struct backtrace *b, char *buf, size_t size);

#endif
