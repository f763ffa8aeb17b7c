/* The disk fails, is full, becomes read-only, or holds damaged pages: what came back OK is in the
 * file, what did not is not, and the store goes on by itself when the disk does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/log.h"
#include "tests/support/cmocka_env.h"
#include "sim/fault_vfs.h"
#include "tests/support/store_world.h"
#include "tests/support/store_model.h"
#include "tests/support/virtual.h"

enum { BURST = 24, BURSTS = 36, TEXT = 300 };

struct world {
    struct store_world at;
    struct model certain; /* what came back OK */
    struct planned burst[BURST];
    uint32_t returned;
    uint64_t random, failed;
    enum store_error error; /* the last one, of those that failed */
};

static struct store_options options_of(struct world *w)
{
    struct store_options options = client_options(w->at.path);
    options.vfs = FAULT_VFS;
    return options;
}

static void on_return(struct store_client *c, struct store_op *op)
{
    struct world *w = c->arg;
    const struct planned *p = &w->burst[w->returned++];
    if (op->error == STORE_OK) {
        model_apply(&w->certain, p);
    } else if (op->error != STORE_REFUSED) {
        w->failed++;
        w->error = op->error;
    }
}

/* A false leaves the reason in `error`. */
static bool open_with(struct world *w, const struct store_options *options, char error[static TEXT])
{
    error[0] = '\0';
    if (!client_open(&w->at.client, options, error, TEXT))
        return false;
    w->at.client.returned = on_return;
    w->at.client.arg = w;
    return true;
}

static bool open_store(struct world *w, char error[static TEXT])
{
    const struct store_options options = options_of(w);
    return open_with(w, &options, error);
}

static void push_burst(struct world *w)
{
    static struct model future;
    uint32_t made = 0;
    future = w->certain;
    w->returned = 0;
    while (made < BURST && model_plan(&future, &w->random, &w->burst[made])) {
        model_apply(&future, &w->burst[made]);
        client_push(&w->at.client, model_op(&w->burst[made++]));
    }
    client_wait(&w->at.client);
}

static void wait_until_it_works(struct world *w)
{
    struct store_info info;
    do {
        usleep(100);
        store_info(w->at.client.store, &info);
    } while (info.error != STORE_OK);
}

