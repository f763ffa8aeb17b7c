/* TLS over real sockets, the client beside the server in one thread. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"
#include "tests/support/certificates.h"
#include "tests/support/client_hello.h"
#include "tests/support/net_server.h"

static char directory[64];
static char server_cert[96], server_key[96], other_cert[96], other_key[96];
static char alice_cert[96], alice_key[96], nameless_cert[96], nameless_key[96];

static int make_files(void **state)
{
    signal(SIGPIPE, SIG_IGN); /* OpenSSL's own writes, of the client */
    strcpy(directory, "/tmp/ergon-tls-XXXXXX");
    assert_non_null(mkdtemp(directory));
#define PATHS(name, common_name)                                                                   \
    snprintf(name##_cert, sizeof name##_cert, "%s/" #name ".pem", directory);                      \
    snprintf(name##_key, sizeof name##_key, "%s/" #name ".key", directory);                        \
    certificate_make(name##_cert, name##_key, common_name)
    PATHS(server, "server");
    PATHS(other, "other");
    PATHS(alice, "alice");
    PATHS(nameless, NULL);
#undef PATHS
    return 0;
}

static int remove_files(void **state)
{
    const char *const paths[] = {server_cert, server_key, other_cert,    other_key,
                                 alice_cert,  alice_key,  nameless_cert, nameless_key};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        unlink(paths[i]);
    return rmdir(directory);
}

/* --- A client --- */

struct client {
    SSL_CTX *ctx;
    SSL *ssl;
    SSL_SESSION *session; /* the last one that the server gave */
    int fd;
};

static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct client *c = SSL_get_app_data(ssl);

    SSL_SESSION_free(c->session);
    c->session = session;
    return 1;
}

static void client_init(struct client *c, int version, const char *cert, const char *key)
{
    *c = (struct client){.fd = -1};
    c->ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(c->ctx, version);
    SSL_CTX_set_max_proto_version(c->ctx, version);
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(c->ctx, on_session);
    if (cert != NULL) {
        assert_int_equal(SSL_CTX_use_certificate_file(c->ctx, cert, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM), 1);
    }
}

static void client_disconnect(struct client *c)
{
    if (c->ssl != NULL)
        SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    c->ssl = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void client_fini(struct client *c)
{
    client_disconnect(c);
    SSL_SESSION_free(c->session);
    SSL_CTX_free(c->ctx);
}

/* True when the handshake succeeds. */
static bool client_connect(struct client *c, const char *url)
{
    int turns = 0;

    c->fd = net_client_connect(url);
    assert_true(c->fd >= 0);
    c->ssl = SSL_new(c->ctx);
    SSL_set_fd(c->ssl, c->fd);
    SSL_set_app_data(c->ssl, (char *)c);
    if (c->session != NULL)
        SSL_set_session(c->ssl, c->session);
    for (;;) {
        ERR_clear_error();
        int done = SSL_connect(c->ssl);
        if (done == 1)
            return true;
        int reason = SSL_get_error(c->ssl, done);
        if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE)
            return false;
        server_turn(1);
        assert_true(turns++ < NET_SERVER_TURNS);
    }
}

static void client_write(struct client *c, const uint8_t *bytes, size_t len)
{
    size_t n;

    for (size_t at = 0; at < len; server_turn(1))
        if (SSL_write_ex(c->ssl, bytes + at, len - at, &n) == 1)
            at += n;
}

/* False when the stream ends first.  The kernel may take its time to open a small window again. */
static bool client_read(struct client *c, uint8_t *bytes, size_t len)
{
    struct pollfd readable = {.fd = c->fd, .events = POLLIN};
    int turns = 0;
    size_t n;

    for (size_t at = 0; at < len;) {
        ERR_clear_error();
        if (SSL_read_ex(c->ssl, bytes + at, len - at, &n) == 1) {
            at += n;
            turns = 0;
            continue;
        }
        if (SSL_get_error(c->ssl, 0) != SSL_ERROR_WANT_READ)
            return false;
        server_turn(1);
        assert_true(turns++ < NET_SERVER_TURNS);
        poll(&readable, 1, turns > 100 ? 1 : 0);
    }
    return true;
}

static bool client_echo(struct client *c, uint8_t id)
{
    const uint8_t request[] = {0x94, 0, id, 0xa4, 'e', 'c', 'h', 'o', 0x91, 0xc3};
    const uint8_t expected[] = {0x94, 1, id, 0xc0, 0x91, 0xc3};
    uint8_t answer[sizeof expected];

    client_write(c, request, sizeof request);
    return client_read(c, answer, sizeof answer) && memcmp(answer, expected, sizeof expected) == 0;
}

/* --- A server --- */

static const char *listen_tls(struct listener_options options)
{
    options.url = "ergons://127.0.0.1:0";
    return server_listen(options);
}

/* A new server. */
static const char *open_server(uint32_t loops, struct listener_options options)
{
    server_open(NULL);
    server.count = loops;
    return listen_tls(options);
}

static struct listener_options plain_tls(void)
{
    return (struct listener_options){.tls = {.cert = server_cert, .key = server_key}};
}

static struct listener_options mutual_tls(enum client_cert client_cert)
{
    return (struct listener_options){.auth = LISTENER_AUTH_CERT,
                                     .methods = "echo",
                                     .tls = {.cert = server_cert,
                                             .key = server_key,
                                             .client_ca = alice_cert,
                                             .client_cert = client_cert}};
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

SERVER_TEST(messages_of_all_sizes_go_through)
{
    static uint8_t bytes[900100];
    static uint8_t answer[900100];
    static const size_t sizes[] = {10, 16384, 70000, 900000};

    for (int v = 0; v < 2; v++) {
        struct client c;
        const char *url = open_server(1, plain_tls());
        client_init(&c, versions[v], NULL, NULL);
        assert_true(client_connect(&c, url));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint8_t head[] = {0x94, 0, 5, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0, 0, 0};
            for (int k = 0; k < 4; k++)
                head[9 + k] = (uint8_t)(sizes[i] >> (24 - 8 * k));
            memcpy(bytes, head, sizeof head);
            memset(bytes + sizeof head, (int)i, sizes[i]);
            client_write(&c, bytes, sizeof head + sizes[i]);
            assert_true(client_read(&c, answer, 9 + sizes[i]));
            assert_memory_equal(answer + 9, bytes + sizeof head, sizes[i]);
        }
        client_fini(&c);
        SERVER_UNTIL(server_total() == 0);
    }
}

static void keep(void *block)
{
}

/* What it was given, not what it makes of it; and no more than it has taken. */
SERVER_TEST(what_tls_has_taken_is_handed_over)
{
    enum { SIZE = 8 << 20 };
    struct client c;
    uint8_t *block = calloc(1, SIZE), *read = malloc(SIZE);
    const char *url = open_server(1, plain_tls());

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    struct connection *conn = LIST_FIRST(&server.loops[0]->all);
    assert_true(conn_serve(conn, true));
    uint64_t before = conn_handed(conn);
    conn_send_block(conn, block, span_of(block, SIZE), keep);
    assert_int_equal(conn_committed(conn), before + SIZE);
    server_turn(50);
    assert_in_range(conn_handed(conn), before + 1, before + SIZE - 1);
    assert_int_equal(conn_handed(conn) + conn->out.bytes, before + SIZE);
    assert_true(server.ports[0].flushed > 0);
    assert_true(client_read(&c, read, SIZE));
    assert_int_equal(conn_handed(conn), before + SIZE);
    client_fini(&c);
    SERVER_UNTIL(server_total() == 0);
    free(block);
    free(read);
}

/* Session tickets are good at every loop: they share the keys. */
SERVER_TEST(a_session_is_resumed_at_another_loop)
{
    for (int v = 0; v < 2; v++) {
        struct client c;
        const char *url = open_server(2, plain_tls());
        client_init(&c, versions[v], NULL, NULL);
        for (int i = 0; i < 2; i++) {
            assert_true(client_connect(&c, url));
            assert_true(client_echo(&c, 1));
            assert_int_equal(SSL_session_reused(c.ssl), i);
            client_disconnect(&c);
        }
        struct net_loop_stats stats = {0};
        net_loop_add_stats(server.loops[1], &stats);
        assert_int_equal(stats.accepted, 1);
        client_fini(&c);
    }
}

SERVER_TEST(a_certificate_says_who_the_peer_is)
{
    for (int v = 0; v < 2; v++) {
        struct client c;
        const char *url = open_server(1, mutual_tls(CLIENT_CERT_REQUIRED));
        client_init(&c, versions[v], alice_cert, alice_key);
        for (int i = 0; i < 2; i++) { /* and so it does in a resumed session */
            assert_true(client_connect(&c, url));
            assert_true(client_echo(&c, 1));
            const struct principal *p = conn_principal(LIST_FIRST(&server.loops[0]->all));
            assert_string_equal(principal_name(p), "cert:alice");
            assert_true(principal_may(p, span_text("echo")));
            assert_false(principal_may(p, span_text("hash")));
            client_disconnect(&c);
            SERVER_UNTIL(server_total() == 0);
        }
        client_fini(&c);
    }
}

/* Whatever the client would rather have. */
SERVER_TEST(the_cheap_suite_comes_first)
{
    struct client c;
    const char *url = open_server(1, plain_tls());

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    SSL_CTX_set_ciphersuites(c.ctx, "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256");
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    assert_string_equal(SSL_get_cipher_name(c.ssl), "TLS_AES_128_GCM_SHA256");
    client_disconnect(&c);
    SSL_CTX_set_ciphersuites(c.ctx, "TLS_AES_256_GCM_SHA384");
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    client_fini(&c);
}

/* In TLS 1.3 the client learns of a refusal with its first read. */
static bool is_served(const char *url, int version, const char *cert, const char *key)
{
    struct client c;

    client_init(&c, version, cert, key);
    bool served = client_connect(&c, url) && client_echo(&c, 1);
    client_fini(&c);
    return served;
}

SERVER_TEST(who_is_not_known_is_refused)
{
    const char *url = open_server(1, mutual_tls(CLIENT_CERT_REQUIRED));

    for (int v = 0; v < 2; v++) {
        assert_true(is_served(url, versions[v], alice_cert, alice_key));
        assert_false(is_served(url, versions[v], other_cert, other_key));
        assert_false(is_served(url, versions[v], NULL, NULL));
    }
    SERVER_UNTIL(server_total() == 0);

    url = open_server(1, mutual_tls(CLIENT_CERT_OPTIONAL));
    struct client c;
    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    assert_null(
        conn_principal(LIST_FIRST(&server.loops[0]->all))); /* nobody yet: a token may follow */
    assert_true(conn_asks_who(LIST_FIRST(&server.loops[0]->all)));
    client_fini(&c);

    struct listener_options options = mutual_tls(CLIENT_CERT_REQUIRED);
    options.tls.client_ca = nameless_cert;
    url = open_server(1, options);
    assert_false(is_served(url, TLS1_3_VERSION, nameless_cert, nameless_key));
}

/* Its authority vouches for it, and still it does not say who its peer is. */
static bool is_admitted_as(const struct certificate_name *names, size_t count, const char *as)
{
    bool right = false;

    char cert[96];
    char key[96];

    snprintf(cert, sizeof cert, "%s/named.pem", directory);
    snprintf(key, sizeof key, "%s/named.key", directory);
    certificate_make_named(cert, key, names, count);
    struct listener_options options = mutual_tls(CLIENT_CERT_REQUIRED);
    options.tls.client_ca = cert;
    struct client c;
    const char *url = open_server(1, options);
    client_init(&c, TLS1_3_VERSION, cert, key);
    if (client_connect(&c, url) && client_echo(&c, 1)) {
        const struct principal *p = conn_principal(LIST_FIRST(&server.loops[0]->all));
        right = as != NULL && strcmp(principal_name(p), as) == 0;
        assert_string_equal(principal_tenant(p), principal_name(p));
    } else {
        right = as == NULL;
    }
    client_fini(&c);
    unlink(cert);
    unlink(key);
    return right;
}

#define DNS(text)                                                                                  \
    {                                                                                              \
        CERTIFICATE_DNS,                                                                           \
        {                                                                                          \
            (const uint8_t *)(text), sizeof(text) - 1                                              \
        }                                                                                          \
    }
#define URI(text)                                                                                  \
    {                                                                                              \
        CERTIFICATE_URI,                                                                           \
        {                                                                                          \
            (const uint8_t *)(text), sizeof(text) - 1                                              \
        }                                                                                          \
    }
#define EMAIL(text)                                                                                \
    {                                                                                              \
        CERTIFICATE_EMAIL,                                                                         \
        {                                                                                          \
            (const uint8_t *)(text), sizeof(text) - 1                                              \
        }                                                                                          \
    }

SERVER_TEST(the_first_name_of_a_certificate_counts_and_no_other)
{
    static const struct {
        struct certificate_name names[3];
        const char *as; /* NULL: refused */
    } cases[] = {
        {{DNS("Alice.Example"), DNS("bob.example")}, "cert:alice.example"},
        {{URI("spiffe://example/alice")}, "cert:spiffe://example/alice"},
        {{EMAIL("alice@example.org")}, "cert:alice@example.org"},
        {{EMAIL("a@b"), URI("x:y"), DNS("alice")}, "cert:alice"},
        {{EMAIL("a@b"), URI("x:y")}, "cert:x:y"},
        {{DNS("alice\0.example")}, NULL},
        {{DNS("*.example")}, NULL},
        {{DNS("a b")}, NULL},
        {{DNS("alice@example.org")}, NULL},
        {{DNS("")}, NULL},
        {{DNS("a*"), DNS("alice")}, NULL},
        {{URI("alice")}, NULL},
        {{EMAIL("alice")}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = 0;
        while (count < 3 && cases[i].names[count].text.at != NULL)
            count++;
        assert_true(is_admitted_as(cases[i].names, count, cases[i].as));
    }
}

SERVER_TEST(a_name_that_is_missing_or_too_long_is_none)
{
    char longest[257], full[300] = "cert:";

    memset(longest, 'x', sizeof longest);
    const struct certificate_name fits = {CERTIFICATE_DNS, span_of(longest, 255)};
    const struct certificate_name too_long = {CERTIFICATE_DNS, span_of(longest, 256)};
    memset(full + strlen(full), 'x', 255);
    assert_true(is_admitted_as(&fits, 1, full));
    assert_true(is_admitted_as(&too_long, 1, NULL));
    assert_true(is_admitted_as(NULL, 0, NULL)); /* whatever its common name is */
}

/* OpenSSL has a level of security of its own that refuses old versions, here and at the peer. */
static bool is_served_at_any_security(const char *url, int version)
{
    struct client c;

    client_init(&c, version, NULL, NULL);
    SSL_CTX_set_security_level(c.ctx, 0);
    bool served = client_connect(&c, url) && client_echo(&c, 1);
    client_fini(&c);
    return served;
}

SERVER_TEST(the_oldest_version_is_ours_to_say)
{
    const char *url = open_server(1, plain_tls());
    /* A context is an SSL_CTX (tls_private.h). */
    SSL_CTX *ctx = (SSL_CTX *)server.acceptor->listeners[0]->rules.contexts[0];

    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_set_cipher_list(ctx, "ALL"); /* ours begin with TLS 1.2 */
    assert_true(is_served_at_any_security(url, TLS1_2_VERSION));
    assert_false(is_served_at_any_security(url, TLS1_1_VERSION));
    assert_false(is_served_at_any_security(url, TLS1_VERSION));
    SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
    assert_true(is_served_at_any_security(url, TLS1_1_VERSION)); /* nothing else was in its way */
}

SERVER_TEST(old_versions_are_refused)
{
    struct listener_options options = plain_tls();
    const char *url = open_server(1, options);

    assert_false(is_served(url, TLS1_1_VERSION, NULL, NULL));
    options.tls.min_tls13 = true;
    url = open_server(1, options);
    assert_false(is_served(url, TLS1_2_VERSION, NULL, NULL));
    assert_true(is_served(url, TLS1_3_VERSION, NULL, NULL));
}

SERVER_TEST(noise_is_no_handshake)
{
    const char *url = open_server(1, plain_tls());

    int fd = net_client_connect(url);
    net_client_request(fd, 2); /* a third byte of 1 would begin a handshake of SSL 2 */
    char buf[64];
    SERVER_UNTIL(recv(fd, buf, sizeof buf, 0) == 0); /* behind the alert */
    SERVER_UNTIL(server_total() == 0);
    close(fd);
}

SERVER_TEST(a_silent_peer_is_cut_off)
{
    const char *url = open_server(1, plain_tls());

    int fd = net_client_connect(url);
    SERVER_UNTIL(server_total() == 1);
    server.now += AO_S(11);
    SERVER_UNTIL(net_client_at_eof(fd));
    close(fd);
}

static bool shows(const char *url, const char *common_name)
{
    struct client c;
    char name[32] = "";

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(c.ssl)),
                              NID_commonName, name, sizeof name);
    client_fini(&c);
    return strcmp(name, common_name) == 0;
}

