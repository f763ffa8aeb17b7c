#include "server/file_rights.h"

#include <sys/stat.h>

#include "base/log.h"
#include "server/config/module_path.h"

/* `path` may be NULL. */
static void look(const char *what, const char *path, mode_t unwanted)
{
    struct stat st;

    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (st.st_mode & unwanted) == 0)
        return;
    if (st.st_mode & S_IWOTH)
        log_warn("everybody on this machine may write a file that the server relies on",
                 LOG_STR("path", path), LOG_STR("what", what), LOG_STR("hint", "chmod o-rwx"));
    else
        log_warn("everybody on this machine may read a file that is secret", LOG_STR("path", path),
                 LOG_STR("what", what), LOG_STR("hint", "chmod o-rwx"));
}

static void look_open(const char *what, const char *path)
{
    look(what, path, S_IWOTH);
}

static void look_secret(const char *what, const char *path)
{
    look(what, path, S_IROTH | S_IWOTH);
}

static void look_listener(const struct config_listener *l)
{
    look_open("certificate", l->cert);
    look_open("authorities of clients", l->client_ca);
    look_open("revoked certificates", l->crl);
    look_secret("key", l->key);
}

void file_rights_warn(const struct config *c)
{
    char module[PATH_MAX];

    look_open("configuration", c->file);
    for (size_t i = 0; i < c->modules.count; i++) {
        module_path_find(c->modules.at[i], module);
        look_open("module", module);
    }
    look_secret("tokens", c->tokens_file);
    look_secret("store", c->store);
    look_secret("audit log", c->audit.file);
    for (size_t i = 0; i < c->listener_count; i++)
        look_listener(&c->listeners[i]);
    for (size_t i = 0; i < c->admin.count; i++)
        look_listener(&c->admin.listeners[i]);
}
