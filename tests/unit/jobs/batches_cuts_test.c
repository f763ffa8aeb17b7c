/* Batches in batches, while the power is cut at any call of the disk, the disk is full, and
 * processes are killed and stopped in between.
 *
 * A client makes trees of three batches, each a member of the one before, adds tasks to them,
 * closes them, and cancels some; a request that is not answered is made again, so there may be
 * batches of which nobody knows: it closes these, too.  Some tasks fail, and some of those are
 * retried by hand; some submit another member with their end; and some are forgotten as they end.
 * After each deed, and as each life begins:
 *
 *   - what was acknowledged is there: a batch, that it is closed or cancelled, a task,
 *   - no task is there twice, and what a task submits is there once if that is done, and else not,
 *   - a batch counts the tasks and the batches that are its members, and those that were forgotten,
 *   - one that has ended has no open members, and stays as it was,
 *   - each callback is there at most once, and begins when the row of its batch names it,
 *
 * and in the end all batches have ended, with the callbacks that are due, and the audit balances.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/batches/batch.h"
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/cut_lives.h"

enum {
    CUTS = 16,        /* at least, in the tests */
    STORES_MOST = 20, /* until all has been seen there */
    LIVES = 12,
    DEEDS = 120, /* of a life */
    TREES = 5,
    LEVELS = 3,
    NODES = TREES * LEVELS,
    ADDS = 4, /* requests that add members, of each batch */
    TAGS = 512
};

/* Of a task.  One of BRIEF is kept no longer than it runs. */
enum part { PLAIN, GROWS, GROWN, FAILS, BRIEF, CALL, ROLES };

static struct tally {
    uint32_t full, lost_creates, again, retried, begun;
    uint64_t forgotten, ended[JOB_STATE_COUNT]; /* batches, by outcome */
} tally;

/* A batch as the client knows it. */
struct node {
    uint64_t id; /* 0: not acknowledged */
    uint32_t tag;
    uint32_t adds;                /* acknowledged */
    uint32_t brief, brief_asked;  /* members that were acknowledged; and perhaps made */
    bool refused, closed;         /* it takes no more; that was acknowledged */
    bool cancels, cancel_is_told; /* that was asked; acknowledged */
};

/* The client knows of the batch with this tag that it is cancelled, which the file need not know,
 * or how it has ended. */
struct past {
    bool cancelled, failed; /* and its first failure was told before */
    bool ended;
    uint64_t counts[BATCH_ENDS];
};

enum what { NOTHING, CREATE, ADD, CLOSE, CANCEL };

struct batches_cuts {
    struct cut_lives l; /* first */
    struct node nodes[NODES];
    struct past past[TAGS];
    uint32_t tags;
    struct operation *asks; /* NULL: the client waits for nothing */
    enum what what;
    uint32_t node; /* of which */
    bool dies;     /* the process, as a cancel has just been acknowledged */
    struct job_spec specs[2];
    char keys[2][16];
    uint8_t params[2][8], calls[BATCH_CALL_COUNT][80];
};

static uint32_t below(struct batches_cuts *c, uint32_t n)
{
    return cut_lives_below(&c->l, n);
}

static struct node *parent_of(struct batches_cuts *c, uint32_t n)
{
    return n % LEVELS > 0 ? &c->nodes[n - 1] : NULL;
}

/* --- Parameters: [role, node or tag, number] --- */

static struct span put_params(uint8_t *at, enum part role, uint32_t of, uint32_t number)
{
    const uint8_t params[] = {0x93,        (uint8_t)role,  0xcd, (uint8_t)(of >> 8),
                              (uint8_t)of, (uint8_t)number};
    memcpy(at, params, sizeof params);
    return span_of(at, sizeof params);
}

static enum part role_of(struct span params)
{
    assert_true(params.len == 6 && params.at[1] < ROLES);
    return (enum part)params.at[1];
}

static uint32_t whose(struct span params)
{
    return (uint32_t)params.at[3] << 8 | params.at[4];
}

