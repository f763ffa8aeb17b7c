/* A watch across pages, broken connections and servers that are about to stop. */
#include "tests/unit/client/world.h"

#include <stdio.h>
#include <string.h>

#include <ergon/client_tasks.h>

#include "client/lib/client.h"
#include "client/lib/requests.h"
#include "proto/encoder.h"
#include "proto/reader.h"

/* A server that has `events` events of one task, and tells at most `page` of them at a time. */
struct history {
    unsigned events, page;
    unsigned hang_up_after; /* answers; 0: never */
    unsigned refuse;        /* so many requests first: DRAINING */
    unsigned silent;        /* 1: it does not answer */
    unsigned again;         /* so many events that were told before come first */
    unsigned missed;        /* events, before the first page */
    unsigned empty;         /* so many pages with nothing in them first */
    const char *refusal;    /* NULL: DRAINING */
    unsigned answers;
    uint64_t asked_from; /* of the last request */
};

static uint64_t number_of(struct span params, const char *key)
{
    struct reader r;
    struct span id, map;
    uint64_t v = 0;
    uint32_t count;
    read_params(params, &r, &count);
    assert_int_equal(count, 2);
    assert_true(read_text(&r, &id) && span_is(id, "t1") && read_any(&r, &map));
    struct ergon_raw raw = ergon_read_member((struct ergon_raw){map.at, map.len}, key);
    r = reader_of(span_of(raw.at, raw.len));
    assert_true(read_uint(&r, &v));
    return v;
}

static void pack_event(struct pack *p, uint64_t seq, bool last)
{
    pack_map(p, 5);
    pack_key_str(p, "traceback", "in f");
    pack_key_uint(p, "seq", seq);
    pack_key_uint(p, "at", 1000 + seq);
    pack_key_str(p, "event", last ? "done" : "progress");
    pack_key_uint(p, "attempt", 1);
}

static void send_page(struct scripted *s, struct history *h, struct span msgid)
{
    uint8_t head[ENC_RESPONSE_MAX];
    uint64_t last =
        h->asked_from + h->page - 1 < h->events ? h->asked_from + h->page - 1 : h->events;
    uint64_t first = h->asked_from > h->again ? h->asked_from - h->again : 1;
    if (h->empty > 0)
        last = first - 1;
    h->empty -= h->empty > 0;
    uint32_t count = last >= first ? (uint32_t)(last - first + 1) : 0;
    struct pack p;
    pack_init(&p);
    pack_map(&p, 5);
    pack_key_str(&p, "id", "t1");
    pack_key_uint(&p, "missed", h->missed);
    h->missed = 0;
    pack_str(&p, "events");
    pack_array(&p, count);
    for (uint64_t seq = first; seq <= last; seq++)
        pack_event(&p, seq, seq == h->events);
    pack_key_uint(&p, "next", last + 1);
    pack_key_bool(&p, "ended", last == h->events);
    scripted_send(s, head, (size_t)(enc_response_head(head, msgid) - head));
    scripted_send(s, pack_bytes(&p).at, pack_bytes(&p).len);
    pack_fini(&p);
}

static void serve(struct scripted *s, const struct envelope *e)
{
    struct history *h = s->user;
    if (!span_is(e->method, "task.watch") || h->silent)
        return;
    h->asked_from = number_of(e->params, "from");
    h->answers++;
    if (h->hang_up_after > 0 && h->answers > h->hang_up_after) {
        h->hang_up_after = 0;
        scripted_hang_up(s);
    } else if (h->refuse > 0) {
        h->refuse--;
        scripted_refuse(s, e->msgid,
                        h->refusal ? h->refusal : "DRAINING: the server is shutting down");
    } else {
        send_page(s, h, e->msgid);
    }
}

/* What the callbacks saw. */
struct watcher {
    struct seen end;
    unsigned ends;
    unsigned events;
    uint64_t missed;   /* in all */
    uint64_t expected; /* the number of the next event */
    uint64_t stop_at;  /* on_event returns false; 0: never */
    uint64_t free_at;  /* on_event frees the client */
    struct world *world;
    struct ergon_watch *watch;
};

static void free_client(struct watcher *w)
{
    ergon_client_free(w->world->client);
    w->world->client = NULL;
}

