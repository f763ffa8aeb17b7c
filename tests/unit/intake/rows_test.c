/* Rows of the inbox become requests, and answers become ends of rows.  The server is played. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/intake/rows.h"
#include "tests/support/cmocka_env.h"

/* --- The server --- */

static struct {
    char log[2000];      /* requests: role, method, numbers of rows */
    uint64_t wrong;      /* this row refuses its request with `code` */
    const char *code;    /* of requests with `wrong`, or of all; NULL: none is refused */
    const char *outcome; /* error of each task that is taken; NULL: none */
} server;

static void note(const char *text)
{
    size_t len = strlen(server.log);
    snprintf(server.log + len, sizeof server.log - len, "%s", text);
}

static bool note_spec(const json_t *spec)
{
    char text[40];
    json_int_t id = json_integer_value(json_object_get(json_array_get(spec, 2), "inbox"));
    snprintf(text, sizeof text, " %d", (int)id);
    note(text);
    return server.code && (server.wrong == 0 || (json_int_t)server.wrong == id);
}

static json_t *outcome(void)
{
    return server.outcome ? json_pack("{s:s}", "error", server.outcome)
                          : json_pack("{s:s}", "id", "t0000000000001");
}

void lines_call(struct lines *lines, const char *role, const char *method, const json_t *params,
                struct line_answer *answer)
{
    bool many = strcmp(method, "task.submit_many") == 0, refused = false;
    const json_t *list = many ? json_array_get(params, 0) : NULL;
    (void)lines;
    *answer = (struct line_answer){.result = NULL};
    note(role);
    note(many ? " many" : " one");
    for (size_t i = 0; i < json_array_size(list); i++)
        refused |= note_spec(json_array_get(list, i));
    if (!many)
        refused = note_spec(params);
    note("\n");
    if (refused) {
        snprintf(answer->code, sizeof answer->code, "%s", server.code);
        snprintf(answer->text, sizeof answer->text, "it is so");
        return;
    }
    answer->result = many ? json_array() : outcome();
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append_new(answer->result, outcome());
}

/* --- Rows --- */

static struct rows rows;

static int begin(void **state)
{
    (void)state;
    memset(&server, 0, sizeof server);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rows_clear(&rows);
    return 0;
}

static void add(uint64_t id, const char *role, const char *params, const char *options)
{
    const struct inbox_row row = {id, role, "echo", params, options};
    assert_true(rows_add(&rows, &row));
}

static void add_some(uint64_t from, uint64_t to)
{
    for (uint64_t id = from; id <= to; id++)
        add(id, "shop", "[1]", "{}");
}

static void expect_ends(const char *ends) /* T, L, R of each */
{
    static const char letters[] = {[ROW_LATER] = 'L', [ROW_TAKEN] = 'T', [ROW_REFUSED] = 'R'};
    char text[INBOX_ROWS + 1] = "";
    for (uint32_t i = 0; i < rows.count; i++)
        text[i] = letters[rows.at[i].end];
    assert_string_equal(text, ends);
}

#define ROWS_TEST(name) TEST_WITH(begin, end, name)

ROWS_TEST(rows_of_a_role_go_in_one_request)
{
    add_some(1, 3);
    add(4, "other", "[]", "{}");
    add_some(5, 5);
    rows_submit(&rows, NULL);
    assert_string_equal(server.log, "shop many 1 2 3\nother one 4\nshop one 5\n");
    expect_ends("TTTTT");
}

ROWS_TEST(a_wrong_one_is_found_by_halves_and_the_order_stays)
{
    server.wrong = 4;
    server.code = "DENIED";
    add_some(1, 7);
    rows_submit(&rows, NULL);
    assert_string_equal(server.log, "shop many 1 2 3 4 5 6 7\nshop many 1 2 3\nshop many 4 5 6 7\n"
                                    "shop many 4 5\nshop one 4\nshop one 5\nshop many 6 7\n");
    expect_ends("TTTRTTT");
    assert_string_equal(rows.at[3].why, "DENIED: it is so");
}

/* Nothing is known of the rows then, or the same may work a moment later. */
ROWS_TEST(what_may_work_later_stays)
{
    static const char *const codes[] = {"BUSY",   "STORE",   "MEMORY",    "DRAINING", "UNSURE",
                                        "CLOSED", "TIMEOUT", "CANCELLED", "AUTH"};
    for (size_t n = 0; n < sizeof codes / sizeof *codes; n++) {
        server.code = codes[n];
        server.log[0] = '\0';
        add_some(1, 2);
        rows_submit(&rows, NULL);
        assert_string_equal(server.log, "shop many 1 2\n");
        expect_ends("LL");
        rows_clear(&rows);
    }
}

ROWS_TEST(outcomes_of_a_list_are_each_their_own)
{
    server.outcome = "BUSY: too many tasks: come later";
    add_some(1, 2);
    rows_submit(&rows, NULL);
    expect_ends("LL");
    rows_clear(&rows);
    server.outcome = "NOT_FOUND: no such task";
    add_some(1, 2);
    rows_submit(&rows, NULL);
    expect_ends("RR");
    assert_string_equal(rows.at[0].why, "NOT_FOUND: no such task");
}

ROWS_TEST(what_is_no_message_is_not_sent)
{
    add(1, "shop", "[18446744073709551616]", "{}");
    add(2, "shop", "[1e999]", "{}");
    add(3, "shop", "[]", "{\"inbox\": 7}");
    add(4, "shop", "[]", "{}");
    rows_submit(&rows, NULL);
    assert_string_equal(server.log, "shop one 4\n");
    expect_ends("RRRT");
    assert_string_equal(rows.at[2].why, "BAD_PARAMS: unknown option \"inbox\"");
}

ROWS_TEST(there_is_room_for_a_read)
{
    const struct inbox_row row = {INBOX_ROWS + 1, "shop", "echo", "[]", "{}"};
    add_some(1, INBOX_ROWS);
    assert_false(rows_add(&rows, &row));
    rows_submit(&rows, NULL);
    assert_int_equal(rows.at[INBOX_ROWS - 1].end, ROW_TAKEN);
}
