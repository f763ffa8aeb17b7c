/* What a page follows of the feed, with a server that the test plays: when it is asked, and what is
 * made of its answers. */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "server/admin/follow.h"
#include "server/admin/gateway.h"
#include "tests/support/cmocka_env.h"

struct world {
    struct event_base *base;
    struct follow *follow;
    bool keeps_up, ended; /* the reader; the session */
    json_t *asked;        /* parameters of the call that waits; NULL: none does */
    gateway_answer_fn *answered;
    void *arg;
    uint64_t calls, cancelled, pages;
    json_t *page; /* the last */
};

static struct world *the;

/* ---- the gateway that the test plays ---- */

struct gateway_call *gateway_call(struct gateway_peer *p, const char *method, const json_t *params,
                                  uint32_t ms, gateway_answer_fn *answered, void *arg,
                                  const char **code)
{
    (void)p;
    (void)code;
    assert_string_equal(method, "task.events");
    assert_true(ms > FOLLOW_POLL_MS);
    assert_null(the->asked); /* one at a time */
    the->asked = json_deep_copy(json_array_get(params, 0));
    the->answered = answered;
    the->arg = arg;
    the->calls++;
    return (struct gateway_call *)(void *)&the->calls;
}

static void end_call(const struct gateway_answer *answer)
{
    json_decref(the->asked);
    the->asked = NULL;
    the->answered(the->arg, answer);
}

void gateway_cancel(struct gateway_call *call)
{
    assert_ptr_equal(call, &the->calls);
    the->cancelled++;
    end_call(&(struct gateway_answer){.code = "CANCELLED", .text = "cancelled"});
}

/* ---- the stream that the test plays ---- */

static void on_page(void *arg, const json_t *page)
{
    struct world *w = arg;
    json_decref(w->page);
    w->page = json_deep_copy(page);
    w->pages++;
}

static bool keeps_up(void *arg)
{
    const struct world *w = arg;
    return w->keeps_up;
}

static struct gateway_peer *peer(void *arg)
{
    struct world *w = arg;
    return w->ended ? NULL : (struct gateway_peer *)(void *)w;
}

static void set_up(struct world *w, const char *wanted)
{
    static const struct follow_port port = {.page = on_page, .keeps_up = keeps_up, .peer = peer};
    *w = (struct world){.base = event_base_new(), .keeps_up = true};
    the = w;
    w->follow = follow_new(w->base, &port, w);
    assert_non_null(w->follow);
    json_t *follow = json_loads(wanted, JSON_DECODE_ANY, NULL);
    follow_set(w->follow, follow);
    json_decref(follow);
}

static void tear_down(struct world *w)
{
    follow_free(w->follow);
    assert_null(w->asked);
    json_decref(w->page);
    event_base_free(w->base);
}

/* Until its next timer has run. */
static void turn(const struct world *w)
{
    assert_int_equal(event_base_loop(w->base, EVLOOP_ONCE), 0);
}

static void until_asked(const struct world *w)
{
    while (!w->asked)
        turn(w);
}

/* So many events, the last of this number. */
static void answer(unsigned count, int last, const char *gap)
{
    char next[32];
    json_t *events = json_array();
    snprintf(next, sizeof next, "t0000000000001-%d", last + 1);
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(events, json_pack("{s:i}", "seq", last - (int)count + 1 + (int)i));
    json_t *page =
        json_pack("{s:o,s:s,s:s?,s:n}", "events", events, "next", next, "gap", gap, "missed");
    end_call(&(struct gateway_answer){.result = page});
    json_decref(page);
}

static void refuse(const char *code)
{
    end_call(&(struct gateway_answer){.code = code, .text = "why"});
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

TEST(one_page_goes_on_behind_the_other)
{
    struct world w;
    set_up(&w, "{\"method\": \"echo\", \"mark\": 5, \"max\": 9, \"timeout\": 0}");
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "method"), "echo");
    assert_int_equal(number_of(w.asked, "max"), FOLLOW_PAGE);
    assert_int_equal(number_of(w.asked, "timeout"), FOLLOW_POLL_MS);
    assert_null(json_object_get(w.asked, "mark"));
    assert_null(json_object_get(w.asked, "after"));
    answer(3, 3, NULL);
    assert_int_equal(w.pages, 1);
    assert_int_equal(number_of(w.page, "mark"), 5);
    assert_int_equal(json_array_size(json_object_get(w.page, "events")), 3);
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "after"), "t0000000000001-4");
    answer(0, 9, NULL); /* nothing that is wanted */
    assert_int_equal(w.pages, 1);
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "after"), "t0000000000001-10");
    answer(0, 20, "overrun");
    assert_string_equal(text_of(w.page, "gap"), "overrun");
    tear_down(&w);
}