static bool on_event(void *arg, const struct ergon_event *event)
{
    struct watcher *w = arg;
    assert_int_equal(event->seq, w->expected++);
    assert_int_equal(event->at, 1000 + event->seq);
    assert_int_equal(event->traceback.len, 5); /* a str, with its head */
    w->events++;
    w->missed += event->missed;
    if (event->seq == w->free_at)
        free_client(w);
    return event->seq != w->stop_at;
}

static void on_end(void *arg, const struct ergon_answer *answer)
{
    struct watcher *w = arg;
    seen_answer(&w->end, answer);
}

static void begin(void **state, struct watcher *w, struct history *h, struct ergon_options options)
{
    w->world = world_open(state, serve, h, options);
    w->end.total = &w->ends;
    if (w->expected == 0)
        w->expected = 1;
    w->watch = ergon_client_watch(w->world->client, "t1", w->expected, on_event, on_end, w);
    assert_non_null(w->watch);
    assert_int_equal(w->events, 0);
}

/* It ends once, also when the client goes. */
static void expect_end(struct watcher *w, enum ergon_end outcome, unsigned events)
{
    scripted_until(&w->world->server, &w->ends, 1);
    assert_int_equal(w->end.outcome, outcome);
    assert_int_equal(w->events, events);
    free_client(w);
    assert_int_equal(w->ends, 1);
}

WORLD_TEST(every_event_is_told_once_to_the_end)
{
    struct history h = {.events = 10, .page = 3};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 10);
}

WORLD_TEST(it_begins_where_it_was_told)
{
    struct history h = {.events = 10, .page = 100};
    struct watcher w = {.expected = 8};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 3);
}

WORLD_TEST(it_goes_on_where_it_was_after_a_broken_connection)
{
    struct history h = {.events = 10, .page = 3, .hang_up_after = 2};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 10);
    assert_int_equal(w.world->server.accepted, 2);
}

WORLD_TEST(a_client_that_does_not_reconnect_ends_it)
{
    struct history h = {.events = 10, .page = 3, .hang_up_after = 2};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){.no_reconnect = true});
    expect_end(&w, ERGON_END_BROKEN, 6);
}

WORLD_TEST(a_server_that_is_about_to_stop_is_asked_again)
{
    struct history h = {.events = 4, .page = 3, .refuse = 1};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 4);
}

WORLD_TEST(what_comes_a_second_time_is_told_once)
{
    struct history h = {.events = 10, .page = 3, .again = 2, .hang_up_after = 2};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 10);
}

WORLD_TEST(what_was_missed_is_told_once)
{
    struct history h = {.events = 10, .page = 3, .missed = 7};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 10);
    assert_int_equal(w.missed, 7);
}

WORLD_TEST(a_server_that_is_busy_is_asked_again)
{
    struct history h = {.events = 4, .page = 3, .refuse = 1, .refusal = "BUSY: too much to do"};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_OK, 4);
}

/* Each time it is paused for longer, until there is something to tell. */
WORLD_TEST(a_server_with_nothing_to_tell_is_left_in_peace)
{
    struct history h = {.events = 4, .page = 3, .empty = 2};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    scripted_until(&w.world->server, &h.answers, 1);
    while (w.world->client->calls.counts[CALL_PAUSED] == 0 && w.ends == 0)
        event_base_loop(w.world->server.base, EVLOOP_ONCE);
    assert_int_equal(h.answers, 1);
    expect_end(&w, ERGON_END_OK, 4);
}

/* The clock is the test's: it looks how long the watch means to wait, and ends the wait. */
static uint32_t end_pause(struct watcher *w)
{
    struct timeval now, end, left;
    struct call *pause;
    while ((pause = TAILQ_FIRST(&w->world->client->calls.lists[CALL_PAUSED])) == NULL)
        event_base_loop(w->world->server.base, EVLOOP_ONCE);
    assert_true(event_pending(&pause->timer, EV_TIMEOUT, &end));
    evutil_gettimeofday(&now, NULL);
    evutil_timersub(&end, &now, &left);
    event_active(&pause->timer, EV_TIMEOUT, 1);
    event_base_loop(w->world->server.base, EVLOOP_ONCE);
    return left.tv_sec < 0 ? 0 : (uint32_t)(left.tv_sec * 1000 + left.tv_usec / 1000);
}

