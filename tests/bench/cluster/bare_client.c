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
    "DELETE FROM ergon.submissions WHERE id = ANY ($1::bigint[])"};
static const char *const names[] = {"put", "end", "remove_life", "remove"};

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
    for (int n = 0; n < 4; n++)
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

void bare_run(struct bare_client *c, enum bare_kind kind, uint64_t from, uint32_t count)
{
    static const uint8_t params[PARAMS] = {0xc4, PARAMS - 2};
    c->len = 0;
    c->columns = 0;
    numbers(c, from, 1, count);
    if (kind == BARE_PUT) {
        bytes(c, TEXT, "resize", 6, count);
        bytes(c, TEXT, "anonymous", 9, count);
        bytes(c, TEXT, "replicated", 10, count);
        numbers(c, 1700000000000000000u + from, 1, count);
        bytes(c, BYTEA, params, sizeof params, count);
    } else if (kind == BARE_END) {
        bytes(c, TEXT, "done", 4, count);
        numbers(c, 1, 0, count);
        numbers(c, 1700000000000000000u, 0, count);
        numbers(c, 1700000000000000000u, 0, count);
        bytes(c, BYTEA, params, 16, count);
    }
    send(c, names[kind]);
    if (kind == BARE_REMOVE)
        send(c, "remove");
    commit(c);
}
