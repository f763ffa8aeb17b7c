/* What follows from other keys, and what no single value shows. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core.h"
#include "server/config/check_cluster.h"
#include "server/config/module_path.h"
#include "server/config/module_spec.h"
#include "server/config/sources.h"

/* What an admin listener does not know is never given. */
static bool is_given(const struct config_listener *l, const char *path)
{
    const struct config_table *table = l->way.http ? &config_admin_keys : &config_listener_keys;
    const struct config_key *key = config_find(table, path);

    return key && ((l->given >> (key - table->keys)) & 1);
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
    inherit(r, &l->crl, c->tls.crl);
    if (l->auth == LISTENER_AUTH_CERT && !is_given(l, "tls.client_cert"))
        l->client_cert = CLIENT_CERT_REQUIRED;
}

static void derive_listener(struct config_report *r, const struct config *c,
                            struct config_listener *l, enum url_use use)
{
    if (!l->url)
        return;
    (void)url_parse(l->url, use, &l->way); /* it was taken because this succeeds */
    if (l->way.scheme == URL_TLS)
        derive_tls(r, c, l);
    if ((int)l->auth == CONFIG_AUTH_AUTO)
        l->auth = auth_of(c, l);
    if (!is_given(l, "idle_timeout"))
        l->idle_timeout = c->net.idle_timeout;
    if (!is_given(l, "insecure"))
        l->insecure = c->insecure;
}

void config_derive(struct config_report *r, struct config *c)
{
    for (size_t i = 0; i < c->listener_count; i++)
        derive_listener(r, c, &c->listeners[i], URL_LISTEN);
    for (size_t i = 0; i < c->admin.count; i++)
        derive_listener(r, c, &c->admin.listeners[i], URL_ADMIN);
    c->cluster.exists = c->store && url_is_postgresql(c->store);
    if (c->cluster.listen)
        (void)url_parse(c->cluster.listen, URL_LISTEN, &c->cluster.way);
}

/* ---- problems ---- */

/* ---- listeners ---- */

static void check_reach(const struct subject *s, const struct config_listener *l)
{
    if (l->insecure || l->way.scheme != URL_TCP || url_is_local(&l->way) ||
        l->auth == LISTENER_AUTH_TOKEN)
        return;
    wrong(s, "",
          "%s can be reached from other machines without TLS and without tokens (use %s, "
          "or tokens_file and auth: token, or listen on 127.0.0.1, or accept it with "
          "insecure: true or --insecure)",
          l->url, l->way.http ? "https://" : "ergons://");
}

static void check_tls(const struct subject *s, const struct config_listener *l)
{
    if (!l->cert)
        wrong(s, "tls.cert", "is missing: %s needs a certificate (here, or tls.cert)",
              l->way.http ? "https://" : "ergons://");
    if (!l->key)
        wrong(s, "tls.key", "is missing: %s needs a private key (here, or tls.key)",
              l->way.http ? "https://" : "ergons://");
    if (l->client_cert != CLIENT_CERT_NONE && !l->client_ca)
        wrong(s, "tls.client_ca",
              "is missing: client certificates are checked against it (here, or tls.client_ca)");
    if (is_given(l, "tls.crl") && l->client_cert == CLIENT_CERT_NONE)
        wrong(s, "tls.crl", "has no meaning without client certificates (tls.client_cert)");
}

static void check_no_tls(const struct subject *s, const struct config_listener *l)
{
    static const char *const paths[] = {"tls.cert", "tls.key", "tls.client_ca", "tls.crl",
                                        "tls.client_cert"};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (is_given(l, paths[i]))
            wrong(s, paths[i], "has no meaning without TLS (write %s in the URL)",
                  l->way.http ? "https://" : "ergons://");
}

static void check_auth(const struct subject *s, const struct config_listener *l)
{
    if (l->auth == LISTENER_AUTH_TOKEN && !s->config->tokens_file)
        wrong(s, "auth", "is token, but there is no tokens_file (make a token with: ergon token)");
    if (l->auth == LISTENER_AUTH_PEER && l->way.scheme != URL_UNIX)
        wrong(s, "auth", "is peer, which only a unix:// listener can know");
    if (l->auth == LISTENER_AUTH_CERT && l->way.scheme != URL_TLS)
        wrong(s, "auth", "is cert, which only an %s listener can know",
              l->way.http ? "https://" : "ergons://");
    if (l->auth == LISTENER_AUTH_CERT && l->way.scheme == URL_TLS &&
        l->client_cert == CLIENT_CERT_NONE)
        wrong(s, "tls.client_cert", "is none, but auth: cert needs one (write required)");
}

static void check_twin(const struct subject *s, const struct config_listener *l)
{
    for (size_t i = 0; i < s->index; i++) {
        const struct config_listener *other =
            l->way.http ? &s->config->admin.listeners[i] : &s->config->listeners[i];
        if (!other->url || (l->way.scheme != URL_UNIX && l->way.port == 0))
            continue;
        if (l->way.port == other->way.port && strcmp(l->way.host, other->way.host) == 0 &&
            strcmp(l->way.path, other->way.path) == 0)
            wrong(s, "url", "listens where %s[%zu] does already", s->list, i);
    }
}

