#include "server/jobs/cron/zone.h"

#include <glib.h>

enum { NAME_MAX_LEN = 64 };

/* GLib would open any file that a path names. */
static bool is_name(struct span name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = (char)name.at[i];
        if (!g_ascii_isalnum(c) && (c == '\0' || !strchr("_+-:/", c)))
            return false;
    }
    return name.len == 0 || (*name.at != '/' && *name.at != ':');
}

struct zone *zone_open(struct span name)
{
    char text[NAME_MAX_LEN + 1];

    if (name.len > NAME_MAX_LEN || !is_name(name))
        return NULL;
    memcpy(text, name.len > 0 ? (const char *)name.at : "UTC", name.len > 0 ? name.len : 3);
    text[name.len > 0 ? name.len : 3] = '\0';
    return (struct zone *)g_time_zone_new_identifier(text);
}

void zone_close(struct zone *z)
{
    if (z)
        g_time_zone_unref((GTimeZone *)z);
}

static GTimeZone *inner(const struct zone *z)
{
    return (GTimeZone *)(uintptr_t)z;
}

int64_t zone_local(const struct zone *z, int64_t unix_s)
{
    gint interval = g_time_zone_find_interval(inner(z), G_TIME_TYPE_UNIVERSAL, unix_s);
    return unix_s + g_time_zone_get_offset(inner(z), interval);
}

/* Daylight time comes before standard time where a clock is set back. */
int64_t zone_unix(const struct zone *z, int64_t local)
{
    gint64 at = local;
    gint interval = g_time_zone_adjust_time(inner(z), G_TIME_TYPE_DAYLIGHT, &at);
    return at - g_time_zone_get_offset(inner(z), interval);
}
