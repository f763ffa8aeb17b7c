/* The driver of a store on the model: units, settlings and halving as those of
 * server/store/postgres/ (see driver_parts.h there), on calls in place of pipelines. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/chunk.h"
#include "sim/pg/handle_parts.h"

enum { BATCHES = 2, UNITS = 2, UNIT_OPS = 4096 };
#define SECOND         UINT64_C(1000000000)
#define BACK_OFF       (SECOND / 20)
#define BACK_OFF_MOST  (2 * SECOND)
#define SILENT         (5 * SECOND)
#define FORSAKEN       (10 * SECOND)
#define UNREPLICATED   SECOND
#define DOUBTED        SECOND
#define SET_BACK_LEAST SECOND

struct unit {
    struct store_batch *batch; /* NULL: an empty one, which tries whether it works again */
    uint32_t from, count;
    uint64_t number, sent_at;
    uint8_t need;
};

struct store {
    struct pg *pg;
    char node[CLUSTER_NAME_MAX];
    struct row_names names;
    uint64_t retry;
    uint8_t require, lacks;
    bool by_storage;
    struct pg_load_setup load_setup;
    struct pg_loader *loader;

    struct pg_link *link; /* NULL: it is away */
    uint64_t retry_at, back_off, asked_at, unreplicated, rows_ahead;
    uint64_t epoch, session, committed;
    bool fenced, must_settle, unsure, discards, silent, over;
    enum store_error broken;

    struct {
        struct store_batch *batch;
        uint32_t left;
        bool lost_group, follows_lost;
    } begun[BATCHES];
    uint32_t begun_count, next_batch, next_op;
    struct unit sent[UNITS];
    uint32_t sent_count, flights;
    struct { /* a range one of which was refused */
        struct store_batch *batch;
        uint32_t end, most;
    } suspects;
    struct store_state state;
    struct store_fault fault;
};

static uint64_t now(const struct store *s)
{
    return pg_now(s->pg);
}

static void say(struct store *s, enum store_error error, const char *text)
{
    s->fault.error = error;
    snprintf(s->fault.text, sizeof s->fault.text, "the model of PostgreSQL: %s", text);
}

/* --- Outcomes of operations --- */

static uint32_t begun_at(const struct store *s, const struct store_batch *batch)
{
    uint32_t n = 0;
    while (s->begun[n].batch != batch)
        n++;
    return n;
}

static void lose_group(struct store *s, uint32_t begun)
{
    s->begun[begun].lost_group = true;
    for (; begun < s->begun_count; begun++)
        s->begun[begun].follows_lost = true;
}

/* A read has its own error, if it has one. */
static void end(struct store *s, const struct unit *unit, enum store_error error)
{
    for (uint32_t n = 0; n < unit->count; n++) {
        struct store_op *op = unit->batch->ops[unit->from + n];
        if (error != STORE_OK || !pg_op_reads(op->kind))
            store_op_end(op, error);
        if (error != STORE_OK && op->kind == STORE_GROUP)
            lose_group(s, begun_at(s, unit->batch));
    }
    if (unit->batch)
        s->begun[begun_at(s, unit->batch)].left -= unit->count;
}

static struct unit pop(struct store *s)
{
    struct unit unit = s->sent[0];
    assert(s->sent_count > 0);
    s->sent_count--;
    memmove(s->sent, s->sent + 1, s->sent_count * sizeof *s->sent);
    return unit;
}

/* The next unit begins where that one did. */
static void again(struct store *s, const struct unit *unit)
{
    s->sent_count = 0;
    for (uint32_t n = 0; unit->batch && n < s->begun_count; n++)
        if (s->begun[n].batch == unit->batch) {
            s->next_batch = n;
            s->next_op = unit->from;
        }
}

static void go_on(struct store *s, uint32_t count)
{
    s->next_op += count;
    if (s->next_op < s->begun[s->next_batch].batch->count)
        return;
    s->next_batch++;
    s->next_op = 0;
}

static void end_next(struct store *s, enum store_error error)
{
    struct unit unit = {.batch = s->begun[s->next_batch].batch, .from = s->next_op, .count = 1};
    end(s, &unit, error);
    if (s->suspects.batch == unit.batch && s->next_op + 1 >= s->suspects.end)
        s->suspects.batch = NULL;
    go_on(s, 1);
}

