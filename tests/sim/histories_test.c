/* The model of PostgreSQL (sim/pg/) against a real server: random histories of two to four nodes,
 * each with a driver of the store and a member of the cluster, are run on both.  Each step has to
 * give the same outcome, and all tables the same rows.
 *
 *     histories_test COUNT [SEED]     COUNT histories, from that of the seed on
 *
 * A history ends at its first difference, which is printed with its steps; the next one begins
 * anew.
 *
 * PostgreSQL is the one of tests/support/with_postgres.py, with a synchronous standby.  Not
 * compared: clocks, and by how much a join raises `renewals`, which is chance. */
#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/cluster/admin.h"
#include "server/store/chunk.h"
#include "sim/pg/call.h"
#include "sim/pg/faults.h"
#include "sim/pg/handles.h"
#include "tests/support/store_client.h"
#include "tests/support/store_expect.h"

enum { SIDES = 2, NODES = 4, STEPS = 24, OPS = 10, IDS = 8, TEXT = 64 * 1024, WORD = 600 };
enum { LOOK_US = 1000, ANEW_EACH = 100, PROGRESS = 100 /* histories */ };
enum { MODEL, REAL };

static const struct store_table *const tables[] = {
    &store_queues, &store_rates,       &store_semaphores, &store_holds,
    &store_crons,  &store_cron_states, &store_node_boards};

/* --- Chance --- */

static uint64_t chance;

