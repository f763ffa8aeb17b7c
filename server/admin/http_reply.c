#include "server/admin/http_reply.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/gzip.h"

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

static void add(struct evhttp_request *req, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

static const struct {
    const char *name, *value;
} of_any[] = {{"Content-Security-Policy", policy},
              {"X-Content-Type-Options", "nosniff"},
              {"Referrer-Policy", "no-referrer"},
              {"Cross-Origin-Opener-Policy", "same-origin"},
              {"Cross-Origin-Resource-Policy", "same-origin"}};
enum { OF_ANY = sizeof of_any / sizeof *of_any };

void reply_headers(struct evhttp_request *req)
{
    for (size_t i = 0; i < OF_ANY; i++)
        add(req, of_any[i].name, of_any[i].value);
}

/* HEAD is answered without what it would have got. */
static void finish(struct evhttp_request *req, int status, struct evbuffer *body)
{
    char length[24];

    if (body && evhttp_request_get_command(req) == EVHTTP_REQ_HEAD) {
        snprintf(length, sizeof length, "%zu", evbuffer_get_length(body));
        add(req, "Content-Length", length);
        evbuffer_drain(body, evbuffer_get_length(body));
    }
    evhttp_send_reply(req, status, NULL, body);
}

static void reply_body(struct evhttp_request *req, int status, const char *type,
                       struct evbuffer *body)
{
    reply_headers(req);
    add(req, "Cache-Control", "no-store");
    add(req, "Content-Type", type);
    finish(req, status, body);
}

void reply_bytes(struct evhttp_request *req, int status, const char *type, const void *bytes,
                 size_t length)
{
    struct evbuffer *body = evbuffer_new();

    if (body)
        evbuffer_add(body, bytes, length);
    reply_body(req, status, type, body);
    if (body)
        evbuffer_free(body);
}

void reply_gzip(struct evhttp_request *req, int status, const char *type, const void *bytes,
                size_t length)
{
    struct evbuffer *body = evbuffer_new();

    if (body && gzip_add(body, bytes, length)) {
        add(req, "Content-Encoding", "gzip");
        reply_body(req, status, type, body);
    } else {
        reply_bytes(req, status, type, bytes, length);
    }
    if (body)
        evbuffer_free(body);
}

void reply_text(struct evhttp_request *req, int status, const char *type, const char *text)
{
    reply_bytes(req, status, type, text, strlen(text));
}

void reply_json(struct evhttp_request *req, int status, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    json_decref(body);
    reply_text(req, text ? status : HTTP_INTERNAL, "application/json",
               text ? text : "{\"error\":{\"code\":\"MEMORY\",\"text\":\"out of memory\"}}");
    free(text);
}

void reply_refusal(struct evhttp_request *req, int status, const char *code, const char *text)
{
    reply_json(req, status,
               json_pack_ex(NULL, 0, "{s:{s:s,s:s}}", "error", "code", code, "text", text));
}

void reply_raw_refusal(struct evbuffer *output, const char *code, const char *text)
{
    char body[200];
    int length =
        snprintf(body, sizeof body, "{\"error\":{\"code\":\"%s\",\"text\":\"%s\"}}", code, text);

    for (size_t i = 0; i < OF_ANY; i++)
        evbuffer_add_printf(output, "%s: %s\r\n", of_any[i].name, of_any[i].value);
    evbuffer_add_printf(output,
                        "Cache-Control: no-store\r\n"
                        "Content-Type: application/json\r\n"
                        "Content-Length: %d\r\n"
                        "Connection: close\r\n\r\n%s",
                        length, body);
}

void reply_last(struct evhttp_request *req, int status, const char *code, const char *text)
{
    add(req, "Connection", "close");
    reply_refusal(req, status, code, text);
}

static int status_of(const char *code)
{
    static const struct {
        const char *code;
        int status;
    } table[] = {{"BAD_REQUEST", 400}, {"BAD_PARAMS", 400}, {"AUTH", 401},      {"DENIED", 403},
                 {"NO_METHOD", 404},   {"NOT_FOUND", 404},  {"CANCELLED", 409}, {"FENCED", 409},
                 {"AFTER", 409},       {"TOO_LARGE", 413},  {"BUSY", 429},      {"INTERNAL", 500},
                 {"FAILED", 502},      {"CLOSED", 503},     {"DRAINING", 503},  {"MEMORY", 503},
                 {"STORE", 503},       {"STARTING", 503},   {"NO_WORKER", 503}, {"TIMEOUT", 504},
                 {"DEADLINE", 504}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(code, table[i].code) == 0)
            return table[i].status;
    return 502; /* what a handler calls its own error */
}

void reply_error(struct evhttp_request *req, const char *code, const char *text)
{
    reply_refusal(req, status_of(code), code, text);
}

void reply_file(struct evhttp_request *req, const char *type, const char *encoding,
                const void *bytes, size_t length)
{
    struct evbuffer *body = evbuffer_new();

    reply_headers(req);
    add(req, "Content-Type", type);
    if (encoding)
        add(req, "Content-Encoding", encoding);
    if (body)
        evbuffer_add_reference(body, bytes, length, NULL, NULL);
    finish(req, HTTP_OK, body);
    if (body)
        evbuffer_free(body);
}

void reply_nothing(struct evhttp_request *req, int status)
{
    reply_headers(req);
    evhttp_send_reply(req, status, NULL, NULL);
}
