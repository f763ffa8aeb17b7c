/* The TLS stream: OpenSSL over buffers of its loop.
 *
 * One read() brings many records, which OpenSSL takes from the loop's `in` through a BIO of ours;
 * what it wants to send gathers in the loop's `out` and goes in one send().  Both are empty between
 * calls: what the socket does not take is kept in the stream's own `backlog`, and input that the
 * caller had no room for in its own `rest`. */
#include "server/net/stream/tls_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/x509.h>

enum {
    TLS_IN = 32768,        /* ciphertext of one read() */
    TLS_GATHER = 16384,    /* plaintext of one record */
    TLS_WRITE_MAX = 65536, /* plaintext taken by one writev() */
    TLS_READS = 4,         /* read() calls in one call, when records come in pieces */
    RECORD_HEAD = 5,       /* type, version, length */
    RECORD_OF_HANDSHAKE = 22,
    MESSAGE_HEAD = 4,      /* type, length */
    MESSAGE_OF_CLIENT = 1, /* ClientHello */
    HELLO_MAX = 16384,     /* bytes of a record, or of a ClientHello with its records' heads; what
                            * says more OpenSSL is asked about */
    HELLO_FREE = 512,      /* bytes that are kept of it without counting as a handshake */
    FRAGMENT_OF_HANDSHAKE = 4096 /* bytes of a record until it is done: its buffer is as large */
};

struct tls_state {
    SSL *ssl;         /* NULL until the first record has come */
    SSL_CTX *context; /* a reference */
    struct tls_loop *loop;
    struct span in;            /* ciphertext not yet taken by OpenSSL; valid within one call */
    struct tls_buffer rest;    /* ciphertext kept from the last call */
    struct tls_buffer backlog; /* ciphertext that the socket did not take */
    bool connects;             /* we are the client */
    bool established;          /* the handshake is done, and nothing failed since */
    bool cut_off;              /* the peer's FIN came without the alert that must precede it */
    int ended;                 /* what the next read returns, STREAM_EOF or _ERROR; 0: go on */
};

static bool buffer_resize(struct tls_buffer *b, size_t capacity)
{
    uint8_t *bigger = realloc(b->at, capacity);

    if (bigger == NULL)
        return false;
    b->at = bigger;
    b->capacity = capacity;
    return true;
}

static bool buffer_append(struct tls_buffer *b, struct span bytes)
{
    if (b->capacity - b->len < bytes.len && !buffer_resize(b, 2 * b->capacity + bytes.len))
        return false;
    if (bytes.len > 0)
        memcpy(b->at + b->len, bytes.at, bytes.len);
    b->len += bytes.len;
    return true;
}

static void buffer_release(struct tls_buffer *b)
{
    free(b->at);
    *b = (struct tls_buffer){0};
}

/* --- The BIO --- */

