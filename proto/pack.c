/* Bytes of a buffer at first: most values are results of calls and answers of task.submit.  By
 * default msgpack-c takes 8 KiB, and a burst of answers then grows and trims the heap, at a page
 * fault each. */
#define MSGPACK_SBUFFER_INIT_SIZE 128

#include "proto/pack.h"

#include <assert.h>
#include <stdlib.h>

void pack_init(struct pack *p)
{
    msgpack_sbuffer_init(&p->buffer);
    msgpack_packer_init(&p->packer, &p->buffer, msgpack_sbuffer_write);
    p->shares = NULL;
    p->share_count = p->share_room = 0;
    p->shared = 0;
    p->failed = false;
}

void pack_fini(struct pack *p)
{
    for (uint32_t i = 0; i < p->share_count; i++)
        blob_unref(p->shares[i].blob);
    free(p->shares);
    msgpack_sbuffer_destroy(&p->buffer);
}

struct span pack_bytes(const struct pack *p)
{
    assert(p->share_count == 0 || p->failed);
    return p->failed ? (struct span){0} : span_of(p->buffer.data, p->buffer.size);
}

uint64_t pack_size(const struct pack *p)
{
    return p->buffer.size + p->shared;
}

struct span pack_part(const struct pack *p, uint32_t part)
{
    size_t from = part > 0 ? p->shares[part - 1].before : 0;
    size_t to = part < p->share_count ? p->shares[part].before : p->buffer.size;
    return span_of(p->buffer.data + from, to - from);
}

static void note(struct pack *p, int failed)
{
    p->failed |= failed != 0;
}

void pack_nil(struct pack *p)
{
    note(p, msgpack_pack_nil(&p->packer));
}

void pack_raw(struct pack *p, struct span value)
{
    note(p, msgpack_sbuffer_write(&p->buffer, (const char *)value.at, value.len));
}

static bool has_room(struct pack *p)
{
    if (p->share_count < p->share_room)
        return true;
    uint32_t room = p->share_room > 0 ? 2 * p->share_room : 1;
    struct pack_share *shares = realloc(p->shares, room * sizeof *shares);
    if (!shares)
        return false;
    p->shares = shares;
    p->share_room = room;
    return true;
}

void pack_blob(struct pack *p, struct blob *value)
{
    if (value->len < PACK_SHARED_MIN) {
        pack_raw(p, blob_bytes(value));
    } else if (has_room(p)) {
        p->shares[p->share_count++] =
            (struct pack_share){.before = p->buffer.size, .blob = blob_ref(value)};
        p->shared += value->len;
    } else {
        p->failed = true;
    }
}

void pack_array(struct pack *p, size_t count)
{
    note(p, msgpack_pack_array(&p->packer, count));
}

void pack_map(struct pack *p, size_t pairs)
{
    note(p, msgpack_pack_map(&p->packer, pairs));
}

void pack_span(struct pack *p, struct span text)
{
    note(p, msgpack_pack_str(&p->packer, text.len));
    note(p, msgpack_pack_str_body(&p->packer, text.at, text.len));
}

void pack_str(struct pack *p, const char *text)
{
    if (text)
        pack_span(p, span_text(text));
    else
        note(p, msgpack_pack_nil(&p->packer));
}

void pack_uint(struct pack *p, uint64_t v)
{
    note(p, msgpack_pack_uint64(&p->packer, v));
}

static void pack_int(struct pack *p, int64_t v)
{
    note(p, msgpack_pack_int64(&p->packer, v));
}

void pack_bool(struct pack *p, bool v)
{
    note(p, v ? msgpack_pack_true(&p->packer) : msgpack_pack_false(&p->packer));
}

void pack_key_str(struct pack *p, const char *key, const char *text)
{
    pack_str(p, key);
    pack_str(p, text);
}

void pack_key_uint(struct pack *p, const char *key, uint64_t v)
{
    pack_str(p, key);
    pack_uint(p, v);
}

void pack_key_int(struct pack *p, const char *key, int64_t v)
{
    pack_str(p, key);
    pack_int(p, v);
}

void pack_key_bool(struct pack *p, const char *key, bool v)
{
    pack_str(p, key);
    pack_bool(p, v);
}

void pack_key_span(struct pack *p, const char *key, struct span text)
{
    pack_str(p, key);
    pack_span(p, text);
}

void pack_key_raw(struct pack *p, const char *key, struct span value)
{
    pack_str(p, key);
    pack_raw(p, value);
}
