/* What actors may take: copies leave memory for others; what is fixed is bounded, and shared by
 * tenants; states and mailboxes are as small as the server says. */
#include <stdio.h>
#include <string.h>

#include "proto/job_options.h"
#include "tests/support/jobs_actors.h"
#include "tests/support/notation.h"

#define KEPT_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true)

enum { STATE = 10000, MANY = 100 };

static const struct actor_policy durable = {ACTOR_POLICY_DEFAULTS, .schema = 1,
                                            .durable = ACTOR_DURABLE_FSYNC, .idle = AO_S(3600)};

static void begin(struct jobs_world *w, uint64_t bytes)
{
    static const char *const carts[] = {"cart.add", NULL}, *const boxes[] = {"box.add", NULL};
    offer(w, "box", &usual, boxes);
    if (w->store)
        offer(w, "cart", &durable, carts);
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.actors.bytes = bytes;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
}

static uint64_t bytes_of(const struct jobs_world *w)
{
    return counter_read(&w->jobs->actors->shown.bytes);
}

static uint64_t actors_of(const struct jobs_world *w)
{
    return counter_read(&w->jobs->actors->shown.resident);
}

/* A large state, whose first byte is the number of turns. */
static void turn(struct jobs_world *w, uint64_t id)
{
    static uint8_t raw[STATE] = {0xc5, (STATE - 3) >> 8, (uint8_t)(STATE - 3)};
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    struct span state = r->run.turn->state;
    raw[3] = state.len > 0 ? (uint8_t)(state.at[3] + 1) : 1;
    assert_null(turn_set_state(r->run.turn, span_of(raw, STATE), 1));
    world_finish(r, "\x2a");
    jobs_world_pass(w, AO_MS(5));
}

static void add(struct jobs_world *w, const char *type, unsigned n)
{
    char name[32], method[32];
    snprintf(name, sizeof name, "%s/%u", type, n);
    snprintf(method, sizeof method, "%s.add", type);
    uint64_t id = jobs_world_submit(w, &TELL(name, method));
    jobs_world_pass(w, AO_MS(5));
    turn(w, id);
}

/* Small ones are in cells side by side; each turn sees what the one before has set, in full. */
static void sizes(struct jobs_world *w, const char *const names[2], const char *method)
{
    static const size_t lengths[] = {1, 16, 17, 32, 31, 255, 256, STATE, 256, 255, 2, 1, STATE, 3};
    enum { COUNT = sizeof lengths / sizeof *lengths };
    uint8_t raw[2][STATE] = {{0}};
    size_t before = 0;
    for (size_t i = 0; i < COUNT; before = lengths[i++])
        for (int n = 0; n < 2; n++) {
            struct span is = span_of(raw[n], lengths[i]);
            uint64_t id = jobs_world_submit(w, &TELL(names[n], method));
            jobs_world_pass(w, AO_MS(5));
            struct world_run *r = world_run_of(w, id);
            assert_true(span_equal(r->run.turn->state, span_of(raw[n], before)));
            memset(raw[n], (int)(2 * i) + n + 1, is.len);
            assert_null(turn_set_state(r->run.turn, is, 1));
            world_finish(r, "\x2a");
            jobs_world_pass(w, AO_MS(5));
            assert_true(span_equal(actor_state(actor_of(w, names[n])).raw, is));
        }
    assert_in_range(bytes_of(w), 2 * sizeof(struct actor), 2 * sizeof(struct actor) + 128);
    for (int n = 0; n < 2; n++) {
        uint64_t id = jobs_world_submit(w, &TELL(names[n], method));
        jobs_world_pass(w, AO_MS(5));
        assert_null(turn_drop_state(world_run_of(w, id)->run.turn));
        world_finish(world_run_of(w, id), "\x2a");
        jobs_world_pass(w, AO_MS(5));
        has_state(w, names[n], NULL, COUNT + 1);
    }
}

KEPT_TEST(a_state_may_be_of_any_size_and_change_it)
{
    begin(w, 4 * STATE);
    sizes(w, (const char *const[]){"cart/1", "cart/2"}, "cart.add");
}

