/* What tls.c (the stream) and tls_context.c (certificates, rules, session tickets) share of a loop,
 * for these two only.
 *
 * Thread: the loop's; while no loop runs, the one that sets up.  A struct tls_loop owns all that it
 * points to but the activator. */
#ifndef ERGON_NET_TLS_PRIVATE_H
#define ERGON_NET_TLS_PRIVATE_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/span.h"
#include "server/net/stream/stream.h"
#include "server/net/stream/ticket_keys.h"
#include "server/net/stream/tls.h"

struct tls_buffer {
    uint8_t *at;
    size_t len, capacity;
};

struct tls_loop {
    struct activator *activator;
    OSSL_LIB_CTX *library;
    EVP_CIPHER *ticket_cipher; /* of `library`: to look it up by name costs more than to use it */
    BIO_METHOD *method;
    struct ticket_keys keys;
    uint8_t *in;           /* TLS_IN bytes; valid within one call */
    uint8_t *gather;       /* TLS_GATHER bytes; the same */
    struct tls_buffer out; /* ciphertext to send; empty between calls */
};

/* Does the context's list of revoked certificates name one of the peer's?  tls_crl.c. */
bool tls_names_revoked(SSL *ssl, struct tls_context *context);
bool tls_asks_lists(struct tls_context *context); /* there is one; the same */

/* A context is an SSL_CTX, which counts its references; its app data are the struct tls_loop. */
static inline SSL_CTX *tls_context_ssl(struct tls_context *context)
{
    return (SSL_CTX *)context;
}

#endif
