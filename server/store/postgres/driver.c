/* The driver of PostgreSQL, as the writer of the store sees it: see server/store/driver.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/load.h"
#include "server/store/postgres/statements.h"

#define BACK_OFF_FIRST AO_MS(50)
#define BACK_OFF_MOST  AO_S(2)
#define SILENT         AO_S(5) /* without an answer: `fault` says why nothing goes on */
/* Without an answer, while the URL names several servers: another one may be the primary, and this
 * one be frozen.  The network's own keepalives notice only machines that are gone. */
#define FORSAKEN AO_S(10)

#define LOOK_FOR_UPGRADE AO_S(5)

/* --- The connection --- */

/* A generator for jitter, which needs no good chance (splitmix64). */
static uint64_t jitter(struct postgres_store *s)
{
    uint64_t z = s->chance += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Between a half of the back-off and all of it. */
static void wait_to_connect(struct postgres_store *s)
{
    ao_time half = s->back_off / 2;
    s->retry_at = clock_monotonic() + half + jitter(s) % (half + 1);
    s->back_off = s->back_off * 2 < BACK_OFF_MOST ? s->back_off * 2 : BACK_OFF_MOST;
}

static void lose(struct postgres_store *s, const struct store_fault *fault)
{
    s->fault = *fault;
    s->fault.error = STORE_AWAY;
    connection_close(&s->link);
    s->flight_count = 0;
    if (!s->must_settle) /* else it was said of them, or they failed */
        s->unsure = true;
    s->discards = s->over = s->silent = false;
    s->answer = (struct answer){0};
    s->must_settle = true;
    s->broken = STORE_OK;
    wait_to_connect(s);
}

/* For a writer, which connects again; postgres_open() may have another caller. */
static void lose_and_retry(struct postgres_store *s, struct store_fault *fault)
{
    error_add_retry(fault);
    lose(s, fault);
}

static void lost(struct postgres_store *s)
{
    struct store_fault fault;
    if (s->answer.failed) /* it said why */
        fault = s->answer.fault;
    else
        error_of_connection(&fault, s->where, s->link.pg);
    lose_and_retry(s, &fault);
}

static bool come_back(struct postgres_store *s, struct store_fault *fault)
{
    if (!connection_open(&s->link, s->where, CONNECTION_WRITES, s->stop, fault))
        return false;
    if (!load_look_for_locks(s, fault) || !statements_prepare(s, fault)) {
        connection_close(&s->link);
        return false;
    }
    if (!s->epoch) /* else it works again once it is settled */
        s->fault = (struct store_fault){0};
    s->back_off = BACK_OFF_FIRST;
    s->must_settle = true;
    s->state.keeps_actors = s->link.least >= ACTORS_SINCE;
    s->state.keeps_batches = s->link.least >= BATCHES_SINCE;
    return true;
}

static void connect_if_due(struct postgres_store *s)
{
    struct store_fault fault;
    if (s->link.pg || s->fenced || clock_monotonic() < s->retry_at)
        return;
    if (!come_back(s, &fault))
        lose_and_retry(s, &fault);
}

/* --- For the writer --- */

static void postgres_close(void *driver)
{
    struct postgres_store *s = driver;
    if (!s)
        return;
    load_free(s);
    connection_close(&s->link);
    free(s->groups);
    free(s->rows);
    free(s->ops);
    values_free(&s->values);
    free(s->node);
    free(s->where);
    free(s);
}

static struct postgres_store *make(const struct store_setup *setup)
{
    struct postgres_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->where = strdup(setup->where);
    s->many_hosts = connection_has_hosts(setup->where);
    s->node = strdup(setup->node ? setup->node : "");
    s->names = setup->names;
    s->tables = setup->tables;
    s->table_count = setup->table_count;
    s->incarnation = setup->incarnation;
    s->require = setup->require;
    s->by_storage = setup->by_storage;
    s->retry = setup->retry ? setup->retry : AO_S(1);
    s->stop = setup->stop;
    s->back_off = BACK_OFF_FIRST;
    s->chance = setup->incarnation ^ clock_monotonic();
    s->state.room = UINT64_MAX;
    s->must_settle = true;
    if (s->where && s->node)
        return s;
    postgres_close(s);
    return NULL;
}

static void *postgres_open(const struct store_setup *setup, struct store_fault *fault)
{
    char text[sizeof fault->text];
    const char *wrong = connection_check(setup->where, text, sizeof text);
    struct postgres_store *s = wrong ? NULL : make(setup);
    *fault = (struct store_fault){.error = wrong ? STORE_IO : STORE_MEMORY};
    if (!s) {
        memcpy(fault->text, wrong ? text : "there is no memory for the store",
               wrong ? sizeof text : sizeof "there is no memory for the store");
        return NULL;
    }
    if (come_back(s, fault))
        return s;
    if (fault->error == STORE_AWAY) {
        lose(s, fault);
        return s;
    }
    postgres_close(s);
    return NULL;
}

static void postgres_begin(void *driver, struct store_batch *batch)
{
    struct postgres_store *s = driver;
    assert(s->begun_count < BATCHES && batch->count > 0);
    bool lost = s->begun_count > 0 && s->begun[s->begun_count - 1].lost_group;
    s->begun[s->begun_count++] =
        (struct begun){.batch = batch, .left = batch->count, .follows_lost = lost};
    if (s->fenced || !s->epoch)
        outcome_all(s, STORE_FENCED);
    else if (s->broken != STORE_OK)
        outcome_unsent(s, s->broken);
}

static struct store_batch *postgres_ended(void *driver)
{
    struct postgres_store *s = driver;
    if (s->begun_count == 0 || s->begun[0].left > 0)
        return NULL;
    struct store_batch *batch = s->begun[0].batch;
    assert(s->next_batch > 0);
    s->begun_count--;
    s->next_batch--;
    memmove(s->begun, s->begun + 1, s->begun_count * sizeof *s->begun);
    return batch;
}

static void pump(struct postgres_store *s)
{
    if (!s->link.pg)
        return;
    uint32_t answers;
    do {
        bool tries = s->broken != STORE_OK && clock_monotonic() >= s->retry_at;
        answers = s->answers;
        if (!flight_receive(s) || (tries && !flight_try(s)) || !flight_send(s)) {
            lost(s);
            return;
        }
    } while (answers != s->answers);
}

/* Says that nothing comes, and gives the connection up after a while. */
static void look_for_silence(struct postgres_store *s)
{
    ao_time waited = s->link.pg && s->flight_count > 0 ? clock_monotonic() - s->asked_at : 0;
    if (waited >= SILENT && !s->silent) {
        s->silent = true;
        error_say(&s->fault, STORE_AWAY, s->where,
                  "no answer for %d s: no synchronous standby is there, or the server is frozen; "
                  "it goes on by itself",
                  (int)(SILENT / AO_S(1)));
    }
    if (waited >= FORSAKEN && s->many_hosts) {
        struct store_fault fault = s->fault;
        lose(s, &fault);
    }
}

static ao_time until(ao_time at)
{
    ao_time now = clock_monotonic();
    return at > now ? at - now : 0;
}

/* Nodes of the version before may leave while this one is connected. */
static ao_time look_for_upgrade(struct postgres_store *s)
{
    ao_time now = clock_monotonic();
    if (!s->link.pg || s->state.keeps_batches)
        return AO_NEVER;
    if (now >= s->look_at) {
        s->look_wanted = true;
        s->look_at = now + LOOK_FOR_UPGRADE;
    }
    return s->look_at - now;
}

static ao_time until_own(const struct postgres_store *s)
{
    if (s->fenced)
        return AO_NEVER;
    if (!s->link.pg || ((s->broken != STORE_OK || s->must_settle) && s->flight_count == 0))
        return s->link.pg && !s->epoch ? AO_NEVER : until(s->retry_at);
    if (s->flight_count > 0)
        return !s->silent      ? until(s->asked_at + SILENT)
               : s->many_hosts ? until(s->asked_at + FORSAKEN)
                               : AO_NEVER;
    return AO_NEVER;
}

static ao_time postgres_work(void *driver, bool idle)
{
    struct postgres_store *s = driver;
    (void)idle;
    connect_if_due(s);
    ao_time look = look_for_upgrade(s);
    pump(s);
    look_for_silence(s);
    ao_time own = until_own(s);
    return own < look ? own : look;
}

static void postgres_wait(void *driver, int wake, ao_time timeout)
{
    struct postgres_store *s = driver;
    connection_wait(&s->link, s->link.pg && !s->flushed, wake, timeout);
}

static void postgres_state(const void *driver, struct store_state *state)
{
    const struct postgres_store *s = driver;
    *state = s->state;
    state->error = s->fenced          ? STORE_FENCED
                   : s->broken        ? s->broken
                   : s->fault.text[0] ? s->fault.error
                                      : STORE_OK;
}

static const struct store_fault *postgres_fault(const void *driver)
{
    const struct postgres_store *s = driver;
    return &s->fault;
}

static void postgres_look(void *driver)
{
    struct postgres_store *s = driver;
    s->look_wanted = s->link.pg != NULL;
}

/* An epoch that is new is one that this node has just won: whatever was written under another one
 * has its outcome. */
static int postgres_load(void *driver, uint64_t epoch, struct store_chunk *chunk,
                         struct store_fault *fault)
{
    struct postgres_store *s = driver;
    if (epoch && epoch != s->epoch && !s->fenced) {
        s->epoch = epoch;
        s->committed = 0; /* each epoch counts its batches anew */
        s->must_settle = true;
    }
    return load_next(driver, epoch, chunk, fault);
}

__attribute__((visibility("default"))) extern const struct store_driver ergon_store_driver;
const struct store_driver ergon_store_driver = {.version = STORE_DRIVER_VERSION,
                                                .name = "postgresql",
                                                .batches = BATCHES,
                                                .loads_in_chunks = true,
                                                .most = STORE_LEVEL_REPLICATED,
                                                .open = postgres_open,
                                                .close = postgres_close,
                                                .begin = postgres_begin,
                                                .ended = postgres_ended,
                                                .work = postgres_work,
                                                .wait = postgres_wait,
                                                .state = postgres_state,
                                                .fault = postgres_fault,
                                                .look = postgres_look,
                                                .load = postgres_load};
