/* Accounts that are durable actors, and transfers between them, by random steps: attempts fail, get
 * lost, are late and come again; the disk is full or refuses; idle accounts leave memory, by
 * themselves or for others; the server dies, stops in order, and is asked to stop actors and to
 * cancel messages.
 *
 * A transfer ("cart.move") takes one from its account, and sends one to another ("cart.add").  A
 * reminder ("cart.tick") adds one to what its account has seen; clients and transfers put it, once
 * or again and again, replace it and forget it.  What has to hold is known without the jobs' help,
 * by the rows alone:
 *
 * - an attempt gets the state that is on disk, or with `pipeline` the one that the turn before it
 *   made; and no two of an actor are out;
 * - each change on disk is that of a turn that was answered, none is there without those that it
 * was made upon, and messages of an actor change it in the order in which they were sent;
 * - when all is quiet nothing is lost or made, and a transfer has happened once if it is done, and
 *   not at all if it ended otherwise;
 * - a reminder comes at its time or later, once, or once for each of its times at most; after it
 * was replaced or forgotten no turn of it begins, but after a crash that came before that was on
 * disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/job_options.h"
#include "server/jobs/actors/reminders.h"
#include "tests/support/jobs_actors.h"
#include "tests/support/random.h"

enum {
    ACCOUNTS = 4,
    FIRST = 1000,
    STATE = 10,
    JOBS = 65536,
    CHAIN = 2048,
    NAMES = 2,
    SEEDS = 4,
    STEPS = 1500
};

/* What a turn made of an account. */
struct made {
    uint64_t message, version;
    uint8_t state[STATE];
    uint32_t ticked;       /* the reminder whose turn it was; 0: of none */
    uint32_t put;          /* the reminder that it put; 0: none */
    const char *forgotten; /* the name that it forgot; NULL: none */
};

enum stage {
    PUT,    /* it may be on disk */
    KEPT,   /* it is */
    LEAVES, /* replaced or forgotten while a turn of it was out: one may change its account */
    SOON,   /* replaced or forgotten, which may not be on disk: a crash may bring it back */
    OVER
};

struct kept_reminder {
    struct kept_account *of;
    const char *name;
    ao_time due, every; /* not before */
    enum stage stage;
    bool given_up;
};

struct kept_account {
    char name[24];
    struct made disk;         /* as on disk; version 0: there is none */
    struct made chain[CHAIN]; /* by turns that were answered since, each upon the one before */
    uint32_t count;
    uint32_t named[NAMES]; /* the reminder that has the name; 0: none */
};

struct model {
    struct jobs_world *w;
    bool pipeline;
    uint64_t seed;
    struct kept_account accounts[ACCOUNTS];
    uint64_t moves[JOBS]; /* that were sent from outside */
    bool happened[JOBS], calls[JOBS], lost[JOBS], cancelled[JOBS];
    uint32_t count;
    struct kept_reminder reminders[JOBS]; /* by the number that its parameters have, from 1 */
    uint32_t put, ticks;                  /* how many; turns of them that are on disk */
    uint32_t late, away; /* turns that were late, and looks at an account that was not in memory */
    uint64_t passivated; /* so often an account left memory for others */
};

static const char *const names[NAMES] = {"tea", "bread"};

static void offer_accounts(struct model *m)
{
    static const char *const methods[] = {"cart.move", "cart.add", "cart.tick", NULL};
    const struct actor_policy kept = {ACTOR_POLICY_DEFAULTS,   .schema = 1,
                                      .timeout = AO_MS(700),   .idle = AO_MS(40),
                                      .pipeline = m->pipeline, .durable = ACTOR_DURABLE_FSYNC};
    offer(m->w, "cart", &kept, methods);
}

/* --- States: [what it has, transfers that it made, reminders that came] --- */

struct contents {
    uint16_t has, moves, ticks;
};

