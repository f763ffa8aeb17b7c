#include "tests/support/tasks_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <ergon/seq.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "server/tasks/host.h"

static const struct ergon_host *host;
static struct tasks_world *world; /* of the running test: for what handlers report */

static void take_all(struct ergon_task *task)
{
    struct ergon_bytes params = host->params(task);
    host->result_raw(task, params.at, params.len);
}

static int64_t first_int(struct ergon_task *task)
{
    struct ergon_reader r;
    int64_t v = 0;
    host->params_open(task, &r);
    host->read_int(&r, &v);
    return v;
}

static enum ao_verdict echo_step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)state;
    take_all(task);
    return AO_DONE;
}

static enum ao_verdict sleep_step(struct ao *self, struct ergon_task *task, void *state)
{
    bool *slept = state;
    if (*slept) {
        take_all(task);
        return AO_DONE;
    }
    *slept = true;
    ao_sleep_for(self, AO_MS(first_int(task)));
    return AO_PARK;
}

static enum ao_verdict again_step(struct ao *self, struct ergon_task *task, void *state)
{
    int64_t *steps = state;
    (void)self;
    return (*steps)++ < first_int(task) ? AO_AGAIN : AO_DONE;
}

static enum ao_verdict hang_step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)task;
    (void)state;
    return AO_PARK;
}

static void count_cleanup(struct ergon_task *task, void *state)
{
    (void)task;
    (void)state;
    world->cleanups++;
}

static enum ao_verdict fail_step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)state;
    (host->fail)(task, "NO_LUCK", "none today");
    return AO_DONE;
}

static enum ao_verdict fault_step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)task;
    (void)state;
    return ao_fault(self, 7, "fault %d", 7);
}

static enum ao_verdict late_fault_step(struct ao *self, struct ergon_task *task, void *state)
{
    bool *begun = state;
    (void)task;
    if (*begun)
        return ao_fault(self, 8, "too late");
    *begun = true;
    return AO_AGAIN;
}

struct outer {
    struct ao_seq seq;
    struct ao_wait wait;
    struct ergon_call *call;
};

static void read_call(struct ergon_task *task, char method[65], struct ergon_bytes *params)
{
    struct ergon_reader r;
    struct ergon_bytes name = {0};
    host->params_open(task, &r);
    host->read_bytes(&r, &name);
    host->read_any(&r, params);
    memcpy(method, name.at, name.len);
    method[name.len] = '\0';
}

static void report(struct ergon_task *task, const struct ergon_outcome *out)
{
    if (out->ok)
        host->result_raw(task, out->result.at, out->result.len);
    else
        (host->fail)(task, out->code, out->text);
}

static void start_nested(struct ergon_task *task, struct outer *o)
{
    char method[65];
    struct ergon_bytes params;
    read_call(task, method, &params);
    o->call = host->call_start(task, method, params);
    assert_non_null(o->call);
}

static enum ao_verdict outer_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct outer *o = state;
    struct ergon_outcome out;
    AO_BEGIN(&o->seq);
    start_nested(task, o);
    AO_AWAIT(self, &o->seq, &o->wait, host->call_await(o->call, &o->wait));
    host->call_outcome(o->call, &out);
    report(task, &out);
    AO_END(&o->seq);
}

static void block_run(struct ergon_task *task)
{
    take_all(task);
}

static void ask_run(struct ergon_task *task)
{
    char method[65];
    struct ergon_bytes params;
    struct ergon_outcome out;
    read_call(task, method, &params);
    host->call(task, method, params, &out);
    report(task, &out);
}

#define STEPPED(n, ...)                                                                            \
    {                                                                                              \
        .size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = #n, .step = n##_step, \
        __VA_ARGS__                                                                                \
    }
#define BLOCKING(n)                                                                                \
    {                                                                                              \
        .size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = #n, .run = n##_run   \
    }

static const struct ergon_handler handlers[] = {
    STEPPED(echo, .flags = 0),
    STEPPED(sleep, .state_size = sizeof(bool)),
    STEPPED(again, .state_size = sizeof(int64_t)),
    STEPPED(hang, .cleanup = count_cleanup),
    STEPPED(fail, .flags = 0),
    STEPPED(fault, .flags = 0),
    STEPPED(late_fault, .state_size = sizeof(bool)),
    STEPPED(outer, .state_size = sizeof(struct outer)),
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "managed",
     .step = echo_step,
     .flags = ERGON_MANAGED},
    BLOCKING(block),
    BLOCKING(ask),
};

static void add_handlers(struct tasks_world *w)
{
    char error[256];
    host = host_table();
    world = w;
    w->registry = registry_new();
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (handlers[i].kind == ERGON_STEPPED || w->plan.executor_count > w->plan.loop_count)
            assert_int_equal(registry_add(w->registry, "test", &handlers[i], error, sizeof error),
                             0);
}