/* --- Before a handshake is done --- */

static const struct connection *last_connection(void)
{
    return LIST_FIRST(&server.loops[0]->all);
}

SERVER_TEST(so_many_handshakes_and_no_more)
{
    uint8_t hello[4096];
    size_t len = client_hello(hello, sizeof hello);
    int fds[4];
    struct client good;

    const char *url = open_server(1, plain_tls());
    server.loops[0]->limits.handshakes = 3;
    server_turn(1); /* its clock stands */
    for (uint32_t i = 0; i < 4; i++) {
        fds[i] = net_client_connect(url);
        assert_int_equal(write(fds[i], hello, len), len);
        if (i < 3)
            SERVER_UNTIL(server.loops[0]->unauthenticated.shaking.count == i + 1);
    }
    SERVER_UNTIL(server_total() == 3); /* the first has had no second yet */
    assert_int_equal(server.loops[0]->unauthenticated.shaking.count, 3);
    server.now += AO_S(2);
    client_init(&good, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&good, url));
    SERVER_UNTIL(server.loops[0]->unauthenticated.shaking.count ==
                 2); /* the first went, it is done */
    client_fini(&good);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    SERVER_UNTIL(server_total() == 0);
    assert_int_equal(server.loops[0]->unauthenticated.shaking.count, 0);
}

