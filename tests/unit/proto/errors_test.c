/* The list itself, and that PROTOCOL.md tells the same. */
#include "proto/errors.h"
#include "tests/support/cmocka_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENT_MAX = 256 * 1024 };

TEST(each_error_has_its_own_number_and_name)
{
    for (int a = 1; a < ERGON_ERROR_COUNT; a++)
        for (int b = a + 1; b < ERGON_ERROR_COUNT; b++) {
            assert_int_not_equal(error_number((enum ergon_error)a),
                                 error_number((enum ergon_error)b));
            assert_string_not_equal(error_name((enum ergon_error)a),
                                    error_name((enum ergon_error)b));
        }
}

TEST(numbers_that_json_rpc_knows_are_its_own)
{
    assert_int_equal(error_number(ERGON_E_BAD_REQUEST), -32600);
    assert_int_equal(error_number(ERGON_E_NO_METHOD), -32601);
    assert_int_equal(error_number(ERGON_E_BAD_PARAMS), -32602);
    assert_int_equal(error_number(ERGON_E_INTERNAL), -32603);
}

TEST(only_passing_troubles_are_retryable)
{
    assert_true(error_retryable(ERGON_E_BUSY));
    assert_true(error_retryable(ERGON_E_DRAINING));
    assert_true(error_retryable(ERGON_E_MEMORY));
    assert_false(error_retryable(ERGON_E_FAILED));
    assert_false(error_retryable(ERGON_E_DEADLINE));
}

TEST(a_foreign_code_reads_as_internal)
{
    assert_string_equal(error_name((enum ergon_error)4711), "INTERNAL");
    assert_string_equal(error_name(ERGON_OK), "OK");
}

TEST(an_error_is_found_by_its_name)
{
    for (int e = 1; e < ERGON_ERROR_COUNT; e++)
        assert_int_equal(error_find(error_name((enum ergon_error)e)), e);
    assert_int_equal(error_find("NO_SPACE"), ERGON_OK);
    assert_int_equal(error_find(""), ERGON_OK);
}

static char *read_document(void)
{
    FILE *f = fopen(PROTO_PATH "/PROTOCOL.md", "r");
    assert_non_null(f);
    char *text = calloc(1, DOCUMENT_MAX);
    assert_non_null(text);
    size_t n = fread(text, 1, DOCUMENT_MAX - 1, f);
    fclose(f);
    assert_in_range(n, 1, DOCUMENT_MAX - 2);
    return text;
}

TEST(the_document_lists_each_error_as_it_is)
{
    char *text = read_document();

    for (int i = 1; i < ERGON_ERROR_COUNT; i++) {
        enum ergon_error e = (enum ergon_error)i;
        char row[256];
        snprintf(row, sizeof row, "\n- `%s`, %d%s: %s\n", error_name(e), error_number(e),
                 error_retryable(e) ? ", retryable" : "", error_meaning(e));
        if (strstr(text, row) == NULL)
            fail_msg("PROTOCOL.md lacks the row:%s", row);
    }
    free(text);
}

TEST(the_document_lists_no_other_error)
{
    static const char title[] = "\nThe names, with their numbers:\n\n";
    char *text = read_document();
    int rows = 0;

    const char *list = strstr(text, title);
    assert_non_null(list);
    const char *end = strstr(list + sizeof title - 1, "\n\n");
    assert_non_null(end);
    for (const char *p = list; (p = strstr(p, "\n- `")) != NULL && p < end; p++)
        rows++;
    assert_int_equal(rows, ERGON_ERROR_COUNT - 1);
    free(text);
}
