/* Several members on one engine, stepped by a clock that the test makes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/cluster/cluster.h"
#include "tests/support/cmocka_env.h"
#include "tests/unit/cluster/fake_engine.h"

enum { MEMBERS = 3, LEASE = 5 };

/* One process: `started` until it ends or is killed. */
struct member {
    struct cluster *cluster;
    char name[8];
    ao_time next; /* when its thread would go on */
    bool stopped; /* by SIGSTOP */
    bool loads;   /* it was told to, and the jobs have not finished */
    bool kept;    /* with its board */
    uint64_t epoch;
    uint64_t board; /* that it would believe */
    int ended;      /* bits of enum cluster_end */
    unsigned changes;
};

static struct member members[MEMBERS];
static ao_time now;
static uint64_t wall_ahead; /* of each machine, against the engine */

static uint64_t boottime(void *arg)
{
    (void)arg;
    return now;
}

static uint64_t wall(void *arg)
{
    (void)arg;
    return now + wall_ahead;
}

static void take(void *arg, const struct engine_owner *owner, bool keeps_board)
{
    struct member *m = arg;

    m->loads = true;
    m->kept = keeps_board;
    m->epoch = owner->epoch;
}

static uint64_t board(void *arg)
{
    return ((struct member *)arg)->board;
}

static void ended(void *arg, enum cluster_end why)
{
    struct member *m = arg;

    assert_false(m->ended & 1 << why);
    m->ended |= 1 << why;
}

static void changed(void *arg)
{
    ((struct member *)arg)->changes++;
}

static int start_as(struct member *m, const char *name, uint32_t weight)
{
    const struct cluster_options options = {.engine = &fake_engine,
                                            .where = "fake",
                                            .cluster = "test",
                                            .node = m->name,
                                            .version = "1",
                                            .weight = weight,
                                            .lease = AO_S(LEASE),
                                            .take = take,
                                            .board = board,
                                            .ended = ended,
                                            .arg = m,
                                            .boottime = boottime,
                                            .wall = wall};
    char error[200], address[32];
    uint64_t kept = m->board;

    *m = (struct member){.next = now, .board = kept};
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(address, sizeof address, "unix:///%s", name);
    m->cluster = cluster_new(&options);
    cluster_on_change(m->cluster, changed, m);
    return cluster_open(m->cluster, address, error, sizeof error);
}

static void start(struct member *m, const char *name)
{
    assert_int_equal(start_as(m, name, 100), 0);
}

static void kill_it(struct member *m)
{
    cluster_free(m->cluster);
    m->cluster = NULL;
}

/* For so long, in steps of 50 ms; loads are finished at once. */
static void run_for(ao_time length)
{
    ao_time until = now + length;

    for (; now < until; now += AO_MS(50)) {
        fake_rows.view.clock = now;
        for (struct member *m = members; m < members + MEMBERS; m++) {
            if (!m->cluster || m->stopped || now < m->next)
                continue;
            ao_time wait = cluster_step(m->cluster);
            m->next = wait == AO_NEVER ? AO_NEVER : now + wait;
            if (!m->loads)
                continue;
            m->loads = false;
            fake_rows.view.owner.tries = 0;
            cluster_owns(m->cluster);
            m->next = now;
        }
    }
}

static int begin(void **state)
{
    (void)state;
    memset(&fake_rows, 0, sizeof fake_rows);
    memset(members, 0, sizeof members);
    now = AO_S(1000);
    wall_ahead = 0;
    fake_rows.view.clock = now;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        kill_it(&members[i]);
    return 0;
}

#define MEMBERS_TEST(name) TEST_WITH(begin, finish, name)

static enum cluster_role role(int i)
{
    return cluster_role(members[i].cluster);
}

static struct cluster_view seen_by(int i)
{
    struct cluster_view v;

    cluster_view(members[i].cluster, &v);
    return v;
}

static void start_all(void)
{
    start(&members[0], "a");
    run_for(AO_MS(100));
    start(&members[1], "b");
    start(&members[2], "c");
    run_for(AO_S(3));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_int_equal(role(1), CLUSTER_FRONT);
}