static uint64_t draw(void)
{
    uint64_t z = chance += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(draw() >> 33) % n;
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

/* --- What was done and said, on each side --- */

static struct history {
    uint64_t seed;
    uint32_t step;
    char said[SIDES][TEXT]; /* of this step */
    size_t len[SIDES];
    char steps[TEXT]; /* what was done until now */
    size_t steps_len;
    bool differs;
} now;

__attribute__((format(printf, 2, 3))) static void say(int side, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(now.said[side] + now.len[side], TEXT - now.len[side], format, args);
    va_end(args);
    now.len[side] += len > 0 && now.len[side] + (size_t)len < TEXT ? (size_t)len : 0;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(now.steps + now.steps_len, TEXT - now.steps_len, format, args);
    va_end(args);
    now.steps_len += len > 0 && now.steps_len + (size_t)len < TEXT ? (size_t)len : 0;
}

static void compare(void)
{
    if (!now.differs && strcmp(now.said[MODEL], now.said[REAL]) != 0) {
        printf("history %llu, step %u:\n%s\nthe model:\n%s\nPostgreSQL:\n%s\n",
               (unsigned long long)now.seed, now.step, now.steps, now.said[MODEL], now.said[REAL]);
        fflush(stdout);
        now.differs = true;
    }
    now.len[MODEL] = now.len[REAL] = 0;
    now.said[MODEL][0] = now.said[REAL][0] = '\0';
}

static void fail(const char *what, const char *why)
{
    printf("history %llu, step %u: %s: %s\n%s\n", (unsigned long long)now.seed, now.step, what, why,
           now.steps);
    exit(1);
}

/* --- The model's time: it passes only while somebody waits --- */

static struct pg *pg;
static uint64_t virtual_now = UINT64_C(1000000000);

static uint64_t model_now(void *arg)
{
    (void)arg;
    return virtual_now;
}

static uint64_t model_wall(void *arg)
{
    (void)arg;
    return UINT64_C(1700000000000000000) + virtual_now;
}

static uint64_t model_below(void *arg, uint64_t n)
{
    (void)arg;
    (void)n;
    return 0;
}

static void model_wait(void *arg, int wake, uint64_t until)
{
    (void)arg;
    (void)wake;
    virtual_now = until == PG_NEVER     ? virtual_now + 1000000
                  : until > virtual_now ? until
                                        : virtual_now + 1;
}

static void open_model(void)
{
    static const struct pg_env env = {
        .now = model_now, .wall = model_wall, .below = model_below, .wait = model_wait};
    const struct pg_shape shape = {.synchronous = true};
    if (pg)
        pg_free(pg);
    pg = pg_new(&env, &shape, "ergon");
    pg_handles_of(pg);
}

/* --- The real server's --- */

static PGconn *admin,
    *other; /* other: holds locks; what goes on is seen outside of a transaction */

__attribute__((format(printf, 2, 0))) static const char *run(PGconn *by, const char *format,
                                                             va_list args)
{
    static char answer[WORD];
    char statement[WORD];
    vsnprintf(statement, sizeof statement, format, args);
    PGresult *r = PQexec(by, statement);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail(statement, PQresultErrorMessage(r));
    snprintf(answer, sizeof answer, "%s",
             PQntuples(r) > 0 && PQnfields(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    PQclear(r);
    return answer;
}

__attribute__((format(printf, 1, 2))) static const char *sql(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *answer = run(admin, format, args);
    va_end(args);
    return answer;
}

__attribute__((format(printf, 1, 2))) static void sql_other(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    run(other, format, args);
    va_end(args);
}

/* Until a backend of the node waits for that. */
static void await_wait(char node, const char *event)
{
    for (int n = 0; n < 5000; n++) {
        if (strcmp(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '%c' AND "
                       "wait_event%s",
                       node, event),
                   "0") != 0)
            return;
        usleep(LOOK_US);
    }
    fail("no backend waits", event);
}

/* `node`: NULL for all. */
static void await_gone(const char *node)
{
    for (int n = 0; n < 5000; n++) {
        if (strcmp(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name %s '%s'",
                       node ? "=" : "~", node ? node : "^[a-d]$"),
                   "0") == 0)
            return;
        usleep(LOOK_US);
    }
    fail("a backend does not end", "");
}

/* DELETE: to empty tables by TRUNCATE takes longer than a history, since it makes each file anew
 * and all backends forget what they know of the tables. */
static void clear_rows(void)
{
    static const char *const all[] = {"submissions", "options", "lives", "events",
                                      "crons",       "queues",  "rates", "semaphores",
                                      "holds",       "nodes",   "owner"};
    bool anew = now.seed % ANEW_EACH == 0;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        sql(anew ? "TRUNCATE ergon.%s" : "DELETE FROM ergon.%s", all[n]);
    sql("INSERT INTO ergon.owner DEFAULT VALUES");
}

/* --- Nodes --- */

static struct side {
    const struct store_driver *driver;
    const struct cluster_engine *engine;
    const char *url;
} sides[SIDES];

static struct node {
    char name[2];
    uint64_t incarnation, epoch; /* epoch: of its last load; 0: none */
    void *driver[SIDES], *member[SIDES];
    struct engine_view view[SIDES]; /* its last look */
    bool looked, won;
    uint64_t won_epoch;
    char urls[SIDES][WORD];
} nodes[NODES];
static uint32_t node_count;

static void open_member(struct node *n, int side)
{
    char error[WORD];
    const struct engine_setup setup = {.where = n->urls[side],
                                       .cluster = "ergon",
                                       .node = n->name,
                                       .incarnation = n->incarnation,
                                       .address = "",
                                       .version = "1",
                                       .weight = 1};
    n->member[side] = sides[side].engine->open(&setup, error, sizeof error);
    if (!n->member[side])
        fail("a member does not open", error);
}

static void open_driver(struct node *n, int side)
{
    struct store_fault fault;
    const struct store_setup setup = {.where = n->urls[side],
                                      .retry = AO_MS(1),
                                      .names = row_names_of(client_states, 5),
                                      .tables = tables,
                                      .table_count = sizeof tables / sizeof *tables,
                                      .node = n->name,
                                      .incarnation = n->incarnation,
                                      .stop = -1,
                                      .by_storage = true};
    n->driver[side] = sides[side].driver->open(&setup, &fault);
    if (!n->driver[side])
        fail("a driver does not open", fault.text);
}

static void close_node(struct node *n)
{
    for (int side = 0; side < SIDES; side++) {
        if (n->member[side])
            sides[side].engine->close(n->member[side]);
        sides[side].driver->close(n->driver[side]);
        n->member[side] = n->driver[side] = NULL;
    }
}

/* A process of this name begins. */
static void begin_node(struct node *n)
{
    n->incarnation = draw() >> 2 | 1;
    n->epoch = 0;
    n->looked = n->won = false;
    for (int side = 0; side < SIDES; side++)
        open_member(n, side);
}

/* --- Rows --- */

static struct store_text text;
static int read_side;

static void see_marks(void *arg, const struct store_marks *m)
{
    (void)arg;
    say(read_side, "marks %llu %llu %llu %llu %u %llu\n", (unsigned long long)m->last_id,
        (unsigned long long)m->last_fence, (unsigned long long)m->id_mark,
        (unsigned long long)m->fence_mark, m->boards, (unsigned long long)m->commits);
}

static bool (*write_task)(void *arg, const struct store_task *task);
static bool see_task(void *arg, const struct store_task *t)
{
    say(read_side, "task %llu: options %d, life %d, boards %u\n", (unsigned long long)t->id,
        t->has_options, t->has_life, t->boards);
    return write_task(arg, t);
}

static int read_chunk(int side, struct store_chunk *chunk, const struct store_reader *reader)
{
    char error[WORD] = "";
    int more;
    while ((more = store_chunk_read(chunk, reader, 100, error, sizeof error)) > 0)
        ;
    if (more < 0)
        say(side, "refused: %s\n", error);
    return more;
}

static void load(struct node *n, int side, uint64_t epoch)
{
    struct store_fault fault = {0};
    struct store_reader reader = store_text_reader(&text);
    int more = 1;
    write_task = reader.task;
    reader.task = see_task;
    reader.marks = see_marks;
    read_side = side;
    while (more > 0) {
        struct store_chunk *chunk = store_chunk_new();
        more = sides[side].driver->load(n->driver[side], epoch, chunk, &fault);
        if (more < 0)
            say(side, "load: %d\n", (int)fault.error);
        else if (read_chunk(side, chunk, &reader) < 0)
            more = -1;
        store_chunk_free(chunk);
    }
    say(side, "%s", text.text);
}

static void compare_rows(void)
{
    struct node *n = &nodes[0];
    for (int side = 0; side < SIDES; side++) {
        if (!n->driver[side])
            open_driver(n, side);
        load(n, side, 0);
    }
    compare();
}

/* --- Operations --- */

enum { WORDS = OPS * 32 };
static char words[WORDS][24];
static uint32_t word_count;

static struct span word(void)
{
    static const char *const all[] = {"", "a", "bb", "k\xc3\xa4", "x\xff"};
    uint32_t n = below(40);
    if (n == 39)
        return span_of("a\0b", 3);
    char *to = words[word_count++ % WORDS];
    snprintf(to, sizeof *words, "%s", all[n == 38 ? 4 : n % 4]);
    return span_text(to);
}

static uint64_t number(void)
{
    static const uint64_t all[] = {0, 1, 2, 77, INT64_MAX, UINT64_MAX};
    uint32_t n = below(12);
    return all[n < 6 ? n : n % 4];
}

static void draw_task(struct store_op *op)
{
    struct store_task *t = &op->task;
    t->id = 1 + below(IDS);
    t->method = span_text(one_in(8) ? "other" : "echo");
    t->tenant = word();
    t->durable = (uint8_t)(1 + below(3));
    t->created = 5;
    t->params = word();
    t->boards = below(3);
    t->has_options = one_in(3);
    t->key = word();
    t->limit = (uint32_t)number();
    t->deadline_at = number();
    t->keep = number();
    t->priority = (uint8_t)number();
    t->after = one_in(2) ? span_of("\0\0\0\0\0\0\0\1", 8) : span_of(NULL, 0);
    if (op->kind == STORE_CHANGE || one_in(4)) {
        t->state = (uint8_t)below(5);
        t->attempt = below(4);
        t->due_at = number();
        t->ended_at = one_in(3) ? 9 : 0;
        t->error_text = word();
        t->result = word();
    }
    t->anew = one_in(4);
    t->settled = one_in(4);
    op->add.submitted = op->kind == STORE_PUT;
    op->add.done = op->kind == STORE_CHANGE && t->state == 1;
}

static void draw_event(struct store_op *op)
{
    op->event = (struct store_event){.id = 1 + below(IDS),
                                     .seq = 1 + below(5),
                                     .at = number(),
                                     .what = span_text("began"),
                                     .text = word(),
                                     .oldest = one_in(3) ? below(6) : 0};
}

static void set_row(struct store_op *op, const struct store_table *table, const void *row,
                    size_t size)
{
    op->table = table;
    memcpy(op->row, row, size);
}

static void draw_cron(struct store_op *op)
{
    struct store_cron c = {.id = below(4),
                           .name = span_text(one_in(2) ? "n" : "m"),
                           .tenant = one_in(2) ? span_text("t") : span_of(NULL, 0),
                           .method = word(),
                           .next_at = number(),
                           .last_task = number(),
                           .paused = (uint8_t)below(2)};
    set_row(op, op->kind == STORE_ROW_PUT && one_in(2) ? &store_cron_states : &store_crons, &c,
            sizeof c);
}

static void draw_row(struct store_op *op)
{
    struct store_queue q = {.method =
                                one_in(9) ? span_of(NULL, 0) : span_text(one_in(2) ? "a" : "b"),
                            .paused = (uint8_t)below(2),
                            .offered_at = number()};
    struct store_rate r = {
        .id = below(4), .key = span_text("k"), .max = below(9), .per = number(), .starts = word()};
    struct store_semaphore s = {.id = 1 + below(3), .name = word(), .permits = below(4)};
    struct store_hold h = {.id = 1 + below(5), .name = span_text("s"), .ends_at = number()};
    struct store_node_board b = {.node = span_text(one_in(2) ? "a" : "b"), .board = number()};
    switch (below(6)) {
    case 0:
        set_row(op, &store_queues, &q, sizeof q);
        return;
    case 1:
        set_row(op, &store_rates, &r, sizeof r);
        return;
    case 2:
        set_row(op, &store_semaphores, &s, sizeof s);
        return;
    case 3:
        set_row(op, &store_holds, &h, sizeof h);
        return;
    case 4:
        if (op->kind == STORE_ROW_PUT) {
            set_row(op, &store_node_boards, &b, sizeof b);
            return;
        }
        break;
    default:
        break;
    }
    draw_cron(op);
}

static void draw_op(struct store_op *op)
{
    static const enum store_kind kinds[] = {
        STORE_PUT,      STORE_PUT,   STORE_PUT,     STORE_CHANGE,     STORE_CHANGE,
        STORE_EVENT,    STORE_EVENT, STORE_ROW_PUT, STORE_ROW_REMOVE, STORE_REMOVE,
        STORE_SET_BACK, STORE_COUNT, STORE_MARKS,   STORE_SYNC};
    *op = (struct store_op){.kind = kinds[below(sizeof kinds / sizeof *kinds)]};
    if (op->kind == STORE_PUT || op->kind == STORE_CHANGE)
        draw_task(op);
    else if (op->kind == STORE_REMOVE)
        op->task.id = 1 + below(IDS);
    else if (op->kind == STORE_EVENT)
        draw_event(op);
    else if (op->kind == STORE_ROW_PUT || op->kind == STORE_ROW_REMOVE)
        draw_row(op);
    else if (op->kind == STORE_SET_BACK)
        op->back = 1 + below(50);
    else if (op->kind == STORE_COUNT)
        op->audit.from = below(IDS);
    else if (op->kind == STORE_MARKS)
        op->marks = (struct store_marks){.id_mark = below(1000), .fence_mark = below(1000)};
}

/* --- Batches --- */

static struct batch {
    struct store_op ops[SIDES][OPS];
    struct store_op *at[SIDES][OPS];
    struct store_batch batch[SIDES];
} batches[2];

static const char *table_of(const struct store_op *op)
{
    bool has = op->kind == STORE_ROW_PUT || op->kind == STORE_ROW_REMOVE;
    return !has ? "" : op->table == &store_cron_states ? "(states)" : op->table->table;
}

/* `first`: the first of them, or NULL: any. */
static void draw_batch(struct batch *b, const struct store_op *first)
{
    uint32_t count = first && first->kind == STORE_HAND_OVER ? 1 : 1 + below(OPS);
    note(" batch of %u:", count);
    for (uint32_t i = 0; i < count; i++) {
        draw_op(&b->ops[MODEL][i]);
        if (first && i == 0)
            b->ops[MODEL][i] = *first;
        b->ops[REAL][i] = b->ops[MODEL][i];
        note(" %d%s", (int)b->ops[MODEL][i].kind, table_of(&b->ops[MODEL][i]));
        for (int side = 0; side < SIDES; side++)
            b->at[side][i] = &b->ops[side][i];
    }
    for (int side = 0; side < SIDES; side++)
        b->batch[side] = (struct store_batch){.ops = b->at[side], .count = count};
}

/* Until the driver has ended the batch. */
static void work(struct node *n, int side, const struct store_batch *ends)
{
    const struct store_driver *d = sides[side].driver;
    ao_time limit = clock_monotonic() + AO_S(30);
    for (;;) {
        ao_time timeout = d->work(n->driver[side], false);
        struct store_batch *ended = d->ended(n->driver[side]);
        if (ended == ends)
            return;
        if (ended || clock_monotonic() > limit)
            fail("a batch does not end", side == MODEL ? "the model" : "PostgreSQL");
        d->wait(n->driver[side], -1, timeout < AO_MS(50) ? timeout : AO_MS(50));
    }
}

static void say_batch(int side, const struct batch *b)
{
    say(side, "batch %d:", (int)b->batch[side].error);
    for (uint32_t i = 0; i < b->batch[side].count; i++) {
        const struct store_op *op = &b->ops[side][i];
        const struct store_audit *a = &op->audit;
        say(side, " %d", (int)op->error);
        if (op->kind == STORE_COUNT && op->error == STORE_OK)
            say(side, "(%llu %lld %lld %llu %llu %llu)", (unsigned long long)a->next,
                (long long)a->counters.submitted, (long long)a->counters.done,
                (unsigned long long)a->open, (unsigned long long)a->done,
                (unsigned long long)a->failed);
    }
    say(side, "\n");
}

static void begin_batches(struct node *n, int side, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sides[side].driver->begin(n->driver[side], &batches[i].batch[side]);
}

static void end_batches(struct node *n, uint32_t count)
{
    for (int side = 0; side < SIDES; side++)
        for (uint32_t i = 0; i < count; i++) {
            work(n, side, &batches[i].batch[side]);
            say_batch(side, &batches[i]);
        }
}

/* `first`: as in draw_batch(), of the first batch. */
static uint32_t draw_batches(struct node *n, const struct store_op *first)
{
    const struct store_op hand_over = {.kind = STORE_HAND_OVER};
    first = one_in(20) ? &hand_over : first;
    uint32_t count = first == &hand_over ? 1 : 1 + below(2);
    for (uint32_t i = 0; i < count; i++)
        draw_batch(&batches[i], i == 0 ? first : NULL);
    for (int side = 0; side < SIDES; side++)
        if (!n->driver[side])
            open_driver(n, side);
    return count;
}

static void step_batch(struct node *n)
{
    note("%s:", n->name);
    uint32_t count = draw_batches(n, NULL);
    note("\n");
    for (int side = 0; side < SIDES; side++)
        begin_batches(n, side, count);
    end_batches(n, count);
}

/* --- Rows of the cluster --- */

static void say_view(int side, const struct engine_view *v)
{
    const struct engine_owner *o = &v->owner;
    say(side, "owner '%s' %llu epoch %llu batch %llu boards %u tries %u marks %llu %llu\n", o->node,
        (unsigned long long)o->incarnation, (unsigned long long)o->epoch,
        (unsigned long long)o->batch, o->boards, o->tries, (unsigned long long)o->id_mark,
        (unsigned long long)o->fence_mark);
    for (uint32_t i = 0; i < v->count; i++)
        say(side, "node %s %llu %s '%s' board %llu weight %u\n", v->nodes[i].node,
            (unsigned long long)v->nodes[i].incarnation, v->nodes[i].state, v->nodes[i].note,
            (unsigned long long)v->nodes[i].board, v->nodes[i].weight);
}

static void step_join(struct node *n)
{
    char error[WORD];
    note("%s: join\n", n->name);
    for (int side = 0; side < SIDES; side++) {
        enum engine_result r =
            sides[side].engine->join(n->member[side], &n->view[side], error, sizeof error);
        say(side, "join %d\n", (int)r);
        if (r == ENGINE_DONE)
            say_view(side, &n->view[side]);
        n->looked |= r == ENGINE_DONE;
    }
}

static void step_look(struct node *n)
{
    char error[WORD];
    note("%s: look\n", n->name);
    for (int side = 0; side < SIDES; side++) {
        enum engine_result r =
            sides[side].engine->look(n->member[side], &n->view[side], error, sizeof error);
        say(side, "look %d\n", (int)r);
        if (r == ENGINE_DONE)
            say_view(side, &n->view[side]);
        n->looked |= r == ENGINE_DONE;
    }
}

static void step_renew(struct node *n)
{
    char error[WORD];
    note("%s: renew\n", n->name);
    for (int side = 0; side < SIDES; side++)
        say(side, "renew %d\n",
            (int)sides[side].engine->renew(n->member[side], error, sizeof error));
}

static void step_say(struct node *n)
{
    static const char *const states[] = {"front", "loading", "owner", "draining", "left"};
    const char *state = states[below(5)], *what = one_in(2) ? "" : "a note";
    char error[WORD];
    note("%s: say %s\n", n->name, state);
    for (int side = 0; side < SIDES; side++)
        say(side, "say %d\n",
            (int)sides[side].engine->say(n->member[side], state, what, error, sizeof error));
}

static void step_ask(struct node *n)
{
    static const char *const verbs[] = {"drain",   "forget",     "retry", "retry",
                                        "give_up", "leave_load", "jump"};
    const char *verb = verbs[below(7)], *of = nodes[below(node_count)].name;
    char error[WORD];
    note("%s: ask %s %s\n", n->name, verb, of);
    for (int side = 0; side < SIDES; side++)
        say(side, "ask %d\n",
            (int)sides[side].engine->ask(n->member[side], verb, of, error, sizeof error));
}

static struct engine_take_over take_of(const struct engine_view *v, bool keeps_board)
{
    struct engine_take_over take = {.epoch = v->owner.epoch, .keeps_board = keeps_board};
    for (uint32_t i = 0; i < v->count; i++)
        if (strcmp(v->nodes[i].node, v->owner.node) == 0)
            take.dead = v->nodes[i];
    return take;
}

/* By what it saw last, which may be old. */
static void step_take_over(struct node *n)
{
    bool keeps = one_in(3);
    char error[WORD];
    note("%s: take over\n", n->name);
    for (int side = 0; side < SIDES; side++) {
        struct engine_owner owner = {0};
        struct engine_take_over take = take_of(&n->view[side], keeps);
        enum engine_result r =
            sides[side].engine->take_over(n->member[side], &take, &owner, error, sizeof error);
        say(side, "take over %d\n", (int)r);
        if (r != ENGINE_DONE)
            continue;
        say_view(side, &(struct engine_view){.owner = owner});
        n->won = true;
        n->won_epoch = owner.epoch;
    }
}

static void step_load(struct node *n)
{
    uint64_t epoch = n->won ? n->won_epoch : 0;
    note("%s: load %llu\n", n->name, (unsigned long long)epoch);
    for (int side = 0; side < SIDES; side++) {
        if (!n->driver[side])
            open_driver(n, side);
        load(n, side, epoch);
    }
    n->epoch = epoch ? epoch : n->epoch;
}

/* --- Faults --- */

static void step_restart(struct node *n)
{
    note("%s: dies\n", n->name);
    close_node(n);
    await_gone(n->name);
    begin_node(n);
}

/* Until the process has ended: a backend leaves pg_stat_activity before its connection closes. */
static void await_end(pid_t pid)
{
    for (int n = 0; n < 5000; n++) {
        if (kill(pid, 0) != 0 && errno == ESRCH)
            return;
        usleep(LOOK_US);
    }
    fail("a backend does not end", "");
}

/* The wait of the node's commit for the standby is over, as nobody else ends it. */
static void cancel_wait(const struct node *n)
{
    char waits[WORD];
    snprintf(waits, sizeof waits, "%s",
             sql("SELECT format('pid = %%s AND backend_xid = ''%%s''', "
                 "CASE WHEN pg_cancel_backend(pid) THEN pid END, backend_xid) "
                 "FROM pg_stat_activity WHERE application_name = '%s' AND wait_event = 'SyncRep'",
                 n->name));
    for (int tries = 0; tries < 5000; tries++) {
        if (strcmp(sql("SELECT count(*) FROM pg_stat_activity WHERE %s", waits), "0") == 0)
            return;
        usleep(LOOK_US);
    }
    fail("a wait is not cancelled", waits);
}

static void break_links(const struct node *n)
{
    char pids[WORD];
    snprintf(pids, sizeof pids, "%s",
             sql("SELECT string_agg(CASE WHEN pg_terminate_backend(pid) THEN pid::text END, ' ') "
                 "FROM pg_stat_activity WHERE application_name = '%c'",
                 n->name[0]));
    for (char *at = pids; *at != '\0';)
        await_end((pid_t)strtol(at, &at, 10));
    pg_terminate(pg, n->name);
}

static void step_break(struct node *n)
{
    note("%s: links break\n", n->name);
    break_links(n);
}

/* Runs what the driver has to do for a moment, while it cannot end. */
static void work_until(struct node *n, const char *event)
{
    const struct store_driver *d = sides[REAL].driver;
    for (int tries = 0; tries < 5000; tries++) {
        d->work(n->driver[REAL], false);
        if (strcmp(sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s' AND "
                       "wait_event%s",
                       n->name, event),
                   "0") != 0)
            break;
        d->wait(n->driver[REAL], -1, AO_MS(1));
    }
    await_wait(n->name[0], event);
    for (int turn = 0; turn < 20; turn++) {
        sides[MODEL].driver->work(n->driver[MODEL], false);
        virtual_now++;
    }
}

