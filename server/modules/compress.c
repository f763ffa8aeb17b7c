/* compress and decompress: gzip, zlib and raw deflate, by zlib. */
#include <stdlib.h>
#include <zlib.h>

#include <ergon/handler.h>

enum {
    HEAD = 5,             /* bytes of a bin32 header */
    GROW_MIN = 16 * 1024, /* bytes; first size of an output of unknown length */
    SLICE = 1 << 20       /* bytes of output between two looks at `cancelled` */
};

struct options {
    int window_bits; /* zlib's way of naming the format */
    int level;
    uint64_t limit; /* bytes of output */
};

static bool is(struct ergon_bytes a, const char *text)
{
    return a.len == strlen(text) && memcmp(a.at, text, a.len) == 0;
}

static bool read_format(struct ergon_reader *r, int *window_bits)
{
    struct ergon_bytes name;

    if (!ergon_read_bytes(r, &name))
        return false;
    if (is(name, "gzip"))
        *window_bits = MAX_WBITS + 16;
    else if (is(name, "zlib"))
        *window_bits = MAX_WBITS;
    else if (is(name, "raw"))
        *window_bits = -MAX_WBITS;
    else
        return false;
    return true;
}

static bool read_level(struct ergon_reader *r, int *level)
{
    int64_t n;

    if (!ergon_read_int(r, &n) || n < 0 || n > 9)
        return false;
    *level = (int)n;
    return true;
}

/* One pair; false when it is refused, with the failure set. */
static bool read_option(struct ergon_task *task, struct ergon_reader *r, struct options *o,
                        bool inflating)
{
    struct ergon_bytes key;

    if (!ergon_read_bytes(r, &key)) {
        ergon_fail(task, "BAD_PARAMS", "the name of an option must be a string");
        return false;
    }
    bool known = true, good = false;
    if (is(key, "format"))
        good = read_format(r, &o->window_bits);
    else if (!inflating && is(key, "level"))
        good = read_level(r, &o->level);
    else if (inflating && is(key, "limit"))
        good = ergon_read_size(r, &o->limit);
    else
        known = false;
    if (!good)
        ergon_failf(task, "BAD_PARAMS",
                    known ? "bad value of option \"%.*s\"" : "unknown option \"%.*s\"",
                    (int)(key.len < 64 ? key.len : 64), (const char *)key.at);
    return good;
}

static bool open_params(struct ergon_task *task, struct ergon_bytes *data, struct options *o,
                        bool inflating)
{
    struct ergon_reader r;
    uint32_t count = ergon_params_open(task, &r), pairs = 0;

    *o = (struct options){.window_bits = MAX_WBITS + 16,
                          .level = Z_DEFAULT_COMPRESSION,
                          .limit = ergon_message_max(task)};
    if (count < 1 || count > 2 || !ergon_read_bytes(&r, data) ||
        (count == 2 && !ergon_read_map(&r, &pairs))) {
        ergon_fail(task, "BAD_PARAMS",
                   inflating ? "decompress takes [bytes, {format: gzip|zlib|raw, limit: size}]"
                             : "compress takes [bytes, {format: gzip|zlib|raw, level: 0 to 9}]");
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++)
        if (!read_option(task, &r, o, inflating))
            return false;
    return true;
}

