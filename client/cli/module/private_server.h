/* A server of our own with one module, in a process of its own, for as long as this command runs.
 * It listens on a socket in a folder that nobody else may enter, and that has gone, with the
 * socket, as soon as we are connected; a guardian (guardian.h) ends it with everything that it has
 * started, however this process ends.
 *
 * Its log says when and why the module's process ended, and is read for that.  One thread, as cli.h
 * says of the whole folder; each function that waits also returns at SIGINT, SIGTERM or SIGHUP. */
#ifndef ERGON_CLI_MODULE_PRIVATE_SERVER_H
#define ERGON_CLI_MODULE_PRIVATE_SERVER_H

#include "client/cli/cli.h"

struct private_server;

struct private_plan {
    const char *module; /* a path, or the name of one of the server's */
    uint64_t stuck_ns;  /* for how long a handler may go on */
    const char *memory; /* that its process may have: "1g"; NULL: as by default */
    bool verbose;       /* the log goes to standard error, too */
};

/* What is known of an end of the module's process; empty texts: nothing. */
struct death {
    char reason[200];  /* "SIGSEGV at 0x0" */
    char place[160];   /* "harm.so+0x1278", the innermost of the module */
    char output[1000]; /* what it wrote last, as a sanitizer's report */
};

/* Starts it, and connects.  Another status than STATUS_OK, with a message: the module does not load
 * (STATUS_USAGE), or something else is wrong.  *out is the caller's in any case. */
enum status private_server_start(struct private_server **out, const struct private_plan *plan);
void private_server_stop(struct private_server *s); /* NULL is fine */

/* An answer; valid until the next request. */
struct private_answer {
    enum ergon_end outcome; /* CANCELLED: by a signal; BROKEN: the server has gone */
    struct ergon_raw result;
    char code[40];
    char text[300];
    uint64_t took_us;
};

/* Sends the request, which is gone then, and waits.  After `timeout_ms`, at least 1, the server is
 * told to cancel it. */
const struct private_answer *private_server_ask(struct private_server *s,
                                                struct ergon_request *request, uint32_t timeout_ms);

/* How often the module's process has ended; takes notice of what has happened without waiting. */
uint32_t private_server_deaths(struct private_server *s);
/* What the module has printed so far is not of its next end. */
void private_server_new_page(struct private_server *s);
/* Waits until it has ended more than `before` times.  False: not within this time. */
bool private_server_await_death(struct private_server *s, uint32_t before, uint32_t timeout_ms);
/* The last of them. */
const struct death *private_server_death(const struct private_server *s);
/* The server has gone, or the module's process does not start again: why.  NULL: all is well. */
const char *private_server_failed(const struct private_server *s);
/* The signal that is to end this command; 0: none has come. */
int private_server_signal(const struct private_server *s);
/* Lets this time pass. */
void private_server_pause(struct private_server *s, uint32_t ms);

#endif
