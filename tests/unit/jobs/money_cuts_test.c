/* Money that moves between accounts, each a durable actor, while the power is cut at any call of
 * the disk, the disk is full, and processes are killed and stopped in between.
 *
 * Four clients have transfers to make, one after another: three repeat theirs, by its key, until it
 * is answered; the last one calls once, without a key.  A transfer ("cart.give") takes cents from
 * its account, and sends them to another, which takes them ("cart.take") or, each seventh, sends
 * them back ("cart.back").  Each account keeps a log.  Attempts fail, are lost, and come too late.
 *
 * What has to hold is known without the jobs' help, by the states and messages that each life
 * finds:
 *
 *   - the cents of the accounts, and those on their way, are what they were,
 *   - a transfer that was answered is in the log of its account,
 *   - no two attempts of an actor are out at a time,
 *
 * and in the end each transfer is in both logs once, as each client and each account sent them, and
 * the audit balances. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cut_lives.h"
#include "tests/support/jobs_actors.h"

enum {
    CUTS = 24, /* at least, in the tests */
    LIVES = 12,
    DEEDS = 120, /* of a life */
    ACCOUNTS = 4,
    CLIENTS = 4,
    EACH = 40, /* transfers of a client */
    TRANSFERS = CLIENTS * EACH,
    OPENED = 1000, /* cents */
    ENTRIES = 2 * TRANSFERS
};

static struct tally {
    uint32_t full;
    uint64_t answered, again, turns, late;
} tally;

enum entry_kind { SENT = 0x4000, GOT = 0x8000, BACK = 0xc000, KINDS = 0xc000 };

/* The state of an account: bin 16 of these, as numbers of 16 bits. */
struct ledger {
    int32_t cents;
    uint32_t count;
    uint16_t log[ENTRIES]; /* the number of a transfer, and an entry_kind */
};

struct client {
    struct operation *asks; /* NULL: nothing */
    uint32_t next;          /* of its transfers */
    char key[16];
    uint8_t params[4];
};

struct money {
    struct cut_lives l; /* first */
    char names[ACCOUNTS][8];
    struct client clients[CLIENTS];
    bool answered[TRANSFERS], unsure[TRANSFERS];
};

static uint32_t below(struct money *m, uint32_t n)
{
    return cut_lives_below(&m->l, n);
}

/* --- Transfers: the number of one determines sender, receiver and amount --- */

static uint32_t giver_of(uint32_t number)
{
    return number * 7 / 3 % ACCOUNTS;
}

static uint32_t taker_of(uint32_t number)
{
    return (giver_of(number) + 1 + number % (ACCOUNTS - 1)) % ACCOUNTS;
}

static int32_t cents_of(uint32_t number)
{
    return (int32_t)(1 + number % 49);
}

static void encode_number(uint8_t params[4], uint32_t number)
{
    const uint8_t bytes[] = {0x91, 0xcd, (uint8_t)(number >> 8), (uint8_t)number};
    memcpy(params, bytes, sizeof bytes);
}

static uint32_t number_of(struct span params)
{
    assert_int_equal(params.len, 4);
    return (uint32_t)params.at[2] << 8 | params.at[3];
}

/* --- Accounts --- */

static void ledger_read(struct ledger *a, struct span raw)
{
    *a = (struct ledger){.cents = OPENED};
    if (raw.len == 0)
        return;
    a->cents = (int16_t)(raw.at[3] << 8 | raw.at[4]);
    a->count = (uint32_t)(raw.len - 5) / 2;
    for (uint32_t i = 0; i < a->count; i++)
        a->log[i] = (uint16_t)(raw.at[5 + 2 * i] << 8 | raw.at[6 + 2 * i]);
}

static void put_16(uint8_t *at, uint32_t n)
{
    at[0] = (uint8_t)(n >> 8);
    at[1] = (uint8_t)n;
}

static void ledger_write(const struct ledger *a, struct attempt_turn *turn)
{
    uint8_t raw[5 + 2 * ENTRIES] = {0xc5};
    put_16(raw + 1, 2 + 2 * a->count);
    put_16(raw + 3, (uint32_t)a->cents);
    for (uint32_t i = 0; i < a->count; i++)
        put_16(raw + 5 + 2 * i, a->log[i]);
    assert_null(turn_set_state(turn, span_of(raw, 5 + 2 * a->count), 1));
}

static void ledger_note(struct ledger *a, uint32_t number, enum entry_kind kind)
{
    assert_true(a->count < ENTRIES);
    a->log[a->count++] = (uint16_t)(number | kind);
}

static uint32_t ledger_has(const struct ledger *a, uint32_t number, enum entry_kind kind)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < a->count; i++)
        found += a->log[i] == (number | kind);
    return found;
}

