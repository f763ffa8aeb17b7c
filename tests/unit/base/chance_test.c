/* What the system gives is played. */
#include "base/chance.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "tests/support/cmocka_env.h"

static struct {
    size_t most; /* bytes of one call */
    int calls, interrupted, error;
} played;

ssize_t __wrap_getrandom(void *out, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *out, size_t size, unsigned flags)
{
    assert_int_equal(flags, 0); /* it waits until the system has some */
    played.calls++;
    errno = played.error;
    if (played.error != 0 && (played.error != EINTR || played.interrupted-- > 0))
        return -1;
    size_t len = size < played.most ? size : played.most;
    memset(out, 0xa5, len);
    return (ssize_t)len;
}

static bool is_filled(const uint8_t *bytes, size_t size)
{
    for (size_t n = 0; n < size; n++)
        if (bytes[n] != 0xa5)
            return false;
    return true;
}

TEST(fills_all_that_was_asked_for_and_no_more)
{
    uint8_t bytes[601] = {0};
    memset(&played, 0, sizeof played);
    played.most = 256; /* as with a signal */
    assert_true(chance_bytes(bytes, 600));
    assert_true(is_filled(bytes, 600));
    assert_int_equal(bytes[600], 0);
    assert_int_equal(played.calls, 3);
}

TEST(asks_again_when_a_signal_came_first)
{
    uint8_t bytes[16] = {0};
    memset(&played, 0, sizeof played);
    played.most = 256;
    played.error = EINTR;
    played.interrupted = 2;
    assert_true(chance_bytes(bytes, sizeof bytes));
    assert_true(is_filled(bytes, sizeof bytes));
    assert_int_equal(played.calls, 3);
}

TEST(says_when_the_system_has_none)
{
    uint8_t bytes[16];
    memset(&played, 0, sizeof played);
    played.error = ENOSYS;
    assert_false(chance_bytes(bytes, sizeof bytes));
    assert_int_equal(played.calls, 1);
}

TEST(nothing_is_always_there)
{
    memset(&played, 0, sizeof played);
    assert_true(chance_bytes(NULL, 0));
    assert_int_equal(played.calls, 0);
}
