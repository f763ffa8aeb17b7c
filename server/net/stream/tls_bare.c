#include "server/net/stream/tls_bare.h"

#include <stdlib.h>

#include "server/net/stream/tls_private.h"

struct ssl_st *tls_bare_new(struct tls_context *context)
{
    return SSL_new(tls_context_ssl(context));
}

enum tls_name tls_bare_name(const struct ssl_st *ssl, char *buf, size_t size)
{
    return tls_name_of(SSL_get0_peer_certificate(ssl), buf, size);
}

bool tls_same_trust(const struct tls_context *one, const struct tls_context *other)
{
    const struct tls_trust *a = tls_context_trust((const SSL_CTX *)one);
    const struct tls_trust *b = tls_context_trust((const SSL_CTX *)other);

    return memcmp(a->id, b->id, sizeof a->id) == 0;
}

struct tls_shown *tls_shown_of(const struct ssl_st *ssl)
{
    struct tls_shown shown = tls_shown_by(ssl), *kept;

    kept = shown.cert != NULL ? malloc(sizeof *kept) : NULL;
    if (kept == NULL)
        return NULL;
    *kept = shown;
    X509_up_ref(kept->cert);
    kept->above = shown.above != NULL ? X509_chain_up_ref(shown.above) : NULL;
    return kept;
}

void tls_shown_free(struct tls_shown *shown)
{
    if (shown == NULL)
        return;
    X509_free(shown->cert);
    sk_X509_pop_free(shown->above, X509_free);
    free(shown);
}

const char *tls_shown_distrusted(const struct tls_shown *shown, struct tls_context *context)
{
    return tls_verify_again(shown, tls_context_ssl(context));
}

const char *tls_bare_distrusted(const struct ssl_st *ssl, struct tls_context *context)
{
    const struct tls_shown shown = tls_shown_by(ssl);

    if (!SSL_is_init_finished(ssl))
        return "certificates were read again within its handshake: it may come again";
    return tls_verify_again(&shown, tls_context_ssl(context));
}
