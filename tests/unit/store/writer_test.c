/* The writer, with a driver that the test plays: several batches under way, an engine that is away,
 * operations that are no part of a batch. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/store/chunk.h"
#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_client.h"

enum { BATCHES = 2, SEEN_MAX = 64, MANY = 200 };

/* What the test and the writer share. */
static struct played {
    pthread_mutex_t lock;
    struct store_state state;
    struct store_fault fault;
    struct store_batch *begun[BATCHES];
    uint32_t count, may_end; /* batches: under way, and of these so many may end */
    uint32_t most;           /* that were under way */
    char kinds[SEEN_MAX];    /* of operations that were begun: a letter each, a space a batch */
    uint32_t loads;
    uint64_t epoch;
    enum store_error fails; /* with this the next batch ends */
    enum store_error alone; /* with this the first operation of it does, and the others are good */
    int wake;               /* an eventfd of the writer, once it waits */
    ao_time now;            /* of the client, where a test sets it */
} played;

static void lock(void)
{
    pthread_mutex_lock(&played.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&played.lock);
}

/* --- The driver --- */

static void *play_open(const struct store_setup *setup, struct store_fault *fault)
{
    (void)fault;
    assert_non_null(setup->tables);
    return &played;
}

static void play_close(void *driver)
{
    (void)driver;
}

static char letter(const struct store_op *op)
{
    return op->kind == STORE_HAND_OVER ? 'H' : op->kind == STORE_MARKS ? 'M' : 'p';
}

static void play_begin(void *driver, struct store_batch *batch)
{
    struct played *p = driver;
    lock();
    size_t len = strlen(p->kinds);
    for (uint32_t n = 0; n < batch->count && len + 2 < SEEN_MAX; n++)
        p->kinds[len++] = letter(batch->ops[n]);
    p->kinds[len] = ' ';
    p->begun[p->count++] = batch;
    p->most = p->count > p->most ? p->count : p->most;
    unlock();
}

static struct store_batch *play_ended(void *driver)
{
    struct played *p = driver;
    struct store_batch *batch = NULL;
    lock();
    if (p->count > 0 && p->may_end > 0) {
        batch = p->begun[0];
        p->begun[0] = p->begun[1];
        p->count--;
        p->may_end--;
        batch->error = p->fails;
        p->fails = STORE_OK;
        store_op_end(batch->ops[0], p->alone);
        p->alone = STORE_OK;
        if (batch->ops[0]->kind == STORE_HAND_OVER && batch->error == STORE_OK)
            p->state.error = STORE_FENCED;
    }
    unlock();
    return batch;
}

static ao_time play_work(void *driver, bool idle)
{
    (void)driver;
    (void)idle;
    return AO_NEVER;
}

/* Looks again soon, whatever it waits for. */
static void play_wait(void *driver, int wake, ao_time timeout)
{
    (void)driver;
    (void)wake;
    (void)timeout;
    usleep(100);
}

static void play_state(const void *driver, struct store_state *state)
{
    (void)driver;
    lock();
    *state = played.state;
    unlock();
}

static const struct store_fault *play_fault(const void *driver)
{
    (void)driver;
    return &played.fault;
}

static int play_load(void *driver, uint64_t epoch, struct store_chunk *chunk,
                     struct store_fault *fault)
{
    struct played *p = driver;
    const struct store_marks marks = {.last_id = 7};
    lock();
    p->epoch = epoch;
    bool first = p->loads++ == 0;
    assert_int_equal(p->count, 0);
    unlock();
    if (!first) {
        *fault = (struct store_fault){STORE_CORRUPT, "row 7 is no task"};
        return -1;
    }
    assert_true(store_chunk_marks(chunk, &marks));
    return 1;
}

