/* Actors in a jobs_world: types that workers offer, messages, and their turns.
 *
 * For one test file each: all of it is static. */
#ifndef ERGON_TESTS_JOBS_ACTORS_H
#define ERGON_TESTS_JOBS_ACTORS_H

#include "server/jobs/actors/actor_types.h"
#include "server/jobs/actors/residents.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

#define ACTOR_TEST(name) JOBS_TEST(name, .quiet = true)
#define UNUSED_HERE      __attribute__((unused)) static

static const struct actor_policy usual = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                          .durable = ACTOR_DURABLE_NONE};

/* Of workers, of which four attempts may be out.  `methods` ends with NULL. */
UNUSED_HERE void offer(struct jobs_world *w, const char *type, const struct actor_policy *policy,
                       const char *const *methods)
{
    struct method *found[8];
    struct actor_offer offer = {.type = span_text(type), .policy = *policy, .methods = found};
    for (; methods[offer.count]; offer.count++) {
        const char *name = methods[offer.count];
        assert_int_equal(registry_intern(w->registry, span_text(name), &found[offer.count]),
                         ERGON_OK);
        unsigned more = strstr(name, ".read")   ? ACTOR_READS
                        : strstr(name, ".step") ? ACTOR_STEP
                                                : 0;
        method_set_actor(found[offer.count], ACTOR_METHOD | more);
    }
    assert_true(w->source.typed(w->source.arg, &offer));
    for (uint32_t i = 0; i < offer.count; i++)
        world_offer(w, methods[i], true, "");
    w->room[POOL_OF_WORKERS] = 4;
}

#define TELL(to, name, ...)                                                                        \
    ((struct job_spec){JOB_SPEC_DEFAULTS, .method = span_text(name), .params = span_text("\x90"),  \
                       .durable = DURABLE_NONE, .actor = span_text(to), __VA_ARGS__})

UNUSED_HERE uint64_t post(struct jobs_world *w, const struct job_spec *spec)
{
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_settle(w);
    return id;
}

UNUSED_HERE struct actor *actor_of(struct jobs_world *w, const char *name)
{
    return actor_find(w->jobs->actors, span_text(""), span_text(name));
}

UNUSED_HERE void is_waiting(struct jobs_world *w, uint64_t id, enum job_reason reason)
{
    assert_int_equal(world_state(w, id), JOB_WAITING);
    assert_int_equal(world_reason(w, id), reason);
}

UNUSED_HERE bool is_out(struct jobs_world *w, uint64_t id)
{
    return world_run_of(w, id) != NULL;
}

/* It answers, with a new state of one byte. */
UNUSED_HERE void answer(struct jobs_world *w, uint64_t id, const char *state)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    assert_non_null(r->run.turn);
    if (state)
        assert_null(turn_set_state(r->run.turn, span_text(state), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_settle(w);
}

UNUSED_HERE void fail_it(struct jobs_world *w, uint64_t id, const char *code)
{
    world_fail(world_run_of(w, id), code, "it does not work");
    jobs_world_settle(w);
}

UNUSED_HERE void has_state(struct jobs_world *w, const char *name, const char *state,
                           uint64_t version)
{
    struct actor *a = actor_of(w, name);
    if (!a && version == 0)
        return; /* nothing is left of it */
    assert_non_null(a);
    assert_int_equal(a->version, version);
    if (state)
        assert_true(span_is(actor_state(a).raw, state));
    else
        assert_int_equal(actor_state(a).raw.len, 0);
}

#endif
