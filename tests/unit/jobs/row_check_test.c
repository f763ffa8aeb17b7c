/* Rows that cannot be jobs, though each of their columns holds a number or bytes. */
#include "server/jobs/core/states.h"
#include "server/jobs/persist/codec.h"
#include "server/store/rows.h"
#include "tests/support/cmocka_env.h"

/* A row that can be, and then what is changed of it. */
static struct store_task sound(void)
{
    return (struct store_task){.id = 1000,
                               .method = span_text("resize"),
                               .params = span_text("\x91\x2a"),
                               .durable = DURABLE_FSYNC,
                               .has_options = true};
}

static struct store_event sound_event(void)
{
    return (struct store_event){.id = 1, .seq = 2, .what = span_text("started")};
}

#define SPAN(text) span_of(text, sizeof text - 1)
#define NOTHING    span_of(NULL, 0)
#define VERDICT(changes)                                                                           \
    ({                                                                                             \
        struct store_task row = sound();                                                           \
        changes;                                                                                   \
        row_check_task(&row);                                                                      \
    })
#define CAN(changes)    assert_null(VERDICT(changes))
#define CANNOT(changes) assert_non_null(VERDICT(changes))
#define EVENT(changes)                                                                             \
    ({                                                                                             \
        struct store_event row = sound_event();                                                    \
        changes;                                                                                   \
        row_check_event(&row);                                                                     \
    })

/* Of SCHEMA_VERSION 1, the first, 2 and 3.  Whoever adds one raises that, and sees to it that an
 * owner does not write the name while nodes of the version before may take over. */
TEST(names_are_those_that_each_node_of_a_cluster_can_load)
{
    static const char *const states[] = {"queued",    "delayed", "waiting", "assigned",
                                         "running",   "parked",  "done",    "failed",
                                         "cancelled", "expired", "dead"},
                             *const levels[] = {"none", "async", "fsync", "replicated"};
    const struct row_names names = row_names_of(job_state_names, JOB_STATE_COUNT);

    assert_int_equal(names.lists[NAMES_STATE].count, sizeof states / sizeof states[0]);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        assert_string_equal(names.lists[NAMES_STATE].names[i], states[i]);
    assert_int_equal(names.lists[NAMES_DURABLE].count, sizeof levels / sizeof levels[0]);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        assert_string_equal(names.lists[NAMES_DURABLE].names[i], levels[i]);
}

TEST(counters_that_a_server_goes_on_from)
{
    struct row_counters c = {.submitted = STORE_COUNT_MAX,
                             .done = STORE_COUNT_MAX - 1,
                             .dead = 1,
                             .last_id = STORE_COUNT_MAX,
                             .last_fence = STORE_FENCE_MAX};
    assert_true(row_counters_sound(&c));
    c.failed = 1; /* more have ended than can be counted */
    assert_false(row_counters_sound(&c));
    c.failed = UINT64_MAX; /* it is one less, to a sum that wraps */
    assert_false(row_counters_sound(&c));
    c.failed = 0;
    c.last_id++;
    assert_false(row_counters_sound(&c));
    c.last_id = 0;
    c.last_fence++;
    assert_false(row_counters_sound(&c));
}

TEST(what_it_is)
{
    CAN(row.id = STORE_COUNT_MAX);
    CANNOT(row.id = STORE_COUNT_MAX + 1); /* there are no ids behind it */
    CANNOT(row.id = 0);
    CANNOT(row.id = UINT64_MAX);
    CANNOT(row.method = NOTHING);
    CANNOT(row.state = JOB_STATE_COUNT);
    CANNOT(row.durable = DURABLE_NONE);
}

TEST(what_it_counts)
{
    CAN(row.attempt = INT32_MAX; row.failures = INT32_MAX; row.crashes = INT32_MAX;
        row.losses = INT32_MAX; row.lost = INT32_MAX);
    CANNOT(row.attempt = (uint32_t)INT32_MAX + 1);
    CANNOT(row.failures = UINT32_MAX);
    CANNOT(row.crashes = UINT32_MAX);
    CANNOT(row.losses = UINT32_MAX);
    CANNOT(row.lost = UINT32_MAX);
}

TEST(what_goes_to_handlers_and_peers)
{
    CAN(row.params = NOTHING; row.result = SPAN("\xc0"));
    CANNOT(row.params = SPAN("\x92\x2a"));
    CANNOT(row.params = SPAN("\x91\x2a\x2a"));
    CANNOT(row.result = SPAN("\xc1"));
}

TEST(its_options)
{
    CAN(row.priority = 9; row.backoff_jitter = 100);
    CANNOT(row.priority = 10);
    CANNOT(row.backoff_jitter = 101);
    CAN(row.limit_key = SPAN("k"); row.limit = 1);
    CANNOT(row.limit_key = SPAN("k"));
    CANNOT(row.limit = 1);
    CAN(row.rate_key = SPAN("k"); row.rate = 1; row.rate_per = 1);
    CANNOT(row.rate_key = SPAN("k"); row.rate = 1);
    CANNOT(row.rate_key = SPAN("k"); row.rate_per = 1);
    CANNOT(row.rate = 1; row.rate_per = 1);
}

