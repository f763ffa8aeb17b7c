/* `ergon worker`, while it serves: a connection that is made again for ever, what is registered on
 * it, and the tasks that run.
 *
 *   SERVING       registered, or about to be; leaves by a signal, or when it is refused at first
 *   QUIETING      the server gives nothing more; tasks end by themselves, for `grace` at most
 *   HANDING_BACK  tasks that are left have been told to end, and are given back
 *   LEAVING       all are answered; the server has to say that it has read so
 *
 * On a connection that is made again it registers when no task of the last one is left, so it never
 * runs more than its slots.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_WORKER_SERVE_H
#define ERGON_CLI_WORKER_SERVE_H

#include "client/cli/cli.h"
#include "client/cli/worker_form.h"

#include <ergon/client_workers.h>

/* Borrowed. */
struct worker_plan {
    const char *const *methods;
    size_t method_count;
    struct ergon_raw actors; /* the types of actors that they belong to; empty: none */
    uint32_t slots;
    const char *name;    /* as it is shown to people */
    const char *host;    /* where the command runs; NULL: not known */
    const char *version; /* of the command; NULL: not said */
    uint32_t share;      /* percent that this version gets at most; 0: all */
    enum ergon_secrecy secrecy;
    uint64_t lease_ms;
    uint32_t request_max, result_max; /* bytes of a message */
    enum input_form input;
    enum output_form output;
    uint64_t grace_ms;
    bool finish; /* a task whose connection was lost runs on */
    char *const *command;
    size_t words;
};

/* Until SIGTERM, SIGINT or SIGHUP, a second one of which ends the grace, and a third one the tasks.
 * What went wrong has been printed. */
enum status worker_serve(const struct globals *g, const struct worker_plan *plan);

#endif
