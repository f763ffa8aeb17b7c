#include "server/membership.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/log.h"
#include "server/store/driver.h"

struct membership {
    struct cluster *cluster;
    struct jobs_cluster for_jobs;
    char node[CLUSTER_NAME_MAX], address[CLUSTER_ADDRESS_MAX];
    const char *name, *folder; /* folder: NULL: none */
    struct store *store;
    struct jobs *jobs;
    struct health *health;
    void (*on_end)(void *arg);
    void *on_end_arg;
    /* Of the last owner in the audit log; the cluster's thread. */
    uint64_t noted_epoch;
    char noted_owner[CLUSTER_NAME_MAX];
    _Atomic uint32_t ended; /* bits; relaxed: the eventfd wakes main */
};

/* ---- what the cluster's thread calls ---- */

static void take(void *arg, const struct engine_owner *owner, bool keeps_board)
{
    struct membership *m = arg;
    const struct jobs_take_over taken = {.epoch = owner->epoch,
                                         .boards = owner->boards,
                                         .id_mark = owner->id_mark,
                                         .fence_mark = owner->fence_mark,
                                         .keeps_board = keeps_board};

    jobs_become_owner(m->jobs, &taken);
}

static uint64_t board(void *arg)
{
    const struct membership *m = arg;

    return store_board_epoch(m->store);
}

static void ended(void *arg, enum cluster_end why)
{
    struct membership *m = arg;

    atomic_fetch_or_explicit(&m->ended, 1U << why, memory_order_release);
    m->on_end(m->on_end_arg);
}

static void note_owner(struct membership *m, const struct cluster_view *v)
{
    if (v->owner[0] == '\0' || v->epoch == m->noted_epoch)
        return;
    char from[CLUSTER_NAME_MAX];
    snprintf(from, sizeof from, "%s", m->noted_owner);
    snprintf(m->noted_owner, sizeof m->noted_owner, "%s", v->owner);
    m->noted_epoch = v->epoch;
    if (!audit_is_apart())
        return;
    const struct log_field fields[] = {LOG_STR("principal", "cluster"),
                                       LOG_STR("method", "take over"),
                                       LOG_STR("outcome", "ok"),
                                       LOG_STR("from", from),
                                       LOG_STR("to", v->owner),
                                       LOG_UINT("epoch", v->epoch),
                                       {0}};
    audit_note(LOG_INFO, "owner changed", fields);
}

static const char *why_not_ready(const struct cluster_view *v)
{
    if (v->role == CLUSTER_OWNER)
        return NULL;
    if (v->owner[0] == '\0')
        return "no node owns the tasks";
    if (v->moving_since > 0)
        return "the tasks move to another node";
    return v->note[0] ? "this node cannot reach the owner of the tasks" : NULL;
}

static void changed(void *arg)
{
    struct membership *m = arg;
    struct cluster_view view;

    cluster_view(m->cluster, &view);
    note_owner(m, &view);
    if (m->health)
        health_cluster(m->health, why_not_ready(&view));
}

/* ---- building ---- */

static bool name_node(struct membership *m, const struct config *c, char *error, size_t size)
{
    char host[256];

    if (c->cluster.node) {
        snprintf(m->node, sizeof m->node, "%s", c->cluster.node);
        return true;
    }
    if (gethostname(host, sizeof host) == 0 && host[0] && strlen(host) < sizeof m->node) {
        snprintf(m->node, sizeof m->node, "%s", host);
        return true;
    }
    snprintf(error, size, "the name of this host is no name of a node; write cluster.node");
    return false;
}

static void warn_of_board(const struct membership *m)
{
    if (!m->folder)
        log_warn("a crash of this node loses what it ran",
                 LOG_STR("hint", "write a folder at cluster.state"));
}

struct membership *membership_new(const struct config *c, char *error, size_t size)
{
    const struct cluster_engine *engine =
        driver_symbol(c->store, CLUSTER_ENGINE_SYMBOL, error, size);
    struct membership *m = engine ? calloc(1, sizeof *m) : NULL;

    if (engine && !m)
        snprintf(error, size, "no memory for the cluster");
    if (!m || !name_node(m, c, error, size))
        goto failed;
    m->name = c->cluster.name ? c->cluster.name : "ergon";
    m->folder = c->cluster.state;
    membership_set_address(m, c->cluster.address  ? c->cluster.address
                              : c->cluster.listen ? c->cluster.listen
                                                  : "");
    const struct cluster_options options = {.engine = engine,
                                            .where = c->store,
                                            .cluster = m->name,
                                            .node = m->node,
                                            .version = ERGON_VERSION,
                                            .weight = c->cluster.weight,
                                            .lease = c->cluster.lease,
                                            .take = take,
                                            .board = board,
                                            .ended = ended,
                                            .arg = m};
    m->cluster = cluster_new(&options);
    if (m->cluster) {
        warn_of_board(m);
        return m;
    }
    snprintf(error, size, "no memory for the cluster");
failed:
    free(m);
    return NULL;
}

