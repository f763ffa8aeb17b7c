#include "server/admin/framing.h"

#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

/* What the headers say of it. */
struct framing {
    const char *length, *coding;
    unsigned lengths, codings, hosts;
};

/* "Content-Length " would be another header to one, and the same to another. */
static bool is_name(const char *key)
{
    return *key && !strpbrk(key, " \t\r\n");
}

static void note(struct framing *f, const struct evkeyval *header)
{
    if (strcasecmp(header->key, "Content-Length") == 0) {
        f->length = header->value;
        f->lengths++;
    } else if (strcasecmp(header->key, "Transfer-Encoding") == 0) {
        f->coding = header->value;
        f->codings++;
    } else if (strcasecmp(header->key, "Host") == 0) {
        f->hosts++;
    }
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static const char *doubt_of(const struct framing *f, bool has_body)
{
    if (f->hosts > 1)
        return "there is more than one Host";
    if (f->lengths + f->codings > 1)
        return "the length of the body is told more than once";
    if (f->length && !is_number(f->length))
        return "Content-Length is no number";
    if (f->coding && strcasecmp(f->coding, "chunked") != 0)
        return "no Transfer-Encoding is known but chunked";
    if (!has_body && (f->coding || (f->length && strspn(f->length, "0") != strlen(f->length))))
        return "a request of this method has no body";
    return NULL;
}

const char *framing_doubt(const struct evkeyvalq *headers, bool has_body)
{
    struct framing f = {0};
    const struct evkeyval *header;

    TAILQ_FOREACH(header, headers, next)
    {
        if (!is_name(header->key))
            return "the name of a header has a blank in it";
        note(&f, header);
    }
    return doubt_of(&f, has_body);
}