/* Neither waits for a second: the origin's last has to come again. */
SERVER_TEST(of_too_many_handshakes_one_of_the_address_with_the_most_goes)
{
    uint8_t hello[4096];
    size_t len = client_hello(hello, sizeof hello);
    int origin[3], other;

    const char *url = open_server(1, plain_tls());
    server.loops[0]->limits.handshakes = 3;
    server_turn(1); /* its clock stands */
    for (uint32_t i = 0; i < 3; i++) {
        origin[i] = net_client_connect(url);
        assert_int_equal(write(origin[i], hello, len), len);
        SERVER_UNTIL(server.loops[0]->unauthenticated.shaking.count == i + 1);
    }
    other = net_client_connect_from(url, 2);
    SERVER_UNTIL(server_total() == 4);
    assert_int_equal(write(other, hello, len), len);
    SERVER_UNTIL(server_total() == 3);
    assert_int_equal(server.loops[0]->unauthenticated.shaking.count, 3);
    assert_int_equal(strncmp(conn_peer(last_connection()), "127.0.0.2", 9), 0);
    close(other);
    for (int i = 0; i < 3; i++)
        close(origin[i]);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(certificates_are_read_again)
{
    char cert[96];
    char key[96];

    snprintf(cert, sizeof cert, "%s/changing.pem", directory);
    snprintf(key, sizeof key, "%s/changing.key", directory);
    certificate_make(cert, key, "before");
    const char *url = open_server(2, (struct listener_options){.tls = {.cert = cert, .key = key}});
    struct client old;
    client_init(&old, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&old, url) && client_echo(&old, 1));
    certificate_make(cert, key, "after");
    assert_int_equal(net_reload(server.acceptor, NULL, server.error, sizeof server.error), 0);
    server_turn(10);
    for (int i = 0; i < 2; i++)
        assert_true(shows(url, "after"));
    assert_true(client_echo(&old, 2)); /* who is there stays */
    unlink(key);
    assert_int_equal(net_reload(server.acceptor, NULL, server.error, sizeof server.error), -1);
    assert_non_null(strstr(server.error, key));
    assert_true(shows(url, "after"));
    client_fini(&old);
    unlink(cert);
}

