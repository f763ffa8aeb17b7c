/* The configuration of ergond: plain data, filled once from four sources.
 *
 * The sources in rising order are the defaults, the YAML file, the environment (ERGON_...), and the
 * flags.  One table of keys (server/config/key_table.h) drives them all, --print-config, --help and
 * the reference in docs/configuration.md.  A loaded configuration needs no rule of precedence and
 * has no "unset": what follows from other keys (a listener's certificate from tls.cert, say) is
 * filled in.
 *
 * Thread: one at a time, as getopt_long() has a state of its own; any thread may read a loaded
 * configuration.  A configuration owns all that it points to. */
#ifndef ERGON_CONFIG_H
#define ERGON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/url.h"
#include "server/jobs/settings.h"
#include "server/net/net.h"
#include "server/tasks/tasks.h"

/* Only in sources: a loaded configuration has one of enum listener_auth. */
enum { CONFIG_AUTH_AUTO = LISTENER_AUTH_CERT + 1 };

/* Verbs of --cluster-admin: the program changes or reads the cluster's database, and ends. */
enum config_verb {
    CONFIG_VERB_INIT,
    CONFIG_VERB_UPGRADE,
    CONFIG_VERB_UPGRADE_CHECK,
    CONFIG_VERB_UPGRADE_FINISH,
    CONFIG_VERB_LOOK,
    CONFIG_VERB_LOOK_JSON
};

enum config_on_revoke { CONFIG_REVOKE_CLOSE, CONFIG_REVOKE_LOWER };
enum config_tls_version { CONFIG_TLS_1_2, CONFIG_TLS_1_3 };
enum config_bound { CONFIG_BOUND_MEASURED, CONFIG_BOUND_FIXED };
/* The weakest level that tasks of fsync and above may get, numbered as enum job_durable. */
enum config_require {
    CONFIG_REQUIRE_AUTO,
    CONFIG_REQUIRE_ANY,
    CONFIG_REQUIRE_FSYNC,
    CONFIG_REQUIRE_REPLICATED
};
/* Is it seen that a database replicates, or does its storage, which nobody sees? */
enum config_replicated { CONFIG_REPLICATED_CHECKED, CONFIG_REPLICATED_BY_STORAGE };
enum config_place { CONFIG_PLACE_LOOP, CONFIG_PLACE_OWN };
enum config_log_format { CONFIG_LOG_LOGFMT, CONFIG_LOG_JSON };
enum config_log_levels { CONFIG_LEVELS_AUTO, CONFIG_LEVELS_ON, CONFIG_LEVELS_OFF };

/* As enum ergon_kind, counted from 0. */
enum config_kind { CONFIG_STEPPED, CONFIG_BLOCKING };

enum { CONFIG_NODE_NAME_MAX = 64 /* with the NUL */ };
enum { CONFIG_ANY = -1 }; /* no particular core, no particular loop */

struct config_texts {
    char **at; /* `count` owned strings */
    size_t count;
};

struct config_cores {
    uint32_t *at; /* `count` numbers of processor cores */
    size_t count;
};

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENV, CONFIG_FLAG };

struct config_origin {
    enum config_source source;
    unsigned line; /* of the file, from 1; CONFIG_FILE only */
};

struct config_listener {
    char *url;       /* as written */
    struct url way;  /* the same, taken apart */
    char *cert;      /* URL_TLS: path, PEM; else may be NULL */
    char *key;       /* URL_TLS: path, PEM; else may be NULL */
    char *client_ca; /* path, PEM; may be NULL unless client_cert asks for certificates */
    char *crl;       /* path, PEM; may be NULL */
    enum client_cert client_cert;
    enum listener_auth auth;
    struct config_texts allow; /* globs of the methods that may be called; none: all */
    bool insecure;             /* allowed beyond loopback without TLS or a token */
    bool raw;                  /* answers use the old raw family only: no str8, bin, ext */
    bool penalties;            /* limits.penalty counts */
    uint32_t mode;             /* URL_UNIX: permission bits of the socket */
    uint32_t max_connections;  /* 0: only limits.connections counts */
    uint64_t idle_timeout;     /* ns; 0: none */
    uint32_t given;            /* bit per key of the listener table: written, not default */
    struct config_origin origin;
};