ACTOR_TEST(so_may_one_that_is_in_memory_alone)
{
    begin(w, 4 * STATE);
    sizes(w, (const char *const[]){"box/1", "box/2"}, "box.add");
}

static void refused(struct jobs_world *w, struct job_spec spec, enum ergon_error error,
                    const char *why)
{
    struct submitted out;
    char text[JOB_TEXT_MAX] = "";
    uint64_t jobs = w->jobs->table.count, actors = w->jobs->actors->by_name.count;
    assert_int_equal(world_submit(w, &spec, &out, text, sizeof text), error);
    stage_holds(text, why);
    jobs_world_settle(w);
    assert_int_equal(w->jobs->table.count, jobs);
    assert_int_equal(w->jobs->actors->by_name.count, actors);
}

KEPT_TEST(copies_leave_memory_for_others_and_nothing_is_lost)
{
    begin(w, 20 * STATE);
    for (unsigned n = 0; n < 3 * MANY; n++) {
        add(w, "cart", n % MANY);
        assert_in_range(bytes_of(w), 1, 20 * STATE);
    }
    assert_in_range(actors_of(w), 15, 20);
    for (unsigned n = 0; n < MANY; n++) {
        add(w, "cart", n);
        char name[32];
        snprintf(name, sizeof name, "cart/%u", n);
        assert_int_equal(actor_of(w, name)->version, 4);
        assert_int_equal(actor_state(actor_of(w, name)).raw.at[3], 4);
    }
    assert_int_equal(w->jobs->actors->fixed_bytes, 0);
    stage_balances(w);
}

KEPT_TEST(the_one_that_was_used_longest_ago_goes_first)
{
    begin(w, 4 * STATE);
    for (unsigned n = 0; n < 3; n++)
        add(w, "cart", n);
    add(w, "cart", 0); /* it is used again */
    add(w, "cart", 3);
    assert_non_null(actor_of(w, "cart/0"));
    assert_null(actor_of(w, "cart/1"));
    assert_non_null(actor_of(w, "cart/2"));
}

KEPT_TEST(one_that_jobs_name_keeps_its_name_alone)
{
    begin(w, 4 * STATE);
    add(w, "cart", 1);
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add", .delay = AO_S(60)));
    for (unsigned n = 2; n < 8; n++)
        add(w, "cart", n);
    assert_int_equal(actor_of(w, "cart/1")->residence, ACTOR_AWAY);
    assert_int_equal(actor_state(actor_of(w, "cart/1")).raw.len, 0);
    jobs_world_pass(w, AO_S(60));
    turn(w, id);
    assert_int_equal(actor_of(w, "cart/1")->version, 2);
}

KEPT_TEST(what_is_active_stays_and_a_new_one_is_busy)
{
    begin(w, 4 * STATE);
    for (unsigned n = 0; n < 3; n++)
        add(w, "cart", n);
    uint64_t ids[3];
    for (unsigned n = 0; n < 3; n++) {
        char name[32];
        snprintf(name, sizeof name, "cart/%u", n);
        ids[n] = jobs_world_submit(w, &TELL(name, "cart.add"));
    }
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.actors.bytes = 3 * STATE;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_pass(w, AO_MS(5));
    refused(w, TELL("cart/9", "cart.add"), ERGON_E_BUSY, "(actors.bytes)");
    assert_int_equal(actors_of(w), 3);
    for (unsigned n = 0; n < 3; n++)
        turn(w, ids[n]);
    add(w, "cart", 9);
    assert_in_range(bytes_of(w), 1, 3 * STATE);
}