static void put_head(uint8_t *p, uint32_t len)
{
    p[0] = 0xc6; /* bin32: its length is known before the output's is */
    for (int i = 0; i < 4; i++)
        p[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

/* [bytes, {format, level}] */
static void compress_run(struct ergon_task *task)
{
    struct ergon_bytes data;
    struct options o;
    z_stream z = {0};

    if (!open_params(task, &data, &o, false))
        return;
    if (deflateInit2(&z, o.level, Z_DEFLATED, o.window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        ergon_fail(task, "MEMORY", "no memory to compress with");
        return;
    }
    size_t bound = deflateBound(&z, data.len);
    uint8_t *room = ergon_result_room(task, HEAD + bound);
    if (room) {
        z.next_in = (uint8_t *)data.at;
        z.avail_in = (uInt)data.len;
        z.next_out = room + HEAD;
        z.avail_out = (uInt)bound;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END) {
            put_head(room, (uint32_t)z.total_out);
            ergon_result_done(task, HEAD + z.total_out);
        } else {
            ergon_fail(task, "FAILED", "zlib did not finish");
        }
    }
    deflateEnd(&z);
}

struct output {
    uint8_t *at;
    size_t len, size, limit; /* bytes */
};

/* Room for more; false at the limit or without memory, with the failure set. */
static bool grow(struct ergon_task *task, struct output *out)
{
    if (out->size == out->limit + 1) {
        ergon_failf(task, "TOO_LARGE", "the output is larger than %zu bytes", out->limit);
        return false;
    }
    size_t size = out->size < GROW_MIN ? GROW_MIN : out->size * 2;
    if (size > out->limit + 1)
        size = out->limit + 1; /* one more than allowed: to see that there is more */
    uint8_t *at = realloc(out->at, size);
    if (!at) {
        ergon_fail(task, "MEMORY", "no memory for the output");
        return false;
    }
    out->at = at;
    out->size = size;
    return true;
}

/* Several gzip members one behind the other are one output, as gzip has it. */
static bool next_member(z_stream *z, const struct options *o)
{
    return o->window_bits > MAX_WBITS && z->avail_in > 0 && *z->next_in == 0x1f &&
           inflateReset(z) == Z_OK;
}

static bool inflate_all(struct ergon_task *task, z_stream *z, const struct options *o,
                        struct output *out)
{
    for (;;) {
        if (out->len == out->size && !grow(task, out))
            return false;
        size_t room = out->size - out->len;
        z->next_out = out->at + out->len;
        z->avail_out = (uInt)(room < SLICE ? room : SLICE);
        uInt before = z->avail_out;
        int status = inflate(z, Z_NO_FLUSH);
        out->len += before - z->avail_out;
        if (ergon_cancelled(task))
            return false;
        if (status == Z_STREAM_END && !next_member(z, o))
            break;
        if (status == Z_BUF_ERROR || (status == Z_OK && z->avail_in == 0 && z->avail_out > 0)) {
            ergon_fail(task, "BAD_DATA", "the compressed data ends in the middle");
            return false;
        }
        if (status != Z_OK && status != Z_STREAM_END) {
            ergon_failf(task, "BAD_DATA", "not the stated format, or damaged: %s",
                        z->msg ? z->msg : "zlib refuses it");
            return false;
        }
    }
    if (out->len > out->limit) {
        ergon_failf(task, "TOO_LARGE", "the output is larger than %zu bytes", out->limit);
        return false;
    }
    if (z->avail_in > 0) {
        ergon_fail(task, "BAD_DATA", "something else follows the compressed data");
        return false;
    }
    return true;
}

/* [bytes, {format, limit}] */
static void decompress_run(struct ergon_task *task)
{
    struct ergon_bytes data;
    struct options o;
    struct output out = {0};
    z_stream z = {0};

    if (!open_params(task, &data, &o, true))
        return;
    out.limit = o.limit < ergon_message_max(task) ? o.limit : ergon_message_max(task);
    if (inflateInit2(&z, o.window_bits) != Z_OK) {
        ergon_fail(task, "MEMORY", "no memory to decompress with");
        return;
    }
    z.next_in = (uint8_t *)data.at;
    z.avail_in = (uInt)data.len;
    if (inflate_all(task, &z, &o, &out))
        ergon_result_bin(task, out.at, out.len);
    inflateEnd(&z);
    free(out.at);
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "compress",
     .summary = "compresses bytes",
     .params = "[data: bin, {format: gzip|zlib|raw, level: 0-9}]",
     .run = compress_run},
    {.size = sizeof(struct ergon_handler),
     .kind = ERGON_BLOCKING,
     .name = "decompress",
     .summary = "decompresses bytes, up to a limit",
     .params = "[data: bin, {format: gzip|zlib|raw, limit: size}]",
     .run = decompress_run,
     .flags = ERGON_LARGE_RESULTS},
};

ERGON_MODULE(compress_module, "compress", ERGON_VERSION)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
        if (ergon_register(module, &handlers[i]) < 0)
            return -1;
    return 0;
}