static struct store_driver driver = {.version = STORE_DRIVER_VERSION,
                                     .name = "played",
                                     .batches = BATCHES,
                                     .loads_in_chunks = true,
                                     .open = play_open,
                                     .close = play_close,
                                     .begin = play_begin,
                                     .ended = play_ended,
                                     .work = play_work,
                                     .wait = play_wait,
                                     .state = play_state,
                                     .fault = play_fault,
                                     .load = play_load};

const struct store_driver *__wrap_driver_find(const char *where, char *error, size_t size);
const struct store_driver *__wrap_driver_find(const char *where, char *error, size_t size)
{
    (void)where;
    (void)error;
    (void)size;
    return &driver;
}

/* --- The test's side --- */

struct world {
    struct store_client client;
    char errors[SEEN_MAX]; /* of what came back: a digit each */
    struct store_chunk *chunk;
    char text[100];
};

static void on_return(struct store_client *c, struct store_op *op)
{
    struct world *w = c->arg;
    size_t len = strlen(w->errors);
    if (len + 1 < sizeof w->errors)
        w->errors[len] = (char)('a' + op->error);
    if (op->kind != STORE_LOAD)
        return;
    w->chunk = op->load.chunk;
    snprintf(w->text, sizeof w->text, "%s", op->load.text ? op->load.text : "");
    free(op->load.text);
}

static int set_up_with(void **state, const struct ao_clock *clock, bool actors)
{
    struct world *w = calloc(1, sizeof *w);
    char error[200] = "";
    const struct store_options options = client_options("postgresql:///played");
    played = (struct played){
        .lock = PTHREAD_MUTEX_INITIALIZER, .now = AO_S(1), .state.keeps_actors = actors};
    if (w)
        w->client.clock = clock;
    if (!w || !client_open(&w->client, &options, error, sizeof error))
        return -1;
    w->client.returned = on_return;
    w->client.arg = w;
    *state = w;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, NULL, false);
}

static ao_time clock_that_stands(void *now)
{
    return *(const ao_time *)now;
}

/* Nothing waits too long, unless the test moves the clock of the client. */
static int set_up_clock(void **state)
{
    static const struct ao_clock clock = {.now = clock_that_stands, .arg = &played.now};
    return set_up_with(state, &clock, false);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    store_chunk_free(w->chunk);
    free(w);
    return 0;
}

/* As SQLite's: it keeps actors, and has one batch under way. */
static int set_up_actors(void **state)
{
    driver.batches = 1;
    return set_up_with(state, NULL, true);
}

static int tear_down_actors(void **state)
{
    driver.batches = BATCHES;
    return tear_down(state);
}

#define ACTOR_TEST(name)  TEST_OF(struct world *w, NULL, set_up_actors, tear_down_actors, name)
#define WRITER_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)
#define CLOCK_TEST(name)  TEST_OF(struct world *w, NULL, set_up_clock, tear_down, name)

static bool seen(bool (*what)(void))
{
    lock();
    bool is = what();
    unlock();
    return is;
}

/* What comes back meanwhile is taken. */
static void until(struct world *w, bool (*what)(void))
{
    while (!seen(what)) {
        client_poll(&w->client);
        usleep(100);
    }
}

static bool both_under_way(void)
{
    return played.count == BATCHES;
}

static bool one_under_way(void)
{
    return played.count == 1;
}

static void end(uint32_t batches)
{
    lock();
    played.may_end += batches;
    unlock();
}

static void become(enum store_error error)
{
    lock();
    played.state.error = error;
    unlock();
}

static void push(struct world *w, enum store_kind kind)
{
    client_push(&w->client,
                kind == STORE_PUT ? client_put(w->client.pushed + 1, "m") : client_op(kind));
}

static uint32_t under_way(void)
{
    lock();
    uint32_t count = played.count;
    unlock();
    return count;
}

/* Few operations wait for the commit under way, for a second batch is a commit more; many do not.
 */
