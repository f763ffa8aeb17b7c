/* Messages that are not whole, on several loops at random: what holds whatever comes.
 *
 * Never more than the limit, counted by the lists and by the budget; who sends short messages is
 * served, and never closed, while others hold nearly all that there is with larger ones; and a need
 * closes one message at most. */
#include "server/net/auth/principal.h"
#include "server/net/connection/partial_budget.h"
#include "tests/support/net_world.h"

enum {
    LOOPS = 3,
    GREEDY = 24, /* connections of others, on all loops */
    GOOD = 6,
    ROUNDS = 3000,
    PHASE = 100,     /* rounds */
    SHARED = 300000, /* bytes */
    OWN = 20000,
    PATIENCE_MS = 200 /* within which a good one is answered */
};

static struct model {
    struct net_loop *loops[LOOPS];
    struct tally_book books[LOOPS];
    uint64_t now; /* ms */
    uint64_t asks, closed;
} model;

/* By the linker: each need that is not met at once is asked for here. */
bool __real_input_budget_ask(struct input_budget *b, struct input_keeper *k, size_t wanted);
bool __wrap_input_budget_ask(struct input_budget *b, struct input_keeper *k, size_t wanted);

bool __wrap_input_budget_ask(struct input_budget *b, struct input_keeper *k, size_t wanted)
{
    model.asks++;
    return __real_input_budget_ask(b, k, wanted);
}

static struct greedy {
    struct script script;
    struct connection *c;
    bool open;
} greedy[GREEDY];

static struct good {
    struct script script;
    struct connection *c;
    uint8_t bytes[8192];
    size_t len, sent;
    uint64_t since; /* ms */
} good[GOOD];

/* One loop more, played by the test: it takes all that is left, to the last byte, and gives it back
 * when it is asked. */
static struct filler {
    struct ao ao;
    struct input_keeper keeper;
    uint64_t has;
} filler;

static void filler_gives(void)
{
    input_budget_give(accounts_input(net.accounts), &filler.keeper, filler.has);
    filler.has = 0;
}

static enum ao_verdict filler_step(struct ao *self)
{
    (void)self;
    filler_gives();
    input_budget_answer(accounts_input(net.accounts), &filler.keeper);
    return AO_DONE;
}

static void filler_fills(void)
{
    struct input_budget *b = accounts_input(net.accounts);
    uint64_t left = SHARED - input_budget_bytes(b);

    assert_true(input_budget_take(b, &filler.keeper, left, SHARED));
    filler.has += left;
}

static void filler_opens(void)
{
    static const struct ao_class filler_class = {.name = "filler", .step = filler_step};

    filler = (struct filler){0};
    ao_init(&filler.ao, &filler_class, net.activator);
    filler.keeper.handle = ao_handle_new(&filler.ao);
    assert_non_null(filler.keeper.handle);
    input_budget_add(accounts_input(net.accounts), &filler.keeper);
}

static void filler_closes(void)
{
    filler_gives();
    input_budget_remove(accounts_input(net.accounts), &filler.keeper);
    ao_deactivate(&filler.ao);
    ao_fini(&filler.ao);
    ao_handle_unref(filler.keeper.handle);
}

static uint64_t below(uint64_t n)
{
    return activator_random(net.activator) % n; /* of a fixed seed */
}

static void be(struct connection *c, const char *name)
{
    const struct principal *p = principal_new(
        &(struct principal_options){PRINCIPAL_TOKEN, name, .tenant = NULL, .methods = "*"});

    conn_set_principal(c, p);
    principal_unref(p);
}

static struct connection *connect_to(struct script *k, uint64_t loop, const char *name)
{
    net.loop = model.loops[loop];
    struct connection *c = net_connect(k);
    net_run_ms(model.now);
    be(c, name);
    return c;
}

static void quiet(void *arg, const char *line)
{
    (void)arg;
    model.closed += strstr(line, "the budget for partial messages is used up") != NULL;
}

static int open_loops(void **state)
{
    net_open(state);
    net.record = quiet;
    net.limits.partial = (struct input_limits){.shared = SHARED, .own = OWN};
    model = (struct model){0};
    for (int i = 0; i < LOOPS; i++) {
        tally_book_init(&model.books[i], net.accounts, net.activator);
        model.loops[i] = net_loop_new(&(struct net_loop_options){.activator = net.activator,
                                                                 .limits = &net.limits,
                                                                 .port = net.port,
                                                                 .tallies = &model.books[i]});
        assert_non_null(model.loops[i]);
    }
    filler_opens();
    return 0;
}