static void encode(uint8_t state[STATE], const struct contents *c)
{
    const uint8_t bytes[STATE] = {0x93,
                                  0xcd,
                                  (uint8_t)(c->has >> 8),
                                  (uint8_t)c->has,
                                  0xcd,
                                  (uint8_t)(c->moves >> 8),
                                  (uint8_t)c->moves,
                                  0xcd,
                                  (uint8_t)(c->ticks >> 8),
                                  (uint8_t)c->ticks};
    memcpy(state, bytes, STATE);
}

static struct contents decode(const uint8_t state[STATE])
{
    return (struct contents){.has = (uint16_t)(state[2] << 8 | state[3]),
                             .moves = (uint16_t)(state[5] << 8 | state[6]),
                             .ticks = (uint16_t)(state[8] << 8 | state[9])};
}

/* --- What is on disk --- */

static bool account_is_of(const struct model *m, struct span name)
{
    size_t len = strlen(m->accounts[0].name);
    return name.len == len && memcmp(name.at, m->accounts[0].name, len - 1) == 0;
}

static struct kept_account *account_of(struct model *m, struct span name)
{
    for (unsigned i = 0; i < ACCOUNTS; i++)
        if (span_is(name, m->accounts[i].name))
            return &m->accounts[i];
    fail_msg("no such account");
    return NULL;
}

static int move_of(const struct model *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->moves[i] == id)
            return (int)i;
    return -1;
}

/* --- Reminders, as they are on disk --- */

static struct kept_reminder *reminder(struct model *m, uint32_t number)
{
    assert_in_range(number, 1, m->put);
    return &m->reminders[number];
}

/* [number, 65536 at most] */
static uint32_t number_in(struct span params)
{
    assert_int_equal(params.len, 4);
    return (uint32_t)(params.at[2] << 8 | params.at[3]);
}

/* Is a turn of it out, or being written? */
static bool is_under_way(const struct model *m, uint32_t number)
{
    const struct kept_account *a = m->reminders[number].of;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->chain[i].ticked == number)
            return true;
    for (struct world_run *r = m->w->runs; r; r = r->next)
        if (span_is(r->run.method->name, "cart.tick") && number_in(r->run.params) == number)
            return true;
    return false;
}

/* Another has its name from now on, 0: none has; the one that had it is at that stage. */
static void named(struct model *m, struct kept_account *a, const char *name, uint32_t by,
                  enum stage stage)
{
    uint32_t *at = &a->named[name == names[1]];
    if (*at)
        reminder(m, *at)->stage = is_under_way(m, *at) ? LEAVES : stage;
    *at = by;
    if (by)
        reminder(m, by)->stage = KEPT;
}

static void came(struct model *m, struct kept_account *a, uint32_t number)
{
    struct kept_reminder *r = reminder(m, number);
    assert_ptr_equal(r->of, a);
    assert_true(r->stage == KEPT || r->stage == LEAVES);
    m->ticks++;
    if (r->every > 0 && r->stage == KEPT) {
        r->due += r->every;
        return;
    }
    r->stage = OVER;
    if (a->named[r->name == names[1]] == number)
        a->named[r->name == names[1]] = 0;
}

static void happened(struct model *m, struct kept_account *a, const struct made *made)
{
    int move = move_of(m, made->message);
    uint64_t last = a->disk.message;
    /* In order, and not again, but for reminders, which join at the end.  One whose cancel is not
     * on disk comes back, and others passed it.
     */
    assert_true(made->ticked || made->message > last || (move >= 0 && m->cancelled[move]));
    assert_int_equal(made->version, a->disk.version + 1);
    a->disk = *made;
    if (made->ticked || made->message < last)
        a->disk.message = last;
    if (made->ticked)
        came(m, a, made->ticked);
    if (made->put)
        named(m, a, reminder(m, made->put)->name, made->put, SOON);
    if (made->forgotten)
        named(m, a, made->forgotten, 0, OVER);
    if (move >= 0) {
        assert_false(m->happened[move]);
        m->happened[move] = true;
    }
}

