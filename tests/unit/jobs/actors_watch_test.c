/* actor.watch: answered as soon as the version is on disk; no last version is missed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "server/jobs/operations/channel.h"
#include "tests/support/jobs_actors.h"
#include "tests/support/random.h"

#define WATCH_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static const struct actor_policy kept = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                         .durable = DURABLE_FSYNC, .idle = AO_S(1)};
static const struct actor_policy brief = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                          .durable = ACTOR_DURABLE_NONE, .idle = AO_S(1)};

static void offer_usual(struct jobs_world *w)
{
    static const char *const carts[] = {"cart.add", NULL}, *const briefs[] = {"brief.add", NULL};
    offer(w, "cart", &kept, carts);
    offer(w, "brief", &brief, briefs);
}

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(3));
}

static uint64_t tell(struct jobs_world *w, const char *to)
{
    struct span type = actor_type_of_name(span_text(to));
    char method[64];
    snprintf(method, sizeof method, "%.*s.add", (int)type.len, to);
    uint64_t id = post(w, &TELL(to, method));
    commit(w);
    return id;
}

static void change(struct jobs_world *w, const char *name)
{
    answer(w, tell(w, name), "\x01");
    commit(w);
}

static struct operation *watch_for(struct jobs_world *w, const char *name, uint64_t from,
                                   ao_time timeout)
{
    struct operation *op = world_operation(w, &operation_actor_watch);
    op->actor.name = span_text(name);
    op->actor.waits.from = from;
    op->actor.timeout = timeout;
    world_give(w, op);
    return op;
}

static struct operation *watch(struct jobs_world *w, const char *name, uint64_t from)
{
    return watch_for(w, name, from, AO_S(100));
}

static void reset(struct jobs_world *w, const char *name)
{
    struct operation *op = world_operation(w, &operation_actor_start);
    op->actor.name = span_text(name);
    op->actor.reset = true;
    world_give(w, op);
    commit(w);
    commit(w);
    assert_int_equal(op->reply.error, ERGON_OK);
}

/* One that is not there, too. */
static void drop(struct jobs_world *w, const char *name)
{
    struct operation *op = world_operation(w, &operation_actor_drop);
    op->actor.name = span_text(name);
    world_give(w, op);
    commit(w);
    commit(w);
}

static void says(struct jobs_world *w, const struct operation *op, const char *text)
{
    assert_true(world_answered(w, op));
    stage_says(op, text);
}

