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
    assert_false(is_doubtful(true, chunked));
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
                                                  {{"Transfer-Encoding", "gzip, chunked"}},
                                                  {{"Transfer-Encoding", "identity"}},
                                                  {{"Transfer-Encoding", "xchunked"}},
                                                  {{"Transfer-Encoding", "chunked "}}};

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_true(is_doubtful(true, odd[i]));
}