static void end_all(struct store *s, enum store_error error)
{
    while (s->sent_count > 0) {
        struct unit unit = pop(s);
        end(s, &unit, s->unsure ? STORE_UNSURE : error);
    }
    s->unsure = false;
    while (s->next_batch < s->begun_count)
        end_next(s, error);
    s->suspects.batch = NULL;
}

/* --- Halving --- */

static void narrow(struct store *s, uint32_t from, bool found)
{
    uint32_t left = s->suspects.end - from;
    if (left == 0)
        s->suspects.batch = NULL;
    else
        s->suspects.most = found || left == 1 ? left : left / 2;
}

static void refused(struct store *s, const struct unit *unit)
{
    uint32_t behind = unit->from + unit->count;
    again(s, unit);
    if (unit->count == 1)
        end_next(s, STORE_REFUSED);
    if (s->suspects.batch != unit->batch) {
        s->suspects.batch = unit->batch;
        s->suspects.end = behind;
    }
    if (unit->count > 1)
        s->suspects.most = unit->count / 2;
    else
        narrow(s, behind, true);
}

static uint32_t most_now(const struct store *s, const struct store_batch *batch)
{
    if (!s->suspects.batch || s->suspects.batch != batch)
        return UNIT_OPS;
    uint32_t left = s->suspects.end - s->next_op;
    return s->suspects.most < left ? s->suspects.most : left;
}

/* --- What became of a unit --- */

static void note_level(struct store *s, uint8_t level)
{
    s->state.level = s->by_storage ? STORE_LEVEL_REPLICATED : (enum store_level)level;
    if (level == STORE_LEVEL_REPLICATED)
        s->unreplicated = 0;
}

static bool counts(const struct unit *unit)
{
    return unit->batch && unit->batch->ops[unit->from]->kind == STORE_COUNT;
}

static void committed(struct store *s)
{
    struct unit unit = pop(s);
    s->committed = unit.number;
    end(s, &unit, STORE_OK);
    s->broken = STORE_OK;
    s->fault = (struct store_fault){0};
    if (!unit.batch)
        return;
    const struct store_op *first = unit.batch->ops[unit.from];
    if (s->suspects.batch == unit.batch)
        narrow(s, unit.from + unit.count, false);
    if (first->kind == STORE_SET_BACK)
        s->rows_ahead -= first->back;
    if (first->kind != STORE_HAND_OVER)
        return;
    say(s, STORE_FENCED, "this node has handed the tasks over");
    s->fenced = true;
    s->must_settle = false;
    end_all(s, STORE_FENCED);
}

static uint8_t durable_of(const struct store_op *op)
{
    if (op->kind == STORE_ROW_PUT && op->table->by_key)
        return STORE_LEVEL_FSYNC;
    if (op->kind == STORE_ROW_PUT)
        return op->table->durable ? op->row[op->table->durable] : 0;
    return op->kind == STORE_PUT || (op->kind == STORE_CHANGE && op->task.rises) ? op->task.durable
                                                                                 : 0;
}

static uint8_t need_of_one(const struct store *s, const struct store_op *op)
{
    uint8_t durable = durable_of(op);
    if (s->by_storage || durable < STORE_LEVEL_FSYNC)
        return 0;
    return durable == STORE_LEVEL_REPLICATED ? STORE_LEVEL_REPLICATED : s->require;
}

static const struct store_op *members_of(const struct store_op *op)
{
    return op->kind == STORE_GROUP ? op->group.first : NULL;
}

static uint8_t need_of(const struct store *s, const struct store_op *op)
{
    uint8_t need = need_of_one(s, op);
    for (const struct store_op *m = members_of(op); m; m = m->next)
        need = need_of_one(s, m) > need ? need_of_one(s, m) : need;
    return need;
}

static void note_lack(struct store *s, const struct unit *unit)
{
    if (now(s) >= s->unreplicated || unit->need < s->lacks)
        s->lacks = unit->need;
    s->unreplicated = now(s) + UNREPLICATED;
}

static void break_off(struct store *s, const char *state)
{
    say(s, pg_error_store(state), state);
    s->broken = s->fault.error;
    s->retry_at = now(s) + s->retry;
    end_all(s, s->broken);
}

static void failed(struct store *s, const char *state)
{
    struct unit unit = s->sent[0];
    enum pg_error kind = pg_error_kind(state);
    s->discards = s->flights > 0;
    if (kind == PG_BROKEN || (kind == PG_REFUSED && unit.count == 0))
        break_off(s, state);
    else if (kind == PG_REFUSED)
        refused(s, &unit);
    else
        again(s, &unit);
    if (kind == PG_LEVEL)
        note_lack(s, &unit);
}

