#include <stdio.h>

#include "base/instant.h"
#include "server/jobs/cron/schedule.h"
#include "tests/support/cmocka_env.h"

/* The next times of a schedule, from a moment on, as text in UTC. */
static int64_t seconds(const char *text)
{
    uint64_t ns;
    if (!instant_parse(span_text(text), &ns))
        fail_msg("\"%s\" is no moment", text);
    return (int64_t)(ns / 1000000000);
}

static void fires(const char *text, const char *zone, const char *from, const char *const *at)
{
    struct zone *z = zone_open(span_text(zone));
    struct schedule s;
    char error[200];

    assert_non_null(z);
    if (!schedule_parse(span_text(text), &s, error, sizeof error))
        fail_msg("\"%s\": %s", text, error);
    int64_t now = seconds(from);
    for (; *at; at++) {
        now = schedule_next(&s, z, now);
        if (now != seconds(*at))
            fail_msg("\"%s\" in %s: %lld instead of %s", text, zone, (long long)now, *at);
    }
    zone_close(z);
}

TEST(calendars_fire_in_utc)
{
    fires("*/15 * * * *", "UTC", "2026-11-22T09:07:30Z",
          (const char *[]){"2026-11-22T09:15:00Z", "2026-11-22T09:30:00Z", "2026-11-22T09:45:00Z",
                           "2026-11-22T10:00:00Z", NULL});
    fires("30 4 1,15 * *", "", "2026-11-22T00:00:00Z",
          (const char *[]){"2026-12-01T04:30:00Z", "2026-12-15T04:30:00Z", "2027-01-01T04:30:00Z",
                           NULL});
    fires("0 9-17/4 * jan-mar mon-fri", "UTC", "2027-01-01T10:00:00Z",
          (const char *[]){"2027-01-01T13:00:00Z", "2027-01-01T17:00:00Z", "2027-01-04T09:00:00Z",
                           NULL});
    fires("3/20 * * * *", "UTC", "2026-11-22T09:00:00Z",
          (const char *[]){"2026-11-22T09:03:00Z", "2026-11-22T09:23:00Z", "2026-11-22T09:43:00Z",
                           "2026-11-22T10:03:00Z", NULL});
    fires("@weekly", "UTC", "2026-11-22T00:00:00Z",
          (const char *[]){"2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z", NULL});
    fires("0 0 * * 7", "UTC", "2026-11-22T00:00:00Z",
          (const char *[]){"2026-11-29T00:00:00Z", NULL});
    fires("0 0 29 2 *", "UTC", "2026-11-22T00:00:00Z",
          (const char *[]){"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z", NULL});
}

TEST(a_range_of_one_ends_where_it_begins)
{
    fires("5-5/2 * * * *", "UTC", "2026-11-22T09:00:00Z",
          (const char *[]){"2026-11-22T09:05:00Z", "2026-11-22T10:05:00Z", NULL});
}

/* Both days are needed where one begins with a star: here a 29th of February that is a Sunday. */
TEST(what_comes_once_in_forty_years_comes)
{
    fires("0 0 29 2 */7", "UTC", "2080-03-01T00:00:00Z",
          (const char *[]){"2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z", NULL});
    fires("0 * 29 2 */7", "UTC", "2088-02-29T22:30:00Z",
          (const char *[]){"2088-02-29T23:00:00Z", "2128-02-29T00:00:00Z", NULL});
}

TEST(each_minute_counts_once_where_an_offset_has_seconds)
{
    fires("0 * * * *", "Africa/Monrovia", "1971-06-01T00:00:00Z",
          (const char *[]){"1971-06-01T00:44:30Z", "1971-06-01T01:44:30Z", NULL});
}

TEST(either_day_will_do_where_both_are_restricted)
{
    fires("0 0 13 * fri", "UTC", "2026-11-10T00:00:00Z",
          (const char *[]){"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z",
                           "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z",
                           NULL});
}