/* Its next batch gets to the rows. */
static bool owns(const struct node *n)
{
    struct store_state state = {.error = STORE_FENCED};
    if (n->driver[REAL])
        sides[REAL].driver->state(n->driver[REAL], &state);
    return n->epoch && state.error != STORE_FENCED &&
           strtoull(sql("SELECT epoch FROM ergon.owner"), NULL, 10) == n->epoch;
}

/* To with_postgres.py. */
static void order(const char *what)
{
    char answer[WORD];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", getenv("ERGON_TEST_PG_CONTROL"));
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
        fail("connect", to.sun_path);
    dprintf(fd, "%s\n", what);
    ssize_t len = read(fd, answer, sizeof answer - 1);
    close(fd);
    if (len < 2 || strncmp(answer, "ok", 2) != 0)
        fail(what, "is not answered by ok");
}

/* Another node takes the place of the owner. */
static void take_away(struct pg_link *by)
{
    struct pg_call *call = pg_call_new(PG_TAKE_PLACE);
    snprintf(call->node, sizeof call->node, "z");
    snprintf(call->former, sizeof call->former, "%s",
             sql("SELECT coalesce(node, '') FROM ergon.owner"));
    call->epoch = strtoull(sql("SELECT epoch FROM ergon.owner"), NULL, 10);
    pg_send(by, pg_call_new(PG_RETRY));
    pg_send(by, call);
    sql_other("UPDATE ergon.owner SET node = 'z', incarnation = 0, epoch = epoch + 1, batch = 0, "
              "tries = 1");
}

