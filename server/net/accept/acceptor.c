/* The acceptor: an active object on the first loop's activator.  Its listeners' events, slots
 * that come home, and commands of other threads make it active. */
#include "server/net/accept/acceptor_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/accept/listener.h"
#include "server/net/auth/crypto.h"
#include "server/net/auth/principal.h"
#include "server/net/stream/tls.h"

static void come_home(struct acceptor *a, struct conn_slot *slot)
{
    a->open--;
    a->links[slot->message.loop].open--;
    --slot->rules->open;
    if (slot->address != NULL)
        address_drop(&a->addresses, slot->address);
    free(slot);
}

/* True when more may wait. */
static bool take_returns(struct acceptor *a)
{
    bool more = false;

    for (uint32_t i = 0; i < a->loop_count; i++) {
        struct lane *back = &a->links[i].back;
        for (int n = 0; n < RETURNS_A_STEP; n++) {
            struct lane_item *item = lane_take(back);
            if (item == NULL)
                break;
            come_home(a, ao_of(ao_of(item, struct loop_message, item), struct conn_slot, message));
        }
        lane_release(back);
        more = more || lane_ready(back);
    }
    return more;
}

static void end_pause(struct acceptor *a)
{
    a->paused = false;
    acceptor_watch(a, !a->draining);
}

static enum ao_verdict acceptor_step(struct ao *self)
{
    struct acceptor *a = ao_of(self, struct acceptor, ao);

    acceptor_handle_commands(a);
    bool more = take_returns(a);
    if (a->paused && activator_now(a->activator) >= a->pause_end)
        end_pause(a);
    for (uint32_t i = 0; i < a->listener_count && !a->paused; i++)
        if (a->listeners[i]->ready)
            accept_some(a->listeners[i]);
    acceptor_tell_drained(a);
    if (more)
        return AO_AGAIN;
    if (!a->paused)
        return AO_DONE;
    ao_sleep_until(self, a->pause_end);
    return AO_PARK;
}

static const struct ao_class acceptor_class = {.name = "acceptor", .step = acceptor_step};

static void on_listener(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    (void)fd;
    (void)what;
    l->ready = true;
    ao_activate(&l->acceptor->ao);
}

/* --- Listeners --- */

static char *copy(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static bool copy_rules(struct listener *l, const struct listener_options *o)
{
    const struct tls_files *f = &o->tls;

    l->limit = o->connections;
    l->rules.auth = o->auth;
    l->rules.raw = o->raw;
    l->rules.idle_timeout = o->idle_timeout;
    l->rules.methods = copy(o->methods == NULL ? "*" : o->methods);
    l->files = (struct tls_files){.cert = copy(f->cert),
                                  .key = copy(f->key),
                                  .client_ca = copy(f->client_ca),
                                  .key_password = copy(f->key_password),
                                  .client_cert = f->client_cert,
                                  .min_tls13 = f->min_tls13};
    if (o->auth == LISTENER_AUTH_NONE && l->rules.methods != NULL)
        l->rules.anybody = principal_new("anybody", l->rules.methods);
    return l->rules.methods != NULL &&
           (o->auth != LISTENER_AUTH_NONE || l->rules.anybody != NULL) &&
           (f->cert == NULL || l->files.cert != NULL) && (f->key == NULL || l->files.key != NULL) &&
           (f->client_ca == NULL || l->files.client_ca != NULL) &&
           (f->key_password == NULL || l->files.key_password != NULL);
}

static void listener_close(struct listener *l)
{
    if (l->fd < 0)
        return;
    if (l->watched)
        event_del(&l->event);
    l->watched = false;
    close(l->fd);
    l->fd = -1;
    if (l->url.scheme == URL_UNIX)
        unlink(l->url.path);
}

static void listener_free(struct listener *l)
{
    listener_close(l);
    for (uint32_t i = 0; l->rules.contexts != NULL && i < l->acceptor->loop_count; i++)
        tls_context_unref(l->rules.contexts[i]);
    free(l->rules.contexts);
    principal_unref(l->rules.anybody);
    free((void *)(uintptr_t)l->rules.methods);
    free((void *)(uintptr_t)l->files.cert);
    free((void *)(uintptr_t)l->files.key);
    free((void *)(uintptr_t)l->files.client_ca);
    if (l->files.key_password != NULL)
        crypto_wipe((void *)(uintptr_t)l->files.key_password, strlen(l->files.key_password));
    free((void *)(uintptr_t)l->files.key_password);
    free(l);
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
    l->fd = listener_open(&l->url, o->unix_mode, error, size);
    if (l->fd < 0)
        return -1;
    url_text(&l->url, l->text, sizeof l->text);
    event_assign(&l->event, a->base, l->fd, EV_READ | EV_PERSIST, on_listener, l);
    return 0;
}

int acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                    size_t size)
{
    struct listener *l = calloc(1, sizeof *l);

    if (l == NULL)
        return snprintf(error, size, "out of memory"), -1;
    l->acceptor = a;
    l->fd = -1;
    if (open_listener(l, options, error, size) != 0) {
        listener_free(l);
        return -1;
    }
    a->listeners[a->listener_count++] = l;
    acceptor_watch(a, true);
    return 0;
}

