/* A connection for one run of a command; prints what goes wrong and turns it into a status. */
#ifndef ERGON_CLI_SESSION_H
#define ERGON_CLI_SESSION_H

#include "client/cli/cli.h"
#include "base/span.h"

struct session {
    const struct globals *globals;
    struct ergon_blocking *connection; /* owned */
    uint64_t give_up_ns;               /* on session_now_ns()'s clock; 0: never */
};

uint64_t session_now_ns(void); /* monotonic */

/* The options of libergon that the common options mean; strings are those of `g`. */
struct ergon_options session_options(const struct globals *g);

/* What to do about a connection that ended so, to be put behind the message; "" for nothing. */
const char *session_advice(const struct globals *g, enum ergon_end outcome);

/* `default_timeout_ms` is used where --timeout is not given; 0: none.  It is for the connection and
 * all calls together. */
enum status session_open(struct session *s, const struct globals *g, uint32_t default_timeout_ms);

/* The same for what takes long and can be asked again: a connection that breaks is made again, as
 * often as it takes, with a message each time. */
enum status session_open_lasting(struct session *s, const struct globals *g);
void session_close(struct session *s);

/* STATUS_OK and *result, which is valid until the next call; otherwise a message was printed. */
enum status session_call(struct session *s, const char *method, struct span params,
                         struct span *result);

/* The same of what does no harm when it is asked twice: asked until there is an answer, or until
 * the time is up, which gives STATUS_TIMEOUT without a message. */
enum status session_insist(struct session *s, const char *method, struct span params,
                           struct span *result);

/* What the time limit leaves, in ms and at least 1; 0: there is no limit. */
uint32_t session_time_left(const struct session *s);

/* The same as session_call(), but a method that is not there, or not allowed, is not worth a
 * message. */
enum status session_try(struct session *s, const char *method, struct span params,
                        struct span *result);

enum status session_notify(struct session *s, const char *method, struct span params);

#endif
