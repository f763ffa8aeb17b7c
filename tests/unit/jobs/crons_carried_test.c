/* What cron.list says of a cron right after an operation is what it says after a kill and after a
 * stop.  A member of the answer, or of a cron's state, that stands in no table here fails. */
#include <string.h>

#include "proto/reader.h"
#include "server/jobs/cron/crons.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

enum outlives { NOTHING, A_PUT, A_RESTART }; /* who outlives a restart outlives a put */

/* The answer of cron.list. */
static const struct {
    const char *key;
    enum outlives outlives;
} keys[] = {
    {"name", A_RESTART},      {"tenant", A_RESTART},  {"schedule", A_RESTART},
    {"zone", A_RESTART},      {"method", A_RESTART},  {"made_by", A_RESTART},
    {"params", A_RESTART},    {"options", A_RESTART}, {"durable", A_RESTART},
    {"paused", A_RESTART},    {"next", A_RESTART},    {"last", A_RESTART},
    {"last_task", A_RESTART}, {"fired", A_PUT}, /* "since the server's start" */
    {"skipped", A_PUT},       {"error", A_PUT} /* the first try after a start has its own */};
enum { KEYS = sizeof keys / sizeof *keys };

#if defined(__has_builtin) && __has_builtin(__builtin_clear_padding)
#define MEMBER(m)                                                                                  \
    {                                                                                              \
        offsetof(struct cron_state, m), sizeof(((struct cron_state *)0)->m)                        \
    }
/* Shown by the key beside it. */
static const struct {
    size_t at, size;
} members[] = {
    MEMBER(next_at),   /* next */
    MEMBER(spread),    /* by nothing: drawn anew from what is left of the jitter */
    MEMBER(last_at),   /* last */
    MEMBER(last_task), /* last_task */
    MEMBER(fired),     /* fired */
    MEMBER(skipped),   /* skipped */
    MEMBER(error),     /* error */
    MEMBER(error_text), MEMBER(refused), /* by the log */
    MEMBER(paused),                      /* paused */
};

TEST(each_member_of_the_state_stands_in_the_table)
{
    static const struct cron_state none;
    struct cron_state all;
    memset(&all, 0xff, sizeof all);
    __builtin_clear_padding(&all);
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++)
        memset((char *)&all + members[i].at, 0, members[i].size);
    assert_memory_equal(&all, &none, sizeof all);
}
#endif

/* --- Compared --- */

struct listed {
    char text[4096]; /* bytes of the answer */
    size_t len;
};

static void look(struct jobs_world *w, struct listed *out)
{
    struct operation *op = world_operation(w, &operation_cron_list);
    world_give(w, op);
    struct span answer = operation_result(op);
    assert_true(world_answered(w, op) && answer.len <= sizeof out->text);
    memcpy(out->text, answer.at, answer.len);
    out->len = answer.len;
}

static enum outlives outlives_of(struct span key)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (span_is(key, keys[i].key))
            return keys[i].outlives;
    fail_msg("does '%.*s' outlive a restart?", (int)key.len, (const char *)key.at);
    return NOTHING;
}

static void compare_one(struct reader *before, struct reader *after, enum outlives least)
{
    uint32_t pairs[2];
    assert_true(read_map(before, &pairs[0]) && read_map(after, &pairs[1]));
    assert_int_equal(pairs[0], KEYS);
    assert_int_equal(pairs[1], KEYS);
    for (uint32_t i = 0; i < KEYS; i++) {
        struct span key, again, value, now;
        assert_true(read_text(before, &key) && read_any(before, &value));
        assert_true(read_text(after, &again) && read_any(after, &now));
        assert_true(span_equal(key, again));
        if (outlives_of(key) >= least && !span_equal(value, now))
            fail_msg("'%.*s' is not what it was", (int)key.len, (const char *)key.at);
    }
}

static void compare(const struct listed *before, const struct listed *after, enum outlives least)
{
    struct reader b = reader_of(span_of(before->text, before->len));
    struct reader a = reader_of(span_of(after->text, after->len));
    uint32_t counts[2];
    assert_true(read_array(&b, &counts[0]) && read_array(&a, &counts[1]));
    assert_int_equal(counts[0], counts[1]);
    for (uint32_t i = 0; i < counts[0]; i++)
        compare_one(&b, &a, least);
}

static void same_after_restarts(struct jobs_world *w)
{
    struct listed before, after;
    look(w, &before);
    jobs_world_crash(w);
    look(w, &after);
    compare(&before, &after, A_RESTART);
    jobs_world_restart(w);
    look(w, &after);
    compare(&before, &after, A_RESTART);
}

/* --- After each operation --- */

