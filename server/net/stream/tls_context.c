/* Certificates and rules of a listener, and the session tickets that are given out under them; the
 * same of connections that we make, with the session that they resume. */
#include "server/net/stream/tls_private.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/chance.h"

/* --- Session tickets --- */

static bool set_mac(EVP_MAC_CTX *mac, const struct ticket_key *key)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)key->mac,
                                          sizeof key->mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_end(),
    };

    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static int seal(struct tls_loop *l, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                EVP_MAC_CTX *mac)
{
    const struct ticket_key *key = &l->keys.now;

    memcpy(name, key->name, sizeof key->name);
    if (!chance_bytes(iv, EVP_MAX_IV_LENGTH) ||
        EVP_EncryptInit_ex2(cipher, l->ticket_cipher, key->cipher, iv, NULL) != 1)
        return -1;
    return set_mac(mac, key) ? 1 : -1;
}

static int unseal(struct tls_loop *l, const unsigned char *name, const unsigned char *iv,
                  EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    const struct ticket_key *key = ticket_keys_find(&l->keys, name);

    if (key == NULL)
        return 0; /* a full handshake, then */
    if (!set_mac(mac, key) ||
        EVP_DecryptInit_ex2(cipher, l->ticket_cipher, key->cipher, iv, NULL) != 1)
        return -1;
    return 2; /* and give it a new one: a client of TLS 1.3 uses each ticket once (RFC 8446, C.4) */
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int encrypt)
{
    struct tls_loop *l = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    if (!ticket_keys_advance(&l->keys, activator_now(l->activator)))
        return -1;
    return encrypt ? seal(l, name, iv, cipher, mac) : unseal(l, name, iv, cipher, mac);
}

/* A full handshake, where the session's certificate would not do any more. */
static SSL_TICKET_RETURN on_session(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                    size_t name_size, SSL_TICKET_STATUS status, void *arg)
{
    int64_t lists_end = tls_context_trust(SSL_get_SSL_CTX(ssl))->lists_end;

    (void)name;
    (void)name_size;
    (void)arg;
    if ((status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) ||
        !tls_may_resume(session, lists_end))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

/* --- What a context has beside --- */

static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static int trust_slot = -1; /* written once, within `once` */

static void free_trust(void *parent, void *trust, CRYPTO_EX_DATA *data, int slot, long number,
                       void *arg)
{
    (void)parent;
    (void)data;
    (void)slot;
    (void)number;
    (void)arg;
    if (trust != NULL)
        SSL_SESSION_free(((struct tls_trust *)trust)->session);
    free(trust);
}

static void open_slot(void)
{
    trust_slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_trust);
}

const struct tls_trust *tls_context_trust(const SSL_CTX *ctx)
{
    return SSL_CTX_get_ex_data(ctx, trust_slot);
}

/* The context's from here on.  NULL without memory. */
static struct tls_trust *add_trust(SSL_CTX *ctx)
{
    if (CRYPTO_THREAD_run_once(&once, open_slot) != 1 || trust_slot < 0)
        return NULL;
    struct tls_trust *trust = calloc(1, sizeof *trust);
    if (trust == NULL || SSL_CTX_set_ex_data(ctx, trust_slot, trust) == 1)
        return trust;
    free(trust);
    return NULL;
}

/* --- Sessions of clients --- */

/* The last session is offered by all connections until the next one comes, in TLS 1.3 as well: what
 * speaks against that (RFC 8446, C.4) is that an observer links the connections, and those of one
 * node to another are linked by their addresses anyway. */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_trust *trust = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), trust_slot);

    SSL_SESSION_free(trust->session);
    trust->session = session;
    return 1; /* it is the context's */
}

void tls_context_resume(SSL *ssl)
{
    const struct tls_trust *trust = tls_context_trust(SSL_get_SSL_CTX(ssl));

    if (trust->session != NULL && SSL_set_session(ssl, trust->session) != 1)
        ERR_clear_error(); /* a full handshake, then */
}

static void keep_sessions(SSL_CTX *ctx)
{
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, on_new_session);
}

/* --- Contexts --- */

/* Any of them is safe; the cheap one comes first: its hash is computed dozens of times in a
 * handshake. */
#define SUITES_13 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/* Forward secrecy and authenticated encryption: no CBC, no bare RSA. */
#define SUITES_12 "ECDHE+AESGCM:ECDHE+CHACHA20"

static void set_rules(SSL_CTX *ctx, const struct tls_files *files)
{
    SSL_CTX_set_ciphersuites(ctx, SUITES_13);
    SSL_CTX_set_cipher_list(ctx, SUITES_12);
    SSL_CTX_set_min_proto_version(ctx, files->min_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
}

static void give_tickets(SSL_CTX *ctx)
{
    SSL_CTX_set_num_tickets(ctx, 1);
    SSL_CTX_set_timeout(ctx, (long)(TICKET_PERIOD / AO_S(1)));
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket);
    SSL_CTX_set_session_ticket_cb(ctx, NULL, on_session, NULL);
}

static void give_no_tickets(SSL_CTX *ctx)
{
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
}

static bool digest_certificate(EVP_MD_CTX *md, const X509 *cert)
{
    uint8_t print[EVP_MAX_MD_SIZE];
    unsigned size;

    return cert == NULL || (X509_digest(cert, EVP_sha256(), print, &size) == 1 &&
                            EVP_DigestUpdate(md, print, size) == 1);
}

static bool digest_list(EVP_MD_CTX *md, const X509_CRL *crl)
{
    uint8_t print[EVP_MAX_MD_SIZE];
    unsigned size;

    return crl == NULL || (X509_CRL_digest(crl, EVP_sha256(), print, &size) == 1 &&
                           EVP_DigestUpdate(md, print, size) == 1);
}

