/* The audit log: what is promised to it is there. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/audit.h"
#include "tests/support/cmocka_env.h"

enum { BUFFER = 64 * 1024 };
#define PATIENCE UINT64_C(60000000000)

static char folder[64], path[80], moved[80], error[256], text[1 << 17];

static int open_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/ergon-audit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/audit", folder);
    snprintf(moved, sizeof moved, "%s/audit.1", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(path);
    unlink(moved);
    return rmdir(folder);
}

#define AUDIT_TEST(name) TEST_WITH(open_folder, remove_folder, name)

static const char *content(const char *file)
{
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static int lines(const char *s)
{
    int count = 0;
    for (; *s != '\0'; s++)
        count += *s == '\n';
    return count;
}

static void act(const char *who)
{
    assert_true(audit_reserve());
    audit_write("act", (const struct log_field[]){LOG_STR("principal", who), {0}});
}

AUDIT_TEST(records_are_lines_of_json_in_a_file_of_ones_own)
{
    struct stat status;
    assert_true(audit_open(path, BUFFER, error, sizeof error));
    act("token:alice");
    audit_close(PATIENCE);
    assert_non_null(strstr(content(path),
                           "\"level\":\"audit\",\"msg\":\"act\",\"principal\":\"token:alice\"}\n"));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

AUDIT_TEST(a_file_that_is_there_is_appended_to)
{
    for (int i = 0; i < 2; i++) {
        assert_true(audit_open(path, BUFFER, error, sizeof error));
        act("token:alice");
        audit_close(PATIENCE);
    }
    assert_int_equal(lines(content(path)), 2);
}

AUDIT_TEST(a_link_and_what_is_no_file_are_refused)
{
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_false(audit_open(path, BUFFER, error, sizeof error));
    assert_non_null(strstr(error, "it is a link"));
    assert_false(audit_open("/dev/null", BUFFER, error, sizeof error));
    assert_non_null(strstr(error, "no regular file"));
    assert_false(audit_open(folder, BUFFER, error, sizeof error));
}

AUDIT_TEST(opened_again_it_goes_on_in_the_new_file)
{
    assert_true(audit_open(path, BUFFER, error, sizeof error));
    act("token:alice");
    while (audit_figures().waiting > 0)
        sched_yield();
    assert_int_equal(rename(path, moved), 0);
    assert_true(audit_reopen(error, sizeof error));
    act("token:bob");
    audit_close(PATIENCE);
    assert_non_null(strstr(content(moved), "alice"));
    assert_null(strstr(content(moved), "bob"));
    assert_non_null(strstr(content(path), "bob"));
}

/* Each act that may be done has its place, whatever else wants to be recorded. */
AUDIT_TEST(without_room_nothing_may_be_done_and_what_was_promised_is_written)
{
    int promised = 0;
    assert_true(audit_open(path, BUFFER, error, sizeof error));
    while (audit_reserve())
        promised++;
    assert_int_equal(promised, BUFFER / LOG_RECORD_MAX);
    for (int i = 0; i < 1000; i++)
        audit_note(LOG_WARN, "refused",
                   (const struct log_field[]){LOG_STR("principal", "token:bob"), {0}});
    for (int i = 0; i < promised; i++)
        audit_write("act", (const struct log_field[]){LOG_STR("principal", "token:alice"), {0}});
    while (!audit_reserve())
        sched_yield();
    audit_release();
    audit_close(PATIENCE);
    int acts = 0;
    for (const char *at = content(path); (at = strstr(at, "\"act\"")) != NULL; at++)
        acts++;
    assert_int_equal(acts, promised);
    assert_true(lines(text) < promised + 40); /* refusals are summed up, or dropped */
}

AUDIT_TEST(room_that_was_not_needed_is_there_for_others)
{
    assert_true(audit_open(path, BUFFER, error, sizeof error));
    for (int i = 0; i < 4 * BUFFER / LOG_RECORD_MAX; i++) {
        assert_true(audit_reserve());
        audit_release();
    }
    audit_close(PATIENCE);
}

AUDIT_TEST(without_a_file_all_goes_into_the_log)
{
    assert_true(audit_reserve());
    audit_release();
    assert_true(audit_reopen(error, sizeof error));
    assert_int_equal(audit_figures().records, 0);
}
