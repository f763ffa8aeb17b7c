#include "client/lib/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_CONNECT_MS = 10 * 1000,
    DEFAULT_BACKOFF_MIN_MS = 100,
    DEFAULT_BACKOFF_MAX_MS = 10 * 1000,
    DEFAULT_MESSAGE_MAX = 32 * 1024 * 1024, /* bytes */
    DEFAULT_CALLS_MAX = 1024 * 1024
};

static bool copy_string(const char **field)
{
    if (*field == NULL)
        return true;
    *field = strdup(*field);
    return *field != NULL;
}

/* Each field is either owned or NULL afterwards, also on failure. */
static bool own_strings(struct ergon_options *o)
{
    const char **fields[] = {&o->url,       &o->token,    &o->ca_file,
                             &o->cert_file, &o->key_file, &o->server_name};
    bool good = true;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        good = copy_string(fields[i]) && good;
    return good;
}

static void fill_default(uint32_t *field, uint32_t value)
{
    if (*field == 0)
        *field = value;
}

static void take_options(struct ergon_options *to, const struct ergon_options *from)
{
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    fill_default(&to->connect_timeout_ms, DEFAULT_CONNECT_MS);
    fill_default(&to->backoff_min_ms, DEFAULT_BACKOFF_MIN_MS);
    fill_default(&to->backoff_max_ms, DEFAULT_BACKOFF_MAX_MS);
    fill_default(&to->message_max, DEFAULT_MESSAGE_MAX);
    fill_default(&to->calls_max, DEFAULT_CALLS_MAX);
}

/* NULL, or what is wrong: a constant. */
static const char *take_names(struct settings *s)
{
    const char *name = s->options.server_name;
    const char *wrong = url_parse(s->options.url, URL_CONNECT, &s->url);
    if (wrong != NULL)
        return wrong;
    if (name != NULL && (name[0] == 0 || strlen(name) > URL_HOST_MAX))
        return "the server name has 1 to 253 bytes"; /* to OpenSSL "" means: any name will do */
    s->server_name = name != NULL ? name : s->url.host;
    return NULL;
}

enum ergon_end settings_init(struct settings *s, const struct ergon_options *from, char *why,
                             size_t why_size)
{
    const struct ergon_options *o = &s->options;
    *s = (struct settings){0};
    if (from->size < offsetof(struct ergon_options, token) || from->url == NULL) {
        snprintf(why, why_size,
                 "options.url and options.size = sizeof(struct ergon_options) are required");
        return ERGON_END_INVALID;
    }
    take_options(&s->options, from);
    if (!own_strings(&s->options)) {
        snprintf(why, why_size, "out of memory");
        return ERGON_END_MEMORY;
    }
    const char *wrong = take_names(s);
    if (wrong != NULL) {
        snprintf(why, why_size, "%s", wrong);
        return ERGON_END_INVALID;
    }
    if (s->url.scheme != URL_TLS)
        return ERGON_END_OK;
    struct tls_files files = {o->ca_file, o->cert_file, o->key_file, o->insecure};
    s->tls = tls_new(&files, why, why_size);
    return s->tls != NULL ? ERGON_END_OK : ERGON_END_INVALID;
}

void settings_fini(struct settings *s)
{
    struct ergon_options *o = &s->options;
    tls_free(s->tls);
    if (o->token != NULL)
        explicit_bzero((void *)o->token, strlen(o->token));
    const char *const strings[] = {o->url,       o->token,    o->ca_file,
                                   o->cert_file, o->key_file, o->server_name};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        free((void *)strings[i]);
}
