/* Listeners: their rules and their certificates.  Set-up and
 * tear-down; one thread. */
#include "server/net/accept/acceptor_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/auth/crypto.h"
#include "server/net/auth/principal.h"

/* --- Rules and certificates --- */

static const char *copy(const char *text, bool *good)
{
    const char *copied = text == NULL ? NULL : strdup(text);

    *good = *good && (copied == NULL) == (text == NULL);
    return copied;
}

static bool copy_rules(struct listener *l, const struct listener_options *o)
{
    bool good = tls_files_copy(&l->files, &o->tls);

    l->limit = o->connections;
    l->rules.url = l->text;
    l->rules.auth = o->auth;
    l->rules.without_roles = o->without_roles;
    l->rules.raw = o->raw;
    l->rules.penalties = o->penalties && o->auth != LISTENER_AUTH_NONE;
    l->rules.idle_timeout = o->idle_timeout;
    l->rules.methods = copy(o->methods, &good);
    l->rules.index = (uint8_t)l->acceptor->listener_count;
    return good;
}

static int open_contexts(struct listener *l, char *error, size_t size)
{
    struct acceptor *a = l->acceptor;

    l->rules.contexts = calloc(a->loop_count, sizeof(struct tls_context *));
    if (l->rules.contexts == NULL)
        return snprintf(error, size, "out of memory"), -1;
    for (uint32_t i = 0; i < a->loop_count; i++) {
        struct net_loop *loop = a->links[i].loop;
        if (loop->tls == NULL)
            loop->tls = tls_loop_new(loop->activator, a->links[0].loop->tls);
        l->rules.contexts[i] = tls_context_new(loop->tls, &l->files, error, size);
        if (l->rules.contexts[i] == NULL)
            return -1;
    }
    return 0;
}

/* A client of this listener must be known by the user's name. */
static bool open_users(struct listener *l)
{
    struct acceptor *a = l->acceptor;

    l->names = l->url.scheme == URL_UNIX && l->rules.auth != LISTENER_AUTH_TOKEN &&
               l->rules.auth != LISTENER_AUTH_NODE && !listener_is_inside(l->rules.auth);
    if (l->names && a->users == NULL)
        a->users = users_open(&a->returns, users_ask_system, a->penalties.seed, NAMES_PATIENCE);
    return !l->names || a->users != NULL;
}

/* --- Their life --- */

static int open_listener(struct listener *l, const struct listener_options *o, char *error,
                         size_t size)
{
    struct acceptor *a = l->acceptor;
    const char *wrong = url_parse(o->url, URL_LISTEN, &l->url);

    if (wrong == NULL && l->url.scheme == URL_TLS && o->tls.cert == NULL)
        wrong = "ergons:// needs a certificate and a key (tls.cert, tls.key)";
    if (wrong == NULL && a->listener_count == LISTENERS_MAX)
        wrong = "there are too many listeners";
    if (wrong == NULL && !copy_rules(l, o))
        wrong = "out of memory";
    if (wrong != NULL)
        return snprintf(error, size, "%s: %s", o->url, wrong), -1;
    if (l->url.scheme == URL_TLS && open_contexts(l, error, size) != 0)
        return -1;
    if (!open_users(l))
        return snprintf(error, size, "%s: no thread for the names of users", o->url), -1;
    if (listen_socket_open(&l->socket, &l->url, a->limits.keepalive, o->unix_mode, error, size) !=
        0)
        return -1;
    url_text(&l->url, l->text, sizeof l->text);
    l->watch.watcher = &a->watcher;
    return 0;
}

/* The set-up that all listeners share, but for the socket, which has another owner, or does not
 * exist. */
static int open_inside(struct listener *l, const struct url *way, const struct listener_options *o,
                       char *error, size_t size)
{
    const char *wrong = NULL;

    l->url = *way;
    if (!listener_is_inside(o->auth))
        url_text(&l->url, l->text, sizeof l->text);
    if (l->acceptor->listener_count == LISTENERS_MAX)
        wrong = "there are too many listeners";
    else if (!copy_rules(l, o))
        wrong = "out of memory";
    else if (!open_users(l))
        wrong = "no thread for the names of users";
    return wrong == NULL ? 0 : (snprintf(error, size, "%s: %s", l->text, wrong), -1);
}

/* Without memory it stays as it is, and is tried again with the acceptor's next step. */
static void set_watched(struct listener *l, bool watch)
{
    if (l->watched != watch && poller_change(&l->watch, l->socket.fd, l->watched ? POLLER_READ : 0,
                                             watch ? POLLER_READ : 0))
        l->watched = watch;
}

void listeners_watch(struct acceptor *a, bool watch)
{
    for (uint32_t i = 0; i < a->listener_count; i++) {
        struct listener *l = a->listeners[i];
        if (l->socket.fd >= 0)
            set_watched(l, watch);
    }
}

uint32_t acceptor_count(const struct acceptor *a)
{
    return a->listener_count;
}

const char *acceptor_url(const struct acceptor *a, uint32_t i)
{
    return a->listeners[i]->text;
}

static void listener_close(struct listener *l)
{
    set_watched(l, false);
    listen_socket_close(&l->socket, &l->url);
}

static void listener_free(struct listener *l)
{
    listener_close(l);
    for (uint32_t i = 0; l->rules.contexts != NULL && i < l->acceptor->loop_count; i++)
        tls_context_unref(l->rules.contexts[i]);
    free(l->rules.contexts);
    free((void *)(uintptr_t)l->rules.methods);
    tls_files_free(&l->files);
    free(l);
}

int acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                    size_t size)
{
    struct listener *l = calloc(1, sizeof *l);

    if (l == NULL)
        return snprintf(error, size, "out of memory"), -1;
    l->acceptor = a;
    l->socket.fd = -1;
    if (open_listener(l, options, error, size) != 0) {
        listener_free(l);
        return -1;
    }
    a->listeners[a->listener_count++] = l;
    listeners_watch(a, true);
    return 0;
}

int acceptor_listen_inside(struct acceptor *a, const struct url *way,
                           const struct listener_options *options, char *error, size_t size)
{
    struct listener *l = calloc(1, sizeof *l);

    if (l == NULL)
        return snprintf(error, size, "out of memory"), -1;
    l->acceptor = a;
    l->socket.fd = -1;
    if (open_inside(l, way, options, error, size) != 0) {
        listener_free(l);
        return -1;
    }
    a->listeners[a->listener_count] = l;
    return (int)a->listener_count++;
}

void listeners_close(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_close(a->listeners[i]);
}

void listeners_free(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_free(a->listeners[i]);
}
