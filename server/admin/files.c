#include "server/admin/files.h"

#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/accept.h"
#include "server/admin/http_reply.h"
#include "server/admin/request.h"

static int by_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct embedded_file *)file)->path);
}

bool files_answer(struct evhttp_request *req, const char *path)
{
    const struct embedded_file *f =
        bsearch(strcmp(path, "/") == 0 ? "/index.html" : path, embedded_files, embedded_file_count,
                sizeof *embedded_files, by_path);
    const char *known = request_header(req, "If-None-Match");

    if (!f)
        return false;
    struct evkeyvalq *out = evhttp_request_get_output_headers(req);
    evhttp_add_header(out, "ETag", f->etag);
    evhttp_add_header(out, "Cache-Control", "no-cache"); /* kept, and asked about */
    evhttp_add_header(out, "Vary", "Accept-Encoding");
    if (known && strstr(known, f->etag))
        reply_nothing(req, HTTP_NOTMODIFIED);
    else if (accept_gzip(evhttp_request_get_input_headers(req)))
        reply_file(req, f->type, "gzip", f->gzip, f->gzip_length);
    else
        reply_file(req, f->type, NULL, f->plain, f->plain_length);
    return true;
}
