/* The feed's events (task.events) for a stream of /api/live, as its page wants them.
 *
 * One page of events is asked for at a time, by the connection of the session: so each sees what
 * its principal may see, and the server waits for events instead of being asked.  Pages come at
 * most every FOLLOW_PAUSE_MS, and not while the reader has not taken what it was sent.  A reader
 * that falls behind is notified: the server says how many events it lost; and where more happens
 * than is shown, the rest is skipped, and its number is sent.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_FOLLOW_H
#define ERGON_ADMIN_FOLLOW_H

#include <jansson.h>
#include <stdbool.h>

struct event_base;
struct follow;
struct gateway_peer;

enum {
    FOLLOW_PAGE = 100,         /* events at most */
    FOLLOW_PAUSE_MS = 250,     /* between two pages */
    FOLLOW_FULL_PAGES = 2,     /* in a row: then the rest is passed over */
    FOLLOW_AGAIN_MS = 2000,    /* after BUSY */
    FOLLOW_POLL_MS = 20 * 1000 /* for which the server waits for events */
};

struct follow_port {
    /* What is to be sent: {"mark", "events", "next", "gap", "missed"}, or {"mark", "error":
     * {"code", "text"}}, which is the last.  Borrowed. */
    void (*page)(void *arg, const json_t *page);
    /* Has the reader taken what it was sent? */
    bool (*keeps_up)(void *arg);
    /* The session's connection; NULL: it has ended. */
    struct gateway_peer *(*peer)(void *arg);
};

/* Follows nothing yet.  `port` stays as long as this.  NULL without memory. */
struct follow *follow_new(struct event_base *base, const struct follow_port *port, void *arg);
/* From now on these: options of task.events, of which `max` and `timeout` are ours, and `mark`, any
 * value that its pages have, too.  Borrowed; null: none. */
void follow_set(struct follow *f, const json_t *wanted);
void follow_free(struct follow *f); /* NULL is fine; not from within the port's functions */

#endif
