/* Ticket keys: the same at every loop, and gone when their time is over. */
#include <string.h>

#include "server/net/stream/ticket_keys.h"
#include "tests/support/cmocka_env.h"

TEST(they_agree_without_sharing)
{
    struct ticket_keys a;
    struct ticket_keys b;

    assert_true(ticket_keys_init(&a, AO_S(5)));
    b = a;
    assert_true(ticket_keys_advance(&a, AO_S(5) + 3 * TICKET_PERIOD));
    for (uint64_t i = 1; i <= 3; i++)
        assert_true(ticket_keys_advance(&b, AO_S(5) + i * TICKET_PERIOD));
    assert_memory_equal(&a.now, &b.now, sizeof a.now);
    assert_memory_equal(&a.before, &b.before, sizeof a.before);
}

TEST(they_last_for_two_periods)
{
    struct ticket_keys k;

    assert_true(ticket_keys_init(&k, 0));
    struct ticket_key first = k.now;
    assert_true(ticket_keys_advance(&k, TICKET_PERIOD - 1));
    assert_ptr_equal(ticket_keys_find(&k, first.name), &k.now);
    assert_true(ticket_keys_advance(&k, TICKET_PERIOD));
    assert_ptr_equal(ticket_keys_find(&k, first.name), &k.before);
    assert_memory_not_equal(&k.now, &first, sizeof first);
    assert_true(ticket_keys_advance(&k, 2 * TICKET_PERIOD));
    assert_null(ticket_keys_find(&k, first.name));
}

TEST(nothing_old_is_left_in_memory)
{
    struct ticket_keys k;

    assert_true(ticket_keys_init(&k, 0));
    struct ticket_keys first = k;
    assert_true(ticket_keys_advance(&k, 2 * TICKET_PERIOD));
    assert_null(memmem(&k, sizeof k, first.now.cipher, sizeof first.now.cipher));
    assert_null(memmem(&k, sizeof k, first.now.mac, sizeof first.now.mac));
    assert_null(memmem(&k, sizeof k, first.chain, sizeof first.chain));
    assert_memory_not_equal(first.now.cipher, first.now.mac, sizeof first.now.mac);
}
