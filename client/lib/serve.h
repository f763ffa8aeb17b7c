/* The requests of the server that a client serves, from their arrival until their answer has been
 * written, and the bounds on them.  Thread: that of the client.
 *
 *   OPEN      handed to the program, on the connection that stands now
 *   LOST      the connection has gone; the program has not been told yet
 *   GONE      that, and it has been told
 *   ANSWERED  freed by the program; its answer waits in the connection's buffer
 *
 * OPEN leaves by the program's answer or by serve_lost(), LOST by serve_tell(), GONE by the
 * program, ANSWERED when the bytes are written, or lost.  In OPEN, LOST and GONE a request is the
 * program's, and is only listed here. */
#ifndef ERGON_CLIENT_SERVE_PARTS_H
#define ERGON_CLIENT_SERVE_PARTS_H

#include "base/list.h"
#include "client/lib/connection.h"
#include "proto/envelope.h"
#include <ergon/client_serve.h>

enum served_place { SERVED_OPEN, SERVED_LOST, SERVED_GONE, SERVED_ANSWERED, SERVED_PLACES };

TAILQ_HEAD(served_list, served);

struct serve {
    struct connection *connection; /* the owner's, who outlives this */
    struct ergon_serve_options options;
    bool on; /* options.on_request serves */
    struct served_list lists[SERVED_PLACES];
    uint32_t taken; /* in all lists together: slots */
    /* Refusals are small, and nobody holds them: they are counted from one point of the stream on,
     * and anew when what stood before that point has been written. */
    uint64_t refused_from; /* as connection_end() */
    size_t refused;        /* bytes */
};

void serve_init(struct serve *s, struct connection *connection);
void serve_fini(struct serve *s); /* what the program still has belongs to no client from now on */

/* One request.  False: it was refused, as all are until the client is `ready`.  Without memory even
 * for a refusal, or with too many of them unread, the connection breaks. */
bool serve_request(struct serve *s, const struct envelope *e, bool ready);

/* False: nobody wanted to hear it. */
bool serve_notification(struct serve *s, const struct envelope *e);

/* The connection has gone, with the answers that it held.  serve_tell() follows as soon as the
 * program may be called: it may answer, and free the client, from inside. */
void serve_lost(struct serve *s);
void serve_tell(struct serve *s);

#endif
