#include <stdarg.h>
#include <string.h>

#include "server/config_parts.h"

void config_origin_text(const struct config_origin *origin, const struct config_key *key,
                        const char *file, char *buf, size_t size)
{
    switch (origin->source) {
    case CONFIG_DEFAULT:
        snprintf(buf, size, "default");
        break;
    case CONFIG_FILE:
        snprintf(buf, size, "%s:%u", file, origin->line);
        break;
    case CONFIG_ENV:
        config_env_name(key, buf, size);
        break;
    case CONFIG_FLAG:
        snprintf(buf, size, "--%s", key->name);
        break;
    }
}

static void put_place(struct config_report *r, const struct config_origin *origin,
                      const struct config_key *key, const char *path)
{
    char place[4096 + 16];

    config_origin_text(origin, key, r->file, place, sizeof place);
    if (origin->source != CONFIG_DEFAULT)
        fprintf(r->out, "%s: ", place);
    bool by_name = origin->source == CONFIG_ENV || origin->source == CONFIG_FLAG;
    if (path && !(by_name && strcmp(path, key->path) == 0))
        fprintf(r->out, "%s: ", path);
}

void config_problem(struct config_report *r, const struct config_origin *origin,
                    const struct config_key *key, const char *path, const char *format, ...)
{
    va_list ap;

    put_place(r, origin, key, path);
    va_start(ap, format);
    vfprintf(r->out, format, ap);
    va_end(ap);
    fputc('\n', r->out);
    r->count++;
}
