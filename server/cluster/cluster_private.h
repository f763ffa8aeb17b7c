/* The inside of struct cluster, for the files of server/cluster/ that run on its thread, and for
 * view.c.
 *
 * `mutex` guards what is below it; the rest is the thread's, but for the atomics. */
#ifndef ERGON_CLUSTER_PRIVATE_H
#define ERGON_CLUSTER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/cluster/cluster.h"
#include "server/cluster/lease.h"

enum { CLUSTER_LISTENERS = 8, CLUSTER_REQUESTS = 8, CLUSTER_SETTINGS_MAX = 24 };

struct cluster_request {
    char verb[16], node[CLUSTER_NAME_MAX];
};

struct cluster {
    struct cluster_options options;
    struct lease lease;
    void *engine;
    int stop; /* an eventfd, for the engine; -1: there is none */
    uint64_t incarnation;
    pthread_t thread;
    bool running;                 /* the thread */
    bool joined, away, over;      /* over: nothing is renewed any more */
    bool clock_said, clock_wrong; /* it differs from the engine's: logged; too much to own */
    bool tried;                   /* nobody may take over: logged */
    bool drains;                  /* it was asked to */
    bool keeps_board;             /* of the last try to take over */
    ao_time renew_at, rejoin;     /* when to renew next; the pause before the next try to join */
    struct engine_view read;      /* the rows of the last look */
    char said_trouble[CLUSTER_NOTE_MAX];              /* of the engine, in the log; empty: none */
    char said_state[16], said_note[CLUSTER_NOTE_MAX]; /* of this node's row */
    struct {
        void (*changed)(void *arg);
        void *arg;
    } listeners[CLUSTER_LISTENERS]; /* constant from the start on */
    uint32_t listener_count;

    uint32_t ended; /* a bit for each enum cluster_end that was announced */
    uint64_t shown; /* the version of which the listeners know */

    _Atomic uint32_t role;
    _Atomic uint64_t version;
    _Atomic uint64_t renewed_at; /* relaxed: the later it is read, the better */

    pthread_mutex_t mutex;
    pthread_cond_t woken;
    bool wakes; /* since the thread looked last */
    bool stopping;
    struct cluster_view view; /* but for role and renewed_at */
    struct cluster_rows rows;
    ao_time read_at;
    bool leaves;               /* the process has begun to stop */
    bool load_failed, deposed; /* the jobs said so, and the thread has not acted on it */
    bool load_broke;           /* of load_failed: the database was away */
    char failure[CLUSTER_NOTE_MAX], note[CLUSTER_NOTE_MAX];
    char settings[CLUSTER_SETTINGS_MAX]; /* cluster_set_settings() */
    struct cluster_request requests[CLUSTER_REQUESTS];
    uint32_t request_count;
};

ao_time cluster_now(const struct cluster *c);   /* CLOCK_BOOTTIME */
uint64_t cluster_wall(const struct cluster *c); /* Unix ns */
/* ENGINE_DONE, or what the engine said; then *error. */
enum engine_result cluster_join(struct cluster *c, char *error, size_t size);

/* view.c; the cluster's thread, and the jobs' for the role. */
void view_set_role(struct cluster *c, enum cluster_role role);
void view_renewed(struct cluster *c, ao_time sent);
/* The rows as the thread has read them, and whether their owner is gone. */
void view_take(struct cluster *c, bool vacant, ao_time now);
void view_changed(struct cluster *c);
void view_tell(struct cluster *c); /* the listeners, of what has changed */
void view_trouble(struct cluster *c, const char *text);

#endif
