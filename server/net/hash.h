/* SHA-256, through OpenSSL.  Any thread. */
#ifndef ERGON_NET_HASH_H
#define ERGON_NET_HASH_H

#include "base/span.h"

enum { HASH_SIZE = 32 };

/* False when OpenSSL fails (without memory). */
bool hash_sha256(struct span bytes, uint8_t out[static HASH_SIZE]);
/* Takes the same time whatever differs. */
bool hash_equal(const uint8_t a[static HASH_SIZE], const uint8_t b[static HASH_SIZE]);
bool hash_random(uint8_t *out, size_t size);
void hash_wipe(void *secret, size_t size);

#endif
