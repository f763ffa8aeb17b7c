#include "server/tracing/collector_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct collector_tls {
    SSL_CTX *context;
    char *host;
    bool is_address;
    /* Of the last stream. */
    bool began, done; /* its handshake */
    char trouble[192];
};

static struct collector_tls *of(const SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

/* Called for each certificate of the chain, and again for the name. */
static int on_verified(int good, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct collector_tls *t = of(ssl);

    if (!good)
        snprintf(t->trouble, sizeof t->trouble, "its certificate is not trusted: %s",
                 X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    return good;
}

static void on_progress(const SSL *ssl, int where, int value)
{
    struct collector_tls *t = of(ssl);

    (void)value;
    t->began |= (where & SSL_CB_HANDSHAKE_START) != 0;
    t->done |= (where & SSL_CB_HANDSHAKE_DONE) != 0;
}

static bool load_authorities(SSL_CTX *context, const char *ca, char *error, size_t size)
{
    char text[96];

    ERR_clear_error();
    if (ca && access(ca, R_OK) != 0) { /* OpenSSL would say "system lib" */
        snprintf(error, size, "trace.ca: cannot read %s: %s", ca,
                 strerror_r(errno, text, sizeof text));
        return false;
    }
    if (ca ? SSL_CTX_load_verify_locations(context, ca, NULL) == 1
           : SSL_CTX_set_default_verify_paths(context) == 1)
        return true;
    ERR_clear_error();
    snprintf(error, size, "trace.ca: %s holds no certificate in PEM", ca ? ca : "the system");
    return false;
}

struct collector_tls *collector_tls_new(const char *ca, const char *host, char *error, size_t size)
{
    struct collector_tls *t = calloc(1, sizeof *t);
    unsigned char address[sizeof(struct in6_addr)];

    if (t) {
        t->context = SSL_CTX_new(TLS_client_method());
        t->host = strdup(host);
    }
    if (!t || !t->context || !t->host) {
        snprintf(error, size, "trace.endpoint: no memory for TLS");
        collector_tls_free(t);
        return NULL;
    }
    t->is_address =
        inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    SSL_CTX_set_app_data(t->context, t);
    SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, on_verified);
    SSL_CTX_set_info_callback(t->context, on_progress);
    if (load_authorities(t->context, ca, error, size))
        return t;
    collector_tls_free(t);
    return NULL;
}

void collector_tls_free(struct collector_tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->context);
    free(t->host);
    free(t);
}

/* A common name is no name of a server (RFC 9525). */
static bool expect_host(const struct collector_tls *t, SSL *ssl)
{
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (t->is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), t->host) == 1;
    return SSL_set1_host(ssl, t->host) == 1 && SSL_set_tlsext_host_name(ssl, t->host) == 1;
}

struct ssl_st *collector_tls_stream(struct collector_tls *t)
{
    SSL *ssl = SSL_new(t->context);

    t->began = t->done = false;
    t->trouble[0] = 0;
    if (ssl && expect_host(t, ssl))
        return ssl;
    SSL_free(ssl);
    return NULL;
}

const char *collector_tls_trouble(const struct collector_tls *t)
{
    if (t->trouble[0] != 0)
        return t->trouble;
    return t->began && !t->done ? "the TLS handshake fails: it may speak no TLS there" : NULL;
}
