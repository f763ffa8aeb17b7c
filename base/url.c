#include "base/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const schemes[] = {
    [URL_TCP] = "ergon://", [URL_TLS] = "ergons://", [URL_UNIX] = "unix://"};
static const char *const admin_schemes[] = {
    [URL_TCP] = "http://", [URL_TLS] = "https://", [URL_UNIX] = "unix://"};

static const char *parse_unix(const char *path, struct url *url)
{
    if (path[0] != '/' || path[1] == '\0')
        return "a Unix socket needs an absolute path, as in unix:///run/ergon.sock";
    if (strlen(path) > URL_PATH_MAX)
        return "the path of a Unix socket is limited to 107 bytes";
    memcpy(url->path, path, strlen(path) + 1);
    return NULL;
}

static const char *parse_port(const char *text, enum url_use use, struct url *url)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long port = digits > 0 && digits <= 5 && text[digits] == '\0' ? strtoul(text, NULL, 10)
                                                                           : UINT16_MAX + 1ul;

    if (port > UINT16_MAX || (port == 0 && use == URL_CONNECT))
        return use == URL_CONNECT ? "the port is a number from 1 to 65535"
                                  : "the port is a number from 0 to 65535";
    url->port = (uint16_t)port;
    return NULL;
}

static bool is_name(const char *host, enum url_use use)
{
    for (const char *c = host; *c; c++)
        if (use == URL_CONNECT ? *c == ' ' : !isalnum((unsigned char)*c) && !strchr("-._", *c))
            return false;
    return use == URL_CONNECT || isalnum((unsigned char)*host);
}

/* Digits and dots alone cannot be a name: 1.2.3 or 300.0.0.1 is a slip. */
static const char *classify(enum url_use use, struct url *url)
{
    struct in_addr v4;

    if (inet_pton(AF_INET, url->host, &v4) == 1)
        url->kind = URL_HOST_V4;
    else if (use != URL_CONNECT && strspn(url->host, "0123456789.") == strlen(url->host))
        return "this is not an IPv4 address";
    else if (is_name(url->host, use))
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

/* Who connects may say through which interface: [fe80::1%eth0]. */
static bool is_v6(const char *host, enum url_use use)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    size_t length = use == URL_CONNECT ? strcspn(host, "%") : strlen(host);

    if (length >= sizeof address)
        return false;
    memcpy(address, host, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &v6) == 1;
}

static const char *parse_v6(const char *text, enum url_use use, struct url *url, const char **rest)
{
    const char *close = strchr(text, ']');
    const char *wrong;

    if (!close)
        return "an IPv6 address ends with ]";
    if ((wrong = set_host(url, text + 1, (size_t)(close - text - 1))))
        return wrong;
    if (!is_v6(url->host, use))
        return "between the brackets stands no IPv6 address";
    url->kind = URL_HOST_V6;
    *rest = close + 1;
    return NULL;
}

static const char *parse_name(const char *text, enum url_use use, struct url *url,
                              const char **rest)
{
    size_t length = strcspn(text, ":/?#@");
    const char *wrong = set_host(url, text, length);

    *rest = text + length;
    return wrong ? wrong : classify(use, url);
}

/* A slash may end the whole. */
static const char *parse_address(const char *text, enum url_use use, struct url *url)
{
    char address[URL_HOST_MAX + sizeof "[]:65535/"];
    const char *rest = NULL;
    size_t length = strlen(text);

    if (length > 0 && text[length - 1] == '/')
        length--;
    if (length >= sizeof address)
        return "the host is limited to 253 bytes";
    memcpy(address, text, length);
    address[length] = '\0';
    if (*address != '[' && strchr(address, ':') != strrchr(address, ':'))
        return "an IPv6 address stands in brackets, as in ergon://[::1]:7466";
    const char *wrong =
        *address == '[' ? parse_v6(address, use, url, &rest) : parse_name(address, use, url, &rest);
    if (wrong)
        return wrong;
    if (*rest == ':')
        return parse_port(rest + 1, use, url);
    url->port = url->http ? URL_PORT_ADMIN : url->scheme == URL_TLS ? URL_PORT_TLS : URL_PORT_TCP;
    return *rest == '\0' ? NULL : "nothing may follow the host but :PORT";
}

const char *url_parse(const char *text, enum url_use use, struct url *url)
{
    const char *const *known = use == URL_ADMIN ? admin_schemes : schemes;

    for (enum url_scheme s = URL_TCP; s <= URL_UNIX; s++) {
        size_t length = strlen(known[s]);
        if (strncmp(text, known[s], length) != 0)
            continue;
        *url = (struct url){.scheme = s, .http = use == URL_ADMIN};
        return s == URL_UNIX ? parse_unix(text + length, url)
                             : parse_address(text + length, use, url);
    }
    return use == URL_ADMIN
               ? "the URL of an admin listener is http://host:port, https://host:port or "
                 "unix:///path"
               : "a server URL is ergon://host:port, ergons://host:port or unix:///path";
}

bool url_text(const struct url *url, char *buf, size_t size)
{
    const char *scheme = (url->http ? admin_schemes : schemes)[url->scheme];
    int n;

    if (url->scheme == URL_UNIX)
        n = snprintf(buf, size, "%s%s", scheme, url->path);
    else if (url->kind == URL_HOST_V6)
        n = snprintf(buf, size, "%s[%s]:%u", scheme, url->host, url->port);
    else
        n = snprintf(buf, size, "%s%s:%u", scheme, url->host, url->port);
    return n >= 0 && (size_t)n < size;
}

static bool is_local_v6(const char *host)
{
    struct in6_addr v6;

    if (inet_pton(AF_INET6, host, &v6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool url_is_postgresql(const char *text)
{
    static const char *const begins[] = {"postgresql://", "postgres://", "service="};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* One of a list of hosts, as PostgreSQL's URLs have them: a path is that of a Unix socket. */
static bool is_local_host(const char *host, size_t len)
{
    static const char *const local[] = {"localhost", "127.0.0.1", "[::1]", "::1"};

    if (len == 0 || *host == '/' || strncasecmp(host, "%2f", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        size_t size = strlen(local[i]);
        if (len >= size && memcmp(host, local[i], size) == 0 && (len == size || host[size] == ':'))
            return true;
    }
    return false;
}

static bool are_local_hosts(const char *hosts, const char *end)
{
    size_t len;

    for (; hosts < end; hosts += len + 1) {
        len = strcspn(hosts, ",&?/");
        if (*hosts == '/' || len > (size_t)(end - hosts))
            len = strcspn(hosts, ",&?");
        if (!is_local_host(hosts, len))
            return false;
    }
    return true;
}

bool url_is_unproven(const char *text)
{
    const char *hosts = strstr(text, "://"), *at, *host;

    if (!hosts || strstr(text, "sslmode=verify-full"))
        return false;
    hosts += 3;
    at = hosts + strcspn(hosts, "@/?");
    if (*at == '@')
        hosts = at + 1;
    host = strstr(hosts, "host=");
    return !are_local_hosts(hosts, hosts + strcspn(hosts, "/?")) ||
           (host && !are_local_hosts(host + 5, host + 5 + strcspn(host + 5, "&")));
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
