#include "server/net/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

bool hash_sha256(struct span bytes, uint8_t out[static HASH_SIZE])
{
    unsigned size = 0;
    const void *at = bytes.len > 0 ? bytes.at : (const uint8_t *)"";

    return EVP_Digest(at, bytes.len, out, &size, EVP_sha256(), NULL) == 1 && size == HASH_SIZE;
}

bool hash_equal(const uint8_t a[static HASH_SIZE], const uint8_t b[static HASH_SIZE])
{
    return CRYPTO_memcmp(a, b, HASH_SIZE) == 0;
}

bool hash_random(uint8_t *out, size_t size)
{
    return RAND_bytes(out, (int)size) == 1;
}

void hash_wipe(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
