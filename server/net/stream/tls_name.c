/* The name in a certificate. */
#include "server/net/stream/tls_private.h"

#include <ctype.h>
#include <stdio.h>

#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* Nothing that a name of this kind does not consist of, and that would read as another's, as a
 * pattern or as two words. */
static bool is_usable_name(int kind, const char *text, int len)
{
    for (int i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c >= 0x7f || strchr("*,\"\\#", c) != NULL ||
            (kind == GEN_DNS && strchr(":@/", c) != NULL))
            return false;
    }
    return len > 0 && (kind != GEN_EMAIL || memchr(text, '@', (size_t)len) != NULL) &&
           (kind != GEN_URI || memchr(text, ':', (size_t)len) != NULL);
}

/* The first name of this kind; a DNS name in small letters. */
static enum tls_name name_of_kind(const GENERAL_NAMES *names, int kind, char *buf, size_t size)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int found;
        const ASN1_STRING *string =
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &found);
        if (found != kind)
            continue;
        const char *text = (const char *)ASN1_STRING_get0_data(string);
        int len = ASN1_STRING_length(string);
        if (!is_usable_name(kind, text, len) || (size_t)len >= size)
            return TLS_NAME_UNUSABLE;
        snprintf(buf, size, "%.*s", len, text);
        for (char *c = buf; kind == GEN_DNS && *c != '\0'; c++)
            *c = (char)tolower((unsigned char)*c);
        return TLS_NAME_FOUND;
    }
    return TLS_NAME_NO_CERTIFICATE;
}

enum tls_name tls_name_of(const X509 *cert, char *buf, size_t size)
{
    static const int kinds[] = {GEN_DNS, GEN_URI, GEN_EMAIL};
    enum tls_name result = TLS_NAME_NO_CERTIFICATE;

    if (cert == NULL)
        return result;
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && result == TLS_NAME_NO_CERTIFICATE; i++)
        result = names == NULL ? TLS_NAME_UNUSABLE : name_of_kind(names, kinds[i], buf, size);
    GENERAL_NAMES_free(names);
    return result == TLS_NAME_FOUND ? TLS_NAME_FOUND : TLS_NAME_UNUSABLE;
}
