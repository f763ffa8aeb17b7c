/* The names of users: asked for by a thread, kept for a while. */
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ergon/activator.h>

#include "server/net/accept/users.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"

/* --- A system with users, whose answers the test holds back --- */

static _Atomic uint32_t looks; /* that have begun */
static _Atomic bool slow;      /* looks do not end */
static _Atomic bool fails;     /* there is no answer */
static _Atomic uint32_t version;

static bool look(uint32_t uid, char *name, size_t size)
{
    atomic_fetch_add(&looks, 1);
    while (atomic_load(&slow))
        sched_yield();
    if (uid == 13 || atomic_load(&fails))
        return false;
    snprintf(name, size, "user%u-%u", uid, atomic_load(&version));
    return true;
}

/* --- Who asks --- */

static enum ao_verdict rest(struct ao *self)
{
    return AO_DONE;
}

static const struct ao_class idle_class = {.name = "idle", .step = rest};
static struct virtual world;
static struct ao receiver;
static struct message_list answers;
static struct users *users;

static const char *answer(ao_time now);

static int open_with(bool answers_at_once, ao_time patience)
{
    atomic_store(&slow, !answers_at_once);
    atomic_store(&version, 1);
    atomic_store(&fails, false);
    virtual_init(&world);
    ao_init(&receiver, &idle_class, virtual_open(&world, "loop"));
    assert_int_equal(message_list_init(&answers, &receiver), 0);
    users = users_open(&answers, look, (const uint64_t[2]){1, 2}, patience);
    return users == NULL;
}

/* Those of who runs the server, which are asked for first. */
static void take_own(ao_time now)
{
    answer(now);
    if (geteuid() != 0)
        answer(now);
}

static int open_users(void **state)
{
    if (open_with(true, AO_S(600)) != 0)
        return -1;
    take_own(AO_S(1));
    atomic_store(&looks, 0);
    return 0;
}

static int close_users(void **state)
{
    atomic_store(&slow, false);
    users_hush(users);
    message_list_fini(&answers);
    users_close(users);
    ao_deactivate(&receiver);
    ao_fini(&receiver);
    virtual_fini(&world);
    return 0;
}

#define USERS_TEST(name) TEST_WITH(open_users, close_users, name)

/* The next answer, as text; "-": there is none. */
static const char *answer(ao_time now)
{
    struct loop_message *message;
    uint32_t uid;

    while ((message = message_take(&answers)) == NULL)
        sched_yield();
    assert_int_equal(message->kind, LOOP_USER);
    if (users_ask_again(users, message))
        return answer(now);
    const char *name = users_answered(users, message, now, &uid);
    return name == NULL ? "-" : name;
}

USERS_TEST(a_name_is_asked_for_once_and_kept)
{
    atomic_store(&slow, true);
    assert_null(users_find(users, 7, AO_S(1)));
    assert_true(users_ask(users, 7));
    assert_true(users_ask(users, 7));
    assert_null(message_take(&answers)); /* nobody waited for it */
    atomic_store(&slow, false);
    assert_string_equal(answer(AO_S(2)), "user7-1");
    assert_string_equal(users_find(users, 7, AO_S(3)), "user7-1");
    assert_int_equal(atomic_load(&looks), 1);
}

USERS_TEST(after_a_minute_it_is_asked_for_again_and_serves_meanwhile)
{
    users_ask(users, 7);
    answer(AO_S(1));
    atomic_store(&version, 2);
    assert_string_equal(users_find(users, 7, AO_S(60)), "user7-1");
    assert_int_equal(atomic_load(&looks), 1);
    atomic_store(&slow, true);
    assert_string_equal(users_find(users, 7, AO_S(61)), "user7-1");
    assert_string_equal(users_find(users, 7, AO_S(62)), "user7-1");
    atomic_store(&slow, false);
    assert_string_equal(answer(AO_S(63)), "user7-2");
    assert_string_equal(users_find(users, 7, AO_S(63)), "user7-2");
    assert_int_equal(atomic_load(&looks), 2);
}