static uint32_t number_of(struct span params)
{
    return params.at[5];
}

#define POLICY                                                                                     \
    "\xa7retries\xcd\x27\x10\xa7timeout\x08\xa7"                                                   \
    "backoff\x05\xa4keep\xa4"                                                                      \
    "999d"

static struct span put_call(uint8_t *to, uint32_t tag, enum batch_call which)
{
    static const char method[] = "\x93\xa4work", options[] = "\x84" POLICY;
    uint8_t *at = to;
    memcpy(at, method, sizeof method - 1);
    at += sizeof method - 1;
    at += put_params(at, CALL, tag, which).len;
    memcpy(at, options, sizeof options - 1);
    return span_of(to, (size_t)(at - to) + sizeof options - 1);
}

static uint32_t tag_of(const struct batch *b)
{
    return whose(span_of(b->calls[BATCH_ON_END].at + 6, 6));
}

/* --- The client --- */

static struct operation *begin(struct batches_cuts *c, const struct operation_class *cls)
{
    struct operation *op = world_operation(&c->l.w, cls);
    op->loop = (void *)c;
    c->asks = op;
    return op;
}

static void create(struct batches_cuts *c, uint32_t n)
{
    const struct node *parent = parent_of(c, n);
    struct operation *op = begin(c, &operation_batch_create);
    assert_true(c->tags + 1 < TAGS);
    c->nodes[n].tag = ++c->tags;
    op->batch.parent = parent ? parent->id : 0;
    op->batch.durable = DURABLE_FSYNC;
    op->batch.keep = AO_S(1000000);
    for (enum batch_call which = 0; which < BATCH_CALL_COUNT; which++)
        op->batch.calls[which] = put_call(c->calls[which], c->nodes[n].tag, which);
    world_give(&c->l.w, op);
}

static void put_member(struct batches_cuts *c, uint32_t slot, enum part role)
{
    struct node *node = &c->nodes[c->node];
    struct job_spec *spec = &c->specs[slot];
    uint32_t number = node->adds * 2 + slot;
    *spec = WORK(.timeout = AO_MS(8), .durable = DURABLE_FSYNC, .batch = node->id);
    spec->retries = role == FAILS ? 0 : 100000;
    spec->policy.keep = role == BRIEF ? 0 : AO_S(1000000);
    spec->policy.backoff = AO_MS(5);
    spec->policy.backoff_max = AO_MS(20);
    spec->params = put_params(c->params[slot], role, c->node, number);
    node->brief_asked += role == BRIEF;
    if (role == BRIEF)
        return;
    snprintf(c->keys[slot], sizeof c->keys[slot], "%u/%u", c->node, number);
    spec->key = span_text(c->keys[slot]);
}

static void add(struct batches_cuts *c, uint32_t n)
{
    static const enum part roles[ADDS][2] = {
        {PLAIN, GROWS}, {PLAIN, BRIEF}, {BRIEF, BRIEF}, {GROWS, PLAIN}};
    for (uint32_t slot = 0; slot < 2; slot++) {
        enum part role = roles[c->nodes[n].adds][slot];
        put_member(c, slot, role == PLAIN && n % 3 == 1 ? FAILS : role);
    }
    struct operation *op = begin(c, &operation_batch_add);
    op->submission.specs = c->specs;
    op->submission.count = 2;
    world_give(&c->l.w, op);
}

static void change(struct batches_cuts *c, uint32_t n, const struct operation_class *cls)
{
    struct operation *op = begin(c, cls);
    op->batch.id = c->nodes[n].id;
    c->nodes[n].cancels |= cls == &operation_batch_cancel;
    world_give(&c->l.w, op);
}

