/* The TLS of a client, and OpenSSL at the other end of a pair of sockets; in one thread. */
#include "client/lib/tls.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "tests/support/certificates.h"
#include "tests/support/cmocka_env.h"

struct files {
    char folder[64], certificate[96], key[96];
};

static int set_up(void **state)
{
    static struct files f;

    f = (struct files){.folder = "/tmp/ergon-test-XXXXXX"};
    assert_non_null(mkdtemp(f.folder));
    snprintf(f.certificate, sizeof f.certificate, "%s/cert.pem", f.folder);
    snprintf(f.key, sizeof f.key, "%s/key.pem", f.folder);
    certificate_make(f.certificate, f.key, "test");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct files *f = *state;

    unlink(f->certificate);
    unlink(f->key);
    rmdir(f->folder);
    return 0;
}

#define FILES_TEST(name) TEST_OF(struct files *f, NULL, set_up, tear_down, name)

/* OpenSSL has a level of security of its own that refuses old versions, here and at the peer. */
static SSL *new_server(SSL_CTX *context, const struct files *f, int version)
{
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    assert_int_equal(SSL_CTX_use_certificate_chain_file(context, f->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, f->key, SSL_FILETYPE_PEM), 1);
    return SSL_new(context);
}

/* `oldest`: what the client is told to bear; 0: what it says itself. */
static bool shakes_hands(const struct files *f, int version, int oldest)
{
    struct stream client;
    char why[128] = "";
    int fds[2];
    struct tls *tls = tls_new(&(struct tls_files){.ca = f->certificate}, why, sizeof why);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL *server = new_server(context, f, version);

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_non_null(tls);
    assert_true(tls_open_stream(tls, &client, fds[0], "localhost"));
    SSL_set_security_level(client.tls, 0);
    if (oldest != 0)
        SSL_set_min_proto_version(client.tls, oldest);
    SSL_set_fd(server, fds[1]);
    enum stream_verdict verdict;
    while ((verdict = client.ops->handshake(&client)) == STREAM_WANT_READ)
        SSL_accept(server);
    stream_close(&client);
    SSL_free(server);
    SSL_CTX_free(context);
    close(fds[1]);
    tls_free(tls);
    return verdict == STREAM_OK;
}

FILES_TEST(tls_below_1_2_is_refused)
{
    assert_true(shakes_hands(f, TLS1_3_VERSION, 0));
    assert_true(shakes_hands(f, TLS1_2_VERSION, 0));
    assert_false(shakes_hands(f, TLS1_1_VERSION, 0));
    assert_false(shakes_hands(f, TLS1_VERSION, 0));
    assert_true(shakes_hands(f, TLS1_1_VERSION, TLS1_VERSION)); /* nothing else was in its way */
}
