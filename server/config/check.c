#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config/sources.h"

static bool is_given(const struct config_listener *l, const char *path)
{
    const struct config_key *key = config_find(&config_listener_keys, path);

    return (l->given >> (key - config_listener_keys.keys)) & 1;
}

/* ---- what follows from other keys ---- */

static void inherit(struct config_report *r, char **own, const char *common)
{
    if (*own || !common)
        return;
    *own = strdup(common);
    if (!*own)
        r->no_memory = true;
}

static enum listener_auth auth_of(const struct config *c, const struct config_listener *l)
{
    if (l->way.scheme == URL_UNIX)
        return LISTENER_AUTH_PEER;
    if (l->way.scheme == URL_TLS && l->client_cert == CLIENT_CERT_REQUIRED)
        return LISTENER_AUTH_CERT;
    return c->tokens_file ? LISTENER_AUTH_TOKEN : LISTENER_AUTH_NONE;
}

static void derive_tls(struct config_report *r, const struct config *c, struct config_listener *l)
{
    bool both = !l->cert && !l->key; /* a certificate of its own has a key of its own */

    if (both) {
        inherit(r, &l->cert, c->tls.cert);
        inherit(r, &l->key, c->tls.key);
    }
    inherit(r, &l->client_ca, c->tls.client_ca);
    if (l->auth == LISTENER_AUTH_CERT && !is_given(l, "tls.client_cert"))
        l->client_cert = CLIENT_CERT_REQUIRED;
}

static void derive_listener(struct config_report *r, const struct config *c,
                            struct config_listener *l)
{
    if (!l->url)
        return;
    (void)url_parse(l->url, URL_LISTEN, &l->way); /* it was taken because this succeeds */
    if (l->way.scheme == URL_TLS)
        derive_tls(r, c, l);
    if ((int)l->auth == CONFIG_AUTH_AUTO)
        l->auth = auth_of(c, l);
    if (!is_given(l, "idle_timeout"))
        l->idle_timeout = c->limits.idle_timeout;
    if (!is_given(l, "insecure"))
        l->insecure = c->insecure;
}

void config_derive(struct config_report *r, struct config *c)
{
    for (size_t i = 0; i < c->listener_count; i++)
        derive_listener(r, c, &c->listeners[i]);
}

/* ---- listeners ---- */

struct subject {
    struct config_report *report;
    const struct config *config;
    const struct config_listener *listener;
    size_t index;
};

__attribute__((format(printf, 3, 4))) static void wrong(const struct subject *s, const char *path,
                                                        const char *format, ...)
{
    char where[64], text[CONFIG_WHY_MAX * 2];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    snprintf(where, sizeof where, "listen[%zu]%s%s", s->index, *path ? "." : "", path);
    config_problem(s->report, &s->listener->origin, config_find(&config_keys, "listen"), where,
                   "%s", text);
}

static void check_reach(const struct subject *s)
{
    const struct config_listener *l = s->listener;

    if (l->insecure || l->way.scheme != URL_TCP || url_is_local(&l->way) ||
        l->auth == LISTENER_AUTH_TOKEN)
        return;
    wrong(s, "",
          "%s can be reached from other machines without TLS and without tokens (use ergons://, "
          "or tokens_file and auth: token, or listen on 127.0.0.1, or accept it with "
          "insecure: true or --insecure)",
          l->url);
}

static void check_tls(const struct subject *s)
{
    const struct config_listener *l = s->listener;

    if (!l->cert)
        wrong(s, "tls.cert", "is missing: ergons:// needs a certificate (here, or tls.cert)");
    if (!l->key)
        wrong(s, "tls.key", "is missing: ergons:// needs a private key (here, or tls.key)");
    if (l->client_cert != CLIENT_CERT_NONE && !l->client_ca)
        wrong(s, "tls.client_ca",
              "is missing: client certificates are checked against it (here, or tls.client_ca)");
}