/* One is closed when its child is there. */
static enum what next_of(struct batches_cuts *c, uint32_t n, bool cancels)
{
    const struct node *node = &c->nodes[n], *parent = parent_of(c, n), *child = node + 1;
    if (node->id == 0)
        return node->refused || (parent && parent->id == 0) ? NOTHING : CREATE;
    if (cancels && n % 5 % 3 == 1 && !node->cancel_is_told && below(c, 8) == 0)
        return CANCEL;
    if (!node->refused && node->adds < ADDS)
        return ADD;
    if (node->closed || (n % LEVELS < LEVELS - 1 && child->id == 0 && !child->refused))
        return NOTHING;
    return CLOSE;
}

static void ask(struct batches_cuts *c, uint32_t n, bool cancels)
{
    if (c->asks)
        return;
    c->node = n;
    c->what = next_of(c, n, cancels);
    if (c->what == CREATE)
        create(c, n);
    else if (c->what == ADD)
        add(c, n);
    else if (c->what != NOTHING)
        change(c, n, c->what == CLOSE ? &operation_batch_close : &operation_batch_cancel);
}

/* One that was cancelled, or is in one that was, takes no more. */
static void refused(struct batches_cuts *c)
{
    bool cancelled = false;
    for (uint32_t n = c->node - c->node % LEVELS; n <= c->node; n++)
        cancelled |= c->nodes[n].cancels;
    assert_true(cancelled && (c->what == CREATE || c->what == ADD));
    c->nodes[c->node].refused = true;
    for (uint32_t n = c->node; c->nodes[c->node].id == 0 && (n + 1) % LEVELS > 0; n++)
        c->nodes[n + 1].refused = true;
}

static bool is_lost(enum ergon_error error)
{
    return error == ERGON_E_STORE || error == ERGON_E_DRAINING || error == ERGON_E_UNSURE;
}

static void added(struct batches_cuts *c, const struct operation *op)
{
    struct node *node = &c->nodes[c->node];
    bool lost = false;
    for (uint32_t slot = 0; slot < 2; slot++) {
        enum ergon_error error = op->submission.outcomes[slot].error;
        if (error == ERGON_OK)
            node->brief += role_of(c->specs[slot].params) == BRIEF;
        else if (is_lost(error))
            lost = true;
        else
            refused(c);
    }
    tally.again += lost;
    node->adds += !lost && !node->refused;
}

static void done(struct batches_cuts *c, const struct operation *op)
{
    struct node *node = &c->nodes[c->node];
    if (c->what == ADD)
        added(c, op);
    else if (c->what == CREATE)
        node->id = c->l.w.jobs->batches->last->by_id.hash;
    else if (c->what == CLOSE)
        node->closed = true;
    else
        node->cancel_is_told = c->dies = true;
}

static void on_told(void *arg, struct operation *op)
{
    struct batches_cuts *c = arg;
    if (c->l.dying || fault_is_cut() || c->asks != op)
        return;
    c->asks = NULL;
    if (op->reply.error == ERGON_OK)
        done(c, op);
    else if (is_lost(op->reply.error))
        tally.again++;
    else
        refused(c);
}

static void forget_asked(struct cut_lives *l)
{
    struct batches_cuts *c = (struct batches_cuts *)l;
    tally.again += c->asks != NULL;
    c->asks = NULL;
}

static bool is_known(const struct batches_cuts *c, const struct batch *b)
{
    uint32_t tag = tag_of(b);
    for (uint32_t n = 0; n < NODES; n++)
        if (c->nodes[n].tag == tag)
            return c->nodes[n].id > 0 || (c->asks && c->what == CREATE && c->node == n);
    return false;
}

/* As one who lists what is open.  The answer does not matter. */
static void close_unknown(struct batches_cuts *c)
{
    for (struct batch *b = c->l.w.jobs->batches->first; b; b = b->next) {
        if (b->arrives || b->state != BATCH_OPEN || is_known(c, b))
            continue;
        struct operation *op = world_operation(&c->l.w, &operation_batch_close);
        op->batch.id = b->by_id.hash;
        tally.lost_creates++;
        world_give(&c->l.w, op);
        return;
    }
}

