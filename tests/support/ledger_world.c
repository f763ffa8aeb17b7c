#include "tests/support/ledger_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* --- Two methods; a registry of the tree would bring the whole task system with it --- */

struct registry {
    struct method methods[2];
};

static const struct ergon_handler work = {
    .size = sizeof work, .name = "work", .kind = ERGON_BLOCKING};
static const struct ergon_handler step = {
    .size = sizeof step, .name = "step", .kind = ERGON_STEPPED};

static struct registry *two_methods(void)
{
    struct registry *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->methods[0] = (struct method){.name = span_text("work"), .handler = &work, .index = 0};
    r->methods[1] = (struct method){.name = span_text("step"), .handler = &step, .index = 1};
    return r;
}

struct method *registry_find(const struct registry *r, struct span name)
{
    for (unsigned i = 0; i < 2; i++)
        if (span_equal(r->methods[i].name, name))
            return (struct method *)&r->methods[i];
    return NULL;
}

uint32_t registry_count(const struct registry *r)
{
    (void)r;
    return 2;
}

struct method *registry_at(const struct registry *r, uint32_t index)
{
    return (struct method *)&r->methods[index];
}

/* --- The world --- */

static void keep_some(void *arg, const char *line)
{
    struct ledger_world *w = arg;
    const char *who = strchr(line, ']');
    if (!w->quiet && who && strncmp(who + 2, "kept ", 5) == 0 && strstr(line, "kept task") == NULL)
        w->record(&w->v, line);
}

static uint64_t wall(void *arg)
{
    const struct ledger_world *w = arg;
    return AO_S(1600000000) + w->v.now;
}

void ledger_world_init(struct ledger_world *w)
{
    *w = (struct ledger_world){.room = {1, 1}, .lasts = AO_NEVER};
    virtual_init(&w->v);
    virtual_silence();
    w->record = w->v.trace.line;
    w->v.trace.line = keep_some;
    w->v.trace.arg = w;
    w->registry = two_methods();
    w->options = (struct ledger_options){.tasks = (struct tasks *)w,
                                         .registry = w->registry,
                                         .wall = wall,
                                         .wall_arg = w,
                                         .tasks_max = 1000000,
                                         .bytes_max = (uint64_t)1 << 30,
                                         .kept_bytes_max = (uint64_t)1 << 28,
                                         .ageing = AO_S(10),
                                         .crashes_max = 3,
                                         .history_max = 100};
    w->manager = virtual_open(&w->v, "manager");
    w->loop = virtual_open(&w->v, "loop");
}

void ledger_world_keep_store(struct ledger_world *w)
{
    w->store = memory_store_new();
    w->store->latency = AO_MS(1);
    w->options.store = w->store;
}

static void answered(void *arg, struct ask *a)
{
    struct ledger_world *w = arg;
    assert_true(w->answered < sizeof w->asks / sizeof w->asks[0]);
    w->asks[w->answered++] = a;
}

static void pushed(void *arg, struct ask_push *p)
{
    struct ledger_world *w = arg;
    w->pushed++;
    pack_fini(&p->message);
    free(p);
}

void ledger_world_open(struct ledger_world *w)
{
    char error[200] = "";
    ao_init(&w->pump, &ledger_pump_class, w->manager);
    w->ledger = ledger_new(&w->options, error, sizeof error);
    if (!w->ledger)
        fail_msg("%s", error);
    w->first_id = w->ledger->next_id;
    w->door = ledger_door_open(w->ledger, w->loop, answered, pushed, w);
    assert_non_null(w->door);
    assert_int_equal(ledger_start(w->ledger), 0);
}

static void close_ledger(struct ledger_world *w)
{
    ledger_free(w->ledger);
    world_drop_runs(w);
    ao_deactivate(&w->pump);
    ao_fini(&w->pump);
}

/* A ledger on the rows that the last one left. */
static void open_again(struct ledger_world *w)
{
    char error[200] = "";
    ao_init(&w->pump, &ledger_pump_class, w->manager);
    w->ledger = ledger_new(&w->options, error, sizeof error);
    if (!w->ledger || ledger_recover(w->ledger, error, sizeof error) != 0)
        fail_msg("%s", error);
    w->door = ledger_door_open(w->ledger, w->loop, answered, pushed, w);
    assert_non_null(w->door);
    assert_int_equal(ledger_start(w->ledger), 0);
    ledger_world_settle(w);
}

void ledger_world_crash(struct ledger_world *w)
{
    memory_store_crash(w->store, w->ledger);
    close_ledger(w);
    open_again(w);
}

void ledger_world_restart(struct ledger_world *w)
{
    w->source.stop(w->source.arg, false);
    ledger_world_settle(w);
    w->source.stop(w->source.arg, true);
    ledger_world_settle(w);
    ledger_stop(w->ledger);
    close_ledger(w);
    open_again(w);
}

void ledger_world_fini(struct ledger_world *w)
{
    ledger_stop(w->ledger);
    close_ledger(w);
    for (uint32_t i = 0; i < w->answered; i++)
        ask_free(w->asks[i]);
    memory_store_free(w->store);
    free(w->registry);
    virtual_fini(&w->v);
}

struct order world_order(const char *method)
{
    struct order o;
    order_init(&o);
    o.method = span_text(method);
    o.params = span_text("\x90");
    o.durable = LEDGER_NONE;
    return o;
}

uint64_t ledger_world_submit(struct ledger_world *w, const struct order *o)
{
    struct submitted done;
    char text[ASK_TEXT_MAX] = "";
    enum ergon_error error = ledger_submit(w->ledger, o, &done, text, sizeof text);
    if (error != ERGON_OK)
        fail_msg("%s: %s", error_name(error), text);
    return done.entry->id;
}

struct entry *world_entry(struct ledger_world *w, uint64_t id)
{
    return ledger_find(w->ledger, id);
}

enum ledger_state world_state(struct ledger_world *w, uint64_t id)
{
    const struct entry *e = world_entry(w, id);
    assert_non_null(e);
    return (enum ledger_state)e->state;
}

enum ledger_reason world_reason(struct ledger_world *w, uint64_t id)
{
    const struct entry *e = world_entry(w, id);
    assert_non_null(e);
    return (enum ledger_reason)e->reason;
}

void ledger_world_settle(struct ledger_world *w)
{
    virtual_run_until(&w->v, w->v.now);
}

void ledger_world_pass(struct ledger_world *w, ao_time duration)
{
    virtual_run_until(&w->v, w->v.now + duration);
    ledger_world_settle(w); /* a round, so that the activators know what time it is */
}

struct world_run *world_run_of(struct ledger_world *w, uint64_t id)
{
    for (struct world_run *r = w->runs_last; r; r = r->prev)
        if (r->run.id == id)
            return r;
    return NULL;
}

struct ask *world_ask(struct ledger_world *w, enum ask_verb verb)
{
    struct ask *a = ask_new(NULL, verb);
    (void)w;
    assert_non_null(a);
    a->max = 100;
    return a;
}

void world_give(struct ledger_world *w, struct ask *a)
{
    ledger_give(w->door, a);
    ledger_world_settle(w);
}

bool world_answered(const struct ledger_world *w, const struct ask *a)
{
    for (uint32_t i = 0; i < w->answered; i++)
        if (w->asks[i] == a)
            return true;
    return false;
}
