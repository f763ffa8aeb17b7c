/* The frames of a thread's stack, and their text.
 *
 * The text names a frame by its object file and the offset in it; `addr2line -f -e FILE OFFSET`
 * turns that into a line of the source.  The text also has the function, if the file exports it.
 * ergond exports nothing, so that no module depends on its internals. */
#ifndef ERGON_BACKTRACE_H
#define ERGON_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

enum { BACKTRACE_MAX = 32 };

struct backtrace {
    void *frames[BACKTRACE_MAX];
    int count;
};

/* Loads what the unwinder needs, so that it allocates nothing later.  Call it on the main thread,
 * at the start. */
void backtrace_prepare(void);

/* Takes the frames of the calling thread.  In a signal handler, `context` says where the thread
 * was, and the handler's own frames are left out; elsewhere it is NULL.  After backtrace_prepare()
 * this function neither locks nor allocates. */
void backtrace_take(struct backtrace *b, const void *context);

enum { BACKTRACE_ADDRESS_MAX = 20 };
void backtrace_address(uintptr_t address, char buf[BACKTRACE_ADDRESS_MAX]); /* "0x4f10" */

/* Writes the frames, innermost first, each at its call, with blanks between: "hang.so+0x11d2
 * ergond+0x4f10(main)".  Frames that do not fit are left out.  This function takes the lock of the
 * dynamic linker for a moment, and allocates nothing. */
void backtrace_text(const struct backtrace *b, char *buf, size_t size);

#endif
