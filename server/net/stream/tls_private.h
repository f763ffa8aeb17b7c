/* Between tls.c (the stream) and tls_context.c (certificates, rules, ticket keys). */
#ifndef ERGON_NET_TLS_PRIVATE_H
#define ERGON_NET_TLS_PRIVATE_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/span.h"
#include "server/net/stream/ticket_keys.h"
#include "server/net/stream/tls.h"

enum {
    TLS_IN = 32768,        /* ciphertext of one read() */
    TLS_GATHER = 16384,    /* plaintext of one record */
    TLS_WRITE_MAX = 65536, /* plaintext taken by one writev() */
    TLS_READS = 4          /* read() calls in one call, when records come in pieces */
};

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

/* The SSL_CTX counts its references. */
static inline SSL_CTX *tls_context_ssl(struct tls_context *context)
{
    return (SSL_CTX *)context;
}

/* tls.c: connects an SSL with the loop's buffers. */
BIO_METHOD *tls_bio_method(void);

#endif
