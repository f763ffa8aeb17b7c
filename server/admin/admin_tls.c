#include "server/admin/admin_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "server/net/stream/tls.h"

static int give_password(char *buf, int size, int writing, void *arg)
{
    const char *password = arg;

    (void)writing;
    if (!password || size <= 0 || strlen(password) > (size_t)size)
        return -1;
    memcpy(buf, password, strlen(password));
    return (int)strlen(password);
}

static bool load(SSL_CTX *context, const struct tls_files *files)
{
    SSL_CTX_set_default_passwd_cb(context, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, (void *)(uintptr_t)files->key_password);
    bool good = SSL_CTX_use_certificate_chain_file(context, files->cert) == 1 &&
                SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) == 1 &&
                SSL_CTX_check_private_key(context) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    return good;
}

struct ssl_ctx_st *admin_tls_new(const struct tls_files *files, char *error, size_t size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char why[160];

    ERR_clear_error();
    if (!context) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20"); /* of TLS 1.2 */
    SSL_CTX_set_min_proto_version(context, files->min_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (load(context, files))
        return context;
    ERR_error_string_n(ERR_peek_error(), why, sizeof why);
    snprintf(error, size, "certificate %.150s, key %.150s: %s", files->cert, files->key, why);
    ERR_clear_error();
    SSL_CTX_free(context);
    return NULL;
}

void admin_tls_free(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

struct ssl_st *admin_tls_accept(struct ssl_ctx_st *context)
{
    return SSL_new(context);
}
