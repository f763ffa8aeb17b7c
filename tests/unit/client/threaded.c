#include "tests/unit/client/threaded.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/certificates.h"

#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/scanner.h"

enum { MESSAGE_MAX = 1 << 16 };

/* ---- serving ---- */

struct served {
    int fd;
    SSL *ssl; /* NULL for plain */
};

static int receive(struct served *c, uint8_t *to, size_t room)
{
    return c->ssl != NULL ? SSL_read(c->ssl, to, (int)room) : (int)recv(c->fd, to, room, 0);
}

static void answer(struct threaded *t, struct served *c, const struct envelope *e)
{
    uint8_t bytes[METHOD_NAME_MAX + 64];
    uint8_t *end = enc_response_head(bytes, e->msgid);
    unsigned tries = span_is(e->method, "third time") ? ++t->tries : 0;
    if (tries == 1)
        shutdown(c->fd, SHUT_RDWR);
    if (span_is(e->method, "silence") || tries == 1 ||
        memmem(e->params.at, e->params.len, "silence", 7) != NULL)
        return;
    if (span_is(e->method, "task.watch"))
        usleep(900); /* and what it takes to wake up */
    if (tries == 2)
        end = enc_nil(enc_str(end - 1, span_text("DRAINING: about to stop")));
    else if (span_is(e->method, "fail"))
        end = enc_nil(enc_str(end - 1, span_text("FAILED: as asked")));
    else
        end = enc_str(end, e->method);
    if (c->ssl != NULL)
        SSL_write(c->ssl, bytes, (int)(end - bytes));
    else
        send(c->fd, bytes, (size_t)(end - bytes), MSG_NOSIGNAL);
}

static void serve(struct threaded *t, struct served *c)
{
    const struct scan_limits limits = {MESSAGE_MAX, 32};
    uint8_t *bytes = malloc(MESSAGE_MAX);
    size_t len = 0;
    struct scanner scanner;
    int n;
    scanner_init(&scanner);
    while ((n = receive(c, bytes + len, MESSAGE_MAX - len)) > 0) {
        len += (size_t)n;
        while (scanner_run(&scanner, &limits, span_of(bytes, len)) == SCAN_WHOLE) {
            struct envelope e;
            const char *why;
            if (envelope_read(span_of(bytes, scanner.done), &e, &why) == ENVELOPE_OK &&
                e.type == ENVELOPE_REQUEST)
                answer(t, c, &e);
            else
                t->notifications++;
            len -= scanner.done;
            memmove(bytes, bytes + scanner.done, len);
            scanner_init(&scanner);
        }
    }
    free(bytes);
}

static SSL_CTX *new_context(const struct threaded *t)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_chain_file(context, t->certificate);
    SSL_CTX_use_PrivateKey_file(context, t->key, SSL_FILETYPE_PEM);
    return context;
}

static void *accept_all(void *arg)
{
    struct threaded *t = arg;
    SSL_CTX *context = t->kind == THREADED_TLS ? new_context(t) : NULL;
    sigset_t pipe_signal; /* OpenSSL's; in this thread alone, for the library must raise none */
    int fd;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    while ((fd = accept(t->listener, NULL, NULL)) >= 0) {
        struct served c = {.fd = fd, .ssl = context != NULL ? SSL_new(context) : NULL};
        if (c.ssl != NULL)
            SSL_set_fd(c.ssl, fd);
        if (c.ssl == NULL || SSL_accept(c.ssl) == 1)
            serve(t, &c);
        SSL_free(c.ssl);
        close(fd);
    }
    SSL_CTX_free(context);
    return NULL;
}

/* ---- life ---- */

static void listen_tcp(struct threaded *t)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    t->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(t->listener, (struct sockaddr *)&address, len), 0);
    getsockname(t->listener, (struct sockaddr *)&address, &len);
    snprintf(t->url, sizeof t->url, "ergon%s://127.0.0.1:%u", t->kind == THREADED_TLS ? "s" : "",
             ntohs(address.sin_port));
}

static void listen_unix(struct threaded *t)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, t->path, strlen(t->path) + 1);
    t->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(t->listener, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(t->url, sizeof t->url, "unix://%s", t->path);
}

void threaded_start(struct threaded *t, enum threaded_kind kind)
{
    *t = (struct threaded){.kind = kind, .folder = "/tmp/ergon-test-XXXXXX"};
    assert_non_null(mkdtemp(t->folder));
    snprintf(t->certificate, sizeof t->certificate, "%s/cert.pem", t->folder);
    snprintf(t->key, sizeof t->key, "%s/key.pem", t->folder);
    snprintf(t->path, sizeof t->path, "%s/socket", t->folder);
    certificate_make(t->certificate, t->key, "test");
    if (kind == THREADED_UNIX)
        listen_unix(t);
    else
        listen_tcp(t);
    assert_int_equal(listen(t->listener, 16), 0);
    assert_int_equal(pthread_create(&t->thread, NULL, accept_all, t), 0);
}

void threaded_stop(struct threaded *t)
{
    if (t->listener < 0)
        return;
    shutdown(t->listener, SHUT_RDWR); /* wakes accept() */
    pthread_join(t->thread, NULL);
    close(t->listener);
    t->listener = -1;
    unlink(t->certificate);
    unlink(t->key);
    unlink(t->path);
    rmdir(t->folder);
}