/* Nor is a ticket one around the certificate that it began with. */
SERVER_TEST(another_certificate_ends_sessions)
{
    char cert[96];
    char key[96];

    snprintf(cert, sizeof cert, "%s/changing.pem", directory);
    snprintf(key, sizeof key, "%s/changing.key", directory);
    for (int v = 0; v < 2; v++) {
        struct client c;
        certificate_make(cert, key, "before");
        const char *url =
            open_server(1, (struct listener_options){.tls = {.cert = cert, .key = key}});
        client_init(&c, versions[v], NULL, NULL);
        assert_true(client_connect(&c, url) && client_echo(&c, 1));
        client_disconnect(&c);
        certificate_make(cert, key, "after");
        assert_int_equal(net_reload(server.acceptor, NULL, server.error, sizeof server.error), 0);
        server_turn(10);
        assert_true(client_connect(&c, url) && client_echo(&c, 1));
        assert_false(SSL_session_reused(c.ssl));
        client_fini(&c);
    }
    unlink(cert);
    unlink(key);
}

/* Each is for one use (RFC 8446, C.4). */
SERVER_TEST(who_resumes_gets_a_new_ticket)
{
    struct client c;
    const char *url = open_server(1, plain_tls());

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    client_disconnect(&c);
    SSL_SESSION *first = c.session;
    assert_non_null(first);
    SSL_SESSION_up_ref(first); /* so that no other has its address */
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    assert_true(SSL_session_reused(c.ssl));
    assert_ptr_not_equal(c.session, first);
    SSL_SESSION_free(first);
    client_fini(&c);
}

