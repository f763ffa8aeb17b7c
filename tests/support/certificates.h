/* Keys and certificates for tests, made when they run. */
#ifndef ERGON_TESTS_CERTIFICATES_H
#define ERGON_TESTS_CERTIFICATES_H

#include "base/span.h"

/* Writes a P-256 key and a self-signed certificate for localhost and 127.0.0.1, with the common
 * name (NULL: none), as PEM files.  A failure fails the test. */
void certificate_make(const char *cert_path, const char *key_path, const char *common_name);

/* The same with `count` common names, of any bytes. */
void certificate_make_named(const char *cert_path, const char *key_path, const struct span *names,
                            size_t count);

#endif