MEMBERS_TEST(a_node_alone_owns_at_once)
{
    start(&members[0], "a");
    assert_int_equal(role(0), CLUSTER_FRONT);
    run_for(AO_MS(100));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_true(cluster_may_act(members[0].cluster));
    run_for(AO_S(2));
    assert_string_equal(fake_node("a")->state, "owner");
    assert_int_equal(fake_rows.view.owner.boards, 0);
    const struct cluster_view v = seen_by(0);
    assert_string_equal(v.owner, "a");
    assert_int_equal(v.epoch, 1);
    assert_int_equal(v.moving_since, 0);
    assert_int_equal(v.takeovers, 1);
}

MEMBERS_TEST(without_a_cluster_all_is_served_here)
{
    assert_int_equal(cluster_role(NULL), CLUSTER_ALONE);
    assert_true(cluster_may_act(NULL));
    assert_int_equal(cluster_version(NULL), 0);
}

MEMBERS_TEST(fronts_know_the_owner_and_where_it_is)
{
    start_all();
    const struct cluster_view v = seen_by(1);
    assert_string_equal(v.owner, "a");
    assert_string_equal(v.address, "unix:///a");
    assert_int_equal(v.moving_since, 0);
    assert_true(members[1].changes > 0);
    unsigned changes = members[1].changes;
    run_for(AO_S(10));
    assert_int_equal(members[1].changes, changes);
}

MEMBERS_TEST(the_next_takes_over_when_the_owner_dies)
{
    start_all();
    kill_it(&members[0]);
    run_for(AO_S(LEASE + 2));
    assert_int_equal(role(1), CLUSTER_OWNER);
    assert_int_equal(role(2), CLUSTER_FRONT);
    assert_int_equal(members[1].epoch, 2);
    assert_false(members[1].kept);
    assert_int_equal(fake_rows.view.owner.boards, 1);
    assert_string_equal(fake_node("a")->state, "dead");
    run_for(AO_S(2));
    assert_string_equal(seen_by(2).owner, "b");
}

/* It was stopped for longer than the lease. */
MEMBERS_TEST(an_owner_that_was_stopped_is_deposed)
{
    start_all();
    members[0].stopped = true;
    run_for(AO_S(4));
    run_for(AO_MS(100));
    assert_false(cluster_may_act(members[0].cluster));
    run_for(AO_S(8));
    assert_int_equal(role(1), CLUSTER_OWNER);
    assert_int_equal(members[0].ended, 0);
    members[0].stopped = false;
    run_for(AO_S(1));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_DEPOSED);
    assert_int_equal(role(0), CLUSTER_DEPOSED);
    uint32_t renewals = fake_rows.renewals;
    members[1].stopped = members[2].stopped = true;
    run_for(AO_S(5));
    assert_int_equal(fake_rows.renewals, renewals);
}

MEMBERS_TEST(a_short_stop_deposes_nobody)
{
    start_all();
    members[0].stopped = true;
    run_for(AO_S(4));
    members[0].stopped = false;
    run_for(AO_S(20));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_int_equal(fake_rows.take_overs, 1);
}

MEMBERS_TEST(an_outage_of_the_engine_deposes_nobody)
{
    char error[200];

    start_all();
    fake_rows.all_away = true;
    run_for(AO_S(4));
    assert_int_equal(cluster_ask(members[1].cluster, "drain", "a", error, sizeof error),
                     CLUSTER_BUSY);
    run_for(AO_MS(300));
    assert_false(cluster_may_act(members[0].cluster));
    run_for(AO_S(60));
    fake_rows.all_away = false;
    run_for(AO_S(1));
    assert_true(cluster_may_act(members[0].cluster));
    run_for(AO_S(40));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_int_equal(fake_rows.take_overs, 1);
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(members[i].ended, 0);
}

/* Only the owner is cut off: it gives nothing any more before the next one owns. */
MEMBERS_TEST(an_owner_that_is_cut_off_fences_itself_first)
{
    start_all();
    snprintf(fake_rows.away, sizeof fake_rows.away, "a");
    for (int i = 0; i < 400 && role(1) != CLUSTER_OWNER; i++) {
        bool may = cluster_may_act(members[0].cluster);
        run_for(AO_MS(50));
        if (role(1) != CLUSTER_FRONT)
            assert_false(may);
    }
    assert_int_equal(role(1), CLUSTER_OWNER);
    fake_rows.away[0] = '\0';
    run_for(AO_S(2));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_DEPOSED);
}

