/* Listeners: their sockets, made from a URL, their rules and their certificates.  Set-up and
 * tear-down; one thread. */
#include "server/net/accept/acceptor_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/net/auth/crypto.h"
#include "server/net/auth/principal.h"

enum {
    BACKLOG = 4096,     /* the system lowers it to its own limit */
    KEEPALIVE_ASKS = 3, /* without an answer: then the peer is gone */
    SOCKET_TYPE = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC
};

/* --- Sockets --- */

static int fail(int fd, char *error, size_t size, const char *what, int code)
{
    char text[96];

    snprintf(error, size, "%s: %s", what, strerror_r(code, text, sizeof text));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* On Linux an accepted socket inherits these, which saves system calls for each connection. */
static void set_tcp_options(int fd, int family, int keepalive)
{
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepalive > 0) {
        set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive);
        set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keepalive);
        set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_ASKS);
    }
    if (family == AF_INET6)
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0); /* [::] is for everybody */
}

static void real_port(int fd, struct url *url)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_INET6)
        url->port = ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    else
        url->port = ntohs(((const struct sockaddr_in *)&address)->sin_port);
}

static int open_address(const struct addrinfo *a, struct url *url, int keepalive, char *error,
                        size_t size)
{
    char place[sizeof url->host + 40];
    int fd = socket(a->ai_family, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %.*s port %u", (int)sizeof url->host, url->host,
             url->port);
    if (fd < 0)
        return fail(fd, error, size, place, errno);
    set_tcp_options(fd, a->ai_family, keepalive);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return fail(fd, error, size, place, errno);
    real_port(fd, url);
    return fd;
}

static int open_tcp(struct url *url, int keepalive, char *error, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char port[8];

    if (url->kind != URL_HOST_NAME)
        hints.ai_flags |= AI_NUMERICHOST;
    snprintf(port, sizeof port, "%u", url->port);
    int code = getaddrinfo(url->host, port, &hints, &found);
    if (code != 0) {
        snprintf(error, size, "cannot find the address of \"%s\": %s", url->host,
                 gai_strerror(code));
        return -1;
    }
    int fd = open_address(found, url, keepalive, error, size);
    freeaddrinfo(found);
    return fd;
}

/* Does somebody listen there? */
static bool is_alive(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd < 0)
        return true;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;
    close(fd);
    return !refused;
}

/* What stands where the socket should be is removed only if it is left over from a server that did
 * not end well: nothing but a socket, and nobody listens.  NULL, or why it stays. */
static const char *make_way(const struct sockaddr_un *address)
{
    struct stat status;

    if (lstat(address->sun_path, &status) != 0)
        return "something was there a moment ago; try again";
    if (!S_ISSOCK(status.st_mode))
        return "there is a file that is no socket; move it away, or choose another path";
    if (is_alive(address))
        return "another server listens there";
    unlink(address->sun_path);
    return NULL;
}

static bool bind_path(int fd, const struct sockaddr_un *address)
{
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
}

static bool bind_unix(int fd, const struct sockaddr_un *address, char *error, size_t size)
{
    char text[96];

    if (bind_path(fd, address))
        return true;
    const char *why =
        errno == EADDRINUSE ? make_way(address) : strerror_r(errno, text, sizeof text);
    if (why == NULL && bind_path(fd, address))
        return true;
    if (why == NULL)
        why = strerror_r(errno, text, sizeof text);
    snprintf(error, size, "cannot listen at %s: %s", address->sun_path, why);
    return false;
}

/* Which file it is, so that no other one is removed at the end. */
static void note_file(struct listener *l)
{
    struct stat status;

    if (lstat(l->url.path, &status) != 0)
        return;
    l->device = status.st_dev;
    l->inode = status.st_ino;
}

static void remove_file(const struct listener *l)
{
    struct stat status;

    if (lstat(l->url.path, &status) == 0 && status.st_dev == l->device && status.st_ino == l->inode)
        unlink(l->url.path);
}

static int open_unix(struct listener *l, uint32_t mode, char *error, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char place[sizeof address.sun_path + 32];
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %s", l->url.path);
    memcpy(address.sun_path, l->url.path, strlen(l->url.path) + 1);
    if (fd < 0)
        return fail(fd, error, size, place, errno);
    if (!bind_unix(fd, &address, error, size)) {
        close(fd);
        return -1;
    }
    note_file(l);
    /* Nobody can connect before listen(), so the mode is never wider than asked for. */
    if (chmod(l->url.path, (mode_t)mode) != 0 || listen(fd, BACKLOG) != 0) {
        int code = errno;
        remove_file(l);
        return fail(fd, error, size, place, code);
    }
    return fd;
}

/* Binds and listens, non-blocking: l->fd, and l->url with the real port.  -1 with a text.  A Unix
 * socket that nobody listens at any more is replaced. */
static int open_socket(struct listener *l, uint32_t unix_mode, char *error, size_t size)
{
    int keepalive = (int)(l->acceptor->limits.keepalive / AO_S(1));

    l->fd = l->url.scheme == URL_UNIX ? open_unix(l, unix_mode, error, size)
                                      : open_tcp(&l->url, keepalive, error, size);
    return l->fd < 0 ? -1 : 0;
}

/* --- Rules and certificates --- */

static const char *copy(const char *text, bool *good)
{
    const char *copied = text == NULL ? NULL : strdup(text);

    *good = *good && (copied == NULL) == (text == NULL);
    return copied;
}

