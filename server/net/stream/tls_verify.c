/* Peers' certificates once more: after a reload those of streams that are open, and those of
 * sessions that somebody wants to resume, of which OpenSSL itself looks at nothing. */
#include "server/net/stream/tls_private.h"

#include <openssl/err.h>
#include <openssl/x509.h>

#include "base/clock.h"

/* --- Lists of revoked certificates --- */

static bool names(X509_CRL *crl, X509 *cert)
{
    X509_REVOKED *entry;

    return X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_issuer_name(cert)) == 0 &&
           X509_CRL_get0_by_cert(crl, &entry, cert) == 1;
}

/* The file is ours, and was believed when it was loaded: no signature is looked at here. */
static bool any_names(const STACK_OF(X509_OBJECT) * all, X509 *cert)
{
    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        X509_CRL *crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));
        if (crl != NULL && names(crl, cert))
            return true;
    }
    return false;
}

/* `above`: what its chain consists of. */
static bool is_named(SSL_CTX *ctx, X509 *cert, const STACK_OF(X509) * above)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
    bool named = any_names(all, cert);

    for (int i = 0; i < sk_X509_num(above) && !named; i++)
        named = any_names(all, sk_X509_value(above, i));
    return named;
}

/* --- Verification against the authorities --- */

/* As OpenSSL does it in a handshake (ssl_verify_cert_chain()).  An X509_V_ERR_*. */
static int verdict_on(const struct tls_shown *shown, SSL_CTX *ctx)
{
    const struct tls_loop *l = SSL_CTX_get_app_data(ctx);
    X509_STORE_CTX *v = X509_STORE_CTX_new_ex(l->library, NULL);
    int verdict = X509_V_ERR_OUT_OF_MEM;

    if (v != NULL &&
        X509_STORE_CTX_init(v, SSL_CTX_get_cert_store(ctx), shown->cert, shown->above) == 1 &&
        X509_STORE_CTX_set_default(v, "ssl_client") == 1) {
        X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(v);
        X509_VERIFY_PARAM_set_auth_level(param, shown->level);
        X509_VERIFY_PARAM_set1(param, SSL_CTX_get0_param(ctx));
        X509_verify_cert(v);
        verdict = X509_STORE_CTX_get_error(v);
    }
    X509_STORE_CTX_free(v);
    ERR_clear_error();
    return verdict;
}

bool tls_lacks_a_list(long verdict)
{
    return verdict == X509_V_ERR_CRL_HAS_EXPIRED || verdict == X509_V_ERR_CRL_NOT_YET_VALID ||
           verdict == X509_V_ERR_UNABLE_TO_GET_CRL || verdict == X509_V_ERR_CRL_SIGNATURE_FAILURE;
}

static const char *explain(int verdict, bool resumed)
{
    if (verdict == X509_V_OK || tls_lacks_a_list(verdict))
        return NULL;
    if (verdict == X509_V_ERR_OUT_OF_MEM)
        return "out of memory";
    if (verdict == X509_V_ERR_CERT_REVOKED)
        return "its certificate was revoked";
    if (resumed && (verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
                    verdict == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE))
        return "its certificate cannot be verified once more, since its session was resumed: it "
               "may come again";
    return "its certificate is trusted no more";
}

struct tls_shown tls_shown_by(const SSL *ssl)
{
    return (struct tls_shown){.cert = SSL_get0_peer_certificate(ssl),
                              .above = SSL_get0_verified_chain(ssl),
                              .level = SSL_get_security_level(ssl)};
}

const char *tls_verify_again(const struct tls_shown *shown, SSL_CTX *ctx)
{
    if (shown->cert == NULL)
        return NULL;
    if (is_named(ctx, shown->cert, shown->above))
        return "its certificate was revoked";
    return explain(verdict_on(shown, ctx), shown->above == NULL);
}

/* --- Sessions --- */

static bool holds_now(const X509 *cert)
{
    return X509_cmp_current_time(X509_get0_notBefore(cert)) < 0 &&
           X509_cmp_current_time(X509_get0_notAfter(cert)) > 0;
}

bool tls_may_resume(SSL_SESSION *session, int64_t lists_end)
{
    const X509 *cert = SSL_SESSION_get0_peer(session);

    return cert == NULL || (holds_now(cert) && (int64_t)(clock_wall() / AO_S(1)) < lists_end);
}
