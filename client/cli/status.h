/* Exit statuses of `ergon`: documented in ergon(1) and stable.  Constants and a pure function. */
#ifndef ERGON_CLI_STATUS_H
#define ERGON_CLI_STATUS_H

#include <ergon/client.h>

enum status {
    STATUS_OK = 0,
    STATUS_REMOTE = 1,    /* the server answered with an error; also a local failure to write */
    STATUS_USAGE = 2,     /* the command line, or a file that it names, is wrong */
    STATUS_CONNECT = 3,   /* no connection, no TLS, or it broke */
    STATUS_AUTH = 4,      /* AUTH, DENIED, or the token was refused */
    STATUS_TIMEOUT = 5,   /* --timeout, or DEADLINE */
    STATUS_NOT_FOUND = 6, /* NO_METHOD, NO_EXECUTOR, NOT_FOUND */
    STATUS_LIMIT = 7,     /* BUSY, TOO_LARGE, DRAINING, NO_WORKER */
    STATUS_INTERRUPTED = 130
};

/* `code` is read only for ERGON_END_ERROR. */
enum status status_of(enum ergon_end outcome, const char *code);

#endif
