#include "server/tracing/collector_headers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* As the exporter and the HTTP library say them: twice they would be two opinions. */
static const char *const reserved[] = {"Connection",   "Content-Encoding", "Content-Length",
                                       "Content-Type", "Expect",           "Host",
                                       "Keep-Alive",   "Proxy-Connection", "TE",
                                       "Trailer",      "Upgrade",          "Transfer-Encoding"};

/* A token of RFC 9110. */
static bool is_name(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at))
            return false;
    return *text != 0;
}

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcasecmp(reserved[i], name) == 0)
            return true;
    return false;
}

static bool is_there(const struct collector_headers *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcasecmp(h->names[i], name) == 0)
            return true;
    return false;
}

static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (iscntrl((unsigned char)text[i]) && text[i] != '\t')
            return true;
    return false;
}

static char *trim(char *text)
{
    size_t len;

    text += strspn(text, " \t");
    for (len = strlen(text); len > 0 && strchr(" \t", text[len - 1]); len--)
        continue;
    text[len] = 0;
    return text;
}

/* NULL, or what is wrong with the line, which ends with a zero. */
static const char *add_line(struct collector_headers *h, char *line, size_t len)
{
    char *colon;

    if (has_control(line, len))
        return "a control character; a line ends with a newline alone";
    line = trim(line);
    if (*line == 0 || *line == '#')
        return NULL;
    colon = strchr(line, ':');
    if (!colon)
        return "write \"Name: value\"";
    *colon = 0;
    if (!is_name(line))
        return "there is no valid header name before the colon";
    if (is_reserved(line))
        return "this header is the server's own to say";
    if (is_there(h, line))
        return "this header is given twice";
    if (h->count == COLLECTOR_HEADERS_MAX)
        return "more than 32 headers";
    h->names[h->count] = line;
    h->values[h->count] = trim(colon + 1);
    if (*h->values[h->count] == 0)
        return "this header has no value";
    h->count++;
    return NULL;
}

struct collector_headers *collector_headers_parse(struct span text, char *error, size_t size)
{
    struct collector_headers *h = calloc(1, sizeof *h + text.len + 1);
    unsigned number = 1;

    if (!h) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    h->len = text.len;
    if (text.len > 0)
        memcpy(h->text, text.at, text.len);
    for (char *line = h->text, *end; line < h->text + text.len; line = end + 1, number++) {
        end = memchr(line, '\n', (size_t)(h->text + text.len - line));
        end = end ? end : h->text + text.len;
        *end = 0;
        const char *wrong = add_line(h, line, (size_t)(end - line));
        if (!wrong)
            continue;
        snprintf(error, size, "line %u: %s", number, wrong);
        collector_headers_free(h);
        return NULL;
    }
    return h;
}

struct collector_headers *collector_headers_load(const char *path, char *error, size_t size)
{
    char text[COLLECTOR_HEADERS_BYTES + 1], why[128];
    FILE *in = fopen(path, "re");
    struct collector_headers *h = NULL;
    size_t len = 0;

    if (in) {
        setvbuf(in, NULL, _IONBF, 0); /* no copy of it stays behind */
        len = fread(text, 1, sizeof text, in);
    }
    if (!in || ferror(in)) {
        snprintf(error, size, "trace.headers_file: cannot read %s: %s", path,
                 strerror_r(errno, why, sizeof why));
    } else if (len == sizeof text) {
        snprintf(error, size, "trace.headers_file: %s is larger than 16 KiB", path);
    } else {
        h = collector_headers_parse(span_of(text, len), why, sizeof why);
        if (!h)
            snprintf(error, size, "trace.headers_file: %s: %s", path, why);
    }
    if (in)
        fclose(in);
    explicit_bzero(text, sizeof text);
    return h;
}

void collector_headers_free(struct collector_headers *h)
{
    if (!h)
        return;
    explicit_bzero(h->text, h->len);
    free(h);
}
