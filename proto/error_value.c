#include "proto/error_value.h"

#include "base/utf8.h"
#include "proto/reader.h"

#include <stdio.h>

/* Bytes at the front of `text` that can stand in a code. */
static size_t code_length(struct span text)
{
    size_t n = 0;
    while (n < text.len && ((text.at[n] >= 'A' && text.at[n] <= 'Z') || text.at[n] == '_' ||
                            (n > 0 && text.at[n] >= '0' && text.at[n] <= '9')))
        n++;
    return n;
}

bool error_code_valid(struct span code)
{
    return code.len >= 1 && code.len <= ERROR_NAME_MAX && code_length(code) == code.len;
}

static size_t copy_text(char *to, size_t room, struct span from)
{
    size_t len = utf8_plain(to, room, from);
    to[len] = 0;
    return len;
}

static void set_code(struct error_value *out, struct span code)
{
    memcpy(out->code, code.at, code.len);
    out->code[code.len] = 0;
}

static void read_one_text(struct span text, struct error_value *out)
{
    size_t n = code_length(text);
    if (n < text.len && text.at[n] == ':' && error_code_valid(span_of(text.at, n))) {
        set_code(out, span_of(text.at, n));
        text = span_behind(text, n + 1);
        if (text.len > 0 && *text.at == ' ')
            text = span_behind(text, 1);
    }
    copy_text(out->text, ERROR_TEXT_MAX, text);
}

/* A text, and what it was told to be of; an empty code is none, and then the text may name one. */
static void take_both(struct span code, struct span text, struct error_value *out)
{
    if (code.len == 0) {
        read_one_text(text, out);
        return;
    }
    size_t len = 0;
    if (error_code_valid(code)) {
        set_code(out, code);
    } else {
        len = copy_text(out->text, ERROR_TEXT_MAX - 2, code);
        memcpy(out->text + len, ": ", 2);
        len += 2;
    }
    copy_text(out->text + len, ERROR_TEXT_MAX - len, text);
}

static bool read_pair(struct reader r, struct error_value *out)
{
    uint32_t count;
    struct span number;
    struct span code = {0};
    struct span text;
    if (!read_array(&r, &count) || count != 2)
        return false;
    if ((!read_text(&r, &code) && !read_any(&r, &number)) || !read_text(&r, &text))
        return false;
    take_both(code, text, out);
    return true;
}

static bool read_error_map(struct reader r, struct error_value *out)
{
    uint32_t pairs;
    struct span code = {0};
    struct span message = {0};
    if (!read_map(&r, &pairs))
        return false;
    for (; pairs > 0; pairs--) {
        struct span key = {0};
        struct span skipped;
        if (!read_text(&r, &key) && !read_any(&r, &skipped))
            return false;
        if (!(span_is(key, "code") && read_text(&r, &code)) &&
            !(span_is(key, "message") && read_text(&r, &message)) &&
            !(span_is(key, "traceback") && read_text(&r, &out->traceback)) &&
            !read_any(&r, &skipped))
            return false;
    }
    if (code.len == 0 && message.len == 0)
        return false;
    take_both(code, message, out);
    return true;
}

void error_value_read(struct span error, struct error_value *out)
{
    struct reader r = reader_of(error);
    struct span text;
    out->code[0] = out->text[0] = 0;
    out->traceback = (struct span){0};
    if (read_text(&r, &text))
        read_one_text(text, out);
    else if (!read_pair(r, out) && !read_error_map(r, out))
        snprintf(out->text, sizeof out->text, "an error value that is no text");
}
