#include "server/config/check_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/span.h"

static bool is_written(const struct subject *s, const struct config_key *key)
{
    return s->config->origins[key - config_keys.keys].source != CONFIG_DEFAULT;
}

/* Other users read the command line, and logs and backups hold the rest. */
void check_database(const struct subject *s)
{
    const char *store = s->config->store, *begin = strstr(store, "://");
    const char *host = begin ? begin + 3 : store;
    size_t user = strcspn(host, "@/?");
    const char *colon = host[user] == '@' ? memchr(host, ':', user) : NULL;

    if (colon || strstr(store, "password="))
        wrong(s, "store",
              "has a password (write it into .pgpass, a service file or a systemd credential)");
}

/* ---- the authority of the nodes ---- */

enum { AUTHORITIES_MAX = 1 << 20 /* bytes that are compared */ };

static size_t read_file(const char *path, char *text)
{
    FILE *in = fopen(path, "re");
    size_t size = in ? fread(text, 1, AUTHORITIES_MAX, in) : 0;

    if (in)
        fclose(in);
    return size;
}

/* The next certificate in *at: its bytes in base64, between the lines that begin and end it.  Moves
 * *at behind it.  Empty: there is none. */
static struct span next_certificate(const char **at)
{
    static const char first[] = "-----BEGIN ", kind[] = "CERTIFICATE-----", last[] = "-----END ";

    for (const char *line = strstr(*at, first); line; line = strstr(line + 1, first)) {
        const char *label = strstr(line, kind), *end = label ? strstr(label, last) : NULL;
        if (!end || memchr(line, '\n', (size_t)(label - line)))
            continue;
        label += strlen(kind);
        *at = end;
        return span_of(label, (size_t)(end - label));
    }
    return (struct span){0};
}

static struct span without_blanks(struct span s)
{
    while (s.len > 0 && strchr(" \t\r\n", s.at[0]))
        s = span_behind(s, 1);
    return s;
}

/* Files differ in how long their lines are and how these end, for the same certificate. */
static bool is_same_base64(struct span a, struct span b)
{
    for (;;) {
        a = without_blanks(a);
        b = without_blanks(b);
        if (a.len == 0 || b.len == 0)
            return a.len == b.len;
        if (a.at[0] != b.at[0])
            return false;
        a = span_behind(a, 1);
        b = span_behind(b, 1);
    }
}

/* Into `out`, which has room for as many bytes.  What is behind a character that is none of
 * base64's is left out. */
static struct span decode(struct span text, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0, have = 0;
    size_t len = 0;

    for (text = without_blanks(text); text.len > 0; text = without_blanks(span_behind(text, 1))) {
        const char *digit = memchr(digits, text.at[0], sizeof digits - 1);
        if (!digit)
            break;
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have >= 8)
            out[len++] = (uint8_t)(bits >> (have -= 8));
    }
    return span_of(out, len);
}

/* The contents of the first element of *der, behind which that moves.  False: it is malformed. */
static bool next_element(struct span *der, uint8_t *tag, struct span *contents)
{
    size_t len = der->len >= 2 ? der->at[1] : 0, head = 2;

    if (der->len < 2)
        return false;
    if (len >= 0x80) { /* so many bytes of the length follow */
        head += len & 0x7f;
        if (head > 5 || der->len < head)
            return false;
        len = 0;
        for (size_t i = 2; i < head; i++)
            len = len << 8 | der->at[i];
    }
    if (der->len - head < len)
        return false;
    *tag = der->at[0];
    *contents = span_of(der->at + head, len);
    *der = span_behind(*der, head + len);
    return true;
}

/* The public key in a certificate of X.509 (RFC 5280, 4.1): behind the version, which may be left
 * out, serial number, algorithm, issuer, times and subject.  Empty: it is malformed. */
static struct span key_of(struct span der)
{
    enum { VERSION = 0xa0, BEFORE_KEY = 5 };
    struct span all, signed_part, ahead, key = {0};
    uint8_t tag;

    if (!next_element(&der, &tag, &all) || !next_element(&all, &tag, &signed_part))
        return key;
    ahead = signed_part;
    if (next_element(&ahead, &tag, &key) && tag == VERSION)
        signed_part = ahead;
    for (int i = 0; i <= BEFORE_KEY; i++)
        if (!next_element(&signed_part, &tag, &key))
            return (struct span){0};
    return key;
}

/* Are they of one authority?  One that was issued again with the same key is: each verifies what
 * the other signed. */
static bool is_same_authority(struct span mine, struct span its)
{
    uint8_t *room = malloc(mine.len + its.len + 1);

    if (!room)
        return is_same_base64(mine, its);
    struct span a = key_of(decode(mine, room)), b = key_of(decode(its, room + mine.len));
    bool same = a.len > 0 ? span_equal(a, b) : is_same_base64(mine, its);
    free(room);
    return same;
}

