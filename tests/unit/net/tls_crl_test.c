/* Until when lists of revoked certificates hold. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "server/net/stream/tls.h"
#include "tests/support/cmocka_env.h"

static char path[64], error[200];

static int open_file(void **state)
{
    strcpy(path, "/tmp/ergon-crl-XXXXXX");
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_file(void **state)
{
    return unlink(path);
}

#define CRL_TEST(name) TEST_WITH(open_file, remove_file, name)

static void set_time(X509_CRL *crl, int (*set)(X509_CRL *, const ASN1_TIME *), int64_t at)
{
    ASN1_TIME *t = ASN1_TIME_set(NULL, at);

    assert_int_equal(set(crl, t), 1);
    ASN1_TIME_free(t);
}

/* One more in the file; it ends at `at`, Unix seconds, or with 0 does not say when. */
static void add_list(int64_t at)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509_CRL *crl = X509_CRL_new();
    X509_NAME *name = X509_NAME_new();
    FILE *file = fopen(path, "a");

    assert_true(key && crl && name && file);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Ergon's tests", -1,
                               -1, 0);
    assert_int_equal(X509_CRL_set_issuer_name(crl, name), 1);
    set_time(crl, X509_CRL_set1_lastUpdate, 1000000000);
    if (at > 0)
        set_time(crl, X509_CRL_set1_nextUpdate, at);
    assert_true(X509_CRL_sign(crl, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509_CRL(file, crl), 1);
    fclose(file);
    X509_NAME_free(name);
    X509_CRL_free(crl);
    EVP_PKEY_free(key);
}

static int64_t ends(void)
{
    int64_t at = 0;

    assert_true(tls_crl_ends(path, &at, error, sizeof error));
    return at;
}

CRL_TEST(of_several_the_first_to_end_counts)
{
    add_list(1700000000);
    assert_int_equal(ends(), 1700000000);
    add_list(1600000000);
    assert_int_equal(ends(), 1600000000);
    add_list(1800000000);
    assert_int_equal(ends(), 1600000000);
    add_list(0);
    assert_int_equal(ends(), 1600000000);
}

CRL_TEST(one_that_does_not_say_holds_for_ever)
{
    add_list(0);
    assert_int_equal(ends(), INT64_MAX);
}

CRL_TEST(what_is_none_is_refused_with_a_text)
{
    int64_t at;

    assert_false(tls_crl_ends(path, &at, error, sizeof error));
    assert_non_null(strstr(error, "holds no list of revoked certificates in PEM"));
    assert_false(tls_crl_ends("/nowhere/list.pem", &at, error, sizeof error));
    assert_string_equal(error, "/nowhere/list.pem: cannot be read");
}
