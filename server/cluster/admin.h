/* Administration of a cluster's engine, beside its nodes: `ergon cluster init`, `upgrade` and
 * `doctor`.  PostgreSQL's is in the shared object of its store's driver (symbol
 * CLUSTER_ADMIN_SYMBOL).
 *
 * Thread: any one; each call connects, blocks for some seconds, and closes. */
#ifndef ERGON_CLUSTER_ADMIN_H
#define ERGON_CLUSTER_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_ADMIN_SYMBOL "ergon_cluster_admin" /* a struct cluster_admin */

enum fact_grade { FACT_GOOD, FACT_NOTE, FACT_BAD /* it makes an answer untrue, or soon will */ };

/* A setting or figure of the engine, as look() reports it; valid during that call. */
struct cluster_fact {
    const char *name; /* "synchronous_standby_names", "xid_age", ... */
    enum fact_grade grade;
    const char *value, *text; /* text: what it means and what to do; empty where it is good */
};

enum upgrade_step {
    UPGRADE_CHECK, /* changes nothing; the text says what would be done */
    UPGRADE_ADD,   /* adds tables and columns: nodes of the version before ignore them */
    UPGRADE_FINISH /* nodes of the version before are refused from then on */
};

struct cluster_admin {
    uint32_t version; /* STORE_DRIVER_VERSION */
    /* Makes the schema, for a cluster of this name; `role` (NULL: none) gets the rights that ergond
     * needs.  0, or -1 and a text: the schema is there already, no right to make it, no database,
     * or it cannot be reached. */
    int (*init)(const char *where, const char *cluster, const char *role, char *text, size_t size);
    /* 0 and a text that says what was done; or -1 and why not.  `role` as in init(). */
    int (*upgrade)(const char *where, enum upgrade_step step, const char *role, char *text,
                   size_t size);
    /* Calls `tell` with each fact.  0, or -1 and a text. */
    int (*look)(const char *where, void (*tell)(void *arg, const struct cluster_fact *fact),
                void *arg, char *text, size_t size);
};

#endif