TEST(who_does_not_read_is_not_asked_for)
{
    struct world w;
    set_up(&w, "{}");
    until_asked(&w);
    answer(1, 1, NULL);
    w.keeps_up = false;
    for (int i = 0; i < 3; i++)
        turn(&w);
    assert_null(w.asked);
    w.keeps_up = true;
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "after"), "t0000000000001-2");
    tear_down(&w);
}

TEST(what_is_too_much_is_passed_over_and_counted)
{
    struct world w;
    set_up(&w, "{\"state\": \"done\"}");
    for (int i = 1; i <= FOLLOW_FULL_PAGES; i++) {
        until_asked(&w);
        answer(FOLLOW_PAGE, FOLLOW_PAGE * i, NULL);
    }
    until_asked(&w); /* where the feed is */
    assert_int_equal(json_object_size(w.asked), 1);
    assert_int_equal(number_of(w.asked, "timeout"), 0);
    answer(0, 5000, NULL);
    assert_string_equal(text_of(w.page, "gap"), "behind");
    assert_int_equal(number_of(w.page, "missed"), 5000 - FOLLOW_FULL_PAGES * FOLLOW_PAGE);
    assert_int_equal(json_array_size(json_object_get(w.page, "events")), 0);
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "after"), "t0000000000001-5001");
    assert_string_equal(text_of(w.asked, "state"), "done");
    uint64_t pages = w.pages;
    for (int i = 1; i <= FOLLOW_FULL_PAGES; i++) {
        until_asked(&w);
        answer(FOLLOW_PAGE, 5000 + FOLLOW_PAGE * i, NULL);
    }
    until_asked(&w);
    answer(0, 5000 + FOLLOW_FULL_PAGES * FOLLOW_PAGE, NULL); /* that was all: nothing is missing */
    assert_int_equal(w.pages, pages + FOLLOW_FULL_PAGES);
    tear_down(&w);
}

TEST(a_refusal_is_told_and_ends_it)
{
    struct world w;
    set_up(&w, "{\"mark\": \"m\"}");
    until_asked(&w);
    refuse("DENIED");
    assert_string_equal(text_of(json_object_get(w.page, "error"), "code"), "DENIED");
    assert_string_equal(text_of(w.page, "mark"), "m");
    assert_int_equal(event_base_loop(w.base, EVLOOP_ONCE), 1); /* no timer is left */
    assert_null(w.asked);
    json_t *again = json_object();
    follow_set(w.follow, again);
    json_decref(again);
    until_asked(&w);
    assert_int_equal(w.calls, 2);
    tear_down(&w);
}

TEST(a_server_that_is_busy_is_asked_again)
{
    struct world w;
    set_up(&w, "{\"after\": \"oldest\"}");
    until_asked(&w);
    refuse("BUSY");
    assert_int_equal(w.pages, 0);
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "after"), "oldest");
    tear_down(&w);
}

TEST(what_is_followed_before_is_given_up)
{
    struct world w;
    set_up(&w, "{\"method\": \"a\", \"mark\": 1}");
    until_asked(&w);
    json_t *other = json_pack("{s:s,s:i}", "method", "b", "mark", 2), *none = json_null();
    follow_set(w.follow, other);
    assert_int_equal(w.cancelled, 1);
    assert_int_equal(w.pages, 0); /* nobody is told of that */
    until_asked(&w);
    assert_string_equal(text_of(w.asked, "method"), "b");
    follow_set(w.follow, none);
    assert_int_equal(w.cancelled, 2);
    assert_int_equal(event_base_loop(w.base, EVLOOP_ONCE), 1);
    json_decref(other);
    tear_down(&w);
}

TEST(nothing_is_asked_of_a_session_that_has_ended)
{
    struct world w;
    set_up(&w, "{}");
    until_asked(&w);
    w.ended = true;
    refuse("CLOSED");
    follow_set(w.follow, json_object_get(w.page, "error"));
    turn(&w);
    assert_null(w.asked);
    tear_down(&w);
    assert_int_equal(w.cancelled, 0);
}

TEST(what_is_under_way_when_the_session_ends_is_given_up)
{
    struct world w;
    set_up(&w, "{}");
    until_asked(&w);
    w.ended = true;
    tear_down(&w);
    assert_int_equal(w.cancelled, 1);
}