static void encrypt_key(const char *to, const char *password)
{
    FILE *file = fopen(server_key, "r");
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);

    fclose(file);
    file = fopen(to, "w");
    assert_int_equal(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(),
                                          (const unsigned char *)password, (int)strlen(password),
                                          NULL, NULL),
                     1);
    fclose(file);
    EVP_PKEY_free(key);
}

SERVER_TEST(an_encrypted_key_needs_its_password)
{
    char key[96], too_long[5000];
    struct listener_options options = plain_tls();

    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    snprintf(key, sizeof key, "%s/encrypted.key", directory);
    encrypt_key(key, "open sesame");
    options.tls.key = key;
    options.tls.key_password = "open sesame";
    assert_true(is_served(open_server(1, options), TLS1_3_VERSION, NULL, NULL));
    options.tls.key_password = too_long;
    assert_null(open_server(1, options));
    assert_non_null(strstr(server.error, key));
    options.tls.key_password = "sesame";
    assert_null(open_server(1, options));
    unlink(key);
}

SERVER_TEST(bad_files_are_named)
{
    struct listener_options options = plain_tls();

    options.tls.key = other_key;
    assert_null(open_server(1, options));
    assert_non_null(strstr(server.error, other_key));
    options.tls.cert = "/nowhere.pem";
    assert_null(open_server(1, options));
    assert_non_null(strstr(server.error, "/nowhere.pem"));
    options = mutual_tls(CLIENT_CERT_REQUIRED);
    options.tls.client_ca = NULL;
    assert_null(open_server(1, options));
    assert_non_null(strstr(server.error, "client_ca"));
}