/* The owner's row is locked while the batch comes; then its links break, or another node has won
 * meanwhile, or nothing happens. */
static void step_held(struct node *n)
{
    note("%s: held:", n->name);
    uint32_t what = below(3), count = draw_batches(n, NULL);
    note(what == 0 ? " links break\n" : what == 1 ? " another epoch\n" : "\n");
    struct pg_link *holder = pg_connect(pg, "z");
    sql_other("BEGIN");
    sql_other("SELECT 1 FROM ergon.owner FOR UPDATE");
    pg_send(holder, pg_call_new(PG_BEGIN));
    pg_send(holder, pg_call_new(PG_LOCK_OWNER));
    for (int side = 0; side < SIDES; side++)
        begin_batches(n, side, count);
    work_until(n, "_type = 'Lock'");
    if (what == 0)
        break_links(n);
    if (what == 1)
        take_away(holder);
    sql_other("COMMIT");
    pg_send(holder, pg_call_new(PG_COMMIT));
    pg_close(holder);
    end_batches(n, count);
}

/* It is written (its first operation cannot be refused), and waits for the standby; then its links
 * break, or the wait is cancelled. */
static void step_unanswered(struct node *n)
{
    note("%s: unanswered:", n->name);
    uint32_t count = draw_batches(n, &(struct store_op){.kind = STORE_MARKS, .marks.id_mark = 1});
    bool breaks = one_in(2);
    note(breaks ? " links break\n" : " wait is cancelled\n");
    order("freeze s1");
    pg_separate(pg, 1, true);
    pg_separate(pg, 2, true);
    for (int side = 0; side < SIDES; side++)
        begin_batches(n, side, count);
    work_until(n, " = 'SyncRep'");
    if (breaks) {
        break_links(n);
    } else {
        cancel_wait(n);
        pg_cancel_waits(pg);
    }
    order("thaw s1");
    pg_separate(pg, 1, false);
    pg_separate(pg, 2, false);
    end_batches(n, count);
}

