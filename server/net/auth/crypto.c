#include "server/net/auth/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

bool crypto_sha256(struct span bytes, uint8_t out[static SHA256_SIZE])
{
    unsigned size = 0;
    const void *at = bytes.len > 0 ? bytes.at : (const uint8_t *)"";

    return EVP_Digest(at, bytes.len, out, &size, EVP_sha256(), NULL) == 1 && size == SHA256_SIZE;
}

bool crypto_equal(const uint8_t a[static SHA256_SIZE], const uint8_t b[static SHA256_SIZE])
{
    return CRYPTO_memcmp(a, b, SHA256_SIZE) == 0;
}

void crypto_wipe(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