static bool digest_authorities(EVP_MD_CTX *md, SSL_CTX *ctx)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));

    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        X509_OBJECT *object = sk_X509_OBJECT_value(all, i);
        if (!digest_certificate(md, X509_OBJECT_get0_X509(object)) ||
            !digest_list(md, X509_OBJECT_get0_X509_CRL(object)))
            return false;
    }
    return true;
}

static bool digest_trust(EVP_MD_CTX *md, SSL_CTX *ctx, const struct tls_files *files,
                         struct tls_trust *trust)
{
    return EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
           EVP_DigestUpdate(md, &files->client_cert, sizeof files->client_cert) == 1 &&
           digest_authorities(md, ctx) && EVP_DigestFinal_ex(md, trust->id, NULL) == 1;
}

/* A session is resumed only under the certificate, the authorities and the list of revoked
 * certificates that it began with, since a resuming client shows no certificate.  The id is made
 * from the contents of the files, so it is the same on all loops, and another one when changed
 * files are read again. */
static bool set_session_id(SSL_CTX *ctx, EVP_MD_CTX *md, const struct tls_trust *trust)
{
    uint8_t id[SHA256_SIZE];

    return EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
           EVP_DigestUpdate(md, trust->id, sizeof trust->id) == 1 &&
           digest_certificate(md, SSL_CTX_get0_certificate(ctx)) &&
           EVP_DigestFinal_ex(md, id, NULL) == 1 &&
           SSL_CTX_set_session_id_context(ctx, id, sizeof id) == 1;
}

/* False: no memory, or OpenSSL has no digest. */
static bool set_ids(SSL_CTX *ctx, const struct tls_files *files)
{
    struct tls_trust *trust = add_trust(ctx);
    EVP_MD_CTX *md = trust == NULL ? NULL : EVP_MD_CTX_new();
    bool good = md != NULL && digest_trust(md, ctx, files, trust) && set_session_id(ctx, md, trust);

    if (good)
        trust->lists_end = tls_lists_end(ctx);
    EVP_MD_CTX_free(md);
    return good;
}

/* Never asks on a terminal: without a password an encrypted key is an error. */
static int give_password(char *buf, int size, int writing, void *arg)
{
    const char *password = arg;

    (void)writing;
    if (password == NULL || strlen(password) > (size_t)size)
        return -1;
    memcpy(buf, password, strlen(password));
    return (int)strlen(password);
}

/* With an end-entity's list alone an authority in the middle could not be revoked: all are asked.
 */
static const char *load_list(SSL_CTX *ctx, const char *crl)
{
    X509_LOOKUP *lookup = X509_STORE_add_lookup(SSL_CTX_get_cert_store(ctx), X509_LOOKUP_file());

    if (crl == NULL)
        return NULL;
    if (lookup == NULL || X509_load_crl_file(lookup, crl, X509_FILETYPE_PEM) < 1)
        return crl;
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx),
                                X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return NULL;
}

static const char *load_files(SSL_CTX *ctx, const struct tls_files *files)
{
    const char *key = files->key == NULL ? files->cert : files->key;

    SSL_CTX_set_default_passwd_cb(ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, (void *)(uintptr_t)files->key_password);
    if (SSL_CTX_use_certificate_chain_file(ctx, files->cert) != 1)
        return files->cert;
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ctx) != 1)
        return key;
    if (files->client_cert == CLIENT_CERT_NONE)
        return NULL;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->client_ca);
    if (names == NULL)
        return files->client_ca;
    SSL_CTX_set_client_CA_list(ctx, names);
    if (SSL_CTX_load_verify_file(ctx, files->client_ca) != 1)
        return files->client_ca;
    SSL_CTX_set_verify(
        ctx,
        SSL_VERIFY_PEER |
            (files->client_cert == CLIENT_CERT_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    return load_list(ctx, files->crl);
}

static void explain(const char *file, char *error, size_t size)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);

    snprintf(error, size, "%s: %s; a PEM file is needed", file,
             reason == NULL ? "cannot be used" : reason);
}

static struct tls_context *new_context(struct tls_loop *l, const struct tls_files *files,
                                       const SSL_METHOD *side, char *error, size_t size)
{
    if (files->client_cert != CLIENT_CERT_NONE && files->client_ca == NULL)
        return snprintf(error, size, "client certificates need an authority (tls.client_ca)"), NULL;
    ERR_clear_error();
    SSL_CTX *ctx = l == NULL ? NULL : SSL_CTX_new_ex(l->library, NULL, side);
    if (ctx == NULL)
        return snprintf(error, size, "TLS cannot be set up: out of memory"), NULL;
    SSL_CTX_set_app_data(ctx, l);
    set_rules(ctx, files);
    (l->activator != NULL ? give_tickets : give_no_tickets)(ctx);
    const char *bad_file = load_files(ctx, files);
    if (bad_file == NULL && set_ids(ctx, files))
        return (struct tls_context *)ctx;
    explain(bad_file == NULL ? files->cert : bad_file, error, size);
    ERR_clear_error();
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls_context *tls_context_new(struct tls_loop *l, const struct tls_files *files, char *error,
                                    size_t size)
{
    return new_context(l, files, TLS_server_method(), error, size);
}

struct tls_context *tls_context_new_client(struct tls_loop *l, const struct tls_files *files,
                                           char *error, size_t size)
{
    struct tls_context *context = new_context(l, files, TLS_client_method(), error, size);

    if (context != NULL)
        keep_sessions(tls_context_ssl(context));
    return context;
}

void tls_context_unref(struct tls_context *context)
{
    SSL_CTX_free(tls_context_ssl(context));
}
