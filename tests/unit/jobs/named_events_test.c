/* Events that clients name are bounded: which of them is forgotten for a new one, and when a new
 * one is refused. */
#include <stdio.h>
#include <string.h>

#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/events/named_events.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/random.h"

enum { NAME = 16 };

struct names {
    char text[NAME];
};

static struct span name_of(uint32_t number, struct names *n)
{
    snprintf(n->text, sizeof n->text, "e%u", number);
    return span_text(n->text);
}

static struct named_event *find(struct jobs_world *w, const char *tenant, uint32_t number)
{
    struct names n;
    return event_find(w->jobs, span_text(tenant), name_of(number, &n));
}

/* NULL: refused, in words that say why. */
static struct named_event *make(struct jobs_world *w, const char *tenant, uint32_t number)
{
    struct names n;
    struct refusal why = {.error = ERGON_OK};
    struct named_event *e = event_make(w->jobs, span_text(tenant), name_of(number, &n), &why);
    if (e)
        return e;
    assert_int_equal(why.error, ERGON_E_BUSY);
    assert_string_equal(why.text, "there are too many events");
    return NULL;
}

static struct named_event *set(struct jobs_world *w, const char *tenant, uint32_t number)
{
    struct refusal why;
    struct named_event *e = make(w, tenant, number);
    assert_non_null(e);
    assert_true(event_set(w->jobs, e, span_text("\x2a"), &why));
    return e;
}

/* As many as one tenant may have, set in the order of their numbers. */
static void fill(struct jobs_world *w, const char *tenant)
{
    for (uint32_t n = 0; n < NAMED_EVENTS_OF_TENANT; n++)
        set(w, tenant, n);
}

JOBS_TEST(the_one_set_longest_ago_is_forgotten)
{
    fill(w, "ada");
    set(w, "ada", 0); /* is now the youngest */
    set(w, "ada", NAMED_EVENTS_OF_TENANT);
    assert_null(find(w, "ada", 1));
    assert_non_null(find(w, "ada", 0));
    assert_int_equal(w->jobs->events->by_name.count, NAMED_EVENTS_OF_TENANT);
    set(w, "ada", 1); /* as if it had never been set */
    assert_null(find(w, "ada", 2));
    set(w, "ada", 1); /* one that is there needs no room */
    assert_non_null(find(w, "ada", 3));
}

JOBS_TEST(one_that_is_waited_for_stays)
{
    struct event_waiter waits = {.from = UINT64_MAX};
    fill(w, "ada");
    struct named_event *first = find(w, "ada", 0);
    event_join(first, &waits);
    set(w, "ada", NAMED_EVENTS_OF_TENANT);
    assert_ptr_equal(find(w, "ada", 0), first);
    assert_null(find(w, "ada", 1));
    event_leave(first, &waits);
    event_settle(w->jobs, first); /* it was set longest ago, as before */
    set(w, "ada", NAMED_EVENTS_OF_TENANT + 1);
    assert_null(find(w, "ada", 0));
    assert_non_null(find(w, "ada", 2));
}

JOBS_TEST(where_all_are_waited_for_a_new_one_is_refused)
{
    static struct event_waiter waits[NAMED_EVENTS_OF_TENANT];
    for (uint32_t n = 0; n < NAMED_EVENTS_OF_TENANT; n++)
        event_join(n % 2 ? set(w, "ada", n) : make(w, "ada", n), &waits[n]);
    assert_null(make(w, "ada", NAMED_EVENTS_OF_TENANT));
    set(w, "ada", 5); /* those that are there go on */
    set(w, "ada", 6);
    assert_null(make(w, "ada", NAMED_EVENTS_OF_TENANT));
    assert_non_null(make(w, "bob", 1)); /* another tenant has its own */
    event_settle(w->jobs, find(w, "bob", 1));
    event_leave(find(w, "ada", 7), &waits[7]);
    event_settle(w->jobs, find(w, "ada", 7));
    set(w, "ada", NAMED_EVENTS_OF_TENANT);
    assert_null(find(w, "ada", 7));
    for (uint32_t n = 0; n < NAMED_EVENTS_OF_TENANT; n++) {
        struct named_event *e = find(w, "ada", n);
        if (!e)
            continue;
        event_leave(e, &waits[n]);
        event_settle(w->jobs, e);
        assert_true(n % 2 || n == 6 || !find(w, "ada", n)); /* it was never set, and goes */
    }
}

JOBS_TEST(all_tenants_together_have_so_many)
{
    char name[NAME];
    for (uint32_t t = 0; t < NAMED_EVENTS_MAX / NAMED_EVENTS_OF_TENANT; t++) {
        snprintf(name, sizeof name, "t%u", t);
        fill(w, name);
    }
    assert_int_equal(w->jobs->events->by_name.count, NAMED_EVENTS_MAX);
    assert_null(make(w, "late", 0)); /* it has none that could go */
    set(w, "t3", NAMED_EVENTS_OF_TENANT);
    assert_null(find(w, "t3", 0));
    assert_non_null(find(w, "t4", 0));
}

/* A tenant may have so much as stands to what is free as its share to the rest. */
JOBS_TEST(a_tenant_has_its_share)
{
    w->jobs->options.settings.limits.tenant_share = 50;
    for (uint32_t t = 0; t < 9; t++) {
        char name[NAME];
        snprintf(name, sizeof name, "t%u", t);
        fill(w, name);
    }
    for (uint32_t n = 0; n < 6000; n++)
        set(w, "late", n);
    assert_null(find(w, "late", 0));
    assert_non_null(find(w, "late", 5999));
    assert_int_equal(w->jobs->events->by_name.count, 9 * NAMED_EVENTS_OF_TENANT + 5000);
}

/* Against the plainest search: half of the names that change have room at a time, and the others
 * are waited for all the time. */
JOBS_TEST(whatever_happens_the_oldest_idle_one_goes)
{
    enum { NAMES = 12, STEPS = 20000, OTHERS = NAMED_EVENTS_OF_TENANT - NAMES / 2 };
    static struct event_waiter waits[NAMES], others[OTHERS];
    bool waited[NAMES] = {false};
    uint64_t seed = 4711;
    uint32_t dropped = 0;
    for (uint32_t n = 0; n < OTHERS; n++)
        event_join(set(w, "ada", NAMES + n), &others[n]);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t n = chance(&seed, NAMES), oldest = NAMES;
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < NAMES; i++) {
            const struct named_event *e = find(w, "ada", i);
            if (e && !waited[i] && e->seq < least) {
                least = e->seq;
                oldest = i;
            }
        }
        bool there = find(w, "ada", n) != NULL,
             full = w->jobs->events->by_name.count == NAMED_EVENTS_OF_TENANT;
        if (there && waited[n]) {
            struct named_event *e = find(w, "ada", n);
            event_leave(e, &waits[n]);
            event_settle(w->jobs, e);
            waited[n] = false;
        } else if (there && chance(&seed, 2)) {
            event_join(find(w, "ada", n), &waits[n]);
            waited[n] = true;
        } else if (!there && full && oldest == NAMES) {
            assert_null(make(w, "ada", n));
        } else {
            set(w, "ada", n);
            assert_true(there || !full || !find(w, "ada", oldest));
            dropped += !there && full;
        }
    }
    assert_true(dropped > 1000);
    for (uint32_t n = 0; n < OTHERS; n++)
        event_leave(find(w, "ada", NAMES + n), &others[n]);
    for (uint32_t n = 0; n < NAMES; n++)
        if (waited[n])
            event_leave(find(w, "ada", n), &waits[n]);
}
