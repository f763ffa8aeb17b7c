/* FILE-running: what of it is believed, and when the numbers of attempts are raised. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"

enum { TEXT = 300 };

static struct store *open_store(struct store_world *w)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    if (!s)
        fail_msg("%s", error);
    return s;
}

static enum store_board board_of(struct store *s)
{
    char error[TEXT] = "";
    enum store_board was;
    if (store_board_open(s, &was, error, sizeof error) != 0)
        fail_msg("%s", error);
    return was;
}

static void renew(struct store *s, bool raise)
{
    char error[TEXT] = "";
    if (store_board_renew(s, raise, error, sizeof error) != 0)
        fail_msg("%s", error);
}

/* As a server that dies: its first byte is written, and the header says that it runs. */
static void run_and_die(struct store_world *w)
{
    struct store *s = open_store(w);
    board_of(s);
    renew(s, false);
    *(uint8_t *)store_board_segment(s, 0, true) = 42;
    store_close(s);
}

static char *name_of(const struct store_world *w, char name[STORE_PATH + 16])
{
    snprintf(name, STORE_PATH + 16, "%s-running", w->path);
    return name;
}

STORE_TEST(it_survives_the_process)
{
    run_and_die(w);
    struct store *s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_KEPT);
    assert_int_equal(*(uint8_t *)store_board_segment(s, 0, false), 42);
    assert_null(store_board_segment(s, 1, false));
    renew(s, false);
    assert_int_equal(*(uint8_t *)store_board_segment(s, 0, false), 0);
    store_board_close(s);
    store_close(s);
    s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_CLEAN);
    store_close(s);
}

STORE_TEST(it_is_nobody_elses_affair)
{
    char name[STORE_PATH + 16];
    struct stat file;
    run_and_die(w);
    assert_int_equal(stat(name_of(w, name), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static void expect_lost(struct store_world *w)
{
    struct store *s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_LOST);
    renew(s, true);
    assert_non_null(store_board_segment(s, 0, true));
    store_close(s);
}

STORE_TEST(a_missing_one_is_lost)
{
    char name[STORE_PATH + 16];
    run_and_die(w);
    unlink(name_of(w, name));
    expect_lost(w);
}

STORE_TEST(one_that_was_cut_off_is_lost)
{
    char name[STORE_PATH + 16];
    static const off_t sizes[] = {0, 5, 30};
    for (unsigned n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        run_and_die(w);
        assert_int_equal(truncate(name_of(w, name), sizes[n]), 0);
        expect_lost(w);
    }
}

static void flip(const char *name, long at)
{
    FILE *file = fopen(name, "r+");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

/* Magic, version, size of a segment, state, device, inode, boot of the machine. */
STORE_TEST(a_damaged_header_is_lost)
{
    char name[STORE_PATH + 16];
    static const long fields[] = {0, 8, 12, 17, 24, 32, 40};
    for (unsigned n = 0; n < sizeof fields / sizeof fields[0]; n++) {
        run_and_die(w);
        flip(name_of(w, name), fields[n]);
        expect_lost(w);
    }
}

STORE_TEST(that_of_another_store_is_lost)
{
    char name[STORE_PATH + 16], other[STORE_PATH + 8], command[4 * (STORE_PATH + 32)];
    run_and_die(w);
    snprintf(other, sizeof other, "%s.copy", w->path);
    snprintf(command, sizeof command, "cp %s %s && cp %s %s-running", w->path, other,
             name_of(w, name), other);
    assert_int_equal(system(command), 0);
    snprintf(w->path, sizeof w->path, "%.*s", (int)sizeof w->path - 1, other);
    expect_lost(w);
}

/* Its head says how many segments there were: attempts that nobody tells of any more had begun. */
STORE_TEST(one_whose_segments_were_cut_off_is_lost)
{
    char name[STORE_PATH + 16];
    static const off_t sizes[] = {4096, 4096 + 77, 4096 + STORE_BOARD_SEGMENT - 1};
    for (unsigned n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        run_and_die(w);
        assert_int_equal(truncate(name_of(w, name), sizes[n]), 0);
        expect_lost(w);
    }
}

/* --- Truncated while it is in use --- */

/* As that of the server does (server/system/crash.c). */
static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (!store_board_mend(info->si_addr))
        abort();
}

static void expect_bus(void)
{
    const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
}

/* Writes to each page of two segments, though the file has only its first `size` bytes. */
static void use_truncated(struct store_world *w, struct store *s, off_t size)
{
    char name[STORE_PATH + 16];
    board_of(s);
    renew(s, false);
    volatile uint8_t *first = store_board_segment(s, 0, true);
    volatile uint8_t *second = store_board_segment(s, 1, true);
    expect_bus();
    assert_int_equal(truncate(name_of(w, name), size), 0);
    for (size_t at = 0; at < STORE_BOARD_SEGMENT; at += 4096)
        first[at] = second[at] = 42;
    for (size_t at = 0; at < STORE_BOARD_SEGMENT; at += 4096)
        assert_int_equal(first[at] + second[at], 84);
    signal(SIGBUS, SIG_DFL);
}

/* Also where the file has become longer since, and the header stands there as it was. */
STORE_TEST(one_that_is_truncated_in_use_is_lost_with_the_process)
{
    static const off_t sizes[] = {0, 4096, 4096 + STORE_BOARD_SEGMENT};
    for (unsigned n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        struct store *s = open_store(w);
        use_truncated(w, s, sizes[n]);
        assert_non_null(store_board_segment(s, 2, true));
        store_close(s);
        expect_lost(w);
    }
}

STORE_TEST(one_that_is_truncated_in_use_does_no_harm_to_a_stop)
{
    struct store *s = open_store(w);
    use_truncated(w, s, 0);
    store_board_close(s);
    store_close(s);
    s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_CLEAN);
    store_close(s);
}

STORE_TEST(another_address_is_not_mended)
{
    int elsewhere = 0;
    assert_false(store_board_mend(&elsewhere));
    struct store *s = open_store(w);
    board_of(s);
    assert_false(store_board_mend(&elsewhere));
    store_close(s);
    assert_false(store_board_mend(&elsewhere));
}

/* --- Refused --- */

static void expect_refused(struct store_world *w, const char *why)
{
    char error[TEXT] = "";
    enum store_board was;
    struct store *s = open_store(w);
    assert_int_equal(store_board_open(s, &was, error, sizeof error), -1);
    if (!strstr(error, "-running") || !strstr(error, why))
        assert_string_equal(error, why);
    store_close(s);
}

STORE_TEST(what_is_no_file_is_refused)
{
    char name[STORE_PATH + 16];
    static const char why[] = "is not a file; move it away";
    assert_int_equal(mkdir(name_of(w, name), 0700), 0);
    expect_refused(w, why);
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0);
    expect_refused(w, why);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink("nowhere", name), 0);
    expect_refused(w, why);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink("tasks.db", name), 0);
    expect_refused(w, why);
    assert_int_equal(unlink(name), 0);
    expect_lost(w);
}

