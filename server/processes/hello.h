/* The first words of a process of a module, by a pipe to its server: the methods that it brings, or
 * why it brings none.  Then the pipe is closed.
 *
 * Thread: any; nothing is shared. */
#ifndef ERGON_PROCESSES_HELLO_H
#define ERGON_PROCESSES_HELLO_H

#include "server/tasks/registry.h"

enum { HELLO_MAX = 512 << 10 /* bytes */ };

struct hello {
    char *text; /* malloc'ed; with a terminator behind it */
    size_t len;
    bool whole;        /* the pipe was closed, or nothing more is read */
    const char *wrong; /* why; NULL: it was closed */
};

/* The process: its methods are those of the registry that it offers (method_attempts_here()).  It
 * blocks while the pipe is full.  False: the server does not read. */
bool hello_say(int fd, const struct registry *registry);
bool hello_refuse(int fd, const char *why);

/* The server reads the bytes in the pipe, and does not block if the pipe does not.  Returns true
 * when nothing more is read: the process closed the pipe, sent too much, or there is no memory. */
bool hello_read(struct hello *h, int fd);
void hello_free(struct hello *h);

/* Returns why the process of a whole hello cannot run, for people; NULL: it runs. */
const char *hello_refusal(const struct hello *h);
/* Returns the methods of a process that runs, one after the other (`at` begins as 0); false: there
 * are no more.  The texts are the module's, or empty, and valid as long as the hello. */
struct hello_method {
    const char *name, *summary, *params;
};
bool hello_next(const struct hello *h, size_t *at, struct hello_method *out);

#endif
