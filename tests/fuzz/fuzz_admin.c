/* The admin listener: HTTP of somebody, and answers of the server behind it.
 *
 * An input is what one client does on a connection of its own, and what the server says to what it
 * is asked, in turns.  One session is open; its cookie and its word against forgery are known, so
 * an input may have them, or not.  Whatever it is:
 *   - there are no more answers than a strict reader of HTTP finds requests, where that finds no
 *     fault in the bytes (nobody slips a request past a proxy);
 *   - each answer has a head of known lines, and a body of its length; what says that it is JSON
 * is; and our own have the policy that keeps a browser safe;
 *   - nobody calls a method in the session's name who has not said both its words; the session's
 *     connection is never told to be somebody else's;
 *   - what the server is sent are whole messages within its limits;
 *   - when it is closed, so are all connections to the server. */
#include <event2/event.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <msgpack.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/chance.h"
#include "proto/envelope.h"
#include "server/admin/web.h"
#include "server/system/health.h"
#include "server/metrics/metrics.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_rest.h"

enum {
    PEERS_MAX = 16,       /* connections to the server in one input */
    ASKED_MAX = 64,       /* of which calls wait */
    STREAM_MAX = 1 << 18, /* bytes each way */
    MESSAGE_MAX = 4096,
    DEPTH_MAX = 32,
    STEPS_MAX = 64
};

static const struct scan_limits limits = {.message_max = MESSAGE_MAX, .depth_max = DEPTH_MAX};

/* ---- what the listener needs, instead of a server ---- */

/* A connection of the gateway, at the server's end. */
struct peer {
    int fd;
    uint8_t in[2 * MESSAGE_MAX];
    size_t in_len;
    bool greeted; /* it was told who it is */
};

static struct {
    struct event_base *base;
    struct web web;
    struct web_listener listener;
    struct health health;
    struct sockaddr_un address;
    int accepting;
    uint8_t random; /* the next byte that nobody can guess */

    struct peer peers[PEERS_MAX];
    unsigned peer_count;
    struct {
        uint8_t id[MSGID_MAX];
        uint8_t id_len, peer;
    } asked[ASKED_MAX]; /* calls that were not answered; the oldest is the first */
    unsigned asked_count;
    unsigned calls; /* of methods that only a session's user calls */

    int fd; /* the client's */
    uint8_t sent[STREAM_MAX], got[STREAM_MAX];
    size_t sent_len, got_len;
    char id[SESSION_WORD_TEXT + 1], csrf[SESSION_WORD_TEXT + 1];
} at;

int __wrap_net_adopt(struct acceptor *a, uint32_t listener, int fd, const struct net_origin *from);
bool __wrap_chance_bytes(void *out, size_t size);
bool __wrap_metrics_write(struct metrics *m, struct metrics_text *out);

int __wrap_net_adopt(struct acceptor *a, uint32_t listener, int fd, const struct net_origin *from)
{
    (void)a, (void)listener, (void)from;
    if (at.peer_count == PEERS_MAX)
        return -1;
    at.peers[at.peer_count++] = (struct peer){.fd = fd};
    return 0;
}

bool __wrap_chance_bytes(void *out, size_t size)
{
    memset(out, ++at.random, size);
    return true;
}

bool __wrap_metrics_write(struct metrics *m, struct metrics_text *out)
{
    (void)m;
    metrics_text_clear(out);
    metrics_end(out);
    return true;
}

/* ---- the server ---- */