static const char options[][32] = {[CRON_SKIP] = "\x81\xa7overlap\xa4skip",
                                   [CRON_ALLOW] = "\x81\xa7overlap\xa5\x61llow",
                                   [CRON_REPLACE] = "\x81\xa7overlap\xa7replace"};

static void answered(struct jobs_world *w, struct operation *op)
{
    world_give(w, op);
    for (unsigned i = 0; i < 100 && !world_answered(w, op); i++)
        jobs_world_pass(w, AO_US(100));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static struct operation *cron(struct jobs_world *w, const char *schedule, enum cron_overlap overlap)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text(schedule),
                                  .zone = span_text("Europe/Berlin"),
                                  .made_by = span_text("token:maker"),
                                  .overlap = (uint8_t)overlap,
                                  .options = span_text(options[overlap]),
                                  .task = WORK(.durable = DURABLE_FSYNC)};
    return op;
}

static void put(struct jobs_world *w, const char *schedule, enum cron_overlap overlap)
{
    answered(w, cron(w, schedule, overlap));
}

static void about(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("tick");
    answered(w, op);
}

static void fires(struct jobs_world *w, unsigned times)
{
    jobs_world_pass(w, times * AO_S(10));
    jobs_world_pass(w, AO_MS(5)); /* nobody is answered: its row is on its way */
}

STORED_TEST(put)
{
    put(w, "every 10s", CRON_SKIP);
    same_after_restarts(w);
}

STORED_TEST(put_again)
{
    put(w, "every 10s", CRON_SKIP);
    fires(w, 2);
    put(w, "30 3 * * *", CRON_REPLACE);
    same_after_restarts(w);
}

STORED_TEST(put_again_as_it_is)
{
    struct listed before, after;
    put(w, "every 10s", CRON_SKIP);
    fires(w, 3);
    look(w, &before);
    put(w, "every 10s", CRON_SKIP);
    look(w, &after);
    compare(&before, &after, A_PUT);
    same_after_restarts(w);
}

STORED_TEST(put_again_while_it_fires)
{
    put(w, "every 10s", CRON_SKIP);
    w->store->latency = AO_S(15);
    struct operation *op = cron(w, "every 20s", CRON_SKIP);
    world_give(w, op);
    jobs_world_pass(w, AO_S(12));
    w->store->latency = AO_MS(1);
    jobs_world_pass(w, AO_S(20));
    assert_true(world_answered(w, op));
    same_after_restarts(w);
}

STORED_TEST(paused)
{
    put(w, "every 10s", CRON_SKIP);
    fires(w, 1);
    about(w, &operation_cron_pause);
    same_after_restarts(w);
}

STORED_TEST(put_again_while_paused)
{
    put(w, "every 10s", CRON_SKIP);
    about(w, &operation_cron_pause);
    put(w, "every 20s", CRON_ALLOW);
    same_after_restarts(w);
}

STORED_TEST(resumed)
{
    put(w, "every 10s", CRON_SKIP);
    about(w, &operation_cron_pause);
    jobs_world_pass(w, AO_S(95));
    about(w, &operation_cron_resume);
    same_after_restarts(w);
}

STORED_TEST(fired)
{
    put(w, "every 10s", CRON_ALLOW);
    fires(w, 3);
    same_after_restarts(w);
}

STORED_TEST(skipped)
{
    put(w, "every 10s", CRON_SKIP);
    fires(w, 3);
    same_after_restarts(w);
}

STORED_TEST(replaced)
{
    put(w, "every 10s", CRON_REPLACE);
    fires(w, 3);
    same_after_restarts(w);
}

STORED_TEST(refused)
{
    put(w, "every 10s", CRON_ALLOW);
    fires(w, 1);
    w->jobs->table.queues->draining = true;
    fires(w, 1);
    w->jobs->table.queues->draining = false;
    jobs_world_pass(w, AO_S(1));
    same_after_restarts(w);
}

STORED_TEST(caught_up)
{
    struct operation *op = cron(w, "every 10s", CRON_ALLOW);
    op->cron.catch_up = CRON_CATCH_ALL;
    op->cron.options = span_text("\x82\xa7overlap\xa5"
                                 "allow\xa8"
                                 "catch_up\xa3"
                                 "all");
    answered(w, op);
    w->v.now += AO_S(95);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(5));
    same_after_restarts(w);
}

STORED_TEST(leapt)
{
    put(w, "every 10s", CRON_ALLOW);
    fires(w, 1);
    for (int hours = 1; hours >= -1; hours -= 2) {
        w->leap += hours * (int64_t)AO_S(3600);
        jobs_world_pass(w, AO_S(3));
        same_after_restarts(w);
    }
}

STORED_TEST(deleted)
{
    put(w, "every 10s", CRON_SKIP);
    fires(w, 1);
    about(w, &operation_cron_delete);
    same_after_restarts(w);
}
