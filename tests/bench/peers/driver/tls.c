#include "tests/bench/peers/driver/tls.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

static int keep_ticket(SSL *tls, SSL_SESSION *ticket)
{
    SSL_CTX *context = SSL_get_SSL_CTX(tls);

    SSL_SESSION_free(SSL_CTX_get_app_data(context));
    SSL_CTX_set_app_data(context, ticket);
    return 1;
}

SSL_CTX *tls_context_new(bool tickets)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    if (tickets)
        SSL_CTX_sess_set_new_cb(context, keep_ticket);
    return context;
}

void tls_context_free(SSL_CTX *context)
{
    if (!context)
        return;
    SSL_SESSION_free(tls_take_ticket(context));
    SSL_CTX_free(context);
}

SSL *tls_new(SSL_CTX *context, int fd, SSL_SESSION *ticket)
{
    SSL *tls = SSL_new(context);

    if (tls && SSL_set_fd(tls, fd) == 1 && (!ticket || SSL_set_session(tls, ticket) == 1)) {
        SSL_set_connect_state(tls);
        return tls;
    }
    SSL_free(tls);
    return NULL;
}

void tls_free(SSL *tls)
{
    SSL_free(tls);
}

static bool is_again(int reason)
{
    return reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
}

enum tls_step tls_handshake(SSL *tls)
{
    ERR_clear_error();
    int done = SSL_do_handshake(tls);

    if (done == 1)
        return TLS_DONE;
    return is_again(SSL_get_error(tls, done)) ? TLS_AGAIN : TLS_FAILED;
}

const char *tls_why(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    return reason ? reason : "the server has closed it";
}

/* What did not come to `n` bytes, as errno. */
static ssize_t refused(SSL *tls)
{
    int reason = SSL_get_error(tls, 0);

    if (reason == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (reason != SSL_ERROR_SYSCALL || errno == 0)
        errno = is_again(reason) ? EAGAIN : EPROTO;
    return -1;
}

ssize_t tls_read(SSL *tls, void *to, size_t size)
{
    size_t n;

    ERR_clear_error();
    return SSL_read_ex(tls, to, size, &n) == 1 ? (ssize_t)n : refused(tls);
}

ssize_t tls_write(SSL *tls, const void *from, size_t size)
{
    size_t n;

    ERR_clear_error();
    return SSL_write_ex(tls, from, size, &n) == 1 ? (ssize_t)n : refused(tls);
}

bool tls_has_more(const SSL *tls)
{
    return SSL_has_pending(tls);
}

bool tls_was_resumed(const SSL *tls)
{
    return SSL_session_reused(tls);
}

void tls_close_notify(SSL *tls)
{
    ERR_clear_error();
    SSL_shutdown(tls);
    ERR_clear_error();
}

SSL_SESSION *tls_take_ticket(SSL_CTX *context)
{
    SSL_SESSION *ticket = SSL_CTX_get_app_data(context);

    SSL_CTX_set_app_data(context, NULL);
    return ticket;
}

void tls_ticket_free(SSL_SESSION *ticket)
{
    SSL_SESSION_free(ticket);
}
