/* The server's side of TLS, over a pair of sockets.
 *
 * An input begins with a byte that says what the peer is: somebody who sends the bytes that follow,
 * or a client of OpenSSL, of TLS 1.2 or 1.3, with a certificate or without, with a ticket of an
 * earlier session or without, whose bytes go through the hands of the input: it lets them pass,
 * changes, drops, doubles, or adds some, and says what client and server do between.
 *
 * The stream says what its table allows, and a text after an error.  Whatever happens on the way,
 * server and client read only what the other wrote, from its beginning on, without a gap. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/span.h"
#include "server/net/stream/stream.h"
#include "server/net/stream/tls.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_rest.h"
#include "tests/support/virtual.h"

enum { PENDING_MAX = 1 << 17, STEPS_MAX = 400, PLAIN_MAX = 20000, SOCKET_BUFFER = 4096 };

/* --- The input, from its front --- */

static size_t number(void)
{
    size_t high = fuzz_byte();
    return high < 0x80 ? high : (high & 0x7f) << 8 | fuzz_byte();
}

/* --- What is made once --- */

static struct {
    struct virtual world;
    struct poller *poller;
    struct poller_watcher watcher;
    struct tls_loop *loop;
    struct tls_context *context;
    SSL_CTX *client;
    X509
        *cert; /* of a client that has one: to read it and its key takes as long as 20 handshakes */
    EVP_PKEY *key;
    SSL_SESSION *sessions[2]; /* of TLS 1.2 and 1.3 */
} made;

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    SSL_SESSION **place = &made.sessions[SSL_version(ssl) == TLS1_3_VERSION];

    if (*place != NULL)
        return 0;
    *place = session;
    return 1;
}

/* --- One connection --- */

static struct {
    struct stream stream;
    bool open, established;       /* the server's side */
    int fd;                       /* the client's end; -1: closed */
    SSL *ssl;                     /* NULL: bytes of the input */
    uint8_t pending[PENDING_MAX]; /* of the client, not yet passed on */
    size_t pending_len;
    uint64_t client_wrote, client_read, server_wrote, server_read; /* plaintext, bytes */
} c;

static uint8_t pattern(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 8));
}

static void on_event(struct poller_watch *w, unsigned what)
{
    (void)w;
    (void)what;
}

static void check_error(void)
{
    char text[200] = "";

    c.stream.cls->explain(&c.stream, text, sizeof text);
    CHECK(text[0] != '\0');
    (void)tls_is_peers_error(&c.stream);
    c.stream.cls->close(&c.stream);
    c.open = false;
}

/* A result of the stream that is no count. */
static void take_result(ssize_t n)
{
    CHECK(n >= STREAM_ERROR && n < 0);
    if (n == STREAM_ERROR)
        check_error();
}

static void server_handshake(void)
{
    char name[300];
    int n = c.stream.cls->handshake(&c.stream);

    if (n == 0) {
        CHECK(c.ssl != NULL);
        c.established = true;
        if (tls_peer_name(&c.stream, name, sizeof name) == TLS_NAME_FOUND)
            CHECK(strcmp(name, "localhost") == 0);
    } else if (n == STREAM_EOF) {
        c.stream.cls->close(&c.stream);
        c.open = false;
    } else {
        take_result(n);
    }
}

static void server_read(size_t room)
{
    static uint8_t plain[PLAIN_MAX];
    ssize_t n = c.stream.cls->read(&c.stream, plain, room);

    if (n < 0) {
        take_result(n);
        return;
    }
    CHECK(n > 0 && (size_t)n <= room);
    for (ssize_t i = 0; i < n; i++)
        CHECK(plain[i] == pattern(c.server_read++));
    CHECK(c.server_read <= c.client_wrote);
}

static void server_write(size_t len)
{
    static uint8_t plain[PLAIN_MAX];
    const struct iovec parts[2] = {{plain, len / 3}, {plain + len / 3, len - len / 3}};

    for (size_t i = 0; i < len; i++)
        plain[i] = pattern(c.server_wrote + i);
    ssize_t n = c.stream.backlog > 0 || len == 0 ? c.stream.cls->writev(&c.stream, NULL, 0)
                                                 : c.stream.cls->writev(&c.stream, parts, 2);
    if (n < 0) {
        take_result(n);
        return;
    }
    CHECK((size_t)n <= len);
    c.server_wrote += (uint64_t)n;
    CHECK(c.stream.backlog <= 2 * c.server_wrote + 65536);
}

