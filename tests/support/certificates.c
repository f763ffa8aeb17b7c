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

static void add_name(GENERAL_NAMES *names, int kind, struct span text)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *string =
        kind == GEN_IPADD ? ASN1_OCTET_STRING_new() : (ASN1_STRING *)ASN1_IA5STRING_new();

    assert_true(name != NULL && string != NULL);
    assert_int_equal(ASN1_STRING_set(string, text.at, (int)text.len), 1);
    GENERAL_NAME_set0_value(name, kind, string);
    assert_true(sk_GENERAL_NAME_push(names, name) > 0);
}

static void add_names(X509 *cert, const struct certificate_name *wanted, size_t count)
{
    static const int kinds[] = {
        [CERTIFICATE_DNS] = GEN_DNS, [CERTIFICATE_URI] = GEN_URI, [CERTIFICATE_EMAIL] = GEN_EMAIL};
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();

    assert_non_null(names);
    for (size_t i = 0; i < count; i++)
        add_name(names, kinds[wanted[i].kind], wanted[i].text);
    add_name(names, GEN_IPADD, span_of("\x7f\0\0\1", 4));
    assert_int_equal(X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0), 1);
    GENERAL_NAMES_free(names);
}

void certificate_make(const char *cert_path, const char *key_path, const char *name)
{
    const struct certificate_name names[] = {{CERTIFICATE_DNS, span_text(name == NULL ? "" : name)},
                                             {CERTIFICATE_DNS, span_text("localhost")}};

    certificate_make_named(cert_path, key_path, names, name == NULL ? 0 : 2);
}

void certificate_make_named(const char *cert_path, const char *key_path,
                            const struct certificate_name *names, size_t count)
{
    static long serial = 0;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_NAME_new();

    assert_true(key != NULL && cert != NULL && name != NULL);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Ergon's tests", -1,
                               -1, 0);
    struct span common = count == 0 ? span_text("common") : names[0].text;
    X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING, common.at, (int)common.len,
                               -1, 0);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -A_DAY);
    X509_gmtime_adj(X509_getm_notAfter(cert), A_DAY);
    X509_set_subject_name(cert, name);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    add_names(cert, names, count);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    write_files(cert_path, key_path, cert, key);
    X509_NAME_free(name);
    X509_free(cert);
    EVP_PKEY_free(key);
}