WATCH_TEST(the_next_version_is_answered_when_it_is_on_disk)
{
    offer_usual(w);
    change(w, "cart/1");
    struct operation *next = watch(w, "cart/1", 0), *second = watch(w, "cart/1", 2),
                     *known = watch(w, "cart/1", 1);
    says(w, known, "'version': 1, 'stage': 'sleeping', 'state': 1, 'state_hidden': false");
    uint64_t id = tell(w, "cart/1");
    struct world_run *r = world_run_of(w, id);
    assert_null(turn_set_state(r->run.turn, span_text("\x07"), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_settle(w);
    assert_false(world_answered(w, next)); /* its write is under way */
    commit(w);
    says(w, next, "'version': 2, 'stage': 'sleeping', 'state': 7");
    says(w, second, "'version': 2");
}

WATCH_TEST(what_cannot_be_written_is_no_version)
{
    offer_usual(w);
    change(w, "cart/1");
    struct operation *op = watch(w, "cart/1", 2);
    uint64_t id = tell(w, "cart/1");
    w->store->error = STORE_FULL;
    struct world_run *r = world_run_of(w, id);
    assert_null(turn_set_state(r->run.turn, span_text("\x07"), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_OK;
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(3));
    change(w, "cart/1");
    says(w, op, "'version': 2");
}

WATCH_TEST(a_volatile_one_is_watched_likewise_and_stays)
{
    offer_usual(w);
    change(w, "brief/1");
    struct operation *op = watch(w, "brief/1", 2);
    jobs_world_pass(w, AO_S(5));
    assert_non_null(actor_of(w, "brief/1"));
    change(w, "brief/1");
    says(w, op, "'version': 2");
    jobs_world_pass(w, AO_S(5));
    assert_null(actor_of(w, "brief/1"));
}

WATCH_TEST(one_that_is_on_disk_is_loaded)
{
    offer_usual(w);
    change(w, "cart/1");
    change(w, "cart/1");
    jobs_world_crash(w);
    offer_usual(w);
    struct operation *known = watch(w, "cart/1", 2), *next = watch(w, "cart/1", 0);
    assert_false(world_answered(w, known));
    commit(w);
    says(w, known, "'version': 2, 'stage': 'sleeping', 'state': 1");
    jobs_world_pass(w, AO_S(5));
    assert_false(world_answered(w, next));
    change(w, "cart/1");
    says(w, next, "'version': 3");
    jobs_world_pass(w, AO_S(5));
    assert_null(actor_of(w, "cart/1"));
}

WATCH_TEST(the_time_is_over)
{
    offer_usual(w);
    change(w, "cart/1");
    says(w, watch_for(w, "cart/1", 0, 0), "'version': 1, 'stage': 'sleeping', 'timeout': true");
    struct operation *op = watch_for(w, "cart/1", 0, AO_S(2));
    jobs_world_pass(w, AO_S(1));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(2));
    says(w, op, "'version': 1, 'stage': 'sleeping', 'timeout': true");
    change(w, "cart/1");
}

WATCH_TEST(one_that_is_not_there_is_waited_for)
{
    offer_usual(w);
    struct operation *op = watch(w, "cart/1", 0), *list = world_operation(w, &operation_actor_list),
                     *get = world_operation(w, &operation_actor_get);
    commit(w);
    assert_non_null(actor_of(w, "cart/1"));
    list->actors.max = 10;
    list->actors.stage = -1;
    get->actor.name = span_text("cart/1");
    world_give(w, list);
    world_give(w, get);
    commit(w);
    says(w, list, "'actors': []");
    assert_int_equal(get->reply.error, ERGON_E_NOT_FOUND);
    change(w, "cart/1");
    says(w, op, "'version': 1");
    op = watch_for(w, "cart/2", 0, AO_S(1));
    jobs_world_pass(w, AO_S(2));
    says(w, op, "'version': 0, 'stage': 'sleeping', 'timeout': true");
    assert_null(actor_of(w, "cart/2"));
    op = watch(w, "nothing/1", 0);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
}

WATCH_TEST(a_dropped_one_is_version_0)
{
    offer_usual(w);
    change(w, "cart/1");
    change(w, "cart/1");
    struct operation *op = watch(w, "cart/1", 3), *first = watch(w, "cart/1", 0);
    drop(w, "cart/1");
    says(w, op, "'version': 0, 'stage': 'sleeping', 'state': nil");
    says(w, first, "'version': 0");
    assert_null(actor_of(w, "cart/1"));
    op = watch(w, "cart/1", 3); /* it was dropped while nobody waited */
    commit(w);
    says(w, op, "'version': 0");
    change(w, "cart/1");
    op = watch(w, "cart/1", 3); /* and is there again */
    says(w, op, "'version': 1, 'stage': 'sleeping', 'state': 1");
    op = watch(w, "cart/1", 2);
    reset(w, "cart/1");
    says(w, op, "'version': 2, 'stage': 'sleeping', 'state': nil");
}

WATCH_TEST(a_watcher_that_goes_leaves_nothing)
{
    offer_usual(w);
    struct operation *ops[3];
    for (unsigned i = 0; i < 3; i++)
        ops[i] = watch(w, "cart/1", 0);
    commit(w);
    for (unsigned i = 0; i < 3; i++) {
        channel_drop(ops[i]->channel, ops[i]);
        jobs_world_settle(w);
        assert_int_equal(ops[i]->reply.error, ERGON_E_CANCELLED);
    }
    assert_null(actor_of(w, "cart/1"));
}

WATCH_TEST(the_server_stops)
{
    offer_usual(w);
    change(w, "cart/1");
    struct operation *op = watch(w, "cart/1", 0), *other = watch(w, "cart/2", 0);
    commit(w);
    assert_false(world_answered(w, op) || world_answered(w, other));
    jobs_world_restart(w);
    offer_usual(w);
    op = watch(w, "cart/1", 1);
    commit(w);
    says(w, op, "'version': 1");
}

/* --- Connections that break --- */

enum { ACTORS = 4, BREAKS = 1000 };

struct chase {
    struct jobs_world *w;
    uint64_t seed;
    struct operation *ops[ACTORS];
    uint64_t seen[ACTORS], answers;
};

static const char *const chased[ACTORS] = {"cart/1", "cart/2", "cart/3", "brief/4"};

/* What a client does: it goes on behind the last that it has seen; a fall says that it was dropped.
 */
static void take(struct chase *c, unsigned i)
{
    struct operation *op = c->ops[i];
    struct reader r = reader_of(operation_result(op));
    struct span key;
    uint32_t pairs;
    uint64_t version = 0;
    c->ops[i] = NULL;
    if (op->reply.error == ERGON_E_CANCELLED)
        return;
    assert_int_equal(op->reply.error, ERGON_OK);
    assert_true(read_map(&r, &pairs) && read_text(&r, &key) && read_uint(&r, &version));
    assert_true(version != c->seen[i]); /* none is seen twice */
    c->seen[i] = version;
    c->answers++;
}

static void look(struct chase *c)
{
    for (unsigned i = 0; i < ACTORS; i++) {
        if (c->ops[i] && world_answered(c->w, c->ops[i]))
            take(c, i);
        if (!c->ops[i])
            c->ops[i] = watch_for(c->w, chased[i], c->seen[i] + 1, AO_S(3600));
    }
}

static void chase_on(struct chase *c)
{
    unsigned i = chance(&c->seed, ACTORS);
    uint32_t what = chance(&c->seed, 100);
    if (what < 50) {
        uint64_t id = tell(c->w, chased[i]);
        if (is_out(c->w, id))
            answer(c->w, id, "\x01");
    } else if (what < 55) {
        drop(c->w, chased[i]);
    } else if (what < 65) {
        jobs_world_pass(c->w, AO_S(2));
    } else {
        look(c);
    }
}

static bool is_at_its_end(const struct chase *c, unsigned i)
{
    const struct actor *a = actor_of(c->w, chased[i]);
    return c->seen[i] == (a ? a->version : 0);
}

WATCH_TEST(no_last_version_is_missed_over_broken_connections)
{
    struct chase *c = calloc(1, sizeof *c);
    assert_non_null(c);
    *c = (struct chase){.w = w, .seed = 3};
    offer_usual(w);
    for (unsigned i = 0; i < BREAKS; i++) {
        unsigned at = chance(&c->seed, ACTORS);
        if (c->ops[at] && !world_answered(w, c->ops[at])) {
            channel_drop(c->ops[at]->channel, c->ops[at]);
            jobs_world_settle(w);
            c->ops[at] = NULL; /* whatever it was answered, the client does not know it */
        }
        chase_on(c);
        if (i % 50 > 0)
            continue;
        for (unsigned n = 0; n < 3; n++) {
            commit(w);
            look(c);
        }
        for (unsigned n = 0; n < ACTORS; n++)
            assert_true(is_at_its_end(c, n));
    }
    assert_true(c->answers > BREAKS / 10);
    free(c);
}
