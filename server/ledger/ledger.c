#include "server/ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/ledger/ledger_parts.h"

static uint64_t system_wall(void *arg)
{
    struct timespec now;
    (void)arg;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * AO_S(1) + (uint64_t)now.tv_nsec;
}

/* --- Time --- */

uint64_t ledger_wall(const struct ledger *l)
{
    return l->options.wall(l->options.wall_arg);
}

ao_time ledger_now(const struct ledger *l)
{
    return activator_now(l->activator);
}

static ao_time add(ao_time to, ao_time duration)
{
    return duration < AO_NEVER - to ? to + duration : AO_NEVER;
}

/* Both clocks are read at once: the time of the round may be seconds old while a large store is
 * read back, and what is due would come so much too early. */
uint64_t ledger_wall_of(const struct ledger *l, ao_time when)
{
    uint64_t wall = ledger_wall(l);
    ao_time now = activator_clock(l->activator);
    return when > now ? add(wall, when - now) : wall - (now - when);
}

ao_time ledger_time_of(const struct ledger *l, uint64_t unix_ns)
{
    uint64_t wall = ledger_wall(l);
    ao_time now = activator_clock(l->activator);
    return unix_ns > wall ? add(now, unix_ns - wall) : now;
}

ao_time ledger_after(const struct ledger *l, ao_time duration)
{
    return add(ledger_now(l), duration);
}

/* --- What many ask --- */

struct entry *ledger_find(const struct ledger *l, uint64_t id)
{
    return id_find(&l->ids, id);
}

unsigned ledger_kind(const struct entry *e)
{
    const struct method *m = e->queue->method;
    return m && m->handler->kind == ERGON_BLOCKING ? 1 : 0;
}

void ledger_weigh(struct ledger *l, const struct entry *e, size_t was)
{
    size_t is = entry_bytes(e);
    l->bytes += is - was;
    if (e->list == &l->ended)
        l->ended_bytes += is - was;
    counter_set(&l->shown_bytes, l->bytes);
}

/* --- The object --- */

static enum ao_verdict ledger_step(struct ao *self)
{
    struct ledger *l = ao_of(self, struct ledger, ao);
    bool idle = doors_take(l);
    idle &= records_take(l);
    idle &= after_go_on(l);
    idle &= queues_go_on(l);
    idle &= suspects_go_on(l);
    idle &= audit_go_on(l);
    idle &= keep_trim(l);
    return idle ? AO_DONE : AO_AGAIN;
}

static const struct ao_class ledger_class = {.name = "ledger", .step = ledger_step};

static int init_tables(struct ledger *l)
{
    l->hash_seed[0] = activator_random(l->activator);
    l->hash_seed[1] = activator_random(l->activator);
    l->by_method = calloc(registry_count(l->options.registry) + 1, sizeof(struct ledger_queue *));
    l->holds = hold_table_new(l->hash_seed);
    if (!l->by_method || !l->holds || id_table_init(&l->ids) != 0 ||
        key_table_init(&l->keys, l->hash_seed) != 0 ||
        key_table_init(&l->shared, l->hash_seed) != 0)
        return -1;
    return names_init(l);
}

struct ledger *ledger_new(const struct ledger_options *options, char *error, size_t size)
{
    struct ledger *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(error, size, "no memory for the tasks that are kept");
        return NULL;
    }
    l->options = *options;
    if (!l->options.wall)
        l->options.wall = system_wall;
    l->tasks = options->tasks;
    l->store = options->store;
    l->activator = tasks_manager_activator(options->tasks);
    ao_init(&l->ao, &ledger_class, l->activator);
    ao_init(&l->retry, &ledger_retry_class, l->activator);
    for (unsigned i = 0; i < PICK_KINDS; i++)
        pick_init(&l->picks[i], options->ageing);
    ledger_entries_init(l);
    rows_init(l);
    l->crons = crons_new(l);
    if (!l->crons || init_tables(l) != 0) {
        snprintf(error, size, "no memory for the tables of the tasks that are kept");
        ledger_free(l);
        return NULL;
    }
    l->next_id = id_first(ledger_wall(l), l->store ? store_last_id(l->store) : 0);
    ledger_connect(l);
    return l;
}

int ledger_start(struct ledger *l)
{
    if (!l->store)
        return 0;
    if (store_start(l->store, l->activator, &l->ao) != 0)
        return -1;
    recover_go_on(l);
    crons_start(l);
    return 0;
}

/* Nobody will answer them any more. */
static void answer_all(struct ledger *l)
{
    audit_stop(l);
    for (struct entry *e = l->first; e; e = e->all_next)
        while (e->waits) {
            struct ask *a = e->waits->ask;
            wait_leave(l, a);
            ask_refuse(l, a, ERGON_E_DRAINING, "%s", error_meaning(ERGON_E_DRAINING));
        }
}

static void commit_all(struct ledger *l)
{
    records_flush(l);
    store_stop(l->store);
    while (!records_take(l))
        ;
}

void ledger_stop(struct ledger *l)
{
    attempts_end(l);
    if (l->store)
        commit_all(l);
    answer_all(l);
    doors_flush(l);
}

static void free_entries(struct ledger *l)
{
    struct entry *next;
    for (struct entry *e = l->first; e; e = next) {
        next = e->all_next;
        ledger_entry_free(l, e);
    }
}

void ledger_free(struct ledger *l)
{
    if (!l)
        return;
    answer_all(l);
    doors_flush(l);
    doors_free(l);
    crons_free(l->crons);
    free_entries(l);
    ao_deactivate(&l->ao);
    ao_fini(&l->ao);
    ao_deactivate(&l->retry);
    ao_fini(&l->retry);
    id_table_fini(&l->ids);
    key_table_fini(&l->keys);
    key_table_fini(&l->shared);
    hold_table_free(l->holds);
    names_fini(l);
    rows_fini(l);
    ledger_entries_fini(l);
    free(l->by_method);
    free(l);
}

static void show_store(const struct store *s, struct ledger_info *out)
{
    struct store_info info;
    store_info(s, &info);
    out->has_store = true;
    out->commits = info.commits;
    out->operations = info.operations;
    out->store_bytes = info.bytes;
    out->commit_ns = info.commit_ns;
    out->store_error = info.error == STORE_OK ? NULL : store_error_text(info.error);
}

void ledger_info(const struct ledger *l, struct ledger_info *out)
{
    *out = (struct ledger_info){.tasks = counter_read(&l->shown_tasks),
                                .bytes = counter_read(&l->shown_bytes),
                                .submitted = counter_read(&l->submitted),
                                .starts = counter_read(&l->starts),
                                .retries = counter_read(&l->retries),
                                .fenced = counter_read(&l->fenced)};
    for (unsigned i = 0; i < LEDGER_STATE_COUNT; i++)
        out->by_state[i] = counter_read(&l->by_state[i]);
    if (l->store)
        show_store(l->store, out);
}