WRITER_TEST(two_batches_are_under_way_and_no_more)
{
    push(w, STORE_PUT);
    until(w, one_under_way);
    push(w, STORE_PUT);
    client_poll(&w->client);
    assert_int_equal(under_way(), 1);
    for (int n = 0; n < MANY; n++)
        push(w, STORE_PUT);
    until(w, both_under_way);
    push(w, STORE_PUT);
    client_poll(&w->client);
    assert_int_equal(w->client.back, 0);
    end(MANY);
    client_wait(&w->client);
    assert_int_equal(strspn(w->errors, "a"), SEEN_MAX - 1);
    assert_int_equal(strncmp(played.kinds, "p pp", 4), 0);
    assert_int_equal(played.most, BATCHES);
    client_close(&w->client);
}

/* True: the client's thread may sleep, and an operation waits for others. */
static bool gathers(struct world *w)
{
    bool busy = activator_round(w->client.activator, false);
    return !busy && w->client.store->gathered_count == 1;
}

/* Until one more comes, or for a part of a commit's time. */
CLOCK_TEST(those_that_came_back_are_waited_for)
{
    end(MANY);
    push(w, STORE_PUT);
    push(w, STORE_PUT);
    client_wait(&w->client);
    push(w, STORE_PUT);
    assert_true(gathers(w));
    assert_true(gathers(w));
    push(w, STORE_PUT);
    assert_false(gathers(w));
    client_wait(&w->client);
    push(w, STORE_PUT);
    assert_true(gathers(w));
    played.now += AO_MS(2);
    assert_false(gathers(w));
    client_wait(&w->client);
    client_close(&w->client);
}

WRITER_TEST(a_batch_that_failed_gives_each_operation_its_error)
{
    struct store_info info;
    lock();
    played.fails = STORE_FULL;
    unlock();
    end(2);
    push(w, STORE_PUT);
    client_wait(&w->client);
    push(w, STORE_PUT);
    client_wait(&w->client);
    assert_string_equal(w->errors, "ba");
    store_info(w->client.store, &info);
    assert_int_equal(info.commits, 1);
    assert_string_equal(info.kind, "played");
    client_close(&w->client);
}

WRITER_TEST(operations_wait_while_the_engine_is_away)
{
    struct store_info info = {0};
    become(STORE_AWAY);
    while (info.error != STORE_AWAY) { /* the writer looks at its driver when it is woken */
        store_look(w->client.store);
        usleep(100);
        store_info(w->client.store, &info);
    }
    push(w, STORE_PUT);
    for (int n = 0; n < 20; n++) {
        client_poll(&w->client);
        usleep(100);
    }
    assert_int_equal(under_way(), 0);
    become(STORE_OK);
    end(1);
    client_wait(&w->client);
    assert_string_equal(w->errors, "a");
    client_close(&w->client);
}

/* The engine may have it, since nobody waits for its answer. */
WRITER_TEST(a_stop_while_the_engine_is_away_leaves_open_what_is_under_way)
{
    push(w, STORE_PUT);
    until(w, one_under_way);
    push(w, STORE_PUT);
    become(STORE_AWAY);
    client_close(&w->client);
    const char expected[] = {'a' + STORE_UNSURE, 'a' + STORE_AWAY, '\0'};
    assert_string_equal(w->errors, expected);
}

/* Nobody knows yet that it is away. */
WRITER_TEST(a_stop_does_not_wait_for_an_engine_that_is_silent)
{
    push(w, STORE_PUT);
    until(w, one_under_way);
    client_close(&w->client);
    const char expected[] = {'a' + STORE_UNSURE, '\0'};
    assert_string_equal(w->errors, expected);
}

WRITER_TEST(a_load_waits_for_the_batches_before_it)
{
    push(w, STORE_PUT);
    until(w, one_under_way);
    struct store_op *op = client_op(STORE_LOAD);
    op->load.epoch = 3;
    client_push(&w->client, op);
    client_poll(&w->client);
    assert_int_equal(played.loads, 0);
    end(1);
    client_wait(&w->client);
    assert_string_equal(w->errors, "aa");
    assert_int_equal(played.epoch, 3);
    assert_int_equal(store_chunk_rows(w->chunk), 1);
    store_chunk_free(w->chunk);
    push(w, STORE_LOAD);
    client_wait(&w->client);
    assert_string_equal(w->errors, "aae");
    assert_string_equal(w->text, "row 7 is no task");
    client_close(&w->client);
}