static void expect_the_certain(struct world *w)
{
    static struct model found;
    char error[TEXT] = "";
    const struct store_options options = options_of(w);
    model_read(&found, &options, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(model_equal(&found, &w->certain));
    assert_true(model_balances(&found));
}

/* --- The N-th call --- */

/* Opens, writes, closes, while a call fails; false: none did, the work has fewer. */
static bool work_with_failure(struct world *w, uint64_t n, uint64_t times)
{
    char error[TEXT];
    bool failed = false;
    fault_fail_at(n, times);
    if (!open_store(w, error)) {
        assert_string_not_equal(error, "");
        assert_true(failed = fault_failed());
        fault_heal();
        assert_true(open_store(w, error));
    }
    for (int bursts = 0; bursts < BURSTS && !fault_failed(); bursts++)
        push_burst(w);
    if (fault_failed()) {
        failed = true;
        fault_heal();
        wait_until_it_works(w);
        push_burst(w);
    }
    client_close(&w->at.client);
    failed |= fault_failed();
    fault_heal();
    return failed;
}

static void each_call_fails(struct world *w, uint64_t times)
{
    uint64_t n = 1;
    bool failed = true;
    for (; failed; n += fault_stride()) {
        fault_open(n);
        w->random = n;
        w->certain = (struct model){0};
        failed = work_with_failure(w, n, times);
        expect_the_certain(w);
        fault_close();
    }
    print_message("%llu calls, %llu operations failed\n",
                  (unsigned long long)(n - fault_stride() - 1), (unsigned long long)w->failed);
    assert_in_range(n, 300, 5000);
    assert_in_range(w->failed, 500 / fault_stride(), 1000000);
}

static int set_up(void **state)
{
    virtual_silence();
    return store_world_make_of(state, sizeof(struct world));
}

#define FAULT_TEST(name) TEST_OF(struct world *w, NULL, set_up, store_world_remove, name)

FAULT_TEST(each_call_fails_once)
{
    each_call_fails(w, 1);
}

FAULT_TEST(each_call_fails_and_all_after_it)
{
    each_call_fails(w, FAULT_FOR_EVER);
}

/* Also a failed commit that stands whole in the log is not found there. */
FAULT_TEST(each_sync_fails)
{
    char error[TEXT];
    for (uint64_t n = 1; n <= 200; n++) {
        fault_open(n);
        w->random = n;
        w->certain = (struct model){0};
        assert_true(open_store(w, error));
        fault_syncs(1 + n % 8);
        for (int bursts = 0; bursts < 6; bursts++)
            push_burst(w);
        wait_until_it_works(w);
        client_close(&w->at.client);
        expect_the_certain(w);
        fault_close();
    }
    assert_in_range(w->failed, 100, 100000);
}

/* --- Full, read-only, damaged --- */

static void push_until_it_fails(struct world *w)
{
    uint64_t before = w->failed;
    for (int bursts = 0; bursts < 500 && w->failed == before; bursts++)
        push_burst(w);
    assert_true(w->failed > before);
}

FAULT_TEST(a_full_disk_is_said_and_room_is_enough_to_go_on)
{
    char error[TEXT];
    fault_open(1);
    assert_true(open_store(w, error));
    fault_limit(1 << 20);
    push_until_it_fails(w);
    assert_int_equal(w->error, STORE_FULL);
    fault_limit(0);
    wait_until_it_works(w);
    uint64_t before = w->failed;
    push_burst(w);
    assert_int_equal(w->failed, before);
    client_close(&w->at.client);
    expect_the_certain(w);
    fault_close();
}

/* An operation that writes a row that is there already, again and again. */
static enum store_error mark_queue(struct world *w)
{
    struct store_op *op = client_row(STORE_ROW_PUT, &store_queues);
    *(struct store_queue *)op->row = (struct store_queue){.method = span_text("m"), .paused = 1};
    w->at.client.returned = NULL;
    return client_do(&w->at.client, op);
}

/* The log, which has no room to grow, has gone into the file, and begins anew. */
FAULT_TEST(a_full_disk_has_room_again_when_the_log_is_in_the_file)
{
    enum { ROOM = 40 * 4120 /* bytes: 40 pages of the log */, TRIES = 20 /* two do */ };
    char error[TEXT];
    struct store_info info;
    fault_open(1);
    assert_true(open_store(w, error));
    assert_int_equal(mark_queue(w), STORE_OK);
    client_close(&w->at.client);
    assert_true(open_store(w, error));
    store_info(w->at.client.store, &info);
    fault_limit(info.bytes + ROOM);
    for (uint32_t n = 0; mark_queue(w) == STORE_OK; n++)
        assert_in_range(n, 0, ROOM);
    assert_int_equal(w->at.client.last, STORE_FULL);
    for (uint32_t tries = 0; mark_queue(w) != STORE_OK; tries++) {
        assert_in_range(tries, 0, TRIES);
        usleep(1000);
    }
    client_close(&w->at.client);
    fault_close();
}

/* The disk works again; but until the store has found that out, what is pushed comes back. */
FAULT_TEST(a_store_that_is_out_of_order_takes_nothing_before_it_has_tried)
{
    char error[TEXT];
    struct store_options options = options_of(w);
    options.retry = AO_S(3600);
    fault_open(1);
    assert_true(open_with(w, &options, error));
    push_burst(w);
    fault_syncs(1);
    push_burst(w);
    assert_int_equal(w->error, STORE_IO);
    fault_heal();
    for (int n = 0; n < 3; n++) {
        uint64_t before = w->failed;
        push_burst(w);
        assert_int_equal(w->failed, before + w->returned);
    }
    client_close(&w->at.client);
    fault_close();
}

/* What the log was told. */
struct tellings {
    _Atomic(unsigned) breaks, works;
};

static void count_tellings(void *arg, enum log_level level, const char *event,
                           const struct log_field *fields)
{
    struct tellings *told = arg;
    told->breaks += strcmp(event, "the store cannot write") == 0;
    told->works += strcmp(event, "the store writes again") == 0;
}

/* However often it works in between. */
FAULT_TEST(a_trouble_is_told_once)
{
    struct tellings told = {0};
    struct store_info info;
    unsigned calm = 0; /* looks that found no trouble, though there was one just before */
    char error[TEXT];
    log_set_sink(&(struct log_sink){.threshold = LOG_INFO, .write = count_tellings, .arg = &told});
    fault_open(1);
    assert_true(open_store(w, error));
    for (int n = 0; n < 100; n++) {
        fault_syncs(1);
        push_burst(w);
        wait_until_it_works(w);
        store_info(w->at.client.store, &info);
        calm += info.trouble == STORE_OK;
    }
    assert_true(calm <= told.works);
    assert_in_range(w->failed, 100, 100 * BURST);
    assert_true(told.breaks - told.works <= 1);
    assert_in_range(told.breaks, 1, 20); /* more than one where this thread had to wait long */
    do {
        usleep(100);
        store_info(w->at.client.store, &info);
    } while (told.works < told.breaks || info.trouble != STORE_OK);
    client_close(&w->at.client);
    virtual_silence();
    expect_the_certain(w);
    fault_close();
}

static enum store_error error_of(struct world *w, int number)
{
    fault_fail_at(1, FAULT_FOR_EVER);
    fault_errno(number);
    push_until_it_fails(w);
    fault_heal();
    wait_until_it_works(w);
    return w->error;
}

FAULT_TEST(what_the_system_says_is_understood)
{
    char error[TEXT];
    fault_open(1);
    assert_true(open_store(w, error));
    assert_int_equal(error_of(w, EIO), STORE_IO);
    assert_int_equal(error_of(w, EDQUOT), STORE_FULL);
    assert_int_equal(error_of(w, EROFS), STORE_READ_ONLY);
    client_close(&w->at.client);
    expect_the_certain(w);
    fault_close();
}

FAULT_TEST(a_device_that_becomes_read_only_is_said)
{
    char error[TEXT];
    fault_open(1);
    assert_true(open_store(w, error));
    push_burst(w);
    fault_read_only(true);
    push_until_it_fails(w);
    assert_int_equal(w->error, STORE_READ_ONLY);
    push_burst(w);
    fault_read_only(false);
    wait_until_it_works(w);
    push_burst(w);
    client_close(&w->at.client);
    expect_the_certain(w);
    fault_close();
}

FAULT_TEST(a_read_only_file_is_not_opened)
{
    char error[TEXT], expected[TEXT];
    fault_open(1);
    assert_true(open_store(w, error));
    client_close(&w->at.client);
    fault_read_only(true);
    assert_false(open_store(w, error));
    snprintf(expected, sizeof expected,
             "store %s: it is read-only; give the server the right to write it", w->at.path);
    assert_string_equal(error, expected);
    fault_close();
}

static uint64_t number(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, FAULT_VFS), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    uint64_t n = (uint64_t)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

/* The page where the tasks begin. */
static void damage(struct world *w)
{
    char error[TEXT];
    assert_true(open_store(w, error));
    push_burst(w);
    client_close(&w->at.client);
    uint64_t page =
        number(w->at.path, "SELECT rootpage FROM sqlite_schema WHERE name = 'submissions'");
    fault_damage(w->at.path, (page - 1) * 4096, 4096);
}

FAULT_TEST(a_damaged_file_takes_nothing_more)
{
    char error[TEXT];
    fault_open(1);
    damage(w);
    assert_true(open_store(w, error));
    push_burst(w);
    assert_int_equal(w->error, STORE_CORRUPT);
    assert_int_equal(w->failed, w->returned);
    usleep(5000); /* five times as long as until another try */
    push_burst(w);
    assert_int_equal(w->failed, 2 * w->returned);
    for (uint32_t n = 0; n < 3; n++) { /* nor what touches no damage */
        assert_int_equal(mark_queue(w), STORE_CORRUPT);
        usleep(2000);
    }
    client_close(&w->at.client);
    fault_close();
}

FAULT_TEST(a_damaged_file_is_not_read)
{
    static struct model found;
    char error[TEXT];
    const struct store_options options = options_of(w);
    fault_open(1);
    damage(w);
    assert_false(model_read(&found, &options, error, sizeof error));
    assert_non_null(strstr(error, options.path));
    assert_non_null(strstr(error, "it is damaged: "));
    fault_close();
}
