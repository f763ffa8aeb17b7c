/* What a durable task costs: operations a second through the whole store (lane, thread, commit,
 * lane back), so many in flight at a time, which is what a commit takes together; the writer's
 * processor time an operation, and what it writes in a commit; beside them appending the same bytes
 * to a file of the same folder, and fdatasync.
 *
 *     bench_store [--folder DIR] [--json] [--put N TOTAL] [--turns N ACTORS TOTAL]
 *
 * DIR is made, and emptied of what was made in it.  --put, --turns: that row alone, for who
 * compares.  A turn is a group: the state of one of ACTORS, by chance. */
#include <ergon/poller.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/store.h"
#include "tests/bench/store/store_spent.h"
#include "tests/bench/support/report.h"

enum { PARAMS = 64, TIMES_MAX = 1 << 20, LOAD_ROWS = 1000000 };

static const char *const states[] = {"queued", "running", "done", "failed"};

/* An object that keeps so many operations in flight. */
struct client {
    struct ao ao;
    struct activator *loop;
    struct poller *poller;
    struct store *store;
    struct store_op *ops;     /* in_flight, used over and over */
    struct store_op *members; /* of turns: one each */
    uint32_t actors;
    uint64_t random;
    uint32_t in_flight;
    uint64_t to_push, back, next_id, total;
    void (*fill)(struct client *c, struct store_op *op);
    double *times; /* of the batches: us */
    uint32_t time_count;
    ao_time began;
};

static double microseconds(ao_time ns)
{
    return (double)ns / 1e3;
}

static ao_time now(void)
{
    return ao_clock_monotonic.now(NULL);
}

/* --- Operations --- */

static const uint8_t params[PARAMS] = {0xc4, PARAMS - 2};

static struct store_task task_of(uint64_t id)
{
    return (struct store_task){.id = id,
                               .method = span_text("resize"),
                               .tenant = span_text("anonymous"),
                               .params = span_of(params, sizeof params),
                               .created = 1700000000000000000u + id,
                               .durable = 2};
}

static void fill_put(struct client *c, struct store_op *op)
{
    op->kind = STORE_PUT;
    op->task = task_of(c->next_id++);
    op->add.submitted = 1;
}

static void fill_start(struct client *c, struct store_op *op)
{
    op->kind = STORE_CHANGE;
    op->task = task_of(c->next_id++);
    op->task.state = 1;
    op->task.attempt = 1;
    op->task.started_at = 1700000000000000000u;
    op->add.submitted = 0;
}

static void fill_end(struct client *c, struct store_op *op)
{
    fill_start(c, op);
    op->task.state = 2;
    op->task.ended_at = 1700000000000000000u;
    op->task.result = span_of(params, 16);
    op->add.done = 1;
}

static void fill_remove(struct client *c, struct store_op *op)
{
    op->kind = STORE_REMOVE;
    op->task.id = c->next_id++;
    op->add = (struct store_counts){0};
}

enum { STATE = 100 /* bytes */, KEY = 17 };

static void name_actor(struct store_op *op, uint64_t number)
{
    static char keys[1 << 16][KEY]; /* more than there are operations in flight */
    static uint32_t next;
    static const uint8_t state[STATE] = {0xc4, STATE - 2};
    char *key = keys[next++ % (sizeof keys / sizeof *keys)];
    snprintf(key, KEY, "%016llx", (unsigned long long)(number * UINT64_C(0x9e3779b97f4a7c15)));
    op->table = &store_actors;
    *(struct store_actor *)op->row = (struct store_actor){.type = span_text("account"),
                                                          .key = span_text(key),
                                                          .version = number,
                                                          .changed_at = 1700000000000000000u,
                                                          .state = span_of(state, sizeof state)};
}

static uint64_t any_actor(struct client *c)
{
    c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (c->random >> 33) % c->actors;
}

static void fill_turn_of(struct client *c, struct store_op *op, uint64_t number)
{
    struct store_op *member = &c->members[op - c->ops];
    op->kind = STORE_GROUP;
    op->group.first = member;
    op->group.count = 1;
    member->kind = STORE_ROW_PUT;
    name_actor(member, number);
}

static void fill_new_actor(struct client *c, struct store_op *op)
{
    fill_turn_of(c, op, c->next_id++);
}

static void fill_turn(struct client *c, struct store_op *op)
{
    fill_turn_of(c, op, 1 + any_actor(c));
}

static void fill_get(struct client *c, struct store_op *op)
{
    free(op->bytes);
    op->bytes = NULL;
    op->kind = STORE_ROW_GET;
    name_actor(op, 1 + any_actor(c));
}

/* --- The client --- */

static void push(struct client *c, struct store_op *op)
{
    c->fill(c, op);
    c->to_push--;
    store_push(c->store, op);
}