/* --- Histories --- */

static void step(void)
{
    static void (*const steps[])(struct node * n) = {
        step_join,      step_look, step_look, step_renew, step_say,   step_ask,   step_take_over,
        step_take_over, step_load, step_load, step_batch, step_batch, step_batch, step_batch};
    struct node *n = &nodes[below(node_count)];
    uint32_t what = below(60);
    if (what == 0)
        step_restart(n);
    else if (what == 1)
        step_break(n);
    else if (what < 7 && owns(n))
        step_held(n);
    else if (what < 9 && owns(n))
        step_unanswered(n);
    else
        steps[below(sizeof steps / sizeof *steps)](n);
    compare();
}

/* True: the model and the server were the same. */
static bool play(uint64_t seed)
{
    now = (struct history){.seed = seed};
    chance = seed * 1000003;
    node_count = 2 + below(3);
    clear_rows();
    open_model();
    for (uint32_t i = 0; i < node_count; i++) {
        begin_node(&nodes[i]);
        step_join(&nodes[i]);
        compare();
    }
    for (now.step = 1; now.step <= STEPS && !now.differs; now.step++)
        step();
    if (!now.differs)
        compare_rows();
    for (uint32_t i = 0; i < node_count; i++)
        close_node(&nodes[i]);
    await_gone(NULL);
    return !now.differs;
}

