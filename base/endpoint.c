#include "base/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char expected[] =
    "write http://HOST, http://HOST:4318, https://HOST or http://HOST:4318/v1/traces";

static bool is_name(const char *text, size_t len, const char *more)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(more, text[i]))
            return false;
    return len > 0 && len <= ENDPOINT_HOST_MAX;
}

/* Behind it stands the port, or the path, or nothing. */
static const char *read_host(const char *at, struct endpoint *out)
{
    bool is_v6 = *at == '[';
    const char *begin = at + is_v6;
    size_t len = strcspn(begin, is_v6 ? "]" : ":/");
    if (is_v6 && (begin[len] != ']' || strspn(begin, "0123456789abcdefABCDEF:.") != len))
        return NULL;
    if (!is_name(begin, len, is_v6 ? ":." : "-._"))
        return NULL;
    snprintf(out->host, sizeof out->host, "%.*s", (int)len, begin);
    return begin + len + is_v6;
}

static const char *read_port(const char *at, struct endpoint *out)
{
    enum { DIGITS = 5, MOST = 65535 };
    size_t len = strspn(at, "0123456789");
    unsigned long port = strtoul(at, NULL, 10);
    if (len == 0 || len > DIGITS || port == 0 || port > MOST)
        return NULL;
    out->port = (uint16_t)port;
    return at + len;
}

static bool is_path(const char *text)
{
    for (; *text; text++)
        if (!isgraph((unsigned char)*text) || *text == '#')
            return false;
    return true;
}

const char *endpoint_parse(const char *text, struct endpoint *out)
{
    static const char plain[] = "http://", secure[] = "https://";
    bool tls = strncmp(text, secure, strlen(secure)) == 0;
    *out = (struct endpoint){.port = tls ? ENDPOINT_TLS_PORT : ENDPOINT_PORT, .tls = tls};
    if (!tls && strncmp(text, plain, strlen(plain)) != 0)
        return expected;
    const char *at = read_host(text + strlen(tls ? secure : plain), out);
    if (at && *at == ':')
        at = read_port(at + 1, out);
    if (!at || (*at && *at != '/') || strlen(at) > ENDPOINT_PATH_MAX || !is_path(at))
        return expected;
    snprintf(out->path, sizeof out->path, "%s", *at && at[1] ? at : "/v1/traces");
    snprintf(out->authority, sizeof out->authority, strchr(out->host, ':') ? "[%s]:%u" : "%s:%u",
             out->host, out->port);
    return NULL;
}