/* Root may write everywhere, and is somebody else meanwhile. */
STORE_TEST(a_folder_that_cannot_be_written_is_refused)
{
    char error[TEXT] = "";
    enum store_board was;
    bool root = geteuid() == 0;
    struct store *s = open_store(w);
    assert_int_equal(chmod(w->folder, 0555), 0);
    assert_true(!root || seteuid(65534) == 0);
    int opened = store_board_open(s, &was, error, sizeof error);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(chmod(w->folder, 0700), 0);
    assert_int_equal(opened, -1);
    assert_non_null(strstr(error, "no right to write"));
    assert_non_null(strstr(error, "-running"));
    store_close(s);
}

/* --- Without room --- */

/* Of every file; what is beyond is refused as on a disk that is full. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

STORE_TEST(a_start_without_room_is_refused)
{
    char error[TEXT] = "";
    struct store *s = open_store(w);
    board_of(s);
    limit_files(0);
    int renewed = store_board_renew(s, false, error, sizeof error);
    limit_files(RLIM_INFINITY);
    assert_int_equal(renewed, -1);
    assert_non_null(strstr(error, "cannot write"));
    assert_non_null(strstr(error, "-running: File too large"));
    renew(s, false);
    store_close(s);
}

/* The log says so once; what is there stays, and so does what it tells after a crash. */
STORE_TEST(a_segment_without_room_is_tried_again)
{
    struct store *s = open_store(w);
    board_of(s);
    renew(s, false);
    *(uint8_t *)store_board_segment(s, 0, true) = 42;
    limit_files(4096 + STORE_BOARD_SEGMENT + 100);
    assert_null(store_board_segment(s, 1, true));
    assert_null(store_board_segment(s, 1, true));
    limit_files(RLIM_INFINITY);
    store_close(s);
    s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_KEPT);
    assert_int_equal(*(uint8_t *)store_board_segment(s, 0, false), 42);
    assert_non_null(store_board_segment(s, 1, true));
    store_close(s);
    s = open_store(w);
    assert_int_equal(board_of(s), STORE_BOARD_KEPT);
    assert_non_null(store_board_segment(s, 1, false));
    store_close(s);
}

