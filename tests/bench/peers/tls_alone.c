/* What OpenSSL itself takes for a server's connection that is idle behind its handshake, with our
 * settings that say so: bytes of the allocator, each block with the word before it.  TLS 1.3, over
 * buffers in memory, which do not count, and without a BIO of its own.
 *
 *     tls_alone CERT.pem COUNT     the file has the key, too */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/ssl.h>

static bool counts;
static long long bytes;

static void *note(void *block, long long sign)
{
    if (block && counts)
        bytes += sign * (long long)(malloc_usable_size(block) + sizeof(size_t));
    return block;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return note(malloc(size), 1);
}

static void *resize(void *block, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    note(block, -1);
    return note(realloc(block, size), 1);
}

static void give(void *block, const char *file, int line)
{
    (void)file;
    (void)line;
    note(block, -1);
    free(block);
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "tls_alone: %s\n", what);
    exit(1);
}

static SSL_CTX *server_context(const char *pem)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    if (!ctx || SSL_CTX_use_certificate_file(ctx, pem, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(ctx, pem, SSL_FILETYPE_PEM) != 1)
        fail("no context, certificate or key");
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 1);
    return ctx;
}

/* Only what the server's side does counts. */
static int do_server(SSL *server)
{
    counts = true;
    int done = SSL_do_handshake(server);
    uint8_t byte;
    if (done == 1)
        SSL_read(server, &byte, 1); /* there is nothing: as after a connection's first look */
    counts = false;
    return done;
}

static void connect_pair(SSL_CTX *ours, SSL_CTX *theirs)
{
    BIO *a, *b;
    SSL *client = SSL_new(theirs);

    counts = true;
    SSL *server = SSL_new(ours);
    counts = false;
    if (!client || !server || BIO_new_bio_pair(&a, 65536, &b, 65536) != 1)
        fail("no memory");
    SSL_set_bio(client, a, a);
    SSL_set_bio(server, b, b);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    for (int turn = 0; SSL_do_handshake(client) != 1 || do_server(server) != 1; turn++) {
        do_server(server);
        if (turn == 10)
            fail("the handshake does not end");
    }
    SSL_free(client); /* the server's side stays */
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[2]) : 0;

    if (count < 1)
        return fprintf(stderr, "usage: tls_alone CERT.pem COUNT\n"), 2;
    if (CRYPTO_set_mem_functions(take, resize, give) != 1)
        fail("OpenSSL has allocated already");
    SSL_CTX *ours = server_context(argv[1]), *theirs = SSL_CTX_new(TLS_client_method());
    if (!theirs)
        fail("no context");
    connect_pair(ours, theirs); /* what all share */
    bytes = 0;
    for (int i = 0; i < count; i++)
        connect_pair(ours, theirs);
    printf("%lld\n", bytes / count);
    return 0;
}
