/* Inputs for code that reads files: a file in memory, which has a path while it is open. */
#ifndef ERGON_TESTS_FUZZ_FILE_H
#define ERGON_TESTS_FUZZ_FILE_H

#include "base/span.h"

struct fuzz_file {
    int fd;
    char path[32]; /* "/proc/self/fd/N" */
};

/* All of these abort when the system refuses. */
void fuzz_file_open(struct fuzz_file *f, struct span content);
void fuzz_file_set(struct fuzz_file *f, struct span content); /* instead of what it has */
void fuzz_file_close(struct fuzz_file *f);

#endif
