/* counter/KEY: a number, as that of the module demo, whose turns are pipelined. */
#include <ergon/actor.h>

static int64_t read_sum(struct ergon_task *task)
{
    struct ergon_reader r;
    int64_t sum = 0;

    if (ergon_state_open(task, &r))
        ergon_read_int(&r, &sum);
    return sum;
}

/* [n]: adds it; answers the sum. */
static enum ao_verdict add(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    int64_t n = 0, sum;

    if (ergon_params_open(task, &r) != 1 || !ergon_read_int(&r, &n) ||
        __builtin_add_overflow(read_sum(task), n, &sum)) {
        ergon_fail(task, "BAD_PARAMS", "expects a number");
        return AO_DONE;
    }
    ergon_state_int(task, sum);
    ergon_result_int(task, sum);
    return AO_DONE;
}

/* Answers the sum.  It goes through the mailbox, so that the actor is loaded for it. */
static enum ao_verdict get(struct ao *self, struct ergon_task *task, void *state)
{
    ergon_result_int(task, read_sum(task));
    return AO_DONE;
}

static const struct ergon_handler methods[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "counter.add",
     .step = add},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "counter.get",
     .step = get},
};

static const struct ergon_actor counter = {
    .size = sizeof counter, .type = "counter", .methods = methods, .count = 2, .pipeline = true};

ERGON_MODULE(counters, "counters", "1.0")
{
    return ergon_register_actor(module, &counter);
}
