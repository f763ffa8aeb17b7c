#include "proto/envelope.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "proto/wire.h"

enum { REQUEST_PARTS = 4, RESPONSE_PARTS = 4, NOTIFICATION_PARTS = 3 };

static enum envelope_verdict unanswerable(const char **why, const char *text)
{
    *why = text;
    return ENVELOPE_UNANSWERABLE;
}

static enum envelope_verdict answerable(const char **why, const char *text)
{
    *why = text;
    return ENVELOPE_ANSWERABLE;
}

static bool is_integer(uint8_t first)
{
    return first < WIRE_FIXMAP || first >= WIRE_NEGATIVE ||
           (first >= WIRE_UINT8 && first <= WIRE_INT64);
}

/* An integer of 0 or more, in any encoding; floats do not count. */
static bool read_natural(struct reader *r, uint64_t *out)
{
    if (reader_at_end(r) || !is_integer(*r->at))
        return false;
    if (*r->at < WIRE_FIXMAP) {
        *out = *r->at++;
        return true;
    }
    return read_uint(r, out);
}

/* The id is kept as the bytes that came. */
static bool read_msgid(struct reader *r, struct span *msgid)
{
    const uint8_t *start = r->at;
    uint64_t id;

    if (!read_natural(r, &id))
        return false;
    *msgid = span_of(start, (size_t)(r->at - start));
    return true;
}

/* The last part of a message is whatever is left of it. */
static struct span last_part(const struct reader *r)
{
    return span_of(r->at, (size_t)(r->end - r->at));
}

/* Null, or what is wrong with the method. */
static const char *read_method(struct reader *r, struct span *method)
{
    if (!read_text(r, method))
        return "the method is neither str nor bin";
    if (method->len > METHOD_NAME_MAX)
        return "the method is longer than 256 bytes";
    return NULL;
}

static enum envelope_verdict read_request(struct reader *r, uint32_t parts, struct envelope *out,
                                          const char **why)
{
    if (!read_msgid(r, &out->msgid))
        return unanswerable(why, "the message id is not an integer of 0 or more");
    if (parts != REQUEST_PARTS)
        return answerable(why, "a request has four parts: [0, msgid, method, params]");
    const char *bad = read_method(r, &out->method);
    if (bad != NULL)
        return answerable(why, bad);
    out->params = last_part(r);
    return ENVELOPE_OK;
}

static enum envelope_verdict read_response(struct reader *r, uint32_t parts, struct envelope *out,
                                           const char **why)
{
    if (parts != RESPONSE_PARTS)
        return unanswerable(why, "a response has four parts: [1, msgid, error, result]");
    if (!read_msgid(r, &out->msgid))
        return unanswerable(why, "the message id is not an integer of 0 or more");
    if (!read_any(r, &out->error))
        return unanswerable(why, "the response has no error part");
    out->result = last_part(r);
    return ENVELOPE_OK;
}

static enum envelope_verdict read_notification(struct reader *r, uint32_t parts,
                                               struct envelope *out, const char **why)
{
    if (parts != NOTIFICATION_PARTS)
        return unanswerable(why, "a notification has three parts: [2, method, params]");
    const char *bad = read_method(r, &out->method);
    if (bad != NULL)
        return unanswerable(why, bad);
    out->params = last_part(r);
    return ENVELOPE_OK;
}

static enum envelope_verdict read_unknown(struct reader *r, struct envelope *out, const char **why)
{
    if (!read_msgid(r, &out->msgid))
        return unanswerable(why, "the message type is not 0, 1 or 2");
    return answerable(why, "the message type is not 0, 1 or 2");
}

enum envelope_verdict envelope_read(struct span message, struct envelope *out, const char **why)
{
    struct reader r = reader_of(message);
    uint32_t parts;
    uint64_t type;

    *out = (struct envelope){0};
    if (!read_array(&r, &parts))
        return unanswerable(why, "the message is not an array");
    if (parts == 0 || !read_natural(&r, &type))
        return unanswerable(why, "the message does not start with its type");
    switch (type) {
    case ENVELOPE_REQUEST:
        out->type = ENVELOPE_REQUEST;
        return read_request(&r, parts, out, why);
    case ENVELOPE_RESPONSE:
        out->type = ENVELOPE_RESPONSE;
        return read_response(&r, parts, out, why);
    case ENVELOPE_NOTIFICATION:
        out->type = ENVELOPE_NOTIFICATION;
        return read_notification(&r, parts, out, why);
    default:
        return read_unknown(&r, out, why);
    }
}