static void note_time(struct client *c)
{
    ao_time t = now();
    if (c->time_count < TIMES_MAX)
        c->times[c->time_count++] = microseconds(t - c->began);
    c->began = t;
}

static enum ao_verdict client_step(struct ao *self)
{
    struct client *c = ao_of(self, struct client, ao);
    struct store_op *op;
    bool any = false;
    while ((op = store_take(c->store))) {
        any = true;
        if (op->error != STORE_OK)
            abort();
        c->back++;
        if (c->to_push > 0)
            push(c, op);
    }
    store_release(c->store);
    if (any)
        note_time(c);
    if (c->back == c->total)
        activator_stop(c->loop);
    return AO_DONE;
}

static const struct ao_class client_class = {.name = "client", .step = client_step};

static void open_client(struct client *c, const char *path)
{
    char error[300];
    const struct store_options options = {
        .path = path, .states = states, .state_count = sizeof states / sizeof *states};
    *c = (struct client){.poller = poller_eventfd_new(), .next_id = 1};
    c->loop = activator_open(
        &(struct activator_options){.name = "client", .poller = c->poller, .core = -1});
    c->store = store_open(&options, error, sizeof error);
    c->times = calloc(TIMES_MAX, sizeof *c->times);
    if (!c->store) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    ao_init(&c->ao, &client_class, c->loop);
    if (store_start(c->store, c->loop, &c->ao) != 0)
        abort();
}

static void close_client(struct client *c)
{
    store_stop(c->store);
    store_close(c->store);
    ao_deactivate(&c->ao);
    ao_fini(&c->ao);
    activator_close(c->loop);
    poller_eventfd_free(c->poller);
    free(c->times);
}

static void run(struct client *c, uint32_t in_flight, uint64_t total,
                void (*fill)(struct client *c, struct store_op *op))
{
    c->ops = calloc(in_flight, sizeof *c->ops);
    c->members = calloc(in_flight, sizeof *c->members);
    c->in_flight = in_flight;
    c->to_push = c->total = total;
    c->back = c->time_count = 0;
    c->fill = fill;
    c->next_id = 1;
    c->began = now();
    for (uint32_t n = 0; n < in_flight; n++)
        push(c, &c->ops[n]);
    activator_run(c->loop);
    free(c->members);
    free(c->ops);
}

/* --- What is measured --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(struct client *c, double q)
{
    qsort(c->times, c->time_count, sizeof *c->times, by_size);
    return c->times[(uint32_t)((c->time_count - 1) * q)];
}

static void row(struct report *r, const char *what, struct client *c, uint32_t in_flight,
                uint64_t total, void (*fill)(struct client *c, struct store_op *op), double raw)
{
    struct spent before = spent_so_far(c->store);
    run(c, in_flight, total, fill);
    struct spent after = spent_so_far(c->store);
    double commits = after.commits - before.commits, ops = (double)total;
    double rate = ops / (after.ns - before.ns) * 1e6;
    report_row(r, what,
               (double[]){rate, ops / commits, (after.writer_us - before.writer_us) / ops,
                          (after.bytes - before.bytes) / commits / 1024,
                          (after.calls - before.calls) / commits, quantile(c, 0.5),
                          quantile(c, 0.99), quantile(c, 1), raw, rate / raw});
}

static const struct report_column columns[] = {
    {"k/s", 1},    {"a commit", 1}, {"writer us", 2}, {"KiB a commit", 1}, {"writes", 1},
    {"p50 us", 0}, {"p99 us", 0},   {"max us", 0},    {"raw k/s", 1},      {"of raw", 2}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void remove_file(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
    char name[512];
    for (size_t n = 0; n < sizeof ends / sizeof *ends; n++) {
        snprintf(name, sizeof name, "%s%s", path, ends[n]);
        unlink(name);
    }
}

static void puts_of(struct report *r, const char *path, const char *raw, const char *what,
                    uint32_t in_flight, uint64_t total)
{
    struct client c;
    remove_file(path);
    open_client(&c, path);
    row(r, what, &c, in_flight, total, fill_put, raw_rate(raw, in_flight, total));
    close_client(&c);
}

static void lives(struct report *r, const char *path, uint32_t in_flight, uint64_t total)
{
    struct client c;
    remove_file(path);
    open_client(&c, path);
    row(r, "life: put", &c, in_flight, total, fill_put, NAN);
    row(r, "life: start", &c, in_flight, total, fill_start, NAN);
    row(r, "life: end", &c, in_flight, total, fill_end, NAN);
    row(r, "life: remove", &c, in_flight, total, fill_remove, NAN);
    close_client(&c);
}

/* Loads leave what they read with the last ones: the program ends. */
static void turns_of(struct report *r, const char *path, uint32_t in_flight, uint32_t actors,
                     uint64_t total)
{
    struct client c;
    char what[64];
    remove_file(path);
    open_client(&c, path);
    c.actors = actors;
    run(&c, 4096, actors, fill_new_actor);
    snprintf(what, sizeof what, "turn %u of %u", in_flight, actors);
    row(r, what, &c, in_flight, total, fill_turn, NAN);
    snprintf(what, sizeof what, "load %u of %u", in_flight, actors);
    row(r, what, &c, in_flight, total / 2, fill_get, NAN);
    close_client(&c);
}

