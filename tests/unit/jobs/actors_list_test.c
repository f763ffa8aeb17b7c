/* actor.list: the store's rows and memory as one, each actor once, in the order of type, key and
 * tenant, also while they change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "tests/support/jobs_actors.h"
#include "tests/support/random.h"

#define LIST_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

static const struct actor_policy kept = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                         .durable = DURABLE_FSYNC, .idle = AO_S(1)};
static const struct actor_policy brief = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                          .durable = ACTOR_DURABLE_NONE, .idle = AO_S(3600)};

/* "cart" and "cart-b" are durable, "brief" is not. */
static void offer_usual(struct jobs_world *w)
{
    static const char *const carts[] = {"cart.add", NULL}, *const others[] = {"cart-b.add", NULL},
                             *const briefs[] = {"brief.add", NULL};
    offer(w, "cart", &kept, carts);
    offer(w, "cart-b", &kept, others);
    offer(w, "brief", &brief, briefs);
}

static void commit(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(3));
}

/* The actor is loaded then, if it has to be. */
static uint64_t tell(struct jobs_world *w, const char *to, const char *tenant)
{
    struct span type = actor_type_of_name(span_text(to));
    char method[64];
    snprintf(method, sizeof method, "%.*s.add", (int)type.len, to);
    uint64_t id = post(w, &TELL(to, method, .tenant = span_text(tenant)));
    commit(w);
    return id;
}

static void make(struct jobs_world *w, const char *name, const char *tenant)
{
    answer(w, tell(w, name, tenant), "\x01");
    commit(w);
}

static void passivate_all(struct jobs_world *w)
{
    jobs_world_pass(w, AO_S(3));
}

/* --- Pages --- */

enum { NAMES = 1200, NAME = 64 };

/* What a list has answered, page after page. */
struct listed {
    char names[NAMES][NAME]; /* and " of " its tenant, if it has one */
    uint64_t versions[NAMES];
    bool resident[NAMES];
    uint32_t count, pages;
    char cursor[512];
    size_t cursor_len;
};

static struct operation *ask(struct jobs_world *w, const struct actor_list_arguments *filter,
                             const struct listed *l)
{
    struct operation *op = world_operation(w, &operation_actor_list);
    op->actors = *filter;
    op->actors.cursor = span_of(l->cursor, l->cursor_len);
    world_give(w, op);
    return op;
}

static void take_one(struct reader *r, struct listed *l)
{
    struct span key, name = {0}, tenant = {0};
    uint32_t pairs = 0, at = l->count++;
    assert_true(at < NAMES && read_map(r, &pairs));
    for (; pairs > 0; pairs--) {
        assert_true(read_text(r, &key));
        if (span_is(key, "actor"))
            assert_true(read_text(r, &name));
        else if (span_is(key, "tenant"))
            assert_true(read_text(r, &tenant));
        else if (span_is(key, "version"))
            assert_true(read_uint(r, &l->versions[at]));
        else if (span_is(key, "resident"))
            assert_true(read_bool(r, &l->resident[at]));
        else
            assert_true(read_any(r, &key));
    }
    snprintf(l->names[at], NAME, "%.*s%s%.*s", (int)name.len, (const char *)name.at,
             tenant.len > 0 ? " of " : "", (int)tenant.len, (const char *)tenant.at);
}

/* True: there is another page. */
static bool take_page(const struct operation *op, struct listed *l)
{
    struct reader r = reader_of(operation_result(op));
    struct span key, cursor;
    uint32_t pairs, count = 0;
    assert_int_equal(op->reply.error, ERGON_OK);
    assert_true(read_map(&r, &pairs) && read_text(&r, &key) && read_array(&r, &count));
    assert_true(op->actors.max >= count);
    l->pages++;
    for (uint32_t i = 0; i < count; i++)
        take_one(&r, l);
    assert_true(read_text(&r, &key));
    if (read_nil(&r))
        return false;
    assert_true(read_text(&r, &cursor) && cursor.len < sizeof l->cursor);
    memcpy(l->cursor, cursor.at, cursor.len);
    l->cursor_len = cursor.len;
    return true;
}

static struct listed *list(struct jobs_world *w, const struct actor_list_arguments *filter)
{
    static struct listed l;
    struct operation *op;
    l.count = l.pages = 0;
    l.cursor_len = 0;
    do {
        op = ask(w, filter, &l);
        jobs_world_pass(w, AO_S(1) / 2);
        assert_true(world_answered(w, op));
    } while (take_page(op, &l));
    return &l;
}

