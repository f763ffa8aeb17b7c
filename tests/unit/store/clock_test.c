/* The wall clock is set while the store is open.  The linker puts the clock of this file in the
 * place of the system's. */
#include "base/clock.h"
#include "server/store/store_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"

#define HOUR AO_S(3600)

static _Atomic int64_t set_by; /* the writer reads it, too */

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = __real_clock_gettime(id, out);
    if (id == CLOCK_REALTIME)
        out->tv_sec += set_by / (int64_t)AO_S(1);
    return rc;
}

static void commit_one(struct store_world *w, enum store_kind kind, uint64_t back)
{
    struct store_op *op = client_op(kind);
    op->back = back;
    assert_int_equal(client_do(&w->client, op), STORE_OK);
}

/* The time that the next start would read. */
static uint64_t committed_at(struct store_world *w)
{
    char error[200] = "";
    const struct store_options options = client_options(w->path);
    client_close(&w->client);
    struct store *s = store_open(&options, error, sizeof error);
    assert_non_null(s);
    uint64_t at = store_committed_at(s);
    store_close(s);
    return at;
}

static void is_about(uint64_t at, uint64_t expected)
{
    assert_in_range(at, expected - AO_S(60), expected + AO_S(60));
}

/* Rows have times of the old clock: so has the commit, however many follow. */
STORE_TEST(commits_have_the_old_time_until_rows_are_set_back)
{
    uint64_t old = clock_wall();
    store_world_open(w);
    commit_one(w, STORE_SYNC, 0);
    set_by = -(int64_t)HOUR;
    commit_one(w, STORE_SYNC, 0);
    commit_one(w, STORE_SYNC, 0);
    is_about(committed_at(w), old);
    set_by = 0;
}

STORE_TEST(commits_have_the_new_time_once_rows_are_set_back)
{
    uint64_t old = clock_wall();
    store_world_open(w);
    commit_one(w, STORE_SYNC, 0);
    set_by = -(int64_t)HOUR;
    commit_one(w, STORE_SYNC, 0);
    commit_one(w, STORE_SET_BACK, HOUR);
    commit_one(w, STORE_SYNC, 0);
    is_about(committed_at(w), old - HOUR);
    set_by = 0;
}

STORE_TEST(commits_follow_a_clock_that_is_set_forward)
{
    uint64_t old = clock_wall();
    store_world_open(w);
    commit_one(w, STORE_SYNC, 0);
    set_by = (int64_t)HOUR;
    commit_one(w, STORE_SYNC, 0);
    is_about(committed_at(w), old + HOUR);
    set_by = 0;
}

/* Set back while nobody ran, and the rows with it before the start. */
STORE_TEST(the_first_commit_of_a_start_has_the_new_time)
{
    char error[200] = "";
    uint64_t old = clock_wall();
    const struct store_options options = client_options(w->path);
    store_world_open(w);
    commit_one(w, STORE_SYNC, 0);
    is_about(committed_at(w), old);
    set_by = -(int64_t)HOUR;
    struct store *s = store_open(&options, error, sizeof error);
    assert_non_null(s);
    assert_int_equal(store_set_back(s, store_committed_at(s) - clock_wall()), STORE_OK);
    is_about(store_committed_at(s), old - HOUR);
    store_close(s);
    set_by = 0;
}
