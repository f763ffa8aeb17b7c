#include "server/admin/follow.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/gateway.h"

enum { CALL_MS = FOLLOW_POLL_MS + 10 * 1000 };

struct follow {
    const struct follow_port *port;
    void *arg;
    struct event *timer;
    json_t *wanted, *mark;     /* NULL: nothing is followed */
    struct gateway_call *call; /* under way; NULL: none */
    unsigned full;             /* pages in a row that were full */
    json_int_t last;           /* number of the last event that was sent; 0: none */
    bool passes;               /* over what is there: where the feed is now is asked next */
};

static void wait_for(struct follow *f, unsigned ms)
{
    const struct timeval pause = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};

    event_add(f->timer, &pause);
}

/* Takes the reference. */
static void send_page(struct follow *f, json_t *page)
{
    if (page && json_object_set(page, "mark", f->mark) == 0)
        f->port->page(f->arg, page);
    json_decref(page);
}

static void fail(struct follow *f, const char *code, const char *text)
{
    send_page(f, json_pack("{s:{s:s,s:s}}", "error", "code", code, "text", text));
    json_decref(f->wanted);
    f->wanted = NULL;
}

static json_int_t seq_at(const json_t *events, size_t index)
{
    return json_integer_value(json_object_get(json_array_get(events, index), "seq"));
}

/* A cursor has the number of the event that comes next; numbers go up by one. */
static json_int_t seq_of_cursor(const char *cursor)
{
    const char *number = cursor ? strrchr(cursor, '-') : NULL;

    return number ? strtoll(number + 1, NULL, 10) : 0;
}

/* The feed's present place is known: the events up to it are skipped, and their number is sent. */
static void pass_over(struct follow *f, json_t *page)
{
    json_int_t now = seq_of_cursor(json_string_value(json_object_get(page, "next")));

    f->passes = false;
    json_object_set(f->wanted, "after", json_object_get(page, "next"));
    if (now <= f->last + 1)
        return;
    json_object_set_new(page, "gap", json_string("behind"));
    json_object_set_new(page, "missed", json_integer(now - f->last - 1));
    f->last = now - 1;
    send_page(f, json_incref(page));
}

static void take_page(struct follow *f, json_t *page)
{
    const json_t *events = json_object_get(page, "events");
    size_t count = json_array_size(events);

    if (count > 0)
        f->last = seq_at(events, count - 1);
    f->full = count >= FOLLOW_PAGE ? f->full + 1 : 0;
    f->passes = f->full >= FOLLOW_FULL_PAGES;
    json_object_set(f->wanted, "after", json_object_get(page, "next"));
    if (count > 0 || json_is_string(json_object_get(page, "gap")))
        send_page(f, json_incref(page));
}

static void on_answer(void *arg, const struct gateway_answer *a)
{
    struct follow *f = arg;

    if (!f->call || !f->wanted)
        return; /* it was cancelled */
    f->call = NULL;
    if (a->result) {
        if (f->passes)
            pass_over(f, a->result);
        else
            take_page(f, a->result);
        wait_for(f, f->passes ? 0 : FOLLOW_PAUSE_MS);
    } else if (strcmp(a->code, "BUSY") == 0 || strcmp(a->code, "TIMEOUT") == 0) {
        wait_for(f, FOLLOW_AGAIN_MS);
    } else {
        fail(f, a->code, a->text);
    }
}

static void ask(struct follow *f, struct gateway_peer *peer)
{
    const char *code = "MEMORY";
    json_t *params = f->passes ? json_pack("[{s:i}]", "timeout", 0) : json_pack("[O]", f->wanted);

    if (params)
        f->call = gateway_call(peer, "task.events", params, CALL_MS, on_answer, f, &code);
    json_decref(params);
    if (!f->call)
        fail(f, code, "the events cannot be asked for");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct follow *f = arg;
    struct gateway_peer *peer = f->port->peer(f->arg);

    (void)fd;
    (void)what;
    if (!f->wanted || f->call || !peer)
        return;
    if (f->port->keeps_up(f->arg))
        ask(f, peer);
    else
        wait_for(f, FOLLOW_PAUSE_MS);
}

struct follow *follow_new(struct event_base *base, const struct follow_port *port, void *arg)
{
    struct follow *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->port = port;
    f->arg = arg;
    f->timer = evtimer_new(base, on_timer, f);
    if (f->timer)
        return f;
    free(f);
    return NULL;
}

static void let_go(struct follow *f)
{
    struct gateway_call *call = f->call;

    f->call = NULL;
    if (call)
        gateway_cancel(call);
    event_del(f->timer);
    json_decref(f->wanted);
    json_decref(f->mark);
    f->wanted = f->mark = NULL;
    f->full = 0;
    f->last = 0;
    f->passes = false;
}

void follow_set(struct follow *f, const json_t *wanted)
{
    let_go(f);
    if (!json_is_object(wanted))
        return;
    json_t *mark = json_object_get(wanted, "mark");
    f->wanted = json_copy((json_t *)(uintptr_t)wanted);
    f->mark = mark ? json_incref(mark) : json_null();
    json_object_del(f->wanted, "mark");
    json_object_set_new(f->wanted, "max", json_integer(FOLLOW_PAGE));
    json_object_set_new(f->wanted, "timeout", json_integer(FOLLOW_POLL_MS));
    if (f->wanted)
        wait_for(f, 0);
}

void follow_free(struct follow *f)
{
    if (!f)
        return;
    let_go(f);
    event_free(f->timer);
    free(f);
}
