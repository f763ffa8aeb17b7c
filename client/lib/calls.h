/* The calls of one client that have not ended: by id, and in two lists in order of submission.
 * One thread. */
#ifndef ERGON_CLIENT_CALLS_H
#define ERGON_CLIENT_CALLS_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "base/span.h"
#include <ergon/client.h>

enum call_place { CALL_WAITING, CALL_IN_FLIGHT, CALL_ENDING };

struct call {
    TAILQ_ENTRY(call) link; /* in the list that `place` names */
    struct call *hash_next; /* chain of a bucket; valid while listed and id is not 0 */
    ergon_call_id id;       /* its low 32 bits are the message id; 0: a notification */
    enum call_place place;
    ergon_answer_fn *fn; /* NULL for a notification */
    void *arg;
    struct event timer; /* valid when `timed` */
    bool timed;
    void *owner;      /* the client, for the timer */
    uint8_t *frame;   /* owned; the whole message, while CALL_WAITING; else NULL */
    size_t frame_len; /* bytes */
};

TAILQ_HEAD(call_list, call);

struct calls {
    struct call **buckets; /* owned */
    size_t bucket_mask;
    size_t named; /* calls with an id */
    ergon_call_id last_id;
    struct call_list waiting;
    struct call_list in_flight;
    size_t waiting_count; /* notifications included */
    size_t in_flight_count;
};

bool calls_init(struct calls *t); /* false: out of memory */
void calls_fini(struct calls *t); /* both lists must be empty */

/* A new id whose low 32 bits no listed call has. */
ergon_call_id calls_next_id(struct calls *t);

/* Lists `call`, whose id and place (not CALL_ENDING) are set.  It stays the caller's memory. */
void calls_add(struct calls *t, struct call *call);
void calls_remove(struct calls *t, struct call *call); /* place becomes CALL_ENDING */
void calls_sent(struct calls *t, struct call *call);   /* from waiting to in flight */

struct call *calls_by_id(const struct calls *t, ergon_call_id id);
struct call *calls_by_message(const struct calls *t, uint32_t message_id);

#endif
