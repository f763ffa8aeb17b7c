/* echo, sum: brief handlers, stepped. */
#include <ergon/handler.h>

/* Its one parameter, which is all that is left: to read it would be to walk through a list of
 * millions in one step; of several, the array; of none, nil. */
static enum ao_verdict echo(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_reader r;
    struct ergon_bytes value;
    uint32_t count = ergon_params_open(task, &r);

    (void)self;
    (void)state;
    if (count == 1)
        value = (struct ergon_bytes){.at = r.at, .len = (size_t)(r.end - r.at)};
    else
        value = ergon_params(task);
    if (count > 0)
        ergon_result_raw(task, value.at, value.len);
    return AO_DONE;
}

/* A long list is summed in quanta, so that the loop stays free for others. */
enum { SUM_QUANTUM = 16384 };

struct sum_state {
    struct ao_seq seq;
    uint32_t left; /* numbers still to come */
    size_t offset; /* of the next one in the parameters, which may move between steps */
    int64_t whole; /* valid while !inexact */
    double real;   /* valid once inexact */
    bool inexact;  /* a float came, or the integers overflowed */
};

static bool sum_add(struct sum_state *s, struct ergon_reader *r)
{
    int64_t whole;
    double real;

    if (!s->inexact && ergon_read_int(r, &whole)) {
        int64_t sum;
        if (!__builtin_add_overflow(s->whole, whole, &sum)) {
            s->whole = sum;
            return true;
        }
        s->inexact = true;
        s->real = (double)s->whole + (double)whole;
        return true;
    }
    if (!ergon_read_number(r, &real))
        return false;
    if (!s->inexact)
        s->real = (double)s->whole;
    s->inexact = true;
    s->real += real;
    return true;
}

/* Both [1, 2, 3] and [[1, 2, 3]]. */
static void sum_open(struct ergon_task *task, struct sum_state *s)
{
    struct ergon_reader r;
    const uint8_t *start = ergon_params(task).at;

    s->left = ergon_params_open(task, &r);
    if (s->left == 1)
        ergon_read_array(&r, &s->left);
    s->offset = (size_t)(r.at - start);
}

static bool sum_quantum(struct ergon_task *task, struct sum_state *s)
{
    struct ergon_bytes params = ergon_params(task);
    struct ergon_reader r = {.at = params.at + s->offset, .end = params.at + params.len};

    for (uint32_t n = 0; n < SUM_QUANTUM && s->left > 0; n++, s->left--)
        if (!sum_add(s, &r))
            return false;
    s->offset = (size_t)(r.at - params.at);
    return true;
}

static enum ao_verdict sum(struct ao *self, struct ergon_task *task, void *state)
{
    struct sum_state *s = state;

    (void)self;
    AO_BEGIN(&s->seq);
    sum_open(task, s);
    for (;;) {
        if (!sum_quantum(task, s)) {
            ergon_fail(task, "BAD_PARAMS", "sum takes numbers, or one array of numbers");
            return AO_DONE;
        }
        if (s->left == 0)
            break;
        AO_YIELD(&s->seq);
    }
    if (s->inexact)
        ergon_result_double(task, s->real);
    else
        ergon_result_int(task, s->whole);
    AO_END(&s->seq);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "echo",
     .summary = "answers its parameter; of several, the array",
     .params = "[value...]",
     .step = echo},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "sum",
     .summary = "adds numbers; an integer unless a float is among them",
     .params = "[number...] or [[number...]]",
     .step = sum,
     .state_size = sizeof(struct sum_state)},
};

ERGON_MODULE(basic_module, "basic", ERGON_VERSION)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
