#include "server/admin/accept.h"

#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/span.h"

enum { FULL_WEIGHT = 1000 };

/* How exactly a range names a thing. */
enum exactness { NOT_MEANT, ANYTHING, ANY_OF_TYPE, NAMED, NAMED_WITH_VERSION };

/* Of what a list says of one thing, the most exact. */
struct verdict {
    enum exactness exactness;
    unsigned weight;
};

struct range {
    struct span value, version, charset; /* of a parameter that is not there `at` is NULL */
    unsigned weight;
};

/* ---- a list, taken apart ---- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct span trim(struct span s)
{
    while (s.len > 0 && is_blank(s.at[0]))
        s = span_behind(s, 1);
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

/* Takes the text before the next separator that is not quoted off `rest`, with the separator. */
static struct span take_part(struct span *rest, uint8_t separator)
{
    bool quoted = false;
    size_t n = 0;

    for (; n < rest->len && (quoted || rest->at[n] != separator); n++) {
        if (rest->at[n] == '"')
            quoted = !quoted;
        else if (quoted && rest->at[n] == '\\' && n + 1 < rest->len)
            n++;
    }
    struct span part = span_of(rest->at, n);
    *rest = span_behind(*rest, n < rest->len ? n + 1 : n);
    return trim(part);
}

static bool is_text(struct span s, const char *text)
{
    return s.len == strlen(text) && strncasecmp((const char *)s.at, text, s.len) == 0;
}

static struct span unquote(struct span s)
{
    bool quoted = s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"';

    return quoted ? span_of(s.at + 1, s.len - 2) : s;
}

/* "0", "1", or with up to three digits behind a point. */
static bool read_weight(struct span s, unsigned *weight)
{
    unsigned value = 0, unit = FULL_WEIGHT;

    if (s.len == 0 || s.len > 5 || (s.len > 1 && s.at[1] != '.'))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (i == 1)
            continue;
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
        value += (unsigned)(s.at[i] - '0') * unit;
        unit /= 10;
    }
    *weight = value;
    return value <= FULL_WEIGHT;
}

static bool read_parameter(struct range *r, struct span parameter)
{
    struct span name = take_part(&parameter, '='), value = unquote(trim(parameter));

    if (is_text(name, "q"))
        return read_weight(value, &r->weight);
    if (is_text(name, "version"))
        r->version = value;
    else if (is_text(name, "charset"))
        r->charset = value;
    return true;
}

/* False: it is none. */
static bool read_range(struct range *r, struct span text)
{
    *r = (struct range){.value = take_part(&text, ';'), .weight = FULL_WEIGHT};
    while (text.len > 0)
        if (!read_parameter(r, take_part(&text, ';')))
            return false;
    return r->value.len > 0;
}

/* ---- what it says of a thing ---- */

typedef enum exactness meant_fn(const struct range *r, const void *thing);

static void judge_list(struct verdict *v, struct span list, meant_fn *meant, const void *thing)
{
    struct range r;

    while (list.len > 0) {
        if (!read_range(&r, take_part(&list, ',')))
            continue;
        enum exactness e = meant(&r, thing);
        if (e == NOT_MEANT || e < v->exactness || (e == v->exactness && r.weight <= v->weight))
            continue;
        *v = (struct verdict){e, r.weight};
    }
}

/* False: there is no such header. */
static bool judge(struct verdict *v, const struct evkeyvalq *headers, const char *name,
                  meant_fn *meant, const void *thing)
{
    const struct evkeyval *header;
    bool there = false;

    *v = (struct verdict){NOT_MEANT, 0};
    TAILQ_FOREACH(header, headers, next)
    {
        if (strcasecmp(header->key, name) != 0)
            continue;
        there = true;
        judge_list(v, span_text(header->value), meant, thing);
    }
    return there;
}

/* ---- media ---- */

static bool is_any_of(struct span range, const char *type)
{
    size_t n = strcspn(type, "/") + 1;

    return range.len == n + 1 && range.at[n] == '*' &&
           strncasecmp((const char *)range.at, type, n) == 0;
}

/* Parameters that nobody here knows (escaping=allow-utf-8) ask for nothing that would differ. */
static enum exactness media_meant(const struct range *r, const void *thing)
{
    const struct accept_media *m = thing;

    if ((r->version.at && !is_text(r->version, m->version)) ||
        (r->charset.at && !is_text(r->charset, "utf-8")))
        return NOT_MEANT;
    if (is_text(r->value, m->type))
        return r->version.at ? NAMED_WITH_VERSION : NAMED;
    return is_any_of(r->value, m->type) ? ANY_OF_TYPE
           : is_text(r->value, "*/*")   ? ANYTHING
                                        : NOT_MEANT;
}

struct accepted accept_media(const struct evkeyvalq *headers, const struct accept_media *media)
{
    struct verdict v;

    if (!judge(&v, headers, "Accept", media_meant, media))
        return (struct accepted){.weight = FULL_WEIGHT};
    return (struct accepted){.weight = v.weight, .named = v.exactness >= NAMED};
}

/* ---- codings ---- */

static enum exactness gzip_meant(const struct range *r, const void *thing)
{
    (void)thing;
    return is_text(r->value, "gzip") || is_text(r->value, "x-gzip") ? NAMED
           : is_text(r->value, "*")                                 ? ANYTHING
                                                                    : NOT_MEANT;
}

static enum exactness identity_meant(const struct range *r, const void *thing)
{
    (void)thing;
    return is_text(r->value, "identity") ? NAMED : NOT_MEANT;
}

bool accept_gzip(const struct evkeyvalq *headers)
{
    struct verdict gzip, identity;

    judge(&gzip, headers, "Accept-Encoding", gzip_meant, NULL);
    judge(&identity, headers, "Accept-Encoding", identity_meant, NULL);
    return gzip.weight > 0 && gzip.weight >= identity.weight;
}
