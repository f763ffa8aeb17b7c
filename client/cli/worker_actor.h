/* `ergon worker --actor TYPE`: a command that runs the turns of actors.  It gets one line of JSON,
 *
 *   {"actor": "count/eggs", "method": "add", "params": [2], "state": 40, "schema": 0, "version": 1}
 *
 * and answers one: {"result": 42, "state": 42}, a result and changes by the names of PROTOCOL.md,
 * each of which may be missing.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_WORKER_ACTOR_H
#define ERGON_CLI_WORKER_ACTOR_H

#include "client/cli/options.h"
#include "client/cli/status.h"
#include "proto/pack.h"

/* As they were written; the first in the struct of the command. */
struct actor_type_options {
    const char *type;    /* NULL: the methods are plain ones, and the others must be missing */
    const char *durable; /* NULL: the server's default, and so on */
    uint64_t idle_ns;
    struct option_list reads;
};

extern const struct option_spec ACTOR_TYPE_OPTIONS[];

/* What a registration says of them. */
struct actor_offer {
    char names[OPTION_LIST_MAX][65]; /* of the methods, with their type */
    const char *methods[OPTION_LIST_MAX];
    struct pack actors; /* the option `actors` of worker.register */
};

/* False: an option is wrong, or there is no memory, and a message was printed.  actor_offer_fini()
 * follows either way. */
bool actor_offer_init(struct actor_offer *offer, const struct actor_type_options *o,
                      const struct option_list *methods);
void actor_offer_fini(struct actor_offer *offer);

#endif
