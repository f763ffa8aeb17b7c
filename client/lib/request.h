/* The inside of a request: a method of the server and its packed parameters; and what packs them.
 * Memory failures are remembered by the pack, and end in request_done(). */
#ifndef ERGON_CLIENT_REQUEST_H
#define ERGON_CLIENT_REQUEST_H

#include <ergon/client_tasks.h>

#include "proto/pack.h"

struct ergon_request {
    const char *method; /* a constant */
    struct pack params;
    const struct ergon_answer *refused; /* a constant: why it is not sent; NULL: it is */
};

/* A request whose parameters are an array of `parts`, which the caller packs.  NULL: no memory. */
struct ergon_request *request_new(const char *method, size_t parts);

/* `r`, or NULL when memory was out on the way: then `r` is gone.  NULL is fine. */
struct ergon_request *request_done(struct ergon_request *r);

/* The pairs of a map of options, counted while they are packed. */
struct pairs {
    struct pack pack;
    size_t count;
    const struct ergon_answer *refused; /* as of a request */
};

void pairs_init(struct pairs *m);
void pairs_text(struct pairs *m, const char *key, const char *text);    /* NULL: no pair */
void pairs_number(struct pairs *m, const char *key, uint64_t v);        /* 0: no pair; ERGON_ZERO */
void pairs_task(struct pairs *m, const struct ergon_task_options *opt); /* NULL: no pairs */

/* Appends the map to the parameters, and frees what was collected. */
void pairs_pack(struct pairs *m, struct ergon_request *r);

/* Copies an options struct of an older or newer caller: `to`, of to_size bytes, begins with a
 * size_t as `from` does.  NULL gives zeros.  False: it tells no size; zeros too. */
bool options_copy(void *to, size_t to_size, const void *from);

#endif