static void retry_one(struct batches_cuts *c)
{
    const struct job *found = NULL;
    uint32_t count = 0;
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next) {
        const struct batch *b = batch_find(c->l.w.jobs, job_batch(job));
        if (b && !batch_is_frozen(b) && job->state == JOB_FAILED && below(c, ++count) == 0)
            found = job;
    }
    if (!found)
        return;
    tally.retried++;
    world_give(&c->l.w, world_about(&c->l.w, &operation_task_retry, found->id));
}

/* --- Workers --- */

static void grow(struct batches_cuts *c, struct attempt_turn *turn, struct span of)
{
    char options[96] = "\x86" POLICY "\xa7"
                       "durable\xa5"
                       "fsync\xa5"
                       "batch\xae",
         *end;
    uint8_t params[8];
    end = options + strlen(options);
    id_batch_text(c->nodes[whose(of)].id, end);
    const struct turn_message_parts parts = {
        .method = span_text("work"),
        .params = put_params(params, GROWN, whose(of), number_of(of)),
        .options = span_text(options)};
    assert_null(turn_send(turn, &parts));
}

static void end_well(struct batches_cuts *c, struct world_run *r)
{
    struct outcome outcome = {.error = ERGON_OK, .result = span_text("\xc0")};
    struct attempt_end end = {.outcome = &outcome};
    if (role_of(r->run.params) != GROWS) {
        world_return(r, &end);
        return;
    }
    end.turn = turn_new((struct span){0}, (struct span){0}, NULL);
    assert_non_null(end.turn);
    grow(c, end.turn, r->run.params);
    struct attempt_turn *turn = end.turn;
    world_return(r, &end);
    turn_free(turn);
}

static struct world_run *any_run(struct batches_cuts *c)
{
    struct world_run *found = NULL;
    uint32_t count = 0;
    for (struct world_run *r = c->l.w.runs; r; r = r->next)
        if (r->stage != ATTEMPT_ASSIGNED && below(c, ++count) == 0)
            found = r;
    return found;
}

static void end_one(struct batches_cuts *c, bool well)
{
    struct world_run *r = any_run(c);
    uint32_t how = well ? 99 : below(c, 100);
    if (!r)
        return;
    if (role_of(r->run.params) == FAILS ? below(c, 3) > 0 : how < 15)
        world_fail(r, "ODD", "not today");
    else if (how < 20)
        world_again(r, AO_MS(3));
    else if (how < 26 && role_of(r->run.params) != FAILS)
        world_lose(r, LOSS_IN_COMPANY, "gone");
    else
        end_well(c, r);
}

/* --- What is looked at --- */

/* What belongs to the batch with a tag, of what is in memory. */
struct found {
    const struct batch *batch; /* NULL: there is none */
    uint32_t open, ended[BATCH_ENDS], brief, children_open, children_ended;
    uint32_t calls[BATCH_CALL_COUNT];
};

struct all_found {
    struct found of[TAGS];
    uint8_t members[NODES][ADDS * 2], grown[NODES][ADDS * 2];
    bool done[NODES][ADDS * 2];
};
static struct all_found all;

static void find_batches(const struct batches_cuts *c)
{
    memset(&all, 0, sizeof all);
    for (const struct batch *b = c->l.w.jobs->batches->first; b; b = b->next) {
        uint32_t tag = tag_of(b);
        assert_in_range(tag, 1, c->tags);
        assert_null(all.of[tag].batch);
        all.of[tag].batch = b;
    }
    for (const struct batch *b = c->l.w.jobs->batches->first; b; b = b->next) {
        struct found *parent = b->parent ? &all.of[tag_of(b->parent)] : NULL;
        if (parent && b->state != BATCH_ENDED)
            parent->children_open++;
        else if (parent)
            parent->ended[batch_outcome(b) - JOB_DONE]++, parent->children_ended++;
    }
}

static void find_call(const struct job *job)
{
    uint32_t which = number_of(job_params(job));
    struct found *f = &all.of[whose(job_params(job))];
    assert_true(f->batch && which < BATCH_CALL_COUNT);
    assert_int_equal(batch_sent(f->batch, which), job->id);
    f->calls[which]++;
}

