#include "tests/support/ledger_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* --- The manager's side of server/tasks/kept.h --- */

static struct ledger_world *world_of(struct tasks *t)
{
    return (struct ledger_world *)t;
}

void tasks_set_source(struct tasks *t, const struct kept_source *source)
{
    world_of(t)->source = *source;
}

struct activator *tasks_manager_activator(struct tasks *t)
{
    return world_of(t)->manager;
}

void kept_wake(struct tasks *t)
{
    ao_activate(&world_of(t)->pump);
}

/* As many executors of each kind as there is room, one after the other. */
void tasks_info(const struct tasks *t, struct tasks_info *out)
{
    const struct ledger_world *w = (const struct ledger_world *)t;
    *out = (struct tasks_info){.executors = w->room[0] + w->room[1]};
}

void tasks_executor_info(const struct tasks *t, uint32_t index, struct executor_info *out)
{
    const struct ledger_world *w = (const struct ledger_world *)t;
    bool stepped = index < w->room[0];
    uint32_t of_kind = stepped ? index : index - w->room[0];
    *out = (struct executor_info){.kind = stepped ? ERGON_STEPPED : ERGON_BLOCKING,
                                  .queue = 1,
                                  .bound = 1,
                                  .outstanding = of_kind < w->out[stepped ? 0 : 1]};
    snprintf(out->name, sizeof out->name, "%s %u", stepped ? "stepped" : "blocking", of_kind + 1);
}

static struct world_run *run_of(const struct task *attempt)
{
    return (struct world_run *)attempt;
}

enum kept_stage kept_stage(const struct task *attempt)
{
    return run_of(attempt)->stage;
}

void kept_executor(struct tasks *t, const struct task *attempt, char *buf, size_t size)
{
    (void)t;
    (void)attempt;
    snprintf(buf, size, "blocking 1");
}

static unsigned kind_of(const struct world_run *r)
{
    return r->run.method->handler->kind == ERGON_STEPPED ? 0 : 1;
}

void world_return(struct world_run *r, struct kept_return *end)
{
    struct ledger_world *w = r->world;
    struct kept_source *source = &w->source;
    end->owner = r->run.owner;
    end->attempt = r->run.attempt;
    *(r->prev ? &r->prev->next : &w->runs) = r->next;
    *(r->next ? &r->next->prev : &w->runs_last) = r->prev;
    w->out[kind_of(r)]--;
    source->returned(source->arg, end);
    if (ao_current() == &r->timer) {
        ao_retire(&r->timer);
    } else {
        ao_deactivate(&r->timer);
        ao_fini(&r->timer);
        free(r);
    }
    ao_activate(&w->pump);
}

static void end_as(struct world_run *r, enum ergon_error error, const char *code, const char *text)
{
    struct outcome outcome = {.error = error, .code = code, .text = span_text(text)};
    struct kept_return end = {.started = true, .outcome = &outcome};
    world_return(r, &end);
}

void world_finish(struct world_run *r, const char *result)
{
    struct outcome outcome = {.error = ERGON_OK, .result = span_text(result)};
    struct kept_return end = {.started = true, .outcome = &outcome};
    world_return(r, &end);
}

void world_fail(struct world_run *r, const char *code, const char *text)
{
    end_as(r, ERGON_E_FAILED, code, text);
}

void world_again(struct world_run *r, ao_time after)
{
    struct outcome outcome = {.error = ERGON_OK};
    struct kept_return end = {.started = true, .again = true, .after = after, .outcome = &outcome};
    world_return(r, &end);
}

static enum ao_verdict run_due(struct ao *self)
{
    struct world_run *r = ao_of(self, struct world_run, timer);
    struct ledger_world *w = r->world;
    if (r->flagged && !w->stubborn)
        end_as(r, ERGON_E_CANCELLED, "CANCELLED", "it was told to stop");
    else if (w->over)
        w->over(w->arg, r);
    else
        world_finish(r, "\xc0");
    return AO_DONE;
}

static void run_retired(struct ao *self)
{
    ao_fini(self);
    free(ao_of(self, struct world_run, timer));
}

static const struct ao_class run_class = {
    .name = "attempt", .step = run_due, .retired = run_retired};

void kept_flag(struct tasks *t, struct task *attempt, enum kept_flag flag)
{
    struct world_run *r = run_of(attempt);
    (void)flag;
    r->flagged = true;
    if (world_of(t)->stubborn)
        return;
    ao_deactivate(&r->timer);
    ao_activate(&r->timer);
}

static void run(struct ledger_world *w, unsigned kind, const struct kept_run *what)
{
    struct world_run *r = calloc(1, sizeof *r);
    ao_time lasts = w->lasts;
    if (!r) {
        w->source.given(w->source.arg, what->owner, NULL);
        return;
    }
    r->world = w;
    r->run = *what;
    r->stage = KEPT_ASSIGNED;
    ao_init(&r->timer, &run_class, w->manager);
    r->prev = w->runs_last;
    *(w->runs_last ? &w->runs_last->next : &w->runs) = r;
    w->runs_last = r;
    w->out[kind]++;
    w->source.given(w->source.arg, what->owner, (struct task *)r);
    if (w->begun)
        w->begun(w->arg, r, &lasts);
    if (lasts != AO_NEVER)
        ao_sleep_for(&r->timer, lasts);
}

static enum ao_verdict pump_step(struct ao *self)
{
    struct ledger_world *w = ao_of(self, struct ledger_world, pump);
    static const enum ergon_kind kinds[] = {ERGON_STEPPED, ERGON_BLOCKING};
    for (unsigned k = 0; k < PICK_KINDS; k++) {
        struct kept_run what;
        while (w->out[k] < w->room[k] &&
               w->source.ready(w->source.arg, kinds[k], w->room[k] - w->out[k]) &&
               w->source.take(w->source.arg, kinds[k], &what))
            run(w, k, &what);
        w->source.full(w->source.arg, kinds[k], w->out[k] >= w->room[k]);
    }
    return AO_DONE;
}

static const struct ao_class pump_class = {.name = "pump", .step = pump_step};

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
    ao_init(&w->pump, &pump_class, w->manager);
    w->ledger = ledger_new(&w->options, error, sizeof error);
    if (!w->ledger)
        fail_msg("%s", error);
    w->first_id = w->ledger->next_id;
    w->door = ledger_door_open(w->ledger, w->loop, answered, pushed, w);
    assert_non_null(w->door);
    assert_int_equal(ledger_start(w->ledger), 0);
}

static void drop_runs(struct ledger_world *w)
{
    struct world_run *next;
    for (struct world_run *r = w->runs; r; r = next) {
        next = r->next;
        ao_deactivate(&r->timer);
        ao_fini(&r->timer);
        free(r);
    }
    w->runs = w->runs_last = NULL;
    w->out[0] = w->out[1] = 0;
}

static void close_ledger(struct ledger_world *w)
{
    ledger_free(w->ledger);
    drop_runs(w);
    ao_deactivate(&w->pump);
    ao_fini(&w->pump);
}

/* A ledger on the rows that the last one left. */
static void open_again(struct ledger_world *w)
{
    char error[200] = "";
    ao_init(&w->pump, &pump_class, w->manager);
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
    memory_store_crash(w->store);
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
    struct ask *a = ask_new(verb);
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
