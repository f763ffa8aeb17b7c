/* sleep, block, burn: the three ways to take time.  */
#include <time.h>

#include "server/modules/demo/demo.h"

enum {
    BLOCK_SLICE_MS = 10, /* how often a blocked handler asks whether it is cancelled */
    BURN_QUANTUM_US = 200
};

static bool one_duration(struct ergon_task *task, struct ergon_reader *r, uint64_t *ns)
{
    if (ergon_params_open(task, r) >= 1 && ergon_read_duration(r, ns))
        return true;
    ergon_fail(task, "BAD_PARAMS",
               "expects a duration: milliseconds, or text such as \"250ms\", at most 213503d");
    return false;
}

struct timed_state {
    struct ao_seq seq;
    uint64_t began; /* ns */
    uint64_t wanted;
};

static int64_t passed_ms(struct ergon_task *task, uint64_t began)
{
    return (int64_t)((ergon_now(task) - began) / 1000000);
}

/* [duration]: parks the object; the loop serves others. */
static enum ao_verdict sleep_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct timed_state *s = state;
    struct ergon_reader r;

    AO_BEGIN(&s->seq);
    if (!one_duration(task, &r, &s->wanted))
        return AO_DONE;
    s->began = ergon_now(task);
    AO_SLEEP(self, &s->seq, s->wanted);
    ergon_result_int(task, passed_ms(task, s->began));
    AO_END(&s->seq);
}

static bool burns_on(struct ergon_task *task, const struct timed_state *s)
{
    return ergon_now(task) - s->began < s->wanted && !ergon_cancelled(task);
}

static void burn_quantum(struct ergon_task *task, const struct timed_state *s)
{
    uint64_t began = ergon_now(task), now = began;

    while (now - began < AO_US(BURN_QUANTUM_US) && now - s->began < s->wanted)
        now = ergon_now(task);
}

/* [duration]: burns processor time, a quantum a step. */
static enum ao_verdict burn_step(struct ao *self, struct ergon_task *task, void *state)
{
    struct timed_state *s = state;
    struct ergon_reader r;

    (void)self;
    AO_BEGIN(&s->seq);
    if (!one_duration(task, &r, &s->wanted))
        return AO_DONE;
    s->began = ergon_now(task);
    while (burns_on(task, s)) {
        burn_quantum(task, s);
        AO_YIELD(&s->seq);
    }
    ergon_result_int(task, passed_ms(task, s->began));
    AO_END(&s->seq);
}

static bool ignores_cancel(struct ergon_reader *r)
{
    uint32_t pairs;
    struct ergon_bytes key;
    bool ignore = false;

    if (ergon_read_map(r, &pairs) && pairs == 1 && ergon_read_bytes(r, &key))
        ergon_read_bool(r, &ignore);
    return ignore;
}

/* [duration, {ignore_cancel}]: blocks its thread. */
static void block_run(struct ergon_task *task)
{
    const struct timespec slice = {.tv_nsec = BLOCK_SLICE_MS * 1000000};
    struct ergon_reader r;
    uint64_t wanted, began = ergon_now(task);

    if (!one_duration(task, &r, &wanted))
        return;
    bool ignore = ignores_cancel(&r);
    while (ergon_now(task) - began < wanted && (ignore || !ergon_cancelled(task))) {
        uint64_t left = wanted - (ergon_now(task) - began);
        struct timespec rest = {.tv_nsec = (long)(left % 1000000000u)};
        nanosleep(left < (uint64_t)slice.tv_nsec ? &rest : &slice, NULL);
    }
    ergon_result_int(task, passed_ms(task, began));
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "sleep",
     .summary = "sleeps without holding a thread; answers the milliseconds",
     .params = "[duration]",
     .step = sleep_step,
     .state_size = sizeof(struct timed_state)},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "burn",
     .summary = "burns processor time in quanta; answers the milliseconds",
     .params = "[duration]",
     .step = burn_step,
     .state_size = sizeof(struct timed_state)},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "block",
     .summary = "blocks a thread; answers the milliseconds",
     .params = "[duration, {ignore_cancel: bool}]",
     .run = block_run},
};

const struct demo_part demo_waiting = {handlers, sizeof handlers / sizeof handlers[0]};
