/* The statements of the driver (server/store/postgres/) and of the engine
 * (server/cluster/postgres/engine.c).  Each is run from its begin until it waits for no lock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/pg/parts.h"

enum { TRIES_MOST = 2, LEAP_MOST = 1000000000 };

/* --- Rows of the cluster --- */

struct pg_key pg_owner_key(void)
{
    return pg_key_number(0);
}

static struct pg_sight sight_of(struct pg *pg, struct pg_backend *b)
{
    return (struct pg_sight){.committed = pg->machines[b->machine].tables, .own = b->own};
}

static void read_owner(struct pg *pg, struct pg_backend *b, struct pg_owner *owner)
{
    struct pg_sight s = sight_of(pg, b);
    struct pg_key key = pg_owner_key();
    const struct pg_row *row = pg_see(&s, PG_OWNER, &key);
    require(row != NULL, "the model has no owner's row");
    memcpy(owner, pg_row_bytes(row), sizeof *owner);
}

static void write_owner(struct pg_backend *b, const struct pg_owner *owner)
{
    struct pg_key key = pg_owner_key();
    pg_table_put(&b->own[PG_OWNER], pg_row_new(&key, owner, sizeof *owner));
}

static bool read_node(struct pg *pg, struct pg_backend *b, const char *name,
                      struct engine_node *node)
{
    struct pg_sight s = sight_of(pg, b);
    struct pg_key key = pg_key_text(span_text(name));
    const struct pg_row *row = pg_see(&s, PG_NODES, &key);
    if (row)
        memcpy(node, pg_row_bytes(row), sizeof *node);
    return row != NULL;
}

static void write_node(struct pg_backend *b, const struct engine_node *node)
{
    struct pg_key key = pg_key_text(span_text(node->node));
    pg_table_put(&b->own[PG_NODES], pg_row_new(&key, node, sizeof *node));
}

static bool lock_owner(struct pg *pg, struct pg_backend *b)
{
    struct pg_key key = pg_owner_key();
    return pg_lock(pg, b, PG_OWNER, &key);
}

static bool lock_node(struct pg *pg, struct pg_backend *b, const char *name)
{
    struct pg_key key = pg_key_text(span_text(name));
    return pg_lock(pg, b, PG_NODES, &key);
}

/* The row as it is to be, which was read before.  False: it waits for the lock. */
static bool update_node(struct pg *pg, struct pg_backend *b, const struct engine_node *node)
{
    if (!lock_node(pg, b, node->node))
        return false;
    write_node(b, node);
    b->call->rows = 1;
    return true;
}

static bool fail(struct pg_call *call, const char *state)
{
    snprintf(call->state, sizeof call->state, "%s", state);
    return true;
}

/* --- Of the driver --- */

static uint8_t level_of(const struct pg *pg)
{
    return pg->shape.synchronous ? STORE_LEVEL_REPLICATED : STORE_LEVEL_FSYNC;
}