/* The lines of manager, executors and ends. */
static void keep_some(void *arg, const char *line)
{
    struct tasks_world *w = arg;
    const char *who = strchr(line, ']');
    if (who &&
        (strncmp(who + 2, "manager", 7) == 0 || strncmp(who + 2, "executor", 8) == 0 ||
         strncmp(who + 2, "call", 4) == 0) &&
        !strstr(line, "ACTIVE") && !strstr(line, "SLEEPING"))
        w->record(&w->v, line);
}

static void call_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct tasks_world *w = arg;
    struct reader r = reader_of(span_of(call->msgid, call->msgid_len));
    uint64_t number = 0;
    read_uint(&r, &number);
    w->ended++;
    if (number < WORLD_CALLS) {
        w->told[number]++;
        w->errors[number] = outcome->error;
    }
    if (w->quiet)
        return;
    if (outcome->error == ERGON_OK)
        virtual_say(&w->v, "call", number, "ended: %zu bytes", outcome->result.len);
    else
        virtual_say(&w->v, "call", number, "ended: %s (%.*s)", outcome->code,
                    (int)outcome->text.len, (const char *)outcome->text.at);
}

void tasks_world_init(struct tasks_world *w, uint32_t loops, uint32_t blocking)
{
    static const char *const names[WORLD_LOOPS] = {"loop0", "loop1", "loop2", "loop3"};
    *w = (struct tasks_world){0};
    virtual_init(&w->v);
    virtual_silence();
    w->record = w->v.trace.line;
    w->v.trace.line = keep_some;
    w->v.trace.arg = w;
    for (uint32_t i = 0; i < loops; i++) {
        w->loops[i] = virtual_open(&w->v, names[i]);
        w->executors[i] = (struct executor_plan){
            .kind = ERGON_STEPPED, .queue = 64, .parked = 1000, .loop = i, .core = -1, .weight = 1};
    }
    for (uint32_t i = loops; i < loops + blocking; i++)
        w->executors[i] =
            (struct executor_plan){.kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1};
    w->manager = w->loops[0];
    w->plan = (struct tasks_plan){.loops = w->loops,
                                  .loop_count = loops,
                                  .executors = w->executors,
                                  .executor_count = loops + blocking,
                                  .measure = MEASURE_OCCUPANCY,
                                  .short_cut = true,
                                  .queue_max = 1000,
                                  .message_max = 1 << 20,
                                  .ended = call_ended};
}

void tasks_world_own_manager(struct tasks_world *w)
{
    w->manager = virtual_open(&w->v, "manager");
}

void tasks_world_open(struct tasks_world *w)
{
    char error[256] = "";
    add_handlers(w);
    w->plan.registry = w->registry;
    w->plan.manager = w->manager;
    w->plan.clock = &w->v.clock;
    w->tasks = tasks_new(&w->plan, error, sizeof error);
    if (!w->tasks)
        fail_msg("%s", error);
    for (uint32_t i = 0; i < w->plan.loop_count; i++)
        tasks_set_owner(w->tasks, i, w);
}

void tasks_world_fini(struct tasks_world *w)
{
    tasks_free(w->tasks);
    registry_free(w->registry);
    virtual_fini(&w->v);
}

enum ergon_error tasks_world_call(struct tasks_world *w, uint32_t loop, const char *method,
                                  struct span params, ao_time deadline)
{
    uint8_t id[ENC_INT_MAX];
    uint8_t *end = enc_uint(id, ++w->begun);
    const struct call_request request = {.list = &w->list,
                                         .owner = w,
                                         .msgid = span_of(id, (size_t)(end - id)),
                                         .params = params,
                                         .deadline = deadline};
    struct method *m = registry_find(w->registry, span_text(method));
    assert_non_null(m);
    enum ergon_error error = home_call(tasks_home(w->tasks, loop), m, &request);
    if (error != ERGON_OK)
        w->begun--;
    return error;
}

struct call *tasks_world_find(struct tasks_world *w, unsigned number)
{
    uint8_t id[ENC_INT_MAX];
    uint8_t *end = enc_uint(id, number);
    return call_find(w->list, span_of(id, (size_t)(end - id)));
}

static bool run_blocking(struct tasks_world *w)
{
    bool ran = false;
    for (uint32_t i = w->plan.loop_count; i < w->plan.executor_count; i++)
        ran |= blocking_round(ao_of(w->tasks->executors[i], struct blocking, base));
    return ran;
}

void tasks_world_run(struct tasks_world *w)
{
    do
        virtual_run(&w->v);
    while (run_blocking(w));
}

void tasks_world_run_ms(struct tasks_world *w, uint64_t ms)
{
    do
        virtual_run_until(&w->v, AO_MS(ms));
    while (run_blocking(w));
}

struct span params_none(void)
{
    static const uint8_t none[] = {0x90};
    return span_of(none, sizeof none);
}

struct span params_int(uint8_t *buf, int64_t v)
{
    return span_of(buf, (size_t)(enc_int(enc_array(buf, 1), v) - buf));
}

struct span params_call(uint8_t *buf, const char *method, struct span params)
{
    uint8_t *p = enc_str(enc_array(buf, 2), span_text(method));
    memcpy(p, params.at, params.len);
    return span_of(buf, (size_t)(p + params.len - buf));
}
