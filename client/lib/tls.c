#include "client/lib/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tls {
    SSL_CTX *context;
    BIO_METHOD *method;
    SSL_SESSION *session; /* counted; to be offered by the next stream; NULL: none */
};

static void explain(char *why, size_t size, const char *what)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    snprintf(why, size, "%s: %s", what, reason != NULL ? reason : "failed");
    ERR_clear_error();
}

/* ---- a BIO over stream_receive() and stream_send(): no SIGPIPE, unlike OpenSSL's own ---- */

static int retry_or_fail(BIO *bio, enum stream_verdict v, size_t done)
{
    switch (v) {
    case STREAM_OK:
        return (int)done;
    case STREAM_WANT_READ:
        BIO_set_retry_read(bio);
        return -1;
    case STREAM_WANT_WRITE:
        BIO_set_retry_write(bio);
        return -1;
    case STREAM_EOF:
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        return 0;
    case STREAM_BROKEN:
        return -1;
    }
    return -1;
}

static int bio_read(BIO *bio, char *to, int room)
{
    size_t done = 0;
    BIO_clear_retry_flags(bio);
    enum stream_verdict v = stream_receive(BIO_get_data(bio), to, (size_t)room, &done);
    return retry_or_fail(bio, v, done);
}

static int bio_write(BIO *bio, const char *from, int len)
{
    size_t done = 0;
    BIO_clear_retry_flags(bio);
    enum stream_verdict v = stream_send(BIO_get_data(bio), from, (size_t)len, &done);
    return retry_or_fail(bio, v, done);
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "ergon stream");
    if (m == NULL)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    return m;
}

/* ---- names ---- */

static const char *address_text(const unsigned char *at, size_t len, char *buf, size_t size)
{
    if (len != sizeof(struct in_addr) && len != sizeof(struct in6_addr))
        return NULL;
    return inet_ntop(len == sizeof(struct in_addr) ? AF_INET : AF_INET6, at, buf, (socklen_t)size);
}

/* NULL: it is no name of a host.  Nobody vouches for the certificate, so characters that steer a
 * terminal are left out. */
static const char *name_text(const GENERAL_NAME *name, char *buf, size_t size)
{
    int type;
    const ASN1_STRING *s = GENERAL_NAME_get0_value(name, &type);
    if (type != GEN_IPADD && type != GEN_DNS)
        return NULL;
    const unsigned char *at = ASN1_STRING_get0_data(s);
    size_t len = (size_t)ASN1_STRING_length(s);
    if (type == GEN_IPADD)
        return address_text(at, len, buf, size);
    if (len >= size)
        return NULL;
    for (size_t i = 0; i < len; i++)
        buf[i] = at[i] > ' ' && at[i] < 0x7f ? (char)at[i] : '?';
    buf[len] = 0;
    return buf;
}

/* As many names as there is room for. */
static void explain_name(char *why, size_t size, const X509 *certificate, const char *expected)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    char text[128];
    int used = snprintf(why, size, "the server's certificate is not for %.100s, but for", expected);
    const char *before = " ";
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const char *name = name_text(sk_GENERAL_NAME_value(names, i), text, sizeof text);
        if (name == NULL || (size_t)used + strlen(name) + sizeof ", " > size)
            continue;
        used += snprintf(why + used, size - (size_t)used, "%s%s", before, name);
        before = ", ";
    }
    if (*before == ' ')
        snprintf(why + used, size - (size_t)used, " no name");
    GENERAL_NAMES_free(names);
}

static int note_wrong_name(int good, X509_STORE_CTX *context)
{
    int index = SSL_get_ex_data_X509_STORE_CTX_idx(), error = X509_STORE_CTX_get_error(context);
    const SSL *ssl = X509_STORE_CTX_get_ex_data(context, index);
    struct stream *s = BIO_get_data(SSL_get_rbio(ssl));
    if (!good && (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH))
        explain_name(s->why, sizeof s->why, X509_STORE_CTX_get0_cert(context),
                     SSL_get_app_data(ssl));
    return good;
}

/* ---- settings ---- */

/* OpenSSL says "system lib" of a file that cannot be opened; the system knows more. */
static bool readable(const char *file, char *why, size_t size)
{
    char text[96];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        snprintf(why, size, "cannot read %s: %s", file, strerror_r(errno, text, sizeof text));
    else
        close(fd);
    return fd >= 0;
}

/* True if OpenSSL is content; else `why` says what the file should be. */
static bool content(int rc, const char *file, const char *wanted, char *why, size_t size)
{
    ERR_clear_error();
    if (rc != 1)
        snprintf(why, size, "%s %s", file, wanted);
    return rc == 1;
}

static bool load_authorities(SSL_CTX *context, const char *ca, char *why, size_t size)
{
    if (ca == NULL)
        return content(SSL_CTX_set_default_verify_paths(context), "the system's authorities",
                       "cannot be looked up", why, size);
    return readable(ca, why, size) && content(SSL_CTX_load_verify_locations(context, ca, NULL), ca,
                                              "holds no certificate in PEM", why, size);
}

/* A library does not ask on the terminal: an encrypted key is an error. */
static int no_password(char *buf, int size, int writing, void *arg)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)arg;
    return -1;
}