/* The first turns of the chain are on disk, and none that is not in it. */
static void changed(struct model *m, struct kept_account *a, const struct store_actor *row)
{
    uint32_t n = 0;
    while (n < a->count && a->disk.version < row->version)
        happened(m, a, &a->chain[n++]);
    assert_int_equal(a->disk.version, row->version);
    assert_int_equal(row->state.len, STATE);
    assert_memory_equal(row->state.at, a->disk.state, STATE);
    a->count -= n;
    memmove(a->chain, a->chain + n, a->count * sizeof *a->chain);
}

static void look(struct model *m)
{
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        struct kept_account *a = &m->accounts[i];
        const struct store_actor *row = memory_rows_actor(
            &m->w->store->rows, span_text(""), span_text("cart"), span_text(a->name + 5));
        if (row && row->version != a->disk.version)
            changed(m, a, row);
        const struct actor *in_memory = actor_of(m->w, a->name);
        m->away += row && (!in_memory || in_memory->residence == ACTOR_AWAY);
    }
}

/* All that can leave memory has left it if the rest is too much. */
static void look_at_memory(const struct model *m)
{
    const struct actors *actors = m->w->jobs->actors;
    assert_true(!residents_are_over(actors, 0) || !residents_oldest_copy(actors));
}

static void pass(struct model *m, ao_time time)
{
    jobs_world_pass(m->w, time);
    look_at_memory(m);
    look(m);
}

/* --- Turns --- */

static uint32_t below(struct model *m, uint32_t n)
{
    return chance(&m->seed, n);
}

static struct world_run *any_run(struct model *m)
{
    uint32_t count = 0;
    struct world_run *r;
    bool out[ACCOUNTS] = {false};
    for (r = m->w->runs; r; r = r->next, count++) {
        bool *is = &out[account_of(m, r->run.turn->actor) - m->accounts];
        assert_false(*is);
        *is = true;
    }
    if (count == 0)
        return NULL;
    r = m->w->runs;
    for (uint32_t at = below(m, count); at > 0; at--)
        r = r->next;
    return r;
}

static void send_one(struct model *m, struct attempt_turn *turn, const struct kept_account *from)
{
    uint32_t to = (uint32_t)(from - m->accounts) + 1 + below(m, ACCOUNTS - 1);
    struct turn_message_parts parts = {.to = span_text(m->accounts[to % ACCOUNTS].name),
                                       .method = span_text("add")};
    assert_null(turn_send(turn, &parts));
}

/* What the turn began with.  Turns that were answered since then were given up: the disk failed. */
static const struct made *began_with(const struct model *m, struct kept_account *a,
                                     const struct attempt_turn *turn, bool ticks)
{
    while (a->count > 0 && a->chain[a->count - 1].version > turn->version)
        a->count--;
    const struct made *last = a->count > 0 ? &a->chain[a->count - 1] : &a->disk;
    bool alone = ticks || last->ticked || last->put || last->forgotten;
    assert_int_equal(turn->version, last->version);
    assert_true((m->pipeline && !alone) || a->count == 0);
    assert_true(last->version > 0 ? span_equal(turn->state, span_of(last->state, STATE))
                                  : turn->state.len == 0);
    return last;
}

/* It is no more than one that was put, in time. */
static void may_come(struct model *m, const struct kept_account *a, uint32_t number)
{
    const struct kept_reminder *r = reminder(m, number);
    assert_ptr_equal(r->of, a);
    assert_true(r->stage == KEPT || r->stage == LEAVES);
    assert_true(m->w->v.now >= r->due);
}

