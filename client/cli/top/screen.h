/* The whole terminal as a screen of lines, and keys.  It speaks the few sequences that every
 * terminal of today knows (ECMA-48, and xterm's second screen), and needs no library.
 *
 * One screen a process; one thread.  However the process ends, by exit() or a signal that can be
 * caught, the terminal is as it was; a stop (Ctrl-Z) gives it back, too, until it goes on. */
#ifndef ERGON_CLI_TOP_SCREEN_H
#define ERGON_CLI_TOP_SCREEN_H

#include "client/cli/top/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum key {
    KEY_NONE = 0, /* nothing was typed in time, or the size has changed */
    KEY_UP = 256, /* others are their characters */
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_OTHER,
    KEY_CLOSED /* the terminal has gone */
};

/* Can it be one?  Standard input and output are a terminal, which is not dumb. */
bool screen_possible(void);

/* False: the terminal cannot be set; nothing was changed. */
bool screen_open(void);
void screen_close(void); /* idempotent */

void screen_size(size_t *width, size_t *height);

/* Shows a frame of at most the size of the screen; below it nothing. */
void screen_show(const struct frame *f, bool colour);

/* Waits for a key, at most so long. */
int screen_key(uint64_t wait_ns);

#endif