/* Do both have a certificate of one authority? */
static bool share_authority(const char *one, const char *other)
{
    char *a = calloc(2, AUTHORITIES_MAX + 1), *b = a ? a + AUTHORITIES_MAX + 1 : NULL;
    const char *at = a;
    struct span mine, its;
    bool shared = false;

    if (!a)
        return false;
    read_file(one, a);
    read_file(other, b);
    while (!shared && (mine = next_certificate(&at)).len > 0)
        for (const char *from = b; !shared && (its = next_certificate(&from)).len > 0;)
            shared = is_same_authority(mine, its);
    free(a);
    return shared;
}

/* A node vouches for its clients.  A client with a certificate of its authority could, too. */
static void check_authority(const struct subject *s)
{
    const struct config *c = s->config;

    for (size_t i = 0; c->cluster.ca && i < c->listener_count; i++)
        if (c->listeners[i].client_ca && share_authority(c->cluster.ca, c->listeners[i].client_ca))
            wrong(s, "cluster.ca",
                  "has an authority that listen[%zu] takes client certificates of, so its clients "
                  "could act as a node (give the nodes an authority of their own)",
                  i);
    for (size_t i = 0; c->cluster.ca && i < c->admin.count; i++)
        if (c->admin.listeners[i].client_ca &&
            share_authority(c->cluster.ca, c->admin.listeners[i].client_ca))
            wrong(s, "cluster.ca",
                  "has an authority that admin.listen[%zu] takes client certificates of, so its "
                  "clients could act as a node (give the nodes an authority of their own)",
                  i);
}

/* ---- the listener ---- */

static void check_needed(const struct subject *s, const char *path, const char *file)
{
    if (!file)
        wrong(s, path, "is missing: ergons:// at cluster.listen needs it");
    check_readable(s, path, file);
}

static void check_listen(const struct subject *s)
{
    const struct config *c = s->config;

    if (!c->cluster.listen)
        return;
    if (c->cluster.way.scheme == URL_TLS) {
        check_needed(s, "cluster.ca", c->cluster.ca);
        check_needed(s, "cluster.cert", c->cluster.cert);
        check_needed(s, "cluster.key", c->cluster.key);
    } else if (c->cluster.way.scheme == URL_TCP && !c->insecure) {
        wrong(s, "cluster.listen",
              "%s has no TLS, so that whoever reaches it can act as a node (use ergons://, or "
              "unix:// on one machine, or accept it with insecure: true or --insecure)",
              c->cluster.listen);
    }
    for (size_t i = 0; i < c->listener_count; i++) {
        const struct url *way = &c->listeners[i].way;
        if (way->port == c->cluster.way.port && (way->port > 0 || *way->path) &&
            strcmp(way->host, c->cluster.way.host) == 0 &&
            strcmp(way->path, c->cluster.way.path) == 0)
            wrong(s, "cluster.listen", "listens where listen[%zu] does already", i);
    }
}

/* The address goes into a row of the database: port 0 and a wildcard mean nothing to others. */
static void check_address(const struct subject *s)
{
    const struct config *c = s->config;
    const char *host = c->cluster.way.host;

    if (c->cluster.listen && !c->cluster.address &&
        (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0))
        wrong(s, "cluster.address",
              "is missing: other nodes cannot connect to %s (write ergons://NAME:PORT)",
              c->cluster.listen);
    if (c->cluster.address && !c->cluster.listen)
        wrong(s, "cluster.address", "has no meaning without cluster.listen");
}

static void check_offer(const struct subject *s)
{
    const struct config *c = s->config;

    check_patterns(s, "cluster.offer", &c->cluster.offer);
    if (c->cluster.offer.count > 0 && !c->cluster.work)
        wrong(s, "cluster.offer", "has no meaning with cluster.work: false, which offers nothing");
}

static void check_state(const struct subject *s)
{
    const char *folder = s->config->cluster.state;

    if (folder && access(folder, W_OK | X_OK) != 0)
        wrong_file(s, "cluster.state", folder, "written");
}

/* A file has one disk. */
static void check_alone(const struct subject *s)
{
    if (s->config->store_require == CONFIG_REQUIRE_REPLICATED)
        wrong(s, "store_require",
              "replicated needs a database (write store: postgresql://HOST/NAME)");
    if (s->config->store_replicated == CONFIG_REPLICATED_BY_STORAGE)
        wrong(s, "store_replicated",
              "by-storage is for a database (write store: postgresql://HOST/NAME)");
}

static bool is_empty_list(const struct subject *s, const struct config_key *key)
{
    const struct config_texts *list = config_member(key, s->config);

    return key->type == &config_namelist && list->count == 0;
}

static void check_absent(const struct subject *s)
{
    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (strncmp(key->path, "cluster.", strlen("cluster.")) == 0 && !key->normal &&
            is_written(s, key) && !is_empty_list(s, key))
            wrong(s, key->path,
                  "has no meaning without a database (write store: postgresql://HOST/NAME)");
    }
}

void check_cluster(const struct subject *s)
{
    if (!s->config->cluster.exists) {
        check_alone(s);
        check_absent(s);
        return;
    }
    check_listen(s);
    check_address(s);
    check_authority(s);
    check_state(s);
    check_offer(s);
}