static void find_member(const struct batches_cuts *c, const struct job *job)
{
    struct span params = job_params(job);
    uint32_t n = whose(params), number = number_of(params);
    enum part role = role_of(params);
    const struct node *node = &c->nodes[n];
    struct found *f = &all.of[node->tag];
    assert_int_equal(job_batch(job), node->id);
    assert_true(number < ADDS * 2 && f->batch);
    f->brief += role == BRIEF;
    if (role == GROWN)
        all.grown[n][number]++;
    else if (role != BRIEF)
        all.members[n][number]++;
    all.done[n][number] |= role == GROWS && job->state == JOB_DONE;
    if (job_state_open((enum job_state)job->state))
        f->open++;
    else
        f->ended[job->state - JOB_DONE]++;
}

static void find_all(const struct batches_cuts *c)
{
    find_batches(c);
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next)
        if (role_of(job_params(job)) == CALL)
            find_call(job);
        else
            find_member(c, job);
}

static void expect_members(uint32_t n, const struct node *node, bool begins)
{
    static const bool brief[ADDS * 2] = {[3] = true, [4] = true, [5] = true};
    for (uint32_t number = 0; number < ADDS * 2; number++) {
        assert_in_range(all.members[n][number], 0, 1);
        assert_true(all.members[n][number] || brief[number] || number >= node->adds * 2);
        assert_in_range(all.grown[n][number], all.done[n][number],
                        begins ? all.done[n][number] : 1);
    }
}

/* All that it counts beyond what is there are members that were forgotten. */
static void expect_counts(const struct found *f, uint32_t least, uint32_t most)
{
    const struct batch *b = f->batch;
    uint64_t total = b->open, there = f->open + f->children_open;
    bool counts = !batch_is_frozen(b);
    assert_true(!counts || b->open == there);
    for (unsigned end = 0; end < BATCH_ENDS; end++) {
        assert_true(!counts || b->ended[end] >= f->ended[end]);
        total += b->ended[end];
        there += f->ended[end];
    }
    assert_true(total >= there && !(b->state >= BATCH_ENDING && b->open > 0));
    assert_in_range(total - there + f->brief, least, most);
    tally.forgotten += b->state < BATCH_ENDING && total > there;
}

static void expect_calls(const struct found *f)
{
    bool ended = f->batch->state == BATCH_ENDED;
    enum job_state outcome = batch_outcome(f->batch);
    for (unsigned which = 0; which < BATCH_CALL_COUNT; which++)
        assert_int_equal(f->calls[which], batch_sent(f->batch, which) > 0);
    if (!ended)
        return;
    assert_int_equal(f->calls[BATCH_ON_END], 1);
    assert_int_equal(f->calls[BATCH_ON_SUCCESS], outcome == JOB_DONE);
    assert_true(outcome != JOB_FAILED || f->calls[BATCH_ON_FAILURE] == 1);
}

static void expect_past(const struct found *f, struct past *past)
{
    const struct batch *b = f->batch;
    if (past->cancelled && b->cancelled)
        assert_int_equal(past->failed, f->calls[BATCH_ON_FAILURE]);
    past->failed = f->calls[BATCH_ON_FAILURE] > 0;
    if (past->ended) {
        assert_true(b->state == BATCH_ENDED && b->cancelled == past->cancelled);
        assert_memory_equal(past->counts, b->ended, sizeof past->counts);
        assert_int_equal(f->children_open, 0);
    } else if (b->state == BATCH_ENDED) {
        past->ended = true;
        memcpy(past->counts, b->ended, sizeof past->counts);
        tally.ended[batch_outcome(b)]++;
    }
    past->cancelled = b->cancelled;
}