WRITER_TEST(who_hands_over_writes_nothing_behind_it)
{
    end(8);
    push(w, STORE_PUT);
    push(w, STORE_HAND_OVER);
    push(w, STORE_PUT);
    client_wait(&w->client);
    assert_string_equal(w->errors, "aai");
    assert_string_equal(played.kinds, "p H ");
    client_close(&w->client);
}

static struct store_op *push_following(struct world *w, struct store_op *member)
{
    struct store_op *op = client_op(STORE_GROUP);
    op->group.first = member;
    op->group.count = 1;
    op->group.follows = true;
    client_push(&w->client, op);
    return op;
}

ACTOR_TEST(what_follows_a_group_that_failed_is_not_begun_before_the_client_has_taken_that)
{
    struct store_op members[4] = {
        {.kind = STORE_SYNC}, {.kind = STORE_SYNC}, {.kind = STORE_SYNC}, {.kind = STORE_SYNC}};
    lock();
    played.fails = STORE_IO;
    unlock();
    push_following(w, &members[0]);
    until(w, one_under_way);
    push_following(w, &members[1]);
    push(w, STORE_PUT);
    push_following(w, &members[2]);
    end(8);
    client_wait(&w->client);
    push_following(w, &members[3]);
    client_wait(&w->client);
    client_close(&w->client);
    assert_string_equal(w->errors, "fmama"); /* IO, FOLLOWS, OK, FOLLOWS, OK */
    assert_string_equal(played.kinds, "p p p ");
    assert_int_equal(members[2].error, STORE_FOLLOWS);
}

/* Nor one behind another that was lost, which the client has not taken either. */
ACTOR_TEST(what_follows_a_group_that_was_lost_is_lost)
{
    struct store_op members[3] = {{.kind = STORE_SYNC}, {.kind = STORE_SYNC}, {.kind = STORE_SYNC}};
    lock();
    played.fails = STORE_IO;
    unlock();
    push_following(w, &members[0]);
    until(w, one_under_way);
    end(1);
    client_wait(&w->client);
    push_following(w, &members[1])->group.seen = 0; /* as if it had not taken the first */
    client_wait(&w->client);
    push_following(w, &members[2])->group.seen = 1; /* nor the second */
    client_wait(&w->client);
    client_close(&w->client);
    assert_int_equal(members[1].error, STORE_FOLLOWS);
    assert_int_equal(members[2].error, STORE_FOLLOWS);
}

/* What the client knows and the rows do not is no other node's. */
WRITER_TEST(rows_are_not_handed_over_behind_a_failure_that_was_not_seen)
{
    lock();
    played.fails = STORE_IO;
    unlock();
    push(w, STORE_PUT);
    until(w, one_under_way);
    push(w, STORE_HAND_OVER);
    end(8);
    client_close(&w->client);
    assert_string_equal(w->errors, "ff");
    assert_string_equal(played.kinds, "p ");
}

/* PostgreSQL refuses what is not replicated alone, and takes what is behind it. */
WRITER_TEST(rows_are_not_handed_over_behind_an_operation_that_failed_alone)
{
    lock();
    played.alone = STORE_UNREPLICATED;
    unlock();
    push(w, STORE_PUT);
    push(w, STORE_PUT);
    push(w, STORE_HAND_OVER);
    end(8);
    client_close(&w->client);
    const char expected[] = {'a' + STORE_UNREPLICATED, 'a', 'a' + STORE_IO, '\0'};
    assert_string_equal(w->errors, expected);
    assert_string_equal(played.kinds, "pp ");
}
