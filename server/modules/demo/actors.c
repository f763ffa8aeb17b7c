/* counter, ticker: types of actors. */
#include <inttypes.h>
#include <stdio.h>

#include <ergon/actor.h>

#include "server/modules/demo/demo.h"

/* --- counter/KEY: a number --- */

static enum ao_verdict refuse(struct ergon_task *task, const char *expects)
{
    ergon_failf(task, "BAD_PARAMS", "expects %s", expects);
    return AO_DONE;
}

static bool read_sum(struct ergon_task *task, int64_t *sum)
{
    struct ergon_reader r;
    *sum = 0;
    return !ergon_state_open(task, &r) || ergon_read_int(&r, sum);
}

/* [n]: adds it; answers the sum. */
static enum ao_verdict add(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    int64_t n, sum;

    (void)self;
    (void)state;
    if (ergon_params_open(task, &r) != 1 || !ergon_read_int(&r, &n))
        return refuse(task, "a number");
    if (!read_sum(task, &sum) || __builtin_add_overflow(sum, n, &sum)) {
        ergon_fail(task, "PERMANENT_STATE", "the state is no number, or the sum is too large");
        return AO_DONE;
    }
    ergon_state_int(task, sum);
    ergon_result_int(task, sum);
    return AO_DONE;
}

static uint8_t *put_uint(uint8_t *at, uint64_t v)
{
    *at++ = 0xcf;
    for (int shift = 56; shift >= 0; shift -= 8)
        *at++ = (uint8_t)(v >> shift);
    return at;
}

/* [to, n]: takes n of its number, and has the counter `to` add it; answers what is left. */
static enum ao_verdict give(struct ao *self, struct ergon_task *task, void *state)
{
    enum { NAME_MAX_HERE = 200 };
    struct ergon_reader r;
    struct ergon_bytes name;
    uint64_t n;
    int64_t sum;
    char to[NAME_MAX_HERE + 1];
    uint8_t params[16] = {0x91};

    (void)self;
    (void)state;
    if (ergon_params_open(task, &r) != 2 || !ergon_read_bytes(&r, &name) ||
        name.len > NAME_MAX_HERE || !ergon_read_uint(&r, &n))
        return refuse(task, "the name of a counter, and a number");
    if (!read_sum(task, &sum) || sum < 0 || (uint64_t)sum < n) {
        ergon_failf(task, "PERMANENT_SHORT", "there are less than %" PRIu64, n);
        return AO_DONE;
    }
    snprintf(to, sizeof to, "%.*s", (int)name.len, (const char *)name.at);
    size_t len = (size_t)(put_uint(params + 1, n) - params);
    sum -= (int64_t)n;
    ergon_state_int(task, sum);
    ergon_tell(task, to, "add", (struct ergon_bytes){params, len}, (struct ergon_bytes){0});
    ergon_result_int(task, sum);
    return AO_DONE;
}

/* []: the sum. */
static enum ao_verdict get(struct ao *self, struct ergon_task *task, void *state)
{
    int64_t sum;

    (void)self;
    (void)state;
    if (read_sum(task, &sum))
        ergon_result_int(task, sum);
    else
        ergon_fail(task, "PERMANENT_STATE", "the state is no number");
    return AO_DONE;
}

static const struct ergon_handler counter_methods[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "counter.add",
     .summary = "adds to the number of the actor; answers the sum",
     .params = "[n: int]",
     .step = add},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "counter.give",
     .summary = "takes a number from that of the actor, and has another counter add it",
     .params = "[to: str, n: int]",
     .step = give},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "counter.get",
     .summary = "answers the number of the actor",
     .params = "[]",
     .step = get,
     .flags = ERGON_READS},
};

static const struct ergon_actor counter = {
    .size = sizeof counter, .type = "counter", .methods = counter_methods, .count = 3, .schema = 1};

/* --- ticker/KEY: counts down, a step at a time --- */

struct ticks {
    uint64_t left, pause; /* pause: ns */
};

static bool read_ticks(struct ergon_task *task, struct ticks *t)
{
    struct ergon_reader r;
    uint32_t count;
    return ergon_state_open(task, &r) && ergon_read_array(&r, &count) && count == 2 &&
           ergon_read_uint(&r, &t->left) && ergon_read_uint(&r, &t->pause);
}

static bool keep_ticks(struct ergon_task *task, const struct ticks *t)
{
    uint8_t raw[32], *at = raw;
    *at++ = 0x92;
    at = put_uint(put_uint(at, t->left), t->pause);
    return ergon_state_set(task, raw, (size_t)(at - raw));
}

/* [ticks, pause]: counts down from so many, with a pause between two. */
static enum ao_verdict start(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    struct ticks t;

    (void)self;
    (void)state;
    if (ergon_params_open(task, &r) != 2 || !ergon_read_uint(&r, &t.left) ||
        !ergon_read_duration(&r, &t.pause))
        return refuse(task, "a number of ticks, and a pause between them");
    keep_ticks(task, &t);
    ergon_wake(task);
    return AO_DONE;
}

/* One tick; nobody calls it. */
static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{
    struct ticks t;

    (void)self;
    (void)state;
    if (!read_ticks(task, &t) || t.left == 0) {
        ergon_sleep(task, UINT64_MAX);
        return AO_DONE;
    }
    t.left--;
    keep_ticks(task, &t);
    ergon_sleep(task, t.left > 0 ? t.pause : UINT64_MAX);
    return AO_DONE;
}

static const struct ergon_handler ticker_methods[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "ticker.start",
     .summary = "counts down from a number, a step at a time",
     .params = "[ticks: int, pause: duration]",
     .step = start},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "ticker.step",
     .summary = "one tick, which nobody sends",
     .params = "[]",
     .step = step},
};

static const struct ergon_actor ticker = {
    .size = sizeof ticker, .type = "ticker", .methods = ticker_methods, .count = 2, .schema = 1};

int demo_actors(struct ergon_module *module)
{
    return ergon_register_actor(module, &counter) < 0 || ergon_register_actor(module, &ticker) < 0
               ? -1
               : 0;
}