/* Nobody sees the memory of a server whose power is off. */
static void expect(struct batches_cuts *c, bool begins)
{
    if (fault_is_cut())
        return;
    find_all(c);
    for (uint32_t n = 0; n < NODES; n++) {
        const struct node *node = &c->nodes[n];
        const struct batch *b = node->id > 0 ? all.of[node->tag].batch : NULL;
        if (node->id == 0)
            continue;
        assert_true(b && b->by_id.hash == node->id);
        assert_true(!node->closed || b->state != BATCH_OPEN);
        assert_true(!node->cancel_is_told || b->cancelled || b->state >= BATCH_ENDING);
        expect_members(n, node, begins);
        expect_counts(&all.of[node->tag], node->brief, node->brief_asked);
    }
    for (uint32_t tag = 1; tag <= c->tags; tag++) {
        struct found *f = &all.of[tag];
        assert_true(f->batch || !c->past[tag].ended);
        if (!f->batch)
            continue;
        expect_calls(f);
        expect_past(f, &c->past[tag]);
        if (!is_known(c, f->batch))
            expect_counts(f, 0, 0);
    }
}

/* A callback begins when the row that names it is on disk, and that of an end says so. */
static void on_begun(void *arg, struct world_run *r, ao_time *lasts)
{
    struct batches_cuts *c = arg;
    (void)lasts;
    if (role_of(r->run.params) != CALL || fault_is_cut())
        return;
    for (const struct batch *b = c->l.w.jobs->batches->first; b; b = b->next) {
        uint32_t which = number_of(r->run.params);
        if (tag_of(b) != whose(r->run.params))
            continue;
        assert_true(batch_sent(b, which) > 0 && !b->held[which]);
        assert_true(which == BATCH_ON_FAILURE || b->state == BATCH_ENDED);
        tally.begun++;
    }
}

/* --- Lives --- */

static void begin_some(struct batches_cuts *c)
{
    struct world_run *next;
    for (struct world_run *r = c->l.w.runs; r; r = next) {
        next = r->next;
        if (r->stage == ATTEMPT_ASSIGNED && below(c, 3) > 0)
            world_begin(r);
    }
}

static void deed(struct batches_cuts *c)
{
    uint32_t which = below(c, 16);
    begin_some(c);
    if (which < 5)
        ask(c, below(c, NODES), true);
    else if (which < 10)
        end_one(c, false);
    else if (which == 10)
        retry_one(c);
    else if (which == 11)
        close_unknown(c);
    else if (which == 12 && c->asks && c->what == CREATE)
        forget_asked(&c->l); /* the client has lost its connection */
    else if (which == 12)
        fault_limit(below(c, 3) == 0 ? 1 + below(c, 100000) : 0);
    else
        jobs_world_pass(&c->l.w, below(c, 3) ? AO_US(300) : AO_MS(below(c, 30)));
    tally.full += c->l.w.jobs->journal.error == STORE_FULL;
}

/* A cancel goes on with the next life. */
static void expect_cancels(struct batches_cuts *c)
{
    jobs_world_pass(&c->l.w, AO_MS(100));
    if (fault_is_cut())
        return;
    for (const struct batch *b = c->l.w.jobs->batches->first; b; b = b->next)
        assert_true(!b->parent || !b->parent->cancelled || b->arrives || b->state > BATCH_CLOSED);
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next) {
        const struct batch *b = batch_find(c->l.w.jobs, job_batch(job));
        assert_true(!b || b->state != BATCH_CANCELLING || !job_is_open(job) ||
                    job_is(job, JOB_CANCEL));
    }
}

static void live(struct batches_cuts *c)
{
    static const ao_time latencies[] = {AO_US(100), AO_MS(1), AO_MS(5)};
    c->l.w.holds = below(c, 2);
    c->l.w.stubborn = below(c, 2);
    c->l.w.room[1] = 1 + below(c, 4);
    disk_store_latency(latencies[below(c, 3)]);
    cut_lives_boot(&c->l, true);
    expect(c, true);
    if (below(c, 2))
        expect_cancels(c);
    c->dies = false;
    for (uint32_t deeds = 1 + below(c, DEEDS); deeds > 0 && !fault_is_cut() && !c->dies; deeds--) {
        deed(c);
        jobs_world_pass(&c->l.w, AO_US(below(c, 200))); /* a quick disk has answered then */
        expect(c, false);
    }
    cut_lives_die(&c->l);
}

