#include "server/admin/framing.h"

#include <event2/keyvalq_struct.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

/* What the headers say of it. */
struct framing {
    const char *length;
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
        return "the length of the body is given more than once";
    if (f->length && !is_number(f->length))
        return "Content-Length is no number";
    if (f->codings > 0)
        return "no Transfer-Encoding is known here: send Content-Length";
    if (!has_body && f->length && strspn(f->length, "0") != strlen(f->length))
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

/* NULL: the byte is allowed here. */
static const char *doubt_of_byte(const struct head_check *h, uint8_t byte)
{
    if (byte == '\0')
        return "there is a NUL in the head";
    if ((byte == '\n') != (h->last == '\r'))
        return "a line of the head does not end in CR LF";
    if (h->last == '\n' && (byte == ' ' || byte == '\t'))
        return "a header goes on in the next line";
    return h->lines == 0 && byte == '\n' && h->length == 0 ? "the first line is empty" : NULL;
}

static void take_byte(struct head_check *h, uint8_t byte)
{
    h->doubt = doubt_of_byte(h, byte);
    h->over = byte == '\n' && h->length == 0;
    h->lines += byte == '\n';
    h->length = byte == '\n' ? 0 : h->length + (byte != '\r');
    h->last = byte;
}

void head_check_take(struct head_check *h, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count && !h->over && !h->doubt; i++)
        take_byte(h, bytes[i]);
}
