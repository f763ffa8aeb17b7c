/* Tasks that submit tasks, read results and keep checkpoints, while the power is cut at any call of
 * the disk, the disk is full, and processes are killed and stopped in between.
 *
 *     ROOT n ------ with its end --> LEFT n ------ with its end --> LEAF n
 *       |   \------ with its end --> RIGHT n
 *       +-- its result --> READER n, which a client submitted after it
 *
 * A client submits roots and readers by their keys, again and again until it is answered.  Attempts
 * fail, are lost, and come too late; before that they may keep a checkpoint.  At the begin of each
 * life, and in the end:
 *
 *   - a task that was acknowledged is there,
 *   - what a task submits is there once if that task is done, and else not at all,
 *   - a reader begins with the result of its root,
 *   - an attempt begins with a checkpoint of its own task, or none; and after a life in which one
 * was on disk not without,
 *
 * and in the end all is done, and the audit balances. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/job_options.h"
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/cut_lives.h"

enum {
    CUTS = 24, /* at least, in the tests */
    LIVES = 10,
    DEEDS = 100, /* of a life */
    ROOTS = 24
};

enum part { ROOT, LEFT, RIGHT, LEAF, READER, ROLES };

static struct tally {
    uint32_t full;
    uint64_t submitted, again, ends, late, kept, found;
} tally;

struct compose {
    struct cut_lives l;     /* first */
    struct operation *asks; /* NULL: the client waits for nothing */
    uint32_t next;          /* of what it submits: roots and readers in turn */
    uint64_t after;         /* the root that the reader under way comes after */
    char key[16];
    uint8_t params[40];
    uint64_t roots[ROOTS]; /* ids; 0: not acknowledged */
    bool readers[ROOTS];   /* acknowledged */
    bool on_disk[ROOTS];   /* a checkpoint of the root was there as a life began */
};

static uint32_t below(struct compose *c, uint32_t n)
{
    return cut_lives_below(&c->l, n);
}

/* --- Parameters: [n, part] and, of a reader, {"$result": ID} or what took its place --- */

static size_t put_params(uint8_t *at, uint32_t n, enum part part, uint64_t reads)
{
    char id[ID_TEXT_SIZE];
    uint8_t *begin = at;
    *at++ = part == READER ? 0x93 : 0x92;
    *at++ = (uint8_t)n;
    *at++ = (uint8_t)part;
    if (part == READER) {
        memcpy(at, "\x81\xa7$result\xae", 10);
        memcpy(at + 10, id_text(reads, id), ID_TEXT_LEN);
        at += 10 + ID_TEXT_LEN;
    }
    return (size_t)(at - begin);
}

static uint32_t number_of(struct span params)
{
    assert_true(params.len >= 3 && params.at[1] < ROOTS && params.at[2] < ROLES);
    return params.at[1];
}

static enum part part_of(struct span params)
{
    return (enum part)params.at[2];
}

/* --- The client --- */

static void ask(struct compose *c)
{
    uint32_t n = c->next / 2;
    enum part part = c->next % 2 ? READER : ROOT;
    if (c->asks || n == ROOTS)
        return;
    struct operation *op = world_operation(&c->l.w, &operation_task_submit);
    struct job_spec *spec = &op->submission.spec;
    *spec = WORK(.retries = 100000, .timeout = AO_MS(8), .durable = DURABLE_FSYNC);
    spec->policy.keep = AO_S(1000000);
    spec->policy.backoff = AO_MS(5);
    spec->policy.backoff_max = AO_MS(20);
    spec->params = span_of(c->params, put_params(c->params, n, part, c->roots[n]));
    snprintf(c->key, sizeof c->key, "%u/%d", n, part);
    spec->key = span_text(c->key);
    c->after = c->roots[n];
    spec->after = &c->after;
    spec->after_count = part == READER;
    op->submission.specs = spec;
    op->submission.count = 1;
    op->loop = (void *)c;
    c->asks = op;
    world_give(&c->l.w, op);
}

static void on_told(void *arg, struct operation *op)
{
    struct compose *c = arg;
    uint32_t n = c->next / 2;
    if (c->l.dying || fault_is_cut() || c->asks != op)
        return;
    c->asks = NULL;
    if (op->reply.error != ERGON_OK) {
        assert_true(op->reply.error == ERGON_E_STORE || op->reply.error == ERGON_E_DRAINING);
        tally.again++;
        return;
    }
    if (c->next++ % 2)
        c->readers[n] = true;
    else
        c->roots[n] = op->submission.outcomes[0].id;
    tally.submitted++;
}

static void forget_asked(struct cut_lives *l)
{
    struct compose *c = (struct compose *)l;
    tally.again += c->asks != NULL;
    c->asks = NULL;
}

