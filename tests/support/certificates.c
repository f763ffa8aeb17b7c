#include "tests/support/certificates.h"

#include <stdio.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tests/support/cmocka_env.h"

enum { A_DAY = 86400 };

static void write_files(const char *cert_path, const char *key_path, X509 *cert, EVP_PKEY *key)
{
    FILE *file = fopen(cert_path, "w");

    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    file = fopen(key_path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

static void add_names(X509 *cert)
{
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_non_null(names);
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
}

void certificate_make(const char *cert_path, const char *key_path, const char *common_name)
{
    struct span name = span_text(common_name == NULL ? "" : common_name);

    certificate_make_named(cert_path, key_path, &name, common_name != NULL);
}

void certificate_make_named(const char *cert_path, const char *key_path, const struct span *names,
                            size_t count)
{
    static long serial = 0;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_NAME_new();

    assert_true(key != NULL && cert != NULL && name != NULL);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Ergon's tests", -1,
                               -1, 0);
    for (size_t i = 0; i < count; i++)
        X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING, names[i].at,
                                   (int)names[i].len, -1, 0);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -A_DAY);
    X509_gmtime_adj(X509_getm_notAfter(cert), A_DAY);
    X509_set_subject_name(cert, name);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    add_names(cert);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    write_files(cert_path, key_path, cert, key);
    X509_NAME_free(name);
    X509_free(cert);
    EVP_PKEY_free(key);
}
