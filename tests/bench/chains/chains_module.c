/* A module whose handlers are the links of a chain.
 *
 *   link [anything]    1 KiB, whatever it is given
 *   link.nil [anything]    nil
 *   link.read []    how many tasks of `link` were given 1 KiB since the last time */
#include <stdatomic.h>

#include <ergon/handler.h>

enum { SIZE = 1024 };

static _Atomic uint32_t were_read;

static enum ao_verdict link_step(struct ao *self, struct ergon_task *task, void *state)
{
    static const uint8_t result[SIZE];
    struct ergon_reader r;
    struct ergon_bytes got;

    if (ergon_params_open(task, &r) > 0 && ergon_read_bytes(&r, &got) && got.len == SIZE)
        atomic_fetch_add_explicit(&were_read, 1, memory_order_relaxed);
    ergon_result_bin(task, result, sizeof result);
    return AO_DONE;
}

static enum ao_verdict nil_step(struct ao *self, struct ergon_task *task, void *state)
{
    return AO_DONE;
}

static enum ao_verdict read_step(struct ao *self, struct ergon_task *task, void *state)
{
    ergon_result_int(task, atomic_exchange_explicit(&were_read, 0, memory_order_relaxed));
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "link",
     .summary = "1 KiB",
     .params = "[anything]",
     .step = link_step},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "link.nil",
     .summary = "nil",
     .params = "[anything]",
     .step = nil_step},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_STEPPED,
     .name = "link.read",
     .summary = "how many tasks of link were given 1 KiB",
     .params = "[]",
     .step = read_step},
};

ERGON_MODULE(chains_module, "chains", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
