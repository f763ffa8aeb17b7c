/* ergon token revoke: lines go out of the token file. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/token.h"

enum { HASH_BYTES = 32, WORD_MAX = 4096 };

struct revocation {
    const char *file;
    char hash[2 * HASH_BYTES + sizeof "sha256:"]; /* empty: by name */
    const char *name;
    unsigned revoked;
};

static bool refuse(const char *what, const char *file)
{
    char text[96];
    complain("cannot %s %s: %s", what, file, strerror_r(errno, text, sizeof text));
    return false;
}

/* The token's hash, as its line begins. */
static bool hash_input(struct revocation *r)
{
    char token[WORD_MAX];
    uint8_t digest[HASH_BYTES];
    if (fgets(token, sizeof token, stdin) == NULL)
        return false;
    token[strcspn(token, "\r\n")] = 0;
    bool good = EVP_Digest(token, strlen(token), digest, NULL, EVP_sha256(), NULL) == 1;
    explicit_bzero(token, sizeof token);
    int at = snprintf(r->hash, sizeof r->hash, "sha256:");
    for (int i = 0; i < HASH_BYTES; i++)
        at += snprintf(r->hash + at, sizeof r->hash - (size_t)at, "%02x", digest[i]);
    return good;
}

static bool is_meant(const struct revocation *r, const char *line)
{
    char hash[WORD_MAX + 1], name[WORD_MAX + 1];
    if (line[strspn(line, " \t")] == '#' || sscanf(line, "%4096s %4096s", hash, name) != 2)
        return false;
    return r->hash[0] != 0 ? strcasecmp(hash, r->hash) == 0 : strcmp(name, r->name) == 0;
}

static bool copy_others(struct revocation *r, FILE *from, FILE *to)
{
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    while (good && getline(&line, &room, from) > 0) {
        if (is_meant(r, line))
            r->revoked++;
        else
            good = fputs(line, to) >= 0;
    }
    free(line);
    return good && !ferror(from) && fflush(to) == 0 && fsync(fileno(to)) == 0;
}

/* With its owner and mode. */
static FILE *open_next(const char *path, int like)
{
    struct stat old;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return NULL;
    bool same = fstat(like, &old) == 0 && fchmod(fd, old.st_mode & 07777) == 0 &&
                (fchown(fd, old.st_uid, old.st_gid) == 0 || old.st_uid == geteuid());
    FILE *file = same ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        close(fd);
        unlink(path);
    }
    return file;
}

static bool rewrite(struct revocation *r, const char *path)
{
    char next[WORD_MAX + 16];
    FILE *from = fopen(path, "re");
    if (from == NULL)
        return refuse("read", path);
    snprintf(next, sizeof next, "%s.next", path);
    FILE *to = open_next(next, fileno(from));
    if (to == NULL) {
        fclose(from);
        return refuse("write", next);
    }
    bool good = copy_others(r, from, to);
    good = fclose(to) == 0 && good;
    fclose(from);
    if (good && r->revoked > 0 && rename(next, path) == 0)
        return true;
    int code = errno;
    unlink(next);
    errno = code;
    return good && r->revoked == 0 ? true : refuse("replace", path);
}

enum status token_revoke(const char *file, int argc, char **argv)
{
    struct revocation r = {.file = file};
    char *path;
    if (argc != 1 || file == NULL) {
        complain(
            "token revoke takes a principal, sha256:HASH or -, and --file with the token file");
        return STATUS_USAGE;
    }
    if (strncmp(argv[0], "sha256:", strlen("sha256:")) == 0) {
        snprintf(r.hash, sizeof r.hash, "%s", argv[0]);
    } else if (strcmp(argv[0], "-") == 0) {
        if (!hash_input(&r)) {
            complain("there is no token on standard input");
            return STATUS_USAGE;
        }
    }
    r.name = strncmp(argv[0], "token:", 6) == 0 ? argv[0] + 6 : argv[0];
    path = realpath(file, NULL); /* what a link points to is replaced, and not the link */
    if (path == NULL)
        return refuse("read", file), STATUS_USAGE;
    bool good = rewrite(&r, path);
    free(path);
    if (!good)
        return STATUS_USAGE;
    if (r.revoked == 0) {
        complain("no line of %s is of this principal or token", file);
        return STATUS_REMOTE;
    }
    printf("%u %s revoked; have the server reload %s (SIGHUP)\n", r.revoked,
           r.revoked == 1 ? "token" : "tokens", file);
    return STATUS_OK;
}
