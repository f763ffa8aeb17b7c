#include "proto/envelope.h"

#include "proto/envelope_inline.h"

enum { NOTIFICATION_PARTS = 3 };

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

static bool read_type(struct reader *r, uint64_t *type)
{
    size_t len = envelope_natural_length(r);

    if (len != 1)
        return len > 0 && read_uint(r, type);
    *type = *r->at++;
    return true;
}

/* The id is kept as the bytes that came; its value does not matter. */
static bool read_msgid(struct reader *r, struct span *msgid)
{
    *msgid = span_of(r->at, envelope_natural_length(r));
    r->at += msgid->len;
    return msgid->len > 0;
}

/* Null, or what is wrong with the method.  Most names are short strings. */
static const char *read_method(struct reader *r, struct span *method)
{
    if (*r->at >= WIRE_FIXSTR && *r->at < WIRE_NIL) {
        *method = span_of(r->at + 1, *r->at - (size_t)WIRE_FIXSTR);
        r->at += 1 + method->len;
        return NULL;
    }
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
    out->params = reader_rest(r);
    return ENVELOPE_OK;
}

static enum envelope_verdict read_response(struct reader *r, uint32_t parts, struct envelope *out,
                                           const char **why)
{
    if (parts != RESPONSE_PARTS)
        return unanswerable(why, "a response has four parts: [1, msgid, error, result]");
    if (!read_msgid(r, &out->msgid))
        return unanswerable(why, "the message id is not an integer of 0 or more");
    /* Who answers may be anybody: nobody looks through millions of elements for its end. */
    out->error = span_of(r->at, value_length_within(reader_rest(r), ERROR_ELEMENTS));
    if (out->error.len == 0)
        return unanswerable(why, "the error of the response has more than 4096 elements");
    r->at += out->error.len;
    out->result = reader_rest(r);
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
    out->params = reader_rest(r);
    return ENVELOPE_OK;
}

static enum envelope_verdict read_unknown(struct reader *r, struct envelope *out, const char **why)
{
    if (!read_msgid(r, &out->msgid))
        return unanswerable(why, "the message type is not 0, 1 or 2");
    return answerable(why, "the message type is not 0, 1 or 2");
}

bool envelope_begin(struct span bytes, const struct scan_limits *limits, struct scanner *scanner,
                    struct envelope *out)
{
    return envelope_begin_inline(bytes, limits, scanner, out);
}

enum envelope_verdict envelope_read(struct span message, struct envelope *out, const char **why)
{
    struct reader r = reader_of(message);
    uint32_t parts;
    uint64_t type;

    envelope_empty(out);
    if (!read_array(&r, &parts))
        return unanswerable(why, "the message is not an array");
    if (parts == 0 || !read_type(&r, &type))
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
