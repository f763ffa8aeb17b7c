/* The inside of a request, for who sends it: a method of the server and its packed parameters.  Any
 * thread; a request has one owner, and what memory failures there were on the way comes out in
 * request_done(). */
#ifndef ERGON_CLIENT_REQUESTS_H
#define ERGON_CLIENT_REQUESTS_H

#include <ergon/client_tasks.h>

#include "proto/envelope.h"
#include "proto/pack.h"

struct ergon_request {
    char method[METHOD_NAME_MAX + 1];
    struct pack params;
    const struct ergon_answer *refused; /* a constant: why it is not sent; NULL: it is */
};

/* A request whose parameters are an array of `parts`, which the caller packs.  NULL: no memory. */
struct ergon_request *request_new(const char *method, size_t parts);

/* One whose only parameter is a name. */
struct ergon_request *request_of_name(const char *method, const char *name);
/* The same of a tenant; NULL: the caller's own. */
struct ergon_request *request_of_name_in(const char *method, const char *name, const char *tenant);

/* Packs one further parameter: an array (empty: of nothing), or the options of a task (NULL: none).
 */
void request_pack_params(struct ergon_request *r, struct ergon_raw params);
void request_pack_options(struct ergon_request *r, const struct ergon_task_options *options);
/* Or an array of tasks. */
void request_pack_orders(struct ergon_request *r, const struct ergon_task_order *orders,
                         size_t count);

/* `r`, or NULL when memory was out on the way: then `r` is gone.  NULL is fine. */
struct ergon_request *request_done(struct ergon_request *r);

/* Its parameters, one value; they are the request's. */
struct ergon_raw request_params(const struct ergon_request *r);

#endif
