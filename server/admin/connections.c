#include "server/admin/connections.h"

#include <event2/bufferevent.h>
#include <stddef.h>
#include <sys/socket.h>

/* evhttp sees the end of the stream, and drops it. */
static void hang_up(const struct http_connection *c)
{
    evutil_socket_t fd = bufferevent_getfd(c->bev);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

static void let_idle_give_way(struct http_connections *c)
{
    struct http_connection *oldest = NULL;

    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        struct http_connection *one = &c->at[i];
        if (one->bev && !one->busy && (!oldest || one->since < oldest->since))
            oldest = one;
    }
    if (oldest)
        hang_up(oldest);
}

bool connections_add(struct http_connections *c, struct bufferevent *bev, ao_time now)
{
    if (c->count >= HTTP_CONNECTIONS)
        let_idle_give_way(c);
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        if (c->at[i].bev)
            continue;
        bufferevent_incref(bev);
        c->at[i] = (struct http_connection){.bev = bev, .since = now};
        c->count++;
        return true;
    }
    return false;
}

void connections_busy(struct http_connections *c, const struct bufferevent *bev, bool busy,
                      ao_time now)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        if (c->at[i].bev != bev)
            continue;
        c->at[i].busy = busy;
        c->at[i].since = now;
    }
}

static bool was_dropped(struct bufferevent *bev)
{
    bufferevent_data_cb reads, writes;
    bufferevent_event_cb ends;
    void *arg;

    bufferevent_getcb(bev, &reads, &writes, &ends, &arg);
    return !ends;
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
}

void connections_tick(struct http_connections *c, ao_time now)
{
    for (size_t i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        const struct http_connection *one = &c->at[i];
        if (one->bev && !one->busy && now - one->since > HTTP_REQUEST_TIME)
            hang_up(one);
    }
}

bool connections_full(const struct http_connections *c)
{
    return c->count == HTTP_CONNECTIONS_MOST;
}