/* --- Hosts --- */

static void offer_accounts(struct money *m)
{
    static const char *const methods[] = {"cart.give", "cart.take", "cart.back", NULL};
    struct actor_policy policy = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                  .durable = ACTOR_DURABLE_FSYNC};
    policy.retries = policy.call_retries = 100000;
    policy.backoff = AO_MS(5);
    policy.backoff_max = AO_MS(20);
    policy.timeout = AO_MS(8);
    policy.pipeline = below(m, 2) == 0; /* from boot to boot */
    policy.idle = AO_MS(10);
    offer(&m->l.w, "cart", &policy, methods);
}

static void pass_on(struct money *m, struct attempt_turn *turn, uint32_t to, const char *method,
                    uint32_t number)
{
    uint8_t params[4];
    encode_number(params, number);
    const struct turn_message_parts parts = {.to = span_text(m->names[to]),
                                             .method = span_text(method),
                                             .params = span_of(params, sizeof params)};
    assert_null(turn_send(turn, &parts));
}

static void take_turn(struct money *m, struct world_run *r)
{
    struct attempt_turn *turn = r->run.turn;
    uint32_t number = number_of(r->run.params);
    struct ledger a;
    ledger_read(&a, turn->state);
    if (span_is(r->run.method->name, "cart.give")) {
        ledger_note(&a, number, SENT);
        a.cents -= cents_of(number);
        pass_on(m, turn, taker_of(number), "take", number);
    } else if (span_is(r->run.method->name, "cart.back")) {
        ledger_note(&a, number, BACK);
        a.cents += cents_of(number);
    } else if (number % 7 == 0) {
        pass_on(m, turn, giver_of(number), "back", number);
    } else {
        ledger_note(&a, number, GOT);
        a.cents += cents_of(number);
    }
    ledger_write(&a, turn);
    tally.turns++;
    tally.late += r->flagged;
    world_finish(r, "\x01");
}

static struct world_run *any_run(struct money *m)
{
    struct world_run *found = NULL;
    uint32_t count = 0;
    for (struct world_run *r = m->l.w.runs; r; r = r->next) {
        if (r->stage == ATTEMPT_ASSIGNED)
            continue;
        for (const struct world_run *other = r->next; other; other = other->next)
            assert_false(other->stage != ATTEMPT_ASSIGNED &&
                         span_equal(other->run.turn->actor, r->run.turn->actor));
        if (below(m, ++count) == 0)
            found = r;
    }
    return found;
}

static void end_one(struct money *m, bool well)
{
    struct world_run *r = any_run(m);
    uint32_t how = well ? 99 : below(m, 100);
    if (!r)
        return;
    if (how < 10)
        world_again(r, AO_MS(3));
    else if (how < 20)
        world_fail(r, "ODD", "not today");
    else if (how < 26)
        world_lose(r, LOSS_IN_COMPANY, "gone");
    else
        take_turn(m, r);
}

static void begin_some(struct money *m)
{
    struct world_run *next;
    for (struct world_run *r = m->l.w.runs; r; r = next) {
        next = r->next;
        if (r->stage == ATTEMPT_ASSIGNED && below(m, 3) > 0)
            world_begin(r);
    }
}

/* --- Clients --- */

static uint32_t client_index(const struct money *m, const struct client *c)
{
    return (uint32_t)(c - m->clients);
}

static uint32_t client_number(const struct money *m, const struct client *c)
{
    return client_index(m, c) * EACH + c->next;
}

static bool is_once(const struct money *m, const struct client *c)
{
    return client_index(m, c) == CLIENTS - 1;
}

/* Tells and calls; both are answered when what they promise is on disk. */
static void ask(struct money *m, struct client *c)
{
    uint32_t number = client_number(m, c);
    bool tells = number % 2 && !is_once(m, c);
    if (c->asks || c->next == EACH)
        return;
    struct operation *op =
        world_operation(&m->l.w, tells ? &operation_actor_tell : &operation_actor_call);
    encode_number(c->params, number);
    snprintf(c->key, sizeof c->key, "%u", number);
    struct job_spec *spec = &op->submission.spec;
    *spec = TELL(m->names[giver_of(number)], "cart.give");
    spec->params = span_of(c->params, sizeof c->params);
    spec->keep = AO_S(1000000);
    if (!is_once(m, c))
        spec->key = span_text(c->key);
    if (!is_once(m, c)) {
        spec->durable = DURABLE_FSYNC;
        spec->said = 1u << JOB_OPTION_durable | 1u << JOB_OPTION_keep;
    }
    op->submission.specs = spec;
    op->submission.count = 1;
    op->submission.caller = 0;
    op->loop = (void *)c;
    c->asks = op;
    world_give(&m->l.w, op);
}