static bool is_ours(struct span method)
{
    static const char *const names[] = {"server.hello", "server.auth", "server.cancel",
                                        "server.info",  "queue.list",  "server.topology",
                                        "task.events"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (span_is(method, names[i]))
            return true;
    return false;
}

static void say(const struct peer *p, const msgpack_sbuffer *b)
{
    if (p->fd >= 0)
        (void)!send(p->fd, b->data, b->size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void begin_answer(msgpack_packer *to, msgpack_sbuffer *b, struct span id)
{
    msgpack_sbuffer_init(b);
    msgpack_packer_init(to, b, msgpack_sbuffer_write);
    msgpack_pack_array(to, 4);
    msgpack_pack_uint8(to, ENVELOPE_RESPONSE);
    msgpack_sbuffer_write(b, (const char *)id.at, id.len);
}

static void pack_text(msgpack_packer *to, const char *text)
{
    msgpack_pack_str_with_body(to, text, strlen(text));
}

/* Who it is, or that its token is good. */
static void greet(struct peer *p, struct span id)
{
    msgpack_sbuffer b;
    msgpack_packer to;

    begin_answer(&to, &b, id);
    msgpack_pack_nil(&to);
    msgpack_pack_map(&to, 1);
    pack_text(&to, "principal");
    pack_text(&to, "token:op");
    say(p, &b);
    msgpack_sbuffer_destroy(&b);
}

static void take_request(struct peer *p, const struct envelope *e)
{
    bool greeting = span_is(e->method, "server.hello") || span_is(e->method, "server.auth");

    CHECK(!span_is(e->method, "worker.register") && !(greeting && p->greeted));
    at.calls += !is_ours(e->method);
    if (greeting) {
        p->greeted = span_is(e->method, "server.hello");
        greet(p, e->msgid);
    } else if (at.asked_count < ASKED_MAX) {
        unsigned n = at.asked_count++;
        memcpy(at.asked[n].id, e->msgid.at, e->msgid.len);
        at.asked[n].id_len = (uint8_t)e->msgid.len;
        at.asked[n].peer = (uint8_t)(p - at.peers);
    }
}

static void take_messages(struct peer *p)
{
    struct scanner s;
    struct envelope e;
    const char *why;

    for (;;) {
        scanner_init(&s);
        enum scan_verdict verdict = scanner_run(&s, &limits, span_of(p->in, p->in_len));
        if (verdict == SCAN_MORE)
            return;
        CHECK(verdict == SCAN_WHOLE);
        CHECK(envelope_read(span_of(p->in, s.done), &e, &why) == ENVELOPE_OK);
        CHECK(e.type != ENVELOPE_RESPONSE);
        if (e.type == ENVELOPE_REQUEST)
            take_request(p, &e);
        else
            CHECK(is_ours(e.method));
        p->in_len -= s.done;
        memmove(p->in, p->in + s.done, p->in_len);
    }
}

static void hear(struct peer *p)
{
    ssize_t n;

    while (p->fd >= 0 &&
           (n = recv(p->fd, p->in + p->in_len, sizeof p->in - p->in_len, MSG_DONTWAIT)) > 0) {
        p->in_len += (size_t)n;
        take_messages(p);
    }
}

/* The oldest call is answered with a value of the input, as it is if it is none. */
static void answer(bool good, struct span value)
{
    msgpack_sbuffer b;
    msgpack_packer to;

    if (at.asked_count == 0)
        return;
    begin_answer(&to, &b, span_of(at.asked[0].id, at.asked[0].id_len));
    if (good)
        msgpack_pack_nil(&to);
    if (value.len > 0)
        msgpack_sbuffer_write(&b, (const char *)value.at, value.len);
    else
        msgpack_pack_nil(&to);
    if (!good)
        msgpack_pack_nil(&to);
    say(&at.peers[at.asked[0].peer], &b);
    msgpack_sbuffer_destroy(&b);
    memmove(at.asked, at.asked + 1, --at.asked_count * sizeof *at.asked);
}

static void hang_up(struct peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

/* ---- the client ---- */

static void turn(void)
{
    for (int i = 0; i < 4; i++) {
        event_base_loop(at.base, EVLOOP_NONBLOCK);
        web_sweep(&at.web);
        for (unsigned p = 0; p < at.peer_count; p++)
            hear(&at.peers[p]);
        for (ssize_t n;
             at.fd >= 0 && at.got_len < STREAM_MAX &&
             (n = recv(at.fd, at.got + at.got_len, STREAM_MAX - at.got_len, MSG_DONTWAIT)) > 0;)
            at.got_len += (size_t)n;
    }
}

static void put(struct span bytes)
{
    if (at.fd < 0 || bytes.len == 0 || bytes.len > STREAM_MAX - at.sent_len)
        return;
    ssize_t n = send(at.fd, bytes.at, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0)
        return;
    memcpy(at.sent + at.sent_len, bytes.at, (size_t)n);
    at.sent_len += (size_t)n;
}

static void put_text(const char *text)
{
    put(span_text(text));
}

static void put_session(bool cookie, bool csrf)
{
    if (cookie) {
        put_text("Cookie: x=1; ergon_session=");
        put_text(at.id);
        put_text("\r\n");
    }
    if (csrf) {
        put_text("X-Ergon-CSRF: ");
        put_text(at.csrf);
        put_text("\r\n");
    }
}

/* A request whose form is right, with a body of the input. */
static void put_request(uint8_t how)
{
    static const char *const firsts[] = {
        "POST /api/call", "POST /api/live",      "POST /api/session", "DELETE /api/session",
        "GET /api/live",  "GET /debug/topology", "GET /metrics",      "HEAD /metrics"};
    const char *first = firsts[how % 8];
    bool body = *first == 'P';
    struct span text =
        body ? fuzz_bytes((size_t)fuzz_byte() << (how & 0x40 ? 4 : 0)) : span_of(NULL, 0);
    char length[64];

    put_text(first);
    put_text(" HTTP/1.1\r\nHost: localhost\r\n");
    put_session(how & 0x10, how & 0x20);
    snprintf(length, sizeof length, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
             text.len);
    if (body)
        put_text(length);
    put_text("\r\n");
    put(text);
}

/* ---- what it was answered ---- */

/* The line behind `from`, without its end; false: there is none. */
static bool next_line(struct span *rest, struct span *line)
{
    const uint8_t *end = rest->len > 0 ? memchr(rest->at, '\n', rest->len) : NULL;

    if (!end)
        return false;
    size_t len = (size_t)(end - rest->at);
    CHECK(len > 0 && end[-1] == '\r');
    *line = span_of(rest->at, len - 1);
    *rest = span_behind(*rest, len + 1);
    return true;
}

static bool begins(struct span text, const char *with)
{
    size_t len = strlen(with);

    return text.len >= len && memcmp(text.at, with, len) == 0;
}

struct answer {
    int status;
    bool json, chunked, policy;
    long length; /* -1: not told */
};

static void take_header(struct answer *a, struct span line)
{
    static const char *const known[] = {"Content-Type: ",
                                        "Content-Length: ",
                                        "Content-Encoding: ",
                                        "Content-Security-Policy: default-src 'none'",
                                        "X-Content-Type-Options: nosniff",
                                        "Referrer-Policy: ",
                                        "Cross-Origin-",
                                        "Cache-Control: ",
                                        "Connection: ",
                                        "Date: ",
                                        "ETag: \"",
                                        "Vary: ",
                                        "Transfer-Encoding: chunked",
                                        "WWW-Authenticate: ",
                                        "Allow: ",
                                        "Set-Cookie: ergon_session"};
    bool found = false;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found = found || begins(line, known[i]);
    CHECK(found);
    for (size_t i = 0; i < line.len; i++)
        CHECK(line.at[i] >= ' ' && line.at[i] < 0x7f);
    a->json |= begins(line, "Content-Type: application/json");
    a->chunked |= begins(line, "Transfer-Encoding: chunked");
    a->policy |= begins(line, "Content-Security-Policy: ");
    if (begins(line, "Content-Length: "))
        a->length = strtol((const char *)line.at + 16, NULL, 10);
    CHECK(!begins(line, "Set-Cookie: ") ||
          memmem(line.at, line.len, "; HttpOnly; SameSite=Strict", 27));
}

/* In the version of the request, which evhttp takes if it is "0.0", too. */
static bool is_status(struct span line)
{
    return line.len > 12 && begins(line, "HTTP/");
}

static bool read_head(struct span *rest, struct answer *a)
{
    struct span line;

    *a = (struct answer){.length = -1};
    if (!next_line(rest, &line))
        return false;
    CHECK(is_status(line));
    a->status = atoi((const char *)line.at + 9);
    CHECK(a->status >= 100 && a->status < 600);
    while (next_line(rest, &line)) {
        if (line.len == 0)
            return true;
        take_header(a, line);
    }
    return false;
}

static void check_body(const struct answer *a, struct span body)
{
    const size_t how = JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_error_t error;

    CHECK(!memmem(body.at, body.len, at.id, SESSION_WORD_TEXT) || !at.id[0]);
    if (!a->json)
        return;
    json_t *value = json_loadb((const char *)body.at, body.len, how, &error);
    /* A zero in a key is JSON, which the library writes, but does not read. */
    CHECK(value || json_error_code(&error) == json_error_null_byte_in_key);
    CHECK(!value || a->status < 300 || json_object_get(value, "error"));
    json_decref(value);
}

/* False: it is not whole. */
static bool pass_chunks(struct span *rest)
{
    struct span line;

    while (next_line(rest, &line)) {
        size_t len = strtoul((const char *)line.at, NULL, 16);
        if (len + 2 > rest->len)
            return false;
        *rest = span_behind(*rest, len + 2);
        if (len == 0)
            return true;
    }
    return false;
}

/* What answers HEAD tells a length, and has no body. */
static bool has_body(const struct answer *a, struct span rest)
{
    return a->length > 0 && rest.len > 0 && !begins(rest, "HTTP/");
}

/* How many answers there are, but for "100 Continue". */
static unsigned check_answers(void)
{
    struct span rest = span_of(at.got, at.got_len);
    struct answer a;
    unsigned count = 0;

    while (read_head(&rest, &a)) {
        if (a.status == 100)
            continue;
        count++;
        CHECK(a.policy || a.status >= 400); /* evhttp answers some by itself */
        if (a.length < 0 && !a.chunked && a.status != 204 && a.status != 304)
            break; /* until it closes */
        if (a.chunked) {
            if (!pass_chunks(&rest))
                break;
        } else if (has_body(&a, rest)) {
            if ((size_t)a.length > rest.len)
                break;
            check_body(&a, span_of(rest.at, (size_t)a.length));
            rest = span_behind(rest, (size_t)a.length);
        }
    }
    return count;
}

/* ---- what it asked, read strictly ---- */

static bool is_token(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum(text.at[i]) && (text.at[i] == 0 || !strchr("!#$%&'*+-.^_`|~", text.at[i])))
            return false;
    return text.len > 0;
}

/* Ends in CR LF, and has neither, nor a zero, before; else `*odd`.  False: it is not whole. */
static bool strict_line(struct span *rest, struct span *line, bool *odd)
{
    const uint8_t *end = rest->len > 0 ? memchr(rest->at, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->at) : rest->len;

    if (!end)
        return false;
    *odd |= len == 0 || end[-1] != '\r' || memchr(rest->at, 0, len) ||
            memchr(rest->at, '\r', len) != end - 1;
    *line = span_of(rest->at, len - (len > 0));
    *rest = span_behind(*rest, len + 1);
    return !*odd;
}

struct asked {
    size_t length;
    unsigned lengths, codings;
    bool close;
};

/* False: it is odd. */
static bool strict_header(struct asked *a, struct span line)
{
    const uint8_t *colon = memchr(line.at, ':', line.len);
    size_t name = colon ? (size_t)(colon - line.at) : 0;

    if (!is_token(span_of(line.at, name)))
        return false;
    struct span value = span_behind(line, name + 1);
    while (value.len > 0 && strchr(" \t", *value.at))
        value = span_behind(value, 1);
    while (value.len > 0 && strchr(" \t", value.at[value.len - 1]))
        value.len--;
    if (name == 14 && strncasecmp((const char *)line.at, "content-length", name) == 0) {
        a->lengths++;
        a->length = 0;
        for (size_t i = 0; i < value.len; i++) {
            if (!isdigit(value.at[i]) || i > 8)
                return false;
            a->length = a->length * 10 + (value.at[i] - '0');
        }
        return value.len > 0 && a->lengths == 1;
    }
    if (name == 17 && strncasecmp((const char *)line.at, "transfer-encoding", name) == 0) {
        a->codings++;
        return value.len == 7 && strncasecmp((const char *)value.at, "chunked", 7) == 0 &&
               a->codings == 1;
    }
    return true;
}

static unsigned digit_of(uint8_t c)
{
    return isdigit(c) ? c - 48u : (c | 32u) - 'a' + 10;
}

/* The length of each is digits of a number to the base 16, and nothing else. */
static bool strict_chunks(struct span *rest, bool *odd)
{
    struct span line;

    while (strict_line(rest, &line, odd)) {
        size_t len = 0;
        *odd |= line.len == 0 || line.len > 6;
        for (size_t i = 0; i < line.len; i++)
            *odd |= !isxdigit(line.at[i]);
        if (*odd)
            return false;
        for (size_t i = 0; i < line.len; i++)
            len = len * 16 + digit_of(line.at[i]);
        if (len == 0) { /* and what stands behind, as headers do */
            struct asked none = {0};
            while (strict_line(rest, &line, odd)) {
                if (line.len == 0)
                    return true;
                *odd |= !strict_header(&none, line) || none.lengths + none.codings > 0;
            }
            return false;
        }
        if (rest->len < len + 2)
            return false;
        *odd |= rest->at[len] != '\r' || rest->at[len + 1] != '\n';
        *rest = span_behind(*rest, len + 2);
    }
    return false;
}

static bool strict_first(struct span line)
{
    const uint8_t *end = memchr(line.at, ' ', line.len);
    size_t method = end ? (size_t)(end - line.at) : 0;
    struct span rest = span_behind(line, method + (end != NULL));
    const uint8_t *blank = rest.len > 0 ? memchr(rest.at, ' ', rest.len) : NULL;
    size_t target = blank ? (size_t)(blank - rest.at) : 0;

    if (!is_token(span_of(line.at, method)) || target == 0)
        return false;
    for (size_t i = 0; i < target; i++)
        if (rest.at[i] <= ' ' || rest.at[i] >= 0x7f)
            return false;
    rest = span_behind(rest, target + 1);
    return span_is(rest, "HTTP/1.1") || span_is(rest, "HTTP/1.0");
}

/* How many requests begin, at most; or that something is odd. */
static unsigned strict_requests(bool *odd)
{
    struct span rest = span_of(at.sent, at.sent_len), line;
    unsigned count = 0;

    *odd = false;
    while (rest.len > 0 && !*odd) {
        struct asked a = {0};
        count++;
        if (!strict_line(&rest, &line, odd))
            return count;
        *odd |= !strict_first(line);
        while (!*odd && strict_line(&rest, &line, odd) && line.len > 0)
            *odd |= !strict_header(&a, line);
        *odd |= a.lengths > 0 && a.codings > 0;
        if (*odd || line.len > 0 || (a.codings > 0 && !strict_chunks(&rest, odd)))
            return count;
        if (rest.len < a.length)
            return count;
        rest = span_behind(rest, a.length);
    }
    return count;
}

/* ---- one input ---- */

static unsigned times_said(const char *word)
{
    unsigned count = 0;

    for (size_t i = 0; i + SESSION_WORD_TEXT <= at.sent_len; i++)
        count += memcmp(at.sent + i, word, SESSION_WORD_TEXT) == 0;
    return count;
}

static void connect_client(void)
{
    if (at.fd >= 0)
        return;
    at.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(at.fd >= 0 && connect(at.fd, (struct sockaddr *)&at.address, sizeof at.address) == 0);
    turn();
}

/* Through the door, as anybody. */
static void open_session(void)
{
    connect_client();
    put_text("POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: 2\r\n\r\n{}");
    for (int i = 0; i < 8 && !memmem(at.got, at.got_len, "\"csrf\"", 6); i++)
        turn();
    struct session *s = &at.web.sessions.at[0];
    CHECK(strcmp(s->principal, "token:op") == 0);
    memcpy(at.id, s->id, sizeof at.id);
    memcpy(at.csrf, s->csrf, sizeof at.csrf);
    CHECK(memmem(at.got, at.got_len, at.csrf, SESSION_WORD_TEXT));
    CHECK(check_answers() == 1);
    close(at.fd);
    at.fd = -1;
    turn();
    at.sent_len = at.got_len = 0;
    connect_client();
}

static void open_listener(void)
{
    at.base = event_base_new();
    CHECK(at.base);
    memset(&at.web, 0, sizeof at.web);
    at.web.base = at.base;
    at.web.listeners = &at.listener;
    at.web.count = 1;
    at.web.health = &at.health;
    at.web.gateway.scan = limits;
    atomic_store(&at.web.acceptor, (struct acceptor *)(uintptr_t)&at);
    memset(&at.listener, 0, sizeof at.listener);
    at.listener.web = &at.web;
    at.listener.url.scheme = URL_UNIX;
    at.listener.url.http = true;
    at.listener.socket.fd = at.accepting;
    CHECK(web_serve(&at.listener));
}

static void act(uint8_t op)
{
    switch (op % 8) {
    case 0:
    case 1:
    case 2:
        put_request(fuzz_byte());
        break;
    case 3:
        put(fuzz_bytes(fuzz_byte()));
        break;
    case 4:
        answer(op & 8, fuzz_bytes(fuzz_byte()));
        break;
    case 5:
        put_session(op & 8, op & 16);
        break;
    case 6:
        if (op & 8 && at.fd >= 0)
            shutdown(at.fd, SHUT_WR);
        else if (at.peer_count > 0)
            hang_up(&at.peers[fuzz_byte() % at.peer_count]);
        break;
    default:
        (void)web_tick(&at.web);
    }
    if (!(op & 0x80)) /* else what comes next comes with it */
        turn();
}

static void end_all(void)
{
    web_close(&at.web);
    event_base_loop(at.base, EVLOOP_NONBLOCK);
    metrics_text_free(&at.web.figures);
    for (unsigned i = 0; i < at.peer_count; i++) {
        struct peer *p = &at.peers[i];
        hear(p);
        CHECK(p->fd < 0 || recv(p->fd, p->in, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
        hang_up(p);
    }
    event_base_free(at.base);
}

static void make(void)
{
    signal(SIGPIPE, SIG_IGN);           /* as ergond does */
    json_set_alloc_funcs(malloc, free); /* so that its blocks are counted, too */
    at.address.sun_family = AF_UNIX;
    snprintf(at.address.sun_path + 1, sizeof at.address.sun_path - 1, "ergon-fuzz-admin-%d",
             getpid());
    at.accepting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(bind(at.accepting, (struct sockaddr *)&at.address, sizeof at.address) == 0);
    CHECK(listen(at.accepting, 4) == 0);
    health_enter(&at.health, HEALTH_SERVING);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    bool odd;

    if (at.address.sun_family == 0)
        make();
    at.fd = -1;
    at.random = 0x40;
    at.peer_count = at.asked_count = at.calls = 0;
    at.sent_len = at.got_len = 0;
    memset(at.id, 0, sizeof at.id);
    fuzz_begin(data, size);
    open_listener();
    open_session();
    for (int i = 0; i < STEPS_MAX && fuzz_more(); i++)
        act(fuzz_byte());
    turn();
    unsigned answers = check_answers(), requests = strict_requests(&odd);
    CHECK(odd || answers <= requests);
    CHECK(at.calls <= times_said(at.csrf) && at.calls <= times_said(at.id));
    end_all();
    if (at.fd >= 0)
        close(at.fd);
}
