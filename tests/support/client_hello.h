/* What a TLS client sends first. */
#ifndef ERGON_TESTS_CLIENT_HELLO_H
#define ERGON_TESTS_CLIENT_HELLO_H

#include <stddef.h>
#include <stdint.h>

/* The ClientHello of OpenSSL, for TLS 1.3, in one record; returns its length.  A failure fails the
 * test. */
size_t client_hello(uint8_t *bytes, int size);

#endif