/* --- Workers --- */

static void adds(struct attempt_turn *turn, uint32_t n, enum part part)
{
    static const char options[] = "\x84\xa7retries\xcd\x27\x10\xa7timeout\x08\xa7"
                                  "backoff\x05\xa4keep\xa4"
                                  "999d";
    uint8_t params[8];
    const struct turn_message_parts parts = {.method = span_text("work"),
                                             .params =
                                                 span_of(params, put_params(params, n, part, 0)),
                                             .options = span_text(options)};
    assert_null(turn_send(turn, &parts));
}

static void end_well(struct world_run *r)
{
    uint32_t n = number_of(r->run.params);
    enum part part = part_of(r->run.params);
    const uint8_t result[] = {0x92, (uint8_t)n, (uint8_t)part};
    struct outcome outcome = {.error = ERGON_OK, .result = span_of(result, sizeof result)};
    struct attempt_turn *own = r->run.turn, *turn = own;
    if (!turn)
        turn = turn_new((struct span){0}, (struct span){0}, NULL);
    assert_non_null(turn);
    if (part == ROOT) {
        adds(turn, n, LEFT);
        adds(turn, n, RIGHT);
    } else if (part == LEFT) {
        adds(turn, n, LEAF);
    }
    struct attempt_end end = {.turn = turn, .outcome = &outcome};
    tally.ends++;
    tally.late += r->flagged;
    world_return(r, &end); /* its own goes with it */
    if (!own)
        turn_free(turn);
}

static void keep_checkpoint(struct compose *c, const struct world_run *r)
{
    const uint8_t value[] = {0x91, (uint8_t)number_of(r->run.params)};
    c->l.w.source.noted(c->l.w.source.arg,
                        &(struct attempt_note){.owner = r->run.owner,
                                               .attempt = r->run.attempt,
                                               .kind = NOTE_CHECKPOINT,
                                               .data = span_of(value, sizeof value)});
    tally.kept++;
}

static void expect_begin(struct compose *c, const struct world_run *r)
{
    uint32_t n = number_of(r->run.params);
    const struct attempt_turn *turn = r->run.turn;
    const uint8_t read[] = {0x93, (uint8_t)n, READER, 0x92, (uint8_t)n, ROOT};
    if (part_of(r->run.params) == READER) {
        assert_int_equal(r->run.params.len, sizeof read);
        assert_memory_equal(r->run.params.at, read, sizeof read);
    }
    if (turn && turn->state.len > 0) {
        assert_true(turn->state.len == 2 && turn->state.at[1] == n);
        tally.found++;
    } else if (part_of(r->run.params) == ROOT) {
        assert_false(c->on_disk[n]);
    }
}

static void on_begun(void *arg, struct world_run *r, ao_time *lasts)
{
    (void)lasts;
    expect_begin(arg, r);
}

static struct world_run *any_run(struct compose *c)
{
    struct world_run *found = NULL;
    uint32_t count = 0;
    for (struct world_run *r = c->l.w.runs; r; r = r->next)
        if (r->stage != ATTEMPT_ASSIGNED && below(c, ++count) == 0)
            found = r;
    return found;
}

static void end_one(struct compose *c, bool well)
{
    struct world_run *r = any_run(c);
    uint32_t how = well ? 99 : below(c, 100);
    if (!r)
        return;
    if (how < 20)
        keep_checkpoint(c, r);
    else if (how < 28)
        world_again(r, AO_MS(3));
    else if (how < 38)
        world_fail(r, "ODD", "not today");
    else if (how < 44)
        world_lose(r, LOSS_IN_COMPANY, "gone");
    else
        end_well(r);
}

/* --- What a life finds --- */

struct found {
    uint32_t count[ROOTS][ROLES];
    bool done[ROOTS][ROLES];
};

static void look(struct compose *c, struct found *f)
{
    memset(f, 0, sizeof *f);
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next) {
        uint32_t n = number_of(job_params(job));
        enum part part = part_of(job_params(job));
        assert_true(job_state_open((enum job_state)job->state) || job->state == JOB_DONE);
        f->count[n][part]++;
        f->done[n][part] |= job->state == JOB_DONE;
        if (part == ROOT)
            c->on_disk[n] = job->more && job->more->checkpoint && job->state != JOB_DONE;
    }
}

static void expect(struct compose *c, const struct found *f)
{
    for (uint32_t n = 0; n < ROOTS; n++) {
        assert_true(f->count[n][ROOT] <= 1 && f->count[n][READER] <= 1);
        assert_true(c->roots[n] == 0 || f->count[n][ROOT] == 1);
        assert_true(!c->readers[n] || f->count[n][READER] == 1);
        assert_int_equal(f->count[n][LEFT], f->done[n][ROOT]);
        assert_int_equal(f->count[n][RIGHT], f->done[n][ROOT]);
        assert_int_equal(f->count[n][LEAF], f->done[n][LEFT]);
        assert_true(!f->done[n][READER] || f->done[n][ROOT]);
    }
}

