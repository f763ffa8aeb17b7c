/* A watch across pages, broken connections and servers that are about to stop. */
#include "tests/unit/client/seen.h"

#include <stdio.h>
#include <string.h>

#include <ergon/client_tasks.h>

#include "client/lib/requests.h"
#include "proto/encoder.h"
#include "proto/reader.h"

/* A server that has `events` events of one task, and tells at most `page` of them at a time. */
struct history {
    unsigned events, page;
    unsigned hang_up_after; /* answers; 0: never */
    unsigned refuse;        /* so many requests first: DRAINING */
    unsigned silent;        /* 1: it does not answer */
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
    pack_map(p, 4);
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
    uint32_t count = last >= h->asked_from ? (uint32_t)(last - h->asked_from + 1) : 0;
    struct pack p;
    pack_init(&p);
    pack_map(&p, 5);
    pack_key_str(&p, "id", "t1");
    pack_key_uint(&p, "missed", 0);
    pack_str(&p, "events");
    pack_array(&p, count);
    for (uint64_t seq = h->asked_from; seq <= last; seq++)
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
        scripted_refuse(s, e->msgid, "DRAINING: the server is shutting down");
    } else {
        send_page(s, h, e->msgid);
    }
}

/* What the callbacks saw. */
struct watcher {
    struct seen end;
    unsigned ends;
    unsigned events;
    uint64_t expected; /* the number of the next event */
    uint64_t stop_at;  /* on_event returns false; 0: never */
    uint64_t free_at;  /* on_event frees the client */
    struct ergon_client *client;
    struct ergon_watch *watch;
};

static bool on_event(void *arg, const struct ergon_event *event)
{
    struct watcher *w = arg;
    assert_int_equal(event->seq, w->expected++);
    assert_int_equal(event->at, 1000 + event->seq);
    w->events++;
    if (event->seq == w->free_at)
        ergon_client_free(w->client);
    return event->seq != w->stop_at;
}

static void on_end(void *arg, const struct ergon_answer *answer)
{
    struct watcher *w = arg;
    seen_answer(&w->end, answer);
}

static void begin(struct watcher *w, struct scripted *s, struct history *h,
                  struct ergon_options options)
{
    scripted_start(s, serve, h);
    w->client = seen_client(s, options);
    w->end.total = &w->ends;
    if (w->expected == 0)
        w->expected = 1;
    w->watch = ergon_client_watch(w->client, "t1", w->expected, on_event, on_end, w);
    assert_non_null(w->watch);
    assert_int_equal(w->events, 0);
}

static void finish(struct watcher *w, struct scripted *s)
{
    if (w->free_at == 0)
        ergon_client_free(w->client);
    assert_int_equal(w->ends, 1);
    scripted_stop(s);
}

static void every_event_is_told_once_to_the_end(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 3};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_OK);
    assert_int_equal(w.events, 10);
    finish(&w, &s);
}

static void it_begins_where_it_was_told(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 100};
    struct watcher w = {.expected = 8};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.events, 3);
    finish(&w, &s);
}

static void it_goes_on_where_it_was_after_a_broken_connection(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 3, .hang_up_after = 2};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_OK);
    assert_int_equal(w.events, 10);
    assert_int_equal(s.accepted, 2);
    finish(&w, &s);
}

static void a_client_that_does_not_reconnect_ends_it(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 3, .hang_up_after = 2};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){.no_reconnect = true});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_BROKEN);
    assert_int_equal(w.events, 6);
    finish(&w, &s);
}

static void a_server_that_is_about_to_stop_is_asked_again(void **state)
{
    struct scripted s;
    struct history h = {.events = 4, .page = 3, .refuse = 1};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_OK);
    assert_int_equal(w.events, 4);
    finish(&w, &s);
}

static void no_more_is_told_after_a_false(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 5};
    struct watcher w = {.stop_at = 3};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_CANCELLED);
    assert_int_equal(w.events, 3);
    finish(&w, &s);
}