#define FILTER(...) (&(struct actor_list_arguments){.stage = -1, __VA_ARGS__})

/* The names, with a space between them. */
static void are(const struct listed *l, const char *wanted)
{
    char all[1024] = "";
    for (uint32_t i = 0; i < l->count; i++) {
        strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, l->names[i], sizeof all - strlen(all) - 1);
    }
    assert_string_equal(all, wanted);
}

LIST_TEST(the_file_and_memory_are_one)
{
    offer_usual(w);
    make(w, "cart/1", "");
    make(w, "cart-b/1", "");
    make(w, "cart/3", "b");
    make(w, "cart/3", "");
    passivate_all(w);
    assert_null(actor_of(w, "cart/1"));
    make(w, "cart/2", "");
    make(w, "brief/1", "");
    make(w, "cart/1", ""); /* it is on disk, too, and newer here */
    static const char all[] = "brief/1, cart/1, cart/2, cart/3, cart/3 of b, cart-b/1";
    for (uint32_t max = 1; max <= 7; max++) {
        const struct listed *l = list(w, FILTER(.max = max));
        are(l, all);
        assert_int_equal(l->pages, (6 + max - 1) / max);
        assert_int_equal(l->versions[1], 2);
    }
    passivate_all(w);
    const struct listed *l = list(w, FILTER(.max = 100));
    are(l, all);
    assert_true(l->resident[0] && !l->resident[1] && !l->resident[5]);
    assert_int_equal(l->versions[1], 2);
}

LIST_TEST(filters_mean_rows_and_memory)
{
    offer_usual(w);
    make(w, "cart/eu-1", "");
    make(w, "cart/us-1", "a");
    make(w, "cart-b/eu-1", "");
    struct operation *op = world_operation(w, &operation_actor_stop);
    op->actor.name = span_text("cart/eu-1");
    world_give(w, op);
    commit(w);
    jobs_world_crash(w);
    offer_usual(w);
    assert_null(actor_of(w, "cart/eu-1"));
    make(w, "cart/eu-2", "");
    uint64_t id = tell(w, "cart/eu-3", "");
    are(list(w, FILTER(.max = 2, .type = span_text("cart"))),
        "cart/eu-1, cart/eu-2, cart/eu-3, cart/us-1 of a");
    are(list(w, FILTER(.max = 2, .prefix = span_text("cart"))),
        "cart/eu-1, cart/eu-2, cart/eu-3, cart/us-1 of a, cart-b/eu-1");
    are(list(w, FILTER(.max = 2, .prefix = span_text("cart/eu-"))),
        "cart/eu-1, cart/eu-2, cart/eu-3");
    are(list(w, FILTER(.max = 2, .prefix = span_text("cart/u"), .type = span_text("cart"))),
        "cart/us-1 of a");
    are(list(w, FILTER(.max = 2, .prefix = span_text("cart/u"), .type = span_text("cart-b"))), "");
    are(list(w, FILTER(.max = 2, .prefix = span_text("cart-"), .type = span_text("cart"))), "");
    are(list(w, FILTER(.max = 2, .prefix = span_text("/"))), "");
    are(list(w, FILTER(.max = 2, .tenant = span_text("a"))), "cart/us-1 of a");
    are(list(w, FILTER(.max = 2, .stage = ACTOR_STOPPED)), "cart/eu-1");
    are(list(w, FILTER(.max = 2, .stage = ACTOR_ACTIVE)), "cart/eu-3");
    are(list(w, FILTER(.max = 2, .stage = ACTOR_SLEEPING)),
        "cart/eu-2, cart/us-1 of a, cart-b/eu-1");
    answer(w, id, "\x01");
}

