/* flaky, progress, later, fan_out: what a task that lasts can do. */
#include "server/modules/demo/demo.h"

static enum ao_verdict refuse(struct ergon_task *task, const char *expects)
{
    ergon_failf(task, "BAD_PARAMS", "expects %s", expects);
    return AO_DONE;
}

/* [n]: fails until the attempt n; answers its number. */
static enum ao_verdict flaky(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    uint64_t wanted;

    (void)self;
    (void)state;
    if (ergon_params_open(task, &r) != 1 || !ergon_read_uint(&r, &wanted))
        return refuse(task, "the number of the attempt that does not fail");
    if (ergon_attempt(task) < wanted)
        ergon_failf(task, "FLAKY", "attempt %u fails; attempt %llu will not", ergon_attempt(task),
                    (unsigned long long)wanted);
    else
        ergon_result_int(task, ergon_attempt(task));
    return AO_DONE;
}

struct progress_state {
    struct ao_seq seq;
    uint64_t done, total;
    uint64_t pause; /* ns */
};

static bool take_steps(struct ergon_task *task, struct progress_state *s)
{
    struct ergon_reader r;
    uint32_t count = ergon_params_open(task, &r);

    return count >= 1 && count <= 2 && ergon_read_uint(&r, &s->total) &&
           (count == 1 || ergon_read_duration(&r, &s->pause));
}

/* The number of the step is a part of the result. */
static bool tell(struct ergon_task *task, const struct progress_state *s)
{
    uint8_t part = (uint8_t)(s->done & 0x7f); /* MessagePack writes it so */
    char text[40];

    snprintf(text, sizeof text, "step %llu", (unsigned long long)s->done);
    return ergon_progress(task, s->done, s->total, text) && ergon_partial(task, &part, 1);
}

/* [steps, pause]: says how far it is after each. */
static enum ao_verdict progress(struct ao *self, struct ergon_task *task, void *state)
{
    struct progress_state *s = state;

    AO_BEGIN(&s->seq);
    if (!take_steps(task, s))
        return refuse(task, "a number of steps, and a pause between them");
    while (s->done < s->total) {
        AO_SLEEP(self, &s->seq, s->pause);
        s->done++;
        tell(task, s);
    }
    ergon_result_int(task, (int64_t)s->done);
    AO_END(&s->seq);
}

/* [duration, n]: asks to be run again after so long, until the attempt n; answers its number. */
static enum ao_verdict later(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    uint64_t after, wanted = 2;
    uint32_t count = ergon_params_open(task, &r);

    (void)self;
    (void)state;
    if (count < 1 || count > 2 || !ergon_read_duration(&r, &after) ||
        (count == 2 && !ergon_read_uint(&r, &wanted)))
        return refuse(task, "a duration, and the number of the attempt that is the last");
    if (ergon_attempt(task) < wanted)
        ergon_again(task, after);
    else
        ergon_result_int(task, ergon_attempt(task));
    return AO_DONE;
}

/* [n, method]: submits n tasks of the method, with the parameters [0], [1], ...; answers n. */
static enum ao_verdict fan_out(struct ao *self, struct ergon_task *task, void *state)
{
    enum { NAME_MOST = 64, TASKS_MOST = 100 };
    struct ergon_reader r;
    struct ergon_bytes name = {.at = (const uint8_t *)"echo", .len = 4};
    uint64_t n;
    char method[NAME_MOST + 1];
    uint32_t count = ergon_params_open(task, &r);

    (void)self;
    (void)state;
    if (count < 1 || count > 2 || !ergon_read_uint(&r, &n) || n > TASKS_MOST ||
        (count == 2 && (!ergon_read_bytes(&r, &name) || name.len > NAME_MOST)))
        return refuse(task, "a number of tasks, at most 100, and their method");
    snprintf(method, sizeof method, "%.*s", (int)name.len, (const char *)name.at);
    for (uint8_t i = 0; i < n; i++) {
        uint8_t params[] = {0x91, i}; /* MessagePack writes it so */
        if (!ergon_submit(task, method, (struct ergon_bytes){.at = params, .len = sizeof params},
                          (struct ergon_bytes){0}))
            return AO_DONE; /* it has failed by that */
    }
    ergon_result_int(task, (int64_t)n);
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "flaky",
     .summary = "fails until its attempt n; answers the number of the attempt",
     .params = "[n: int]",
     .step = flaky},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "progress",
     .summary = "says how far it is after each step; answers their number",
     .params = "[steps: int, pause: duration?]",
     .step = progress,
     .state_size = sizeof(struct progress_state)},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "later",
     .summary = "asks to be run again later, until its attempt n; answers its number",
     .params = "[duration, n: int?]",
     .step = later},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "fan_out",
     .summary = "submits so many tasks of a method with its end; answers their number",
     .params = "[n: int, method: str?]",
     .step = fan_out},
};

const struct demo_part demo_lasting = {handlers, sizeof handlers / sizeof handlers[0]};