/* The next reminder, once or again and again. */
static uint32_t new_reminder(struct model *m, struct kept_account *a)
{
    ao_time in = AO_MS(below(m, 150)), every = below(m, 3) ? 0 : AO_MS(1 + below(m, 150));
    assert_true(m->put + 1 < JOBS);
    m->reminders[++m->put] = (struct kept_reminder){
        .of = a, .name = names[below(m, NAMES)], .due = m->w->v.now + in, .every = every};
    return m->put;
}

static struct span params_of(uint32_t number, uint8_t bytes[4])
{
    memcpy(bytes, (const uint8_t[4]){0x91, 0xcd, (uint8_t)(number >> 8), (uint8_t)number}, 4);
    return span_of(bytes, 4);
}

static void remind_one(struct model *m, struct attempt_turn *turn, struct kept_account *a,
                       struct made *made)
{
    uint8_t bytes[4];
    struct turn_message_parts parts = {.reminder = span_text(names[below(m, NAMES)])};
    if (below(m, 3) == 0) {
        made->forgotten = names[span_is(parts.reminder, names[1])];
    } else {
        const struct kept_reminder *r = &m->reminders[made->put = new_reminder(m, a)];
        parts = (struct turn_message_parts){.reminder = span_text(r->name),
                                            .method = span_text("tick"),
                                            .params = params_of(made->put, bytes),
                                            .in = r->due - m->w->v.now,
                                            .every = r->every};
    }
    assert_null(turn_remind(turn, &parts));
}

static void take_turn(struct model *m, struct world_run *r, bool moves_on)
{
    struct attempt_turn *turn = r->run.turn;
    struct kept_account *a = account_of(m, turn->actor);
    struct made made = {.message = r->run.id, .version = turn->version + 1};
    struct contents c = {.has = FIRST};
    bool counts = !r->flagged && !turn->fenced; /* one that is to stop may have no effect */
    bool ticks = span_is(r->run.method->name, "cart.tick");
    m->late += r->flagged;
    if (ticks)
        made.ticked = number_in(r->run.params);
    if (counts)
        began_with(m, a, turn, ticks);
    if (counts && ticks)
        may_come(m, a, made.ticked);
    if (turn->state.len > 0)
        c = decode(turn->state.at);
    c.has = (uint16_t)(c.has - moves_on + (!moves_on && !ticks));
    c.moves += moves_on;
    c.ticks += ticks;
    encode(made.state, &c);
    if (moves_on)
        send_one(m, turn, a);
    if (moves_on && counts && below(m, 2))
        remind_one(m, turn, a, &made);
    if (counts) {
        assert_true(a->count < CHAIN);
        a->chain[a->count++] = made;
    }
    assert_null(turn_set_state(turn, span_of(made.state, STATE), 1));
    world_finish(r, "\x01");
}

static void answer_one(struct model *m, bool well)
{
    struct world_run *r = any_run(m);
    uint32_t how = well ? 99 : below(m, 100);
    bool moves = r && span_is(r->run.method->name, "cart.move");
    bool ticks = r && span_is(r->run.method->name, "cart.tick");
    if (!r)
        return;
    if (how < 8)
        world_again(r, AO_MS(below(m, 50)));
    else if ((moves || ticks) && how < 16)
        world_fail(r, "ODD", "not now");
    else if (moves && how < 19)
        world_fail(r, "PERMANENT", "never");
    else if (moves && how < 22)
        world_lose(r, LOSS_IN_COMPANY, "gone");
    else
        take_turn(m, r, moves);
    jobs_world_settle(m->w);
    look(m);
}

/* --- Steps --- */

static void send_move(struct model *m, bool calls)
{
    char text[JOB_TEXT_MAX];
    struct submitted done;
    struct job_spec spec = TELL(m->accounts[below(m, ACCOUNTS)].name, "cart.move");
    spec.calls = calls;
    spec.keep = AO_S(1000000);
    spec.said = 1u << JOB_OPTION_keep;
    if (m->count < JOBS && world_submit(m->w, &spec, &done, text, sizeof text) == ERGON_OK) {
        m->calls[m->count] = calls;
        m->moves[m->count++] = done.job->id;
    }
}