LIST_TEST(what_is_not_on_disk_is_not_shown)
{
    offer_usual(w);
    make(w, "cart/1", "");
    uint64_t id = tell(w, "cart/1", "");
    struct world_run *r = world_run_of(w, id);
    assert_null(turn_set_state(r->run.turn, span_text("\x02"), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_settle(w); /* its write is under way */
    assert_int_equal(list(w, FILTER(.max = 10))->versions[0], 2);
    id = tell(w, "cart/1", "");
    w->store->error = STORE_FULL;
    r = world_run_of(w, id);
    assert_null(turn_set_state(r->run.turn, span_text("\x03"), r->run.turn->writes));
    world_finish(r, "\x2a");
    jobs_world_settle(w);
    struct listed l = {.count = 0};
    struct operation *op = ask(w, FILTER(.max = 10), &l);
    commit(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    assert_int_equal(list(w, FILTER(.max = 10))->versions[0], 2);
}

LIST_TEST(a_dropped_one_is_gone_from_both)
{
    offer_usual(w);
    make(w, "cart/1", "");
    make(w, "cart/2", "");
    passivate_all(w);
    struct operation *op = world_operation(w, &operation_actor_drop);
    op->actor.name = span_text("cart/1");
    world_give(w, op);
    commit(w);
    commit(w);
    are(list(w, FILTER(.max = 10)), "cart/2");
}

/* --- Many rows --- */

static void put_row(struct jobs_world *w, const char *type, const char *key, const char *tenant)
{
    struct store_op op = {.kind = STORE_ROW_PUT, .table = &store_actors};
    *(struct store_actor *)op.row = (struct store_actor){.type = span_text(type),
                                                         .key = span_text(key),
                                                         .tenant = span_text(tenant),
                                                         .version = 1,
                                                         .state = span_text("\x01")};
    assert_true(memory_rows_apply(&w->store->rows, &op));
}

LIST_TEST(a_page_comes_soon_even_if_few_rows_fit)
{
    enum { ROWS = 4000 };
    char key[16];
    offer_usual(w);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(key, sizeof key, "%05u", i);
        put_row(w, "cart", key, i % 1000 == 999 ? "rare" : "usual");
    }
    struct actor_list_arguments rare = {.stage = -1, .max = 100, .tenant = span_text("rare")};
    const struct listed *l = list(w, &rare);
    are(l, "cart/00999 of rare, cart/01999 of rare, cart/02999 of rare, cart/03999 of rare");
    assert_int_equal(l->pages, 1);
    for (unsigned i = ROWS; i < 3 * ROWS; i++) {
        snprintf(key, sizeof key, "%05u", i);
        put_row(w, "cart", key, "usual");
    }
    l = list(w, &rare);
    assert_int_equal(l->count, 4);
    assert_int_equal(l->pages, 2);
}

LIST_TEST(rows_that_no_message_would_find_are_not_listed)
{
    offer_usual(w);
    put_row(w, "brief", "1", "");
    put_row(w, "cart", "1", "");
    put_row(w, "cart", "\xff", "");
    put_row(w, "gone", "1", "");
    are(list(w, FILTER(.max = 10)), "cart/1");
    char key[ACTOR_NAME_MAX];
    memset(key, 'x', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    put_row(w, "cart", key, "");
    struct listed l = {.count = 0};
    struct operation *op = ask(w, FILTER(.max = 10), &l);
    commit(w);
    assert_int_equal(op->reply.error, ERGON_E_STORE);
}

LIST_TEST(the_server_stops_while_a_page_is_read)
{
    struct listed l = {.count = 0};
    offer_usual(w);
    for (char key[] = "a"; key[0] <= 'z'; key[0]++)
        put_row(w, "cart", key, "");
    struct operation *op = ask(w, FILTER(.max = 10), &l);
    assert_false(world_answered(w, op));
    jobs_world_restart(w);
    offer_usual(w);
    assert_int_equal(list(w, FILTER(.max = 10))->count, 26);
}

/* --- By the messages that wait --- */

LIST_TEST(the_busiest_come_first)
{
    offer_usual(w);
    for (unsigned i = 0; i < 4; i++)
        tell(w, "cart/b", "");
    for (unsigned i = 0; i < 6; i++)
        tell(w, "brief/c", "");
    make(w, "cart/a", "");
    put_row(w, "cart", "on-disk", "");
    are(list(w, FILTER(.max = 10, .busiest = true)), "brief/c, cart/b, cart/a");
    are(list(w, FILTER(.max = 2, .busiest = true)), "brief/c, cart/b");
    make(w, "cart/a", "");
    are(list(w, FILTER(.max = 2, .busiest = true, .type = span_text("cart"))), "cart/b, cart/a");
}

/* --- While they change --- */

enum { ACTORS = 300, STEPS = 3500, RUNS = 2 };

struct load {
    struct jobs_world *w;
    uint64_t seed;
    char names[ACTORS][16];
    uint64_t sure[ACTORS]; /* the version that is on disk, or in memory alone; 0: none */
    bool sent[ACTORS];     /* a message, since it was dropped */
    /* The list under way. */
    struct listed listed;
    struct actor_list_arguments filter;
    struct operation *op;
    uint64_t before[ACTORS]; /* `sure` as it began; 0 also of one that was dropped since */
    uint32_t complete;
};

static uint32_t draw(struct load *l, uint32_t of)
{
    return chance(&l->seed, of);
}

static void send_to(struct load *l, uint32_t i)
{
    uint64_t id = tell(l->w, l->names[i], "");
    l->sent[i] = true;
    if (!is_out(l->w, id))
        return;
    answer(l->w, id, "\x01");
    if (draw(l, 2) == 0 && i % 3 == 0)
        return; /* it is on its way */
    commit(l->w);
    struct actor *a = actor_of(l->w, l->names[i]);
    if (a && a->residence == ACTOR_HERE)
        l->sure[i] = a->version;
}

static void drop(struct load *l, uint32_t i)
{
    struct operation *op = world_operation(l->w, &operation_actor_drop);
    op->actor.name = span_text(l->names[i]);
    l->sure[i] = l->before[i] = 0;
    world_give(l->w, op);
    if (draw(l, 2) == 0)
        commit(l->w);
}

static uint32_t number_of(const struct load *l, const char *name)
{
    uint32_t i = 0;
    while (i < ACTORS && strcmp(l->names[i], name) != 0)
        i++;
    assert_true(i < ACTORS);
    return i;
}

static void check(struct load *l)
{
    static bool seen[ACTORS];
    memset(seen, 0, sizeof seen);
    for (uint32_t at = 0; at < l->listed.count; at++) {
        uint32_t i = number_of(l, l->listed.names[at]);
        assert_true(at == 0 || number_of(l, l->listed.names[at - 1]) < i);
        assert_true(l->listed.versions[at] >= l->before[i]);
        seen[i] = true;
    }
    for (uint32_t i = 0; i < ACTORS; i++)
        if (l->before[i] > 0 && !seen[i])
            fail_msg("%s was missed, of %u on %u pages", l->names[i], l->listed.count,
                     l->listed.pages);
    l->complete++;
}

static void list_begins(struct load *l)
{
    l->listed.count = l->listed.pages = 0;
    l->listed.cursor_len = 0;
    memcpy(l->before, l->sure, sizeof l->before);
    l->op = ask(l->w, &l->filter, &l->listed);
}

static void list_goes_on(struct load *l)
{
    if (!l->op) {
        static const uint32_t sizes[] = {7, 30, 60, 299, 1000};
        l->filter = (struct actor_list_arguments){.stage = -1, .max = sizes[draw(l, 5)]};
        list_begins(l);
    } else if (world_answered(l->w, l->op)) {
        bool more = take_page(l->op, &l->listed);
        l->op = more ? ask(l->w, &l->filter, &l->listed) : NULL;
        if (!more)
            check(l);
    }
}

static void step(struct load *l)
{
    uint32_t what = draw(l, 100);
    if (what < 20)
        send_to(l, draw(l, ACTORS));
    else if (what < 24)
        drop(l, draw(l, ACTORS));
    else if (what < 26)
        jobs_world_pass(l->w, AO_S(1) + AO_MS(draw(l, 400)));
    else if (what < 60)
        jobs_world_pass(l->w, AO_MS(1) / 4);
    else
        list_goes_on(l);
}

/* In the order of type and key: some of them are in memory alone. */
static void name_all(struct load *l)
{
    for (unsigned i = 0; i < ACTORS; i++)
        snprintf(l->names[i], sizeof l->names[i], "%s/%03u", i < 30 ? "brief" : "cart", i);
}

LIST_TEST(each_is_listed_once_while_they_change)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct load *l = calloc(1, sizeof *l);
        assert_non_null(l);
        l->w = w;
        l->seed = seed;
        name_all(l);
        offer_usual(w);
        for (uint32_t i = 0; i < ACTORS; i += 2)
            send_to(l, i);
        for (unsigned i = 0; i < STEPS; i++)
            step(l);
        assert_true(l->complete > 20);
        jobs_world_crash(w);
        free(l);
    }
}
