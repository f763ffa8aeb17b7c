#include "tests/support/disk_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/blob.h"
#include "base/clock.h"
#include "server/jobs/core/states.h"
#include "server/jobs/persist/codec.h"
#include "server/store/sqlite/sqlite_parts.h"
#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "sim/fault_disk.h"
#include "sim/fault_vfs.h"

enum { NAME = 160, SNAPSHOT = 1 << 20, BOOT_AT = 40, BOOT_SIZE = 36, HEADER = 4096 };

/* The writer that is played, and the file beside the store. */
static struct disk_store {
    const char *path;
    uint64_t (*wall)(void *arg);
    void *wall_arg;
    struct ao ao;        /* sleeps while a commit, or a checkpoint, is due */
    struct ao *receiver; /* NULL: not started */
    struct store *store;
    struct store_op *first, *last; /* pushed; linked by item.next */
    struct store_op *done_first, *done_last;
    struct store_batch batch; /* that is committed */
    uint32_t riding;          /* of it: the power went under them */
    bool stopped;
    ao_time latency;
    uint64_t raise_calls;
    uint32_t raises_cut;
    /* FILE-running as it was when the process died. */
    bool remembered;
    size_t size;
    uint8_t bytes[SNAPSHOT];
} disk_store;

/* --- Clock and raise: what the linker puts in their place --- */

uint64_t __wrap_clock_wall(void);
int __real_store_raise_attempts(struct sqlite_store *s, char *error, size_t size);
int __wrap_store_raise_attempts(struct sqlite_store *s, char *error, size_t size);

uint64_t __wrap_clock_wall(void)
{
    return disk_store.wall(disk_store.wall_arg);
}

static uint64_t below(uint64_t n)
{
    return (disk_chance() >> 33) % n;
}

/* The log was written and not synced: the power went under a commit. */
static bool commit_is_open(void)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s-wal", disk_store.path);
    pthread_mutex_lock(&disk.lock);
    const struct disk_file *log = disk_find(name);
    bool open = log && log->first;
    pthread_mutex_unlock(&disk.lock);
    return open;
}

int __wrap_store_raise_attempts(struct sqlite_store *s, char *error, size_t size)
{
    bool before = fault_is_cut();
    if (disk_store.raise_calls > 0 && !before)
        fault_cut_at(1 + below(disk_store.raise_calls));
    int result = __real_store_raise_attempts(s, error, size);
    disk_store.raises_cut += !before && fault_is_cut() && commit_is_open();
    return result;
}

/* --- FILE-running --- */

static int open_running(int flags)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s-running", disk_store.path);
    return open(name, flags | O_CLOEXEC, 0600);
}

static void remember(struct disk_store *d)
{
    int fd = d->remembered ? -1 : open_running(O_RDONLY);
    if (fd < 0)
        return;
    ssize_t size = pread(fd, d->bytes, sizeof d->bytes, 0);
    assert_in_range(size, 0, sizeof d->bytes - 1);
    d->size = (size_t)size;
    d->remembered = true;
    close(fd);
}

static void put_back(struct disk_store *d)
{
    int fd = d->remembered ? open_running(O_RDWR | O_CREAT | O_TRUNC) : -1;
    d->remembered = false;
    if (fd < 0)
        return;
    assert_int_equal(pwrite(fd, d->bytes, d->size, 0), d->size);
    close(fd);
}

/* The header is always synced; what follows it never is. */
static void boot_anew(struct disk_store *d)
{
    char name[NAME];
    size_t from = HEADER < d->size ? HEADER : d->size, len = d->size - from;
    for (size_t n = BOOT_AT; n < BOOT_AT + BOOT_SIZE && n < d->size; n++)
        d->bytes[n] = (uint8_t)('a' + below(26));
    switch (below(6)) {
    case 0:
        memset(d->bytes + from, 0, len);
        break;
    case 1:
        for (size_t n = 0; n < len; n += 1 + below(100))
            d->bytes[from + n] = (uint8_t)below(256);
        break;
    case 2:
        d->size = below(d->size + 1);
        break;
    case 3:
        snprintf(name, sizeof name, "%s-running", d->path);
        unlink(name);
        d->remembered = false;
        break;
    default:
        break; /* as it was */
    }
}

/* --- The writer --- */

static void commit(struct disk_store *d)
{
    struct sqlite_store *s = d->store->engine;
    struct store_batch *b = &d->batch;
    *b = (struct store_batch){.ops = d->store->ops};
    store_try_again(s);
    while (d->first && b->count < STORE_BATCH_MAX)
        b->ops[b->count++] = store_ops_pop(&d->first);
    store_sqlite.begin(s, b);
    store_sqlite.ended(s);
    if (fault_is_cut()) {
        d->riding = b->count;
        remember(d);
        return;
    }
    for (uint32_t n = 0; n < b->count; n++) {
        if (b->error != STORE_OK)
            store_op_end(b->ops[n], b->error);
        store_ops_push(&d->done_first, &d->done_last, b->ops[n]);
    }
    ao_activate(d->receiver);
}

