/* Answers of the admin listener: each has the headers that keep a browser on the safe side.
 *
 * Each of these ends the request.  What came from outside is never put into a text, but into JSON,
 * which escapes it.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_HTTP_REPLY_H
#define ERGON_ADMIN_HTTP_REPLY_H

#include <jansson.h>
#include <stddef.h>

struct evbuffer;
struct evhttp_request;

/* Sets the headers of any answer; handlers that begin their answer by themselves (live.c) call it,
 * too.  They allow no scripts, styles or connections but the page's own, no frame, no guessing of
 * types, and no referrer. */
void reply_headers(struct evhttp_request *req);

void reply_text(struct evhttp_request *req, int status, const char *type, const char *text);
/* The same of bytes, which are copied. */
void reply_bytes(struct evhttp_request *req, int status, const char *type, const void *bytes,
                 size_t length);
/* The same, made smaller, which it says; as it is where there is no memory for that. */
void reply_gzip(struct evhttp_request *req, int status, const char *type, const void *bytes,
                size_t length);
/* Takes the reference; NULL: out of memory. */
void reply_json(struct evhttp_request *req, int status, json_t *body);
/* {"error": {"code", "text"}}, by the status that fits the code. */
void reply_error(struct evhttp_request *req, const char *code, const char *text);
/* The same by a status of its own. */
void reply_refusal(struct evhttp_request *req, int status, const char *code, const char *text);
/* The same, and the connection is closed behind it. */
void reply_last(struct evhttp_request *req, int status, const char *code, const char *text);
/* An error where there is no request: its headers and body, behind a status line that was written.
 * Both texts are constants that JSON takes as they are, of 150 bytes together. */
void reply_raw_refusal(struct evbuffer *output, const char *code, const char *text);
/* A constant file of this program: nothing is copied.  `encoding`: NULL, or "gzip". */
void reply_file(struct evhttp_request *req, const char *type, const char *encoding,
                const void *bytes, size_t length);
void reply_nothing(struct evhttp_request *req, int status); /* 204, 304 */

#endif