static bool take_row(struct store_op *op, const struct pg_row *from)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    pg_unpack(op->table, from, row);
    if (op->kind == STORE_ROW_GET)
        return row_take(op, row);
    ((struct store_actor *)row)->state = (struct span){0};
    return store_chunk_row(op->chunk, op->table, row);
}

static void take_reads(struct store *s, const struct pg_unit *u)
{
    const struct unit *unit = &s->sent[0];
    uint32_t at = 0;
    for (uint32_t n = 0; n < unit->count; n++) {
        struct store_op *op = unit->batch->ops[unit->from + n];
        bool reads = pg_op_reads(op->kind), good = op->kind != STORE_ROW_PAGE || op->chunk;
        for (uint32_t i = 0; reads && i < u->ops[at].found.count && good; i++)
            good = take_row(op, u->ops[at].found.at[i]);
        if (!good)
            op->error = STORE_MEMORY;
        at += op->kind == STORE_GROUP ? op->group.count : 1;
    }
}

static void lose_reads(const struct unit *unit)
{
    for (uint32_t n = 0; n < unit->count; n++)
        if (pg_op_reads(unit->batch->ops[unit->from + n]->kind))
            unit->batch->ops[unit->from + n]->error = STORE_AWAY;
}

static bool is_doubted(const struct store *s, const struct unit *unit)
{
    return unit->need > 0 && now(s) - unit->sent_at >= DOUBTED;
}

static void take_unit(struct store *s, const struct pg_call *call)
{
    bool wrong = call->state[0] != '\0';
    enum pg_error kind = wrong ? pg_error_kind(call->state) : PG_AGAIN;
    if (s->discards || s->must_settle)
        return;
    if (!wrong && !call->cancelled && !is_doubted(s, &s->sent[0])) {
        if (counts(&s->sent[0]))
            s->sent[0].batch->ops[s->sent[0].from]->audit = call->audit;
        take_reads(s, &call->unit);
        note_level(s, call->level);
        committed(s);
    } else if (wrong && kind != PG_NUMBER && kind != PG_AWAY) {
        failed(s, call->state);
    } else {
        s->must_settle = true;
    }
    s->unsure |= s->must_settle && !wrong;
    s->over |= wrong && kind == PG_AWAY;
}

/* --- Settling --- */

static uint8_t need_of_sent(const struct store *s, uint64_t batch)
{
    uint8_t most = 0;
    for (uint32_t n = 0; n < s->sent_count; n++)
        if (s->sent[n].number <= batch && s->sent[n].need > most)
            most = s->sent[n].need;
    return most;
}

static void settled(struct store *s, uint64_t batch)
{
    while (s->sent_count > 0 && s->sent[0].number <= batch && !counts(&s->sent[0])) {
        lose_reads(&s->sent[0]);
        committed(s);
    }
    if (s->sent_count > 0)
        again(s, &s->sent[0]);
    s->committed = batch;
    s->unsure = s->must_settle = false;
}

static void take_settling(struct store *s, const struct pg_call *call)
{
    if (call->cancelled || call->state[0]) {
        say(s, STORE_AWAY,
            call->cancelled ? "the wait for the standby was cancelled" : call->state);
        s->retry_at = now(s) + s->retry;
        s->over |= call->state[0] && pg_error_kind(call->state) == PG_AWAY;
    } else if (call->rows == 1 && call->level < need_of_sent(s, call->owner.row.batch)) {
        say(s, STORE_AWAY, "no standby is configured any more");
        note_level(s, call->level);
        s->retry_at = now(s) + s->retry;
    } else if (call->rows == 1) {
        s->fault = (struct store_fault){0};
        s->session = call->owner.session;
        note_level(s, call->level);
        settled(s, call->owner.row.batch);
    } else {
        say(s, STORE_FENCED, "another node owns the tasks");
        s->fenced = true;
        s->must_settle = false;
        end_all(s, STORE_FENCED);
    }
}

static bool settle_is_due(const struct store *s)
{
    return s->must_settle && s->epoch && s->flights == 0 && now(s) >= s->retry_at;
}

/* --- To send --- */

