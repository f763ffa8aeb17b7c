#include "sim/wire.h"

#include <stdio.h>

#include "base/check.h"
#include "proto/encoder.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "proto/show.h"

static uint8_t *end_of(struct sim_bytes *b, size_t room)
{
    require(b->len + room <= sizeof b->at, "the requests of a burst are too long");
    return b->at + b->len;
}

static void ends_at(struct sim_bytes *b, const uint8_t *end)
{
    b->len = (size_t)(end - b->at);
}

void sim_put_array(struct sim_bytes *b, uint32_t count)
{
    ends_at(b, enc_array(end_of(b, ENC_HEAD_MAX), count));
}

void sim_put_map(struct sim_bytes *b, uint32_t pairs)
{
    ends_at(b, enc_map(end_of(b, ENC_HEAD_MAX), pairs));
}

void sim_put_text(struct sim_bytes *b, const char *text)
{
    ends_at(b, enc_str(end_of(b, ENC_HEAD_MAX + strlen(text)), span_text(text)));
}

void sim_put_uint(struct sim_bytes *b, uint64_t v)
{
    ends_at(b, enc_uint(end_of(b, ENC_INT_MAX), v));
}

void sim_put_bool(struct sim_bytes *b, bool v)
{
    ends_at(b, enc_bool(end_of(b, 1), v));
}

void sim_put_nil(struct sim_bytes *b)
{
    ends_at(b, enc_nil(end_of(b, 1)));
}

void sim_put_zeros(struct sim_bytes *b, uint32_t len)
{
    ends_at(b, enc_bin_head(end_of(b, ENC_HEAD_MAX + (size_t)len), len));
    memset(b->at + b->len, 0, len);
    b->len += len;
}

void sim_put_response(struct sim_bytes *b, uint64_t id, const char *error, const char *result)
{
    sim_put_array(b, 4);
    sim_put_uint(b, 1);
    sim_put_uint(b, id);
    if (error)
        sim_put_text(b, error);
    else
        sim_put_nil(b);
    if (error || !result)
        sim_put_nil(b);
    else
        sim_put_text(b, result);
}

void sim_put_notification(struct sim_bytes *b, const char *method, uint32_t params)
{
    sim_put_array(b, 3);
    sim_put_uint(b, 2);
    sim_put_text(b, method);
    sim_put_array(b, params);
}

void sim_put_request(struct sim_bytes *b, uint64_t id, const char *method, uint32_t params)
{
    sim_put_array(b, 4);
    sim_put_uint(b, 0);
    sim_put_uint(b, id);
    sim_put_text(b, method);
    sim_put_array(b, params);
}

/* Of one whole value, whose last part is thus all that is left. */
static bool read_parts(struct reader *r, struct sim_message *out)
{
    uint32_t parts;
    bool good;
    if (!read_array(r, &parts) || !read_uint(r, &out->type))
        return false;
    if (out->type == 0)
        good = parts == 4 && read_uint(r, &out->id) && read_text(r, &out->method);
    else if (out->type == 1)
        good = parts == 4 && read_uint(r, &out->id) && (read_nil(r) || read_text(r, &out->error));
    else
        good = parts == 3 && read_text(r, &out->method);
    *(out->type == 1 ? &out->result : &out->params) = reader_rest(r);
    return good;
}

static size_t read_on(struct scanner *s, struct span bytes, struct sim_message *out)
{
    static const struct scan_limits limits = {.message_max = 16 << 20, .depth_max = 32};
    enum scan_verdict verdict = scanner_run(s, &limits, bytes);
    *out = (struct sim_message){0};
    if (verdict == SCAN_MORE)
        return 0;
    require(verdict == SCAN_WHOLE, "the server sent what is no MessagePack");
    struct reader r = reader_of(span_of(bytes.at, s->done));
    require(read_parts(&r, out), "the server sent what is no message");
    size_t len = s->done;
    scanner_init(s);
    return len;
}

size_t sim_read_any_message(struct span bytes, struct sim_message *out)
{
    struct scanner s;
    scanner_init(&s);
    return read_on(&s, bytes, out);
}

size_t sim_read_message(struct scanner *s, struct span bytes, struct sim_answer *out,
                        bool *is_answer)
{
    struct sim_message m;
    size_t len = read_on(s, bytes, &m);
    *is_answer = m.type == 1;
    *out = (struct sim_answer){m.id, m.error, m.result};
    return len;
}

struct span sim_member(struct span map, const char *key)
{
    struct reader r = reader_of(map);
    struct span name, value;
    uint32_t pairs;
    if (!read_map(&r, &pairs))
        return span_of(NULL, 0);
    for (uint32_t n = 0; n < pairs; n++)
        if (read_text(&r, &name) && read_any(&r, &value) && span_is(name, key))
            return value;
    return span_of(NULL, 0);
}

struct span sim_member_text(struct span map, const char *key)
{
    struct reader r = reader_of(sim_member(map, key));
    struct span text;
    return read_text(&r, &text) ? text : span_of(NULL, 0);
}

bool sim_member_true(struct span map, const char *key)
{
    struct reader r = reader_of(sim_member(map, key));
    bool v;
    return read_bool(&r, &v) && v;
}

uint64_t sim_member_uint(struct span map, const char *key)
{
    struct reader r = reader_of(sim_member(map, key));
    uint64_t v;
    return read_uint(&r, &v) ? v : 0;
}

void sim_show(struct span value, char *text, size_t size)
{
    struct reader r = reader_of(value);
    text[0] = '\0';
    if (value.len > 0)
        show_values(&r, 1, text, size);
}