uint32_t acceptor_count(const struct acceptor *a)
{
    return a->listener_count;
}

const char *acceptor_url(const struct acceptor *a, uint32_t i)
{
    return a->listeners[i]->text;
}

void acceptor_close_listeners(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_close(a->listeners[i]);
}

/* --- Set-up and tear-down --- */

static bool link_loop(struct acceptor *a, struct loop_link *link, struct net_loop *loop)
{
    if (lane_init(&link->to, LANE_CAPACITY, a->activator, &loop->intake) != 0)
        return false;
    if (lane_init(&link->back, LANE_CAPACITY, loop->activator, &a->ao) != 0) {
        lane_fini(&link->to);
        return false;
    }
    link->loop = loop;
    link->drain.kind = LOOP_DRAIN;
    link->abort.kind = LOOP_ABORT;
    loop->inlet = &link->to;
    loop->home = &link->back;
    return true;
}

static void unlink_loop(struct loop_link *link)
{
    link->loop->inlet = NULL;
    link->loop->home = NULL;
    loop_messages_drop(&link->to);
    loop_messages_drop(&link->back);
    lane_fini(&link->to);
    lane_fini(&link->back);
}

struct acceptor *acceptor_new(struct net_loop **loops, uint32_t count,
                              const struct net_limits *limits)
{
    struct acceptor *a = calloc(1, sizeof *a);
    size_t size = count * sizeof *a->links;

    if (a == NULL)
        return NULL;
    a->activator = loops[0]->activator;
    a->base = loops[0]->base;
    a->limits = *limits;
    a->addresses.seed = activator_random(a->activator);
    mpsc_init(&a->commands);
    ao_init(&a->ao, &acceptor_class, a->activator);
    a->handle = ao_handle_new(&a->ao);
    a->links = aligned_alloc(alignof(struct loop_link), size);
    if (a->handle == NULL || a->links == NULL)
        goto fail;
    memset(a->links, 0, size);
    for (; a->loop_count < count; a->loop_count++)
        if (!link_loop(a, &a->links[a->loop_count], loops[a->loop_count]))
            goto fail;
    return a;
fail:
    acceptor_free(a);
    errno = ENOMEM;
    return NULL;
}

void acceptor_free(struct acceptor *a)
{
    if (a == NULL)
        return;
    acceptor_handle_commands(a); /* frees what was asked and not done */
    for (uint32_t i = 0; i < a->loop_count; i++)
        unlink_loop(&a->links[i]);
    /* Connections point to the rules of their listener to their end. */
    for (uint32_t i = 0; i < a->loop_count; i++)
        loop_drop_connections(a->links[i].loop);
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_free(a->listeners[i]);
    address_table_fini(&a->addresses);
    free(a->links);
    if (a->handle != NULL)
        ao_handle_drop(a->handle);
    ao_deactivate(&a->ao);
    ao_fini(&a->ao);
    free(a);
}