static void on_told(void *arg, struct operation *op)
{
    struct money *m = arg;
    struct client *c = (struct client *)(void *)op->loop;
    if (m->l.dying || fault_is_cut() || !c || c->asks != op)
        return;
    bool good = op->reply.error == ERGON_OK;
    c->asks = NULL;
    if (good)
        m->answered[client_number(m, c)] = true;
    else if (is_once(m, c))
        m->unsure[client_number(m, c)] = true;
    tally.answered += good;
    tally.again += !good && !is_once(m, c);
    c->next += good || is_once(m, c);
}

/* Nobody was answered what was out: the client that asks once does not know. */
static void forget_asked(struct cut_lives *l)
{
    struct money *m = (struct money *)l;
    for (struct client *c = m->clients; c < m->clients + CLIENTS; c++) {
        if (c->asks && is_once(m, c))
            m->unsure[client_number(m, c)] = true;
        tally.again += c->asks && !is_once(m, c);
        c->next += c->asks && is_once(m, c);
        c->asks = NULL;
    }
}

/* --- What a life finds --- */

/* False: the power went. */
static bool load(struct money *m, uint32_t index, struct ledger *a)
{
    struct operation *op = world_operation(&m->l.w, &operation_actor_get);
    op->actor.name = span_text(m->names[index]);
    op->loop = NULL;
    world_give(&m->l.w, op);
    for (unsigned i = 0; i < 1000 && !world_answered(&m->l.w, op) && !fault_is_cut(); i++)
        jobs_world_pass(&m->l.w, AO_MS(1));
    if (fault_is_cut())
        return false;
    const struct actor *found = actor_of(&m->l.w, m->names[index]);
    assert_true(op->reply.error == ERGON_OK || op->reply.error == ERGON_E_NOT_FOUND);
    ledger_read(a, found ? actor_state(found).raw : (struct span){0});
    return true;
}

static int32_t on_its_way(struct money *m)
{
    int32_t cents = 0;
    for (const struct job *job = m->l.w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state) && !job_is(job, JOB_SUBMITTING) &&
            !span_is(job->queue->name, "cart.give"))
            cents += cents_of(number_of(job_params(job)));
    return cents;
}

/* No turn has ended before: this is what is on disk. */
static bool look(struct money *m, struct ledger accounts[ACCOUNTS])
{
    int32_t cents = on_its_way(m);
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        if (!load(m, i, &accounts[i]))
            return false;
        cents += accounts[i].cents;
    }
    assert_int_equal(cents, ACCOUNTS * OPENED);
    return true;
}

static bool is_open(const struct money *m, uint32_t number)
{
    for (const struct job *job = m->l.w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state) && number_of(job_params(job)) == number)
            return true;
    return false;
}

static void expect_answered(struct money *m, const struct ledger accounts[ACCOUNTS])
{
    for (uint32_t n = 0; n < TRANSFERS; n++) {
        uint32_t sent = ledger_has(&accounts[giver_of(n)], n, SENT);
        assert_true(sent <= 1);
        if (m->answered[n] && sent == 0)
            assert_true(is_open(m, n)); /* a tell, which has not run */
    }
}

/* --- Lives and deaths --- */

static void deed(struct money *m)
{
    begin_some(m);
    switch (below(m, 12)) {
    case 0:
    case 1:
    case 2:
        ask(m, &m->clients[below(m, CLIENTS)]);
        return;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        end_one(m, false);
        return;
    case 8:
        if (below(m, 3) == 0)
            fault_limit(1 + below(m, 100000));
        else
            fault_limit(0);
        tally.full += m->l.w.jobs->journal.error == STORE_FULL;
        return;
    default:
        jobs_world_pass(&m->l.w, below(m, 3) ? AO_US(300) : AO_MS(below(m, 30)));
        return;
    }
}

static void live(struct money *m)
{
    static const ao_time latencies[] = {AO_US(100), AO_MS(1), AO_MS(5)};
    struct ledger accounts[ACCOUNTS];
    m->l.w.holds = below(m, 2);
    m->l.w.stubborn = below(m, 2);
    disk_store_latency(latencies[below(m, 3)]);
    cut_lives_boot(&m->l, true);
    offer_accounts(m);
    if (look(m, accounts))
        expect_answered(m, accounts);
    for (uint32_t deeds = 1 + below(m, DEEDS); deeds > 0 && !fault_is_cut(); deeds--) {
        deed(m);
        jobs_world_pass(&m->l.w, AO_US(below(m, 200))); /* a quick disk has answered then */
    }
    cut_lives_die(&m->l);
}

/* --- The end --- */

