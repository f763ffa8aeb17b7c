/* Copies of the paths of certificates, for callers that keep them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/auth/crypto.h"
#include "server/net/stream/tls.h"

static const char *copy(const char *text, bool *good)
{
    const char *copied = text == NULL ? NULL : strdup(text);

    *good = *good && (copied == NULL) == (text == NULL);
    return copied;
}

bool tls_files_copy(struct tls_files *to, const struct tls_files *from)
{
    bool good = true;

    *to = (struct tls_files){.cert = copy(from->cert, &good),
                             .key = copy(from->key, &good),
                             .client_ca = copy(from->client_ca, &good),
                             .crl = copy(from->crl, &good),
                             .key_password = copy(from->key_password, &good),
                             .client_cert = from->client_cert,
                             .min_tls13 = from->min_tls13};
    return good;
}

static void let_go(const char *text)
{
    free((void *)(uintptr_t)text);
}

void tls_files_free(struct tls_files *files)
{
    let_go(files->cert);
    let_go(files->key);
    let_go(files->client_ca);
    let_go(files->crl);
    if (files->key_password != NULL)
        crypto_wipe((void *)(uintptr_t)files->key_password, strlen(files->key_password));
    let_go(files->key_password);
    *files = (struct tls_files){.cert = NULL};
}
