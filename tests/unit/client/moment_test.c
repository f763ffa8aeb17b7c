/* Moments in words of people, by the clock of a zone. */
#include "client/cli/moment.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/cmocka_env.h"

/* Sunday, 22 November 2026, 09:30 in Berlin, 08:30 in UTC. */
enum { NOW = 1795336200 };

static int64_t moment(const char *text, const char *zone)
{
    char why[200] = "";
    int64_t at;
    if (!moment_of_words(text, zone, NOW, &at, why, sizeof why))
        fail_msg("%s", why);
    return at;
}

static void is_refused(const char *text, const char *zone, const char *wanted)
{
    char why[200] = "";
    int64_t at;
    assert_false(moment_of_words(text, zone, NOW, &at, why, sizeof why));
    if (!strstr(why, wanted))
        fail_msg("no \"%s\" in: %s", wanted, why);
}

TEST(a_time_of_day_is_the_next_one)
{
    assert_int_equal(moment("09:31", "Europe/Berlin"), NOW + 60);
    assert_int_equal(moment("9:30", "Europe/Berlin"), NOW + 86400);
    assert_int_equal(moment("09:30:01", "Europe/Berlin"), NOW + 1);
    assert_int_equal(moment("08:31", "UTC"), NOW + 60);
}

TEST(today_and_tomorrow)
{
    assert_int_equal(moment("today 10:00", "Europe/Berlin"), NOW + 1800);
    assert_int_equal(moment("tomorrow 09:30", "Europe/Berlin"), NOW + 86400);
    assert_int_equal(moment("tomorrow 00:00", "America/New_York"), NOW + 86400 - 12600);
    is_refused("today 09:30", "Europe/Berlin", "has passed");
}

TEST(a_date_may_have_passed)
{
    assert_int_equal(moment("2026-11-22 09:31", "Europe/Berlin"), NOW + 60);
    assert_int_equal(moment("2026-11-22T08:29:00", "UTC"), NOW - 60);
    is_refused("2026-02-30 09:00", "UTC", "no such day");
}

/* Clocks of Berlin were set back on 25 October 2026 at 3 am, and are set forward on 28 March 2027
 * at 2 am. */
TEST(a_time_that_comes_twice_or_never)
{
    assert_int_equal(moment("2026-10-25 02:30", "Europe/Berlin"), 1792888200);
    assert_int_equal(moment("2026-10-25 03:00", "Europe/Berlin"), 1792893600);
    assert_int_equal(moment("2027-03-28 02:30", "Europe/Berlin"),
                     moment("2027-03-28 03:30", "Europe/Berlin"));
}

TEST(what_is_no_moment_is_refused)
{
    static const char *const rubbish[] = {"",           "9",
                                          "24:00",      "09:60",
                                          "today",      "today  9:00",
                                          "9:00 am",    "yesterday 9:00",
                                          "tomorrow 9", "2026-13-01 9:00",
                                          "2026-11-22"};
    for (size_t i = 0; i < sizeof rubbish / sizeof *rubbish; i++)
        is_refused(rubbish[i], "UTC", "no moment");
    is_refused("09:00", "Europe/Atlantis", "no time zone");
    is_refused("09:00", "../../etc/passwd", "no time zone");
    is_refused("09:00", "/etc/passwd", "no time zone");
    is_refused("09:00", "Europe/", "no time zone");
}

TEST(the_zone_of_the_process_stays)
{
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    assert_int_equal(moment("17:31", NULL), NOW + 60);
    assert_int_equal(moment("09:31", "Europe/Berlin"), NOW + 60);
    assert_int_equal(moment("17:31", NULL), NOW + 60);
    assert_string_equal(getenv("TZ"), "Asia/Tokyo");
    unsetenv("TZ");
    tzset();
}