static void is_back(struct model *m, uint32_t number)
{
    struct kept_reminder *r = reminder(m, number);
    uint32_t *at = &r->of->named[r->name == names[1]];
    assert_true(r->stage != OVER);
    if (*at > number)
        return; /* the younger one counts */
    if (*at && *at != number)
        reminder(m, *at)->stage = SOON;
    *at = number;
    r->stage = KEPT;
}

/* After a crash those are there that have open rows, and of one name the last that was put. */
static void are_back(struct model *m)
{
    for (uint32_t i = 0; i < m->w->store->rows.row_count; i++) {
        const struct memory_row *row = &m->w->store->rows.rows[i];
        if (row->there && job_state_open((enum job_state)row->task.state) &&
            !row->task.cancel_asked && span_is(row->task.method, "cart.tick") &&
            account_is_of(m, row->task.actor))
            is_back(m, number_in(row->task.params));
    }
}

/* Tells whose rows were not on disk, and calls, are gone; and nobody has been answered. */
static void die(struct model *m, bool in_order)
{
    m->passivated += counter_read(&m->w->jobs->actors->shown.passivated);
    if (in_order)
        jobs_world_restart(m->w);
    else
        jobs_world_crash(m->w);
    look(m);
    for (uint32_t i = 0; i < m->count; i++)
        if (!table_find(&m->w->jobs->table, m->moves[i])) {
            m->lost[i] = true;
            m->moves[i] = 0; /* another may get its number */
        }
    for (unsigned i = 0; i < ACCOUNTS; i++)
        m->accounts[i].count = 0;
    are_back(m);
    offer_accounts(m);
    pass(m, AO_MS(1));
}

static void wait_for(struct model *m, struct operation *op)
{
    world_give(m->w, op);
    for (unsigned i = 0; i < 300 && !world_answered(m->w, op); i++)
        pass(m, AO_MS(10));
    assert_true(world_answered(m->w, op));
}

static void steer(struct model *m, const struct operation_class *cls)
{
    struct operation *op = world_operation(m->w, cls);
    op->actor.name = span_text(m->accounts[below(m, ACCOUNTS)].name);
    wait_for(m, op);
}

/* No turn of the account is being written, so this is the next change of its reminders. */
static bool remind(struct model *m)
{
    static struct job_spec spec; /* borrowed until the answer */
    static uint8_t bytes[4];
    struct kept_account *a = &m->accounts[below(m, ACCOUNTS)];
    if (a->count > 0)
        return false;
    uint32_t number = new_reminder(m, a);
    struct kept_reminder *r = &m->reminders[number];
    struct operation *op = world_operation(m->w, &operation_actor_remind);
    spec = TELL(a->name, "cart.tick");
    spec.params = params_of(number, bytes);
    spec.reminder = span_text(r->name);
    spec.delay = r->due - m->w->v.now;
    spec.every = r->every;
    op->submission.specs = &spec;
    op->submission.count = 1;
    wait_for(m, op);
    if (op->reply.error == ERGON_OK)
        named(m, a, r->name, number, SOON);
    else
        r->stage = OVER;
    return true;
}

static void forget(struct model *m, struct kept_account *a, const char *name)
{
    if (a->count > 0)
        return;
    struct operation *op = world_operation(m->w, &operation_actor_forget);
    op->actor.name = span_text(a->name);
    op->actor.reminder = span_text(name);
    wait_for(m, op);
    const struct actor *in_memory = actor_of(m->w, a->name);
    if (op->reply.error == ERGON_OK && span_is(operation_result(op), "\xc3"))
        named(m, a, name, 0, OVER);
    else if (!in_memory || !reminders_find(in_memory, span_text(name)))
        named(m, a, name, 0, SOON); /* it had gone, or that could not be written */
}

