/* Where the owner is, as the loops of this process know it: the view of the cluster (view.h), and
 * the addresses of the owner's name.
 *
 * A name service may take seconds, so the finder has a thread that asks it.  Neither the loops nor
 * the cluster's thread wait for the answer. */
#ifndef ERGON_FRONT_OWNER_PLACE_H
#define ERGON_FRONT_OWNER_PLACE_H

#include "server/front/outgoing.h"
#include "server/cluster/view.h"

/* Functions of view.h, so that tests can play a cluster. */
struct cluster_roles {
    struct cluster *cluster;
    enum cluster_role (*role)(const struct cluster *c);
    void (*view)(const struct cluster *c, struct cluster_view *out);
    void (*note)(struct cluster *c, const char *note); /* any thread; NULL: notes are dropped */
};

struct owner_place {
    uint64_t version; /* counts up with each change; 0: nothing is known yet */
    struct cluster_view view;
    struct outgoing_target target; /* no address: no other node owns the tasks, or `why` */
    char why[200];                 /* why there is no address; empty: there is one */
};

/* Do both name the same owner, so that sessions go on?  Its addresses may differ. */
bool owner_place_same(const struct owner_place *one, const struct owner_place *other);

struct owner_finder;

/* At most `loops` calls of owner_finder_tell() may follow.  NULL without memory.  Set-up. */
struct owner_finder *owner_finder_new(const struct cluster_roles *roles, uint32_t loops);
/* The finder posts to the handle after each change (AO_POST_MESSAGE), and owns the reference.
 * Set-up. */
void owner_finder_tell(struct owner_finder *f, struct ao_handle *handle);
/* Starts the thread, which looks at once.  0, or -1 and errno. */
int owner_finder_start(struct owner_finder *f);
/* Joins the thread; waits for as long as the name service takes.  Twice is fine. */
void owner_finder_stop(struct owner_finder *f);
void owner_finder_free(struct owner_finder *f); /* NULL is fine */

/* The thread's work at each change; blocks.  For tests without the thread. */
void owner_finder_look(struct owner_finder *f);

/* Writes into this node's row why it cannot reach the owner, until another one owns; empty: it can.
 * Any thread. */
void owner_finder_note(struct owner_finder *f, const char *why);

/* For cluster_on_change(); `arg` is the finder.  Any thread; does not wait. */
void owner_finder_changed(void *arg);
/* What the finder found last.  Any thread. */
void owner_finder_get(struct owner_finder *f, struct owner_place *out);

#endif
