/* hash: any digest that OpenSSL knows. */
#include <openssl/evp.h>

#include <ergon/handler.h>

enum { ALGORITHM_MAX = 32 };

static bool take_algorithm(struct ergon_reader *r, char name[ALGORITHM_MAX + 1])
{
    struct ergon_bytes given;

    if (!ergon_read_bytes(r, &given) || given.len > ALGORITHM_MAX)
        return false;
    memcpy(name, given.at, given.len);
    name[given.len] = '\0';
    return true;
}

static void answer_hex(struct ergon_task *task, const uint8_t *digest, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * EVP_MAX_MD_SIZE];

    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    ergon_result_str(task, text, 2 * len);
}

/* [algorithm, bytes, "hex"] */
static void hash(struct ergon_task *task)
{
    char name[ALGORITHM_MAX + 1];
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len;
    struct ergon_reader r;
    struct ergon_bytes data, form = {.len = 0};
    uint32_t count = ergon_params_open(task, &r);

    if (count < 2 || count > 3 || !take_algorithm(&r, name) || !ergon_read_bytes(&r, &data) ||
        (count == 3 && !ergon_read_bytes(&r, &form))) {
        ergon_fail(task, "BAD_PARAMS",
                   "hash takes [algorithm, bytes], or [algorithm, bytes, \"hex\"]");
        return;
    }
    bool hex = form.len == 3 && memcmp(form.at, "hex", 3) == 0;
    if (count == 3 && !hex) {
        ergon_fail(task, "BAD_PARAMS", "the third parameter of hash can only be \"hex\"");
        return;
    }
    const EVP_MD *md = EVP_get_digestbyname(name);
    if (!md) {
        ergon_failf(task, "BAD_PARAMS",
                    "no digest \"%s\"; try sha256, sha512, sha3-256, blake2b512, md5", name);
        return;
    }
    if (!EVP_Digest(data.at, data.len, digest, &len, md, NULL))
        ergon_failf(task, "FAILED", "OpenSSL refuses to compute \"%s\"", name);
    else if (hex)
        answer_hex(task, digest, len);
    else
        ergon_result_bin(task, digest, len);
}

static const struct ergon_handler handler = {.size = sizeof handler,
                                             .kind = ERGON_BLOCKING,
                                             .name = "hash",
                                             .summary =
                                                 "digest of bytes by any algorithm of OpenSSL",
                                             .params = "[algorithm: str, data: bin, \"hex\"?]",
                                             .run = hash};

ERGON_MODULE(digest_module, "digest", ERGON_VERSION)
{
    return ergon_register(module, &handler);
}
