#include "client/cli/module/stock.h"

#include <stdlib.h>

void stock_free(struct stock *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        free(s->at[i].params);
    s->count = 0;
}

static uint64_t mix(uint64_t sign, uint64_t with)
{
    struct bench_random r = {sign ^ with};
    return bench_random_next(&r);
}

/* Of an error its words count, of a result the types of the parameters. */
static uint64_t sign_of(const msgpack_object *params, const struct trial_outcome *out)
{
    uint64_t sign = out->end;
    for (const char *at = out->code; *at != 0; at++)
        sign = mix(sign, (uint8_t)*at);
    for (const char *at = out->text; *at != 0; at++)
        sign = mix(sign, (uint8_t)*at);
    for (uint32_t i = 0; out->end == TRIAL_ANSWERED && i < params->via.array.size; i++)
        sign = mix(sign, params->via.array.ptr[i].type);
    return sign;
}

static void add(struct stock *s, struct span params, uint64_t sign, bool answered)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->at[i].sign == sign)
            return;
    uint8_t *copy = malloc(params.len);
    if (copy == NULL)
        return;
    memcpy(copy, params.at, params.len);
    s->at[s->count++] = (struct stocked){copy, params.len, sign, answered};
}

static bool read_array(struct span bytes, msgpack_unpacked *value)
{
    msgpack_unpacked_init(value);
    return msgpack_unpack_next(value, (const char *)bytes.at, bytes.len, NULL) ==
               MSGPACK_UNPACK_SUCCESS &&
           value->data.type == MSGPACK_OBJECT_ARRAY;
}

void stock_take(struct stock *s, struct span params, const struct trial_outcome *out)
{
    msgpack_unpacked value;
    if ((out->end != TRIAL_ANSWERED && out->end != TRIAL_REFUSED) || s->count == STOCK_MAX ||
        params.len > STOCK_BYTES_MAX)
        return;
    if (read_array(params, &value))
        add(s, params, sign_of(&value.data, out), out->end == TRIAL_ANSWERED);
    msgpack_unpacked_destroy(&value);
}

static uint32_t below(struct bench_random *c, uint32_t most)
{
    return (uint32_t)(bench_random_next(c) % most);
}

/* Those with a result, and the newest, more often than others. */
static const struct stocked *choose(const struct stock *s, struct bench_random *c)
{
    const struct stocked *one = &s->at[below(c, s->count)];
    if (below(c, 2) == 0)
        for (uint32_t tries = 0; tries < STOCK_MAX && !one->answered; tries++)
            one = &s->at[below(c, s->count)];
    else if (below(c, 2) == 0)
        one = &s->at[s->count - 1];
    return one;
}

/* Now and then one parameter more or fewer; each of the others may be another one. */
static void pack_like(const struct rubbish *r, struct bench_random *c, const msgpack_object *params,
                      struct pack *to)
{
    uint32_t count = params->via.array.size, n = count, turn = below(c, 8);
    if (turn == 0 && count < RUBBISH_PARAMS_MAX)
        n++;
    else if (turn == 1 && count > 0)
        n--;
    uint32_t changed = count > 0 ? below(c, count) : 0;
    pack_array(to, n);
    for (uint32_t i = 0; i < n; i++) {
        const msgpack_object *o = i < count ? &params->via.array.ptr[i] : NULL;
        bool changes = i == changed || below(c, 4) == 0;
        if (o == NULL || (changes && below(c, 2) == 0))
            rubbish_value(r, c, to);
        else if (changes)
            rubbish_like(r, c, o, to);
        else
            to->failed |= msgpack_pack_object(&to->packer, *o) != 0;
    }
}

bool stock_pack(const struct stock *s, const struct rubbish *r, uint64_t number, struct pack *to)
{
    struct bench_random c = {r->seed + 1};
    msgpack_unpacked value;
    if (s->count == 0)
        return false;
    c.state = bench_random_next(&c) + number;
    const struct stocked *one = choose(s, &c);
    bool good = read_array(span_of(one->params, one->len), &value);
    if (good)
        pack_like(r, &c, &value.data, to);
    msgpack_unpacked_destroy(&value);
    return good;
}