WORLD_TEST(pauses_begin_anew_when_there_was_something_to_tell)
{
    enum { FIRST = 100, LONGEST = 10000, TRIES = 12 }; /* ms */
    struct history h = {.events = 2, .page = 1, .refuse = TRIES};
    struct watcher w = {0};
    uint32_t pause = 0;
    begin(state, &w, &h, (struct ergon_options){0});
    for (int i = 0; i < TRIES; i++)
        pause = end_pause(&w);
    assert_in_range(pause, FIRST + 1, LONGEST);
    scripted_until(&w.world->server, &w.events, 1);
    h.refuse = 1;
    assert_in_range(end_pause(&w), 0, FIRST);
    expect_end(&w, ERGON_END_OK, 2);
}

WORLD_TEST(no_more_is_told_after_a_false)
{
    struct history h = {.events = 10, .page = 5};
    struct watcher w = {.stop_at = 3};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_CANCELLED, 3);
}

WORLD_TEST(stopping_ends_it_at_once)
{
    struct history h = {.silent = 1};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    scripted_until(&w.world->server, &w.world->server.messages, 1);
    ergon_watch_stop(w.watch);
    assert_int_equal(w.ends, 1);
    expect_end(&w, ERGON_END_CANCELLED, 0);
}

/* The server refuses, so it waits for the next try. */
static void begin_in_a_pause(void **state, struct watcher *w, struct history *h)
{
    struct ergon_client_stats stats = {0};
    begin(state, w, h, (struct ergon_options){0});
    while (stats.answers == 0) {
        event_base_loop(w->world->server.base, EVLOOP_ONCE);
        ergon_client_stats(w->world->client, &stats);
    }
    assert_int_equal(w->ends, 0);
}

WORLD_TEST(stopping_ends_a_pause)
{
    struct history h = {.refuse = 1};
    struct watcher w = {0};
    begin_in_a_pause(state, &w, &h);
    ergon_watch_stop(w.watch);
    assert_int_equal(w.ends, 1);
    expect_end(&w, ERGON_END_CANCELLED, 0);
}

WORLD_TEST(freeing_the_client_ends_a_pause)
{
    struct history h = {.refuse = 1};
    struct watcher w = {0};
    begin_in_a_pause(state, &w, &h);
    free_client(&w);
    assert_int_equal(w.ends, 1);
    expect_end(&w, ERGON_END_CLOSED, 0);
}

WORLD_TEST(the_client_may_be_freed_from_inside)
{
    struct history h = {.events = 10, .page = 5};
    struct watcher w = {.free_at = 3};
    begin(state, &w, &h, (struct ergon_options){0});
    expect_end(&w, ERGON_END_CLOSED, 3);
}

static void refuse_unknown(struct scripted *s, const struct envelope *e)
{
    scripted_refuse(s, e->msgid, "NOT_FOUND: there is no task t1");
}

WORLD_TEST(an_error_of_the_server_ends_it)
{
    struct history h = {0};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    w.world->server.on_message = refuse_unknown;
    expect_end(&w, ERGON_END_ERROR, 0);
    assert_string_equal(w.end.code, "NOT_FOUND");
}

WORLD_TEST(an_answer_that_is_no_page_ends_it)
{
    struct history h = {0};
    struct watcher w = {0};
    begin(state, &w, &h, (struct ergon_options){0});
    w.world->server.on_message = answer_with_name;
    expect_end(&w, ERGON_END_ERROR, 0);
    assert_string_equal(w.end.text, "the answer of task.watch is no page of events");
}

WORLD_TEST(an_id_that_is_too_long_is_refused)
{
    struct watcher w = {.world = world_open(state, NULL, NULL, (struct ergon_options){0})};
    char id[80];
    memset(id, 't', sizeof id - 1);
    id[sizeof id - 1] = 0;
    assert_null(ergon_client_watch(w.world->client, id, 1, on_event, on_end, &w));
    free_client(&w);
    assert_int_equal(w.ends, 0);
}