void membership_free(struct membership *m)
{
    if (!m)
        return;
    cluster_free(m->cluster);
    free(m);
}

struct cluster *membership_cluster(struct membership *m)
{
    return m ? m->cluster : NULL;
}

void membership_set_store(const struct membership *m, struct store_options *options)
{
    options->cluster = m->name;
    options->node = m->node;
    options->incarnation = cluster_incarnation(m->cluster);
    options->folder = m->folder;
}

const struct jobs_cluster *membership_jobs(struct membership *m)
{
    m->for_jobs = (struct jobs_cluster){.node = m->node,
                                        .cluster = m->cluster,
                                        .may_act = cluster_may_act,
                                        .owns = cluster_owns,
                                        .load_failed = cluster_load_failed,
                                        .load_waits = cluster_load_waits,
                                        .deposed = cluster_deposed,
                                        .arg = m->cluster};
    return &m->for_jobs;
}

void membership_set_address(struct membership *m, const char *address)
{
    snprintf(m->address, sizeof m->address, "%s", address);
}

/* Is the line, as config_print() writes it, of a key that the nodes have in common?  *list: of one
 * that began before. */
static bool is_common(const char *line, bool *list)
{
    static const char *const lists[] = {"roles:", "tenants:"}, *const keys[] = {"  lease:",
                                                                                "  patience:"};
    if (line[0] != ' ' && line[0] != '#')
        *list = false;
    for (size_t i = 0; i < 2; i++) {
        *list |= strncmp(line, lists[i], strlen(lists[i])) == 0;
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return true;
    }
    return *list;
}

/* Not where a value was written, nor whether it is one that was left out (behind or before '#'). */
static uint64_t add_line(uint64_t hash, char *line)
{
    for (char *at = strstr(line, " # "), *next; at; at = next)
        if (!(next = strstr(at + 1, " # ")))
            *at = '\0';
    for (const char *at = line; *at; at++)
        if (*at != ' ' && *at != '#')
            hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

void membership_note_settings(struct membership *m, const struct config *c)
{
    char *text = NULL, *rest = NULL, hash[17];
    size_t size;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    bool list = false;
    FILE *out = m ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    bool printed = config_print(c, out);
    if (fclose(out) == 0 && printed)
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            if (is_common(line, &list))
                sum = add_line(sum, line);
    free(text);
    snprintf(hash, sizeof hash, "%08x", (unsigned)(sum ^ sum >> 32));
    cluster_set_settings(m->cluster, hash);
}

void membership_on_end(struct membership *m, void (*on_end)(void *arg), void *arg)
{
    m->on_end = on_end;
    m->on_end_arg = arg;
}

uint32_t membership_ended(const struct membership *m)
{
    return atomic_load_explicit(&m->ended, memory_order_acquire);
}

void membership_watch(struct membership *m, struct health *health)
{
    m->health = health;
    health_cluster(health, "no node owns the tasks");
}

/* ---- waiting for the database before this node serves ---- */

/* By a handler, since the first process of a container gets no signal without one. */
static void leave_at_once(int signal)
{
    (void)signal;
    _exit(0);
}

static void handle_stops(void (*handler)(int signal))
{
    const struct sigaction action = {.sa_handler = handler};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static void mask_stops(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(how, &set, NULL);
}

void membership_wait_begins(const struct membership *m)
{
    if (!m)
        return;
    handle_stops(leave_at_once);
    mask_stops(SIG_UNBLOCK);
}

void membership_wait_ends(const struct membership *m)
{
    if (!m)
        return;
    mask_stops(SIG_BLOCK);
    handle_stops(SIG_DFL);
}

/* ---- its life ---- */

int membership_start(struct membership *m, struct store *store, struct jobs *jobs, char *error,
                     size_t size)
{
    m->store = store;
    m->jobs = jobs;
    cluster_on_change(m->cluster, changed, m);
    membership_wait_begins(m);
    int rc = cluster_start(m->cluster, m->address, error, size);
    membership_wait_ends(m);
    return rc;
}

void membership_stop(struct membership *m)
{
    if (m)
        cluster_stop(m->cluster);
}