MEMBERS_TEST(a_drained_owner_hands_over_and_comes_back_as_a_front)
{
    char error[200];

    start_all();
    assert_int_equal(cluster_ask(members[2].cluster, "drain", "b", error, sizeof error),
                     CLUSTER_REFUSED);
    assert_int_equal(cluster_ask(members[2].cluster, "drain", "a", error, sizeof error),
                     CLUSTER_ASKED);
    members[2].next = now;
    run_for(AO_S(2));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_DRAIN);
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_string_equal(fake_node("a")->state, "draining");
    fake_rows.view.owner.node[0] = '\0'; /* its last batch */
    run_for(AO_MS(300));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_int_equal(role(1), CLUSTER_OWNER);
    assert_int_equal(fake_rows.view.owner.boards, 0);
    kill_it(&members[0]);
    start(&members[0], "a");
    run_for(AO_S(10));
    assert_int_equal(role(0), CLUSTER_FRONT);
    assert_int_equal(role(1), CLUSTER_OWNER);
}

MEMBERS_TEST(a_drain_is_kept_that_comes_before_the_owner_says_that_it_owns)
{
    char error[200] = "";

    start(&members[0], "a");
    start(&members[1], "b");
    while (role(0) != CLUSTER_OWNER)
        run_for(AO_MS(50));
    cluster_ask(members[0].cluster, "drain", "a", error, sizeof error);
    assert_string_equal(error, "");
    members[0].next = now;
    run_for(AO_S(2));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_DRAIN);
}

/* It starts again before anybody has seen the free place. */
MEMBERS_TEST(a_drained_owner_that_starts_at_once_does_not_own_again)
{
    start_all();
    kill_it(&members[0]);
    fake_rows.view.owner.node[0] = '\0';
    start(&members[0], "a");
    run_for(AO_S(5));
    assert_int_equal(role(0), CLUSTER_FRONT);
    assert_int_equal(role(1), CLUSTER_OWNER);
}

MEMBERS_TEST(a_front_that_stops_takes_over_no_more)
{
    start_all();
    cluster_leave(members[1].cluster);
    members[1].next = now;
    run_for(AO_S(1));
    assert_string_equal(fake_node("b")->state, "draining");
    kill_it(&members[0]);
    run_for(AO_S(LEASE + 2));
    assert_int_equal(role(2), CLUSTER_OWNER);
    assert_int_equal(role(1), CLUSTER_FRONT);
}

MEMBERS_TEST(of_two_processes_under_one_name_the_later_stays)
{
    start_all();
    kill_it(&members[2]);
    start(&members[2], "a");
    run_for(AO_S(LEASE) - AO_MS(100));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_NAMESAKE);
    assert_int_equal(role(2), CLUSTER_FRONT);
    run_for(AO_S(1));
    assert_int_equal(role(2), CLUSTER_OWNER);
    assert_int_equal(members[2].epoch, 2);
    assert_false(members[2].kept);
    assert_int_equal(fake_rows.view.owner.boards, 1);
    /* The database tells the earlier first. */
    kill_it(&members[1]);
    start(&members[1], "a");
    cluster_deposed(members[2].cluster);
    members[2].next = now;
    run_for(AO_MS(100));
    assert_int_equal(members[2].ended, 1 << CLUSTER_END_NAMESAKE);
}

static void pass_time(void)
{
    now += AO_S(LEASE - 2);
}

/* The first may have renewed until the join of the second was committed. */
MEMBERS_TEST(a_namesake_waits_from_the_answer_of_its_join)
{
    start_all();
    kill_it(&members[2]);
    fake_rows.joins = pass_time;
    start(&members[2], "a");
    fake_rows.joins = NULL;
    run_for(AO_S(LEASE) - AO_MS(100));
    assert_int_equal(role(2), CLUSTER_FRONT);
    run_for(AO_S(1));
    assert_int_equal(role(2), CLUSTER_OWNER);
}