static void check_listener_files(const struct subject *s, const struct config_listener *l)
{
    const struct {
        const char *path, *file;
    } own[] = {{"tls.cert", l->cert},
               {"tls.key", l->key},
               {"tls.client_ca", l->client_ca},
               {"tls.crl", l->crl}};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_given(l, own[i].path))
            check_readable(s, own[i].path, own[i].file);
}

static void check_listener(const struct subject *s, const struct config_listener *l)
{
    if (l->url) {
        check_reach(s, l);
        if (l->way.scheme == URL_TLS)
            check_tls(s, l);
        else
            check_no_tls(s, l);
        check_auth(s, l);
        check_twin(s, l);
        if (is_given(l, "mode") && l->way.scheme != URL_UNIX)
            wrong(s, "mode", "is for unix:// listeners only");
    } else {
        wrong(s, "url", "is missing (write %s)",
              config_find(&config_keys, s->list)->elements->example);
    }
    check_listener_files(s, l);
}

/* They are compared with what browsers send: names, without a port. */
static void check_hosts(const struct subject *s)
{
    for (size_t i = 0; i < s->config->admin.hosts.count; i++) {
        const char *host = s->config->admin.hosts.at[i];
        if (strpbrk(host, "/:@ \t"))
            wrong(s, "admin.hosts", "\"%.100s\": write the name alone, as in ergon.example.org",
                  host);
    }
}

/* ---- the rest ---- */

/* A thread cannot be bound to it. */
static void check_core(const struct subject *s, const char *path, int64_t core)
{
    if (core != CONFIG_ANY && !core_exists(core))
        wrong(s, path,
              "core %" PRId64 " does not exist (this machine has %" PRId64 ", counted from 0)",
              core, core_count());
}

static void check_executor(const struct subject *s, const struct config_executor *e)
{
    uint32_t loops = s->config->loops.count;

    check_core(s, "core", e->core);
    if (e->kind == CONFIG_BLOCKING && e->loop != CONFIG_ANY)
        wrong(s, "loop", "a blocking executor has a thread of its own and no loop");
    else if (loops > 0 && e->loop >= (int64_t)loops)
        wrong(s, "loop", "there are %u loops, counted from 0", loops);
}

static void check_tenant(const struct subject *s, const struct config_tenant *t)
{
    if (!t->name) {
        wrong(s, "name", "is missing (write name: ada)");
        return;
    }
    for (size_t i = 0; i < s->index; i++) {
        const struct config_tenant *other = &s->config->tenants[i];
        if (other->name && strcmp(other->name, t->name) == 0)
            wrong(s, "name", "is that of tenants[%zu] already", i);
    }
}