ACTOR_TEST(volatile_ones_have_no_copy_and_stay)
{
    begin(w, 10 * STATE);
    for (unsigned n = 0; n < 4; n++)
        add(w, "box", n);
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.tenant_share = 50;
    limits.actors.bytes = 8 * STATE;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
    refused(w, TELL("box/9", "box.add"), ERGON_E_BUSY, "its share of actors.bytes");
    assert_int_equal(actors_of(w), 4);
    uint64_t other = jobs_world_submit(w, &TELL("box/9", "box.add", .tenant = span_text("ada")));
    jobs_world_settle(w);
    turn(w, other);
    jobs_world_pass(w, usual.idle + AO_S(1));
    assert_int_equal(actors_of(w), 0);
    add(w, "box", 9);
}

ACTOR_TEST(a_turn_whose_state_has_no_room_fails)
{
    begin(w, 3 * STATE);
    add(w, "box", 0);
    add(w, "box", 1);
    uint64_t id = jobs_world_submit(
        w, &TELL("box/2", "box.add", .retries = 0, .said = 1u << JOB_OPTION_retries));
    jobs_world_settle(w);
    turn(w, id);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    char text[JOB_LINE_MAX];
    job_end_text(world_job(w, id), text);
    stage_holds(text, "actors.bytes");
    has_state(w, "box/2", NULL, 0);
}

KEPT_TEST(a_lower_bound_takes_effect_at_once)
{
    begin(w, 100 * STATE);
    for (unsigned n = 0; n < 50; n++)
        add(w, "cart", n);
    assert_int_equal(actors_of(w), 50);
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.actors.bytes = 10 * STATE;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
    assert_in_range(bytes_of(w), 1, 10 * STATE);
    assert_non_null(actor_of(w, "cart/49"));
    assert_null(actor_of(w, "cart/0"));
}

KEPT_TEST(copies_of_a_type_that_ceases_to_be_durable_are_fixed)
{
    static const char *const carts[] = {"cart.add", NULL};
    begin(w, 100 * STATE);
    add(w, "cart", 1);
    assert_int_equal(w->jobs->actors->fixed_bytes, 0);
    offer(w, "cart", &usual, carts);
    assert_int_equal(w->jobs->actors->fixed_bytes, bytes_of(w));
}

ACTOR_TEST(states_and_mailboxes_are_as_small_as_the_server_says)
{
    begin(w, 100 * STATE);
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.actors.state = STATE - 1;
    limits.actors.messages = 2;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
    uint64_t id = post(w, &TELL("box/1", "box.add"));
    struct attempt_turn *t = world_run_of(w, id)->run.turn;
    assert_int_equal(t->state_max, STATE - 1);
    post(w, &TELL("box/1", "box.add"));
    refused(w, TELL("box/1", "box.add"), ERGON_E_BUSY, "as many as actors.messages allows");
}

/* --- Rows of the store --- */

static bool audit_says(struct jobs_world *w, const char *part)
{
    static char text[2048];
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(50));
    assert_true(world_answered(w, op));
    return strstr(notation_show(operation_result(op), text, sizeof text), part) != NULL;
}

static void drop(struct jobs_world *w, const char *name)
{
    struct operation *op = world_operation(w, &operation_actor_drop);
    op->actor.name = span_text(name);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_OK);
}

/* The turn ends BUSY, and makes none. */
static void makes_none(struct jobs_world *w, struct job_spec spec, const char *why)
{
    char text[JOB_LINE_MAX];
    spec.retries = 0;
    spec.said |= 1u << JOB_OPTION_retries;
    uint64_t rows = w->jobs->actors->counts.rows, id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    turn(w, id);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    job_end_text(world_job(w, id), text);
    stage_holds(text, why);
    assert_int_equal(w->jobs->actors->counts.rows, rows);
}

static void set_max(struct jobs_world *w, uint32_t max, uint32_t share)
{
    struct jobs_limits limits = w->jobs->options.settings.limits;
    limits.actors.max = max;
    limits.tenant_share = share;
    jobs_set_limits(w->jobs, &limits);
    jobs_world_settle(w);
}