/* How many differ. */
static unsigned long long play_all(unsigned long long first, unsigned long long count)
{
    unsigned long long differ = 0;
    for (unsigned long long n = 1; n <= count; n++) {
        differ += !play(first + n - 1);
        if (n % PROGRESS == 0 && n < count) {
            printf("%llu histories, %llu differ\n", n, differ);
            fflush(stdout);
        }
    }
    return differ;
}

static const void *symbol(const char *url, const char *name)
{
    char error[WORD];
    const void *found = driver_symbol(url, name, error, sizeof error);
    if (!found)
        fail(name, error);
    return found;
}

static void set_up(const char *url)
{
    char error[WORD];
    const struct cluster_admin *people = symbol(url, CLUSTER_ADMIN_SYMBOL);
    admin = PQconnectdb(getenv("ERGON_TEST_PG_ADMIN_URL"));
    other = PQconnectdb(getenv("ERGON_TEST_PG_ADMIN_URL"));
    sql("SET client_min_messages = error");
    sql("DROP SCHEMA IF EXISTS ergon CASCADE");
    if (people->init(url, "ergon", NULL, error, sizeof error) != 0)
        fail("init", error);
    sides[MODEL] = (struct side){.driver = &pg_store_driver, .engine = &pg_cluster_engine};
    sides[REAL] = (struct side){.driver = symbol(url, STORE_DRIVER_SYMBOL),
                                .engine = symbol(url, CLUSTER_ENGINE_SYMBOL)};
    for (int i = 0; i < NODES; i++) {
        nodes[i].name[0] = (char)('a' + i);
        snprintf(nodes[i].urls[MODEL], WORD, "postgresql://model/ergon");
        snprintf(nodes[i].urls[REAL], WORD, "%.400s%capplication_name=%c", url,
                 strchr(url, '?') ? '&' : '?', nodes[i].name[0]);
    }
}

int main(int argc, char **argv)
{
    const char *url = getenv("ERGON_TEST_PG_URL");
    unsigned long long count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long long first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (!url) {
        fputs("skipped: run it by tests/support/with_postgres.py\n", stdout);
        return 77;
    }
    set_up(url);
    unsigned long long differ = play_all(first, count);
    printf("%llu histories from %llu: %llu differ in rows or outcomes\n", count, first, differ);
    return differ > 0;
}