static bool is_busy(const struct money *m)
{
    for (const struct client *c = m->clients; c < m->clients + CLIENTS; c++)
        if (c->next < EACH)
            return true;
    for (const struct job *job = m->l.w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state))
            return true;
    return false;
}

/* Entries of one client, or of what one account sent to another, are in order. */
static void expect_order(const struct ledger *a, enum entry_kind kind)
{
    uint32_t last[CLIENTS] = {0};
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t number = a->log[i] & ~(uint32_t)KINDS, client = number / EACH;
        if ((a->log[i] & KINDS) != kind)
            continue;
        assert_true(number + 1 > last[client]);
        last[client] = number + 1;
    }
}

/* What `to` got from `from` it got in the order in which `from` sent it. */
static void expect_same_order(const struct ledger *from, uint32_t giver, const struct ledger *to,
                              enum entry_kind kind)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t number = to->log[i] & ~(uint32_t)KINDS;
        if ((to->log[i] & KINDS) != kind || giver_of(number) != giver)
            continue;
        while (at < from->count && from->log[at] != (number | SENT))
            at++;
        assert_true(at < from->count);
    }
}

static void check_logs(struct money *m, const struct ledger accounts[ACCOUNTS])
{
    for (uint32_t n = 0; n < TRANSFERS; n++) {
        const struct ledger *giver = &accounts[giver_of(n)], *taker = &accounts[taker_of(n)];
        uint32_t sent = ledger_has(giver, n, SENT);
        assert_true(m->answered[n] || m->unsure[n]);
        assert_true(m->answered[n] ? sent == 1 : sent <= 1);
        assert_int_equal(ledger_has(taker, n, GOT), n % 7 ? sent : 0);
        assert_int_equal(ledger_has(giver, n, BACK), n % 7 ? 0 : sent);
    }
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        expect_order(&accounts[i], SENT);
        for (uint32_t j = 0; j < ACCOUNTS; j++)
            if (i != j)
                expect_same_order(&accounts[i], i, &accounts[j], GOT);
    }
}

static void live_to_the_end(struct money *m)
{
    struct ledger accounts[ACCOUNTS];
    m->l.w.holds = m->l.w.stubborn = false;
    cut_lives_boot(&m->l, false);
    offer_accounts(m);
    assert_true(look(m, accounts));
    expect_answered(m, accounts);
    cut_lives_balance(&m->l);
    for (unsigned i = 0; i < 100000 && is_busy(m); i++) {
        ask(m, &m->clients[below(m, CLIENTS)]);
        end_one(m, true);
        jobs_world_pass(&m->l.w, AO_MS(2));
    }
    assert_false(is_busy(m));
    assert_true(look(m, accounts));
    check_logs(m, accounts);
    cut_lives_balance(&m->l);
}

static void live_all(struct money *m, uint64_t seed)
{
    memset(m->clients, 0, sizeof m->clients);
    memset(m->answered, 0, sizeof m->answered);
    memset(m->unsure, 0, sizeof m->unsure);
    for (unsigned i = 0; i < ACCOUNTS; i++)
        snprintf(m->names[i], sizeof m->names[i], "cart/%u", i);
    cut_lives_begin(&m->l, seed);
    m->l.lost = forget_asked;
    m->l.w.told = on_told;
    m->l.w.arg = m;
    for (unsigned life = 0; life < LIVES; life++)
        live(m);
    live_to_the_end(m);
    cut_lives_end(&m->l);
}

static int make_folder(void **state)
{
    *state = cut_lives_new(sizeof(struct money));
    return 0;
}

static int remove_folder(void **state)
{
    struct money *m = *state;
    return cut_lives_free(&m->l);
}

/* ERGON_CUTS: so many at least; ERGON_CUTS_FROM: the first seed. */
TEST_OF(struct money *m, NULL, make_folder, remove_folder, the_sum_stays_over_power_cuts)
{
    uint64_t cuts, first;
    bool looks = cut_lives_wanted(&cuts, &first, CUTS);
    uint64_t seed = first;
    for (; m->l.cuts < cuts; seed++)
        live_all(m, seed);
    print_message(
        "%llu stores: %u power cuts and %u kills (%u of both in a boot), %u stops, %u looks "
        "at a full disk; %llu turns (%llu late, %llu fenced), %llu transfers answered, and "
        "%llu asked again\n",
        (unsigned long long)(seed - first), m->l.cuts, m->l.kills, m->l.boots_cut, m->l.stops,
        tally.full, (unsigned long long)tally.turns, (unsigned long long)tally.late,
        (unsigned long long)m->l.fenced, (unsigned long long)tally.answered,
        (unsigned long long)tally.again);
    if (looks)
        return;
    assert_true(tally.again > 0 && tally.late > 0 && m->l.fenced > 0 && tally.full > 0);
}
