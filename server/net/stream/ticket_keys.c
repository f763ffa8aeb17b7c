#include "server/net/stream/ticket_keys.h"

#include "base/chance.h"

/* out = SHA-256(label, chain): one use of the chain, one label. */
static bool derive(const struct ticket_keys *k, char label, uint8_t out[static SHA256_SIZE])
{
    uint8_t input[1 + SHA256_SIZE];

    input[0] = (uint8_t)label;
    memcpy(input + 1, k->chain, SHA256_SIZE);
    bool good = crypto_sha256(span_of(input, sizeof input), out);
    crypto_wipe(input, sizeof input);
    return good;
}

static bool derive_key(const struct ticket_keys *k, struct ticket_key *key)
{
    uint8_t name[SHA256_SIZE];
    bool good = derive(k, 'n', name) && derive(k, 'c', key->cipher) && derive(k, 'm', key->mac);

    memcpy(key->name, name, sizeof key->name);
    return good;
}

bool ticket_keys_init(struct ticket_keys *k, ao_time now)
{
    k->next = now + TICKET_PERIOD;
    if (!chance_bytes(k->chain, sizeof k->chain) || !derive_key(k, &k->now))
        return false;
    k->before = k->now;
    return true;
}

static bool advance_once(struct ticket_keys *k)
{
    uint8_t chain[SHA256_SIZE];

    k->before = k->now;
    k->next += TICKET_PERIOD;
    if (!derive(k, '>', chain))
        return false;
    memcpy(k->chain, chain, sizeof chain);
    crypto_wipe(chain, sizeof chain);
    return derive_key(k, &k->now);
}

bool ticket_keys_advance(struct ticket_keys *k, ao_time now)
{
    while (now >= k->next)
        if (!advance_once(k))
            return false;
    return true;
}

const struct ticket_key *ticket_keys_find(const struct ticket_keys *k,
                                          const uint8_t name[static TICKET_NAME_SIZE])
{
    if (memcmp(k->now.name, name, TICKET_NAME_SIZE) == 0)
        return &k->now;
    return memcmp(k->before.name, name, TICKET_NAME_SIZE) == 0 ? &k->before : NULL;
}
