/* Keys and certificates for tests, made when they run. */
#ifndef ERGON_TESTS_CERTIFICATES_H
#define ERGON_TESTS_CERTIFICATES_H

/* Writes a P-256 key and a self-signed certificate for localhost and 127.0.0.1, with the common
 * name (NULL: none), as PEM files.  A failure fails the test. */
void certificate_make(const char *cert_path, const char *key_path, const char *common_name);

#endif