/* --- Requests in the handshake's last bytes --- */

/* Sends all that the client's OpenSSL has written, in one piece. */
static void send_written(const struct client *c)
{
    uint8_t bytes[16384];
    int n = BIO_read(SSL_get_wbio(c->ssl), bytes, sizeof bytes);

    if (n > 0)
        assert_int_equal(send(c->fd, bytes, (size_t)n, MSG_NOSIGNAL), n);
}

/* One step of the server, and what it sent. */
static void take_sent(const struct client *c)
{
    uint8_t bytes[16384];

    server_turn(1);
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n > 0)
        BIO_write(SSL_get_rbio(c->ssl), bytes, (int)n);
}

/* In TLS 1.3 the client's Finished and its first request go together; no event tells of the second,
 * since the first read has brought it. */
SERVER_TEST(a_request_comes_with_the_last_bytes_of_the_handshake)
{
    static const uint8_t request[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0x91, 0xc3};
    const char *url = open_server(1, plain_tls());
    struct client c;
    uint8_t answer[6];
    size_t n;

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    c.fd = net_client_connect(url);
    c.ssl = SSL_new(c.ctx);
    SSL_set_app_data(c.ssl, (char *)&c);
    SSL_set_bio(c.ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(c.ssl), -1);
    for (int turns = 0; SSL_connect(c.ssl) != 1; turns++) {
        send_written(&c);
        take_sent(&c);
        assert_true(turns < NET_SERVER_TURNS);
    }
    assert_int_equal(SSL_write_ex(c.ssl, request, sizeof request, &n), 1);
    send_written(&c);
    for (int turns = 0; SSL_read_ex(c.ssl, answer, sizeof answer, &n) != 1; turns++) {
        take_sent(&c);
        assert_true(turns < NET_SERVER_TURNS);
    }
    assert_int_equal(n, sizeof answer);
    client_fini(&c);
}

