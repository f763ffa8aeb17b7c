#include "server/admin/connections.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stddef.h>
#include <sys/socket.h>

/* A handler that answers, or a write under way, notices by itself.  evhttp does not notice while it
 * has input left to read, so it is notified that the stream has ended, and drops the connection. */
static void hang_up(const struct http_connection *c)
{
    evutil_socket_t fd = bufferevent_getfd(c->bev);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
    if (c->phase == HTTP_READS)
        bufferevent_trigger_event(c->bev, BEV_EVENT_READING | BEV_EVENT_EOF,
                                  BEV_OPT_DEFER_CALLBACKS);
}

/* The one that has been at this for longest; NULL: none is. */
static struct http_connection *oldest_at(struct http_connections *c, enum http_phase phase)
{
    struct http_connection *oldest = NULL;

    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        struct http_connection *one = &c->at[i];
        if (one->bev && one->phase == phase && (!oldest || one->since < oldest->since))
            oldest = one;
    }
    return oldest;
}

static void let_idle_give_way(struct http_connections *c)
{
    const struct http_connection *oldest = oldest_at(c, HTTP_READS);

    if (oldest)
        hang_up(oldest);
}

/* The input from `from` on belongs to a head that is being read, or follows that head. */
static void follow_head(struct http_connection *c, size_t from)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);
    struct evbuffer_ptr at;
    uint8_t piece[512];
    ev_ssize_t got = 1;

    for (; got > 0 && !c->head.over && !c->head.doubt; from += (size_t)got) {
        if (evbuffer_ptr_set(input, &at, from, EVBUFFER_PTR_SET) != 0)
            return;
        got = evbuffer_copyout_from(input, &at, piece, sizeof piece);
        head_check_take(&c->head, piece, got > 0 ? (size_t)got : 0);
    }
}

/* What comes while a request is answered is the next one's. */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_connection *c = arg;

    (void)input;
    if (info->n_added > 0 && c->phase == HTTP_READS)
        follow_head(c, info->orig_size);
}

const struct http_connection *connections_add(struct http_connections *c, struct bufferevent *bev,
                                              const void *listener, ao_time now)
{
    if (c->count >= HTTP_CONNECTIONS)
        let_idle_give_way(c);
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        if (c->at[i].bev)
            continue;
        bufferevent_incref(bev);
        c->at[i] = (struct http_connection){
            .bev = bev, .listener = listener, .since = now, .phase = HTTP_READS};
        if (!evbuffer_add_cb(bufferevent_get_input(bev), on_input, &c->at[i]))
            c->at[i].head.doubt = "out of memory";
        c->count++;
        return &c->at[i];
    }
    return NULL;
}

void connections_enter(struct http_connections *c, const struct bufferevent *bev,
                       enum http_phase phase, ao_time now)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        if (c->at[i].bev != bev)
            continue;
        c->at[i].phase = phase;
        c->at[i].since = now;
        if (phase != HTTP_READS)
            continue;
        c->at[i].head = (struct head_check){0};
        follow_head(&c->at[i], 0);
    }
}

const char *connections_doubt(const struct http_connections *c, const struct bufferevent *bev)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++)
        if (c->at[i].bev == bev)
            return c->at[i].head.doubt;
    return NULL;
}

static bool was_dropped(struct bufferevent *bev)
{
    bufferevent_data_cb reads, writes;
    bufferevent_event_cb ends;
    void *arg;

    bufferevent_getcb(bev, &reads, &writes, &ends, &arg);
    return !ends;
}

/* All requests together are too large, which is no single client's fault: the connection with the
 * most input is closed. */
static void bound_input(const struct http_connections *c)
{
    const struct http_connection *largest = NULL;
    size_t most = 0, all = 0;

    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        const struct http_connection *one = &c->at[i];
        if (!one->bev)
            continue;
        size_t bytes = evbuffer_get_length(bufferevent_get_input(one->bev));
        all += bytes;
        if (bytes > most) {
            most = bytes;
            largest = one;
        }
    }
    if (largest && (most > HTTP_INPUT_ONE || all > HTTP_INPUT_MAX))
        hang_up(largest);
}

void connections_sweep(struct http_connections *c)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        struct bufferevent *bev = c->at[i].bev;
        if (!bev || !was_dropped(bev))
            continue;
        c->at[i] = (struct http_connection){0};
        c->count--;
        bufferevent_decref(bev);
    }
    bound_input(c);
}

/* As many as are accepted beyond the places. */
static void let_slow_give_way(struct http_connections *c, ao_time now)
{
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MORE; i++) {
        struct http_connection *slow = oldest_at(c, HTTP_ANSWERS);
        if (!slow || now - slow->since <= HTTP_ANSWER_LEAST)
            return;
        hang_up(slow);
        slow->since = now; /* it has been notified; the next call looks at another */
    }
}

static bool took_too_long(const struct http_connections *c, const struct http_connection *one,
                          ao_time now)
{
    ao_time took = now - one->since;

    return (one->phase == HTTP_READS && took > c->request_time) ||
           (one->phase == HTTP_ANSWERS && took > c->answer_time);
}

void connections_tick(struct http_connections *c, ao_time now)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++)
        if (c->at[i].bev && took_too_long(c, &c->at[i], now))
            hang_up(&c->at[i]);
    if (connections_full(c))
        let_slow_give_way(c, now);
}

void connections_end(struct http_connections *c, const void *listener,
                     bool (*ends)(struct bufferevent *bev, void *arg), void *arg)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++)
        if (c->at[i].bev && c->at[i].listener == listener && !was_dropped(c->at[i].bev) &&
            ends(c->at[i].bev, arg))
            hang_up(&c->at[i]);
}

bool connections_full(const struct http_connections *c)
{
    return c->count == HTTP_CONNECTIONS_MOST;
}