static void server_step(size_t room)
{
    if (c.open && !c.established)
        server_handshake();
    else if (c.open)
        server_read(room);
    if (c.open && c.stream.backlog > 0)
        server_write(0);
}

/* --- The client --- */

/* What OpenSSL wants to send, to the bytes that wait for the input's word. */
static void gather(void)
{
    int n;

    while (c.ssl != NULL && PENDING_MAX > c.pending_len &&
           (n = BIO_read(SSL_get_wbio(c.ssl), c.pending + c.pending_len,
                         (int)(PENDING_MAX - c.pending_len))) > 0)
        c.pending_len += (size_t)n;
}

static void client_step(void)
{
    static uint8_t plain[PLAIN_MAX];
    ssize_t n = c.fd < 0 ? 0 : recv(c.fd, plain, sizeof plain, MSG_DONTWAIT);
    size_t done;

    if (c.ssl == NULL)
        return;
    if (n > 0)
        BIO_write(SSL_get_rbio(c.ssl), plain, (int)n);
    if (!SSL_is_init_finished(c.ssl))
        SSL_do_handshake(c.ssl);
    while (SSL_is_init_finished(c.ssl) && SSL_read_ex(c.ssl, plain, sizeof plain, &done) == 1) {
        for (size_t i = 0; i < done; i++)
            CHECK(plain[i] == pattern(c.client_read++));
        CHECK(c.client_read <= c.server_wrote);
    }
    ERR_clear_error();
    gather();
}

static void client_write(size_t len)
{
    static uint8_t plain[PLAIN_MAX];
    size_t done;

    for (size_t i = 0; i < len; i++)
        plain[i] = pattern(c.client_wrote + i);
    if (len > 0 && c.ssl != NULL && SSL_is_init_finished(c.ssl) &&
        c.pending_len < PENDING_MAX / 2 && SSL_write_ex(c.ssl, plain, len, &done) == 1)
        c.client_wrote += done;
    ERR_clear_error();
    gather();
}

static void client_changes_keys(void)
{
    if (c.ssl == NULL || !SSL_is_init_finished(c.ssl))
        return;
    if (SSL_version(c.ssl) == TLS1_3_VERSION)
        SSL_key_update(c.ssl, SSL_KEY_UPDATE_REQUESTED);
    else
        SSL_renegotiate(c.ssl); /* which the server refuses */
    SSL_do_handshake(c.ssl);
    ERR_clear_error();
    gather();
}

/* --- The way between --- */

static void drop(size_t len)
{
    memmove(c.pending, c.pending + len, c.pending_len - len);
    c.pending_len -= len;
}