static bool is_busy(const struct batches_cuts *c)
{
    for (uint32_t n = 0; n < NODES; n++)
        if (c->nodes[n].id == 0 && !c->nodes[n].refused)
            return true;
    for (const struct batch *b = c->l.w.jobs->batches->first; b; b = b->next)
        if (b->state != BATCH_ENDED)
            return true;
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state))
            return true;
    return false;
}

static void live_to_the_end(struct batches_cuts *c)
{
    c->l.w.holds = c->l.w.stubborn = false;
    cut_lives_boot(&c->l, false);
    expect(c, true);
    expect_cancels(c);
    cut_lives_balance(&c->l);
    for (unsigned i = 0; i < 100000 && is_busy(c); i++) {
        ask(c, i % NODES, false);
        close_unknown(c);
        end_one(c, true);
        jobs_world_pass(&c->l.w, AO_MS(2));
        expect(c, false);
    }
    assert_false(is_busy(c));
    expect(c, true);
    cut_lives_balance(&c->l);
}

static void live_all(struct batches_cuts *c, uint64_t seed)
{
    memset(c->nodes, 0, sizeof c->nodes);
    memset(c->past, 0, sizeof c->past);
    c->asks = NULL;
    c->tags = 0;
    cut_lives_begin(&c->l, seed);
    c->l.lost = forget_asked;
    c->l.w.told = on_told;
    c->l.w.begun = on_begun;
    c->l.w.arg = c;
    for (unsigned life = 0; life < LIVES; life++)
        live(c);
    live_to_the_end(c);
    cut_lives_end(&c->l);
}

static int make_folder(void **state)
{
    *state = cut_lives_new(sizeof(struct batches_cuts));
    return 0;
}

static int remove_folder(void **state)
{
    struct batches_cuts *c = *state;
    return cut_lives_free(&c->l);
}

/* How far a store comes depends on the disk, so a few of them may see no cancelled batch. */
static bool has_seen_all(void)
{
    return tally.full > 0 && tally.again > 0 && tally.lost_creates > 0 && tally.retried > 0 &&
           tally.ended[JOB_DONE] > 0 && tally.ended[JOB_FAILED] > 0 &&
           tally.ended[JOB_CANCELLED] > 0 && tally.begun > 0 && tally.forgotten > 0;
}

/* ERGON_CUTS: so many at least; ERGON_CUTS_FROM: the first seed. */
TEST_OF(struct batches_cuts *c, NULL, make_folder, remove_folder, batches_hold_over_power_cuts)
{
    uint64_t cuts, first;
    bool looks = cut_lives_wanted(&cuts, &first, CUTS);
    uint64_t seed = first;
    for (; c->l.cuts < cuts || (!looks && !has_seen_all() && seed < first + STORES_MOST); seed++)
        live_all(c, seed);
    print_message("%llu stores: %u power cuts and %u kills (%u of both in a boot), %u stops, %u "
                  "looks at a full disk; batches that ended: %llu done, %llu failed, %llu "
                  "cancelled; %u callbacks begun; %u asked again, %u batches that nobody knew, %u "
                  "retries; %llu looks at members that were forgotten\n",
                  (unsigned long long)(seed - first), c->l.cuts, c->l.kills, c->l.boots_cut,
                  c->l.stops, tally.full, (unsigned long long)tally.ended[JOB_DONE],
                  (unsigned long long)tally.ended[JOB_FAILED],
                  (unsigned long long)tally.ended[JOB_CANCELLED], tally.begun, tally.again,
                  tally.lost_creates, tally.retried, (unsigned long long)tally.forgotten);
    if (looks)
        return;
    assert_true(has_seen_all());
}
