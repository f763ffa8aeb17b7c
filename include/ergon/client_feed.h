/* The feed of a server: what happens to all tasks that one may see, in one order.  The wire stands
 * in PROTOCOL.md (task.events).
 *
 * As in client_tasks.h, the request is sent by any face of client.h; asked again and again, each
 * time with the `next` of the page before, it misses nothing that the server still has, and says
 * what it has not.  It can be asked twice: ergon_blocking_ask_again() is fine.  Any thread. */
#ifndef ERGON_CLIENT_FEED_H
#define ERGON_CLIENT_FEED_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: any.  One whose `size` is 0 makes a request that is refused (INVALID). */
struct ergon_feed_filter {
    size_t size;       /* sizeof(struct ergon_feed_filter) */
    const char *after; /* a cursor; "oldest"; NULL: what happens from now on */
    const char *event; /* "submitted", "started", "done", ... */
    const char *state; /* into which a task comes: "running", "failed", ... */
    const char *method, *tenant, *key;
    uint64_t wait_ms; /* for something to tell; 0: the server's default; ERGON_ZERO: not at all */
    uint64_t max;     /* events; 0: the server's default */
    const char *const *ids; /* of these tasks alone; at most 32 */
    size_t id_count;        /* 0: of any */
};

/* task.events; read by ergon_read_feed().  `filter` may be NULL.  The time limit of the call itself
 * must be the longer one. */
ERGON_API struct ergon_request *ergon_request_events(const struct ergon_feed_filter *filter);

struct ergon_feed_page {
    char next[64];   /* the cursor of the next page */
    char gap[16];    /* "": none; "overrun", "restart": something was missed before this page */
    uint64_t missed; /* events, of all tasks; 0 at a restart: nobody knows */
    struct ergon_raw events; /* points into the answer; for ergon_next_event() */
};

/* Strings are cut where they do not fit; what is nil is "" or 0. */
struct ergon_feed_event {
    uint64_t seq, at; /* at: Unix ms */
    uint64_t attempt;
    char event[24];
    char id[40];      /* "": of a queue, a cron or an actor */
    char method[257]; /* "": of an actor */
    char tenant[257];
    char key[257];
    char reason[24]; /* of "waiting" and "delayed" */
    char text[512];  /* for people */
    char cron[257];  /* its name; "": of none */
    char actor[257]; /* likewise; of "actor_type_changed" the type */
    char batch[40];  /* its id; likewise */
};

/* False: the answer is no page, and `out` is undefined. */
ERGON_API bool ergon_read_feed(struct ergon_raw answer, struct ergon_feed_page *out);
/* The events of a page one by one: *at is 0 before the first.  False: there is no further one. */
ERGON_API bool ergon_next_event(const struct ergon_feed_page *page, size_t *at,
                                struct ergon_feed_event *out);

#ifdef __cplusplus
}
#endif

#endif