/* --- The end --- */

static const struct connection *only_connection(void)
{
    return LIST_FIRST(&server.loops[0]->all);
}

static void connect_and_hold(struct client *c, int version)
{
    static const uint8_t request[] = {0x94, 0, 1, 0xa4, 'h', 'o', 'l', 'd', 0x90};
    const char *url = open_server(1, plain_tls());

    client_init(c, version, NULL, NULL);
    assert_true(client_connect(c, url));
    client_write(c, request, sizeof request);
    SERVER_UNTIL(server.ports[0].held_count == 1);
}

/* The system closes the socket of a process that was killed, and says nothing in its name. */
SERVER_TEST(a_fin_that_nobody_announced_is_the_end)
{
    for (int v = 0; v < 2; v++) {
        struct client c;
        connect_and_hold(&c, versions[v]);
        shutdown(c.fd, SHUT_WR);
        SERVER_UNTIL(server.ports[0].gone == 1);
        assert_int_equal(only_connection()->state, CONN_CLOSED);
        echo_release(&server.ports[0], 1);
        client_fini(&c);
    }
}

SERVER_TEST(one_that_was_announced_is_a_half_close)
{
    uint8_t answer[5];

    for (int v = 0; v < 2; v++) {
        struct client c;
        connect_and_hold(&c, versions[v]);
        SSL_shutdown(c.ssl);
        shutdown(c.fd, SHUT_WR);
        SERVER_UNTIL(only_connection()->state == CONN_DRAINING);
        server_turn(100);
        assert_int_equal(server.ports[0].gone, 0);
        echo_release(&server.ports[0], 1);
        assert_true(client_read(&c, answer, sizeof answer));
        client_fini(&c);
    }
}

/* More than the socket takes, to a peer that has sent its FIN and reads late. */
SERVER_TEST(a_large_answer_to_a_slow_peer)
{
    enum { LENGTH = 1 << 20 };
    static const uint8_t request[] = {0x94, 0, 1, 0xa3, 'b', 'i', 'g', 0x91, 0xce, 0, 0x10, 0, 0};
    static uint8_t answer[4 + 5 + LENGTH];
    const int small = 16384;

    for (int v = 0; v < 2; v++) {
        struct client c;
        server_open(NULL);
        server.limits.output_max =
            2 * LENGTH; /* or else the FIN is not read before it is written */
        const char *url = listen_tls(plain_tls());
        client_init(&c, versions[v], NULL, NULL);
        assert_true(client_connect(&c, url));
        setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        setsockopt(LIST_FIRST(&server.loops[0]->all)->stream.fd, SOL_SOCKET, SO_SNDBUF, &small,
                   sizeof small);
        client_write(&c, request, sizeof request);
        shutdown(c.fd, SHUT_WR);
        SERVER_UNTIL(LIST_FIRST(&server.loops[0]->all)->state == CONN_DRAINING);
        server_turn(100);
        assert_true(LIST_FIRST(&server.loops[0]->all)->stream.backlog);
        assert_true(client_read(&c, answer, sizeof answer));
        assert_int_equal(answer[4], 0xc6);
        assert_false(client_read(&c, answer, 1));
        assert_int_equal(SSL_get_error(c.ssl, 0), SSL_ERROR_ZERO_RETURN); /* said, not cut */
        client_fini(&c);
        SERVER_UNTIL(server_total() == 0);
    }
}

SERVER_TEST(the_end_is_said)
{
    struct client c;
    const char *url = open_server(1, plain_tls());
    uint8_t byte;

    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url) && client_echo(&c, 1));
    net_drain(server.acceptor, NULL, NULL);
    assert_false(client_read(&c, &byte, 1));
    assert_int_equal(SSL_get_error(c.ssl, 0), SSL_ERROR_ZERO_RETURN);
    client_fini(&c);
    SERVER_UNTIL(server_total() == 0);
}

