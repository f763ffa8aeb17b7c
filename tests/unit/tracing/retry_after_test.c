/* How long a collector asks us to wait. */
#include "server/tracing/retry_after.h"

#include <stddef.h>

#include "tests/support/cmocka_env.h"

enum { NOON = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110 */

TEST(seconds_are_bounded)
{
    assert_int_equal(retry_after("0", NULL, NOON), 0);
    assert_int_equal(retry_after("7", NULL, NOON), 7);
    assert_int_equal(retry_after("7 ", NULL, NOON), 7);
    assert_int_equal(retry_after("300", NULL, NOON), 300);
    assert_int_equal(retry_after("301", NULL, NOON), 300);
    assert_int_equal(retry_after("99999999999999999999999", NULL, NOON), 300);
}

TEST(a_date_has_any_of_three_forms)
{
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NULL, NOON - 5), 5);
    assert_int_equal(retry_after("Sunday, 06-Nov-94 08:49:37 GMT", NULL, NOON - 5), 5);
    assert_int_equal(retry_after("Sun Nov  6 08:49:37 1994", NULL, NOON - 5), 5);
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NULL, NOON - 5000), 300);
}

TEST(a_date_that_has_passed_asks_for_nothing)
{
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NULL, NOON), 0);
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", NULL, NOON + 1), 0);
}

TEST(a_date_counts_by_the_clock_of_who_says_it)
{
    static const char at[] = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_int_equal(retry_after(at, "Sun, 06 Nov 1994 08:49:30 GMT", NOON + 1000), 7);
    assert_int_equal(retry_after(at, "rubbish", NOON - 3), 3);
}

TEST(what_cannot_be_read_asks_for_nothing)
{
    static const char *const texts[] = {NULL,
                                        "",
                                        "soon",
                                        "-7",
                                        "7s",
                                        "7.5",
                                        "Sun, 06 Nov 1994 08:49:37 CET",
                                        "Sun, 06 Nov 1994 08:49:37 GMT and more",
                                        "Sun, 06 Foo 1994 08:49:37 GMT"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(retry_after(texts[i], NULL, 0), 0);
}