struct config_executor {
    enum config_kind kind;
    uint32_t queue;   /* tasks: hard cap of its ring */
    int32_t core;     /* or CONFIG_ANY */
    int32_t priority; /* of the thread, as nice: -20 to 19 */
    uint32_t weight;  /* share under the measure "weight" */
    int32_t loop;     /* stepped: index of the loop that runs it, or CONFIG_ANY */
    uint32_t given;   /* bit per key of the executor table */
    struct config_origin origin;
};

/* One owner of tasks that last. */
struct config_tenant {
    char *name;
    uint32_t weight; /* its share where tenants wait */
    uint32_t given;  /* bit per key of the tenant table */
    struct config_origin origin;
};

/* What its members may do. */
struct config_role {
    char *name;
    char *tenant;                /* of its members; NULL: no say */
    struct config_texts members; /* patterns of principals: "token:alice" */
    struct config_texts methods; /* patterns; and rights over others */
    struct config_texts tenants; /* patterns: beside its own; none: its own only */
    struct config_texts queues;  /* patterns; none: all */
    struct config_texts keys;    /* patterns; none: all */
    uint32_t given;              /* bit per key of the role table */
    struct config_origin origin;
};

struct config {
    struct config_listener *listeners;
    size_t listener_count;
    struct {
        /* Of config_listener the admin listener knows url, auth, allow, all of TLS, insecure,
         * penalties and mode. */
        struct config_listener *listeners;
        size_t count;
        struct config_texts hosts; /* names that it may be called by, beside its address */
        int64_t call_timeout;      /* ns */
        int64_t request_timeout;   /* ns */
    } admin;
    struct config_texts modules; /* paths of shared objects, loaded in order */
    char *tokens_file;           /* may be NULL */
    struct config_role *roles;
    size_t role_count;
    enum config_on_revoke on_revoke;
    bool insecure; /* every listener is `insecure` */

    struct {
        char *cert, *key, *client_ca, *crl; /* what a listener without its own uses; may be NULL */
        char *key_password;                 /* secret; may be NULL */
        enum config_tls_version min_version;
    } tls;

    struct {
        uint32_t count;            /* 0: as many as cpus_count() says */
        struct config_cores cores; /* loop i is bound to the i-th; none: not bound */
    } loops;

    struct {
        uint32_t stepped_queue;  /* tasks, each loop's executor */
        uint32_t stepped_parked; /* tasks that wait or take turns, each loop's executor */
        uint32_t stepped_turns;  /* submitted ones that take turns: then no more are begun */
        uint32_t blocking_count; /* threads */
        uint32_t blocking_queue; /* tasks, each */
        uint32_t blocking_max;   /* threads, spare ones included; 0: twice as many; counts
                                    with a list too */
        enum config_bound bound; /* of all of them */
        /* Not empty: exactly these, and none of the above counts but stepped_parked, stepped_turns
         * and `bound`. */
        struct config_executor *list;
        size_t count;
    } executors;

    struct {
        enum config_place place;
        uint32_t queue; /* tasks in the common queue */
    } manager;

    char *store; /* path of the file of durable tasks; NULL: there is none */

    enum config_require store_require;
    enum config_replicated store_replicated;

    struct jobs_settings tasks;

    /* Of a store that is a PostgreSQL database. */
    struct {
        bool exists;           /* `store` is one */
        char *name, *node;     /* NULL: "ergon", the host's */
        char *listen;          /* NULL: other nodes cannot reach this one */
        struct url way;        /* `listen`, taken apart */
        char *address;         /* as other nodes reach it; NULL: `listen` */
        char *state;           /* folder; NULL: none */
        char *ca, *cert, *key; /* paths, PEM; may be NULL unless `listen` is URL_TLS */
        uint32_t weight;
        bool work;
        struct config_texts offer; /* patterns; none: all */
        bool unix_users;
        uint64_t lease, patience; /* ns */
    } cluster;

    struct config_tenant *tenants; /* those with a weight of their own */
    size_t tenant_count;

    enum placement_policy placement; /* the key "measure" */
    bool shortcut;                   /* a loop may take a plain call itself */

    struct {
        enum idle_mode mode;
        uint64_t spin; /* ns; IDLE_SPIN and IDLE_AUTO */
    } idle;

    struct net_limits net; /* keys limits.*, as they are read: 0 means "auto" or "off" */