/* At the limit of calls in flight it reads in small pieces: what OpenSSL holds is not forgotten. */
SERVER_TEST(nothing_stays_inside_at_a_limit)
{
    enum { MANY = 3000 };
    static uint8_t bytes[MANY * 10];
    static uint8_t answers[MANY * 6];
    struct client c;

    for (int i = 0; i < MANY; i++) {
        const uint8_t request[] = {0x94, 0, 1, 0xa4, 'h', 'o', 'l', 'd', 0x91, 0xc3};
        memcpy(bytes + i * 10, request, sizeof request);
    }
    server.limits.in_flight = 5;
    const char *url = listen_tls(plain_tls());
    client_init(&c, TLS1_3_VERSION, NULL, NULL);
    assert_true(client_connect(&c, url));
    client_write(&c, bytes, sizeof bytes);
    for (uint64_t done = 0; done < MANY; done++) {
        SERVER_UNTIL(server.ports[0].held_count > 0);
        echo_release(&server.ports[0], 1);
    }
    assert_true(client_read(&c, answers, (size_t)MANY * 5));
    client_fini(&c);
}

/* Neither a ticket nor a connection that stands is a way around authorities that are trusted no
 * more. */
SERVER_TEST(other_authorities_end_sessions)
{
    char ca[96];

    snprintf(ca, sizeof ca, "%s/authority.pem", directory);
    for (int v = 0; v < 2; v++) {
        struct client c;
        unlink(ca);
        assert_int_equal(link(alice_cert, ca), 0);
        struct listener_options options = mutual_tls(CLIENT_CERT_REQUIRED);
        options.tls.client_ca = ca;
        const char *url = open_server(1, options);
        client_init(&c, versions[v], alice_cert, alice_key);
        assert_true(client_connect(&c, url) && client_echo(&c, 1));
        client_disconnect(&c);
        assert_true(client_connect(&c, url) && client_echo(&c, 1)); /* and stays */
        assert_int_equal(net_reload(server.acceptor, NULL, server.error, sizeof server.error), 0);
        assert_true(client_echo(&c, 2)); /* nothing has changed */
        unlink(ca);
        assert_int_equal(link(other_cert, ca), 0);
        assert_int_equal(net_reload(server.acceptor, NULL, server.error, sizeof server.error), 0);
        SERVER_UNTIL(server_total() == 0);
        client_disconnect(&c);
        assert_false(client_connect(&c, url) && client_echo(&c, 1));
        client_fini(&c);
    }
    unlink(ca);
}

/* --- Connections that we make --- */

static void on_no_event(struct poller_watch *w, unsigned what)
{
}

/* Its handshake, and an echo, which the server's ticket comes before.  Was a session resumed? */
static bool connects_and_resumes(struct tls_context *context, const char *url)
{
    static const uint8_t request[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0x91, 0xc3};
    const struct poller_watcher watcher = {.poller = server.pollers[0], .on_event = on_no_event};
    const struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof request};
    struct stream s;
    uint8_t answer[64];
    ssize_t n;

    assert_true(tls_connect(&s, context, net_client_connect(url), &watcher));
    SERVER_UNTIL((n = s.cls->handshake(&s)) == 0 || n == STREAM_ERROR);
    assert_int_equal(n, 0);
    assert_int_equal(s.cls->writev(&s, &part, 1), sizeof request);
    SERVER_UNTIL((n = s.cls->read(&s, answer, sizeof answer)) != STREAM_WANT_READ);
    assert_int_equal(n, 6);
    bool resumed = tls_was_resumed(&s);
    s.cls->close(&s);
    return resumed;
}

SERVER_TEST(a_connection_of_ours_resumes_the_last_session_until_files_are_read_again)
{
    const char *url = open_server(2, mutual_tls(CLIENT_CERT_REQUIRED));
    const struct tls_files files = {.cert = alice_cert,
                                    .key = alice_key,
                                    .client_ca = server_cert,
                                    .client_cert = CLIENT_CERT_REQUIRED};
    struct tls_loop *l = tls_loop_new(server.activators[0], NULL);

    for (int i = 0; i < 2; i++) {
        struct tls_context *c = tls_context_new_client(l, &files, server.error, 256);
        assert_non_null(c);
        assert_false(connects_and_resumes(c, url));
        assert_true(connects_and_resumes(c, url));
        assert_true(connects_and_resumes(c, url));
        tls_context_unref(c);
    }
    SERVER_UNTIL(server_total() == 0);
    tls_loop_free(l);
}

TEST_GROUP(make_files, remove_files)
