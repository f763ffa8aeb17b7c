/* What a TLS connection costs until its ClientHello is whole, and from there on. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "server/net/connection/conn_private.h"
#include "server/net/stream/tls.h"
#include "tests/support/certificates.h"
#include "tests/support/client_hello.h"
#include "tests/support/net_server.h"

/* Those of the C library: OpenSSL keeps blocks of its own to its end. */
void *__real_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);

static const char *listen_tls(void)
{
    char directory[] = "/tmp/ergon-hello-XXXXXX", cert[64], key[64];

    assert_non_null(mkdtemp(directory));
    snprintf(cert, sizeof cert, "%s/cert", directory);
    snprintf(key, sizeof key, "%s/key", directory);
    certificate_make(cert, key, "server");
    const char *url = server_listen((struct listener_options){.url = "ergons://127.0.0.1:0",
                                                              .tls = {.cert = cert, .key = key}});
    unlink(cert);
    unlink(key);
    rmdir(directory);
    return url;
}

static const struct connection *last_connection(void)
{
    return LIST_FIRST(&server.loops[0]->all);
}

/* By a ServerHello, and no alert. */
static void is_answered(int fd)
{
    uint8_t first;

    SERVER_UNTIL(recv(fd, &first, 1, 0) == 1);
    assert_int_equal(first, 22);
}

/* The same bytes in records of `part` bytes; returns their length. */
static size_t in_records(uint8_t *to, const uint8_t *hello, size_t len, size_t part)
{
    enum { HEAD = 5 };
    uint8_t *at = to;

    for (size_t done = HEAD, n; done < len; done += n) {
        n = len - done < part ? len - done : part;
        memcpy(at, hello, HEAD - 2);
        at[HEAD - 2] = (uint8_t)(n >> 8);
        at[HEAD - 1] = (uint8_t)n;
        memcpy(at + HEAD, hello + done, n);
        at += HEAD + n;
    }
    return (size_t)(at - to);
}

static int64_t crypto_bytes; /* that OpenSSL holds */

static void *crypto_malloc(size_t size, const char *file, int line)
{
    void *block = __real_malloc(size);

    crypto_bytes += (int64_t)malloc_usable_size(block);
    return block;
}

static void crypto_free(void *block, const char *file, int line)
{
    crypto_bytes -= (int64_t)malloc_usable_size(block);
    __real_free(block);
}

static void *crypto_realloc(void *block, size_t size, const char *file, int line)
{
    crypto_bytes -= (int64_t)malloc_usable_size(block);
    block = __real_realloc(block, size);
    crypto_bytes += (int64_t)malloc_usable_size(block);
    return block;
}

/* Before OpenSSL's first block. */
__attribute__((constructor)) static void count_crypto(void)
{
    CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
}

/* Records of which the first says least. */
SERVER_TEST(a_hello_in_many_records_takes_no_memory_before_the_last)
{
    static const size_t parts[] = {1, 3, 50};
    uint8_t hello[4096], records[4096 * 6];
    size_t len = client_hello(hello, sizeof hello);

    const char *url = listen_tls();
    int warm = net_client_connect(url); /* OpenSSL looks up what it keeps */
    assert_int_equal(write(warm, hello, len), len);
    is_answered(warm);
    close(warm);
    SERVER_UNTIL(server_total() == 0);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        size_t all = in_records(records, hello, len, parts[p]);
        int fd = net_client_connect(url);
        SERVER_UNTIL(server_total() == 1);
        int64_t before = crypto_bytes;
        assert_int_equal(write(fd, records, all - 1), all - 1);
        server_turn(20);
        assert_int_equal(crypto_bytes, before);
        assert_true(tls_shakes(&last_connection()->stream) == (all - 1 > 512));
        assert_int_equal(write(fd, records + all - 1, 1), 1);
        SERVER_UNTIL(tls_shakes(&last_connection()->stream) && crypto_bytes > before);
        server_turn(20);
        assert_true(crypto_bytes - before < 50000);
        is_answered(fd);
        close(fd);
        SERVER_UNTIL(server_total() == 0);
    }
}

/* It says that it is 16 MiB long: no more is kept of it than of a record. */
SERVER_TEST(of_a_hello_without_end_no_more_is_kept_than_of_a_record)
{
    enum { RECORD = 5 + 1000 };
    uint8_t record[RECORD] = {22, 3, 1, 1000 >> 8, 1000 & 255, 1, 255, 255, 255};

    const char *url = listen_tls();
    int fd = net_client_connect(url), sent = 0;
    SERVER_UNTIL(server_total() == 1);
    while (server_total() == 1 && sent < 100) {
        ssize_t n = send(fd, record, sizeof record, MSG_NOSIGNAL);
        sent += n == RECORD;
        server_turn(4);
        if (sent == 1)
            memset(record + 5, 0, 4);
    }
    assert_true(sent < 20); /* OpenSSL has been asked, and refuses */
    close(fd);
}

/* OpenSSL's object costs what fifty silent peers do. */
SERVER_TEST(a_handshake_takes_memory_when_its_hello_is_whole)
{
    uint8_t hello[4096];
    size_t len = client_hello(hello, sizeof hello);

    const char *url = listen_tls();
    int fd = net_client_connect(url);
    SERVER_UNTIL(server_total() == 1);
    server_turn(4);
    assert_false(tls_shakes(&last_connection()->stream));
    for (size_t i = 0; i < len; i++) {
        assert_false(tls_shakes(&last_connection()->stream));
        assert_int_equal(write(fd, hello + i, 1), 1);
        server_turn(4);
    }
    SERVER_UNTIL(tls_shakes(&last_connection()->stream));
    is_answered(fd);
    close(fd);
    SERVER_UNTIL(server_total() == 0);
}