static void check_no_tls(const struct subject *s)
{
    static const char *const paths[] = {"tls.cert", "tls.key", "tls.client_ca", "tls.client_cert"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (is_given(s->listener, paths[i]))
            wrong(s, paths[i], "has no meaning without TLS (write ergons:// in the URL)");
}

static void check_auth(const struct subject *s)
{
    const struct config_listener *l = s->listener;

    if (l->auth == LISTENER_AUTH_TOKEN && !s->config->tokens_file)
        wrong(s, "auth", "is token, but there is no tokens_file (make a token with: ergon token)");
    if (l->auth == LISTENER_AUTH_PEER && l->way.scheme != URL_UNIX)
        wrong(s, "auth", "is peer, which only a unix:// listener can know");
    if (l->auth == LISTENER_AUTH_CERT && l->way.scheme != URL_TLS)
        wrong(s, "auth", "is cert, which only an ergons:// listener can know");
    if (l->auth == LISTENER_AUTH_CERT && l->way.scheme == URL_TLS &&
        l->client_cert == CLIENT_CERT_NONE)
        wrong(s, "tls.client_cert", "is none, but auth: cert needs one (write required)");
}

static void check_twin(const struct subject *s)
{
    const struct config_listener *l = s->listener;

    for (size_t i = 0; i < s->index; i++) {
        const struct config_listener *other = &s->config->listeners[i];
        if (!other->url || (l->way.scheme != URL_UNIX && l->way.port == 0))
            continue;
        if (l->way.port == other->way.port && strcmp(l->way.host, other->way.host) == 0 &&
            strcmp(l->way.path, other->way.path) == 0)
            wrong(s, "url", "listens where listen[%zu] does already", i);
    }
}

static void check_listener(const struct subject *s)
{
    if (!s->listener->url) {
        wrong(s, "url", "is missing (write url: ergon://127.0.0.1:7466)");
        return;
    }
    check_reach(s);
    if (s->listener->way.scheme == URL_TLS)
        check_tls(s);
    else
        check_no_tls(s);
    check_auth(s);
    check_twin(s);
    if (is_given(s->listener, "mode") && s->listener->way.scheme != URL_UNIX)
        wrong(s, "mode", "is for unix:// listeners only");
}

/* ---- the rest ---- */

static void problem(struct config_report *r, const struct config *c, const char *path,
                    const char *text)
{
    const struct config_key *key = config_find(&config_keys, path);

    config_problem(r, &c->origins[key - config_keys.keys], key, path, "%s", text);
}

static void check_file(struct config_report *r, const struct config *c, const char *key_path,
                       const char *file)
{
    char text[CONFIG_WHY_MAX], why[128];

    if (!file || access(file, R_OK) == 0)
        return;
    snprintf(text, sizeof text, "%.150s: cannot be read: %s", file,
             strerror_r(errno, why, sizeof why));
    problem(r, c, key_path, text);
}

static void check_listener_files(const struct subject *s)
{
    const struct config_listener *l = s->listener;
    const struct {
        const char *path, *file;
    } own[] = {{"tls.cert", l->cert}, {"tls.key", l->key}, {"tls.client_ca", l->client_ca}};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char why[128];
        if (is_given(l, own[i].path) && access(own[i].file, R_OK) != 0)
            wrong(s, own[i].path, "%.150s: cannot be read: %s", own[i].file,
                  strerror_r(errno, why, sizeof why));
    }
}

/* The file need not exist; its folder must, and take new files beside it. */
static void check_store(struct config_report *r, const struct config *c)
{
    char folder[PATH_MAX], text[CONFIG_WHY_MAX], why[128];
    struct stat file;

    if (!c->store)
        return;
    if (stat(c->store, &file) == 0 && !S_ISREG(file.st_mode)) {
        snprintf(text, sizeof text, "%.150s: is no regular file (name one, or one to be made)",
                 c->store);
        problem(r, c, "store", text);
        return;
    }
    snprintf(folder, sizeof folder, "%s", c->store);
    const char *wrong = dirname(folder);
    if (access(wrong, R_OK | W_OK | X_OK) == 0) {
        if (access(c->store, F_OK) != 0 || access(c->store, R_OK | W_OK) == 0)
            return;
        wrong = c->store;
    }
    snprintf(text, sizeof text, "%.150s: cannot be written: %s", wrong,
             strerror_r(errno, why, sizeof why));
    problem(r, c, "store", text);
}

static void check_files(struct config_report *r, const struct config *c)
{
    check_file(r, c, "tokens_file", c->tokens_file);
    check_store(r, c);
    check_file(r, c, "tls.cert", c->tls.cert);
    check_file(r, c, "tls.key", c->tls.key);
    check_file(r, c, "tls.client_ca", c->tls.client_ca);
    for (size_t i = 0; i < c->modules.count; i++)
        check_file(r, c, "modules", c->modules.at[i]);
}

static void check_executor(struct config_report *r, const struct config *c, size_t i)
{
    const struct config_executor *e = &c->executors.list[i];
    const struct config_key *list = config_find(&config_keys, "executors.list");
    char path[64];

    snprintf(path, sizeof path, "executors.list[%zu].loop", i);
    if (e->kind == CONFIG_BLOCKING && e->loop != CONFIG_ANY)
        config_problem(r, &e->origin, list, path,
                       "a blocking executor has a thread of its own and no loop");
    else if (c->loops.count > 0 && e->loop >= (int64_t)c->loops.count)
        config_problem(r, &e->origin, list, path, "there are %u loops, counted from 0",
                       c->loops.count);
}

static void check_tenant(struct config_report *r, const struct config *c, size_t i)
{
    const struct config_tenant *t = &c->tenants[i];
    char path[64];

    snprintf(path, sizeof path, "tenants[%zu].name", i);
    if (!t->name) {
        config_problem(r, &t->origin, config_find(&config_keys, "tenants"), path,
                       "is missing (write name: ada)");
        return;
    }
    for (size_t k = 0; k < i; k++)
        if (c->tenants[k].name && strcmp(c->tenants[k].name, t->name) == 0)
            config_problem(r, &t->origin, config_find(&config_keys, "tenants"), path,
                           "is that of tenants[%zu] already", k);
}

void config_check(struct config_report *r, const struct config *c)
{
    if (c->listener_count == 0)
        problem(r, c, "listen", "names no place to listen at");
    for (size_t i = 0; i < c->listener_count; i++) {
        struct subject s = {r, c, &c->listeners[i], i};
        check_listener(&s);
        check_listener_files(&s);
    }
    for (size_t i = 0; i < c->executors.count; i++)
        check_executor(r, c, i);
    for (size_t i = 0; i < c->tenant_count; i++)
        check_tenant(r, c, i);
    if (c->limits.partial < c->limits.message)
        problem(r, c, "limits.partial",
                "is smaller than limits.message, so no message of that "
                "size could ever arrive (make it larger)");
    check_files(r, c);
}
