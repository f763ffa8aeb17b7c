#include "client/cli/files.h"

#include "client/cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_FIRST = 64 * 1024 }; /* bytes of the first block */

/* False: errno says why. */
static bool read_all(FILE *file, size_t max, struct file_bytes *f)
{
    size_t cap = 0, n;
    do {
        if (f->len + 1 >= cap) {
            cap = cap == 0 ? FILE_FIRST : cap * 2;
            uint8_t *at = realloc(f->at, cap);
            if (at == NULL)
                return false;
            f->at = at;
        }
        n = fread(f->at + f->len, 1, cap - f->len - 1, file);
        f->len += n;
        errno = f->len > max ? EFBIG : errno;
    } while (n > 0 && f->len <= max);
    f->at[f->len] = 0;
    return f->len <= max && !ferror(file);
}

bool file_read(const char *path, size_t max, struct file_bytes *out)
{
    char text[96];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    *out = (struct file_bytes){0};
    if (file != NULL)
        setvbuf(file, NULL, _IONBF, 0); /* no copy of a token stays behind */
    bool good = file != NULL && read_all(file, max, out);
    if (!good) {
        complain("cannot read %s: %s", file == stdin ? "standard input" : path,
                 strerror_r(errno, text, sizeof text));
        file_bytes_fini(out);
    }
    if (file != NULL && file != stdin)
        fclose(file);
    return good;
}

void file_bytes_fini(struct file_bytes *f)
{
    free(f->at);
    *f = (struct file_bytes){0};
}

bool file_write(int fd, const char *text)
{
    size_t len = strlen(text);
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}
