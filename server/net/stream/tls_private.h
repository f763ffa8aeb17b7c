/* What tls.c (the stream) and tls_context.c (certificates, rules, session tickets) share of a loop,
 * and what the other files of TLS have in common, for these only.
 *
 * Thread: the loop's; while no loop runs, the one that sets up.  A struct tls_loop owns all that it
 * points to but the activator. */
#ifndef ERGON_NET_TLS_PRIVATE_H
#define ERGON_NET_TLS_PRIVATE_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/span.h"
#include "server/net/auth/crypto.h"
#include "server/net/stream/stream.h"
#include "server/net/stream/ticket_keys.h"
#include "server/net/stream/tls.h"

struct tls_buffer {
    uint8_t *at;
    size_t len, capacity;
};

struct tls_loop {
    struct activator *activator; /* NULL: no streams are opened, and no tickets are given out */
    OSSL_LIB_CTX *library;
    EVP_CIPHER *ticket_cipher; /* of `library`: to look it up by name costs more than to use it */
    BIO_METHOD *method;
    struct ticket_keys keys;
    uint8_t *in;           /* TLS_IN bytes; valid within one call */
    uint8_t *gather;       /* TLS_GATHER bytes; the same */
    struct tls_buffer out; /* ciphertext to send; empty between calls */
};

/* What peers' certificates are believed by. */
struct tls_trust {
    uint8_t id[SHA256_SIZE]; /* of rules, authorities and lists: the same while those are */
    int64_t lists_end;       /* Unix seconds: the first of the lists; INT64_MAX: none ends */
    SSL_SESSION *session;    /* of a client: the last that its server gave; NULL: none */
};
const struct tls_trust *tls_context_trust(const SSL_CTX *ctx); /* as long as it; tls_context.c */
/* A new connection of a client resumes the last session, if there is one. */
void tls_context_resume(SSL *ssl);

/* --- tls_certificate.c --- */

int64_t tls_lists_end(SSL_CTX *ctx); /* as lists_end above, of its lists */

/* What a peer has shown. */
struct tls_shown {
    X509 *cert; /* NULL: nothing */
    /* As it was verified, so with what the peer did not show.  NULL: the session was resumed, and
     * holds the peer's own alone. */
    STACK_OF(X509) * above;
    int level; /* of security */
};
struct tls_shown tls_shown_by(const SSL *ssl); /* borrowed from it */

/* Our list has ended, has not begun, or lacks an authority: no peer can do anything about that. */
bool tls_lacks_a_list(long verdict);
/* Once more, by this context, the certificate that a peer has shown.  NULL: it is believed, there
 * is none, or the lists say nothing since they have ended; else why not, a constant text. */
const char *tls_verify_again(const struct tls_shown *shown, SSL_CTX *ctx);
/* The certificate that the session began with, if any, has not ended since, nor have the lists. */
bool tls_may_resume(SSL_SESSION *session, int64_t lists_end);

/* As tls_peer_name(), of a certificate; NULL: there is none. */
enum tls_name tls_name_of(const X509 *cert, char *buf, size_t size);

/* A context is an SSL_CTX, which counts its references; its app data are the struct tls_loop. */
static inline SSL_CTX *tls_context_ssl(struct tls_context *context)
{
    return (SSL_CTX *)context;
}

#endif