    /* What plan_limits() and plan_accounts() make the rest of. */
    struct {
        uint64_t message;             /* bytes of one message */
        uint32_t principal_in_flight; /* calls, of all connections of one; 0: off */
        uint64_t memory;              /* bytes that all connections and calls hold; 0: auto */
        uint64_t principal_memory;    /* that those of one principal hold; 0: auto */
        uint64_t partial;             /* bytes of unfinished messages, all connections */
    } limits;

    struct {
        uint32_t max;                /* registrations */
        uint64_t give_up;            /* ns that a worker may be late; 0: any */
        struct config_texts methods; /* patterns of those that workers will offer */
        struct config_texts join;    /* patterns of handlers that they may offer, too */
    } workers;

    bool sandbox;                      /* system calls that are not needed are denied */
    struct config_texts sandbox_allow; /* but these are not */

    bool dev;            /* more of what handlers do is checked */
    uint64_t drain;      /* ns that a shutdown waits for work in flight */
    uint64_t step_limit; /* ns; a longer step is counted and logged */
    /* ns; a loop that finishes no round for longer: the watchdog is not fed; 0: it always is */
    uint64_t round_limit;

    struct {
        enum log_level level;
        enum config_log_format format;
        enum config_log_levels levels; /* in front of each record; auto: for journald */
        uint64_t buffer;               /* bytes of records that wait to be written */
        uint32_t repeats;              /* of one kind and source a second; 0: all */
    } log;

    struct {
        char *file;      /* path of the audit log; NULL: the log */
        uint64_t buffer; /* bytes of its records that wait to be written */
    } audit;

    struct {
        char *directory; /* of its files; NULL: that of `store`, if there is one */
        uint32_t files;  /* of each kind that are kept; 0: none is written */
    } recorder;

    struct {
        char *endpoint;     /* of a collector of spans; NULL: none */
        char *ca;           /* authorities that its certificate comes from; NULL: the system's */
        char *headers_file; /* further ones of each request to it; NULL: none */
        uint32_t sample;    /* of what comes without a trace, so many millionths begin one */
    } trace;

    char *file; /* that was read; may be NULL */
    char *copy; /* CONFIG_BACKUP_STORE: where it goes to; init: what fills the tables, or NULL */
    enum config_verb verb;         /* CONFIG_ADMINISTER: what is to be done, and... */
    char *grant;                   /* ...the role that gets the rights to it; NULL: none */
    struct config_origin *origins; /* one per key of the table */
};

enum config_action {
    CONFIG_SERVE,
    CONFIG_CHECK,
    CONFIG_PRINT,
    CONFIG_HELP,
    CONFIG_VERSION,
    CONFIG_ADMINISTER, /* do `verb` to the store, which is a database */
    /* Of the file that `store` names; nothing else of the configuration is read. */
    CONFIG_CHECK_STORE,
    CONFIG_EXPORT_STORE,
    CONFIG_BACKUP_STORE, /* to `copy` */
    CONFIG_IMPORT_STORE
};

/* Where a configuration comes from, and how to say what is wrong with it.  All borrowed. */
struct config_input {
    int argc;
    char *const *argv;
    char *const *envp; /* as environ */
    FILE *errors;      /* one problem a line, each with its place */
};

/* Reads all sources, checks the result, and sets *action.  For CONFIG_HELP and CONFIG_VERSION it
 * reads the flags alone.  It reads files, so it may block; a reload calls it again with the same
 * input.  The result is the caller's, for config_free().
 *
 * NULL and errno: EINVAL when something is wrong (in->errors has all that was found, a line
 * each), ENOMEM without memory. */
struct config *config_load(const struct config_input *in, enum config_action *action);
void config_free(struct config *c); /* NULL is fine; secrets are wiped */

/* Writes the effective values as a YAML file that config_load() accepts, with the origin of each in
 * a comment, and secrets masked.  False when writing failed. */
bool config_print(const struct config *c, FILE *out);

void config_help(FILE *out); /* --help: each flag with its default */

/* Calls `changed` for each key in which the two differ; `live` says that a running server takes the
 * new value over, else a restart is needed. */
void config_compare(const struct config *was, const struct config *is,
                    void (*changed)(void *arg, const char *path, bool live), void *arg);

#endif
