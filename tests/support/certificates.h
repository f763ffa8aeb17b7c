/* Keys and certificates for tests, made when they run. */
#ifndef ERGON_TESTS_CERTIFICATES_H
#define ERGON_TESTS_CERTIFICATES_H

#include "base/span.h"

enum certificate_kind { CERTIFICATE_DNS, CERTIFICATE_URI, CERTIFICATE_EMAIL };
struct certificate_name {
    enum certificate_kind kind;
    struct span text; /* any bytes */
};

/* Writes a P-256 key and a self-signed certificate for 127.0.0.1 as PEM files; its further names
 * are `name` and localhost (NULL: none).  Its common name is
 * the first of them, or "common".  A failure fails the test.
 */
void certificate_make(const char *cert_path, const char *key_path, const char *name);

/* The same with these names. */
void certificate_make_named(const char *cert_path, const char *key_path,
                            const struct certificate_name *names, size_t count);

#endif
