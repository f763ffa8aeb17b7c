#include "tests/bench/cluster/bare_client.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4 * 1024 * 1024, INT8 = 20, TEXT = 25, BYTEA = 17, PARAMS = 64, COLUMNS = 6 };

struct bare_client {
    PGconn *pg;
    char *at;
    size_t len;
    int columns, lengths[COLUMNS], formats[COLUMNS];
    size_t from[COLUMNS];
};

static const char *const texts[] = {
    "INSERT INTO ergon.submissions (id, method, tenant, durable, created_at, params) "
    "SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], "
    "$6::bytea[])",
    "INSERT INTO ergon.lives (id, state, attempt, started_at, ended_at, result) "
    "SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], "
    "$6::bytea[])",
    "DELETE FROM ergon.lives WHERE id = ANY ($1::bigint[])",
    "DELETE FROM ergon.submissions WHERE id = ANY ($1::bigint[])",
    "INSERT INTO ergon.options (id, backoff_ns, backoff_max_ns, jitter, keep_ns, keep_size) SELECT "
    "* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], "
    "$6::bigint[])",
    "DELETE FROM ergon.options WHERE id = ANY ($1::bigint[])"};
static const char *const names[] = {"put",    "end",         "remove_life",
                                    "remove", "put_options", "remove_options"};
enum { STATEMENTS = sizeof texts / sizeof *texts };

static void check(struct bare_client *c, int good)
{
    if (good)
        return;
    fprintf(stderr, "bare client: %s\n", PQerrorMessage(c->pg));
    exit(1);
}

struct bare_client *bare_open(const char *url)
{
    struct bare_client *c = calloc(1, sizeof *c);
    c->pg = PQconnectdb(url);
    c->at = malloc(ROOM);
    check(c, PQstatus(c->pg) == CONNECTION_OK && c->at);
    /* As the driver: a plan of an empty table would read all of it ever after. */
    PQclear(PQexec(c->pg, "SET enable_seqscan = off; SET enable_hashjoin = off; "
                          "SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan"));
    for (int n = 0; n < STATEMENTS; n++)
        PQclear(PQprepare(c->pg, names[n], texts[n], 0, NULL));
    check(c, PQenterPipelineMode(c->pg));
    return c;
}

void bare_close(struct bare_client *c)
{
    PQfinish(c->pg);
    free(c->at);
    free(c);
}

static void put32(struct bare_client *c, uint32_t n)
{
    n = htobe32(n);
    memcpy(c->at + c->len, &n, sizeof n);
    c->len += sizeof n;
}

static void begin_column(struct bare_client *c, uint32_t type, uint32_t count)
{
    c->from[c->columns] = c->len;
    put32(c, 1);
    put32(c, 0);
    put32(c, type);
    put32(c, count);
    put32(c, 1);
}

static void end_column(struct bare_client *c)
{
    c->lengths[c->columns] = (int)(c->len - c->from[c->columns]);
    c->formats[c->columns++] = 1;
}

static void numbers(struct bare_client *c, uint64_t from, uint64_t step, uint32_t count)
{
    begin_column(c, INT8, count);
    for (uint32_t n = 0; n < count; n++) {
        uint64_t value = htobe64(from + n * step);
        put32(c, sizeof value);
        memcpy(c->at + c->len, &value, sizeof value);
        c->len += sizeof value;
    }
    end_column(c);
}

static void bytes(struct bare_client *c, uint32_t type, const void *value, size_t len,
                  uint32_t count)
{
    begin_column(c, type, count);
    for (uint32_t n = 0; n < count; n++) {
        put32(c, (uint32_t)len);
        memcpy(c->at + c->len, value, len);
        c->len += len;
    }
    end_column(c);
}

static void send(struct bare_client *c, const char *name)
{
    const char *values[COLUMNS];
    for (int n = 0; n < c->columns; n++)
        values[n] = c->at + c->from[n];
    check(c, PQsendQueryPrepared(c->pg, name, c->columns, values, c->lengths, c->formats, 1));
}

static void commit(struct bare_client *c)
{
    int synced = 0;
    check(c, PQpipelineSync(c->pg));
    while (!synced) {
        PGresult *r = PQgetResult(c->pg);
        check(c, !r || PQresultStatus(r) != PGRES_FATAL_ERROR);
        synced = r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;
        PQclear(r);
    }
}

static void begin(struct bare_client *c, uint64_t from, uint32_t count)
{
    c->len = 0;
    c->columns = 0;
    numbers(c, from, 1, count);
}

static void put(struct bare_client *c, uint64_t from, uint32_t count)
{
    static const uint8_t params[PARAMS] = {0xc4, PARAMS - 2};
    begin(c, from, count);
    bytes(c, TEXT, "resize", 6, count);
    bytes(c, TEXT, "anonymous", 9, count);
    bytes(c, TEXT, "replicated", 10, count);
    numbers(c, 1700000000000000000u + from, 1, count);
    bytes(c, BYTEA, params, sizeof params, count);
    send(c, "put");
}

static void put_options(struct bare_client *c, uint64_t from, uint32_t count)
{
    static const uint64_t options[] = {1000000000, 3600000000000, 50, 250000000, 1048576};
    begin(c, from, count);
    for (unsigned n = 0; n < sizeof options / sizeof *options; n++)
        numbers(c, options[n], 0, count);
    send(c, "put_options");
}

static void put_end(struct bare_client *c, uint64_t from, uint32_t count)
{
    static const uint8_t result[16] = {0xc4, 14};
    begin(c, from, count);
    bytes(c, TEXT, "done", 4, count);
    numbers(c, 1, 0, count);
    numbers(c, 1700000000000000000u, 0, count);
    numbers(c, 1700000000000000000u, 0, count);
    bytes(c, BYTEA, result, sizeof result, count);
    send(c, "end");
}

static void put_away(struct bare_client *c, uint64_t from, uint32_t count, bool options)
{
    begin(c, from, count);
    send(c, "remove_life");
    if (options)
        send(c, "remove_options");
    send(c, "remove");
}

void bare_run(struct bare_client *c, enum bare_kind kind, uint64_t from, uint32_t count,
              bool options)
{
    if (kind == BARE_PUT)
        put(c, from, count);
    if (kind == BARE_PUT && options)
        put_options(c, from, count);
    if (kind == BARE_END)
        put_end(c, from, count);
    if (kind == BARE_REMOVE)
        put_away(c, from, count, options);
    commit(c);
}
