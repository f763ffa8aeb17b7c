#include "server/file_rights.h"

#include <sys/stat.h>

#include "base/log.h"
#include "server/config/module_path.h"

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
    look_secret(w, "store", c->store);
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