/* After a commit its operations are on their way before the log is moved. */
static enum ao_verdict disk_step(struct ao *self)
{
    struct disk_store *d = ao_of(self, struct disk_store, ao);
    if (fault_is_cut())
        return AO_DONE;
    if (d->first)
        commit(d);
    else if (checkpoint_due(d->store->engine, below(2)))
        checkpoint_run(d->store->engine);
    if (fault_is_cut()) {
        remember(d);
        return AO_DONE;
    }
    if (!d->first && !checkpoint_due(d->store->engine, true))
        return AO_DONE;
    ao_sleep_for(self, d->latency);
    return AO_PARK;
}

static const struct ao_class disk_class = {.name = "disk", .step = disk_step};

int store_start(struct store *s, struct activator *client, struct ao *receiver)
{
    struct disk_store *d = &disk_store;
    store_sqlite.serve(s->engine, true);
    ao_init(&d->ao, &disk_class, client);
    d->receiver = receiver;
    d->stopped = false;
    return 0;
}

void store_push(struct store *s, struct store_op *op)
{
    struct disk_store *d = &disk_store;
    store_op_end(op, d->stopped ? STORE_CLOSED : STORE_OK);
    if (d->stopped) {
        store_ops_push(&d->done_first, &d->done_last, op);
        return;
    }
    store_ops_push(&d->first, &d->last, op);
    if (d->receiver && ao_state(&d->ao) == AO_STATE_INACTIVE)
        ao_sleep_for(&d->ao, d->latency);
}

struct store_op *store_take(struct store *s)
{
    return disk_store.done_first ? store_ops_pop(&disk_store.done_first) : NULL;
}

void store_release(struct store *s)
{
}

static void end_writer(struct disk_store *d)
{
    if (!d->receiver)
        return;
    ao_deactivate(&d->ao);
    ao_fini(&d->ao);
    d->receiver = NULL;
}

void store_doubt(struct store *s)
{
    (void)s;
}

void store_stop(struct store *s)
{
    struct disk_store *d = &disk_store;
    while (d->receiver && d->first && !fault_is_cut())
        commit(d);
    end_writer(d);
    d->stopped = true;
}

/* No test here asks which trouble the log has, or how much of the log is left. */
void store_note_state(struct store *s)
{
    counter_set(&s->counters.actors, 1);
    counter_set(&s->counters.batches, 1);
}

void store_look(struct store *s)
{
    (void)s;
}

void store_info(const struct store *s, struct store_info *out)
{
    struct store_state state;
    store_sqlite.state(s->engine, &state);
    *out = (struct store_info){.kind = store_sqlite.name, .error = state.error};
}

/* --- Its life --- */

struct store *world_store_new(uint64_t (*wall)(void *arg), void *arg)
{
    disk_store.wall = wall;
    disk_store.wall_arg = arg;
    return NULL; /* disk_store_open() makes it */
}

void disk_store_use(const char *path)
{
    disk_store.path = path;
    disk_store.raises_cut = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0); /* FILE-running names the file that it stands beside */
    close(fd);
}

void disk_store_latency(ao_time latency)
{
    disk_store.latency = latency;
}

void disk_store_cut_raises(uint64_t calls)
{
    disk_store.raise_calls = calls;
}

uint32_t disk_store_raises_cut(void)
{
    return disk_store.raises_cut;
}

struct store *disk_store_open(char *error, size_t size)
{
    const struct store_options options = {.path = disk_store.path,
                                          .states = job_state_names,
                                          .state_count = JOB_STATE_COUNT,
                                          .vfs = FAULT_VFS,
                                          .retry = AO_MS(1)};
    struct store *s = store_open(&options, error, size);
    if (s)
        s->board.path = strdup(disk_store.path); /* FILE-running is a file of the system's */
    disk_store.store = s;
    return s;
}

/* Frees what the client frees when an operation comes back. */
static void forget(struct jobs *client, struct store_op *op)
{
    if (op->kind == STORE_ROW_GET)
        free(op->bytes);
    if (op->kind == STORE_ROW_PUT && op->table == &store_actor_types)
        blob_unref((struct blob *)(uintptr_t)op->tag);
    codec_write_free(client, op);
}

void world_store_crash(struct store *s, struct jobs *client)
{
    struct disk_store *d = &disk_store;
    remember(d);
    end_writer(d);
    while (d->first)
        forget(client, store_ops_pop(&d->first));
    while (d->done_first)
        forget(client, store_ops_pop(&d->done_first));
    for (uint32_t n = 0; n < d->riding; n++)
        forget(client, d->batch.ops[n]);
    d->riding = 0;
}

void disk_store_end(struct store *s, enum disk_end how)
{
    struct disk_store *d = &disk_store;
    if (how != DISK_STOP)
        fault_cut_at(1); /* nothing is tidied up */
    store_close(s);
    d->store = NULL;
    d->stopped = false;
    if (how == DISK_STOP && !fault_is_cut()) {
        d->remembered = false;
        return;
    }
    remember(d);
    if (how != DISK_KILL)
        boot_anew(d);
    put_back(d);
    if (how == DISK_KILL)
        fault_heal();
    else
        fault_power_on();
}

void world_store_free(struct store *s)
{
    if (s)
        disk_store_end(s, DISK_STOP);
}