/* 2026-03-29: 02:00 becomes 03:00. */
/* Where the day is still yesterday's, and where the hour begins at half past. */
TEST(the_day_and_the_hour_are_those_of_the_zone)
{
    fires("30 22 * * *", "America/New_York", "2026-01-02T02:00:00Z",
          (const char *[]){"2026-01-02T03:30:00Z", "2026-01-03T03:30:00Z", NULL});
    fires("0 * * * *", "Asia/Kolkata", "2026-01-02T02:00:00Z",
          (const char *[]){"2026-01-02T02:30:00Z", "2026-01-02T03:30:00Z", NULL});
    fires("15 */2 * * *", "Asia/Kolkata", "2026-01-02T02:00:00Z",
          (const char *[]){"2026-01-02T02:45:00Z", "2026-01-02T04:45:00Z", NULL});
}

TEST(a_skipped_time_fires_at_the_skip)
{
    fires("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z",
          (const char *[]){"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z",
                           NULL});
}

/* 2026-10-25: 03:00 becomes 02:00. */
TEST(a_time_that_comes_twice_fires_once)
{
    fires("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
          (const char *[]){"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", NULL});
}

TEST(every_hour_of_a_long_day_counts)
{
    fires("0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z",
          (const char *[]){"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z",
                           NULL});
    fires("0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30:00Z",
          (const char *[]){"2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z", NULL});
}

TEST(intervals_count_from_the_epoch)
{
    fires("every 90s", "UTC", "1970-01-01T00:01:00Z",
          (const char *[]){"1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z", NULL});
    fires("every 1h", "UTC", "2026-11-22T09:30:00Z",
          (const char *[]){"2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z", NULL});
}

TEST(what_never_comes_is_never)
{
    struct zone *z = zone_open(span_text(""));
    struct schedule s;
    char error[200];

    assert_true(schedule_parse(span_text("0 0 30 2 *"), &s, error, sizeof error));
    assert_int_equal(schedule_next(&s, z, 0), -1);
    assert_true(schedule_parse(span_text("0 * 30 2 *"), &s, error, sizeof error));
    assert_int_equal(schedule_next(&s, z, 0), -1);
    zone_close(z);
}

TEST(wrong_schedules_are_refused_with_the_field)
{
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "five"},
               {"60 * * * *", "minute"},
               {"* 24 * * *", "hour"},
               {"* * 0 * *", "day"},
               {"* * * 13 *", "month"},
               {"* * * * 8", "weekday"},
               {"* * * *", "five"},
               {"* * * * * *", "five"},
               {"5-1 * * * *", "minute"},
               {"*/0 * * * *", "minute"},
               {"1, * * * *", "minute"},
               {"x * * * *", "minute"},
               {"every", "whole seconds"},
               {"every 1500ms", "whole seconds"},
               {"every 5s 5s", "whole seconds"},
               {"every 8785h", "whole seconds"},
               {"@hour", "@hourly"},
               {"@daily 5", "@hourly"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct schedule s;
        char error[200] = "";
        if (schedule_parse(span_text(bad[i].text), &s, error, sizeof error))
            fail_msg("\"%s\" was taken for a schedule", bad[i].text);
        if (!strstr(error, bad[i].says))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", bad[i].text, error, bad[i].says);
    }
}

TEST(zones_are_known_by_name)
{
    assert_null(zone_open(span_text("Europe/Atlantis")));
    assert_null(
        zone_open(span_text("/usr/share/zoneinfo/Europe/Berlin"))); /* no file of any sort */
    assert_null(zone_open(span_text(":/usr/share/zoneinfo/Europe/Berlin")));
    assert_null(zone_open(span_text("../zoneinfo/Europe/Berlin")));
    assert_null(zone_open(span_of("UTC\0x", 5)));
    struct zone *z = zone_open(span_text("America/New_York"));
    assert_non_null(z);
    assert_int_equal(zone_local(z, seconds("2026-07-01T12:00:00Z")),
                     seconds("2026-07-01T08:00:00Z"));
    zone_close(z);
}