/* --- Lives --- */

static void begin_some(struct compose *c)
{
    struct world_run *next;
    for (struct world_run *r = c->l.w.runs; r; r = next) {
        next = r->next;
        if (r->stage == ATTEMPT_ASSIGNED && below(c, 3) > 0)
            world_begin(r);
    }
}

static void deed(struct compose *c)
{
    begin_some(c);
    switch (below(c, 12)) {
    case 0:
    case 1:
    case 2:
        ask(c);
        return;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        end_one(c, false);
        return;
    case 8:
        fault_limit(below(c, 3) == 0 ? 1 + below(c, 100000) : 0);
        tally.full += c->l.w.jobs->journal.error == STORE_FULL;
        return;
    default:
        jobs_world_pass(&c->l.w, below(c, 3) ? AO_US(300) : AO_MS(below(c, 30)));
        return;
    }
}

static void live(struct compose *c)
{
    static const ao_time latencies[] = {AO_US(100), AO_MS(1), AO_MS(5)};
    struct found f;
    c->l.w.holds = below(c, 2);
    c->l.w.stubborn = below(c, 2);
    c->l.w.room[1] = 1 + below(c, 4);
    disk_store_latency(latencies[below(c, 3)]);
    memset(c->on_disk, 0, sizeof c->on_disk);
    cut_lives_boot(&c->l, true);
    look(c, &f);
    expect(c, &f);
    for (uint32_t deeds = 1 + below(c, DEEDS); deeds > 0 && !fault_is_cut(); deeds--) {
        deed(c);
        jobs_world_pass(&c->l.w, AO_US(below(c, 200))); /* a quick disk has answered then */
    }
    cut_lives_die(&c->l);
}

static bool is_busy(const struct compose *c)
{
    if (c->next < 2 * ROOTS)
        return true;
    for (const struct job *job = c->l.w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state))
            return true;
    return false;
}

static void live_to_the_end(struct compose *c)
{
    struct found f;
    c->l.w.holds = c->l.w.stubborn = false;
    memset(c->on_disk, 0, sizeof c->on_disk);
    cut_lives_boot(&c->l, false);
    look(c, &f);
    expect(c, &f);
    cut_lives_balance(&c->l);
    for (unsigned i = 0; i < 100000 && is_busy(c); i++) {
        ask(c);
        end_one(c, true);
        jobs_world_pass(&c->l.w, AO_MS(2));
    }
    assert_false(is_busy(c));
    look(c, &f);
    expect(c, &f);
    for (uint32_t n = 0; n < ROOTS; n++)
        for (unsigned part = 0; part < ROLES; part++)
            assert_true(f.count[n][part] == 1 && f.done[n][part]);
    cut_lives_balance(&c->l);
}

static void live_all(struct compose *c, uint64_t seed)
{
    memset(c->roots, 0, sizeof c->roots);
    memset(c->readers, 0, sizeof c->readers);
    c->asks = NULL;
    c->next = 0;
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
    *state = cut_lives_new(sizeof(struct compose));
    return 0;
}

static int remove_folder(void **state)
{
    struct compose *c = *state;
    return cut_lives_free(&c->l);
}

/* ERGON_CUTS: so many at least; ERGON_CUTS_FROM: the first seed. */
TEST_OF(struct compose *c, NULL, make_folder, remove_folder, each_is_there_once_over_power_cuts)
{
    uint64_t cuts, first;
    bool looks = cut_lives_wanted(&cuts, &first, CUTS);
    uint64_t seed = first;
    for (; c->l.cuts < cuts; seed++)
        live_all(c, seed);
    print_message("%llu stores: %u power cuts and %u kills (%u of both in a boot), %u stops, %u "
                  "looks at a full disk; %llu ends (%llu late, %llu fenced), %llu submissions, "
                  "%llu asked again; %llu checkpoints kept, %llu found\n",
                  (unsigned long long)(seed - first), c->l.cuts, c->l.kills, c->l.boots_cut,
                  c->l.stops, tally.full, (unsigned long long)tally.ends,
                  (unsigned long long)tally.late, (unsigned long long)c->l.fenced,
                  (unsigned long long)tally.submitted, (unsigned long long)tally.again,
                  (unsigned long long)tally.kept, (unsigned long long)tally.found);
    if (looks)
        return;
    assert_true(tally.again > 0 && tally.late > 0 && c->l.fenced > 0 && tally.full > 0 &&
                tally.found > 0);
}
