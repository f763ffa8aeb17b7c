#include "server/processes/hello.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "ok", a line, the module's name, and a line for each method; or "no", a line, and the reason. */
static const char runs[] = "ok\n", refuses[] = "no\n";

static bool write_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_text(int fd, const char *text)
{
    return write_all(fd, text, strlen(text));
}

bool hello_say(int fd, const char *module, const struct registry *registry)
{
    bool good = write_text(fd, runs) && write_text(fd, module) && write_text(fd, "\n");

    for (uint32_t i = 0; good && i < registry_count(registry); i++) {
        const struct method *m = registry_at(registry, i);
        if (m && method_attempts_here(m))
            good = write_text(fd, method_name(m)) && write_text(fd, "\n");
    }
    return good;
}

bool hello_refuse(int fd, const char *why)
{
    return write_text(fd, refuses) && write_text(fd, why);
}

bool hello_read(struct hello *h, int fd)
{
    char *grown = realloc(h->text, HELLO_MAX + 1);

    if (!grown)
        return false;
    h->text = grown;
    for (;;) {
        ssize_t n = read(fd, h->text + h->len, HELLO_MAX - h->len);
        if (n < 0 && errno == EINTR)
            continue;
        h->whole = n == 0;
        h->len += n > 0 ? (size_t)n : 0;
        h->text[h->len] = '\0';
        if (n <= 0)
            return true; /* the end, or the rest is to come */
        if (h->len == HELLO_MAX)
            return false;
    }
}

void hello_free(struct hello *h)
{
    free(h->text);
    *h = (struct hello){0};
}

static bool begins(const struct hello *h, const char *with)
{
    return h->len >= strlen(with) && memcmp(h->text, with, strlen(with)) == 0;
}

const char *hello_refusal(const struct hello *h)
{
    if (begins(h, refuses))
        return h->text + strlen(refuses);
    return begins(h, runs) ? NULL : "it ended before it said what it brings (see the log)";
}

struct span hello_next(const struct hello *h, size_t *at)
{
    size_t from = *at > 0 ? *at : strlen(runs), len = strcspn(h->text + from, "\n");

    *at = from + len + (h->text[from + len] == '\n');
    return span_of(h->text + from, len);
}