/* The id may be somebody else's by then. */
USERS_TEST(after_an_hour_an_old_name_serves_no_more)
{
    users_ask(users, 7);
    answer(AO_S(1));
    assert_non_null(users_find(users, 7, AO_S(3600)));
    answer(AO_S(1)); /* as if it had been asked for then */
    assert_null(users_find(users, 7, AO_S(3601)));
}

USERS_TEST(an_old_name_serves_where_the_system_fails)
{
    users_ask(users, 7);
    answer(AO_S(1));
    atomic_store(&fails, true);
    assert_non_null(users_find(users, 7, AO_S(100)));
    assert_string_equal(answer(AO_S(100)), "-");
    assert_string_equal(users_find(users, 7, AO_S(101)), "user7-1");
    assert_string_equal(answer(AO_S(101)), "-"); /* asked for again */
}

/* --- Who runs the server --- */

USERS_TEST(who_runs_the_server_is_known_from_the_start_and_for_good)
{
    char name[32];

    snprintf(name, sizeof name, "user%u-1", geteuid());
    assert_string_equal(users_find(users, 0, AO_S(1)), "user0-1");
    assert_string_equal(users_find(users, geteuid(), AO_S(1)), name);
    assert_int_equal(atomic_load(&looks), 0);
    atomic_store(&slow, true);
    atomic_store(&version, 2);
    users_forget(users);
    assert_string_equal(users_find(users, 0, AO_S(1000000)), "user0-1");
    atomic_store(&slow, false);
    take_own(AO_S(1000001));
    assert_string_equal(users_find(users, 0, AO_S(1000001)), "user0-2");
}

static int open_unheard_users(void **state)
{
    return open_with(true, AO_S(600));
}

/* As the server starts: its configuration is loaded before anybody has heard the first answers. */
TEST_WITH(open_unheard_users, close_users, a_reload_leaves_who_runs_the_server_what_was_answered)
{
    while (!message_waits(&answers))
        sched_yield();
    atomic_store(&slow, true);
    users_forget(users);
    assert_true(users_ask_again(users, message_take(&answers)));
    assert_string_equal(users_find(users, 0, AO_S(1)), "user0-1");
    atomic_store(&slow, false);
}

static int open_slow_users(void **state)
{
    return open_with(false, 0);
}

TEST_WITH(open_slow_users, close_users, who_runs_the_server_has_its_id_for_a_name_until_it_comes)
{
    assert_string_equal(users_find(users, 0, AO_S(1000)), "0");
    atomic_store(&slow, false);
    take_own(AO_S(1000));
    assert_string_equal(users_find(users, 0, AO_S(1000)), "user0-1");
}

/* --- Reload, and failures --- */

USERS_TEST(what_was_kept_can_be_forgotten)
{
    users_ask(users, 7);
    answer(AO_S(1));
    atomic_store(&version, 2);
    users_forget(users);
    take_own(AO_S(2));
    assert_null(users_find(users, 7, AO_S(2)));
    users_ask(users, 7);
    assert_string_equal(answer(AO_S(2)), "user7-2");
}

USERS_TEST(what_is_being_asked_for_is_forgotten_too)
{
    users_ask(users, 7);
    while (!message_waits(&answers))
        sched_yield();
    atomic_store(&version, 2);
    users_forget(users);
    take_own(AO_S(2));
    assert_null(users_find(users, 7, AO_S(2)));
    users_ask(users, 7);
    assert_string_equal(answer(AO_S(2)), "user7-2");
    assert_string_equal(users_find(users, 7, AO_S(3)), "user7-2");
    assert_int_equal(atomic_load(&looks), geteuid() == 0 ? 3 : 4);
}

USERS_TEST(no_answer_is_no_name_and_is_not_kept)
{
    users_ask(users, 13);
    assert_string_equal(answer(AO_S(1)), "-");
    assert_null(users_find(users, 13, AO_S(1)));
    users_ask(users, 13);
    assert_string_equal(answer(AO_S(1)), "-");
    assert_int_equal(atomic_load(&looks), 2);
}

