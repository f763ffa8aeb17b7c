#include "server/store/postgres/hosts.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#define DEFAULT_PORT "5432" /* libpq's, of an empty one in a list */

struct lists {
    const char *names, *addresses, *ports, *timeout;
};

static void take(struct lists *l, const PQconninfoOption *o)
{
    if (strcmp(o->keyword, "host") == 0)
        l->names = o->val;
    else if (strcmp(o->keyword, "hostaddr") == 0)
        l->addresses = o->val;
    else if (strcmp(o->keyword, "port") == 0)
        l->ports = o->val;
    else if (strcmp(o->keyword, "connect_timeout") == 0)
        l->timeout = o->val;
}

/* The options as libpq would use them, service file and environment included, without connecting:
 * the last word is none that it takes. */
static PQconninfoOption *resolve(const char *where)
{
    const char *const names[] = {"dbname", "target_session_attrs", NULL};
    const char *const values[] = {where, "none", NULL};
    PGconn *pg = PQconnectStartParams(names, values, 1);
    PQconninfoOption *options = pg ? PQconninfo(pg) : NULL;
    PQfinish(pg);
    return options;
}

static uint32_t count_of(const char *list)
{
    uint32_t count = 1;
    for (const char *at = list; (at = strchr(at, ',')); at++)
        count++;
    return count;
}

/* The n-th word of a list; of a list of one word that one. */
static void word(const char *list, uint32_t n, char *out, size_t size)
{
    const char *at = list ? list : "";
    for (n = count_of(at) == 1 ? 0 : n; n > 0 && (at = strchr(at, ',')); n--)
        at++;
    snprintf(out, size, "%.*s", at ? (int)strcspn(at, ",") : 0, at ? at : "");
}

static void add(struct hosts *h, const struct host *host)
{
    if (h->count < HOSTS_MAX)
        h->list[h->count++] = *host;
}

static bool is_folder(const char *name)
{
    return name[0] == '/' || name[0] == '@';
}

static void add_each(struct hosts *h, struct host *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!host->name[0] || host->address[0] || is_folder(host->name) ||
        getaddrinfo(host->name, NULL, &hints, &found) != 0) {
        add(h, host);
        return;
    }
    for (const struct addrinfo *a = found; a; a = a->ai_next)
        if (getnameinfo(a->ai_addr, a->ai_addrlen, host->address, sizeof host->address, NULL, 0,
                        NI_NUMERICHOST) == 0)
            add(h, host);
    freeaddrinfo(found);
}

static ao_time timeout_of(const char *text, ao_time otherwise)
{
    long seconds = text ? strtol(text, NULL, 10) : 0;
    return seconds > 0 && seconds < 1000 ? AO_S((ao_time)seconds) : otherwise;
}

void hosts_of(const char *where, ao_time otherwise, struct hosts *out)
{
    struct lists l = {0};
    PQconninfoOption *options = resolve(where);
    *out = (struct hosts){0};
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        take(&l, o);
    const char *list = l.addresses && *l.addresses ? l.addresses : l.names;
    uint32_t count = list ? count_of(list) : 1;
    for (uint32_t n = 0; n < count; n++) {
        struct host host = {0};
        word(l.names, n, host.name, sizeof host.name);
        word(l.addresses, n, host.address, sizeof host.address);
        word(l.ports, n, host.port, sizeof host.port);
        /* A URL of several hosts has a list of empty ports, which fits no single host. */
        if (l.ports && *l.ports && !host.port[0])
            memcpy(host.port, DEFAULT_PORT, sizeof DEFAULT_PORT);
        add_each(out, &host);
    }
    out->timeout = timeout_of(l.timeout, otherwise);
    PQconninfoFree(options);
    if (out->count == 0)
        out->count = 1;
}
