/* The page: the files of server/admin/page/, which the build turns into a table (embed.c).
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_FILES_H
#define ERGON_ADMIN_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp_request;

struct embedded_file {
    const char *path; /* "/app.js" */
    const char *type;
    const char *etag; /* with its quotes */
    const unsigned char *plain, *gzip;
    size_t plain_length, gzip_length;
};
/* By path, in the order of strcmp(). */
extern const struct embedded_file embedded_files[];
extern const size_t embedded_file_count;

/* Answers with the file of this path, which is compared and nothing else; "/" is "/index.html".
 * False: there is none, and nothing was answered. */
bool files_answer(struct evhttp_request *req, const char *path);

#endif