KEPT_TEST(the_store_has_no_more_actors_than_may_be)
{
    begin(w, 1000 * STATE);
    set_max(w, 5, 0);
    for (unsigned n = 0; n < 5; n++)
        add(w, "cart", n);
    makes_none(w, TELL("cart/9", "cart.add"), "BUSY: the store has 5 actors");
    add(w, "cart", 0); /* it is there */
    drop(w, "cart/1");
    add(w, "cart", 9);
    assert_int_equal(w->jobs->actors->counts.rows, 5);
    set_max(w, 10, 50);
    makes_none(w, TELL("cart/10", "cart.add"), "its share of actors.max");
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add", .tenant = span_text("ada")));
    jobs_world_pass(w, AO_MS(5));
    turn(w, id);
    assert_int_equal(w->jobs->actors->counts.rows, 6);
    assert_true(audit_says(w, "'balanced': true"));
    assert_true(audit_says(w, "'actors': 6}"));
}

static void act(struct jobs_world *w, const struct operation_class *cls, const char *name,
                bool reset)
{
    struct operation *op = world_operation(w, cls);
    op->actor.name = span_text(name);
    op->actor.reset = reset;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static void has_rows(struct jobs_world *w, uint64_t rows)
{
    assert_int_equal(w->jobs->actors->counts.rows, rows);
    assert_int_equal(w->store->rows.actor_count, rows);
    assert_true(audit_says(w, "'balanced': true"));
}

KEPT_TEST(one_without_a_state_that_is_not_stopped_has_no_row)
{
    begin(w, 1000 * STATE);
    uint64_t id = jobs_world_submit(w, &TELL("cart/1", "cart.add"));
    jobs_world_pass(w, AO_MS(5));
    act(w, &operation_actor_stop, "cart/1", false);
    has_rows(w, 1);
    act(w, &operation_actor_start, "cart/1", false);
    has_rows(w, 0);
    fail_it(w, id, "PERMANENT");
    jobs_world_pass(w, AO_MS(5));
    add(w, "cart", 2);
    id = jobs_world_submit(w, &TELL("cart/2", "cart.add"));
    jobs_world_pass(w, AO_MS(5));
    assert_null(turn_drop_state(world_run_of(w, id)->run.turn));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_MS(5));
    has_state(w, "cart/2", NULL, 2);
    has_rows(w, 0);
    add(w, "cart", 2);
    has_rows(w, 1);
    act(w, &operation_actor_start, "cart/2", true);
    has_rows(w, 0);
    jobs_world_restart(w);
    begin(w, 1000 * STATE);
    add(w, "cart", 2);
    assert_int_equal(actor_of(w, "cart/2")->version, 1);
    has_rows(w, 1);
}

/* More than a page, of which some come and go while they are counted. */
KEPT_TEST(rows_are_counted_at_the_start_and_by_the_audit)
{
    begin(w, 1000 * STATE);
    for (unsigned n = 0; n < 600; n++)
        add(w, "cart", n);
    jobs_world_restart(w);
    assert_true(w->jobs->actors->counts.first.under_way);
    begin(w, 1000 * STATE);
    for (unsigned n = 590; n < 610; n++)
        add(w, "cart", n);
    jobs_world_pass(w, AO_S(1));
    assert_true(w->jobs->actors->counts.known);
    assert_int_equal(w->jobs->actors->counts.rows, 610);
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    drop(w, "cart/0");
    add(w, "cart", 0);
    drop(w, "cart/1");
    drop(w, "cart/99");
    add(w, "cart", 700);
    jobs_world_pass(w, AO_S(1));
    stage_says(op, "'actors': 609}");
    stage_says(op, "'balanced': true");
    w->jobs->actors->counts.rows++;
    assert_true(audit_says(w, "'store: 610 actors counted, but 609 rows'"));
    assert_true(audit_says(w, "'balanced': false"));
}

KEPT_TEST(a_stop_while_rows_are_counted_is_in_order)
{
    begin(w, 1000 * STATE);
    for (unsigned n = 0; n < 600; n++)
        add(w, "cart", n);
    jobs_world_restart(w);
    assert_true(w->jobs->actors->counts.first.under_way);
    jobs_stop(w->jobs);
    assert_false(w->jobs->actors->counts.first.under_way);
    assert_true(w->store->clean);
}