static bool load_own(SSL_CTX *context, const char *cert, const char *key, char *why, size_t size)
{
    if (cert == NULL && key == NULL)
        return true;
    if (cert == NULL)
        return content(0, key, "is a key without a certificate", why, size);
    if (key == NULL)
        key = cert;
    SSL_CTX_set_default_passwd_cb(context, no_password);
    return readable(cert, why, size) && readable(key, why, size) &&
           content(SSL_CTX_use_certificate_chain_file(context, cert), cert,
                   "holds no certificate in PEM", why, size) &&
           content(
               SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), key,
               "holds no private key in PEM, without a password, that belongs to the certificate",
               why, size);
}

struct tls *tls_new(const struct tls_files *files, char *why, size_t why_size)
{
    struct tls *t = calloc(1, sizeof *t);
    if (t == NULL)
        goto no_memory;
    t->context = SSL_CTX_new(TLS_client_method());
    t->method = new_method();
    if (t->context == NULL || t->method == NULL)
        goto no_memory;
    SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION);
    SSL_CTX_set_mode(t->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                     SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(t->context, 1); /* a record and what follows it in one read */
    SSL_CTX_set_verify(t->context, files->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       note_wrong_name);
    if (!load_authorities(t->context, files->ca, why, why_size) ||
        !load_own(t->context, files->cert, files->key, why, why_size)) {
        tls_free(t);
        return NULL;
    }
    return t;
no_memory:
    snprintf(why, why_size, "out of memory");
    tls_free(t);
    return NULL;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_SESSION_free(t->session);
    SSL_CTX_free(t->context);
    BIO_meth_free(t->method);
    free(t);
}

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    SSL_SESSION_free(t->session);
    t->session = session;
    return 1; /* the reference is ours now */
}

void tls_keep_session(struct tls *t)
{
    SSL_CTX_set_app_data(t->context, t);
    SSL_CTX_sess_set_new_cb(t->context, keep_session);
    SSL_CTX_set_session_cache_mode(t->context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}

/* ---- the stream ---- */

static enum stream_verdict broken(struct stream *s, const char *what)
{
    SSL *ssl = s->tls;
    long verified = SSL_get_verify_result(ssl);
    if (s->why[0] != 0) /* the socket has already said why, or the certificate's name is wrong */
        return STREAM_BROKEN;
    if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_TLSV1_ALERT_ACCESS_DENIED) {
        snprintf(s->why, sizeof s->why,
                 "the server closes the connection: it takes none from this address "
                 "(limits.penalty, or its limits of connections)");
        ERR_clear_error();
        return STREAM_BROKEN;
    }
    if (!SSL_is_init_finished(ssl) && verified != X509_V_OK &&
        SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE)
        snprintf(s->why, sizeof s->why, "the server's certificate is not trusted: %s",
                 X509_verify_cert_error_string(verified));
    else
        explain(s->why, sizeof s->why, what);
    return STREAM_BROKEN;
}

static enum stream_verdict verdict(struct stream *s, int rc, const char *what)
{
    switch (SSL_get_error(s->tls, rc)) {
    case SSL_ERROR_NONE:
        return STREAM_OK;
    case SSL_ERROR_WANT_READ:
        return STREAM_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return STREAM_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return STREAM_EOF;
    default:
        return broken(s, what);
    }
}

static enum stream_verdict tls_handshake(struct stream *s)
{
    ERR_clear_error();
    return verdict(s, SSL_connect(s->tls), "TLS handshake");
}

static enum stream_verdict tls_read(struct stream *s, void *to, size_t room, size_t *done)
{
    ERR_clear_error();
    return verdict(s, SSL_read_ex(s->tls, to, room, done), "TLS");
}

static enum stream_verdict tls_write(struct stream *s, const void *from, size_t len, size_t *done)
{
    ERR_clear_error();
    return verdict(s, SSL_write_ex(s->tls, from, len, done), "TLS");
}

static void tls_close(struct stream *s)
{
    ERR_clear_error();
    if (SSL_is_init_finished(s->tls) && s->why[0] == 0)
        SSL_shutdown(s->tls); /* says goodbye and does not wait for the answer */
    ERR_clear_error();
    SSL_free(s->tls);
    s->tls = NULL;
    stream_hang_up(s->fd);
}

static const struct stream_ops TLS_OPS = {tls_handshake, tls_read, tls_write, tls_close};

/* The name must stand in the certificate as a subjectAltName: a common name is no name of a server
 * (RFC 9525). */
static bool expect_name(SSL *ssl, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    SSL_set_app_data(ssl, (char *)(uintptr_t)name);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* A copy: OpenSSL lets a session of TLS 1.3 be used only once, and a server need not send another
 * ticket. */
static bool offer_session(const struct tls *t, SSL *ssl)
{
    if (t->session == NULL)
        return true;
    SSL_SESSION *copy = SSL_SESSION_dup(t->session);
    bool good = copy != NULL && SSL_set_session(ssl, copy) == 1;
    SSL_SESSION_free(copy);
    return good;
}

bool tls_open_stream(struct tls *t, struct stream *s, int fd, const char *name)
{
    SSL *ssl = SSL_new(t->context);
    BIO *bio = BIO_new(t->method);
    if (ssl == NULL || bio == NULL || !expect_name(ssl, name) || !offer_session(t, ssl)) {
        BIO_free(bio);
        SSL_free(ssl);
        return false;
    }
    *s = (struct stream){.ops = &TLS_OPS, .fd = fd, .tls = ssl};
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}

bool tls_resumed(const struct stream *s)
{
    return SSL_session_reused(s->tls) == 1;
}

bool tls_pending(const struct stream *s)
{
    return SSL_has_pending(s->tls) == 1;
}
