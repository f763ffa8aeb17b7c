#include "client/lib/frame.h"

#include "base/utf8.h"
#include "proto/scanner.h"

#include <stdlib.h>

enum {
    FRAME_HEAD_MAX = 2 + ENC_INT_MAX + ENC_HEAD_MAX, /* all but method and params */
    FRAME_ERROR_HEAD = 256,                          /* of an error: all but its text */
    FRAME_ERROR_TEXT = 4096 - FRAME_ERROR_HEAD
};

static const uint8_t NO_PARAMS[] = {0x90};

static bool append(struct buffer *b, const uint8_t *head, const uint8_t *head_end,
                   struct span method, struct span params)
{
    size_t head_len = (size_t)(head_end - head);
    if (params.len == 0)
        params = span_of(NO_PARAMS, sizeof NO_PARAMS);
    if (params.len > SIZE_MAX / 2)
        return false;
    uint8_t *at = buffer_reserve(b, head_len + ENC_HEAD_MAX + method.len + params.len);
    if (at == NULL)
        return false;
    memcpy(at, head, head_len);
    uint8_t *p = enc_str(at + head_len, method);
    memcpy(p, params.at, params.len);
    buffer_filled(b, (size_t)(p - at) + params.len);
    return true;
}

bool frame_request(struct buffer *b, uint32_t id, struct span method, struct span params)
{
    uint8_t head[FRAME_HEAD_MAX];
    uint8_t *p = enc_array(head, 4);
    p = enc_uint(p, 0);
    p = enc_uint(p, id);
    return append(b, head, p, method, params);
}

bool frame_notification(struct buffer *b, struct span method, struct span params)
{
    uint8_t head[FRAME_HEAD_MAX];
    uint8_t *p = enc_array(head, 3);
    p = enc_uint(p, 2);
    return append(b, head, p, method, params);
}

bool frame_response(struct buffer *b, struct span msgid, struct span result)
{
    if (result.len > SIZE_MAX / 2)
        return false;
    uint8_t *at = buffer_reserve(b, ENC_RESPONSE_MAX + result.len);
    if (at == NULL)
        return false;
    uint8_t *p = enc_response_head(at, msgid);
    memcpy(p, result.at, result.len);
    buffer_filled(b, (size_t)(p - at) + result.len);
    return true;
}

bool frame_error(struct buffer *b, struct span msgid, const struct error_answer *error)
{
    size_t text = error->text.len < FRAME_ERROR_TEXT ? error->text.len : FRAME_ERROR_TEXT;
    uint8_t *at = buffer_reserve(b, FRAME_ERROR_HEAD + text);
    if (at == NULL)
        return false;
    uint8_t *end = enc_error_response(at, FRAME_ERROR_HEAD + text, msgid, ERROR_SHAPE_TEXT, error);
    buffer_filled(b, (size_t)(end - at));
    return true;
}

/* A str of the text, for which there is room for three times its bytes; at most `most` are written.
 * utf8_clean() makes three bytes of one that is no text. */
static uint8_t *put_clean(uint8_t *p, struct span text, size_t most)
{
    uint8_t *body = p + ENC_HEAD_MAX;
    size_t len = utf8_clean(body, 3 * text.len, text);
    struct span clean = span_of(body, len);
    if (len > most)
        clean = utf8_tail(clean, most);
    p = enc_str_head(p, (uint32_t)clean.len);
    memmove(p, clean.at, clean.len);
    return p + clean.len;
}

bool frame_failure(struct buffer *b, struct span msgid, const struct error_answer *error,
                   struct span traceback, size_t most)
{
    struct span name = error->name.len > 0 ? error->name : span_text(error_name(error->code));
    struct span text = error->text.len > 0 ? error->text : span_text(error_meaning(error->code));
    text = utf8_cut(text, FRAME_ERROR_TEXT);
    traceback = utf8_tail(traceback, most);
    uint8_t *at = buffer_reserve(b, FRAME_ERROR_HEAD + 3 * (text.len + traceback.len));
    if (at == NULL)
        return false;
    uint8_t *p = enc_uint(enc_array(at, 4), 1);
    memcpy(p, msgid.at, msgid.len);
    p = enc_map(p + msgid.len, 3);
    p = enc_str(enc_str(p, span_text("code")), name);
    p = put_clean(enc_str(p, span_text("message")), text, FRAME_ERROR_TEXT);
    p = put_clean(enc_str(p, span_text("traceback")), traceback, most);
    buffer_filled(b, (size_t)(enc_nil(p) - at));
    return true;
}

bool frame_whole(struct span value)
{
    struct scan_limits limits = {UINT32_MAX, SCAN_DEPTH_CAP};
    struct scanner scanner;
    if (value.len == 0 || value.len > UINT32_MAX)
        return false;
    scanner_init(&scanner);
    return scanner_run(&scanner, &limits, value) == SCAN_WHOLE && scanner.done == value.len;
}

/* [2, "server.hello", [{"half_close": false}]] */
struct span frame_hello(void)
{
    static const uint8_t hello[] = "\x93\x02\xacserver.hello\x91\x81\xaahalf_close\xc2";
    return span_of(hello, sizeof hello - 1);
}

bool frame_auth(struct buffer *b, uint32_t id, const char *token)
{
    struct span text = span_text(token);
    uint8_t *params = malloc(2 * ENC_HEAD_MAX + text.len);
    if (params == NULL)
        return false;
    size_t len = (size_t)(enc_str(enc_array(params, 1), text) - params);
    bool good = frame_request(b, id, span_text("server.auth"), span_of(params, len));
    explicit_bzero(params, len);
    free(params);
    return good;
}
