/* cell/KEY and brief/KEY: keep what `keep` gives them, without a use for an hour and for two
 * minutes. */
#include <ergon/actor.h>

/* [value]: the state from now on.  Answers nil. */
static enum ao_verdict keep(struct ao *self, struct ergon_task *task, void *state)
{
    struct ergon_bytes params = ergon_params(task);
    struct ergon_reader r;

    if (ergon_params_open(task, &r) != 1) {
        ergon_fail(task, "BAD_PARAMS", "expects a value");
        return AO_DONE;
    }
    ergon_state_set(task, r.at, (size_t)(params.at + params.len - r.at));
    return AO_DONE;
}

static const struct ergon_handler cell_keeps = {
    .size = sizeof cell_keeps, .kind = ERGON_STEPPED, .name = "cell.keep", .step = keep};
static const struct ergon_handler brief_keeps = {
    .size = sizeof brief_keeps, .kind = ERGON_STEPPED, .name = "brief.keep", .step = keep};

static const struct ergon_actor cell = {
    .size = sizeof cell, .type = "cell", .methods = &cell_keeps, .count = 1, .idle_ms = 3600000};
static const struct ergon_actor brief = {
    .size = sizeof brief, .type = "brief", .methods = &brief_keeps, .count = 1, .idle_ms = 120000};

ERGON_MODULE(cells, "cells", "1.0")
{
    int rc = ergon_register_actor(module, &cell);
    return rc != 0 ? rc : ergon_register_actor(module, &brief);
}
