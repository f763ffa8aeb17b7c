#include "server/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const schemes[] = {
    [URL_TCP] = "ergon://", [URL_TLS] = "ergons://", [URL_UNIX] = "unix://"};

static const char *parse_unix(const char *path, struct url *url)
{
    if (*path != '/')
        return "a Unix socket needs an absolute path, as in unix:///run/ergon.sock";
    if (strlen(path) > URL_PATH_MAX)
        return "the path of a Unix socket is limited to 107 bytes";
    memcpy(url->path, path, strlen(path) + 1);
    return NULL;
}

static const char *parse_port(const char *text, struct url *url)
{
    unsigned long port = 0;

    if (*text == '\0' || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
        return "the port is a number from 0 to 65535";
    for (; *text; text++)
        port = port * 10 + (unsigned long)(*text - '0');
    if (port > UINT16_MAX)
        return "the port is a number from 0 to 65535";
    url->port = (uint16_t)port;
    return NULL;
}

static bool is_name(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.' && *c != '_')
            return false;
    return isalnum((unsigned char)*host);
}

/* Digits and dots alone cannot be a name: 1.2.3 or 300.0.0.1 is a slip. */
static const char *classify(struct url *url)
{
    struct in_addr v4;

    if (inet_pton(AF_INET, url->host, &v4) == 1)
        url->kind = URL_HOST_V4;
    else if (strspn(url->host, "0123456789.") == strlen(url->host))
        return "this is not an IPv4 address";
    else if (is_name(url->host))
        url->kind = URL_HOST_NAME;
    else
        return "the host is a name, an IPv4 address, or an IPv6 address in [brackets]";
    return NULL;
}

static const char *set_host(struct url *url, const char *text, size_t length)
{
    if (length == 0)
        return "the host is missing (0.0.0.0 or [::] for every address)";
    if (length > URL_HOST_MAX)
        return "the host is limited to 253 bytes";
    memcpy(url->host, text, length);
    url->host[length] = '\0';
    return NULL;
}

static const char *parse_v6(const char *text, struct url *url, const char **rest)
{
    struct in6_addr v6;
    const char *close = strchr(text, ']');
    const char *wrong;

    if (!close)
        return "an IPv6 address ends with ]";
    if ((wrong = set_host(url, text + 1, (size_t)(close - text - 1))))
        return wrong;
    if (inet_pton(AF_INET6, url->host, &v6) != 1)
        return "between the brackets stands no IPv6 address";
    url->kind = URL_HOST_V6;
    *rest = close + 1;
    return NULL;
}

static const char *parse_name(const char *text, struct url *url, const char **rest)
{
    size_t length = strcspn(text, ":/?#@");
    const char *wrong = set_host(url, text, length);

    *rest = text + length;
    return wrong ? wrong : classify(url);
}

static const char *parse_address(const char *text, struct url *url)
{
    const char *rest = NULL;
    const char *wrong;

    if (*text != '[' && strchr(text, ':') != strrchr(text, ':'))
        return "an IPv6 address stands in brackets, as in ergon://[::1]:7466";
    wrong = *text == '[' ? parse_v6(text, url, &rest) : parse_name(text, url, &rest);
    if (wrong)
        return wrong;
    if (strcmp(rest, "/") == 0)
        rest = "";
    if (*rest == ':')
        return parse_port(rest + 1, url);
    url->port = url->scheme == URL_TLS ? URL_PORT_TLS : URL_PORT_TCP;
    return *rest == '\0' ? NULL : "nothing may follow the host but :PORT";
}

const char *url_parse(const char *text, struct url *url)
{
    for (enum url_scheme s = URL_TCP; s <= URL_UNIX; s++) {
        size_t length = strlen(schemes[s]);
        if (strncmp(text, schemes[s], length) != 0)
            continue;
        *url = (struct url){.scheme = s};
        return s == URL_UNIX ? parse_unix(text + length, url) : parse_address(text + length, url);
    }
    return "a URL begins with ergon://, ergons:// or unix://";
}

bool url_text(const struct url *url, char *buf, size_t size)
{
    int n;

    if (url->scheme == URL_UNIX)
        n = snprintf(buf, size, "%s%s", schemes[URL_UNIX], url->path);
    else if (url->kind == URL_HOST_V6)
        n = snprintf(buf, size, "%s[%s]:%u", schemes[url->scheme], url->host, url->port);
    else
        n = snprintf(buf, size, "%s%s:%u", schemes[url->scheme], url->host, url->port);
    return n >= 0 && (size_t)n < size;
}

static bool is_local_v6(const char *host)
{
    struct in6_addr v6;

    if (inet_pton(AF_INET6, host, &v6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool url_is_local(const struct url *url)
{
    if (url->scheme == URL_UNIX)
        return true;
    switch (url->kind) {
    case URL_HOST_NAME:
        return strcmp(url->host, "localhost") == 0;
    case URL_HOST_V4:
        return strncmp(url->host, "127.", 4) == 0;
    case URL_HOST_V6:
        return is_local_v6(url->host);
    }
    return false;
}