static int close_loops(void **state)
{
    for (int i = 0; i < LOOPS; i++)
        net_loop_free(model.loops[i]);
    net.loop = NULL;
    filler_closes();
    assert_int_equal(input_budget_in_all(accounts_input(net.accounts)), 0);
    for (int i = 0; i < LOOPS; i++)
        tally_book_fini(&model.books[i]);
    return net_close(state);
}

/* Half a megabyte is announced. */
static void begin(struct greedy *g, uint64_t loop)
{
    static const uint8_t head[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x08, 0, 0};
    static const char *const names[] = {"one", "two"};

    g->c = connect_to(&g->script, loop, names[below(2)]);
    g->open = true;
    script_send(&g->script, span_of(head, sizeof head));
}

static void send_zeros(struct greedy *g, size_t len)
{
    static uint8_t zeros[60000];

    if (g->script.in_len < sizeof zeros)
        script_send(&g->script, span_of(zeros, len));
}

static void leave(struct greedy *g)
{
    if (g->open && !g->script.closed)
        script_reset(&g->script);
    g->open = false;
    net_run_ms(++model.now);
}

static bool is_there(const struct greedy *g)
{
    return g->open && !g->script.shut && !g->script.closed;
}

/* Many on all loops, with messages of all sizes; or one large one on each of two loops, which take
 * all that there is, and the others have nothing. */
static void go_on(uint64_t round)
{
    bool few = round / PHASE % 2 == 1;
    uint64_t n = few ? below(LOOPS - 1) : below(GREEDY);
    struct greedy *g = &greedy[n];

    if (!is_there(g) || (!few && below(20) == 0)) {
        leave(g);
        begin(g, few ? (round / PHASE + n) % LOOPS : below(LOOPS));
    } else {
        send_zeros(g, 1 + below(!few && below(2) ? 3000 : 60000));
    }
}

/* Part by part, and then the next. */
static void say_more(struct good *g)
{
    if (g->sent == g->len) {
        if (g->script.out_len == 0 && g->len > 0) {
            assert_true(model.now - g->since < PATIENCE_MS);
            return;
        }
        script_forget(&g->script);
        char text[401];
        size_t n = below(sizeof text);
        memset(text, 'x', n);
        text[n] = '\0';
        g->len = net_request(g->bytes, 1, "echo", text);
        g->sent = 0;
    }
    size_t part = 1 + below(g->len - g->sent);
    script_send(&g->script, span_of(g->bytes + g->sent, part));
    g->sent += part;
    g->since = model.now;
}

static uint64_t kept_by_all(void)
{
    uint64_t sum = filler.has;

    for (int i = 0; i < LOOPS; i++) {
        assert_true(model.loops[i]->partials.own <= OWN);
        assert_int_equal(model.loops[i]->partials.credit, 0);
        sum += model.loops[i]->partials.total;
    }
    return sum;
}

static void expect_what_holds(uint64_t asks, uint64_t closed)
{
    assert_true(input_budget_bytes(accounts_input(net.accounts)) <= SHARED);
    assert_int_equal(kept_by_all(), input_budget_in_all(accounts_input(net.accounts)));
    for (int i = 0; i < GOOD; i++)
        assert_true(conn_open(good[i].c));
    assert_true(model.closed - closed <= model.asks - asks);
}

TEST_WITH(open_loops, close_loops, what_holds_whatever_comes)
{
    uint64_t full = 0;

    for (int i = 0; i < GOOD; i++) {
        char name[] = {'g', 'o', 'o', 'd', (char)('0' + i), '\0'};
        good[i] = (struct good){0};
        good[i].c = connect_to(&good[i].script, (uint64_t)i % LOOPS, name);
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t asks = model.asks, closed = model.closed;
        for (int i = 0; round % PHASE == 0 && i < GREEDY; i++)
            leave(&greedy[i]);
        for (uint64_t n = below(6); n > 0; n--)
            go_on(round);
        if (round / PHASE % 3 == 2)
            filler_fills();
        say_more(&good[below(GOOD)]);
        net_run_ms(model.now += below(30));
        expect_what_holds(asks, closed);
        full += input_budget_bytes(accounts_input(net.accounts)) > SHARED - SHARED / 8;
    }
    assert_true(full > ROUNDS / 10); /* or nothing was tried */
    assert_true(model.closed > 100);
}
