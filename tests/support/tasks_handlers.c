#include "tests/support/tasks_handlers.h"

#include <ergon/seq.h>

#include "proto/encoder.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"

static const struct ergon_host *host;
_Atomic unsigned test_cleanups;

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
    int64_t ms = first_int(task),
            hour = 3600 * 1000; /* who asks for what chance gives is answered */
    ao_sleep_for(self, AO_MS(ms < 0 ? 0 : ms < hour ? ms : hour));
    return AO_PARK;
}

static enum ao_verdict again_step(struct ao *self, struct ergon_task *task, void *state)
{
    int64_t *steps = state;
    return (*steps)++ < first_int(task) ? AO_AGAIN : AO_DONE;
}

static enum ao_verdict burn_step(struct ao *self, struct ergon_task *task, void *state)
{
    uint64_t *until = state, now = host->now(task), step_end = now + AO_US(50);
    if (*until == 0)
        *until = now + AO_US(first_int(task));
    while (now < step_end)
        now = host->now(task);
    return now < *until && !host->cancelled(task) ? AO_AGAIN : AO_DONE;
}

static enum ao_verdict hang_step(struct ao *self, struct ergon_task *task, void *state)
{
    return AO_PARK;
}

static void count_cleanup(struct ergon_task *task, void *state)
{
    atomic_fetch_add_explicit(&test_cleanups, 1, memory_order_relaxed);
}

static enum ao_verdict fail_step(struct ao *self, struct ergon_task *task, void *state)
{
    (host->fail)(task, "NO_LUCK", "none today");
    return AO_DONE;
}

static enum ao_verdict fault_step(struct ao *self, struct ergon_task *task, void *state)
{
    return ao_fault(self, 7, "fault %d", 7);
}

static enum ao_verdict late_fault_step(struct ao *self, struct ergon_task *task, void *state)
{
    bool *begun = state;
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
}

static enum ao_verdict outer_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct outer *o = state;
    struct ergon_outcome out;
    AO_BEGIN(&o->seq);
    start_nested(task, o);
    if (!o->call) {
        (host->fail)(task, "MEMORY", "no memory for the call");
        return AO_DONE;
    }
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

static void submit_run(struct ergon_task *task)
{
    static const uint8_t params[] = {0x90}, options[] = {0x80};

    host->submit(task, "echo", (struct ergon_bytes){.at = params, .len = sizeof params},
                 (struct ergon_bytes){.at = options, .len = sizeof options});
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
    STEPPED(burn, .state_size = sizeof(uint64_t)),
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
    BLOCKING(submit),
};

void test_handlers_add(struct registry *r, bool blocking)
{
    char error[256];
    host = host_table();
    atomic_store_explicit(&test_cleanups, 0, memory_order_relaxed);
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (handlers[i].kind == ERGON_STEPPED || blocking)
            assert_int_equal(registry_add(r, "test", &handlers[i], error, sizeof error), 0);
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