static void pass(size_t len)
{
    len = len < c.pending_len ? len : c.pending_len;
    ssize_t n = c.fd < 0 || len == 0 ? 0 : send(c.fd, c.pending, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop(n > 0 ? (size_t)n : 0);
}

static void insert(size_t at, struct span what)
{
    if (c.pending_len + what.len > PENDING_MAX || what.len == 0)
        return;
    memmove(c.pending + at + what.len, c.pending + at, c.pending_len - at);
    memcpy(c.pending + at, what.at, what.len);
    c.pending_len += what.len;
}

static void tamper(uint8_t how)
{
    static uint8_t copy[PENDING_MAX];
    size_t at = number();

    at = at < c.pending_len ? at : c.pending_len;
    switch (how % 4) {
    case 0:
        if (at < c.pending_len)
            c.pending[at] ^= fuzz_byte();
        return;
    case 1:
        drop(at);
        return;
    case 2:
        memcpy(copy, c.pending, at);
        insert(at, span_of(copy, at));
        return;
    default:
        insert(at, fuzz_bytes(number()));
    }
}

static void act(uint8_t op)
{
    switch (op % 12) {
    case 0:
    case 1:
        pass(PENDING_MAX);
        server_step(PLAIN_MAX);
        client_step();
        return;
    case 2:
        pass(number());
        server_step(1 + number() % PLAIN_MAX);
        return;
    case 3:
        tamper(fuzz_byte());
        return;
    case 4:
        client_write(number() % PLAIN_MAX);
        return;
    case 5:
        if (c.open && c.established)
            server_write(number() % PLAIN_MAX);
        return;
    case 6:
        client_step();
        return;
    case 7:
        client_changes_keys();
        return;
    case 8:
        if (c.ssl != NULL && SSL_is_init_finished(c.ssl))
            SSL_shutdown(c.ssl);
        gather();
        return;
    case 9:
        if (c.fd >= 0)
            shutdown(c.fd, SHUT_WR);
        return;
    case 10:
        if (c.open)
            c.stream.cls->shut(&c.stream);
        return;
    default: /* time goes by: the keys of tickets change */
        made.world.now += AO_S(60) * number();
        (void)(c.open && c.stream.cls->left(&c.stream, 0));
    }
}

/* --- Its beginning and its end --- */

static void client_begin(uint8_t how)
{
    int version = how & 2 ? TLS1_3_VERSION : TLS1_2_VERSION;

    c.ssl = SSL_new(made.client);
    CHECK(c.ssl != NULL);
    SSL_set_bio(c.ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(c.ssl);
    SSL_set_min_proto_version(c.ssl, version);
    SSL_set_max_proto_version(c.ssl, version);
    if (how & 4) {
        CHECK(SSL_use_certificate(c.ssl, made.cert) == 1);
        CHECK(SSL_use_PrivateKey(c.ssl, made.key) == 1);
    }
    if (how & 8 && made.sessions[how >> 1 & 1] != NULL)
        SSL_set_session(c.ssl, made.sessions[how >> 1 & 1]);
    client_step();
}

static void open_connection(uint8_t how)
{
    int pair[2], small = SOCKET_BUFFER;

    memset(&c, 0, offsetof(typeof(c), pending));
    c.pending_len = 0;
    c.client_wrote = c.client_read = c.server_wrote = c.server_read = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    CHECK(tls_open(&c.stream, made.context, pair[0], &made.watcher));
    c.open = true;
    c.fd = pair[1];
    if (how & 1)
        client_begin(how);
}

static void close_connection(void)
{
    if (c.open)
        c.stream.cls->close(&c.stream);
    SSL_free(c.ssl);
    close(c.fd);
}

/* Nobody is in between, and all goes well. */
static void warm_up(uint8_t how)
{
    open_connection(how);
    for (int i = 0; i < 12; i++) {
        act(0);
        client_write(100);
        if (c.established)
            server_write(100);
    }
    CHECK(c.open && c.established && c.server_read > 0 && c.client_read > 0);
    close_connection();
    CHECK(made.sessions[how >> 1 & 1] != NULL);
}

static void read_pair(void)
{
    BIO *file = BIO_new_file(FUZZ_TLS_PEM, "r");

    CHECK(file != NULL);
    made.cert = PEM_read_bio_X509(file, NULL, NULL, NULL);
    CHECK(BIO_reset(file) == 0); /* whichever of the two comes first */
    made.key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    CHECK(made.cert && made.key);
    BIO_free(file);
}

static void make(void)
{
    const struct tls_files files = {.cert = FUZZ_TLS_PEM,
                                    .key = FUZZ_TLS_PEM,
                                    .client_ca = FUZZ_TLS_PEM,
                                    .client_cert = CLIENT_CERT_OPTIONAL};
    char error[300];

    virtual_init(&made.world);
    made.poller = poller_libevent_new();
    made.watcher = (struct poller_watcher){.poller = made.poller, .on_event = on_event};
    made.loop = tls_loop_new(virtual_open(&made.world, "loop"), NULL);
    made.context = tls_context_new(made.loop, &files, error, sizeof error);
    made.client = SSL_CTX_new(TLS_client_method());
    CHECK(made.poller && made.loop && made.context && made.client);
    read_pair();
    SSL_CTX_set_session_cache_mode(made.client, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(made.client, keep_session);
    SSL_CTX_set_mode(made.client, SSL_MODE_ENABLE_PARTIAL_WRITE);
    warm_up(1);
    warm_up(1 | 2 | 4);
}

/* Whoever is no client gets nowhere: nothing that it says is read as plaintext. */
static void check_stranger(void)
{
    while (fuzz_more() && c.open) {
        insert(0, fuzz_bytes(1 + number()));
        pass(PENDING_MAX);
        server_step(PLAIN_MAX);
    }
    CHECK(!c.established && c.server_read == 0);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (made.poller == NULL)
        make();
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    made.world.now = AO_S(60);
    open_connection(how);
    if (how & 1)
        for (int step = 0; step < STEPS_MAX && fuzz_more(); step++)
            act(fuzz_byte());
    else
        check_stranger();
    close_connection();
}
