/* What the log of a private server says of the ends of its module's process.
 *
 * Pure, but that it may copy the log to standard error; one thread, as cli.h says of the whole
 * folder. */
#ifndef ERGON_CLI_MODULE_SERVER_LOG_H
#define ERGON_CLI_MODULE_SERVER_LOG_H

#include "client/cli/module/private_server.h"

struct server_log {
    bool verbose;       /* each line goes to standard error, too */
    const char *module; /* the name of its file without a path, as backtraces have it */
    uint32_t deaths;
    struct death last; /* the last of them */
    struct death next; /* what is known of the one that comes */
    char said[200];    /* by the module itself to the log, last */
    char refusal[400]; /* why the server, or the process again, does not start; empty: it does */
};

/* A line, without its end. */
void server_log_line(struct server_log *l, const char *line);

#endif
