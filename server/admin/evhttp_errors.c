#include "server/admin/evhttp_errors.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/connections.h"
#include "server/admin/http_reply.h"

/* The status, if this is a status line; else 0. */
static int status_of(struct evbuffer *output, const struct evbuffer_cb_info *info)
{
    struct evbuffer_ptr at;
    char line[16] = "";
    int status = 0;

    if (evbuffer_ptr_set(output, &at, info->orig_size, EVBUFFER_PTR_SET) != 0 ||
        evbuffer_copyout_from(output, &at, line, sizeof line - 1) <= 0 ||
        sscanf(line, "HTTP/%*d.%*d %3d", &status) != 1)
        return 0;
    return status;
}

static const char *text_of(int status)
{
    switch (status) {
    case 413:
        return "the request is too large, or its chunks cannot be read";
    case 417:
        return "no Expect is known but 100-continue";
    case 501:
        return "no such method is known here";
    default:
        return "the request cannot be read, or its head is too large";
    }
}

static void on_output(struct evbuffer *output, const struct evbuffer_cb_info *info, void *arg)
{
    const struct http_connection *c = arg;
    int status = info->n_added > 0 && c->phase == HTTP_READS ? status_of(output, info) : 0;

    if (status < 400) /* 100: it goes on */
        return;
    reply_raw_refusal(output, status == 413 ? "TOO_LARGE" : "BAD_REQUEST", text_of(status));
    evbuffer_freeze(output, 0);
}

bool evhttp_errors_replace(const struct http_connection *c)
{
    return evbuffer_add_cb(bufferevent_get_output(c->bev), on_output, (void *)(uintptr_t)c) != NULL;
}