static void send(struct store *s, struct pg_call *call)
{
    if (s->flights++ == 0)
        s->asked_at = now(s);
    pg_send(s->link, call); /* that it broke is seen later */
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool lacks_standby(const struct store *s, const struct store_op *op)
{
    uint8_t need = s->unreplicated ? need_of(s, op) : 0;
    return need > 0 && need >= s->lacks && now(s) < s->unreplicated;
}

static enum store_error refusal(const struct store *s, const struct store_batch *batch,
                                const struct store_op *op)
{
    if (op->kind == STORE_GROUP && op->group.follows && s->begun[begun_at(s, batch)].follows_lost)
        return STORE_FOLLOWS;
    return lacks_standby(s, op) ? STORE_UNREPLICATED : STORE_OK;
}

static void add_op(const struct store *s, struct pg_unit *u, const struct store_op *op)
{
    uint64_t fence = 0;
    uint8_t need = need_of(s, op);
    u->counts.submitted += op->add.submitted;
    u->counts.done += op->add.done;
    u->counts.failed += op->add.failed;
    u->counts.cancelled += op->add.cancelled;
    u->counts.expired += op->add.expired;
    u->counts.dead += op->add.dead;
    u->need = need > u->need ? need : u->need;
    if (op->kind == STORE_PUT)
        u->last_id = larger(u->last_id, op->task.id);
    if (op->kind == STORE_ROW_PUT && op->table->fences) {
        memcpy(&fence, op->row + op->table->columns[0].at, sizeof fence);
        u->last_fence = larger(u->last_fence, fence);
    }
    if (op->kind == STORE_MARKS) {
        u->loaded = true;
        u->id_mark = larger(u->id_mark, op->marks.id_mark);
        u->fence_mark = larger(u->fence_mark, op->marks.fence_mark);
    }
    u->leaves |= op->kind == STORE_HAND_OVER;
    for (const struct store_op *m = members_of(op); m; m = m->next)
        add_op(s, u, m);
}

static uint32_t count_ops(struct store_op *const *ops, uint32_t count)
{
    uint32_t all = 0;
    for (uint32_t n = 0; n < count; n++)
        all += ops[n]->kind == STORE_GROUP ? ops[n]->group.count : 1;
    return all;
}

static void begin_read(struct store_op *op)
{
    op->error = STORE_OK;
    op->found = op->kind == STORE_ROW_GET ? false : op->found;
    if (op->kind == STORE_ROW_PAGE)
        store_chunk_begin(&op->chunk); /* without memory take_reads() finds none */
}

static void set_ops(struct pg_op *to, struct store_op *const *ops, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        if (pg_op_reads(ops[n]->kind))
            begin_read(ops[n]);
        if (ops[n]->kind != STORE_GROUP)
            pg_op_set(to++, ops[n]);
        for (const struct store_op *m = members_of(ops[n]); m; m = m->next)
            pg_op_set(to++, m);
    }
}

/* As the driver has it: see time_of_rows() there. */
static uint64_t time_of_rows(struct store *s)
{
    uint64_t at = clock_monotonic(), ahead = clock_wall() - at;
    if ((int64_t)(ahead - s->rows_ahead) > -(int64_t)SET_BACK_LEAST)
        s->rows_ahead = ahead;
    return at + s->rows_ahead;
}

static void send_unit(struct store *s, struct store_batch *batch, uint32_t count)
{
    struct unit unit = {.batch = batch, .number = s->committed + s->sent_count + 1};
    struct pg_call *call = pg_call_new(PG_UNIT);
    struct pg_unit *u = &call->unit;
    *u = (struct pg_unit){
        .epoch = s->epoch, .session = s->session, .number = unit.number, .names = s->names};
    if (count > 0) {
        unit.from = s->next_op;
        unit.count = count;
        u->count = count_ops(batch->ops + unit.from, count);
        u->ops = calloc(u->count, sizeof *u->ops);
        assert(u->ops);
        set_ops(u->ops, batch->ops + unit.from, count);
    }
    for (uint32_t n = 0; n < count; n++)
        add_op(s, u, batch->ops[unit.from + n]);
    u->committed_at = time_of_rows(s);
    unit.need = u->need;
    unit.sent_at = now(s);
    if (count > 0 && batch->ops[unit.from]->kind == STORE_SET_BACK)
        u->committed_at -= batch->ops[unit.from]->back;
    s->sent[s->sent_count++] = unit;
    if (count > 0)
        go_on(s, count);
    send(s, call);
}

static bool is_alone(const struct store_op *op)
{
    return op->kind == STORE_SET_BACK || op->kind == STORE_COUNT || op->kind == STORE_HAND_OVER;
}

