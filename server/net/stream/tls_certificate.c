/* What certificates say: the name of a peer, how long they and the lists of revoked ones hold, and
 * whether a peer's is still valid: after a reload those of open streams, and those of sessions that
 * a client wants to resume, of which OpenSSL itself looks at nothing. */
#include "server/net/stream/tls_private.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

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

/* --- How long certificates and lists hold --- */

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

/* --- The name in a certificate --- */

/* Nothing that a name of this kind does not consist of, and that would read as another's, as a
 * pattern or as two words. */
static bool is_usable_name(int kind, const char *text, int len)
{
    for (int i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c >= 0x7f || strchr("*,\"\\#", c) != NULL ||
            (kind == GEN_DNS && strchr(":@/", c) != NULL))
            return false;
    }
    return len > 0 && (kind != GEN_EMAIL || memchr(text, '@', (size_t)len) != NULL) &&
           (kind != GEN_URI || memchr(text, ':', (size_t)len) != NULL);
}

/* The first name of this kind; a DNS name in small letters. */
static enum tls_name name_of_kind(const GENERAL_NAMES *names, int kind, char *buf, size_t size)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int found;
        const ASN1_STRING *string =
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &found);
        if (found != kind)
            continue;
        const char *text = (const char *)ASN1_STRING_get0_data(string);
        int len = ASN1_STRING_length(string);
        if (!is_usable_name(kind, text, len) || (size_t)len >= size)
            return TLS_NAME_UNUSABLE;
        snprintf(buf, size, "%.*s", len, text);
        for (char *c = buf; kind == GEN_DNS && *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        return TLS_NAME_FOUND;
    }
    return TLS_NAME_NO_CERTIFICATE;
}

enum tls_name tls_name_of(const X509 *cert, char *buf, size_t size)
{
    static const int kinds[] = {GEN_DNS, GEN_URI, GEN_EMAIL};
    enum tls_name result = TLS_NAME_NO_CERTIFICATE;

    if (cert == NULL)
        return result;
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && result == TLS_NAME_NO_CERTIFICATE; i++)
        result = names == NULL ? TLS_NAME_UNUSABLE : name_of_kind(names, kinds[i], buf, size);
    GENERAL_NAMES_free(names);
    return result == TLS_NAME_FOUND ? TLS_NAME_FOUND : TLS_NAME_UNUSABLE;
}
