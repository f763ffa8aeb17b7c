#include "client/cli/module/narrow.h"

#include "base/clock.h"
#include "client/cli/module/shrink.h"

enum { TRIES_MAX = 400, CRASHES_MAX = 80 };
#define TIME_MAX (UINT64_C(10) * 1000 * 1000 * 1000)

/* A crash of a task, or of a call that was cut off: does a plain call make it, too? */
static bool call_does_it(struct private_server *s, const struct trial *t, const struct fault *f)
{
    struct trial_outcome out;
    struct trial plain = *t;
    plain.way = TRIAL_CALL;
    plain.deaths = private_server_deaths(s);
    trial_run(s, &plain, &out);
    return out.end == TRIAL_CRASHED && fault_is(f, out.end, private_server_death(s));
}

/* Does this step leave the fault as it is?  Then `f` takes it. */
static bool try_step(struct private_server *s, const struct trial *t, struct fault *f,
                     struct span params, uint32_t *crashes)
{
    struct trial_outcome out;
    struct trial smaller = *t;
    smaller.params = params;
    smaller.way = TRIAL_CALL;
    smaller.deaths = private_server_deaths(s);
    trial_run(s, &smaller, &out);
    *crashes += out.end == TRIAL_CRASHED;
    if (out.end != TRIAL_CRASHED || !fault_is(f, out.end, private_server_death(s)) ||
        !fault_take_params(f, params))
        return false;
    f->way = TRIAL_CALL;
    f->smaller = true;
    return true;
}

void narrow(struct private_server *s, const struct trial *t, struct fault *f)
{
    uint64_t until = clock_monotonic() + TIME_MAX;
    uint32_t crashes = 0, step = 0;
    bool taken = false; /* in this pass */
    if (f->end != TRIAL_CRASHED)
        return;
    if (t->way != TRIAL_CALL && call_does_it(s, t, f))
        f->way = TRIAL_CALL;
    for (int tries = 0; tries < TRIES_MAX && crashes < CRASHES_MAX; tries++) {
        struct pack params;
        pack_init(&params);
        bool is_step = shrink_pack(span_of(f->params, f->params_len), step, &params);
        bool took = is_step && try_step(s, t, f, pack_bytes(&params), &crashes);
        pack_fini(&params);
        taken |= took;
        if (!is_step && !taken)
            return;
        taken = taken && is_step;
        step = !is_step ? 0 : took ? step : step + 1;
        if (clock_monotonic() >= until || private_server_failed(s) != NULL ||
            private_server_signal(s) != 0)
            return;
    }
}
