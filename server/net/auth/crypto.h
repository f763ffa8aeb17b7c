/* What the rooms of the network need of OpenSSL beside TLS: hashes, and secrets wiped.  Any
 * thread. */
#ifndef ERGON_NET_CRYPTO_H
#define ERGON_NET_CRYPTO_H

#include "base/span.h"

enum { SHA256_SIZE = 32 };

/* False when OpenSSL fails (without memory). */
bool crypto_sha256(struct span bytes, uint8_t out[static SHA256_SIZE]);
/* Takes the same time whatever differs. */
bool crypto_equal(const uint8_t a[static SHA256_SIZE], const uint8_t b[static SHA256_SIZE]);
/* Overwrites, and the compiler does not leave it out. */
void crypto_wipe(void *secret, size_t size);

#endif