static void cancel_one(struct model *m)
{
    uint32_t which = m->count ? below(m, m->count) : 0;
    struct job *job = m->count ? world_job(m->w, m->moves[which]) : NULL;
    m->cancelled[which] |= job != NULL;
    if (job)
        world_cancel(m->w, job);
    look(m);
}

static void squeeze_to(struct model *m, uint64_t bytes)
{
    struct jobs_limits limits = m->w->jobs->options.settings.limits;
    limits.actors.bytes = bytes;
    m->w->options.settings.limits = limits; /* of the next server, too */
    jobs_set_limits(m->w->jobs, &limits);
}

/* Often too little for all accounts, or for any. */
static void squeeze(struct model *m)
{
    static const uint64_t bytes[] = {1, 400, 500, 700, 900, 100000};
    squeeze_to(m, bytes[below(m, sizeof bytes / sizeof *bytes)]);
}

static void trouble(struct model *m)
{
    struct store *s = m->w->store;
    s->error = s->error != STORE_OK || below(m, 2) ? STORE_OK : STORE_FULL;
    s->refuses_groups = !s->refuses_groups && below(m, 8) == 0;
    s->refuses_one = below(m, 8) == 0;
    s->latency = AO_MS(1 + below(m, 5));
    m->w->stubborn = below(m, 2);
}

static void step(struct model *m)
{
    uint32_t which = below(m, 1000);
    if (which < 110)
        send_move(m, false);
    else if (which < 150)
        send_move(m, true);
    else if (which < 660)
        answer_one(m, false);
    else if (which < 880)
        pass(m, AO_MS(below(m, 4)));
    else if (which < 890)
        pass(m, AO_S(1));
    else if (which < 935)
        trouble(m);
    else if (which < 950)
        squeeze(m);
    else if (which < 960)
        cancel_one(m);
    else if (which < 966)
        (void)(below(m, 3)
                   ? remind(m)
                   : (forget(m, &m->accounts[below(m, ACCOUNTS)], names[below(m, NAMES)]), true));
    else if (which < 970)
        steer(m, &operation_actor_stop);
    else if (which < 990)
        steer(m, &operation_actor_start);
    else if (which < 998)
        die(m, false);
    else
        die(m, true);
}

/* --- All is quiet --- */

static bool is_open(const struct model *m)
{
    for (const struct job *job = m->w->jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state))
            return true;
    return false;
}

/* Those that come again and again. */
static void forget_repeated(struct model *m)
{
    for (unsigned i = 0; i < ACCOUNTS * NAMES; i++) {
        struct kept_account *a = &m->accounts[i / NAMES];
        uint32_t number = a->named[i % NAMES];
        if (number && reminder(m, number)->every > 0)
            forget(m, a, names[i % NAMES]);
    }
}

static void come_to_rest(struct model *m)
{
    m->w->store->error = STORE_OK;
    m->w->store->refuses_groups = m->w->store->refuses_one = false;
    squeeze_to(m, UINT64_C(1) << 28);
    pass(m, AO_S(2));
    for (unsigned i = 0; i < 4 * ACCOUNTS; i++)
        steer(m, &operation_actor_start); /* by chance all of them */
    for (unsigned i = 0; i < 20000 && is_open(m); i++) {
        if (i % 50 == 0)
            steer(m, &operation_actor_start);
        if (i % 200 == 100)
            forget_repeated(m);
        answer_one(m, true);
        pass(m, i % 20 ? AO_MS(5) : AO_S(1));
    }
    assert_false(is_open(m));
}

static bool has_failed(const struct job *job)
{
    return job->state == JOB_FAILED || job->state == JOB_DEAD;
}

/* Counts the messages that the store refused for good, or whose attempts were late too often: these
 * are kept, with their error. */
