/* What a server finds on the board of a process that has ended. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/tasks/call_board.h"
#include "tests/support/cmocka_env.h"

enum { SLOTS = 4 };

struct boards {
    struct call_board *server, *process;
};

static void set_up(struct boards *b)
{
    int fd;

    b->server = call_board_new(SLOTS, &fd);
    assert_non_null(b->server);
    b->process = call_board_map(fd);
    assert_non_null(b->process);
    close(fd);
}

static void tear_down(struct boards *b)
{
    call_board_unref(b->process);
    call_board_unref(b->server);
}

static void set_stage(struct attempt_mark *mark, enum mark_stage stage)
{
    atomic_store_explicit(&mark->stage, stage, memory_order_release);
}

static struct attempt_mark *begin(struct boards *b, uint64_t number)
{
    struct attempt_mark *mark = call_board_give(b->process, number);

    set_stage(mark, MARK_BEGUN);
    return mark;
}

TEST(the_process_cannot_take_the_board_away)
{
    int fd;
    struct call_board *b = call_board_new(SLOTS, &fd);

    assert_non_null(b);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(call_board_fate(b, 1), CALL_WAITED);
    close(fd);
    call_board_unref(b);
}

TEST(what_was_not_begun_waits)
{
    struct boards b;

    set_up(&b);
    call_board_give(b.process, 7);
    begin(&b, 8);
    assert_int_equal(call_board_fate(b.server, 7), CALL_WAITED);
    assert_int_equal(call_board_fate(b.server, 99), CALL_WAITED); /* it was never read */
    tear_down(&b);
}

TEST(the_only_one_that_runs_is_guilty)
{
    struct boards b;

    set_up(&b);
    set_stage(begin(&b, 7), MARK_OVER);
    begin(&b, 8);
    assert_int_equal(call_board_fate(b.server, 8), CALL_GUILTY);
    assert_int_equal(call_board_fate(b.server, 7), CALL_RAN); /* its answer was on the way */
    assert_string_equal(call_board_why(b.server), "");
    tear_down(&b);
}

TEST(what_is_parked_is_not_guilty)
{
    struct boards b;

    set_up(&b);
    atomic_store_explicit(&begin(&b, 7)->place, MARK_PARKED, memory_order_relaxed);
    begin(&b, 8);
    assert_int_equal(call_board_fate(b.server, 7), CALL_RAN);
    assert_int_equal(call_board_fate(b.server, 8), CALL_GUILTY);
    tear_down(&b);
}

TEST(in_company_nobody_knows)
{
    struct boards b;

    set_up(&b);
    begin(&b, 7);
    begin(&b, 8);
    assert_int_equal(call_board_fate(b.server, 7), CALL_LOST);
    assert_int_equal(call_board_fate(b.server, 8), CALL_LOST);
    tear_down(&b);
}

TEST(the_first_who_is_blamed_counts)
{
    struct boards b;

    set_up(&b);
    struct attempt_mark *one = begin(&b, 7), *other = begin(&b, 8);
    call_board_blame(b.process, other, "SIGSEGV");
    call_board_blame(b.process, one, "SIGABRT");
    assert_int_equal(call_board_fate(b.server, 8), CALL_GUILTY);
    assert_int_equal(call_board_fate(b.server, 7), CALL_RAN);
    assert_string_equal(call_board_why(b.server), "SIGSEGV");
    tear_down(&b);
}

/* A thread of the module's own ended the process: no call is guilty, even if one alone runs. */
TEST(an_end_of_no_call)
{
    struct boards b;

    set_up(&b);
    begin(&b, 7);
    call_board_blame(b.process, NULL, "SIGSEGV");
    assert_int_equal(call_board_fate(b.server, 7), CALL_LOST);
    tear_down(&b);
}

TEST(the_server_blames_by_number)
{
    struct boards b;

    set_up(&b);
    begin(&b, 7);
    begin(&b, 8);
    call_board_blame_number(b.server, 99, "nothing");
    call_board_blame_number(b.server, 8, "it did not end in time");
    assert_int_equal(call_board_fate(b.server, 8), CALL_GUILTY);
    assert_string_equal(call_board_why(b.server), "it did not end in time");
    tear_down(&b);
}

/* As many calls are out as may be, and the answers of all of them are on the way, while others have
 * come and gone: each is still in its place. */
TEST(a_place_is_used_again_last)
{
    struct attempt_mark *marks[SLOTS];
    struct boards b;
    uint64_t number = 0;

    set_up(&b);
    for (int round = 0; round < 5; round++) {
        uint64_t first = number + 1;
        for (int i = 0; i < SLOTS; i++)
            marks[i] = begin(&b, ++number);
        for (int i = 0; i < SLOTS; i++) {
            set_stage(marks[i], MARK_OVER);
            call_board_take(b.process, marks[i]);
        }
        for (uint64_t n = first; n <= number; n++)
            assert_int_equal(call_board_fate(b.server, n), CALL_LOST);
        assert_int_equal(call_board_fate(b.server, first + SLOTS), CALL_WAITED);
        for (int i = 0; i < SLOTS; i++) { /* given while those answers are on the way */
            struct attempt_mark *mark = call_board_give(b.process, 1000 + (uint64_t)i);
            call_board_take(b.process, mark);
        }
        for (uint64_t n = first; n <= number; n++)
            assert_int_equal(call_board_fate(b.server, n), CALL_LOST);
    }
    tear_down(&b);
}

/* A module may write anything there. */
TEST(rubbish_is_read_safely)
{
    struct boards b;
    int fd;

    b.server = call_board_new(SLOTS, &fd);
    assert_non_null(b.server);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t i = 0; i < size; i++)
        assert_int_equal(pwrite(fd, "\xff", 1, i), 1);
    assert_int_equal(call_board_fate(b.server, UINT64_MAX), CALL_LOST);
    close(fd);
    call_board_unref(b.server);
}

/* The board outlives the process that wrote it. */
TEST(of_a_process_that_was_killed)
{
    struct call_board *server;
    int fd, status;

    server = call_board_new(SLOTS, &fd);
    assert_non_null(server);
    pid_t pid = fork();
    if (pid == 0) {
        struct boards b = {.process = call_board_map(fd)};
        begin(&b, 7);
        call_board_give(b.process, 8);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(call_board_fate(server, 7), CALL_GUILTY);
    assert_int_equal(call_board_fate(server, 8), CALL_WAITED);
    close(fd);
    call_board_unref(server);
}

TEST(what_is_no_board)
{
    int fd = open("/dev/null", O_RDWR);

    assert_null(call_board_map(fd));
    assert_null(call_board_map(-1));
    close(fd);
}