static int bio_read(BIO *bio, char *buf, size_t size, size_t *done)
{
    struct tls_state *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (t->in.len == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    *done = size < t->in.len ? size : t->in.len;
    memcpy(buf, t->in.at, *done);
    t->in.at += *done;
    t->in.len -= *done;
    return 1;
}

static int bio_write(BIO *bio, const char *buf, size_t size, size_t *done)
{
    struct tls_state *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (!buffer_append(&t->loop->out, span_of(buf, size)))
        return 0;
    *done = size;
    return 1;
}

static long bio_control(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loop");

    if (m != NULL) {
        BIO_meth_set_read_ex(m, bio_read);
        BIO_meth_set_write_ex(m, bio_write);
        BIO_meth_set_ctrl(m, bio_control);
        BIO_meth_set_create(m, bio_create);
    }
    return m;
}

/* OpenSSL wants an empty queue before a call that may fail; to look costs less than to clear. */
static void clear_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

/* --- Ciphertext to and from the socket --- */

static ssize_t fill(struct stream *s)
{
    struct tls_state *t = s->state;
    ssize_t n = stream_fd_read(s, t->loop->in, TLS_IN);

    if (n > 0)
        t->in = span_of(t->loop->in, (size_t)n);
    return n;
}

/* Sends what OpenSSL has written.  0, STREAM_WANT_WRITE with all of it in the backlog, or
 * STREAM_ERROR. */
static int send_out(struct stream *s)
{
    struct tls_state *t = s->state;
    struct tls_buffer *from = t->backlog.len > 0 ? &t->backlog : &t->loop->out;

    if (from == &t->backlog &&
        !buffer_append(&t->backlog, span_of(t->loop->out.at, t->loop->out.len)))
        return STREAM_ERROR;
    struct iovec part = {.iov_base = from->at, .iov_len = from->len};
    ssize_t n = from->len == 0 ? 0 : stream_fd_writev(s, &part, 1);
    size_t sent = n > 0 ? (size_t)n : 0;
    bool kept = true;
    if (from == &t->backlog) {
        t->backlog.len -= sent;
        memmove(t->backlog.at, t->backlog.at + sent, t->backlog.len);
    } else if (sent < from->len) {
        kept = buffer_append(&t->backlog, span_of(from->at + sent, from->len - sent));
    }
    t->loop->out.len = 0;
    kept = kept && t->backlog.len <= UINT32_MAX; /* far beyond what anybody has sent */
    s->backlog = (uint32_t)t->backlog.len;
    if (s->backlog == 0)
        buffer_release(&t->backlog);
    if (n == STREAM_ERROR || !kept)
        return STREAM_ERROR;
    return s->backlog > 0 ? STREAM_WANT_WRITE : 0;
}

static int failed(struct stream *s)
{
    struct tls_state *t = s->state;
    unsigned long code = ERR_peek_error();

    t->established = false;
    if (s->error == 0)
        s->error = code != 0 ? (uint32_t)code : ENOMEM;
    clear_errors();
    return STREAM_ERROR;
}

/* Input that the caller has no room for, kept for its next call. */
static bool keep_rest(struct stream *s)
{
    struct tls_state *t = s->state;
    struct tls_buffer old = t->rest;

    t->rest = (struct tls_buffer){0};
    bool good = t->in.len == 0 || buffer_append(&t->rest, t->in);
    t->in = (struct span){0};
    free(old.at);
    s->more = t->rest.len > 0 || SSL_has_pending(t->ssl) || t->ended != 0;
    return good;
}

/* --- The stream --- */

/* OpenSSL's object with its buffers is fifty times as large as what a peer that says nothing costs
 * otherwise, so there is none until its ClientHello has come. */
static bool make_ssl(struct stream *s)
{
    struct tls_state *t = s->state;

    t->ssl = SSL_new(t->context);
    BIO *bio = t->ssl == NULL ? NULL : BIO_new_ex(t->loop->library, t->loop->method);
    if (bio == NULL) {
        SSL_free(t->ssl);
        t->ssl = NULL;
        return false;
    }
    BIO_set_data(bio, t);
    SSL_set_bio(t->ssl, bio, bio);
    (t->connects ? SSL_set_connect_state : SSL_set_accept_state)(t->ssl);
    SSL_set_max_send_fragment(t->ssl, FRAGMENT_OF_HANDSHAKE);
    return true;
}

/* The ClientHello as far as it has come, gathered from its records. */
struct hello {
    uint8_t head[MESSAGE_HEAD];
    size_t got; /* bytes of it */
};

static bool is_whole(const struct hello *h)
{
    size_t len = (size_t)h->head[1] << 16 | (size_t)h->head[2] << 8 | h->head[3];

    return h->got >= MESSAGE_HEAD &&
           (h->head[0] != MESSAGE_OF_CLIENT || h->got >= MESSAGE_HEAD + len);
}

static void gather_head(struct hello *h, struct span payload)
{
    for (size_t i = 0; i < payload.len && h->got + i < MESSAGE_HEAD; i++)
        h->head[h->got + i] = payload.at[i];
    h->got += payload.len;
}

/* A whole ClientHello, in one record or in many (RFC 8446, 5.1); or so much that is none that
 * OpenSSL can say what is wrong with it.  In many, too: OpenSSL that has begun with the first takes
 * all of its memory while it waits for the others. */
static bool can_begin(struct span in)
{
    struct hello hello = {.got = 0};

    if (in.len >= RECORD_HEAD + HELLO_MAX)
        return true;
    while (in.len > 0) {
        if (in.at[0] != RECORD_OF_HANDSHAKE)
            return true;
        if (in.len < RECORD_HEAD)
            return false;
        size_t len = (size_t)in.at[3] << 8 | in.at[4];
        if (in.at[1] != 3 || len == 0 || len > HELLO_MAX)
            return true;
        if (in.len < RECORD_HEAD + len)
            return false;
        gather_head(&hello, span_of(in.at + RECORD_HEAD, len));
        if (is_whole(&hello))
            return true;
        in = span_of(in.at + RECORD_HEAD + len, in.len - RECORD_HEAD - len);
    }
    return false;
}

/* What has come so far, in as much memory as it has bytes. */
static bool keep_hello(struct tls_buffer *kept, struct span bytes)
{
    return buffer_resize(kept, kept->len + bytes.len) && buffer_append(kept, bytes);
}

/* 0: OpenSSL has what it can begin with, in `in`; else an enum stream_result.  What has come of a
 * ClientHello is kept. */
static int await_hello(struct stream *s)
{
    struct tls_state *t = s->state;
    ssize_t n = fill(s);

    if (n <= 0)
        return (int)n;
    if (t->rest.len > 0 || !can_begin(t->in)) {
        bool good = keep_hello(&t->rest, t->in);
        t->in = span_of(t->rest.at, t->rest.len);
        if (!good)
            return failed(s);
    }
    if (!can_begin(t->in)) {
        t->in = (struct span){0};
        return STREAM_WANT_READ;
    }
    return make_ssl(s) ? 0 : failed(s);
}

static int tls_handshake(struct stream *s)
{
    struct tls_state *t = s->state;
    int begun = 0;

    t->in = span_of(t->rest.at, t->rest.len); /* of a handshake that ended, but was not sent */
    if (t->ssl == NULL && (begun = await_hello(s)) != 0)
        return begun;
    for (int reads = 0; reads < TLS_READS; reads++) {
        clear_errors();
        int done = SSL_do_handshake(t->ssl);
        int reason = SSL_get_error(t->ssl, done);
        int sent = send_out(s);
        if (done != 1) { /* what was kept of the ClientHello is taken */
            buffer_release(&t->rest);
            t->in = (struct span){0};
        }
        if (done != 1 && reason != SSL_ERROR_WANT_READ)
            return failed(s);
        if (done == 1 && !keep_rest(s))
            return failed(s);
        if (sent != 0)
            return sent;
        if (done == 1) {
            t->established = true;
            SSL_set_max_send_fragment(t->ssl, TLS_GATHER);
            SSL_set_split_send_fragment(t->ssl, TLS_GATHER);
            return 0;
        }
        ssize_t n = fill(s);
        if (n <= 0)
            return (int)n;
    }
    return STREAM_WANT_READ;
}

/* Decrypts what is there.  Adds to *total. */
static int decrypt(struct stream *s, uint8_t *buf, size_t size, size_t *total)
{
    struct tls_state *t = s->state;
    size_t n;

    clear_errors();
    while (*total < size) {
        if (SSL_read_ex(t->ssl, buf + *total, size - *total, &n) == 1) {
            *total += n;
            if (t->in.len == 0 && !SSL_has_pending(t->ssl))
                return STREAM_WANT_READ; /* known without asking */
            continue;
        }
        int reason = SSL_get_error(t->ssl, 0);
        if (reason == SSL_ERROR_WANT_READ)
            return STREAM_WANT_READ;
        return reason == SSL_ERROR_ZERO_RETURN ? STREAM_EOF : failed(s);
    }
    return STREAM_WANT_READ;
}

static ssize_t tls_read(struct stream *s, uint8_t *buf, size_t size)
{
    struct tls_state *t = s->state;
    bool inside = s->more;
    size_t total = 0;

    if (t->ended != 0)
        return t->ended;
    t->in = span_of(t->rest.at, t->rest.len);
    for (int reads = 0; reads < TLS_READS && total == 0 && t->ended == 0; reads++) {
        if (!inside) {
            ssize_t n = fill(s);
            if (n <= 0) {
                t->ended = n == STREAM_WANT_READ ? 0 : (int)n;
                t->cut_off = n == STREAM_EOF;
                break;
            }
        }
        inside = false;
        int end = decrypt(s, buf, size, &total);
        t->ended = end == STREAM_WANT_READ ? 0 : end;
    }
    int sent = send_out(s); /* alerts, answers to a change of keys */
    if (!keep_rest(s) || sent == STREAM_ERROR)
        return failed(s);
    if (total > 0)
        return (ssize_t)total;
    return t->ended != 0 ? t->ended : STREAM_WANT_READ;
}

/* Copies plaintext from the parts, from byte `from` of them on, until the record is full. */
static size_t gather(struct tls_loop *l, const struct iovec *parts, int count, size_t from)
{
    size_t len = 0;

    for (int i = 0; i < count && len < TLS_GATHER; i++) {
        if (from >= parts[i].iov_len) {
            from -= parts[i].iov_len;
            continue;
        }
        size_t n = parts[i].iov_len - from;
        n = n < TLS_GATHER - len ? n : TLS_GATHER - len;
        memcpy(l->gather + len, (const uint8_t *)parts[i].iov_base + from, n);
        len += n;
        from = 0;
    }
    return len;
}

static ssize_t tls_writev(struct stream *s, const struct iovec *parts, int count)
{
    struct tls_state *t = s->state;
    size_t taken = 0;
    size_t n;
    int sent = s->backlog > 0 ? send_out(s) : 0;

    if (sent != 0 || count == 0)
        return sent;
    while (taken < TLS_WRITE_MAX && (n = gather(t->loop, parts, count, taken)) > 0) {
        size_t done;
        clear_errors();
        if (SSL_write_ex(t->ssl, t->loop->gather, n, &done) != 1)
            return failed(s);
        taken += done;
    }
    return send_out(s) == STREAM_ERROR ? failed(s) : (ssize_t)taken;
}

/* A peer that closes one direction of TLS announces it by an alert (RFC 8446, 6.1).  Where that is
 * missing, the peer's system has closed the socket of a process that has ended. */
static bool tls_left(const struct stream *s, unsigned period)
{
    const struct tls_state *t = s->state;

    return t->cut_off || stream_fd_left(s, period);
}

static void send_close_notify(struct stream *s)
{
    struct tls_state *t = s->state;

    if (!t->established || s->error != 0)
        return;
    t->established = false;
    clear_errors();
    SSL_shutdown(t->ssl);
    send_out(s);
    clear_errors();
}

static void tls_shut(struct stream *s)
{
    send_close_notify(s);
    stream_fd_shut(s);
}

static void tls_close(struct stream *s)
{
    struct tls_state *t = s->state;

    send_close_notify(s);
    t->loop->out.len = 0;
    SSL_free(t->ssl);
    SSL_CTX_free(t->context);
    buffer_release(&t->rest);
    buffer_release(&t->backlog);
    free(t);
    s->state = NULL;
    stream_fd_close(s);
}

/* NULL for what is the system's: an errno, as it is or in OpenSSL's wrapping. */
static const char *reason_of(const struct stream *s)
{
    return s->error < 4096 ? NULL : ERR_reason_error_string(s->error);
}

static long verdict_of(const struct stream *s)
{
    const struct tls_state *t = s->state;

    return t == NULL || t->ssl == NULL ? X509_V_OK : SSL_get_verify_result(t->ssl);
}

bool tls_is_peers_error(const struct stream *s)
{
    return reason_of(s) != NULL && !tls_lacks_a_list(verdict_of(s)) &&
           ERR_GET_REASON(s->error) != ERR_R_MALLOC_FAILURE;
}

static void tls_explain(const struct stream *s, char *buf, size_t size)
{
    const char *reason = reason_of(s);
    char text[96];

    if (reason == NULL)
        reason = strerror_r((int)(s->error & 4095), text, sizeof text);
    long verdict = verdict_of(s);
    bool refused = verdict != X509_V_OK && s->error >= 4096;
    snprintf(buf, size, "%s%s%s", reason, refused ? ": " : "",
             refused ? X509_verify_cert_error_string(verdict) : "");
}

static const struct stream_class tls_class = {
    .name = "tls",
    .handshake = tls_handshake,
    .read = tls_read,
    .writev = tls_writev,
    .watch = stream_fd_watch,
    .left = tls_left,
    .ask_often = stream_fd_ask_often,
    .unheard = stream_fd_unheard,
    .shut = tls_shut,
    .close = tls_close,
    .explain = tls_explain,
};

bool tls_open(struct stream *s, struct tls_context *context, int fd,
              const struct poller_watcher *watcher)
{
    SSL_CTX *ssl_context = tls_context_ssl(context);
    struct tls_state *t = calloc(1, sizeof *t);

    if (t == NULL)
        return false;
    SSL_CTX_up_ref(ssl_context);
    t->context = ssl_context;
    t->loop = SSL_CTX_get_app_data(ssl_context);
    stream_fd_open(s, &tls_class, fd, watcher);
    s->state = t;
    return true;
}

bool tls_connect(struct stream *s, struct tls_context *context, int fd,
                 const struct poller_watcher *watcher)
{
    if (!tls_open(s, context, fd, watcher))
        return false;
    struct tls_state *t = s->state;
    t->connects = true;
    if (make_ssl(s)) {
        tls_context_resume(t->ssl);
        return true;
    }
    SSL_CTX_free(t->context);
    free(t);
    return false;
}

enum tls_name tls_peer_name(const struct stream *s, char *buf, size_t size)
{
    const struct tls_state *t = s->state;

    return tls_name_of(s->cls == &tls_class ? SSL_get0_peer_certificate(t->ssl) : NULL, buf, size);
}

/* From here on it goes by this one: what changes next is compared with it. */
static void go_by(struct tls_state *t, SSL_CTX *ctx)
{
    SSL_CTX_up_ref(ctx);
    SSL_CTX_free(t->context);
    t->context = ctx;
}

static const char *verify_again(const SSL *ssl, SSL_CTX *ctx)
{
    const struct tls_shown shown = tls_shown_by(ssl);

    return tls_verify_again(&shown, ctx);
}

enum tls_trusted tls_trusts(struct stream *s, struct tls_context *context, const char **why)
{
    struct tls_state *t = s->state;
    SSL_CTX *ctx = tls_context_ssl(context);

    if (s->cls != &tls_class || t == NULL || t->context == ctx)
        return TLS_TRUST_STANDS;
    if (memcmp(tls_context_trust(t->context)->id, tls_context_trust(ctx)->id, SHA256_SIZE) == 0)
        return TLS_TRUST_STANDS;
    *why = t->established ? verify_again(t->ssl, ctx)
           : t->ssl == NULL
               ? NULL
               : "certificates were read again within its handshake: it may come again";
    if (*why != NULL)
        return TLS_TRUST_LOST;
    go_by(t, ctx);
    return TLS_TRUST_VERIFIED;
}

bool tls_shakes(const struct stream *s)
{
    const struct tls_state *t = s->state;

    if (s->cls != &tls_class || t == NULL)
        return false;
    return t->ssl == NULL ? t->rest.capacity > HELLO_FREE : !t->established;
}

const char *tls_version(const struct stream *s)
{
    const struct tls_state *t = s->state;

    return s->cls == &tls_class && t != NULL && t->established ? SSL_get_version(t->ssl) : NULL;
}

bool tls_was_resumed(const struct stream *s)
{
    const struct tls_state *t = s->state;

    return s->cls == &tls_class && t != NULL && t->established && SSL_session_reused(t->ssl) == 1;
}

/* --- What the streams of a loop share --- */

struct tls_loop *tls_loop_new(struct activator *activator, const struct tls_loop *first)
{
    struct tls_loop *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->activator = activator;
    l->library = OSSL_LIB_CTX_new();
    l->ticket_cipher = EVP_CIPHER_fetch(l->library, "AES-256-CBC", NULL);
    l->method = bio_method();
    l->in = malloc(TLS_IN);
    l->gather = malloc(TLS_GATHER);
    bool keys = true;
    if (first != NULL)
        l->keys = first->keys;
    else
        keys = ticket_keys_init(&l->keys, activator != NULL ? activator_now(activator) : 0);
    if (l->library != NULL && l->ticket_cipher != NULL && l->method != NULL && l->in != NULL &&
        l->gather != NULL && keys)
        return l;
    tls_loop_free(l);
    return NULL;
}

void tls_loop_free(struct tls_loop *l)
{
    if (l == NULL)
        return;
    crypto_wipe(&l->keys, sizeof l->keys);
    BIO_meth_free(l->method);
    EVP_CIPHER_free(l->ticket_cipher);
    OSSL_LIB_CTX_free(l->library);
    free(l->in);
    free(l->gather);
    free(l->out.at);
    free(l);
}
