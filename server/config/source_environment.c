/* Reads configuration keys from the environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/sources.h"

enum { VARIABLE_MAX = 80, SECRET_MAX = 4096 };

static const struct config_origin from_env = {.source = CONFIG_ENV};

const char *config_getenv(char *const *envp, const char *name)
{
    size_t length = strlen(name);

    for (; envp && *envp; envp++)
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
            return *envp + length + 1;
    return NULL;
}

/* Commas separate the elements; blanks around them do not count. */
static void take_list(struct config_report *r, const struct config_target *t,
                      const struct config_key *key, const char *value)
{
    char *copy = strdup(value), *rest = copy, *item;

    if (!copy) {
        r->no_memory = true;
        return;
    }
    config_replace(t, key, &from_env);
    while ((item = strsep(&rest, ",\n"))) {
        item += strspn(item, " \t");
        for (size_t len = strlen(item); len > 0 && strchr(" \t", item[len - 1]); len--)
            item[len - 1] = '\0';
        if (*item)
            config_take(r, t, key, item, key->path, &from_env);
    }
    free(copy);
}

/* The first line of a file, without its end: what a secret's mount holds. */
static bool read_line(const char *path, char *buf, size_t size)
{
    FILE *in = fopen(path, "re");
    bool good = in && fgets(buf, (int)size, in) != NULL;
    int saved = errno;

    if (in)
        fclose(in);
    if (good)
        buf[strcspn(buf, "\r\n")] = '\0';
    else
        errno = in ? ENODATA : saved;
    return good;
}

static void take_secret_file(struct config_report *r, const struct config_target *t,
                             const struct config_key *key, const char *variable, const char *path)
{
    struct config_origin none = {0};
    char secret[SECRET_MAX], why[128];

    if (read_line(path, secret, sizeof secret))
        config_take(r, t, key, secret, key->path, &from_env);
    else
        config_problem(r, &none, NULL, variable, "%s: cannot be read: %s", path,
                       strerror_r(errno, why, sizeof why));
    explicit_bzero(secret, sizeof secret);
}

static void take_secret(struct config_report *r, const struct config_target *t,
                        const struct config_key *key, char *const *envp, const char *variable)
{
    char of_file[VARIABLE_MAX + sizeof "_FILE"];
    const char *value = config_getenv(envp, variable), *path;

    snprintf(of_file, sizeof of_file, "%s_FILE", variable);
    path = config_getenv(envp, of_file);
    if (value && path)
        config_problem(r, &from_env, key, NULL, "set together with %s; set one of them", of_file);
    else if (value)
        config_take(r, t, key, value, key->path, &from_env);
    else if (path)
        take_secret_file(r, t, key, of_file, path);
}

void config_read_environment(struct config_report *r, struct config *c, char *const *envp)
{
    struct config_target t = config_top(c);

    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        char variable[VARIABLE_MAX];
        const char *value;

        if (!key->name)
            continue;
        config_env_name(key, variable, sizeof variable);
        value = config_getenv(envp, variable);
        if (key->type == &config_secret)
            take_secret(r, &t, key, envp, variable);
        else if (value && config_is_list(key))
            take_list(r, &t, key, value);
        else if (value)
            config_take(r, &t, key, value, key->path, &from_env);
    }
}
