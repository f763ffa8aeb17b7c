/* Whole files: into memory, which the caller frees by file_bytes_fini(), and from it.  One thread;
 * all functions block. */
#ifndef ERGON_CLI_FILES_H
#define ERGON_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_bytes {
    uint8_t *at; /* owned; a zero stands behind the last byte */
    size_t len;
};

/* Reads `path`, "-" being standard input.  False, a message was printed, and there is nothing to
 * free: it cannot be read, has more than `max` bytes, or there is no memory. */
bool file_read(const char *path, size_t max, struct file_bytes *out);
void file_bytes_fini(struct file_bytes *f);

/* Writes the whole text to an open file.  False: errno says why it could not. */
bool file_write(int fd, const char *text);

#endif
