/* Each allocation of a client fails once: whatever was accepted ends with one callback, and nothing
 * stays. */
#include "tests/unit/client/world.h"

#include "tests/support/heap.h"

#include <ergon/client_serve.h>
#include <ergon/client_tasks.h>

enum { CALLS = 3, ASKS = 2 };

static void call_all(struct ergon_client *client, struct seen *seen, unsigned *accepted)
{
    static const uint8_t params[] = {0x91, 0x07};
    struct ergon_raw raw = {params, sizeof params};
    for (int i = 0; i < CALLS; i++)
        if (ergon_client_call(client, "x", raw, 60000, seen_answer, &seen[i]) != 0)
            (*accepted)++;
    ergon_client_notify(client, "x", raw);
}

static bool ignore_event(void *arg, const struct ergon_event *event)
{
    return true;
}

/* A request with options, and a watch. */
static void ask_all(struct ergon_client *client, struct seen *seen, unsigned *accepted)
{
    struct ergon_request *r = ergon_request_submit("x", (struct ergon_raw){NULL, 0},
                                                   ERGON_TASK(.key = "k", .limit_key = "l"));
    if (ergon_client_ask(client, r, 60000, seen_answer, &seen[0]) != 0)
        (*accepted)++;
    if (ergon_client_watch(client, "t1", 1, ignore_event, seen_answer, &seen[1]) != NULL)
        (*accepted)++;
}

/* Calls that wait for the connection, then calls on it. */
static void talk(struct scripted *s, struct ergon_client *client)
{
    unsigned total = 0;
    unsigned accepted = 0;
    struct seen seen[2 * CALLS + ASKS];
    for (int i = 0; i < 2 * CALLS + ASKS; i++)
        seen[i] = (struct seen){.total = &total};
    call_all(client, seen, &accepted);
    scripted_until(s, &total, accepted);
    call_all(client, seen + CALLS, &accepted);
    ask_all(client, seen + 2 * CALLS, &accepted);
    scripted_until(s, &total, accepted);
    ergon_client_free(client);
    for (int i = 0; i < 2 * CALLS + ASKS; i++)
        assert_true(seen[i].count <= 1);
    assert_int_equal(total, accepted);
}

static void answer_requests(struct scripted *s, const struct envelope *e)
{
    if (e->type == ENVELOPE_REQUEST)
        answer_with_name(s, e);
}

/* ---- a client that serves ---- */

enum { ASKED = 3, RESULT = 60 * 1000 };

struct served_work {
    struct scripted server;
    struct ergon_client *client;
    struct ergon_served *kept; /* the first; the others are answered at once */
    unsigned requests, gone, answers;
    bool unheard; /* that it serves */
    uint8_t result[RESULT];
};

static void ask_thrice(struct scripted *s, const struct envelope *e)
{
    static const uint8_t requests[] = "\x94\x00\x01\xa1x\x90\x94\x00\x02\xa1x\x90"
                                      "\x94\x00\x03\xa1x\x90";
    struct served_work *k = s->user;
    if (e->type == ENVELOPE_RESPONSE)
        k->answers++;
    else
        scripted_send(s, requests, sizeof requests - 1);
}

static void keep_first(void *arg, struct ergon_served *served)
{
    struct served_work *k = arg;
    if (k->requests++ == 0)
        k->kept = served;
    else
        ergon_served_answer(served, (struct ergon_raw){k->result, RESULT});
}

static void note_gone(void *arg, struct ergon_served *served)
{
    struct served_work *k = arg;
    assert_ptr_equal(served, k->kept);
    k->gone++;
}

/* The server does not answer this: so it was not sent, or the connection is lost. */
static void note_unheard(void *arg, const struct ergon_answer *answer)
{
    struct served_work *k = arg;
    k->unheard = true;
}

/* Until all are answered or the connection is lost: then nobody waits for ever. */
static void serve_all(struct served_work *k)
{
    const struct ergon_serve_options options = {.size = sizeof options,
                                                .slots = ASKED,
                                                .on_request = keep_first,
                                                .on_gone = note_gone,
                                                .arg = k};
    assert_int_equal(ergon_client_serve(k->client, &options), ERGON_END_OK);
    k->unheard = ergon_client_call(k->client, "worker.register", (struct ergon_raw){NULL, 0}, 0,
                                   note_unheard, k) == 0;
    while (!k->unheard && k->answers < ASKED) {
        event_base_loop(k->server.base, EVLOOP_ONCE);
        if (k->kept != NULL && k->answers == ASKED - 1) {
            ergon_served_fail(k->kept, "LATE", "at last");
            k->kept = NULL;
        }
    }
    ergon_client_free(k->client);
    if (k->kept != NULL) {
        assert_int_equal(k->gone, 1);
        assert_int_equal(ergon_served_fail(k->kept, NULL, NULL), ERGON_END_CLOSED);
    }
}

/* False: there was no n-th allocation. */
static bool attempt_to_serve(int64_t n)
{
    struct served_work k = {.result = {0xc5, (RESULT - 3) >> 8, (RESULT - 3) & 0xff}};
    scripted_start(&k.server, ask_thrice, &k);
    struct ergon_options options = {
        .size = sizeof options, .url = k.server.url, .no_reconnect = true};
    char why[128] = "";
    assert_int_equal(ergon_client_new(k.server.base, &options, &k.client, why, sizeof why),
                     ERGON_END_OK);
    int64_t before = heap_live();
    heap_fail_at(n);
    serve_all(&k);
    bool met = heap_failed();
    heap_fail_at(0);
    assert_true(heap_live() < before);
    assert_true(met || k.answers == ASKED);
    scripted_stop(&k.server);
    return met;
}

TEST(every_allocation_may_fail_while_it_serves)
{
    int64_t n = 1;
    while (attempt_to_serve(n))
        n++;
    assert_true(n > 5);
}

/* ---- a client that calls ---- */

/* False: there was no n-th allocation. */
static bool attempt(int64_t n, struct ergon_options options)
{
    struct scripted s;
    struct ergon_client *client;
    char why[128] = "";
    scripted_start(&s, answer_requests, NULL);
    options.size = sizeof options;
    options.url = s.url;
    int64_t before = heap_live();
    heap_fail_at(n);
    enum ergon_end outcome = ergon_client_new(s.base, &options, &client, why, sizeof why);
    if (outcome == ERGON_END_OK)
        talk(&s, client);
    else
        assert_int_equal(outcome, ERGON_END_MEMORY);
    bool met = heap_failed();
    heap_fail_at(0);
    assert_true(met || outcome == ERGON_END_OK);
    assert_int_equal(heap_live(), before);
    scripted_stop(&s);
    return met;
}

TEST(every_allocation_may_fail)
{
    int64_t n = 1;
    while (attempt(
        n, (struct ergon_options){.token = "good", .backoff_min_ms = 1, .backoff_max_ms = 1}))
        n++;
    assert_true(n > 10);
}

TEST(every_allocation_may_fail_for_good)
{
    int64_t n = 1;
    while (attempt(n, (struct ergon_options){.no_reconnect = true}))
        n++;
    assert_true(n > 10);
}
