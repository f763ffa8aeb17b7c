#include "server/admin/session.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

static struct sessions sessions;
static ao_time now;

static struct session *open_one(const char *principal)
{
    return session_open(&sessions, principal, 0, now);
}

static struct session *find(const char *id)
{
    return session_find(&sessions, id, strlen(id), now);
}

static void begin(void)
{
    sessions = (struct sessions){0};
    now = AO_S(100);
}

TEST(a_session_is_found_by_its_id_alone)
{
    begin();
    struct session *a = open_one("token:alice"), *b = open_one("token:bob");
    char other[SESSION_WORD_TEXT + 1];

    assert_ptr_equal(find(a->id), a);
    assert_ptr_equal(find(b->id), b);
    memcpy(other, a->id, sizeof other);
    other[SESSION_WORD_TEXT - 1] = other[SESSION_WORD_TEXT - 1] == '0' ? '1' : '0';
    assert_null(find(other));
    assert_null(find(""));
    assert_null(session_find(&sessions, a->id, SESSION_WORD_TEXT - 1, now));
    assert_int_equal(strlen(a->id), SESSION_WORD_TEXT);
    assert_string_not_equal(a->id, a->csrf);
}

TEST(a_session_knows_its_csrf_word)
{
    begin();
    struct session *a = open_one("token:alice"), *b = open_one("token:bob");

    assert_true(session_knows(a, a->csrf));
    assert_false(session_knows(a, b->csrf));
    assert_false(session_knows(a, a->id));
    assert_false(session_knows(a, ""));
    assert_false(session_knows(a, NULL));
}

TEST(an_ended_session_is_not_found)
{
    char id[SESSION_WORD_TEXT + 1];

    begin();
    struct session *a = open_one("token:alice");
    memcpy(id, a->id, sizeof id);
    session_end(a);
    assert_null(find(id));
    assert_false(sessions_any(&sessions));
    for (size_t i = 0; i < sizeof *a; i++)
        assert_int_equal(((const char *)a)[i], 0);
}

TEST(who_asks_nothing_for_too_long_is_over)
{
    begin();
    struct session *a = open_one("token:alice");

    now += SESSION_IDLE;
    assert_null(sessions_expired(&sessions, now));
    find(a->id);
    now += SESSION_IDLE;
    assert_null(sessions_expired(&sessions, now));
    now += 1;
    assert_ptr_equal(sessions_expired(&sessions, now), a);
    a->lives = 1; /* somebody looks on */
    assert_null(sessions_expired(&sessions, now));
}

TEST(no_session_lasts_for_ever)
{
    begin();
    struct session *a = open_one("token:alice");
    ao_time end = now + SESSION_WHOLE;

    a->lives = 1;
    for (; now <= end; now += AO_S(60)) {
        assert_null(sessions_expired(&sessions, now));
        find(a->id);
    }
    assert_ptr_equal(sessions_expired(&sessions, now), a);
}

TEST(a_principal_has_only_so_many_and_ends_its_oldest)
{
    struct session *first = NULL;

    begin();
    for (int i = 0; i < SESSIONS_A_PRINCIPAL; i++, now++) {
        assert_null(sessions_surplus(&sessions, "token:alice"));
        struct session *one = open_one("token:alice");
        first = first ? first : one;
    }
    assert_ptr_equal(sessions_surplus(&sessions, "token:alice"), first);
    assert_null(sessions_surplus(&sessions, "token:bob"));
    find(first->id);
    assert_ptr_not_equal(sessions_surplus(&sessions, "token:alice"), first);
}

TEST(who_has_most_gives_one_to_who_has_fewer)
{
    static const char *const greedy[] = {"token:a", "token:b", "token:c"};
    struct session *first = NULL;

    begin();
    for (int i = 0; i < 3 * SESSIONS_A_PRINCIPAL; i++, now++) {
        struct session *one = open_one(greedy[i % 3]);
        first = i == 1 ? one : first; /* of b */
    }
    session_end(first);
    first = NULL;
    for (int i = 0; i < SESSIONS_A_PRINCIPAL; i++, now++) {
        struct session *one = open_one("token:d");
        first = first ? first : one;
    }
    assert_null(sessions_surplus(&sessions, "token:late")); /* one place is left */
    open_one("token:e");
    const struct session *gives = sessions_surplus(&sessions, "token:late");
    assert_non_null(gives);
    assert_string_equal(gives->principal, "token:a"); /* as many as c and d: the first of them */
    assert_ptr_equal(gives, sessions_surplus(&sessions, "token:a"));
    assert_ptr_equal(first, sessions_surplus(&sessions, "token:d"));
    assert_ptr_equal(gives, sessions_surplus(&sessions, "token:e"));
    assert_null(sessions_surplus(&sessions, "token:b")); /* it has fifteen of its own */
}

TEST(there_are_only_so_many)
{
    char name[32];

    begin();
    for (int i = 0; i < SESSIONS_MAX; i++) {
        snprintf(name, sizeof name, "token:%d", i);
        assert_non_null(open_one(name));
    }
    assert_null(open_one("token:late"));
    session_end(&sessions.at[7]);
    assert_ptr_equal(open_one("token:late"), &sessions.at[7]);
}