static bool names_a_mechanism(const char *member)
{
    static const char *const known[] = {"token:", "cert:", "unix:", "address:", "database:"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(member, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

static void check_role(const struct subject *s, const struct config_role *role)
{
    if (!role->name)
        wrong(s, "name", "is missing (write name: operator)");
    if (role->members.count == 0)
        wrong(s, "members", "is missing (write members: [token:alice])");
    if (role->methods.count == 0)
        wrong(s, "methods", "is missing (write methods: [task.*])");
    for (size_t i = 0; i < role->members.count; i++)
        if (!names_a_mechanism(role->members.at[i]))
            wrong(s, "members",
                  "\"%.100s\": write token:, cert:, unix:, address: or database: before the name",
                  role->members.at[i]);
    check_patterns(s, "members", &role->members);
    check_patterns(s, "methods", &role->methods);
    check_patterns(s, "tenants", &role->tenants);
    check_patterns(s, "queues", &role->queues);
    check_patterns(s, "keys", &role->keys);
}

/* The file need not exist; its folder must, and take new files beside it. */
static void check_store(const struct subject *s, const char *store)
{
    char folder[PATH_MAX];
    struct stat file;

    if (!store)
        return;
    if (s->config->cluster.exists) {
        check_database(s);
        return;
    }
    if (stat(store, &file) == 0 && !S_ISREG(file.st_mode)) {
        wrong(s, "store", "%.150s: is no regular file (name one, or one to be made)", store);
        return;
    }
    snprintf(folder, sizeof folder, "%s", store);
    const char *parent = dirname(folder);
    if (access(parent, R_OK | W_OK | X_OK) != 0)
        wrong_file(s, "store", parent, "written");
    else if (access(store, F_OK) == 0 && access(store, R_OK | W_OK) != 0)
        wrong_file(s, "store", store, "written");
}

/* It is made where it is missing. */
static void check_audit(const struct subject *s, const char *file)
{
    char folder[PATH_MAX];

    if (!file)
        return;
    snprintf(folder, sizeof folder, "%s", file);
    const char *parent = dirname(folder);
    if (access(file, F_OK) == 0 ? access(file, W_OK) != 0 : access(parent, W_OK | X_OK) != 0)
        wrong_file(s, "audit.file", file, "written");
}

static void check_recorder(const struct subject *s, const char *directory)
{
    if (directory && access(directory, W_OK | X_OK) != 0)
        wrong_file(s, "recorder.directory", directory, "written");
}

static bool allows(const struct config_texts *calls, const char *name)
{
    for (size_t i = 0; i < calls->count; i++)
        if (strcmp(calls->at[i], name) == 0)
            return true;
    return false;
}

static void check_module(const struct subject *s, const char *text)
{
    const struct config *c = s->config;
    struct module_spec spec;
    char why[CONFIG_WHY_MAX], path[PATH_MAX];

    if (!module_spec_read(text, &spec, why, sizeof why)) {
        wrong(s, "modules", "%s", why);
        return;
    }
    module_path_find(spec.path, path);
    check_readable(s, "modules", path);
    if (spec.is_process && c->sandbox && !allows(&c->sandbox_allow, "execve"))
        wrong(s, "modules",
              "%.150s: the sandbox lets the server start no processes (sandbox_allow: execve; its "
              "processes are in the sandbox all the same)",
              spec.path);
    if (spec.is_process && c->cluster.exists)
        wrong(s, "modules",
              "%.150s: nodes of a cluster run modules in their own process (leave out `process`)",
              spec.path);
}

static void check_files(const struct subject *s)
{
    const struct config *c = s->config;

    check_readable(s, "tokens_file", c->tokens_file);
    check_store(s, c->store);
    check_audit(s, c->audit.file);
    check_recorder(s, c->recorder.directory);
    check_readable(s, "tls.cert", c->tls.cert);
    check_readable(s, "tls.key", c->tls.key);
    check_readable(s, "tls.client_ca", c->tls.client_ca);
    check_readable(s, "tls.crl", c->tls.crl);
    check_readable(s, "trace.ca", c->trace.ca);
    check_readable(s, "trace.headers_file", c->trace.headers_file);
    for (size_t i = 0; i < c->modules.count; i++)
        check_module(s, c->modules.at[i]);
}

/* Those of the list count too: see plan.c. */
static void check_blocking(const struct subject *s)
{
    const struct config *c = s->config;
    uint32_t count = c->executors.blocking_count, most = c->executors.blocking_max;

    if (c->executors.count > 0)
        for (size_t i = count = 0; i < c->executors.count; i++)
            count += c->executors.list[i].kind == CONFIG_BLOCKING;
    if (most > 0 && most < count)
        wrong(
            s, "executors.blocking.max",
            "is smaller than the number of blocking executors (make it as large, or auto: twice as "
            "many)");
}

static void check_memory(const struct subject *s)
{
    uint64_t all = s->config->limits.memory, principal = s->config->limits.principal_memory;
    uint64_t connection = s->config->net.connection_bytes;

    if (all > 0 && principal > all)
        wrong(s, "limits.principal_memory", "is larger than limits.memory (make it smaller)");
    if (principal > 0 && connection > principal)
        wrong(s, "limits.connection_memory",
              "is larger than limits.principal_memory (make it smaller)");
    else if (all > 0 && connection > all)
        wrong(s, "limits.connection_memory", "is larger than limits.memory (make it smaller)");
}

void config_check(struct config_report *r, const struct config *c)
{
    const struct subject whole = {.report = r, .config = c};

    if (c->listener_count == 0)
        wrong(&whole, "listen", "names no place to listen at");
    for (size_t i = 0; i < c->listener_count; i++)
        check_listener(&(struct subject){r, c, "listen", i, &c->listeners[i].origin},
                       &c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        check_listener(&(struct subject){r, c, "admin.listen", i, &c->admin.listeners[i].origin},
                       &c->admin.listeners[i]);
    check_hosts(&whole);
    for (size_t i = 0; i < c->executors.count; i++)
        check_executor(&(struct subject){r, c, "executors.list", i, &c->executors.list[i].origin},
                       &c->executors.list[i]);
    for (size_t i = 0; i < c->loops.cores.count; i++)
        check_core(&whole, "loops.cores", c->loops.cores.at[i]);
    for (size_t i = 0; i < c->tenant_count; i++)
        check_tenant(&(struct subject){r, c, "tenants", i, &c->tenants[i].origin}, &c->tenants[i]);
    for (size_t i = 0; i < c->role_count; i++)
        check_role(&(struct subject){r, c, "roles", i, &c->roles[i].origin}, &c->roles[i]);
    if (c->limits.partial < c->limits.message)
        wrong(&whole, "limits.partial",
              "is smaller than limits.message, so no message of that size could ever arrive (make "
              "it larger)");
    check_cluster(&whole);
    check_memory(&whole);
    check_blocking(&whole);
    check_files(&whole);
}