static void stopping_ends_it_at_once(void **state)
{
    struct scripted s;
    struct history h = {.silent = 1};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &s.messages, 1);
    ergon_watch_stop(w.watch);
    assert_int_equal(w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_CANCELLED);
    finish(&w, &s);
}

static void stopping_ends_a_pause(void **state)
{
    struct scripted s;
    struct history h = {.refuse = 1};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &h.answers, 1);
    struct ergon_client_stats stats = {0};
    while (stats.answers == 0) {
        event_base_loop(s.base, EVLOOP_ONCE);
        ergon_client_stats(w.client, &stats);
    }
    ergon_watch_stop(w.watch);
    assert_int_equal(w.end.outcome, ERGON_END_CANCELLED);
    finish(&w, &s);
}

static void freeing_the_client_ends_a_pause(void **state)
{
    struct scripted s;
    struct history h = {.refuse = 1};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    struct ergon_client_stats stats = {0};
    while (stats.answers == 0) {
        event_base_loop(s.base, EVLOOP_ONCE);
        ergon_client_stats(w.client, &stats);
    }
    finish(&w, &s);
    assert_int_equal(w.end.outcome, ERGON_END_CLOSED);
}

static void the_client_may_be_freed_from_inside(void **state)
{
    struct scripted s;
    struct history h = {.events = 10, .page = 5};
    struct watcher w = {.free_at = 3};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_CLOSED);
    assert_int_equal(w.events, 3);
    finish(&w, &s);
}

static void refuse_unknown(struct scripted *s, const struct envelope *e)
{
    scripted_refuse(s, e->msgid, "NOT_FOUND: there is no task t1");
}

static void an_error_of_the_server_ends_it(void **state)
{
    struct scripted s;
    struct history h = {0};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    s.on_message = refuse_unknown;
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_ERROR);
    assert_string_equal(w.end.code, "NOT_FOUND");
    finish(&w, &s);
}

static void an_answer_that_is_no_page_ends_it(void **state)
{
    struct scripted s;
    struct history h = {0};
    struct watcher w = {0};
    (void)state;
    begin(&w, &s, &h, (struct ergon_options){0});
    s.on_message = seen_answer_with_name;
    scripted_until(&s, &w.ends, 1);
    assert_int_equal(w.end.outcome, ERGON_END_ERROR);
    assert_string_equal(w.end.text, "the answer of task.watch is no page of events");
    finish(&w, &s);
}

static void an_id_that_is_too_long_is_refused(void **state)
{
    struct scripted s;
    struct watcher w = {0};
    char id[80];
    (void)state;
    memset(id, 't', sizeof id - 1);
    id[sizeof id - 1] = 0;
    scripted_start(&s, NULL, NULL);
    w.client = seen_client(&s, (struct ergon_options){0});
    assert_null(ergon_client_watch(w.client, id, 1, on_event, on_end, &w));
    ergon_client_free(w.client);
    assert_int_equal(w.ends, 0);
    scripted_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_told_once_to_the_end),
        cmocka_unit_test(it_begins_where_it_was_told),
        cmocka_unit_test(it_goes_on_where_it_was_after_a_broken_connection),
        cmocka_unit_test(a_client_that_does_not_reconnect_ends_it),
        cmocka_unit_test(a_server_that_is_about_to_stop_is_asked_again),
        cmocka_unit_test(no_more_is_told_after_a_false),
        cmocka_unit_test(stopping_ends_it_at_once),
        cmocka_unit_test(stopping_ends_a_pause),
        cmocka_unit_test(freeing_the_client_ends_a_pause),
        cmocka_unit_test(the_client_may_be_freed_from_inside),
        cmocka_unit_test(an_error_of_the_server_ends_it),
        cmocka_unit_test(an_answer_that_is_no_page_ends_it),
        cmocka_unit_test(an_id_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