static uint32_t unit_count(const struct store *s, const struct store_batch *batch)
{
    uint32_t most = most_now(s, batch), count = 0;
    if (is_alone(batch->ops[s->next_op]))
        return 1;
    while (s->next_op + count < batch->count && count < most) {
        const struct store_op *op = batch->ops[s->next_op + count];
        if (is_alone(op) || (count > 0 && refusal(s, batch, op) != STORE_OK))
            break;
        count++;
    }
    return count;
}

static bool may_send(const struct store *s)
{
    bool one = s->suspects.batch || s->broken != STORE_OK || pg_is_broken(s->link);
    uint32_t most = one ? 1 : UNITS;
    const struct unit *last = s->sent_count > 0 ? &s->sent[s->sent_count - 1] : NULL;
    bool alone = last && last->batch && is_alone(last->batch->ops[last->from]);
    return s->sent_count < most && s->next_batch < s->begun_count && !alone;
}

static void send_units(struct store *s)
{
    while (may_send(s)) {
        struct store_batch *batch = s->begun[s->next_batch].batch;
        enum store_error error = refusal(s, batch, batch->ops[s->next_op]);
        if (error == STORE_OK)
            send_unit(s, batch, unit_count(s, batch));
        else if (s->sent_count > 0)
            return;
        else
            end_next(s, error);
    }
}

static void send_all(struct store *s)
{
    bool tries = s->broken != STORE_OK && now(s) >= s->retry_at;
    if (s->discards || s->fenced)
        return;
    if (tries && s->flights == 0 && !s->must_settle)
        send_unit(s, NULL, 0);
    if (settle_is_due(s)) {
        struct pg_call *call = pg_call_new(PG_SETTLE);
        call->epoch = s->epoch;
        send(s, call);
    }
    if (!s->must_settle && s->broken == STORE_OK)
        send_units(s);
}

/* --- The connection --- */

static void lose(struct store *s, const char *why)
{
    uint64_t half = s->back_off / 2;
    say(s, STORE_AWAY, why);
    pg_close(s->link);
    s->link = NULL;
    s->flights = 0;
    s->unsure |= !s->must_settle;
    s->discards = s->over = s->silent = false;
    s->must_settle = true;
    s->broken = STORE_OK;
    s->retry_at = now(s) + half + pg_env(s->pg)->below(pg_env(s->pg)->arg, half + 1);
    s->back_off = s->back_off * 2 < BACK_OFF_MOST ? s->back_off * 2 : BACK_OFF_MOST;
}

static bool come_back(struct store *s)
{
    s->link = pg_open_link(s->pg, s->node);
    if (!s->link)
        return false;
    if (!s->epoch)
        s->fault = (struct store_fault){0};
    s->back_off = BACK_OFF;
    s->must_settle = true;
    return true;
}

static void take(struct store *s, struct pg_call *call)
{
    s->flights--;
    s->asked_at = now(s);
    if (s->silent)
        s->fault = (struct store_fault){0};
    s->silent = false;
    if (call->kind == PG_UNIT)
        take_unit(s, call);
    else if (call->kind == PG_SETTLE)
        take_settling(s, call);
    if (s->flights == 0)
        s->discards = false;
    pg_call_free(call);
}

static void pump(struct store *s)
{
    struct pg_call *call;
    do {
        call = pg_receive(s->link);
        if (call)
            take(s, call);
        if (s->over || pg_is_broken(s->link)) {
            if (!s->over && pg_said_why(s->link)) /* the first that is sent does not fail */
                send_all(s);
            lose(s, "the connection broke");
            return;
        }
        send_all(s);
    } while (call);
}

static void look_for_silence(struct store *s)
{
    uint64_t waited = s->link && s->flights > 0 ? now(s) - s->asked_at : 0;
    if (waited >= SILENT && !s->silent) {
        s->silent = true;
        say(s, STORE_AWAY, "no answer");
    }
    if (waited >= FORSAKEN)
        lose(s, "no answer");
}

/* --- For the writer --- */

static void driver_close(void *driver)
{
    struct store *s = driver;
    if (!s)
        return;
    pg_load_free(&s->loader);
    pg_close(s->link);
    free(s);
}

