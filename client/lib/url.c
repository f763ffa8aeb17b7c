#include "client/lib/url.h"

#include <string.h>

static const char *const BAD_SCHEME = "a server URL is ergon://host:port, ergons://host:port or "
                                      "unix:///path";

static bool copy(char *to, size_t size, const char *from, size_t len)
{
    if (len == 0 || len >= size || memchr(from, 0, len) != NULL)
        return false;
    memcpy(to, from, len);
    to[len] = 0;
    return true;
}

static const char *parse_port(const char *text, struct url *out)
{
    size_t len = strlen(text);
    unsigned long port = 0;
    if (len == 0 || len >= URL_PORT_MAX || strspn(text, "0123456789") != len)
        return "the port of a server URL is a number from 1 to 65535";
    for (size_t i = 0; i < len; i++)
        port = port * 10 + (unsigned long)(text[i] - '0');
    if (port == 0 || port > 65535)
        return "the port of a server URL is a number from 1 to 65535";
    memcpy(out->port, text, len + 1);
    return NULL;
}

/* `rest` is host[:port] or [v6][:port], perhaps with a slash behind. */
static const char *parse_authority(const char *rest, const char *default_port, struct url *out)
{
    char buf[URL_HOST_MAX + URL_PORT_MAX + 4];
    size_t len = strlen(rest);
    if (len > 0 && rest[len - 1] == '/')
        len--;
    if (!copy(buf, sizeof buf, rest, len))
        return "a server URL needs a host: ergon://127.0.0.1:7466";
    if (strpbrk(buf, "/?#@ ") != NULL)
        return "a server URL has nothing but a host and a port behind ://";
    const char *host = buf[0] == '[' ? buf + 1 : buf;
    const char *host_end = buf[0] == '[' ? strchr(buf, ']') : host + strcspn(host, ":");
    if (host_end == NULL)
        return "an IPv6 address in a server URL ends with ]";
    if (!copy(out->host, sizeof out->host, host, (size_t)(host_end - host)))
        return "a server URL needs a host: ergon://127.0.0.1:7466";
    const char *port = host_end + (buf[0] == '[');
    if (*port == 0)
        return parse_port(default_port, out);
    if (*port != ':')
        return "a server URL has nothing but a host and a port behind ://";
    if (strchr(port + 1, ':') != NULL)
        return "an IPv6 address in a server URL stands in brackets: ergon://[::1]:7466";
    return parse_port(port + 1, out);
}

static const char *parse_path(const char *path, struct url *out)
{
    if (path[0] != '/' || path[1] == 0)
        return "a Unix socket is named by an absolute path: unix:///run/ergon.sock";
    if (!copy(out->path, sizeof out->path, path, strlen(path)))
        return "the path of a Unix socket has at most 107 bytes";
    return NULL;
}

const char *url_parse(const char *text, struct url *out)
{
    static const struct {
        const char *prefix;
        enum url_kind kind;
        const char *port;
    } schemes[] = {
        {"ergon://", URL_TCP, "7466"}, {"ergons://", URL_TLS, "7467"}, {"unix://", URL_UNIX, ""}};
    *out = (struct url){0};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i].prefix);
        if (strncmp(text, schemes[i].prefix, len) != 0)
            continue;
        out->kind = schemes[i].kind;
        if (out->kind == URL_UNIX)
            return parse_path(text + len, out);
        return parse_authority(text + len, schemes[i].port, out);
    }
    return BAD_SCHEME;
}
