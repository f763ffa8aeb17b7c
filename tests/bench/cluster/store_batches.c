/* What the store's engine takes: tasks a second in batches, by the drivers themselves.
 *
 *     bench_cluster_store URL FOLDER [--json]
 *
 * URL is a database without the schema ergon, which is made and dropped; FOLDER, on the same disk,
 * gets an SQLite file.  Five rounds, each with all rows of the table one after the other: ratios
 * inside a round count, and the medians of them are shown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "server/cluster/admin.h"
#include "server/cluster/engine.h"
#include "server/store/chunk.h"
#include "server/store/driver.h"
#include "tests/bench/cluster/bare_client.h"
#include "tests/bench/support/report.h"

enum { ROUNDS = 5, BATCH = 64, BATCHES = 300, WARM = 30, UNDER_WAY_MAX = 2 };
static const char *const states[] = {"queued", "running", "done", "failed"};

struct stream {
    const struct store_driver *driver; /* NULL: the bare client */
    void *engine;
    struct bare_client *bare;
    uint32_t under_way; /* batches at a time */
    bool lives;         /* put, end and remove, a batch each; else puts alone */
    const char *name;
};

static uint64_t next_id = 1;

/* --- Batches --- */

struct slot {
    struct store_batch batch;
    struct store_op *ops[BATCH], all[BATCH];
};

static const uint8_t params[64] = {0xc4, 62};

static void fill(struct slot *slot, enum bare_kind kind, uint64_t from, uint8_t durable)
{
    slot->batch = (struct store_batch){.ops = slot->ops, .count = BATCH};
    for (uint32_t n = 0; n < BATCH; n++) {
        struct store_op *op = slot->ops[n] = &slot->all[n];
        memset(op, 0, sizeof *op);
        op->kind = kind == BARE_PUT ? STORE_PUT : kind == BARE_END ? STORE_CHANGE : STORE_REMOVE;
        op->task = (struct store_task){.id = from + n,
                                       .method = span_text("resize"),
                                       .tenant = span_text("anonymous"),
                                       .params = span_of(params, sizeof params),
                                       .created = 1700000000000000000u + from + n,
                                       .durable = durable};
        op->add.submitted = kind == BARE_PUT;
        if (kind != BARE_END)
            continue;
        op->task.state = 2;
        op->task.attempt = 1;
        op->task.started_at = op->task.ended_at = 1700000000000000000u;
        op->task.result = span_of(params, 16);
        op->add.done = 1;
    }
}

static void end_one(const struct stream *s, uint32_t *left)
{
    struct store_batch *b;
    ao_time until = s->driver->work(s->engine, false);
    while ((b = s->driver->ended(s->engine))) {
        for (uint32_t n = 0; n < b->count; n++)
            if (b->ops[n]->error != STORE_OK) {
                fprintf(stderr, "%s: an operation failed\n", s->name);
                exit(1);
            }
        (*left)--;
    }
    if (*left > 0 && s->driver->wait)
        s->driver->wait(s->engine, -1, until);
}

/* One kind of batch after the other; those of one task never at the same time. */
static void run_driver(const struct stream *s, uint32_t batches)
{
    static struct slot slots[UNDER_WAY_MAX];
    uint8_t durable = s->driver->wait ? 3 : 2;
    for (uint32_t n = 0; n < batches; n += s->under_way) {
        uint64_t from = next_id;
        next_id += BATCH * s->under_way;
        for (int kind = BARE_PUT; kind <= (s->lives ? BARE_REMOVE : BARE_PUT); kind++) {
            uint32_t left = s->under_way;
            for (uint32_t k = 0; k < s->under_way; k++) {
                fill(&slots[k], (enum bare_kind)kind, from + k * BATCH, durable);
                s->driver->begin(s->engine, &slots[k].batch);
            }
            while (left > 0)
                end_one(s, &left);
        }
    }
}

static void run_bare(const struct stream *s, uint32_t batches)
{
    for (uint32_t n = 0; n < batches; n++, next_id += BATCH)
        for (int kind = BARE_PUT; kind <= (s->lives ? BARE_REMOVE : BARE_PUT); kind++)
            bare_run(s->bare, (enum bare_kind)kind, next_id, BATCH, false);
}

static double measure(const struct stream *s)
{
    void (*run)(const struct stream *s, uint32_t batches) = s->driver ? run_driver : run_bare;
    run(s, WARM);
    uint64_t began = clock_monotonic();
    run(s, BATCHES);
    return BATCHES * (double)BATCH * 1e9 / (double)(clock_monotonic() - began);
}

/* --- Engines --- */

