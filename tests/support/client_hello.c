#include "tests/support/client_hello.h"

#include <openssl/ssl.h>

#include "tests/support/cmocka_env.h"

size_t client_hello(uint8_t *bytes, int size)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

    SSL_set_bio(ssl, in, out);
    assert_true(SSL_connect(ssl) < 0);
    int n = BIO_read(out, bytes, size);
    assert_true(n > 100);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return (size_t)n;
}