MEMBERS_TEST(a_node_that_comes_back_keeps_its_place_and_its_board)
{
    start_all();
    kill_it(&members[0]);
    members[0].board = 1;
    start(&members[0], "a");
    run_for(AO_S(1));
    assert_int_equal(role(0), CLUSTER_OWNER);
    assert_int_equal(members[0].epoch, 2);
    assert_true(members[0].kept);
    assert_int_equal(fake_rows.view.owner.boards, 0);
    /* A board of an epoch before the last is not believed. */
    kill_it(&members[0]);
    start(&members[0], "a");
    run_for(AO_S(LEASE + 1));
    assert_false(members[0].kept);
    assert_int_equal(fake_rows.view.owner.boards, 1);
}

MEMBERS_TEST(a_take_over_whose_answer_is_lost_has_happened)
{
    start_all();
    kill_it(&members[0]);
    snprintf(fake_rows.unanswered, sizeof fake_rows.unanswered, "b");
    run_for(AO_S(LEASE + 2));
    assert_int_equal(fake_rows.view.owner.epoch, 2);
    assert_string_equal(fake_rows.view.owner.node, "b");
    assert_int_equal(role(1), CLUSTER_OWNER);
    assert_int_equal(role(2), CLUSTER_FRONT);
}

static void count_lines(void *arg, enum log_level level, const char *event,
                        const struct log_field *fields)
{
    (void)level;
    (void)event;
    (void)fields;
    ++*(uint32_t *)arg;
}

/* The log says it once, and once that it is over. */
MEMBERS_TEST(looks_that_are_refused_are_said_once)
{
    uint32_t lines = 0;
    struct cluster_rows *rows = malloc(sizeof *rows);
    start(&members[0], "a");
    run_for(AO_S(2));
    log_set_sink(&(struct log_sink){.threshold = LOG_INFO, .write = count_lines, .arg = &lines});
    fake_rows.refuses_looks = true;
    run_for(AO_S(60));
    cluster_rows(members[0].cluster, rows);
    assert_string_equal(rows->trouble, "permission denied; it is tried again");
    assert_int_equal(lines, 1);
    fake_rows.refuses_looks = false;
    run_for(AO_S(60));
    const struct log_sink to_stderr = log_stderr_sink((struct log_form){0}, LOG_INFO);
    log_set_sink(&to_stderr);
    assert_int_equal(lines, 2);
    cluster_rows(members[0].cluster, rows);
    assert_string_equal(rows->trouble, "");
    free(rows);
}

static void fail_load(struct member *m)
{
    m->loads = false;
    cluster_load_failed(m->cluster, "task 17 has no method", false);
    (void)cluster_step(m->cluster);
    assert_int_equal(m->ended, 1 << CLUSTER_END_LOAD);
    assert_string_equal(fake_rows.view.owner.node, "");
}

/* The database says nothing of the rows, and is asked again until it takes the place back. */
MEMBERS_TEST(a_load_that_broke_off_counts_as_no_try)
{
    struct member *m = &members[0];

    start(m, "a");
    for (int i = 0; i < 200 && !m->loads; i++, now += AO_MS(50))
        (void)cluster_step(m->cluster);
    assert_true(m->loads);
    m->loads = false;
    snprintf(fake_rows.away, sizeof fake_rows.away, "a");
    cluster_load_failed(m->cluster, "the connection broke", true);
    (void)cluster_step(m->cluster);
    assert_int_equal(m->ended, 0);
    assert_int_equal(fake_rows.view.owner.tries, 1);
    fake_rows.away[0] = '\0';
    (void)cluster_step(m->cluster);
    assert_int_equal(m->ended, 1 << CLUSTER_END_LOAD);
    assert_string_equal(fake_rows.view.owner.node, "");
    assert_int_equal(fake_rows.view.owner.tries, 0);
}

MEMBERS_TEST(rows_that_cannot_be_read_end_two_nodes_and_no_third)
{
    char error[200];

    start(&members[0], "a");
    start(&members[1], "b");
    for (int tries = 0; tries < 2; tries++) {
        struct member *m = NULL;
        for (int i = 0; i < 200 && !m; i++, now += AO_MS(50)) {
            fake_rows.view.clock = now;
            for (int k = 0; k < 2; k++) {
                if (members[k].cluster && now >= members[k].next)
                    members[k].next = now + cluster_step(members[k].cluster);
                if (members[k].loads)
                    m = &members[k];
            }
        }
        assert_non_null(m);
        fail_load(m);
        assert_string_equal(fake_node(m->name)->note, "task 17 has no method");
        kill_it(m);
    }
    start(&members[2], "c");
    run_for(AO_S(20));
    assert_int_equal(role(2), CLUSTER_FRONT);
    assert_int_equal(cluster_ask(members[2].cluster, "retry", "", error, sizeof error),
                     CLUSTER_ASKED);
    members[2].next = now;
    run_for(AO_S(3));
    assert_int_equal(role(2), CLUSTER_OWNER);
    assert_int_equal(cluster_ask(members[2].cluster, "retry", "", error, sizeof error),
                     CLUSTER_REFUSED);
}

