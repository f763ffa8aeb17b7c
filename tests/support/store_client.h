/* Who pushes operations, in tests: an activator on the test's own thread, and an object of it.
 * Operations are made, pushed, and waited for; those that came back are counted and freed. */
#ifndef ERGON_TESTS_STORE_CLIENT_H
#define ERGON_TESTS_STORE_CLIENT_H

#include <ergon/poller.h>

#include "server/store/store.h"

extern const char *const client_states[5]; /* open, done, failed, cancelled, dead */
enum { CLIENT_OPEN, CLIENT_DONE, CLIENT_FAILED, CLIENT_CANCELLED, CLIENT_DEAD };

struct store_client {
    struct store *store;
    struct activator *activator;
    struct poller *poller;
    struct ao receiver;
    uint64_t pushed, back;
    /* Of each that comes back, before it is freed; may be NULL. */
    void (*returned)(struct store_client *c, struct store_op *op);
    void *arg;
    const struct ao_clock *clock; /* of the activator; NULL: the real one */
    enum store_error last;        /* of the one that came back last */
};

struct store_options client_options(const char *path);

/* Opens and starts; false: the store did not open, `error` says why. */
bool client_open(struct store_client *c, const struct store_options *options, char *error,
                 size_t size);
void client_close(struct store_client *c); /* takes all that comes back */

struct store_op *client_op(enum store_kind kind); /* zeroed */
/* Of a row of this table, which is zeroed. */
struct store_op *client_row(enum store_kind kind, const struct store_table *table);
struct store_op *client_put(uint64_t id, const char *method);
void client_push(struct store_client *c, struct store_op *op);
void client_wait(struct store_client *c); /* for all that was pushed */
void client_poll(struct store_client *c); /* takes what has come back; waits for nothing */
enum store_error client_do(struct store_client *c, struct store_op *op); /* push and wait */

#endif
