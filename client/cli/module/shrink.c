#include "client/cli/module/shrink.h"

/* Values are walked through in order, and each has so many steps; the one that is wanted is
 * counted down to. */
struct walk {
    struct pack *to;
    uint64_t left; /* steps before the wanted one */
    bool taken;
};

/* Is the wanted step among the next `count`, and which? */
static bool take(struct walk *w, uint64_t count, uint64_t *which)
{
    if (w->taken)
        return false;
    if (w->left >= count) {
        w->left -= count;
        return false;
    }
    *which = w->left;
    w->taken = true;
    return true;
}

static void walk(struct walk *w, const msgpack_object *o, bool is_first);

/* The elements from..to of an array, or pairs of a map, stay out; an element is one of `width`. */
static void walk_but(struct walk *w, const msgpack_object *o, uint64_t from, uint64_t to)
{
    bool is_map = o->type == MSGPACK_OBJECT_MAP;
    uint32_t size = is_map ? o->via.map.size : o->via.array.size;
    if (is_map)
        pack_map(w->to, size - (to - from));
    else
        pack_array(w->to, size - (to - from));
    for (uint32_t i = 0; i < size; i++) {
        if (i >= from && i < to)
            continue;
        walk(w, is_map ? &o->via.map.ptr[i].key : &o->via.array.ptr[i], false);
        if (is_map)
            walk(w, &o->via.map.ptr[i].val, false);
    }
}

/* Steps: nil instead of it, the first half, the second half, one element after the other of a short
 * one.  The parameters themselves stay an array. */
static void walk_all(struct walk *w, const msgpack_object *o, bool is_first)
{
    enum { SHORT = 32 };
    uint64_t size = o->type == MSGPACK_OBJECT_MAP ? o->via.map.size : o->via.array.size;
    uint64_t step, half = size / 2;
    if (!is_first && take(w, 1, &step))
        pack_nil(w->to);
    else if (size >= 2 && take(w, 2, &step))
        walk_but(w, o, step == 0 ? half : 0, step == 0 ? size : half);
    else if (size <= SHORT && take(w, size, &step))
        walk_but(w, o, step, step + 1);
    else
        walk_but(w, o, 0, 0);
}

static void pack_part_of(struct walk *w, const msgpack_object *o, uint32_t from, uint32_t len)
{
    bool is_text = o->type == MSGPACK_OBJECT_STR;
    const char *at = is_text ? o->via.str.ptr : o->via.bin.ptr;
    msgpack_packer *p = &w->to->packer;
    if (is_text)
        pack_span(w->to, span_of(at + from, len));
    else
        w->to->failed |=
            msgpack_pack_bin(p, len) != 0 || msgpack_pack_bin_body(p, at + from, len) != 0;
}

/* Steps: nothing of it, the second half, and so many sixteenths from its begin. */
static void walk_bytes(struct walk *w, const msgpack_object *o)
{
    static const uint32_t sixteenths[] = {0, 0, 8, 12, 15};
    uint32_t len = o->type == MSGPACK_OBJECT_STR ? o->via.str.size : o->via.bin.size;
    uint64_t step;
    if (!take(w, len == 0 ? 0 : len == 1 ? 1 : sizeof sixteenths / sizeof *sixteenths, &step))
        pack_part_of(w, o, 0, len);
    else if (step == 1)
        pack_part_of(w, o, len / 2, len - len / 2);
    else
        pack_part_of(w, o, 0, (uint32_t)((uint64_t)len * sixteenths[step] / 16));
}

static bool is_integer(const msgpack_object *o)
{
    return o->type == MSGPACK_OBJECT_POSITIVE_INTEGER || o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
}

/* Steps of an integer: 0, and half of it; of all else that is not nil: nil. */
static void walk_plain(struct walk *w, const msgpack_object *o)
{
    bool is_negative = o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
    uint64_t step;
    if (is_integer(o) && o->via.u64 != 0 && take(w, 2, &step)) {
        if (step == 0)
            pack_uint(w->to, 0);
        else if (is_negative)
            w->to->failed |= msgpack_pack_int64(&w->to->packer, o->via.i64 / 2) != 0;
        else
            pack_uint(w->to, o->via.u64 / 2);
    } else if (!is_integer(o) && o->type != MSGPACK_OBJECT_NIL && take(w, 1, &step)) {
        pack_nil(w->to);
    } else {
        w->to->failed |= msgpack_pack_object(&w->to->packer, *o) != 0;
    }
}

static void walk(struct walk *w, const msgpack_object *o, bool is_first)
{
    if (o->type == MSGPACK_OBJECT_ARRAY || o->type == MSGPACK_OBJECT_MAP)
        walk_all(w, o, is_first);
    else if (o->type == MSGPACK_OBJECT_STR || o->type == MSGPACK_OBJECT_BIN)
        walk_bytes(w, o);
    else
        walk_plain(w, o);
}

bool shrink_pack(struct span params, uint32_t step, struct pack *to)
{
    struct walk w = {.to = to, .left = step};
    msgpack_unpacked value;
    msgpack_unpacked_init(&value);
    bool good = msgpack_unpack_next(&value, (const char *)params.at, params.len, NULL) ==
                MSGPACK_UNPACK_SUCCESS;
    if (good)
        walk(&w, &value.data, true);
    msgpack_unpacked_destroy(&value);
    return good && w.taken && !to->failed;
}
