/* A load over a protocol that is not ours: a server in a thread greets with four bytes, takes the
 * connection's name, and answers each request "?abc" with "!abc" in order, its bytes cut as they
 * please. */
#include "tests/support/cmocka_env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/bench/load.h"

enum { NAME = 2, MESSAGE = 4, IN_FLIGHT = 7, ROUNDS = 500 };

struct line_server {
    pthread_t thread;
    int listener;
    bool one_more; /* answers one more than there are in flight */
    struct url url;
    char folder[32];
};

static bool send_cut(int fd, const char *at, size_t n)
{
    for (size_t i = 0, piece = 1; i < n; i += piece, piece = piece % 5 + 1) {
        size_t len = n - i < piece ? n - i : piece;
        if (send(fd, at + i, len, MSG_NOSIGNAL) != (ssize_t)len)
            return false;
    }
    return true;
}

static void *serve(void *arg)
{
    struct line_server *s = arg;
    char in[4096], name[NAME];
    int fd = accept(s->listener, NULL, NULL);
    ssize_t have = 0, n;
    bool good = send_cut(fd, "hey\n", 4) && recv(fd, name, NAME, MSG_WAITALL) == NAME &&
                memcmp(name, "c0", NAME) == 0;
    if (s->one_more && recv(fd, in, IN_FLIGHT * MESSAGE, MSG_WAITALL) > 0) {
        memset(in, '!', sizeof in);
        send(fd, in, (IN_FLIGHT + 1) * MESSAGE,
             MSG_NOSIGNAL); /* at once: none is asked for meanwhile */
    }
    while (good && (n = recv(fd, in + have, sizeof in - (size_t)have, 0)) > 0) {
        ssize_t whole = (have + n) / MESSAGE * MESSAGE;
        for (ssize_t i = 0; i < whole; i += MESSAGE)
            in[i] = '!';
        good = send_cut(fd, in, (size_t)whole);
        have += n - whole;
        memmove(in, in + whole, (size_t)have);
    }
    close(fd);
    return NULL;
}

static void start(struct line_server *s, bool one_more)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    *s = (struct line_server){.one_more = one_more, .url.scheme = URL_UNIX};
    strcpy(s->folder, "/tmp/ergon-test-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->url.path, sizeof s->url.path, "%s/s", s->folder);
    strcpy(at.sun_path, s->url.path);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct line_server *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
    unlink(s->url.path);
    rmdir(s->folder);
}

static void say_name(const struct request *r, struct outgoing *out)
{
    char name[8];
    snprintf(name, sizeof name, "c%u", r->connection % 10);
    outgoing_add(out, name, NAME);
}

static void ask(const struct request *r, struct outgoing *out)
{
    char text[8];
    snprintf(text, sizeof text, "?%03u", (unsigned)(r->number % 1000));
    outgoing_add(out, text, MESSAGE);
}

/* The kind stands in the first byte: the rest is skipped, wherever it is cut. */
static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    if (n < 2) /* so that a head is cut, too */
        return ANSWER_PARTIAL;
    a->size = MESSAGE;
    return at[0] == '!' ? ANSWER_GOOD : ANSWER_WRONG;
}

static const struct protocol LINES = {
    .name = "lines",
    .ordered = true,
    .greeting = 4,
    .hello = say_name,
    .request = ask,
    .parse = parse,
};

static void run(bool one_more, double rate, struct load_result *result)
{
    struct line_server server;
    start(&server, one_more);
    const struct load_plan plan = {
        .target = {.url = &server.url, .timeout_ns = UINT64_C(5000000000)},
        .protocol = &LINES,
        .threads = 1,
        .connections = 1,
        .in_flight = IN_FLIGHT,
        .requests = ROUNDS,
        .rate = rate,
        .bursts = rate > 0,
        .spins = rate > 0,
        .stop_fd = -1,
    };
    assert_int_equal(load_run(&plan, result), ERGON_END_OK);
    stop(&server);
}

TEST(every_request_ends_once)
{
    struct load_result result;
    run(false, 0, &result);
    assert_int_equal(result.latency.count, ROUNDS);
    assert_int_equal(result.bytes_out, ROUNDS * MESSAGE);
    assert_int_equal(result.broken, 0);
    load_result_fini(&result);
}

TEST(what_is_due_may_go_in_bursts)
{
    struct load_result result;
    run(false, 1e5, &result);
    assert_int_equal(result.latency.count, ROUNDS);
    assert_int_equal(result.due, ROUNDS);
    load_result_fini(&result);
}

TEST(an_answer_to_nothing_breaks_the_connection)
{
    struct load_result result;
    run(true, 0, &result);
    assert_int_equal(result.broken, 1);
    assert_non_null(strstr(result.why, "nothing that was asked for"));
    load_result_fini(&result);
}
