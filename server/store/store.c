/* The store opened with the driver that its name means, read back before the start, and closed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/store/store_parts.h"

static const struct store_table *const tables[] = {
    &store_queues,      &store_rates,       &store_semaphores, &store_holds,       &store_crons,
    &store_cron_states, &store_node_boards, &store_actors,     &store_actor_types, &store_batches};

static int fail(const struct store_fault *fault, char *error, size_t size)
{
    snprintf(error, size, "%s", fault->text);
    return -1;
}

/* --- Opened and closed --- */

/* A path may lead through links, and two of them to one file. */
static char *name_of(const struct store_options *o)
{
    char name[PATH_MAX];
    if (driver_is_url(o->path)) {
        driver_name(o->path, name, sizeof name);
        return strdup(name);
    }
    char *real = o->vfs ? NULL : realpath(o->path, NULL);
    return real ? real : strdup(o->path);
}

static struct store *store_new(const struct store_options *o, const struct store_driver *driver)
{
    struct store *s = aligned_alloc(_Alignof(struct store), sizeof *s);
    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    s->driver = driver;
    s->retry = o->retry ? o->retry : AO_S(1);
    s->wake_fd = -1;
    s->stop_fd = driver->wait ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    counter_set(&s->counters.level, STORE_LEVEL_FSYNC);
    s->path = name_of(o);
    s->ops = calloc((size_t)driver->batches * STORE_BATCH_LAST, sizeof *s->ops);
    bool whole = board_init(&s->board, o, s->path) && s->path && s->ops;
    for (uint32_t n = 0; whole && n < driver->batches; n++)
        s->batches[n].ops = s->ops + (size_t)n * STORE_BATCH_LAST;
    if (whole)
        return s;
    store_close(s);
    return NULL;
}

static int open_engine(struct store *s, const struct store_options *o, char *error, size_t size)
{
    struct store_fault fault;
    const struct store_setup setup = {.where = driver_is_url(o->path) ? o->path : s->path,
                                      .vfs = o->vfs,
                                      .retry = s->retry,
                                      .names = row_names_of(o->states, o->state_count),
                                      .tables = tables,
                                      .table_count = sizeof tables / sizeof *tables,
                                      .node = o->node,
                                      .incarnation = o->incarnation,
                                      .require = o->require,
                                      .by_storage = o->by_storage,
                                      .stop = s->stop_fd > 0 ? s->stop_fd : 0};
    s->engine = s->driver->open(&setup, &fault);
    return s->engine ? 0 : fail(&fault, error, size);
}

struct store *store_open(const struct store_options *options, char *error, size_t size)
{
    const struct store_driver *driver = driver_find(options->path, error, size);
    if (!driver)
        return NULL;
    struct store *s = store_new(options, driver);
    if (!s) {
        store_fail(error, size, options->path, "%s", store_error_text(STORE_MEMORY));
        return NULL;
    }
    if (open_engine(s, options, error, size) == 0) {
        store_note_state(s);
        return s;
    }
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    s->driver->close(s->engine);
    board_fini(&s->board);
    if (s->started) {
        lane_fini(&s->out);
        lane_fini(&s->in);
        poller_eventfd_free(s->poller);
    }
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    if (s->stop_fd >= 0)
        close(s->stop_fd);
    free(s->ops);
    free(s->path);
    free(s);
}

const char *store_name(const struct store *s)
{
    return s->path;
}

enum store_level store_level_most(const struct store *s)
{
    return s->driver->most;
}

enum store_level store_level(const struct store *s)
{
    return (enum store_level)counter_read(&s->counters.level);
}

/* --- Before the start --- */

bool store_keeps(const struct store *s, enum store_kept what)
{
    const counter *keeps = what == STORE_KEEPS_ACTORS ? &s->counters.actors : &s->counters.batches;
    return counter_read(keeps) != 0;
}

bool store_loads_in_chunks(const struct store *s)
{
    return s->driver->loads_in_chunks;
}

int store_load(struct store *s, const struct store_reader *reader, char *error, size_t size)
{
    struct store_fault fault;
    struct store_reader own = *reader;
    own.clean = s->board.clean;
    if (s->driver->loads_in_chunks || s->driver->load_all(s->engine, &own, &fault) == 0)
        return 0;
    return fail(&fault, error, size);
}

static struct store_marks marks_of(struct store *s)
{
    struct store_marks marks = {0};
    if (s->driver->marks)
        s->driver->marks(s->engine, &marks);
    return marks;
}

uint64_t store_last_id(struct store *s)
{
    return marks_of(s).last_id;
}

uint64_t store_last_fence(struct store *s)
{
    return marks_of(s).last_fence;
}

uint64_t store_committed_at(struct store *s)
{
    return marks_of(s).committed_at;
}

enum store_error store_set_back(struct store *s, uint64_t by)
{
    struct store_op op = {.kind = STORE_SET_BACK, .back = by};
    struct store_op *ops[] = {&op};
    struct store_batch batch = {.ops = ops, .count = 1};
    s->driver->begin(s->engine, &batch);
    s->driver->ended(s->engine);
    store_note_state(s);
    return batch.error != STORE_OK ? batch.error : op.error;
}
