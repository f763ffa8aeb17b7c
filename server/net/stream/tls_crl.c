/* Lists of revoked certificates: whom they name, and how long they hold. */
#include "server/net/stream/tls_private.h"

#include <stdio.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

/* --- How long they hold --- */

static int64_t end_of(const X509_CRL *crl)
{
    const ASN1_TIME *end = X509_CRL_get0_nextUpdate(crl);
    struct tm tm;

    return end != NULL && ASN1_TIME_to_tm(end, &tm) == 1 ? (int64_t)timegm(&tm) : INT64_MAX;
}

bool tls_crl_ends(const char *path, int64_t *ends, char *error, size_t size)
{
    BIO *file = BIO_new_file(path, "r");
    X509_CRL *crl = NULL;
    uint32_t count = 0;

    *ends = INT64_MAX;
    while (file != NULL && (crl = PEM_read_bio_X509_CRL(file, NULL, NULL, NULL)) != NULL) {
        int64_t end = end_of(crl);
        *ends = end < *ends ? end : *ends;
        X509_CRL_free(crl);
        count++;
    }
    BIO_free(file);
    ERR_clear_error(); /* the end of the file is one, too */
    if (count > 0)
        return true;
    snprintf(error, size, "%s: %s", path,
             file == NULL ? "cannot be read" : "holds no list of revoked certificates in PEM");
    return false;
}

/* --- Whom they name --- */

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

bool tls_names_revoked(SSL *ssl, struct tls_context *context)
{
    const STACK_OF(X509_OBJECT) *all =
        X509_STORE_get0_objects(SSL_CTX_get_cert_store(tls_context_ssl(context)));
    /* As it was verified, so with what the peer did not show.  NULL: the session was resumed. */
    const STACK_OF(X509) *above = SSL_get0_verified_chain(ssl);
    X509 *cert = SSL_get0_peer_certificate(ssl);

    if (cert == NULL)
        return false;
    bool revoked = any_names(all, cert);
    for (int i = 0; i < sk_X509_num(above) && !revoked; i++)
        revoked = any_names(all, sk_X509_value(above, i));
    return revoked;
}

bool tls_asks_lists(struct tls_context *context)
{
    return (X509_VERIFY_PARAM_get_flags(SSL_CTX_get0_param(tls_context_ssl(context))) &
            X509_V_FLAG_CRL_CHECK) != 0;
}