static bool fits(const struct pg_unit *unit, const struct pg_owner *owner)
{
    return owner->row.epoch == unit->epoch && owner->session == unit->session &&
           owner->row.batch == unit->number - 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void pass_fence(const struct pg_unit *u, struct pg_owner *owner)
{
    struct row_counters *c = &owner->counters;
    owner->row.batch = u->number;
    c->submitted += (uint64_t)u->counts.submitted;
    c->done += (uint64_t)u->counts.done;
    c->failed += (uint64_t)u->counts.failed;
    c->cancelled += (uint64_t)u->counts.cancelled;
    c->expired += (uint64_t)u->counts.expired;
    c->dead += (uint64_t)u->counts.dead;
    c->commits++;
    c->last_id = larger(c->last_id, u->last_id);
    c->last_fence = larger(c->last_fence, u->last_fence);
    c->committed_at = u->committed_at;
    owner->row.id_mark = larger(owner->row.id_mark, u->id_mark);
    owner->row.fence_mark = larger(owner->row.fence_mark, u->fence_mark);
    if (u->loaded)
        owner->row.tries = 0;
    if (u->leaves)
        owner->row.node[0] = '\0';
}

static bool lock_boards(struct pg *pg, struct pg_backend *b, const struct pg_unit *unit)
{
    uint32_t n = 0;
    const struct pg_op *op;
    while ((op = pg_unit_node(unit, &n))) {
        struct store_node_board board = {0};
        char name[CLUSTER_NAME_MAX];
        struct engine_node node;
        pg_unpack(op->map, op->row, &board);
        snprintf(name, sizeof name, "%.*s", (int)board.node.len, (const char *)board.node.at);
        if (read_node(pg, b, name, &node) && !lock_node(pg, b, name))
            return false;
    }
    return true;
}

static bool run_unit(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct pg_owner owner;
    read_owner(pg, b, &owner);
    if (!fits(&call->unit, &owner))
        return fail(call, "EF001");
    if (!lock_owner(pg, b))
        return false;
    call->level = level_of(pg);
    if (call->level < call->unit.need)
        return fail(call, "EF003");
    if (!lock_boards(pg, b, &call->unit))
        return false;
    pass_fence(&call->unit, &owner);
    write_owner(b, &owner);
    struct pg_sight s = sight_of(pg, b);
    const char *wrong = pg_unit_run(&s, call, &owner);
    return !wrong || fail(call, wrong);
}

static bool run_settle(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    read_owner(pg, b, &call->owner);
    if (call->owner.row.epoch != call->epoch)
        return true;
    if (!lock_owner(pg, b))
        return false;
    call->owner.session++;
    call->level = level_of(pg);
    call->rows = 1;
    write_owner(b, &call->owner);
    return true;
}

static bool run_snapshot(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    read_owner(pg, b, &call->owner);
    call->snapshot = calloc(PG_TABLES, sizeof *call->snapshot);
    require(call->snapshot != NULL, "no memory for a snapshot of the model");
    pg_tables_copy(call->snapshot, pg->machines[b->machine].tables);
    return true;
}

/* --- Of the engine --- */

static bool run_join(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node before = {0}, *row = &call->row;
    if (!lock_node(pg, b, row->node))
        return false;
    bool there = read_node(pg, b, row->node, &before);
    row->board = there ? before.board : 0;
    row->renewals = before.renewals + 1 + pg_chance(pg, LEAP_MOST);
    write_node(b, row);
    call->renewals = row->renewals;
    call->rows = 1;
    return true;
}

/* Is the row that of the process that asks, and is that counted among the living? */
static bool is_own(const struct pg_call *call, const struct engine_node *row)
{
    return row->incarnation == call->incarnation && strcmp(row->state, "dead") != 0;
}

static bool run_renew(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    if (!read_node(pg, b, call->node, &row) || !is_own(call, &row) ||
        row.renewals >= call->renewals)
        return true;
    row.renewals = call->renewals;
    return update_node(pg, b, &row);
}

static void fill_view(struct pg *pg, struct pg_backend *b, struct engine_view *view)
{
    struct pg_sight s = sight_of(pg, b);
    const struct pg_row *row = NULL;
    struct pg_owner owner;
    read_owner(pg, b, &owner);
    view->owner = owner.row;
    while ((row = pg_see_next(&s, PG_NODES, row)) && view->count < CLUSTER_NODES_MAX)
        memcpy(&view->nodes[view->count++], pg_row_bytes(row), sizeof *view->nodes);
    view->clock = pg->env.wall(pg->env.arg);
    view->replicates = pg->shape.synchronous;
}

/* What is read is of the begin; then the row is written as it is. */
static bool run_look(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    if (!call->view) {
        call->view = calloc(1, sizeof *call->view);
        require(call->view != NULL, "no memory for a view of the model");
        fill_view(pg, b, call->view);
    }
    if (!read_node(pg, b, call->node, &row) || row.incarnation != call->incarnation)
        return true;
    if (!lock_node(pg, b, call->node))
        return false;
    write_node(b, &row);
    return true;
}

static bool run_say(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    if (!read_node(pg, b, call->node, &row) || !is_own(call, &row))
        return true;
    bool owns = strcmp(call->row.state, "loading") == 0 || strcmp(call->row.state, "owner") == 0;
    if (!owns || strcmp(row.state, "draining") != 0)
        memcpy(row.state, call->row.state, sizeof row.state);
    memcpy(row.note, call->row.note, sizeof row.note);
    return update_node(pg, b, &row);
}

/* --- Verbs --- */

/* The statement reads the owner when it starts, and not again when it has the lock. */
static bool run_drain(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    struct pg_owner owner;
    read_owner(pg, b, &owner);
    if (b->ticket == 0 && strcmp(owner.row.node, call->node) != 0)
        return true;
    if (!read_node(pg, b, call->node, &row))
        return true;
    snprintf(row.state, sizeof row.state, "draining");
    return update_node(pg, b, &row);
}

static bool run_forget(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    struct pg_owner owner;
    if (!lock_owner(pg, b))
        return false;
    read_owner(pg, b, &owner);
    if (!read_node(pg, b, call->node, &row) || strcmp(owner.row.node, call->node) == 0)
        return true;
    if (!lock_node(pg, b, call->node))
        return false;
    struct pg_key key = pg_key_text(span_text(call->node));
    pg_table_put(&b->own[PG_NODES], pg_row_gone(&key));
    call->rows = 1;
    return true;
}

static bool run_retry(struct pg *pg, struct pg_backend *b)
{
    struct pg_owner owner;
    if (!lock_owner(pg, b))
        return false;
    read_owner(pg, b, &owner);
    owner.row.tries = 0;
    write_owner(b, &owner);
    b->call->rows = 1;
    return true;
}

static bool run_give_up(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct pg_owner owner;
    read_owner(pg, b, &owner);
    if (strcmp(owner.row.node, call->node) != 0 || owner.row.incarnation != call->incarnation)
        return true;
    if (!lock_owner(pg, b))
        return false;
    owner.row.node[0] = '\0';
    owner.row.incarnation = 0;
    owner.row.boards++;
    if (call->kind == PG_LEAVE_LOAD && owner.row.tries > 0)
        owner.row.tries--;
    write_owner(b, &owner);
    call->rows = 1;
    return true;
}

/* --- The take-over --- */

static bool run_lock_own_row(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    if (!read_node(pg, b, call->node, &row) || !is_own(call, &row))
        return true;
    if (!lock_node(pg, b, call->node))
        return false;
    call->rows = 1;
    return true;
}

static bool run_declare_dead(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct engine_node row;
    if (!read_node(pg, b, call->former, &row) || row.incarnation != call->incarnation ||
        row.renewals != call->renewals)
        return true;
    snprintf(row.state, sizeof row.state, "dead");
    return update_node(pg, b, &row);
}

static bool run_take_place(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    struct pg_owner *owner = &call->owner;
    read_owner(pg, b, owner);
    if (owner->row.epoch != call->epoch || strcmp(owner->row.node, call->former) != 0 ||
        owner->row.tries >= TRIES_MOST)
        return true;
    if (!lock_owner(pg, b))
        return false;
    snprintf(owner->row.node, sizeof owner->row.node, "%s", call->node);
    owner->row.incarnation = call->incarnation;
    owner->row.epoch++;
    owner->row.batch = 0;
    owner->row.boards += call->loses_board;
    owner->row.tries++;
    write_owner(b, owner);
    call->rows = 1;
    return true;
}

/* --- Any --- */

bool pg_run(struct pg *pg, struct pg_backend *b)
{
    struct pg_call *call = b->call;
    if (b->aborted && call->kind != PG_ROLLBACK && call->kind != PG_COMMIT)
        return fail(call, "25P02");
    switch (call->kind) {
    case PG_UNIT:
        return run_unit(pg, b);
    case PG_SETTLE:
        return run_settle(pg, b);
    case PG_SNAPSHOT:
        return run_snapshot(pg, b);
    case PG_JOIN:
        return run_join(pg, b);
    case PG_RENEW:
        return run_renew(pg, b);
    case PG_LOOK:
        return run_look(pg, b);
    case PG_SAY:
        return run_say(pg, b);
    case PG_DRAIN:
        return run_drain(pg, b);
    case PG_FORGET:
        return run_forget(pg, b);
    case PG_RETRY:
        return run_retry(pg, b);
    case PG_GIVE_UP:
    case PG_LEAVE_LOAD:
        return run_give_up(pg, b);
    case PG_LOCK_OWNER:
        return lock_owner(pg, b);
    case PG_LOCK_OWN_ROW:
        return run_lock_own_row(pg, b);
    case PG_DECLARE_DEAD:
        return run_declare_dead(pg, b);
    case PG_TAKE_PLACE:
        return run_take_place(pg, b);
    case PG_BEGIN:
        b->in_transaction = true;
        return true;
    case PG_COMMIT:
    case PG_ROLLBACK:
        b->in_transaction = false;
        return true;
    case PG_LOOK_SIZE:
        return true;
    case PG_CLUSTER:
        snprintf(call->node, sizeof call->node, "%s", pg->cluster);
        return true;
    }
    return true;
}
