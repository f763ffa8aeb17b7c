/* The files of a store as bytes: read, changed, and written again, to see what a store makes of
 * them. */
#ifndef ERGON_TESTS_STORE_FILES_H
#define ERGON_TESTS_STORE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_FILE, STORE_LOG, STORE_PARTS };

struct store_part {
    bool there;
    uint8_t *at; /* malloc'ed */
    size_t len;  /* bytes; what is cut stays in memory */
};

struct store_files {
    struct store_part part[STORE_PARTS];
};

/* Reads PATH and PATH-wal.  Fails the test that calls it if a file cannot be read. */
void store_files_read(struct store_files *files, const char *path);
/* Writes them in place of those that are there; what is not there is removed, and PATH-shm, too. */
void store_files_write(const struct store_files *files, const char *path);
/* A log that is empty is as good as none. */
bool store_files_equal(const struct store_files *a, const struct store_files *b);
struct store_files store_files_copy(const struct store_files *files);
void store_files_free(struct store_files *files);

#endif
