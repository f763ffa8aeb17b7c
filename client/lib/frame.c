#include "client/lib/frame.h"

#include "proto/encoder.h"
#include "proto/reader.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

enum { FRAME_HEAD_MAX = 2 + ENC_INT_MAX + ENC_HEAD_MAX }; /* all but method and params */

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

/* ---- errors ---- */

static void copy_text(char *to, size_t size, struct span from)
{
    to[utf8_plain(to, size - 1, from)] = 0;
}

/* A code is of capital letters, digits and underscores, and a colon ends it. */
static size_t code_length(struct span text)
{
    size_t n = 0;
    while (n < text.len && ((text.at[n] >= 'A' && text.at[n] <= 'Z') || text.at[n] == '_' ||
                            (n > 0 && text.at[n] >= '0' && text.at[n] <= '9')))
        n++;
    return n > 0 && n < text.len && text.at[n] == ':' ? n : 0;
}

static void split(struct span text, struct error_text *out)
{
    size_t n = code_length(text);
    if (n == 0 || n >= sizeof out->code) {
        copy_text(out->text, sizeof out->text, text);
        return;
    }
    copy_text(out->code, sizeof out->code, span_of(text.at, n));
    n++;
    if (n < text.len && text.at[n] == ' ')
        n++;
    copy_text(out->text, sizeof out->text, span_behind(text, n));
}

static bool read_pair(struct reader r, struct error_text *out)
{
    uint32_t count;
    struct span number;
    struct span text;
    if (!read_array(&r, &count) || count != 2 || !read_any(&r, &number) || !read_text(&r, &text))
        return false;
    split(text, out);
    return true;
}

static bool read_error_map(struct reader r, struct error_text *out)
{
    uint32_t pairs;
    bool found = false;
    if (!read_map(&r, &pairs))
        return false;
    for (; pairs > 0; pairs--) {
        struct span key = {0};
        struct span text;
        struct span skipped;
        bool named = read_text(&r, &key) || (read_any(&r, &skipped) && false);
        if (named && span_is(key, "code") && read_text(&r, &text)) {
            copy_text(out->code, sizeof out->code, text);
        } else if (named && span_is(key, "message") && read_text(&r, &text)) {
            copy_text(out->text, sizeof out->text, text);
            found = true;
        } else if (!read_any(&r, &skipped)) {
            return false;
        }
    }
    return found || out->code[0] != 0;
}

void error_text_read(struct span error, struct error_text *out)
{
    struct reader r = reader_of(error);
    struct span text;
    out->code[0] = out->text[0] = 0;
    if (read_text(&r, &text))
        split(text, out);
    else if (!read_pair(r, out) && !read_error_map(r, out))
        snprintf(out->text, sizeof out->text, "an error value that is no text");
}