static const char *find(uint32_t uid, ao_time now)
{
    const char *name = users_find(users, uid, now);

    if (name != NULL)
        return name;
    assert_true(users_ask(users, uid));
    return answer(now);
}

/* Each is known by its own name, and who comes all the time is not forgotten for who came once. */
USERS_TEST(there_is_room_for_so_many_and_nobody_is_taken_for_another)
{
    enum { MANY = 4 * USERS_KEPT };
    char expected[32];
    uint32_t known = 0;

    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(expected, sizeof expected, "user%u-1", 100 + i);
        assert_string_equal(find(100 + i, AO_S(1) + i), expected);
        assert_string_equal(users_find(users, 100, AO_S(1) + i), "user100-1");
    }
    for (uint32_t i = 0; i < MANY; i++)
        known += users_find(users, 100 + i, AO_S(2)) != NULL;
    assert_in_range(known, USERS_KEPT / 2, USERS_KEPT);
}

USERS_TEST(many_are_answered_in_their_order)
{
    char expected[32];

    atomic_store(&slow, true);
    for (uint32_t i = 0; i < USERS_ASKED_MAX; i++)
        assert_true(users_ask(users, 100 + i));
    assert_false(users_ask(users, 99));
    assert_true(users_ask(users, 100)); /* it is asked already */
    atomic_store(&slow, false);
    for (uint32_t i = 0; i < USERS_ASKED_MAX; i++) {
        snprintf(expected, sizeof expected, "user%u-1", 100 + i);
        assert_string_equal(answer(AO_S(1)), expected);
    }
}

/* The end comes while one is looked for, and others wait. */
USERS_TEST(an_end_in_between_leaves_nothing)
{
    atomic_store(&slow, true);
    for (uint32_t i = 0; i < 3; i++)
        users_ask(users, 100 + i);
    while (atomic_load(&looks) == 0)
        sched_yield();
    users_hush(users);
    atomic_store(&slow, false);
}

/* --- The system --- */

enum { LARGE = 1, ENDLESS, BROKEN, NUMERIC, INTERRUPTED, MISSING, NONE };
static int calls;

/* In place of the C library's. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *space, size_t size, struct passwd **found)
{
    static char large[] = "large", numeric[] = "1000", other[] = "other";

    calls++;
    *found = NULL;
    if (uid == ENDLESS || (uid == LARGE && size < 5000))
        return ERANGE;
    if (uid == BROKEN)
        return EIO;
    if (uid == INTERRUPTED && calls < 3)
        return EINTR;
    if (uid == MISSING || uid == NONE)
        return uid == MISSING ? ENOENT : 0;
    *entry = (struct passwd){.pw_name = uid == LARGE ? large : uid == NUMERIC ? numeric : other};
    *found = entry;
    return 0;
}

static const char *name_of(uint32_t uid)
{
    static char name[USER_NAME_MAX];

    calls = 0;
    return users_ask_system(uid, name, sizeof name) ? name : NULL;
}

TEST(a_user_has_a_name_or_a_number)
{
    char name[5];

    assert_string_equal(name_of(1000), "other");
    assert_string_equal(name_of(INTERRUPTED), "other");
    assert_string_equal(name_of(MISSING), "6");
    assert_string_equal(name_of(NONE), "7");
    assert_string_equal(name_of(NUMERIC), "4"); /* or it were the user of the id 1000 */
    assert_false(users_ask_system(1000, name, sizeof name)); /* cut, it is another's */
}

TEST(an_entry_may_be_large_but_not_without_end)
{
    assert_string_equal(name_of(LARGE), "large");
    assert_int_equal(calls, 4);
    assert_null(name_of(ENDLESS));
    assert_int_equal(calls, 11);
}

TEST(without_an_answer_there_is_no_name)
{
    assert_null(name_of(BROKEN));
    heap_fail_at(1);
    assert_null(name_of(1000));
}
