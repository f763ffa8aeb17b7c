#include "client/lib/pairs.h"

bool options_copy(void *to, size_t to_size, const void *from)
{
    size_t size;
    memset(to, 0, to_size);
    if (from == NULL)
        return true;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size)
        return false;
    memcpy(to, from, size < to_size ? size : to_size);
    return true;
}

void pairs_init(struct pairs *m)
{
    pack_init(&m->pack);
    m->count = 0;
    m->refused = NULL;
}

void pairs_text(struct pairs *m, const char *key, const char *text)
{
    if (text == NULL)
        return;
    m->count++;
    pack_key_str(&m->pack, key, text);
}

void pairs_texts(struct pairs *m, const char *key, const char *const *texts, size_t count)
{
    if (count == 0)
        return;
    m->count++;
    pack_str(&m->pack, key);
    pack_array(&m->pack, count);
    for (size_t i = 0; i < count; i++)
        pack_str(&m->pack, texts[i]);
}

void pairs_number(struct pairs *m, const char *key, uint64_t v)
{
    if (v == 0)
        return;
    m->count++;
    pack_key_uint(&m->pack, key, v == ERGON_ZERO ? 0 : v);
}

void pairs_raw(struct pairs *m, const char *key, struct ergon_raw value)
{
    if (value.len == 0)
        return;
    m->count++;
    pack_key_raw(&m->pack, key, span_of(value.at, value.len));
}

void pairs_pack(struct pairs *m, struct ergon_request *r)
{
    struct pack *to = &r->params;
    if (m->refused != NULL)
        r->refused = m->refused;
    pack_map(to, m->count);
    if (m->count > 0)
        pack_raw(to, pack_bytes(&m->pack));
    to->failed |= m->pack.failed;
    pack_fini(&m->pack);
}

void pairs_flag(struct pairs *m, const char *key, bool wanted, bool value)
{
    if (!wanted)
        return;
    m->count++;
    pack_key_bool(&m->pack, key, value);
}
