/* How long certificates, and lists of revoked ones, hold. */
#include "server/net/stream/tls_private.h"

#include <stdio.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

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

bool tls_cert_ends(const char *path, int64_t *ends)
{
    BIO *file = BIO_new_file(path, "r");
    X509 *cert = file != NULL ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    struct tm tm;
    bool known = cert != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) == 1;

    if (known)
        *ends = (int64_t)timegm(&tm);
    X509_free(cert);
    BIO_free(file);
    ERR_clear_error();
    return known;
}

int64_t tls_lists_end(SSL_CTX *ctx)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
    int64_t ends = INT64_MAX;

    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        const X509_CRL *crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));
        int64_t end = crl == NULL ? INT64_MAX : end_of(crl);
        ends = end < ends ? end : ends;
    }
    return ends;
}