static void put(struct store_world *w, uint64_t id, uint8_t durable, uint8_t state,
                uint32_t attempt)
{
    char sql[TEXT], out[TEXT];
    static const char *const names[] = {"none", "async", "fsync"};
    snprintf(sql, sizeof sql,
             "INSERT INTO submissions (id, method, durable) VALUES (%llu, 'm', '%s')",
             (unsigned long long)id, names[durable]);
    store_sql(w->path, sql, out, sizeof out);
    if (attempt == 0)
        return;
    snprintf(sql, sizeof sql, "INSERT INTO lives (id, state, attempt) VALUES (%llu, '%s', %u)",
             (unsigned long long)id,
             state == 0   ? "queued"
             : state == 4 ? "running"
                          : "done",
             attempt);
    store_sql(w->path, sql, out, sizeof out);
}

STORE_TEST(numbers_are_raised_where_an_attempt_may_have_begun)
{
    char out[TEXT];
    store_close(open_store(w));
    put(w, 1, 2, 0, 0);
    put(w, 2, 2, 0, 7);
    put(w, 3, 2, 4, 7);
    put(w, 4, 2, 6, 7);
    put(w, 5, 1, 0, 7);
    expect_lost(w);
    assert_string_equal(
        store_sql(w->path, "SELECT id, state, attempt FROM lives ORDER BY id", out, sizeof out),
        "1|queued|1\n2|queued|8\n3|running|7\n4|done|7\n5|queued|7\n");
}

/* --- Of a cluster: a node's own, in a folder --- */

static struct store *open_node(struct store_world *w, const char *node, enum store_board was,
                               uint64_t epoch)
{
    char error[TEXT] = "";
    struct store_options options = client_options(w->path);
    options.cluster = "c";
    options.node = node;
    options.folder = w->folder;
    struct store *s = store_open(&options, error, sizeof error);
    if (!s)
        fail_msg("%s", error);
    assert_int_equal(board_of(s), was);
    assert_int_equal(store_board_epoch(s), epoch);
    return s;
}

STORE_TEST(a_board_of_a_node_has_its_epoch)
{
    char error[TEXT] = "";
    struct store *s = open_node(w, "a", STORE_BOARD_LOST, 0);
    store_board_own(s, 7);
    renew(s, false);
    *(uint8_t *)store_board_segment(s, 0, true) = 42;
    store_close(s); /* as a process that dies */
    s = open_node(w, "a", STORE_BOARD_KEPT, 7);
    store_board_own(s, 8);
    assert_int_equal(store_board_keep(s, error, sizeof error), 0);
    store_close(s);
    s = open_node(w, "a", STORE_BOARD_KEPT, 8);
    assert_int_equal(*(uint8_t *)store_board_segment(s, 0, false), 42);
    store_board_close(s);
    store_close(s);
    store_close(open_node(w, "a", STORE_BOARD_CLEAN, 0));
}

STORE_TEST(a_board_of_another_node_is_not_believed)
{
    char from[STORE_PATH], to[STORE_PATH];
    struct store *s = open_node(w, "a", STORE_BOARD_LOST, 0);
    store_board_own(s, 7);
    renew(s, false);
    store_close(s);
    snprintf(from, sizeof from, "%s/a-running", w->folder);
    snprintf(to, sizeof to, "%s/b-running", w->folder);
    assert_int_equal(rename(from, to), 0);
    store_close(open_node(w, "b", STORE_BOARD_LOST, 0));
}

STORE_TEST(two_processes_do_not_share_a_board)
{
    char error[TEXT] = "", second[STORE_PATH];
    struct store *s = open_node(w, "a", STORE_BOARD_LOST, 0);
    snprintf(second, sizeof second, "%s/other.db", w->folder);
    struct store_options options = client_options(second);
    options.cluster = "c";
    options.node = "a";
    options.folder = w->folder;
    struct store *other = store_open(&options, error, sizeof error);
    enum store_board was;
    assert_non_null(other);
    assert_int_equal(store_board_open(other, &was, error, sizeof error), -1);
    assert_non_null(strstr(error, "another server uses it"));
    store_close(other);
    store_close(s);
}