static void *driver_open(const struct store_setup *setup, struct store_fault *fault)
{
    struct store *s = calloc(1, sizeof *s);
    if (!s) {
        *fault = (struct store_fault){.error = STORE_MEMORY, .text = "no memory for the store"};
        return NULL;
    }
    s->pg = pg_here;
    snprintf(s->node, sizeof s->node, "%s", setup->node ? setup->node : "");
    s->names = setup->names;
    s->retry = setup->retry ? setup->retry : SECOND;
    s->require = setup->require;
    s->by_storage = setup->by_storage;
    s->load_setup = (struct pg_load_setup){
        .pg = s->pg, .node = s->node, .tables = setup->tables, .table_count = setup->table_count};
    s->back_off = BACK_OFF;
    s->state.room = UINT64_MAX;
    s->state.keeps_actors = s->state.keeps_batches = true;
    s->must_settle = true;
    if (!come_back(s))
        lose(s, "no primary is reached");
    return s;
}

static void driver_begin(void *driver, struct store_batch *batch)
{
    struct store *s = driver;
    assert(s->begun_count < BATCHES && batch->count > 0);
    s->begun[s->begun_count].follows_lost =
        s->begun_count > 0 && s->begun[s->begun_count - 1].lost_group;
    s->begun[s->begun_count].lost_group = false;
    s->begun[s->begun_count].batch = batch;
    s->begun[s->begun_count++].left = batch->count;
    if (s->fenced || !s->epoch)
        end_all(s, STORE_FENCED);
    while (s->broken != STORE_OK && s->next_batch < s->begun_count)
        end_next(s, s->broken); /* a try without operations may be under way */
}

static struct store_batch *driver_ended(void *driver)
{
    struct store *s = driver;
    if (s->begun_count == 0 || s->begun[0].left > 0)
        return NULL;
    struct store_batch *batch = s->begun[0].batch;
    assert(s->next_batch > 0);
    s->begun_count--;
    s->next_batch--;
    memmove(s->begun, s->begun + 1, s->begun_count * sizeof *s->begun);
    return batch;
}

static uint64_t until(const struct store *s, uint64_t at)
{
    return at > now(s) ? at - now(s) : 0;
}

static ao_time driver_work(void *driver, bool idle)
{
    struct store *s = driver;
    (void)idle;
    if (!s->link && !s->fenced && now(s) >= s->retry_at && !come_back(s))
        lose(s, "no primary is reached");
    if (s->link)
        pump(s);
    look_for_silence(s);
    if (s->fenced)
        return AO_NEVER;
    if (!s->link || ((s->broken != STORE_OK || s->must_settle) && s->flights == 0))
        return s->link && !s->epoch ? AO_NEVER : until(s, s->retry_at);
    if (s->flights > 0)
        return until(s, s->asked_at + (s->silent ? FORSAKEN : SILENT));
    return AO_NEVER;
}

static void driver_wait(void *driver, int wake, ao_time timeout)
{
    struct store *s = driver;
    uint64_t at = timeout < PG_NEVER - now(s) ? now(s) + timeout : PG_NEVER;
    uint64_t next = s->link ? pg_next(s->pg) : PG_NEVER;
    if (s->link && pg_is_ready(s->link))
        return;
    pg_env(s->pg)->wait(pg_env(s->pg)->arg, wake, next < at ? next : at);
}

static void driver_state(const void *driver, struct store_state *state)
{
    const struct store *s = driver;
    *state = s->state;
    state->error = s->fenced          ? STORE_FENCED
                   : s->broken        ? s->broken
                   : s->fault.text[0] ? s->fault.error
                                      : STORE_OK;
}

static const struct store_fault *driver_fault(const void *driver)
{
    return &((const struct store *)driver)->fault;
}

static int driver_load(void *driver, uint64_t epoch, struct store_chunk *chunk,
                       struct store_fault *fault)
{
    struct store *s = driver;
    if (epoch && epoch != s->epoch && !s->fenced) {
        s->epoch = epoch;
        s->must_settle = true;
    }
    return pg_load_next(&s->loader, &s->load_setup, epoch, chunk, fault);
}

const struct store_driver pg_store_driver = {.version = STORE_DRIVER_VERSION,
                                             .name = "postgresql",
                                             .batches = BATCHES,
                                             .loads_in_chunks = true,
                                             .most = STORE_LEVEL_REPLICATED,
                                             .open = driver_open,
                                             .close = driver_close,
                                             .begin = driver_begin,
                                             .ended = driver_ended,
                                             .work = driver_work,
                                             .wait = driver_wait,
                                             .state = driver_state,
                                             .fault = driver_fault,
                                             .load = driver_load};
