/* Follows the history of a task, page by page: each is asked for from where the last one ended, so
 * nothing is missed or told twice, whatever the connection does. */
#include "client/lib/backoff.h"
#include "client/lib/client.h"
#include "client/lib/decode.h"
#include "client/lib/requests.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PAGE = 1000,              /* events */
    POLL_MS = 30 * 1000,      /* that the server waits for something to tell */
    LONGEST_MS = 45 * 1000,   /* that we wait for the server */
    PAUSE_MIN_MS = 100,       /* before a server that refuses is asked again */
    PAUSE_MAX_MS = 10 * 1000, /* doubled up to this */
};

/* Either a call is out, a request or a pause; or it is telling events. */
struct ergon_watch {
    struct ergon_client *client;
    ergon_call_id call; /* 0: none is out */
    uint32_t attempt;   /* tries since the server last had something to tell */
    uint64_t next;      /* number of the event to tell next */
    bool stopped;       /* while it was telling */
    ergon_event_fn *on_event;
    ergon_answer_fn *on_end;
    void *arg;
    char id[64];
};

struct page {
    uint64_t next, missed;
    bool ended;
    struct ergon_raw events;
};

#define FIELD(kind, member)                                                                        \
    {                                                                                              \
#member, kind, offsetof(struct page, member), sizeof(((struct page *)0)->member)           \
    }
static const struct decode_field PAGE_FIELDS[] = {
    FIELD(DECODE_NUMBER, next),
    FIELD(DECODE_NUMBER, missed),
    FIELD(DECODE_BOOL, ended),
    FIELD(DECODE_RAW, events),
    {0},
};

static void finish(struct ergon_watch *w, const struct ergon_answer *answer)
{
    ergon_answer_fn *fn = w->on_end;
    void *arg = w->arg;
    struct ergon_answer end = *answer;
    end.result = (struct ergon_raw){NULL, 0};
    free(w);
    fn(arg, &end);
}

static void finish_as(struct ergon_watch *w, enum ergon_end outcome, const char *text)
{
    finish(w, &(struct ergon_answer){.outcome = outcome, .code = "", .text = text});
}

/* ---- asking ---- */

static void on_page(void *arg, const struct ergon_answer *answer);

static struct ergon_request *next_page(const struct ergon_watch *w)
{
    struct ergon_request *r = request_new("task.watch", 2);
    if (r == NULL)
        return NULL;
    pack_str(&r->params, w->id);
    pack_map(&r->params, 3);
    pack_key_uint(&r->params, "from", w->next);
    pack_key_uint(&r->params, "max", PAGE);
    pack_key_uint(&r->params, "timeout", POLL_MS);
    return request_done(r);
}

static bool ask(struct ergon_watch *w)
{
    w->call = ergon_client_ask(w->client, next_page(w), LONGEST_MS, on_page, w);
    return w->call != 0;
}

static void ask_again(struct ergon_watch *w)
{
    if (!ask(w))
        finish_as(w, ERGON_END_MEMORY, "out of memory, or calls_max is reached");
}

static void on_pause_end(void *arg, const struct ergon_answer *answer)
{
    if (answer->outcome == ERGON_END_TIMEOUT)
        ask_again(arg);
    else
        finish(arg, answer);
}

static void pause_then_ask(struct ergon_watch *w)
{
    uint32_t ms =
        backoff_delay(w->attempt, PAUSE_MIN_MS, PAUSE_MAX_MS, (uint32_t)w->client->stats.calls);
    if (w->attempt < UINT32_MAX)
        w->attempt++;
    w->call = client_pause(w->client, ms, on_pause_end, w);
    if (w->call == 0)
        finish_as(w, ERGON_END_MEMORY, "out of memory");
}

/* ---- telling ---- */

/* False: nobody wants to hear more. */
static bool tell(struct ergon_watch *w, struct ergon_raw value, uint64_t missed)
{
    struct ergon_event event = {.missed = missed};
    if (!decode_map(value, DECODE_EVENT, &event) || event.seq < w->next)
        return true;
    w->next = event.seq + 1;
    w->attempt = 0;
    return w->on_event(w->arg, &event) && !w->stopped && !w->client->doomed;
}

/* What comes of it stands in w->stopped. */
static void tell_all(struct ergon_watch *w, const struct page *page)
{
    struct reader r = reader_of(span_of(page->events.at, page->events.len));
    struct span value;
    uint32_t count;
    uint64_t missed = page->missed;
    bool wanted = true;
    if (!read_array(&r, &count))
        return;
    for (; wanted && count > 0 && read_any(&r, &value); count--, missed = 0)
        wanted = tell(w, (struct ergon_raw){value.at, value.len}, missed);
    w->stopped = !wanted;
}

static void take_page(struct ergon_watch *w, struct ergon_raw result)
{
    struct page page = {0};
    uint64_t from = w->next;
    if (!decode_map(result, PAGE_FIELDS, &page) || page.events.len == 0) {
        finish_as(w, ERGON_END_ERROR, "the answer of task.watch is no page of events");
        return;
    }
    tell_all(w, &page);
    if (w->client->doomed)
        finish_as(w, ERGON_END_CLOSED, "the client was freed");
    else if (w->stopped)
        finish_as(w, ERGON_END_CANCELLED, "stopped by the caller");
    else if (page.ended)
        finish_as(w, ERGON_END_OK, "");
    else if (w->next > from)
        ask_again(w);
    else
        pause_then_ask(w); /* nothing new, and a server that is always so quick is left in peace */
}

static bool worth_a_pause(const char *code)
{
    return strcmp(code, "BUSY") == 0 || strcmp(code, "DRAINING") == 0 ||
           strcmp(code, "MEMORY") == 0;
}

static void on_page(void *arg, const struct ergon_answer *answer)
{
    struct ergon_watch *w = arg;
    bool reconnects = !w->client->settings.options.no_reconnect;
    w->call = 0;
    if (answer->outcome == ERGON_END_OK)
        take_page(w, answer->result);
    else if (answer->outcome == ERGON_END_TIMEOUT ||
             (answer->outcome == ERGON_END_BROKEN && reconnects))
        ask_again(w);
    else if (answer->outcome == ERGON_END_ERROR && worth_a_pause(answer->code))
        pause_then_ask(w);
    else
        finish(w, answer);
}

/* ---- life ---- */

struct ergon_watch *ergon_client_watch(struct ergon_client *c, const char *id, uint64_t from,
                                       ergon_event_fn *on_event, ergon_answer_fn *on_end, void *arg)
{
    struct ergon_watch *w = calloc(1, sizeof *w);
    if (w == NULL || strlen(id) >= sizeof w->id)
        goto refused;
    snprintf(w->id, sizeof w->id, "%s", id);
    w->client = c;
    w->next = from > 0 ? from : 1;
    w->on_event = on_event;
    w->on_end = on_end;
    w->arg = arg;
    if (ask(w))
        return w;
refused:
    free(w);
    return NULL;
}

void ergon_watch_stop(struct ergon_watch *w)
{
    if (w->call == 0)
        w->stopped = true; /* it is telling, and looks at this next */
    else
        ergon_client_cancel(w->client, w->call);
}