static void die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static uint64_t own(const char *url)
{
    char error[512];
    const struct cluster_admin *admin =
        driver_symbol(url, CLUSTER_ADMIN_SYMBOL, error, sizeof error);
    const struct cluster_engine *engine =
        driver_symbol(url, CLUSTER_ENGINE_SYMBOL, error, sizeof error);
    if (!admin || !engine || admin->init(url, "ergon", NULL, error, sizeof error) != 0)
        die(error);
    void *member = engine->open(&(struct engine_setup){.where = url,
                                                       .cluster = "ergon",
                                                       .node = "a",
                                                       .incarnation = 1,
                                                       .address = "",
                                                       .version = "",
                                                       .weight = 1},
                                error, sizeof error);
    struct engine_view *view = calloc(1, sizeof *view);
    struct engine_owner owner;
    if (!member || engine->join(member, view, error, sizeof error) != ENGINE_DONE ||
        engine->take_over(member, &(struct engine_take_over){.epoch = view->owner.epoch}, &owner,
                          error, sizeof error) != ENGINE_DONE)
        die(error);
    engine->close(member);
    free(view);
    return owner.epoch;
}

static void *open_engine(const struct store_driver *driver, const char *where, uint64_t epoch)
{
    struct store_fault fault;
    const struct store_setup setup = {.where = where,
                                      .retry = AO_S(1),
                                      .names = row_names_of(states, sizeof states / sizeof *states),
                                      .node = "a",
                                      .incarnation = 1};
    void *engine = driver->open(&setup, &fault);
    if (!engine)
        die(fault.text);
    if (driver->load) {
        struct store_chunk *chunk = store_chunk_new();
        if (driver->load(engine, epoch, chunk, &fault) < 0)
            die(fault.text);
        store_chunk_free(chunk);
    }
    if (driver->serve)
        driver->serve(engine, true);
    return engine;
}

static void drop(const char *url)
{
    PGconn *pg = PQconnectdb(url);
    PQclear(PQexec(pg, "SET client_min_messages = error"));
    PQclear(PQexec(pg, "DROP SCHEMA IF EXISTS ergon CASCADE"));
    PQfinish(pg);
}

/* --- The table --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

static double median_ratio(const double *of, const double *by)
{
    double ratios[ROUNDS];
    for (int n = 0; n < ROUNDS; n++)
        ratios[n] = of[n] / by[n];
    return median(ratios);
}

enum { STREAMS = 8 };

static void show(struct report *r, const struct stream *streams, double rates[STREAMS][ROUNDS])
{
    static const struct report_column columns[] = {
        {"tasks/s", 0}, {"of SQLite", 2}, {"of the bare client", 2}};
    report_table(r, "Tasks a second in batches of 64, medians of five rounds", "by", columns, 3);
    for (int n = 0; n < STREAMS; n++) {
        int first = n / (STREAMS / 2) * (STREAMS / 2); /* SQLite, then the bare client */
        double values[] = {0, median_ratio(rates[n], rates[first]),
                           n == first ? NAN : median_ratio(rates[n], rates[first + 1])};
        double sorted[ROUNDS];
        memcpy(sorted, rates[n], sizeof sorted);
        values[0] = median(sorted);
        report_row(r, streams[n].name, values);
    }
}

int main(int argc, char **argv)
{
    struct report r;
    char path[512], error[512];
    double rates[STREAMS][ROUNDS];
    if (argc < 3)
        die("bench_cluster_store URL FOLDER [--json]");
    report_open(&r, "cluster_store", argc > 3 && strcmp(argv[3], "--json") == 0);
    snprintf(path, sizeof path, "%s/tasks.db", argv[2]);
    drop(argv[1]);
    uint64_t epoch = own(argv[1]);
    const struct store_driver *driver = driver_find(argv[1], error, sizeof error);
    void *postgres = open_engine(driver, argv[1], epoch),
         *sqlite = open_engine(&store_sqlite, path, 0);
    struct bare_client *bare = bare_open(argv[1]);
    const struct stream streams[STREAMS] = {
        {&store_sqlite, sqlite, NULL, 1, false, "put, SQLite, fsync"},
        {NULL, NULL, bare, 1, false, "put, bare client"},
        {driver, postgres, NULL, 1, false, "put, PostgreSQL, one batch under way"},
        {driver, postgres, NULL, 2, false, "put, PostgreSQL, two"},
        {&store_sqlite, sqlite, NULL, 1, true, "put, end, remove: SQLite"},
        {NULL, NULL, bare, 1, true, "put, end, remove: bare client"},
        {driver, postgres, NULL, 1, true, "put, end, remove: PostgreSQL, one"},
        {driver, postgres, NULL, 2, true, "put, end, remove: PostgreSQL, two"}};
    for (int round = 0; round < ROUNDS; round++)
        for (int n = 0; n < STREAMS; n++)
            rates[n][round] = measure(&streams[n]);
    show(&r, streams, rates);
    report_end(&r);
    bare_close(bare);
    driver->close(postgres);
    store_sqlite.close(sqlite);
    drop(argv[1]);
    unlink(path);
    return 0;
}