TEST(what_it_waits_for)
{
    CAN(row.after = SPAN("\0\0\0\0\0\0\3\xe7"));
    CANNOT(row.after = SPAN("\0\0\0\0\0\0\3\xe8")); /* itself */
    CANNOT(row.after = SPAN("\0\0\0\0\0\0\0\0"));
    CANNOT(row.after = SPAN("\0\0\0\0\0\0\3"));
    CAN(row.after_any = SPAN("\0\0\0\0\0\0\3\xe7"));
    CANNOT(row.after_any = SPAN("\0\0\0\0\0\0\3\xe8"));
}

TEST(rates)
{
    struct store_rate sound = {.id = 1, .key = SPAN("k"), .max = 1, .per = 1}, row = sound;
    assert_null(row_check_rate(&row));
    row.per = 0;
    assert_non_null(row_check_rate(&row));
    row = sound;
    row.max = 0;
    assert_non_null(row_check_rate(&row));
    row = sound;
    row.id = UINT64_MAX;
    assert_non_null(row_check_rate(&row));
    row = sound;
    row.key = NOTHING;
    assert_non_null(row_check_rate(&row));
    row = sound;
    row.starts = SPAN("12345678");
    assert_non_null(row_check_rate(&row));
}

/* Their options are read without a look at the bytes. */
TEST(crons)
{
    struct store_cron sound = {.name = SPAN("nightly"),
                               .method = SPAN("work"),
                               .params = SPAN("\x90"),
                               .options = SPAN("\x80")},
                      row = sound;
    assert_null(row_check_cron(&row));
    row.options = row.params = NOTHING;
    assert_null(row_check_cron(&row));
    row = sound;
    row.name = NOTHING;
    assert_non_null(row_check_cron(&row));
    row = sound;
    row.method = NOTHING;
    assert_non_null(row_check_cron(&row));
    row = sound;
    row.params = SPAN("\x91");
    assert_non_null(row_check_cron(&row));
    row = sound;
    row.options = SPAN("\x81\xa4zone");
    assert_non_null(row_check_cron(&row));
}

TEST(semaphores)
{
    struct store_semaphore sound = {.id = 1, .name = SPAN("gpu"), .permits = 1}, row = sound;
    assert_null(row_check_semaphore(&row));
    row.id = STORE_FENCE_MAX;
    assert_null(row_check_semaphore(&row));
    row.id++;
    assert_non_null(row_check_semaphore(&row));
    row.id = 0;
    assert_non_null(row_check_semaphore(&row));
    row = sound;
    row.name = NOTHING;
    assert_non_null(row_check_semaphore(&row));
    row = sound;
    row.permits = 0;
    assert_non_null(row_check_semaphore(&row));
}

/* Fewer permits than are held there may be: they were lowered meanwhile. */
TEST(holds)
{
    struct store_hold sound = {.id = 1,
                               .name = SPAN("gpu"),
                               .secret = SPAN("0123456789abcdef"),
                               .permits = 2,
                               .of = 1},
                      row = sound;
    assert_null(row_check_hold(&row));
    row.id = STORE_FENCE_MAX;
    assert_null(row_check_hold(&row));
    row.id++;
    assert_non_null(row_check_hold(&row));
    row.id = 0;
    assert_non_null(row_check_hold(&row));
    row = sound;
    row.name = NOTHING;
    assert_non_null(row_check_hold(&row));
    row = sound;
    row.secret = SPAN("0123456789abcde");
    assert_non_null(row_check_hold(&row));
    row = sound;
    row.permits = 0;
    assert_non_null(row_check_hold(&row));
    row = sound;
    row.of = 0;
    assert_non_null(row_check_hold(&row));
}

TEST(events)
{
    assert_null(EVENT((void)0));
    assert_non_null(EVENT(row.what = SPAN("stacted")));
    assert_non_null(EVENT(row.seq = 0));
    assert_non_null(EVENT(row.seq = UINT32_MAX));
    assert_non_null(EVENT(row.attempt = UINT32_MAX));
    assert_non_null(EVENT(row.data = SPAN("\x91")));
}

TEST(a_batch)
{
    const struct store_batch_row good = {.id = 9, .parent = 8, .durable = DURABLE_FSYNC};
#define BATCH(changes)                                                                             \
    ({                                                                                             \
        struct store_batch_row row = good;                                                         \
        changes;                                                                                   \
        row_check_batch(&row);                                                                     \
    })
    assert_null(BATCH(row.on_end = SPAN("\x91\xa1x"); row.done = 7));
    assert_null(BATCH(row.closed = 1; row.ended_at = 1));
    assert_non_null(BATCH(row.id = 0));
    assert_non_null(BATCH(row.parent = 9));
    assert_non_null(BATCH(row.durable = DURABLE_NONE));
    assert_non_null(BATCH(row.dead = UINT64_MAX));
    assert_non_null(BATCH(row.ended_at = 1));
    assert_non_null(BATCH(row.on_failure = SPAN("\x91")));
    CAN(row.batch = row.id - 1);
    CANNOT(row.batch = row.id);
    CANNOT(row.batch = row.id - 1; row.coalesce = SPAN("a"); row.has_options = true);
}
