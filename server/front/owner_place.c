#include "server/front/owner_place.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/url.h"

#define ASK_AGAIN AO_S(1) /* while the owner's name is not found, or its address not reached */

struct owner_finder {
    struct cluster_roles roles;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t news;
    pthread_t thread;
    bool started, changed, stops;
    struct owner_place place;
    char note[CLUSTER_NOTE_MAX]; /* the last that was written */
    uint32_t count, room;
    struct ao_handle *handles[]; /* references; constant once it has started */
};

static bool is_same_owner(const struct cluster_view *one, const struct cluster_view *other)
{
    return one->epoch == other->epoch && one->role == other->role &&
           strcmp(one->owner, other->owner) == 0 && strcmp(one->address, other->address) == 0;
}

bool owner_place_same(const struct owner_place *one, const struct owner_place *other)
{
    return is_same_owner(&one->view, &other->view) &&
           (one->target.count > 0) == (other->target.count > 0);
}

struct owner_finder *owner_finder_new(const struct cluster_roles *roles, uint32_t loops)
{
    struct owner_finder *f = calloc(1, sizeof *f + loops * sizeof f->handles[0]);
    pthread_condattr_t attr;

    if (!f)
        return NULL;
    f->roles = *roles;
    f->room = loops;
    f->changed = true;
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->news, &attr);
    pthread_condattr_destroy(&attr);
    return f;
}

void owner_finder_tell(struct owner_finder *f, struct ao_handle *handle)
{
    if (f->count < f->room)
        f->handles[f->count++] = handle;
}

static void find_path(struct owner_place *p, const struct url *url)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, url->path, strlen(url->path) + 1);
    memcpy(&p->target.at[0], &address, sizeof address);
    p->target.len[0] = sizeof address;
    p->target.count = 1;
}

static void find_host(struct owner_place *p, const struct url *url)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list;
    char port[8];

    snprintf(port, sizeof port, "%u", url->port);
    int rc = getaddrinfo(url->host, port, &hints, &list);
    if (rc != 0) {
        snprintf(p->why, sizeof p->why, "%.100s: %s", url->host, gai_strerror(rc));
        return;
    }
    for (struct addrinfo *a = list; a && p->target.count < TARGET_ADDRESSES; a = a->ai_next) {
        uint32_t at = p->target.count++;
        memcpy(&p->target.at[at], a->ai_addr, a->ai_addrlen);
        p->target.len[at] = a->ai_addrlen;
    }
    freeaddrinfo(list);
    p->target.tls = url->scheme == URL_TLS;
}

/* Blocks, for as long as the name service takes. */
static void find(struct owner_place *p)
{
    struct url url;

    if (p->view.role != CLUSTER_FRONT || p->view.owner[0] == '\0')
        return;
    const char *wrong = p->view.address[0] ? url_parse(p->view.address, URL_CONNECT, &url)
                                           : "it has no cluster.listen";
    if (wrong)
        snprintf(p->why, sizeof p->why, "%s", wrong);
    else if (url.scheme == URL_UNIX)
        find_path(p, &url);
    else
        find_host(p, &url);
}

/* A name service that fails once it has found the owner's name ends no session to that owner. */
static void keep_addresses(struct owner_place *next, const struct owner_place *last)
{
    if (next->target.count > 0 || last->target.count == 0 ||
        !is_same_owner(&next->view, &last->view))
        return;
    next->target = last->target;
    next->why[0] = '\0';
}

void owner_finder_look(struct owner_finder *f)
{
    struct owner_place *next = calloc(1, sizeof *next);

    if (!next)
        return;
    f->roles.view(f->roles.cluster, &next->view);
    find(next);
    pthread_mutex_lock(&f->lock);
    keep_addresses(next, &f->place);
    bool moved = !owner_place_same(&f->place, next);
    next->version = f->place.version + 1;
    bool forgets = moved && f->note[0]; /* it was about a former owner */
    if (forgets)
        f->note[0] = '\0'; /* before anybody can note something of this one */
    f->place = *next;
    pthread_mutex_unlock(&f->lock);
    free(next);
    if (forgets && f->roles.note)
        f->roles.note(f->roles.cluster, "");
    for (uint32_t i = 0; i < f->count; i++)
        ao_post(f->handles[i], AO_POST_MESSAGE);
}

/* Also returns after ASK_AGAIN while the owner's name is not found, or this node cannot reach the
 * owner, which may have another address now: the name service reports no changes.  False: the
 * thread has to end. */
static bool await_change(struct owner_finder *f)
{
    const struct timespec at = clock_spec(clock_after(clock_monotonic(), ASK_AGAIN));
    int late = 0;

    pthread_mutex_lock(&f->lock);
    while (!f->changed && !f->stops && late != ETIMEDOUT)
        late = f->place.why[0] || f->note[0] ? pthread_cond_timedwait(&f->news, &f->lock, &at)
                                             : pthread_cond_wait(&f->news, &f->lock);
    f->changed = false;
    bool goes_on = !f->stops;
    pthread_mutex_unlock(&f->lock);
    return goes_on;
}

static void *run(void *arg)
{
    struct owner_finder *f = arg;

    while (await_change(f))
        owner_finder_look(f);
    return NULL;
}

int owner_finder_start(struct owner_finder *f)
{
    f->started = pthread_create(&f->thread, NULL, run, f) == 0;
    return f->started ? 0 : -1;
}

void owner_finder_stop(struct owner_finder *f)
{
    if (!f || !f->started)
        return;
    pthread_mutex_lock(&f->lock);
    f->stops = true;
    pthread_cond_signal(&f->news);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->started = false;
}

void owner_finder_free(struct owner_finder *f)
{
    if (!f)
        return;
    owner_finder_stop(f);
    for (uint32_t i = 0; i < f->count; i++)
        ao_handle_unref(f->handles[i]);
    pthread_cond_destroy(&f->news);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

void owner_finder_changed(void *arg)
{
    struct owner_finder *f = arg;

    pthread_mutex_lock(&f->lock);
    f->changed = true;
    pthread_cond_signal(&f->news);
    pthread_mutex_unlock(&f->lock);
}

void owner_finder_get(struct owner_finder *f, struct owner_place *out)
{
    pthread_mutex_lock(&f->lock);
    *out = f->place;
    pthread_mutex_unlock(&f->lock);
}

void owner_finder_note(struct owner_finder *f, const char *why)
{
    char note[CLUSTER_NOTE_MAX] = "";

    if (why[0])
        snprintf(note, sizeof note, "cannot reach the owner: %.200s", why);
    pthread_mutex_lock(&f->lock);
    bool is_new = strcmp(note, f->note) != 0;
    memcpy(f->note, note, sizeof note);
    if (is_new)
        pthread_cond_signal(&f->news); /* from now on the thread waits otherwise */
    pthread_mutex_unlock(&f->lock);
    if (is_new && f->roles.note)
        f->roles.note(f->roles.cluster, note);
}