static bool copy_rules(struct listener *l, const struct listener_options *o)
{
    const struct tls_files *f = &o->tls;
    bool good = true;

    l->limit = o->connections;
    l->rules.url = l->text;
    l->rules.auth = o->auth;
    l->rules.raw = o->raw;
    l->rules.penalties = o->penalties;
    l->rules.idle_timeout = o->idle_timeout;
    l->rules.methods = copy(o->methods, &good);
    l->rules.index = (uint8_t)l->acceptor->listener_count;
    l->files = (struct tls_files){.cert = copy(f->cert, &good),
                                  .key = copy(f->key, &good),
                                  .client_ca = copy(f->client_ca, &good),
                                  .crl = copy(f->crl, &good),
                                  .key_password = copy(f->key_password, &good),
                                  .client_cert = f->client_cert,
                                  .min_tls13 = f->min_tls13};
    return good;
}

static int open_contexts(struct listener *l, char *error, size_t size)
{
    struct acceptor *a = l->acceptor;

    l->rules.contexts = calloc(a->loop_count, sizeof(struct tls_context *));
    if (l->rules.contexts == NULL)
        return snprintf(error, size, "out of memory"), -1;
    for (uint32_t i = 0; i < a->loop_count; i++) {
        struct net_loop *loop = a->links[i].loop;
        if (loop->tls == NULL)
            loop->tls = tls_loop_new(loop->activator, a->links[0].loop->tls);
        l->rules.contexts[i] = tls_context_new(loop->tls, &l->files, error, size);
        if (l->rules.contexts[i] == NULL)
            return -1;
    }
    return 0;
}

/* Who calls there has to be known by the user's name. */
static bool open_users(struct listener *l)
{
    struct acceptor *a = l->acceptor;

    l->names = l->url.scheme == URL_UNIX && l->rules.auth != LISTENER_AUTH_TOKEN;
    if (l->names && a->users == NULL)
        a->users = users_open(&a->returns, users_ask_system, a->penalties.seed, NAMES_PATIENCE);
    return !l->names || a->users != NULL;
}

/* --- Their life --- */

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    (void)fd;
    (void)what;
    l->ready = true;
    ao_wake(&l->acceptor->ao); /* it may sleep until somebody has waited long enough for a name */
    ao_activate(&l->acceptor->ao);
}

static int open_listener(struct listener *l, const struct listener_options *o, char *error,
                         size_t size)
{
    struct acceptor *a = l->acceptor;
    const char *wrong = url_parse(o->url, URL_LISTEN, &l->url);

    if (wrong == NULL && l->url.scheme == URL_TLS && o->tls.cert == NULL)
        wrong = "ergons:// needs a certificate and a key (tls.cert, tls.key)";
    if (wrong == NULL && a->listener_count == LISTENERS_MAX)
        wrong = "there are too many listeners";
    if (wrong == NULL && !copy_rules(l, o))
        wrong = "out of memory";
    if (wrong != NULL)
        return snprintf(error, size, "%s: %s", o->url, wrong), -1;
    if (l->url.scheme == URL_TLS && open_contexts(l, error, size) != 0)
        return -1;
    if (!open_users(l))
        return snprintf(error, size, "%s: no thread for the names of users", o->url), -1;
    if (open_socket(l, o->unix_mode, error, size) != 0)
        return -1;
    url_text(&l->url, l->text, sizeof l->text);
    event_assign(&l->event, a->base, l->fd, EV_READ | EV_PERSIST, on_event, l);
    return 0;
}

void listeners_watch(struct acceptor *a, bool watch)
{
    for (uint32_t i = 0; i < a->listener_count; i++) {
        struct listener *l = a->listeners[i];
        if (l->fd < 0 || l->watched == watch)
            continue;
        if (watch)
            event_add(&l->event, NULL);
        else
            event_del(&l->event);
        l->watched = watch;
    }
}

uint32_t acceptor_count(const struct acceptor *a)
{
    return a->listener_count;
}

const char *acceptor_url(const struct acceptor *a, uint32_t i)
{
    return a->listeners[i]->text;
}

static void listener_close(struct listener *l)
{
    if (l->fd < 0)
        return;
    if (l->watched)
        event_del(&l->event);
    l->watched = false;
    close(l->fd);
    l->fd = -1;
    if (l->url.scheme == URL_UNIX)
        remove_file(l);
}

static void listener_free(struct listener *l)
{
    listener_close(l);
    for (uint32_t i = 0; l->rules.contexts != NULL && i < l->acceptor->loop_count; i++)
        tls_context_unref(l->rules.contexts[i]);
    free(l->rules.contexts);
    free((void *)(uintptr_t)l->rules.methods);
    free((void *)(uintptr_t)l->files.cert);
    free((void *)(uintptr_t)l->files.key);
    free((void *)(uintptr_t)l->files.client_ca);
    free((void *)(uintptr_t)l->files.crl);
    if (l->files.key_password != NULL)
        crypto_wipe((void *)(uintptr_t)l->files.key_password, strlen(l->files.key_password));
    free((void *)(uintptr_t)l->files.key_password);
    free(l);
}

int acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                    size_t size)
{
    struct listener *l = calloc(1, sizeof *l);

    if (l == NULL)
        return snprintf(error, size, "out of memory"), -1;
    l->acceptor = a;
    l->fd = -1;
    if (open_listener(l, options, error, size) != 0) {
        listener_free(l);
        return -1;
    }
    a->listeners[a->listener_count++] = l;
    listeners_watch(a, true);
    return 0;
}

void listeners_close(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_close(a->listeners[i]);
}

void listeners_free(struct acceptor *a)
{
    for (uint32_t i = 0; i < a->listener_count; i++)
        listener_free(a->listeners[i]);
}
