#include "server/processes/hello.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "ok", of each method its name, summary and parameters, and an empty text, all with terminators;
 * or "no" and the reason. */
static const char runs[] = "ok", refuses[] = "no";

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

/* Writes the text with its terminator; NULL counts as empty. */
static bool write_text(int fd, const char *text)
{
    return text ? write_all(fd, text, strlen(text) + 1) : write_all(fd, "", 1);
}

bool hello_say(int fd, const struct registry *registry)
{
    bool good = write_text(fd, runs);

    for (uint32_t i = 0; good && i < registry_count(registry); i++) {
        const struct method *m = registry_at(registry, i);
        if (m && method_attempts_here(m))
            good = write_text(fd, method_name(m)) && write_text(fd, m->handler->summary) &&
                   write_text(fd, m->handler->params);
    }
    return good && write_text(fd, NULL);
}

bool hello_refuse(int fd, const char *why)
{
    return write_text(fd, refuses) && write_text(fd, why);
}

static bool give_up(struct hello *h, const char *why)
{
    h->wrong = why;
    return h->whole = true;
}

bool hello_read(struct hello *h, int fd)
{
    char *grown = realloc(h->text, HELLO_MAX + 1);

    if (!grown)
        return give_up(h, "there is no memory for what it says");
    h->text = grown;
    for (;;) {
        ssize_t n = read(fd, h->text + h->len, HELLO_MAX - h->len);
        if (n < 0 && errno == EINTR)
            continue;
        h->whole = n == 0;
        h->len += n > 0 ? (size_t)n : 0;
        h->text[h->len] = '\0';
        if (n <= 0)
            return h->whole; /* else the rest is to come */
        if (h->len == HELLO_MAX)
            return give_up(h, "it has more to say of its methods than a server reads");
    }
}

void hello_free(struct hello *h)
{
    free(h->text);
    *h = (struct hello){0};
}

static bool begins(const struct hello *h, const char *with)
{
    return h->len > strlen(with) && strcmp(h->text, with) == 0;
}

/* Returns the next text; NULL: it has no terminator. */
static const char *take_text(const struct hello *h, size_t *at)
{
    const char *text = h->text + *at, *end = memchr(text, '\0', h->len - *at);

    *at += end ? (size_t)(end - text) + 1 : 0;
    return end ? text : NULL;
}

bool hello_next(const struct hello *h, size_t *at, struct hello_method *out)
{
    *at = *at > 0 ? *at : sizeof runs;
    out->name = take_text(h, at);
    if (!out->name || !*out->name)
        return false;
    out->summary = take_text(h, at);
    out->params = take_text(h, at);
    return out->summary && out->params;
}

/* An empty name follows the last method, unless the process ended before it wrote that. */
static bool says_all(const struct hello *h)
{
    struct hello_method m;
    size_t at = 0;

    while (hello_next(h, &at, &m))
        ;
    return m.name && !*m.name && at == h->len;
}

const char *hello_refusal(const struct hello *h)
{
    if (h->wrong)
        return h->wrong;
    if (begins(h, refuses))
        return h->text + sizeof refuses;
    return begins(h, runs) && says_all(h) ? NULL
                                          : "it ended before it said what it brings (see the log)";
}