static uint32_t given_up(const struct model *m)
{
    uint32_t count = 0;
    for (const struct job *job = m->w->jobs->table.first; job; job = job->all_next)
        count += has_failed(job) && span_is(job->queue->name, "cart.add") &&
                 account_is_of(m, message_actor(job));
    return count;
}

/* One that comes once has come, unless it failed for good. */
static void check_reminders(struct model *m)
{
    for (const struct job *job = m->w->jobs->table.first; job; job = job->all_next)
        if (has_failed(job) && span_is(job->queue->name, "cart.tick") &&
            account_is_of(m, message_actor(job)))
            reminder(m, number_in(job_params(job)))->given_up = true;
    for (uint32_t i = 1; i <= m->put; i++) {
        const struct kept_reminder *r = &m->reminders[i];
        assert_true(r->stage != KEPT || r->given_up);
    }
}

static void check(struct model *m)
{
    uint32_t sum = 0, made = 0, happened = 0, ticks = 0;
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        struct contents c = {.has = FIRST};
        if (m->accounts[i].disk.version > 0)
            c = decode(m->accounts[i].disk.state);
        sum += c.has;
        made += c.moves;
        ticks += c.ticks;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const struct job *job = world_job(m->w, m->moves[i]);
        happened += m->happened[i];
        if (job)
            assert_int_equal(m->happened[i], job->state == JOB_DONE);
        else if (m->calls[i])
            assert_true(m->lost[i]); /* nobody had an answer */
        else
            assert_false(m->happened[i]); /* its row was never on disk */
    }
    assert_int_equal(sum + given_up(m), ACCOUNTS * FIRST);
    assert_int_equal(made, happened);
    assert_int_equal(ticks, m->ticks);
    check_reminders(m);
}

/* More by hand: ERGON_MODEL_STEPS of each seed, for ERGON_MODEL_SEEDS. */
static unsigned number_of(const char *name, unsigned else_)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : else_;
}

/* These are sums over all seeds. */
struct totals {
    uint64_t sent, happened, put, ticks, late, away, passivated;
};

static void add_to(struct totals *t, const struct model *m)
{
    t->sent += m->count;
    for (uint32_t i = 0; i < m->count; i++)
        t->happened += m->happened[i];
    t->put += m->put;
    t->ticks += m->ticks;
    t->late += m->late;
    t->away += m->away;
    t->passivated += m->passivated;
}

static void run(struct jobs_world *w, uint64_t seed, bool pipeline, struct totals *totals)
{
    unsigned steps = number_of("ERGON_MODEL_STEPS", STEPS);
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->w = w;
    m->seed = seed;
    m->pipeline = pipeline;
    for (unsigned i = 0; i < ACCOUNTS; i++)
        snprintf(m->accounts[i].name, sizeof m->accounts[i].name, "cart/%u.%u", (unsigned)seed, i);
    offer_accounts(m);
    for (unsigned i = 0; i < steps; i++)
        step(m);
    come_to_rest(m);
    check(m);
    die(m, true); /* rows whose removal failed go then */
    pass(m, AO_S(1));
    stage_balances(w);
    add_to(totals, m);
    free(m);
}

static void run_all(struct jobs_world *w, bool pipeline)
{
    struct totals t = {0};
    unsigned seeds = number_of("ERGON_MODEL_SEEDS", SEEDS);
    uint64_t first = number_of("ERGON_MODEL_FIRST", 1);
    for (unsigned n = 0; n < seeds; n++)
        run(w, first + n, pipeline, &t);
    assert_true(t.happened > t.sent / 10 && t.ticks > t.put / 20); /* it is no empty test */
    assert_true(t.late > 0 && t.away > 0 && t.passivated > 0);
}

JOBS_TEST(transfers_happen_once_or_not_at_all, .stored = true, .quiet = true)
{
    run_all(w, false);
}

JOBS_TEST(so_do_those_that_do_not_wait_for_the_disk, .stored = true, .quiet = true)
{
    run_all(w, true);
}
