#include "server/crl.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

enum { NS_PER_S = 1000000000 };

/* Returns how many have ended: one or none. */
static uint32_t look(const struct config_listener *l, int64_t now,
                     void (*tell)(const char *path, const char *text, bool ended))
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
    tell(l->crl, text, ended);
    return ended;
}

uint32_t crl_look(const struct config *c, int64_t now,
                  void (*tell)(const char *path, const char *text, bool ended))
{
    uint32_t count = 0;

    for (size_t i = 0; i < c->listener_count; i++)
        count += look(&c->listeners[i], now, tell);
    for (size_t i = 0; i < c->admin.count; i++)
        count += look(&c->admin.listeners[i], now, tell);
    return count;
}

static void tell_log(const char *path, const char *text, bool ended)
{
    if (ended)
        log_error("tls.crl", LOG_STR("path", path), LOG_STR("why", text),
                  LOG_STR("hint", "put a new one there and reload"));
    else
        log_warn("tls.crl", LOG_STR("path", path), LOG_STR("why", text),
                 LOG_STR("hint", "put a new one there and reload"));
}

static void tell_stderr(const char *path, const char *text, bool ended)
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
    crl_look(c, now(), tell_log);
}

uint32_t crl_complain(const struct config *c)
{
    return crl_look(c, now(), tell_stderr);
}
