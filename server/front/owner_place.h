/* Where the owner is, as the loops of this process know it: the view of the cluster (view.h), and
 * the addresses of the owner's name.
 *
 * A name service may take seconds, so a thread of its own asks it; neither a loop nor the cluster's
 * thread waits for that. */
#ifndef ERGON_FRONT_OWNER_PLACE_H
#define ERGON_FRONT_OWNER_PLACE_H

#include "server/front/outgoing.h"
#include "server/cluster/view.h"

/* Functions of view.h, so that tests can play a cluster. */
struct cluster_roles {
    struct cluster *cluster;
    enum cluster_role (*role)(const struct cluster *c);
    void (*view)(const struct cluster *c, struct cluster_view *out);
    void (*note)(struct cluster *c, const char *note); /* any thread; NULL: nobody reads it */
};

struct owner_place {
    uint64_t version; /* counts up with each change; 0: nothing is known yet */
    struct cluster_view view;
    struct outgoing_target target; /* none: nobody else owns, or `why` */
    char why[200];                 /* why there is no address; empty: there is */
};

/* Do sessions of the one go on in the other? */
bool owner_place_same(const struct owner_place *one, const struct owner_place *other);

struct owner_finder;

/* Up to `loops` listeners may follow.  NULL without memory.  Set-up. */
struct owner_finder *owner_finder_new(const struct cluster_roles *roles, uint32_t loops);
/* Is posted to after each change (AO_POST_MESSAGE); a reference is taken over.  Set-up. */
void owner_finder_tell(struct owner_finder *f, struct ao_handle *handle);
/* Starts its thread, which begins with a look.  0, or -1 and errno. */
int owner_finder_start(struct owner_finder *f);
/* Joins it: after at most what a name service takes.  Twice is fine. */
void owner_finder_stop(struct owner_finder *f);
void owner_finder_free(struct owner_finder *f); /* NULL is fine */

/* What its thread does at each change; blocks.  For tests without that. */
void owner_finder_look(struct owner_finder *f);

/* Writes this node's note: why the owner cannot be reached; empty: it can.  Any thread. */
void owner_finder_note(struct owner_finder *f, const char *why);

/* For cluster_on_change(); `arg` is the finder.  Any thread; does not wait. */
void owner_finder_changed(void *arg);
/* The last that was found.  Any thread. */
void owner_finder_get(struct owner_finder *f, struct owner_place *out);

#endif