static bool count_task(void *arg, const struct store_task *t)
{
    *(uint64_t *)arg += t->id != 0;
    return true;
}

static void no_counts(void *arg, const struct store_counts *c)
{
}

static void load(struct report *r, const char *path)
{
    struct client c;
    char error[300];
    uint64_t rows = 0;
    const struct store_options options = {
        .path = path, .states = states, .state_count = sizeof states / sizeof *states};
    const struct store_reader reader = {.arg = &rows, .counts = no_counts, .task = count_task};
    remove_file(path);
    open_client(&c, path);
    run(&c, 4096, LOAD_ROWS, fill_put);
    close_client(&c);
    struct stat file;
    stat(path, &file);
    ao_time began = now();
    struct store *s = store_open(&options, error, sizeof error);
    ao_time opened = now();
    if (!s || store_load(s, &reader, error, sizeof error) != 0 || rows != LOAD_ROWS)
        abort();
    ao_time read = now();
    store_close(s);
    report_row(r, "a million tasks",
               (double[]){microseconds(opened - began) / 1e3, microseconds(read - opened) / 1e3,
                          (double)file.st_size / LOAD_ROWS});
}

struct options {
    const char *folder;
    bool json;
    uint32_t in_flight; /* of the one row that is asked for; 0: all */
    uint32_t actors;    /* 0: tasks are put */
    uint64_t total;
};

static struct options options_of(int argc, char **argv)
{
    struct options o = {.folder = "bench_store.d"};
    for (int n = 1; n < argc; n++)
        if (strcmp(argv[n], "--json") == 0) {
            o.json = true;
        } else if (strcmp(argv[n], "--folder") == 0 && n + 1 < argc) {
            o.folder = argv[++n];
        } else if (strcmp(argv[n], "--put") == 0 && n + 2 < argc) {
            o.in_flight = (uint32_t)strtoul(argv[++n], NULL, 10);
            o.total = strtoull(argv[++n], NULL, 10);
        } else if (strcmp(argv[n], "--turns") == 0 && n + 3 < argc) {
            o.in_flight = (uint32_t)strtoul(argv[++n], NULL, 10);
            o.actors = (uint32_t)strtoul(argv[++n], NULL, 10);
            o.total = strtoull(argv[++n], NULL, 10);
        } else {
            fprintf(stderr, "usage: bench_store [--folder DIR] [--json] [--put N TOTAL] "
                            "[--turns N ACTORS TOTAL]\n");
            exit(2);
        }
    return o;
}

static void all(struct report *r, const char *path, const char *raw)
{
    static const struct report_column load_columns[] = {
        {"open ms", 1}, {"load ms", 0}, {"bytes a task", 1}};
    puts_of(r, path, raw, "put 1", 1, 20000);
    puts_of(r, path, raw, "put 16", 16, 200000);
    puts_of(r, path, raw, "put 64", 64, 600000);
    puts_of(r, path, raw, "put 256", 256, 1000000);
    puts_of(r, path, raw, "put 1024", 1024, 1000000);
    puts_of(r, path, raw, "put 4096", 4096, 1000000);
    lives(r, path, 64, 200000);
    turns_of(r, path, 64, 10000, 400000);
    turns_of(r, path, 512, 10000, 400000);
    turns_of(r, path, 512, 1000000, 200000);
    report_table(r, "Reading back", "rows", load_columns, 3);
    load(r, path);
}

int main(int argc, char **argv)
{
    const struct options o = options_of(argc, argv);
    char path[400], raw[400];
    struct report r;
    mkdir(o.folder, 0700);
    snprintf(path, sizeof path, "%s/tasks.db", o.folder);
    snprintf(raw, sizeof raw, "%s/raw", o.folder);
    report_open(&r, "store", o.json);
    report_table(&r, "Durable tasks with 64 bytes of parameters", "in flight", columns, COLUMNS);
    if (o.actors)
        turns_of(&r, path, o.in_flight, o.actors, o.total);
    else if (o.in_flight)
        puts_of(&r, path, raw, "put", o.in_flight, o.total);
    else
        all(&r, path, raw);
    report_end(&r);
    remove_file(path);
    rmdir(o.folder);
    return 0;
}
