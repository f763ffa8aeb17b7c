/* The server reads the first message of a module's process: complete, cut off anywhere, or too
 * long. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "server/processes/hello.h"
#include "tests/support/cmocka_env.h"

static const char whole[] = "ok\0thumbs.make\0makes one\0[image]\0thumbs.drop\0\0\0";
enum { LEN = sizeof whole };

static struct hello heard(const char *said, size_t len)
{
    struct hello h = {0};
    int tube[2];

    assert_int_equal(pipe(tube), 0);
    assert_int_equal(write(tube[1], said, len), len);
    close(tube[1]);
    assert_true(hello_read(&h, tube[0]));
    close(tube[0]);
    return h;
}

static void expect_next(const struct hello *h, size_t *at, const char *name, const char *summary,
                        const char *params)
{
    struct hello_method m;

    assert_true(hello_next(h, at, &m));
    assert_string_equal(m.name, name);
    assert_string_equal(m.summary, summary);
    assert_string_equal(m.params, params);
}

TEST(methods_are_read_with_what_is_shown_of_them)
{
    struct hello h = heard(whole, LEN);
    struct hello_method m;
    size_t at = 0;

    assert_null(hello_refusal(&h));
    expect_next(&h, &at, "thumbs.make", "makes one", "[image]");
    expect_next(&h, &at, "thumbs.drop", "", "");
    assert_false(hello_next(&h, &at, &m));
    hello_free(&h);
}

TEST(one_that_is_cut_off_does_not_run)
{
    for (size_t len = 0; len < LEN; len++) {
        struct hello h = heard(whole, len);
        assert_string_equal(hello_refusal(&h),
                            "it ended before it said what it brings (see the log)");
        hello_free(&h);
    }
}

TEST(what_comes_behind_the_end_is_refused)
{
    char more[LEN + 1] = {0};

    memcpy(more, whole, LEN);
    struct hello h = heard(more, sizeof more);
    assert_non_null(hello_refusal(&h));
    hello_free(&h);
}

TEST(a_refusal_has_a_reason)
{
    int tube[2];
    struct hello h = {0};

    assert_int_equal(pipe(tube), 0);
    assert_true(hello_refuse(tube[1], "it has no such file"));
    close(tube[1]);
    assert_true(hello_read(&h, tube[0]));
    assert_string_equal(hello_refusal(&h), "it has no such file");
    close(tube[0]);
    hello_free(&h);
}

TEST(one_that_says_too_much_is_given_up)
{
    char part[4096];
    struct hello h = {0};
    int tube[2];

    memset(part, 'x', sizeof part);
    assert_int_equal(pipe2(tube, O_NONBLOCK), 0);
    for (size_t sent = 0; sent < HELLO_MAX; sent += sizeof part) {
        assert_null(h.wrong);
        assert_int_equal(write(tube[1], part, sizeof part), sizeof part);
        assert_int_equal(hello_read(&h, tube[0]), sent + sizeof part == HELLO_MAX);
    }
    assert_string_equal(hello_refusal(&h), "it has more to say of its methods than a server reads");
    close(tube[0]);
    close(tube[1]);
    hello_free(&h);
}
