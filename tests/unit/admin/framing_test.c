#include "server/admin/framing.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <sys/queue.h>

#include "tests/support/cmocka_env.h"

enum { HEADERS = 3 };

static bool is_doubtful(bool has_body, const char *const pairs[][2])
{
    struct evkeyvalq headers;

    TAILQ_INIT(&headers);
    for (size_t i = 0; i < HEADERS && pairs[i][0]; i++)
        assert_int_equal(evhttp_add_header(&headers, pairs[i][0], pairs[i][1]), 0);
    const char *doubt = framing_doubt(&headers, has_body);
    evhttp_clear_headers(&headers);
    return doubt != NULL;
}

static const char *const plain[HEADERS][2] = {{"Host", "a"}};
static const char *const length[HEADERS][2] = {{"Host", "a"}, {"Content-Length", "12"}};
static const char *const chunked[HEADERS][2] = {{"transfer-encoding", "Chunked"}};

TEST(what_is_said_once_is_beyond_doubt)
{
    assert_false(is_doubtful(false, plain));
    assert_false(is_doubtful(true, plain));
    assert_false(is_doubtful(true, length));
}

TEST(what_has_no_body_tells_no_length)
{
    static const char *const none[HEADERS][2] = {{"Content-Length", "00"}};

    assert_false(is_doubtful(false, none));
    assert_true(is_doubtful(false, length));
    assert_true(is_doubtful(false, chunked));
}

TEST(what_is_said_twice_is_doubtful)
{
    static const char *const twice[][HEADERS][2] = {
        {{"Host", "a"}, {"host", "a"}},
        {{"Content-Length", "2"}, {"Content-Length", "2"}},
        {{"Content-Length", "2"}, {"Transfer-Encoding", "chunked"}},
        {{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}};

    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        assert_true(is_doubtful(true, twice[i]));
}

TEST(what_is_said_oddly_is_doubtful)
{
    static const char *const odd[][HEADERS][2] = {{{"Content-Length", "+2"}},
                                                  {{"Content-Length", "0x2"}},
                                                  {{"Content-Length", "2, 2"}},
                                                  {{"Content-Length", "-2"}},
                                                  {{"Content-Length", ""}},
                                                  {{"Content-Length ", "2"}},
                                                  {{"Content-Length\t", "2"}},
                                                  {{"Transfer-Encoding", "chunked"}},
                                                  {{"Transfer-Encoding", "gzip, chunked"}},
                                                  {{"Transfer-Encoding", "identity"}},
                                                  {{"Transfer-Encoding", "xchunked"}},
                                                  {{"Transfer-Encoding", "chunked "}}};

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_true(is_doubtful(true, odd[i]));
}

/* Whether it comes whole or byte by byte. */
static bool is_doubtful_head(const char *bytes, size_t count)
{
    struct head_check whole = {0}, drops = {0};

    head_check_take(&whole, (const uint8_t *)bytes, count);
    for (size_t i = 0; i < count; i++)
        head_check_take(&drops, (const uint8_t *)bytes + i, 1);
    assert_ptr_equal(whole.doubt, drops.doubt);
    assert_true(whole.doubt != NULL || whole.over);
    return whole.doubt != NULL;
}

#define DOUBTFUL(text) is_doubtful_head(text, sizeof(text) - 1)

TEST(lines_of_a_head_end_in_one_way)
{
    assert_false(DOUBTFUL("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_false(DOUBTFUL("POST / HTTP/1.1\r\nHost: a\r\n\r\nbody\n\0 body"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\nHost: a\r\n\r\n"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nHost: a\n\r\n"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nHost: a\r\n\n"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"));
    assert_true(DOUBTFUL("\r\nGET / HTTP/1.1\r\n\r\n"));
}

TEST(what_ends_a_value_for_some_is_doubtful)
{
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nHost: a\0.b\r\n\r\n"));
    assert_true(DOUBTFUL("GET /\0 HTTP/1.1\r\n\r\n"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nX: y\r\n Content-Length: 2\r\n\r\n"));
    assert_true(DOUBTFUL("GET / HTTP/1.1\r\nX: y\r\n\tContent-Length: 2\r\n\r\n"));
}
