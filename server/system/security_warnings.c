#include "server/system/security_warnings.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/config/module_path.h"

/* ---- files that others may touch ---- */

struct walk {
    bool warns; /* in the log */
    uint32_t found;
};

/* `path` may be NULL. */
static void look(struct walk *w, const char *what, const char *path, mode_t unwanted)
{
    struct stat st;

    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & unwanted) == 0)
        return;
    w->found++;
    if (!w->warns)
        return;
    if (st.st_mode & S_IWOTH)
        log_warn("everybody on this machine may write a file that the server relies on",
                 LOG_STR("path", path), LOG_STR("what", what), LOG_STR("hint", "chmod o-rwx"));
    else
        log_warn("everybody on this machine may read a file that is secret", LOG_STR("path", path),
                 LOG_STR("what", what), LOG_STR("hint", "chmod o-rwx"));
}

static void look_open(struct walk *w, const char *what, const char *path)
{
    look(w, what, path, S_IWOTH);
}

static void look_secret(struct walk *w, const char *what, const char *path)
{
    look(w, what, path, S_IROTH | S_IWOTH);
}

static void look_listener(struct walk *w, const struct config_listener *l)
{
    look_open(w, "certificate", l->cert);
    look_open(w, "authorities of clients", l->client_ca);
    look_open(w, "revoked certificates", l->crl);
    look_secret(w, "key", l->key);
}

static void look_at_all(struct walk *w, const struct config *c)
{
    char module[PATH_MAX];

    look_open(w, "configuration", c->file);
    for (size_t i = 0; i < c->modules.count; i++) {
        module_path_find(c->modules.at[i], module);
        look_open(w, "module", module);
    }
    look_secret(w, "tokens", c->tokens_file);
    look_secret(w, "headers for the collector", c->trace.headers_file);
    look_open(w, "authorities of the collector", c->trace.ca);
    look_secret(w, "store", c->cluster.exists ? NULL : c->store);
    look_secret(w, "key of the node", c->cluster.key);
    look_open(w, "authorities of the cluster", c->cluster.ca);
    look_secret(w, "audit log", c->audit.file);
    for (size_t i = 0; i < c->listener_count; i++)
        look_listener(w, &c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        look_listener(w, &c->admin.listeners[i]);
}

void file_rights_warn(const struct config *c)
{
    look_at_all(&(struct walk){.warns = true}, c);
}

uint32_t file_rights_count(const struct config *c)
{
    struct walk w = {.warns = false};

    look_at_all(&w, c);
    return w.found;
}

/* ---- a database on another machine ---- */

void database_warn(const struct config *c)
{
    if (c->store && c->cluster.exists && url_is_unproven(c->store))
        log_warn("the store's database is on another machine, and nothing proves that it is the "
                 "right one",
                 LOG_STR("hint", "add sslmode=verify-full to the URL, and sslrootcert=FILE"));
}

/* ---- listeners that anybody may use ---- */

static const char unguarded_event[] =
    "anyone who reaches this listener may do everything, to tasks of all "
    "tenants too";
static const char unguarded_hint[] =
    "restrict access by roles, an allow of the listener, or a tokens_file";

/* The same rule as nobody_says() in server/net/connection/admit.c. */
static bool is_unguarded(const struct config *c, const struct config_listener *l)
{
    return l->way.scheme != URL_UNIX && !url_is_local(&l->way) && l->auth == LISTENER_AUTH_NONE &&
           l->allow.count == 0 && !c->tokens_file && c->role_count == 0;
}

static void warn_unguarded(const struct config *c, const struct config_listener *l)
{
    if (is_unguarded(c, l))
        log_warn(unguarded_event, LOG_STR("listener", l->url), LOG_UINT("line", l->origin.line),
                 LOG_STR("hint", unguarded_hint));
}

static void report_unguarded(const struct config *c, const struct config_listener *l)
{
    if (is_unguarded(c, l))
        fprintf(stderr, "%s: %s; %s\n", l->url, unguarded_event, unguarded_hint);
}

static void each_listener(const struct config *c,
                          void (*fn)(const struct config *c, const struct config_listener *l))
{
    for (size_t i = 0; i < c->listener_count; i++)
        fn(c, &c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        fn(c, &c->admin.listeners[i]);
}

void unguarded_warn(const struct config *c)
{
    each_listener(c, warn_unguarded);
}

void unguarded_report(const struct config *c)
{
    each_listener(c, report_unguarded);
}

static bool is_plain(const struct config_listener *l)
{
    return l->way.scheme == URL_TCP && !url_is_local(&l->way);
}

uint32_t unguarded_count(const struct config *c)
{
    uint32_t count = 0;

    for (size_t i = 0; i < c->listener_count; i++)
        count += is_unguarded(c, &c->listeners[i]) || is_plain(&c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        count += is_plain(&c->admin.listeners[i]);
    return count;
}

/* ---- lists of revoked certificates that expire ---- */

enum { NS_PER_S = 1000000000 };

/* Returns the number of expired lists: 0 or 1. */
static uint32_t look_list(const struct config_listener *l, int64_t now,
                          void (*report)(const char *path, const char *text, bool ended))
{
    char text[256];
    int64_t ends;

    if (l->client_cert == CLIENT_CERT_NONE || !l->crl)
        return 0;
    bool read = tls_crl_ends(l->crl, &ends, text, sizeof text);
    bool ended = !read || ends <= now;
    if (read && ends > now + CRL_SOON)
        return 0;
    if (read)
        snprintf(text, sizeof text, "the list of revoked certificates %s %lld hours %s",
                 ended ? "has ended" : "ends in",
                 (long long)((ended ? now - ends : ends - now) / 3600),
                 ended ? "ago: no client gets in with a certificate" : "");
    report(l->crl, text, ended);
    return ended;
}

uint32_t crl_look(const struct config *c, int64_t now,
                  void (*report)(const char *path, const char *text, bool ended))
{
    uint32_t count = 0;

    for (size_t i = 0; i < c->listener_count; i++)
        count += look_list(&c->listeners[i], now, report);
    for (size_t i = 0; i < c->admin.count; i++)
        count += look_list(&c->admin.listeners[i], now, report);
    return count;
}

static void report_to_log(const char *path, const char *text, bool ended)
{
    if (ended)
        log_error("tls.crl", LOG_STR("path", path), LOG_STR("why", text),
                  LOG_STR("hint", "put a new one there and reload"));
    else
        log_warn("tls.crl", LOG_STR("path", path), LOG_STR("why", text),
                 LOG_STR("hint", "put a new one there and reload"));
}

static void report_to_stderr(const char *path, const char *text, bool ended)
{
    (void)ended;
    fprintf(stderr, "tls.crl: %s: %s\n", path, text);
}

static int64_t now(void)
{
    return (int64_t)(clock_wall() / NS_PER_S);
}

void crl_warn(const struct config *c)
{
    crl_look(c, now(), report_to_log);
}

uint32_t crl_report(const struct config *c)
{
    return crl_look(c, now(), report_to_stderr);
}
