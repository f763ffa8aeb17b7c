/* ergon token: makes a bearer token and the line by which a server knows it. */
#include "base/hex.h"
#include "client/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "client/cli/output.h"
#include "client/cli/token.h"

enum {
    TOKEN_BYTES = 32,                 /* of randomness */
    TOKEN_TEXT = 2 * TOKEN_BYTES + 1, /* in hex, with the final zero */
    HASH_BYTES = 32,                  /* SHA-256 */
    LINE_MAX_BYTES = 4096
};

struct token_options {
    const char *methods; /* NULL: all */
    const char *file;
    const char *expires; /* NULL: never */
};

static const struct option_spec OPTIONS[] = {
    {0, "methods", "LIST", "methods allowed, as 'echo,hash,server.*'; default: *", OPTION_TEXT,
     offsetof(struct token_options, methods)},
    {0, "file", "FILE", "append the line to this file of the server", OPTION_TEXT,
     offsetof(struct token_options, file)},
    {0, "expires", "TIME", "the token ends then: 2027-01-01T00:00:00Z", OPTION_TEXT,
     offsetof(struct token_options, expires)},
    {0},
};

static void hex(char *to, const uint8_t *from, size_t len)
{
    hex_write(from, len, to);
    to[2 * len] = 0;
}

static bool make_token(char *token, char *hash)
{
    uint8_t bytes[TOKEN_BYTES];
    uint8_t digest[HASH_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    hex(token, bytes, sizeof bytes);
    explicit_bzero(bytes, sizeof bytes);
    if (EVP_Digest(token, strlen(token), digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    hex(hash, digest, sizeof digest);
    return true;
}

/* The line is split at spaces, and ends where a remark begins; quotes would need an escape. */
static bool is_word(const char *text)
{
    for (const char *c = text; *c != 0; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return text[0] != 0 && strpbrk(text, "#\"\\") == NULL;
}

static bool is_method_list(const char *list)
{
    size_t len = strlen(list);
    if (!is_word(list) || list[0] == ',' || list[len - 1] == ',' || strstr(list, ",,") != NULL)
        return false;
    for (const char *star = strchr(list, '*'); star != NULL; star = strchr(star + 1, '*'))
        if (star[1] != 0 && star[1] != ',')
            return false;
    return true;
}

static bool refuse(const char *file)
{
    char text[96];
    complain("cannot append to %s: %s", file, strerror_r(errno, text, sizeof text));
    return false;
}

/* A file that somebody edited may lack its last newline. */
static bool ends_in_newline(int fd)
{
    char last = '\n';
    off_t end = lseek(fd, 0, SEEK_END);
    return end <= 0 || pread(fd, &last, 1, end - 1) != 1 || last == '\n';
}

static bool append_line(const char *file, const char *line)
{
    char text[LINE_MAX_BYTES + 2];
    int fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse(file);
    int len = snprintf(text, sizeof text, "%s%s\n", ends_in_newline(fd) ? "" : "\n", line);
    bool good = write(fd, text, (size_t)len) == len; /* one write: whole lines, even in parallel */
    good = close(fd) == 0 && good;
    return good || refuse(file);
}

static void print_token(const struct globals *g, const char *token, const char *line, bool filed)
{
    if (g->json)
        print_json(json_pack("{s:s, s:s}", "token", token, "line", line));
    else if (filed)
        puts(token);
    else
        printf("%s\n%s\n", token, line);
}

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct token_options *o = options;
    const char *methods = o->methods != NULL ? o->methods : "*";
    char token[TOKEN_TEXT];
    char hash[2 * HASH_BYTES + 1];
    char line[LINE_MAX_BYTES];
    uint64_t end;

    if (strcmp(argv[0], "revoke") == 0)
        return token_revoke(o->file, argc - 1, argv + 1);
    if (argc > 1) {
        complain("one principal at a time; see ergon token --help");
        return STATUS_USAGE;
    }
    if (!is_word(argv[0])) {
        complain("a principal is one word without spaces, quotes, backslashes or #");
        return STATUS_USAGE;
    }
    if (!is_method_list(methods)) {
        complain("--methods is a list as echo,hash,server.*; a star stands at the end of a name");
        return STATUS_USAGE;
    }
    if (o->expires != NULL && !instant_parse(span_text(o->expires), &end)) {
        complain("--expires is a moment such as 2027-01-01T00:00:00Z");
        return STATUS_USAGE;
    }
    if (!make_token(token, hash)) {
        complain("no randomness to make a token from");
        return STATUS_REMOTE;
    }
    int len = snprintf(line, sizeof line, "sha256:%s %s %s%s%s", hash, argv[0], methods,
                       o->expires != NULL ? " expires=" : "", o->expires != NULL ? o->expires : "");
    if (len < 0 || (size_t)len >= sizeof line) {
        complain("the principal and its methods are longer than a line may be");
        return STATUS_USAGE;
    }
    if (o->file != NULL && !append_line(o->file, line))
        return STATUS_USAGE;
    print_token(g, token, line, o->file != NULL);
    explicit_bzero(token, sizeof token);
    return STATUS_OK;
}

const struct command TOKEN = {
    .name = "token",
    .arguments = "PRINCIPAL | revoke PRINCIPAL | revoke sha256:HASH",
    .summary = "make a bearer token and the server's line for it, or take one back",
    .text =
        "Prints a new random token, and below it the line for the server's token file: the\n"
        "token's SHA-256, the principal, and the methods that it may call. With --file the\n"
        "line is appended to that file instead, and the token alone is printed. The server\n"
        "reads the file again on SIGHUP. No connection is made.\n"
        "\n"
        "\"token revoke\" takes the lines of a principal, or the one of a token, out of the file\n"
        "that --file names: by its name, by \"sha256:HASH\" as the line has it, or, with - in\n"
        "place of it, by the token on standard input. Then tell the server to reload (SIGHUP):\n"
        "it closes the token's connections, or lowers them (on_revoke).\n",
    .examples = "  ergon token alice\n"
                "  ergon token ci --methods 'echo,hash,server.*' --file tokens > ci.token\n"
                "  ergon token guest --expires 2027-01-01T00:00:00Z --file tokens\n"
                "  ergon token revoke ci --file tokens && systemctl reload ergond\n"
                "  ERGON_TOKEN_FILE=ci.token ergon call echo hello\n",
    .options = OPTIONS,
    .options_size = sizeof(struct token_options),
    .arguments_min = 1,
    .arguments_max = 2,
    .run = run,
    .offline = true,
};