MEMBERS_TEST(a_wrong_clock_does_not_own)
{
    wall_ahead = AO_S(10);
    start(&members[0], "a");
    run_for(AO_S(20));
    assert_int_equal(role(0), CLUSTER_FRONT);
    struct cluster_rows rows;
    cluster_rows(members[0].cluster, &rows);
    assert_int_equal(rows.clock, AO_S(10));
    wall_ahead = AO_S(9);
    run_for(AO_S(1));
    assert_int_equal(role(0), CLUSTER_OWNER);
}

MEMBERS_TEST(weight_0_never_owns)
{
    assert_int_equal(start_as(&members[0], "a", 0), 0);
    run_for(AO_S(20));
    assert_int_equal(role(0), CLUSTER_FRONT);
}

MEMBERS_TEST(an_engine_that_is_away_at_the_start_is_waited_for)
{
    fake_rows.all_away = true;
    start(&members[0], "a");
    run_for(AO_S(10));
    assert_int_equal(role(0), CLUSTER_FRONT);
    struct cluster_rows rows;
    cluster_rows(members[0].cluster, &rows);
    assert_string_equal(rows.trouble, "connection refused; it is tried again");
    assert_false(rows.known);
    fake_rows.all_away = false;
    run_for(AO_S(3));
    assert_int_equal(role(0), CLUSTER_OWNER);
}

MEMBERS_TEST(an_engine_that_refuses_a_node_ends_it)
{
    snprintf(fake_rows.refuses, sizeof fake_rows.refuses, "a");
    assert_int_equal(start_as(&members[0], "a", 100), -1);
    kill_it(&members[0]);
    fake_rows.all_away = true;
    start(&members[0], "a");
    fake_rows.all_away = false;
    run_for(AO_S(3));
    assert_int_equal(members[0].ended, 1 << CLUSTER_END_REFUSED);
}

MEMBERS_TEST(a_forgotten_node_ends)
{
    char error[200];

    start_all();
    assert_int_equal(cluster_ask(members[0].cluster, "forget", "a", error, sizeof error),
                     CLUSTER_REFUSED);
    assert_string_equal(error, "it owns the tasks (run 'ergon cluster drain' first)");
    assert_int_equal(cluster_ask(members[0].cluster, "forget", "x", error, sizeof error),
                     CLUSTER_REFUSED);
    assert_int_equal(cluster_ask(members[0].cluster, "forget", "c", error, sizeof error),
                     CLUSTER_ASKED);
    run_for(AO_S(3));
    assert_null(fake_node("c"));
    assert_int_equal(members[2].ended, 1 << CLUSTER_END_DEPOSED);
}

/* Fronts see that the tasks move, from where, and that they have arrived. */
MEMBERS_TEST(a_move_is_seen_by_all)
{
    start_all();
    kill_it(&members[0]);
    run_for(AO_S(LEASE));
    run_for(AO_MS(50));
    struct cluster_view v = seen_by(2);
    if (v.moving_since > 0)
        assert_string_equal(v.moving_from, "a");
    run_for(AO_S(3));
    v = seen_by(2);
    assert_string_equal(v.owner, "b");
    assert_int_equal(v.moving_since, 0);
    assert_string_equal(v.moving_from, "");
}

MEMBERS_TEST(a_node_says_what_is_wrong_in_its_row)
{
    start_all();
    cluster_note(members[1].cluster, "cannot reach the owner");
    run_for(AO_S(2));
    assert_string_equal(fake_node("b")->note, "cannot reach the owner");
    cluster_note(members[1].cluster, "");
    run_for(AO_S(2));
    assert_string_equal(fake_node("b")->note, "");
}
